//===- Counters.h - What kernels did, from a device that counts -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// hk-run --counters. The emulator appends one JSON line a launch to the file
// that HK_EMU_COUNTERS names; other devices write nothing, which is an error.
//
//===----------------------------------------------------------------------===//

#ifndef HK_TOOLS_HK_RUN_COUNTERS_H
#define HK_TOOLS_HK_RUN_COUNTERS_H

#include <cstdint>
#include <string>
#include <vector>

namespace hk::run {

enum class CounterFormat { Off, Table, Json };

/// What the device said of one launch: fields of a line of HK_EMU_COUNTERS.
struct LaunchCounters {
  std::string chip;
  uint64_t bytesRead = 0, bytesWritten = 0;
  /// Modelled; 0 where the model has no time for the launch.
  double microseconds = 0, clocks = 0;
  std::string limit;
};

/// Must exist before the device is opened.
class CounterFile {
public:
  /// `modelled`: the emulator models the time of every launch, too.
  explicit CounterFile(bool modelled = false);
  ~CounterFile();
  CounterFile(const CounterFile &) = delete;
  CounterFile &operator=(const CounterFile &) = delete;

  /// The sums per kernel since construction, in order of the first launch.
  /// `device` is named if it does not count.
  std::string report(CounterFormat format, const std::string &device) const;

  /// Every launch since construction; none of a device that does not count.
  std::vector<LaunchCounters> launches() const;

private:
  std::string path;
  long begin = 0;   ///< a file the user named may hold earlier launches
  bool own = false; ///< a temporary file
};

} // namespace hk::run

#endif // HK_TOOLS_HK_RUN_COUNTERS_H
