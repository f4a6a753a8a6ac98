// All-reduce, residual and RMS norm: by the engine's own sum, and in the order of the ranks; a sum whose rows a product
// makes, and sends where there are many.
module attributes {hk.mesh = "tp=2"} {
func.func @any_order(%x: tensor<?x8192xbf16>, %r: tensor<?x8192xbf16>, %w: tensor<8192xbf16>)
    -> (tensor<?x8192xbf16> {hk.name = "sum"}, tensor<?x8192xbf16> {hk.name = "y"}) {
  %0 = hk.all_reduce sum %x axis "tp" transport any_order : tensor<?x8192xbf16>
  %1 = hk.add %0, %r : tensor<?x8192xbf16>
  %2 = hk.rms_norm %1, %w epsilon 1.0e-05 : tensor<?x8192xbf16>, tensor<8192xbf16>
  return %1, %2 : tensor<?x8192xbf16>, tensor<?x8192xbf16>
}
func.func @in_order(%x: tensor<?x8192xbf16>, %r: tensor<?x8192xbf16>, %w: tensor<8192xbf16>)
    -> (tensor<?x8192xbf16> {hk.name = "sum"}, tensor<?x8192xbf16> {hk.name = "y"}) {
  %0 = hk.all_reduce sum %x axis "tp" : tensor<?x8192xbf16>
  %1 = hk.add %0, %r : tensor<?x8192xbf16>
  %2 = hk.rms_norm %1, %w epsilon 1.0e-05 : tensor<?x8192xbf16>, tensor<8192xbf16>
  return %1, %2 : tensor<?x8192xbf16>, tensor<?x8192xbf16>
}
func.func @product(%x: tensor<?x512xbf16>, %v: tensor<8192x512xbf16>, %r: tensor<?x8192xbf16>) -> (tensor<?x8192xbf16> {hk.name = "y"}) {
  %0 = hk.matmul %x, %v transpose_b : tensor<?x512xbf16>, tensor<8192x512xbf16> -> tensor<?x8192xbf16>
  %1 = hk.all_reduce sum %0 axis "tp" transport any_order : tensor<?x8192xbf16>
  %2 = hk.add %1, %r : tensor<?x8192xbf16>
  return %2 : tensor<?x8192xbf16>
}
}
