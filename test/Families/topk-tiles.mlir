// Which tile selects: a part of a wave, a wave, or a block that reads the row again.
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,CDNA
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,SM90

// A thread has a row.
// CHECK-LABEL: hk.kernel @topk 
// CDNA: hk.variant @v0 #hk.row_tile<rows = 32, threads = 64, vec = 4, slots = 1> threads 64 lds 512
// CDNA: hk.variant @v1 #hk.row_tile<rows = 256, threads = 256, vec = 4, slots = 2> threads 256 lds 4096
// SM90: hk.variant @v0 #hk.row_tile<rows = 16, threads = 32, vec = 4, slots = 1> threads 32 lds 256
// SM90: hk.variant @v1 #hk.row_tile<rows = 256, threads = 256, vec = 4, slots = 2> threads 256 lds 4096
func.func @e8(%x: tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi32>) {
  %v, %i = hk.topk %x : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return %v, %i : tensor<?x2xf32>, tensor<?x2xi32>
}

// Many rows: as many per wave as keep lanes busy. Few: one.
// CHECK-LABEL: hk.kernel @topk_0 
// CDNA: hk.variant @v0 #hk.row_tile<rows = 2, threads = 64, vec = 8, slots = 1> threads 64 lds 128
// CDNA: hk.variant @v1 #hk.row_tile<rows = 16, threads = 256, vec = 8, slots = 2> threads 256 lds 1024
// SM90: hk.variant @v0 #hk.row_tile<rows = 1, threads = 32, vec = 8, slots = 1> threads 32 lds 64
// SM90: hk.variant @v1 #hk.row_tile<rows = 8, threads = 256, vec = 8, slots = 1> threads 256 lds 512
func.func @e256(%x: tensor<?x256xbf16>) -> (tensor<?x8xbf16>, tensor<?x8xi32>) {
  %v, %i = hk.topk %x : tensor<?x256xbf16> -> tensor<?x8xbf16>, tensor<?x8xi32>
  return %v, %i : tensor<?x8xbf16>, tensor<?x8xi32>
}

// No power of two.
// CHECK-LABEL: hk.kernel @topk_1 
// CDNA: hk.variant @v0 #hk.row_tile<rows = 1, threads = 64, vec = 4, slots = 6> threads 64 lds 64
// CDNA: hk.variant @v1 #hk.row_tile<rows = 4, threads = 256, vec = 4, slots = 6> threads 256 lds 256
// SM90: hk.variant @v0 #hk.row_tile<rows = 1, threads = 32, vec = 4, slots = 12> threads 32 lds 64
// SM90: hk.variant @v1 #hk.row_tile<rows = 8, threads = 256, vec = 4, slots = 12> threads 256 lds 512
func.func @e1500(%x: tensor<?x1500xf32>) -> (tensor<?x8xf32>, tensor<?x8xi32>) {
  %v, %i = hk.topk %x : tensor<?x1500xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  return %v, %i : tensor<?x8xf32>, tensor<?x8xi32>
}

// Longer than the registers of a wave, on sm_90a.
// CHECK-LABEL: hk.kernel @topk_2 
// CDNA: hk.variant @v0 #hk.row_tile<rows = 1, threads = 64, vec = 4, slots = 16> threads 64 lds 256
// CDNA: hk.variant @v1 #hk.row_tile<rows = 4, threads = 256, vec = 4, slots = 16> threads 256 lds 1024
// SM90: hk.variant @v0 #hk.row_tile<rows = 1, threads = 1024, vec = 4, slots = 0> threads 1024 lds 3664
// SM90: hk.variant @v1 #hk.row_tile<rows = 1, threads = 256, vec = 4, slots = 0> threads 256 lds 3664
func.func @n4096(%x: tensor<?x4096xf32>) -> (tensor<?x32xf32>, tensor<?x32xi32>) {
  %v, %i = hk.topk %x : tensor<?x4096xf32> -> tensor<?x32xf32>, tensor<?x32xi32>
  return %v, %i : tensor<?x32xf32>, tensor<?x32xi32>
}

// More rounds than are worth it.
// CHECK-LABEL: hk.kernel @topk_3 
// CDNA: hk.variant @v0 #hk.row_tile<rows = 1, threads = 1024, vec = 4, slots = 0> threads 1024 lds 7952
// CDNA: hk.variant @v1 #hk.row_tile<rows = 1, threads = 256, vec = 4, slots = 0> threads 256 lds 7952
// SM90: hk.variant @v0 #hk.row_tile<rows = 1, threads = 1024, vec = 4, slots = 0> threads 1024 lds 7952
// SM90: hk.variant @v1 #hk.row_tile<rows = 1, threads = 256, vec = 4, slots = 0> threads 256 lds 7952
func.func @k300(%x: tensor<?x1024xf32>) -> (tensor<?x300xf32>, tensor<?x300xi32>) {
  %v, %i = hk.topk %x : tensor<?x1024xf32> -> tensor<?x300xf32>, tensor<?x300xi32>
  return %v, %i : tensor<?x300xf32>, tensor<?x300xi32>
}

// Nothing is known of the row.
// CHECK-LABEL: hk.kernel @topk_4 
// CDNA: hk.variant @v0 #hk.row_tile<rows = 1, threads = 1024, vec = 4, slots = 0> threads 1024 lds 35920
// CDNA: hk.variant @v1 #hk.row_tile<rows = 1, threads = 256, vec = 4, slots = 0> threads 256 lds 35920
// SM90: hk.variant @v0 #hk.row_tile<rows = 1, threads = 1024, vec = 4, slots = 0> threads 1024 lds 35920
// SM90: hk.variant @v1 #hk.row_tile<rows = 1, threads = 256, vec = 4, slots = 0> threads 256 lds 35920
func.func @dynamic(%x: tensor<?x?xf32>) -> (tensor<?x2048xf32>, tensor<?x2048xi32>) {
  %v, %i = hk.topk %x : tensor<?x?xf32> -> tensor<?x2048xf32>, tensor<?x2048xi32>
  return %v, %i : tensor<?x2048xf32>, tensor<?x2048xi32>
}

