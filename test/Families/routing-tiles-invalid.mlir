// Bins that no tile has room for: who asks, for how much, and what would fit.
// RUN: hk-opt %s --hk-assign-target=target=tiny --hk-fuse --hk-outline --hk-select-tiles --verify-diagnostics

func.func @many(%ids: tensor<?xi32>) -> tensor<4000xi32> {
  // expected-error @+1 {{'hk.histogram' op in kernel @histogram: 4000 bins need 32260 bytes of LDS with 64 threads, the fewest of tiny, which has 8192; that is enough for 500 bins}}
  %0 = hk.histogram %ids : tensor<?xi32> -> tensor<4000xi32>
  return %0 : tensor<4000xi32>
}
