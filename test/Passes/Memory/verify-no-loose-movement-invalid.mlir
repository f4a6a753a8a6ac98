// RUN: hk-opt %s --hk-verify-no-loose-movement -verify-diagnostics -split-input-file

func.func @copies(%x: memref<4xf32>, %y: memref<4xf32>) {
  // expected-error @below {{moves data outside every kernel}}
  memref.copy %x, %y : memref<4xf32> to memref<4xf32>
  return
}

// -----

func.func @allocates() -> memref<4xf32> {
  // expected-error @below {{moves data outside every kernel}}
  %0 = memref.alloc() : memref<4xf32>
  return %0 : memref<4xf32>
}
