// Logits of the lightning indexer in prefill: rectified products of 8-bit queries with the
// keys in the range of each query, weighted over heads; other keys get -inf.
// HK-LAUNCHES: 1
// HK-ARGS: --range=b=-3:40 --range=e=-1:190
// HK-DIMS: q.0=1 k.0=1
// HK-DIMS: q.0=9 k.0=133
// HK-DIMS: q.0=0 k.0=5
// HK-DIMS: q.0=3 k.0=0
// HK-DIMS-HOST: q.0=20 k.0=300
// HK-DATA: normal,equal,nan

func.func @fn_h64_d128(%q: tensor<?x64x128xf8E4M3FN> {hk.dims = ["T", "_", "_"]}, %k: tensor<?x128xf8E4M3FN> {hk.dims = ["N", "_"]}, %w: tensor<?x64xf32> {hk.dims = ["T", "_"]}, %s: tensor<?xf32> {hk.dims = ["N"]}, %b: tensor<?xi32> {hk.dims = ["T"]}, %e: tensor<?xi32> {hk.dims = ["T"]}) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %s, %c0 : tensor<?xf32>
  %c = tensor.expand_shape %s [[0, 1]] output_shape [%n, 1] : tensor<?xf32> into tensor<?x1xf32>
  %l = hk.mqa_logits %q, %k, %w key_scales %c starts %b ends %e : tensor<?x64x128xf8E4M3FN>, tensor<?x128xf8E4M3FN>, tensor<?x64xf32> key_scales tensor<?x1xf32> starts tensor<?xi32> ends tensor<?xi32> -> tensor<?x?xf32>
  return %l : tensor<?x?xf32>
}
func.func @fnuz_h64_d128(%q: tensor<?x64x128xf8E4M3FNUZ> {hk.dims = ["T", "_", "_"]}, %k: tensor<?x128xf8E4M3FNUZ> {hk.dims = ["N", "_"]}, %w: tensor<?x64xf32> {hk.dims = ["T", "_"]}, %s: tensor<?xf32> {hk.dims = ["N"]}, %b: tensor<?xi32> {hk.dims = ["T"]}, %e: tensor<?xi32> {hk.dims = ["T"]}) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %s, %c0 : tensor<?xf32>
  %c = tensor.expand_shape %s [[0, 1]] output_shape [%n, 1] : tensor<?xf32> into tensor<?x1xf32>
  %l = hk.mqa_logits %q, %k, %w key_scales %c starts %b ends %e : tensor<?x64x128xf8E4M3FNUZ>, tensor<?x128xf8E4M3FNUZ>, tensor<?x64xf32> key_scales tensor<?x1xf32> starts tensor<?xi32> ends tensor<?xi32> -> tensor<?x?xf32>
  return %l : tensor<?x?xf32>
}
func.func @fn_h32_d64(%q: tensor<?x32x64xf8E4M3FN> {hk.dims = ["T", "_", "_"]}, %k: tensor<?x64xf8E4M3FN> {hk.dims = ["N", "_"]}, %w: tensor<?x32xf32> {hk.dims = ["T", "_"]}, %s: tensor<?xf32> {hk.dims = ["N"]}, %e: tensor<?xi32> {hk.dims = ["T"]}) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %s, %c0 : tensor<?xf32>
  %c = tensor.expand_shape %s [[0, 1]] output_shape [%n, 1] : tensor<?xf32> into tensor<?x1xf32>
  %l = hk.mqa_logits %q, %k, %w key_scales %c ends %e : tensor<?x32x64xf8E4M3FN>, tensor<?x64xf8E4M3FN>, tensor<?x32xf32> key_scales tensor<?x1xf32> ends tensor<?xi32> -> tensor<?x?xf32>
  return %l : tensor<?x?xf32>
}
func.func @fnuz_h32_d64_no_ranges(%q: tensor<?x32x64xf8E4M3FNUZ> {hk.dims = ["T", "_", "_"]}, %k: tensor<?x64xf8E4M3FNUZ> {hk.dims = ["N", "_"]}, %w: tensor<?x32xf32> {hk.dims = ["T", "_"]}, %s: tensor<?xf32> {hk.dims = ["N"]}) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %s, %c0 : tensor<?xf32>
  %c = tensor.expand_shape %s [[0, 1]] output_shape [%n, 1] : tensor<?xf32> into tensor<?x1xf32>
  %l = hk.mqa_logits %q, %k, %w key_scales %c : tensor<?x32x64xf8E4M3FNUZ>, tensor<?x64xf8E4M3FNUZ>, tensor<?x32xf32> key_scales tensor<?x1xf32> -> tensor<?x?xf32>
  return %l : tensor<?x?xf32>
}
func.func @fn_h128_d320(%q: tensor<?x128x320xf8E4M3FN> {hk.dims = ["T", "_", "_"]}, %k: tensor<?x320xf8E4M3FN> {hk.dims = ["N", "_"]}, %w: tensor<?x128xf32> {hk.dims = ["T", "_"]}, %s: tensor<?xf32> {hk.dims = ["N"]}, %e: tensor<?xi32> {hk.dims = ["T"]}) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %s, %c0 : tensor<?xf32>
  %c = tensor.expand_shape %s [[0, 1]] output_shape [%n, 1] : tensor<?xf32> into tensor<?x1xf32>
  %l = hk.mqa_logits %q, %k, %w key_scales %c ends %e : tensor<?x128x320xf8E4M3FN>, tensor<?x320xf8E4M3FN>, tensor<?x128xf32> key_scales tensor<?x1xf32> ends tensor<?xi32> -> tensor<?x?xf32>
  return %l : tensor<?x?xf32>
}
func.func @e5m2_h40_d80(%q: tensor<?x40x80xf8E5M2> {hk.dims = ["T", "_", "_"]}, %k: tensor<?x80xf8E5M2> {hk.dims = ["N", "_"]}, %w: tensor<?x40xf32> {hk.dims = ["T", "_"]}, %s: tensor<?xf32> {hk.dims = ["N"]}, %b: tensor<?xi32> {hk.dims = ["T"]}, %e: tensor<?xi32> {hk.dims = ["T"]}) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %s, %c0 : tensor<?xf32>
  %c = tensor.expand_shape %s [[0, 1]] output_shape [%n, 1] : tensor<?xf32> into tensor<?x1xf32>
  %l = hk.mqa_logits %q, %k, %w key_scales %c starts %b ends %e : tensor<?x40x80xf8E5M2>, tensor<?x80xf8E5M2>, tensor<?x40xf32> key_scales tensor<?x1xf32> starts tensor<?xi32> ends tensor<?xi32> -> tensor<?x?xf32>
  return %l : tensor<?x?xf32>
}
func.func @bf16_h64_d128_no_scales(%q: tensor<?x64x128xbf16> {hk.dims = ["T", "_", "_"]}, %k: tensor<?x128xbf16> {hk.dims = ["N", "_"]}, %w: tensor<?x64xf32> {hk.dims = ["T", "_"]}, %b: tensor<?xi32> {hk.dims = ["T"]}, %e: tensor<?xi32> {hk.dims = ["T"]}) -> tensor<?x?xf32> {
  %l = hk.mqa_logits %q, %k, %w starts %b ends %e : tensor<?x64x128xbf16>, tensor<?x128xbf16>, tensor<?x64xf32> starts tensor<?xi32> ends tensor<?xi32> -> tensor<?x?xf32>
  return %l : tensor<?x?xf32>
}
func.func @f32_h5_d67_no_scales(%q: tensor<?x5x67xf32> {hk.dims = ["T", "_", "_"]}, %k: tensor<?x67xf32> {hk.dims = ["N", "_"]}, %w: tensor<?x5xf32> {hk.dims = ["T", "_"]}, %b: tensor<?xi32> {hk.dims = ["T"]}, %e: tensor<?xi32> {hk.dims = ["T"]}) -> tensor<?x?xf32> {
  %l = hk.mqa_logits %q, %k, %w starts %b ends %e : tensor<?x5x67xf32>, tensor<?x67xf32>, tensor<?x5xf32> starts tensor<?xi32> ends tensor<?xi32> -> tensor<?x?xf32>
  return %l : tensor<?x?xf32>
}
func.func @f16_h7_d24(%q: tensor<?x7x24xf16> {hk.dims = ["T", "_", "_"]}, %k: tensor<?x24xf16> {hk.dims = ["N", "_"]}, %w: tensor<?x7xf32> {hk.dims = ["T", "_"]}, %s: tensor<?xf32> {hk.dims = ["N"]}, %b: tensor<?xi32> {hk.dims = ["T"]}, %e: tensor<?xi32> {hk.dims = ["T"]}) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %s, %c0 : tensor<?xf32>
  %c = tensor.expand_shape %s [[0, 1]] output_shape [%n, 1] : tensor<?xf32> into tensor<?x1xf32>
  %l = hk.mqa_logits %q, %k, %w key_scales %c starts %b ends %e : tensor<?x7x24xf16>, tensor<?x24xf16>, tensor<?x7xf32> key_scales tensor<?x1xf32> starts tensor<?xi32> ends tensor<?xi32> -> tensor<?x?xf32>
  return %l : tensor<?x?xf32>
}
