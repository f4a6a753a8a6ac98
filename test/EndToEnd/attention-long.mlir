// 131,072 keys of one sequence, of which a call sees all, or all but the last.
// RUN: split-file %s %t
// RUN: hk-compile %t/model.mlir --target=host,gfx942,gfx950 -o %t.so
// RUN: hk-run %t.so --check=%t/model.mlir --poison --calls=%t/calls | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --check=%t/model.mlir --poison --calls=%t/calls | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t.so --device=hip:0 --check=%t/model.mlir --poison --calls=%t/calls | FileCheck %s
// CHECK-COUNT-2: all within their bounds

//--- calls
--range=n=131072:131072
--range=n=131071:131071 --random=3

//--- model.mlir
func.func @long(%q: tensor<1x1x4x64xbf16>, %k: tensor<1x131072x1x64xbf16>, %v: tensor<1x131072x1x64xbf16>, %n: tensor<1xi32>) -> (tensor<1x1x4x64xbf16>, tensor<1x1x4xf32>) {
  %o, %l = hk.attention %q, %k, %v kv_lens %n scale 0.125 causal : tensor<1x1x4x64xbf16>, tensor<1x131072x1x64xbf16>, tensor<1x131072x1x64xbf16> kv_lens tensor<1xi32> -> tensor<1x1x4x64xbf16>, tensor<1x1x4xf32>
  return %o, %l : tensor<1x1x4x64xbf16>, tensor<1x1x4xf32>
}
