// Weights silu(s) / N instead of a softmax: jagged sequences, targets that see the history and
// themselves, contextual rows in front, a longest distance. Their gradients, functions
// NAME_bwd, have the slope of silu(s) / N beside it.
// HK-LAUNCHES: 1
// HK-DIMS: -
// HK-ARGS: --range=targets=0:6

func.func @plain(%q: tensor<90x2x64xbf16>, %k: tensor<90x2x64xbf16>, %v: tensor<90x2x64xbf16>, %bounds: tensor<4xi32>) -> tensor<90x2x64xbf16> {
  %out = hk.attention %q, %k, %v q_offsets %bounds kv_offsets %bounds scale 0.3 causal normalizer none : tensor<90x2x64xbf16>, tensor<90x2x64xbf16>, tensor<90x2x64xbf16> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> -> tensor<90x2x64xbf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %zero = hk.constant 0 : tensor<i32>
    %one = hk.constant 1 : tensor<i32>
    %d = hk.sub %i, %j : tensor<i32>
    %self = hk.compare eq %i, %j : tensor<i32> -> tensor<i1>
    %past = hk.compare gt %d, %zero : tensor<i32> -> tensor<i1>
    %y = hk.silu %s : tensor<f32>
    %n = hk.constant 0.015625 : tensor<f32>
    %w = hk.mul %y, %n : tensor<f32>
    %none = hk.constant 0.0 : tensor<f32>
    %p0 = hk.select %past, %w, %none : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %p2 = hk.select %self, %w, %p0 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %p2 : tensor<f32>
  }
  return %out : tensor<90x2x64xbf16>
}
// A score of -inf is that of a key that is not seen, without a softmax, too.
func.func @hidden(%q: tensor<90x2x64xbf16>, %k: tensor<90x2x64xbf16>, %v: tensor<90x2x64xbf16>, %bounds: tensor<4xi32>) -> tensor<90x2x64xbf16> {
  %out = hk.attention %q, %k, %v q_offsets %bounds kv_offsets %bounds scale 0.3 causal normalizer none : tensor<90x2x64xbf16>, tensor<90x2x64xbf16>, tensor<90x2x64xbf16> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> -> tensor<90x2x64xbf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %zero = hk.constant 0 : tensor<i32>
    %one = hk.constant 1 : tensor<i32>
    %d = hk.sub %i, %j : tensor<i32>
    %self = hk.compare eq %i, %j : tensor<i32> -> tensor<i1>
    %past = hk.compare gt %d, %zero : tensor<i32> -> tensor<i1>
    %y = hk.silu %s : tensor<f32>
    %n = hk.constant 0.015625 : tensor<f32>
    %w = hk.mul %y, %n : tensor<f32>
    %none = hk.constant 0xFF800000 : tensor<f32>
    %p0 = hk.select %past, %w, %none : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %p2 = hk.select %self, %w, %p0 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %p2 : tensor<f32>
  }
  return %out : tensor<90x2x64xbf16>
}
func.func @targets(%q: tensor<90x2x128xbf16>, %k: tensor<90x2x128xbf16>, %v: tensor<90x2x128xbf16>, %bounds: tensor<4xi32>, %targets: tensor<3xi32>) -> tensor<90x2x128xbf16> {
  %out = hk.attention %q, %k, %v q_offsets %bounds kv_offsets %bounds reads (%targets) scale 0.3 causal normalizer none : tensor<90x2x128xbf16>, tensor<90x2x128xbf16>, tensor<90x2x128xbf16> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> reads (tensor<3xi32>) -> tensor<90x2x128xbf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<3xi32>):
    %zero = hk.constant 0 : tensor<i32>
    %one = hk.constant 1 : tensor<i32>
    %own = hk.gather_elements %t [%b] : tensor<3xi32> [tensor<i32>] -> tensor<i32>
    %last = hk.sub %nk, %own : tensor<i32>
    %ti = hk.min %i, %last : tensor<i32>
    %tj = hk.min %j, %last : tensor<i32>
    %d = hk.sub %ti, %tj : tensor<i32>
    %self = hk.compare eq %i, %j : tensor<i32> -> tensor<i1>
    %past = hk.compare gt %d, %zero : tensor<i32> -> tensor<i1>
    %y = hk.silu %s : tensor<f32>
    %n = hk.constant 0.015625 : tensor<f32>
    %w = hk.mul %y, %n : tensor<f32>
    %none = hk.constant 0.0 : tensor<f32>
    %p0 = hk.select %past, %w, %none : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %p2 = hk.select %self, %w, %p0 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %p2 : tensor<f32>
  }
  return %out : tensor<90x2x128xbf16>
}
func.func @window(%q: tensor<90x2x32xf16>, %k: tensor<90x2x32xf16>, %v: tensor<90x2x64xf16>, %bounds: tensor<4xi32>) -> tensor<90x2x64xf16> {
  %out = hk.attention %q, %k, %v q_offsets %bounds kv_offsets %bounds scale 0.3 causal normalizer none : tensor<90x2x32xf16>, tensor<90x2x32xf16>, tensor<90x2x64xf16> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> -> tensor<90x2x64xf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %zero = hk.constant 0 : tensor<i32>
    %one = hk.constant 1 : tensor<i32>
    %d = hk.sub %i, %j : tensor<i32>
    %self = hk.compare eq %i, %j : tensor<i32> -> tensor<i1>
    %past = hk.compare gt %d, %zero : tensor<i32> -> tensor<i1>
    %y = hk.silu %s : tensor<f32>
    %n = hk.constant 0.015625 : tensor<f32>
    %w = hk.mul %y, %n : tensor<f32>
    %none = hk.constant 0.0 : tensor<f32>
    %p0 = hk.select %past, %w, %none : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %reach = hk.constant 16 : tensor<i32>
    %near = hk.compare le %d, %reach : tensor<i32> -> tensor<i1>
    %p1 = hk.select %near, %p0, %none : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %p2 = hk.select %self, %w, %p1 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %p2 : tensor<f32>
  }
  return %out : tensor<90x2x64xf16>
}
func.func @contextual(%q: tensor<90x2x64xbf16>, %k: tensor<90x2x64xbf16>, %v: tensor<90x2x64xbf16>, %bounds: tensor<4xi32>) -> tensor<90x2x64xbf16> {
  %out = hk.attention %q, %k, %v q_offsets %bounds kv_offsets %bounds scale 0.3 normalizer none : tensor<90x2x64xbf16>, tensor<90x2x64xbf16>, tensor<90x2x64xbf16> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> -> tensor<90x2x64xbf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %zero = hk.constant 0 : tensor<i32>
    %one = hk.constant 1 : tensor<i32>
    %c = hk.constant 4 : tensor<i32>
    %ci = hk.sub %i, %c : tensor<i32>
    %ci1 = hk.max %ci, %zero : tensor<i32>
    %cj = hk.sub %j, %c : tensor<i32>
    %cj1 = hk.max %cj, %zero : tensor<i32>
    %cn = hk.sub %nk, %c : tensor<i32>
    %d = hk.sub %ci1, %cj1 : tensor<i32>
    %self = hk.compare eq %i, %j : tensor<i32> -> tensor<i1>
    %past = hk.compare gt %d, %zero : tensor<i32> -> tensor<i1>
    %y = hk.silu %s : tensor<f32>
    %n = hk.constant 0.015625 : tensor<f32>
    %w = hk.mul %y, %n : tensor<f32>
    %none = hk.constant 0.0 : tensor<f32>
    %p0 = hk.select %past, %w, %none : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %p2 = hk.select %self, %w, %p0 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %front = hk.compare eq %ci1, %zero : tensor<i32> -> tensor<i1>
    %history = hk.compare lt %cj1, %cn : tensor<i32> -> tensor<i1>
    %p3 = hk.select %history, %w, %p2 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %p4 = hk.select %front, %p3, %p2 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %p4 : tensor<f32>
  }
  return %out : tensor<90x2x64xbf16>
}
func.func @all(%q: tensor<90x2x64xbf16>, %k: tensor<90x2x64xbf16>, %v: tensor<90x2x32xbf16>, %bounds: tensor<4xi32>, %targets: tensor<3xi32>) -> tensor<90x2x32xbf16> {
  %out = hk.attention %q, %k, %v q_offsets %bounds kv_offsets %bounds reads (%targets) scale 0.3 normalizer none : tensor<90x2x64xbf16>, tensor<90x2x64xbf16>, tensor<90x2x32xbf16> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> reads (tensor<3xi32>) -> tensor<90x2x32xbf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<3xi32>):
    %zero = hk.constant 0 : tensor<i32>
    %one = hk.constant 1 : tensor<i32>
    %c = hk.constant 3 : tensor<i32>
    %ci = hk.sub %i, %c : tensor<i32>
    %ci1 = hk.max %ci, %zero : tensor<i32>
    %cj = hk.sub %j, %c : tensor<i32>
    %cj1 = hk.max %cj, %zero : tensor<i32>
    %cn = hk.sub %nk, %c : tensor<i32>
    %own = hk.gather_elements %t [%b] : tensor<3xi32> [tensor<i32>] -> tensor<i32>
    %last = hk.sub %cn, %own : tensor<i32>
    %ti = hk.min %ci1, %last : tensor<i32>
    %tj = hk.min %cj1, %last : tensor<i32>
    %d = hk.sub %ti, %tj : tensor<i32>
    %self = hk.compare eq %i, %j : tensor<i32> -> tensor<i1>
    %past = hk.compare gt %d, %zero : tensor<i32> -> tensor<i1>
    %y = hk.silu %s : tensor<f32>
    %n = hk.constant 0.015625 : tensor<f32>
    %w = hk.mul %y, %n : tensor<f32>
    %none = hk.constant 0.0 : tensor<f32>
    %p0 = hk.select %past, %w, %none : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %reach = hk.constant 12 : tensor<i32>
    %near = hk.compare le %d, %reach : tensor<i32> -> tensor<i1>
    %p1 = hk.select %near, %p0, %none : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %p2 = hk.select %self, %w, %p1 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %front = hk.compare eq %ti, %zero : tensor<i32> -> tensor<i1>
    %history = hk.compare lt %tj, %last : tensor<i32> -> tensor<i1>
    %p3 = hk.select %history, %w, %p2 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %p4 = hk.select %front, %p3, %p2 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %p4 : tensor<f32>
  }
  return %out : tensor<90x2x32xbf16>
}
func.func @plain_bwd(%q: tensor<90x2x64xbf16>, %k: tensor<90x2x64xbf16>, %v: tensor<90x2x64xbf16>, %do: tensor<90x2x64xbf16>, %bounds: tensor<4xi32>) -> (tensor<90x2x64xbf16>, tensor<90x2x64xbf16>, tensor<90x2x64xbf16>) {
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do q_offsets %bounds kv_offsets %bounds scale 0.3 causal normalizer none : tensor<90x2x64xbf16>, tensor<90x2x64xbf16>, tensor<90x2x64xbf16>, tensor<90x2x64xbf16> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> -> tensor<90x2x64xbf16>, tensor<90x2x64xbf16>, tensor<90x2x64xbf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %zero = hk.constant 0 : tensor<i32>
    %one = hk.constant 1 : tensor<i32>
    %d = hk.sub %i, %j : tensor<i32>
    %self = hk.compare eq %i, %j : tensor<i32> -> tensor<i1>
    %past = hk.compare gt %d, %zero : tensor<i32> -> tensor<i1>
    %y = hk.silu %s : tensor<f32>
    %n = hk.constant 0.015625 : tensor<f32>
    %w = hk.mul %y, %n : tensor<f32>
    %none = hk.constant 0.0 : tensor<f32>
    %p0 = hk.select %past, %w, %none : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %p2 = hk.select %self, %w, %p0 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %p2 : tensor<f32>
  } slope {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %zero = hk.constant 0 : tensor<i32>
    %one = hk.constant 1 : tensor<i32>
    %d = hk.sub %i, %j : tensor<i32>
    %self = hk.compare eq %i, %j : tensor<i32> -> tensor<i1>
    %past = hk.compare gt %d, %zero : tensor<i32> -> tensor<i1>
    %sigma = hk.sigmoid %s : tensor<f32>
    %unit = hk.constant 1.0 : tensor<f32>
    %rest = hk.sub %unit, %sigma : tensor<f32>
    %more = hk.mul %s, %rest : tensor<f32>
    %part = hk.add %unit, %more : tensor<f32>
    %y = hk.mul %sigma, %part : tensor<f32>
    %n = hk.constant 0.015625 : tensor<f32>
    %w = hk.mul %y, %n : tensor<f32>
    %none = hk.constant 0.0 : tensor<f32>
    %p0 = hk.select %past, %w, %none : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %p2 = hk.select %self, %w, %p0 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %p2 : tensor<f32>
  }
  return %dq, %dk, %dv : tensor<90x2x64xbf16>, tensor<90x2x64xbf16>, tensor<90x2x64xbf16>
}
// Keys behind a query are hidden by the score alone, whose slope there is -inf, too.
func.func @hidden_bwd(%q: tensor<90x2x64xbf16>, %k: tensor<90x2x64xbf16>, %v: tensor<90x2x64xbf16>, %do: tensor<90x2x64xbf16>, %bounds: tensor<4xi32>) -> (tensor<90x2x64xbf16>, tensor<90x2x64xbf16>, tensor<90x2x64xbf16>) {
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do q_offsets %bounds kv_offsets %bounds scale 0.3 normalizer none : tensor<90x2x64xbf16>, tensor<90x2x64xbf16>, tensor<90x2x64xbf16>, tensor<90x2x64xbf16> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> -> tensor<90x2x64xbf16>, tensor<90x2x64xbf16>, tensor<90x2x64xbf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %zero = hk.constant 0 : tensor<i32>
    %one = hk.constant 1 : tensor<i32>
    %d = hk.sub %i, %j : tensor<i32>
    %self = hk.compare eq %i, %j : tensor<i32> -> tensor<i1>
    %past = hk.compare gt %d, %zero : tensor<i32> -> tensor<i1>
    %y = hk.silu %s : tensor<f32>
    %n = hk.constant 0.015625 : tensor<f32>
    %w = hk.mul %y, %n : tensor<f32>
    %none = hk.constant 0xFF800000 : tensor<f32>
    %p0 = hk.select %past, %w, %none : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %p2 = hk.select %self, %w, %p0 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %p2 : tensor<f32>
  } slope {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %zero = hk.constant 0 : tensor<i32>
    %one = hk.constant 1 : tensor<i32>
    %d = hk.sub %i, %j : tensor<i32>
    %self = hk.compare eq %i, %j : tensor<i32> -> tensor<i1>
    %past = hk.compare gt %d, %zero : tensor<i32> -> tensor<i1>
    %sigma = hk.sigmoid %s : tensor<f32>
    %unit = hk.constant 1.0 : tensor<f32>
    %rest = hk.sub %unit, %sigma : tensor<f32>
    %more = hk.mul %s, %rest : tensor<f32>
    %part = hk.add %unit, %more : tensor<f32>
    %y = hk.mul %sigma, %part : tensor<f32>
    %n = hk.constant 0.015625 : tensor<f32>
    %w = hk.mul %y, %n : tensor<f32>
    %none = hk.constant 0xFF800000 : tensor<f32>
    %p0 = hk.select %past, %w, %none : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %p2 = hk.select %self, %w, %p0 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %p2 : tensor<f32>
  }
  return %dq, %dk, %dv : tensor<90x2x64xbf16>, tensor<90x2x64xbf16>, tensor<90x2x64xbf16>
}
func.func @targets_bwd(%q: tensor<90x2x128xbf16>, %k: tensor<90x2x128xbf16>, %v: tensor<90x2x128xbf16>, %do: tensor<90x2x128xbf16>, %bounds: tensor<4xi32>, %targets: tensor<3xi32>) -> (tensor<90x2x128xbf16>, tensor<90x2x128xbf16>, tensor<90x2x128xbf16>) {
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do q_offsets %bounds kv_offsets %bounds reads (%targets) scale 0.3 causal normalizer none : tensor<90x2x128xbf16>, tensor<90x2x128xbf16>, tensor<90x2x128xbf16>, tensor<90x2x128xbf16> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> reads (tensor<3xi32>) -> tensor<90x2x128xbf16>, tensor<90x2x128xbf16>, tensor<90x2x128xbf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<3xi32>):
    %zero = hk.constant 0 : tensor<i32>
    %one = hk.constant 1 : tensor<i32>
    %own = hk.gather_elements %t [%b] : tensor<3xi32> [tensor<i32>] -> tensor<i32>
    %last = hk.sub %nk, %own : tensor<i32>
    %ti = hk.min %i, %last : tensor<i32>
    %tj = hk.min %j, %last : tensor<i32>
    %d = hk.sub %ti, %tj : tensor<i32>
    %self = hk.compare eq %i, %j : tensor<i32> -> tensor<i1>
    %past = hk.compare gt %d, %zero : tensor<i32> -> tensor<i1>
    %y = hk.silu %s : tensor<f32>
    %n = hk.constant 0.015625 : tensor<f32>
    %w = hk.mul %y, %n : tensor<f32>
    %none = hk.constant 0.0 : tensor<f32>
    %p0 = hk.select %past, %w, %none : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %p2 = hk.select %self, %w, %p0 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %p2 : tensor<f32>
  } slope {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<3xi32>):
    %zero = hk.constant 0 : tensor<i32>
    %one = hk.constant 1 : tensor<i32>
    %own = hk.gather_elements %t [%b] : tensor<3xi32> [tensor<i32>] -> tensor<i32>
    %last = hk.sub %nk, %own : tensor<i32>
    %ti = hk.min %i, %last : tensor<i32>
    %tj = hk.min %j, %last : tensor<i32>
    %d = hk.sub %ti, %tj : tensor<i32>
    %self = hk.compare eq %i, %j : tensor<i32> -> tensor<i1>
    %past = hk.compare gt %d, %zero : tensor<i32> -> tensor<i1>
    %sigma = hk.sigmoid %s : tensor<f32>
    %unit = hk.constant 1.0 : tensor<f32>
    %rest = hk.sub %unit, %sigma : tensor<f32>
    %more = hk.mul %s, %rest : tensor<f32>
    %part = hk.add %unit, %more : tensor<f32>
    %y = hk.mul %sigma, %part : tensor<f32>
    %n = hk.constant 0.015625 : tensor<f32>
    %w = hk.mul %y, %n : tensor<f32>
    %none = hk.constant 0.0 : tensor<f32>
    %p0 = hk.select %past, %w, %none : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %p2 = hk.select %self, %w, %p0 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %p2 : tensor<f32>
  }
  return %dq, %dk, %dv : tensor<90x2x128xbf16>, tensor<90x2x128xbf16>, tensor<90x2x128xbf16>
}
func.func @window_bwd(%q: tensor<90x2x32xf16>, %k: tensor<90x2x32xf16>, %v: tensor<90x2x64xf16>, %do: tensor<90x2x64xf16>, %bounds: tensor<4xi32>) -> (tensor<90x2x32xf16>, tensor<90x2x32xf16>, tensor<90x2x64xf16>) {
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do q_offsets %bounds kv_offsets %bounds scale 0.3 causal normalizer none : tensor<90x2x32xf16>, tensor<90x2x32xf16>, tensor<90x2x64xf16>, tensor<90x2x64xf16> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> -> tensor<90x2x32xf16>, tensor<90x2x32xf16>, tensor<90x2x64xf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %zero = hk.constant 0 : tensor<i32>
    %one = hk.constant 1 : tensor<i32>
    %d = hk.sub %i, %j : tensor<i32>
    %self = hk.compare eq %i, %j : tensor<i32> -> tensor<i1>
    %past = hk.compare gt %d, %zero : tensor<i32> -> tensor<i1>
    %y = hk.silu %s : tensor<f32>
    %n = hk.constant 0.015625 : tensor<f32>
    %w = hk.mul %y, %n : tensor<f32>
    %none = hk.constant 0.0 : tensor<f32>
    %p0 = hk.select %past, %w, %none : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %reach = hk.constant 16 : tensor<i32>
    %near = hk.compare le %d, %reach : tensor<i32> -> tensor<i1>
    %p1 = hk.select %near, %p0, %none : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %p2 = hk.select %self, %w, %p1 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %p2 : tensor<f32>
  } slope {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %zero = hk.constant 0 : tensor<i32>
    %one = hk.constant 1 : tensor<i32>
    %d = hk.sub %i, %j : tensor<i32>
    %self = hk.compare eq %i, %j : tensor<i32> -> tensor<i1>
    %past = hk.compare gt %d, %zero : tensor<i32> -> tensor<i1>
    %sigma = hk.sigmoid %s : tensor<f32>
    %unit = hk.constant 1.0 : tensor<f32>
    %rest = hk.sub %unit, %sigma : tensor<f32>
    %more = hk.mul %s, %rest : tensor<f32>
    %part = hk.add %unit, %more : tensor<f32>
    %y = hk.mul %sigma, %part : tensor<f32>
    %n = hk.constant 0.015625 : tensor<f32>
    %w = hk.mul %y, %n : tensor<f32>
    %none = hk.constant 0.0 : tensor<f32>
    %p0 = hk.select %past, %w, %none : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %reach = hk.constant 16 : tensor<i32>
    %near = hk.compare le %d, %reach : tensor<i32> -> tensor<i1>
    %p1 = hk.select %near, %p0, %none : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %p2 = hk.select %self, %w, %p1 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %p2 : tensor<f32>
  }
  return %dq, %dk, %dv : tensor<90x2x32xf16>, tensor<90x2x32xf16>, tensor<90x2x64xf16>
}
func.func @contextual_bwd(%q: tensor<90x2x64xbf16>, %k: tensor<90x2x64xbf16>, %v: tensor<90x2x64xbf16>, %do: tensor<90x2x64xbf16>, %bounds: tensor<4xi32>) -> (tensor<90x2x64xbf16>, tensor<90x2x64xbf16>, tensor<90x2x64xbf16>) {
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do q_offsets %bounds kv_offsets %bounds scale 0.3 normalizer none : tensor<90x2x64xbf16>, tensor<90x2x64xbf16>, tensor<90x2x64xbf16>, tensor<90x2x64xbf16> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> -> tensor<90x2x64xbf16>, tensor<90x2x64xbf16>, tensor<90x2x64xbf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %zero = hk.constant 0 : tensor<i32>
    %one = hk.constant 1 : tensor<i32>
    %c = hk.constant 4 : tensor<i32>
    %ci = hk.sub %i, %c : tensor<i32>
    %ci1 = hk.max %ci, %zero : tensor<i32>
    %cj = hk.sub %j, %c : tensor<i32>
    %cj1 = hk.max %cj, %zero : tensor<i32>
    %cn = hk.sub %nk, %c : tensor<i32>
    %d = hk.sub %ci1, %cj1 : tensor<i32>
    %self = hk.compare eq %i, %j : tensor<i32> -> tensor<i1>
    %past = hk.compare gt %d, %zero : tensor<i32> -> tensor<i1>
    %y = hk.silu %s : tensor<f32>
    %n = hk.constant 0.015625 : tensor<f32>
    %w = hk.mul %y, %n : tensor<f32>
    %none = hk.constant 0.0 : tensor<f32>
    %p0 = hk.select %past, %w, %none : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %p2 = hk.select %self, %w, %p0 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %front = hk.compare eq %ci1, %zero : tensor<i32> -> tensor<i1>
    %history = hk.compare lt %cj1, %cn : tensor<i32> -> tensor<i1>
    %p3 = hk.select %history, %w, %p2 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %p4 = hk.select %front, %p3, %p2 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %p4 : tensor<f32>
  } slope {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %zero = hk.constant 0 : tensor<i32>
    %one = hk.constant 1 : tensor<i32>
    %c = hk.constant 4 : tensor<i32>
    %ci = hk.sub %i, %c : tensor<i32>
    %ci1 = hk.max %ci, %zero : tensor<i32>
    %cj = hk.sub %j, %c : tensor<i32>
    %cj1 = hk.max %cj, %zero : tensor<i32>
    %cn = hk.sub %nk, %c : tensor<i32>
    %d = hk.sub %ci1, %cj1 : tensor<i32>
    %self = hk.compare eq %i, %j : tensor<i32> -> tensor<i1>
    %past = hk.compare gt %d, %zero : tensor<i32> -> tensor<i1>
    %sigma = hk.sigmoid %s : tensor<f32>
    %unit = hk.constant 1.0 : tensor<f32>
    %rest = hk.sub %unit, %sigma : tensor<f32>
    %more = hk.mul %s, %rest : tensor<f32>
    %part = hk.add %unit, %more : tensor<f32>
    %y = hk.mul %sigma, %part : tensor<f32>
    %n = hk.constant 0.015625 : tensor<f32>
    %w = hk.mul %y, %n : tensor<f32>
    %none = hk.constant 0.0 : tensor<f32>
    %p0 = hk.select %past, %w, %none : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %p2 = hk.select %self, %w, %p0 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %front = hk.compare eq %ci1, %zero : tensor<i32> -> tensor<i1>
    %history = hk.compare lt %cj1, %cn : tensor<i32> -> tensor<i1>
    %p3 = hk.select %history, %w, %p2 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %p4 = hk.select %front, %p3, %p2 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %p4 : tensor<f32>
  }
  return %dq, %dk, %dv : tensor<90x2x64xbf16>, tensor<90x2x64xbf16>, tensor<90x2x64xbf16>
}
func.func @all_bwd(%q: tensor<90x2x64xbf16>, %k: tensor<90x2x64xbf16>, %v: tensor<90x2x32xbf16>, %do: tensor<90x2x32xbf16>, %bounds: tensor<4xi32>, %targets: tensor<3xi32>) -> (tensor<90x2x64xbf16>, tensor<90x2x64xbf16>, tensor<90x2x32xbf16>) {
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do q_offsets %bounds kv_offsets %bounds reads (%targets) scale 0.3 normalizer none : tensor<90x2x64xbf16>, tensor<90x2x64xbf16>, tensor<90x2x32xbf16>, tensor<90x2x32xbf16> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> reads (tensor<3xi32>) -> tensor<90x2x64xbf16>, tensor<90x2x64xbf16>, tensor<90x2x32xbf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<3xi32>):
    %zero = hk.constant 0 : tensor<i32>
    %one = hk.constant 1 : tensor<i32>
    %c = hk.constant 3 : tensor<i32>
    %ci = hk.sub %i, %c : tensor<i32>
    %ci1 = hk.max %ci, %zero : tensor<i32>
    %cj = hk.sub %j, %c : tensor<i32>
    %cj1 = hk.max %cj, %zero : tensor<i32>
    %cn = hk.sub %nk, %c : tensor<i32>
    %own = hk.gather_elements %t [%b] : tensor<3xi32> [tensor<i32>] -> tensor<i32>
    %last = hk.sub %cn, %own : tensor<i32>
    %ti = hk.min %ci1, %last : tensor<i32>
    %tj = hk.min %cj1, %last : tensor<i32>
    %d = hk.sub %ti, %tj : tensor<i32>
    %self = hk.compare eq %i, %j : tensor<i32> -> tensor<i1>
    %past = hk.compare gt %d, %zero : tensor<i32> -> tensor<i1>
    %y = hk.silu %s : tensor<f32>
    %n = hk.constant 0.015625 : tensor<f32>
    %w = hk.mul %y, %n : tensor<f32>
    %none = hk.constant 0.0 : tensor<f32>
    %p0 = hk.select %past, %w, %none : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %reach = hk.constant 12 : tensor<i32>
    %near = hk.compare le %d, %reach : tensor<i32> -> tensor<i1>
    %p1 = hk.select %near, %p0, %none : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %p2 = hk.select %self, %w, %p1 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %front = hk.compare eq %ti, %zero : tensor<i32> -> tensor<i1>
    %history = hk.compare lt %tj, %last : tensor<i32> -> tensor<i1>
    %p3 = hk.select %history, %w, %p2 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %p4 = hk.select %front, %p3, %p2 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %p4 : tensor<f32>
  } slope {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<3xi32>):
    %zero = hk.constant 0 : tensor<i32>
    %one = hk.constant 1 : tensor<i32>
    %c = hk.constant 3 : tensor<i32>
    %ci = hk.sub %i, %c : tensor<i32>
    %ci1 = hk.max %ci, %zero : tensor<i32>
    %cj = hk.sub %j, %c : tensor<i32>
    %cj1 = hk.max %cj, %zero : tensor<i32>
    %cn = hk.sub %nk, %c : tensor<i32>
    %own = hk.gather_elements %t [%b] : tensor<3xi32> [tensor<i32>] -> tensor<i32>
    %last = hk.sub %cn, %own : tensor<i32>
    %ti = hk.min %ci1, %last : tensor<i32>
    %tj = hk.min %cj1, %last : tensor<i32>
    %d = hk.sub %ti, %tj : tensor<i32>
    %self = hk.compare eq %i, %j : tensor<i32> -> tensor<i1>
    %past = hk.compare gt %d, %zero : tensor<i32> -> tensor<i1>
    %sigma = hk.sigmoid %s : tensor<f32>
    %unit = hk.constant 1.0 : tensor<f32>
    %rest = hk.sub %unit, %sigma : tensor<f32>
    %more = hk.mul %s, %rest : tensor<f32>
    %part = hk.add %unit, %more : tensor<f32>
    %y = hk.mul %sigma, %part : tensor<f32>
    %n = hk.constant 0.015625 : tensor<f32>
    %w = hk.mul %y, %n : tensor<f32>
    %none = hk.constant 0.0 : tensor<f32>
    %p0 = hk.select %past, %w, %none : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %reach = hk.constant 12 : tensor<i32>
    %near = hk.compare le %d, %reach : tensor<i32> -> tensor<i1>
    %p1 = hk.select %near, %p0, %none : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %p2 = hk.select %self, %w, %p1 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %front = hk.compare eq %ti, %zero : tensor<i32> -> tensor<i1>
    %history = hk.compare lt %tj, %last : tensor<i32> -> tensor<i1>
    %p3 = hk.select %history, %w, %p2 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %p4 = hk.select %front, %p3, %p2 : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %p4 : tensor<f32>
  }
  return %dq, %dk, %dv : tensor<90x2x64xbf16>, tensor<90x2x64xbf16>, tensor<90x2x32xbf16>
}
// Dense f32, heads that share keys, a right end and a left one, a soft cap, dropout.
func.func @dropout_bwd(%q: tensor<2x33x4x64xf32>, %k: tensor<2x47x2x64xf32>, %v: tensor<2x47x2x32xf32>, %do: tensor<2x33x4x32xf32>, %seed: tensor<i64>) -> (tensor<2x33x4x64xf32>, tensor<2x47x2x64xf32>, tensor<2x47x2x32xf32>) {
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do reads (%seed) scale 0.125 causal window_left 30 softcap 2.0 normalizer none : tensor<2x33x4x64xf32>, tensor<2x47x2x64xf32>, tensor<2x47x2x32xf32>, tensor<2x33x4x32xf32> reads (tensor<i64>) -> tensor<2x33x4x64xf32>, tensor<2x47x2x64xf32>, tensor<2x47x2x32xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %u0: tensor<i64>):
    %y = hk.silu %s : tensor<f32>
    hk.yield %y : tensor<f32>
  } slope {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %u0: tensor<i64>):
    %sigma = hk.sigmoid %s : tensor<f32>
    %unit = hk.constant 1.0 : tensor<f32>
    %rest = hk.sub %unit, %sigma : tensor<f32>
    %more = hk.mul %s, %rest : tensor<f32>
    %part = hk.add %unit, %more : tensor<f32>
    %y = hk.mul %sigma, %part : tensor<f32>
    hk.yield %y : tensor<f32>
  } weight {
  ^bb0(%b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %u0: tensor<i64>):
    %heads = hk.constant 4 : tensor<i32>
    %bh = hk.mul %b, %heads : tensor<i32>
    %bh1 = hk.add %bh, %h : tensor<i32>
    %bi = hk.mul %bh1, %nq : tensor<i32>
    %bi1 = hk.add %bi, %i : tensor<i32>
    %at = hk.mul %bi1, %nk : tensor<i32>
    %at1 = hk.add %at, %j : tensor<i32>
    %wide = hk.cast %at1 : tensor<i32> -> tensor<i64>
    %u = hk.philox %u0, %wide : tensor<i64>, tensor<i64> -> tensor<f32>
    %least = hk.constant 0.2 : tensor<f32>
    %kept = hk.compare gt %u, %least : tensor<f32> -> tensor<i1>
    %up = hk.constant 1.25 : tensor<f32>
    %zero = hk.constant 0.0 : tensor<f32>
    %w = hk.select %kept, %up, %zero : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %w : tensor<f32>
  }
  return %dq, %dk, %dv : tensor<2x33x4x64xf32>, tensor<2x47x2x64xf32>, tensor<2x47x2x32xf32>
}
// No region: the scores themselves are weights. Any head size.
func.func @linear_bwd(%q: tensor<21x3x33xbf16>, %k: tensor<17x3x33xbf16>, %v: tensor<17x3x7xbf16>, %do: tensor<21x3x7xbf16>) -> (tensor<21x3x33xbf16>, tensor<17x3x33xbf16>, tensor<17x3x7xbf16>) {
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do scale 0.125 causal normalizer none : tensor<21x3x33xbf16>, tensor<17x3x33xbf16>, tensor<17x3x7xbf16>, tensor<21x3x7xbf16> -> tensor<21x3x33xbf16>, tensor<17x3x33xbf16>, tensor<17x3x7xbf16>
  return %dq, %dk, %dv : tensor<21x3x33xbf16>, tensor<17x3x33xbf16>, tensor<17x3x7xbf16>
}
