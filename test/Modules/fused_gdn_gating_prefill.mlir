// Decay and write strength of a gated delta rule layer: g = -e^A_log * softplus(a +
// dt_bias) with softplus(x) = ln(1 + e^x), or x above 20, and beta = sigmoid(b). What
// depends on the head alone is computed in the same kernel.
// HK-LAUNCHES: 1
// HK-DIMS: ba.0=13 a.0=13
// HK-DIMS: ba.0=1 a.0=1
// HK-DIMS: ba.0=0 a.0=0
// HK-DIMS-HOST: @bf16_32 ba.0=5000
// HK-DATA: normal,equal,huge,tiny,nan,inf

func.func @bf16_32(%ba: tensor<?x64xbf16>, %alog: tensor<32xf32>, %dt: tensor<32xbf16>) -> (tensor<?x32xf32>, tensor<?x32xf32>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %ba, %c0 : tensor<?x64xbf16>
  %b = tensor.extract_slice %ba[0, 0] [%t, 32] [1, 1] : tensor<?x64xbf16> to tensor<?x32xbf16>
  %a = tensor.extract_slice %ba[0, 32] [%t, 32] [1, 1] : tensor<?x64xbf16> to tensor<?x32xbf16>
  %one = hk.constant 1.0 : tensor<f32>
  %threshold = hk.constant 20.0 : tensor<f32>
  %e = hk.exp %alog : tensor<32xf32>
  %n = hk.neg %e : tensor<32xf32>
  %x = hk.add %a, %dt : tensor<?x32xbf16>, tensor<32xbf16> -> tensor<?x32xf32>
  %ex = hk.exp %x : tensor<?x32xf32>
  %p = hk.add %ex, %one : tensor<?x32xf32>, tensor<f32>
  %l = hk.log %p : tensor<?x32xf32>
  %c = hk.compare le %x, %threshold : tensor<?x32xf32>, tensor<f32> -> tensor<?x32xi1>
  %s = hk.select %c, %l, %x : tensor<?x32xi1>, tensor<?x32xf32>, tensor<?x32xf32> -> tensor<?x32xf32>
  %g = hk.mul %n, %s : tensor<32xf32>, tensor<?x32xf32> -> tensor<?x32xf32>
  %beta = hk.sigmoid %b : tensor<?x32xbf16> -> tensor<?x32xf32>
  return %g, %beta : tensor<?x32xf32>, tensor<?x32xf32>
}
// a and b of their own.
func.func @odd_13(%a: tensor<13x6xbf16>, %b: tensor<13x6xbf16>, %alog: tensor<6xbf16>, %dt: tensor<6xf32>) -> (tensor<13x6xf32>, tensor<13x6xf32>) {
  %one = hk.constant 1.0 : tensor<f32>
  %threshold = hk.constant 20.0 : tensor<f32>
  %e = hk.exp %alog : tensor<6xbf16> -> tensor<6xf32>
  %n = hk.neg %e : tensor<6xf32>
  %x = hk.add %a, %dt : tensor<13x6xbf16>, tensor<6xf32> -> tensor<13x6xf32>
  %ex = hk.exp %x : tensor<13x6xf32>
  %p = hk.add %ex, %one : tensor<13x6xf32>, tensor<f32>
  %l = hk.log %p : tensor<13x6xf32>
  %c = hk.compare le %x, %threshold : tensor<13x6xf32>, tensor<f32> -> tensor<13x6xi1>
  %s = hk.select %c, %l, %x : tensor<13x6xi1>, tensor<13x6xf32>, tensor<13x6xf32> -> tensor<13x6xf32>
  %g = hk.mul %n, %s : tensor<6xf32>, tensor<13x6xf32> -> tensor<13x6xf32>
  %beta = hk.sigmoid %b : tensor<13x6xbf16> -> tensor<13x6xf32>
  return %g, %beta : tensor<13x6xf32>, tensor<13x6xf32>
}
func.func @odd_1(%a: tensor<1x6xbf16>, %b: tensor<1x6xbf16>, %alog: tensor<6xbf16>, %dt: tensor<6xf32>) -> (tensor<1x6xf32>, tensor<1x6xf32>) {
  %one = hk.constant 1.0 : tensor<f32>
  %threshold = hk.constant 20.0 : tensor<f32>
  %e = hk.exp %alog : tensor<6xbf16> -> tensor<6xf32>
  %n = hk.neg %e : tensor<6xf32>
  %x = hk.add %a, %dt : tensor<1x6xbf16>, tensor<6xf32> -> tensor<1x6xf32>
  %ex = hk.exp %x : tensor<1x6xf32>
  %p = hk.add %ex, %one : tensor<1x6xf32>, tensor<f32>
  %l = hk.log %p : tensor<1x6xf32>
  %c = hk.compare le %x, %threshold : tensor<1x6xf32>, tensor<f32> -> tensor<1x6xi1>
  %s = hk.select %c, %l, %x : tensor<1x6xi1>, tensor<1x6xf32>, tensor<1x6xf32> -> tensor<1x6xf32>
  %g = hk.mul %n, %s : tensor<6xf32>, tensor<1x6xf32> -> tensor<1x6xf32>
  %beta = hk.sigmoid %b : tensor<1x6xbf16> -> tensor<1x6xf32>
  return %g, %beta : tensor<1x6xf32>, tensor<1x6xf32>
}
func.func @odd_0(%a: tensor<0x6xbf16>, %b: tensor<0x6xbf16>, %alog: tensor<6xbf16>, %dt: tensor<6xf32>) -> (tensor<0x6xf32>, tensor<0x6xf32>) {
  %one = hk.constant 1.0 : tensor<f32>
  %threshold = hk.constant 20.0 : tensor<f32>
  %e = hk.exp %alog : tensor<6xbf16> -> tensor<6xf32>
  %n = hk.neg %e : tensor<6xf32>
  %x = hk.add %a, %dt : tensor<0x6xbf16>, tensor<6xf32> -> tensor<0x6xf32>
  %ex = hk.exp %x : tensor<0x6xf32>
  %p = hk.add %ex, %one : tensor<0x6xf32>, tensor<f32>
  %l = hk.log %p : tensor<0x6xf32>
  %c = hk.compare le %x, %threshold : tensor<0x6xf32>, tensor<f32> -> tensor<0x6xi1>
  %s = hk.select %c, %l, %x : tensor<0x6xi1>, tensor<0x6xf32>, tensor<0x6xf32> -> tensor<0x6xf32>
  %g = hk.mul %n, %s : tensor<6xf32>, tensor<0x6xf32> -> tensor<0x6xf32>
  %beta = hk.sigmoid %b : tensor<0x6xbf16> -> tensor<0x6xf32>
  return %g, %beta : tensor<0x6xf32>, tensor<0x6xf32>
}
// a and b of their own, softplus with a slope of 2 up to 10.
func.func @slope_2(%ba: tensor<?x8xbf16>, %b_rows: tensor<?x8xbf16>, %alog: tensor<8xf32>, %dt: tensor<8xf32>) -> (tensor<?x8xf32>, tensor<?x2x4xf32>) {
  %c0_t = arith.constant 0 : index
  %t = tensor.dim %ba, %c0_t : tensor<?x8xbf16>
  %b3 = tensor.expand_shape %b_rows [[0], [1, 2]] output_shape [%t, 2, 4] : tensor<?x8xbf16> into tensor<?x2x4xbf16>
  %slope = hk.constant 2.0 : tensor<f32>
  %one = hk.constant 1.0 : tensor<f32>
  %threshold = hk.constant 10.0 : tensor<f32>
  %e = hk.exp %alog : tensor<8xf32>
  %n = hk.neg %e : tensor<8xf32>
  %x = hk.add %ba, %dt : tensor<?x8xbf16>, tensor<8xf32> -> tensor<?x8xf32>
  %xs = hk.mul %x, %slope : tensor<?x8xf32>, tensor<f32>
  %ex = hk.exp %xs : tensor<?x8xf32>
  %p = hk.add %ex, %one : tensor<?x8xf32>, tensor<f32>
  %l = hk.log %p : tensor<?x8xf32>
  %d = hk.div %l, %slope : tensor<?x8xf32>, tensor<f32>
  %c = hk.compare le %xs, %threshold : tensor<?x8xf32>, tensor<f32> -> tensor<?x8xi1>
  %s = hk.select %c, %d, %x : tensor<?x8xi1>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %g = hk.mul %n, %s : tensor<8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %beta = hk.sigmoid %b3 : tensor<?x2x4xbf16> -> tensor<?x2x4xf32>
  return %g, %beta : tensor<?x8xf32>, tensor<?x2x4xf32>
}
// Everything in f16; beta in the type of b.
func.func @f16_own_biases(%a: tensor<?x5xf16>, %b_rows: tensor<?x5xf16>, %alog: tensor<5xf16>, %dt: tensor<5xf16>) -> (tensor<?x5xf32>, tensor<?x1x5xf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %a, %c0 : tensor<?x5xf16>
  %one = hk.constant 1.0 : tensor<f32>
  %threshold = hk.constant 20.0 : tensor<f32>
  %e = hk.exp %alog : tensor<5xf16> -> tensor<5xf32>
  %n = hk.neg %e : tensor<5xf32>
  %x = hk.add %a, %dt : tensor<?x5xf16>, tensor<5xf16> -> tensor<?x5xf32>
  %ex = hk.exp %x : tensor<?x5xf32>
  %p = hk.add %ex, %one : tensor<?x5xf32>, tensor<f32>
  %l = hk.log %p : tensor<?x5xf32>
  %c = hk.compare le %x, %threshold : tensor<?x5xf32>, tensor<f32> -> tensor<?x5xi1>
  %s = hk.select %c, %l, %x : tensor<?x5xi1>, tensor<?x5xf32>, tensor<?x5xf32> -> tensor<?x5xf32>
  %g = hk.mul %n, %s : tensor<5xf32>, tensor<?x5xf32> -> tensor<?x5xf32>
  %beta0 = hk.sigmoid %b_rows : tensor<?x5xf16>
  %beta = tensor.expand_shape %beta0 [[0], [1, 2]] output_shape [%t, 1, 5] : tensor<?x5xf16> into tensor<?x1x5xf16>
  return %g, %beta : tensor<?x5xf32>, tensor<?x1x5xf16>
}
