// On sm_90a blocks of a kernel are placed while the kernel before ends. They ask for
// the rows they are going to load, the first also for what all rows share, and then
// wait. Nothing is read or written before.
// RUN: hk-compile %s --emit=kernels --target=sm_90a -o - | FileCheck %s
// RUN: hk-compile %s --emit=kernels --target=gfx942 -o - | FileCheck %s --check-prefix=AMD
// RUN: hk-compile %s --target=sm_90a -o %t.so
// RUN: FileCheck %s --check-prefix=PTX --input-file=%t.so

// AMD-NOT: prefetchL2
// AMD-NOT: beginAfterLast
// AMD-NOT: HK_EARLY_KERNEL

// CHECK-LABEL: ==== @add_rms_norm
// CHECK: HK_EARLY_KERNEL(
// CHECK-NEXT: const auto ask = [&](BlockId block) {
// CHECK: if (thread == 0) {
// CHECK-NEXT: prefetchL2<8192>({{.*}}p0 + (strided(row, s0_0))
// CHECK-NEXT: prefetchL2<8192>({{.*}}p1 + (strided(row, s1_0))
// CHECK-NEXT: if (row == 0) {
// CHECK-NEXT: prefetchL2<8192>({{.*}}p2 +
// CHECK-NOT: load
// CHECK: if (block.x < [[ONCE:[0-9]+]]) ask(block);
// CHECK-NEXT: beginAfterLast();
// CHECK-NEXT: if (block.x + [[ONCE]] < blockCountX()) ask(BlockId{block.x + [[ONCE]], 0, 0});
// CHECK: loadPacked
// PTX: cp.async.bulk.prefetch.L2.global
// PTX-NOT: ld.global
// PTX: griddepcontrol.wait
func.func @norm(%x: tensor<?x4096xbf16>, %r: tensor<?x4096xbf16>, %w: tensor<4096xbf16>) -> (tensor<?x4096xbf16>, tensor<?x4096xbf16>) {
  %s = hk.add %x, %r : tensor<?x4096xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-05 : tensor<?x4096xbf16>, tensor<4096xbf16>
  return %y, %s : tensor<?x4096xbf16>, tensor<?x4096xbf16>
}

// Which row is read is itself loaded: only the weight is known.
// CHECK-LABEL: ==== @gather_rows_rms_norm
// CHECK: if (thread == 0) {
// CHECK-NEXT: if (row == 0) {
// CHECK-NEXT: prefetchL2<8192>(
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NOT: ask(BlockId
func.func @gathered(%x: tensor<512x4096xbf16>, %i: tensor<?xi32>, %w: tensor<4096xbf16>) -> tensor<?x4096xbf16> {
  %s = hk.gather_rows %x, %i : tensor<512x4096xbf16>, tensor<?xi32> -> tensor<?x4096xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-05 : tensor<?x4096xbf16>, tensor<4096xbf16>
  return %y : tensor<?x4096xbf16>
}

// Rows of 409 elements begin anywhere, and what is requested begins at 16 bytes.
// CHECK-LABEL: ==== @rms_norm for sm_90a
// CHECK: HK_KERNEL(
// CHECK-NOT: prefetchL2
func.func @odd(%x: tensor<?x409xbf16>, %w: tensor<409xbf16>) -> tensor<?x409xbf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<?x409xbf16>, tensor<409xbf16>
  return %y : tensor<?x409xbf16>
}

// 96 KiB of rows would be asked for ahead: too much for the cache.
// CHECK-LABEL: ==== @add_rms_norm
// CHECK: ask(block);
// CHECK-NOT: ask(BlockId
func.func @wide(%x: tensor<?x8192xbf16>, %r: tensor<?x8192xbf16>, %w: tensor<8192xbf16>) -> (tensor<?x8192xbf16>, tensor<?x8192xbf16>) {
  %s = hk.add %x, %r : tensor<?x8192xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-05 : tensor<?x8192xbf16>, tensor<8192xbf16>
  return %y, %s : tensor<?x8192xbf16>, tensor<?x8192xbf16>
}

// Blocks that split rows have little to wait for. Neighbours have neighbouring
// pieces.
// CHECK-LABEL: ==== @gated_activation
// CHECK: HK_KERNEL(
// CHECK-NOT: prefetchL2
// CHECK: const u32 pieces = u32(i64(7));
// CHECK-NEXT: const u32 piece = block.x % pieces;
// CHECK-NEXT: const i64 row = block.x / pieces;
func.func @split(%x: tensor<?x28672xbf16>) -> tensor<?x14336xbf16> {
  %y = hk.gated_activation silu %x : tensor<?x28672xbf16> -> tensor<?x14336xbf16>
  return %y : tensor<?x14336xbf16>
}
