// What the vector units alone can compute, and has more operands than there are scalar
// registers: there is no tile behind it, and moving scalars to lanes costs little. And
// kernels of which the compiler knows that no query sees a key: they use no LDS.
// RUN: hk-compile %s --target=gfx942,gfx950 -o %t.so
func.func @scales(%q: tensor<?x3x32xbf16>, %k: tensor<?x32x1x32xf8E4M3FNUZ>, %v: tensor<?x32x1x24xf8E4M3FNUZ>, %qo: tensor<?xi32>, %kl: tensor<?xi32>, %bt: tensor<?x?xi32>, %qs: tensor<?x3x1xf32>, %ks: tensor<?x32x1x1xf32>, %vs: tensor<?x32x1x1xf32>, %bias: tensor<3x100xf32>) -> (tensor<?x3x24xf32>, tensor<?x3xf32>) {
  %0:2 = hk.attention %q, %k, %v q_offsets %qo kv_lens %kl block_table %bt q_scale %qs k_scale %ks v_scale %vs reads (%bias) scale 0.3 causal : tensor<?x3x32xbf16>, tensor<?x32x1x32xf8E4M3FNUZ>, tensor<?x32x1x24xf8E4M3FNUZ> q_offsets tensor<?xi32> kv_lens tensor<?xi32> block_table tensor<?x?xi32> q_scale tensor<?x3x1xf32> k_scale tensor<?x32x1x1xf32> v_scale tensor<?x32x1x1xf32> reads (tensor<3x100xf32>) -> tensor<?x3x24xf32>, tensor<?x3xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %sq: tensor<i32>, %l: tensor<i32>, %r: tensor<3x100xf32>):
    %m = hk.gather_elements %r [%h, %j] : tensor<3x100xf32> [tensor<i32>, tensor<i32>] -> tensor<f32>
    %t = hk.add %s, %m : tensor<f32>
    hk.yield %t : tensor<f32>
  }
  return %0#0, %0#1 : tensor<?x3x24xf32>, tensor<?x3xf32>
}
func.func @nothing(%q: tensor<2x5x128x192xf16>, %k: tensor<2x5x1x192xf16>, %v: tensor<2x5x1x192xf16>) -> tensor<2x5x128x192xf32> {
  %0 = hk.attention %q, %k, %v scale 0.15 causal past window_right 3 : tensor<2x5x128x192xf16>, tensor<2x5x1x192xf16>, tensor<2x5x1x192xf16> -> tensor<2x5x128x192xf32>
  return %0 : tensor<2x5x128x192xf32>
}
