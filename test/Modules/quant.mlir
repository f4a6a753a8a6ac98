// Quantisation with a scale per token and per group, to int8 and fp8.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=19
// HK-DIMS: x.0=1
// HK-DIMS: x.0=0
// HK-DATA: normal,equal,huge,tiny,nan,inf

func.func @token_int8(%x: tensor<?x400xbf16>) -> (tensor<?x400xi8>, tensor<?x1xf32>) {
  %q, %s = hk.quantize per_token %x : tensor<?x400xbf16> -> tensor<?x400xi8>, tensor<?x1xf32>
  return %q, %s : tensor<?x400xi8>, tensor<?x1xf32>
}
func.func @token_fp8(%x: tensor<?x4096xbf16>) -> (tensor<?x4096xf8E4M3FN>, tensor<?x1xf32>) {
  %q, %s = hk.quantize per_token %x : tensor<?x4096xbf16> -> tensor<?x4096xf8E4M3FN>, tensor<?x1xf32>
  return %q, %s : tensor<?x4096xf8E4M3FN>, tensor<?x1xf32>
}
func.func @token_fp8_odd(%x: tensor<?x13xf32>) -> (tensor<?x13xf8E4M3FNUZ>, tensor<?x1xf32>) {
  %q, %s = hk.quantize per_token %x : tensor<?x13xf32> -> tensor<?x13xf8E4M3FNUZ>, tensor<?x1xf32>
  return %q, %s : tensor<?x13xf8E4M3FNUZ>, tensor<?x1xf32>
}
func.func @group_fp8(%x: tensor<?x1024xbf16>) -> (tensor<?x1024xf8E4M3FN>, tensor<?x8xf32>) {
  %q, %s = hk.quantize per_group %x {amax_floor = 1.0e-10 : f32} : tensor<?x1024xbf16> -> tensor<?x1024xf8E4M3FN>, tensor<?x8xf32>
  return %q, %s : tensor<?x1024xf8E4M3FN>, tensor<?x8xf32>
}
