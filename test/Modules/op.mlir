// The elementary functions of the gated delta rule's tests, one by one.
// HK-LAUNCHES: 1
// HK-ARGS: --range=ids=-1:8 --range=where=-3:42
// HK-DIMS: x.0=7
// HK-DIMS: x.0=1
// HK-DIMS: x.0=0
// HK-DATA: normal,equal,huge,tiny,nan,inf

func.func @exp(%x: tensor<?x100xf32>) -> tensor<?x100xf32> {
  %y = hk.exp %x : tensor<?x100xf32>
  return %y : tensor<?x100xf32>
}
func.func @exp2(%x: tensor<?x128xbf16>) -> tensor<?x128xf32> {
  %y = hk.exp2 %x : tensor<?x128xbf16> -> tensor<?x128xf32>
  return %y : tensor<?x128xf32>
}
func.func @log(%x: tensor<?x100xf32>) -> tensor<?x100xf32> {
  %y = hk.log %x : tensor<?x100xf32>
  return %y : tensor<?x100xf32>
}
func.func @log2(%x: tensor<?x128xf16>) -> tensor<?x128xf32> {
  %y = hk.log2 %x : tensor<?x128xf16> -> tensor<?x128xf32>
  return %y : tensor<?x128xf32>
}
// e^x where x <= 0, else 0.
func.func @safe_exp(%x: tensor<?x100xf32>) -> tensor<?x100xf32> {
  %zero = hk.constant 0.0 : tensor<f32>
  %e = hk.exp %x : tensor<?x100xf32>
  %c = hk.compare le %x, %zero : tensor<?x100xf32>, tensor<f32> -> tensor<?x100xi1>
  %y = hk.select %c, %e, %zero : tensor<?x100xi1>, tensor<?x100xf32>, tensor<f32> -> tensor<?x100xf32>
  return %y : tensor<?x100xf32>
}
func.func @sigmoid(%x: tensor<?x128xbf16>) -> tensor<?x128xbf16> {
  %y = hk.sigmoid %x : tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}
func.func @silu(%x: tensor<?x100xf16>) -> tensor<?x100xf16> {
  %y = hk.silu %x : tensor<?x100xf16>
  return %y : tensor<?x100xf16>
}
// ln(1 + e^(2 x)) / 2, and x itself above the threshold of 20.
func.func @softplus(%x: tensor<?x100xf32>) -> tensor<?x100xf32> {
  %beta = hk.constant 2.0 : tensor<f32>
  %one = hk.constant 1.0 : tensor<f32>
  %threshold = hk.constant 20.0 : tensor<f32>
  %b = hk.mul %x, %beta : tensor<?x100xf32>, tensor<f32>
  %e = hk.exp %b : tensor<?x100xf32>
  %p = hk.add %e, %one : tensor<?x100xf32>, tensor<f32>
  %l = hk.log %p : tensor<?x100xf32>
  %s = hk.div %l, %beta : tensor<?x100xf32>, tensor<f32>
  %c = hk.compare le %b, %threshold : tensor<?x100xf32>, tensor<f32> -> tensor<?x100xi1>
  %y = hk.select %c, %s, %x : tensor<?x100xi1>, tensor<?x100xf32>, tensor<?x100xf32> -> tensor<?x100xf32>
  return %y : tensor<?x100xf32>
}
// Along the first dim; an index outside gives a row of zeros.
func.func @gather(%x: tensor<?x36xbf16>, %ids: tensor<11xi32>) -> tensor<11x36xbf16> {
  %y = hk.gather_rows %x, %ids : tensor<?x36xbf16>, tensor<11xi32> -> tensor<11x36xbf16>
  return %y : tensor<11x36xbf16>
}
// Of single elements.
func.func @gather_elements(%x: tensor<?xf32>, %ids: tensor<5x9xi64>) -> tensor<5x9xf32> {
  %y = hk.gather_rows %x, %ids : tensor<?xf32>, tensor<5x9xi64> -> tensor<5x9xf32>
  return %y : tensor<5x9xf32>
}
// Along the last dim, elements by a row of indices of their own.
func.func @gather_along_row(%x: tensor<?x40xf32>, %where: tensor<?x12xi32>) -> tensor<?x12xf32> {
  %y = hk.gather_last %x, %where : tensor<?x40xf32>, tensor<?x12xi32> -> tensor<?x12xf32>
  return %y : tensor<?x12xf32>
}
func.func @sqrt(%x: tensor<?x100xf32>) -> tensor<?x100xf32> {
  %y = hk.sqrt %x : tensor<?x100xf32>
  return %y : tensor<?x100xf32>
}
func.func @rsqrt(%x: tensor<?x128xbf16>) -> tensor<?x128xf32> {
  %y = hk.rsqrt %x : tensor<?x128xbf16> -> tensor<?x128xf32>
  return %y : tensor<?x128xf32>
}
func.func @reciprocal(%x: tensor<?x100xf16>) -> tensor<?x100xf16> {
  %y = hk.reciprocal %x : tensor<?x100xf16>
  return %y : tensor<?x100xf16>
}
func.func @erf(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = hk.erf %x : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
func.func @round(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = hk.round %x : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
func.func @exp_bf16(%x: tensor<?x77xbf16>) -> tensor<?x77xbf16> {
  %y = hk.exp %x : tensor<?x77xbf16>
  return %y : tensor<?x77xbf16>
}
func.func @exp_f16(%x: tensor<?x77xf16>) -> tensor<?x77xf32> {
  %y = hk.exp %x : tensor<?x77xf16> -> tensor<?x77xf32>
  return %y : tensor<?x77xf32>
}
func.func @exp2_f32(%x: tensor<?x77xf32>) -> tensor<?x77xf32> {
  %y = hk.exp2 %x : tensor<?x77xf32>
  return %y : tensor<?x77xf32>
}
func.func @exp2_f16(%x: tensor<?x77xf16>) -> tensor<?x77xf16> {
  %y = hk.exp2 %x : tensor<?x77xf16>
  return %y : tensor<?x77xf16>
}
func.func @log_bf16(%x: tensor<?x77xbf16>) -> tensor<?x77xf32> {
  %y = hk.log %x : tensor<?x77xbf16> -> tensor<?x77xf32>
  return %y : tensor<?x77xf32>
}
func.func @log_f16(%x: tensor<?x77xf16>) -> tensor<?x77xf16> {
  %y = hk.log %x : tensor<?x77xf16>
  return %y : tensor<?x77xf16>
}
func.func @log2_f32(%x: tensor<?x77xf32>) -> tensor<?x77xf32> {
  %y = hk.log2 %x : tensor<?x77xf32>
  return %y : tensor<?x77xf32>
}
func.func @log2_bf16(%x: tensor<?x77xbf16>) -> tensor<?x77xbf16> {
  %y = hk.log2 %x : tensor<?x77xbf16>
  return %y : tensor<?x77xbf16>
}
func.func @sigmoid_f32(%x: tensor<?x77xf32>) -> tensor<?x77xf32> {
  %y = hk.sigmoid %x : tensor<?x77xf32>
  return %y : tensor<?x77xf32>
}
func.func @sigmoid_f16(%x: tensor<?x77xf16>) -> tensor<?x77xf16> {
  %y = hk.sigmoid %x : tensor<?x77xf16>
  return %y : tensor<?x77xf16>
}
func.func @silu_f32(%x: tensor<?x77xf32>) -> tensor<?x77xf32> {
  %y = hk.silu %x : tensor<?x77xf32>
  return %y : tensor<?x77xf32>
}
func.func @silu_bf16(%x: tensor<?x77xbf16>) -> tensor<?x77xf32> {
  %y = hk.silu %x : tensor<?x77xbf16> -> tensor<?x77xf32>
  return %y : tensor<?x77xf32>
}
func.func @safe_exp_bf16(%x: tensor<?x77xbf16>) -> tensor<?x77xbf16> {
  %zero = hk.constant 0.0 : tensor<f32>
  %e = hk.exp %x : tensor<?x77xbf16> -> tensor<?x77xf32>
  %c = hk.compare le %x, %zero : tensor<?x77xbf16>, tensor<f32> -> tensor<?x77xi1>
  %s = hk.select %c, %e, %zero : tensor<?x77xi1>, tensor<?x77xf32>, tensor<f32> -> tensor<?x77xf32>
  %y = hk.cast %s : tensor<?x77xf32> -> tensor<?x77xbf16>
  return %y : tensor<?x77xbf16>
}
