// RMS normalisation, plain, with a residual that is rounded before the norm, two norms
// of one row, and the gated norm of a gated delta rule layer.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=1
// HK-DIMS: x.0=0
// HK-DIMS: x.0=7
// HK-DIMS-HOST: @f16_128 x.0=364800
// HK-DIMS-HOST: @bf16_1245 x.0=873
// HK-DIMS-HOST: @f16_3571 x.0=71
// HK-DIMS-HOST: @f16_409 x.0=173
// HK-DIMS-HOST: @bf16_4096 @f32_1024 x.0=256
// HK-DIMS-HOST: @bf16_5120 @f32_2048 x.0=768
// HK-DIMS-HOST: @f16_8192 x.0=513
// HK-DIMS-HOST: @dual_1536 x.0=16380
// HK-DATA: normal,equal,huge,tiny,nan,inf

func.func @f32_4(%x: tensor<?x4xf32>, %w: tensor<4xf32>) -> tensor<?x4xf32> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<?x4xf32>, tensor<4xf32>
  return %y : tensor<?x4xf32>
}
func.func @bf16_10(%x: tensor<?x10xbf16>, %w: tensor<10xbf16>) -> tensor<?x10xbf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x10xbf16>, tensor<10xbf16>
  return %y : tensor<?x10xbf16>
}
func.func @f16_128(%x: tensor<?x128xf16>, %w: tensor<128xf16>) -> tensor<?x128xf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x128xf16>, tensor<128xf16>
  return %y : tensor<?x128xf16>
}
func.func @f16_409(%x: tensor<?x409xf16>, %w: tensor<409xf16>) -> tensor<?x409xf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<?x409xf16>, tensor<409xf16>
  return %y : tensor<?x409xf16>
}
func.func @bf16_1245(%x: tensor<?x1245xbf16>, %w: tensor<1245xbf16>) -> tensor<?x1245xbf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x1245xbf16>, tensor<1245xbf16>
  return %y : tensor<?x1245xbf16>
}
func.func @f32_2048(%x: tensor<?x2048xf32>, %w: tensor<2048xf32>) -> tensor<?x2048xf32> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x2048xf32>, tensor<2048xf32>
  return %y : tensor<?x2048xf32>
}
func.func @bf16_4096(%x: tensor<?x4096xbf16>, %w: tensor<4096xbf16>) -> tensor<?x4096xbf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x4096xbf16>, tensor<4096xbf16>
  return %y : tensor<?x4096xbf16>
}
func.func @f16_3571(%x: tensor<?x3571xf16>, %w: tensor<3571xf16>) -> tensor<?x3571xf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x3571xf16>, tensor<3571xf16>
  return %y : tensor<?x3571xf16>
}
func.func @bf16_31744(%x: tensor<?x31744xbf16>, %w: tensor<31744xbf16>) -> tensor<?x31744xbf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x31744xbf16>, tensor<31744xbf16>
  return %y : tensor<?x31744xbf16>
}
func.func @f32_65536(%x: tensor<?x65536xf32>, %w: tensor<65536xf32>) -> tensor<?x65536xf32> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x65536xf32>, tensor<65536xf32>
  return %y : tensor<?x65536xf32>
}
func.func @add_bf16_2880(%x: tensor<?x2880xbf16>, %r: tensor<?x2880xbf16>, %w: tensor<2880xbf16>) -> (tensor<?x2880xbf16>, tensor<?x2880xbf16>) {
  %s = hk.add %x, %r : tensor<?x2880xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-06 : tensor<?x2880xbf16>, tensor<2880xbf16>
  return %y, %s : tensor<?x2880xbf16>, tensor<?x2880xbf16>
}
func.func @add_f16_3571(%x: tensor<?x3571xf16>, %r: tensor<?x3571xf16>, %w: tensor<3571xf16>) -> (tensor<?x3571xf16>, tensor<?x3571xf16>) {
  %s = hk.add %x, %r : tensor<?x3571xf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-06 : tensor<?x3571xf16>, tensor<3571xf16>
  return %y, %s : tensor<?x3571xf16>, tensor<?x3571xf16>
}
func.func @add_f32_20480(%x: tensor<?x20480xf32>, %r: tensor<?x20480xf32>, %w: tensor<20480xf32>) -> (tensor<?x20480xf32>, tensor<?x20480xf32>) {
  %s = hk.add %x, %r : tensor<?x20480xf32>
  %y = hk.rms_norm %s, %w epsilon 1.0e-06 : tensor<?x20480xf32>, tensor<20480xf32>
  return %y, %s : tensor<?x20480xf32>, tensor<?x20480xf32>
}
// Two norms of one row.
func.func @dual_1536(%x: tensor<?x1536xbf16>, %w: tensor<1536xbf16>, %v: tensor<1536xbf16>) -> (tensor<?x1536xbf16>, tensor<?x1536xbf16>) {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x1536xbf16>, tensor<1536xbf16>
  %z = hk.rms_norm %x, %v epsilon 1.0e-05 : tensor<?x1536xbf16>, tensor<1536xbf16>
  return %y, %z : tensor<?x1536xbf16>, tensor<?x1536xbf16>
}
// The latents of q and k, slices of one projection.
func.func @latents(%x: tensor<?x2112xbf16>, %w: tensor<1536xbf16>, %v: tensor<512xbf16>) -> (tensor<?x1536xbf16>, tensor<?x512xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x2112xbf16>
  %q = tensor.extract_slice %x[0, 0] [%t, 1536] [1, 1] : tensor<?x2112xbf16> to tensor<?x1536xbf16>
  %k = tensor.extract_slice %x[0, 1536] [%t, 512] [1, 1] : tensor<?x2112xbf16> to tensor<?x512xbf16>
  %y = hk.rms_norm %q, %w epsilon 1.0e-06 : tensor<?x1536xbf16>, tensor<1536xbf16>
  %z = hk.rms_norm %k, %v epsilon 1.0e-06 : tensor<?x512xbf16>, tensor<512xbf16>
  return %y, %z : tensor<?x1536xbf16>, tensor<?x512xbf16>
}
// Per head: norm(o) * w * silu(z).
func.func @gated_heads(%x: tensor<?x8x128xbf16>, %z: tensor<?x8x128xbf16>, %w: tensor<128xf32>) -> tensor<?x8x128xbf16> {
  %n = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x8x128xbf16>, tensor<128xf32> -> tensor<?x8x128xf32>
  %g = hk.silu %z : tensor<?x8x128xbf16> -> tensor<?x8x128xf32>
  %y = hk.mul %n, %g : tensor<?x8x128xf32> -> tensor<?x8x128xbf16>
  return %y : tensor<?x8x128xbf16>
}
// Gemma: the weight counts from one; Hugging Face's Llama: rounded before the weight.
func.func @one_plus_weight(%x: tensor<?x640xbf16>, %w: tensor<640xbf16>) -> tensor<?x640xbf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 weight_offset 1.0 : tensor<?x640xbf16>, tensor<640xbf16>
  return %y : tensor<?x640xbf16>
}
func.func @rounded_before_weight(%x: tensor<?x640xbf16>, %w: tensor<640xbf16>) -> tensor<?x640xbf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 round_before_weight : tensor<?x640xbf16>, tensor<640xbf16>
  return %y : tensor<?x640xbf16>
}
// The reciprocal root mean square beside it, as the gradient needs it.
func.func @training_1536(%x: tensor<?x1536xbf16>, %w: tensor<1536xbf16>) -> (tensor<?x1536xbf16>, tensor<?x1xf32>) {
  %eps = hk.constant 1.0e-06 : tensor<f32>
  %n = hk.constant 1536.0 : tensor<f32>
  %sq = hk.mul %x, %x : tensor<?x1536xbf16> -> tensor<?x1536xf32>
  %sum = hk.reduce sum %sq : tensor<?x1536xf32> -> tensor<?x1xf32>
  %mean = hk.div %sum, %n : tensor<?x1xf32>, tensor<f32>
  %e = hk.add %mean, %eps : tensor<?x1xf32>, tensor<f32>
  %r = hk.rsqrt %e : tensor<?x1xf32>
  %xr = hk.mul %x, %r : tensor<?x1536xbf16>, tensor<?x1xf32> -> tensor<?x1536xf32>
  %y = hk.mul %xr, %w : tensor<?x1536xf32>, tensor<1536xbf16> -> tensor<?x1536xbf16>
  return %y, %r : tensor<?x1536xbf16>, tensor<?x1xf32>
}
func.func @training_31744(%x: tensor<?x31744xbf16>, %w: tensor<31744xbf16>) -> (tensor<?x31744xbf16>, tensor<?x1xf32>) {
  %eps = hk.constant 1.0e-06 : tensor<f32>
  %n = hk.constant 31744.0 : tensor<f32>
  %sq = hk.mul %x, %x : tensor<?x31744xbf16> -> tensor<?x31744xf32>
  %sum = hk.reduce sum %sq : tensor<?x31744xf32> -> tensor<?x1xf32>
  %mean = hk.div %sum, %n : tensor<?x1xf32>, tensor<f32>
  %e = hk.add %mean, %eps : tensor<?x1xf32>, tensor<f32>
  %r = hk.rsqrt %e : tensor<?x1xf32>
  %xr = hk.mul %x, %r : tensor<?x31744xbf16>, tensor<?x1xf32> -> tensor<?x31744xf32>
  %y = hk.mul %xr, %w : tensor<?x31744xf32>, tensor<31744xbf16> -> tensor<?x31744xbf16>
  return %y, %r : tensor<?x31744xbf16>, tensor<?x1xf32>
}
// Every other column.
func.func @strided_5120(%x: tensor<?x10240xbf16>, %w: tensor<5120xbf16>) -> tensor<?x5120xbf16> {
  %c0_t = arith.constant 0 : index
  %t = tensor.dim %x, %c0_t : tensor<?x10240xbf16>
  %s = tensor.extract_slice %x[0, 0] [%t, 5120] [1, 2] : tensor<?x10240xbf16> to tensor<?x5120xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-06 : tensor<?x5120xbf16>, tensor<5120xbf16>
  return %y : tensor<?x5120xbf16>
}
// A residual, a weight in f32, and the reciprocal root mean square of the sum.
func.func @add_training_409(%x: tensor<?x409xbf16>, %r: tensor<?x409xbf16>, %w: tensor<409xf32>) -> (tensor<?x409xbf16>, tensor<?x409xbf16>, tensor<?x1xf32>) {
  %eps = hk.constant 1.0e-06 : tensor<f32>
  %n = hk.constant 409.0 : tensor<f32>
  %s = hk.add %x, %r : tensor<?x409xbf16>
  %sq = hk.mul %s, %s : tensor<?x409xbf16> -> tensor<?x409xf32>
  %sum = hk.reduce sum %sq : tensor<?x409xf32> -> tensor<?x1xf32>
  %mean = hk.div %sum, %n : tensor<?x1xf32>, tensor<f32>
  %e = hk.add %mean, %eps : tensor<?x1xf32>, tensor<f32>
  %q = hk.rsqrt %e : tensor<?x1xf32>
  %sr = hk.mul %s, %q : tensor<?x409xbf16>, tensor<?x1xf32> -> tensor<?x409xf32>
  %y = hk.mul %sr, %w : tensor<?x409xf32>, tensor<409xf32> -> tensor<?x409xbf16>
  return %y, %s, %q : tensor<?x409xbf16>, tensor<?x409xbf16>, tensor<?x1xf32>
}
func.func @f16_8192(%x: tensor<?x8192xf16>, %w: tensor<8192xf16>) -> tensor<?x8192xf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<?x8192xf16>, tensor<8192xf16>
  return %y : tensor<?x8192xf16>
}
func.func @bf16_5120(%x: tensor<?x5120xbf16>, %w: tensor<5120xbf16>) -> tensor<?x5120xbf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x5120xbf16>, tensor<5120xbf16>
  return %y : tensor<?x5120xbf16>
}
func.func @f32_1024(%x: tensor<?x1024xf32>, %w: tensor<1024xf32>) -> tensor<?x1024xf32> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x1024xf32>, tensor<1024xf32>
  return %y : tensor<?x1024xf32>
}
func.func @bf16_768(%x: tensor<?x768xbf16>, %w: tensor<768xbf16>) -> tensor<?x768xbf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<?x768xbf16>, tensor<768xbf16>
  return %y : tensor<?x768xbf16>
}
func.func @f16_512(%x: tensor<?x512xf16>, %w: tensor<512xf16>) -> tensor<?x512xf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x512xf16>, tensor<512xf16>
  return %y : tensor<?x512xf16>
}
// Of every head, with the weight all heads share; without a weight; rows of zeros, which
// only epsilon keeps from 0 / 0.
func.func @heads_64(%x: tensor<?x5x64xf16>, %w: tensor<64xf16>) -> tensor<?x5x64xf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x5x64xf16>, tensor<64xf16>
  return %y : tensor<?x5x64xf16>
}
func.func @no_weight_409(%x: tensor<?x409xbf16>) -> tensor<?x409xbf16> {
  %y = hk.rms_norm %x epsilon 1.0e-06 : tensor<?x409xbf16>
  return %y : tensor<?x409xbf16>
}
func.func @zero_rows_2880(%x: tensor<?x2880xbf16>, %w: tensor<2880xbf16>) -> tensor<?x2880xbf16> {
  %no = hk.constant false : tensor<i1>
  %zero = hk.constant 0.0 : tensor<bf16>
  %z = hk.select %no, %x, %zero : tensor<i1>, tensor<?x2880xbf16>, tensor<bf16> -> tensor<?x2880xbf16>
  %y = hk.rms_norm %z, %w epsilon 1.0e-06 : tensor<?x2880xbf16>, tensor<2880xbf16>
  return %y : tensor<?x2880xbf16>
}
