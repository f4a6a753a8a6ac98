// What the graph pipeline has not planned is refused.
// RUN: hk-opt %s --hk-lower-to-llvm --verify-diagnostics

// expected-error @+1 {{'func.func' op expected outputs and a workspace among arguments in memory; run hk-graph before}}
func.func @tensors(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
