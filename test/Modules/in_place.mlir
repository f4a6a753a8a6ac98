// Results in the memory of their input: the norm and the residual it belongs to, a rotation,
// a scaled sum. `own` counts the rows. A launch that reads rows and overwrites them would
// race, so a second one writes.
// HK-LAUNCHES: 2
// HK-ARGS: --range=own=iota --range=pos=-1:64
// HK-DIMS: x.1=9 r.1=9 b.0=9 own.0=9 pos.0=9
// HK-DIMS: x.1=1 r.1=1 b.0=1 own.0=1 pos.0=1
// HK-DIMS: x.1=0 r.1=0 b.0=0 own.0=0 pos.0=0
// HK-DATA: normal,equal,huge,tiny,nan,inf

func.func @add_norm_640(%x: tensor<1x?x1x640xbf16> {hk.state}, %r: tensor<1x?x1x640xbf16> {hk.state}, %w: tensor<640xbf16>, %own: tensor<?xi32>) -> (tensor<1x?x1x640xbf16>, tensor<1x?x1x640xbf16>) {
  %xr = tensor.collapse_shape %x [[0, 1], [2], [3]] : tensor<1x?x1x640xbf16> into tensor<?x1x640xbf16>
  %rr = tensor.collapse_shape %r [[0, 1], [2], [3]] : tensor<1x?x1x640xbf16> into tensor<?x1x640xbf16>
  %s = hk.add %xr, %rr : tensor<?x1x640xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-06 : tensor<?x1x640xbf16>, tensor<640xbf16>
  %x2 = hk.kv_cache_write %y, %own into %x : tensor<?x1x640xbf16>, tensor<?xi32>, tensor<1x?x1x640xbf16>
  %r2 = hk.kv_cache_write %s, %own into %r : tensor<?x1x640xbf16>, tensor<?xi32>, tensor<1x?x1x640xbf16>
  return %x2, %r2 : tensor<1x?x1x640xbf16>, tensor<1x?x1x640xbf16>
}
func.func @rope_neox_partial(%x: tensor<1x?x4x64xbf16> {hk.state}, %cos: tensor<64x16xf32>, %sin: tensor<64x16xf32>, %pos: tensor<?xi32>, %own: tensor<?xi32>) -> tensor<1x?x4x64xbf16> {
  %xr = tensor.collapse_shape %x [[0, 1], [2], [3]] : tensor<1x?x4x64xbf16> into tensor<?x4x64xbf16>
  %y = hk.rope neox %xr, %cos, %sin positions %pos : tensor<?x4x64xbf16>, tensor<64x16xf32>, tensor<64x16xf32> positions tensor<?xi32>
  %x2 = hk.kv_cache_write %y, %own into %x : tensor<?x4x64xbf16>, tensor<?xi32>, tensor<1x?x4x64xbf16>
  return %x2 : tensor<1x?x4x64xbf16>
}
func.func @rope_gptj_nope_first(%x: tensor<1x?x4x24xbf16> {hk.state}, %cos: tensor<64x10xf32>, %sin: tensor<64x10xf32>, %pos: tensor<?xi32>, %own: tensor<?xi32>) -> tensor<1x?x4x24xbf16> {
  %xr = tensor.collapse_shape %x [[0, 1], [2], [3]] : tensor<1x?x4x24xbf16> into tensor<?x4x24xbf16>
  %y = hk.rope gptj %xr, %cos, %sin positions %pos angle_per_element nope_first : tensor<?x4x24xbf16>, tensor<64x10xf32>, tensor<64x10xf32> positions tensor<?xi32>
  %x2 = hk.kv_cache_write %y, %own into %x : tensor<?x4x24xbf16>, tensor<?xi32>, tensor<1x?x4x24xbf16>
  return %x2 : tensor<1x?x4x24xbf16>
}
func.func @mul_add_500(%x: tensor<1x?x1x500xf16> {hk.state}, %b: tensor<?x1x500xf16>, %a: tensor<1xf32>, %own: tensor<?xi32>) -> tensor<1x?x1x500xf16> {
  %xr = tensor.collapse_shape %x [[0, 1], [2], [3]] : tensor<1x?x1x500xf16> into tensor<?x1x500xf16>
  %m = hk.mul %a, %xr : tensor<1xf32>, tensor<?x1x500xf16> -> tensor<?x1x500xf32>
  %y = hk.add %m, %b : tensor<?x1x500xf32>, tensor<?x1x500xf16> -> tensor<?x1x500xf16>
  %x2 = hk.kv_cache_write %y, %own into %x : tensor<?x1x500xf16>, tensor<?xi32>, tensor<1x?x1x500xf16>
  return %x2 : tensor<1x?x1x500xf16>
}
