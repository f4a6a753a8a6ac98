// Types are written once, attributes are words, and one number is a constant.
// RUN: hk-opt %s | FileCheck %s
// RUN: hk-opt %s | hk-opt | FileCheck %s
// RUN: hk-opt %s --canonicalize | FileCheck %s --check-prefix=CANON

// CHECK-LABEL: func.func @types
func.func @types(%x: tensor<?x64xf32>, %b: tensor<64xf32>, %h: tensor<?x64xbf16>) {
  // CHECK: hk.add %{{.*}}, %{{.*}} : tensor<?x64xf32>{{$}}
  %0 = hk.add %x, %x : tensor<?x64xf32>
  // CHECK: hk.add %{{.*}}, %{{.*}} : tensor<?x64xf32> -> tensor<?x64xbf16>{{$}}
  %1 = hk.add %x, %x : tensor<?x64xf32> -> tensor<?x64xbf16>
  // CHECK: hk.add %{{.*}}, %{{.*}} : tensor<?x64xf32>, tensor<64xf32>{{$}}
  %2 = hk.add %x, %b : tensor<?x64xf32>, tensor<64xf32>
  // CHECK: hk.add %{{.*}}, %{{.*}} : tensor<64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>{{$}}
  %3 = hk.add %b, %x : tensor<64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
  // CHECK: hk.exp %{{.*}} : tensor<?x64xbf16>{{$}}
  %4 = hk.exp %h : tensor<?x64xbf16>
  // CHECK: hk.rms_norm %{{.*}}, %{{.*}} epsilon 9.99999974E-6 weight_offset 1.000000e+00 : tensor<?x64xf32>, tensor<64xf32>{{$}}
  %5 = hk.rms_norm %x, %b epsilon 1.0e-05 weight_offset 1.0 : tensor<?x64xf32>, tensor<64xf32>
  // CHECK: hk.compare {{ *}}lt %{{.*}}, %{{.*}} : tensor<?x64xf32> -> tensor<?x64xi1>{{$}}
  %6 = hk.compare lt %x, %x : tensor<?x64xf32> -> tensor<?x64xi1>
  return
}

// CHECK-LABEL: func.func @words
func.func @words(%x: tensor<?x256xf32>) {
  // CHECK: hk.quantize {{ *}}per_group %{{.*}} group 64 power_of_two : tensor
  %q, %s = hk.quantize per_group %x power_of_two group 64 : tensor<?x256xf32> -> tensor<?x256xf8E4M3FN>, tensor<?x4xf32>
  // CHECK: hk.quantize {{ *}}per_group %{{.*}} : tensor
  %p, %t = hk.quantize per_group %x group 128 : tensor<?x256xf32> -> tensor<?x256xf8E4M3FN>, tensor<?x2xf32>
  // CHECK: hk.topk %{{.*}} : tensor
  %v, %i = hk.topk %x : tensor<?x256xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  // CHECK: hk.topk %{{.*}} ties {{ *}}highest_index order {{ *}}by_index : tensor
  %w, %j = hk.topk %x order by_index ties highest_index : tensor<?x256xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  // CHECK: hk.cumsum {{ *}}inclusive %{{.*}} dim 1 chunk 64 reverse : tensor<?x256xf32>{{$}}
  %c = hk.cumsum inclusive %x dim 1 chunk 64 reverse : tensor<?x256xf32>
  return
}

// Braces are other dialects'; without any there is one space.
// RUN: hk-opt %s | FileCheck %s --check-prefix=SPACE --strict-whitespace
// CHECK-LABEL: func.func @braces
// SPACE: hk.exp %arg0 {test.note = "kept"} : tensor<4xf32>{{$}}
// SPACE: hk.exp %arg0 : tensor<4xf32>{{$}}
// SPACE: hk.constant {test.note} 2.000000e+00 : tensor<f32>{{$}}
func.func @braces(%x: tensor<4xf32>) {
  %0 = hk.exp %x {test.note = "kept"} : tensor<4xf32>
  %1 = hk.exp %x : tensor<4xf32>
  %2 = hk.constant {test.note} 2.0 : tensor<f32>
  return
}

// CHECK-LABEL: func.func @constants
func.func @constants() {
  // CHECK: hk.constant 2.000000e+00 : tensor<f32>
  %0 = hk.constant 2.0 : tensor<f32>
  // CHECK: hk.constant -2.500000e+00 : tensor<1x4xbf16>
  %1 = hk.constant -2.5 : tensor<1x4xbf16>
  // CHECK: hk.constant 0xFF800000 : tensor<f32>
  %2 = hk.constant 0xFF800000 : tensor<f32>
  // CHECK: hk.constant -128 : tensor<2xi8>
  %3 = hk.constant -128 : tensor<2xi8>
  // CHECK: hk.constant true : tensor<2xi1>
  %4 = hk.constant true : tensor<2xi1>
  // CHECK: hk.constant dense<[1, 2]> : tensor<2xi32>
  %5 = hk.constant dense<[1, 2]> : tensor<2xi32>
  // CHECK: hk.constant 0x7F : tensor<2xf8E4M3FN>
  %6 = hk.constant 0x7F : tensor<2xf8E4M3FN>
  return
}

// What an exporter writes.
// CANON-LABEL: func.func @arith
// CANON: %[[C:.+]] = hk.constant 5.000000e-01 : tensor<f32>
// CANON: hk.mul %{{.+}}, %[[C]]
func.func @arith(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c = arith.constant dense<0.5> : tensor<f32>
  %y = hk.mul %x, %c : tensor<?xf32>, tensor<f32>
  return %y : tensor<?xf32>
}

// A number in the place of an operand is a constant of rank 0, put where the operand beside it
// is known: f32 beside reals, of the operand's type beside integers and in a choice.
// CHECK-LABEL: func.func @numbers
func.func @numbers(%x: tensor<?x64xbf16>, %i: tensor<?xi64>) {
  // CHECK-DAG: %[[TWO:.*]] = hk.constant 2.000000e+00 : tensor<f32>
  // CHECK-DAG: %[[ONE:.*]] = hk.constant 1.000000e+00 : tensor<f32>
  // CHECK-DAG: %[[SEVEN:.*]] = hk.constant -7 : tensor<i64>
  // CHECK-DAG: %[[INF:.*]] = hk.constant 0xFF800000 : tensor<f32>
  // CHECK-DAG: %[[HALF:.*]] = hk.constant 5.000000e-01 : tensor<f32>
  // CHECK: %[[Y:.*]] = hk.mul %arg0, %[[TWO]] : tensor<?x64xbf16>, tensor<f32>{{$}}
  %y = hk.mul %x, 2.0 : tensor<?x64xbf16>
  // CHECK: hk.sub %[[ONE]], %arg0 : tensor<f32>, tensor<?x64xbf16> -> tensor<?x64xbf16>{{$}}
  %z = hk.sub 1.0, %x : tensor<?x64xbf16>
  // CHECK: hk.max %arg1, %[[SEVEN]] : tensor<?xi64>, tensor<i64>{{$}}
  %m = hk.max %i, -7 : tensor<?xi64>
  // CHECK: hk.div %arg0, %[[INF]] : tensor<?x64xbf16>, tensor<f32> -> tensor<?x64xf32>{{$}}
  %d = hk.div %x, 0xFF800000 : tensor<?x64xbf16> -> tensor<?x64xf32>
  // CHECK: %[[C:.*]] = hk.compare ge %arg0, %[[HALF]] : tensor<?x64xbf16>, tensor<f32> -> tensor<?x64xi1>{{$}}
  %c = hk.compare ge %x, 0.5 : tensor<?x64xbf16> -> tensor<?x64xi1>
  // CHECK: hk.select %[[C]], %[[Y]], %{{.*}} : tensor<?x64xi1>, tensor<?x64xbf16>, tensor<bf16> -> tensor<?x64xbf16>{{$}}
  %s = hk.select %c, %y, 0.0 : tensor<?x64xi1>, tensor<?x64xbf16> -> tensor<?x64xbf16>
  // CHECK: hk.select %[[C]], %{{.*}}, %{{.*}} : tensor<?x64xi1>, tensor<i32>, tensor<i32> -> tensor<?x64xi32>{{$}}
  %b = hk.select %c, 1, 0 : tensor<?x64xi1> -> tensor<?x64xi32>
  return
}
