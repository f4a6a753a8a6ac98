// Every kernel that reads what others make says why it is none of them.
// RUN: hk-compile %s --target=gfx942 --emit=mlir --explain -o /dev/null | FileCheck %s

// CHECK: @matmul gemm
// CHECK-NOT: its own launch
// CHECK: @rms_norm rowwise: rms_norm; #hk.row_tile<{{.*}}>, LDS {{[0-9]+}} of 65536 bytes, {{[0-9]+}} threads
// CHECK-NEXT: its own launch: hk.rms_norm is not in that of hk.matmul (needs-whole-row)
// CHECK: gemm: matmul
// CHECK-NEXT: its own launch: hk.matmul is not in that of hk.rms_norm (other-family)
func.func @f(%x: tensor<?x64xbf16>, %w: tensor<64x64xbf16>, %g: tensor<64xbf16>, %v: tensor<96x64xbf16>) -> tensor<?x96xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x64xbf16>, tensor<64x64xbf16> -> tensor<?x64xbf16>
  %n = hk.rms_norm %y, %g epsilon 1.0e-05 : tensor<?x64xbf16>, tensor<64xbf16>
  %z = hk.matmul %n, %v transpose_b : tensor<?x64xbf16>, tensor<96x64xbf16> -> tensor<?x96xbf16>
  return %z : tensor<?x96xbf16>
}
