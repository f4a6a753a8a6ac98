// RUN: hk-opt %s -split-input-file -verify-diagnostics

func.func @query_rank(%q: tensor<4x16xf32>, %k: tensor<9x2x16xf32>, %v: tensor<9x2x8xf32>, %do: tensor<7x4x8xf32>, %l: tensor<7x4xf32>) {
  // expected-error @below {{expected rank of query to be 3 or 4, but got 2}}
  %0:3 = hk.attention_backward %q, %k, %v, %do, %l, %l scale 1.0 : tensor<4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>, tensor<7x4x8xf32>, tensor<7x4xf32> -> tensor<4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>
  return
}

// -----

func.func @key_rank(%q: tensor<7x4x16xf32>, %k: tensor<1x9x2x16xf32>, %v: tensor<9x2x8xf32>, %do: tensor<7x4x8xf32>, %l: tensor<7x4xf32>) {
  // expected-error @below {{expected rank of key to be 3, but got 4}}
  %0:3 = hk.attention_backward %q, %k, %v, %do, %l, %l scale 1.0 : tensor<7x4x16xf32>, tensor<1x9x2x16xf32>, tensor<9x2x8xf32>, tensor<7x4x8xf32>, tensor<7x4xf32> -> tensor<7x4x16xf32>, tensor<1x9x2x16xf32>, tensor<9x2x8xf32>
  return
}

// -----

func.func @value_type(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %v: tensor<9x2x8xbf16>, %do: tensor<7x4x8xf32>, %l: tensor<7x4xf32>) {
  // expected-error @below {{expected element type of value to be 'f32', but got 'bf16'}}
  %0:3 = hk.attention_backward %q, %k, %v, %do, %l, %l scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xbf16>, tensor<7x4x8xf32>, tensor<7x4xf32> -> tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xbf16>
  return
}

// -----

func.func @gradient_type(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %v: tensor<9x2x8xf32>, %do: tensor<7x4x8xbf16>, %l: tensor<7x4xf32>) {
  // expected-error @below {{expected element type of gradient to be 'f32', but got 'bf16'}}
  %0:3 = hk.attention_backward %q, %k, %v, %do, %l, %l scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>, tensor<7x4x8xbf16>, tensor<7x4xf32> -> tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>
  return
}

// -----

func.func @head_size_unknown(%q: tensor<7x4x?xf32>, %k: tensor<9x2x16xf32>, %v: tensor<9x2x8xf32>, %do: tensor<7x4x8xf32>, %l: tensor<7x4xf32>) {
  // expected-error @below {{expected size of dim 2 of query to be static, but got ?}}
  %0:3 = hk.attention_backward %q, %k, %v, %do, %l, %l scale 1.0 : tensor<7x4x?xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>, tensor<7x4x8xf32>, tensor<7x4xf32> -> tensor<7x4x?xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>
  return
}

// -----

func.func @heads(%q: tensor<7x4x16xf32>, %k: tensor<9x3x16xf32>, %v: tensor<9x3x8xf32>, %do: tensor<7x4x8xf32>, %l: tensor<7x4xf32>) {
  // expected-error @below {{expected size of dim 1 of query to be a multiple of 3, the heads of key, but got 4}}
  %0:3 = hk.attention_backward %q, %k, %v, %do, %l, %l scale 1.0 : tensor<7x4x16xf32>, tensor<9x3x16xf32>, tensor<9x3x8xf32>, tensor<7x4x8xf32>, tensor<7x4xf32> -> tensor<7x4x16xf32>, tensor<9x3x16xf32>, tensor<9x3x8xf32>
  return
}

// -----

func.func @head_size(%q: tensor<7x4x16xf32>, %k: tensor<9x2x32xf32>, %v: tensor<9x2x8xf32>, %do: tensor<7x4x8xf32>, %l: tensor<7x4xf32>) {
  // expected-error @below {{expected size of dim 2 of key to be 16, but got 32}}
  %0:3 = hk.attention_backward %q, %k, %v, %do, %l, %l scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x32xf32>, tensor<9x2x8xf32>, tensor<7x4x8xf32>, tensor<7x4xf32> -> tensor<7x4x16xf32>, tensor<9x2x32xf32>, tensor<9x2x8xf32>
  return
}

// -----

func.func @sequences(%q: tensor<1x7x4x16xf32>, %k: tensor<2x9x2x16xf32>, %v: tensor<2x9x2x8xf32>, %do: tensor<1x7x4x8xf32>, %l: tensor<1x7x4xf32>) {
  // expected-error @below {{expected size of dim 0 of key to be 1, but got 2}}
  %0:3 = hk.attention_backward %q, %k, %v, %do, %l, %l scale 1.0 : tensor<1x7x4x16xf32>, tensor<2x9x2x16xf32>, tensor<2x9x2x8xf32>, tensor<1x7x4x8xf32>, tensor<1x7x4xf32> -> tensor<1x7x4x16xf32>, tensor<2x9x2x16xf32>, tensor<2x9x2x8xf32>
  return
}

// -----

func.func @value_shape(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %v: tensor<8x2x8xf32>, %do: tensor<7x4x8xf32>, %l: tensor<7x4xf32>) {
  // expected-error @below {{expected shape of value to be [9, 2, 8], but got [8, 2, 8]}}
  %0:3 = hk.attention_backward %q, %k, %v, %do, %l, %l scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<8x2x8xf32>, tensor<7x4x8xf32>, tensor<7x4xf32> -> tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<8x2x8xf32>
  return
}

// -----

func.func @gradient_shape(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %v: tensor<9x2x8xf32>, %do: tensor<7x4x16xf32>, %l: tensor<7x4xf32>) {
  // expected-error @below {{expected shape of gradient to be [7, 4, 8], but got [7, 4, 16]}}
  %0:3 = hk.attention_backward %q, %k, %v, %do, %l, %l scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>, tensor<7x4x16xf32>, tensor<7x4xf32> -> tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>
  return
}

// -----

func.func @lse_shape(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %v: tensor<9x2x8xf32>, %do: tensor<7x4x8xf32>, %l: tensor<7x2xf32>) {
  // expected-error @below {{expected shape of lse to be [7, 4], but got [7, 2]}}
  %0:3 = hk.attention_backward %q, %k, %v, %do, %l, %l scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>, tensor<7x4x8xf32>, tensor<7x2xf32> -> tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>
  return
}

// -----

func.func @no_kv_offsets(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %v: tensor<9x2x8xf32>, %do: tensor<7x4x8xf32>, %l: tensor<7x4xf32>, %b: tensor<3xi32>) {
  // expected-error @below {{expected kv_offsets to be present with q_offsets, but got none}}
  %0:3 = hk.attention_backward %q, %k, %v, %do, %l, %l q_offsets %b scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>, tensor<7x4x8xf32>, tensor<7x4xf32> q_offsets tensor<3xi32> -> tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>
  return
}

// -----

func.func @no_q_offsets(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %v: tensor<9x2x8xf32>, %do: tensor<7x4x8xf32>, %l: tensor<7x4xf32>, %b: tensor<3xi32>) {
  // expected-error @below {{expected kv_offsets to be absent without q_offsets, but got one}}
  %0:3 = hk.attention_backward %q, %k, %v, %do, %l, %l kv_offsets %b scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>, tensor<7x4x8xf32>, tensor<7x4xf32> kv_offsets tensor<3xi32> -> tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>
  return
}

// -----

func.func @dense_offsets(%q: tensor<1x7x4x16xf32>, %k: tensor<1x9x2x16xf32>, %v: tensor<1x9x2x8xf32>, %do: tensor<1x7x4x8xf32>, %l: tensor<1x7x4xf32>, %b: tensor<3xi32>) {
  // expected-error @below {{expected q_offsets to be absent with queries of rank 4, but got one}}
  %0:3 = hk.attention_backward %q, %k, %v, %do, %l, %l q_offsets %b kv_offsets %b scale 1.0 : tensor<1x7x4x16xf32>, tensor<1x9x2x16xf32>, tensor<1x9x2x8xf32>, tensor<1x7x4x8xf32>, tensor<1x7x4xf32> q_offsets tensor<3xi32> kv_offsets tensor<3xi32> -> tensor<1x7x4x16xf32>, tensor<1x9x2x16xf32>, tensor<1x9x2x8xf32>
  return
}

// -----

func.func @offsets_length(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %v: tensor<9x2x8xf32>, %do: tensor<7x4x8xf32>, %l: tensor<7x4xf32>, %b: tensor<3xi32>, %c: tensor<4xi32>) {
  // expected-error @below {{expected shape of kv_offsets to be [3], but got [4]}}
  %0:3 = hk.attention_backward %q, %k, %v, %do, %l, %l q_offsets %b kv_offsets %c scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>, tensor<7x4x8xf32>, tensor<7x4xf32> q_offsets tensor<3xi32> kv_offsets tensor<4xi32> -> tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>
  return
}

// -----

func.func @offsets_rank(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %v: tensor<9x2x8xf32>, %do: tensor<7x4x8xf32>, %l: tensor<7x4xf32>, %d: tensor<1x3xi32>) {
  // expected-error @below {{expected rank of q_offsets to be 1, but got 2}}
  %0:3 = hk.attention_backward %q, %k, %v, %do, %l, %l q_offsets %d kv_offsets %d scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>, tensor<7x4x8xf32>, tensor<7x4xf32> q_offsets tensor<1x3xi32> kv_offsets tensor<1x3xi32> -> tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>
  return
}

// -----

func.func @dquery_shape(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %v: tensor<9x2x8xf32>, %do: tensor<7x4x8xf32>, %l: tensor<7x4xf32>) {
  // expected-error @below {{expected shape of dquery to be [7, 4, 16], but got [7, 2, 16]}}
  %0:3 = hk.attention_backward %q, %k, %v, %do, %l, %l scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>, tensor<7x4x8xf32>, tensor<7x4xf32> -> tensor<7x2x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>
  return
}

// -----

func.func @dkey_shape(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %v: tensor<9x2x8xf32>, %do: tensor<7x4x8xf32>, %l: tensor<7x4xf32>) {
  // expected-error @below {{expected shape of dkey to be [9, 2, 16], but got [9, 4, 16]}}
  %0:3 = hk.attention_backward %q, %k, %v, %do, %l, %l scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>, tensor<7x4x8xf32>, tensor<7x4xf32> -> tensor<7x4x16xf32>, tensor<9x4x16xf32>, tensor<9x2x8xf32>
  return
}

// -----

func.func @dvalue_shape(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %v: tensor<9x2x8xf32>, %do: tensor<7x4x8xf32>, %l: tensor<7x4xf32>) {
  // expected-error @below {{expected shape of dvalue to be [9, 2, 8], but got [9, 2, 16]}}
  %0:3 = hk.attention_backward %q, %k, %v, %do, %l, %l scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>, tensor<7x4x8xf32>, tensor<7x4xf32> -> tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32>
  return
}

// -----

func.func @dkey_type(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %v: tensor<9x2x8xf32>, %do: tensor<7x4x8xf32>, %l: tensor<7x4xf32>) {
  // expected-error @below {{expected element type of dkey to be 'f32', but got 'bf16'}}
  %0:3 = hk.attention_backward %q, %k, %v, %do, %l, %l scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>, tensor<7x4x8xf32>, tensor<7x4xf32> -> tensor<7x4x16xf32>, tensor<9x2x16xbf16>, tensor<9x2x8xf32>
  return
}

// -----

func.func @dvalue_type(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %v: tensor<9x2x8xf32>, %do: tensor<7x4x8xf32>, %l: tensor<7x4xf32>) {
  // expected-error @below {{expected element type of dvalue to be 'f32', but got 'f16'}}
  %0:3 = hk.attention_backward %q, %k, %v, %do, %l, %l scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>, tensor<7x4x8xf32>, tensor<7x4xf32> -> tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf16>
  return
}

// -----

func.func @no_dsink(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %v: tensor<9x2x8xf32>, %do: tensor<7x4x8xf32>, %l: tensor<7x4xf32>, %s: tensor<4xf32>) {
  // expected-error @below {{expected dsink to be present with a sink, but got none}}
  %0:3 = hk.attention_backward %q, %k, %v, %do, %l, %l sink %s scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>, tensor<7x4x8xf32>, tensor<7x4xf32> sink tensor<4xf32> -> tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>
  return
}

// -----

func.func @no_sink(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %v: tensor<9x2x8xf32>, %do: tensor<7x4x8xf32>, %l: tensor<7x4xf32>) {
  // expected-error @below {{expected dsink to be absent without a sink, but got one}}
  %0:4 = hk.attention_backward %q, %k, %v, %do, %l, %l scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>, tensor<7x4x8xf32>, tensor<7x4xf32> -> tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>, tensor<4xf32>
  return
}

// -----

func.func @sink_shape(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %v: tensor<9x2x8xf32>, %do: tensor<7x4x8xf32>, %l: tensor<7x4xf32>, %t: tensor<2xf32>) {
  // expected-error @below {{expected shape of sink to be [4], but got [2]}}
  %0:4 = hk.attention_backward %q, %k, %v, %do, %l, %l sink %t scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>, tensor<7x4x8xf32>, tensor<7x4xf32> sink tensor<2xf32> -> tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>, tensor<4xf32>
  return
}

// -----

func.func @dsink_shape(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %v: tensor<9x2x8xf32>, %do: tensor<7x4x8xf32>, %l: tensor<7x4xf32>, %s: tensor<4xf32>) {
  // expected-error @below {{expected shape of dsink to be [4], but got [2]}}
  %0:4 = hk.attention_backward %q, %k, %v, %do, %l, %l sink %s scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>, tensor<7x4x8xf32>, tensor<7x4xf32> sink tensor<4xf32> -> tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>, tensor<2xf32>
  return
}

// -----

func.func @softcap(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %v: tensor<9x2x8xf32>, %do: tensor<7x4x8xf32>, %l: tensor<7x4xf32>) {
  // expected-error @below {{expected softcap to be above 0, but got 0.000000e+00}}
  %0:3 = hk.attention_backward %q, %k, %v, %do, %l, %l scale 1.0 softcap 0.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>, tensor<7x4x8xf32>, tensor<7x4xf32> -> tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x8xf32>
  return
}

// -----

func.func @reads_without_region(%q: tensor<2x7x4x16xf32>, %k: tensor<2x9x2x16xf32>, %l: tensor<2x7x4xf32>) {
  // expected-error @below {{expected a region that takes reads, but got neither score nor weight}}
  %0:3 = hk.attention_backward %q, %k, %k, %q, %l, %l reads (%l) scale 1.0 : tensor<2x7x4x16xf32>, tensor<2x9x2x16xf32>, tensor<2x9x2x16xf32>, tensor<2x7x4x16xf32>, tensor<2x7x4xf32> reads (tensor<2x7x4xf32>) -> tensor<2x7x4x16xf32>, tensor<2x9x2x16xf32>, tensor<2x9x2x16xf32>
  return
}

// -----

func.func @score_slope(%q: tensor<2x7x4x16xf32>, %k: tensor<2x9x2x16xf32>, %l: tensor<2x7x4xf32>) {
  // expected-error @below {{expected score to yield its score, changed only by hk.add and hk.sub of what does not depend on it, or -inf by hk.select, but got hk.mul}}
  %0:3 = hk.attention_backward %q, %k, %k, %q, %l, %l scale 1.0 : tensor<2x7x4x16xf32>, tensor<2x9x2x16xf32>, tensor<2x9x2x16xf32>, tensor<2x7x4x16xf32>, tensor<2x7x4xf32> -> tensor<2x7x4x16xf32>, tensor<2x9x2x16xf32>, tensor<2x9x2x16xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %f = hk.cast %j : tensor<i32> -> tensor<f32>
    %y = hk.mul %s, %f : tensor<f32>
    hk.yield %y : tensor<f32>
  }
  return
}

// -----

func.func @score_twice(%q: tensor<2x7x4x16xf32>, %k: tensor<2x9x2x16xf32>, %l: tensor<2x7x4xf32>) {
  // expected-error @below {{expected score to yield its score, changed only by hk.add and hk.sub of what does not depend on it, or -inf by hk.select, but got hk.add}}
  %0:3 = hk.attention_backward %q, %k, %k, %q, %l, %l scale 1.0 : tensor<2x7x4x16xf32>, tensor<2x9x2x16xf32>, tensor<2x9x2x16xf32>, tensor<2x7x4x16xf32>, tensor<2x7x4xf32> -> tensor<2x7x4x16xf32>, tensor<2x9x2x16xf32>, tensor<2x9x2x16xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %y = hk.add %s, %s : tensor<f32>
    hk.yield %y : tensor<f32>
  }
  return
}

// -----

func.func @score_negated(%q: tensor<2x7x4x16xf32>, %k: tensor<2x9x2x16xf32>, %l: tensor<2x7x4xf32>) {
  // expected-error @below {{expected score to yield its score, changed only by hk.add and hk.sub of what does not depend on it, or -inf by hk.select, but got hk.sub}}
  %0:3 = hk.attention_backward %q, %k, %k, %q, %l, %l scale 1.0 : tensor<2x7x4x16xf32>, tensor<2x9x2x16xf32>, tensor<2x9x2x16xf32>, tensor<2x7x4x16xf32>, tensor<2x7x4xf32> -> tensor<2x7x4x16xf32>, tensor<2x9x2x16xf32>, tensor<2x9x2x16xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %f = hk.cast %j : tensor<i32> -> tensor<f32>
    %y = hk.sub %f, %s : tensor<f32>
    hk.yield %y : tensor<f32>
  }
  return
}

// -----

func.func @score_chosen_by_itself(%q: tensor<2x7x4x16xf32>, %k: tensor<2x9x2x16xf32>, %l: tensor<2x7x4xf32>) {
  // expected-error @below {{expected score to yield its score, changed only by hk.add and hk.sub of what does not depend on it, or -inf by hk.select, but got hk.select}}
  %0:3 = hk.attention_backward %q, %k, %k, %q, %l, %l scale 1.0 : tensor<2x7x4x16xf32>, tensor<2x9x2x16xf32>, tensor<2x9x2x16xf32>, tensor<2x7x4x16xf32>, tensor<2x7x4xf32> -> tensor<2x7x4x16xf32>, tensor<2x9x2x16xf32>, tensor<2x9x2x16xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %f = hk.cast %j : tensor<i32> -> tensor<f32>
    %c = hk.compare gt %s, %f : tensor<f32> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %y = hk.select %c, %s, %never : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %y : tensor<f32>
  }
  return
}

// -----

func.func @score_or_finite(%q: tensor<2x7x4x16xf32>, %k: tensor<2x9x2x16xf32>, %l: tensor<2x7x4xf32>) {
  // expected-error @below {{expected score to yield its score, changed only by hk.add and hk.sub of what does not depend on it, or -inf by hk.select, but got hk.constant}}
  %0:3 = hk.attention_backward %q, %k, %k, %q, %l, %l scale 1.0 : tensor<2x7x4x16xf32>, tensor<2x9x2x16xf32>, tensor<2x9x2x16xf32>, tensor<2x7x4x16xf32>, tensor<2x7x4xf32> -> tensor<2x7x4x16xf32>, tensor<2x9x2x16xf32>, tensor<2x9x2x16xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %c = hk.compare gt %j, %i : tensor<i32> -> tensor<i1>
    %low = hk.constant -1.0e4 : tensor<f32>
    %y = hk.select %c, %s, %low : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %y : tensor<f32>
  }
  return
}

// -----

func.func @score_inside(%q: tensor<2x7x4x16xf32>, %k: tensor<2x9x2x16xf32>, %l: tensor<2x7x4xf32>) {
  // expected-error @below {{expected score to yield its score, changed only by hk.add and hk.sub of what does not depend on it, or -inf by hk.select, but got hk.tanh}}
  %0:3 = hk.attention_backward %q, %k, %k, %q, %l, %l scale 1.0 : tensor<2x7x4x16xf32>, tensor<2x9x2x16xf32>, tensor<2x9x2x16xf32>, tensor<2x7x4x16xf32>, tensor<2x7x4xf32> -> tensor<2x7x4x16xf32>, tensor<2x9x2x16xf32>, tensor<2x9x2x16xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %f = hk.cast %j : tensor<i32> -> tensor<f32>
    %t = hk.tanh %s : tensor<f32>
    %y = hk.add %f, %t : tensor<f32>
    hk.yield %y : tensor<f32>
  }
  return
}

// -----

func.func @score_not_pointwise(%q: tensor<2x7x4x16xf32>, %k: tensor<2x9x2x16xf32>, %l: tensor<2x7x4xf32>) {
  %0:3 = hk.attention_backward %q, %k, %k, %q, %l, %l scale 1.0 : tensor<2x7x4x16xf32>, tensor<2x9x2x16xf32>, tensor<2x9x2x16xf32>, tensor<2x7x4x16xf32>, tensor<2x7x4xf32> -> tensor<2x7x4x16xf32>, tensor<2x9x2x16xf32>, tensor<2x9x2x16xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    // expected-error @below {{expected a pointwise operator on tensors of rank 0 in the region score of hk.attention_backward}}
    %z = tensor.empty() : tensor<f32>
    hk.yield %s : tensor<f32>
  }
  return
}

// -----

func.func @dbias_without_score(%q: tensor<2x7x4x16xf32>, %k: tensor<2x9x2x16xf32>, %l: tensor<2x7x4xf32>) {
  // expected-error @below {{expected dbias to be absent without score, but got one}}
  %0:4 = hk.attention_backward %q, %k, %k, %q, %l, %l scale 1.0 : tensor<2x7x4x16xf32>, tensor<2x9x2x16xf32>, tensor<2x9x2x16xf32>, tensor<2x7x4x16xf32>, tensor<2x7x4xf32> -> tensor<2x7x4x16xf32>, tensor<2x9x2x16xf32>, tensor<2x9x2x16xf32> dbias tensor<1x4x7x9xf32>
  return
}

// -----

func.func @dbias_ragged_heads(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %l: tensor<7x4xf32>) {
  // expected-error @below {{expected size of dim 1 of dbias to be 4, but got 3}}
  %0:4 = hk.attention_backward %q, %k, %k, %q, %l, %l scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32>, tensor<7x4x16xf32>, tensor<7x4xf32> -> tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> dbias tensor<1x3x7x9xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    hk.yield %s : tensor<f32>
  }
  return
}

// -----

func.func @dbias_ragged_sequences(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %l: tensor<7x4xf32>) {
  // expected-error @below {{expected size of dim 0 of dbias to be 1, but got 2}}
  %0:4 = hk.attention_backward %q, %k, %k, %q, %l, %l scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32>, tensor<7x4x16xf32>, tensor<7x4xf32> -> tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> dbias tensor<2x4x7x9xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    hk.yield %s : tensor<f32>
  }
  return
}

// -----

func.func @dbias_ragged_sizes(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %l: tensor<7x4xf32>) {
  // expected-error @below {{expected size of dim 2 of dbias to be static}}
  %0:4 = hk.attention_backward %q, %k, %k, %q, %l, %l scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32>, tensor<7x4x16xf32>, tensor<7x4xf32> -> tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> dbias tensor<1x4x?x9xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    hk.yield %s : tensor<f32>
  }
  return
}

// -----

func.func @dbias_rank(%q: tensor<2x7x4x16xf32>, %k: tensor<2x9x2x16xf32>, %l: tensor<2x7x4xf32>) {
  // expected-error @below {{expected rank of dbias to be 4, but got 3}}
  %0:4 = hk.attention_backward %q, %k, %k, %q, %l, %l scale 1.0 : tensor<2x7x4x16xf32>, tensor<2x9x2x16xf32>, tensor<2x9x2x16xf32>, tensor<2x7x4x16xf32>, tensor<2x7x4xf32> -> tensor<2x7x4x16xf32>, tensor<2x9x2x16xf32>, tensor<2x9x2x16xf32> dbias tensor<4x7x9xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    hk.yield %s : tensor<f32>
  }
  return
}

// -----

func.func @dbias_shape(%q: tensor<2x7x4x16xf32>, %k: tensor<2x9x2x16xf32>, %l: tensor<2x7x4xf32>) {
  // expected-error @below {{expected shape of dbias to be [2, 4, 7, 9], but got [2, 2, 7, 9]}}
  %0:4 = hk.attention_backward %q, %k, %k, %q, %l, %l scale 1.0 : tensor<2x7x4x16xf32>, tensor<2x9x2x16xf32>, tensor<2x9x2x16xf32>, tensor<2x7x4x16xf32>, tensor<2x7x4xf32> -> tensor<2x7x4x16xf32>, tensor<2x9x2x16xf32>, tensor<2x9x2x16xf32> dbias tensor<2x2x7x9xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    hk.yield %s : tensor<f32>
  }
  return
}

// -----

func.func @dbias_keys(%q: tensor<2x7x4x16xf32>, %k: tensor<2x9x2x16xf32>, %l: tensor<2x7x4xf32>) {
  // expected-error @below {{expected shape of dbias to be [1, 4, 7, 9], but got [1, 4, 9, 7]}}
  %0:4 = hk.attention_backward %q, %k, %k, %q, %l, %l scale 1.0 : tensor<2x7x4x16xf32>, tensor<2x9x2x16xf32>, tensor<2x9x2x16xf32>, tensor<2x7x4x16xf32>, tensor<2x7x4xf32> -> tensor<2x7x4x16xf32>, tensor<2x9x2x16xf32>, tensor<2x9x2x16xf32> dbias tensor<1x4x9x7xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    hk.yield %s : tensor<f32>
  }
  return
}

// -----

func.func @no_lse(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %l: tensor<7x4xf32>) {
  // expected-error @below {{expected lse to be present with normalizer softmax, but got none}}
  %0:3 = hk.attention_backward %q, %k, %k, %q scale 1.0 causal : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32>, tensor<7x4x16xf32> -> tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32>
  return
}

// -----

func.func @lse_without_softmax(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %l: tensor<7x4xf32>) {
  // expected-error @below {{expected lse to be absent with normalizer none, but got one}}
  %0:3 = hk.attention_backward %q, %k, %k, %q, %l, %l scale 1.0 normalizer none : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32>, tensor<7x4x16xf32>, tensor<7x4xf32> -> tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32>
  return
}

// -----

func.func @delta_without_softmax(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %l: tensor<7x4xf32>) {
  // expected-error @below {{expected delta to be absent with normalizer none, but got one}}
  %0:3 = "hk.attention_backward"(%q, %k, %k, %q, %l) ({}, {}, {}) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1, 1, 0, 0>, scale = 1.0 : f32, normalizer = #hk<normalizer none>} : (tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32>, tensor<7x4x16xf32>, tensor<7x4xf32>) -> (tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32>)
  return
}

// -----

func.func @delta_type(%q: tensor<?x4x16xf32>, %k: tensor<9x2x16xf32>, %l: tensor<?x4xf32>, %d: tensor<7x4xf32>) {
  // expected-error @below {{expected type of delta to be that of lse, 'tensor<?x4xf32>', but got 'tensor<7x4xf32>'}}
  %0:3 = "hk.attention_backward"(%q, %k, %k, %q, %l, %d) ({}, {}, {}) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1, 1, 0, 0>, scale = 1.0 : f32} : (tensor<?x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32>, tensor<?x4x16xf32>, tensor<?x4xf32>, tensor<7x4xf32>) -> (tensor<?x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32>)
  return
}

// -----

func.func @slope_of_softmax(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %l: tensor<7x4xf32>) {
  // expected-error @below {{expected slope to be absent with normalizer softmax, but got one}}
  %0:3 = hk.attention_backward %q, %k, %k, %q, %l, %l scale 1.0 causal : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32>, tensor<7x4x16xf32>, tensor<7x4xf32> -> tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    hk.yield %s : tensor<f32>
  } slope {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    hk.yield %s : tensor<f32>
  }
  return
}

// -----

func.func @sink_without_softmax(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %l: tensor<7x4xf32>, %s: tensor<4xf32>) {
  // expected-error @below {{expected sink to be absent with normalizer none, but got one}}
  %0:4 = hk.attention_backward %q, %k, %k, %q sink %s scale 1.0 normalizer none : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32>, tensor<7x4x16xf32> sink tensor<4xf32> -> tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32>, tensor<4xf32>
  return
}

// -----

func.func @dbias_without_softmax(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %l: tensor<7x4xf32>) {
  // expected-error @below {{expected dbias to be absent with normalizer none, but got one}}
  %0:4 = hk.attention_backward %q, %k, %k, %q scale 1.0 normalizer none : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32>, tensor<7x4x16xf32> -> tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> dbias tensor<1x4x7x9xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    hk.yield %s : tensor<f32>
  } slope {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    hk.yield %s : tensor<f32>
  }
  return
}

// -----

func.func @no_slope(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %l: tensor<7x4xf32>) {
  // expected-error @below {{expected slope to be present with score and normalizer none, but got none}}
  %0:3 = hk.attention_backward %q, %k, %k, %q scale 1.0 normalizer none : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32>, tensor<7x4x16xf32> -> tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    hk.yield %s : tensor<f32>
  }
  return
}

// -----

func.func @slope_without_score(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %l: tensor<7x4xf32>) {
  // expected-error @below {{expected slope to be absent with normalizer none and no score, but got one}}
  %0:3 = hk.attention_backward %q, %k, %k, %q scale 1.0 normalizer none : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32>, tensor<7x4x16xf32> -> tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> slope {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    hk.yield %s : tensor<f32>
  }
  return
}

// -----

func.func @slope_arguments(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %l: tensor<7x4xf32>) {
  // expected-error @below {{expected the arguments of slope to be of types}}
  %0:3 = hk.attention_backward %q, %k, %k, %q scale 1.0 normalizer none : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32>, tensor<7x4x16xf32> -> tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    hk.yield %s : tensor<f32>
  } slope {
  ^bb0(%b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %y = hk.constant 1.0 : tensor<f32>
    hk.yield %y : tensor<f32>
  }
  return
}
