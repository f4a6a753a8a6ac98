// What no kernel selects, and what to do about it.
// RUN: not hk-opt %s --split-input-file --hk-assign-target=target=gfx942 --hk-fuse --hk-outline --hk-place-outputs --hk-select-tiles 2>&1 | FileCheck %s

// CHECK: error: row-wise kernel 'topk' has no legal tile on gfx942: the smallest asks for 83152 bytes of LDS, the limit is 65536
// CHECK: note: hk.topk with k = 5000 keeps what it selects in LDS; choose a smaller k
func.func @lds(%x: tensor<?x8192xf32>) -> (tensor<?x5000xf32>, tensor<?x5000xi32>) {
  %v, %i = hk.topk %x : tensor<?x8192xf32> -> tensor<?x5000xf32>, tensor<?x5000xi32>
  return %v, %i : tensor<?x5000xf32>, tensor<?x5000xi32>
}

// -----

// CHECK: error: 'hk.topk' op has no kernel for target 'gfx942'; hk.topk selects 20000; at most 16384 are supported
// CHECK: note: start rowwise: unsupported-shape, hk.topk selects 20000; at most 16384 are supported
func.func @stack(%x: tensor<?x30000xf32>) -> (tensor<?x20000xf32>, tensor<?x20000xi32>) {
  %v, %i = hk.topk %x : tensor<?x30000xf32> -> tensor<?x20000xf32>, tensor<?x20000xi32>
  return %v, %i : tensor<?x20000xf32>, tensor<?x20000xi32>
}

// -----

// CHECK: error: 'hk.group_limit' op has no kernel for target 'gfx942'; hk.group_limit has rows of 8192; at most 4096 are supported
// CHECK: note: start rowwise: unsupported-shape, hk.group_limit has rows of 8192; at most 4096 are supported
func.func @groups(%x: tensor<?x8192xf32>) -> tensor<?x8192xf32> {
  %y = hk.group_limit maximum %x groups 8 top_groups 4 : tensor<?x8192xf32>
  return %y : tensor<?x8192xf32>
}
