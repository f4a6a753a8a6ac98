// Round trip.
// RUN: hk-opt %s | hk-opt | FileCheck %s

// CHECK-LABEL: @recurrent
func.func @recurrent(%q: tensor<?x4x2x64xbf16>, %v: tensor<?x4x4x32xbf16>, %g: tensor<?x4x4xf32>, %b: tensor<?x4x4x32xbf16>, %s: tensor<9x4x32x64xf32>, %i: tensor<?xi32>, %h: tensor<?xi1>) {
  // CHECK: hk.gated_delta_rule %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x4x2x64xbf16>, tensor<?x4x2x64xbf16>, tensor<?x4x4x32xbf16> -> tensor<?x4x4x32xbf16>
  %0 = hk.gated_delta_rule %q, %q, %v : tensor<?x4x2x64xbf16>, tensor<?x4x2x64xbf16>, tensor<?x4x4x32xbf16> -> tensor<?x4x4x32xbf16>
  // CHECK: hk.gated_delta_rule {{.*}} decay %{{.*}} beta %{{.*}} state %{{.*}} indices %{{.*}} has_initial %{{.*}} state_layout value_major scale 1.000000e+00 l2norm {{.*}} : {{.*}} -> tensor<?x4x4x32xbf16>, tensor<9x4x32x64xf32>
  %1, %2 = hk.gated_delta_rule %q, %q, %v decay %g beta %b state %s indices %i has_initial %h state_layout value_major scale 1.0 l2norm 1.0e-06 : tensor<?x4x2x64xbf16>, tensor<?x4x2x64xbf16>, tensor<?x4x4x32xbf16> decay tensor<?x4x4xf32> beta tensor<?x4x4x32xbf16> state tensor<9x4x32x64xf32> indices tensor<?xi32> has_initial tensor<?xi1> -> tensor<?x4x4x32xbf16>, tensor<9x4x32x64xf32>
  // CHECK: hk.gated_delta_rule {{.*}} decay %{{.*}} rule linear scale 1.000000e+00 : {{.*}} -> tensor<?x4x4x32xbf16>
  %3 = hk.gated_delta_rule %q, %q, %v decay %g rule linear scale 1.0 : tensor<?x4x2x64xbf16>, tensor<?x4x2x64xbf16>, tensor<?x4x4x32xbf16> decay tensor<?x4x4xf32> -> tensor<?x4x4x32xbf16>
  // CHECK-NOT: rule delta
  %4 = hk.gated_delta_rule %q, %q, %v decay %g rule delta : tensor<?x4x2x64xbf16>, tensor<?x4x2x64xbf16>, tensor<?x4x4x32xbf16> decay tensor<?x4x4xf32> -> tensor<?x4x4x32xbf16>
  return
}

// CHECK-LABEL: @chunks
func.func @chunks(%q: tensor<?x2x64xf16>, %v: tensor<?x4x32xf16>, %g: tensor<?x4xf32>, %cu: tensor<?xi32>) {
  // CHECK: hk.chunk_kkt %{{.*}} decay %{{.*}} beta %{{.*}} offsets %{{.*}} chunk 32
  %a = hk.chunk_kkt %q decay %g beta %g offsets %cu chunk 32 : tensor<?x2x64xf16> decay tensor<?x4xf32> beta tensor<?x4xf32> offsets tensor<?xi32> -> tensor<?x4x32xf32>
  // CHECK: hk.solve_tril %{{.*}} offsets %{{.*}} : tensor<?x4x32xf32> offsets tensor<?xi32> -> tensor<?x4x32xf16>
  %x = hk.solve_tril %a offsets %cu : tensor<?x4x32xf32> offsets tensor<?xi32> -> tensor<?x4x32xf16>
  // CHECK: hk.chunk_wu %{{.*}}, %{{.*}}, %{{.*}} decay %{{.*}} beta %{{.*}} offsets %{{.*}} :
  %w, %u = hk.chunk_wu %q, %v, %x decay %g beta %g offsets %cu : tensor<?x2x64xf16>, tensor<?x4x32xf16>, tensor<?x4x32xf16> decay tensor<?x4xf32> beta tensor<?x4xf32> offsets tensor<?xi32> -> tensor<?x4x64xf16>, tensor<?x4x32xf16>
  // CHECK: hk.chunk_state %{{.*}}, %{{.*}}, %{{.*}} decay %{{.*}} offsets %{{.*}} chunk 32 : {{.*}} -> tensor<?x4x64x32xf16>, tensor<?x4x32xf16>
  %h, %n = hk.chunk_state %q, %w, %u decay %g offsets %cu chunk 32 : tensor<?x2x64xf16>, tensor<?x4x64xf16>, tensor<?x4x32xf16> decay tensor<?x4xf32> offsets tensor<?xi32> -> tensor<?x4x64x32xf16>, tensor<?x4x32xf16>
  // CHECK: hk.chunk_output %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} decay %{{.*}} offsets %{{.*}} chunk 32 :
  %o = hk.chunk_output %q, %q, %n, %h decay %g offsets %cu chunk 32 : tensor<?x2x64xf16>, tensor<?x2x64xf16>, tensor<?x4x32xf16>, tensor<?x4x64x32xf16> decay tensor<?x4xf32> offsets tensor<?xi32> -> tensor<?x4x32xf16>
  // CHECK: hk.chunk_transition %{{.*}}, %{{.*}}, %{{.*}} decay %{{.*}} offsets %{{.*}} chunk 32 segments 3 :
  %t = hk.chunk_transition %q, %w, %u decay %g offsets %cu chunk 32 segments 3 : tensor<?x2x64xf16>, tensor<?x4x64xf16>, tensor<?x4x32xf16> decay tensor<?x4xf32> offsets tensor<?xi32> -> tensor<2x?x4x64x96xf32>
  // CHECK: hk.chunk_starts %{{.*}} : tensor<2x?x4x64x96xf32> -> tensor<3x?x4x64x32xf32>
  %b = hk.chunk_starts %t : tensor<2x?x4x64x96xf32> -> tensor<3x?x4x64x32xf32>
  // CHECK: hk.chunk_state %{{.*}}, %{{.*}}, %{{.*}} decay %{{.*}} offsets %{{.*}} starts %{{.*}} chunk 32 : {{.*}} starts tensor<3x?x4x64x32xf32> -> tensor<?x4x64x32xf16>, tensor<?x4x32xf16>
  %h2, %n2 = hk.chunk_state %q, %w, %u decay %g offsets %cu starts %b chunk 32 : tensor<?x2x64xf16>, tensor<?x4x64xf16>, tensor<?x4x32xf16> decay tensor<?x4xf32> offsets tensor<?xi32> starts tensor<3x?x4x64x32xf32> -> tensor<?x4x64x32xf16>, tensor<?x4x32xf16>
  return
}
