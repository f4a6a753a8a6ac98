//===- BufferTest.cpp - Addresses of buffer instructions ------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads through raw, structured, swizzled and add-thread-id descriptors against
// the address equations of the ISA documents (CDNA3 9.1.5), computed here.
//
//===----------------------------------------------------------------------===//

#include "AsmCase.h"

using namespace hk::emu;
using namespace hk::emu::test;

namespace {

class BufferTest : public testing::TestWithParam<const char *> {
protected:
  /// The cases on the chip under test.
  void load(const std::vector<AsmCase> &cases) {
    ASSERT_TRUE(device.load(assemble(asmModule(cases), GetParam())))
        << device.loadError;
  }
  TestDevice device{GetParam()};
};

/// Word i holds i * factor.
std::vector<uint32_t> counting(size_t words, uint32_t factor = 1) {
  std::vector<uint32_t> in(words);
  for (size_t i = 0; i < words; ++i)
    in[i] = uint32_t(i) * factor;
  return in;
}

struct Descriptor {
  uint32_t stride = 0, records = 0, indexStride = 0; ///< log2 of its eighth
  bool swizzle = false, addThread = false;
};

/// Makes s[40:43] describe the input: 1,024 words, word i holds i.
std::string setUp(const Descriptor &d) {
  uint32_t word3 = d.indexStride << 21 | uint32_t(d.addThread) << 23;
  if (d.addThread)
    word3 |= (d.stride >> 14) << 15;
  uint32_t high = (d.stride & 0x3fff) << 16 | uint32_t(d.swizzle) << 31;
  return "s_mov_b32 s40, s4\n s_and_b32 s41, s5, 0xffff\n s_or_b32 s41, s41, " +
         std::to_string(high) + "\n s_mov_b32 s42, " +
         std::to_string(d.records) + "\n s_mov_b32 s43, " +
         std::to_string(word3) + "\n";
}

/// The word that a lane reads, or 0 where it is out of range.
uint32_t expected(const Descriptor &d, bool hasIndex, uint32_t index,
                  uint32_t offset, uint32_t soffset, uint32_t lane,
                  uint32_t word) {
  offset += 4 * word;
  index += d.addThread ? lane : 0;
  if (d.stride == 0) {
    if (offset + 4 > d.records)
      return 0;
  } else if (hasIndex || d.addThread) {
    if (index >= d.records || (d.swizzle && offset + 4 > d.stride))
      return 0;
  }
  uint32_t at = offset + index * d.stride;
  if (d.swizzle) {
    uint32_t group = 8u << d.indexStride;
    at = (index / group * d.stride + offset / 4 * 4) * group +
         index % group * 4 + offset % 4;
  }
  return (at + soffset) / 4;
}

TEST_P(BufferTest, AddressesOfLoads) {
  struct Case {
    const char *name;
    Descriptor d;
    const char *modifiers; ///< of a two-word load, v10 and up is the address
    bool idxen, offen;
    uint32_t immediate, soffset;
  };
  const Case table[] = {
      {"raw", {0, 600}, "v10, s[40:43], 0 offen offset:8", false, true, 8, 0},
      {"scalar", {0, 600}, "v10, s[40:43], s30 offen", false, true, 0, 64},
      {"records", {16, 40}, "v10, s[40:43], 0 idxen", true, false, 0, 0},
      {"both",
       {16, 40},
       "v[10:11], s[40:43], 0 idxen offen offset:4",
       true,
       true,
       4,
       0},
      {"swizzled",
       {16, 60, 0, true},
       "v[10:11], s[40:43], 0 idxen offen",
       true,
       true,
       0,
       0},
      {"swizzled32",
       {24, 64, 2, true},
       "v[10:11], s[40:43], s30 idxen offen offset:4",
       true,
       true,
       4,
       64},
      {"thread",
       {12, 50, 0, false, true},
       "off, s[40:43], 0 offset:4",
       false,
       false,
       4,
       0},
      {"scratchlike",
       {64, 64, 3, true, true},
       "v10, s[40:43], 0 offen",
       false,
       true,
       0,
       0},
  };
  std::vector<AsmCase> cases;
  for (const Case &c : table)
    cases.push_back({c.name,
                     "s_movk_i32 s30, 64\n" + setUp(c.d) +
                         (c.idxen ? "v_mov_b32 v10, v125\n"
                                    "v_and_b32 v11, 8, v125\n"
                                  : "v_lshlrev_b32 v10, 3, v125\n"
                                    "v_and_b32 v10, 0x1fc, v10\n") +
                         "s_nop 4\n buffer_load_dwordx2 v[64:65], " +
                         c.modifiers + "\n s_waitcnt vmcnt(0)\n",
                     16, 2});
  ASSERT_NO_FATAL_FAILURE(load(cases));
  std::vector<uint32_t> in = counting(1024);
  for (size_t k = 0; k < cases.size(); ++k) {
    const Case &c = table[k];
    auto out = runAsm(device, cases[k], in);
    for (uint32_t l = 0; l < 64; ++l)
      for (uint32_t word = 0; word < 2; ++word) {
        uint32_t index = c.idxen ? l : 0;
        uint32_t offset = c.immediate;
        if (c.offen)
          offset += c.idxen ? l & 8 : l << 3 & 0x1fc;
        EXPECT_EQ(out[word * 64 + l],
                  expected(c.d, c.idxen, index, offset, c.soffset, l, word))
            << c.name << " lane " << l << " word " << word;
      }
  }
}

// A compiler folds a constant into the instruction although the register holds
// a negative number: the sum has 32 bits.
TEST_P(BufferTest, OffsetsWrapAt32Bits) {
  std::vector<AsmCase> cases = {
      {"wraps",
       setUp({0, 4096}) + "v_lshlrev_b32 v10, 2, v125\n"
                          "v_add_u32 v10, 0xffffff00, v10\n s_nop 4\n"
                          "buffer_load_dword v64, v10, s[40:43], 0 offen "
                          "offset:512\n s_waitcnt vmcnt(0)\n",
       16, 1}};
  ASSERT_NO_FATAL_FAILURE(load(cases));
  std::vector<uint32_t> in = counting(1024);
  auto out = runAsm(device, cases[0], in);
  for (uint32_t l = 0; l < 64; ++l)
    EXPECT_EQ(out[l], 64 + l);
}

// Stores scatter to where loads gather; an atomic is one word.
TEST_P(BufferTest, SwizzledStoresAndAtomics) {
  std::string body =
      setUp({16, 64, 1, true}) +
      "s_mov_b32 s40, s6\n s_and_b32 s41, s7, 0xffff\n"
      "s_or_b32 s41, s41, 0x80100000\n v_mov_b32 v11, 0\n v_mov_b32 v12, 1\n"
      "s_nop 4\n"
      "buffer_store_dwordx4 v[0:3], v125, s[40:43], 0 idxen\n"
      "s_waitcnt vmcnt(0)\n"
      "buffer_atomic_add v12, v125, s[40:43], 0 idxen offset:8\n"
      "s_waitcnt vmcnt(0)\n"
      "buffer_load_dwordx4 v[64:67], v125, s[40:43], 0 idxen\n"
      "s_waitcnt vmcnt(0)\n"
      "v_lshlrev_b32 v10, 4, v125\n"
      "global_load_dwordx4 v[68:71], v10, s[6:7]\n s_waitcnt vmcnt(0)\n";
  std::vector<AsmCase> cases = {{"scatter", body, 4, 8}};
  ASSERT_NO_FATAL_FAILURE(load(cases));
  std::vector<uint32_t> in = counting(256, 16);
  auto out = runAsm(device, cases[0], in);
  auto wanted = [&](uint32_t lane, uint32_t word) {
    return in[word * 64 + lane] + (word == 2 ? 1 : 0);
  };
  for (uint32_t l = 0; l < 64; ++l)
    for (uint32_t k = 0; k < 4; ++k) {
      EXPECT_EQ(out[k * 64 + l], wanted(l, k)) << "lane " << l;
      // Groups of 16 records; within one, word k of all, then word k + 1.
      uint32_t place = 4 * l + k, group = place / 64, within = place % 64;
      EXPECT_EQ(out[(4 + k) * 64 + l],
                wanted(group * 16 + within % 16, within / 16))
          << "place " << place;
    }
}

INSTANTIATE_TEST_SUITE_P(Chips, BufferTest, testing::ValuesIn(kChips));

} // namespace
