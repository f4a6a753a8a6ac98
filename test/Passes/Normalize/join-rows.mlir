// Batches that share a matrix become rows of one product where that costs no copy; what
// stands around it gets joined rows from hk-normalize.
// RUN: hk-opt -hk-join-rows -canonicalize -cse %s | FileCheck %s
// RUN: hk-compile %s --target=gfx942 --explain --emit=mlir -o - | FileCheck %s --check-prefix=LAUNCHES

// LAUNCHES: 1 launches in @sequences, 1 launches in @scaled, 1 launches in @columns, 1 launches in @tokens, 1 launches in @transposed, 1 launches in @heads, 1 launches in @matrices, 5 launches in @class_token

// CHECK-LABEL: func @sequences
// CHECK: %[[X:.*]] = tensor.collapse_shape %arg0 {{\[\[}}0, 1], [2]]
// CHECK: %[[Y:.*]] = hk.matmul %[[X]], %arg1 transpose_b : tensor<?x256xbf16>, tensor<64x256xbf16> -> tensor<?x64xbf16>
// CHECK: tensor.expand_shape %[[Y]] {{\[\[}}0, 1], [2]]
func.func @sequences(%x: tensor<?x?x256xbf16>, %w: tensor<64x256xbf16>) -> tensor<?x?x64xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x?x256xbf16>, tensor<64x256xbf16> -> tensor<?x?x64xbf16>
  return %y : tensor<?x?x64xbf16>
}

// Scales of rows go along, one of all stays.
// CHECK-LABEL: func @scaled
// CHECK-DAG: %[[X:.*]] = tensor.collapse_shape %arg0 {{\[\[}}0, 1], [2]]
// CHECK-DAG: %[[S:.*]] = tensor.collapse_shape %arg2 {{\[\[}}0, 1], [2]]
// CHECK: hk.matmul %[[X]], %arg1 scales(%[[S]], %arg3)
func.func @scaled(%x: tensor<4x?x256xf8E4M3FNUZ>, %w: tensor<64x256xf8E4M3FNUZ>, %s: tensor<4x?x1xf32>, %t: tensor<1x1xf32>) -> tensor<4x?x64xbf16> {
  %y = hk.matmul %x, %w scales (%s, %t) transpose_b : tensor<4x?x256xf8E4M3FNUZ>, tensor<64x256xf8E4M3FNUZ> scales (tensor<4x?x1xf32>, tensor<1x1xf32>) -> tensor<4x?x64xbf16>
  return %y : tensor<4x?x64xbf16>
}

// Rows that are slices of longer ones lie at one distance.
// CHECK-LABEL: func @columns
// CHECK: hk.matmul {{.*}} : tensor<36x256xbf16>, tensor<64x256xbf16> -> tensor<36x64xbf16>
func.func @columns(%x: tensor<4x9x512xbf16>, %w: tensor<64x256xbf16>) -> tensor<4x9x64xbf16> {
  %c = tensor.extract_slice %x[0, 0, 256] [4, 9, 256] [1, 1, 1] : tensor<4x9x512xbf16> to tensor<4x9x256xbf16>
  %y = hk.matmul %c, %w transpose_b : tensor<4x9x256xbf16>, tensor<64x256xbf16> -> tensor<4x9x64xbf16>
  return %y : tensor<4x9x64xbf16>
}

// Some tokens of each sequence do not.
// CHECK-LABEL: func @tokens
// CHECK: hk.matmul {{.*}} : tensor<4x8x256xbf16>
func.func @tokens(%x: tensor<4x9x256xbf16>, %w: tensor<64x256xbf16>) -> tensor<4x8x64xbf16> {
  %c = tensor.extract_slice %x[0, 1, 0] [4, 8, 256] [1, 1, 1] : tensor<4x9x256xbf16> to tensor<4x8x256xbf16>
  %y = hk.matmul %c, %w transpose_b : tensor<4x8x256xbf16>, tensor<64x256xbf16> -> tensor<4x8x64xbf16>
  return %y : tensor<4x8x64xbf16>
}

// CHECK-LABEL: func @transposed
// CHECK: hk.matmul {{.*}} : tensor<4x?x256xbf16>
func.func @transposed(%x: tensor<?x4x256xbf16>, %w: tensor<64x256xbf16>) -> tensor<4x?x64xbf16> {
  %t = hk.transpose %x [1, 0, 2] : tensor<?x4x256xbf16> -> tensor<4x?x256xbf16>
  %y = hk.matmul %t, %w transpose_b : tensor<4x?x256xbf16>, tensor<64x256xbf16> -> tensor<4x?x64xbf16>
  return %y : tensor<4x?x64xbf16>
}

// CHECK-LABEL: func @heads
// CHECK: hk.matmul {{.*}} : tensor<?x?x256xbf16>
func.func @heads(%x: tensor<?x?x256xbf16>, %w: tensor<256x256xbf16>) -> tensor<?x4x?x64xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %x, %c0 : tensor<?x?x256xbf16>
  %s = tensor.dim %x, %c1 : tensor<?x?x256xbf16>
  %y = hk.matmul %x, %w transpose_b : tensor<?x?x256xbf16>, tensor<256x256xbf16> -> tensor<?x?x256xbf16>
  %e = tensor.expand_shape %y [[0], [1], [2, 3]] output_shape [%b, %s, 4, 64] : tensor<?x?x256xbf16> into tensor<?x?x4x64xbf16>
  %t = hk.transpose %e [0, 2, 1, 3] : tensor<?x?x4x64xbf16> -> tensor<?x4x?x64xbf16>
  return %t : tensor<?x4x?x64xbf16>
}

// CHECK-LABEL: func @matrices
// CHECK: hk.matmul {{.*}} : tensor<4x?x256xbf16>, tensor<4x64x256xbf16>
func.func @matrices(%x: tensor<4x?x256xbf16>, %w: tensor<4x64x256xbf16>) -> tensor<4x?x64xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<4x?x256xbf16>, tensor<4x64x256xbf16> -> tensor<4x?x64xbf16>
  return %y : tensor<4x?x64xbf16>
}

// The positions of an image repeat, so the rows in front of the first norm stay apart;
// both residuals are epilogues all the same.
func.func @class_token(%p: tensor<?x196x256xbf16>, %c: tensor<?x1x256xbf16>, %at: tensor<197x256xbf16>, %g: tensor<256xbf16>, %w: tensor<256x256xbf16>) -> tensor<?x197x256xbf16> {
  %x = hk.concat 1 (%c, %p) : tensor<?x1x256xbf16>, tensor<?x196x256xbf16> -> tensor<?x197x256xbf16>
  %x0 = hk.add %x, %at : tensor<?x197x256xbf16>, tensor<197x256xbf16>
  %n0 = hk.rms_norm %x0, %g epsilon 1.0e-05 : tensor<?x197x256xbf16>, tensor<256xbf16>
  %y0 = hk.matmul %n0, %w : tensor<?x197x256xbf16>, tensor<256x256xbf16> -> tensor<?x197x256xbf16>
  %h = hk.gelu %y0 : tensor<?x197x256xbf16>
  %y1 = hk.matmul %h, %w : tensor<?x197x256xbf16>, tensor<256x256xbf16> -> tensor<?x197x256xbf16>
  %x1 = hk.add %x0, %y1 : tensor<?x197x256xbf16>
  %n1 = hk.rms_norm %x1, %g epsilon 1.0e-05 : tensor<?x197x256xbf16>, tensor<256xbf16>
  %y2 = hk.matmul %n1, %w : tensor<?x197x256xbf16>, tensor<256x256xbf16> -> tensor<?x197x256xbf16>
  %x2 = hk.add %x1, %y2 : tensor<?x197x256xbf16>
  return %x2 : tensor<?x197x256xbf16>
}
