// Rows put together in front of row-wise operators: class and prompt tokens, the last
// token of a state in front of a sequence (token shift). Two launches while a
// concatenation needed all rows in one.
// HK-LAUNCHES: 1
// HK-DIMS: p.0=16 pos.0=17 x.0=9 head.0=2 patches.0=2
// HK-DIMS: p.0=1 pos.0=2 x.0=1 head.0=1 patches.0=1
// HK-DIMS: p.0=0 pos.0=1 x.0=33 head.0=0 patches.0=0
// HK-DATA: normal,nan,inf

// A class token in front of the patches, positions, norm.
func.func @class_token(%cls: tensor<1x1032xbf16>, %p: tensor<?x1032xbf16>, %pos: tensor<?x1032xbf16>, %w: tensor<1032xbf16>, %b: tensor<1032xbf16>) -> (tensor<?x1032xbf16>, tensor<?x1032xbf16>) {
  %c = hk.concat 0 (%cls, %p) : tensor<1x1032xbf16>, tensor<?x1032xbf16> -> tensor<?x1032xbf16>
  %a = hk.add %c, %pos : tensor<?x1032xbf16>
  %n = hk.layer_norm %a, %w, %b epsilon 1.0e-06 : tensor<?x1032xbf16>, tensor<1032xbf16>, tensor<1032xbf16>
  return %a, %n : tensor<?x1032xbf16>, tensor<?x1032xbf16>
}
func.func @class_token_batched(%head: tensor<?x1x768xbf16>, %patches: tensor<?x196x768xbf16>, %places: tensor<1x197x768xbf16>, %w: tensor<768xbf16>, %b: tensor<768xbf16>) -> (tensor<?x197x768xbf16>, tensor<?x197x768xbf16>) {
  %c = hk.concat 1 (%head, %patches) : tensor<?x1x768xbf16>, tensor<?x196x768xbf16> -> tensor<?x197x768xbf16>
  %a = hk.add %c, %places : tensor<?x197x768xbf16>, tensor<1x197x768xbf16>
  %n = hk.layer_norm %a, %w, %b epsilon 1.0e-06 : tensor<?x197x768xbf16>, tensor<768xbf16>, tensor<768xbf16>
  return %a, %n : tensor<?x197x768xbf16>, tensor<?x197x768xbf16>
}
// Token shift: each token beside the one before it.
func.func @token_shift(%x: tensor<8x512xbf16>, %last: tensor<1x512xbf16>, %mu: tensor<512xbf16>) -> tensor<8x512xbf16> {
  %b = tensor.extract_slice %x[0, 0] [7, 512] [1, 1] : tensor<8x512xbf16> to tensor<7x512xbf16>
  %s = hk.concat 0 (%last, %b) : tensor<1x512xbf16>, tensor<7x512xbf16> -> tensor<8x512xbf16>
  %d = hk.sub %s, %x : tensor<8x512xbf16>
  %m = hk.mul %d, %mu : tensor<8x512xbf16>, tensor<512xbf16>
  %y = hk.add %x, %m : tensor<8x512xbf16>
  return %y : tensor<8x512xbf16>
}
func.func @token_shift_dynamic(%x: tensor<?x512xbf16>, %last: tensor<1x512xbf16>, %mu: tensor<512xbf16>) -> tensor<?x512xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x512xbf16>
  %m1 = arith.subi %n, %c1 : index
  %b = tensor.extract_slice %x[0, 0] [%m1, 512] [1, 1] : tensor<?x512xbf16> to tensor<?x512xbf16>
  %s = hk.concat 0 (%last, %b) : tensor<1x512xbf16>, tensor<?x512xbf16> -> tensor<?x512xbf16>
  %d = hk.sub %s, %x : tensor<?x512xbf16>
  %m = hk.mul %d, %mu : tensor<?x512xbf16>, tensor<512xbf16>
  %y = hk.add %x, %m : tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}
// Prompt tokens in front, then a norm and a quantisation.
func.func @prefix(%prompt: tensor<4x256xf32>, %x: tensor<?x256xf32>, %w: tensor<256xf32>) -> (tensor<?x256xi8>, tensor<?x1xf32>) {
  %c = hk.concat 0 (%prompt, %x) : tensor<4x256xf32>, tensor<?x256xf32> -> tensor<?x256xf32>
  %n = hk.rms_norm %c, %w epsilon 1.0e-06 : tensor<?x256xf32>, tensor<256xf32>
  %q, %s = hk.quantize per_token %n : tensor<?x256xf32> -> tensor<?x256xi8>, tensor<?x1xf32>
  return %q, %s : tensor<?x256xi8>, tensor<?x1xf32>
}
