// A merged gate and up projection: each half is cut by itself. The sum over the
// ranks stands behind everything that is linear, in front of the residual.
// RUN: hk-opt %s --hk-shard=mesh=tp=2 | FileCheck %s
// RUN: hk-opt %s --hk-shard=mesh=tp=3 | FileCheck %s --check-prefix=THREE

// CHECK: module attributes {hk.mesh = "tp=2"}
// CHECK-DAG: hk.weight @gate_up.tp "gate_up" slices [#hk.weight_slice<"tp" dim 0 sizes[48, 48] parts[2, 2]>] : tensor<48x64xbf16>
// CHECK-DAG: hk.weight @bias.tp "bias" slices [#hk.weight_slice<"tp" dim 0 sizes[48, 48] parts[2, 2]>] : tensor<48xbf16>
// CHECK-DAG: hk.weight @down.tp "down" slices [#hk.weight_slice<"tp" dim 1 sizes[48] parts[2]>] : tensor<64x24xbf16>
// CHECK-DAG: hk.weight @norm "norm" : tensor<64xbf16>
// CHECK-NOT: hk.weight @down "down"
// THREE: hk.weight @gate_up.tp "gate_up" slices [#hk.weight_slice<"tp" dim 0 sizes[48, 48] parts[3, 3]>] : tensor<32x64xbf16>
hk.weight @norm "norm" : tensor<64xbf16>
hk.weight @gate_up "gate_up" : tensor<96x64xbf16>
hk.weight @bias "bias" : tensor<96xbf16>
hk.weight @down "down" : tensor<64x48xbf16>

// CHECK-LABEL: func.func @mlp(%{{.*}}: tensor<?x64xbf16>) -> tensor<?x64xbf16>
// CHECK: %[[U:.*]] = hk.matmul %{{.*}}, %{{.*}} transpose_b : tensor<?x64xbf16>, tensor<48x64xbf16> -> tensor<?x48xbf16>
// CHECK: hk.add %[[U]], %{{.*}} : tensor<?x48xbf16>, tensor<48xbf16>
// CHECK: hk.gated_activation silu %{{.*}} : tensor<?x48xbf16> -> tensor<?x24xbf16>
// CHECK: %[[D:.*]] = hk.matmul %{{.*}} : tensor<?x24xbf16>, tensor<64x24xbf16> -> tensor<?x64xf32>
// CHECK: %[[C:.*]] = hk.cast %[[D]]
// CHECK: %[[S:.*]] = hk.mul %[[C]], %{{.*}}
// CHECK: %[[R:.*]] = hk.all_reduce sum %[[S]] axis "tp" transport any_order : tensor<?x64xbf16>
// CHECK: hk.add %{{.*}}, %[[R]]
func.func @mlp(%x: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %n = hk.weight_ref @norm : tensor<64xbf16>
  %w = hk.weight_ref @gate_up : tensor<96x64xbf16>
  %b = hk.weight_ref @bias : tensor<96xbf16>
  %v = hk.weight_ref @down : tensor<64x48xbf16>
  %half = hk.constant 0.5 : tensor<bf16>
  %0 = hk.rms_norm %x, %n epsilon 1.0e-05 : tensor<?x64xbf16>, tensor<64xbf16>
  %1 = hk.matmul %0, %w transpose_b : tensor<?x64xbf16>, tensor<96x64xbf16> -> tensor<?x96xbf16>
  %2 = hk.add %1, %b : tensor<?x96xbf16>, tensor<96xbf16>
  %3 = hk.gated_activation silu %2 : tensor<?x96xbf16> -> tensor<?x48xbf16>
  %4 = hk.matmul %3, %v transpose_b : tensor<?x48xbf16>, tensor<64x48xbf16> -> tensor<?x64xf32>
  %5 = hk.cast %4 : tensor<?x64xf32> -> tensor<?x64xbf16>
  %6 = hk.mul %5, %half : tensor<?x64xbf16>, tensor<bf16>
  %7 = hk.add %x, %6 : tensor<?x64xbf16>
  return %7 : tensor<?x64xbf16>
}

// Weights in 8 bits with a scale per block of 16 of k: a part has whole blocks.
// CHECK-LABEL: func.func @quantised
// CHECK: hk.dequantize %{{.*}}, %{{.*}} group 16 : tensor<64x48xi8>, tensor<64x3xf32> -> tensor<64x48xbf16>
hk.weight @qdown "qdown" : tensor<64x96xi8>
hk.weight @scales "scales" : tensor<64x6xf32>
hk.weight @qup "qup" : tensor<96x64xi8>
hk.weight @upscale "upscale" : tensor<96x1xf32>
func.func @quantised(%x: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %w = hk.weight_ref @qup : tensor<96x64xi8>
  %s = hk.weight_ref @upscale : tensor<96x1xf32>
  %v = hk.weight_ref @qdown : tensor<64x96xi8>
  %t = hk.weight_ref @scales : tensor<64x6xf32>
  %wd = hk.dequantize %w, %s group 64 : tensor<96x64xi8>, tensor<96x1xf32> -> tensor<96x64xbf16>
  %vd = hk.dequantize %v, %t group 16 : tensor<64x96xi8>, tensor<64x6xf32> -> tensor<64x96xbf16>
  %0 = hk.matmul %x, %wd transpose_b : tensor<?x64xbf16>, tensor<96x64xbf16> -> tensor<?x96xbf16>
  %1 = hk.silu %0 : tensor<?x96xbf16>
  %2 = hk.matmul %1, %vd transpose_b : tensor<?x96xbf16>, tensor<64x96xbf16> -> tensor<?x64xbf16>
  return %2 : tensor<?x64xbf16>
}

// RUN: hk-compile %s --mesh=tp=2 --target=host --explain | FileCheck %s --check-prefix=EXPLAIN
// EXPLAIN: exchanged: hk.all_reduce over "tp": 128 bytes times its dynamic sizes a rank, transport any_order, for hk.add at
