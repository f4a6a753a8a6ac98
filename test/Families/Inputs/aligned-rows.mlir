// Rows whose parts all begin at 16 bytes.
func.func @norm(%x: tensor<?x4096xbf16>, %r: tensor<?x4096xbf16>, %w: tensor<4096xbf16>) -> (tensor<?x4096xbf16>, tensor<?x4096xbf16>) {
  %s = hk.add %x, %r : tensor<?x4096xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-06 : tensor<?x4096xbf16>, tensor<4096xbf16>
  return %y, %s : tensor<?x4096xbf16>, tensor<?x4096xbf16>
}
func.func @concat(%a: tensor<?x16x512xbf16>, %b: tensor<?x16x64xbf16>) -> tensor<?x16x576xbf16> {
  %y = hk.concat 2 (%a, %b) : tensor<?x16x512xbf16>, tensor<?x16x64xbf16> -> tensor<?x16x576xbf16>
  return %y : tensor<?x16x576xbf16>
}
func.func @split(%x: tensor<?x3072xbf16>) -> (tensor<?x2048xbf16>, tensor<?x1024xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x3072xbf16>
  %a = tensor.extract_slice %x[0, 0] [%t, 2048] [1, 1] : tensor<?x3072xbf16> to tensor<?x2048xbf16>
  %b = tensor.extract_slice %x[0, 2048] [%t, 1024] [1, 1] : tensor<?x3072xbf16> to tensor<?x1024xbf16>
  return %a, %b : tensor<?x2048xbf16>, tensor<?x1024xbf16>
}
func.func @activation(%x: tensor<?x1408xbf16>) -> tensor<?x704xbf16> {
  %y = hk.gated_activation silu %x : tensor<?x1408xbf16> -> tensor<?x704xbf16>
  return %y : tensor<?x704xbf16>
}
