// Activations, and activations gated by the second half of the row: with a limit, a
// bias of the token's expert, and quantised.
// HK-LAUNCHES: 1
// HK-ARGS: --range=expert=-1:4
// HK-DIMS: x.0=3
// HK-DIMS: x.0=1
// HK-DIMS: x.0=0
// HK-DIMS-HOST: @silu_and_mul x.0=512
// HK-DIMS-HOST: @silu_and_mul_6400 @silu_and_mul_8192 x.0=129
// HK-DATA: normal,equal,huge,tiny,nan,inf

func.func @silu(%x: tensor<?x96xbf16>) -> tensor<?x96xbf16> {
  %y = hk.silu %x : tensor<?x96xbf16>
  return %y : tensor<?x96xbf16>
}
func.func @gelu(%x: tensor<?x96xf32>) -> tensor<?x96xf32> {
  %y = hk.gelu %x : tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}
func.func @gelu_tanh(%x: tensor<?x37xf16>) -> tensor<?x37xf16> {
  %y = hk.gelu_tanh %x : tensor<?x37xf16>
  return %y : tensor<?x37xf16>
}
func.func @relu(%x: tensor<?x96xbf16>) -> tensor<?x96xbf16> {
  %y = hk.relu %x : tensor<?x96xbf16>
  return %y : tensor<?x96xbf16>
}
func.func @tanh(%x: tensor<?x96xf32>) -> tensor<?x96xf32> {
  %y = hk.tanh %x : tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}
func.func @relu6(%x: tensor<?x50xf16>) -> tensor<?x50xf16> {
  %six = hk.constant 6.0 : tensor<f32>
  %r = hk.relu %x : tensor<?x50xf16> -> tensor<?x50xf32>
  %y = hk.min %r, %six : tensor<?x50xf32>, tensor<f32> -> tensor<?x50xf16>
  return %y : tensor<?x50xf16>
}
// 0.5 x (1 + tanh(0.79788456 x (1 + 0.044715 x^2))), every step rounded to f32.
func.func @gelu_fast(%x: tensor<?x96xbf16>) -> tensor<?x96xbf16> {
  %c = hk.constant 0.044715 : tensor<f32>
  %k = hk.constant 0.79788456 : tensor<f32>
  %one = hk.constant 1.0 : tensor<f32>
  %half = hk.constant 0.5 : tensor<f32>
  %f = hk.cast %x : tensor<?x96xbf16> -> tensor<?x96xf32>
  %s = hk.mul %f, %f : tensor<?x96xf32>
  %a = hk.mul %s, %c : tensor<?x96xf32>, tensor<f32>
  %b = hk.add %a, %one : tensor<?x96xf32>, tensor<f32>
  %d = hk.mul %f, %k : tensor<?x96xf32>, tensor<f32>
  %e = hk.mul %d, %b : tensor<?x96xf32>
  %t = hk.tanh %e : tensor<?x96xf32>
  %u = hk.add %t, %one : tensor<?x96xf32>, tensor<f32>
  %h = hk.mul %f, %half : tensor<?x96xf32>, tensor<f32>
  %y = hk.mul %h, %u : tensor<?x96xf32> -> tensor<?x96xbf16>
  return %y : tensor<?x96xbf16>
}
func.func @silu_and_mul(%x: tensor<?x1408xbf16>) -> tensor<?x704xbf16> {
  %y = hk.gated_activation silu %x : tensor<?x1408xbf16> -> tensor<?x704xbf16>
  return %y : tensor<?x704xbf16>
}
func.func @silu_and_mul_6400(%x: tensor<?x12800xf16>) -> tensor<?x6400xf16> {
  %y = hk.gated_activation silu %x : tensor<?x12800xf16> -> tensor<?x6400xf16>
  return %y : tensor<?x6400xf16>
}
func.func @gelu_and_mul(%x: tensor<?x1000xf16>) -> tensor<?x500xf16> {
  %y = hk.gated_activation gelu %x : tensor<?x1000xf16> -> tensor<?x500xf16>
  return %y : tensor<?x500xf16>
}
func.func @gelu_tanh_and_mul(%x: tensor<?x2048xbf16>) -> tensor<?x1024xbf16> {
  %y = hk.gated_activation gelu_tanh %x : tensor<?x2048xbf16> -> tensor<?x1024xbf16>
  return %y : tensor<?x1024xbf16>
}
func.func @relu_and_mul(%x: tensor<?x66xf32>) -> tensor<?x33xf32> {
  %y = hk.gated_activation relu %x : tensor<?x66xf32> -> tensor<?x33xf32>
  return %y : tensor<?x33xf32>
}
func.func @silu_and_mul_limit(%x: tensor<?x128xbf16>) -> tensor<?x64xbf16> {
  %y = hk.gated_activation silu %x limit 7.0 : tensor<?x128xbf16> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}
func.func @swiglu_oai(%x: tensor<?x128xbf16>) -> tensor<?x64xf32> {
  %y = hk.gated_activation swiglu_oai %x limit 7.0 : tensor<?x128xbf16> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
// The bias of the token's expert; a token without one gives zeros.
func.func @bias_of_expert(%x: tensor<?x256xbf16>, %bias: tensor<4x256xbf16>, %expert: tensor<?xi32>) -> tensor<?x128xbf16> {
  %zero = hk.constant 0.0 : tensor<bf16>
  %none = hk.constant 0 : tensor<i32>
  %count = hk.constant 4 : tensor<i32>
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x256xbf16>
  %b = hk.gather_rows %bias, %expert : tensor<4x256xbf16>, tensor<?xi32> -> tensor<?x256xbf16>
  %s = hk.add %x, %b : tensor<?x256xbf16>
  %y = hk.gated_activation silu %s : tensor<?x256xbf16> -> tensor<?x128xbf16>
  %e = tensor.expand_shape %expert [[0, 1]] output_shape [%t, 1] : tensor<?xi32> into tensor<?x1xi32>
  %low = hk.compare ge %e, %none : tensor<?x1xi32>, tensor<i32> -> tensor<?x1xi1>
  %high = hk.compare lt %e, %count : tensor<?x1xi32>, tensor<i32> -> tensor<?x1xi1>
  %a = hk.select %high, %y, %zero : tensor<?x1xi1>, tensor<?x128xbf16>, tensor<bf16> -> tensor<?x128xbf16>
  %o = hk.select %low, %a, %zero : tensor<?x1xi1>, tensor<?x128xbf16>, tensor<bf16> -> tensor<?x128xbf16>
  return %o : tensor<?x128xbf16>
}
func.func @scaled_silu_and_mul(%x: tensor<?x1024xbf16>, %scale: tensor<1xf32>) -> tensor<?x512xf8E4M3FN> {
  %y = hk.gated_activation silu %x : tensor<?x1024xbf16> -> tensor<?x512xf32>
  %q = hk.quantize_static %y, %scale : tensor<?x512xf32>, tensor<1xf32> -> tensor<?x512xf8E4M3FN>
  return %q : tensor<?x512xf8E4M3FN>
}
// As PyTorch has it: the activation is rounded before the product.
func.func @silu_rounded_mul(%x: tensor<?x768xbf16>) -> tensor<?x384xbf16> {
  %c0_t = arith.constant 0 : index
  %t = tensor.dim %x, %c0_t : tensor<?x768xbf16>
  %g = tensor.extract_slice %x[0, 0] [%t, 384] [1, 1] : tensor<?x768xbf16> to tensor<?x384xbf16>
  %u = tensor.extract_slice %x[0, 384] [%t, 384] [1, 1] : tensor<?x768xbf16> to tensor<?x384xbf16>
  %a = hk.silu %g : tensor<?x384xbf16>
  %y = hk.mul %a, %u : tensor<?x384xbf16>
  return %y : tensor<?x384xbf16>
}
func.func @silu_rounded_gate(%x: tensor<?x768xbf16>) -> tensor<?x384xbf16> {
  %y = hk.gated_activation silu %x round_before_up : tensor<?x768xbf16> -> tensor<?x384xbf16>
  return %y : tensor<?x384xbf16>
}
func.func @scaled_gelu_and_mul_int8(%x: tensor<?x200xf16>, %scale: tensor<1xf32>) -> tensor<?x100xi8> {
  %y = hk.gated_activation gelu %x : tensor<?x200xf16> -> tensor<?x100xf32>
  %q = hk.quantize_static %y, %scale : tensor<?x100xf32>, tensor<1xf32> -> tensor<?x100xi8>
  return %q : tensor<?x100xi8>
}
func.func @bias_swiglu_oai(%x: tensor<?x180xbf16>, %bias: tensor<4x180xbf16>, %expert: tensor<?xi32>) -> tensor<?x90xbf16> {
  %zero = hk.constant 0.0 : tensor<bf16>
  %none = hk.constant 0 : tensor<i32>
  %count = hk.constant 4 : tensor<i32>
  %c0_t = arith.constant 0 : index
  %t = tensor.dim %x, %c0_t : tensor<?x180xbf16>
  %b = hk.gather_rows %bias, %expert : tensor<4x180xbf16>, tensor<?xi32> -> tensor<?x180xbf16>
  %s = hk.add %x, %b : tensor<?x180xbf16>
  %y = hk.gated_activation swiglu_oai %s limit 7.0 : tensor<?x180xbf16> -> tensor<?x90xbf16>
  %e = tensor.expand_shape %expert [[0, 1]] output_shape [%t, 1] : tensor<?xi32> into tensor<?x1xi32>
  %low = hk.compare ge %e, %none : tensor<?x1xi32>, tensor<i32> -> tensor<?x1xi1>
  %high = hk.compare lt %e, %count : tensor<?x1xi32>, tensor<i32> -> tensor<?x1xi1>
  %a = hk.select %high, %y, %zero : tensor<?x1xi1>, tensor<?x90xbf16>, tensor<bf16> -> tensor<?x90xbf16>
  %o = hk.select %low, %a, %zero : tensor<?x1xi1>, tensor<?x90xbf16>, tensor<bf16> -> tensor<?x90xbf16>
  return %o : tensor<?x90xbf16>
}
func.func @bias_gelu_tanh(%x: tensor<?x128xf16>, %bias: tensor<4x128xf16>, %expert: tensor<?xi32>) -> tensor<?x64xf16> {
  %zero = hk.constant 0.0 : tensor<f16>
  %none = hk.constant 0 : tensor<i32>
  %count = hk.constant 4 : tensor<i32>
  %c0_t = arith.constant 0 : index
  %t = tensor.dim %x, %c0_t : tensor<?x128xf16>
  %b = hk.gather_rows %bias, %expert : tensor<4x128xf16>, tensor<?xi32> -> tensor<?x128xf16>
  %s = hk.add %x, %b : tensor<?x128xf16>
  %y = hk.gated_activation gelu_tanh %s : tensor<?x128xf16> -> tensor<?x64xf16>
  %e = tensor.expand_shape %expert [[0, 1]] output_shape [%t, 1] : tensor<?xi32> into tensor<?x1xi32>
  %low = hk.compare ge %e, %none : tensor<?x1xi32>, tensor<i32> -> tensor<?x1xi1>
  %high = hk.compare lt %e, %count : tensor<?x1xi32>, tensor<i32> -> tensor<?x1xi1>
  %a = hk.select %high, %y, %zero : tensor<?x1xi1>, tensor<?x64xf16>, tensor<f16> -> tensor<?x64xf16>
  %o = hk.select %low, %a, %zero : tensor<?x1xi1>, tensor<?x64xf16>, tensor<f16> -> tensor<?x64xf16>
  return %o : tensor<?x64xf16>
}
// Gate and linear part alternate, as GPT-OSS stores them.
func.func @swiglu_interleaved(%x: tensor<?x90xbf16>) -> tensor<?x45xbf16> {
  %c0_t = arith.constant 0 : index
  %t = tensor.dim %x, %c0_t : tensor<?x90xbf16>
  %g = tensor.extract_slice %x[0, 0] [%t, 45] [1, 2] : tensor<?x90xbf16> to tensor<?x45xbf16>
  %u = tensor.extract_slice %x[0, 1] [%t, 45] [1, 2] : tensor<?x90xbf16> to tensor<?x45xbf16>
  %z = hk.concat 1 (%g, %u) : tensor<?x45xbf16>, tensor<?x45xbf16> -> tensor<?x90xbf16>
  %y = hk.gated_activation swiglu_oai %z limit 7.0 : tensor<?x90xbf16> -> tensor<?x45xbf16>
  return %y : tensor<?x45xbf16>
}
func.func @silu_and_mul_per_token(%x: tensor<?x256xbf16>) -> (tensor<?x128xf8E4M3FN>, tensor<?x1xf32>) {
  %y = hk.gated_activation silu %x : tensor<?x256xbf16> -> tensor<?x128xf32>
  %q, %s = hk.quantize per_token %y : tensor<?x128xf32> -> tensor<?x128xf8E4M3FN>, tensor<?x1xf32>
  return %q, %s : tensor<?x128xf8E4M3FN>, tensor<?x1xf32>
}
func.func @silu_f16(%x: tensor<?x75xf16>) -> tensor<?x75xf16> {
  %y = hk.silu %x : tensor<?x75xf16>
  return %y : tensor<?x75xf16>
}
func.func @silu_f32(%x: tensor<?x75xf32>) -> tensor<?x75xf32> {
  %y = hk.silu %x : tensor<?x75xf32>
  return %y : tensor<?x75xf32>
}
func.func @gelu_bf16(%x: tensor<?x75xbf16>) -> tensor<?x75xbf16> {
  %y = hk.gelu %x : tensor<?x75xbf16>
  return %y : tensor<?x75xbf16>
}
func.func @gelu_f16(%x: tensor<?x75xf16>) -> tensor<?x75xf16> {
  %y = hk.gelu %x : tensor<?x75xf16>
  return %y : tensor<?x75xf16>
}
func.func @gelu_tanh_f32(%x: tensor<?x75xf32>) -> tensor<?x75xf32> {
  %y = hk.gelu_tanh %x : tensor<?x75xf32>
  return %y : tensor<?x75xf32>
}
func.func @gelu_tanh_bf16(%x: tensor<?x75xbf16>) -> tensor<?x75xbf16> {
  %y = hk.gelu_tanh %x : tensor<?x75xbf16>
  return %y : tensor<?x75xbf16>
}
func.func @relu_f32(%x: tensor<?x75xf32>) -> tensor<?x75xf32> {
  %y = hk.relu %x : tensor<?x75xf32>
  return %y : tensor<?x75xf32>
}
func.func @relu_f16(%x: tensor<?x75xf16>) -> tensor<?x75xf16> {
  %y = hk.relu %x : tensor<?x75xf16>
  return %y : tensor<?x75xf16>
}
func.func @tanh_bf16(%x: tensor<?x75xbf16>) -> tensor<?x75xbf16> {
  %y = hk.tanh %x : tensor<?x75xbf16>
  return %y : tensor<?x75xbf16>
}
func.func @tanh_f16(%x: tensor<?x75xf16>) -> tensor<?x75xf16> {
  %y = hk.tanh %x : tensor<?x75xf16>
  return %y : tensor<?x75xf16>
}
func.func @silu_and_mul_8192(%x: tensor<?x16384xbf16>) -> tensor<?x8192xbf16> {
  %y = hk.gated_activation silu %x : tensor<?x16384xbf16> -> tensor<?x8192xbf16>
  return %y : tensor<?x8192xbf16>
}
func.func @silu_and_mul_4096(%x: tensor<?x8192xf16>) -> tensor<?x4096xf16> {
  %y = hk.gated_activation silu %x : tensor<?x8192xf16> -> tensor<?x4096xf16>
  return %y : tensor<?x4096xf16>
}
func.func @gelu_and_mul_limit(%x: tensor<?x90xf32>) -> tensor<?x45xf32> {
  %y = hk.gated_activation gelu %x limit 2.5 : tensor<?x90xf32> -> tensor<?x45xf32>
  return %y : tensor<?x45xf32>
}
// Of any rank.
func.func @silu_and_mul_heads(%x: tensor<?x3x70xf16>) -> tensor<?x3x35xf16> {
  %y = hk.gated_activation silu %x : tensor<?x3x70xf16> -> tensor<?x3x35xf16>
  return %y : tensor<?x3x35xf16>
}
// A bias in f32: the sums stay in f32.
func.func @bias_f32_gelu(%x: tensor<?x90xbf16>, %bias: tensor<4x90xf32>, %expert: tensor<?xi32>) -> tensor<?x45xbf16> {
  %zero = hk.constant 0.0 : tensor<bf16>
  %none = hk.constant 0 : tensor<i32>
  %count = hk.constant 4 : tensor<i32>
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x90xbf16>
  %b = hk.gather_rows %bias, %expert : tensor<4x90xf32>, tensor<?xi32> -> tensor<?x90xf32>
  %s = hk.add %x, %b : tensor<?x90xbf16>, tensor<?x90xf32> -> tensor<?x90xf32>
  %y = hk.gated_activation gelu %s : tensor<?x90xf32> -> tensor<?x45xbf16>
  %e = tensor.expand_shape %expert [[0, 1]] output_shape [%t, 1] : tensor<?xi32> into tensor<?x1xi32>
  %low = hk.compare ge %e, %none : tensor<?x1xi32>, tensor<i32> -> tensor<?x1xi1>
  %high = hk.compare lt %e, %count : tensor<?x1xi32>, tensor<i32> -> tensor<?x1xi1>
  %a = hk.select %high, %y, %zero : tensor<?x1xi1>, tensor<?x45xbf16>, tensor<bf16> -> tensor<?x45xbf16>
  %o = hk.select %low, %a, %zero : tensor<?x1xi1>, tensor<?x45xbf16>, tensor<bf16> -> tensor<?x45xbf16>
  return %o : tensor<?x45xbf16>
}
func.func @scaled_silu_and_mul_fnuz(%x: tensor<?x90xf16>, %scale: tensor<1xf32>) -> tensor<?x45xf8E4M3FNUZ> {
  %y = hk.gated_activation silu %x : tensor<?x90xf16> -> tensor<?x45xf32>
  %q = hk.quantize_static %y, %scale : tensor<?x45xf32>, tensor<1xf32> -> tensor<?x45xf8E4M3FNUZ>
  return %q : tensor<?x45xf8E4M3FNUZ>
}
// Times the reciprocal of the scale, as some kernels have it, not divided by the scale.
func.func @scaled_silu_and_mul_inverse(%x: tensor<?x90xbf16>, %scale: tensor<1xf32>) -> tensor<?x45xf8E4M3FN> {
  %limit = hk.constant 448.0 : tensor<f32>
  %low = hk.constant -448.0 : tensor<f32>
  %y = hk.gated_activation silu %x : tensor<?x90xbf16> -> tensor<?x45xf32>
  %inv = hk.reciprocal %scale : tensor<1xf32>
  %m = hk.mul %y, %inv : tensor<?x45xf32>, tensor<1xf32>
  %a = hk.min %m, %limit : tensor<?x45xf32>, tensor<f32>
  %b = hk.max %a, %low : tensor<?x45xf32>, tensor<f32>
  %q = hk.cast %b : tensor<?x45xf32> -> tensor<?x45xf8E4M3FN>
  return %q : tensor<?x45xf8E4M3FN>
}
// The same as one operator.
func.func @swiglu_alternating(%x: tensor<?x90xbf16>) -> tensor<?x45xbf16> {
  %y = hk.gated_activation swiglu_oai %x limit 7.0 interleaved : tensor<?x90xbf16> -> tensor<?x45xbf16>
  return %y : tensor<?x45xbf16>
}
