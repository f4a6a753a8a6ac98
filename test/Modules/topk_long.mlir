// Top-k of long rows, and of more than a wave can hold.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=2
// HK-DIMS-HOST: @vocabulary_128256_k8 x.0=16
// HK-DATA: normal,equal,nan

func.func @vocabulary(%x: tensor<?x131072xf32>) -> (tensor<?x8xf32>, tensor<?x8xi32>) {
  %v, %i = hk.topk %x : tensor<?x131072xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  return %v, %i : tensor<?x8xf32>, tensor<?x8xi32>
}
func.func @vocabulary_bf16(%x: tensor<?x128256xbf16>) -> (tensor<?x64xbf16>, tensor<?x64xi32>) {
  %v, %i = hk.topk %x : tensor<?x128256xbf16> -> tensor<?x64xbf16>, tensor<?x64xi32>
  return %v, %i : tensor<?x64xbf16>, tensor<?x64xi32>
}
func.func @vocabulary_128256_k2(%x: tensor<?x128256xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>) {
  %v, %i = hk.topk %x : tensor<?x128256xf32> -> tensor<?x2xf32>, tensor<?x2xi64>
  return %v, %i : tensor<?x2xf32>, tensor<?x2xi64>
}
func.func @vocabulary_128256_k8(%x: tensor<?x128256xf32>) -> (tensor<?x8xf32>, tensor<?x8xi64>) {
  %v, %i = hk.topk %x : tensor<?x128256xf32> -> tensor<?x8xf32>, tensor<?x8xi64>
  return %v, %i : tensor<?x8xf32>, tensor<?x8xi64>
}
func.func @vocabulary_151936_k50(%x: tensor<?x151936xf16>) -> (tensor<?x50xf16>, tensor<?x50xi32>) {
  %v, %i = hk.topk %x : tensor<?x151936xf16> -> tensor<?x50xf16>, tensor<?x50xi32>
  return %v, %i : tensor<?x50xf16>, tensor<?x50xi32>
}
