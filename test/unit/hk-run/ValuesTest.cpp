//===- ValuesTest.cpp - Numbers of hk-run -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Known codes, every code there and back, rounding, and .npy files.
//
//===----------------------------------------------------------------------===//

#include "Npy.h"
#include "Ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>
#include <set>

using namespace hk;
using namespace hk::run;
using Kind = IntegerRange::Kind;

namespace {

HostTensor scalar(DType dtype) {
  HostTensor tensor;
  tensor.dtype = dtype;
  tensor.sizes = {2}; // fp4 needs an even size
  tensor.allocate();
  return tensor;
}

uint32_t encode(DType dtype, double value) {
  HostTensor tensor = scalar(dtype);
  tensor.set(0, value);
  uint32_t bits = 0;
  std::memcpy(&bits, tensor.bytes.data(), std::max(1, info(dtype).bits / 8));
  return bits;
}

double decode(DType dtype, uint32_t bits) {
  HostTensor tensor = scalar(dtype);
  std::memcpy(tensor.bytes.data(), &bits, std::max(1, info(dtype).bits / 8));
  return tensor.get(0);
}

std::string temporaryFile(const char *name) {
  return testing::TempDir() + "/hk-run-" + name;
}

} // namespace

TEST(Values, IntegersOfFourBitsShareBytes) {
  HostTensor tensor = scalar(DType::I4);
  tensor.setInteger(0, -8);
  tensor.setInteger(1, 7);
  EXPECT_EQ(tensor.bytes, (std::vector<uint8_t>{0x78}));
  EXPECT_EQ(tensor.get(0), -8);
  EXPECT_EQ(tensor.get(1), 7);
  tensor.dtype = DType::UI4;
  EXPECT_EQ(tensor.get(0), 8);
  tensor.setInteger(0, 15);
  EXPECT_EQ(tensor.get(0), 15);
  EXPECT_EQ(tensor.get(1), 7);
}

TEST(Values, HaveTheCodesOfTheirFormats) {
  EXPECT_EQ(encode(DType::F32, 1.0), 0x3f800000u);
  EXPECT_EQ(encode(DType::BF16, 1.0), 0x3f80u);
  EXPECT_EQ(encode(DType::BF16, -INFINITY), 0xff80u);
  EXPECT_EQ(encode(DType::F16, -2.0), 0xc000u);
  EXPECT_EQ(encode(DType::F16, std::ldexp(1, -24)), 1u);
  EXPECT_EQ(encode(DType::F16, 65520.0), 0x7c00u); // rounds to infinity
  EXPECT_EQ(encode(DType::F16, 65519.0), 0x7bffu);
  EXPECT_EQ(encode(DType::F8E4M3FN, 1.0), 0x38u);
  EXPECT_EQ(encode(DType::F8E4M3FN, 448.0), 0x7eu);
  EXPECT_EQ(encode(DType::F8E4M3FN, 1e9), 0x7eu); // no infinity: saturates
  EXPECT_EQ(encode(DType::F8E4M3FN, NAN), 0x7fu);
  EXPECT_EQ(encode(DType::F8E4M3FNUZ, 1.0), 0x40u);
  EXPECT_EQ(encode(DType::F8E4M3FNUZ, NAN), 0x80u);
  EXPECT_EQ(encode(DType::F8E4M3FNUZ, -0.0), 0u);
  EXPECT_EQ(encode(DType::F8E5M2, 1.0), 0x3cu);
  EXPECT_EQ(encode(DType::F8E5M2, 1e9), 0x7cu);
  EXPECT_EQ(encode(DType::F8E5M2FNUZ, 1.0), 0x40u);
  EXPECT_EQ(encode(DType::F4E2M1FN, 6.0), 7u);
  EXPECT_EQ(encode(DType::F4E2M1FN, -0.5), 9u);
  EXPECT_EQ(encode(DType::F8E8M0FNU, 1.0), 127u);
  EXPECT_EQ(decode(DType::F8E8M0FNU, 130), 8.0);
}

TEST(Values, SurviveDecodingAndEncoding) {
  for (DType dtype :
       {DType::BF16, DType::F16, DType::F8E4M3FN, DType::F8E4M3FNUZ,
        DType::F8E5M2, DType::F8E5M2FNUZ, DType::F4E2M1FN, DType::F8E8M0FNU})
    for (uint32_t bits = 0; bits < 1u << info(dtype).bits; ++bits) {
      double value = decode(dtype, bits);
      if (std::isnan(value))
        EXPECT_TRUE(std::isnan(decode(dtype, encode(dtype, value))));
      else
        ASSERT_EQ(encode(dtype, value), bits) << info(dtype).name;
      if (std::isfinite(value)) {
        EXPECT_LE(std::fabs(value), info(dtype).maxFinite);
      }
    }
}

TEST(Values, RoundToNearestEven) {
  // Between 1 and 1 + 2^-7, the neighbours in bf16.
  double half = std::ldexp(1, -8);
  EXPECT_EQ(decode(DType::BF16, encode(DType::BF16, 1 + half)), 1.0);
  EXPECT_EQ(decode(DType::BF16, encode(DType::BF16, 1 + 3 * half)),
            1 + 4 * half);
  EXPECT_EQ(decode(DType::BF16, encode(DType::BF16, 1 + 1.01 * half)),
            1 + 2 * half);
  EXPECT_EQ(decode(DType::F4E2M1FN, encode(DType::F4E2M1FN, 2.5)), 2.0);
  EXPECT_EQ(decode(DType::F4E2M1FN, encode(DType::F4E2M1FN, 3.5)), 4.0);
}

TEST(Values, AreRandomByNameAndSeed) {
  auto make = [](const char *name, uint64_t seed, Data data) {
    HostTensor tensor;
    tensor.dtype = DType::BF16;
    tensor.sizes = {1000};
    tensor.allocate();
    fillRandom(tensor, name, seed, data, {});
    return tensor;
  };
  EXPECT_EQ(make("x", 1, Data::Normal).bytes, make("x", 1, Data::Normal).bytes);
  EXPECT_NE(make("x", 1, Data::Normal).bytes, make("y", 1, Data::Normal).bytes);
  EXPECT_NE(make("x", 1, Data::Normal).bytes, make("x", 2, Data::Normal).bytes);
  EXPECT_THAT(summarize(make("x", 1, Data::NaN)), testing::HasSubstr(" NaN"));
  EXPECT_THAT(summarize(make("x", 1, Data::Inf)),
              testing::HasSubstr(" infinite"));
  EXPECT_GT(std::fabs(make("x", 1, Data::Huge).get(0)), 1e37);
  EXPECT_LT(std::fabs(make("x", 1, Data::Tiny).get(0)), 1e-36);
}

TEST(Values, CoverTheRangeOfIntegers) {
  HostTensor tensor;
  tensor.dtype = DType::I32;
  tensor.sizes = {1000};
  tensor.allocate();
  fillRandom(tensor, "x", 0, Data::Normal, {Kind::Uniform, -2, 3});
  EXPECT_THAT(summarize(tensor), testing::HasSubstr("min -2 max 3"));
  fillRandom(tensor, "x", 0, Data::Normal, {Kind::Iota, 5, 0});
  EXPECT_EQ(tensor.get(0), 5);
  EXPECT_EQ(tensor.get(999), 1004);
}

TEST(Values, DrawsSequencesAndPlaces) {
  HostTensor tensor;
  tensor.dtype = DType::I32;
  tensor.sizes = {9};
  tensor.allocate();
  auto drawn = [&](IntegerRange range, uint64_t seed) {
    fillRandom(tensor, "x", seed, Data::Normal, range);
    std::vector<int64_t> values;
    for (int64_t i = 0; i < 9; ++i)
      values.push_back(static_cast<int64_t>(tensor.get(i)));
    return values;
  };
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<int64_t> lengths = drawn({Kind::Lengths, 0, 20}, seed);
    EXPECT_GE(*std::min_element(lengths.begin(), lengths.end()), 0);
    EXPECT_EQ(std::accumulate(lengths.begin(), lengths.end(), int64_t(0)), 20);
    std::vector<int64_t> bounds = drawn({Kind::Bounds, 0, 20}, seed);
    EXPECT_TRUE(std::is_sorted(bounds.begin(), bounds.end()));
    EXPECT_EQ(bounds.front(), 0);
    EXPECT_EQ(bounds.back(), 20);
    // Enough of them, exactly as many, and too few.
    for (int64_t most : {100, 8, 3, -1}) {
      std::vector<int64_t> places = drawn({Kind::Distinct, 0, most}, seed);
      auto end = std::remove(places.begin(), places.end(), -1);
      std::set<int64_t> different(places.begin(), end);
      EXPECT_EQ(different.size(),
                static_cast<size_t>(std::min<int64_t>(most + 1, 9)));
      EXPECT_EQ(end - places.begin(), static_cast<ptrdiff_t>(different.size()));
      for (int64_t place : different)
        EXPECT_TRUE(place >= 0 && place <= most) << place;
    }
  }
  EXPECT_NE(drawn({Kind::Distinct, 0, 100}, 1),
            drawn({Kind::Distinct, 0, 100}, 2));
}

TEST(Values, FollowWhatTheModuleSays) {
  std::map<std::string, int64_t> sizes{{"q.0", 40}, {"t.1", 2}, {"none.0", 0}};
  auto range = [&](const char *text) { return declaredRange(text, sizes); };
  IntegerRange bounds = range(
      R"({"kind":"bounds","low":0,"ends":[[[1,"q.0"]],[[16,"t.1"],[3]]]})");
  EXPECT_EQ(bounds.kind, Kind::Bounds);
  EXPECT_EQ(bounds.high, 35);
  IntegerRange rows =
      range(R"({"kind":"uniform","low":1,"ends":[[[1,"q.0"]]]})");
  EXPECT_EQ(rows.kind, Kind::Uniform);
  EXPECT_EQ(rows.low, 1);
  EXPECT_EQ(rows.high, 39);
  EXPECT_EQ(range(R"({"kind":"uniform","low":0,"ends":[[[1,"none.0"]]]})").high,
            0);
  EXPECT_EQ(
      range(R"({"kind":"distinct","low":0,"ends":[[[1,"none.0"]]]})").high, -1);
  EXPECT_EQ(range("").high, 0);
  EXPECT_THROW(range(R"({"kind":"uniform","low":0,"ends":[[["x.0"]]]})"),
               Failure);
  EXPECT_THROW(range("?"), Failure);
}

TEST(Npy, KeepsEveryTypeAndShape) {
  std::string path = temporaryFile("roundtrip.npy");
  for (int32_t i = 0; i < kNumDTypes; ++i)
    for (const std::vector<int64_t> &sizes :
         {std::vector<int64_t>{6}, {3, 4}, {2, 1, 2}, {0, 8}}) {
      HostTensor tensor;
      tensor.dtype = static_cast<DType>(i);
      tensor.sizes = sizes;
      tensor.allocate();
      fillRandom(tensor, "x", i, Data::Normal, {Kind::Uniform, 0, 1});
      writeNpy(path, tensor);
      HostTensor copy = readNpy(path, tensor.dtype);
      EXPECT_EQ(copy.sizes, tensor.sizes) << typeText(tensor);
      EXPECT_EQ(copy.bytes, tensor.bytes) << typeText(tensor);
    }
  std::remove(path.c_str());
}

TEST(Npy, RoundsF4ToSmallerFloats) {
  std::string path = temporaryFile("rounds.npy");
  HostTensor tensor;
  tensor.sizes = {2};
  tensor.allocate();
  tensor.set(0, 1.001);
  tensor.set(1, -7);
  writeNpy(path, tensor);
  EXPECT_EQ(readNpy(path, DType::BF16).get(0), 1.0);
  EXPECT_EQ(readNpy(path, DType::F4E2M1FN).get(1), -6.0);
  EXPECT_THROW(readNpy(path, DType::I32), Failure);
  std::remove(path.c_str());
}

TEST(Npy, RefusesOtherFiles) {
  std::string path = temporaryFile("bad.npy");
  auto refused = [&](const std::string &content, const char *text) {
    std::ofstream(path, std::ios::binary) << content;
    try {
      readNpy(path, DType::F32);
      ADD_FAILURE() << text;
    } catch (const Failure &failure) {
      EXPECT_THAT(failure.what(), testing::HasSubstr(text));
    }
  };
  auto file = [](const std::string &header, size_t dataBytes) {
    std::string text("\x93NUMPY\x01\x00", 8);
    text += std::string(1, char(header.size())) + '\0' + header;
    return text + std::string(dataBytes, 'x');
  };
  refused("", "is not a .npy file");
  refused("something else entirely", "is not a .npy file");
  refused(std::string("\x93NUMPY\x01\x00\xff\x00{'des", 15), "truncated");
  refused(file("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", 16),
          "holds '<f8', but f32 is read from '<f4'");
  refused(file("{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }", 8),
          "Fortran order");
  refused(file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 7),
          "has 7 bytes of data, its shape takes 8");
  refused(file("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", 8),
          "shape");
  refused(file("{'descr': '<f4', 'fortran_order': False, }", 8), "no shape");
  std::remove(path.c_str());
}
