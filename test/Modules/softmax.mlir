// Softmax of a row.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=1
// HK-DIMS: x.0=0
// HK-DIMS: x.0=3
// HK-DIMS-HOST: @bf16_781 x.0=1823
// HK-DIMS-HOST: @f16_1 @f32_1 x.0=359
// HK-DIMS-HOST: @f32_128 x.0=128
// HK-DIMS-HOST: @f16_8192 x.0=513
// HK-DATA: normal,equal,huge,tiny,nan,inf

func.func @f16_1(%x: tensor<?x1xf16>) -> tensor<?x1xf16> {
  %y = hk.softmax %x : tensor<?x1xf16>
  return %y : tensor<?x1xf16>
}
func.func @f32_128(%x: tensor<?x128xf32>) -> tensor<?x128xf32> {
  %y = hk.softmax %x : tensor<?x128xf32>
  return %y : tensor<?x128xf32>
}
func.func @f32_359(%x: tensor<?x359xf32>) -> tensor<?x359xf32> {
  %y = hk.softmax %x : tensor<?x359xf32>
  return %y : tensor<?x359xf32>
}
func.func @bf16_781(%x: tensor<?x781xbf16>) -> tensor<?x781xbf16> {
  %y = hk.softmax %x : tensor<?x781xbf16>
  return %y : tensor<?x781xbf16>
}
func.func @f16_8192(%x: tensor<?x8192xf16>) -> tensor<?x8192xf16> {
  %y = hk.softmax %x : tensor<?x8192xf16>
  return %y : tensor<?x8192xf16>
}
func.func @f32_20000(%x: tensor<?x20000xf32>) -> tensor<?x20000xf32> {
  %y = hk.softmax %x : tensor<?x20000xf32>
  return %y : tensor<?x20000xf32>
}
func.func @bf16_89999(%x: tensor<?x89999xbf16>) -> tensor<?x89999xbf16> {
  %y = hk.softmax %x : tensor<?x89999xbf16>
  return %y : tensor<?x89999xbf16>
}
func.func @f32_131072(%x: tensor<?x131072xf32>) -> tensor<?x131072xf32> {
  %y = hk.softmax %x : tensor<?x131072xf32>
  return %y : tensor<?x131072xf32>
}
// A prefix of -inf longer than any block of columns, and rows of nothing else.
func.func @first_block_masked(%x: tensor<?x40000xbf16>) -> tensor<?x40000xbf16> {
  %never = hk.constant 0xFF80 : tensor<bf16>
  %c0_t = arith.constant 0 : index
  %t = tensor.dim %x, %c0_t : tensor<?x40000xbf16>
  %a = tensor.extract_slice %x[0, 0] [%t, 33000] [1, 1] : tensor<?x40000xbf16> to tensor<?x33000xbf16>
  %b = tensor.extract_slice %x[0, 33000] [%t, 7000] [1, 1] : tensor<?x40000xbf16> to tensor<?x7000xbf16>
  %m = hk.min %a, %never : tensor<?x33000xbf16>, tensor<bf16>
  %z = hk.concat 1 (%m, %b) : tensor<?x33000xbf16>, tensor<?x7000xbf16> -> tensor<?x40000xbf16>
  %y = hk.softmax %z : tensor<?x40000xbf16>
  return %y : tensor<?x40000xbf16>
}
func.func @all_masked(%x: tensor<?x781xf32>) -> tensor<?x781xf32> {
  %never = hk.constant 0xFF800000 : tensor<f32>
  %m = hk.min %x, %never : tensor<?x781xf32>, tensor<f32>
  %y = hk.softmax %m : tensor<?x781xf32>
  return %y : tensor<?x781xf32>
}
func.func @f32_1(%x: tensor<?x1xf32>) -> tensor<?x1xf32> {
  %y = hk.softmax %x : tensor<?x1xf32>
  return %y : tensor<?x1xf32>
}
func.func @bf16_359(%x: tensor<?x359xbf16>) -> tensor<?x359xbf16> {
  %y = hk.softmax %x : tensor<?x359xbf16>
  return %y : tensor<?x359xbf16>
}
func.func @f16_131072(%x: tensor<?x131072xf16>) -> tensor<?x131072xf16> {
  %y = hk.softmax %x : tensor<?x131072xf16>
  return %y : tensor<?x131072xf16>
}
