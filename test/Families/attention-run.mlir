// Compiled attention against the interpreter and its bounds, on the host and, as
// gfx942 code objects, in the emulator: cache, pages, options, odd and unaligned
// sizes, views of one buffer, no rows.
// RUN: hk-compile %s -o %t.so --target=host,gfx942
// DEFINE: %{host} = hk-run %t.so --check=%s
// DEFINE: %{emu} = env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --check=%s --device=hip:0
// DEFINE: %{paged} = --function=paged --dim=q.0=6 --dim=pages.0=30 --dim=v.0=30 --dim=o.0=7 --dim=lens.0=6 --dim=table.0=6 --dim=table.1=9 --range=o=iota --range=lens=0:144 --range=table=0:29
// RUN: %{host} --function=prefill --dim=q.0=61 --range=n=300:301 | FileCheck %s --check-prefix=OK
// RUN: %{emu} --function=prefill --dim=q.0=61 --range=n=300:301 | FileCheck %s --check-prefix=OK
// RUN: %{host} --function=decode --range=n=1:512 | FileCheck %s --check-prefix=OK
// RUN: %{emu} --function=decode --range=n=1:512 | FileCheck %s --check-prefix=OK
// RUN: %{host} %{paged} | FileCheck %s --check-prefix=OK
// RUN: %{emu} %{paged} | FileCheck %s --check-prefix=OK
// RUN: %{host} --function=odd --dim=q.1=7 --dim=k.1=91 | FileCheck %s --check-prefix=OK
// RUN: %{host} --function=odd --dim=q.1=7 --dim=k.1=91 --data=inf | FileCheck %s --check-prefix=OK
// RUN: %{host} --function=odd --dim=q.1=0 --dim=k.1=91 | FileCheck %s --check-prefix=OK
// RUN: %{host} --function=odd --dim=q.1=4 --dim=k.1=0 | FileCheck %s --check-prefix=OK
// RUN: %{emu} --function=odd --dim=q.1=7 --dim=k.1=91 | FileCheck %s --check-prefix=OK
// RUN: %{host} --function=f32 --dim=k.1=91 | FileCheck %s --check-prefix=OK
// RUN: %{emu} --function=f32 --dim=k.1=91 | FileCheck %s --check-prefix=OK
// RUN: %{host} --function=views | FileCheck %s --check-prefix=OK
// RUN: %{emu} --function=views | FileCheck %s --check-prefix=OK
// OK: all within their bounds

func.func @prefill(%q: tensor<?x4x64xbf16>, %k: tensor<1x512x2x64xbf16>, %v: tensor<1x512x2x64xbf16>, %n: tensor<1xi32>) -> tensor<?x4x64xbf16> {
  %0 = hk.attention %q, %k, %v kv_lens %n scale 0.125 causal : tensor<?x4x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1x512x2x64xbf16> kv_lens tensor<1xi32> -> tensor<?x4x64xbf16>
  return %0 : tensor<?x4x64xbf16>
}
func.func @decode(%q: tensor<1x4x64xbf16>, %k: tensor<1x512x2x64xbf16>, %v: tensor<1x512x2x64xbf16>, %n: tensor<1xi32>) -> tensor<1x4x64xbf16> {
  %0 = hk.attention %q, %k, %v kv_lens %n scale 0.125 causal : tensor<1x4x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1x512x2x64xbf16> kv_lens tensor<1xi32> -> tensor<1x4x64xbf16>
  return %0 : tensor<1x4x64xbf16>
}
func.func @paged(%q: tensor<?x8x72xf16>, %pages: tensor<?x16x2x72xf16>, %v: tensor<?x16x2x40xf16>, %o: tensor<?xi32>, %lens: tensor<?xi32>, %table: tensor<?x?xi32>, %sink: tensor<8xf32>) -> (tensor<?x8x40xf32>, tensor<?x8xf32>) {
  %0, %l = hk.attention %q, %pages, %v q_offsets %o kv_lens %lens block_table %table sink %sink scale 0.125 causal window_left 128 softcap 30.0 : tensor<?x8x72xf16>, tensor<?x16x2x72xf16>, tensor<?x16x2x40xf16> q_offsets tensor<?xi32> kv_lens tensor<?xi32> block_table tensor<?x?xi32> sink tensor<8xf32> -> tensor<?x8x40xf32>, tensor<?x8xf32>
  return %0, %l : tensor<?x8x40xf32>, tensor<?x8xf32>
}
func.func @odd(%q: tensor<2x?x8x33xf32>, %k: tensor<2x?x2x33xf32>) -> tensor<2x?x8x33xf32> {
  %0 = hk.attention %q, %k, %k scale 0.125 causal : tensor<2x?x8x33xf32>, tensor<2x?x2x33xf32>, tensor<2x?x2x33xf32> -> tensor<2x?x8x33xf32>
  return %0 : tensor<2x?x8x33xf32>
}
func.func @f32(%q: tensor<2x9x4x64xf32>, %k: tensor<2x?x2x64xf32>) -> tensor<2x9x4x64xf32> {
  %0 = hk.attention %q, %k, %k scale 0.125 window_left 7 window_right 9 : tensor<2x9x4x64xf32>, tensor<2x?x2x64xf32>, tensor<2x?x2x64xf32> -> tensor<2x9x4x64xf32>
  return %0 : tensor<2x9x4x64xf32>
}
func.func @views(%x: tensor<5x512xbf16>) -> tensor<5x256xbf16> {
  %q = tensor.extract_slice %x[0, 0] [5, 256] [1, 1] : tensor<5x512xbf16> to tensor<5x256xbf16>
  %k = tensor.extract_slice %x[0, 256] [5, 128] [1, 1] : tensor<5x512xbf16> to tensor<5x128xbf16>
  %v = tensor.extract_slice %x[0, 384] [5, 128] [1, 1] : tensor<5x512xbf16> to tensor<5x128xbf16>
  %q3 = tensor.expand_shape %q [[0], [1, 2]] output_shape [5, 4, 64] : tensor<5x256xbf16> into tensor<5x4x64xbf16>
  %k3 = tensor.expand_shape %k [[0], [1, 2]] output_shape [5, 2, 64] : tensor<5x128xbf16> into tensor<5x2x64xbf16>
  %v3 = tensor.expand_shape %v [[0], [1, 2]] output_shape [5, 2, 64] : tensor<5x128xbf16> into tensor<5x2x64xbf16>
  %o = hk.attention %q3, %k3, %v3 scale 0.125 causal : tensor<5x4x64xbf16>, tensor<5x2x64xbf16>, tensor<5x2x64xbf16> -> tensor<5x4x64xbf16>
  %c = tensor.collapse_shape %o [[0], [1, 2]] : tensor<5x4x64xbf16> into tensor<5x256xbf16>
  return %c : tensor<5x256xbf16>
}
