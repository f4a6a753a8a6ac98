// Codes that a product of many rows would decode for every tile of rows are decoded once,
// by a launch in front of it, on sm_90a.
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-split --split-input-file | FileCheck %s
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-split --hk-fuse --split-input-file | FileCheck %s --check-prefix=FUSE
// RUN: hk-opt %s --hk-assign-target=target=gfx950 --hk-split --split-input-file | FileCheck %s --check-prefix=AMD
// AMD-NOT: hk.apart

// CHECK-LABEL: func.func @many
// CHECK: hk.dequantize {{.*}} {hk.apart}
// CHECK-NEXT: hk.matmul
// FUSE-LABEL: func.func @many
// FUSE: hk.fused rowwise
// FUSE: hk.dequantize
// FUSE: hk.fused gemm
// FUSE-NOT: hk.dequantize
// FUSE: hk.matmul
func.func @many(%x: tensor<4096x4096xbf16>, %w: tensor<28672x4096xui4>, %s: tensor<28672x32xbf16>, %z: tensor<28672x32xui4>) -> tensor<4096x28672xbf16> {
  %d = hk.dequantize %w, %s, %z group 128 : tensor<28672x4096xui4>, tensor<28672x32xbf16>, tensor<28672x32xui4> -> tensor<28672x4096xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<4096x4096xbf16>, tensor<28672x4096xbf16> -> tensor<4096x28672xbf16>
  return %y : tensor<4096x28672xbf16>
}

// CHECK-LABEL: func.func @few
// CHECK-NOT: hk.apart
// CHECK: return
// FUSE-LABEL: func.func @few
// FUSE-NOT: hk.fused rowwise
// FUSE: hk.fused gemm
// FUSE: hk.dequantize
func.func @few(%x: tensor<16x4096xbf16>, %w: tensor<28672x4096xf4E2M1FN>, %s: tensor<28672x128xf8E8M0FNU>) -> tensor<16x28672xbf16> {
  %d = hk.dequantize %w, %s : tensor<28672x4096xf4E2M1FN>, tensor<28672x128xf8E8M0FNU> -> tensor<28672x4096xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<16x4096xbf16>, tensor<28672x4096xbf16> -> tensor<16x28672xbf16>
  return %y : tensor<16x28672xbf16>
}

// Codes of 8 bits, too: few rows stream them, and no slices of k take those rows to another loop.
// CHECK-LABEL: func.func @bytes
// CHECK-NOT: hk.apart
// CHECK-NOT: k_slices
// CHECK: return
func.func @bytes(%x: tensor<16x14336xbf16>, %w: tensor<4096x14336xi8>, %s: tensor<4096x1xbf16>) -> tensor<16x4096xbf16> {
  %d = hk.dequantize %w, %s : tensor<4096x14336xi8>, tensor<4096x1xbf16> -> tensor<4096x14336xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<16x14336xbf16>, tensor<4096x14336xbf16> -> tensor<16x4096xbf16>
  return %y : tensor<16x4096xbf16>
}

// CHECK-LABEL: func.func @more_bytes
// CHECK: hk.dequantize {{.*}} {hk.apart}
func.func @more_bytes(%x: tensor<1024x14336xbf16>, %w: tensor<4096x14336xi8>, %s: tensor<4096x1xbf16>) -> tensor<1024x4096xbf16> {
  %d = hk.dequantize %w, %s : tensor<4096x14336xi8>, tensor<4096x1xbf16> -> tensor<4096x14336xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<1024x14336xbf16>, tensor<4096x14336xbf16> -> tensor<1024x4096xbf16>
  return %y : tensor<1024x4096xbf16>
}

// -----

// Slices of k, which would pay for bf16 weights, would take some rows of codes to a loop that
// decodes slower. Up to a thousand rows nothing decodes them apart.
// CHECK-LABEL: func.func @nibbles(
// CHECK: hk.dequantize {{.*}} {hk.apart}
// CHECK: func.func @nibbles__up_to_1024(
// CHECK-NOT: slices
// CHECK-NOT: hk.apart
// CHECK-NOT: func.func @nibbles__
// CHECK: return
func.func @nibbles(%x: tensor<?x14336xbf16>, %w: tensor<4096x14336xi4>, %s: tensor<4096x112xbf16>) -> tensor<?x4096xbf16> {
  %d = hk.dequantize %w, %s group 128 : tensor<4096x14336xi4>, tensor<4096x112xbf16> -> tensor<4096x14336xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x14336xbf16>, tensor<4096x14336xbf16> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}

// -----

// A dynamic number of rows: the function decodes apart, its versions for few rows do not.
// The second product's codes are made where they are read, and no earlier.
// CHECK-LABEL: func.func @layers(
// CHECK: hk.dequantize {{.*}} {hk.apart}
// CHECK-NEXT: hk.matmul
// CHECK-NEXT: hk.dequantize {{.*}} {hk.apart}
// CHECK-NEXT: hk.matmul
// No launch has both, which would keep both matrices at once.
// FUSE-LABEL: func.func @layers(
// FUSE: hk.fused rowwise
// FUSE: hk.fused gemm
// FUSE: hk.fused rowwise
// FUSE: hk.fused gemm
// FUSE: func.func @layers__up_to
// CHECK: func.func @layers__up_to_{{[0-9]+}}({{.*}}hk.version
// CHECK-NOT: hk.apart
// CHECK: return
func.func @layers(%x: tensor<?x4096xbf16>, %w: tensor<14336x4096xui4>, %s: tensor<14336x32xbf16>, %v: tensor<4096x14336xui4>, %t: tensor<4096x112xbf16>) -> tensor<?x4096xbf16> {
  %d = hk.dequantize %w, %s group 128 : tensor<14336x4096xui4>, tensor<14336x32xbf16> -> tensor<14336x4096xbf16>
  %e = hk.dequantize %v, %t group 128 : tensor<4096x14336xui4>, tensor<4096x112xbf16> -> tensor<4096x14336xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x4096xbf16>, tensor<14336x4096xbf16> -> tensor<?x14336xbf16>
  %r = hk.matmul %y, %e transpose_b : tensor<?x14336xbf16>, tensor<4096x14336xbf16> -> tensor<?x4096xbf16>
  return %r : tensor<?x4096xbf16>
}

// -----

// Whether rows are many, no argument tells.
// CHECK-LABEL: func.func @chosen(
// CHECK-NOT: hk.apart
// CHECK-NOT: hk.version
// CHECK: return
func.func @chosen(%x: tensor<?x?x4096xbf16>, %w: tensor<28672x4096xui4>, %s: tensor<28672x32xbf16>) -> tensor<?x28672xbf16> {
  %r = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x4096xbf16> into tensor<?x4096xbf16>
  %d = hk.dequantize %w, %s group 128 : tensor<28672x4096xui4>, tensor<28672x32xbf16> -> tensor<28672x4096xbf16>
  %y = hk.matmul %r, %d transpose_b : tensor<?x4096xbf16>, tensor<28672x4096xbf16> -> tensor<?x28672xbf16>
  return %y : tensor<?x28672xbf16>
}

// -----

// More than a GiB would have to be kept.
// CHECK-LABEL: func.func @large
// CHECK-NOT: hk.apart
// CHECK: return
func.func @large(%x: tensor<4096x8192xbf16>, %w: tensor<128256x8192xui4>, %s: tensor<128256x64xbf16>) -> tensor<4096x128256xbf16> {
  %d = hk.dequantize %w, %s group 128 : tensor<128256x8192xui4>, tensor<128256x64xbf16> -> tensor<128256x8192xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<4096x8192xbf16>, tensor<128256x8192xbf16> -> tensor<4096x128256xbf16>
  return %y : tensor<4096x128256xbf16>
}
// Two products read it, so it is a launch of its own anyway.
// CHECK-LABEL: func.func @twice
// CHECK-NOT: hk.apart
// CHECK: return
func.func @twice(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xui4>, %s: tensor<4096x32xbf16>) -> tensor<4096x4096xbf16> {
  %d = hk.dequantize %w, %s group 128 : tensor<4096x4096xui4>, tensor<4096x32xbf16> -> tensor<4096x4096xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<4096x4096xbf16>, tensor<4096x4096xbf16> -> tensor<4096x4096xbf16>
  %r = hk.matmul %y, %d transpose_b : tensor<4096x4096xbf16>, tensor<4096x4096xbf16> -> tensor<4096x4096xbf16>
  return %r : tensor<4096x4096xbf16>
}

// -----

// A module that asks for a loop gets it.
module attributes {hk.gemm_loop = "blocks"} {
// CHECK-LABEL: func.func @asked
// CHECK-NOT: hk.apart
// CHECK: return
func.func @asked(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xui4>, %s: tensor<4096x32xbf16>) -> tensor<4096x4096xbf16> {
  %d = hk.dequantize %w, %s group 128 : tensor<4096x4096xui4>, tensor<4096x32xbf16> -> tensor<4096x4096xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<4096x4096xbf16>, tensor<4096x4096xbf16> -> tensor<4096x4096xbf16>
  return %y : tensor<4096x4096xbf16>
}
}

// -----

// Rows of 8196 bytes are not copied straight into LDS.
// CHECK-LABEL: func.func @odd
// CHECK-NOT: hk.apart
// CHECK: return
func.func @odd(%x: tensor<512x4098xbf16>, %w: tensor<4096x4098xui4>, %s: tensor<4096x1xbf16>) -> tensor<512x4096xbf16> {
  %d = hk.dequantize %w, %s group 4098 : tensor<4096x4098xui4>, tensor<4096x1xbf16> -> tensor<4096x4098xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<512x4098xbf16>, tensor<4096x4098xbf16> -> tensor<512x4096xbf16>
  return %y : tensor<512x4096xbf16>
}
