// Decoding: update of the states, convolution, SiLU and the split in q, k and v, in
// one launch. One token per sequence, or several; the boundaries of q, k and v are
// no multiple of a block.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=7 lines.0=7 accepted.0=7 place.0=7 table.0=7 computed.0=7 --range=lines=iota:-2
// HK-DIMS: x.0=1 lines.0=1 accepted.0=1 place.0=1 table.0=1 computed.0=1 --range=lines=3:3
// HK-DIMS: x.0=8 lines.0=8 accepted.0=8 place.0=8 table.0=8 computed.0=8 --range=lines=iota
// HK-DIMS: x.0=0 lines.0=0 accepted.0=0 place.0=0 table.0=0 computed.0=0
// HK-ARGS: --range=accepted=1:3 --range=place=0:40 --range=table=iota --range=computed=0:21
// HK-DIMS-HOST: @many_sequences x.0=64 lines.0=64 --range=lines=iota:0
// HK-DIMS-HOST: @many_sequences x.0=127 lines.0=127 --range=lines=iota:-1
// HK-DIMS-HOST: @many_sequences x.0=512 lines.0=512 --range=lines=iota:100
// HK-DATA: normal,equal,huge,tiny,nan,inf

// [B, dim], states with channels innermost.
func.func @one_token(%x: tensor<?x1024xbf16>, %w: tensor<1024x4xbf16>, %b: tensor<1024xbf16>, %s: tensor<8x3x1024xbf16> {hk.state}, %lines: tensor<?xi32>) -> (tensor<?x4x64xbf16>, tensor<?x4x64xbf16>, tensor<?x512xbf16>, tensor<8x3x1024xbf16>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x1024xbf16>
  %x3 = tensor.expand_shape %x [[0, 1], [2]] output_shape [%n, 1, 1024] : tensor<?x1024xbf16> into tensor<?x1x1024xbf16>
  %0, %s2 = hk.causal_conv1d channel_last %x3, %w bias %b state %s indices %lines : tensor<?x1x1024xbf16>, tensor<1024x4xbf16> bias tensor<1024xbf16> state tensor<8x3x1024xbf16> indices tensor<?xi32> -> tensor<?x1x1024xf32>, tensor<8x3x1024xbf16>
  %1 = hk.silu %0 : tensor<?x1x1024xf32> -> tensor<?x1x1024xbf16>
  %y = tensor.collapse_shape %1 [[0, 1], [2]] : tensor<?x1x1024xbf16> into tensor<?x1024xbf16>
  %q = tensor.extract_slice %y[0, 0] [%n, 256] [1, 1] : tensor<?x1024xbf16> to tensor<?x256xbf16>
  %k = tensor.extract_slice %y[0, 256] [%n, 256] [1, 1] : tensor<?x1024xbf16> to tensor<?x256xbf16>
  %v = tensor.extract_slice %y[0, 512] [%n, 512] [1, 1] : tensor<?x1024xbf16> to tensor<?x512xbf16>
  %qh = tensor.expand_shape %q [[0], [1, 2]] output_shape [%n, 4, 64] : tensor<?x256xbf16> into tensor<?x4x64xbf16>
  %kh = tensor.expand_shape %k [[0], [1, 2]] output_shape [%n, 4, 64] : tensor<?x256xbf16> into tensor<?x4x64xbf16>
  return %qh, %kh, %v, %s2 : tensor<?x4x64xbf16>, tensor<?x4x64xbf16>, tensor<?x512xbf16>, tensor<8x3x1024xbf16>
}
// [B, dim, S] as upstream has it, states with time innermost.
func.func @channel_first_4_tokens(%x: tensor<?x250x4xbf16>, %w: tensor<250x4xf32>, %s: tensor<8x250x3xbf16> {hk.state}, %lines: tensor<?xi32>) -> (tensor<?x75x4xbf16>, tensor<?x75x4xbf16>, tensor<?x100x4xbf16>, tensor<8x250x3xbf16>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x250x4xbf16>
  %0, %s2 = hk.causal_conv1d channel_first %x, %w state %s indices %lines state_layout channel_first : tensor<?x250x4xbf16>, tensor<250x4xf32> state tensor<8x250x3xbf16> indices tensor<?xi32> -> tensor<?x250x4xf32>, tensor<8x250x3xbf16>
  %y = hk.silu %0 : tensor<?x250x4xf32> -> tensor<?x250x4xbf16>
  %q = tensor.extract_slice %y[0, 0, 0] [%n, 75, 4] [1, 1, 1] : tensor<?x250x4xbf16> to tensor<?x75x4xbf16>
  %k = tensor.extract_slice %y[0, 75, 0] [%n, 75, 4] [1, 1, 1] : tensor<?x250x4xbf16> to tensor<?x75x4xbf16>
  %v = tensor.extract_slice %y[0, 150, 0] [%n, 100, 4] [1, 1, 1] : tensor<?x250x4xbf16> to tensor<?x100x4xbf16>
  return %q, %k, %v, %s2 : tensor<?x75x4xbf16>, tensor<?x75x4xbf16>, tensor<?x100x4xbf16>, tensor<8x250x3xbf16>
}
// One token and S = 1 kept, width 2, a state longer than needed.
func.func @channel_first_1_token(%x: tensor<?x64x1xf16>, %w: tensor<64x2xf16>, %s: tensor<8x64x4xf16> {hk.state}, %lines: tensor<?xi64>) -> (tensor<?x64x1xf16>, tensor<8x64x4xf16>) {
  %0, %s2 = hk.causal_conv1d channel_first %x, %w state %s indices %lines state_layout channel_first : tensor<?x64x1xf16>, tensor<64x2xf16> state tensor<8x64x4xf16> indices tensor<?xi64> -> tensor<?x64x1xf16>, tensor<8x64x4xf16>
  return %0, %s2 : tensor<?x64x1xf16>, tensor<8x64x4xf16>
}
// Three tokens of a draft; of the last one, one to three were accepted. Line 1 is padding.
func.func @speculative_3_tokens(%x: tensor<?x3x200xbf16>, %w: tensor<200x4xbf16>, %b: tensor<200xbf16>, %s: tensor<8x5x200xbf16> {hk.state}, %lines: tensor<?xi32>, %accepted: tensor<?xi32>)
    -> (tensor<?x3x60xbf16>, tensor<?x3x60xbf16>, tensor<?x3x80xbf16>, tensor<8x5x200xbf16>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x3x200xbf16>
  %y, %ys = hk.causal_conv1d channel_last %x, %w bias %b state %s indices %lines accepted %accepted pad_slot 1 : tensor<?x3x200xbf16>, tensor<200x4xbf16> bias tensor<200xbf16> state tensor<8x5x200xbf16> indices tensor<?xi32> accepted tensor<?xi32> -> tensor<?x3x200xf32>, tensor<8x5x200xbf16>
  %z = hk.silu %y : tensor<?x3x200xf32> -> tensor<?x3x200xbf16>
  %q = tensor.extract_slice %z[0, 0, 0] [%n, 3, 60] [1, 1, 1] : tensor<?x3x200xbf16> to tensor<?x3x60xbf16>
  %k = tensor.extract_slice %z[0, 0, 60] [%n, 3, 60] [1, 1, 1] : tensor<?x3x200xbf16> to tensor<?x3x60xbf16>
  %v = tensor.extract_slice %z[0, 0, 120] [%n, 3, 80] [1, 1, 1] : tensor<?x3x200xbf16> to tensor<?x3x80xbf16>
  return %q, %k, %v, %ys : tensor<?x3x60xbf16>, tensor<?x3x60xbf16>, tensor<?x3x80xbf16>, tensor<8x5x200xbf16>
}
// States that are ring buffers, written where the sequence is.
func.func @ring_1_token(%x: tensor<?x1x250xf16>, %w: tensor<250x4xf16>, %s: tensor<8x7x250xf16> {hk.state}, %lines: tensor<?xi64>, %place: tensor<?xi32>) -> (tensor<?x1x250xf16>, tensor<8x7x250xf16>) {
  %y, %ys = hk.causal_conv1d channel_last %x, %w state %s indices %lines ring %place : tensor<?x1x250xf16>, tensor<250x4xf16> state tensor<8x7x250xf16> indices tensor<?xi64> ring tensor<?xi32> -> tensor<?x1x250xf16>, tensor<8x7x250xf16>
  return %y, %ys : tensor<?x1x250xf16>, tensor<8x7x250xf16>
}
func.func @ring_4_tokens(%x: tensor<?x64x4xbf16>, %w: tensor<64x3xbf16>, %s: tensor<8x64x3xbf16> {hk.state}, %lines: tensor<?xi32>, %place: tensor<?xi32>) -> (tensor<?x64x4xbf16>, tensor<8x64x3xbf16>) {
  %y, %ys = hk.causal_conv1d channel_first %x, %w state %s indices %lines ring %place state_layout channel_first : tensor<?x64x4xbf16>, tensor<64x3xbf16> state tensor<8x64x3xbf16> indices tensor<?xi32> ring tensor<?xi32> -> tensor<?x64x4xbf16>, tensor<8x64x3xbf16>
  return %y, %ys : tensor<?x64x4xbf16>, tensor<8x64x3xbf16>
}
// The state after every token of a draft beside the new state, which starts from what
// the last one left; both layouts.
func.func @windows(%x: tensor<?x3x200xbf16>, %w: tensor<200x4xbf16>, %s: tensor<8x3x200xbf16> {hk.state}, %lines: tensor<?xi32>) -> (tensor<?x3x200xbf16>, tensor<8x3x200xbf16>, tensor<?x3x200x3xbf16>) {
  %y, %ys, %at = hk.causal_conv1d channel_last %x, %w state %s indices %lines : tensor<?x3x200xbf16>, tensor<200x4xbf16> state tensor<8x3x200xbf16> indices tensor<?xi32> -> tensor<?x3x200xf32>, tensor<8x3x200xbf16> windows tensor<?x3x200x3xbf16>
  %z = hk.silu %y : tensor<?x3x200xf32> -> tensor<?x3x200xbf16>
  return %z, %ys, %at : tensor<?x3x200xbf16>, tensor<8x3x200xbf16>, tensor<?x3x200x3xbf16>
}
func.func @windows_accepted(%x: tensor<?x70x4xf32>, %w: tensor<70x3xf32>, %s: tensor<8x70x5xf32> {hk.state}, %lines: tensor<?xi32>, %accepted: tensor<?xi32>) -> (tensor<?x70x4xf32>, tensor<8x70x5xf32>, tensor<?x4x70x2xf32>) {
  %y, %ys, %at = hk.causal_conv1d channel_first %x, %w state %s indices %lines accepted %accepted state_layout channel_first : tensor<?x70x4xf32>, tensor<70x3xf32> state tensor<8x70x5xf32> indices tensor<?xi32> accepted tensor<?xi32> -> tensor<?x70x4xf32>, tensor<8x70x5xf32> windows tensor<?x4x70x2xf32>
  return %y, %ys, %at : tensor<?x70x4xf32>, tensor<8x70x5xf32>, tensor<?x4x70x2xf32>
}
// One token per sequence; its block of 4 has a line of its own (prefix caching).
func.func @blocks_1_token(%x: tensor<?x1x100xf16>, %w: tensor<100x4xf16>, %s: tensor<40x3x100xf16> {hk.state}, %table: tensor<?x5xi32>, %computed: tensor<?xi32>) -> (tensor<?x1x100xf16>, tensor<40x3x100xf16>) {
  %y, %ys = hk.causal_conv1d channel_last %x, %w state %s indices %table computed %computed block 4 : tensor<?x1x100xf16>, tensor<100x4xf16> state tensor<40x3x100xf16> indices tensor<?x5xi32> computed tensor<?xi32> -> tensor<?x1x100xf16>, tensor<40x3x100xf16>
  return %y, %ys : tensor<?x1x100xf16>, tensor<40x3x100xf16>
}
// More tokens than a state holds.
func.func @eight_tokens(%x: tensor<?x8x130xf16>, %w: tensor<130x3xf32>, %b: tensor<130xf32>, %s: tensor<8x2x130xf16> {hk.state}, %lines: tensor<?xi32>) -> (tensor<?x8x33xf16>, tensor<?x8x33xf16>, tensor<?x8x64xf16>, tensor<8x2x130xf16>) {
  %y, %s2 = hk.causal_conv1d channel_last %x, %w bias %b state %s indices %lines : tensor<?x8x130xf16>, tensor<130x3xf32> bias tensor<130xf32> state tensor<8x2x130xf16> indices tensor<?xi32> -> tensor<?x8x130xf32>, tensor<8x2x130xf16>
  %z = hk.silu %y : tensor<?x8x130xf32> -> tensor<?x8x130xf16>
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x8x130xf16>
  %t2 = tensor.dim %z, %c0 : tensor<?x8x130xf16>
  %q = tensor.extract_slice %z[0, 0, 0] [%t2, 8, 33] [1, 1, 1] : tensor<?x8x130xf16> to tensor<?x8x33xf16>
  %k = tensor.extract_slice %z[0, 0, 33] [%t2, 8, 33] [1, 1, 1] : tensor<?x8x130xf16> to tensor<?x8x33xf16>
  %v = tensor.extract_slice %z[0, 0, 66] [%t2, 8, 64] [1, 1, 1] : tensor<?x8x130xf16> to tensor<?x8x64xf16>
  return %q, %k, %v, %s2 : tensor<?x8x33xf16>, tensor<?x8x33xf16>, tensor<?x8x64xf16>, tensor<8x2x130xf16>
}
func.func @channel_first_8_tokens(%x: tensor<?x64x8xbf16>, %w: tensor<64x4xbf16>, %b: tensor<64xbf16>, %s: tensor<8x64x3xbf16> {hk.state}, %lines: tensor<?xi64>) -> (tensor<?x16x8xbf16>, tensor<?x16x8xbf16>, tensor<?x32x8xbf16>, tensor<8x64x3xbf16>) {
  %y, %s2 = hk.causal_conv1d channel_first %x, %w bias %b state %s indices %lines state_layout channel_first : tensor<?x64x8xbf16>, tensor<64x4xbf16> bias tensor<64xbf16> state tensor<8x64x3xbf16> indices tensor<?xi64> -> tensor<?x64x8xbf16>, tensor<8x64x3xbf16>
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x64x8xbf16>
  %t2 = tensor.dim %y, %c0 : tensor<?x64x8xbf16>
  %q = tensor.extract_slice %y[0, 0, 0] [%t2, 16, 8] [1, 1, 1] : tensor<?x64x8xbf16> to tensor<?x16x8xbf16>
  %k = tensor.extract_slice %y[0, 16, 0] [%t2, 16, 8] [1, 1, 1] : tensor<?x64x8xbf16> to tensor<?x16x8xbf16>
  %v = tensor.extract_slice %y[0, 32, 0] [%t2, 32, 8] [1, 1, 1] : tensor<?x64x8xbf16> to tensor<?x32x8xbf16>
  return %q, %k, %v, %s2 : tensor<?x16x8xbf16>, tensor<?x16x8xbf16>, tensor<?x32x8xbf16>, tensor<8x64x3xbf16>
}
// As many sequences as a server decodes at once.
func.func @many_sequences(%x: tensor<?x64xbf16>, %w: tensor<64x4xbf16>, %b: tensor<64xbf16>, %s: tensor<600x3x64xbf16> {hk.state}, %lines: tensor<?xi32>) -> (tensor<?x16xbf16>, tensor<?x16xbf16>, tensor<?x32xbf16>, tensor<600x3x64xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %x3 = tensor.expand_shape %x [[0, 1], [2]] output_shape [%t, 1, 64] : tensor<?x64xbf16> into tensor<?x1x64xbf16>
  %c, %s2 = hk.causal_conv1d channel_last %x3, %w bias %b state %s indices %lines : tensor<?x1x64xbf16>, tensor<64x4xbf16> bias tensor<64xbf16> state tensor<600x3x64xbf16> indices tensor<?xi32> -> tensor<?x1x64xf32>, tensor<600x3x64xbf16>
  %z = hk.silu %c : tensor<?x1x64xf32> -> tensor<?x1x64xbf16>
  %y = tensor.collapse_shape %z [[0, 1], [2]] : tensor<?x1x64xbf16> into tensor<?x64xbf16>
  %t2 = tensor.dim %y, %c0 : tensor<?x64xbf16>
  %q = tensor.extract_slice %y[0, 0] [%t2, 16] [1, 1] : tensor<?x64xbf16> to tensor<?x16xbf16>
  %k = tensor.extract_slice %y[0, 16] [%t2, 16] [1, 1] : tensor<?x64xbf16> to tensor<?x16xbf16>
  %v = tensor.extract_slice %y[0, 32] [%t2, 32] [1, 1] : tensor<?x64xbf16> to tensor<?x32xbf16>
  return %q, %k, %v, %s2 : tensor<?x16xbf16>, tensor<?x16xbf16>, tensor<?x32xbf16>, tensor<600x3x64xbf16>
}
func.func @one_token_4096(%x: tensor<?x4096xf32>, %w: tensor<4096x2xf32>, %s: tensor<8x1x4096xf32> {hk.state}, %lines: tensor<?xi32>) -> (tensor<?x1024xf32>, tensor<?x1024xf32>, tensor<?x2048xf32>, tensor<8x1x4096xf32>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x4096xf32>
  %x3 = tensor.expand_shape %x [[0, 1], [2]] output_shape [%t, 1, 4096] : tensor<?x4096xf32> into tensor<?x1x4096xf32>
  %c, %s2 = hk.causal_conv1d channel_last %x3, %w state %s indices %lines : tensor<?x1x4096xf32>, tensor<4096x2xf32> state tensor<8x1x4096xf32> indices tensor<?xi32> -> tensor<?x1x4096xf32>, tensor<8x1x4096xf32>
  %y = tensor.collapse_shape %c [[0, 1], [2]] : tensor<?x1x4096xf32> into tensor<?x4096xf32>
  %t2 = tensor.dim %y, %c0 : tensor<?x4096xf32>
  %q = tensor.extract_slice %y[0, 0] [%t2, 1024] [1, 1] : tensor<?x4096xf32> to tensor<?x1024xf32>
  %k = tensor.extract_slice %y[0, 1024] [%t2, 1024] [1, 1] : tensor<?x4096xf32> to tensor<?x1024xf32>
  %v = tensor.extract_slice %y[0, 2048] [%t2, 2048] [1, 1] : tensor<?x4096xf32> to tensor<?x2048xf32>
  return %q, %k, %v, %s2 : tensor<?x1024xf32>, tensor<?x1024xf32>, tensor<?x2048xf32>, tensor<8x1x4096xf32>
}
