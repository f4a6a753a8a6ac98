// Gradients of weights silu(s) / N with a number of targets, heads of 128: what takes most
// registers of attention by mma.sync.
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
