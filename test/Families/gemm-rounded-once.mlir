// What a product's epilogue quantises is packed once on sm_90a: rounded first,
// it would be packed, unpacked and packed again.
// RUN: hk-compile %s --target=sm_90a --emit=kernels | FileCheck %s

// CHECK-NOT: roundTo<DType::F8E4M3FN
// CHECK: store<DType::F8E4M3FN, 8, 8>(p2, {{.*}}, divideFor8Bits<8>(
// CHECK-NOT: roundTo<DType::F8E4M3FN
func.func @quantize(%x: tensor<4096x512xbf16>, %w: tensor<1024x512xbf16>) -> (tensor<4096x1024xf8E4M3FN>, tensor<4096x8xf32>) {
  %0 = hk.matmul %x, %w transpose_b : tensor<4096x512xbf16>, tensor<1024x512xbf16> -> tensor<4096x1024xbf16>
  %q, %s = hk.quantize per_group %0 group 128 : tensor<4096x1024xbf16> -> tensor<4096x1024xf8E4M3FN>, tensor<4096x8xf32>
  return %q, %s : tensor<4096x1024xf8E4M3FN>, tensor<4096x8xf32>
}
