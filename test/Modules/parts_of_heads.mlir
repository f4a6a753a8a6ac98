// Heads that are normed as a whole and go on in parts: a lane that computes one part has neighbours, in the same head,
// that compute the other, with whom it must not exchange what both need.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=5 pos.0=5 gate.0=5
// HK-DIMS: x.0=1 pos.0=1 gate.0=1
// HK-DIMS: x.0=0 pos.0=0 gate.0=0
// HK-DIMS: x.0=67 pos.0=67 gate.0=67
// HK-DATA: normal,huge,nan

// A rotary embedding of the first quarter of a head, behind its norm, and a gate.
func.func @partial_rope(%x: tensor<?x320xbf16>, %cos: tensor<64x8xf32>, %sin: tensor<64x8xf32>, %pos: tensor<?xi32>, %gate: tensor<?x256xbf16>, %w: tensor<64xbf16>) -> (tensor<?x256xbf16>, tensor<?x4x64xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x320xbf16>
  %q = tensor.extract_slice %x[0, 32] [%t, 256] [1, 1] : tensor<?x320xbf16> to tensor<?x256xbf16>
  %h = tensor.expand_shape %q [[0], [1, 2]] output_shape [%t, 4, 64] : tensor<?x256xbf16> into tensor<?x4x64xbf16>
  %n = hk.rms_norm %h, %w epsilon 1.0e-05 : tensor<?x4x64xbf16>, tensor<64xbf16>
  %a = tensor.extract_slice %n[0, 0, 0] [%t, 4, 16] [1, 1, 1] : tensor<?x4x64xbf16> to tensor<?x4x16xbf16>
  %b = tensor.extract_slice %n[0, 0, 16] [%t, 4, 48] [1, 1, 1] : tensor<?x4x64xbf16> to tensor<?x4x48xbf16>
  %r = hk.rope neox %a, %cos, %sin positions %pos : tensor<?x4x16xbf16>, tensor<64x8xf32>, tensor<64x8xf32> positions tensor<?xi32>
  %k = hk.concat 2 (%r, %b) : tensor<?x4x16xbf16>, tensor<?x4x48xbf16> -> tensor<?x4x64xbf16>
  %f = tensor.collapse_shape %k [[0], [1, 2]] : tensor<?x4x64xbf16> into tensor<?x256xbf16>
  %g = hk.sigmoid %gate : tensor<?x256xbf16>
  %m = hk.mul %f, %g : tensor<?x256xbf16>
  return %m, %k : tensor<?x256xbf16>, tensor<?x4x64xbf16>
}
// A softmax of groups of 128, of which all but the last 24 are squared.
func.func @softmax_parts(%x: tensor<?x3x128xf32>) -> tensor<?x3x128xf32> {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x3x128xf32>
  %n = hk.softmax %x : tensor<?x3x128xf32>
  %a = tensor.extract_slice %n[0, 0, 0] [%t, 3, 104] [1, 1, 1] : tensor<?x3x128xf32> to tensor<?x3x104xf32>
  %b = tensor.extract_slice %n[0, 0, 104] [%t, 3, 24] [1, 1, 1] : tensor<?x3x128xf32> to tensor<?x3x24xf32>
  %s = hk.mul %a, %a : tensor<?x3x104xf32>
  %k = hk.concat 2 (%s, %b) : tensor<?x3x104xf32>, tensor<?x3x24xf32> -> tensor<?x3x128xf32>
  return %k : tensor<?x3x128xf32>
}
// Heads of another tensor in front of those that are normed: parts are whole heads.
func.func @whole_heads(%x: tensor<?x2x64xf16>, %gate: tensor<?x2x64xf16>, %w: tensor<64xf16>) -> tensor<?x4x64xf16> {
  %n = hk.layer_norm %x, %w, %w epsilon 1.0e-05 : tensor<?x2x64xf16>, tensor<64xf16>, tensor<64xf16>
  %k = hk.concat 1 (%gate, %n) : tensor<?x2x64xf16>, tensor<?x2x64xf16> -> tensor<?x4x64xf16>
  return %k : tensor<?x4x64xf16>
}
// A part of each head, with room behind it.
func.func @padded(%x: tensor<?x4x64xbf16>) -> tensor<?x4x64xbf16> {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x4x64xbf16>
  %n = hk.l2_norm %x epsilon 1.0e-06 : tensor<?x4x64xbf16>
  %a = tensor.extract_slice %n[0, 0, 0] [%t, 4, 40] [1, 1, 1] : tensor<?x4x64xbf16> to tensor<?x4x40xbf16>
  %p = hk.pad %a : tensor<?x4x40xbf16> -> tensor<?x4x64xbf16>
  return %p : tensor<?x4x64xbf16>
}
// The halves change places, and the groups that are quantised lie across both.
func.func @swapped(%x: tensor<?x4x64xbf16>) -> (tensor<?x4x64xi8>, tensor<?x4x1xf32>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x4x64xbf16>
  %n = hk.softmax %x : tensor<?x4x64xbf16>
  %a = tensor.extract_slice %n[0, 0, 0] [%t, 4, 32] [1, 1, 1] : tensor<?x4x64xbf16> to tensor<?x4x32xbf16>
  %b = tensor.extract_slice %n[0, 0, 32] [%t, 4, 32] [1, 1, 1] : tensor<?x4x64xbf16> to tensor<?x4x32xbf16>
  %m = hk.neg %b : tensor<?x4x32xbf16>
  %k = hk.concat 2 (%m, %a) : tensor<?x4x32xbf16>, tensor<?x4x32xbf16> -> tensor<?x4x64xbf16>
  %q, %s = hk.quantize per_token %k : tensor<?x4x64xbf16> -> tensor<?x4x64xi8>, tensor<?x4x1xf32>
  return %q, %s : tensor<?x4x64xi8>, tensor<?x4x1xf32>
}
