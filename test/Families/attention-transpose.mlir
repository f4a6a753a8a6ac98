// Heads in front of tokens are strides: an attention reads and stores through transposes
// that keep the elements of a head together.
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-fuse --hk-outline | FileCheck %s

// CHECK-LABEL: func.func @head_major
// CHECK-COUNT-1: hk.launch
// CHECK-NOT: hk.launch
// CHECK: return
func.func @head_major(%q: tensor<4x9x64xbf16>, %k: tensor<2x70x64xbf16>, %v: tensor<2x70x64xbf16>) -> tensor<4x9x64xbf16> {
  %x = hk.transpose %q [1, 0, 2] : tensor<4x9x64xbf16> -> tensor<9x4x64xbf16>
  %y = hk.transpose %k [1, 0, 2] : tensor<2x70x64xbf16> -> tensor<70x2x64xbf16>
  %z = hk.transpose %v [1, 0, 2] : tensor<2x70x64xbf16> -> tensor<70x2x64xbf16>
  %o = hk.attention %x, %y, %z scale 0.125 : tensor<9x4x64xbf16>, tensor<70x2x64xbf16>, tensor<70x2x64xbf16> -> tensor<9x4x64xbf16>
  %r = hk.transpose %o [1, 0, 2] : tensor<9x4x64xbf16> -> tensor<4x9x64xbf16>
  return %r : tensor<4x9x64xbf16>
}

// The elements of a head are apart, or the tensor is read in two orders: copies.
// CHECK-LABEL: func.func @elements
// CHECK-COUNT-2: hk.launch
func.func @elements(%q: tensor<9x4x64xbf16>, %k: tensor<2x64x70xbf16>, %v: tensor<70x2x64xbf16>) -> tensor<9x4x64xbf16> {
  %y = hk.transpose %k [2, 0, 1] : tensor<2x64x70xbf16> -> tensor<70x2x64xbf16>
  %o = hk.attention %q, %y, %v scale 0.125 : tensor<9x4x64xbf16>, tensor<70x2x64xbf16>, tensor<70x2x64xbf16> -> tensor<9x4x64xbf16>
  return %o : tensor<9x4x64xbf16>
}
// CHECK-LABEL: func.func @two_orders
// CHECK-COUNT-2: hk.launch
func.func @two_orders(%q: tensor<9x4x64xbf16>, %k: tensor<4x4x64xbf16>) -> tensor<9x4x64xbf16> {
  %y = hk.transpose %k [1, 0, 2] : tensor<4x4x64xbf16>
  %o = hk.attention %q, %k, %y scale 0.125 : tensor<9x4x64xbf16>, tensor<4x4x64xbf16>, tensor<4x4x64xbf16> -> tensor<9x4x64xbf16>
  return %o : tensor<9x4x64xbf16>
}
