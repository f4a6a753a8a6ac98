// Top-k along the last dim: registers of a wave, and radix selection by a block.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=16
// HK-DIMS: x.0=3
// HK-DIMS: x.0=1
// HK-DIMS: x.0=0
// HK-DIMS-HOST: @n16_k2 x.0=1335
// HK-DIMS-HOST: x.0=8
// HK-DIMS-HOST: @n128_k8 @n1024_k8 x.0=1335
// HK-DATA: normal,equal,huge,tiny,nan,inf

func.func @n16_k2(%x: tensor<?x16xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>) {
  %v, %i = hk.topk %x : tensor<?x16xf32> -> tensor<?x2xf32>, tensor<?x2xi64>
  return %v, %i : tensor<?x2xf32>, tensor<?x2xi64>
}
func.func @n128_k8(%x: tensor<?x128xbf16>) -> (tensor<?x8xbf16>, tensor<?x8xi32>) {
  %v, %i = hk.topk %x : tensor<?x128xbf16> -> tensor<?x8xbf16>, tensor<?x8xi32>
  return %v, %i : tensor<?x8xbf16>, tensor<?x8xi32>
}
func.func @n1024_k32(%x: tensor<?x1024xf16>) -> (tensor<?x32xf16>, tensor<?x32xi32>) {
  %v, %i = hk.topk %x ties highest_index : tensor<?x1024xf16> -> tensor<?x32xf16>, tensor<?x32xi32>
  return %v, %i : tensor<?x32xf16>, tensor<?x32xi32>
}
func.func @n4096_k1(%x: tensor<?x4096xf32>) -> (tensor<?x1xf32>, tensor<?x1xi32>) {
  %v, %i = hk.topk %x : tensor<?x4096xf32> -> tensor<?x1xf32>, tensor<?x1xi32>
  return %v, %i : tensor<?x1xf32>, tensor<?x1xi32>
}
func.func @n4096_k32(%x: tensor<?x4096xf32>) -> (tensor<?x32xf32>, tensor<?x32xi32>) {
  %v, %i = hk.topk %x : tensor<?x4096xf32> -> tensor<?x32xf32>, tensor<?x32xi32>
  return %v, %i : tensor<?x32xf32>, tensor<?x32xi32>
}
// Odd sizes: nothing is a multiple of a vector.
func.func @n781_k5(%x: tensor<?x781xbf16>) -> (tensor<?x5xbf16>, tensor<?x5xi32>) {
  %v, %i = hk.topk %x ties highest_index order by_index : tensor<?x781xbf16> -> tensor<?x5xbf16>, tensor<?x5xi32>
  return %v, %i : tensor<?x5xbf16>, tensor<?x5xi32>
}
func.func @n9001_k7(%x: tensor<?x9001xf32>) -> (tensor<?x7xf32>, tensor<?x7xi32>) {
  %v, %i = hk.topk %x ties highest_index order by_index : tensor<?x9001xf32> -> tensor<?x7xf32>, tensor<?x7xi32>
  return %v, %i : tensor<?x7xf32>, tensor<?x7xi32>
}
// Only one of the results is used.
func.func @argmax(%x: tensor<?x4000xf32>) -> tensor<?x1xi32> {
  %v, %i = hk.topk %x : tensor<?x4000xf32> -> tensor<?x1xf32>, tensor<?x1xi32>
  return %i : tensor<?x1xi32>
}
// All of a row: a sort.
func.func @n1_k1(%x: tensor<?x1xf32>) -> (tensor<?x1xf32>, tensor<?x1xi32>) {
  %v, %i = hk.topk %x : tensor<?x1xf32> -> tensor<?x1xf32>, tensor<?x1xi32>
  return %v, %i : tensor<?x1xf32>, tensor<?x1xi32>
}
func.func @n300_k300(%x: tensor<?x300xf32>) -> (tensor<?x300xf32>, tensor<?x300xi32>) {
  %v, %i = hk.topk %x : tensor<?x300xf32> -> tensor<?x300xf32>, tensor<?x300xi32>
  return %v, %i : tensor<?x300xf32>, tensor<?x300xi32>
}
func.func @rank3(%x: tensor<?x3x40xf32>) -> (tensor<?x3x4xf32>, tensor<?x3x4xi32>) {
  %v, %i = hk.topk %x : tensor<?x3x40xf32> -> tensor<?x3x4xf32>, tensor<?x3x4xi32>
  return %v, %i : tensor<?x3x4xf32>, tensor<?x3x4xi32>
}
// Rows with fewer finite elements than are selected: of the others the first ones.
func.func @fewer_finite_than_k(%x: tensor<?x3000xf32>) -> (tensor<?x8xf32>, tensor<?x8xi64>) {
  %never = hk.constant 0xFF800000 : tensor<f32>
  %c0_t = arith.constant 0 : index
  %t = tensor.dim %x, %c0_t : tensor<?x3000xf32>
  %a = tensor.extract_slice %x[0, 0] [%t, 5] [1, 1] : tensor<?x3000xf32> to tensor<?x5xf32>
  %b = tensor.extract_slice %x[0, 5] [%t, 2995] [1, 1] : tensor<?x3000xf32> to tensor<?x2995xf32>
  %m = hk.min %b, %never : tensor<?x2995xf32>, tensor<f32>
  %z = hk.concat 1 (%m, %a) : tensor<?x2995xf32>, tensor<?x5xf32> -> tensor<?x3000xf32>
  %v, %i = hk.topk %z : tensor<?x3000xf32> -> tensor<?x8xf32>, tensor<?x8xi64>
  return %v, %i : tensor<?x8xf32>, tensor<?x8xi64>
}
func.func @n128_k1(%x: tensor<?x128xf32>) -> (tensor<?x1xf32>, tensor<?x1xi32>) {
  %v, %i = hk.topk %x : tensor<?x128xf32> -> tensor<?x1xf32>, tensor<?x1xi32>
  return %v, %i : tensor<?x1xf32>, tensor<?x1xi32>
}
func.func @n128_k32(%x: tensor<?x128xf16>) -> (tensor<?x32xf16>, tensor<?x32xi32>) {
  %v, %i = hk.topk %x : tensor<?x128xf16> -> tensor<?x32xf16>, tensor<?x32xi32>
  return %v, %i : tensor<?x32xf16>, tensor<?x32xi32>
}
func.func @n1024_k1(%x: tensor<?x1024xbf16>) -> (tensor<?x1xbf16>, tensor<?x1xi32>) {
  %v, %i = hk.topk %x : tensor<?x1024xbf16> -> tensor<?x1xbf16>, tensor<?x1xi32>
  return %v, %i : tensor<?x1xbf16>, tensor<?x1xi32>
}
func.func @n1024_k8(%x: tensor<?x1024xf32>) -> (tensor<?x8xf32>, tensor<?x8xi32>) {
  %v, %i = hk.topk %x : tensor<?x1024xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  return %v, %i : tensor<?x8xf32>, tensor<?x8xi32>
}
func.func @n4096_k8(%x: tensor<?x4096xf32>) -> (tensor<?x8xf32>, tensor<?x8xi32>) {
  %v, %i = hk.topk %x : tensor<?x4096xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  return %v, %i : tensor<?x8xf32>, tensor<?x8xi32>
}
// Zeros are equal, whatever their sign: the first ones.
func.func @zeros_of_both_signs(%x: tensor<?x200xf32>) -> (tensor<?x8xf32>, tensor<?x8xi64>) {
  %zero = hk.constant 0.0 : tensor<f32>
  %z = hk.mul %x, %zero : tensor<?x200xf32>, tensor<f32>
  %v, %i = hk.topk %z : tensor<?x200xf32> -> tensor<?x8xf32>, tensor<?x8xi64>
  return %v, %i : tensor<?x8xf32>, tensor<?x8xi64>
}
