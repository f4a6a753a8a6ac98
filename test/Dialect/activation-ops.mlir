// RUN: hk-opt %s | hk-opt | FileCheck %s

// CHECK-LABEL: func @gates
func.func @gates(%x: tensor<?x1408xbf16>) {
  // CHECK: hk.gated_activation silu %{{.*}} : tensor<?x1408xbf16> -> tensor<?x704xbf16>
  %0 = hk.gated_activation silu %x : tensor<?x1408xbf16> -> tensor<?x704xbf16>
  // CHECK: hk.gated_activation swiglu_oai %{{.*}} limit 7.000000e+00
  %1 = hk.gated_activation swiglu_oai %x limit 7.0 : tensor<?x1408xbf16> -> tensor<?x704xf32>
  // CHECK: hk.gated_activation gelu %{{.*}} limit 7.000000e+00 round_before_up :
  %2 = hk.gated_activation gelu %x round_before_up limit 7.0 : tensor<?x1408xbf16> -> tensor<?x704xbf16>
  return
}

// CHECK-LABEL: func @rope
func.func @rope(%x: tensor<?x4x64xbf16>, %cos: tensor<512x32xf32>, %c2: tensor<?x64xbf16>,
                %pos: tensor<?xi32>, %off: tensor<?xi64>) {
  // CHECK: hk.rope neox %{{.*}}, %{{.*}}, %{{.*}} positions %{{.*}} : tensor<?x4x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<?xi32>
  %0 = hk.rope neox %x, %cos, %cos positions %pos : tensor<?x4x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<?xi32>
  // CHECK: hk.rope gptj %{{.*}}, %{{.*}}, %{{.*}} positions %{{.*}} offsets %{{.*}} angle_per_element inverse : {{.*}} positions tensor<?xi32> offsets tensor<?xi64>{{$}}
  %1 = hk.rope gptj %x, %c2, %c2 positions %pos offsets %off angle_per_element inverse : tensor<?x4x64xbf16>, tensor<?x64xbf16>, tensor<?x64xbf16> positions tensor<?xi32> offsets tensor<?xi64>
  // CHECK: hk.rope neox %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x4x64xbf16>
  %2 = hk.rope neox %x, %cos, %cos : tensor<?x4x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> -> tensor<?x4x64xf32>
  // CHECK: hk.rope neox %{{.*}}, %{{.*}}, %{{.*}} bounds %{{.*}} : {{.*}} bounds tensor<?xi32>{{$}}
  %3 = hk.rope neox %x, %cos, %cos bounds %pos : tensor<?x4x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> bounds tensor<?xi32>
  return
}
