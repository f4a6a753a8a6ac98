// Products that send compile with tiles of every width: 224 columns are 28 accesses, which do not fill a warp.
// RUN: hk-compile %s --target=sm_90a --emit=kernels | FileCheck %s
// RUN: hk-compile %s --target=sm_90a -o %t.so

module attributes {hk.mesh = "tp=2"} {
// CHECK: GemmProblem<
// CHECK: 128, 224, 64
// CHECK: HK_MAPPED_KERNEL
// CHECK: SentResults(
func.func @product(%x: tensor<?x512xbf16>, %v: tensor<8192x512xbf16>, %r: tensor<?x8192xbf16>) -> tensor<?x8192xbf16> {
  %0 = hk.matmul %x, %v transpose_b : tensor<?x512xbf16>, tensor<8192x512xbf16> -> tensor<?x8192xbf16>
  %1 = hk.all_reduce sum %0 axis "tp" transport any_order : tensor<?x8192xbf16>
  %2 = hk.add %1, %r : tensor<?x8192xbf16>
  return %2 : tensor<?x8192xbf16>
}
}
