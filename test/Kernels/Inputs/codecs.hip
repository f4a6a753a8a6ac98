//===- codecs.hip - The chip's conversions beside the software's ----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every upper half of an f32 with lower halves around a tie and at both ends,
// eight numbers a thread, of which some or none are NaN: what the device layer
// makes of them by votes, packed and native instructions must be what the plain
// formulas say, bit by bit. Counts differences, and keeps one of each kind.
//
//===----------------------------------------------------------------------===//

#include "kernels/rowwise/rowwise.h"

#include "kernels/device/decode.h"

using namespace hk;

namespace {

constexpr int kElements = 8;
using F = Vec<float, kElements>;
using U = Vec<u32, kElements>;

struct Report {
  HK_GLOBAL u32 *words; // of each kind: differences, then one of them

  HK_MEM void check(int kind, u32 input, u32 got, u32 expected) const {
    if (got == expected)
      return;
    __hip_atomic_fetch_add(words + 4 * kind, 1u, __ATOMIC_RELAXED,
                           __HIP_MEMORY_SCOPE_AGENT);
    __hip_atomic_store(words + 4 * kind + 1, input, __ATOMIC_RELAXED,
                       __HIP_MEMORY_SCOPE_AGENT);
  }
};

HK_DEV u32 bitsOf(float x) { return bitCast<u32>(x); }

HK_DEV u32 bf16Of(float x) {
  u32 u = bitsOf(x);
#ifdef PLANTED
  u += 1;
#endif
  return (x != x ? u | 0x00400000u : u + 0x7FFFu + ((u >> 16) & 1u)) >> 16;
}

HK_DEV i32 towardsZero(float x) {
  return x != x         ? 0
         : x >= 0x1p31f ? 0x7FFFFFFF
         : x < -0x1p31f ? i32(0x80000000u)
                        : i32(x);
}

HK_DEV i32 intOf(float x, float lo, float hi) {
  if (x != x)
    return 0;
  x = __builtin_rintf(x);
  return i32(x < lo ? lo : x > hi ? hi : x);
}

template <DType D> HK_DEV u32 codeOf(float x) {
  return encodeSmall<D, 1>(Vec<float, 1>(x))[0];
}

template <DType D> HK_DEV void codes(const Report &report, int kind, F x) {
  auto packed = pack<D, kElements>(x);
  auto pair = pack<D, 2>(Vec<float, 2>{x[0], x[1]});
  HK_UNROLL for (int e = 0; e < kElements; ++e) {
    u32 code = isPacked(D) ? packed[e / 2] >> (e % 2 * 4) & 15 : packed[e];
    report.check(kind, bitsOf(x[e]), code, codeOf<D>(x[e]));
    if (e < 2) {
      code = isPacked(D) ? pair[0] >> (e * 4) & 15 : pair[e];
      report.check(kind, bitsOf(x[e]), code, codeOf<D>(x[e]));
    }
  }
}

/// The same of numbers that are known to be none.
template <DType D> HK_DEV void numbers(const Report &report, int kind, F x) {
  auto packed = packNumbers<D, kElements>(x);
  HK_UNROLL for (int e = 0; e < kElements; ++e) {
    u32 code = isPacked(D) ? packed[e / 2] >> (e % 2 * 4) & 15 : packed[e];
    report.check(kind, bitsOf(x[e]), code, codeOf<D>(x[e]));
  }
  if constexpr (isPacked(D)) {
    auto rounded = roundedToFp4<kElements>(x);
    HK_UNROLL for (int e = 0; e < kElements; ++e) {
      float expected = decodeSmall<D, 1>(Vec<u32, 1>(codeOf<D>(x[e])))[0];
      report.check(kind, bitsOf(x[e]), bitsOf(rounded[e]), bitsOf(expected));
    }
  }
}

/// The largest of magnitudes, and bytes of scales that were decoded.
HK_DEV void scales(const Report &report, int kind, F x) {
  u32 largest = 0;
  HK_UNROLL for (int e = 0; e < kElements; ++e) {
    u32 magnitude = bitsOf(x[e]) & 0x7FFFFFFFu;
    largest = magnitude > largest ? magnitude : largest;
  }
  float found = largestMagnitude<kElements>(x);
  bool nan = largest > 0x7F800000u;
  report.check(kind, bitsOf(x[0]), nan ? found != found : bitsOf(found),
               nan ? 1 : largest);
  u32 byte = u32(threadId()) & 255;
  auto decoded = decodeE8M0<1>(Vec<u32, 1>(byte));
  report.check(kind, byte, packExact<DType::F8E8M0FNU, 1>(decoded)[0], byte);
}

template <DType D>
HK_DEV void quotients(const Report &report, int kind, F x, float d) {
  constexpr float max = float(info(D).maxFinite);
  auto packed =
      pack<D, kElements>(divideFor8Bits<kElements>(x, givenDivisorOf(d, max)));
  HK_UNROLL for (int e = 0; e < kElements; ++e)
      report.check(kind, bitsOf(x[e]), packed[e], codeOf<D>(x[e] / d));
}

HK_DEV bool same(float a, float b) {
  return a != a ? b != b : bitsOf(a) == bitsOf(b);
}

/// Scales of blocks with each of x as the largest magnitude, and what they make
/// of a block, beside those of device/quant.h.
template <MxRounding R, DType D>
HK_DEV void blockScales(const Report &report, F x) {
  HK_UNROLL for (int e = 0; e < kElements; ++e) {
    float amax = __builtin_fabsf(x[e]);
    i32 expected = mxScaleByte<R, D>(amax);
    MxScale scale = mxScaleOf<R, D>(amax);
    report.check(15, bitsOf(x[e]), u32(scale.byte), u32(expected));
    F own = x, got = mxScaled<kElements>(own, scale),
      plain = mxScaled<kElements>(own, expected);
    HK_UNROLL for (int i = 0; i < kElements; ++i)
        report.check(15, bitsOf(x[e]), same(got[i], plain[i]), 1);
  }
}

/// Computed scales, quotients by them and their codes.
template <DType D> HK_DEV void ownQuotients(const Report &report, F x) {
  constexpr float max = float(info(D).maxFinite);
  // Scales of the last one are as large as numbers.
  constexpr float bounds[][2] = {
      {0x1p-40f, max}, {1e-4f, max}, {0.f, max}, {0.f, 6.f}};
  for (const float (&bound)[2] : bounds)
    HK_UNROLL for (int e = 0; e < kElements; ++e) {
      float amax = __builtin_fabsf(x[e]), floor = bound[0], limit = bound[1];
      float expected = quantScale(amax, floor, limit);
      float scale = quantScaleByVote(amax, floor, limit);
      report.check(16, bitsOf(amax), same(scale, expected), 1);
      F got = divideFor8Bits<kElements>(x, divisorByVote(scale, floor, limit));
      F plain = divideFor8Bits<kElements>(x, divisorOf(expected, floor, limit));
      HK_UNROLL for (int i = 0; i < kElements; ++i)
          report.check(16, bitsOf(amax), same(got[i], plain[i]), 1);
    }
  // As far as a rounding lets a quotient exceed the limit.
  constexpr float most = max * (1.f + 0x1p-23f);
  F within = limitNumber<kElements>(x, -most, most);
  HK_UNROLL for (int w = 0; w < kElements; w += 4) {
    u32 word = detail::encodeWithin<D>(
        f32x4{within[w], within[w + 1], within[w + 2], within[w + 3]});
    HK_UNROLL for (int e = 0; e < 4; ++e) {
      u32 code = codeOf<D>(within[w + e]);
      report.check(17, bitsOf(within[w + e]), word >> (8 * e) & 255, code);
    }
  }
}

/// Values of the codes that are in the bytes of `bytes`, 4 or 8 of them.
template <DType D, int V> HK_DEV void decoded(const Report &report, u32 bytes) {
  Packed<D, V> raw;
  HK_UNROLL for (int i = 0; i < int(sizeof(raw)); ++i) raw[i] =
      u8(bytes >> (8 * i));
  auto got = unpackCodesOf<D, V>(raw);
  HK_UNROLL for (int e = 0; e < V; ++e) {
    u32 code = isPacked(D) ? bytes >> (4 * e) & 15 : bytes >> (8 * e) & 255;
    float expected = decodeSmall<D, 1>(Vec<u32, 1>(code))[0];
    report.check(18, bytes, same(got[e], expected), 1);
  }
}

/// e^(x * factor) where its exponent is rounded and what it lacks put in
/// behind.
HK_DEV float plainPower(float x, float factor) {
  float exponent = x * (1.44269502f * factor);
  float power = __builtin_amdgcn_exp2f(exponent);
  float r = __builtin_fmaf(exponent, -0.693147182f, x * factor);
  return __builtin_fmaf(power, r, power);
}

/// f(x), and beyond what plainPower is for, or of NaN, any(x).
template <class F, class Any> HK_DEV float plainWithin(float x, F f, Any any) {
#ifdef PLANTED
  constexpr float most = 21.f;
#else
  constexpr float most = 20.f;
#endif
  return __builtin_fabsf(x) <= most ? f(x) : any(Vec<float, 1>(x))[0];
}

/// tanh with the sum of its power and 1, halved.
HK_DEV float plainTanh(float x) {
  using F1 = Vec<float, 1>;
  F1 a = __builtin_fabsf(x), x2 = a * a;
  F1 p = horner<1>(x2, -3.333331645e-01f, 1.333254576e-01f, -5.384785309e-02f,
                   2.105250582e-02f, -6.246064790e-03f);
  float limited = a[0] > 10.f ? 10.f : a[0], exponent = limited * 2.88539004f;
  float e = __builtin_amdgcn_exp2f(exponent);
  float r = __builtin_fmaf(exponent, -0.346573591f, limited);
  F1 half = __builtin_fmaf(e, r, __builtin_fmaf(e, 0.5f, 0.5f));
#ifdef PLANTED
  constexpr float most = 3.1f;
#else
  constexpr float most = 3.00416613f;
#endif
  F1 y = e < most ? fma<1>(p * x2, a, a) : 1.f - nearReciprocal<1>(half);
  return __builtin_copysignf(x == x ? y[0] : x, x);
}

/// Logarithms of numbers that have none and of those that do, each for itself.
HK_DEV void checkLogarithms(const Report &report, F x) {
  using F1 = Vec<float, 1>;
  F natural = log<kElements>(x), binary = log2<kElements>(x),
    beside = log1p<kElements>(x);
  HK_UNROLL for (int e = 0; e < kElements; ++e) {
    F1 v = x[e], u = v + 1.f, d = u - 1.f;
    F1 near = __builtin_fmaf((v - d)[0], nearReciprocal<1>(u)[0],
                             detail::logOfAny<1>(u)[0]);
    float expected = !detail::hasLogarithm(u[0]) ? detail::log1pOfAny<1>(v)[0]
                     : d[0] == 0.f               ? v[0]
                                                 : near[0];
    u32 bits = bitsOf(x[e]);
    report.check(0, bits, same(natural[e], detail::logOfAny<1>(v)[0]), 1);
    report.check(0, bits, same(binary[e], detail::log2OfAny<1>(v)[0]), 1);
    report.check(0, bits, same(beside[e], expected), 1);
  }
}

/// What goes without limits where a vote finds all elements within them.
HK_DEV void checkPowers(const Report &report, F x) {
  F own = sigmoid<kElements>(x), times = silu<kElements>(x),
    power = exp<kElements>(x), turned = tanh<kElements>(x);
  F error = erf<kElements, false>(x), root = rsqrt<kElements>(x);
  auto ofSum = [](float v) {
    return nearReciprocal<1>(Vec<float, 1>(plainPower(v, -1.f) + 1.f))[0];
  };
  HK_UNROLL for (int e = 0; e < kElements; ++e) {
    float v = x[e];
    u32 bits = bitsOf(v);
    report.check(0, bits,
                 same(own[e], plainWithin(v, ofSum, detail::sigmoidOfAny<1>)),
                 1);
    report.check(0, bits,
                 same(times[e], plainWithin(
                                    v, [&](float w) { return w * ofSum(w); },
                                    detail::siluOfAny<1>)),
                 1);
    report.check(
        0, bits,
        same(power[e], plainWithin(
                           v, [](float w) { return plainPower(w, 1.f); },
                           detail::expOfAny<1>)),
        1);
    report.check(0, bits, same(turned[e], plainTanh(v)), 1);
    report.check(0, bits, same(root[e], 1.f / __builtin_sqrtf(v)), 1);
    if (v == v)
      report.check(0, bits, same(error[e], erf<1>(Vec<float, 1>(v))[0]), 1);
  }
}

/// Quotients by one divisor of all elements.
HK_DEV void quotientsByOne(const Report &report, F x, float d) {
  F got = divideByOne<kElements>(x, F(d));
  HK_UNROLL for (int e = 0; e < kElements; ++e)
#ifdef PLANTED
      report.check(0, bitsOf(x[e]), same(got[e], x[e] * (1.f / d)), 1);
#else
      report.check(0, bitsOf(x[e]), same(got[e], x[e] / d), 1);
#endif
}

/// The upper half of a thread's numbers, and the numbers.
HK_DEV u32 upperHalf() {
  return (__builtin_amdgcn_workgroup_id_x() * 256u + u32(threadId())) << 16;
}
HK_DEV F numbersOf(u32 high) {
  constexpr u32 lows[kElements] = {0,      1,      0x3fff, 0x7fff,
                                   0x8000, 0x8001, 0xc000, 0xffff};
  F x;
  HK_UNROLL for (int e = 0; e < kElements; ++e) x[e] =
      bitCast<float>(high | lows[e]);
  return x;
}

} // namespace

/// Numbers of one sign, of both, and one that may be beyond the limits alone.
extern "C" __attribute__((global)) void powers(u32 *words, u32 kind) {
  Report report{(HK_GLOBAL u32 *)words};
  F x = numbersOf(upperHalf());
  HK_UNROLL for (int e = 0; e < kElements; ++e) {
    float number = kind == 1 && e % 2 ? -x[e] : x[e];
    x[e] = kind == 2 && e != 5 ? 0.25f : number;
  }
  checkPowers(report, x);
  checkLogarithms(report, x);
}

/// Quotients by divisors that are usual and not, and by some of each thread's
/// own, of numbers of which all are far from the least, or only some.
extern "C" __attribute__((global)) void divisions(u32 *words, u32 kind) {
  Report report{(HK_GLOBAL u32 *)words};
  u32 high = upperHalf();
  F x = numbersOf(high);
  HK_UNROLL for (int e = 0; e < kElements; ++e) {
    u32 mixed = (bitsOf(x[e]) ^ u32(threadId()) * 0x9E3779B1u) & 0x007FFFFFu;
    float far = bitCast<float>(mixed | 0x41000000u | (high & 0x80800000u));
    x[e] = kind == 1 ? far : kind == 2 && e != 3 ? 0.f : x[e];
  }
  constexpr u32 divisors[] = {0x3f800000, 0x3c123457, 0xc2f00001, 0,
                              1,          0x7f800000, 0x7fc00000, 0x21ffffff,
                              0x5d800001, 0x7f7fffff, 0x3fffffff, 0x3ffffffd,
                              0x3fffff00, 0x3fff0001, 0x3eaaaaab, 0x5d7fffff};
  for (u32 d : divisors)
    quotientsByOne(report, x, bitCast<float>(d));
  for (u32 i = 1; i < 16; ++i)
    quotientsByOne(report, x,
                   bitCast<float>(0x30000000u + ((high >> 16) * i * 0x2c9u)));
}

/// Reciprocals of roots of all numbers from `first` on, whatever ulp the chip's
/// own are wrong by.
extern "C" __attribute__((global)) void roots(u32 *words, u32 first) {
  Report report{(HK_GLOBAL u32 *)words};
  u32 thread = __builtin_amdgcn_workgroup_id_x() * 256u + u32(threadId());
  F x;
  HK_UNROLL for (u32 e = 0; e < kElements; ++e) x[e] =
      bitCast<float>(first + thread * kElements + e);
  F near = nearRsqrt<kElements>(x), plain = 1.f / sqrt<kElements>(x);
#ifdef PLANTED
  constexpr i32 most = 1 << 20;
#else
  constexpr i32 most = 1;
#endif
  for (i32 ulps = -most; ulps <= most; ulps += most) {
    F other = bitCast<F>(bitCast<Vec<i32, kElements>>(near) + ulps);
    F got = detail::reciprocalOfRoot<kElements>(x, other);
    HK_UNROLL for (int e = 0; e < kElements; ++e)
        report.check(0, bitsOf(x[e]), bitsOf(got[e]), bitsOf(plain[e]));
  }
}

extern "C" __attribute__((global)) void codecs(u32 *words) {
  Report report{(HK_GLOBAL u32 *)words};
  u32 high = upperHalf();
  F x = numbersOf(high);

  codes<DType::F8E4M3FN>(report, 0, x);
  codes<DType::F8E4M3FNUZ>(report, 1, x);
  codes<DType::F8E5M2>(report, 2, x);
  codes<DType::F8E5M2FNUZ>(report, 3, x);
  codes<DType::F4E2M1FN>(report, 4, x);
  auto half = toBf16Bits<kElements>(x);
  auto rounded = roundTo<DType::BF16, kElements>(x);
  auto whole = roundToInt<kElements>(x, -127.f, 127.f);
  auto packed = detail::packNearest<DType::I8, kElements>(whole);
  auto limited = limit<kElements>(x, -88.f, 88.5f);
  auto cut = truncToInt<i32, kElements>(x);
  HK_UNROLL for (int e = 0; e < kElements; ++e) {
    u32 input = bitsOf(x[e]);
    report.check(5, input, half[e], bf16Of(x[e]));
    report.check(6, input, bitsOf(rounded[e]), bf16Of(x[e]) << 16);
    report.check(7, input, u32(whole[e]), u32(intOf(x[e], -127.f, 127.f)));
    report.check(7, input, u32(i32(i8(packed[e]))),
                 u32(intOf(x[e], -127.f, 127.f)));
    report.check(7, input, u32(cut[e]), u32(towardsZero(x[e])));
    float in = x[e] < -88.f ? -88.f : x[e] > 88.5f ? 88.5f : x[e];
    report.check(8, input,
                 x[e] != x[e] ? limited[e] != limited[e] : bitsOf(limited[e]),
                 x[e] != x[e] ? 1 : bitsOf(in));
  }
  F mixed = x;
  HK_UNROLL for (int e = 0; e < kElements; ++e) {
    mixed[e] = e % 2 ? -x[e] : x[e];
    x[e] = x[e] != x[e] ? 3.25f : x[e];
  }
  scales(report, 12, mixed);
  scales(report, 12, -mixed);
  numbers<DType::F8E4M3FN>(report, 13, x);
  numbers<DType::F8E4M3FNUZ>(report, 13, x);
  numbers<DType::F8E5M2FNUZ>(report, 13, x);
  numbers<DType::F4E2M1FN>(report, 14, x);
  x = numbersOf(high);
  constexpr i32 bytes[] = {0, 1, 100, 127, 200, 253, 254, 255};
  for (i32 byte : bytes) {
    F y = mxScaled<kElements>(x, byte);
    HK_UNROLL for (int e = 0; e < kElements; ++e) {
      float z = byte == 255 ? 0.f : __builtin_ldexpf(x[e], 127 - byte);
      report.check(9, bitsOf(x[e]), z != z ? y[e] != y[e] : bitsOf(y[e]),
                   z != z ? 1 : bitsOf(z));
    }
  }
  constexpr u32 divisors[] = {0x3f800000, 0x3c123457, 0xc2f00001, 0,
                              1,          0x7f800000, 0x7fc00000, 0x21ffffff,
                              0x5d800001, 0x7f7fffff};
  for (u32 d : divisors) {
    quotients<DType::F8E4M3FN>(report, 10, x, bitCast<float>(d));
    quotients<DType::F8E5M2>(report, 11, x, bitCast<float>(d));
  }
  blockScales<MxRounding::Even, DType::F4E2M1FN>(report, x);
  blockScales<MxRounding::Ceil, DType::F4E2M1FN>(report, x);
  blockScales<MxRounding::Floor, DType::F8E4M3FN>(report, x);
  blockScales<MxRounding::Ocp, DType::F8E4M3FN>(report, x);
  blockScales<MxRounding::OcpCeil, DType::F8E5M2>(report, x);
  blockScales<MxRounding::Even, DType::F8E5M2>(report, x);
  ownQuotients<DType::F8E4M3FN>(report, x);
  ownQuotients<DType::F8E4M3FNUZ>(report, x);
  ownQuotients<DType::F8E5M2>(report, x);
  ownQuotients<DType::F8E5M2FNUZ>(report, x);
  // Both halves of a word see all codes.
  u32 twoBytes = high | (high >> 16 ^ 0x5a5a);
  decoded<DType::F4E2M1FN, 8>(report, twoBytes);
  decoded<DType::F4E2M1FN, 4>(report, twoBytes);
  decoded<DType::F4E2M1FN, 2>(report, twoBytes);
  decoded<DType::F8E4M3FN, 4>(report, twoBytes);
  decoded<DType::F8E5M2, 4>(report, twoBytes);
  decoded<DType::F8E5M2, 2>(report, twoBytes);
}
