// Sums that start again at every chunk of 64 tokens and at every sequence; from
// the front and from the back; scaled for exponentials of base 2.
// HK-LAUNCHES: 1
// HK-DIMS: ba.1=130 h.1=130 g.1=130 g.2=4 mask.0=5 cu.0=6 --range=cu=bounds:130
// HK-DIMS: ba.1=500 h.1=500 g.1=500 g.2=3 mask.0=2 cu.0=4 --range=cu=bounds:477
// HK-DIMS: ba.1=1 h.1=1 g.1=1 g.2=1 mask.0=1 cu.0=2 --range=cu=bounds:1
// HK-DIMS: ba.1=0 h.1=0 g.1=0 g.2=4 mask.0=0 cu.0=3 --range=cu=bounds:0
// HK-DIMS: ba.1=64 h.1=64 g.1=64 g.2=40 mask.0=33 cu.0=1
// HK-DATA: normal,equal,nan,inf

func.func @scalar(%g: tensor<2x?x?xf32>) -> tensor<2x?x?xf32> {
  %y = hk.cumsum inclusive %g dim 1 chunk 64 : tensor<2x?x?xf32>
  return %y : tensor<2x?x?xf32>
}
func.func @scalar_reverse(%g: tensor<1x?x?xbf16>) -> tensor<1x?x?xf32> {
  %log2e = hk.constant 1.44269502 : tensor<f32>
  %s = hk.cumsum inclusive %g dim 1 chunk 64 reverse : tensor<1x?x?xbf16> -> tensor<1x?x?xf32>
  %y = hk.mul %s, %log2e : tensor<1x?x?xf32>, tensor<f32>
  return %y : tensor<1x?x?xf32>
}
func.func @ragged(%g: tensor<1x?x?xf32>, %cu: tensor<?xi32>) -> tensor<1x?x?xf32> {
  %y = hk.cumsum inclusive %g bounds %cu dim 1 chunk 64 : tensor<1x?x?xf32> bounds tensor<?xi32>
  return %y : tensor<1x?x?xf32>
}
func.func @ragged_reverse(%g: tensor<1x?x?x3xf16>, %cu: tensor<?xi32>) -> tensor<1x?x?x3xf32> {
  %y = hk.cumsum exclusive %g bounds %cu dim 1 reverse : tensor<1x?x?x3xf16> bounds tensor<?xi32> -> tensor<1x?x?x3xf32>
  return %y : tensor<1x?x?x3xf32>
}
func.func @head_first(%g: tensor<5x?x?xf32>) -> tensor<5x?x?xf32> {
  %y = hk.cumsum inclusive %g dim 2 chunk 16 : tensor<5x?x?xf32>
  return %y : tensor<5x?x?xf32>
}
func.func @whole_line(%g: tensor<3x?x?xf32>) -> (tensor<3x?x?xf32>) {
  %y = hk.cumsum offsets %g dim 1 : tensor<3x?x?xf32>
  return %y : tensor<3x?x?xf32>
}
// A sum per key of a head, forwards and backwards.
func.func @vector(%g: tensor<2x?x?x5xbf16>) -> tensor<2x?x?x5xf32> {
  %y = hk.cumsum inclusive %g dim 1 chunk 64 : tensor<2x?x?x5xbf16> -> tensor<2x?x?x5xf32>
  return %y : tensor<2x?x?x5xf32>
}
func.func @vector_reverse(%g: tensor<1x?x?x5xf32>, %cu: tensor<?xi32>) -> tensor<1x?x?x5xf32> {
  %y = hk.cumsum inclusive %g bounds %cu dim 1 chunk 32 reverse : tensor<1x?x?x5xf32> bounds tensor<?xi32>
  return %y : tensor<1x?x?x5xf32>
}
// Of a decay that is computed here: -e^A * softplus(a + dt_bias), two halves of a row.
func.func @computed(%ba: tensor<1x?x64xbf16>, %alog: tensor<32xf32>, %dt: tensor<32xf32>) -> tensor<1x?x32xf32> {
  %c1 = arith.constant 1 : index
  %t = tensor.dim %ba, %c1 : tensor<1x?x64xbf16>
  %one = hk.constant 1.0 : tensor<f32>
  %a = tensor.extract_slice %ba[0, 0, 32] [1, %t, 32] [1, 1, 1] : tensor<1x?x64xbf16> to tensor<1x?x32xbf16>
  %x = hk.add %a, %dt : tensor<1x?x32xbf16>, tensor<32xf32> -> tensor<1x?x32xf32>
  %e = hk.exp %x : tensor<1x?x32xf32>
  %p = hk.add %e, %one : tensor<1x?x32xf32>, tensor<f32>
  %l = hk.log %p : tensor<1x?x32xf32>
  %ea = hk.exp %alog : tensor<32xf32>
  %n = hk.neg %ea : tensor<32xf32>
  %g = hk.mul %n, %l : tensor<32xf32>, tensor<1x?x32xf32> -> tensor<1x?x32xf32>
  %y = hk.cumsum inclusive %g dim 1 chunk 64 : tensor<1x?x32xf32>
  return %y : tensor<1x?x32xf32>
}
// Heads before tokens: a sum per key, rounded to bf16; of ragged tokens, scaled.
func.func @vector_head_first(%g: tensor<2x?x?x5xf32>) -> tensor<2x?x?x5xbf16> {
  %y = hk.cumsum inclusive %g dim 2 chunk 64 : tensor<2x?x?x5xf32> -> tensor<2x?x?x5xbf16>
  return %y : tensor<2x?x?x5xbf16>
}
func.func @ragged_head_first(%h: tensor<3x?xbf16>, %cu: tensor<?xi32>) -> tensor<3x?xf32> {
  %log2e = hk.constant 1.44269502 : tensor<f32>
  %s = hk.cumsum inclusive %h bounds %cu dim 1 chunk 64 : tensor<3x?xbf16> bounds tensor<?xi32> -> tensor<3x?xf32>
  %y = hk.mul %s, %log2e : tensor<3x?xf32>, tensor<f32>
  return %y : tensor<3x?xf32>
}
// Heads before tokens, from the back, scaled.
func.func @head_first_reverse(%g: tensor<5x?x?xf32>) -> tensor<5x?x?xf32> {
  %log2e = hk.constant 1.44269502 : tensor<f32>
  %s = hk.cumsum inclusive %g dim 2 chunk 64 reverse : tensor<5x?x?xf32>
  %y = hk.mul %s, %log2e : tensor<5x?x?xf32>, tensor<f32>
  return %y : tensor<5x?x?xf32>
}
func.func @vector_head_first_reverse(%g: tensor<2x?x?x5xf16>) -> tensor<2x?x?x5xf32> {
  %log2e = hk.constant 1.44269502 : tensor<f32>
  %s = hk.cumsum inclusive %g dim 2 chunk 64 reverse : tensor<2x?x?x5xf16> -> tensor<2x?x?x5xf32>
  %y = hk.mul %s, %log2e : tensor<2x?x?x5xf32>, tensor<f32>
  return %y : tensor<2x?x?x5xf32>
}
func.func @vector_scaled(%g: tensor<2x?x?x64xf32>) -> tensor<2x?x?x64xf32> {
  %log2e = hk.constant 1.44269502 : tensor<f32>
  %s = hk.cumsum inclusive %g dim 1 chunk 64 : tensor<2x?x?x64xf32>
  %y = hk.mul %s, %log2e : tensor<2x?x?x64xf32>, tensor<f32>
  return %y : tensor<2x?x?x64xf32>
}
func.func @chunks_of_16(%g: tensor<2x?x?xbf16>) -> tensor<2x?x?xbf16> {
  %s = hk.cumsum inclusive %g dim 1 chunk 16 : tensor<2x?x?xbf16>
  return %s : tensor<2x?x?xbf16>
}
func.func @chunks_of_32(%g: tensor<2x?x?xbf16>) -> tensor<2x?x?xbf16> {
  %s = hk.cumsum inclusive %g dim 1 chunk 32 : tensor<2x?x?xbf16>
  return %s : tensor<2x?x?xbf16>
}
func.func @chunks_of_128(%g: tensor<2x?x?xbf16>) -> tensor<2x?x?xbf16> {
  %s = hk.cumsum inclusive %g dim 1 chunk 128 : tensor<2x?x?xbf16>
  return %s : tensor<2x?x?xbf16>
}
// Positions of a batch with padding: the mask is read again behind the sums.
func.func @positions(%mask: tensor<?x200xi8>) -> tensor<?x200xi32> {
  %zero = hk.constant 0 : tensor<i8>
  %one = hk.constant 1 : tensor<i32>
  %c = hk.compare ne %mask, %zero : tensor<?x200xi8>, tensor<i8> -> tensor<?x200xi1>
  %i = hk.cast %c : tensor<?x200xi1> -> tensor<?x200xi32>
  %s = hk.cumsum inclusive %i dim 1 : tensor<?x200xi32>
  %p = hk.sub %s, %one : tensor<?x200xi32>, tensor<i32>
  %y = hk.select %c, %p, %one : tensor<?x200xi1>, tensor<?x200xi32>, tensor<i32> -> tensor<?x200xi32>
  return %y : tensor<?x200xi32>
}
