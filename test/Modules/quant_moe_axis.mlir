// MXFP along the first axis of a matrix. No row of the result is one of the input, so the
// transpose in front of the quantisation is a launch of its own; behind it, it is a store.
// HK-LAUNCHES: 2
// HK-DIMS: x.1=37 q.0=37
// HK-DIMS: x.1=1 q.0=1
// HK-DIMS: x.1=0 q.0=0
// HK-DATA: normal,equal,huge,tiny,nan,inf

func.func @fp4_up(%x: tensor<70x?xf32>) -> (tensor<?x70xf4E2M1FN>, tensor<?x3xf8E8M0FNU>) {
  %xt = hk.transpose %x [1, 0] : tensor<70x?xf32> -> tensor<?x70xf32>
  %q, %s = hk.quantize_mx ceil %xt : tensor<?x70xf32> -> tensor<?x70xf4E2M1FN>, tensor<?x3xf8E8M0FNU>
  return %q, %s : tensor<?x70xf4E2M1FN>, tensor<?x3xf8E8M0FNU>
}
func.func @e4m3_down(%x: tensor<96x?xbf16>) -> (tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU>) {
  %xt = hk.transpose %x [1, 0] : tensor<96x?xbf16> -> tensor<?x96xbf16>
  %q, %s = hk.quantize_mx floor %xt : tensor<?x96xbf16> -> tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU>
  return %q, %s : tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU>
}
func.func @fp4_to_bf16(%q: tensor<?x70xf4E2M1FN>, %s: tensor<?x3xf8E8M0FNU>) -> tensor<70x?xbf16> {
  %y = hk.dequantize %q, %s : tensor<?x70xf4E2M1FN>, tensor<?x3xf8E8M0FNU> -> tensor<?x70xbf16>
  %z = hk.transpose %y [1, 0] : tensor<?x70xbf16> -> tensor<70x?xbf16>
  return %z : tensor<70x?xbf16>
}
