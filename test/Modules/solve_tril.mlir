// (I + A)^-1 of chunks of 16, 32 and 64 tokens; the identity is kept, a last chunk may
// be shorter.
// HK-LAUNCHES: 1
// HK-DIMS: a.1=70 a.0=70 cu.0=4 --range=cu=bounds:66
// HK-DIMS: a.1=16 a.0=16 cu.0=2 --range=cu=bounds:16
// HK-DIMS: a.1=1 a.0=1 cu.0=3 --range=cu=bounds:1
// HK-DIMS: a.1=0 a.0=0 cu.0=1
// HK-DATA: normal,nan,inf

// Products of keys are small: a tenth of what the test draws.
func.func @c16(%a: tensor<1x?x2x16xf32> {hk.name = "a"}) -> tensor<1x?x2x16xf32> {
  %tenth = hk.constant dense<0.1> : tensor<f32>
  %s = hk.mul %a, %tenth : tensor<1x?x2x16xf32>, tensor<f32> -> tensor<1x?x2x16xf32>
  %x = hk.solve_tril %s : tensor<1x?x2x16xf32> -> tensor<1x?x2x16xf32>
  return %x : tensor<1x?x2x16xf32>
}
func.func @c32(%a: tensor<2x?x1x32xf32> {hk.name = "a"}) -> tensor<2x?x1x32xf16> {
  %tenth = hk.constant dense<0.1> : tensor<f32>
  %s = hk.mul %a, %tenth : tensor<2x?x1x32xf32>, tensor<f32> -> tensor<2x?x1x32xf32>
  %x = hk.solve_tril %s : tensor<2x?x1x32xf32> -> tensor<2x?x1x32xf16>
  return %x : tensor<2x?x1x32xf16>
}
func.func @c64(%a: tensor<1x?x2x64xf32> {hk.name = "a"}) -> tensor<1x?x2x64xbf16> {
  %tenth = hk.constant dense<0.1> : tensor<f32>
  %s = hk.mul %a, %tenth : tensor<1x?x2x64xf32>, tensor<f32> -> tensor<1x?x2x64xf32>
  %x = hk.solve_tril %s : tensor<1x?x2x64xf32> -> tensor<1x?x2x64xbf16>
  return %x : tensor<1x?x2x64xbf16>
}
func.func @ragged_64(%a: tensor<?x3x64xf32> {hk.name = "a"}, %cu: tensor<?xi32> {hk.name = "cu"}) -> tensor<?x3x64xf32> {
  %tenth = hk.constant dense<0.1> : tensor<f32>
  %s = hk.mul %a, %tenth : tensor<?x3x64xf32>, tensor<f32> -> tensor<?x3x64xf32>
  %x = hk.solve_tril %s offsets %cu : tensor<?x3x64xf32> offsets tensor<?xi32> -> tensor<?x3x64xf32>
  return %x : tensor<?x3x64xf32>
}
