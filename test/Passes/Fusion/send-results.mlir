// A product whose result the next sum over two ranks adds sends it tile by tile; where it does not, the reason.
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles --hk-send-results | FileCheck %s
// RUN: hk-compile %s --target=sm_90a --explain | FileCheck %s --check-prefix=EXPLAIN
// RUN: hk-compile %s --target=sm_90a --emit=kernels | FileCheck %s --check-prefix=KERNEL
// RUN: sed 's/hk.mesh = "tp=2"/&, hk.exchange = "kernel"/' %s > %t.kernel.mlir
// RUN: hk-compile %t.kernel.mlir --target=sm_90a --explain | FileCheck %s --check-prefix=DISABLED
// RUN: sed 's/hk.mesh = "tp=2"/hk.mesh = "tp=4"/' %s > %t.four.mlir
// RUN: hk-compile %t.four.mlir --target=sm_90a --explain | FileCheck %s --check-prefix=FOUR
// RUN: sed 's/hk.mesh = "tp=2"/&, hk.exchange = "product"/' %s > %t.product.mlir
// RUN: hk-compile %t.product.mlir --target=gfx942 --explain | FileCheck %s --check-prefix=AMD

// DISABLED-NOT: sent to the other rank
// DISABLED: exchanged: {{.*}}: sent by the sum behind it; not tile by tile (disabled): the module asks for it
// FOUR-NOT: sent to the other rank
// FOUR: exchanged: {{.*}}: sent by the sum behind it; not tile by tile (unsupported-shape): a product sends to one other rank
// AMD-NOT: sent to the other rank
// AMD: exchanged: {{.*}}: sent by the sum behind it; not tile by tile (unsupported-shape): none of its variants stores

module attributes {hk.mesh = "tp=2"} {
// 132 tiles of 128 x 256 elements are computed at once.
// The residual is the product's last input, and the kernel behind adds it where the product did not.
// CHECK: hk.kernel @[[SENDS:.*]] gemm inputs 3 {{.*}}attributes {hk.adds, hk.sends = "tp"}
// CHECK: hk.kernel @[[SUM:.*]] rowwise inputs 2 {{.*}}attributes {hk.adds}
// CHECK-NOT: attributes {{.*}}hk.sends
// EXPLAIN: exchanged: {{.*}}: sent to the other rank tile by tile, of 8650753 bytes and more, before the sum
// KERNEL: HK_MAPPED_KERNEL({{.*}}, 20, 3,
// KERNEL: SentResults(StoreRounded<bf16>{}, {words[3], i64(words[8])}, {words[2], i64(words[7])}, words + 9)
// KERNEL: if (!words[11]) prefetchL2<16384>((const void *)(p1
// KERNEL: exchangeRow<{{.*}}lds.sums, added
// CHECK-LABEL: func.func @sends
// CHECK: %[[O:.*]] = hk.launch @[[SENDS]] ins(%{{.*}}, %{{.*}}, %[[R:arg[0-9]+]] :
// CHECK: hk.launch @[[SUM]] ins(%[[O]], %[[R]] :
func.func @sends(%x: tensor<?x4096xbf16>, %w: tensor<8192x4096xbf16>, %r: tensor<?x8192xbf16>) -> tensor<?x8192xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x4096xbf16>, tensor<8192x4096xbf16> -> tensor<?x8192xbf16>
  %1 = hk.all_reduce sum %0 axis "tp" transport any_order : tensor<?x8192xbf16>
  %2 = hk.add %1, %r : tensor<?x8192xbf16>
  return %2 : tensor<?x8192xbf16>
}

// EXPLAIN-DAG: not tile by tile (unsupported-shape): none of its variants stores a matrix of 16-bit elements
func.func @wide(%x: tensor<?x1024xbf16>, %w: tensor<4096x1024xbf16>, %r: tensor<?x4096xbf16>) -> tensor<?x4096xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x1024xbf16>, tensor<4096x1024xbf16> -> tensor<?x4096xf32>
  %1 = hk.all_reduce sum %0 axis "tp" : tensor<?x4096xf32> -> tensor<?x4096xbf16>
  %2 = hk.add %1, %r : tensor<?x4096xbf16>
  return %2 : tensor<?x4096xbf16>
}

// The second product would write into the slot that the first sum reads.
// EXPLAIN-DAG: not tile by tile (would-cycle): another exchange is launched between it and the sum
func.func @between(%x: tensor<?x2048xbf16>, %w: tensor<4096x2048xbf16>, %v: tensor<2048x2048xbf16>,
    %r: tensor<?x4096xbf16>, %s: tensor<?x2048xbf16>) -> (tensor<?x4096xbf16>, tensor<?x2048xbf16>) {
  %0 = hk.matmul %x, %v transpose_b : tensor<?x2048xbf16>, tensor<2048x2048xbf16> -> tensor<?x2048xbf16>
  %1 = hk.all_reduce sum %r axis "tp" transport any_order : tensor<?x4096xbf16>
  %2 = hk.relu %1 : tensor<?x4096xbf16>
  %3 = hk.all_reduce sum %0 axis "tp" transport any_order : tensor<?x2048xbf16>
  %4 = hk.add %3, %s : tensor<?x2048xbf16>
  return %2, %4 : tensor<?x4096xbf16>, tensor<?x2048xbf16>
}

// The product would leave sums where its own terms are returned.
// EXPLAIN-DAG: not tile by tile (result-escapes): something else reads what it computes
func.func @returned(%x: tensor<?x256xbf16>, %w: tensor<4096x256xbf16>, %r: tensor<?x4096xbf16>)
    -> (tensor<?x4096xbf16>, tensor<?x4096xbf16>) {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x256xbf16>, tensor<4096x256xbf16> -> tensor<?x4096xbf16>
  %1 = hk.all_reduce sum %0 axis "tp" transport any_order : tensor<?x4096xbf16>
  %2 = hk.add %1, %r : tensor<?x4096xbf16>
  return %0, %2 : tensor<?x4096xbf16>, tensor<?x4096xbf16>
}

// EXPLAIN-DAG: not tile by tile (unsupported-dtype): it sends sums of the type of its result
func.func @widened(%x: tensor<?x768xbf16>, %w: tensor<4096x768xbf16>, %r: tensor<?x4096xf32>) -> tensor<?x4096xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x768xbf16>, tensor<4096x768xbf16> -> tensor<?x4096xbf16>
  %1 = hk.all_reduce sum %0 axis "tp" : tensor<?x4096xbf16> -> tensor<?x4096xf32>
  %2 = hk.add %1, %r : tensor<?x4096xf32>
  return %2 : tensor<?x4096xf32>
}

// A kernel that two launches have, of which one is returned.
// EXPLAIN-DAG: not tile by tile (result-escapes): some of its launches make what no sum over ranks reads
func.func @escapes(%x: tensor<?x512xbf16>, %y: tensor<?x512xbf16>, %w: tensor<4096x512xbf16>, %r: tensor<?x4096xbf16>)
    -> (tensor<?x4096xbf16>, tensor<?x4096xbf16>) {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x512xbf16>, tensor<4096x512xbf16> -> tensor<?x4096xbf16>
  %1 = hk.all_reduce sum %0 axis "tp" transport any_order : tensor<?x4096xbf16>
  %2 = hk.add %1, %r : tensor<?x4096xbf16>
  %3 = hk.matmul %y, %w transpose_b : tensor<?x512xbf16>, tensor<4096x512xbf16> -> tensor<?x4096xbf16>
  return %2, %3 : tensor<?x4096xbf16>, tensor<?x4096xbf16>
}
}
