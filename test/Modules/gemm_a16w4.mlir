// 16-bit rows and integer weights of 4 bits (and of 8) with a scale and, mostly, a zero
// point per group of k: the products of AWQ, GPTQ and MatMulNBits checkpoints. Groups
// that k is no multiple of, odd numbers of columns, zero points at their ends.
// HK-LAUNCHES: 1
// HK-ARGS: --range=c=-8:7
// HK-ARGS: --range=w=0:15
// HK-ARGS: --range=q=-128:127
// HK-ARGS: --range=z=0:15
// HK-ARGS: --range=z4=-8:7
// HK-ARGS: --range=z8=-128:127
// HK-ARGS: --range=ends=distinct:15
// HK-ARGS: --range=blocks=0:2
// HK-ARGS: --range=order=distinct:9
// HK-ARGS: --range=x=0:15
// HK-ARGS: --range=xz=-128:127
// HK-ARGS: --range=xq=-128:127
// HK-DIMS: x.0=1
// HK-DIMS: x.0=7
// HK-DIMS: x.0=0
// HK-DIMS: @awq @symmetric @tail_odd x.0=64
// HK-DIMS: @awq x.0=130
// HK-DIMS: @tail_odd x.0=5 --data=nan
// HK-DIMS: @tail_odd x.0=5 --data=inf
// HK-DIMS: @columns x.0=5 --data=inf

func.func @awq(%x: tensor<?x256xf16>, %w: tensor<136x256xui4>, %s: tensor<136x2xf16>, %z: tensor<136x2xui4>) -> tensor<?x136xf16> {
  %d = hk.dequantize %w, %s, %z : tensor<136x256xui4>, tensor<136x2xf16>, tensor<136x2xui4> -> tensor<136x256xf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x256xf16>, tensor<136x256xf16> -> tensor<?x136xf16>
  return %y : tensor<?x136xf16>
}
func.func @symmetric(%x: tensor<?x256xbf16>, %c: tensor<72x256xi4>, %s: tensor<72x8xbf16>) -> tensor<?x72xbf16> {
  %d = hk.dequantize %c, %s group 32 : tensor<72x256xi4>, tensor<72x8xbf16> -> tensor<72x256xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x256xbf16>, tensor<72x256xbf16> -> tensor<?x72xbf16>
  return %y : tensor<?x72xbf16>
}
func.func @whole_256(%x: tensor<?x512xbf16>, %c: tensor<72x512xi4>, %s: tensor<72x2xf32>, %z4: tensor<72x2xi4>) -> tensor<?x72xf32> {
  %d = hk.dequantize %c, %s, %z4 group 256 : tensor<72x512xi4>, tensor<72x2xf32>, tensor<72x2xi4> -> tensor<72x512xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x512xbf16>, tensor<72x512xbf16> -> tensor<?x72xf32>
  return %y : tensor<?x72xf32>
}
func.func @tail_odd(%x: tensor<?x198xbf16>, %w: tensor<37x198xui4>, %s: tensor<37x4xf32>, %z: tensor<37x4xui4>) -> tensor<?x37xbf16> {
  %d = hk.dequantize %w, %s, %z group 64 : tensor<37x198xui4>, tensor<37x4xf32>, tensor<37x4xui4> -> tensor<37x198xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x198xbf16>, tensor<37x198xbf16> -> tensor<?x37xbf16>
  return %y : tensor<?x37xbf16>
}
func.func @short(%x: tensor<?x6xf16>, %w: tensor<33x6xui4>, %s: tensor<33x1xf16>, %z8: tensor<33x1xi8>) -> tensor<?x33xf16> {
  %d = hk.dequantize %w, %s, %z8 group 32 : tensor<33x6xui4>, tensor<33x1xf16>, tensor<33x1xi8> -> tensor<33x6xf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x6xf16>, tensor<33x6xf16> -> tensor<?x33xf16>
  return %y : tensor<?x33xf16>
}
func.func @zero_ends(%x: tensor<?x64xbf16>, %w: tensor<16x64xui4>, %s: tensor<16x1xf32>, %ends: tensor<16x1xi8>) -> tensor<?x16xf32> {
  %d = hk.dequantize %w, %s, %ends group 64 : tensor<16x64xui4>, tensor<16x1xf32>, tensor<16x1xi8> -> tensor<16x64xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x64xbf16>, tensor<16x64xbf16> -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}
// Without zero points MatMulNBits means 8.
func.func @default_zero(%x: tensor<?x128xf16>, %w: tensor<40x128xui4>, %s: tensor<40x4xf16>) -> tensor<?x40xf16> {
  %z = hk.constant 8 : tensor<1xi8>
  %d = hk.dequantize %w, %s, %z group 32 : tensor<40x128xui4>, tensor<40x4xf16>, tensor<1xi8> -> tensor<40x128xf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x128xf16>, tensor<40x128xf16> -> tensor<?x40xf16>
  return %y : tensor<?x40xf16>
}
func.func @float_zero(%x: tensor<?x136xf16>, %w: tensor<72x136xui4>, %s: tensor<72x3xf16>, %zf: tensor<72x3xf16>) -> tensor<?x72xf16> {
  %d = hk.dequantize %w, %s, %zf group 64 : tensor<72x136xui4>, tensor<72x3xf16>, tensor<72x3xf16> -> tensor<72x136xf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x136xf16>, tensor<72x136xf16> -> tensor<?x72xf16>
  return %y : tensor<?x72xf16>
}
// GGUF's Q4_1: a scale and a minimum, in f32 and in bf16.
func.func @minimum(%x: tensor<?x160xf32>, %w: tensor<40x160xui4>, %s: tensor<40x5xf16>, %m: tensor<40x5xf16>) -> tensor<?x40xf32> {
  %d = hk.dequantize %w, %s, %m offset group 32 : tensor<40x160xui4>, tensor<40x5xf16>, tensor<40x5xf16> -> tensor<40x160xf32>
  %y = hk.matmul %x, %d transpose_b : tensor<?x160xf32>, tensor<40x160xf32> -> tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}
func.func @minimum_tail(%x: tensor<?x86xbf16>, %w: tensor<33x86xui4>, %s: tensor<33x3xf16>, %m: tensor<33x3xf16>) -> tensor<?x33xbf16> {
  %d = hk.dequantize %w, %s, %m offset group 32 : tensor<33x86xui4>, tensor<33x3xf16>, tensor<33x3xf16> -> tensor<33x86xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x86xbf16>, tensor<33x86xbf16> -> tensor<?x33xbf16>
  return %y : tensor<?x33xbf16>
}
func.func @minimum_of_all(%x: tensor<?x64xbf16>, %q: tensor<24x64xi8>, %s: tensor<24x2xf32>) -> tensor<?x24xf32> {
  %m = hk.constant -0.75 : tensor<1xf32>
  %d = hk.dequantize %q, %s, %m offset group 32 : tensor<24x64xi8>, tensor<24x2xf32>, tensor<1xf32> -> tensor<24x64xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x64xbf16>, tensor<24x64xbf16> -> tensor<?x24xf32>
  return %y : tensor<?x24xf32>
}
// Not in front of a product.
func.func @minimum_alone(%x: tensor<?x64xui4>, %s: tensor<?x2xf16>, %m: tensor<?x2xf16>) -> tensor<?x64xf32> {
  %d = hk.dequantize %x, %s, %m offset group 32 : tensor<?x64xui4>, tensor<?x2xf16>, tensor<?x2xf16> -> tensor<?x64xf32>
  return %d : tensor<?x64xf32>
}
func.func @int8_zero(%x: tensor<?x200xbf16>, %q: tensor<72x200xi8>, %s: tensor<72x2xbf16>, %z8: tensor<72x2xi8>) -> tensor<?x72xbf16> {
  %d = hk.dequantize %q, %s, %z8 : tensor<72x200xi8>, tensor<72x2xbf16>, tensor<72x2xi8> -> tensor<72x200xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x200xbf16>, tensor<72x200xbf16> -> tensor<?x72xbf16>
  return %y : tensor<?x72xbf16>
}
func.func @columns(%x: tensor<?x70xbf16>, %w: tensor<70x136xui4>, %s: tensor<70x3xf32>, %z8: tensor<70x3xi8>) -> tensor<?x136xbf16> {
  %d = hk.dequantize %w, %s, %z8 group 64 : tensor<70x136xui4>, tensor<70x3xf32>, tensor<70x3xi8> -> tensor<70x136xbf16>
  %y = hk.matmul %x, %d : tensor<?x70xbf16>, tensor<70x136xbf16> -> tensor<?x136xbf16>
  return %y : tensor<?x136xbf16>
}
func.func @f32_rows(%x: tensor<?x72xf32>, %w: tensor<40x72xui4>, %s: tensor<40x2xf32>, %z: tensor<40x2xui4>) -> tensor<?x40xf32> {
  %d = hk.dequantize %w, %s, %z group 64 : tensor<40x72xui4>, tensor<40x2xf32>, tensor<40x2xui4> -> tensor<40x72xf32>
  %y = hk.matmul %x, %d transpose_b : tensor<?x72xf32>, tensor<40x72xf32> -> tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}
func.func @both(%xq: tensor<33x72xi8>, %xs: tensor<33x1xf32>, %xz: tensor<33x1xi8>, %w: tensor<40x72xui4>, %s: tensor<40x2xf32>, %z: tensor<40x2xui4>) -> tensor<33x40xf32> {
  %a = hk.dequantize %xq, %xs, %xz : tensor<33x72xi8>, tensor<33x1xf32>, tensor<33x1xi8> -> tensor<33x72xbf16>
  %d = hk.dequantize %w, %s, %z group 64 : tensor<40x72xui4>, tensor<40x2xf32>, tensor<40x2xui4> -> tensor<40x72xbf16>
  %y = hk.matmul %a, %d transpose_b : tensor<33x72xbf16>, tensor<40x72xbf16> -> tensor<33x40xf32>
  return %y : tensor<33x40xf32>
}
func.func @gated(%x: tensor<?x96xbf16>, %w: tensor<144x96xui4>, %s: tensor<144x4xf16>, %z: tensor<144x4xui4>) -> tensor<?x72xbf16> {
  %d = hk.dequantize %w, %s, %z group 24 : tensor<144x96xui4>, tensor<144x4xf16>, tensor<144x4xui4> -> tensor<144x96xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x96xbf16>, tensor<144x96xbf16> -> tensor<?x144xbf16>
  %g = hk.gated_activation silu %y : tensor<?x144xbf16> -> tensor<?x72xbf16>
  return %g : tensor<?x72xbf16>
}
func.func @batched(%x: tensor<2x5x64xbf16>, %w: tensor<2x40x64xui4>, %s: tensor<2x40x2xbf16>, %z: tensor<2x40x2xui4>) -> tensor<2x5x40xbf16> {
  %d = hk.dequantize %w, %s, %z group 32 : tensor<2x40x64xui4>, tensor<2x40x2xbf16>, tensor<2x40x2xui4> -> tensor<2x40x64xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<2x5x64xbf16>, tensor<2x40x64xbf16> -> tensor<2x5x40xbf16>
  return %y : tensor<2x5x40xbf16>
}
// The experts of a mixture, with weights of MatMulNBits' layout.
func.func @experts(%x: tensor<5x64xbf16>, %blocks: tensor<3xi32>, %order: tensor<12xi32>, %w: tensor<3x40x64xui4>, %s: tensor<3x40x2xbf16>, %z: tensor<3x40x2xui4>) -> tensor<10x40xbf16> {
  %d = hk.dequantize %w, %s, %z group 32 : tensor<3x40x64xui4>, tensor<3x40x2xbf16>, tensor<3x40x2xui4> -> tensor<3x40x64xbf16>
  %y = hk.grouped_matmul %x, %d blocks %blocks order %order transpose_b block 4 top_k 2 : tensor<5x64xbf16>, tensor<3x40x64xbf16> groups tensor<3xi32> order tensor<12xi32> -> tensor<10x40xbf16>
  return %y : tensor<10x40xbf16>
}
