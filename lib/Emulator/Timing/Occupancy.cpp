//===- Occupancy.cpp - Where workgroups run -------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registers: 512 a lane and SIMD, VGPRs and AGPRs together, and at most 8 waves
// (CDNA3 and CDNA4 ISA, 3.6). The LDS is given out in blocks.
//
//===----------------------------------------------------------------------===//

#include "Occupancy.h"
#include <algorithm>

namespace hk::emu {

Dispatch makeDispatch(const Chip &chip, const ChipTiming &timing,
                      const Kernel &kernel, const LaunchConfig &config) {
  constexpr unsigned simds = 4, mostWaves = 8, registers = 512;
  constexpr unsigned mostWorkgroups = 32, ldsBlock = 512;
  Dispatch d;
  const uint32_t *g = config.grid, *b = config.block;
  d.workgroups = uint64_t(g[0]) * g[1] * g[2];
  d.waves = unsigned((uint64_t(b[0]) * b[1] * b[2] + kLanes - 1) / kLanes);
  d.xcds = unsigned(timing.xcds);
  d.unitsPerXcd = unsigned(timing.computeUnits / timing.xcds);
  auto workgroupsOf = [&](unsigned perSimd) {
    return d.waves >= simds ? perSimd / ((d.waves + simds - 1) / simds)
                            : perSimd * simds / std::max(d.waves, 1u);
  };
  unsigned perSimd = registers / std::max(kernel.vgprs, 1u);
  d.resident = std::min(workgroupsOf(mostWaves), mostWorkgroups);
  d.limit = "waves";
  auto bound = [&](unsigned n, const char *why) {
    if (n < d.resident) {
      d.resident = n;
      d.limit = why;
    }
  };
  bound(workgroupsOf(std::min(perSimd, mostWaves)), "registers");
  uint32_t lds = kernel.ldsBytes + config.dynamicLds;
  lds = (lds + ldsBlock - 1) / ldsBlock * ldsBlock;
  if (lds)
    bound(chip.ldsBytes / lds, "LDS");
  d.resident = std::max(d.resident, 1u);
  return d;
}

std::vector<uint32_t> tracePlan(const Dispatch &d) {
  uint64_t n =
      std::min<uint64_t>(d.ofFirstXcd(), 2ull * d.resident * d.unitsPerXcd);
  std::vector<uint32_t> plan;
  plan.reserve(n);
  for (uint64_t j = 0; j < n; ++j)
    plan.push_back(uint32_t(j * d.xcds));
  return plan;
}

} // namespace hk::emu
