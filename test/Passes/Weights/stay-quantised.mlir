// A weight that is stored in fewer bits than it is computed with stays as it is
// stored, unless asked; small results and padding are folded.
// RUN: hk-opt %s --hk-fold-weights | FileCheck %s
// RUN: hk-opt %s --hk-fold-weights=expand=true | FileCheck %s --check-prefix=EXPAND

hk.weight @codes "codes" : tensor<512x256xf8E4M3FN>
hk.weight @scale "scale" : tensor<512x2xf32>
hk.weight @mx "mx" : tensor<512x256xf4E2M1FN>
hk.weight @mxscale "mxscale" : tensor<512x8xf8E8M0FNU>
hk.weight @gain "gain" : tensor<256xbf16>
hk.weight @odd "odd" : tensor<256x500xbf16>

// CHECK-LABEL: func @fp8
// CHECK: %[[C:.*]] = hk.weight_ref @codes
// CHECK: hk.dequantize %[[C]]
// EXPAND-LABEL: func @fp8
// EXPAND-NOT: hk.dequantize
// EXPAND: hk.matmul
func.func @fp8(%x: tensor<?x256xbf16>) -> tensor<?x512xbf16> {
  %c = hk.weight_ref @codes : tensor<512x256xf8E4M3FN>
  %s = hk.weight_ref @scale : tensor<512x2xf32>
  %w = hk.dequantize %c, %s : tensor<512x256xf8E4M3FN>, tensor<512x2xf32> -> tensor<512x256xbf16>
  %y = hk.matmul %x, %w transpose_b : tensor<?x256xbf16>, tensor<512x256xbf16> -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}

// What is larger on the way only is folded: the codes of the other flavour.
// CHECK-LABEL: func @requantised
// CHECK-NOT: hk.dequantize
// CHECK-NOT: hk.quantize
// CHECK: hk.matmul
func.func @requantised(%x: tensor<?x256xf8E4M3FNUZ>, %xs: tensor<?x1xf32>) -> tensor<?x512xbf16> {
  %c = hk.weight_ref @codes : tensor<512x256xf8E4M3FN>
  %s = hk.weight_ref @scale : tensor<512x2xf32>
  %w = hk.dequantize %c, %s : tensor<512x256xf8E4M3FN>, tensor<512x2xf32> -> tensor<512x256xf32>
  %q, %qs = hk.quantize per_token %w : tensor<512x256xf32> -> tensor<512x256xf8E4M3FNUZ>, tensor<512x1xf32>
  %y = hk.matmul %x, %q scales (%xs, %qs) transpose_b : tensor<?x256xf8E4M3FNUZ>, tensor<512x256xf8E4M3FNUZ> scales (tensor<?x1xf32>, tensor<512x1xf32>) -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}

// Behind a transpose nothing else can be stored either; the scales stay small.
// CHECK-LABEL: func @mxfp4
// CHECK: hk.dequantize
// CHECK: hk.transpose
func.func @mxfp4(%x: tensor<?x256xbf16>) -> tensor<?x512xbf16> {
  %c = hk.weight_ref @mx : tensor<512x256xf4E2M1FN>
  %s = hk.weight_ref @mxscale : tensor<512x8xf8E8M0FNU>
  %w = hk.dequantize %c, %s : tensor<512x256xf4E2M1FN>, tensor<512x8xf8E8M0FNU> -> tensor<512x256xbf16>
  %t = hk.transpose %w [1, 0] : tensor<512x256xbf16> -> tensor<256x512xbf16>
  %y = hk.matmul %x, %t : tensor<?x256xbf16>, tensor<256x512xbf16> -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}

// CHECK-LABEL: func @small_and_padded
// CHECK-NOT: hk.cast
// CHECK-NOT: hk.pad
// CHECK: hk.rms_norm
func.func @small_and_padded(%x: tensor<?x256xf32>) -> tensor<?x512xf32> {
  %g = hk.weight_ref @gain : tensor<256xbf16>
  %f = hk.cast %g : tensor<256xbf16> -> tensor<256xf32>
  %n = hk.rms_norm %x, %f epsilon 1.0e-05 : tensor<?x256xf32>, tensor<256xf32>
  %b = hk.cast %n : tensor<?x256xf32> -> tensor<?x256xbf16>
  %o = hk.weight_ref @odd : tensor<256x500xbf16>
  %p = hk.pad %o : tensor<256x500xbf16> -> tensor<256x512xbf16>
  %y = hk.matmul %b, %p : tensor<?x256xbf16>, tensor<256x512xbf16> -> tensor<?x512xf32>
  return %y : tensor<?x512xf32>
}

// Zero points of 128 KiB, twice what the file has: little beside 4 MiB of codes.
// The codes themselves stay in 4 bits.
// CHECK-LABEL: func @zero_points
// CHECK-NOT: hk.cast
// CHECK-NOT: hk.add
// CHECK: hk.dequantize %{{.*}} group 64 : tensor<2048x4096xui4>, tensor<2048x64xf16>, tensor<2048x64xi8>
hk.weight @codes4 "codes4" : tensor<2048x4096xui4>
hk.weight @scale4 "scale4" : tensor<2048x64xf16>
hk.weight @zeros4 "zeros4" : tensor<2048x64xui4>
func.func @zero_points(%x: tensor<?x4096xf16>) -> tensor<?x2048xf16> {
  %c = hk.weight_ref @codes4 : tensor<2048x4096xui4>
  %s = hk.weight_ref @scale4 : tensor<2048x64xf16>
  %z = hk.weight_ref @zeros4 : tensor<2048x64xui4>
  %zi = hk.cast %z : tensor<2048x64xui4> -> tensor<2048x64xi8>
  %one = hk.constant 1 : tensor<i8>
  %zp = hk.add %zi, %one : tensor<2048x64xi8>, tensor<i8>
  %w = hk.dequantize %c, %s, %zp group 64 : tensor<2048x4096xui4>, tensor<2048x64xf16>, tensor<2048x64xi8> -> tensor<2048x4096xf16>
  %y = hk.matmul %x, %w transpose_b : tensor<?x4096xf16>, tensor<2048x4096xf16> -> tensor<?x2048xf16>
  return %y : tensor<?x2048xf16>
}
