// A state that a function returns twice is a state and an output with the same values.
// RUN: hk-compile %s -o %t.so
// RUN: hk-run %t.so --check=%s --dim=rows.0=2 --range=slots=iota | FileCheck %s

// CHECK: check cache: ok
// CHECK: check out0: ok
// CHECK: all within their bounds
func.func @write(%rows: tensor<?x2x8xf32> {hk.name = "rows", hk.dims = ["T", "_", "_"]},
                 %slots: tensor<?xi32> {hk.name = "slots", hk.dims = ["T"]},
                 %cache: tensor<1x4x2x8xf32> {hk.name = "cache", hk.state})
    -> (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32> {hk.name = "out0"}) {
  %new = hk.kv_cache_write %rows, %slots into %cache : tensor<?x2x8xf32>, tensor<?xi32>, tensor<1x4x2x8xf32>
  return %new, %new : tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>
}
