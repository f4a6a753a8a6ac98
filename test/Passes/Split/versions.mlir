// Where only a call tells the number of rows, a function gets versions for few rows that
// are split for them; of those that split alike the one for most rows stays, also of those
// that split nothing below one that does.
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-split | FileCheck %s
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-split=k=2 | FileCheck %s --check-prefix=FORCED
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-split="k=1 keys=1" | FileCheck %s --check-prefix=FORCED
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-split | FileCheck %s --check-prefix=SM90
// RUN: hk-opt %s --hk-assign-target=target=gfx950 --hk-split | FileCheck %s --check-prefix=CDNA4
// RUN: hk-opt %s --hk-assign-target=target=host --hk-split | FileCheck %s --check-prefix=HOST
// RUN: hk-compile %s --target=gfx942 --explain --emit=mlir -o /dev/null | FileCheck %s --check-prefix=EXPLAIN
// RUN: hk-compile %s --target=gfx942 --explain=json --emit=mlir -o /dev/null | FileCheck %s --check-prefix=JSON
// RUN: hk-compile %s --target=gfx942 --emit=llvm -o - | FileCheck %s --check-prefix=LLVM

// FORCED-NOT: hk.version

// CHECK-LABEL: func.func @product(
// CHECK: hk.matmul %arg0, %arg1 transpose_b :
// CHECK-LABEL: func.func @product__up_to_1(
// CHECK: k_slices 32 :
// CHECK-LABEL: func.func @product__up_to_1024(
// CHECK-SAME: hk.version = #hk.version<of = @product, argument = 0, dim = 0, at_most = 1024>
// CHECK: hk.matmul {{.*}} k_slices 16
// CHECK: hk.sum_slices
// CHECK-LABEL: func.func @product__up_to_4096(
// CHECK: hk.matmul {{.*}} k_slices 4
// On sm_90a more rows than 256 have tiles enough.
// SM90-LABEL: func.func @product(
// SM90-NOT: k_slices
// SM90: func.func @product__up_to_256(
// SM90: hk.matmul {{.*}} k_slices 4
// SM90-NOT: @product__up_to
// CDNA4-LABEL: func.func @product(
// CDNA4-NOT: k_slices
// CDNA4: func.func @product__up_to_16(
// CDNA4: hk.matmul {{.*}} k_slices 16
// CDNA4: func.func @product__up_to_4096(
// CDNA4: hk.matmul {{.*}} k_slices 4
// CDNA4-NOT: @product__up_to
// HOST-NOT: hk.version
// EXPLAIN: launches of @product: matmul
// EXPLAIN-NEXT: with x.0 at most 1, 2 launches: matmul{{.*}}, sum_slices
// EXPLAIN-NEXT: with x.0 at most 1024, 2 launches: matmul{{.*}}, sum_slices
// EXPLAIN-NEXT: with x.0 at most 4096, 2 launches: matmul{{.*}}, sum_slices
// JSON: "name":"product","order":["matmul{{[^]]*}}],"versions":[{"at_most":1,{{.*}}},{"at_most":1024,"dim":"x.0","folded":["matmul{{[^"]*}}","sum_slices{{[^"]*}}"],"launches":2,"order":["matmul{{[^"]*}}","sum_slices{{[^"]*}}"]},{"at_most":4096,{{.*}}}]
func.func @product(%x: tensor<?x8192xbf16> {hk.name = "x"}, %w: tensor<1024x8192xbf16>) -> tensor<?x1024xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x8192xbf16>, tensor<1024x8192xbf16> -> tensor<?x1024xbf16>
  return %0 : tensor<?x1024xbf16>
}

// The steps of some sequences.
// CHECK-LABEL: func.func @steps(
// CHECK-NOT: kv_slices
// CHECK-LABEL: func.func @steps__up_to_16(
// CHECK: hk.attention {{.*}} kv_slices
// CHECK: hk.attention_combine
// CHECK-NOT: @steps__up_to
func.func @steps(%q: tensor<?x8x64xbf16> {hk.name = "q"}, %k: tensor<?x16x2x64xbf16>, %v: tensor<?x16x2x64xbf16>, %table: tensor<?x?xi32>, %offsets: tensor<?xi32>, %lens: tensor<?xi32>) -> tensor<?x8x64xbf16> {
  %o = hk.attention %q, %k, %v q_offsets %offsets kv_lens %lens block_table %table scale 0.125 causal : tensor<?x8x64xbf16>, tensor<?x16x2x64xbf16>, tensor<?x16x2x64xbf16> q_offsets tensor<?xi32> kv_lens tensor<?xi32> block_table tensor<?x?xi32> -> tensor<?x8x64xbf16>
  return %o : tensor<?x8x64xbf16>
}

// Columns enough for every unit: nothing to split, no version.
// CHECK-LABEL: func.func @wide(
// CHECK-NOT: @wide__up_to
func.func @wide(%x: tensor<?x256xbf16>, %w: tensor<65536x256xbf16>) -> tensor<?x65536xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x256xbf16>, tensor<65536x256xbf16> -> tensor<?x65536xbf16>
  return %0 : tensor<?x65536xbf16>
}

// An unknown k is not a matter of rows.
// CHECK-LABEL: func.func @depth(
// CHECK-NOT: @depth__up_to
func.func @depth(%x: tensor<?x?xbf16>, %w: tensor<1024x?xbf16>) -> tensor<?x1024xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x?xbf16>, tensor<1024x?xbf16> -> tensor<?x1024xbf16>
  return %0 : tensor<?x1024xbf16>
}

// The public name asks for the rows of the call.
// LLVM-LABEL: define void @hk_gfx942_product_run(
// LLVM: icmp sle i64 %{{.*}}, 1024
// LLVM: call void @hk_gfx942_product__up_to_1024_run(
// LLVM: icmp sle i64 %{{.*}}, 4096
// LLVM: call void @hk_gfx942_product__up_to_4096_run(
// LLVM: call void @hk_gfx942_product__any_run(
// LLVM-LABEL: define void @hk_gfx942_product_shape(
// LLVM: icmp sle i64 %{{.*}}, 1024
// LLVM: call void @hk_gfx942_product__up_to_1024_shape(
// LLVM: call void @hk_gfx942_product__any_shape(
