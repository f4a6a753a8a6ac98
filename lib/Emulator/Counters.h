//===- Counters.h - Counters of a kernel ------------------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a launch did, in the units of the performance model.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_COUNTERS_H
#define HK_LIB_EMULATOR_COUNTERS_H

#include "OpTable.h"
#include <array>
#include <cstdint>
#include <string>

namespace hk::emu {

struct Counters {
  std::array<uint64_t, size_t(InstClass::Count)> instructions{};
  std::array<uint64_t, size_t(InstClass::Count)> clocks{};
  uint64_t ldsBytes = 0, ldsClocks = 0, ldsConflictClocks = 0;
  uint64_t globalReadBytes = 0, globalWriteBytes = 0;
  uint64_t transactions64 = 0, transactions128 = 0;
  uint64_t compulsoryBytes = 0; ///< distinct global bytes read and written
  uint64_t waits = 0, barriers = 0, workgroups = 0, waves = 0;

  uint64_t valuClocks() const {
    return clocks[size_t(InstClass::Valu)] +
           clocks[size_t(InstClass::Transcendental)];
  }
  uint64_t mfmaClocks() const { return clocks[size_t(InstClass::Mfma)]; }
  uint64_t total() const;
  void merge(const Counters &other);
  std::string json(const std::string &kernel, const std::string &chip) const;
};

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_COUNTERS_H
