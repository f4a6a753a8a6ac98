// RUN: hk-compile %s --target=gfx942 --emit=llvm -o - | FileCheck %s
// RUN: hk-compile %s --target=sm_90a --emit=llvm -o - | FileCheck %s --check-prefix=FAR
// Blocks of AMD chips read rows of a tile at offsets of 32 bits. Whether they reach is
// asked of the strides at every launch, as an operand may be a slice of anything: rows
// of the left operand, of the depth of the right one; keys and values of attention.

// CHECK-LABEL: define {{.*}}matmul{{.*}}_plan(
// CHECK: call i64 @llvm.smin.i64(i64 %{{.+}}, i64 32)
// CHECK: icmp sgt i64 %{{.+}}, 2147483616
// CHECK: select i1 %{{.+}}, i32 -2, i32
// CHECK-LABEL: define {{.*}}attention_plan(
// CHECK: %[[KEYS:.+]] = call i64 @llvm.smin.i64(i64 %{{.+}}, i64 64)
// CHECK: mul i64 %[[KEYS]], %{{.+}}
// CHECK: mul i64 %[[KEYS]], %{{.+}}
// CHECK: select i1 %{{.+}}, i32 -2, i32
// FAR-NOT: i32 -2
func.func @product(%x: tensor<?x?xbf16>, %w: tensor<64x128xbf16>) -> tensor<?x128xbf16> {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x?xbf16>
  %a = tensor.extract_slice %x[0, 0] [%rows, 64] [1, 1] : tensor<?x?xbf16> to tensor<?x64xbf16>
  %0 = hk.matmul %a, %w : tensor<?x64xbf16>, tensor<64x128xbf16> -> tensor<?x128xbf16>
  return %0 : tensor<?x128xbf16>
}

func.func @attention(%q: tensor<1x200x2x64xbf16>, %k: tensor<?x1x2x64xbf16>, %v: tensor<?x1x2x64xbf16>) -> tensor<1x200x2x64xbf16> {
  %keys = hk.transpose %k [1, 0, 2, 3] : tensor<?x1x2x64xbf16> -> tensor<1x?x2x64xbf16>
  %values = hk.transpose %v [1, 0, 2, 3] : tensor<?x1x2x64xbf16> -> tensor<1x?x2x64xbf16>
  %0 = hk.attention %q, %keys, %values scale 0.125 : tensor<1x200x2x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16> -> tensor<1x200x2x64xbf16>
  return %0 : tensor<1x200x2x64xbf16>
}
