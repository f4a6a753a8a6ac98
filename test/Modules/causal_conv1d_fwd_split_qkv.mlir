// Prefill of ragged sequences with convolution, SiLU and the split in token-major q,
// k and v, in one launch; the heads of q and k are views of the same results.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=83 cu.0=6 lines.0=5 initial.0=5 table.0=5 computed.0=5 --range=cu=bounds:83 --range=lines=iota:-1
// HK-DIMS: x.0=8 cu.0=5 lines.0=4 initial.0=4 table.0=4 computed.0=4 --range=cu=bounds:8 --range=lines=iota:2
// HK-DIMS: x.0=6 cu.0=4 lines.0=3 initial.0=3 table.0=3 computed.0=3 --range=cu=bounds:6 --range=lines=iota
// HK-DIMS: x.0=2 cu.0=2 lines.0=1 initial.0=1 table.0=1 computed.0=1 --range=cu=bounds:2
// HK-DIMS: x.0=0 cu.0=2 lines.0=1 initial.0=1 table.0=1 computed.0=1 --range=cu=bounds:0
// HK-ARGS: --range=initial=0:1 --range=table=iota:-3 --range=computed=0:21
// HK-DIMS: x.0=9 cu.0=2 lines.0=1 initial.0=1 table.0=1 computed.0=1 --range=cu=bounds:9
// HK-DIMS-HOST: @qwen3_next_tp8 @odd x.0=512 cu.0=2 lines.0=1 --range=cu=bounds:512 --range=lines=iota
// HK-DIMS-HOST: @qwen3_next_tp8 @odd x.0=1000 cu.0=2 lines.0=1 --range=cu=bounds:1000 --range=lines=iota
// HK-DIMS-HOST: @qwen3_next_tp8 @odd x.0=2063 cu.0=4 lines.0=3 --range=cu=bounds:2063 --range=lines=iota
// HK-DIMS-HOST: @qwen3_next_tp8 @odd x.0=5063 cu.0=5 lines.0=4 --range=cu=bounds:5063 --range=lines=iota
// HK-DIMS-HOST: @qwen3_next_tp1 x.0=1000 cu.0=4 lines.0=3 initial.0=3 --range=cu=bounds:1000 --range=lines=iota
// HK-DATA: normal,nan

func.func @qwen3_next_tp8(%x: tensor<?x1024xbf16>, %w: tensor<1024x4xbf16>, %cu: tensor<?xi32>, %s: tensor<8x3x1024xbf16> {hk.state}, %lines: tensor<?xi32>) -> (tensor<?x256xbf16>, tensor<?x2x128xbf16>, tensor<?x4x128xbf16>, tensor<8x3x1024xbf16>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x1024xbf16>
  %0, %s2 = hk.causal_conv1d channel_last %x, %w offsets %cu state %s indices %lines : tensor<?x1024xbf16>, tensor<1024x4xbf16> offsets tensor<?xi32> state tensor<8x3x1024xbf16> indices tensor<?xi32> -> tensor<?x1024xf32>, tensor<8x3x1024xbf16>
  %y = hk.silu %0 : tensor<?x1024xf32> -> tensor<?x1024xbf16>
  %q = tensor.extract_slice %y[0, 0] [%n, 256] [1, 1] : tensor<?x1024xbf16> to tensor<?x256xbf16>
  %k = tensor.extract_slice %y[0, 256] [%n, 256] [1, 1] : tensor<?x1024xbf16> to tensor<?x256xbf16>
  %v = tensor.extract_slice %y[0, 512] [%n, 512] [1, 1] : tensor<?x1024xbf16> to tensor<?x512xbf16>
  %kh = tensor.expand_shape %k [[0], [1, 2]] output_shape [%n, 2, 128] : tensor<?x256xbf16> into tensor<?x2x128xbf16>
  %vh = tensor.expand_shape %v [[0], [1, 2]] output_shape [%n, 4, 128] : tensor<?x512xbf16> into tensor<?x4x128xbf16>
  return %q, %kh, %vh, %s2 : tensor<?x256xbf16>, tensor<?x2x128xbf16>, tensor<?x4x128xbf16>, tensor<8x3x1024xbf16>
}
// Slices before the activation, and channels that no vector divides.
func.func @odd(%x: tensor<?x45xf32>, %w: tensor<45x4xf32>, %cu: tensor<?xi32>, %s: tensor<8x3x45xf32> {hk.state}, %lines: tensor<?xi32>) -> (tensor<?x11xf32>, tensor<?x11xf32>, tensor<?x23xbf16>, tensor<8x3x45xf32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x45xf32>
  %0, %s2 = hk.causal_conv1d channel_last %x, %w offsets %cu state %s indices %lines : tensor<?x45xf32>, tensor<45x4xf32> offsets tensor<?xi32> state tensor<8x3x45xf32> indices tensor<?xi32> -> tensor<?x45xf32>, tensor<8x3x45xf32>
  %q0 = tensor.extract_slice %0[0, 0] [%n, 11] [1, 1] : tensor<?x45xf32> to tensor<?x11xf32>
  %k0 = tensor.extract_slice %0[0, 11] [%n, 11] [1, 1] : tensor<?x45xf32> to tensor<?x11xf32>
  %v0 = tensor.extract_slice %0[0, 22] [%n, 23] [1, 1] : tensor<?x45xf32> to tensor<?x23xf32>
  %q = hk.silu %q0 : tensor<?x11xf32>
  %k = hk.silu %k0 : tensor<?x11xf32>
  %v = hk.silu %v0 : tensor<?x23xf32> -> tensor<?x23xbf16>
  return %q, %k, %v, %s2 : tensor<?x11xf32>, tensor<?x11xf32>, tensor<?x23xbf16>, tensor<8x3x45xf32>
}
// 16 heads of q and of k, 32 of v; lines that have no state yet.
func.func @qwen3_next_tp1(%x: tensor<?x8192xbf16>, %w: tensor<8192x4xbf16>, %b: tensor<8192xbf16>, %cu: tensor<?xi32>, %s: tensor<4x3x8192xbf16> {hk.state}, %lines: tensor<?xi32>, %initial: tensor<?xi1>) -> (tensor<?x2048xbf16>, tensor<?x2048xbf16>, tensor<?x4096xbf16>, tensor<4x3x8192xbf16>) {
  %c, %s2 = hk.causal_conv1d channel_last %x, %w bias %b offsets %cu state %s indices %lines has_initial %initial : tensor<?x8192xbf16>, tensor<8192x4xbf16> bias tensor<8192xbf16> offsets tensor<?xi32> state tensor<4x3x8192xbf16> indices tensor<?xi32> has_initial tensor<?xi1> -> tensor<?x8192xf32>, tensor<4x3x8192xbf16>
  %y = hk.silu %c : tensor<?x8192xf32> -> tensor<?x8192xbf16>
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x8192xbf16>
  %t2 = tensor.dim %y, %c0 : tensor<?x8192xbf16>
  %q = tensor.extract_slice %y[0, 0] [%t2, 2048] [1, 1] : tensor<?x8192xbf16> to tensor<?x2048xbf16>
  %k = tensor.extract_slice %y[0, 2048] [%t2, 2048] [1, 1] : tensor<?x8192xbf16> to tensor<?x2048xbf16>
  %v = tensor.extract_slice %y[0, 4096] [%t2, 4096] [1, 1] : tensor<?x8192xbf16> to tensor<?x4096xbf16>
  return %q, %k, %v, %s2 : tensor<?x2048xbf16>, tensor<?x2048xbf16>, tensor<?x4096xbf16>, tensor<4x3x8192xbf16>
}
// Prefix caching: the states of whole blocks of 16 tokens are kept.
func.func @blocks_16(%x: tensor<?x96xf16>, %w: tensor<96x4xf16>, %cu: tensor<?xi32>, %s: tensor<50x3x96xf16> {hk.state}, %table: tensor<?x6xi32>, %computed: tensor<?xi32>) -> (tensor<?x24xf16>, tensor<?x24xf16>, tensor<?x48xf16>, tensor<50x3x96xf16>) {
  %c, %s2 = hk.causal_conv1d channel_last %x, %w offsets %cu state %s indices %table computed %computed block 16 : tensor<?x96xf16>, tensor<96x4xf16> offsets tensor<?xi32> state tensor<50x3x96xf16> indices tensor<?x6xi32> computed tensor<?xi32> -> tensor<?x96xf32>, tensor<50x3x96xf16>
  %y = hk.silu %c : tensor<?x96xf32> -> tensor<?x96xf16>
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x96xf16>
  %t2 = tensor.dim %y, %c0 : tensor<?x96xf16>
  %q = tensor.extract_slice %y[0, 0] [%t2, 24] [1, 1] : tensor<?x96xf16> to tensor<?x24xf16>
  %k = tensor.extract_slice %y[0, 24] [%t2, 24] [1, 1] : tensor<?x96xf16> to tensor<?x24xf16>
  %v = tensor.extract_slice %y[0, 48] [%t2, 48] [1, 1] : tensor<?x96xf16> to tensor<?x48xf16>
  return %q, %k, %v, %s2 : tensor<?x24xf16>, tensor<?x24xf16>, tensor<?x48xf16>, tensor<50x3x96xf16>
}
func.func @width_3_no_states(%x: tensor<?x50xf32>, %w: tensor<50x3xf32>, %cu: tensor<?xi32>) -> (tensor<?x13xf32>, tensor<?x13xf32>, tensor<?x24xf32>) {
  %y = hk.causal_conv1d channel_last %x, %w offsets %cu : tensor<?x50xf32>, tensor<50x3xf32> offsets tensor<?xi32> -> tensor<?x50xf32>
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x50xf32>
  %t2 = tensor.dim %y, %c0 : tensor<?x50xf32>
  %q = tensor.extract_slice %y[0, 0] [%t2, 13] [1, 1] : tensor<?x50xf32> to tensor<?x13xf32>
  %k = tensor.extract_slice %y[0, 13] [%t2, 13] [1, 1] : tensor<?x50xf32> to tensor<?x13xf32>
  %v = tensor.extract_slice %y[0, 26] [%t2, 24] [1, 1] : tensor<?x50xf32> to tensor<?x24xf32>
  return %q, %k, %v : tensor<?x13xf32>, tensor<?x13xf32>, tensor<?x24xf32>
}
