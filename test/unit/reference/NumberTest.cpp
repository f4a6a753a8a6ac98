//===- NumberTest.cpp - Numbers and bytes ---------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rounding and bit patterns of the element types against values worked out by
// hand.
//
//===----------------------------------------------------------------------===//

#include "hk/Reference/Interpreter.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace mlir::hk::reference;
using ::hk::DType;

static constexpr double kInf = std::numeric_limits<double>::infinity();
static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(Number, RoundsToNearestEven) {
  EXPECT_EQ(roundTo(DType::BF16, 1 + 0x1p-8), 1);
  EXPECT_EQ(roundTo(DType::BF16, 1 + 3 * 0x1p-8), 1 + 0x1p-6);
  EXPECT_EQ(roundTo(DType::F16, 65519), 65504);
  EXPECT_EQ(roundTo(DType::F16, 65520), kInf);
  EXPECT_EQ(roundTo(DType::F16, 0x1p-25), 0);
  EXPECT_EQ(roundTo(DType::F16, 0x1.8p-25), 0x1p-24);
  EXPECT_EQ(roundTo(DType::F4E2M1FN, 2.5), 2);
  EXPECT_EQ(roundTo(DType::F4E2M1FN, 5), 4);
  EXPECT_EQ(roundTo(DType::F4E2M1FN, 0.25), 0);
  EXPECT_EQ(roundTo(DType::F4E2M1FN, 0.75), 1);
}

TEST(Number, NarrowTypesSaturate) {
  EXPECT_EQ(roundTo(DType::F8E4M3FN, 1000), 448);
  EXPECT_EQ(roundTo(DType::F8E4M3FN, -kInf), -448);
  EXPECT_EQ(roundTo(DType::F8E4M3FNUZ, 1000), 240);
  EXPECT_EQ(roundTo(DType::F8E5M2, kInf), 57344);
  EXPECT_EQ(roundTo(DType::F4E2M1FN, -100), -6);
  EXPECT_EQ(roundTo(DType::I8, 127.5), 127);
  EXPECT_EQ(roundTo(DType::I8, 2.5), 2);
  EXPECT_EQ(roundTo(DType::I32, -2.9), -2);
  EXPECT_EQ(roundTo(DType::I32, 1e30), 2147483647);
}

TEST(Number, NanWhereTheTypeHasOne) {
  EXPECT_TRUE(std::isnan(roundTo(DType::F8E4M3FNUZ, kNaN)));
  EXPECT_EQ(roundTo(DType::F4E2M1FN, kNaN), 0);
  EXPECT_EQ(roundTo(DType::I8, kNaN), 0);
  EXPECT_FALSE(std::signbit(roundTo(DType::F8E4M3FNUZ, -0.0)));
  EXPECT_TRUE(std::signbit(roundTo(DType::F8E4M3FN, -0.0)));
}

TEST(Number, Ulp) {
  EXPECT_EQ(ulpOf(DType::F32, 1), 0x1p-23);
  EXPECT_EQ(ulpOf(DType::F32, 0), 0x1p-149);
  EXPECT_EQ(ulpOf(DType::BF16, 1.99), 0x1p-7);
  EXPECT_EQ(ulpOf(DType::BF16, 2), 0x1p-6);
  EXPECT_EQ(ulpOf(DType::I8, 100), 1);
}

TEST(Bytes, KnownCodes) {
  Tensor t(DType::F8E4M3FN, {4});
  t.values = {448, -0.0, 0x1p-9, kNaN};
  EXPECT_EQ(toBytes(t), (std::vector<uint8_t>{0x7E, 0x80, 0x01, 0x7F}));
  t.dtype = DType::F8E4M3FNUZ;
  t.values = {240, 0, 0x1p-10, kNaN};
  EXPECT_EQ(toBytes(t), (std::vector<uint8_t>{0x7F, 0x00, 0x01, 0x80}));
  t.dtype = DType::F4E2M1FN;
  t.values = {0.5, -6, 1, -0.0};
  EXPECT_EQ(toBytes(t), (std::vector<uint8_t>{0xF1, 0x82}));
  t.dtype = DType::I4;
  t.values = {-8, 7, -1, 0};
  EXPECT_EQ(toBytes(t), (std::vector<uint8_t>{0x78, 0x0F}));
  EXPECT_EQ(fromBytes(DType::I4, {4}, toBytes(t))->values, t.values);
  t.dtype = DType::UI4;
  t.values = {15, 0, 8, 1};
  EXPECT_EQ(toBytes(t), (std::vector<uint8_t>{0x0F, 0x18}));
  EXPECT_EQ(fromBytes(DType::UI4, {4}, toBytes(t))->values, t.values);
  t.dtype = DType::F8E8M0FNU;
  t.values = {1, 0x1p-127, 0x1p127, kNaN};
  EXPECT_EQ(toBytes(t), (std::vector<uint8_t>{127, 0, 254, 255}));
  t.dtype = DType::BF16;
  t.values = {1, -2, kInf, 0x1p-133};
  EXPECT_EQ(toBytes(t),
            (std::vector<uint8_t>{0x80, 0x3F, 0, 0xC0, 0x80, 0x7F, 1, 0}));
}

TEST(Bytes, EveryCodeComesBack) {
  for (DType dtype :
       {DType::BF16, DType::F16, DType::F8E4M3FN, DType::F8E4M3FNUZ,
        DType::F8E5M2, DType::F8E5M2FNUZ, DType::F8E8M0FNU, DType::I8}) {
    int64_t width = ::hk::info(dtype).bits / 8;
    int64_t count = width == 1 ? 256 : 65536;
    std::vector<uint8_t> bytes;
    for (int64_t code = 0; code < count; ++code)
      for (int64_t b = 0; b < width; ++b)
        bytes.push_back(code >> (8 * b) & 255);
    auto tensor = fromBytes(dtype, {count}, bytes);
    ASSERT_TRUE(mlir::succeeded(tensor));
    std::vector<uint8_t> back = toBytes(*tensor);
    for (int64_t code = 0; code < count; ++code) {
      double value = tensor->values[code];
      if (std::isnan(value))
        continue; // NaN has one canonical code.
      EXPECT_EQ(back[code * width], bytes[code * width]) << value;
      if (!std::isinf(value)) // f8E5M2 has it, but conversions saturate.
        EXPECT_EQ(roundTo(dtype, value), value);
    }
  }
}

TEST(Bytes, WrongSizeFails) {
  EXPECT_TRUE(mlir::failed(fromBytes(DType::F32, {2}, {0, 0, 0, 0})));
}
