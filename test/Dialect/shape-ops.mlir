// RUN: hk-opt %s | hk-opt | FileCheck %s

// CHECK-LABEL: func @move
func.func @move(%x: tensor<?x8x64xbf16>, %a: tensor<?x512xbf16>, %b: tensor<?x64xbf16>,
                %table: tensor<100x2x64xf8E4M3FN>, %ids: tensor<?x3xi32>) {
  // CHECK: hk.transpose %{{.*}} [1, 0, 2] : tensor<?x8x64xbf16> -> tensor<8x?x64xbf16>
  %0 = hk.transpose %x [1, 0, 2] : tensor<?x8x64xbf16> -> tensor<8x?x64xbf16>
  // CHECK: hk.concat 1(%{{.*}}, %{{.*}}) : tensor<?x512xbf16>, tensor<?x64xbf16> -> tensor<?x576xbf16>
  %1 = hk.concat 1 (%a, %b) : tensor<?x512xbf16>, tensor<?x64xbf16> -> tensor<?x576xbf16>
  // CHECK: hk.pad %{{.*}} value 2.500000e+00 : tensor<?x64xbf16> -> tensor<?x80xbf16>
  %pad = hk.pad %b value 2.5 : tensor<?x64xbf16> -> tensor<?x80xbf16>
  // CHECK: hk.pad %{{.*}} : tensor<?x64xbf16> -> tensor<?x128xbf16>
  %2 = hk.pad %b : tensor<?x64xbf16> -> tensor<?x128xbf16>
  // CHECK: hk.gather_rows %{{.*}}, %{{.*}} : tensor<100x2x64xf8E4M3FN>, tensor<?x3xi32> -> tensor<?x3x2x64xf8E4M3FN>
  %3 = hk.gather_rows %table, %ids : tensor<100x2x64xf8E4M3FN>, tensor<?x3xi32> -> tensor<?x3x2x64xf8E4M3FN>
  // CHECK: hk.has_row %{{.*}}, %{{.*}} : tensor<100x2x64xf8E4M3FN>, tensor<?x3xi32> -> tensor<?x3xi1>
  %has = hk.has_row %table, %ids : tensor<100x2x64xf8E4M3FN>, tensor<?x3xi32> -> tensor<?x3xi1>
  // CHECK: hk.copy %{{.*}} : tensor<?x64xbf16>
  %4 = hk.copy %b : tensor<?x64xbf16>
  return
}
