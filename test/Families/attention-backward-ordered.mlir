// Gradients of long sequences on sm_90a: blocks of keys make dq, too, and sum it in
// memory of the launch, in order. What keeps a kernel from it, and that two launches
// have memory of their own.
// RUN: hk-compile %s --target=sm_90a --emit=mlir -o - | FileCheck %s
// RUN: hk-compile %s --target=sm_90a --emit=kernels -o - | FileCheck %s --check-prefix=TEXT
// RUN: hk-compile %s --target=sm_90a --no-order-launches --emit=mlir -o - | FileCheck %s --check-prefix=APART
// RUN: hk-compile %s --target=gfx942 --emit=mlir -o - | FileCheck %s --check-prefix=APART
// RUN: hk-compile %s --target=sm_90a --explain --emit=mlir -o /dev/null | FileCheck %s --check-prefix=EXPLAIN
// APART-NOT: in_order
// APART-NOT: turns

// 8 sequences of 8 key heads, each with 2 times 2 query heads, are 128 pairs of 2048 / 128
// = 16 tiles of keys; 2 heads of 32 tiles of queries each are 64, which 8 blocks finish.
// 124 pairs go up, with 24 blocks each, 4 down with 16; the last 24 pairs are finished at
// the end, 20 of which 320 blocks own: 3232. Behind 8192 parts of dq lie 8 * 8 * 16 sums of keys, of 4 rows each.
// CHECK-LABEL: hk.kernel @attention_backward_in_order attention_backward
// CHECK-SAME: #hk.shape<[12288, 8192]>, #hk.shape<[9216]>] aligns
// CHECK: hk.variant @v0 #hk.attention_backward_tile<rows = 128, walked = 64, waves = 12, stages = 2> threads 384 lds 232448
// CHECK: hk.launch_dims if %true grid(%c3232, %c1, %c1)
// CHECK-NOT: hk.variant @v1

// CHECK-LABEL: func.func @twice
// CHECK: %[[TURNS:.*]] = memref.view {{.*}} to memref<9216xi32>
// CHECK: hk.launch @zero_9216_turns outs(%[[TURNS]] :
// CHECK-NEXT: hk.launch @attention_backward_in_order {{.*}} reads [false, false, false, true, true]
// CHECK: hk.launch @zero_9216_turns
// CHECK: hk.launch @attention_backward_in_order
// TEXT: using v0 = OrderedAttentionBackward<kSpec, AttentionBackwardTile{128, 64, 12, 2}, 8>;
func.func @twice(%q: tensor<8x2048x32x128xbf16>, %k: tensor<8x2048x8x128xbf16>, %do: tensor<8x2048x32x128xbf16>, %l: tensor<8x2048x32xf32>) -> (tensor<8x2048x32x128xbf16>, tensor<8x2048x8x128xbf16>, tensor<8x2048x8x128xbf16>, tensor<8x2048x32x128xbf16>, tensor<8x2048x8x128xbf16>, tensor<8x2048x8x128xbf16>) {
  %0:3 = hk.attention_backward %q, %k, %k, %do, %l, %l scale 0.125 causal : tensor<8x2048x32x128xbf16>, tensor<8x2048x8x128xbf16>, tensor<8x2048x8x128xbf16>, tensor<8x2048x32x128xbf16>, tensor<8x2048x32xf32> -> tensor<8x2048x32x128xbf16>, tensor<8x2048x8x128xbf16>, tensor<8x2048x8x128xbf16>
  %1:3 = hk.attention_backward %do, %k, %k, %q, %l, %l scale 0.125 causal : tensor<8x2048x32x128xbf16>, tensor<8x2048x8x128xbf16>, tensor<8x2048x8x128xbf16>, tensor<8x2048x32x128xbf16>, tensor<8x2048x32xf32> -> tensor<8x2048x32x128xbf16>, tensor<8x2048x8x128xbf16>, tensor<8x2048x8x128xbf16>
  return %0#0, %0#1, %0#2, %1#0, %1#1, %1#2 : tensor<8x2048x32x128xbf16>, tensor<8x2048x8x128xbf16>, tensor<8x2048x8x128xbf16>, tensor<8x2048x32x128xbf16>, tensor<8x2048x8x128xbf16>, tensor<8x2048x8x128xbf16>
}

// Windows on both sides and a soft cap are summed in order, too. With a left window
// blocks of neighbouring keys stay beside each other, so one walks over all 4 heads.
// CHECK-LABEL: func.func @windowed
// CHECK: hk.launch @zero_8192_turns
// CHECK-NEXT: hk.launch @attention_backward{{.*}}_in_order
// CHECK-LABEL: func.func @capped
// CHECK: hk.launch @zero_9216_turns
// CHECK-NEXT: hk.launch @attention_backward{{.*}}_in_order
// TEXT: .softcap = false
// TEXT: .windowLeft = 1023,
// TEXT-NEXT: .windowRight = 64,
// TEXT: using v0 = OrderedAttentionBackward<kSpec, AttentionBackwardTile{128, 64, 12, 2}, 8>;
// TEXT: .softcap = true
// TEXT: using v0 = OrderedAttentionBackward<kSpec, AttentionBackwardTile{128, 64, 12, 2}, 8>;
func.func @windowed(%q: tensor<8x2048x32x128xbf16>, %k: tensor<8x2048x8x128xbf16>, %do: tensor<8x2048x32x128xbf16>, %l: tensor<8x2048x32xf32>) -> (tensor<8x2048x32x128xbf16>, tensor<8x2048x8x128xbf16>, tensor<8x2048x8x128xbf16>) {
  %0:3 = hk.attention_backward %q, %k, %k, %do, %l, %l scale 0.125 window_left 1023 window_right 64 : tensor<8x2048x32x128xbf16>, tensor<8x2048x8x128xbf16>, tensor<8x2048x8x128xbf16>, tensor<8x2048x32x128xbf16>, tensor<8x2048x32xf32> -> tensor<8x2048x32x128xbf16>, tensor<8x2048x8x128xbf16>, tensor<8x2048x8x128xbf16>
  return %0#0, %0#1, %0#2 : tensor<8x2048x32x128xbf16>, tensor<8x2048x8x128xbf16>, tensor<8x2048x8x128xbf16>
}
func.func @capped(%q: tensor<8x2048x32x128xbf16>, %k: tensor<8x2048x8x128xbf16>, %do: tensor<8x2048x32x128xbf16>, %l: tensor<8x2048x32xf32>) -> (tensor<8x2048x32x128xbf16>, tensor<8x2048x8x128xbf16>, tensor<8x2048x8x128xbf16>) {
  %0:3 = hk.attention_backward %q, %k, %k, %do, %l, %l scale 0.125 causal softcap 50.0 : tensor<8x2048x32x128xbf16>, tensor<8x2048x8x128xbf16>, tensor<8x2048x8x128xbf16>, tensor<8x2048x32x128xbf16>, tensor<8x2048x32xf32> -> tensor<8x2048x32x128xbf16>, tensor<8x2048x8x128xbf16>, tensor<8x2048x8x128xbf16>
  return %0#0, %0#1, %0#2 : tensor<8x2048x32x128xbf16>, tensor<8x2048x8x128xbf16>, tensor<8x2048x8x128xbf16>
}

// Too few blocks; heads of 64.
// EXPLAIN-DAG: costlier-fused{{.*}}dq_in_order: blocks that wait for each other
// EXPLAIN-DAG: unsupported-shape{{.*}}dq_in_order: head sizes must be 128
// CHECK-LABEL: func.func @short
// CHECK-NOT: in_order
func.func @short(%q: tensor<1x2048x8x128xbf16>, %l: tensor<1x2048x8xf32>) -> (tensor<1x2048x8x128xbf16>, tensor<1x2048x8x128xbf16>, tensor<1x2048x8x128xbf16>) {
  %0:3 = hk.attention_backward %q, %q, %q, %q, %l, %l scale 0.125 causal : tensor<1x2048x8x128xbf16>, tensor<1x2048x8x128xbf16>, tensor<1x2048x8x128xbf16>, tensor<1x2048x8x128xbf16>, tensor<1x2048x8xf32> -> tensor<1x2048x8x128xbf16>, tensor<1x2048x8x128xbf16>, tensor<1x2048x8x128xbf16>
  return %0#0, %0#1, %0#2 : tensor<1x2048x8x128xbf16>, tensor<1x2048x8x128xbf16>, tensor<1x2048x8x128xbf16>
}
func.func @narrow(%q: tensor<4x2048x32x64xbf16>, %l: tensor<4x2048x32xf32>) -> (tensor<4x2048x32x64xbf16>, tensor<4x2048x32x64xbf16>, tensor<4x2048x32x64xbf16>) {
  %0:3 = hk.attention_backward %q, %q, %q, %q, %l, %l scale 0.125 causal : tensor<4x2048x32x64xbf16>, tensor<4x2048x32x64xbf16>, tensor<4x2048x32x64xbf16>, tensor<4x2048x32x64xbf16>, tensor<4x2048x32xf32> -> tensor<4x2048x32x64xbf16>, tensor<4x2048x32x64xbf16>, tensor<4x2048x32x64xbf16>
  return %0#0, %0#1, %0#2 : tensor<4x2048x32x64xbf16>, tensor<4x2048x32x64xbf16>, tensor<4x2048x32x64xbf16>
}

// Sizes that only a call knows: the kernel has other variants for calls with short sequences,
// ragged ones on average, or with few blocks (4 for each of 132 units). The launch then has no
// memory of its own.
// CHECK: hk.kernel @[[DYNAMIC:attention_backward[_0-9]*_in_order]] attention_backward inputs 2
// CHECK-SAME: #hk.shape<[d1, 8192]>, #hk.shape<[d2]>] aligns
// CHECK: hk.variant @v0 #hk.attention_backward_tile<rows = 128, walked = 64, waves = 12, stages = 2>
// CHECK: %[[OWNERS:.*]] = arith.muli %arg0, %c512
// CHECK: %[[PAYS:.*]] = arith.cmpi uge, %[[OWNERS]], %c528
// CHECK: hk.launch_dims if %[[PAYS]] grid
// CHECK: hk.variant @v1 #hk.attention_backward_tile<rows = 128, walked = 64, waves = 12, stages = 4>
// CHECK-LABEL: func.func @dynamic
// CHECK: %[[PAYS:.*]] = arith.cmpi uge, {{.*}}, %c528
// CHECK: %[[PARTS:.*]] = arith.select %[[PAYS]], {{.*}}, %c0
// CHECK: memref.view {{.*}}[%c0][%[[PARTS]]] : memref<?xi8> to memref<?x8192xf32>
// CHECK: %[[WORDS:.*]] = memref.view {{.*}}[%[[PARTS]]] : memref<?xi8> to memref<?xi32>
// CHECK: hk.launch @zero_turns ins(%[[WORDS]] : memref<?xi32>) outs(%[[WORDS]] : memref<?xi32>) reads [false]
// CHECK-NEXT: hk.launch @[[DYNAMIC]]
// CHECK: hk.kernel @[[RAGGED:attention_backward[_0-9]*_in_order]] attention_backward inputs 4
// CHECK: hk.variant @v0 #hk.attention_backward_tile<rows = 128, walked = 64, waves = 12, stages = 2>
// CHECK: %[[LEAST:.*]] = arith.muli {{.*}}, %c1024
// CHECK: arith.cmpi ule, %[[LEAST]], %arg0
// CHECK: hk.variant @v1 #hk.attention_backward_tile<rows = 128, walked = 64, waves = 12, stages = 4>
// CHECK: hk.variant @v2
// CHECK-LABEL: func.func @ragged
// CHECK: hk.launch @zero_turns
// CHECK-NEXT: hk.launch @[[RAGGED]]
func.func @dynamic(%q: tensor<?x2048x32x128xbf16>, %l: tensor<?x2048x32xf32>) -> (tensor<?x2048x32x128xbf16>, tensor<?x2048x32x128xbf16>, tensor<?x2048x32x128xbf16>) {
  %0:3 = hk.attention_backward %q, %q, %q, %q, %l, %l scale 0.125 causal : tensor<?x2048x32x128xbf16>, tensor<?x2048x32x128xbf16>, tensor<?x2048x32x128xbf16>, tensor<?x2048x32x128xbf16>, tensor<?x2048x32xf32> -> tensor<?x2048x32x128xbf16>, tensor<?x2048x32x128xbf16>, tensor<?x2048x32x128xbf16>
  return %0#0, %0#1, %0#2 : tensor<?x2048x32x128xbf16>, tensor<?x2048x32x128xbf16>, tensor<?x2048x32x128xbf16>
}
func.func @ragged(%q: tensor<?x8x128xbf16>, %l: tensor<?x8xf32>, %o: tensor<?xi32>, %s: tensor<8xf32>) -> (tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, tensor<8xf32>) {
  %0:4 = hk.attention_backward %q, %q, %q, %q, %l, %l q_offsets %o kv_offsets %o sink %s scale 0.125 causal : tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, tensor<?x8xf32> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> sink tensor<8xf32> -> tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, tensor<8xf32>
  return %0#0, %0#1, %0#2, %0#3 : tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, tensor<8xf32>
}
