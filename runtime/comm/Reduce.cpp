//===- Reduce.cpp - Reductions over ranks on the host ---------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Floats pass through a block of f32, integers are added in their own width and
// wrap.
//
//===----------------------------------------------------------------------===//

#include "comm/Reduce.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

using namespace hk;

static float floatOfBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
static uint32_t bitsOfFloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

static float fromBf16(uint16_t code) {
  return floatOfBits(uint32_t(code) << 16);
}
static uint16_t toBf16(float value) {
  uint32_t bits = bitsOfFloat(value);
  if (std::isnan(value))
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float fromF16(uint16_t code) {
  uint32_t sign = uint32_t(code & 0x8000) << 16;
  uint32_t rest = code & 0x7fff;
  if (rest >= 0x7c00) // infinity and NaN
    return floatOfBits(sign | 0x7f800000 | (rest & 0x3ff) << 13);
  // Scaled as f32, subnormals come right: the exponents' biases differ by 112.
  return floatOfBits(sign | bitsOfFloat(floatOfBits(rest << 13) * 0x1p112f));
}
static uint16_t toF16(float value) {
  uint32_t bits = bitsOfFloat(value);
  uint16_t sign = bits >> 16 & 0x8000;
  if (std::isnan(value))
    return sign | 0x7e00;
  float magnitude = std::fabs(value);
  if (magnitude >= 65520) // halfway to the number behind the largest
    return sign | 0x7c00;
  if (magnitude < 0x1p-14f) {
    // Adding 0.5 rounds to multiples of 2^-24, f16's subnormals.
    float shifted = magnitude + 0.5f;
    return sign | uint16_t(bitsOfFloat(shifted) - bitsOfFloat(0.5f));
  }
  uint32_t rest = bits & 0x7fffffff;
  rest += 0xfff + (rest >> 13 & 1);
  return sign | uint16_t((rest >> 13) - (112 << 10));
}

namespace {
/// Elements that are widened at a time.
constexpr int64_t kBlock = 2048;
} // namespace

static void widen(const char *from, DType dtype, int64_t begin, int64_t count,
                  float *to) {
  if (dtype == DType::F32) {
    std::memcpy(to, from + begin * 4, count * 4);
    return;
  }
  const char *at = from + begin * 2;
  for (int64_t i = 0; i < count; ++i) {
    uint16_t code;
    std::memcpy(&code, at + i * 2, 2);
    to[i] = dtype == DType::BF16 ? fromBf16(code) : fromF16(code);
  }
}

static void narrow(const float *from, DType dtype, int64_t begin, int64_t count,
                   char *to) {
  if (dtype == DType::F32) {
    std::memcpy(to + begin * 4, from, count * 4);
    return;
  }
  char *at = to + begin * 2;
  for (int64_t i = 0; i < count; ++i) {
    uint16_t code = dtype == DType::BF16 ? toBf16(from[i]) : toF16(from[i]);
    std::memcpy(at + i * 2, &code, 2);
  }
}

template <typename T>
static T combine(hk_collective_reduction reduction, T a, T b) {
  if (reduction == HK_COLLECTIVE_SUM) {
    if constexpr (std::is_integral_v<T>)
      return T(uint64_t(a) + uint64_t(b));
    else
      return a + b;
  }
  if constexpr (!std::is_integral_v<T>)
    if (std::isnan(a) || std::isnan(b))
      return std::isnan(a) ? a : b;
  return reduction == HK_COLLECTIVE_MAX ? std::max(a, b) : std::min(a, b);
}

static void reduceFloats(hk_collective_reduction reduction,
                         const std::vector<const char *> &parts, DType dtype,
                         char *result, DType resultDType, int64_t count) {
  float sums[kBlock], terms[kBlock];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    int64_t n = std::min(kBlock, count - begin);
    widen(parts[0], dtype, begin, n, sums);
    for (size_t part = 1; part < parts.size(); ++part) {
      widen(parts[part], dtype, begin, n, terms);
      for (int64_t i = 0; i < n; ++i)
        sums[i] = combine(reduction, sums[i], terms[i]);
    }
    narrow(sums, resultDType, begin, n, result);
  }
}

template <typename T>
static void reduceIntegers(hk_collective_reduction reduction,
                           const std::vector<const char *> &parts, char *result,
                           int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    T sum, term;
    std::memcpy(&sum, parts[0] + i * sizeof(T), sizeof(T));
    for (size_t part = 1; part < parts.size(); ++part) {
      std::memcpy(&term, parts[part] + i * sizeof(T), sizeof(T));
      sum = combine(reduction, sum, term);
    }
    std::memcpy(result + i * sizeof(T), &sum, sizeof(T));
  }
}

void hk::reduceParts(hk_collective_reduction reduction,
                     const std::vector<const char *> &parts, DType dtype,
                     char *result, DType resultDType, int64_t count) {
  switch (info(dtype).isFloat ? 0 : info(dtype).bits) {
  case 0:
    return reduceFloats(reduction, parts, dtype, result, resultDType, count);
  case 8:
    return reduceIntegers<int8_t>(reduction, parts, result, count);
  case 16:
    return reduceIntegers<int16_t>(reduction, parts, result, count);
  case 32:
    return reduceIntegers<int32_t>(reduction, parts, result, count);
  default:
    return reduceIntegers<int64_t>(reduction, parts, result, count);
  }
}
