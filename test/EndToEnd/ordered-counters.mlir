// Counters of blocks that wait are zeroed beside a norm in front of them, in its launch: two
// launches for a norm, a router, its selection and the sort. Calls follow each other in one
// workspace, so counters that were left of the one before would show.
// RUN: hk-compile %s --target=gfx942,gfx950 --split-k=1 --emit=mlir --explain -o /dev/null | FileCheck %s --check-prefix=LAUNCHES
// LAUNCHES-COUNT-2: launches of @route: rms_norm_and_zero_2_words, matmul_then_topk_softmax_then_sort_by_key
// RUN: hk-compile %s --target=gfx942,gfx950 --split-k=1 -o %t.so
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --poison --dim=x.0=1 --check=%s | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 HK_EMU_ORDER=7 hk-run %t.so --device=hip:0 --poison --dim=x.0=70 --check=%s | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 HK_EMU_ORDER=3 hk-run %t.so --device=hip:0 --poison --dim=x.0=70 --check=%s | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t.so --device=hip:0 --poison --dim=x.0=0 --check=%s | FileCheck %s
// CHECK: all within their bounds

func.func @route(%x: tensor<?x256xbf16> {hk.name = "x"}, %g: tensor<256xbf16>, %w: tensor<16x256xbf16>) -> (tensor<?x256xbf16>, tensor<?x2xf32>, tensor<?xi32>, tensor<?xi32>) {
  %n = hk.rms_norm %x, %g epsilon 1.0e-06 : tensor<?x256xbf16>, tensor<256xbf16>
  %l = hk.matmul %n, %w transpose_b : tensor<?x256xbf16>, tensor<16x256xbf16> -> tensor<?x16xf32>
  %v, %i = hk.topk %l : tensor<?x16xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %p = hk.softmax %v : tensor<?x2xf32>
  %e = tensor.collapse_shape %i [[0, 1]] : tensor<?x2xi32> into tensor<?xi32>
  %o, %q = hk.sort_by_key %e bins 16 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  return %n, %p, %o, %q : tensor<?x256xbf16>, tensor<?x2xf32>, tensor<?xi32>, tensor<?xi32>
}
