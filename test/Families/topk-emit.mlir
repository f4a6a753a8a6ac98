// What a router's kernel looks like, and the tiles that selections have.
// RUN: hk-compile %s --emit=kernels --target=gfx942 -o - | FileCheck %s --check-prefix=AMD
// RUN: hk-compile %s --emit=kernels --target=host -o - | FileCheck %s --check-prefix=HOST

// Few rows: a wave each. Many: 16 threads each, the scores in registers since the
// softmax has read them; the selected go through LDS to the renormalisation.
// AMD-LABEL: struct Shared_{{.*}}_v0 {
// AMD-NEXT: TopkShared<1, 8> select0;
// AMD: static_assert(kLdsBytes<Shared_{{.*}}> == 64);
// AMD: topkInWave<64, 4, 1, 8, Ties::Lowest, Order::ByValue>(score{{[0-9]+}}, 256, thread, selected0);
// AMD-LABEL: struct Shared_{{.*}}_v1 {
// AMD-NEXT: TopkShared<16, 8> select0;
// AMD: static_assert(kLdsBytes<Shared_{{.*}}> == 1024);
// AMD: wholeRowReduce<Max, 16, 256>(
// AMD: wholeRowReduce<Sum, 16, 256>(
// AMD-NOT: load{{.*}}<
// AMD: topkInWave<16, 4, 4, 8, Ties::Lowest, Order::ByValue>(score{{[0-9]+}}, 256, thread, selected0);
// AMD: selected0.values<4>(
// AMD: storeExact<DType::I32, 4, 16>(
// AMD: wholeRowReduce<Sum, 16, 256>(
// AMD: storeExact<DType::F32, 4, 16>(
// HOST: TopkRow<8> selected0;
// HOST: topkOnHost<16, 8, Ties::Lowest, Order::ByValue>(score{{[0-9]+}}, 256, selected0);
func.func @router(%x: tensor<?x256xf32>) -> (tensor<?x8xf32>, tensor<?x8xi32>) {
  %p = hk.softmax %x : tensor<?x256xf32>
  %v, %i = hk.topk %p : tensor<?x256xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  %s = hk.reduce sum %v : tensor<?x8xf32> -> tensor<?x1xf32>
  %w = hk.div %v, %s : tensor<?x8xf32>, tensor<?x1xf32>
  return %w, %i : tensor<?x8xf32>, tensor<?x8xi32>
}
