// What the kernel of a fused chain looks like: one loop per level of statistics,
// the row kept in registers, views without data movement.
// RUN: hk-compile %s --emit=kernels --target=gfx942 -o - | FileCheck %s --check-prefix=AMD
// RUN: hk-compile %s --emit=kernels --target=host -o - | FileCheck %s --check-prefix=HOST

// The sum needs the residual once; the second loop reads the weight only. The
// scale of 128 elements is the maximum over 16 lanes.
// AMD-LABEL: using Shared_{{.*}}_v0 = RowShared<512, 512, 1>;
// AMD: HK_KERNEL({{.*}}, 12, 512, {{[0-9]+}},
// AMD: Vec<float, 8> keep0[1];
// AMD: load<DType::BF16, 8, 16>(p0,
// AMD: load<DType::BF16, 8, 16>(p1,
// AMD: store<DType::BF16, 8, 16>(p3,
// AMD: wholeRowReduce<Sum, 512, 512>(
// AMD: rsqrtOf(
// AMD-NOT: load<DType::BF16, 8, 16>(p0,
// AMD: segmentReduce<Max, 16>(
// AMD: store<DType::F8E4M3FN, 8, 8>(p4,

// On the host one thread has a whole group in its vector.
// HOST: for (i64 row =
// HOST: Vec<float, 128> keep0[32];
// HOST-NOT: segmentReduce
// HOST: reduceVec<Max, 128>(
func.func @norm(%x: tensor<?x4096xbf16>, %res: tensor<?x4096xbf16>, %w: tensor<4096xbf16>) -> (tensor<?x4096xbf16>, tensor<?x4096xf8E4M3FN>, tensor<?x32xf32>) {
  %s = hk.add %x, %res : tensor<?x4096xbf16>, tensor<?x4096xbf16> -> tensor<?x4096xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-05 : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xbf16>
  %q, %sc = hk.quantize per_group %y {group_size = 128 : i64} : tensor<?x4096xbf16> -> tensor<?x4096xf8E4M3FN>, tensor<?x32xf32>
  return %s, %q, %sc : tensor<?x4096xbf16>, tensor<?x4096xf8E4M3FN>, tensor<?x32xf32>
}
