//===- LdsBanks.cpp - Clocks of LDS accesses
//--------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measured rules, all from public sources. Reads of 16 bytes: the phases that
// amd-shark-ai measured on MI300X and MI350X (empirical LDS study), in
// agreement with Triton's pull request 11365 and HipKittens. Reads of 4 and 8
// bytes, and writes of 16: the same study. gfx950 has 64 banks for reads of 8
// and 16 bytes and 32 for all else: rocRoller, whose tests compare with thread
// traces, and ROCm's gfx950-gluon-tutorials. Not measured, by analogy: writes
// of 4 and 8 bytes fill 32 banks, 12 bytes take the lanes of 16, transposing
// reads are reads of their width.
//
//===----------------------------------------------------------------------===//

#include "LdsBanks.h"
#include <algorithm>

namespace hk::emu {
namespace {

constexpr unsigned kLanes = 64, kMaxBanks = 64;

constexpr uint8_t kInOrder[kLanes] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
    16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
    32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
    48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
constexpr uint8_t kRead16Of942[kLanes] = {
    0,  1,  2,  3,  20, 21, 22, 23, 32, 33, 34, 35, 52, 53, 54, 55,
    4,  5,  6,  7,  16, 17, 18, 19, 36, 37, 38, 39, 48, 49, 50, 51,
    8,  9,  10, 11, 28, 29, 30, 31, 40, 41, 42, 43, 60, 61, 62, 63,
    12, 13, 14, 15, 24, 25, 26, 27, 44, 45, 46, 47, 56, 57, 58, 59};
constexpr uint8_t kRead16Of950[kLanes] = {
    0,  1,  2,  3,  12, 13, 14, 15, 20, 21, 22, 23, 24, 25, 26, 27,
    32, 33, 34, 35, 44, 45, 46, 47, 52, 53, 54, 55, 56, 57, 58, 59,
    4,  5,  6,  7,  8,  9,  10, 11, 16, 17, 18, 19, 28, 29, 30, 31,
    36, 37, 38, 39, 40, 41, 42, 43, 48, 49, 50, 51, 60, 61, 62, 63};

/// A phase serves the next `lanes` lanes of `order`.
struct Phases {
  unsigned lanes, banks;
  const uint8_t *order;
};

/// By width: up to 4, 8, 12, 16 bytes.
constexpr Phases kNarrow[] = {{32, 32, kInOrder},
                              {16, 32, kInOrder},
                              {8, 32, kInOrder},
                              {8, 32, kInOrder}};
constexpr Phases kReadsOf942[] = {{32, 32, kInOrder},
                                  {16, 32, kInOrder},
                                  {8, 32, kInOrder},
                                  {8, 32, kRead16Of942}};
constexpr Phases kReadsOf950[] = {{64, 32, kInOrder},
                                  {32, 64, kInOrder},
                                  {8, 32, kInOrder},
                                  {16, 64, kRead16Of950}};

/// Adds one phase; `words` words of each lane.
void servePhase(const Phases &phases, const uint8_t *lanes,
                const uint32_t *addresses, uint64_t mask, unsigned words,
                LdsService &service) {
  uint32_t used[64 * 4];
  unsigned n = 0;
  for (unsigned i = 0; i < phases.lanes; ++i)
    if (mask >> lanes[i] & 1)
      for (unsigned k = 0; k < words; ++k)
        used[n++] = addresses[lanes[i]] / 4 + k;
  if (!n)
    return;
  std::sort(used, used + n);
  n = unsigned(std::unique(used, used + n) - used);
  unsigned load[kMaxBanks] = {}, worst = 0;
  for (unsigned i = 0; i < n; ++i)
    worst = std::max(worst, ++load[used[i] % phases.banks]);
  service.clocks += worst;
  service.ideal += (n + phases.banks - 1) / phases.banks;
}

} // namespace

LdsService serveLds(const Chip &chip, bool read, const uint32_t *addresses,
                    uint64_t mask, unsigned bytes) {
  unsigned words = (bytes + 3) / 4;
  const Phases *table = !read               ? kNarrow
                        : chip.wideLdsReads ? kReadsOf950
                                            : kReadsOf942;
  const Phases &phases = table[words - 1];
  LdsService service;
  for (unsigned first = 0; first < kLanes; first += phases.lanes)
    servePhase(phases, phases.order + first, addresses, mask, words, service);
  return service;
}

} // namespace hk::emu
