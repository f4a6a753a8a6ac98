// Values that are the first columns of keys are read from one copy in LDS, which both chips
// have room for; narrow types are multiplied in the type that holds them.
// RUN: hk-opt %s --canonicalize --hk-assign-target=target=gfx942 --hk-fuse --hk-outline --hk-select-tiles | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: hk-opt %s --canonicalize --hk-assign-target=target=gfx950 --hk-fuse --hk-outline --hk-select-tiles | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: hk-opt %s --canonicalize --hk-assign-target=target=host --hk-fuse --hk-outline --hk-select-tiles | FileCheck %s

// Sixteen heads of one query: a fragment of rows, a group of columns per wave.
// CHECK-LABEL: hk.kernel @attention attention
// CHECK: hk.attention %[[Q:.*]], %[[K:.*]], %[[K]] block_table
// GPU: hk.variant @v0 #hk.attention_tile<bq = 32, bk = 32, waves = 4, stages = 1, splitKv = 1> threads 256 lds 36864
func.func @latent(%q: tensor<3x1x16x576xbf16>, %k: tensor<96x1x1x576xbf16>, %t: tensor<3x64xi32>) -> tensor<3x1x16x512xbf16> {
  %v = tensor.extract_slice %k[0, 0, 0, 0] [96, 1, 1, 512] [1, 1, 1, 1] : tensor<96x1x1x576xbf16> to tensor<96x1x1x512xbf16>
  %o = hk.attention %q, %k, %v block_table %t scale 0.04 : tensor<3x1x16x576xbf16>, tensor<96x1x1x576xbf16>, tensor<96x1x1x512xbf16> block_table tensor<3x64xi32> -> tensor<3x1x16x512xbf16>
  return %o : tensor<3x1x16x512xbf16>
}

// bf16 holds integers and floats of 8 bits: 64 KiB less half of the keys' copies.
// CHECK-LABEL: hk.kernel @attention_0 attention
// GPU: hk.variant @v0 #hk.attention_tile<bq = 16, bk = 32, waves = 4, stages = 1, splitKv = 1> threads 256 lds 9216
func.func @narrow(%q: tensor<1x1x8x64xbf16>, %k: tensor<1x70x2x64xi8>, %v: tensor<1x70x2x64xf8E4M3FN>, %s: tensor<f32>) -> tensor<1x1x8x64xbf16> {
  %o = hk.attention %q, %k, %v k_scale %s v_scale %s scale 0.1 : tensor<1x1x8x64xbf16>, tensor<1x70x2x64xi8>, tensor<1x70x2x64xf8E4M3FN> k_scale tensor<f32> v_scale tensor<f32> -> tensor<1x1x8x64xbf16>
  return %o : tensor<1x1x8x64xbf16>
}
