// A head whose logits a gather takes computes only the rows that are taken, in two launches:
// gather and norm; product, soft cap, and zeros in the rows whose index is outside. The values
// are those of the graph as it is written, also where weights are not finite and for indices
// on both sides of the range.
// RUN: hk-compile %s -o %t.so --target=host,gfx942 --explain | FileCheck %s --check-prefix=LAUNCHES
// LAUNCHES: 2 launches in @head, 2 launches in @residual, 2 launches in @quantised

// RUN: hk-run %t.so --check=%s --function=head --dim=x.0=37 --dim=last.0=5 --range=last=-2:40 | FileCheck %s
// RUN: hk-run %t.so --check=%s --function=head --dim=x.0=37 --dim=last.0=0 | FileCheck %s
// RUN: hk-run %t.so --check=%s --function=head --dim=x.0=0 --dim=last.0=3 | FileCheck %s
// RUN: hk-run %t.so --check=%s --function=head --dim=x.0=1 --dim=last.0=101 --range=last=-1:1 | FileCheck %s
// RUN: hk-run %t.so --check=%s --function=head --dim=x.0=16 --dim=last.0=7 --range=last=-9:20 --data=inf | FileCheck %s
// RUN: hk-run %t.so --check=%s --function=head --dim=x.0=16 --dim=last.0=7 --range=last=-9:20 --data=nan | FileCheck %s
// RUN: hk-run %t.so --check=%s --function=residual --dim=x.0=19 --dim=last.0=4 --range=last=-3:25 | FileCheck %s
// RUN: hk-run %t.so --check=%s --function=residual --dim=x.0=19 --dim=last.0=4 --range=last=-3:25 --data=inf | FileCheck %s
// RUN: not hk-run %t.so --check=%s --function=residual --dim=x.0=19 --dim=r.0=18 --dim=last.0=4 2>&1 | FileCheck %s --check-prefix=DIFFER
// RUN: hk-run %t.so --check=%s --function=quantised --dim=x.0=300 --dim=last.0=17 --range=last=-30:320 | FileCheck %s
// RUN: hk-run %t.so --check=%s --function=quantised --dim=x.0=1 --dim=last.0=1 --range=last=1:1 | FileCheck %s

// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --check=%s --function=head --dim=x.0=37 --dim=last.0=5 --range=last=-2:40 | FileCheck %s
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --check=%s --function=head --dim=x.0=5 --dim=last.0=7 --range=last=-9:20 --data=inf | FileCheck %s
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --check=%s --function=quantised --dim=x.0=9 --dim=last.0=3 --range=last=-3:12 | FileCheck %s
// CHECK: all within their bounds
// DIFFER: x dim 0 is 19 but r dim 0 is 18
func.func @head(%x: tensor<?x64xbf16> {hk.name = "x"}, %w: tensor<64xbf16>, %head: tensor<96x64xbf16>,
                %last: tensor<?xi32> {hk.name = "last"}) -> tensor<?x96xf32> {
  %n = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<?x64xbf16>, tensor<64xbf16>
  %p = hk.matmul %n, %head transpose_b : tensor<?x64xbf16>, tensor<96x64xbf16> -> tensor<?x96xf32>
  %d = hk.div %p, 30.0 : tensor<?x96xf32>
  %t = hk.tanh %d : tensor<?x96xf32>
  %m = hk.mul %t, 30.0 : tensor<?x96xf32>
  %y = hk.gather_rows %m, %last : tensor<?x96xf32>, tensor<?xi32> -> tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}
func.func @residual(%x: tensor<?x64xbf16> {hk.name = "x"}, %r: tensor<?x64xbf16> {hk.name = "r"}, %w: tensor<64xbf16>,
                    %b: tensor<64xbf16>, %head: tensor<64x33xbf16>, %last: tensor<?xi64> {hk.name = "last"})
    -> tensor<?x33xbf16> {
  %s = hk.add %x, %r : tensor<?x64xbf16>
  %n = hk.layer_norm %s, %w, %b epsilon 1.0e-05 : tensor<?x64xbf16>, tensor<64xbf16>, tensor<64xbf16>
  %p = hk.matmul %n, %head : tensor<?x64xbf16>, tensor<64x33xbf16> -> tensor<?x33xf32>
  %c = hk.cast %p : tensor<?x33xf32> -> tensor<?x33xbf16>
  %y = hk.gather_rows %c, %last : tensor<?x33xbf16>, tensor<?xi64> -> tensor<?x33xbf16>
  return %y : tensor<?x33xbf16>
}
func.func @quantised(%x: tensor<?x64xbf16> {hk.name = "x"}, %w: tensor<64x96xf8E4M3FN>, %last: tensor<?xi32> {hk.name = "last"})
    -> tensor<?x96xbf16> {
  %q, %scale = hk.quantize per_token %x : tensor<?x64xbf16> -> tensor<?x64xf8E4M3FN>, tensor<?x1xf32>
  %p = hk.matmul %q, %w scales(%scale, none) : tensor<?x64xf8E4M3FN>, tensor<64x96xf8E4M3FN> scales(tensor<?x1xf32>, none) -> tensor<?x96xbf16>
  %y = hk.gather_rows %p, %last : tensor<?x96xbf16>, tensor<?xi32> -> tensor<?x96xbf16>
  return %y : tensor<?x96xbf16>
}
