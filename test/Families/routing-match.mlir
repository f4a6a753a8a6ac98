// What shares the block of a routing kernel, and why the rest does not.
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-fuse --remarks-filter=hk-fuse --remark-format=emitRemark -o %t 2>%t.remarks
// RUN: FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: hk-opt %s --hk-assign-target=target=tiny --hk-fuse | FileCheck %s --check-prefix=TINY

// Counts, what sums and segments make of them, and the last sum: one kernel. The sort
// reads the same keys and is merged with it. On tiny the two fit because they count
// the same keys.
// CHECK-LABEL: func.func @align
// CHECK: hk.fused {{ *}}routing
// CHECK: hk.histogram
// CHECK: hk.sort_by_key
// CHECK: hk.segments
// CHECK: hk.mul
// CHECK-NOT: hk.fused
// TINY-LABEL: func.func @align
// TINY: hk.fused {{ *}}routing
// TINY-NOT: hk.fused
func.func @align(%ids: tensor<?xi32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<1xi32>) {
  %block = hk.constant 16 : tensor<1xi32>
  %counts = hk.histogram %ids : tensor<?xi32> -> tensor<512xi32>
  %sorted, %place = hk.sort_by_key %ids bins 512 block 16 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %experts, %rank, %blocks = hk.segments lengths %counts items %ids block 16 : tensor<512xi32> items tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>, tensor<513xi32>
  %last = tensor.extract_slice %blocks[512] [1] [1] : tensor<513xi32> to tensor<1xi32>
  %total = hk.mul %last, %block : tensor<1xi32>
  return %sorted, %experts, %total : tensor<?xi32>, tensor<?xi32>, tensor<1xi32>
}

// Pairs of an id and a rank, and a gather by the order, are made where those are.
// TINY-LABEL: func.func @epilogues
// CHECK-LABEL: func.func @epilogues
// CHECK: hk.fused {{ *}}routing
// CHECK: hk.gather_rows
// CHECK-NOT: hk.fused
// CHECK-LABEL: func.func @pairs
// CHECK: hk.fused {{ *}}routing
// CHECK: hk.concat
// CHECK-NOT: hk.fused
func.func @epilogues(%ids: tensor<?xi32>, %w: tensor<?xbf16>) -> tensor<?xf32> {
  %order, %place = hk.sort_by_key %ids bins 8 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %g = hk.gather_rows %w, %order : tensor<?xbf16>, tensor<?xi32> -> tensor<?xbf16>
  %y = hk.cast %g : tensor<?xbf16> -> tensor<?xf32>
  return %y : tensor<?xf32>
}
func.func @pairs(%cu: tensor<9xi32>) -> tensor<40x2xi32> {
  %seq, %chunk, %first = hk.segments bounds %cu block 64 : tensor<9xi32> -> tensor<40xi32>, tensor<40xi32>, tensor<9xi32>
  %a = tensor.expand_shape %seq [[0, 1]] output_shape [40, 1] : tensor<40xi32> into tensor<40x1xi32>
  %b = tensor.expand_shape %chunk [[0, 1]] output_shape [40, 1] : tensor<40xi32> into tensor<40x1xi32>
  %y = hk.concat 1 (%a, %b) : tensor<40x1xi32>, tensor<40x1xi32> -> tensor<40x2xi32>
  return %y : tensor<40x2xi32>
}

// A sum of sums needs all of the first.
// CHECK-LABEL: func.func @twice
// CHECK: hk.fused {{ *}}routing
// CHECK: hk.fused {{ *}}routing
// REMARK: crosses-rows: hk.cumsum needs all of what another step of the kernel makes
func.func @twice(%x: tensor<?xi32>) -> tensor<?xi32> {
  %0 = hk.cumsum inclusive %x : tensor<?xi32>
  %1 = hk.cumsum inclusive %0 : tensor<?xi32>
  return %1 : tensor<?xi32>
}

// Sorted keys are in no order that a histogram of them could be counted in.
// CHECK-LABEL: func.func @counts_order
// CHECK: hk.fused {{ *}}routing
// CHECK: hk.fused {{ *}}routing
// REMARK: crosses-rows: hk.histogram counts what a step makes
func.func @counts_order(%ids: tensor<?xi32>) -> tensor<8xi32> {
  %order, %place = hk.sort_by_key %ids bins 8 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %0 = hk.histogram %order : tensor<?xi32> -> tensor<8xi32>
  return %0 : tensor<8xi32>
}

// Places and order are found at different times.
// CHECK-LABEL: func.func @two_steps
// CHECK: hk.fused {{ *}}routing
// CHECK: hk.fused {{ *}}rowwise
// REMARK: crosses-rows: hk.add combines results of different steps
func.func @two_steps(%ids: tensor<64xi32>) -> tensor<64xi32> {
  %order, %place = hk.sort_by_key %ids bins 8 : tensor<64xi32> -> tensor<64xi32>, tensor<64xi32>
  %0 = hk.add %order, %place : tensor<64xi32>
  return %0 : tensor<64xi32>
}

// The order as a table.
// CHECK-LABEL: func.func @table
// CHECK: hk.fused {{ *}}routing
// CHECK: hk.fused {{ *}}rowwise
// REMARK: crosses-rows: hk.gather_rows gathers from what the kernel makes
func.func @table(%ids: tensor<?xi32>, %i: tensor<4xi32>) -> tensor<4xi32> {
  %order, %place = hk.sort_by_key %ids bins 8 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %0 = hk.gather_rows %order, %i : tensor<?xi32>, tensor<4xi32> -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// A slice that is not the last sum.
// CHECK-LABEL: func.func @slice
// CHECK: hk.fused {{ *}}routing
// CHECK: hk.fused {{ *}}rowwise
// REMARK: crosses-rows: tensor.extract_slice is not the last of the sums of one step
func.func @slice(%hist: tensor<8xi32>) -> tensor<1xi32> {
  %0 = hk.cumsum offsets %hist : tensor<8xi32> -> tensor<9xi32>
  %1 = tensor.extract_slice %0[7] [1] [1] : tensor<9xi32> to tensor<1xi32>
  %2 = hk.add %1, %1 : tensor<1xi32>
  return %2 : tensor<1xi32>
}

// Whole rows by the order are too much for one thread; a row needs all of its columns.
// CHECK-LABEL: func.func @rows
// CHECK: hk.fused {{ *}}routing
// CHECK: hk.fused {{ *}}rowwise
// REMARK: unsupported-shape: hk.gather_rows has more than 16 elements per index of the first dim
func.func @rows(%ids: tensor<?xi32>, %x: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %order, %place = hk.sort_by_key %ids bins 8 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %0 = hk.gather_rows %x, %order : tensor<?x64xbf16>, tensor<?xi32> -> tensor<?x64xbf16>
  return %0 : tensor<?x64xbf16>
}

// Counters of two sets of keys that have room one by one only.
// CHECK-LABEL: func.func @room
// CHECK: hk.fused {{ *}}routing
// CHECK-NOT: hk.fused
// TINY-LABEL: func.func @room
// TINY: hk.fused {{ *}}routing
// TINY: hk.fused {{ *}}routing
func.func @room(%ids: tensor<?xi32>) -> (tensor<800xi32>, tensor<500xi32>) {
  %0 = hk.histogram %ids : tensor<?xi32> -> tensor<800xi32>
  %1 = hk.histogram %ids : tensor<?xi32> -> tensor<500xi32>
  return %0, %1 : tensor<800xi32>, tensor<500xi32>
}

// What makes the keys from arguments is computed where they are read, when nothing else
// reads it; both readers of the keys are in the kernel.
// CHECK-LABEL: func.func @computed_keys
// CHECK: hk.fused {{ *}}routing
// CHECK: hk.gather_rows
// CHECK: hk.histogram
// CHECK: hk.sort_by_key
// CHECK-NOT: hk.fused
// CHECK-LABEL: func.func @keys_needed_elsewhere
func.func @computed_keys(%ids: tensor<?xi16>, %map: tensor<128xi32>) -> (tensor<8xi32>, tensor<?xi32>) {
  %wide = hk.cast %ids : tensor<?xi16> -> tensor<?xi32>
  %own = hk.gather_rows %map, %wide : tensor<128xi32>, tensor<?xi32> -> tensor<?xi32>
  %counts = hk.histogram %own : tensor<?xi32> -> tensor<8xi32>
  %order, %place = hk.sort_by_key %own bins 8 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  return %counts, %order : tensor<8xi32>, tensor<?xi32>
}
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.fused {{ *}}routing
func.func @keys_needed_elsewhere(%ids: tensor<?xi16>) -> (tensor<8xi32>, tensor<?xi32>) {
  %wide = hk.cast %ids : tensor<?xi16> -> tensor<?xi32>
  %counts = hk.histogram %wide : tensor<?xi32> -> tensor<8xi32>
  return %counts, %wide : tensor<8xi32>, tensor<?xi32>
}

// Counts before each block of rows belong to the same kernel; nothing follows them there.
// CHECK-LABEL: func.func @before
// CHECK: hk.fused {{ *}}routing
// CHECK: hk.cumsum
// CHECK: hk.fused {{ *}}rowwise
// REMARK: unsupported-shape: hk.add reads counts per block of rows, which the kernel stores
func.func @before(%bits: tensor<1x?xi32>) -> (tensor<9xi32>, tensor<?x8xi32>) {
  %counts, %before = hk.count_bits %bits : tensor<1x?xi32> -> tensor<8xi32>, tensor<?x8xi32>
  %raw = hk.cumsum offsets %counts : tensor<8xi32> -> tensor<9xi32>
  %twice = hk.add %before, %before : tensor<?x8xi32>
  return %raw, %twice : tensor<9xi32>, tensor<?x8xi32>
}
