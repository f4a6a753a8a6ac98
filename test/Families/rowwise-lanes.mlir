// Lanes that exchange values must all be there. The 48 chunks of the groups end in
// the middle of a wave, whose other lanes leave the loop out; those of 64 do not.
// RUN: hk-compile %s --emit=kernels --target=sm_90a -o - | FileCheck %s

// CHECK-LABEL: ==== @mul_rms_norm_quantize for
// CHECK: HK_EACH_CHUNK(c, Chunks<i32, 1024>{thread, 48})
// CHECK: segmentReduce<MagnitudeMax, 16, 16>(
func.func @half_a_wave(%x: tensor<64x40000xf32>, %y: tensor<64x40000xf32>, %w: tensor<40000xf32>, %s: tensor<64x384xbf16>) -> (tensor<64x40000xf32>, tensor<64x384xf8E4M3FN>, tensor<64x3xf32>) {
  %a = hk.mul %x, %y : tensor<64x40000xf32>
  %n = hk.rms_norm %a, %w epsilon 1.0e-05 : tensor<64x40000xf32>, tensor<40000xf32>
  %q, %sc = hk.quantize per_group %s group 128 : tensor<64x384xbf16> -> tensor<64x384xf8E4M3FN>, tensor<64x3xf32>
  return %n, %q, %sc : tensor<64x40000xf32>, tensor<64x384xf8E4M3FN>, tensor<64x3xf32>
}

// CHECK-LABEL: ==== @mul_rms_norm_quantize_0 for
// CHECK: HK_EACH_CHUNK(c, Chunks<i32, 1024>{thread, 64})
// CHECK: segmentReduce<MagnitudeMax, 16, 32>(
func.func @whole_waves(%x: tensor<64x40000xf32>, %y: tensor<64x40000xf32>, %w: tensor<40000xf32>, %s: tensor<64x512xbf16>) -> (tensor<64x40000xf32>, tensor<64x512xf8E4M3FN>, tensor<64x4xf32>) {
  %a = hk.mul %x, %y : tensor<64x40000xf32>
  %n = hk.rms_norm %a, %w epsilon 1.0e-05 : tensor<64x40000xf32>, tensor<40000xf32>
  %q, %sc = hk.quantize per_group %s group 128 : tensor<64x512xbf16> -> tensor<64x512xf8E4M3FN>, tensor<64x4xf32>
  return %n, %q, %sc : tensor<64x40000xf32>, tensor<64x512xf8E4M3FN>, tensor<64x4xf32>
}
