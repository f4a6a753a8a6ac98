// Dynamic quantisation with one scale of the whole tensor: the largest magnitude in
// two steps, then the codes. Zeros get scale 1.
// HK-LAUNCHES: 3
// HK-DIMS: x.0=37
// HK-DIMS: x.0=1
// HK-DIMS: x.0=0
// HK-DATA: normal,equal,huge,tiny,nan,inf

func.func @fp8(%x: tensor<?x400xbf16>) -> (tensor<?x400xf8E4M3FN>, tensor<1x1xf32>) {
  %amax = hk.reduce absmax %x dims 2 : tensor<?x400xbf16> -> tensor<1x1xf32>
  %limit = hk.constant 448.0 : tensor<f32>
  %zero = hk.constant 0.0 : tensor<f32>
  %one = hk.constant 1.0 : tensor<f32>
  %raw = hk.div %amax, %limit : tensor<1x1xf32>, tensor<f32>
  %is0 = hk.compare eq %raw, %zero : tensor<1x1xf32>, tensor<f32> -> tensor<1x1xi1>
  %s = hk.select %is0, %one, %raw : tensor<1x1xi1>, tensor<f32>, tensor<1x1xf32> -> tensor<1x1xf32>
  %q = hk.quantize_static %x, %s : tensor<?x400xbf16>, tensor<1x1xf32> -> tensor<?x400xf8E4M3FN>
  return %q, %s : tensor<?x400xf8E4M3FN>, tensor<1x1xf32>
}
func.func @int8(%x: tensor<?x400xf32>) -> (tensor<?x400xi8>, tensor<1x1xf32>) {
  %amax = hk.reduce absmax %x dims 2 : tensor<?x400xf32> -> tensor<1x1xf32>
  %limit = hk.constant 127.0 : tensor<f32>
  %zero = hk.constant 0.0 : tensor<f32>
  %one = hk.constant 1.0 : tensor<f32>
  %raw = hk.div %amax, %limit : tensor<1x1xf32>, tensor<f32>
  %is0 = hk.compare eq %raw, %zero : tensor<1x1xf32>, tensor<f32> -> tensor<1x1xi1>
  %s = hk.select %is0, %one, %raw : tensor<1x1xi1>, tensor<f32>, tensor<1x1xf32> -> tensor<1x1xf32>
  %q = hk.quantize_static %x, %s : tensor<?x400xf32>, tensor<1x1xf32> -> tensor<?x400xi8>
  return %q, %s : tensor<?x400xi8>, tensor<1x1xf32>
}
func.func @fnuz(%x: tensor<?x75xf16>) -> (tensor<?x75xf8E4M3FNUZ>, tensor<1x1xf32>) {
  %amax = hk.reduce absmax %x dims 2 : tensor<?x75xf16> -> tensor<1x1xf32>
  %limit = hk.constant 240.0 : tensor<f32>
  %zero = hk.constant 0.0 : tensor<f32>
  %one = hk.constant 1.0 : tensor<f32>
  %d = hk.div %amax, %limit : tensor<1x1xf32>, tensor<f32>
  %is0 = hk.compare eq %d, %zero : tensor<1x1xf32>, tensor<f32> -> tensor<1x1xi1>
  %s = hk.select %is0, %one, %d : tensor<1x1xi1>, tensor<f32>, tensor<1x1xf32> -> tensor<1x1xf32>
  %q = hk.quantize_static %x, %s : tensor<?x75xf16>, tensor<1x1xf32> -> tensor<?x75xf8E4M3FNUZ>
  return %q, %s : tensor<?x75xf8E4M3FNUZ>, tensor<1x1xf32>
}
