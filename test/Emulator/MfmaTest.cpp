//===- MfmaTest.cpp - Matrix instructions against a plain product ---------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every shape and type against a product computed element by element in double,
// with random inputs that are exact in every type, so the comparison is
// equality and a wrong lane shows; one shape also bit for bit with inexact
// ones. The layout is stated here on its own, from the ISA documents' tables.
//
//===----------------------------------------------------------------------===//

#include "AsmCase.h"
#include "MiniFloat.h"
#include <cmath>
#include <random>

using namespace hk::emu;
using namespace hk::emu::test;

namespace {

enum Kind { kF32, kXf32, kF16, kBf16, kI8, kFp8, kBf8, kF6, kBf6, kF4 };

struct Shape {
  const char *name;
  unsigned m, k, blocks;
  Kind a, b;
  const char *modifiers;
  bool only942, only950, scaled;
};

const Shape kShapes[] = {
    {"v_mfma_f32_32x32x2_f32", 32, 2, 1, kF32, kF32, "", false, false, false},
    {"v_mfma_f32_16x16x4_f32", 16, 4, 1, kF32, kF32, "", false, false, false},
    {"v_mfma_f32_32x32x1_2b_f32", 32, 1, 2, kF32, kF32, "", false, false,
     false},
    {"v_mfma_f32_16x16x1_4b_f32", 16, 1, 4, kF32, kF32, "", false, false,
     false},
    {"v_mfma_f32_4x4x1_16b_f32", 4, 1, 16, kF32, kF32, "", false, false, false},
    {"v_mfma_f32_16x16x8_xf32", 16, 8, 1, kXf32, kXf32, "", true, false, false},
    {"v_mfma_f32_32x32x4_xf32", 32, 4, 1, kXf32, kXf32, "", true, false, false},
    {"v_mfma_f32_32x32x8_f16", 32, 8, 1, kF16, kF16, "", false, false, false},
    {"v_mfma_f32_16x16x16_f16", 16, 16, 1, kF16, kF16, "", false, false, false},
    {"v_mfma_f32_32x32x4_2b_f16", 32, 4, 2, kF16, kF16, "", false, false,
     false},
    {"v_mfma_f32_16x16x4_4b_f16", 16, 4, 4, kF16, kF16, "", false, false,
     false},
    {"v_mfma_f32_4x4x4_16b_f16", 4, 4, 16, kF16, kF16, "", false, false, false},
    {"v_mfma_f32_32x32x8_bf16", 32, 8, 1, kBf16, kBf16, "", false, false,
     false},
    {"v_mfma_f32_16x16x16_bf16", 16, 16, 1, kBf16, kBf16, "", false, false,
     false},
    {"v_mfma_f32_32x32x4_2b_bf16", 32, 4, 2, kBf16, kBf16, "", false, false,
     false},
    {"v_mfma_f32_16x16x4_4b_bf16", 16, 4, 4, kBf16, kBf16, "", false, false,
     false},
    {"v_mfma_f32_4x4x4_16b_bf16", 4, 4, 16, kBf16, kBf16, "", false, false,
     false},
    {"v_mfma_i32_32x32x16_i8", 32, 16, 1, kI8, kI8, "", false, false, false},
    {"v_mfma_i32_16x16x32_i8", 16, 32, 1, kI8, kI8, "", false, false, false},
    {"v_mfma_i32_32x32x4_2b_i8", 32, 4, 2, kI8, kI8, "", false, false, false},
    {"v_mfma_i32_16x16x4_4b_i8", 16, 4, 4, kI8, kI8, "", false, false, false},
    {"v_mfma_i32_4x4x4_16b_i8", 4, 4, 16, kI8, kI8, "", false, false, false},
    {"v_mfma_f32_16x16x32_fp8_fp8", 16, 32, 1, kFp8, kFp8, "", false, false,
     false},
    {"v_mfma_f32_16x16x32_fp8_bf8", 16, 32, 1, kFp8, kBf8, "", false, false,
     false},
    {"v_mfma_f32_16x16x32_bf8_fp8", 16, 32, 1, kBf8, kFp8, "", false, false,
     false},
    {"v_mfma_f32_32x32x16_fp8_fp8", 32, 16, 1, kFp8, kFp8, "", false, false,
     false},
    {"v_mfma_f32_32x32x16_bf8_bf8", 32, 16, 1, kBf8, kBf8, "", false, false,
     false},
    {"v_mfma_f32_32x32x16_f16", 32, 16, 1, kF16, kF16, "", false, true, false},
    {"v_mfma_f32_16x16x32_f16", 16, 32, 1, kF16, kF16, "", false, true, false},
    {"v_mfma_f32_32x32x16_bf16", 32, 16, 1, kBf16, kBf16, "", false, true,
     false},
    {"v_mfma_f32_16x16x32_bf16", 16, 32, 1, kBf16, kBf16, "", false, true,
     false},
    {"v_mfma_i32_32x32x32_i8", 32, 32, 1, kI8, kI8, "", false, true, false},
    {"v_mfma_i32_16x16x64_i8", 16, 64, 1, kI8, kI8, "", false, true, false},
    {"v_mfma_scale_f32_16x16x128_f8f6f4", 16, 128, 1, kFp8, kFp8,
     "op_sel_hi:[0,0,0]", false, true, true},
    {"v_mfma_scale_f32_16x16x128_f8f6f4", 16, 128, 1, kF4, kF4,
     "op_sel:[1,0,0] op_sel_hi:[0,1,0] cbsz:4 blgp:4", false, true, true},
    {"v_mfma_scale_f32_32x32x64_f8f6f4", 32, 64, 1, kF4, kBf6,
     "op_sel:[1,1,0] op_sel_hi:[1,1,0] cbsz:4 blgp:3", false, true, true},
};

unsigned bitsOf(Kind kind) {
  switch (kind) {
  case kF32:
  case kXf32:
    return 32;
  case kF16:
  case kBf16:
    return 16;
  case kF6:
  case kBf6:
    return 6;
  case kF4:
    return 4;
  default:
    return 8;
  }
}

uint32_t encode(Kind kind, bool ocp, float v) {
  uint32_t bits;
  std::memcpy(&bits, &v, 4);
  _Float16 h = _Float16(v);
  uint16_t hbits;
  std::memcpy(&hbits, &h, 2);
  switch (kind) {
  case kF32:
  case kXf32:
    return bits;
  case kF16:
    return hbits;
  case kBf16:
    return bits >> 16;
  case kI8:
    return uint32_t(int32_t(v)) & 0xff;
  case kFp8:
    return fp8Format(ocp, false).encode(v, true);
  case kBf8:
    return fp8Format(ocp, true).encode(v, true);
  case kF6:
    return kE2M3.encode(v, true);
  case kBf6:
    return kE3M2.encode(v, true);
  default:
    return kE2M1.encode(v, true);
  }
}

/// Random small integers that the type holds exactly.
float sample(Kind kind, std::mt19937 &random) {
  int range = kind == kF4 || kind == kF6 || kind == kBf6 ? 4 : 8;
  return float(int(random() % unsigned(2 * range + 1)) - range);
}

/// Lane and position of element (row, k) of an operand.
void place(const Shape &s, Kind kind, unsigned block, unsigned row, unsigned k,
           unsigned &lane, unsigned &element) {
  if (s.blocks > 1) {
    lane = block * s.m + row;
    element = k;
    return;
  }
  unsigned groups = 64 / s.m, perLane = s.k / groups;
  bool chunks = perLane == 32 && bitsOf(kind) == 8; // f8f6f4 with bytes
  if (chunks) {
    lane = k / 16 % groups * s.m + row;
    element = k / (16 * groups) * 16 + k % 16;
    return;
  }
  lane = k / perLane * s.m + row;
  element = k % perLane;
}

class MfmaTest : public testing::TestWithParam<const char *> {};

std::string range(const char *file, unsigned first, unsigned n) {
  return n == 1 ? file + std::to_string(first)
                : std::string(file) + "[" + std::to_string(first) + ":" +
                      std::to_string(first + n - 1) + "]";
}

unsigned regsOf(const Shape &s, Kind kind) {
  unsigned perLane = s.blocks > 1 ? s.k : s.k * s.m / 64;
  return (perLane * bitsOf(kind) + 31) / 32;
}

/// f8f6f4 with each of the five formats on either side.
std::vector<Shape> formatMixes() {
  static std::vector<std::string> modifiers;
  const Kind kinds[] = {kFp8, kBf8, kF6, kBf6, kF4};
  for (unsigned k = 0; modifiers.size() < 25; ++k)
    modifiers.push_back("cbsz:" + std::to_string(k / 5) +
                        " blgp:" + std::to_string(k % 5));
  std::vector<Shape> all;
  for (unsigned k = 0; k < 25; ++k)
    for (bool big : {false, true})
      all.push_back(
          {big ? "v_mfma_f32_32x32x64_f8f6f4" : "v_mfma_f32_16x16x128_f8f6f4",
           big ? 32u : 16u, big ? 64u : 128u, 1, kinds[k / 5], kinds[k % 5],
           modifiers[k].c_str(), false, true, false});
  return all;
}

TEST_P(MfmaTest, EveryShapeEqualsThePlainProduct) {
  std::string chip = GetParam();
  bool ocp = chip == "gfx950";
  std::vector<AsmCase> cases;
  std::vector<const Shape *> shapes;
  std::vector<Shape> all(std::begin(kShapes), std::end(kShapes));
  for (const Shape &s : formatMixes())
    all.push_back(s);
  for (const Shape &s : all) {
    if ((s.only942 && ocp) || (s.only950 && !ocp))
      continue;
    unsigned regs = s.m * s.m * s.blocks / 64;
    AsmCase c;
    c.name = "case" + std::to_string(cases.size());
    // Inputs: A at v0, B at v8, C at v16, scales at v48 and v49.
    c.body = std::string("  ") + s.name + " " + range("v", 64, regs) + ", " +
             range("v", 0, regsOf(s, s.a)) + ", " +
             range("v", 8, regsOf(s, s.b)) + ", " + range("v", 16, regs) +
             (s.scaled ? ", v48, v49 " : " ") + s.modifiers;
    c.in = 50;
    c.out = regs;
    cases.push_back(c);
    shapes.push_back(&s);
  }
  TestDevice device(chip);
  ASSERT_TRUE(device.load(assemble(asmModule(cases), chip)))
      << device.loadError;
  std::mt19937 random(7);
  for (size_t i = 0; i < cases.size(); ++i) {
    const Shape &s = *shapes[i];
    SCOPED_TRACE(std::string(s.name) + " " + s.modifiers);
    std::vector<uint32_t> in(50 * 64);
    std::vector<float> a(s.blocks * s.m * s.k), b(a.size());
    auto fill = [&](std::vector<float> &v, Kind kind, unsigned first) {
      for (unsigned n = 0; n < s.blocks; ++n)
        for (unsigned row = 0; row < s.m; ++row)
          for (unsigned k = 0; k < s.k; ++k) {
            float x = sample(kind, random);
            v[(n * s.m + row) * s.k + k] = x;
            unsigned lane, element;
            place(s, kind, n, row, k, lane, element);
            uint64_t code = encode(kind, ocp, x);
            unsigned bit = element * bitsOf(kind);
            in[(first + bit / 32) * 64 + lane] |= uint32_t(code << (bit % 32));
            if (bit % 32 + bitsOf(kind) > 32)
              in[(first + bit / 32 + 1) * 64 + lane] |=
                  uint32_t(code >> (32 - bit % 32));
          }
    };
    fill(a, s.a, 0);
    fill(b, s.b, 8);
    bool integer = s.a == kI8;
    for (unsigned r = 0; r < cases[i].out; ++r)
      for (unsigned l = 0; l < 64; ++l) {
        int value = int(r * 64 + l) - 500;
        float f = float(value);
        std::memcpy(&in[(16 + r) * 64 + l], integer ? (void *)&value : &f, 4);
      }
    // A different scale in each byte; lane (row, block of 32 in K).
    unsigned byteA = 0, byteB = 0;
    if (s.scaled) {
      std::string m = s.modifiers;
      auto at = [&](const char *name, unsigned k) -> unsigned {
        size_t p = m.find(std::string(name) + ":[");
        return p == std::string::npos
                   ? 0u
                   : unsigned(m[p + strlen(name) + 2 + 2 * k] - '0');
      };
      byteA = at("op_sel", 0) + 2 * at("op_sel_hi", 0);
      byteB = at("op_sel", 1) + 2 * at("op_sel_hi", 1);
      for (unsigned l = 0; l < 128; ++l)
        for (unsigned k = 0; k < 4; ++k)
          in[48 * 64 + l] |= (124u + (l * 5 + k * 3) % 7) << (8 * k);
    }
    auto scale = [&](unsigned reg, unsigned byte, unsigned row, unsigned k) {
      unsigned lane = k / 32 * s.m + row;
      uint32_t e = in[reg * 64 + lane] >> (8 * byte) & 0xff;
      return s.scaled ? std::ldexp(1.0, int(e) - 127) : 1.0;
    };
    auto out = runAsm(device, cases[i], in);
    unsigned wrong = 0;
    for (unsigned n = 0; n < s.blocks; ++n)
      for (unsigned row = 0; row < s.m; ++row)
        for (unsigned col = 0; col < s.m; ++col) {
          unsigned regsPerBlock = s.m * s.m / 64 ? s.m * s.m / 64 : 4;
          unsigned r, l;
          if (s.m == 4) {
            r = row;
            l = n * 4 + col;
          } else if (s.m == 16) {
            r = row % 4;
            l = row / 4 * 16 + col;
          } else {
            r = row / 8 * 4 + row % 4;
            l = row / 4 % 2 * 32 + col;
          }
          if (s.m != 4)
            r += n * regsPerBlock;
          double want = double(int(r * 64 + l) - 500);
          for (unsigned k = 0; k < s.k; ++k)
            want += double(a[(n * s.m + row) * s.k + k]) *
                    scale(48, byteA, row, k) *
                    double(b[(n * s.m + col) * s.k + k]) *
                    scale(49, byteB, col, k);
          uint32_t word = out[r * 64 + l];
          float f;
          std::memcpy(&f, &word, 4);
          double got = integer ? double(int32_t(word)) : double(f);
          if (std::fabs(got - want) > 1e-3 * (s.scaled ? 1 : 0) && ++wrong < 4)
            ADD_FAILURE() << "block " << n << " (" << row << "," << col
                          << "): got " << got << ", want " << want;
        }
    EXPECT_EQ(wrong, 0u);
  }
}

TEST_P(MfmaTest, DoubleShapes) {
  std::vector<AsmCase> cases = {
      {"f64_16", "v_mfma_f64_16x16x4_f64 v[64:71], v[0:1], v[2:3], v[4:11]", 12,
       8},
      {"f64_4", "v_mfma_f64_4x4x4_4b_f64 v[64:65], v[0:1], v[2:3], v[4:5]", 6,
       2}};
  TestDevice device(GetParam());
  ASSERT_TRUE(device.load(assemble(asmModule(cases), GetParam())))
      << device.loadError;
  for (bool big : {true, false}) {
    const AsmCase &c = cases[big ? 0 : 1];
    std::vector<uint32_t> in(c.in * 64);
    auto put = [&](unsigned reg, unsigned lane, double v) {
      uint64_t bits;
      std::memcpy(&bits, &v, 8);
      in[reg * 64 + lane] = uint32_t(bits);
      in[(reg + 1) * 64 + lane] = uint32_t(bits >> 32);
    };
    for (unsigned l = 0; l < 64; ++l) {
      put(0, l, l + 0.5);
      put(2, l, 3.0 * l - 17);
      for (unsigned r = 0; r < c.out / 2; ++r)
        put(4 + 2 * r, l, 1000.0 * r + l);
    }
    auto out = runAsm(device, c, in);
    for (unsigned r = 0; r < c.out / 2; ++r)
      for (unsigned l = 0; l < 64; ++l) {
        unsigned row = big ? 4 * r + l / 16 : l / 16;
        unsigned col = big ? l % 16 : l % 4, block = big ? 0 : l / 4 % 4;
        double want = 1000.0 * r + l;
        for (unsigned k = 0; k < 4; ++k)
          want += (row + 4 * block + 16 * k + 0.5) *
                  (3.0 * (col + 4 * block + 16 * k) - 17);
        uint64_t bits =
            uint64_t(out[(2 * r + 1) * 64 + l]) << 32 | out[2 * r * 64 + l];
        double got;
        std::memcpy(&got, &bits, 8);
        EXPECT_EQ(got, want) << r << " " << l;
      }
  }
}

TEST_P(MfmaTest, BroadcastAndLaneGroups) {
  std::vector<AsmCase> cases = {
      {"bcast", "v_mfma_f32_4x4x1_16b_f32 v[64:67], v0, v1, 0 cbsz:2 abid:3", 2,
       4},
      {"groups", "v_mfma_f32_4x4x1_16b_f32 v[64:67], v0, v1, 0 blgp:3", 2, 4}};
  TestDevice device(GetParam());
  ASSERT_TRUE(device.load(assemble(asmModule(cases), GetParam())))
      << device.loadError;
  std::vector<uint32_t> in(128);
  for (unsigned l = 0; l < 128; ++l) {
    float f = float(l + 1);
    std::memcpy(&in[l], &f, 4);
  }
  auto value = [](uint32_t w) {
    float f;
    std::memcpy(&f, &w, 4);
    return f;
  };
  auto bcast = runAsm(device, cases[0], in);
  auto groups = runAsm(device, cases[1], in);
  for (unsigned r = 0; r < 4; ++r)
    for (unsigned l = 0; l < 64; ++l) {
      unsigned block = l / 4;
      unsigned source = (block & ~3u) + 3;
      EXPECT_EQ(value(bcast[r * 64 + l]),
                float(source * 4 + r + 1) * float(64 + l + 1));
      EXPECT_EQ(value(groups[r * 64 + l]),
                float(block * 4 + r + 1) * float(64 + (l + 16) % 64 + 1));
    }
}

// K = 16 products of growing size: fma in order of K, one rounding each.
TEST_P(MfmaTest, RoundsEachProductOnce) {
  std::vector<AsmCase> cases = {
      {"acc", "v_mfma_f32_16x16x4_f32 v[64:67], v0, v1, v[2:5]", 6, 4}};
  TestDevice device(GetParam());
  ASSERT_TRUE(device.load(assemble(asmModule(cases), GetParam())))
      << device.loadError;
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<uint32_t> in(6 * 64);
  std::vector<float> values(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    values[i] = uniform(random);
    std::memcpy(&in[i], &values[i], 4);
  }
  auto out = runAsm(device, cases[0], in);
  for (unsigned r = 0; r < 4; ++r)
    for (unsigned l = 0; l < 64; ++l) {
      float acc = values[(2 + r) * 64 + l];
      for (unsigned k = 0; k < 4; ++k)
        acc = std::fmaf(values[k * 16 + l / 16 * 4 + r],
                        values[64 + k * 16 + l % 16], acc);
      uint32_t bits;
      std::memcpy(&bits, &acc, 4);
      EXPECT_EQ(out[r * 64 + l], bits);
    }
}

// One side may be beyond f32 where the other takes it back: the exponents of
// elements and scales are added (CDNA4 ISA, 7.1.5).
TEST(ScaledMfmaTest, ScalesAreAppliedToProducts) {
  struct {
    uint32_t element, scaleA, scaleB;
    float want; ///< the sum of 128 products
  } const rows[] = {{0x7e, 254, 1, 0x1.cp8f * 0x1.cp8f * 128 * 2},
                    {0x7e, 2, 250, 0x1.cp8f * 0x1.cp8f * 128 / 4},
                    {0x00, 254, 254, 0},
                    {0x01, 254, 120, 0x1p-18f * 0x1p127f * 0x1p-7f * 128},
                    {0x38, 254, 254, INFINITY}};
  std::vector<AsmCase> cases = {
      {"m16",
       "v_mfma_scale_f32_16x16x128_f8f6f4 v[64:67], v[0:7], v[0:7], 0, v8, v9",
       10, 4},
      {"m32",
       "v_mfma_scale_f32_32x32x64_f8f6f4 v[64:79], v[0:7], v[0:7], 0, v8, v9",
       10, 16}};
  TestDevice device("gfx950");
  ASSERT_TRUE(device.load(assemble(asmModule(cases), "gfx950")))
      << device.loadError;
  for (const auto &row : rows)
    for (const AsmCase &c : cases) {
      SCOPED_TRACE(std::to_string(row.scaleA) + c.name);
      std::vector<uint32_t> in(640, row.element * 0x01010101u);
      std::fill_n(in.begin() + 512, 64, row.scaleA);
      std::fill_n(in.begin() + 576, 64, row.scaleB);
      auto out = runAsm(device, c, in);
      float want = c.name == "m16" ? row.want : row.want / 2;
      for (uint32_t bits : out)
        ASSERT_EQ(bits, f(want)) << std::hex;
    }
}

INSTANTIATE_TEST_SUITE_P(Chips, MfmaTest, testing::ValuesIn(kChips));

} // namespace
