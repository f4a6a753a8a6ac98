// a * x + b with tensor and scalar operands, any width and rank; in f32 with one rounding.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=9
// HK-DIMS: x.0=1
// HK-DIMS: x.0=0
// HK-DIMS-HOST: @f16_16_50_418 x.0=160
// HK-DIMS-HOST: @f32_flat x.0=10000
// HK-DIMS-HOST: @f32_4186 @bf16_4186_scalar_and_tensor x.0=800
// HK-DATA: normal,equal,huge,tiny,nan,inf

func.func @f32_flat(%x: tensor<?xf32>, %a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %m = hk.mul %a, %x : tensor<?xf32>
  %y = hk.add %m, %b : tensor<?xf32>
  return %y : tensor<?xf32>
}
func.func @bf16_500(%x: tensor<?x500xbf16>, %a: tensor<?x500xbf16>, %b: tensor<?x500xbf16>) -> tensor<?x500xbf16> {
  %m = hk.mul %a, %x : tensor<?x500xbf16> -> tensor<?x500xf32>
  %y = hk.add %m, %b : tensor<?x500xf32>, tensor<?x500xbf16> -> tensor<?x500xbf16>
  return %y : tensor<?x500xbf16>
}
func.func @bf16_4096(%x: tensor<?x4096xbf16>, %b: tensor<?x4096xbf16>) -> tensor<?x4096xbf16> {
  %a = hk.constant 2.5 : tensor<f32>
  %m = hk.mul %a, %x : tensor<f32>, tensor<?x4096xbf16> -> tensor<?x4096xf32>
  %y = hk.add %m, %b : tensor<?x4096xf32>, tensor<?x4096xbf16> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
func.func @f16_scalars(%x: tensor<?x64xf16>, %a: tensor<1xf32>) -> tensor<?x64xf16> {
  %b = hk.constant 0.25 : tensor<f32>
  %m = hk.mul %a, %x : tensor<1xf32>, tensor<?x64xf16> -> tensor<?x64xf32>
  %y = hk.add %m, %b : tensor<?x64xf32>, tensor<f32> -> tensor<?x64xf16>
  return %y : tensor<?x64xf16>
}
func.func @bf16_7168_device_scalars(%x: tensor<?x7168xbf16>, %a: tensor<1xf32>, %b: tensor<1xbf16>) -> tensor<?x7168xbf16> {
  %m = hk.mul %a, %x : tensor<1xf32>, tensor<?x7168xbf16> -> tensor<?x7168xf32>
  %y = hk.add %m, %b : tensor<?x7168xf32>, tensor<1xbf16> -> tensor<?x7168xbf16>
  return %y : tensor<?x7168xbf16>
}
func.func @f32_8(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %a = hk.constant 2.5 : tensor<f32>
  %b = hk.constant 0.25 : tensor<f32>
  %m = hk.mul %a, %x : tensor<f32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %y = hk.add %m, %b : tensor<?x8xf32>, tensor<f32>
  return %y : tensor<?x8xf32>
}
func.func @f16_16_50_418(%x: tensor<?x50x418xf16>, %a: tensor<?x50x418xf16>, %b: tensor<1xf16>) -> tensor<?x50x418xf16> {
  %m = hk.mul %a, %x : tensor<?x50x418xf16> -> tensor<?x50x418xf32>
  %y = hk.add %m, %b : tensor<?x50x418xf32>, tensor<1xf16> -> tensor<?x50x418xf16>
  return %y : tensor<?x50x418xf16>
}
func.func @f32_4186(%x: tensor<?x4186xf32>, %a: tensor<?x4186xf32>) -> tensor<?x4186xf32> {
  %b = hk.constant 0.25 : tensor<f32>
  %m = hk.mul %a, %x : tensor<?x4186xf32>
  %y = hk.add %m, %b : tensor<?x4186xf32>, tensor<f32>
  return %y : tensor<?x4186xf32>
}
func.func @bf16_4186_scalar_and_tensor(%x: tensor<?x4186xbf16>, %a: tensor<1xbf16>, %b: tensor<?x4186xbf16>) -> tensor<?x4186xbf16> {
  %m = hk.mul %a, %x : tensor<1xbf16>, tensor<?x4186xbf16> -> tensor<?x4186xf32>
  %y = hk.add %m, %b : tensor<?x4186xf32>, tensor<?x4186xbf16> -> tensor<?x4186xbf16>
  return %y : tensor<?x4186xbf16>
}
func.func @f16_constant_and_scalar(%x: tensor<?x32xf16>, %b: tensor<1xf32>) -> tensor<?x32xf16> {
  %a = hk.constant -1.5 : tensor<f32>
  %m = hk.mul %a, %x : tensor<f32>, tensor<?x32xf16> -> tensor<?x32xf32>
  %y = hk.add %m, %b : tensor<?x32xf32>, tensor<1xf32> -> tensor<?x32xf16>
  return %y : tensor<?x32xf16>
}
