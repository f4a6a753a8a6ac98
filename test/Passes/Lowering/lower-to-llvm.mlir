// RUN: hk-opt %s --hk-lower-to-llvm=prefix=p_ | FileCheck %s
// A launch is words: addresses, dims, outer strides; the kernel is its number. The
// plan function picks the first variant whose condition holds, none for an empty grid.

hk.weight @w "w" : tensor<64xbf16>
hk.kernel @first rowwise inputs 1 shapes [#hk.shape<[4]>, #hk.shape<[4]>] aligns [16, 16] {
  hk.spec {
  ^bb0(%x: tensor<4xf32>, %o: tensor<4xf32>):
    %y = hk.neg %x : tensor<4xf32> -> tensor<4xf32>
    hk.yield %y : tensor<4xf32>
  }
}
hk.kernel @k rowwise inputs 2 shapes [#hk.shape<[d0, 64]>, #hk.shape<[64]>, #hk.shape<[d0, 64]>] aligns [16, 16, 16] {
  hk.spec {
  ^bb0(%x: tensor<?x64xbf16>, %w: tensor<64xbf16>, %o: tensor<?x64xbf16>):
    %y = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<?x64xbf16>, tensor<64xbf16> -> tensor<?x64xbf16>
    hk.yield %y : tensor<?x64xbf16>
  }
  hk.variant @v0 #hk.row_tile<rows = 4, threads = 256, vec = 8, slots = 1> threads 256 lds 0 {
  ^bb0(%d0: index):
    %c4 = arith.constant 4 : index
    %c1 = arith.constant 1 : index
    %small = arith.cmpi ule, %d0, %c4 : index
    hk.launch_dims if %small grid (%c1, %c1, %c1)
  }
  hk.variant @v1 #hk.row_tile<rows = 8, threads = 256, vec = 8, slots = 1> threads 256 lds 0 {
  ^bb0(%d0: index):
    %true = arith.constant true
    %c1 = arith.constant 1 : index
    hk.launch_dims if %true grid (%d0, %c1, %c1)
  }
}

// CHECK-LABEL: func.func @p_f_run(
// CHECK-SAME: %[[CTX:.+]]: !llvm.ptr, %[[ARGS:.+]]: !llvm.ptr, %{{.+}}: !llvm.ptr)
// Three addresses, one dim, two strides: six words.
// CHECK: %[[SIX:.+]] = llvm.mlir.constant(6 : i64)
// CHECK: %[[WORDS:.+]] = llvm.alloca %[[SIX]] x i64
// The weight is number 0 of the context's table.
// CHECK: %[[TABLE:.+]] = llvm.getelementptr %[[CTX]][16]
// CHECK: %[[WEIGHTS:.+]] = llvm.load %[[TABLE]]
// CHECK: llvm.load %[[WEIGHTS]]
// CHECK: llvm.store %{{.+}}, %[[WORDS]] : i64
// CHECK: %[[NUMBER:.+]] = llvm.mlir.constant(1 : i32)
// CHECK: %[[LAUNCH:.+]] = llvm.load %[[CTX]]
// CHECK: llvm.call %[[LAUNCH]](%[[CTX]], %[[NUMBER]], %[[WORDS]])
func.func @f(%x: memref<?x64xbf16>, %y: memref<?x64xbf16> {hk.output}, %ws: memref<?xi8>) {
  %w = hk.weight_ref @w : memref<64xbf16>
  hk.launch @k ins(%x, %w : memref<?x64xbf16>, memref<64xbf16>) outs(%y : memref<?x64xbf16>) reads [false]
  return
}
// CHECK-LABEL: func.func @p_f_shape(
// CHECK: %[[GUARD:.+]] = llvm.load %{{.+}} : !llvm.ptr -> !llvm.ptr
// CHECK: llvm.call %{{.+}}(%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}) : !llvm.ptr, (!llvm.ptr, i32, i64, i64) -> ()
func.func private @f__shape(%x: memref<?x64xbf16>) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %d = memref.dim %x, %c0 : memref<?x64xbf16>
  hk.guard eq %d, %c64 names ["x dim 0", "64"]
  return %d, %c64, %c0 : index, index, index
}
// CHECK-LABEL: func.func @p_k_plan(
// CHECK: %[[NONE:.+]] = arith.constant -1 : i32
// CHECK: %[[ONE:.+]] = arith.constant 1 : i32
// CHECK: arith.select %{{.+}}, %[[ONE]], %[[NONE]]
// CHECK: %[[SMALL:.+]] = arith.cmpi ule
// CHECK: %[[ZERO:.+]] = arith.constant 0 : i32
// CHECK: arith.select %[[SMALL]], %[[ZERO]]
// CHECK-NOT: hk.
