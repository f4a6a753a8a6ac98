// On CDNA the vector units bound short rows: no lane is idle, and a thread has several chunks.
// RUN: hk-compile %s --emit=kernels --target=gfx942 -o - | FileCheck %s
// RUN: hk-compile %s --emit=kernels --target=gfx950 -o - | FileCheck %s
// RUN: hk-compile %s --emit=kernels --target=sm_90a -o - | FileCheck %s --check-prefix=SM90

// 12 chunks of 32 rows: three whole waves.
// CHECK-LABEL: ==== @silu for
// CHECK: HK_KERNEL({{.*}}, 192,
// CHECK: rowOfThread<32, 6>
// CHECK: Piece<i32, 2, 6, true>
// SM90-LABEL: ==== @silu for
// SM90: rowOfThread<16, 16>
// SM90: Piece<i32, 1, 16, false>
func.func @act(%x: tensor<?x96xbf16>) -> tensor<?x96xbf16> {
  %y = hk.silu %x : tensor<?x96xbf16>
  return %y : tensor<?x96xbf16>
}

// The 16 lanes of a group stay together: not 11 rows of 22 threads.
// CHECK-LABEL: ==== @quantize for
// CHECK: Piece<i32, {{[0-9]+}}, {{16|32|48|80}}, {{true|false}}>
// CHECK: segmentReduce<MagnitudeMax, 16, 16>
func.func @groups(%x: tensor<?x640xbf16>) -> (tensor<?x640xf8E4M3FN>, tensor<?x5xf32>) {
  %q, %s = hk.quantize per_group %x group 128 : tensor<?x640xbf16> -> tensor<?x640xf8E4M3FN>, tensor<?x5xf32>
  return %q, %s : tensor<?x640xf8E4M3FN>, tensor<?x5xf32>
}

// CHECK-LABEL: ==== @rms_norm for
// CHECK: rowOfThread<64, 4>
// CHECK: wholeRowReduce<Sum, 4, 256>
// SM90-LABEL: ==== @rms_norm for
// SM90: wholeRowReduce<Sum, 8,
func.func @heads(%x: tensor<?x64xbf16>, %w: tensor<64xbf16>) -> tensor<?x64xbf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<?x64xbf16>, tensor<64xbf16>
  return %y : tensor<?x64xbf16>
}

// A token without a place has no angles, but takes part in votes.
// CHECK-LABEL: ==== @rope for
// CHECK: raw{{[0-9]+}}[{{[0-9]+}}] = {};
// CHECK-NEXT: if (row{{[0-9]+}} >= 0) raw
// SM90-LABEL: ==== @rope for
// SM90-NOT: = {};
func.func @angles(%x: tensor<?x4x128xbf16>, %pos: tensor<?xi32>, %cos: tensor<64x64xf32>, %sin: tensor<64x64xf32>) -> tensor<?x4x128xbf16> {
  %y = hk.rope neox %x, %cos, %sin positions %pos : tensor<?x4x128xbf16>, tensor<64x64xf32>, tensor<64x64xf32> positions tensor<?xi32>
  return %y : tensor<?x4x128xbf16>
}
