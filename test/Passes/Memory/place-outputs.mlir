// RUN: hk-opt %s --hk-place-outputs | FileCheck %s
// Results become writable arguments; a state's result stays with its argument; the
// shape function has a guard per assumed equality and the sizes of the outputs.

module attributes {hk.target = #hk.target<"host">} {
  hk.kernel @k rowwise inputs 2 shapes [#hk.shape<[d0, 64]>, #hk.shape<[d0]>, #hk.shape<[d0, 64]>, #hk.shape<[1, 32, 1, 64]>] aligns [16, 16, 16, 16] {
    hk.spec {
    ^bb0(%x: tensor<?x64xbf16>, %slots: tensor<?xi32>, %o: tensor<?x64xbf16>, %cache: tensor<1x32x1x64xbf16>):
      %c0 = arith.constant 0 : index
      %d = tensor.dim %x, %c0 : tensor<?x64xbf16>
      %y = hk.neg %x : tensor<?x64xbf16>
      %e = tensor.expand_shape %y [[0], [1, 2]] output_shape [%d, 1, 64] : tensor<?x64xbf16> into tensor<?x1x64xbf16>
      %c = hk.kv_cache_write %e, %slots into %cache : tensor<?x1x64xbf16>, tensor<?xi32>, tensor<1x32x1x64xbf16>
      hk.yield %y, %c : tensor<?x64xbf16>, tensor<1x32x1x64xbf16>
    }
  }

  // CHECK-LABEL: func.func @f(
  // CHECK-SAME: %[[X:.+]]: tensor<?x64xbf16> {bufferization.writable = false, hk.name = "x"}
  // CHECK-SAME: %{{.+}}: tensor<?xi32> {bufferization.writable = false}
  // CHECK-SAME: %[[CACHE:.+]]: tensor<1x32x1x64xbf16> {bufferization.writable = true, hk.state}
  // CHECK-SAME: %[[OUT:.+]]: tensor<?x64xbf16> {bufferization.writable = true, hk.name = "y", hk.output})
  // CHECK: hk.launch @k {{.*}} outs(%[[OUT]], %[[CACHE]] :
  func.func @f(%x: tensor<?x64xbf16> {hk.name = "x"}, %slots: tensor<?xi32>, %cache: tensor<1x32x1x64xbf16> {hk.state})
      -> (tensor<?x64xbf16> {hk.name = "y"}, tensor<1x32x1x64xbf16>) {
    %c0 = arith.constant 0 : index
    %d = tensor.dim %x, %c0 : tensor<?x64xbf16>
    %e = tensor.empty(%d) : tensor<?x64xbf16>
    %0:2 = hk.launch @k ins(%x, %slots : tensor<?x64xbf16>, tensor<?xi32>) outs(%e, %cache : tensor<?x64xbf16>, tensor<1x32x1x64xbf16>) reads [false, true] -> tensor<?x64xbf16>, tensor<1x32x1x64xbf16>
    return %0#0, %0#1 : tensor<?x64xbf16>, tensor<1x32x1x64xbf16>
  }
  // CHECK-LABEL: func.func private @f__shape(
  // CHECK-SAME: -> (index, index)
  // CHECK: hk.guard eq %{{.+}}, %{{.+}} names ["x dim 0", "arg1 dim 0"]
  // CHECK: return %{{.+}}, %{{.+}} : index, index

  // A size that the function computes in a way of its own is computed again.
  hk.kernel @n rowwise inputs 1 shapes [#hk.shape<[d0, 8]>, #hk.shape<[d0, 8]>] aligns [16, 16] {
    hk.spec {
    ^bb0(%x: tensor<?x8xf32>, %o: tensor<?x8xf32>):
      %y = hk.neg %x : tensor<?x8xf32>
      hk.yield %y : tensor<?x8xf32>
    }
  }
  func.func @first_four(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %d = tensor.dim %x, %c0 : tensor<?x8xf32>
    %m = arith.minui %d, %c4 : index
    %s = tensor.extract_slice %x[0, 0] [%m, 8] [1, 1] : tensor<?x8xf32> to tensor<?x8xf32>
    %e = tensor.empty(%m) : tensor<?x8xf32>
    %0 = hk.launch @n ins(%s : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) reads [false] -> tensor<?x8xf32>
    return %0 : tensor<?x8xf32>
  }
  // CHECK-LABEL: func.func private @first_four__shape(
  // CHECK-SAME: %[[Y:.+]]: tensor<?x8xf32>
  // CHECK: %[[N:.+]] = tensor.dim %[[Y]], %{{.+}}
  // CHECK: %[[M:.+]] = arith.minui %[[N]], %{{.+}} : index
  // CHECK: return %[[M]], %{{.+}} : index, index

  // A result that views what a launch writes in two steps: the caller's tensor is viewed
  // in front of the launch.
  // CHECK-LABEL: func.func @two_views(
  // CHECK-SAME: %[[OUT:[^ ]+]]: tensor<?x16xf32> {bufferization.writable = true
  // CHECK: %[[E:.+]] = tensor.expand_shape %[[OUT]] {{\[\[}}0], [1, 2]] {{.*}} into tensor<?x2x8xf32>
  // CHECK: %[[C:.+]] = tensor.collapse_shape %[[E]] {{\[\[}}0, 1], [2]] : tensor<?x2x8xf32> into tensor<?x8xf32>
  // CHECK: hk.launch @n {{.*}} outs(%[[C]] :
  func.func @two_views(%x: tensor<?x2x8xf32>) -> tensor<?x16xf32> {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %d = tensor.dim %x, %c0 : tensor<?x2x8xf32>
    %n = arith.muli %d, %c2 : index
    %s = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x2x8xf32> into tensor<?x8xf32>
    %e = tensor.empty(%n) : tensor<?x8xf32>
    %0 = hk.launch @n ins(%s : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) reads [false] -> tensor<?x8xf32>
    %1 = tensor.expand_shape %0 [[0, 1], [2]] output_shape [%d, 2, 8] : tensor<?x8xf32> into tensor<?x2x8xf32>
    %2 = tensor.collapse_shape %1 [[0], [1, 2]] : tensor<?x2x8xf32> into tensor<?x16xf32>
    return %2 : tensor<?x16xf32>
  }
}
