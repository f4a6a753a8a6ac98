// The gradient of a bias that ragged sequences share: a sum over them in their order, of the queries and
// keys that it has. Sequences are longer and shorter than it, empty, without keys or without queries;
// 33 columns take vector units on GPUs, as does a bias on AMD, whose addresses fill the registers.
// RUN: split-file %s %t
// RUN: hk-compile %t/model.mlir --target=host,gfx942,gfx950,sm_90a -o %t.so
// RUN: hk-run %t.so --check=%t/model.mlir --poison --calls=%t/calls | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 HK_EMU_STRICT_RACES=1 hk-run %t.so --device=hip:0 --check=%t/model.mlir --poison --calls=%t/calls | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 HK_EMU_STRICT_RACES=1 hk-run %t.so --device=hip:0 --check=%t/model.mlir --poison --calls=%t/calls | FileCheck %s
// CHECK-COUNT-9: all within their bounds

//--- model.mlir
func.func @bias(%q: tensor<?x4x32xbf16>, %k: tensor<?x2x32xbf16>, %v: tensor<?x2x32xbf16>, %do: tensor<?x4x32xbf16>, %qo: tensor<?xi32>, %ko: tensor<?xi32>, %lse: tensor<?x4xf32>, %delta: tensor<?x4xf32>, %table: tensor<4x70x83xf32>) -> (tensor<?x4x32xbf16>, tensor<?x2x32xbf16>, tensor<?x2x32xbf16>, tensor<1x4x70x83xf32>) {
  %dq, %dk, %dv, %db = hk.attention_backward %q, %k, %v, %do, %lse, %delta q_offsets %qo kv_offsets %ko reads (%table) scale 0.2 causal : tensor<?x4x32xbf16>, tensor<?x2x32xbf16>, tensor<?x2x32xbf16>, tensor<?x4x32xbf16>, tensor<?x4xf32> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> reads (tensor<4x70x83xf32>) -> tensor<?x4x32xbf16>, tensor<?x2x32xbf16>, tensor<?x2x32xbf16> dbias tensor<1x4x70x83xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<4x70x83xf32>):
    %x = hk.gather_elements %t [%h, %i, %j] : tensor<4x70x83xf32> [tensor<i32>, tensor<i32>, tensor<i32>] -> tensor<f32>
    %y = hk.add %s, %x : tensor<f32>
    hk.yield %y : tensor<f32>
  }
  return %dq, %dk, %dv, %db : tensor<?x4x32xbf16>, tensor<?x2x32xbf16>, tensor<?x2x32xbf16>, tensor<1x4x70x83xf32>
}
// The gradient of the bias alone, in bf16; one sequence without offsets.
func.func @alone(%q: tensor<?x3x33xf32>, %k: tensor<?x1x33xf32>, %v: tensor<?x1x20xf32>, %do: tensor<?x3x20xf32>, %lse: tensor<?x3xf32>, %delta: tensor<?x3xf32>, %table: tensor<3x9x40xf32>) -> tensor<1x3x9x40xbf16> {
  %dq, %dk, %dv, %db = hk.attention_backward %q, %k, %v, %do, %lse, %delta reads (%table) scale 0.2 window_left 5 : tensor<?x3x33xf32>, tensor<?x1x33xf32>, tensor<?x1x20xf32>, tensor<?x3x20xf32>, tensor<?x3xf32> reads (tensor<3x9x40xf32>) -> tensor<?x3x33xf32>, tensor<?x1x33xf32>, tensor<?x1x20xf32> dbias tensor<1x3x9x40xbf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<3x9x40xf32>):
    %x = hk.gather_elements %t [%h, %i, %j] : tensor<3x9x40xf32> [tensor<i32>, tensor<i32>, tensor<i32>] -> tensor<f32>
    %y = hk.add %s, %x : tensor<f32>
    hk.yield %y : tensor<f32>
  }
  return %db : tensor<1x3x9x40xbf16>
}
// A region that reads nothing leaves matrix fragments their registers.
func.func @fragments(%q: tensor<?x4x32xbf16>, %k: tensor<?x2x32xbf16>, %v: tensor<?x2x32xbf16>, %do: tensor<?x4x32xbf16>, %qo: tensor<?xi32>, %ko: tensor<?xi32>, %lse: tensor<?x4xf32>, %delta: tensor<?x4xf32>) -> tensor<1x4x70x83xf32> {
  %dq, %dk, %dv, %db = hk.attention_backward %q, %k, %v, %do, %lse, %delta q_offsets %qo kv_offsets %ko scale 0.2 causal : tensor<?x4x32xbf16>, tensor<?x2x32xbf16>, tensor<?x2x32xbf16>, tensor<?x4x32xbf16>, tensor<?x4xf32> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> -> tensor<?x4x32xbf16>, tensor<?x2x32xbf16>, tensor<?x2x32xbf16> dbias tensor<1x4x70x83xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %x = hk.cast %h : tensor<i32> -> tensor<f32>
    %y = hk.sub %s, %x : tensor<f32>
    hk.yield %y : tensor<f32>
  }
  return %db : tensor<1x4x70x83xf32>
}

//--- calls
--function=bias --dim=q.0=300 --dim=k.0=260 --dim=qo.0=5 --dim=ko.0=5
--function=bias --dim=q.0=60 --dim=k.0=200 --dim=qo.0=2 --dim=ko.0=2
--function=bias --dim=q.0=9 --dim=k.0=7 --dim=qo.0=8 --dim=ko.0=8
--function=alone --dim=q.0=5 --dim=k.0=70
--function=alone --dim=q.0=40 --dim=k.0=12
--function=alone --dim=q.0=1 --dim=k.0=1
--function=fragments --dim=q.0=300 --dim=k.0=260 --dim=qo.0=5 --dim=ko.0=5
--function=fragments --dim=q.0=60 --dim=k.0=200 --dim=qo.0=2 --dim=ko.0=2
--function=fragments --dim=q.0=9 --dim=k.0=7 --dim=qo.0=8 --dim=ko.0=8
