// A quantisation within heads that the attention computes itself is no kernel of whole rows which
// would combine slices of the keys on the way: slices cost a launch there, which few keys are not
// worth. A norm behind the attention is such a kernel.
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-split | FileCheck %s --check-prefixes=CHECK,GFX942
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-split | FileCheck %s

// CHECK-LABEL: func @quantised
// CHECK-NOT: kv_slices
// CHECK: hk.quantize
func.func @quantised(%q: tensor<16x1x4x128xbf16>, %k: tensor<16x512x1x128xbf16>) -> (tensor<16x1x4x128xf8E4M3FN>, tensor<16x1x4x1xf32>) {
  %0 = hk.attention %q, %k, %k scale 0.0884 : tensor<16x1x4x128xbf16>, tensor<16x512x1x128xbf16>, tensor<16x512x1x128xbf16> -> tensor<16x1x4x128xbf16>
  %c, %s = hk.quantize per_group %0 group 128 : tensor<16x1x4x128xbf16> -> tensor<16x1x4x128xf8E4M3FN>, tensor<16x1x4x1xf32>
  return %c, %s : tensor<16x1x4x128xf8E4M3FN>, tensor<16x1x4x1xf32>
}

// Many keys are worth a launch.
// CHECK-LABEL: func @long
// CHECK: kv_slices
func.func @long(%q: tensor<16x1x4x128xbf16>, %k: tensor<16x8192x1x128xbf16>) -> (tensor<16x1x4x128xf8E4M3FN>, tensor<16x1x4x1xf32>) {
  %0 = hk.attention %q, %k, %k scale 0.0884 : tensor<16x1x4x128xbf16>, tensor<16x8192x1x128xbf16>, tensor<16x8192x1x128xbf16> -> tensor<16x1x4x128xbf16>
  %c, %s = hk.quantize per_group %0 group 128 : tensor<16x1x4x128xbf16> -> tensor<16x1x4x128xf8E4M3FN>, tensor<16x1x4x1xf32>
  return %c, %s : tensor<16x1x4x128xf8E4M3FN>, tensor<16x1x4x1xf32>
}

// GFX942-LABEL: func @some
// GFX942-NOT: kv_slices
// GFX942: hk.quantize
func.func @some(%q: tensor<16x1x4x128xbf16>, %k: tensor<16x768x1x128xbf16>) -> (tensor<16x1x4x128xf8E4M3FN>, tensor<16x1x4x1xf32>) {
  %0 = hk.attention %q, %k, %k scale 0.0884 : tensor<16x1x4x128xbf16>, tensor<16x768x1x128xbf16>, tensor<16x768x1x128xbf16> -> tensor<16x1x4x128xbf16>
  %c, %s = hk.quantize per_group %0 group 128 : tensor<16x1x4x128xbf16> -> tensor<16x1x4x128xf8E4M3FN>, tensor<16x1x4x1xf32>
  return %c, %s : tensor<16x1x4x128xf8E4M3FN>, tensor<16x1x4x1xf32>
}

// CHECK-LABEL: func @rows
// CHECK: kv_slices
// CHECK: hk.rms_norm
func.func @rows(%q: tensor<16x1x4x128xbf16>, %k: tensor<16x768x1x128xbf16>, %g: tensor<128xbf16>) -> tensor<16x1x4x128xbf16> {
  %0 = hk.attention %q, %k, %k scale 0.0884 : tensor<16x1x4x128xbf16>, tensor<16x768x1x128xbf16>, tensor<16x768x1x128xbf16> -> tensor<16x1x4x128xbf16>
  %1 = hk.rms_norm %0, %g epsilon 1.0e-05 : tensor<16x1x4x128xbf16>, tensor<128xbf16>
  return %1 : tensor<16x1x4x128xbf16>
}
