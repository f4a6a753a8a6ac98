// Softmax of a row.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=3
// HK-DIMS: x.0=0
// HK-DATA: normal,equal,huge,tiny,nan,inf

func.func @f32_256(%x: tensor<?x256xf32>) -> tensor<?x256xf32> {
  %y = hk.softmax %x : tensor<?x256xf32> -> tensor<?x256xf32>
  return %y : tensor<?x256xf32>
}
func.func @bf16_781(%x: tensor<?x781xbf16>) -> tensor<?x781xbf16> {
  %y = hk.softmax %x : tensor<?x781xbf16> -> tensor<?x781xbf16>
  return %y : tensor<?x781xbf16>
}
func.func @f16_1(%x: tensor<?x1xf16>) -> tensor<?x1xf16> {
  %y = hk.softmax %x : tensor<?x1xf16> -> tensor<?x1xf16>
  return %y : tensor<?x1xf16>
}
func.func @f32_20000(%x: tensor<?x20000xf32>) -> tensor<?x20000xf32> {
  %y = hk.softmax %x : tensor<?x20000xf32> -> tensor<?x20000xf32>
  return %y : tensor<?x20000xf32>
}
