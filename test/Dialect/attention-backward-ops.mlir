// RUN: hk-opt %s | hk-opt | FileCheck %s

// CHECK-LABEL: func @dense
func.func @dense(%q: tensor<2x?x8x64xf16>, %k: tensor<2x?x2x64xf16>, %v: tensor<2x?x2x32xf16>, %do: tensor<2x?x8x32xf16>, %l: tensor<2x?x8xf32>, %s: tensor<8xf32>) {
  // CHECK: hk.attention_backward %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} scale 1.250000e-01 causal : tensor<2x?x8x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2x32xf16>, tensor<2x?x8x32xf16>, tensor<2x?x8xf32> -> tensor<2x?x8x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2x32xf16>
  %0:3 = hk.attention_backward %q, %k, %v, %do, %l, %l scale 0.125 causal : tensor<2x?x8x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2x32xf16>, tensor<2x?x8x32xf16>, tensor<2x?x8xf32> -> tensor<2x?x8x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2x32xf16>
  // CHECK: sink %{{.*}} scale {{.*}} window_left 128 window_right 0 softcap 3.000000e+01 : {{.*}} sink tensor<8xf32> -> tensor<2x?x8x64xf32>, tensor<2x?x2x64xf32>, tensor<2x?x2x32xf32>, tensor<8xf32>
  %1:4 = hk.attention_backward %q, %k, %v, %do, %l, %l sink %s scale 0.125 window_left 128 window_right 0 softcap 30.0 : tensor<2x?x8x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2x32xf16>, tensor<2x?x8x32xf16>, tensor<2x?x8xf32> sink tensor<8xf32> -> tensor<2x?x8x64xf32>, tensor<2x?x2x64xf32>, tensor<2x?x2x32xf32>, tensor<8xf32>
  return
}

// CHECK-LABEL: func @ragged
func.func @ragged(%q: tensor<?x4x64xbf16>, %k: tensor<?x4x64xbf16>, %l: tensor<?x4xf32>, %o: tensor<?xi32>) {
  // CHECK: q_offsets %{{.*}} kv_offsets %{{.*}} scale {{.*}} q_offsets tensor<?xi32> kv_offsets tensor<?xi32> ->
  %0:3 = hk.attention_backward %q, %k, %k, %q, %l, %l q_offsets %o kv_offsets %o scale 0.125 : tensor<?x4x64xbf16>, tensor<?x4x64xbf16>, tensor<?x4x64xbf16>, tensor<?x4x64xbf16>, tensor<?x4xf32> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> -> tensor<?x4x64xbf16>, tensor<?x4x64xbf16>, tensor<?x4x64xbf16>
  return
}

// The sizes of the results are those of the operands.
// CHECK-LABEL: func @reify
func.func @reify(%q: tensor<?x4x64xbf16>, %k: tensor<?x4x64xbf16>, %l: tensor<?x4xf32>) -> (index, index) {
  %0:3 = hk.attention_backward %q, %k, %k, %q, %l, %l scale 0.125 : tensor<?x4x64xbf16>, tensor<?x4x64xbf16>, tensor<?x4x64xbf16>, tensor<?x4x64xbf16>, tensor<?x4xf32> -> tensor<?x4x64xbf16>, tensor<?x4x64xbf16>, tensor<?x4x64xbf16>
  %c0 = arith.constant 0 : index
  %t = tensor.dim %0#0, %c0 : tensor<?x4x64xbf16>
  %n = tensor.dim %0#2, %c0 : tensor<?x4x64xbf16>
  return %t, %n : index, index
}

// CHECK-LABEL: func @regions
func.func @regions(%q: tensor<?x9x4x64xbf16>, %k: tensor<?x7x2x64xbf16>, %l: tensor<?x9x4xf32>, %bias: tensor<4x9x7xf32>, %seed: tensor<i64>) -> index {
  // CHECK: reads(%{{.*}}, %{{.*}}) scale {{.*}} reads(tensor<4x9x7xf32>, tensor<i64>) -> tensor<?x9x4x64xbf16>, tensor<?x7x2x64xbf16>, tensor<?x7x2x64xbf16> dbias tensor<?x4x9x7xbf16> score {
  // CHECK: } weight {
  %0:4 = hk.attention_backward %q, %k, %k, %q, %l, %l reads (%bias, %seed) scale 0.125 : tensor<?x9x4x64xbf16>, tensor<?x7x2x64xbf16>, tensor<?x7x2x64xbf16>, tensor<?x9x4x64xbf16>, tensor<?x9x4xf32> reads (tensor<4x9x7xf32>, tensor<i64>) -> tensor<?x9x4x64xbf16>, tensor<?x7x2x64xbf16>, tensor<?x7x2x64xbf16> dbias tensor<?x4x9x7xbf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<4x9x7xf32>, %u: tensor<i64>):
    %x = hk.gather_elements %t [%h, %i, %j] : tensor<4x9x7xf32> [tensor<i32>, tensor<i32>, tensor<i32>] -> tensor<f32>
    %y = hk.add %x, %s : tensor<f32>
    %far = hk.compare gt %j, %i : tensor<i32> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %z = hk.select %far, %never, %y : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %z : tensor<f32>
  } weight {
  ^bb0(%b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<4x9x7xf32>, %u: tensor<i64>):
    %w = hk.cast %j : tensor<i32> -> tensor<i64>
    %r = hk.philox %u, %w : tensor<i64>, tensor<i64> -> tensor<f32>
    hk.yield %r : tensor<f32>
  }
  // CHECK: tensor.dim %{{.*}}, %{{.*}} : tensor<?x4x9x7xbf16>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %0#3, %c0 : tensor<?x4x9x7xbf16>
  return %n : index
}

// CHECK-LABEL: func @no_normalizer
func.func @no_normalizer(%q: tensor<?x4x64xbf16>, %k: tensor<?x2x64xbf16>, %v: tensor<?x2x32xbf16>, %do: tensor<?x4x32xbf16>, %o: tensor<?xi32>, %seed: tensor<i64>) {
  // CHECK: hk.attention_backward %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^, ]*}} scale 1.250000e-01 causal normalizer none : tensor<?x4x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x32xbf16>, tensor<?x4x32xbf16> -> tensor<?x4x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x32xbf16>
  %0:3 = hk.attention_backward %q, %k, %v, %do scale 0.125 causal normalizer none : tensor<?x4x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x32xbf16>, tensor<?x4x32xbf16> -> tensor<?x4x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x32xbf16>
  // CHECK: hk.attention_backward %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^, ]*}} q_offsets %{{.*}} kv_offsets %{{.*}} reads(%{{.*}}) scale {{.*}} normalizer none : {{.*}}, tensor<?x4x32xbf16> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> reads(tensor<i64>) -> {{.*}} score {
  // CHECK: } slope {
  // CHECK: } weight {
  %1:3 = hk.attention_backward %q, %k, %v, %do q_offsets %o kv_offsets %o reads (%seed) scale 0.125 normalizer none : tensor<?x4x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x32xbf16>, tensor<?x4x32xbf16> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> reads (tensor<i64>) -> tensor<?x4x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x32xbf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %u: tensor<i64>):
    %y = hk.mul %s, %s : tensor<f32>
    hk.yield %y : tensor<f32>
  } slope {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %u: tensor<i64>):
    %y = hk.add %s, %s : tensor<f32>
    hk.yield %y : tensor<f32>
  } weight {
  ^bb0(%b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %u: tensor<i64>):
    %w = hk.cast %j : tensor<i32> -> tensor<i64>
    %r = hk.philox %u, %w : tensor<i64>, tensor<i64> -> tensor<f32>
    hk.yield %r : tensor<f32>
  }
  return
}
