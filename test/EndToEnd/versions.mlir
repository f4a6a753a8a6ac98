// Versions of a function for few rows, at and around their limits: each launches what it
// was planned for, has workspace enough, and is within the bounds. A size that does not
// agree is reported by its name in each of them.
// RUN: hk-compile %s --target=gfx942 -o %t.so
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --function=mlp --device=hip:0 --dim=x.0=0 --check=%s | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --function=mlp --device=hip:0 --random=1 --dim=x.0=1 --check=%s --bench=1 | FileCheck %s --check-prefixes=CHECK,BOTH
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --function=mlp --device=hip:0 --random=2 --dim=x.0=64 --check=%s --bench=1 | FileCheck %s --check-prefixes=CHECK,BOTH
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --function=mlp --device=hip:0 --random=3 --dim=x.0=65 --check=%s --bench=1 | FileCheck %s --check-prefixes=CHECK,SECOND
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --function=mlp --device=hip:0 --random=4 --dim=x.0=257 --check=%s --bench=1 | FileCheck %s --check-prefixes=CHECK,SECOND
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --function=mlp --device=hip:0 --random=5 --dim=x.0=1025 --check=%s --bench=1 | FileCheck %s --check-prefixes=CHECK,WHOLE
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --function=steps --device=hip:0 --random=3 --dim=q.0=16 --dim=k.0=20 --dim=table.0=3 --dim=table.1=5 --dim=offsets.0=4 --check=%s --bench=1 | FileCheck %s --check-prefixes=CHECK,COMBINE
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --function=steps --device=hip:0 --random=4 --dim=q.0=17 --dim=k.0=20 --dim=table.0=3 --dim=table.1=5 --dim=offsets.0=4 --check=%s --bench=1 | FileCheck %s --check-prefixes=CHECK,ALONE
// RUN: not env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --function=steps --device=hip:0 --dim=q.0=1 --dim=k.0=20 --dim=v.0=20 --dim=table.0=3 --dim=table.1=5 --dim=offsets.0=9 2>&1 | FileCheck %s --check-prefix=GUARD
// RUN: not env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --function=steps --device=hip:0 --dim=q.0=40 --dim=k.0=20 --dim=v.0=20 --dim=table.0=3 --dim=table.1=5 --dim=offsets.0=9 2>&1 | FileCheck %s --check-prefix=GUARD

// CHECK: all within their bounds
// BOTH: (sum_slices,silu)
// BOTH: (sum_slices,add,rms_norm)
// SECOND: (matmul,silu)
// SECOND: (sum_slices,add,rms_norm)
// WHOLE: (matmul,silu)
// WHOLE: (matmul,add)
// COMBINE: (attention_combine)
// ALONE-NOT: (attention_combine)
// GUARD: table dim 0 is 3 but offsets dim 0 - 1 is 8; they must be equal
func.func @mlp(%x: tensor<?x1024xbf16> {hk.name = "x"}, %w: tensor<1024x1024xbf16>, %wo: tensor<1024x1024xbf16>, %g: tensor<1024xbf16>) -> (tensor<?x1024xbf16>, tensor<?x1024xbf16>) {
  %y = hk.matmul %x, %w transpose_b : tensor<?x1024xbf16>, tensor<1024x1024xbf16> -> tensor<?x1024xbf16>
  %s = hk.silu %y : tensor<?x1024xbf16>
  %d = hk.matmul %s, %wo transpose_b : tensor<?x1024xbf16>, tensor<1024x1024xbf16> -> tensor<?x1024xbf16>
  %a = hk.add %d, %x : tensor<?x1024xbf16>
  %o = hk.rms_norm %a, %g epsilon 1.0e-5 : tensor<?x1024xbf16>, tensor<1024xbf16>
  return %o, %a : tensor<?x1024xbf16>, tensor<?x1024xbf16>
}
func.func @steps(%q: tensor<?x8x64xbf16> {hk.name = "q"}, %k: tensor<?x16x2x64xbf16> {hk.name = "k", hk.dims = ["P", "_", "_", "_"]}, %v: tensor<?x16x2x64xbf16> {hk.name = "v", hk.dims = ["P", "_", "_", "_"]}, %table: tensor<?x?xi32> {hk.name = "table", hk.dims = ["B", "_"]}, %offsets: tensor<?xi32> {hk.name = "offsets"}, %lens: tensor<?xi32> {hk.name = "lens", hk.dims = ["B"]}) -> tensor<?x8x64xbf16> {
  %o = hk.attention %q, %k, %v q_offsets %offsets kv_lens %lens block_table %table scale 0.125 causal : tensor<?x8x64xbf16>, tensor<?x16x2x64xbf16>, tensor<?x16x2x64xbf16> q_offsets tensor<?xi32> kv_lens tensor<?xi32> block_table tensor<?x?xi32> -> tensor<?x8x64xbf16>
  return %o : tensor<?x8x64xbf16>
}
