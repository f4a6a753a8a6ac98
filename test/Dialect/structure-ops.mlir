// RUN: hk-opt %s | hk-opt | FileCheck %s

// CHECK: module attributes {hk.target = #hk.target<"gfx942">}
module attributes {hk.target = #hk.target<"gfx942">} {

// CHECK: hk.weight @wq "layers.0.wqkv" : tensor<64xbf16>
hk.weight @wq "layers.0.wqkv" : tensor<64xbf16>
// CHECK: hk.weight @twice "twice" from ["layers.0.wqkv"] {
// CHECK-NEXT: ^bb0(%[[W:.*]]: tensor<64xbf16>):
// CHECK: } : tensor<64xf32>
hk.weight @twice "twice" from ["layers.0.wqkv"] {
^bb0(%w: tensor<64xbf16>):
  %0 = hk.add %w, %w : tensor<64xbf16>, tensor<64xbf16> -> tensor<64xf32>
  hk.yield %0 : tensor<64xf32>
} : tensor<64xf32>

// CHECK: hk.kernel @k0 rowwise inputs 2 shapes [#hk.shape<[d0, 64]>, #hk.shape<[64]>, #hk.shape<[d0, 64]>] aligns [16, 16, 16]
hk.kernel @k0 rowwise inputs 2 shapes [#hk.shape<[d0, 64]>, #hk.shape<[64]>, #hk.shape<[d0, 64]>] aligns [16, 16, 16] {
  // CHECK: hk.spec {
  hk.spec {
  ^bb0(%x: tensor<?x64xbf16>, %w: tensor<64xbf16>, %o: tensor<?x64xbf16>):
    %0 = hk.rms_norm %x, %w epsilon 1.0 : tensor<?x64xbf16>, tensor<64xbf16> -> tensor<?x64xbf16>
    // CHECK: hk.yield %{{.*}} : tensor<?x64xbf16>
    hk.yield %0 : tensor<?x64xbf16>
  }
  // CHECK: hk.variant @v0 #hk.row_tile<rows = 4, threads = 256, vec = 8, slots = 1> threads 256 lds 16 {
  hk.variant @v0 #hk.row_tile<rows = 4, threads = 256, vec = 8, slots = 1> threads 256 lds 16 {
  ^bb0(%d0: index):
    %true = arith.constant true
    %c4 = arith.constant 4 : index
    %c1 = arith.constant 1 : index
    %g = arith.ceildivui %d0, %c4 : index
    // CHECK: hk.launch_dims if %{{.*}} grid(%{{.*}}, %{{.*}}, %{{.*}})
    hk.launch_dims if %true grid(%g, %c1, %c1)
  }
}

// CHECK-LABEL: func @tensors
func.func @tensors(%x: tensor<?x64xbf16>, %e: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  // CHECK: hk.weight_ref @wq : tensor<64xbf16>
  %w = hk.weight_ref @wq : tensor<64xbf16>
  // CHECK: hk.launch @k0 ins(%{{.*}}, %{{.*}} : tensor<?x64xbf16>, tensor<64xbf16>) outs(%{{.*}} : tensor<?x64xbf16>) reads [false] -> tensor<?x64xbf16>
  %y = hk.launch @k0 ins(%x, %w : tensor<?x64xbf16>, tensor<64xbf16>) outs(%e : tensor<?x64xbf16>) reads [false] -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

// CHECK-LABEL: func @memrefs
func.func @memrefs(%x: memref<?x64xbf16>, %w: memref<64xbf16>, %e: memref<?x64xbf16, strided<[?, 1], offset: ?>>) {
  // CHECK: hk.launch @k0 ins(%{{.*}}, %{{.*}} : memref<?x64xbf16>, memref<64xbf16>) outs(%{{.*}} : memref<?x64xbf16, strided<[?, 1], offset: ?>>) reads [false]
  hk.launch @k0 ins(%x, %w : memref<?x64xbf16>, memref<64xbf16>) outs(%e : memref<?x64xbf16, strided<[?, 1], offset: ?>>) reads [false]
  return
}

// CHECK-LABEL: func @fused
func.func @fused(%x: tensor<?x2x64xbf16>, %slots: tensor<?xi32>, %cache: tensor<1x8x2x64xbf16>) -> tensor<1x8x2x64xbf16> {
  // CHECK: hk.fused rowwise ins(%{{.*}}, %{{.*}} : tensor<?x2x64xbf16>, tensor<?xi32>) outs(%{{.*}} : tensor<1x8x2x64xbf16>) {
  %c = hk.fused rowwise ins(%x, %slots : tensor<?x2x64xbf16>, tensor<?xi32>) outs(%cache : tensor<1x8x2x64xbf16>) {
  ^bb0(%a: tensor<?x2x64xbf16>, %s: tensor<?xi32>, %o: tensor<1x8x2x64xbf16>):
    %0 = hk.neg %a : tensor<?x2x64xbf16> -> tensor<?x2x64xbf16>
    %1 = hk.kv_cache_write %0, %s into %o : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<1x8x2x64xbf16>
    hk.yield %1 : tensor<1x8x2x64xbf16>
  // CHECK: } -> tensor<1x8x2x64xbf16>
  } -> tensor<1x8x2x64xbf16>
  return %c : tensor<1x8x2x64xbf16>
}

// CHECK-LABEL: func @guard
func.func @guard(%a: index, %b: index) {
  // CHECK: hk.guard eq %{{.*}}, %{{.*}} names ["x dim 0", "y dim 0"]
  hk.guard eq %a, %b names ["x dim 0", "y dim 0"]
  // CHECK: hk.guard le %{{.*}}, %{{.*}} names ["the end", "y dim 0"]
  hk.guard le %a, %b names ["the end", "y dim 0"]
  // CHECK: hk.guard ge %{{.*}}, %{{.*}} names ["the offset", "the least offset"]
  hk.guard ge %a, %b names ["the offset", "the least offset"]
  return
}

// CHECK: func private @tiles
// CHECK-SAME: #hk.gemm_tile<bm = 128, bn = 64, bk = 32, wm = 2, wn = 2, stages = 2, splitK = 1>
// CHECK-SAME: #hk.attention_tile<bq = 64, bk = 64, waves = 4, stages = 2, splitKv = 1>
// CHECK-SAME: #hk.conv1d_tile<items = 256, channelLanes = 64, channels = 8, tokens = 8>
func.func private @tiles() attributes {
  g = #hk.gemm_tile<bm = 128, bn = 64, bk = 32, wm = 2, wn = 2, stages = 2, splitK = 1>,
  h = #hk.attention_tile<bq = 64, bk = 64, waves = 4, stages = 2, splitKv = 1>,
  i = #hk.conv1d_tile<items = 256, channelLanes = 64, channels = 8, tokens = 8>}
}
