// One step or a few over a cache: contiguous with lengths, paged, window, ALiBi, new rows rotated
// and written in front.
// HK-LAUNCHES: 2
// HK-DIMS: -
// HK-ARGS: --range=lens=0:90

func.func @contiguous(%q: tensor<2x1x8x128xbf16>, %k: tensor<2x200x2x128xbf16>, %v: tensor<2x200x2x128xbf16>, %lens: tensor<2xi32>) -> (tensor<2x1x8x128xbf16>, tensor<2x1x8xf32>) {
  %out, %lse = hk.attention %q, %k, %v kv_lens %lens scale 0.088 causal : tensor<2x1x8x128xbf16>, tensor<2x200x2x128xbf16>, tensor<2x200x2x128xbf16> kv_lens tensor<2xi32> -> tensor<2x1x8x128xbf16>, tensor<2x1x8xf32>
  return %out, %lse : tensor<2x1x8x128xbf16>, tensor<2x1x8xf32>
}
func.func @window(%q: tensor<2x3x4x64xf16>, %k: tensor<2x200x4x64xf16>, %v: tensor<2x200x4x64xf16>, %lens: tensor<2xi32>) -> (tensor<2x3x4x64xf16>, tensor<2x3x4xf32>) {
  %out, %lse = hk.attention %q, %k, %v kv_lens %lens scale 0.125 causal window_left 40 : tensor<2x3x4x64xf16>, tensor<2x200x4x64xf16>, tensor<2x200x4x64xf16> kv_lens tensor<2xi32> -> tensor<2x3x4x64xf16>, tensor<2x3x4xf32>
  return %out, %lse : tensor<2x3x4x64xf16>, tensor<2x3x4xf32>
}
func.func @alibi(%q: tensor<2x3x4x64xbf16>, %k: tensor<2x90x2x64xbf16>, %v: tensor<2x90x2x64xbf16>, %lens: tensor<2xi32>, %extra: tensor<2x4xf32>) -> (tensor<2x3x4x64xbf16>, tensor<2x3x4xf32>) {
  %out, %lse = hk.attention %q, %k, %v kv_lens %lens reads (%extra) scale 0.125 causal : tensor<2x3x4x64xbf16>, tensor<2x90x2x64xbf16>, tensor<2x90x2x64xbf16> kv_lens tensor<2xi32> reads (tensor<2x4xf32>) -> tensor<2x3x4x64xbf16>, tensor<2x3x4xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<2x4xf32>):
    %e = hk.add %i, %nk : tensor<i32>
    %own = hk.sub %e, %nq : tensor<i32>
    %d = hk.sub %j, %own : tensor<i32>
    %f = hk.cast %d : tensor<i32> -> tensor<f32>
    %a = hk.abs %f : tensor<f32>
    %n = hk.neg %a : tensor<f32>
    %m = hk.gather_elements %t [%b, %h] : tensor<2x4xf32> [tensor<i32>, tensor<i32>] -> tensor<f32>
    %p = hk.mul %m, %n : tensor<f32>
    %r = hk.add %s, %p : tensor<f32>
    hk.yield %r : tensor<f32>
  }
  return %out, %lse : tensor<2x3x4x64xbf16>, tensor<2x3x4xf32>
}
func.func @paged(%q: tensor<2x2x8x64xbf16>, %k: tensor<24x16x2x64xbf16>, %v: tensor<24x16x2x64xbf16>, %lens: tensor<2xi32>, %pages: tensor<2x6xi32>) -> (tensor<2x2x8x64xbf16>, tensor<2x2x8xf32>) {
  %out, %lse = hk.attention %q, %k, %v kv_lens %lens block_table %pages scale 0.125 causal : tensor<2x2x8x64xbf16>, tensor<24x16x2x64xbf16>, tensor<24x16x2x64xbf16> kv_lens tensor<2xi32> block_table tensor<2x6xi32> -> tensor<2x2x8x64xbf16>, tensor<2x2x8xf32>
  return %out, %lse : tensor<2x2x8x64xbf16>, tensor<2x2x8xf32>
}
func.func @appended_with_rotary(%q: tensor<2x1x4x64xbf16>, %nk: tensor<2x1x2x64xbf16>, %nv: tensor<2x1x2x64xbf16>, %kc: tensor<2x96x2x64xbf16> {hk.state}, %vc: tensor<2x96x2x64xbf16> {hk.state}, %cos: tensor<96x32xf32>, %sin: tensor<96x32xf32>, %pos: tensor<2xi32>, %slots: tensor<2xi32>, %lens: tensor<2xi32>) -> (tensor<2x1x4x64xbf16>, tensor<2x96x2x64xbf16>, tensor<2x96x2x64xbf16>) {
  %q2 = tensor.collapse_shape %q [[0, 1], [2], [3]] : tensor<2x1x4x64xbf16> into tensor<2x4x64xbf16>
  %k2 = tensor.collapse_shape %nk [[0, 1], [2], [3]] : tensor<2x1x2x64xbf16> into tensor<2x2x64xbf16>
  %v2 = tensor.collapse_shape %nv [[0, 1], [2], [3]] : tensor<2x1x2x64xbf16> into tensor<2x2x64xbf16>
  %qr = hk.rope neox %q2, %cos, %sin positions %pos : tensor<2x4x64xbf16>, tensor<96x32xf32>, tensor<96x32xf32> positions tensor<2xi32>
  %kr = hk.rope neox %k2, %cos, %sin positions %pos : tensor<2x2x64xbf16>, tensor<96x32xf32>, tensor<96x32xf32> positions tensor<2xi32>
  %kn = hk.kv_cache_write %kr, %slots into %kc : tensor<2x2x64xbf16>, tensor<2xi32>, tensor<2x96x2x64xbf16>
  %vn = hk.kv_cache_write %v2, %slots into %vc : tensor<2x2x64xbf16>, tensor<2xi32>, tensor<2x96x2x64xbf16>
  %q3 = tensor.expand_shape %qr [[0, 1], [2], [3]] output_shape [2, 1, 4, 64] : tensor<2x4x64xbf16> into tensor<2x1x4x64xbf16>
  %o = hk.attention %q3, %kn, %vn kv_lens %lens scale 0.125 causal : tensor<2x1x4x64xbf16>, tensor<2x96x2x64xbf16>, tensor<2x96x2x64xbf16> kv_lens tensor<2xi32> -> tensor<2x1x4x64xbf16>
  return %o, %kn, %vn : tensor<2x1x4x64xbf16>, tensor<2x96x2x64xbf16>, tensor<2x96x2x64xbf16>
}
