//===- LoaderTest.cpp - Damaged and unusual code objects ------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A code object is input: whatever its bytes are, a load ends with a program or
// with an error. HK_EMU_FUZZ=N tries N times as many mutations.
//
//===----------------------------------------------------------------------===//

#include "AsmCase.h"
#include <algorithm>
#include <cstdlib>
#include <llvm/BinaryFormat/ELF.h>
#include <random>

using namespace hk::emu;
using namespace hk::emu::test;

namespace {

class LoaderTest : public testing::TestWithParam<const char *> {};

const char kSource[] = R"(
#include "device.h"
KERNEL void copy(float *out, const float *in, int n) {
  SHARED float tile[64];
  tile[tid()] = in[tid()];
  barrier();
  out[tid()] = tile[tid() ^ 1];
}
)";

/// Puts `to` in the place of the first `from`.
void replaceBytes(std::string &object, const std::string &from,
                  const std::string &to) {
  ASSERT_EQ(from.size(), to.size());
  size_t at = object.find(from);
  ASSERT_NE(at, std::string::npos);
  object.replace(at, from.size(), to);
}

TEST_P(LoaderTest, MapKeyMustBeAString) {
  std::string good = compileHip(kSource, GetParam());
  // A string of seven characters becomes an array of seven, a map of three and
  // a half, and a number with more strings behind it.
  for (const char *key : {"\x97.offset", "\x83.offset", "\x01.offset"}) {
    std::string object = good;
    replaceBytes(object, "\xa7.offset", key);
    TestDevice device(GetParam());
    EXPECT_FALSE(device.load(object));
    EXPECT_NE(device.loadError.find("metadata"), std::string::npos)
        << device.loadError;
  }
  TestDevice device(GetParam());
  EXPECT_TRUE(device.load(good)) << device.loadError;
}

/// gfx9-4-generic is what gfx942 and gfx950 have in common, so both run it; the
/// other targets are named in the error.
TEST_P(LoaderTest, GenericTargetsRunOnTheChipsTheyMean) {
  TestDevice device(GetParam());
  ASSERT_TRUE(device.load(
      compileHip(kSource, "gfx9-4-generic", "-mcode-object-version=6")))
      << device.loadError;
  std::vector<float> in(64), want(64);
  for (int i = 0; i < 64; ++i)
    in[i] = float(i), want[i] = float(i ^ 1);
  uint64_t out = device.alloc(64 * sizeof(float));
  LaunchResult result = device.run("copy", 1, 64, out, device.upload(in), 64);
  EXPECT_EQ(describe(result), "");
  EXPECT_EQ(device.download<float>(out, 64), want);
  for (const char *other : {"gfx9-generic", "gfx90a", "gfx1100"}) {
    EXPECT_FALSE(
        device.load(compileHip(kSource, other, "-mcode-object-version=6")));
    EXPECT_NE(device.loadError.find(std::string("is for ") + other +
                                    ", which no emulated chip runs"),
              std::string::npos)
        << device.loadError;
  }
}

TEST_P(LoaderTest, PrivateMemoryHasALimit) {
  for (bool bad : {false, true}) {
    AsmCase c;
    c.name = "scratch";
    std::string text = asmModule({c});
    std::string line = "  .amdhsa_private_segment_fixed_size ";
    text.insert(text.find("  .amdhsa_kernarg_size"),
                line + (bad ? "131057\n" : "131056\n"));
    TestDevice device(GetParam());
    EXPECT_EQ(device.load(assemble(text, GetParam())), !bad);
    if (bad)
      EXPECT_NE(device.loadError.find("private memory"), std::string::npos)
          << device.loadError;
  }
}

/// The code behind a function's end is decoded when a branch goes there; where
/// it is none, only a wave that gets there is stopped.
TEST_P(LoaderTest, BranchLeavesItsFunction) {
  struct {
    const char *tail, *finding;
    uint32_t word;
  } const cases[] = {{"  v_mov_b32 v64, 7\n  s_branch back\n", "", 7},
                     {"  .long 0xffffffff\n", "bad-instruction", 0}};
  for (const auto &tail : cases)
    for (uint32_t taken : {0u, 1u}) {
      SCOPED_TRACE(std::string(tail.tail) + (taken ? "taken" : "not taken"));
      AsmCase c;
      c.name = "leaves";
      c.in = c.out = 1;
      c.body = "  v_mov_b32 v64, 3\n  s_cmp_eq_u32 s16, 1\n"
               "  s_cbranch_scc1 tail\nback:";
      std::string text = asmModule({c});
      std::string end = ".size leaves, .-leaves\n";
      text.insert(text.find(end) + end.size(),
                  "tail:\n" + std::string(tail.tail));
      TestDevice device(GetParam());
      ASSERT_TRUE(device.load(assemble(text, GetParam()))) << device.loadError;
      uint64_t in = device.upload(std::vector<uint32_t>(64));
      uint64_t scalars = device.upload(std::vector<uint32_t>(16, taken));
      uint64_t out = device.alloc(256);
      LaunchResult result = device.run("leaves", 1, 64, in, out, scalars);
      EXPECT_EQ(findingNames(result), taken ? tail.finding : "")
          << describe(result);
      if (result.ok())
        EXPECT_EQ(device.download<uint32_t>(out, 1)[0], taken ? tail.word : 3u);
    }
}

/// Where a mutation hits: anywhere, or the parts that decide most.
struct Mutator {
  std::mt19937 random;
  std::vector<std::pair<size_t, size_t>> parts;

  Mutator(const std::string &object, unsigned seed) : random(seed) {
    parts = {{0, object.size()}, {0, sizeof(llvm::ELF::Elf64_Ehdr)}};
    size_t note = object.find("amdhsa.kernels");
    size_t name = object.find("copy.kd");
    for (size_t at : {note, name})
      if (at != std::string::npos)
        parts.push_back({at, std::min<size_t>(400, object.size() - at)});
  }
  unsigned below(size_t n) { return unsigned(random() % n); }
  void mutate(std::string &object) {
    for (unsigned k = 1 + below(4); k; --k) {
      auto [begin, size] = parts[below(parts.size())];
      char &byte = object[begin + below(size)];
      static const unsigned char kEdges[] = {0,    1,    0x7f, 0x80,
                                             0xff, 0x8f, 0x9f};
      switch (below(3)) {
      case 0:
        byte = char(byte ^ 1 << below(8));
        break;
      case 1:
        byte = char(kEdges[below(sizeof kEdges)]);
        break;
      default:
        byte = char(random());
      }
    }
    if (below(20) == 0)
      object.resize(below(object.size()));
  }
};

TEST_P(LoaderTest, DamagedObjectsLoadOrGiveAnError) {
  const char *more = std::getenv("HK_EMU_FUZZ");
  unsigned count = 100 * (more ? unsigned(std::atoi(more)) : 1);
  std::string good = compileHip(kSource, GetParam());
  Mutator mutator(good, 20261122);
  unsigned refused = 0;
  for (unsigned i = 0; i < count; ++i) {
    std::string object = good;
    mutator.mutate(object);
    TestDevice device(GetParam());
    if (device.load(object))
      continue;
    ++refused;
    EXPECT_FALSE(device.loadError.empty());
  }
  EXPECT_GT(refused, count / 10);
}

INSTANTIATE_TEST_SUITE_P(Chips, LoaderTest, testing::ValuesIn(kChips));

} // namespace
