//===- Values.cpp - Numbers in every element type -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All small floats are sign, exponent and mantissa; they differ in the bias and
// in what the largest and the odd codes mean.
//
//===----------------------------------------------------------------------===//

#include "Values.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <random>

using namespace hk;
using namespace hk::run;

namespace {

struct SmallFloat {
  int mantissaBits, bias;
  bool hasInfinity;
  uint32_t signBit;
  uint32_t nan; // 0: none
};

SmallFloat smallFloat(DType dtype) {
  switch (dtype) {
  case DType::BF16:
    return {7, 127, true, 0x8000, 0x7fc0};
  case DType::F16:
    return {10, 15, true, 0x8000, 0x7e00};
  case DType::F8E4M3FN:
    return {3, 7, false, 0x80, 0x7f};
  case DType::F8E4M3FNUZ:
    return {3, 8, false, 0x80, 0x80};
  case DType::F8E5M2:
    return {2, 15, true, 0x80, 0x7e};
  case DType::F8E5M2FNUZ:
    return {2, 16, false, 0x80, 0x80};
  default:
    return {1, 1, false, 0x8, 0}; // f4E2M1FN
  }
}

bool isFnuz(DType dtype) {
  return dtype == DType::F8E4M3FNUZ || dtype == DType::F8E5M2FNUZ;
}

double decodeSmall(DType dtype, uint32_t bits) {
  SmallFloat format = smallFloat(dtype);
  uint32_t magnitude = bits & (format.signBit - 1);
  double sign = bits & format.signBit ? -1 : 1;
  bool isNaN = isFnuz(dtype) ? bits == format.nan
                             : format.nan && magnitude >= format.nan;
  int exponent = static_cast<int>(magnitude >> format.mantissaBits);
  double mantissa = magnitude & ((1u << format.mantissaBits) - 1);
  if (format.hasInfinity) {
    int top = static_cast<int>((format.signBit - 1) >> format.mantissaBits);
    if (exponent == top)
      return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                           : std::numeric_limits<double>::quiet_NaN();
  } else if (isNaN) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0)
    return sign * std::ldexp(mantissa, 1 - format.bias - format.mantissaBits);
  return sign * std::ldexp(mantissa + (1 << format.mantissaBits),
                           exponent - format.bias - format.mantissaBits);
}

uint32_t encodeSmall(DType dtype, double value) {
  SmallFloat format = smallFloat(dtype);
  if (std::isnan(value))
    return format.nan; // types without NaN: 0
  uint32_t sign = std::signbit(value) ? format.signBit : 0;
  double largest = info(dtype).maxFinite, magnitude = std::fabs(value);
  // Half a unit beyond the largest number still rounds to it.
  double unit = std::ldexp(1.0, std::ilogb(largest) - format.mantissaBits);
  uint32_t bits = 0;
  if (magnitude >= largest + unit / 2) {
    if (format.hasInfinity) {
      bits = ((format.signBit - 1) >> format.mantissaBits)
             << format.mantissaBits;
      return sign | bits;
    }
    magnitude = largest;
  }
  if (magnitude > 0) {
    int exponent = std::max(std::ilogb(magnitude), 1 - format.bias);
    auto digits = static_cast<uint32_t>(
        std::nearbyint(std::ldexp(magnitude, format.mantissaBits - exponent)));
    // The hidden bit of a normal number carries into the exponent.
    bits = (static_cast<uint32_t>(exponent + format.bias - 1)
            << format.mantissaBits) +
           digits;
  }
  if (bits == 0 && isFnuz(dtype))
    return 0; // there is no negative zero
  return sign | bits;
}

uint32_t encodeE8M0(double value) {
  if (!(value > 0))
    return std::isnan(value) ? 255 : 0;
  int exponent = static_cast<int>(std::lround(std::log2(value)));
  return std::clamp(exponent + 127, 0, 254);
}

double decodeE8M0(uint32_t bits) {
  return bits == 255 ? std::numeric_limits<double>::quiet_NaN()
                     : std::ldexp(1.0, static_cast<int>(bits) - 127);
}

template <typename T> T load(const std::vector<uint8_t> &bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void store(std::vector<uint8_t> &bytes, int64_t index, T value) {
  std::memcpy(bytes.data() + index * sizeof(T), &value, sizeof(T));
}

} // namespace

int64_t HostTensor::numElements() const {
  int64_t count = 1;
  for (int64_t size : sizes)
    if (__builtin_mul_overflow(count, size, &count) || count > INT64_MAX / 64)
      throw Failure("a tensor of " + typeText(*this) + " is too large");
  return count;
}

void HostTensor::allocate() {
  bytes.assign(packedBytes(dtype, numElements()), 0);
}

double HostTensor::get(int64_t index) const {
  switch (dtype) {
  case DType::F32:
    return load<float>(bytes, index);
  case DType::BF16:
  case DType::F16:
    return decodeSmall(dtype, load<uint16_t>(bytes, index));
  case DType::F4E2M1FN:
    return decodeSmall(dtype, (bytes[index / 2] >> (index % 2 * 4)) & 15);
  case DType::F8E8M0FNU:
    return decodeE8M0(bytes[index]);
  case DType::I1:
    return bytes[index];
  case DType::I8:
    return static_cast<int8_t>(bytes[index]);
  case DType::I16:
    return load<int16_t>(bytes, index);
  case DType::I32:
    return load<int32_t>(bytes, index);
  case DType::I64:
    return static_cast<double>(load<int64_t>(bytes, index));
  case DType::I4:
  case DType::UI4: {
    int code = (bytes[index / 2] >> (index % 2 * 4)) & 15;
    return dtype == DType::I4 && code > 7 ? code - 16 : code;
  }
  default:
    return decodeSmall(dtype, bytes[index]);
  }
}

void HostTensor::set(int64_t index, double value) {
  if (!info(dtype).isFloat)
    return setInteger(index, static_cast<int64_t>(value));
  switch (dtype) {
  case DType::F32:
    return store(bytes, index, static_cast<float>(value));
  case DType::BF16:
  case DType::F16:
    return store(bytes, index,
                 static_cast<uint16_t>(encodeSmall(dtype, value)));
  case DType::F4E2M1FN:
    return setCode(index, encodeSmall(dtype, value));
  case DType::F8E8M0FNU:
    bytes[index] = encodeE8M0(value);
    return;
  default:
    bytes[index] = encodeSmall(dtype, value);
  }
}

void HostTensor::setCode(int64_t index, uint32_t code) {
  int shift = index % 2 * 4;
  uint8_t &byte = bytes[index / 2];
  byte = (byte & ~(15 << shift)) | ((code & 15) << shift);
}

void HostTensor::setInteger(int64_t index, int64_t value) {
  switch (dtype) {
  case DType::I4:
  case DType::UI4:
    return setCode(index, static_cast<uint32_t>(value));
  case DType::I16:
    return store(bytes, index, static_cast<int16_t>(value));
  case DType::I32:
    return store(bytes, index, static_cast<int32_t>(value));
  case DType::I64:
    return store(bytes, index, value);
  default:
    bytes[index] = static_cast<uint8_t>(value);
  }
}

/// In [0, 1). libstdc++'s distribution takes two long double logarithms a call.
static double unit(std::mt19937_64 &engine) {
  return static_cast<double>(engine() >> 11) * 0x1p-53;
}

/// A standard normal deviate, by Marsaglia's polar method.
static double normal(std::mt19937_64 &engine) {
  for (;;) {
    double x = 2 * unit(engine) - 1, y = 2 * unit(engine) - 1;
    double square = x * x + y * y;
    if (square > 0 && square < 1)
      return y * std::sqrt(-2 * std::log(square) / square);
  }
}

static double randomValue(std::mt19937_64 &engine, DType dtype, Data data) {
  double sign = engine() & 1 ? 1 : -1;
  if (dtype == DType::F8E8M0FNU) {
    // A scale: a power of two near one, at an end of the range, or NaN.
    double near = std::ldexp(1.0, static_cast<int>(engine() % 9) - 4);
    switch (data) {
    case Data::Equal:
      return 1.0;
    case Data::Huge:
      return std::ldexp(near, 120);
    case Data::Tiny:
      return std::ldexp(near, -120);
    case Data::NaN:
      return unit(engine) < 0.02 ? NAN : near;
    default:
      return near;
    }
  }
  double largest = info(dtype).maxFinite;
  switch (data) {
  case Data::Equal:
    return 0.5;
  case Data::Huge:
    return sign * largest * (0.25 + 0.75 * unit(engine));
  case Data::Tiny:
    // Around the border of subnormal numbers.
    return sign * unit(engine) *
           (dtype == DType::F32 || dtype == DType::BF16
                ? std::ldexp(1.0, -124)
                : std::ldexp(1.0, 3 - smallFloat(dtype).bias));
  case Data::NaN:
    return unit(engine) < 0.02 ? NAN : normal(engine);
  case Data::Inf:
    return unit(engine) < 0.02 ? sign * INFINITY : normal(engine);
  default:
    return normal(engine);
  }
}

/// 0, then sorted numbers, every third one twice (an empty sequence), then
/// `total`.
static std::vector<int64_t> randomBounds(std::mt19937_64 &engine, int64_t count,
                                         int64_t total) {
  std::vector<int64_t> bounds(static_cast<size_t>(count), 0);
  for (int64_t i = 1; i < count; ++i)
    bounds[i] = i % 3 == 0 ? bounds[i - 1]
                           : static_cast<int64_t>(
                                 engine() % (static_cast<uint64_t>(total) + 1));
  std::sort(bounds.begin(), bounds.end());
  if (count > 1)
    bounds.back() = total;
  return bounds;
}

/// Different numbers in [0, most] in random order, and -1 when they run out.
static std::vector<int64_t> randomDistinct(std::mt19937_64 &engine,
                                           int64_t count, int64_t most) {
  // The first `count` cards of a shuffled deck, of which only those that have
  // moved are stored.
  std::map<int64_t, int64_t> moved;
  auto card = [&](int64_t place) {
    auto it = moved.find(place);
    return it == moved.end() ? place : it->second;
  };
  std::vector<int64_t> drawn(static_cast<size_t>(count), -1);
  for (int64_t i = 0; i < count && i <= most; ++i) {
    auto left = static_cast<uint64_t>(most - i) + 1;
    int64_t place = i + static_cast<int64_t>(engine() % left);
    drawn[i] = card(place);
    moved[place] = card(i);
  }
  return drawn;
}

static std::vector<int64_t> randomIntegers(std::mt19937_64 &engine,
                                           int64_t count,
                                           const IntegerRange &range) {
  if (range.kind == IntegerRange::Kind::Bounds)
    return randomBounds(engine, count, range.high);
  if (range.kind == IntegerRange::Kind::Distinct)
    return randomDistinct(engine, count, range.high);
  std::vector<int64_t> values(static_cast<size_t>(count));
  if (range.kind == IntegerRange::Kind::Lengths) {
    std::vector<int64_t> bounds = randomBounds(engine, count + 1, range.high);
    for (int64_t i = 0; i < count; ++i)
      values[i] = bounds[i + 1] - bounds[i];
    return values;
  }
  uint64_t span = static_cast<uint64_t>(range.high) - range.low + 1;
  for (int64_t i = 0; i < count; ++i)
    values[i] = range.kind == IntegerRange::Kind::Iota
                    ? range.low + i
                    : range.low + static_cast<int64_t>(span ? engine() % span
                                                            : engine());
  return values;
}

void hk::run::fillRandom(HostTensor &tensor, const std::string &name,
                         uint64_t seed, Data data, const IntegerRange &range) {
  std::seed_seq sequence(name.begin(), name.end());
  uint32_t words[2];
  sequence.generate(words, words + 2);
  std::mt19937_64 engine((uint64_t(words[0]) << 32 | words[1]) ^
                         (seed * 0x9e3779b97f4a7c15ull));
  int64_t count = tensor.numElements();
  if (info(tensor.dtype).isFloat) {
    for (int64_t i = 0; i < count; ++i)
      tensor.set(i, randomValue(engine, tensor.dtype, data));
    return;
  }
  std::vector<int64_t> values = randomIntegers(engine, count, range);
  for (int64_t i = 0; i < count; ++i)
    tensor.setInteger(i, values[i]);
}

std::string hk::run::summarize(const HostTensor &tensor) {
  int64_t count = tensor.numElements(), finite = 0, nans = 0, infinities = 0;
  double least = 0, most = 0, sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    double value = tensor.get(i);
    nans += std::isnan(value);
    infinities += std::isinf(value);
    if (!std::isfinite(value))
      continue;
    least = finite ? std::min(least, value) : value;
    most = finite ? std::max(most, value) : value;
    sum += value;
    ++finite;
  }
  if (count == 0)
    return "empty";
  char text[160];
  std::snprintf(text, sizeof(text), "min %.6g max %.6g mean %.6g", least, most,
                finite ? sum / static_cast<double>(finite) : 0.0);
  std::string result = finite ? text : "no finite value";
  if (nans)
    result += ", " + std::to_string(nans) + " NaN";
  if (infinities)
    result += ", " + std::to_string(infinities) + " infinite";
  return result;
}

std::string hk::run::typeText(const HostTensor &tensor) {
  std::string text = std::string(info(tensor.dtype).name) + " [";
  for (size_t i = 0; i < tensor.sizes.size(); ++i)
    text += (i ? ", " : "") + std::to_string(tensor.sizes[i]);
  return text + "]";
}
