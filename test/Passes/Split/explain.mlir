// Every decision has its reason: sizes that are not known, options, modelled times.
// RUN: hk-compile %s --target=gfx942 --explain --emit=mlir -o /dev/null | FileCheck %s
// RUN: hk-compile %s --target=gfx942 --explain=json --emit=mlir -o /dev/null | FileCheck %s --check-prefix=JSON

// CHECK-DAG: not used (size-unknown): hk.matmul / slices of k: slices of k pay with few rows only, and a size is dynamic
// CHECK-DAG: not used (size-unknown): hk.attention / slices of keys: slices of the keys pay with few queries only, and their number is dynamic
// CHECK-DAG: split: hk.attention in {{[0-9]+}} slices of keys, {{[0-9.]+}} us instead of {{[0-9.]+}}
// JSON: "candidates":[{"detail":"",{{.*}}"what":"whole"},{"detail":"",{{.*}}"what":"2 slices of keys"},{"detail":"",{{.*}}"what":"4 slices of keys"}
func.func @dynamic(%x: tensor<?x8192xbf16>, %w: tensor<1024x8192xbf16>) -> tensor<?x1024xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x8192xbf16>, tensor<1024x8192xbf16> -> tensor<?x1024xbf16>
  return %0 : tensor<?x1024xbf16>
}
func.func @prefill(%q: tensor<?x8x128xbf16>, %k: tensor<1x8192x8x128xbf16>, %n: tensor<1xi32>) -> tensor<?x8x128xbf16> {
  %0 = hk.attention %q, %k, %k kv_lens %n scale 0.088 causal : tensor<?x8x128xbf16>, tensor<1x8192x8x128xbf16>, tensor<1x8192x8x128xbf16> kv_lens tensor<1xi32> -> tensor<?x8x128xbf16>
  return %0 : tensor<?x8x128xbf16>
}
func.func @decode(%q: tensor<1x8x128xbf16>, %k: tensor<1x8192x8x128xbf16>, %n: tensor<1xi32>) -> tensor<1x8x128xbf16> {
  %0 = hk.attention %q, %k, %k kv_lens %n scale 0.088 causal : tensor<1x8x128xbf16>, tensor<1x8192x8x128xbf16>, tensor<1x8192x8x128xbf16> kv_lens tensor<1xi32> -> tensor<1x8x128xbf16>
  return %0 : tensor<1x8x128xbf16>
}
