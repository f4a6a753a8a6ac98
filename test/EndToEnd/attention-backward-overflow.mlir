// Keys that a score of -inf alone hides, with products of gradient and value that overflow: their share of
// every gradient is 0, and not 0 times infinity. Rows from the fourth on see no key. Heads of 33 columns take
// vector units on GPUs; tiles of 128 rows are not cut by any mask of position.
// RUN: split-file %s %t
// RUN: %python -c "import numpy as n; [n.save(f'%t/{x}{s}_{d}', n.full((s, 1, d), a, 'f')) for s, d in ((9, 33), (9, 64), (128, 64)) for x, a in (('v', 3e38), ('do', 4))]"
// RUN: hk-compile %t/model.mlir --target=host,gfx942 -o %t.so
// RUN: cd %t && hk-run %t.so --check=%t/model.mlir --poison --calls=%t/calls | FileCheck %s
// RUN: cd %t && env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --check=%t/model.mlir --poison --calls=%t/calls | FileCheck %s
// CHECK-COUNT-6: all within their bounds

//--- model.mlir
func.func @plain64(%q: tensor<9x1x64xbf16>, %k: tensor<9x1x64xbf16>, %v: tensor<9x1x64xbf16>, %do: tensor<9x1x64xbf16>) -> (tensor<9x1x64xbf16>, tensor<9x1x64xbf16>, tensor<9x1x64xbf16>) {
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do scale 0.125 normalizer none : tensor<9x1x64xbf16>, tensor<9x1x64xbf16>, tensor<9x1x64xbf16>, tensor<9x1x64xbf16> -> tensor<9x1x64xbf16>, tensor<9x1x64xbf16>, tensor<9x1x64xbf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %four = hk.constant 4 : tensor<i32>
    %seen = hk.compare lt %i, %four : tensor<i32> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %y = hk.select %seen, %s, %never : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %y : tensor<f32>
  } slope {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %one = hk.constant 1.0 : tensor<f32>
    hk.yield %one : tensor<f32>
  }
  return %dq, %dk, %dv : tensor<9x1x64xbf16>, tensor<9x1x64xbf16>, tensor<9x1x64xbf16>
}
func.func @softmax64(%q: tensor<9x1x64xbf16>, %k: tensor<9x1x64xbf16>, %v: tensor<9x1x64xbf16>, %do: tensor<9x1x64xbf16>, %lse: tensor<9x1xf32>, %delta: tensor<9x1xf32>) -> (tensor<9x1x64xbf16>, tensor<9x1x64xbf16>, tensor<9x1x64xbf16>) {
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.125 : tensor<9x1x64xbf16>, tensor<9x1x64xbf16>, tensor<9x1x64xbf16>, tensor<9x1x64xbf16>, tensor<9x1xf32> -> tensor<9x1x64xbf16>, tensor<9x1x64xbf16>, tensor<9x1x64xbf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %four = hk.constant 4 : tensor<i32>
    %seen = hk.compare lt %i, %four : tensor<i32> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %y = hk.select %seen, %s, %never : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %y : tensor<f32>
  }
  return %dq, %dk, %dv : tensor<9x1x64xbf16>, tensor<9x1x64xbf16>, tensor<9x1x64xbf16>
}
func.func @plain_whole(%q: tensor<128x1x64xbf16>, %k: tensor<128x1x64xbf16>, %v: tensor<128x1x64xbf16>, %do: tensor<128x1x64xbf16>) -> (tensor<128x1x64xbf16>, tensor<128x1x64xbf16>, tensor<128x1x64xbf16>) {
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do scale 0.125 normalizer none : tensor<128x1x64xbf16>, tensor<128x1x64xbf16>, tensor<128x1x64xbf16>, tensor<128x1x64xbf16> -> tensor<128x1x64xbf16>, tensor<128x1x64xbf16>, tensor<128x1x64xbf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %four = hk.constant 4 : tensor<i32>
    %seen = hk.compare lt %i, %four : tensor<i32> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %y = hk.select %seen, %s, %never : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %y : tensor<f32>
  } slope {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %one = hk.constant 1.0 : tensor<f32>
    hk.yield %one : tensor<f32>
  }
  return %dq, %dk, %dv : tensor<128x1x64xbf16>, tensor<128x1x64xbf16>, tensor<128x1x64xbf16>
}
func.func @softmax_whole(%q: tensor<128x1x64xbf16>, %k: tensor<128x1x64xbf16>, %v: tensor<128x1x64xbf16>, %do: tensor<128x1x64xbf16>, %lse: tensor<128x1xf32>, %delta: tensor<128x1xf32>) -> (tensor<128x1x64xbf16>, tensor<128x1x64xbf16>, tensor<128x1x64xbf16>) {
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.125 : tensor<128x1x64xbf16>, tensor<128x1x64xbf16>, tensor<128x1x64xbf16>, tensor<128x1x64xbf16>, tensor<128x1xf32> -> tensor<128x1x64xbf16>, tensor<128x1x64xbf16>, tensor<128x1x64xbf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %four = hk.constant 4 : tensor<i32>
    %seen = hk.compare lt %i, %four : tensor<i32> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %y = hk.select %seen, %s, %never : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %y : tensor<f32>
  }
  return %dq, %dk, %dv : tensor<128x1x64xbf16>, tensor<128x1x64xbf16>, tensor<128x1x64xbf16>
}
func.func @plain33(%q: tensor<9x1x33xbf16>, %k: tensor<9x1x33xbf16>, %v: tensor<9x1x33xbf16>, %do: tensor<9x1x33xbf16>) -> (tensor<9x1x33xbf16>, tensor<9x1x33xbf16>, tensor<9x1x33xbf16>) {
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do scale 0.125 normalizer none : tensor<9x1x33xbf16>, tensor<9x1x33xbf16>, tensor<9x1x33xbf16>, tensor<9x1x33xbf16> -> tensor<9x1x33xbf16>, tensor<9x1x33xbf16>, tensor<9x1x33xbf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %four = hk.constant 4 : tensor<i32>
    %seen = hk.compare lt %i, %four : tensor<i32> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %y = hk.select %seen, %s, %never : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %y : tensor<f32>
  } slope {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %one = hk.constant 1.0 : tensor<f32>
    hk.yield %one : tensor<f32>
  }
  return %dq, %dk, %dv : tensor<9x1x33xbf16>, tensor<9x1x33xbf16>, tensor<9x1x33xbf16>
}
func.func @softmax33(%q: tensor<9x1x33xbf16>, %k: tensor<9x1x33xbf16>, %v: tensor<9x1x33xbf16>, %do: tensor<9x1x33xbf16>, %lse: tensor<9x1xf32>, %delta: tensor<9x1xf32>) -> (tensor<9x1x33xbf16>, tensor<9x1x33xbf16>, tensor<9x1x33xbf16>) {
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.125 : tensor<9x1x33xbf16>, tensor<9x1x33xbf16>, tensor<9x1x33xbf16>, tensor<9x1x33xbf16>, tensor<9x1xf32> -> tensor<9x1x33xbf16>, tensor<9x1x33xbf16>, tensor<9x1x33xbf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %four = hk.constant 4 : tensor<i32>
    %seen = hk.compare lt %i, %four : tensor<i32> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %y = hk.select %seen, %s, %never : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %y : tensor<f32>
  }
  return %dq, %dk, %dv : tensor<9x1x33xbf16>, tensor<9x1x33xbf16>, tensor<9x1x33xbf16>
}

//--- calls
--function=plain64 --input=v=v9_64.npy --input=do=do9_64.npy
--function=softmax64 --input=v=v9_64.npy --input=do=do9_64.npy
--function=plain33 --input=v=v9_33.npy --input=do=do9_33.npy
--function=softmax33 --input=v=v9_33.npy --input=do=do9_33.npy
--function=plain_whole --input=v=v128_64.npy --input=do=do128_64.npy
--function=softmax_whole --input=v=v128_64.npy --input=do=do128_64.npy
