// Products of OCP floats of 8 and 4 bits with e8m0 scales, by the scaled matrix
// instruction of gfx950: mixed types, scales on one side, tails of k that end
// within a block, a step or a tile, edges of every tile, NaN and infinity among
// elements and scales. Negative data make scales of 0, "nan" some of 255.
// RUN: hk-compile %s -o %t.so --target=gfx950 --explain | FileCheck %s --check-prefix=LOOP
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 HK_EMU_STRICT_RACES=1 hk-run %t.so --device=hip:0 --check=%s --function=fp4 --dim=x.0=0 --data=nan
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 HK_EMU_STRICT_RACES=1 hk-run %t.so --device=hip:0 --check=%s --function=fp4 --dim=x.0=1 --data=tiny
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 HK_EMU_STRICT_RACES=1 hk-run %t.so --device=hip:0 --check=%s --function=fp4 --dim=x.0=37
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 HK_EMU_STRICT_RACES=1 hk-run %t.so --device=hip:0 --check=%s --function=fp4 --dim=x.0=2100 --data=nan
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 HK_EMU_STRICT_RACES=1 hk-run %t.so --device=hip:0 --check=%s --function=short --dim=x.0=33
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 HK_EMU_STRICT_RACES=1 hk-run %t.so --device=hip:0 --check=%s --function=fp8 --dim=x.0=1 --data=nan
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 HK_EMU_STRICT_RACES=1 hk-run %t.so --device=hip:0 --check=%s --function=fp8 --dim=x.0=70 --data=tiny
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 HK_EMU_STRICT_RACES=1 hk-run %t.so --device=hip:0 --check=%s --function=fp8 --dim=x.0=2049
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 HK_EMU_STRICT_RACES=1 hk-run %t.so --device=hip:0 --check=%s --function=fp8_fp4 --dim=x.0=130 --data=tiny
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 HK_EMU_STRICT_RACES=1 hk-run %t.so --device=hip:0 --check=%s --function=fp4_fp8 --dim=x.0=31 --data=tiny
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 HK_EMU_STRICT_RACES=1 hk-run %t.so --device=hip:0 --check=%s --function=fp4_fp8 --dim=x.0=600
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 HK_EMU_STRICT_RACES=1 hk-run %t.so --device=hip:0 --check=%s --function=row_scales --dim=x.0=40 --data=tiny
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 HK_EMU_STRICT_RACES=1 hk-run %t.so --device=hip:0 --check=%s --function=batch --dim=x.1=7
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 HK_EMU_STRICT_RACES=1 hk-run %t.so --device=hip:0 --check=%s --function=batch --dim=x.1=129 --data=nan
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 HK_EMU_STRICT_RACES=1 hk-run %t.so --device=hip:0 --check=%s --function=gate --dim=x.0=5 --data=tiny
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 HK_EMU_STRICT_RACES=1 hk-run %t.so --device=hip:0 --check=%s --function=gate --dim=x.0=300
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 HK_EMU_STRICT_RACES=1 hk-run %t.so --device=hip:0 --check=%s --function=slices --dim=x.0=66 --data=nan

// LOOP: @matmul gemm: {{.*}}loop = microscaled>
// LOOP: @matmul_0 gemm: {{.*}}loop = microscaled>{{.*}} also @matmul_5
// LOOP: @matmul_1 gemm: {{.*}}loop = microscaled>
// LOOP: @matmul_2 gemm: {{.*}}loop = microscaled>{{.*}} also @matmul_4
// LOOP: @matmul_3 gemm: {{.*}}loop = microscaled>
// LOOP: @matmul_gated_activation gemm: {{.*}}loop = microscaled>{{.*}}loop = microscaled>
// LOOP: @matmul_6 gemm: {{.*}}loop = microscaled>
module attributes {hk.gemm_loop = "microscaled"} {
func.func @fp4(%x: tensor<?x416xf4E2M1FN>, %w: tensor<137x416xf4E2M1FN>, %xs: tensor<?x13xf8E8M0FNU>, %ws: tensor<137x13xf8E8M0FNU>) -> tensor<?x137xf32> {
  %y = hk.matmul %x, %w scales (%xs, %ws) transpose_b : tensor<?x416xf4E2M1FN>, tensor<137x416xf4E2M1FN> scales (tensor<?x13xf8E8M0FNU>, tensor<137x13xf8E8M0FNU>) -> tensor<?x137xf32>
  return %y : tensor<?x137xf32>
}
func.func @short(%x: tensor<?x32xf4E2M1FN>, %w: tensor<40x32xf4E2M1FN>, %xs: tensor<?x1xf8E8M0FNU>, %ws: tensor<40x1xf8E8M0FNU>) -> tensor<?x40xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) transpose_b : tensor<?x32xf4E2M1FN>, tensor<40x32xf4E2M1FN> scales (tensor<?x1xf8E8M0FNU>, tensor<40x1xf8E8M0FNU>) -> tensor<?x40xbf16>
  return %y : tensor<?x40xbf16>
}
func.func @fp8(%x: tensor<?x336xf8E4M3FN>, %w: tensor<72x336xf8E4M3FN>, %xs: tensor<?x11xf8E8M0FNU>, %ws: tensor<72x11xf8E8M0FNU>) -> tensor<?x72xf32> {
  %y = hk.matmul %x, %w scales (%xs, %ws) transpose_b : tensor<?x336xf8E4M3FN>, tensor<72x336xf8E4M3FN> scales (tensor<?x11xf8E8M0FNU>, tensor<72x11xf8E8M0FNU>) -> tensor<?x72xf32>
  return %y : tensor<?x72xf32>
}
func.func @fp8_fp4(%x: tensor<?x288xf8E4M3FN>, %w: tensor<70x288xf4E2M1FN>, %xs: tensor<?x9xf8E8M0FNU>, %ws: tensor<70x9xf8E8M0FNU>) -> tensor<?x70xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) transpose_b : tensor<?x288xf8E4M3FN>, tensor<70x288xf4E2M1FN> scales (tensor<?x9xf8E8M0FNU>, tensor<70x9xf8E8M0FNU>) -> tensor<?x70xbf16>
  return %y : tensor<?x70xbf16>
}
func.func @fp4_fp8(%x: tensor<?x160xf4E2M1FN>, %w: tensor<66x160xf8E5M2>, %xs: tensor<?x5xf8E8M0FNU>, %ws: tensor<66x5xf8E8M0FNU>) -> tensor<?x66xf32> {
  %y = hk.matmul %x, %w scales (%xs, %ws) transpose_b : tensor<?x160xf4E2M1FN>, tensor<66x160xf8E5M2> scales (tensor<?x5xf8E8M0FNU>, tensor<66x5xf8E8M0FNU>) -> tensor<?x66xf32>
  return %y : tensor<?x66xf32>
}
// The scales of the left operand are of rows, and multiply the sums.
func.func @row_scales(%x: tensor<?x192xf8E4M3FN>, %w: tensor<65x192xf4E2M1FN>, %xs: tensor<?x1xf32>, %ws: tensor<65x6xf8E8M0FNU>) -> tensor<?x65xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) transpose_b : tensor<?x192xf8E4M3FN>, tensor<65x192xf4E2M1FN> scales (tensor<?x1xf32>, tensor<65x6xf8E8M0FNU>) -> tensor<?x65xbf16>
  return %y : tensor<?x65xbf16>
}
func.func @batch(%x: tensor<3x?x96xf4E2M1FN>, %w: tensor<3x33x96xf4E2M1FN>, %xs: tensor<3x?x3xf8E8M0FNU>, %ws: tensor<3x33x3xf8E8M0FNU>) -> tensor<3x?x33xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) transpose_b : tensor<3x?x96xf4E2M1FN>, tensor<3x33x96xf4E2M1FN> scales (tensor<3x?x3xf8E8M0FNU>, tensor<3x33x3xf8E8M0FNU>) -> tensor<3x?x33xbf16>
  return %y : tensor<3x?x33xbf16>
}
func.func @gate(%x: tensor<?x256xf4E2M1FN>, %w: tensor<272x256xf4E2M1FN>, %xs: tensor<?x8xf8E8M0FNU>, %ws: tensor<272x8xf8E8M0FNU>) -> tensor<?x136xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) transpose_b : tensor<?x256xf4E2M1FN>, tensor<272x256xf4E2M1FN> scales (tensor<?x8xf8E8M0FNU>, tensor<272x8xf8E8M0FNU>) -> tensor<?x272xbf16>
  %g = hk.gated_activation silu %y : tensor<?x272xbf16> -> tensor<?x136xbf16>
  return %g : tensor<?x136xbf16>
}
func.func @slices(%x: tensor<?x1152xf4E2M1FN>, %w: tensor<40x1152xf4E2M1FN>, %xs: tensor<?x36xf8E8M0FNU>, %ws: tensor<40x36xf8E8M0FNU>) -> tensor<3x?x40xf32> {
  %y = hk.matmul %x, %w scales (%xs, %ws) transpose_b k_slices 3 : tensor<?x1152xf4E2M1FN>, tensor<40x1152xf4E2M1FN> scales (tensor<?x36xf8E8M0FNU>, tensor<40x36xf8E8M0FNU>) -> tensor<3x?x40xf32>
  return %y : tensor<3x?x40xf32>
}
}
