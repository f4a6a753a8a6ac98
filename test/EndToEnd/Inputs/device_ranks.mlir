// What engines between GPUs compute by themselves: sums in any order, and integers.
module attributes {hk.mesh = "tp=2"} {
func.func @sums(%x: tensor<?x4x6xbf16> {hk.name = "x"}, %n: tensor<?x4xi32> {hk.name = "n"})
    -> (tensor<?x4x6xbf16> {hk.name = "all"}, tensor<?x2x6xbf16> {hk.name = "part"}, tensor<?x4xi32> {hk.name = "most"},
        tensor<?x4x3xbf16> {hk.name = "view"}, tensor<?x8x6xbf16> {hk.name = "wide"}) {
  %0 = hk.all_reduce sum %x axis "tp" transport any_order : tensor<?x4x6xbf16>
  %1 = hk.reduce_scatter sum %x axis "tp" dim 1 transport any_order : tensor<?x4x6xbf16> -> tensor<?x2x6xbf16>
  %2 = hk.all_reduce max %n axis "tp" : tensor<?x4xi32>
  // A view: its rows are not contiguous.
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x4x6xbf16>
  %v = tensor.extract_slice %x[0, 0, 1] [%t, 4, 3] [1, 1, 1] : tensor<?x4x6xbf16> to tensor<?x4x3xbf16>
  %3 = hk.all_reduce sum %v axis "tp" transport any_order : tensor<?x4x3xbf16>
  // A result that is a part of another tensor.
  %4 = hk.broadcast_rank %x axis "tp" root 1 : tensor<?x4x6xbf16>
  %5 = hk.concat 1 (%0, %4) : tensor<?x4x6xbf16>, tensor<?x4x6xbf16> -> tensor<?x8x6xbf16>
  return %0, %1, %2, %3, %5 : tensor<?x4x6xbf16>, tensor<?x2x6xbf16>, tensor<?x4xi32>, tensor<?x4x3xbf16>, tensor<?x8x6xbf16>
}
}
