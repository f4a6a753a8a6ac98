// What parallel_mlp.mlir computes with two ranks, with one.
func.func @mlp(%x: tensor<?x64xbf16> {hk.name = "x"},
               %gate: tensor<64x96xbf16> {hk.name = "gate"},
               %up: tensor<64x96xbf16> {hk.name = "up"},
               %down: tensor<96x64xbf16> {hk.name = "down"},
               %norm: tensor<64xbf16> {hk.name = "norm"})
    -> (tensor<?x64xbf16> {hk.name = "y"}) {
  %n = hk.rms_norm %x, %norm epsilon 1.0e-05 : tensor<?x64xbf16>, tensor<64xbf16>
  %g = hk.matmul %n, %gate : tensor<?x64xbf16>, tensor<64x96xbf16> -> tensor<?x96xbf16>
  %u = hk.matmul %n, %up : tensor<?x64xbf16>, tensor<64x96xbf16> -> tensor<?x96xbf16>
  %s = hk.silu %g : tensor<?x96xbf16>
  %h = hk.mul %s, %u : tensor<?x96xbf16>
  %d = hk.matmul %h, %down : tensor<?x96xbf16>, tensor<96x64xbf16> -> tensor<?x64xbf16>
  %y = hk.add %x, %d : tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}
