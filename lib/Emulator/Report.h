//===- Report.h - Findings of the checks ------------------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A finding names the kernel, the instruction, the wave, the lane and the
// address. Findings of one kind at one instruction are counted, not repeated.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_REPORT_H
#define HK_LIB_EMULATOR_REPORT_H

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace hk::emu {

enum class Check : uint8_t {
  LdsBounds,
  GlobalBounds,
  Undefined,
  LdsRace,
  MissingWait,
  BarrierDivergence,
  Misaligned,
  ReadOnlyWrite,
  GlobalRace,
  MissingNop,
  Unspecified,
  BadInstruction,
  Timeout
};
const char *checkName(Check check);

struct Finding {
  Check check = Check::Undefined;
  std::string kernel, instruction, source, detail;
  uint64_t pc = 0, address = 0, count = 1;
  uint32_t workgroup[3] = {0, 0, 0};
  uint32_t wave = 0;
  int32_t lane = -1;

  std::string text() const;
  std::string json() const;
};

class Report {
public:
  void add(Finding finding);
  bool empty() const { return findings.empty(); }
  std::vector<Finding> take();

private:
  std::mutex mutex;
  std::map<std::pair<uint64_t, Check>, size_t> known;
  std::vector<Finding> findings;
};

std::string jsonString(const std::string &s);

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_REPORT_H
