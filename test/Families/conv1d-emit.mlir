// The kernel of a convolution with a split: the activation is computed once,
// and every result is stored where its channels are.
// RUN: hk-compile %s --emit=kernels --target=gfx942 -o - | FileCheck %s

// CHECK: constexpr Conv1dSpec kSpec = {
// CHECK: .input = DType::BF16,
// CHECK: .weight = DType::F32,
// CHECK: .stateLength = 3,
// CHECK: .hasInitial = false,
// CHECK: a.sequences = i64(words[{{[0-9]+}}]) - 1;
// CHECK: struct Epilogue_v0
// CHECK: [[Y:v[0-9]+]] = roundTo<DType::BF16, 8>(silu<8>(sums))
// CHECK-NEXT: if (channel >= 0 && channel < 128) {
// CHECK-NEXT: storeExact<DType::BF16, 8, 16>(p5, {{.*}}, [[Y]])
// CHECK: if (channel >= 128 && channel < 512) {
// CHECK-NEXT: storeExact<DType::BF16, 8, 16>(p6, {{.*}}, [[Y]])
// CHECK: using Conv_v0 = Conv1d<kSpec, Conv1dTile{256, 64, 8, 8}>;
// CHECK: HK_KERNEL({{.*}}, Conv_v0::kThreads, 2, hk::NoShared)
func.func @split(%x: tensor<?x512xbf16>, %w: tensor<512x4xf32>, %cu: tensor<?xi32>, %lines: tensor<?xi32>, %s: tensor<9x3x512xbf16> {hk.state}) -> (tensor<?x128xbf16>, tensor<?x384xbf16>, tensor<9x3x512xbf16>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x512xbf16>
  %0, %t = hk.causal_conv1d channel_last %x, %w offsets %cu state %s indices %lines : tensor<?x512xbf16>, tensor<512x4xf32> offsets tensor<?xi32> state tensor<9x3x512xbf16> indices tensor<?xi32> -> tensor<?x512xf32>, tensor<9x3x512xbf16>
  %1 = hk.silu %0 : tensor<?x512xf32> -> tensor<?x512xbf16>
  %q = tensor.extract_slice %1[0, 0] [%n, 128] [1, 1] : tensor<?x512xbf16> to tensor<?x128xbf16>
  %v = tensor.extract_slice %1[0, 128] [%n, 384] [1, 1] : tensor<?x512xbf16> to tensor<?x384xbf16>
  return %q, %v, %t : tensor<?x128xbf16>, tensor<?x384xbf16>, tensor<9x3x512xbf16>
}
