// Products with f32 scales along k of two groups of waves in turns, whose sums are folded between turns: depths of one to
// thirteen tiles, of which four make a round of the loop, with and without a tail; edges of rows and columns; NaN among
// elements; slices of k; groups of columns that are quantised. A gated pair stays in blocks, for a reason.
// RUN: sed s/ELEMENT/f8E4M3FNUZ/g %s > %t.942.mlir && hk-compile %t.942.mlir -o %t.942.so --target=gfx942 --explain | FileCheck %s
// RUN: sed s/ELEMENT/f8E4M3FN/g %s > %t.950.mlir && hk-compile %t.950.mlir -o %t.950.so --target=gfx950 --explain | FileCheck %s
// DEFINE: %{gfx942} = env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 HK_EMU_STRICT_RACES=1 hk-run %t.942.so --device=hip:0 --check=%t.942.mlir
// DEFINE: %{gfx950} = env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 HK_EMU_STRICT_RACES=1 hk-run %t.950.so --device=hip:0 --check=%t.950.mlir
// RUN: %{gfx942} --function=deep --dim=x.0=0
// RUN: %{gfx942} --function=deep --dim=x.0=1 --data=nan
// RUN: %{gfx942} --function=deep --dim=x.0=300
// RUN: %{gfx942} --function=short --dim=x.0=257
// RUN: %{gfx942} --function=slices --dim=x.0=66
// RUN: %{gfx942} --function=groups --dim=x.0=300
// RUN: %{gfx942} --function=batched --dim=x.1=40
// RUN: %{gfx942} --function=depth_128 --dim=x.0=33
// RUN: %{gfx942} --function=depth_256 --dim=x.0=33
// RUN: %{gfx942} --function=depth_384 --dim=x.0=33
// RUN: %{gfx942} --function=depth_640 --dim=x.0=33
// RUN: %{gfx942} --function=depth_1024 --dim=x.0=33
// RUN: %{gfx942} --function=depth_1408 --dim=x.0=33
// RUN: %{gfx950} --function=deep --dim=x.0=0
// RUN: %{gfx950} --function=deep --dim=x.0=1 --data=nan
// RUN: %{gfx950} --function=deep --dim=x.0=300
// RUN: %{gfx950} --function=short --dim=x.0=257
// RUN: %{gfx950} --function=slices --dim=x.0=66
// RUN: %{gfx950} --function=groups --dim=x.0=300
// RUN: %{gfx950} --function=batched --dim=x.1=40
// RUN: %{gfx950} --function=depth_128 --dim=x.0=33
// RUN: %{gfx950} --function=depth_256 --dim=x.0=33
// RUN: %{gfx950} --function=depth_384 --dim=x.0=33
// RUN: %{gfx950} --function=depth_640 --dim=x.0=33
// RUN: %{gfx950} --function=depth_1024 --dim=x.0=33
// RUN: %{gfx950} --function=depth_1408 --dim=x.0=33

// CHECK: @matmul gemm: {{.*}}bn = 128{{.*}}loop = ping_pong>
// CHECK: matmul_gated_activation{{.*}} / ping_pong: {{.*}}a gated pair with f32 scales along k needs blocks
module attributes {hk.gemm_loop = "ping_pong"} {
func.func @deep(%x: tensor<?x1552xELEMENT>, %w: tensor<260x1552xELEMENT>, %s: tensor<?x13xf32>, %t: tensor<3x13xf32>) -> tensor<?x260xf32> {
  %y = hk.matmul %x, %w scales (%s, %t) transpose_b : tensor<?x1552xELEMENT>, tensor<260x1552xELEMENT> scales (tensor<?x13xf32>, tensor<3x13xf32>) -> tensor<?x260xf32>
  return %y : tensor<?x260xf32>
}
func.func @short(%x: tensor<?x16xELEMENT>, %w: tensor<8x16xELEMENT>, %s: tensor<?x1xf32>, %t: tensor<1x1xf32>) -> tensor<?x8xbf16> {
  %y = hk.matmul %x, %w scales (%s, %t) transpose_b : tensor<?x16xELEMENT>, tensor<8x16xELEMENT> scales (tensor<?x1xf32>, tensor<1x1xf32>) -> tensor<?x8xbf16>
  return %y : tensor<?x8xbf16>
}
func.func @depth_128(%x: tensor<?x128xELEMENT>, %w: tensor<50x128xELEMENT>, %s: tensor<?x1xf32>, %t: tensor<1x1xf32>) -> tensor<?x50xf32> {
  %y = hk.matmul %x, %w scales (%s, %t) transpose_b : tensor<?x128xELEMENT>, tensor<50x128xELEMENT> scales (tensor<?x1xf32>, tensor<1x1xf32>) -> tensor<?x50xf32>
  return %y : tensor<?x50xf32>
}
func.func @depth_256(%x: tensor<?x256xELEMENT>, %w: tensor<50x256xELEMENT>, %s: tensor<?x2xf32>, %t: tensor<1x2xf32>) -> tensor<?x50xf32> {
  %y = hk.matmul %x, %w scales (%s, %t) transpose_b : tensor<?x256xELEMENT>, tensor<50x256xELEMENT> scales (tensor<?x2xf32>, tensor<1x2xf32>) -> tensor<?x50xf32>
  return %y : tensor<?x50xf32>
}
func.func @depth_384(%x: tensor<?x384xELEMENT>, %w: tensor<130x384xELEMENT>, %s: tensor<?x3xf32>, %t: tensor<2x3xf32>) -> tensor<?x130xf32> {
  %y = hk.matmul %x, %w scales (%s, %t) transpose_b : tensor<?x384xELEMENT>, tensor<130x384xELEMENT> scales (tensor<?x3xf32>, tensor<2x3xf32>) -> tensor<?x130xf32>
  return %y : tensor<?x130xf32>
}
func.func @depth_640(%x: tensor<?x640xELEMENT>, %w: tensor<50x640xELEMENT>, %s: tensor<?x5xf32>, %t: tensor<1x5xf32>) -> tensor<?x50xf32> {
  %y = hk.matmul %x, %w scales (%s, %t) transpose_b : tensor<?x640xELEMENT>, tensor<50x640xELEMENT> scales (tensor<?x5xf32>, tensor<1x5xf32>) -> tensor<?x50xf32>
  return %y : tensor<?x50xf32>
}
func.func @depth_1024(%x: tensor<?x1024xELEMENT>, %w: tensor<50x1024xELEMENT>, %s: tensor<?x8xf32>, %t: tensor<1x8xf32>) -> tensor<?x50xf32> {
  %y = hk.matmul %x, %w scales (%s, %t) transpose_b : tensor<?x1024xELEMENT>, tensor<50x1024xELEMENT> scales (tensor<?x8xf32>, tensor<1x8xf32>) -> tensor<?x50xf32>
  return %y : tensor<?x50xf32>
}
func.func @depth_1408(%x: tensor<?x1408xELEMENT>, %w: tensor<50x1408xELEMENT>, %s: tensor<?x11xf32>, %t: tensor<1x11xf32>) -> tensor<?x50xf32> {
  %y = hk.matmul %x, %w scales (%s, %t) transpose_b : tensor<?x1408xELEMENT>, tensor<50x1408xELEMENT> scales (tensor<?x11xf32>, tensor<1x11xf32>) -> tensor<?x50xf32>
  return %y : tensor<?x50xf32>
}
func.func @slices(%x: tensor<?x1168xELEMENT>, %w: tensor<40x1168xELEMENT>, %s: tensor<?x10xf32>, %t: tensor<1x10xf32>) -> tensor<3x?x40xf32> {
  %y = hk.matmul %x, %w scales (%s, %t) transpose_b k_slices 3 : tensor<?x1168xELEMENT>, tensor<40x1168xELEMENT> scales (tensor<?x10xf32>, tensor<1x10xf32>) -> tensor<3x?x40xf32>
  return %y : tensor<3x?x40xf32>
}
func.func @batched(%x: tensor<2x?x656xELEMENT>, %w: tensor<2x72x656xELEMENT>, %s: tensor<2x?x6xf32>, %t: tensor<2x1x6xf32>) -> tensor<2x?x72xf32> {
  %y = hk.matmul %x, %w scales (%s, %t) transpose_b : tensor<2x?x656xELEMENT>, tensor<2x72x656xELEMENT> scales (tensor<2x?x6xf32>, tensor<2x1x6xf32>) -> tensor<2x?x72xf32>
  return %y : tensor<2x?x72xf32>
}
func.func @groups(%x: tensor<?x144xELEMENT>, %w: tensor<256x144xELEMENT>, %s: tensor<?x2xf32>, %t: tensor<2x2xf32>) -> (tensor<?x256xi8>, tensor<?x2xf32>) {
  %y = hk.matmul %x, %w scales (%s, %t) transpose_b : tensor<?x144xELEMENT>, tensor<256x144xELEMENT> scales (tensor<?x2xf32>, tensor<2x2xf32>) -> tensor<?x256xbf16>
  %q, %g = hk.quantize per_group %y group 128 : tensor<?x256xbf16> -> tensor<?x256xi8>, tensor<?x2xf32>
  return %q, %g : tensor<?x256xi8>, tensor<?x2xf32>
}
func.func @gate(%x: tensor<?x256xELEMENT>, %w: tensor<512x256xELEMENT>, %s: tensor<?x2xf32>, %t: tensor<4x2xf32>) -> tensor<?x256xbf16> {
  %y = hk.matmul %x, %w scales (%s, %t) transpose_b : tensor<?x256xELEMENT>, tensor<512x256xELEMENT> scales (tensor<?x2xf32>, tensor<4x2xf32>) -> tensor<?x512xbf16>
  %g = hk.gated_activation silu %y : tensor<?x512xbf16> -> tensor<?x256xbf16>
  return %g : tensor<?x256xbf16>
}
}
