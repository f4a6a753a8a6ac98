// Rows that the copy engine of sm_90a cannot read are padded by zeros, where
// that is quicker than copies of single elements.
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-pad-depth | FileCheck %s
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-pad-depth | FileCheck %s --check-prefix=AMD

// AMD-NOT: hk.pad

// CHECK-LABEL: func.func @odd(
// CHECK: %[[X:.*]] = hk.pad %arg0 : tensor<?x3001xbf16> -> tensor<?x3008xbf16>
// CHECK: %[[W:.*]] = hk.pad %arg1 : tensor<5000x3001xbf16> -> tensor<5000x3008xbf16>
// CHECK: hk.matmul %[[X]], %[[W]] transpose_b : tensor<?x3008xbf16>, tensor<5000x3008xbf16> -> tensor<?x5000xbf16>
func.func @odd(%x: tensor<?x3001xbf16>, %w: tensor<5000x3001xbf16>) -> tensor<?x5000xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x3001xbf16>, tensor<5000x3001xbf16> -> tensor<?x5000xbf16>
  return %0 : tensor<?x5000xbf16>
}

// CHECK-LABEL: func.func @pairs(
// CHECK-COUNT-2: hk.pad {{.*}}x3002xf16> -> {{.*}}x3008xf16>
func.func @pairs(%x: tensor<64x3002xf16>, %w: tensor<5000x3002xf16>) -> tensor<64x5000xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<64x3002xf16>, tensor<5000x3002xf16> -> tensor<64x5000xf32>
  return %0 : tensor<64x5000xf32>
}

// Pairs of elements come as quickly for a few rows; little is multiplied; rows
// begin where they are read; f32, columns of the right operand, and codes that
// the product decodes have other ways.
// CHECK-NOT: hk.pad
func.func @few(%x: tensor<16x3002xbf16>, %w: tensor<5000x3002xbf16>) -> tensor<16x5000xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<16x3002xbf16>, tensor<5000x3002xbf16> -> tensor<16x5000xbf16>
  return %0 : tensor<16x5000xbf16>
}
func.func @small(%x: tensor<1x77xbf16>, %w: tensor<5000x77xbf16>) -> tensor<1x5000xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<1x77xbf16>, tensor<5000x77xbf16> -> tensor<1x5000xbf16>
  return %0 : tensor<1x5000xbf16>
}
func.func @whole(%x: tensor<300x3000xbf16>, %w: tensor<5000x3000xbf16>) -> tensor<300x5000xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<300x3000xbf16>, tensor<5000x3000xbf16> -> tensor<300x5000xbf16>
  return %0 : tensor<300x5000xbf16>
}
func.func @singles(%x: tensor<300x3001xf32>, %w: tensor<5000x3001xf32>) -> tensor<300x5000xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<300x3001xf32>, tensor<5000x3001xf32> -> tensor<300x5000xf32>
  return %0 : tensor<300x5000xf32>
}
func.func @columns(%x: tensor<300x3001xbf16>, %w: tensor<3001x5000xbf16>) -> tensor<300x5000xbf16> {
  %0 = hk.matmul %x, %w : tensor<300x3001xbf16>, tensor<3001x5000xbf16> -> tensor<300x5000xbf16>
  return %0 : tensor<300x5000xbf16>
}
func.func @made(%x: tensor<300x3001xbf16>, %w: tensor<5000x3001xbf16>) -> tensor<300x5000xbf16> {
  %v = hk.silu %w : tensor<5000x3001xbf16>
  %0 = hk.matmul %x, %v transpose_b : tensor<300x3001xbf16>, tensor<5000x3001xbf16> -> tensor<300x5000xbf16>
  return %0 : tensor<300x5000xbf16>
}
