// Sums over ranks that kernels make themselves, with what follows: rows of 2 KiB
// and of f32 terms, normalised or quantised or neither, and two axes' worth of
// calls one behind the other.
module attributes {hk.mesh = "tp=2", hk.exchange = "kernel"} {
func.func @norm(%x: tensor<?x1024xbf16> {hk.name = "x"}, %r: tensor<?x1024xbf16> {hk.name = "r"},
    %w: tensor<1024xbf16> {hk.name = "w"})
    -> (tensor<?x1024xbf16> {hk.name = "sum"}, tensor<?x1024xbf16> {hk.name = "y"}) {
  %0 = hk.all_reduce sum %x axis "tp" : tensor<?x1024xbf16>
  %1 = hk.add %0, %r : tensor<?x1024xbf16>
  %2 = hk.rms_norm %1, %w epsilon 1.0e-05 : tensor<?x1024xbf16>, tensor<1024xbf16>
  return %1, %2 : tensor<?x1024xbf16>, tensor<?x1024xbf16>
}
// Twice in a call: both slots, and the second needs the first's norm.
func.func @layers(%x: tensor<?x320xf32> {hk.name = "x"}, %r: tensor<?x320xbf16> {hk.name = "r"},
    %w: tensor<320xbf16> {hk.name = "w"})
    -> (tensor<?x320xf8E4M3FN> {hk.name = "q"}, tensor<?x1xf32> {hk.name = "scale"}, tensor<?x320xbf16> {hk.name = "y"}) {
  %0 = hk.all_reduce sum %x axis "tp" : tensor<?x320xf32> -> tensor<?x320xbf16>
  %1 = hk.add %0, %r : tensor<?x320xbf16>
  %2 = hk.rms_norm %1, %w epsilon 1.0e-05 : tensor<?x320xbf16>, tensor<320xbf16>
  %q, %s = hk.quantize per_token %2 : tensor<?x320xbf16> -> tensor<?x320xf8E4M3FN>, tensor<?x1xf32>
  %3 = hk.all_reduce sum %2 axis "tp" : tensor<?x320xbf16>
  %4 = hk.silu %3 : tensor<?x320xbf16>
  return %q, %s, %4 : tensor<?x320xf8E4M3FN>, tensor<?x1xf32>, tensor<?x320xbf16>
}
}
