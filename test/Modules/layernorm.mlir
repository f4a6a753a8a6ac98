// Layer normalisation, plain, with a residual rounded before the norm, and with int8
// quantisation of what is smoothed by a factor per column.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=1
// HK-DIMS: x.0=0
// HK-DIMS: x.0=5
// HK-DIMS-HOST: @add_f16_781 x.0=1823
// HK-DIMS-HOST: @bf16_1 @f16_128 x.0=359
// HK-DIMS-HOST: @bf16_8192 x.0=513
// HK-DATA: normal,equal,huge,tiny,nan,inf

func.func @bf16_1(%x: tensor<?x1xbf16>, %w: tensor<1xbf16>, %b: tensor<1xbf16>) -> tensor<?x1xbf16> {
  %y = hk.layer_norm %x, %w, %b epsilon 1.0e-05 : tensor<?x1xbf16>, tensor<1xbf16>, tensor<1xbf16>
  return %y : tensor<?x1xbf16>
}
func.func @f32_2(%x: tensor<?x2xf32>, %w: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<?x2xf32> {
  %y = hk.layer_norm %x, %w, %b epsilon 1.0e-05 : tensor<?x2xf32>, tensor<2xf32>, tensor<2xf32>
  return %y : tensor<?x2xf32>
}
func.func @f16_128(%x: tensor<?x128xf16>, %w: tensor<128xf16>, %b: tensor<128xf16>) -> tensor<?x128xf16> {
  %y = hk.layer_norm %x, %w, %b epsilon 1.0e-05 : tensor<?x128xf16>, tensor<128xf16>, tensor<128xf16>
  return %y : tensor<?x128xf16>
}
func.func @bf16_768(%x: tensor<?x768xbf16>, %w: tensor<768xbf16>, %b: tensor<768xbf16>) -> tensor<?x768xbf16> {
  %y = hk.layer_norm %x, %w, %b epsilon 1.0e-05 : tensor<?x768xbf16>, tensor<768xbf16>, tensor<768xbf16>
  return %y : tensor<?x768xbf16>
}
func.func @f32_359(%x: tensor<?x359xf32>, %w: tensor<359xf32>, %b: tensor<359xf32>) -> tensor<?x359xf32> {
  %y = hk.layer_norm %x, %w, %b epsilon 1.0e-05 : tensor<?x359xf32>, tensor<359xf32>, tensor<359xf32>
  return %y : tensor<?x359xf32>
}
func.func @bf16_8192(%x: tensor<?x8192xbf16>, %w: tensor<8192xbf16>, %b: tensor<8192xbf16>) -> tensor<?x8192xbf16> {
  %y = hk.layer_norm %x, %w, %b epsilon 1.0e-05 : tensor<?x8192xbf16>, tensor<8192xbf16>, tensor<8192xbf16>
  return %y : tensor<?x8192xbf16>
}
func.func @f16_131072(%x: tensor<?x131072xf16>, %w: tensor<131072xf16>, %b: tensor<131072xf16>) -> tensor<?x131072xf16> {
  %y = hk.layer_norm %x, %w, %b epsilon 1.0e-05 : tensor<?x131072xf16>, tensor<131072xf16>, tensor<131072xf16>
  return %y : tensor<?x131072xf16>
}
func.func @f32_89999(%x: tensor<?x89999xf32>, %w: tensor<89999xf32>, %b: tensor<89999xf32>) -> tensor<?x89999xf32> {
  %y = hk.layer_norm %x, %w, %b epsilon 1.0e-05 : tensor<?x89999xf32>, tensor<89999xf32>, tensor<89999xf32>
  return %y : tensor<?x89999xf32>
}
func.func @add_f32_359(%x: tensor<?x359xf32>, %r: tensor<?x359xf32>, %w: tensor<359xf32>, %b: tensor<359xf32>) -> (tensor<?x359xf32>, tensor<?x359xf32>) {
  %s = hk.add %x, %r : tensor<?x359xf32>
  %y = hk.layer_norm %s, %w, %b epsilon 1.0e-05 : tensor<?x359xf32>, tensor<359xf32>, tensor<359xf32>
  return %y, %s : tensor<?x359xf32>, tensor<?x359xf32>
}
func.func @add_f16_781(%x: tensor<?x781xf16>, %r: tensor<?x781xf16>, %w: tensor<781xf16>, %b: tensor<781xf16>) -> (tensor<?x781xf16>, tensor<?x781xf16>) {
  %s = hk.add %x, %r : tensor<?x781xf16>
  %y = hk.layer_norm %s, %w, %b epsilon 1.0e-05 : tensor<?x781xf16>, tensor<781xf16>, tensor<781xf16>
  return %y, %s : tensor<?x781xf16>, tensor<?x781xf16>
}
func.func @add_bf16_8192(%x: tensor<?x8192xbf16>, %r: tensor<?x8192xbf16>, %w: tensor<8192xf32>, %b: tensor<8192xf32>) -> (tensor<?x8192xbf16>, tensor<?x8192xbf16>) {
  %s = hk.add %x, %r : tensor<?x8192xbf16>
  %y = hk.layer_norm %s, %w, %b epsilon 1.0e-05 : tensor<?x8192xbf16>, tensor<8192xf32>, tensor<8192xf32>
  return %y, %s : tensor<?x8192xbf16>, tensor<?x8192xbf16>
}
func.func @smooth_quant(%x: tensor<?x1024xbf16>, %w: tensor<1024xbf16>, %b: tensor<1024xbf16>, %xs: tensor<1024xf32>) -> (tensor<?x1024xi8>, tensor<?x1xf32>) {
  %y = hk.layer_norm %x, %w, %b epsilon 1.0e-05 : tensor<?x1024xbf16>, tensor<1024xbf16>, tensor<1024xbf16> -> tensor<?x1024xf32>
  %m = hk.mul %y, %xs : tensor<?x1024xf32>, tensor<1024xf32>
  %q, %s = hk.quantize per_token %m : tensor<?x1024xf32> -> tensor<?x1024xi8>, tensor<?x1xf32>
  return %q, %s : tensor<?x1024xi8>, tensor<?x1xf32>
}
// Mean and reciprocal standard deviation beside it, as the gradient needs them.
func.func @training_1(%x: tensor<?x1xf32>, %w: tensor<1xf32>, %b: tensor<1xf32>) -> (tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>) {
  %eps = hk.constant 1.0e-05 : tensor<f32>
  %n = hk.constant 1.0 : tensor<f32>
  %sum = hk.reduce sum %x : tensor<?x1xf32> -> tensor<?x1xf32>
  %mean = hk.div %sum, %n : tensor<?x1xf32>, tensor<f32>
  %c = hk.sub %x, %mean : tensor<?x1xf32>
  %sq = hk.mul %c, %c : tensor<?x1xf32>
  %ss = hk.reduce sum %sq : tensor<?x1xf32> -> tensor<?x1xf32>
  %var = hk.div %ss, %n : tensor<?x1xf32>, tensor<f32>
  %e = hk.add %var, %eps : tensor<?x1xf32>, tensor<f32>
  %rstd = hk.rsqrt %e : tensor<?x1xf32>
  %h = hk.mul %c, %rstd : tensor<?x1xf32>
  %hw = hk.mul %h, %w : tensor<?x1xf32>, tensor<1xf32>
  %y = hk.add %hw, %b : tensor<?x1xf32>, tensor<1xf32>
  return %y, %mean, %rstd : tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>
}
func.func @training_781(%x: tensor<?x781xbf16>, %w: tensor<781xbf16>, %b: tensor<781xbf16>) -> (tensor<?x781xbf16>, tensor<?x1xf32>, tensor<?x1xf32>) {
  %eps = hk.constant 1.0e-05 : tensor<f32>
  %n = hk.constant 781.0 : tensor<f32>
  %sum = hk.reduce sum %x : tensor<?x781xbf16> -> tensor<?x1xf32>
  %mean = hk.div %sum, %n : tensor<?x1xf32>, tensor<f32>
  %c = hk.sub %x, %mean : tensor<?x781xbf16>, tensor<?x1xf32> -> tensor<?x781xf32>
  %sq = hk.mul %c, %c : tensor<?x781xf32>
  %ss = hk.reduce sum %sq : tensor<?x781xf32> -> tensor<?x1xf32>
  %var = hk.div %ss, %n : tensor<?x1xf32>, tensor<f32>
  %e = hk.add %var, %eps : tensor<?x1xf32>, tensor<f32>
  %rstd = hk.rsqrt %e : tensor<?x1xf32>
  %h = hk.mul %c, %rstd : tensor<?x781xf32>, tensor<?x1xf32>
  %hw = hk.mul %h, %w : tensor<?x781xf32>, tensor<781xbf16>
  %y = hk.add %hw, %b : tensor<?x781xf32>, tensor<781xbf16> -> tensor<?x781xbf16>
  return %y, %mean, %rstd : tensor<?x781xbf16>, tensor<?x1xf32>, tensor<?x1xf32>
}
// With a residual, quantised without smoothing.
func.func @dynamic_quant_1245(%x: tensor<?x1245xf16>, %r: tensor<?x1245xf16>, %w: tensor<1245xf16>, %b: tensor<1245xf16>) -> (tensor<?x1245xi8>, tensor<?x1xf32>, tensor<?x1245xf16>) {
  %s = hk.add %x, %r : tensor<?x1245xf16>
  %y = hk.layer_norm %s, %w, %b epsilon 1.0e-05 : tensor<?x1245xf16>, tensor<1245xf16>, tensor<1245xf16> -> tensor<?x1245xf32>
  %q, %scale = hk.quantize per_token %y : tensor<?x1245xf32> -> tensor<?x1245xi8>, tensor<?x1xf32>
  return %q, %scale, %s : tensor<?x1245xi8>, tensor<?x1xf32>, tensor<?x1245xf16>
}
// With a residual and smoothing.
func.func @add_smooth_quant(%x: tensor<?x359xbf16>, %r: tensor<?x359xbf16>, %w: tensor<359xbf16>, %b: tensor<359xbf16>, %xs: tensor<359xf32>) -> (tensor<?x359xi8>, tensor<?x1xf32>, tensor<?x359xbf16>) {
  %s = hk.add %x, %r : tensor<?x359xbf16>
  %y = hk.layer_norm %s, %w, %b epsilon 1.0e-05 : tensor<?x359xbf16>, tensor<359xbf16>, tensor<359xbf16> -> tensor<?x359xf32>
  %m = hk.mul %y, %xs : tensor<?x359xf32>, tensor<359xf32>
  %q, %scale = hk.quantize per_token %m : tensor<?x359xf32> -> tensor<?x359xi8>, tensor<?x1xf32>
  return %q, %scale, %s : tensor<?x359xi8>, tensor<?x1xf32>, tensor<?x359xbf16>
}
func.func @f16_4(%x: tensor<?x4xf16>, %w: tensor<4xf16>, %b: tensor<4xf16>) -> tensor<?x4xf16> {
  %y = hk.layer_norm %x, %w, %b epsilon 1.0e-05 : tensor<?x4xf16>, tensor<4xf16>, tensor<4xf16>
  return %y : tensor<?x4xf16>
}
// Without a residual, without smoothing.
func.func @dynamic_quant_768(%x: tensor<?x768xbf16>, %w: tensor<768xbf16>, %b: tensor<768xbf16>) -> (tensor<?x768xi8>, tensor<?x1xf32>) {
  %y = hk.layer_norm %x, %w, %b epsilon 1.0e-05 : tensor<?x768xbf16>, tensor<768xbf16>, tensor<768xbf16> -> tensor<?x768xf32>
  %q, %s = hk.quantize per_token %y : tensor<?x768xf32> -> tensor<?x768xi8>, tensor<?x1xf32>
  return %q, %s : tensor<?x768xi8>, tensor<?x1xf32>
}
// A residual, and the statistics of the rounded sum.
func.func @add_training_359(%x: tensor<?x359xf16>, %r: tensor<?x359xf16>, %w: tensor<359xf16>, %b: tensor<359xf16>) -> (tensor<?x359xf16>, tensor<?x359xf16>, tensor<?x1xf32>, tensor<?x1xf32>) {
  %eps = hk.constant 1.0e-05 : tensor<f32>
  %n = hk.constant 359.0 : tensor<f32>
  %s = hk.add %x, %r : tensor<?x359xf16>
  %sum = hk.reduce sum %s : tensor<?x359xf16> -> tensor<?x1xf32>
  %mean = hk.div %sum, %n : tensor<?x1xf32>, tensor<f32>
  %c = hk.sub %s, %mean : tensor<?x359xf16>, tensor<?x1xf32> -> tensor<?x359xf32>
  %sq = hk.mul %c, %c : tensor<?x359xf32>
  %ss = hk.reduce sum %sq : tensor<?x359xf32> -> tensor<?x1xf32>
  %var = hk.div %ss, %n : tensor<?x1xf32>, tensor<f32>
  %e = hk.add %var, %eps : tensor<?x1xf32>, tensor<f32>
  %rstd = hk.rsqrt %e : tensor<?x1xf32>
  %h = hk.mul %c, %rstd : tensor<?x359xf32>, tensor<?x1xf32>
  %hw = hk.mul %h, %w : tensor<?x359xf32>, tensor<359xf16>
  %y = hk.add %hw, %b : tensor<?x359xf32>, tensor<359xf16> -> tensor<?x359xf16>
  return %y, %s, %mean, %rstd : tensor<?x359xf16>, tensor<?x359xf16>, tensor<?x1xf32>, tensor<?x1xf32>
}
