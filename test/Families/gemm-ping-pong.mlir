// The main loop of ping_pong as clang makes it: products, reads, copies, barriers and the waits
// that are written there, and no other vector instruction. Twice the depth adds no conflict of
// LDS banks to those of the epilogue.
// RUN: sed s/ELEMENT/f8E4M3FNUZ/g %s > %t.942.mlir && hk-compile %t.942.mlir --target=gfx942 --split-k=1 -o %t.942.so
// RUN: sed s/ELEMENT/f8E4M3FN/g %s > %t.950.mlir && hk-compile %t.950.mlir --target=gfx950 --split-k=1 -o %t.950.so
// RUN: %python %S/Inputs/turns.py %t.942.so gfx942 | FileCheck %s --check-prefix=CDNA3
// RUN: %python %S/Inputs/turns.py %t.950.so gfx950 | FileCheck %s --check-prefix=CDNA4
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.942.so --function=deep --device=hip:0 --counters=json > %t.deep.942.json
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.942.so --function=shallow --device=hip:0 --counters=json > %t.shallow.942.json
// RUN: env HK_EMU_CHIP=gfx950 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.950.so --function=deep --device=hip:0 --counters=json > %t.deep.950.json
// RUN: env HK_EMU_CHIP=gfx950 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.950.so --function=shallow --device=hip:0 --counters=json > %t.shallow.950.json
// RUN: %python -c "import json, sys; k = [json.load(open(f))['kernels'][0] for f in sys.argv[1:]]; print(*(a['lds_conflict_clocks'] == b['lds_conflict_clocks'] and a['lds_clocks'] > b['lds_clocks'] for a, b in (k[:2], k[2:])))" %t.deep.942.json %t.shallow.942.json %t.deep.950.json %t.shallow.950.json | FileCheck %s --check-prefix=BANKS
// BANKS: True True

// CDNA3-COUNT-5: gfx942 True spills 0 scratch 0 mfma 64 valu 0 lds 32 vmem 8 barriers 8 turns 4 of 4 waits lgkmcnt(0) x4, vmcnt(0) x1, {{.*}}; scalar few
// CDNA4-COUNT-3: gfx950 True spills 0 scratch 0 mfma 64 valu 0 lds 48 vmem 16 barriers 8 turns 4 of 4 waits lgkmcnt(0) x4, vmcnt(8) x4; scalar few
// Two steps of k to an instruction.
// CDNA4: gfx950 True spills 0 scratch 0 mfma 32 valu 0 lds 48 vmem 16 barriers 8 turns 4 of 4 waits lgkmcnt(0) x4, vmcnt(8) x4; scalar few
// CDNA4: gfx950 True spills 0 scratch 0 mfma 64 valu 0 lds 48 vmem 16 barriers 8 turns 4 of 4 waits lgkmcnt(0) x4, vmcnt(8) x4; scalar few
// Scales along k: the sums of four tiles are folded between turns, two to an instruction, by scales that are two
// instructions more for each tile.
// CDNA3: gfx942 True spills 0 scratch 0 mfma 128 valu 136 lds 88 vmem 27 barriers 24 turns 12 of 12 waits lgkmcnt(0) x12, {{.*}}; scalar few
// CDNA4: gfx950 True spills 0 scratch 0 mfma 32 valu 136 lds 64 vmem 28 barriers 16 turns 8 of 8 waits lgkmcnt(0) x8, vmcnt(10) x1, vmcnt(6) x6, vmcnt(8) x3; scalar {{.*}}
module attributes {hk.gemm_loop = "ping_pong"} {
func.func @deep(%x: tensor<256x1024xbf16>, %w: tensor<256x1024xbf16>) -> tensor<256x256xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<256x1024xbf16>, tensor<256x1024xbf16> -> tensor<256x256xbf16>
  return %y : tensor<256x256xbf16>
}
func.func @shallow(%x: tensor<256x512xbf16>, %w: tensor<256x512xbf16>) -> tensor<256x256xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<256x512xbf16>, tensor<256x512xbf16> -> tensor<256x256xbf16>
  return %y : tensor<256x256xbf16>
}
func.func @i8(%x: tensor<?x4096xi8>, %w: tensor<4096x4096xi8>, %xs: tensor<?x1xf32>, %ws: tensor<4096x1xf32>) -> tensor<?x4096xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) transpose_b : tensor<?x4096xi8>, tensor<4096x4096xi8> scales (tensor<?x1xf32>, tensor<4096x1xf32>) -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
func.func @fp8(%x: tensor<?x4096xELEMENT>, %w: tensor<4096x4096xELEMENT>, %xs: tensor<?x1xf32>, %ws: tensor<4096x1xf32>) -> tensor<?x4096xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) transpose_b : tensor<?x4096xELEMENT>, tensor<4096x4096xELEMENT> scales (tensor<?x1xf32>, tensor<4096x1xf32>) -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
func.func @gate(%x: tensor<?x4096xbf16>, %w: tensor<8192x4096xbf16>) -> tensor<?x4096xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x4096xbf16>, tensor<8192x4096xbf16> -> tensor<?x8192xbf16>
  %g = hk.gated_activation silu %y : tensor<?x8192xbf16> -> tensor<?x4096xbf16>
  return %g : tensor<?x4096xbf16>
}
func.func @scales(%x: tensor<?x4096xELEMENT>, %w: tensor<4096x4096xELEMENT>, %s: tensor<?x32xf32>, %t: tensor<32x32xf32>) -> tensor<?x4096xbf16> {
  %y = hk.matmul %x, %w scales (%s, %t) transpose_b : tensor<?x4096xELEMENT>, tensor<4096x4096xELEMENT> scales (tensor<?x32xf32>, tensor<32x32xf32>) -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
}
