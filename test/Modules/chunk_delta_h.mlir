// States at the starts of chunks and what the values add to them.
// HK-LAUNCHES: 1
// HK-ARGS: --range=has_initial=0:1
// HK-DIMS: k.1=70 w.1=70 u.1=70 a.1=70 k.0=70 w.0=70 u.0=70 a.0=70 cu.0=4 line.0=3 --range=cu=bounds:66 --range=line=iota
// HK-DIMS: k.1=1 w.1=1 u.1=1 a.1=1 k.0=1 w.0=1 u.0=1 a.0=1 cu.0=3 line.0=2 --range=cu=bounds:1 --range=line=3:9
// HK-DIMS: k.1=0 w.1=0 u.1=0 a.1=0 k.0=0 w.0=0 u.0=0 a.0=0 cu.0=2 line.0=1 --range=cu=bounds:0 --range=line=iota
// HK-DATA: normal,nan

func.func @dense(%k: tensor<2x?x1x64xbf16> {hk.name = "k"}, %w: tensor<2x?x2x64xbf16> {hk.name = "w"}, %u: tensor<2x?x2x16xbf16> {hk.name = "u"}, %a: tensor<2x?x2xf32> {hk.name = "a"}, %s: tensor<2x2x64x16xf32> {hk.name = "s", hk.state}, %has: tensor<2xi1> {hk.name = "has_initial"}) -> (tensor<2x?x2x64x16xbf16>, tensor<2x?x2x16xbf16>, tensor<2x2x64x16xf32>) {
  %tenth = hk.constant 0.0625 : tensor<bf16>
  %w1 = hk.mul %w, %tenth : tensor<2x?x2x64xbf16>, tensor<bf16>
  %k1 = hk.mul %k, %tenth : tensor<2x?x1x64xbf16>, tensor<bf16>
  %h, %v, %s1 = hk.chunk_state %k1, %w1, %u decay %a state %s has_initial %has chunk 64 : tensor<2x?x1x64xbf16>, tensor<2x?x2x64xbf16>, tensor<2x?x2x16xbf16> decay tensor<2x?x2xf32> state tensor<2x2x64x16xf32> has_initial tensor<2xi1> -> tensor<2x?x2x64x16xbf16>, tensor<2x?x2x16xbf16>, tensor<2x2x64x16xf32>
  return %h, %v, %s1 : tensor<2x?x2x64x16xbf16>, tensor<2x?x2x16xbf16>, tensor<2x2x64x16xf32>
}
func.func @ragged_20(%k: tensor<?x2x20xf32> {hk.name = "k"}, %w: tensor<?x2x20xf32> {hk.name = "w"}, %u: tensor<?x2x6xf32> {hk.name = "u"}, %cu: tensor<?xi32> {hk.name = "cu"}, %s: tensor<4x2x6x20xbf16> {hk.name = "s", hk.state}, %line: tensor<?xi32> {hk.name = "line"}) -> (tensor<?x2x20x6xf32>, tensor<?x2x6xf32>, tensor<4x2x6x20xbf16>) {
  %tenth = hk.constant 0.0625 : tensor<f32>
  %w1 = hk.mul %w, %tenth : tensor<?x2x20xf32>, tensor<f32>
  %h, %v, %s1 = hk.chunk_state %k, %w1, %u offsets %cu state %s indices %line state_layout value_major chunk 16 : tensor<?x2x20xf32>, tensor<?x2x20xf32>, tensor<?x2x6xf32> offsets tensor<?xi32> state tensor<4x2x6x20xbf16> indices tensor<?xi32> -> tensor<?x2x20x6xf32>, tensor<?x2x6xf32>, tensor<4x2x6x20xbf16>
  return %h, %v, %s1 : tensor<?x2x20x6xf32>, tensor<?x2x6xf32>, tensor<4x2x6x20xbf16>
}
func.func @fragments(%k: tensor<2x?x1x64xbf16> {hk.name = "k"}, %w: tensor<2x?x2x64xbf16> {hk.name = "w"}, %u: tensor<2x?x2x64xbf16> {hk.name = "u"}, %a: tensor<2x?x2xf32> {hk.name = "a"}, %s: tensor<2x2x64x64xf32> {hk.name = "s", hk.state}, %has: tensor<2xi1> {hk.name = "has_initial"}) -> (tensor<2x?x2x64x64xbf16>, tensor<2x?x2x64xbf16>, tensor<2x2x64x64xf32>) {
  %tenth = hk.constant 0.0625 : tensor<bf16>
  %w1 = hk.mul %w, %tenth : tensor<2x?x2x64xbf16>, tensor<bf16>
  %k1 = hk.mul %k, %tenth : tensor<2x?x1x64xbf16>, tensor<bf16>
  %h, %v, %s1 = hk.chunk_state %k1, %w1, %u decay %a state %s has_initial %has chunk 64 : tensor<2x?x1x64xbf16>, tensor<2x?x2x64xbf16>, tensor<2x?x2x64xbf16> decay tensor<2x?x2xf32> state tensor<2x2x64x64xf32> has_initial tensor<2xi1> -> tensor<2x?x2x64x64xbf16>, tensor<2x?x2x64xbf16>, tensor<2x2x64x64xf32>
  return %h, %v, %s1 : tensor<2x?x2x64x64xbf16>, tensor<2x?x2x64xbf16>, tensor<2x2x64x64xf32>
}
// Half-precision fragments of 32 tokens, states with the keys innermost.
func.func @fragments_ragged(%k: tensor<?x1x128xf16> {hk.name = "k"}, %w: tensor<?x2x128xf16> {hk.name = "w"}, %u: tensor<?x2x64xf16> {hk.name = "u"}, %a: tensor<?x2xf32> {hk.name = "a"}, %cu: tensor<?xi32> {hk.name = "cu"}, %s: tensor<4x2x64x128xbf16> {hk.name = "s", hk.state}, %line: tensor<?xi32> {hk.name = "line"}) -> (tensor<?x2x128x64xf16>, tensor<?x2x64xf16>, tensor<4x2x64x128xbf16>) {
  %tenth = hk.constant 0.0625 : tensor<f16>
  %w1 = hk.mul %w, %tenth : tensor<?x2x128xf16>, tensor<f16>
  %h, %v, %s1 = hk.chunk_state %k, %w1, %u offsets %cu decay %a state %s indices %line state_layout value_major chunk 32 : tensor<?x1x128xf16>, tensor<?x2x128xf16>, tensor<?x2x64xf16> decay tensor<?x2xf32> offsets tensor<?xi32> state tensor<4x2x64x128xbf16> indices tensor<?xi32> -> tensor<?x2x128x64xf16>, tensor<?x2x64xf16>, tensor<4x2x64x128xbf16>
  return %h, %v, %s1 : tensor<?x2x128x64xf16>, tensor<?x2x64xf16>, tensor<4x2x64x128xbf16>
}
