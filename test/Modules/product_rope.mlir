// Rotary embeddings of pairs of neighbours behind a product: the queries of DeepSeek's MLA,
// whose heads are cut in two and stored head by head, heads of which a part is rotated, and
// keys on their way into a cache of their own.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=1 pos.0=1
// HK-DIMS: x.0=37 pos.0=37
// HK-DIMS: x.0=130 pos.0=130
// HK-DIMS: x.0=0 pos.0=0
// HK-DATA: normal,huge,nan

func.func @mla(%x: tensor<?x64xbf16>, %w: tensor<96x64xbf16>, %cos: tensor<48x4xf32>, %sin: tensor<48x4xf32>, %pos: tensor<?xi32>) -> (tensor<4x?x16xbf16>, tensor<4x?x8xbf16>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %y = hk.matmul %x, %w transpose_b : tensor<?x64xbf16>, tensor<96x64xbf16> -> tensor<?x96xbf16>
  %h = tensor.expand_shape %y [[0], [1, 2]] output_shape [%n, 4, 24] : tensor<?x96xbf16> into tensor<?x4x24xbf16>
  %nope = tensor.extract_slice %h[0, 0, 0] [%n, 4, 16] [1, 1, 1] : tensor<?x4x24xbf16> to tensor<?x4x16xbf16>
  %part = tensor.extract_slice %h[0, 0, 16] [%n, 4, 8] [1, 1, 1] : tensor<?x4x24xbf16> to tensor<?x4x8xbf16>
  %r = hk.rope gptj %part, %cos, %sin positions %pos : tensor<?x4x8xbf16>, tensor<48x4xf32>, tensor<48x4xf32> positions tensor<?xi32>
  %a = hk.transpose %nope [1, 0, 2] : tensor<?x4x16xbf16> -> tensor<4x?x16xbf16>
  %b = hk.transpose %r [1, 0, 2] : tensor<?x4x8xbf16> -> tensor<4x?x8xbf16>
  return %a, %b : tensor<4x?x16xbf16>, tensor<4x?x8xbf16>
}
func.func @partial(%x: tensor<?x40xf32>, %w: tensor<40x60xf32>, %b: tensor<60xf32>, %cos: tensor<48x8xf32>, %sin: tensor<48x8xf32>, %pos: tensor<?xi32>) -> tensor<?x3x20xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x40xf32>
  %y = hk.matmul %x, %w : tensor<?x40xf32>, tensor<40x60xf32> -> tensor<?x60xf32>
  %z = hk.add %y, %b : tensor<?x60xf32>, tensor<60xf32>
  %h = tensor.expand_shape %z [[0], [1, 2]] output_shape [%n, 3, 20] : tensor<?x60xf32> into tensor<?x3x20xf32>
  %r = hk.rope gptj %h, %cos, %sin positions %pos angle_per_element : tensor<?x3x20xf32>, tensor<48x8xf32>, tensor<48x8xf32> positions tensor<?xi32>
  return %r : tensor<?x3x20xf32>
}
func.func @nope_first(%x: tensor<?x64xf16>, %w: tensor<64x64xf16>, %cos: tensor<48x4xf16>, %sin: tensor<48x4xf16>, %pos: tensor<?xi32>) -> tensor<?x4x16xf16> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf16>
  %y = hk.matmul %x, %w transpose_b : tensor<?x64xf16>, tensor<64x64xf16> -> tensor<?x64xf16>
  %h = tensor.expand_shape %y [[0], [1, 2]] output_shape [%n, 4, 16] : tensor<?x64xf16> into tensor<?x4x16xf16>
  %r = hk.rope gptj %h, %cos, %sin positions %pos nope_first inverse : tensor<?x4x16xf16>, tensor<48x4xf16>, tensor<48x4xf16> positions tensor<?xi32>
  return %r : tensor<?x4x16xf16>
}
