//===- SmfmacTest.cpp - Sparse matrix instructions ------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// D += A * B with two of four elements of A stored: random small integers, so
// that the comparison with a dense product is equality. Each index set but the
// chosen one holds other bits. B of the shapes that gfx950 adds comes in two
// halves of K, as composable_kernel (two accesses of B, one of A) and rocjitsu
// have it; of the older shapes a lane's elements are one run of K.
//
//===----------------------------------------------------------------------===//

#include "AsmCase.h"
#include "MiniFloat.h"
#include <random>

using namespace hk::emu;
using namespace hk::emu::test;

namespace {

enum class Kind { F16, Bf16, I8, Fp8, Bf8 };

struct Shape {
  const char *name;
  unsigned m, k;
  Kind a, b;
  const char *modifiers;
  unsigned set; ///< index set the modifiers choose
  bool only950;
};

const Shape kShapes[] = {
    {"v_smfmac_f32_16x16x32_f16", 16, 32, Kind::F16, Kind::F16, "", 0, false},
    {"v_smfmac_f32_16x16x32_f16", 16, 32, Kind::F16, Kind::F16, "abid:3", 3,
     false},
    {"v_smfmac_f32_32x32x16_f16", 32, 16, Kind::F16, Kind::F16, "cbsz:1 abid:2",
     0, false},
    {"v_smfmac_f32_16x16x32_bf16", 16, 32, Kind::Bf16, Kind::Bf16, "", 0,
     false},
    {"v_smfmac_f32_32x32x16_bf16", 32, 16, Kind::Bf16, Kind::Bf16, "abid:1", 1,
     false},
    {"v_smfmac_i32_16x16x64_i8", 16, 64, Kind::I8, Kind::I8, "abid:1", 1,
     false},
    {"v_smfmac_i32_32x32x32_i8", 32, 32, Kind::I8, Kind::I8, "", 0, false},
    {"v_smfmac_f32_16x16x64_bf8_fp8", 16, 64, Kind::Bf8, Kind::Fp8, "", 0,
     false},
    {"v_smfmac_f32_32x32x32_fp8_bf8", 32, 32, Kind::Fp8, Kind::Bf8, "", 0,
     false},
    {"v_smfmac_f32_16x16x64_f16", 16, 64, Kind::F16, Kind::F16, "abid:1", 1,
     true},
    {"v_smfmac_f32_32x32x32_f16", 32, 32, Kind::F16, Kind::F16, "abid:1", 1,
     true},
    {"v_smfmac_f32_16x16x64_bf16", 16, 64, Kind::Bf16, Kind::Bf16,
     "cbsz:1 abid:1", 0, true},
    {"v_smfmac_f32_32x32x32_bf16", 32, 32, Kind::Bf16, Kind::Bf16, "", 0, true},
    {"v_smfmac_i32_16x16x128_i8", 16, 128, Kind::I8, Kind::I8, "", 0, true},
    {"v_smfmac_i32_32x32x64_i8", 32, 64, Kind::I8, Kind::I8, "", 0, true},
    {"v_smfmac_f32_16x16x128_bf8_fp8", 16, 128, Kind::Bf8, Kind::Fp8, "", 0,
     true},
    {"v_smfmac_f32_32x32x64_fp8_fp8", 32, 64, Kind::Fp8, Kind::Fp8, "", 0,
     true},
};

unsigned bitsOf(Kind kind) {
  return kind == Kind::F16 || kind == Kind::Bf16 ? 16 : 8;
}

uint32_t encode(Kind kind, bool ocp, int v) {
  switch (kind) {
  case Kind::F16: {
    _Float16 h = _Float16(v);
    uint16_t bits;
    std::memcpy(&bits, &h, 2);
    return bits;
  }
  case Kind::Bf16:
    return f(float(v)) >> 16;
  case Kind::I8:
    return uint32_t(v) & 0xff;
  default:
    return fp8Format(ocp, kind == Kind::Bf8).encode(float(v), true);
  }
}

class SmfmacTest : public testing::TestWithParam<const char *> {};

std::string range(unsigned first, unsigned n) {
  return "v[" + std::to_string(first) + ":" + std::to_string(first + n - 1) +
         "]";
}

TEST_P(SmfmacTest, EqualsTheDenseProduct) {
  bool is950 = std::string(GetParam()) == "gfx950";
  std::vector<AsmCase> cases;
  std::vector<const Shape *> shapes;
  for (const Shape &s : kShapes) {
    if (s.only950 && !is950)
      continue;
    unsigned regs = s.m * s.m / 64, dense = s.k * s.m / 64;
    unsigned regsB = dense * bitsOf(s.b) / 32;
    AsmCase c;
    c.name = "case" + std::to_string(cases.size());
    // A at v0, B at v8, the index at v16, D (and its start) at v64.
    for (unsigned r = 0; r < regs; ++r)
      c.body += "v_mov_b32 v" + std::to_string(64 + r) + ", v" +
                std::to_string(24 + r) + "\n";
    c.body += "s_nop 3\n" + std::string(s.name) + " " + range(64, regs) + ", " +
              range(0, regsB / 2) + ", " + range(8, regsB) + ", v16 " +
              s.modifiers + "\n s_nop 15\n s_nop 7";
    c.in = 24 + regs;
    c.out = regs;
    cases.push_back(c);
    shapes.push_back(&s);
  }
  TestDevice device(GetParam());
  ASSERT_TRUE(device.load(assemble(asmModule(cases), GetParam())))
      << device.loadError;
  std::mt19937 random(3);
  for (size_t i = 0; i < cases.size(); ++i) {
    const Shape &s = *shapes[i];
    SCOPED_TRACE(std::string(s.name) + " " + s.modifiers);
    unsigned groups = 64 / s.m, dense = s.k / groups;
    std::vector<uint32_t> in(size_t(cases[i].in) * 64);
    std::vector<int> a(s.m * s.k), b(s.m * s.k);
    auto put = [&](unsigned reg, unsigned lane, unsigned e, Kind kind, int v) {
      unsigned bit = e * bitsOf(kind);
      in[(reg + bit / 32) * 64 + lane] |= encode(kind, is950, v) << (bit % 32);
    };
    auto value = [&] { return int(random() % 9) - 4; };
    for (unsigned lane = 0; lane < 64; ++lane) {
      unsigned row = lane % s.m, first = lane / s.m * dense;
      uint32_t set = 0;
      for (unsigned quad = 0; quad < dense / 4; ++quad) {
        // Two different positions of four, in order.
        unsigned low = random() % 3, high = low + 1 + random() % (3 - low);
        for (unsigned half = 0; half < 2; ++half) {
          unsigned e = 2 * quad + half, position = half ? high : low;
          int v = value();
          put(0, lane, e, s.a, v);
          a[row * s.k + first + 4 * quad + position] = v;
          set |= position << (2 * e);
        }
      }
      unsigned bits = dense;
      uint32_t field = bits == 32 ? ~0u : (1u << bits) - 1;
      in[16 * 64 + lane] = (uint32_t(random()) & ~(field << (s.set * bits))) |
                           set << (s.set * bits);
      unsigned halves = s.only950 ? 2 : 1, run = dense / halves;
      for (unsigned e = 0; e < dense; ++e) {
        int v = value();
        put(8, lane, e, s.b, v);
        unsigned k = e / run * (s.k / halves) + lane / s.m * run + e % run;
        b[row * s.k + k] = v;
      }
    }
    bool integer = s.a == Kind::I8;
    for (unsigned r = 0; r < cases[i].out; ++r)
      for (unsigned l = 0; l < 64; ++l) {
        int start = int(r * 64 + l) - 300;
        in[(24 + r) * 64 + l] = integer ? uint32_t(start) : f(float(start));
      }
    auto out = runAsm(device, cases[i], in);
    for (unsigned r = 0; r < cases[i].out; ++r)
      for (unsigned l = 0; l < 64; ++l) {
        unsigned row =
            s.m == 16 ? 4 * (l / 16) + r : 8 * (r / 4) + 4 * (l / 32) + r % 4;
        int want = int(r * 64 + l) - 300;
        for (unsigned k = 0; k < s.k; ++k)
          want += a[row * s.k + k] * b[l % s.m * s.k + k];
        ASSERT_EQ(out[r * 64 + l], integer ? uint32_t(want) : f(float(want)))
            << "register " << r << " lane " << l;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, SmfmacTest, testing::ValuesIn(kChips));

} // namespace
