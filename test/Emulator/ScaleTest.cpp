//===- ScaleTest.cpp - Scaled conversions of gfx950 -----------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every v_cvt_scalef32 against a search over all codes of the narrow format:
// up is value times scale, down the nearest code (the even one in the middle)
// of value over scale, saturated as far as the form does; stochastic rounding
// with no randomness cuts. The operand's place is part of each row, as the ISA
// documents give it. What randomness and overflow do has tests of its own.
//
//===----------------------------------------------------------------------===//

#include "AsmCase.h"
#include "MiniFloat.h"
#include <cmath>

using namespace hk::emu;
using namespace hk::emu::test;

namespace {

enum Wide { kF32, kF16, kBf16 };

struct Narrow {
  const char *name;
  const MiniFloat *format;
};
const Narrow kNarrow[] = {{"fp8", &kE4M3Fn},
                          {"bf8", &kE5M2},
                          {"fp6", &kE2M3},
                          {"bf6", &kE3M2},
                          {"fp4", &kE2M1}};
const char *const kWide[] = {"f32", "f16", "bf16"};

constexpr int kScaleExponent = 3; ///< the scale operand is 8
constexpr unsigned kScaleReg = 40, kRandomReg = 41;

/// Values that f16 and bf16 hold, some beyond the range of fp6 and fp4. The
/// first 16 and the next 16 differ.
float sample(unsigned k) {
  static const float values[] = {0.25f, -1.75f, 2.5f,  -0.375f, 6,     -0.0625f,
                                 1.25f, 0,      -3.5f, 30,      -7.5f, 0.8125f,
                                 224,   -0.5f,  1.5f,  -448};
  return k % 32 < 16 ? values[k % 16] : -values[(k + 3) % 16];
}

uint32_t wideBits(Wide type, float v) {
  if (type == kF32)
    return f(v);
  if (type == kBf16)
    return f(v) >> 16;
  _Float16 h = _Float16(v);
  uint16_t bits;
  std::memcpy(&bits, &h, 2);
  return bits;
}

/// The code the hardware must choose for x.
uint32_t encode(const MiniFloat &format, double x, bool cut) {
  uint32_t best = 0, sign = std::signbit(x) ? format.signMask() : 0;
  double error = INFINITY, top = format.decode(format.maxCode());
  double want = std::min(std::fabs(x), top);
  for (uint32_t code = 0; code <= format.maxCode(); ++code) {
    double v = format.decode(code), e = std::fabs(v - want);
    if (cut ? v <= want : e < error || (e == error && !(code & 1))) {
      best = code;
      error = e;
    }
  }
  return best | sign;
}

struct Case {
  AsmCase code;
  std::vector<uint32_t> in, want; ///< one word a register, all lanes alike
};

class Builder {
public:
  std::vector<Case> cases;

  /// `source` values packed as the wide type, 32 or 16 bits each.
  std::vector<uint32_t> packWide(Wide type, unsigned count, int exponent) {
    std::vector<uint32_t> words(type == kF32 ? count : (count + 1) / 2);
    for (unsigned e = 0; e < count; ++e) {
      uint32_t bits = wideBits(type, std::ldexp(sample(e), exponent));
      if (type == kF32)
        words[e] = bits;
      else
        words[e / 2] |= bits << (e % 2 * 16);
    }
    return words;
  }
  std::vector<uint32_t> packNarrow(const MiniFloat &format, unsigned count,
                                   bool cut, bool interleaved = false) {
    std::vector<uint32_t> words((count * unsigned(format.bits()) + 31) / 32);
    for (unsigned e = 0; e < count; ++e) {
      unsigned from = interleaved ? e % 2 * 16 + e / 2 : e;
      uint64_t code = encode(format, sample(from), cut);
      unsigned at = e * unsigned(format.bits());
      words[at / 32] |= uint32_t(code << (at % 32));
      if (at % 32 + unsigned(format.bits()) > 32)
        words[at / 32 + 1] |= uint32_t(code >> (32 - at % 32));
    }
    return words;
  }
  /// Decoded again, so that an up-conversion has exact inputs.
  std::vector<uint32_t> upResult(const MiniFloat &format, Wide type,
                                 unsigned count) {
    std::vector<uint32_t> words(type == kF32 ? count : (count + 1) / 2);
    for (unsigned e = 0; e < count; ++e) {
      float v = std::ldexp(format.decode(encode(format, sample(e), false)),
                           kScaleExponent);
      if (type == kF32)
        words[e] = f(v);
      else
        words[e / 2] |= wideBits(type, v) << (e % 2 * 16);
    }
    return words;
  }

  static std::string regs(unsigned first, unsigned count) {
    std::string v = "v" + std::to_string(first);
    return count == 1 ? v
                      : "v[" + std::to_string(first) + ":" +
                            std::to_string(first + count - 1) + "]";
  }

  void add(const std::string &mnemonic, const std::string &sources,
           const std::string &modifiers, std::vector<uint32_t> in,
           const std::vector<uint32_t> &want) {
    Case c;
    in.resize(kScaleReg);
    in.push_back(uint32_t(127 + kScaleExponent) << 23);
    in.push_back(0); // the random bits
    c.code.name = "case" + std::to_string(cases.size());
    unsigned n = unsigned(want.size());
    for (unsigned k = 0; k < n; ++k)
      c.code.body += "v_mov_b32 " + regs(64 + k, 1) + ", 0\n";
    c.code.body += "s_nop 1\n v_cvt_scalef32_" + mnemonic + " " + regs(64, n) +
                   ", " + sources + ", v" + std::to_string(kScaleReg) + " " +
                   modifiers;
    c.code.in = unsigned(in.size());
    c.code.out = n;
    c.in = in;
    c.want = want;
    cases.push_back(c);
  }
};

/// Shifts a small result to the byte or half that op_sel names.
std::vector<uint32_t> at(std::vector<uint32_t> words, unsigned byte) {
  words[0] <<= 8 * byte;
  return words;
}

std::vector<Case> allForms() {
  Builder b;
  std::string random = ", v" + std::to_string(kRandomReg);
  for (const Narrow &n : kNarrow)
    for (Wide type : {kF32, kF16, kBf16}) {
      const MiniFloat &format = *n.format;
      std::string narrow = n.name, wide = kWide[type];
      unsigned bits = unsigned(format.bits());
      auto in = [&](unsigned count) {
        return b.packWide(type, count, kScaleExponent);
      };
      if (bits == 6) {
        b.add("pk32_" + wide + "_" + narrow, "v[0:5]", "",
              b.packNarrow(format, 32, false), b.upResult(format, type, 32));
        b.add("sr_pk32_" + narrow + "_" + wide,
              Builder::regs(0, type == kF32 ? 32 : 16) + random, "", in(32),
              b.packNarrow(format, 32, true));
        if (type == kF32)
          b.add("2xpk16_" + narrow + "_f32", "v[0:15], v[16:31]", "", in(32),
                b.packNarrow(format, 32, false, true));
        else
          b.add("pk32_" + narrow + "_" + wide, "v[0:15]", "", in(32),
                b.packNarrow(format, 32, false));
        continue;
      }
      unsigned byte = bits == 8 ? 2 : 3;
      b.add("pk_" + wide + "_" + narrow, "v0",
            bits == 8 ? "op_sel:[1,0,0]" : "op_sel:[1,1,0]",
            at(b.packNarrow(format, 2, false), byte),
            b.upResult(format, type, 2));
      std::string pair = type == kF32 ? "v0, v1" : "v0";
      std::string high = bits == 4      ? "op_sel:[0,0,1,1]"
                         : type == kF32 ? "op_sel:[0,0,0,1]"
                                        : "op_sel:[0,0,1]";
      b.add("pk_" + narrow + "_" + wide, pair, high, in(2),
            at(b.packNarrow(format, 2, false), byte));
      if (bits == 4) {
        b.add("sr_pk_" + narrow + "_" + wide,
              (type == kF32 ? "v[0:1]" : "v0") + random, "op_sel:[0,0,0,1]",
              in(2), at(b.packNarrow(format, 2, true), 2));
        continue;
      }
      b.add("sr_" + narrow + "_" + wide, "v0" + random, "op_sel:[0,0,1,1]",
            in(1), at(b.packNarrow(format, 1, true), 3));
      if (type == kF32)
        b.add("f32_" + narrow, "v0", "op_sel:[0,1,0]",
              at(b.packNarrow(format, 1, false), 2),
              b.upResult(format, type, 1));
      if (type == kF16)
        b.add("f16_" + narrow, "v0", "op_sel:[1,0,1]",
              at(b.packNarrow(format, 1, false), 1),
              at(b.upResult(format, type, 1), 2));
    }
  return b.cases;
}

TEST(ScaleTest, EveryFormAgainstASearchOverAllCodes) {
  std::vector<Case> cases = allForms();
  std::vector<AsmCase> code;
  code.reserve(cases.size());
  for (const Case &c : cases)
    code.push_back(c.code);
  TestDevice device("gfx950");
  ASSERT_TRUE(device.load(assemble(asmModule(code), "gfx950")))
      << device.loadError;
  for (const Case &c : cases) {
    SCOPED_TRACE(c.code.body);
    std::vector<uint32_t> in;
    for (uint32_t word : c.in)
      in.insert(in.end(), kLanes, word);
    auto out = runAsm(device, c.code, in);
    for (size_t r = 0; r < c.want.size(); ++r)
      EXPECT_EQ(out[r * 64 + 7], c.want[r]) << std::hex << "register " << r;
  }
}

// The documents' v_prng_b32 makes the randomness of each further element.
TEST(ScaleTest, EveryElementHasItsOwnRandomness) {
  // 0.25 is in the middle of 0 and 0.5 of fp4, and 2^-4 in the middle of 0 and
  // 2^-3 of fp6: the top bit of the randomness decides.
  std::vector<AsmCase> cases = {
      {"fp4",
       "v_mov_b32 v64, 0\n s_nop 1\n"
       "v_cvt_scalef32_sr_pk_fp4_f32 v64, v[0:1], v40, v41",
       42, 1},
      {"fp6", "v_cvt_scalef32_sr_pk32_fp6_f32 v[64:69], v[0:31], v40, v41", 42,
       6}};
  TestDevice device("gfx950");
  ASSERT_TRUE(device.load(assemble(asmModule(cases), "gfx950")))
      << device.loadError;
  for (uint32_t seed : {0x80000000u, 0x40000000u, 0xc0000001u, 0x12345678u}) {
    for (bool six : {false, true}) {
      std::vector<uint32_t> in(42 * 64), want(six ? 6 : 1);
      for (unsigned k = 0; k < 32; ++k)
        std::fill_n(in.begin() + k * 64, 64, f(six ? 0.0625f : 0.25f));
      std::fill_n(in.begin() + 40 * 64, 64, seed);
      std::fill_n(in.begin() + 41 * 64, 64, f(1));
      uint32_t random = seed;
      for (unsigned k = 0, bits = six ? 6 : 4; k < (six ? 32u : 2u); ++k) {
        unsigned at = k * bits;
        want[at / 32] |= (random >> 31) << (at % 32);
        random = random << 1 ^ (random >> 31 ? 197 : 0);
      }
      auto out = runAsm(device, cases[six], in);
      for (size_t r = 0; r < want.size(); ++r)
        EXPECT_EQ(out[r * 64], want[r])
            << std::hex << seed << " register " << r;
    }
  }
}

// As for the conversions without a scale: MODE.FP16_OVFL saturates.
TEST(ScaleTest, OverflowOfBytesFollowsMode) {
  std::string convert = "v_mov_b32 v64, 0\n v_mov_b32 v65, 0\n s_nop 1\n"
                        "v_cvt_scalef32_pk_fp8_f32 v64, v0, v1, v2\n"
                        "v_cvt_scalef32_pk_bf8_f32 v65, v0, v1, v2\n";
  std::vector<AsmCase> cases = {
      {"plain", convert, 3, 2},
      {"saturating",
       "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1\n s_nop 4\n" + convert,
       3, 2}};
  TestDevice device("gfx950");
  ASSERT_TRUE(device.load(assemble(asmModule(cases), "gfx950")))
      << device.loadError;
  std::vector<uint32_t> in(3 * 64);
  std::fill_n(in.begin(), 64, f(1e6f));
  std::fill_n(in.begin() + 64, 64, f(-1e6f));
  std::fill_n(in.begin() + 128, 64, f(2));
  auto plain = runAsm(device, cases[0], in);
  EXPECT_EQ(plain[0], 0xff7fu);
  EXPECT_EQ(plain[64], 0xfc7cu);
  auto saturating = runAsm(device, cases[1], in);
  EXPECT_EQ(saturating[0], 0xfe7eu);
  EXPECT_EQ(saturating[64], 0xfb7bu);
}

} // namespace
