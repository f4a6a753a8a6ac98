// Residual + RMS norm + quantisation in one kernel; the sum is kept.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=3
// HK-DIMS: x.0=0
// HK-DATA: normal,equal,tiny,nan

func.func @group128(%x: tensor<?x7168xbf16>, %r: tensor<?x7168xbf16>, %w: tensor<7168xbf16>) -> (tensor<?x7168xf8E4M3FN>, tensor<?x56xf32>, tensor<?x7168xbf16>) {
  %s = hk.add %x, %r : tensor<?x7168xbf16>, tensor<?x7168xbf16> -> tensor<?x7168xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-06 : tensor<?x7168xbf16>, tensor<7168xbf16> -> tensor<?x7168xbf16>
  %q, %scale = hk.quantize per_group %y {amax_floor = 1.0e-10 : f32} : tensor<?x7168xbf16> -> tensor<?x7168xf8E4M3FN>, tensor<?x56xf32>
  return %q, %scale, %s : tensor<?x7168xf8E4M3FN>, tensor<?x56xf32>, tensor<?x7168xbf16>
}
func.func @per_token(%x: tensor<?x512xbf16>, %w: tensor<512xbf16>) -> (tensor<?x512xf8E4M3FN>, tensor<?x1xf32>) {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x512xbf16>, tensor<512xbf16> -> tensor<?x512xbf16>
  %q, %scale = hk.quantize per_token %y : tensor<?x512xbf16> -> tensor<?x512xf8E4M3FN>, tensor<?x1xf32>
  return %q, %scale : tensor<?x512xf8E4M3FN>, tensor<?x1xf32>
}
