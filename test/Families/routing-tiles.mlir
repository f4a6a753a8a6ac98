// As many threads as the counters leave room for.
// RUN: hk-opt %s --hk-assign-target=target=host --hk-fuse --hk-outline --hk-select-tiles | FileCheck %s --check-prefix=HOST
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-fuse --hk-outline --hk-select-tiles | FileCheck %s --check-prefix=CDNA3
// RUN: hk-opt %s --hk-assign-target=target=gfx950 --hk-fuse --hk-outline --hk-select-tiles | FileCheck %s --check-prefix=CDNA4
// RUN: hk-opt %s --hk-assign-target=target=gfx1100 --hk-fuse --hk-outline --hk-select-tiles | FileCheck %s --check-prefix=RDNA
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles | FileCheck %s --check-prefix=SM90

// HOST: hk.kernel @histogram routing
// HOST: hk.variant @v0 #hk.routing_tile<threads = 1> threads 1 lds 4104
// CDNA3: hk.kernel @histogram routing
// CDNA3: hk.variant @v0 #hk.routing_tile<threads = 1024> threads 1024 lds 38976
// CDNA3: hk.launch_dims if %true grid(%c1{{.*}}, %c1{{.*}}, %c1{{.*}})
// CDNA4: hk.variant @v0 #hk.routing_tile<threads = 1024> threads 1024 lds 38976
// RDNA: hk.variant @v0 #hk.routing_tile<threads = 512> threads 512 lds 36928
// SM90: hk.variant @v0 #hk.routing_tile<threads = 1024> threads 1024 lds 71808
func.func @experts512(%ids: tensor<?xi32>) -> tensor<512xi32> {
  %0 = hk.histogram %ids : tensor<?xi32> -> tensor<512xi32>
  return %0 : tensor<512xi32>
}

// CDNA3: hk.kernel @histogram_0 routing
// CDNA3: hk.variant @v0 #hk.routing_tile<threads = 128> threads 128 lds 50440
// CDNA4: hk.kernel @histogram_0 routing
// CDNA4: hk.variant @v0 #hk.routing_tile<threads = 512> threads 512 lds
func.func @keys4096(%ids: tensor<?xi32>) -> tensor<4160xi32> {
  %0 = hk.histogram %ids : tensor<?xi32> -> tensor<4160xi32>
  return %0 : tensor<4160xi32>
}
