//===- Trace.h - The launches of a run as a timeline -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// hk-run --trace: JSON in the Trace Event Format, which ui.perfetto.dev and
// chrome://tracing open and `hk report` draws. docs/trace.md has the fields.
//
//===----------------------------------------------------------------------===//

#ifndef HK_TOOLS_HK_RUN_TRACE_H
#define HK_TOOLS_HK_RUN_TRACE_H

#include "Counters.h"
#include "hk/Runtime/hk.h"

namespace hk::run {

/// Most launches of a trace: 40 MB of JSON.
inline constexpr uint64_t kMostTraced = 100000;

struct TraceSource {
  std::string module, device;
  const hk_profile *profile = nullptr;
  /// What a device that counts said of the last launches: those of the profile
  /// and perhaps some before.
  std::vector<LaunchCounters> counters;
};

/// Writes the launches that the profile keeps. Where the device models times,
/// these stand one behind the other in place of those of the host's clock.
/// Throws Failure when the file cannot be written.
void writeTrace(const std::string &path, const TraceSource &source);

} // namespace hk::run

#endif // HK_TOOLS_HK_RUN_TRACE_H
