// Copies that transpose an operand write rows 8 or 16 apart: at most 40 % of the LDS clocks of
// gfx942 go to bank conflicts (two thirds did when only the last bits of a row permuted its
// chunks), and 55 % of gfx950's, whose tile has steps of 256 bytes: it is 1.2 times as quick all
// the same, as memory gives whole lines (modelled, benchmarks/results/amd-tiles.md). An
// operand that is copied as it lies has none: twice the depth adds no conflict to those of the
// epilogue.
// RUN: hk-compile %s --target=gfx942 --split-k=1 -o %t.942.so
// RUN: hk-compile %s --target=gfx950 -o %t.950.so
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.942.so --function=untransposed --device=hip:0 --counters=json > %t.942.json
// RUN: env HK_EMU_CHIP=gfx950 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.950.so --function=untransposed --device=hip:0 --counters=json > %t.950.json
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.942.so --function=transposed --device=hip:0 --counters=json > %t.plain.json
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.942.so --function=half_as_deep --device=hip:0 --counters=json > %t.half.json
// RUN: %python -c "import json, sys; a, b, c, d = (json.load(open(f))['kernels'][0] for f in sys.argv[1:]); print('share', *(k['lds_conflict_clocks'] * 100 <= k['lds_clocks'] * most for k, most in ((a, 40), (b, 55))), 'same', c['lds_conflict_clocks'] == d['lds_conflict_clocks'] and c['lds_clocks'] > d['lds_clocks'])" %t.942.json %t.950.json %t.plain.json %t.half.json | FileCheck %s
// CHECK: share True True same True

func.func @untransposed(%x: tensor<256x512xbf16>, %w: tensor<512x256xbf16>) -> tensor<256x256xbf16> {
  %y = hk.matmul %x, %w : tensor<256x512xbf16>, tensor<512x256xbf16> -> tensor<256x256xbf16>
  return %y : tensor<256x256xbf16>
}
func.func @transposed(%x: tensor<256x512xbf16>, %w: tensor<256x512xbf16>) -> tensor<256x256xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<256x512xbf16>, tensor<256x512xbf16> -> tensor<256x256xbf16>
  return %y : tensor<256x256xbf16>
}
func.func @half_as_deep(%x: tensor<256x256xbf16>, %w: tensor<256x256xbf16>) -> tensor<256x256xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<256x256xbf16>, tensor<256x256xbf16> -> tensor<256x256xbf16>
  return %y : tensor<256x256xbf16>
}
