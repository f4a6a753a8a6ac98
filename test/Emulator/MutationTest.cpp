//===- MutationTest.cpp - Removed barriers and waits are reported ---------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces each s_barrier and each s_waitcnt of correct kernels by s_nop, one
// at a time, in the code object. Every barrier that runs must be reported. A
// wait must be reported unless it is redundant on the executed path, which the
// compiler leaves in at joins; the share of those is bounded.
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

using namespace hk::emu;
using namespace hk::emu::test;

namespace {

class MutationTest : public testing::TestWithParam<const char *> {};

/// Offset in the file of an address of the image.
size_t fileOffset(const std::string &object, uint64_t address) {
  auto read = [&](size_t at, size_t n) {
    uint64_t v = 0;
    std::memcpy(&v, object.data() + at, n);
    return v;
  };
  uint64_t table = read(32, 8), size = read(54, 2), count = read(56, 2);
  for (uint64_t i = 0; i < count; ++i) {
    size_t ph = table + i * size;
    uint64_t offset = read(ph + 8, 8), base = read(ph + 16, 8),
             bytes = read(ph + 32, 8);
    if (read(ph, 4) == 1 && address >= base && address < base + bytes)
      return offset + (address - base);
  }
  return 0;
}

LaunchResult runKernel(TestDevice &device, const std::string &name) {
  constexpr int n = 64;
  std::vector<uint16_t> bf(64 * n, 0x3f80);
  std::vector<float> f(64 * n);
  for (size_t i = 0; i < f.size(); ++i)
    f[i] = float(i % 97) + 1;
  uint64_t out = device.alloc(64 * 64 * 4);
  if (name == "tiles")
    return device.run(name, 1, 256, out, device.upload(bf), device.upload(bf),
                      n);
  return device.run(name, 1, 256, out, device.upload(f), device.upload(f),
                    name == "reduce" ? 1024 : n);
}

TEST_P(MutationTest, EachSynchronisationMatters) {
  std::string object = compileHipFile("mutate.hip", GetParam());
  for (const char *name : {"tiles", "reduce", "transpose"}) {
    SCOPED_TRACE(name);
    TestDevice device(GetParam());
    ASSERT_TRUE(device.load(object)) << device.loadError;
    LaunchResult clean = runKernel(device, name);
    ASSERT_TRUE(clean.ok()) << describe(clean);
    const Kernel *kernel = device.object->kernel(name);
    unsigned barriers = 0, waits = 0, missedWaits = 0;
    std::string missed;
    for (const Inst &inst : device.object->program()) {
      bool inside = inst.pc >= kernel->entry &&
                    inst.pc < kernel->entry + kernel->codeSize;
      bool isBarrier = inst.op->cls == InstClass::Barrier;
      bool isWait = inst.op->cls == InstClass::Wait;
      if (!inside || (!isBarrier && !isWait))
        continue;
      std::string mutant = object;
      const uint32_t nop = 0xbf800000;
      std::memcpy(&mutant[fileOffset(object, inst.pc)], &nop, 4);
      TestDevice other(GetParam());
      ASSERT_TRUE(other.load(mutant)) << other.loadError;
      bool reported = !runKernel(other, name).ok();
      if (isBarrier) {
        ++barriers;
        EXPECT_TRUE(reported) << "removing the barrier at pc " << inst.pc;
      } else {
        ++waits;
        missedWaits += !reported;
        if (!reported)
          missed += "  " + std::to_string(inst.pc) + " " + inst.text + "\n";
      }
    }
    EXPECT_GE(barriers, 1u);
    EXPECT_LE(missedWaits * 4, waits)
        << missedWaits << " of " << waits << " removed waits not reported:\n"
        << missed;
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, MutationTest, testing::ValuesIn(kChips));

} // namespace
