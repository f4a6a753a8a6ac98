// Two ranks: the columns of the first product and the rows of the second are cut.
// Every collective is there: tokens are gathered before, a sum makes the result, and
// the other functions move tensors only.
module attributes {hk.mesh = "tp=2"} {
func.func @mlp(%x: tensor<?x64xbf16> {hk.name = "x"},
               %gate: tensor<64x48xbf16> {hk.name = "gate"},
               %up: tensor<64x48xbf16> {hk.name = "up"},
               %down: tensor<48x64xbf16> {hk.name = "down"},
               %norm: tensor<64xbf16> {hk.name = "norm"})
    -> (tensor<?x64xbf16> {hk.name = "y"}) {
  %n = hk.rms_norm %x, %norm epsilon 1.0e-05 : tensor<?x64xbf16>, tensor<64xbf16>
  %g = hk.matmul %n, %gate : tensor<?x64xbf16>, tensor<64x48xbf16> -> tensor<?x48xbf16>
  %u = hk.matmul %n, %up : tensor<?x64xbf16>, tensor<64x48xbf16> -> tensor<?x48xbf16>
  %s = hk.silu %g : tensor<?x48xbf16>
  %h = hk.mul %s, %u : tensor<?x48xbf16>
  %d = hk.matmul %h, %down : tensor<?x48xbf16>, tensor<48x64xbf16> -> tensor<?x64xf32>
  %r = hk.all_reduce sum %d axis "tp" : tensor<?x64xf32> -> tensor<?x64xbf16>
  %y = hk.add %x, %r : tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

func.func @moves(%x: tensor<?x8x6xbf16> {hk.name = "x"}, %codes: tensor<4x8xi4> {hk.name = "codes"})
    -> (tensor<?x8x12xbf16> {hk.name = "gathered"}, tensor<?x4x12xbf16> {hk.name = "exchanged"},
        tensor<?x8x6xbf16> {hk.name = "sent"}, tensor<?x4x6xf16> {hk.name = "scattered"},
        tensor<?x8x6xbf16> {hk.name = "most"}, tensor<2x16xi4> {hk.name = "packed"},
        tensor<i32> {hk.name = "rank"}, tensor<?x8x3xbf16> {hk.name = "part"}) {
  %0 = hk.all_gather %x axis "tp" dim 2 : tensor<?x8x6xbf16> -> tensor<?x8x12xbf16>
  %1 = hk.all_to_all %x axis "tp" split 1 concat 2 : tensor<?x8x6xbf16> -> tensor<?x4x12xbf16>
  %2 = hk.broadcast_rank %x axis "tp" root 1 : tensor<?x8x6xbf16>
  %3 = hk.reduce_scatter sum %x axis "tp" dim 1 : tensor<?x8x6xbf16> -> tensor<?x4x6xf16>
  %4 = hk.all_reduce max %x axis "tp" : tensor<?x8x6xbf16>
  %5 = hk.all_to_all %codes axis "tp" split 0 concat 1 : tensor<4x8xi4> -> tensor<2x16xi4>
  %6 = hk.rank axis "tp" : tensor<i32>
  // A view: its rows are not contiguous.
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x8x6xbf16>
  %v = tensor.extract_slice %x[0, 0, 1] [%t, 8, 3] [1, 1, 1] : tensor<?x8x6xbf16> to tensor<?x8x3xbf16>
  %7 = hk.all_reduce min %v axis "tp" : tensor<?x8x3xbf16>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<?x8x12xbf16>, tensor<?x4x12xbf16>, tensor<?x8x6xbf16>,
    tensor<?x4x6xf16>, tensor<?x8x6xbf16>, tensor<2x16xi4>, tensor<i32>, tensor<?x8x3xbf16>
}

// Rows that go where data says, with room for all and for three of each rank.
func.func @rows(%x: tensor<?x6xbf16> {hk.name = "x"}, %counts: tensor<2xi32> {hk.name = "counts"})
    -> (tensor<2x?x6xbf16> {hk.name = "rows"}, tensor<2xi32> {hk.name = "received"},
        tensor<2x3x6xbf16> {hk.name = "few"}) {
  %0:2 = hk.all_to_all_rows %x, %counts axis "tp" : tensor<?x6xbf16>, tensor<2xi32> -> tensor<2x?x6xbf16>, tensor<2xi32>
  %1:2 = hk.all_to_all_rows %x, %counts axis "tp" capacity 3 : tensor<?x6xbf16>, tensor<2xi32> -> tensor<2x3x6xbf16>, tensor<2xi32>
  return %0#0, %0#1, %1#0 : tensor<2x?x6xbf16>, tensor<2xi32>, tensor<2x3x6xbf16>
}
}
