// a * x + b with tensor and scalar operands.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=9
// HK-DIMS: x.0=0
// HK-DATA: normal,nan,inf

func.func @tensors(%x: tensor<?x500xbf16>, %a: tensor<?x500xbf16>, %b: tensor<?x500xbf16>) -> tensor<?x500xbf16> {
  %m = hk.mul %a, %x : tensor<?x500xbf16>, tensor<?x500xbf16> -> tensor<?x500xf32>
  %y = hk.add %m, %b : tensor<?x500xf32>, tensor<?x500xbf16> -> tensor<?x500xbf16>
  return %y : tensor<?x500xbf16>
}
func.func @scalars(%x: tensor<?x64xf16>, %a: tensor<f32>) -> tensor<?x64xf16> {
  %b = hk.constant dense<0.25> : tensor<f32>
  %m = hk.mul %x, %a : tensor<?x64xf16>, tensor<f32> -> tensor<?x64xf32>
  %y = hk.add %m, %b : tensor<?x64xf32>, tensor<f32> -> tensor<?x64xf16>
  return %y : tensor<?x64xf16>
}
