//===- DeviceTest.cpp - The device layer on the host -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions against exhaustive nearest search, elementary functions against
// double. The device headers are plain C++ on the host, so no code generation
// is involved.
//
//===----------------------------------------------------------------------===//

#include "kernels/device/io.h"
#include "kernels/device/math.h"
#include "kernels/device/quant.h"
#include "kernels/device/reduce.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace {

using hk::DType;
template <class T, int V> using Vec = hk::Vec<T, V>;
using F16 = Vec<float, 16>;

template <DType D> float decodeOne(uint8_t code) {
  return hk::decodeSmall<D, 1>(Vec<hk::u32, 1>(hk::u32(code)))[0];
}

template <DType D> uint8_t encodeOne(float x) {
  return uint8_t(hk::encodeSmall<D, 1>(Vec<float, 1>(x))[0]);
}

/// The code of the nearest value, ties to the even code, saturating.
template <DType D> uint8_t nearest(float x) {
  constexpr int codes = 1 << hk::info(D).bits;
  int best = -1;
  double bestError = 0;
  for (int c = 0; c < codes; ++c) {
    float v = decodeOne<D>(uint8_t(c));
    bool zeroOfBothSigns = v == 0 && hk::smallFloat<D>().fnuz;
    if (!std::isfinite(v) ||
        (std::signbit(v) != std::signbit(x) && !zeroOfBothSigns))
      continue;
    double error = std::fabs(double(v) - double(x));
    if (best < 0 || error < bestError || (error == bestError && c % 2 == 0)) {
      best = c;
      bestError = error;
    }
  }
  return uint8_t(best);
}

template <DType D> void checkSmallFloat() {
  std::mt19937 rng(1);
  std::uniform_real_distribution<float> exponent(-22, 17), mantissa(1, 2);
  for (int i = 0; i < 20000; ++i) {
    float x = std::ldexp(mantissa(rng), int(exponent(rng)));
    if (i % 2)
      x = -x;
    ASSERT_EQ(encodeOne<D>(x), nearest<D>(x)) << hk::info(D).name << " " << x;
  }
  // Every value, and every midpoint of neighbours, which must tie to even.
  constexpr int half = 1 << (hk::info(D).bits - 1);
  for (int c = 0; c + 1 < half; ++c) {
    float a = decodeOne<D>(uint8_t(c)), b = decodeOne<D>(uint8_t(c + 1));
    if (!std::isfinite(a) || !std::isfinite(b))
      continue;
    EXPECT_EQ(encodeOne<D>(a), c);
    EXPECT_EQ(encodeOne<D>((a + b) / 2), c % 2 ? c + 1 : c);
  }
  float max = float(hk::info(D).maxFinite);
  EXPECT_EQ(decodeOne<D>(encodeOne<D>(INFINITY)), max);
  EXPECT_EQ(decodeOne<D>(encodeOne<D>(-INFINITY)), -max);
  EXPECT_EQ(decodeOne<D>(encodeOne<D>(1e30f)), max);
  if (D == DType::F4E2M1FN)
    EXPECT_EQ(encodeOne<D>(NAN), 0);
  else
    EXPECT_TRUE(std::isnan(decodeOne<D>(encodeOne<D>(NAN))));
}

TEST(Convert, SmallFloatsRoundToNearestEven) {
  checkSmallFloat<DType::F8E4M3FN>();
  checkSmallFloat<DType::F8E4M3FNUZ>();
  checkSmallFloat<DType::F8E5M2>();
  checkSmallFloat<DType::F8E5M2FNUZ>();
  checkSmallFloat<DType::F4E2M1FN>();
}

TEST(Convert, KnownCodes) {
  EXPECT_EQ(decodeOne<DType::F8E4M3FN>(0x7E), 448.f);
  EXPECT_EQ(decodeOne<DType::F8E4M3FN>(0x38), 1.f);
  EXPECT_EQ(decodeOne<DType::F8E4M3FN>(0x01), std::ldexp(1.f, -9));
  EXPECT_EQ(decodeOne<DType::F8E4M3FNUZ>(0x7F), 240.f);
  EXPECT_EQ(decodeOne<DType::F8E4M3FNUZ>(0x40), 1.f);
  EXPECT_TRUE(std::isnan(decodeOne<DType::F8E4M3FNUZ>(0x80)));
  EXPECT_EQ(decodeOne<DType::F8E5M2>(0x7B), 57344.f);
  EXPECT_TRUE(std::isinf(decodeOne<DType::F8E5M2>(0x7C)));
  EXPECT_EQ(decodeOne<DType::F4E2M1FN>(0x7), 6.f);
  EXPECT_EQ(decodeOne<DType::F4E2M1FN>(0x9), -0.5f);
}

TEST(Convert, E8M0) {
  for (int c = 0; c < 255; ++c) {
    Vec<float, 1> v = hk::decodeE8M0<1>(Vec<hk::u32, 1>(hk::u32(c)));
    EXPECT_EQ(v[0], float(std::ldexp(1.0, c - 127)));
    EXPECT_EQ(int(hk::encodeE8M0<1>(v)[0]), c);
  }
  auto code = [](float x) {
    return int(hk::encodeE8M0<1>(Vec<float, 1>(x))[0]);
  };
  EXPECT_EQ(code(NAN), 255);
  EXPECT_EQ(code(-1.f), 255);
  EXPECT_EQ(code(INFINITY), 254);
  EXPECT_EQ(code(0.f), 0);
  EXPECT_EQ(code(-0.f), 0);
  EXPECT_EQ(code(1.4f), 127);
  EXPECT_EQ(code(1.6f), 128);
}

TEST(Convert, Bf16RoundsToNearestEven) {
  for (uint32_t u : {0x3F800000u, 0x3F808000u, 0x3F818000u, 0x3F808001u,
                     0x7F7FFFFFu, 0x00000001u, 0x80008000u}) {
    float x;
    memcpy(&x, &u, 4);
    uint32_t lsb = (u >> 16) & 1;
    uint32_t expected = (u + 0x7FFF + lsb) >> 16;
    EXPECT_EQ(hk::toBf16Bits<1>(Vec<float, 1>(x))[0], uint16_t(expected));
  }
  EXPECT_TRUE(std::isnan(hk::roundTo<DType::BF16, 1>(Vec<float, 1>(NAN))[0]));
  uint32_t lowNan = 0x7F800001u;
  float x;
  memcpy(&x, &lowNan, 4);
  EXPECT_TRUE(std::isnan(hk::roundTo<DType::BF16, 1>(Vec<float, 1>(x))[0]));
}

TEST(Convert, IntegersSaturate) {
  auto byte = [](float x) {
    return int(hk::roundToInt<1>(Vec<float, 1>(x), -128, 127)[0]);
  };
  EXPECT_EQ(byte(2.5f), 2);
  EXPECT_EQ(byte(3.5f), 4);
  EXPECT_EQ(byte(1e9f), 127);
  EXPECT_EQ(byte(-INFINITY), -128);
  EXPECT_EQ(byte(NAN), 0);
  auto word = [](float x) {
    return hk::truncToInt<hk::i32, 1>(Vec<float, 1>(x))[0];
  };
  EXPECT_EQ(word(-2.9f), -2);
  EXPECT_EQ(word(3e9f), INT32_MAX);
  EXPECT_EQ(word(-3e9f), INT32_MIN);
  EXPECT_EQ(word(NAN), 0);
  auto dword = [](float x) {
    return hk::truncToInt<hk::i64, 1>(Vec<float, 1>(x))[0];
  };
  EXPECT_EQ(dword(1e30f), INT64_MAX);
  EXPECT_EQ(dword(-4294967296.f), -4294967296ll);
}

/// Largest error of f in ulp of the f32 result over positive and negative x
/// spread evenly over the bit patterns of [lo, hi].
template <class F, class R>
double maxUlp(F f, R reference, float lo, float hi, bool negative) {
  uint32_t a, b;
  memcpy(&a, &lo, 4);
  memcpy(&b, &hi, 4);
  uint32_t step = std::max<uint32_t>(1, (b - a) / 400000);
  double worst = 0;
  for (uint64_t u = a; u <= b; u += 16ull * step) {
    F16 x;
    for (int e = 0; e < 16; ++e) {
      uint32_t bits = uint32_t(std::min<uint64_t>(u + uint64_t(e) * step, b));
      float v;
      memcpy(&v, &bits, 4);
      x[e] = negative && e % 2 ? -v : v;
    }
    F16 y = f(x);
    for (int e = 0; e < 16; ++e) {
      double r = reference(double(x[e]));
      float rf = float(r);
      if (std::isnan(r) || std::isinf(rf)) {
        EXPECT_TRUE(std::isnan(r) ? std::isnan(y[e])
                                  : (y[e] == rf || std::fabs(y[e]) > 3.3e38f))
            << x[e] << " gives " << y[e] << " expected " << r;
        continue;
      }
      double ulp = std::max(
          std::ldexp(1.0, std::ilogb(std::max(std::fabs(r), 1e-40)) - 23),
          std::ldexp(1.0, -149));
      double error = std::fabs(double(y[e]) - r) / ulp;
      if (!(error <= worst))
        worst = error;
    }
  }
  return worst;
}

TEST(Math, UlpBounds) {
  const float tiny = 1e-38f;
  EXPECT_LE(
      maxUlp(
          hk::exp<16>, [](double x) { return std::exp(x); }, tiny, 110.f, true),
      2);
  EXPECT_LE(maxUlp(
                hk::exp2<16>, [](double x) { return std::exp2(x); }, tiny,
                155.f, true),
            2);
  EXPECT_LE(maxUlp(
                hk::log<16>, [](double x) { return std::log(x); }, 1e-45f,
                3e38f, false),
            2);
  EXPECT_LE(maxUlp(
                hk::log2<16>, [](double x) { return std::log2(x); }, 1e-45f,
                3e38f, false),
            2);
  EXPECT_LE(maxUlp(
                hk::log1p<16>, [](double x) { return std::log1p(x); }, tiny,
                3e38f, false),
            3);
  EXPECT_LE(maxUlp(
                hk::log1p<16>, [](double x) { return std::log1p(x); }, tiny,
                0.9999f, true),
            3);
  EXPECT_LE(maxUlp(
                hk::expm1<16>, [](double x) { return std::expm1(x); }, tiny,
                100.f, true),
            3);
  EXPECT_LE(maxUlp(
                hk::tanh<16>, [](double x) { return std::tanh(x); }, tiny,
                100.f, true),
            3);
  EXPECT_LE(
      maxUlp(
          hk::erf<16>, [](double x) { return std::erf(x); }, tiny, 100.f, true),
      2);
  EXPECT_LE(maxUlp(
                hk::sigmoid<16>,
                [](double x) { return 1 / (1 + std::exp(-x)); }, tiny, 80.f,
                true),
            3);
  EXPECT_LE(maxUlp(
                hk::silu<16>, [](double x) { return x / (1 + std::exp(-x)); },
                tiny, 90.f, true),
            4);
  EXPECT_LE(maxUlp(
                hk::softplus<16>,
                [](double x) { return x > 20 ? x : std::log1p(std::exp(x)); },
                tiny, 80.f, true),
            6);
  EXPECT_LE(maxUlp([](F16 x) { return hk::expNegative<16>(-x); },
                   [](double x) { return std::exp(-x); }, tiny, 87.f, false),
            2);
  EXPECT_LE(maxUlp(
                hk::rsqrt<16>, [](double x) { return 1 / std::sqrt(x); }, tiny,
                3e38f, false),
            2);
  EXPECT_LE(maxUlp(
                hk::sin<16>, [](double x) { return std::sin(x); }, tiny,
                4194304.f, true),
            2);
  EXPECT_LE(maxUlp(
                hk::cos<16>, [](double x) { return std::cos(x); }, tiny,
                4194304.f, true),
            2);
}

TEST(Math, SpecialValues) {
  auto one = [](auto f, float x) { return f(F16(x))[0]; };
  EXPECT_EQ(one(hk::exp<16>, -INFINITY), 0.f);
  EXPECT_EQ(one(hk::exp<16>, INFINITY), INFINITY);
  EXPECT_EQ(one(hk::exp<16>, 0.f), 1.f);
  EXPECT_EQ(one(hk::expm1<16>, -INFINITY), -1.f);
  EXPECT_EQ(one(hk::log<16>, 0.f), -INFINITY);
  EXPECT_TRUE(std::isnan(one(hk::log<16>, -1.f)));
  EXPECT_EQ(one(hk::log<16>, INFINITY), INFINITY);
  EXPECT_EQ(one(hk::log1p<16>, -1.f), -INFINITY);
  EXPECT_EQ(one(hk::tanh<16>, INFINITY), 1.f);
  EXPECT_EQ(one(hk::tanh<16>, -INFINITY), -1.f);
  EXPECT_EQ(one(hk::erf<16>, -INFINITY), -1.f);
  EXPECT_TRUE(std::signbit(one(hk::tanh<16>, -0.f)));
  EXPECT_TRUE(std::isnan(one(hk::sin<16>, INFINITY)));
  EXPECT_TRUE(std::isnan(one(hk::silu<16>, -INFINITY)));
  EXPECT_EQ(one(hk::silu<16>, -200.f), 0.f);
  EXPECT_EQ(one(hk::silu<16>, INFINITY), INFINITY);
  EXPECT_EQ(one(hk::sigmoid<16>, -INFINITY), 0.f);
  EXPECT_EQ(one(hk::sigmoid<16>, -1e30f), 0.f);
  EXPECT_EQ(one(hk::expNegative<16>, -INFINITY), 0.f);
  EXPECT_TRUE(std::isnan(one(hk::expNegative<16>, NAN)));
  EXPECT_EQ(one(hk::gelu<16>, INFINITY), INFINITY);
  EXPECT_EQ(one(hk::relu<16>, -2.f), 0.f);
  EXPECT_EQ(one(hk::softplus<16>, -INFINITY), 0.f);
  EXPECT_EQ(one(hk::softplus<16>, INFINITY), INFINITY);
  EXPECT_EQ(one(hk::softplus<16>, 20.5f), 20.5f);
  for (auto f :
       {hk::exp<16>, hk::exp2<16>, hk::expm1<16>, hk::log<16>, hk::log2<16>,
        hk::log1p<16>, hk::tanh<16>, hk::erf<16>, hk::sin<16>, hk::cos<16>,
        hk::sigmoid<16>, hk::silu<16>, hk::gelu<16>, hk::geluTanh<16>,
        hk::rsqrt<16>, hk::relu<16>, hk::softplus<16>})
    EXPECT_TRUE(std::isnan(one(f, NAN)));
  F16 nan = NAN, two = 2.f;
  EXPECT_TRUE(std::isnan(hk::maxNan<16>(nan, two)[3]));
  EXPECT_TRUE(std::isnan(hk::maxNan<16>(two, nan)[3]));
  EXPECT_TRUE(std::isnan(hk::minNan<16>(two, nan)[3]));
}

uint32_t bitsOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}
bool sameBits(float a, float b) { return bitsOf(a) == bitsOf(b); }

/// What a quotient is stored as in every 8-bit type.
std::vector<int> codesOf(float q) {
  float clamped = hk::limit<1>(Vec<float, 1>(q), -127.f, 127.f)[0];
  return {encodeOne<DType::F8E4M3FN>(q), encodeOne<DType::F8E4M3FNUZ>(q),
          encodeOne<DType::F8E5M2>(q), encodeOne<DType::F8E5M2FNUZ>(q),
          hk::roundToInt<1>(Vec<float, 1>(clamped), -128.f, 127.f)[0]};
}

/// At every power of two, every boundary of what is added before it, and what
/// is an ulp or two away.
template <hk::MxRounding R, DType D> void testQuotientExponent() {
  float limit = float(hk::info(D).maxFinite);
  for (uint32_t exponent = 0; exponent < 255; ++exponent)
    for (uint32_t fraction : {0u, 1u, 0x200000u, 0x400000u, 0x600000u})
      for (int ulps = -2; ulps <= 2; ++ulps) {
        uint32_t bits = (exponent << 23 | fraction) + uint32_t(ulps);
        if (bits >= 0x7F800000u)
          continue;
        float amax = hk::bitCast<float>(bits);
        int byte = hk::quotientExponent<R == hk::MxRounding::Ceil>(amax, limit);
        ASSERT_EQ(std::min(byte, 254), (hk::mxScaleByte<R, D>(amax))) << amax;
      }
  // Quotients that are rounded to 0 or to the least number.
  for (uint32_t bits = 0; bits < 200000; ++bits)
    ASSERT_EQ((hk::quotientExponent<R == hk::MxRounding::Ceil>(
                  hk::bitCast<float>(bits), limit)),
              (hk::mxScaleByte<R, D>(hk::bitCast<float>(bits))));
}

TEST(Quant, ExponentsOfScalesWithoutADivision) {
  testQuotientExponent<hk::MxRounding::Ceil, DType::F4E2M1FN>();
  testQuotientExponent<hk::MxRounding::Floor, DType::F4E2M1FN>();
  testQuotientExponent<hk::MxRounding::Ceil, DType::F8E4M3FN>();
  testQuotientExponent<hk::MxRounding::Floor, DType::F8E4M3FN>();
  testQuotientExponent<hk::MxRounding::Ceil, DType::F8E5M2>();
  testQuotientExponent<hk::MxRounding::Floor, DType::F8E5M2>();
}

/// Quotients by a scale, over the range of scales and with quotients at and
/// next to where codes change.
TEST(Quant, DivisionByAScaleGivesTheCodesOfIeeeDivision) {
  std::mt19937 random(1);
  auto uniform = [&] { return float(random() & 0xFFFFFF) * 0x1p-24f; };
  for (float limit : {448.f, 240.f, 57344.f, 127.f, 6.f, 1.f, 1e6f})
    for (float floor : {0.f, 1e-10f, 1e-30f})
      for (int round = 0; round < 4000; ++round) {
        float amax = hk::bitCast<float>(hk::u32(random() % 0x7F800000u));
        if (round % 2)
          amax = std::ldexp(1.f + uniform(), int(random() % 40) - 20);
        float scale = (amax < floor ? floor : amax) / limit;
        scale = scale == 0.f ? 1.f : scale;
        ASSERT_TRUE(sameBits(hk::quantScale(amax, floor, limit), scale));
        F16 x = 0.f;
        for (int i = 2; i < 16; ++i) {
          int down = i < 8 ? 0 : -int(random() % 18);
          float code = std::ldexp(float(1 + random() % 16), down) * scale;
          x[i] = std::fmin(i % 2 ? code : std::ldexp(amax * uniform(), down),
                           amax);
        }
        x[0] = amax;
        x[1] = -0.f;
        F16 sign = random() % 2 ? 1.f : -1.f;
        F16 q = hk::divideFor8Bits<16>(x * sign,
                                       hk::divisorOf(scale, floor, limit));
        for (int i = 0; i < 16; ++i) {
          float exact = x[i] * sign[i] / scale;
          bool tiny = std::fabs(exact) < 0x1p-18f;
          ASSERT_TRUE(tiny ? std::fabs(q[i]) <= 0x1p-18f &&
                                 std::signbit(q[i]) == std::signbit(exact)
                           : codesOf(q[i]) == codesOf(exact))
              << x[i] << " / " << scale << ": " << q[i] << ", not " << exact;
        }
      }
}

/// The quotient is correctly rounded unless it lies within 2^-46 of the middle
/// between two floats, and then its code is in doubt only if one of those two
/// is in the middle between two codes: an odd number of up to 9 bits times a
/// power of two. For such a middle H (25 bits) and each small r there is at
/// most one divisor v with v H = r modulo 2^24 or 2^25, and its dividend: all
/// of them are tried.
TEST(Quant, NoQuotientIsCloserToTheMiddleThanTheDivisionTells) {
  int tried = 0;
  for (int64_t odd = 1; odd < 512; odd += 2) {
    int64_t code = odd;
    while (code < (1 << 24))
      code *= 2;
    for (int64_t middle : {code - 1, code + 1}) { // code is the float, doubled
      for (int shift : {24, 25}) {
        int64_t modulus = int64_t(1) << shift, inverse = 1;
        for (int i = 0; i < 5; ++i)
          inverse = inverse * (2 - middle * inverse % modulus) % modulus;
        for (int64_t r = -16; r <= 16; ++r)
          for (int64_t v = ((r * inverse) % modulus + modulus) % modulus;
               v < (1 << 24); v += modulus) {
            int64_t x = (v * middle - r) >> shift;
            if (v < (1 << 23) || x < (1 << 23) || x >= (1 << 24))
              continue;
            ++tried;
            for (int exponent = -12; exponent <= 16; ++exponent) {
              float d = std::ldexp(float(v), -23);
              float dividend = std::ldexp(float(x), exponent - 23);
              float q = hk::divideFor8Bits<1>(
                  Vec<float, 1>(dividend), hk::divisorOf(d, 1e-10f, 448.f))[0];
              ASSERT_EQ(codesOf(q), codesOf(dividend / d))
                  << dividend << " / " << d;
            }
          }
      }
    }
  }
  EXPECT_GT(tried, 4000);
}

TEST(Quant, DivisionByInfinityAndNan) {
  Vec<float, 4> x = {1.f, -1.f, 0.f, INFINITY};
  Vec<float, 4> q =
      hk::divideFor8Bits<4>(x, hk::divisorOf(INFINITY, 0.f, 448.f));
  EXPECT_TRUE(sameBits(q[0], 0.f) && sameBits(q[1], -0.f) && q[2] == 0.f);
  EXPECT_TRUE(std::isnan(q[3]));
  q = hk::divideFor8Bits<4>(x, hk::divisorOf(NAN, 0.f, 448.f));
  EXPECT_TRUE(std::isnan(q[0]) && std::isnan(q[2]));
}

TEST(Io, StreamedAndExactStoresWriteTheSame) {
  alignas(64) hk::u16 memory[48] = {};
  F16 v;
  for (int i = 0; i < 16; ++i)
    v[i] = float(i) - 4.f;
  hk::storeExact<DType::BF16, 16, 2>(memory, 0, v);
  hk::storeStreamed<DType::BF16, 16, 2>(memory, 16, v, true);
  hk::storeStreamed<DType::BF16, 16, 2>(memory + 1, 32 - 1, v, false);
  hk::finishStreams();
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(memory[i], hk::toBf16Bits<1>(Vec<float, 1>(v[i]))[0]);
    EXPECT_EQ(memory[i], memory[16 + i]);
    EXPECT_EQ(memory[i], memory[32 + i]);
  }
}

TEST(Io, UnalignedAndMasked) {
  std::vector<uint16_t> memory(40, 0x3F80);
  auto v = hk::load<DType::BF16, 16, 2>(memory.data() + 1, 2);
  EXPECT_EQ(v[15], 1.f);
  hk::storeMasked<DType::BF16, 16, 2>(memory.data() + 1, 0, 3, v * 2.f);
  EXPECT_EQ(memory[0], 0x3F80);
  EXPECT_EQ(memory[3], 0x4000);
  EXPECT_EQ(memory[4], 0x3F80);
  auto m = hk::loadMasked<DType::BF16, 16, 2>(memory.data(), 36, 4);
  EXPECT_EQ(m[3], 1.f);
  EXPECT_EQ(m[4], 0.f);
}

TEST(Io, Fp4PutsTheEvenElementInTheLowNibble) {
  uint8_t memory[8] = {};
  Vec<float, 4> v = {0.5f, -1.f, 6.f, 0.f};
  hk::store<DType::F4E2M1FN, 4>(memory, 4, v);
  EXPECT_EQ(memory[2], 0xA1);
  EXPECT_EQ(memory[3], 0x07);
  EXPECT_EQ(hk::loadScalar<DType::F4E2M1FN>(memory, 5), -1.f);
}

template <DType D, int V> static void checkNibbles(int least) {
  uint8_t memory[16] = {};
  Vec<int, V> v, back;
  for (int i = 0; i < 16; i += V) {
    for (int e = 0; e < V; ++e)
      v[e] = least + i + e;
    hk::store<D, V>(memory, i, v);
    back = hk::load<D, V>(memory, i);
    for (int e = 0; e < V; ++e) {
      EXPECT_EQ(back[e], least + i + e);
      EXPECT_EQ(hk::loadScalar<D>(memory, i + e), least + i + e);
      EXPECT_EQ(memory[(i + e) / 2] >> (e % 2 * 4) & 15, (least + i + e) & 15);
    }
  }
  back = hk::loadMasked<D, V>(memory, 0, 2);
  for (int e = 2; e < V; ++e)
    EXPECT_EQ(back[e], 0);
}

TEST(Io, IntegersOfFourBitsLieAsFp4Does) {
  checkNibbles<DType::I4, 2>(-8);
  checkNibbles<DType::I4, 8>(-8);
  checkNibbles<DType::I4, 16>(-8);
  checkNibbles<DType::UI4, 2>(0);
  checkNibbles<DType::UI4, 4>(0);
  checkNibbles<DType::UI4, 16>(0);
}

TEST(Reduce, MagnitudeMaxPutsNanAboveInfinity) {
  Vec<float, 2> a = {1.f, INFINITY}, b = {2.f, NAN};
  auto m = hk::MagnitudeMax::apply<Vec<float, 2>>(a, b);
  EXPECT_EQ(m[0], 2.f);
  EXPECT_TRUE(std::isnan(m[1]));
  EXPECT_TRUE(std::isnan(hk::MagnitudeMax::apply<float>(NAN, 1.f)));
}

TEST(Reduce, GroupsOnTheHostAreEntries) {
  float v[6] = {1, 5, 2, NAN, 3, 4};
  hk::groupReduce<hk::Max, 2>(v);
  EXPECT_EQ(v[0], 5.f);
  EXPECT_TRUE(std::isnan(v[2]) && std::isnan(v[3]));
  EXPECT_EQ(v[4], 4.f);
  Vec<float, 8> x = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ((hk::reduceVec<hk::Sum, 8>(x)), 36.f);
}

} // namespace
