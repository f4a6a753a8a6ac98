//===- Trace.cpp - The launches of a run as a timeline --------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Complete events ("ph": "X") on one track per device: each call, and in it its
// launches.
//
//===----------------------------------------------------------------------===//

#include "Trace.h"
#include "Options.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace hk::run;
using Json = nlohmann::ordered_json;

namespace {
class Writer {
public:
  explicit Writer(const TraceSource &source);
  Json write();

private:
  Json launch(uint64_t index);
  Json callEvent() const;
  Json named(const char *what, const std::string &name) const;

  const TraceSource &source;
  uint64_t count;            // launches that are kept
  uint64_t before = 0;       // counters of launches before them
  bool counted, modelled;    // what the device says of each of them
  double modelledEnd = 0;    // of the launch before, in microseconds
  hk_profile_launch first{}; // of the call that is being written
  double callBegin = 0, callEnd = 0;
};
} // namespace

Writer::Writer(const TraceSource &source)
    : source(source), count(hk_profile_num_launches(source.profile)) {
  uint64_t profiled = 0;
  for (uint32_t i = 0; i < hk_profile_num_entries(source.profile); ++i)
    profiled += hk_profile_get(source.profile, i).launches;
  counted = count > 0 && source.counters.size() >= profiled;
  before = counted ? source.counters.size() - profiled : 0;
  modelled = counted && std::all_of(source.counters.begin() + before,
                                    source.counters.end(),
                                    [](const LaunchCounters &launch) {
                                      return launch.microseconds > 0;
                                    });
}

Json Writer::launch(uint64_t index) {
  hk_profile_launch made = hk_profile_get_launch(source.profile, index);
  Json args = {
      {"variant", made.variant}, {"operators", made.ops}, {"call", made.call}};
  double begin = made.begin_us, duration = made.duration_us;
  if (counted) {
    const LaunchCounters &counters = source.counters[before + index];
    args["bytes_read"] = counters.bytesRead;
    args["bytes_written"] = counters.bytesWritten;
    if (modelled) {
      begin = modelledEnd;
      duration = counters.microseconds;
      modelledEnd = begin + duration;
      args["clocks"] = counters.clocks;
      args["limit"] = counters.limit;
    }
  }
  if (index == 0 || made.call != first.call) {
    first = made;
    callBegin = begin;
  }
  callEnd = begin + duration;
  return {{"ph", "X"},
          {"pid", 1},
          {"tid", 1},
          {"cat", "kernel"},
          {"name", made.kernel},
          {"ts", begin},
          {"dur", duration},
          {"args", std::move(args)}};
}

/// The call around the launches since `first`.
Json Writer::callEvent() const {
  return {{"ph", "X"},
          {"pid", 1},
          {"tid", 1},
          {"cat", "call"},
          {"name", first.function},
          {"ts", callBegin},
          {"dur", callEnd - callBegin},
          {"args", {{"call", first.call}}}};
}

Json Writer::named(const char *what, const std::string &name) const {
  return {{"ph", "M"},
          {"pid", 1},
          {"tid", 1},
          {"name", what},
          {"args", {{"name", name}}}};
}

Json Writer::write() {
  // The time that emulation takes says nothing of the chip.
  std::string clock = modelled  ? "modelled"
                      : counted ? "time of the emulator itself"
                                : "measured";
  Json events = {named("process_name", "hk-run " + source.module),
                 named("thread_name", source.device + " (" + clock + ")")};
  for (uint64_t i = 0; i < count; ++i) {
    Json event = launch(i);
    events.push_back(std::move(event));
    if (i + 1 == count ||
        hk_profile_get_launch(source.profile, i + 1).call != first.call)
      events.push_back(callEvent());
  }
  return {{"displayTimeUnit", "ns"},
          {"otherData",
           {{"module", source.module},
            {"device", source.device},
            {"clock", clock}}},
          {"traceEvents", std::move(events)}};
}

void hk::run::writeTrace(const std::string &path, const TraceSource &source) {
  // Names that are not UTF-8 are shown as well as they can be.
  std::string text = Writer(source).write().dump(
      -1, ' ', false, Json::error_handler_t::replace);
  errno = 0;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  bool isOpen = out.is_open();
  out << text << "\n";
  out.close();
  if (out)
    return;
  std::string why = std::strerror(errno ? errno : EIO);
  std::error_code ignored; // what is said is the first error
  if (isOpen && std::filesystem::is_regular_file(path, ignored))
    std::filesystem::remove(path, ignored);
  throw Failure("--trace: cannot write '" + path + "': " + why);
}
