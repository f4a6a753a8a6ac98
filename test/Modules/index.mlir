// Index helpers of ragged batches from the sequences' bounds, with empty sequences.
// HK-LAUNCHES: 1
// HK-DIMS: cu.0=9 cu64.0=9 q.0=130 --range=cu=bounds:130 --range=cu64=bounds:130 lens.0=8 lens64.0=8 --range=lens=0:90 --range=lens64=0:90 mask.0=5
// HK-DIMS: cu.0=5 cu64.0=5 q.0=600 --range=cu=bounds:555 --range=cu64=bounds:555 lens.0=1 lens64.0=1 --range=lens=64:64 --range=lens64=3000000000:3000000000 mask.0=1
// HK-DIMS: cu.0=1 cu64.0=1 q.0=0 --range=cu=bounds:0 --range=cu64=bounds:0 lens.0=0 lens64.0=0 mask.0=0
// HK-DIMS: cu.0=2 cu64.0=2 q.0=1 --range=cu=bounds:1 --range=cu64=bounds:1 lens.0=3 lens64.0=3 --range=lens=0:0 mask.0=2
// HK-DIMS: cu.0=1500 cu64.0=1500 q.0=1000 --range=cu=bounds:1000 --range=cu64=bounds:1000 lens.0=1200 lens64.0=1200 --range=lens=0:2 --range=lens64=0:9000 mask.0=9

func.func @position_and_sequence_ids(%cu: tensor<?xi32>, %q: tensor<?x2xbf16>) -> (tensor<?xi32>, tensor<?xi32>) {
  %seq, %pos, %first = hk.segments bounds %cu items %q : tensor<?xi32> items tensor<?x2xbf16> -> tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
  return %pos, %seq : tensor<?xi32>, tensor<?xi32>
}
func.func @token_indices(%cu: tensor<?xi32>, %q: tensor<?x2xbf16>) -> tensor<?x2xi32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %q, %c0 : tensor<?x2xbf16>
  %seq, %pos, %first = hk.segments bounds %cu items %q : tensor<?xi32> items tensor<?x2xbf16> -> tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
  %s = tensor.expand_shape %seq [[0, 1]] output_shape [%n, 1] : tensor<?xi32> into tensor<?x1xi32>
  %p = tensor.expand_shape %pos [[0, 1]] output_shape [%n, 1] : tensor<?xi32> into tensor<?x1xi32>
  %y = hk.concat 1 (%s, %p) : tensor<?x1xi32>, tensor<?x1xi32> -> tensor<?x2xi32>
  return %y : tensor<?x2xi32>
}
func.func @chunk_indices_and_offsets(%cu: tensor<?xi32>, %q: tensor<?x2xbf16>) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) {
  %seq, %chunk, %offsets = hk.segments bounds %cu items %q block 64 : tensor<?xi32> items tensor<?x2xbf16> -> tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
  return %seq, %chunk, %offsets : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
}
func.func @chunk_offsets(%cu: tensor<?xi32>) -> tensor<?xi32> {
  %seq, %chunk, %offsets = hk.segments bounds %cu block 16 : tensor<?xi32> -> tensor<0xi32>, tensor<0xi32>, tensor<?xi32>
  return %offsets : tensor<?xi32>
}
func.func @bounds_from_lens(%lens: tensor<?xi32>) -> tensor<?xi32> {
  %cu = hk.cumsum offsets %lens : tensor<?xi32>
  return %cu : tensor<?xi32>
}
func.func @lens(%cu: tensor<9xi32>) -> tensor<8xi32> {
  %begin = tensor.extract_slice %cu[0] [8] [1] : tensor<9xi32> to tensor<8xi32>
  %end = tensor.extract_slice %cu[1] [8] [1] : tensor<9xi32> to tensor<8xi32>
  %lens = hk.sub %end, %begin : tensor<8xi32>
  return %lens : tensor<8xi32>
}
// How many tokens of each sequence are no padding.
func.func @lens_from_mask(%mask: tensor<?x77xi1>) -> tensor<?xi32> {
  %m = hk.cast %mask : tensor<?x77xi1> -> tensor<?x77xf32>
  %s = hk.reduce sum %m : tensor<?x77xf32> -> tensor<?x1xf32>
  %l = hk.cast %s : tensor<?x1xf32> -> tensor<?x1xi32>
  %lens = tensor.collapse_shape %l [[0, 1]] : tensor<?x1xi32> into tensor<?xi32>
  return %lens : tensor<?xi32>
}
// Chunks of 64 in the longest sequence; lengths are below 2^24.
func.func @max_num_splits(%cu: tensor<9xi32>) -> tensor<1xi32> {
  %most = hk.constant 63 : tensor<i32>
  %chunk = hk.constant 64 : tensor<i32>
  %begin = tensor.extract_slice %cu[0] [8] [1] : tensor<9xi32> to tensor<8xi32>
  %end = tensor.extract_slice %cu[1] [8] [1] : tensor<9xi32> to tensor<8xi32>
  %lens = hk.sub %end, %begin : tensor<8xi32>
  %real = hk.cast %lens : tensor<8xi32> -> tensor<8xf32>
  %longest = hk.reduce max %real : tensor<8xf32> -> tensor<1xf32>
  %n = hk.cast %longest : tensor<1xf32> -> tensor<1xi32>
  %up = hk.add %n, %most : tensor<1xi32>, tensor<i32>
  %splits = hk.div %up, %chunk : tensor<1xi32>, tensor<i32>
  return %splits : tensor<1xi32>
}
// Sequence and chunk side by side; bounds of 64 bits, as PyTorch has them.
func.func @chunk_indices(%cu64: tensor<?xi64>, %q: tensor<?x2xbf16>) -> tensor<?x2xi32> {
  %cu = hk.cast %cu64 : tensor<?xi64> -> tensor<?xi32>
  %seq, %chunk, %offsets = hk.segments bounds %cu items %q block 64 : tensor<?xi32> items tensor<?x2xbf16> -> tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %seq, %c0 : tensor<?xi32>
  %s = tensor.expand_shape %seq [[0, 1]] output_shape [%n, 1] : tensor<?xi32> into tensor<?x1xi32>
  %p = tensor.expand_shape %chunk [[0, 1]] output_shape [%n, 1] : tensor<?xi32> into tensor<?x1xi32>
  %y = hk.concat 1 (%s, %p) : tensor<?x1xi32>, tensor<?x1xi32> -> tensor<?x2xi32>
  return %y : tensor<?x2xi32>
}
// In 64 bits, as PyTorch has them.
func.func @bounds_from_lens_64(%lens64: tensor<?xi64>) -> tensor<?xi64> {
  %cu = hk.cumsum offsets %lens64 : tensor<?xi64>
  return %cu : tensor<?xi64>
}
func.func @position_ids_64(%cu64: tensor<?xi64>, %q: tensor<?x2xbf16>) -> (tensor<?xi64>, tensor<?xi64>) {
  %cu = hk.cast %cu64 : tensor<?xi64> -> tensor<?xi32>
  %seq, %pos, %first = hk.segments bounds %cu items %q : tensor<?xi32> items tensor<?x2xbf16> -> tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
  %p64 = hk.cast %pos : tensor<?xi32> -> tensor<?xi64>
  %s64 = hk.cast %seq : tensor<?xi32> -> tensor<?xi64>
  return %p64, %s64 : tensor<?xi64>, tensor<?xi64>
}
// From lengths.
func.func @chunks_of_lens(%lens: tensor<?xi32>, %q: tensor<?x2xbf16>) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) {
  %seq, %chunk, %first = hk.segments lengths %lens items %q block 16 : tensor<?xi32> items tensor<?x2xbf16> -> tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
  return %seq, %chunk, %first : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
}
// Of any number of sequences.
func.func @lens_dynamic(%cu: tensor<?xi32>) -> tensor<?xi32> {
  %one = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %n = tensor.dim %cu, %c0 : tensor<?xi32>
  %m = arith.subi %n, %one : index
  %begin = tensor.extract_slice %cu[0] [%m] [1] : tensor<?xi32> to tensor<?xi32>
  %end = tensor.extract_slice %cu[1] [%m] [1] : tensor<?xi32> to tensor<?xi32>
  %lens = hk.sub %end, %begin : tensor<?xi32>
  return %lens : tensor<?xi32>
}
