// The variant of attention's gradients: a grid of blocks that own keys, then of those
// that own rows, and what no fragment takes on the vector units.
// RUN: hk-opt %s --hk-assign-target=target=host --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,HOST
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,GFX942
// RUN: hk-opt %s --hk-assign-target=target=gfx1100 --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,GFX1100
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,SM90

// 2 sequences; 300 keys are 3 tiles of 128, 200 queries of 2 heads 4.
// CHECK-LABEL: hk.kernel @attention_backward attention_backward
// HOST: hk.variant @v0 #hk.attention_backward_tile<rows = 64, walked = 64, waves = 1, stages = 1> threads 1 lds 295936
// HOST: grid(%{{c24.*}}, %{{c1.*}}, %{{c1.*}})
// GFX942: hk.variant @v0 #hk.attention_backward_tile<rows = 128, walked = 32, waves = 4, stages = 1> threads 256 lds 16640
// GFX942: grid(%{{c14.*}}, %{{c1.*}}, %{{c1.*}})
// GFX1100: #hk.attention_backward_tile<rows = 1, walked = 32, waves = 1, stages = 1> threads 32 lds 1280
// GFX1100: grid(%{{c1400.*}}, %{{c1.*}}, %{{c1.*}})
// SM90: #hk.attention_backward_tile<rows = 128, walked = 64, waves = 12, stages = 4> threads 384 lds 199784
// SM90: grid(%{{c14.*}}, %{{c1.*}}, %{{c1.*}})
// CHECK-NOT: hk.variant
func.func @dense(%q: tensor<2x200x2x128xbf16>, %k: tensor<2x300x1x128xbf16>, %l: tensor<2x200x2xf32>) -> (tensor<2x200x2x128xbf16>, tensor<2x300x1x128xbf16>, tensor<2x300x1x128xbf16>) {
  %0:3 = hk.attention_backward %q, %k, %k, %q, %l, %l scale 0.125 : tensor<2x200x2x128xbf16>, tensor<2x300x1x128xbf16>, tensor<2x300x1x128xbf16>, tensor<2x200x2x128xbf16>, tensor<2x200x2xf32> -> tensor<2x200x2x128xbf16>, tensor<2x300x1x128xbf16>, tensor<2x300x1x128xbf16>
  return %0#0, %0#1, %0#2 : tensor<2x200x2x128xbf16>, tensor<2x300x1x128xbf16>, tensor<2x300x1x128xbf16>
}

// Ragged: a partly filled tile per sequence and one for what is behind the last offset,
// of keys and of rows; and a block per head of the group for the sink.
// CHECK-LABEL: hk.kernel @attention_backward_0 attention_backward
// GFX942-DAG: %[[C1:.*]] = arith.constant 1 : index
// GFX942-DAG: %[[C2:.*]] = arith.constant 2 : index
// GFX942-DAG: %[[C128:.*]] = arith.constant 128 : index
// GFX942-DAG: arith.maxui
// GFX942: hk.launch_dims if %true{{.*}} grid(%{{.*}}, %[[C2]], %[[C1]])
func.func @ragged(%q: tensor<?x4x64xf16>, %k: tensor<?x2x64xf16>, %l: tensor<?x4xf32>, %o: tensor<?xi32>, %s: tensor<4xf32>) -> (tensor<?x4x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16>, tensor<4xf32>) {
  %0:4 = hk.attention_backward %q, %k, %k, %q, %l, %l q_offsets %o kv_offsets %o sink %s scale 0.125 : tensor<?x4x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16>, tensor<?x4x64xf16>, tensor<?x4xf32> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> sink tensor<4xf32> -> tensor<?x4x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16>, tensor<4xf32>
  return %0#0, %0#1, %0#2, %0#3 : tensor<?x4x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16>, tensor<4xf32>
}

// Only dq is wanted: 50 queries of 3 heads are 2 tiles of 128 rows, no keys.
// CHECK-LABEL: hk.kernel @attention_backward_1 attention_backward
// GFX942: grid(%{{c2.*}}, %{{c1.*}}, %{{c1.*}})
func.func @queries_only(%q: tensor<50x3x64xf16>, %k: tensor<900x1x64xf16>, %l: tensor<50x3xf32>) -> tensor<50x3x64xf16> {
  %0:3 = hk.attention_backward %q, %k, %k, %q, %l, %l scale 0.125 : tensor<50x3x64xf16>, tensor<900x1x64xf16>, tensor<900x1x64xf16>, tensor<50x3x64xf16>, tensor<50x3xf32> -> tensor<50x3x64xf16>, tensor<900x1x64xf16>, tensor<900x1x64xf16>
  return %0#0 : tensor<50x3x64xf16>
}

// Rows of 66 bytes are no whole 16.
// CHECK-LABEL: hk.kernel @attention_backward_2 attention_backward
// GFX942: #hk.attention_backward_tile<rows = 1, walked = 64, waves = 1, stages = 1> threads 64 lds 776
func.func @unaligned(%q: tensor<5x1x33xf16>, %l: tensor<5x1xf32>) -> (tensor<5x1x33xf16>, tensor<5x1x33xf16>, tensor<5x1x33xf16>) {
  %0:3 = hk.attention_backward %q, %q, %q, %q, %l, %l scale 0.125 : tensor<5x1x33xf16>, tensor<5x1x33xf16>, tensor<5x1x33xf16>, tensor<5x1x33xf16>, tensor<5x1xf32> -> tensor<5x1x33xf16>, tensor<5x1x33xf16>, tensor<5x1x33xf16>
  return %0#0, %0#1, %0#2 : tensor<5x1x33xf16>, tensor<5x1x33xf16>, tensor<5x1x33xf16>
}
