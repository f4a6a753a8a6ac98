// Products of two groups of waves in turns: depths of one to eleven tiles, odd and
// even, with and without a tail; edges of rows and columns; NaN among elements; batches, both
// kinds of pairs, slices of k that end within a tile, groups of columns that are quantised.
// Operands that do not lie as they are multiplied stay in blocks, for a reason with a code.
// RUN: hk-compile %s -o %t.942.so --target=gfx942 --explain | FileCheck %s --check-prefixes=LOOP,REFUSED
// RUN: hk-compile %s -o %t.950.so --target=gfx950 --explain | FileCheck %s --check-prefixes=LOOP,REFUSED
// DEFINE: %{gfx942} = env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 HK_EMU_STRICT_RACES=1 hk-run %t.942.so --device=hip:0 --check=%s
// DEFINE: %{gfx950} = env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 HK_EMU_STRICT_RACES=1 hk-run %t.950.so --device=hip:0 --check=%s
// RUN: %{gfx942} --function=bf16 --dim=x.0=0
// RUN: %{gfx942} --function=bf16 --dim=x.0=1 --data=nan
// RUN: %{gfx942} --function=bf16 --dim=x.0=300
// RUN: %{gfx942} --function=bf16 --dim=x.0=257 --data=tiny
// RUN: %{gfx942} --function=short --dim=x.0=255
// RUN: %{gfx942} --function=f16 --dim=x.0=129
// RUN: %{gfx942} --function=i8 --dim=x.0=260
// RUN: %{gfx942} --function=batch --dim=x.1=70
// RUN: %{gfx942} --function=gate --dim=x.0=258
// RUN: %{gfx942} --function=pairs --dim=x.0=40
// RUN: %{gfx942} --function=slices --dim=x.0=66
// RUN: %{gfx942} --function=groups --dim=x.0=300
// RUN: %{gfx942} --function=depth_64 --dim=x.0=33
// RUN: %{gfx942} --function=depth_128 --dim=x.0=33
// RUN: %{gfx942} --function=depth_192 --dim=x.0=33
// RUN: %{gfx942} --function=depth_256 --dim=x.0=33
// RUN: %{gfx942} --function=depth_328 --dim=x.0=33
// RUN: %{gfx942} --function=depth_448 --dim=x.0=33
// RUN: %{gfx942} --function=depth_704 --dim=x.0=33
// RUN: %{gfx942} --function=fp8_fnuz --dim=x.0=270
// RUN: %{gfx942} --function=fp8_fnuz --dim=x.0=31 --data=nan
// RUN: %{gfx950} --function=bf16 --dim=x.0=0
// RUN: %{gfx950} --function=bf16 --dim=x.0=1 --data=nan
// RUN: %{gfx950} --function=bf16 --dim=x.0=300
// RUN: %{gfx950} --function=bf16 --dim=x.0=257 --data=tiny
// RUN: %{gfx950} --function=short --dim=x.0=255
// RUN: %{gfx950} --function=f16 --dim=x.0=129
// RUN: %{gfx950} --function=i8 --dim=x.0=260
// RUN: %{gfx950} --function=batch --dim=x.1=70
// RUN: %{gfx950} --function=gate --dim=x.0=258
// RUN: %{gfx950} --function=pairs --dim=x.0=40
// RUN: %{gfx950} --function=slices --dim=x.0=66
// RUN: %{gfx950} --function=groups --dim=x.0=300
// RUN: %{gfx950} --function=depth_64 --dim=x.0=33
// RUN: %{gfx950} --function=depth_128 --dim=x.0=33
// RUN: %{gfx950} --function=depth_192 --dim=x.0=33
// RUN: %{gfx950} --function=depth_256 --dim=x.0=33
// RUN: %{gfx950} --function=depth_328 --dim=x.0=33
// RUN: %{gfx950} --function=depth_448 --dim=x.0=33
// RUN: %{gfx950} --function=depth_704 --dim=x.0=33
// RUN: %{gfx950} --function=fp8_fn --dim=x.0=270
// RUN: %{gfx950} --function=fp8_fn --dim=x.0=31 --data=nan

// LOOP: @matmul gemm: {{.*}}loop = ping_pong>{{.*}} also @matmul_0, @matmul_1, @matmul_6, @matmul_9, @matmul_10, @matmul_11, @matmul_12, @matmul_13, @matmul_14, @matmul_15
// LOOP: @matmul_2 gemm: {{.*}}loop = ping_pong>{{.*}} also @matmul_{{[35]}}
// LOOP: @matmul_gated_activation gemm: {{.*}}loop = ping_pong>{{.*}} also @matmul_gated_activation_7
// LOOP: @matmul_8 gemm: {{.*}}loop = ping_pong>
// LOOP: @matmul_quantize gemm: {{.*}}loop = ping_pong>
// REFUSED: matmul{{.*}} / ping_pong: {{.*}}rows begin at multiples of 8 bytes, not of 16
module attributes {hk.gemm_loop = "ping_pong"} {
func.func @bf16(%x: tensor<?x336xbf16>, %w: tensor<300x336xbf16>) -> tensor<?x300xf32> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x336xbf16>, tensor<300x336xbf16> -> tensor<?x300xf32>
  return %y : tensor<?x300xf32>
}
func.func @short(%x: tensor<?x8xbf16>, %w: tensor<264x8xbf16>) -> tensor<?x264xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x8xbf16>, tensor<264x8xbf16> -> tensor<?x264xbf16>
  return %y : tensor<?x264xbf16>
}
func.func @f16(%x: tensor<?x520xf16>, %w: tensor<77x520xf16>) -> tensor<?x77xf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x520xf16>, tensor<77x520xf16> -> tensor<?x77xf16>
  return %y : tensor<?x77xf16>
}
func.func @i8(%x: tensor<?x848xi8>, %w: tensor<140x848xi8>) -> tensor<?x140xi32> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x848xi8>, tensor<140x848xi8> -> tensor<?x140xi32>
  return %y : tensor<?x140xi32>
}
func.func @fp8_fnuz(%x: tensor<?x1040xf8E4M3FNUZ>, %w: tensor<136x1040xf8E4M3FNUZ>, %xs: tensor<?x1xf32>, %ws: tensor<136x1xf32>) -> tensor<?x136xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) transpose_b : tensor<?x1040xf8E4M3FNUZ>, tensor<136x1040xf8E4M3FNUZ> scales (tensor<?x1xf32>, tensor<136x1xf32>) -> tensor<?x136xbf16>
  return %y : tensor<?x136xbf16>
}
func.func @fp8_fn(%x: tensor<?x1040xf8E4M3FN>, %w: tensor<136x1040xf8E4M3FN>, %xs: tensor<?x1xf32>, %ws: tensor<136x1xf32>) -> tensor<?x136xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) transpose_b : tensor<?x1040xf8E4M3FN>, tensor<136x1040xf8E4M3FN> scales (tensor<?x1xf32>, tensor<136x1xf32>) -> tensor<?x136xbf16>
  return %y : tensor<?x136xbf16>
}
func.func @batch(%x: tensor<3x?x136xbf16>, %w: tensor<3x40x136xbf16>) -> tensor<3x?x40xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<3x?x136xbf16>, tensor<3x40x136xbf16> -> tensor<3x?x40xbf16>
  return %y : tensor<3x?x40xbf16>
}
func.func @gate(%x: tensor<?x264xbf16>, %w: tensor<272x264xbf16>) -> tensor<?x136xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x264xbf16>, tensor<272x264xbf16> -> tensor<?x272xbf16>
  %g = hk.gated_activation silu %y : tensor<?x272xbf16> -> tensor<?x136xbf16>
  return %g : tensor<?x136xbf16>
}
func.func @pairs(%x: tensor<?x264xbf16>, %w: tensor<272x264xbf16>) -> tensor<?x136xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x264xbf16>, tensor<272x264xbf16> -> tensor<?x272xbf16>
  %g = hk.gated_activation silu %y interleaved : tensor<?x272xbf16> -> tensor<?x136xbf16>
  return %g : tensor<?x136xbf16>
}
func.func @slices(%x: tensor<?x1112xbf16>, %w: tensor<40x1112xbf16>) -> tensor<3x?x40xf32> {
  %y = hk.matmul %x, %w transpose_b k_slices 3 : tensor<?x1112xbf16>, tensor<40x1112xbf16> -> tensor<3x?x40xf32>
  return %y : tensor<3x?x40xf32>
}
func.func @groups(%x: tensor<?x72xbf16>, %w: tensor<256x72xbf16>) -> (tensor<?x256xi8>, tensor<?x2xf32>) {
  %y = hk.matmul %x, %w transpose_b : tensor<?x72xbf16>, tensor<256x72xbf16> -> tensor<?x256xbf16>
  %q, %s = hk.quantize per_group %y group 128 : tensor<?x256xbf16> -> tensor<?x256xi8>, tensor<?x2xf32>
  return %q, %s : tensor<?x256xi8>, tensor<?x2xf32>
}
func.func @depth_64(%x: tensor<?x64xbf16>, %w: tensor<50x64xbf16>) -> tensor<?x50xf32> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x64xbf16>, tensor<50x64xbf16> -> tensor<?x50xf32>
  return %y : tensor<?x50xf32>
}
func.func @depth_128(%x: tensor<?x128xbf16>, %w: tensor<50x128xbf16>) -> tensor<?x50xf32> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x128xbf16>, tensor<50x128xbf16> -> tensor<?x50xf32>
  return %y : tensor<?x50xf32>
}
func.func @depth_192(%x: tensor<?x192xbf16>, %w: tensor<50x192xbf16>) -> tensor<?x50xf32> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x192xbf16>, tensor<50x192xbf16> -> tensor<?x50xf32>
  return %y : tensor<?x50xf32>
}
func.func @depth_256(%x: tensor<?x256xbf16>, %w: tensor<50x256xbf16>) -> tensor<?x50xf32> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x256xbf16>, tensor<50x256xbf16> -> tensor<?x50xf32>
  return %y : tensor<?x50xf32>
}
func.func @depth_328(%x: tensor<?x328xbf16>, %w: tensor<50x328xbf16>) -> tensor<?x50xf32> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x328xbf16>, tensor<50x328xbf16> -> tensor<?x50xf32>
  return %y : tensor<?x50xf32>
}
func.func @depth_448(%x: tensor<?x448xbf16>, %w: tensor<50x448xbf16>) -> tensor<?x50xf32> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x448xbf16>, tensor<50x448xbf16> -> tensor<?x50xf32>
  return %y : tensor<?x50xf32>
}
func.func @depth_704(%x: tensor<?x704xbf16>, %w: tensor<50x704xbf16>) -> tensor<?x50xf32> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x704xbf16>, tensor<50x704xbf16> -> tensor<?x50xf32>
  return %y : tensor<?x50xf32>
}
func.func @unaligned(%x: tensor<?x100xbf16>, %w: tensor<60x100xbf16>) -> tensor<?x60xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x100xbf16>, tensor<60x100xbf16> -> tensor<?x60xbf16>
  return %y : tensor<?x60xbf16>
}
}
