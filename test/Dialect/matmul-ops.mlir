// RUN: hk-opt %s | hk-opt | FileCheck %s

// CHECK-LABEL: func @products
func.func @products(%x: tensor<?x256xbf16>, %w: tensor<512x256xbf16>, %xt: tensor<256x?xbf16>,
                    %b: tensor<8x?x256xf32>, %bw: tensor<8x256x64xf32>,
                    %q: tensor<?x256xf8E4M3FN>, %wq: tensor<512x256xf8E4M3FN>,
                    %i: tensor<?x256xi8>, %wi: tensor<256x512xi8>, %one: tensor<1xf32>,
                    %s: tensor<?x1xf32>, %ws: tensor<512x1xf32>, %sb: tensor<?x2xf32>, %wsb: tensor<4x2xf32>,
                    %f: tensor<?x256xf4E2M1FN>, %wf: tensor<512x256xf4E2M1FN>,
                    %fs: tensor<?x8xf8E8M0FNU>, %wfs: tensor<512x8xf8E8M0FNU>) {
  // CHECK: hk.matmul %{{.*}}, %{{.*}} transpose_b : tensor<?x256xbf16>, tensor<512x256xbf16> -> tensor<?x512xbf16>
  %0 = hk.matmul %x, %w transpose_b : tensor<?x256xbf16>, tensor<512x256xbf16> -> tensor<?x512xbf16>
  // CHECK: hk.matmul %{{.*}}, %{{.*}} transpose_a transpose_b :
  %1 = hk.matmul %xt, %w transpose_a transpose_b : tensor<256x?xbf16>, tensor<512x256xbf16> -> tensor<?x512xf32>
  // CHECK: hk.matmul %{{.*}}, %{{.*}} : tensor<8x?x256xf32>, tensor<8x256x64xf32> -> tensor<8x?x64xf32>
  %2 = hk.matmul %b, %bw : tensor<8x?x256xf32>, tensor<8x256x64xf32> -> tensor<8x?x64xf32>
  // CHECK: hk.matmul %{{.*}}, %{{.*}} scales(%{{.*}}, %{{.*}}) transpose_b : tensor<?x256xf8E4M3FN>, tensor<512x256xf8E4M3FN> scales(tensor<?x1xf32>, tensor<512x1xf32>) -> tensor<?x512xbf16>
  %3 = hk.matmul %q, %wq scales (%s, %ws) transpose_b : tensor<?x256xf8E4M3FN>, tensor<512x256xf8E4M3FN> scales (tensor<?x1xf32>, tensor<512x1xf32>) -> tensor<?x512xbf16>
  // CHECK: scales(tensor<?x2xf32>, tensor<4x2xf32>)
  %4 = hk.matmul %q, %wq scales (%sb, %wsb) transpose_b : tensor<?x256xf8E4M3FN>, tensor<512x256xf8E4M3FN> scales (tensor<?x2xf32>, tensor<4x2xf32>) -> tensor<?x512xbf16>
  // CHECK: -> tensor<?x512xi32>
  %5 = hk.matmul %i, %wi : tensor<?x256xi8>, tensor<256x512xi8> -> tensor<?x512xi32>
  // CHECK: scales(tensor<1xf32>, tensor<512x1xf32>) -> tensor<?x512xf16>
  %6 = hk.matmul %i, %wi scales (%one, %ws) : tensor<?x256xi8>, tensor<256x512xi8> scales (tensor<1xf32>, tensor<512x1xf32>) -> tensor<?x512xf16>
  // CHECK: scales(%{{.*}}, %{{.*}}) transpose_b : tensor<?x256xf4E2M1FN>, tensor<512x256xf4E2M1FN> scales(tensor<?x8xf8E8M0FNU>, tensor<512x8xf8E8M0FNU>)
  %7 = hk.matmul %f, %wf scales (%fs, %wfs) transpose_b : tensor<?x256xf4E2M1FN>, tensor<512x256xf4E2M1FN> scales (tensor<?x8xf8E8M0FNU>, tensor<512x8xf8E8M0FNU>) -> tensor<?x512xbf16>
  // CHECK: scales(%{{.*}}, %{{.*}}) transpose_b : {{.*}} scales(tensor<?x1xf32>, tensor<512x8xf8E8M0FNU>)
  %8 = hk.matmul %q, %wf scales (%s, %wfs) transpose_b : tensor<?x256xf8E4M3FN>, tensor<512x256xf4E2M1FN> scales (tensor<?x1xf32>, tensor<512x8xf8E8M0FNU>) -> tensor<?x512xbf16>
  // CHECK: scales(none, %{{.*}}) transpose_b : {{.*}} scales(none, tensor<512x8xf8E8M0FNU>)
  %9 = hk.matmul %x, %wf scales (none, %wfs) transpose_b : tensor<?x256xbf16>, tensor<512x256xf4E2M1FN> scales (none, tensor<512x8xf8E8M0FNU>) -> tensor<?x512xbf16>
  // CHECK: scales(%{{.*}}, none) transpose_b : {{.*}} scales(tensor<?x2xf32>, none)
  %10 = hk.matmul %q, %wq scales (%sb, none) transpose_b : tensor<?x256xf8E4M3FN>, tensor<512x256xf8E4M3FN> scales (tensor<?x2xf32>, none) -> tensor<?x512xbf16>
  // CHECK: hk.matmul %{{.*}}, %{{.*}} transpose_b accumulation tensor_core :
  %11 = hk.matmul %q, %wq transpose_b accumulation tensor_core : tensor<?x256xf8E4M3FN>, tensor<512x256xf8E4M3FN> -> tensor<?x512xbf16>
  return
}
