// What the kernel of a fused chain looks like: one loop per level of statistics,
// the row kept in registers, views without data movement.
// RUN: hk-compile %s --emit=kernels --target=gfx942 -o - | FileCheck %s --check-prefix=AMD
// RUN: hk-compile %s --emit=kernels --target=host -o - | FileCheck %s --check-prefix=HOST

// Everything that waits for nothing is loaded first, the weight too. The sum is
// stored and, being few elements, kept as numbers. The scale of 128 elements is the maximum over 8
// lanes, and nothing is divided by it.
// AMD-LABEL: using Shared_{{.*}}_v0 = RowShared<256, 256, 1>;
// AMD: HK_KERNEL({{.*}}, 12, 256, {{[0-9]+}},
// AMD: raw0[s] = loadPacked<DType::BF16, 16, 16>(addressOf<DType::BF16>(p0,
// AMD: raw1[s] = loadPacked<DType::BF16, 16, 16>(addressOf<DType::BF16>(p1,
// AMD: Vec<float, 16> keep0[1];
// AMD: raw2[s] = loadPacked<DType::BF16, 16, 16>(addressOf<DType::BF16>(p2,
// AMD: storeExact<DType::BF16, 16, 16>(addressOf<DType::BF16>(p3,
// AMD: wholeRowReduce<Sum, 256, 256>(
// AMD: rsqrtOf(
// AMD-NOT: loadPacked
// AMD: = keep0[s];
// AMD: segmentReduce<MagnitudeMax, 8, 64>(
// AMD: storeWithin<DType::F8E4M3FN, 16, 16>(addressOf<DType::F8E4M3FN>(p4, {{.*}}divideFor8Bits<16>(

// On the host one thread has a whole group in its vector.
// HOST: HK_EACH_ROW(row, RowsOfBlock<{{[0-9]+}}>{block.x, rows})
// HOST: Vec<float, 128> keep0[32];
// HOST-NOT: segmentReduce
// HOST: largestMagnitude<128>(
func.func @norm(%x: tensor<?x4096xbf16>, %res: tensor<?x4096xbf16>, %w: tensor<4096xbf16>) -> (tensor<?x4096xbf16>, tensor<?x4096xf8E4M3FN>, tensor<?x32xf32>) {
  %s = hk.add %x, %res : tensor<?x4096xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-05 : tensor<?x4096xbf16>, tensor<4096xbf16>
  %q, %sc = hk.quantize per_group %y group 128 : tensor<?x4096xbf16> -> tensor<?x4096xf8E4M3FN>, tensor<?x32xf32>
  return %s, %q, %sc : tensor<?x4096xbf16>, tensor<?x4096xf8E4M3FN>, tensor<?x32xf32>
}

// A thread has both halves of a pair: each is loaded once.
// AMD-LABEL: ==== @rope
// AMD-COUNT-2: loadPacked<DType::BF16, 8, 16>(addressOf<DType::BF16>(p0,
// AMD-NOT: loadPacked<DType::BF16
// AMD-COUNT-2: storeExact<DType::BF16, 8, 16>(addressOf<DType::BF16>(p4,
func.func @rope(%q: tensor<?x8x128xbf16>, %cos: tensor<64x64xf32>, %sin: tensor<64x64xf32>, %p: tensor<?xi32>) -> tensor<?x8x128xbf16> {
  %y = hk.rope neox %q, %cos, %sin positions %p : tensor<?x8x128xbf16>, tensor<64x64xf32>, tensor<64x64xf32> positions tensor<?xi32>
  return %y : tensor<?x8x128xbf16>
}

// Of a row too long for registers, what fits into registers and LDS is read
// once, and the rest twice, not three times.
// AMD-LABEL: ==== @softmax
// AMD: Packed<DType::F32, 4> kept0[3072];
// AMD: static_assert(kLdsBytes<{{.*}}> == 49216);
// AMD: [[RAW:raw[0-9]+]][20];
// AMD: HK_EACH_STRIP(strip, Strip<i32, 4, 512, false>{13312 + thread, 32768})
// AMD: onlineSoftmax<4, 4>(
// AMD: HK_EACH_STRIP(strip, Strip<i32, 2, 512, true>{10240 + thread, 13312})
// AMD: lds.kept0[c - 10240] = raw
// AMD: onlineSoftmax<4, 2>(
// AMD: onlineSoftmax<4, 20>(
// AMD: mergeSoftmax<512, 512>(
// AMD: {13312 + thread, 32768})
// AMD: loadPacked<DType::F32, 4, 16>(addressOf<DType::F32>(p0,
// AMD: expNegative<4>(
// AMD: {10240 + thread, 13312})
// AMD: = lds.kept0[c - 10240];
// AMD: expNegative<4>(
// AMD: opaque([[RAW]][s])
// AMD: expNegative<4>(
func.func @softmax(%x: tensor<?x131072xf32>) -> tensor<?x131072xf32> {
  %y = hk.softmax %x : tensor<?x131072xf32>
  return %y : tensor<?x131072xf32>
}
