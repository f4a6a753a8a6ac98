//===- Counters.cpp - What kernels did, from a device that counts ---------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the launches' lines, adds them up per kernel and prints them.
//
//===----------------------------------------------------------------------===//

#include "Counters.h"
#include "Options.h"
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <vector>

using namespace hk::run;
using Json = nlohmann::ordered_json;

static const char kVariable[] = "HK_EMU_COUNTERS";

CounterFile::CounterFile(bool modelled) {
  // The times stand in the lines of the counters as well.
  if (modelled)
    setenv("HK_EMU_TIMING", "/dev/null", /*overwrite=*/0);
  if (const char *chosen = std::getenv(kVariable); chosen && *chosen) {
    path = chosen;
    std::ifstream in(path, std::ios::binary | std::ios::ate);
    begin = in ? static_cast<long>(in.tellg()) : 0;
    return;
  }
  char name[] = "/tmp/hk-run-counters-XXXXXX";
  int file = mkstemp(name);
  if (file < 0)
    throw Failure("--counters: cannot make a temporary file in /tmp");
  close(file);
  path = name;
  own = true;
  setenv(kVariable, name, 1);
}

CounterFile::~CounterFile() {
  if (own)
    std::remove(path.c_str());
}

/// Modelled times add up; the rest is said of the longest launch.
static void accumulateTiming(Json &sum, const Json &launch) {
  if (launch.contains("error"))
    return;
  if (sum.is_null()) {
    sum = launch;
    return;
  }
  Json added;
  for (const char *key : {"clocks", "burst_us", "sustained_us"})
    added[key] = sum[key].get<double>() + launch[key].get<double>();
  double longest = sum.value("longest_clocks", sum["clocks"].get<double>());
  if (launch["clocks"].get<double>() > longest) {
    sum = launch;
    longest = launch["clocks"].get<double>();
  }
  sum.update(added);
  sum["longest_clocks"] = longest;
}

/// Adds the numbers of one launch to those of its kernel.
static void accumulate(Json &sum, const Json &launch) {
  if (sum.is_null())
    sum = Json::object();
  for (const auto &[key, value] : launch.items()) {
    if (key == "timing")
      accumulateTiming(sum[key], value);
    else if (value.is_object())
      accumulate(sum[key], value);
    else if (value.is_number())
      sum[key] = sum.value(key, uint64_t(0)) + value.get<uint64_t>();
  }
}

static std::vector<Json> readLines(const std::string &path, long begin) {
  std::ifstream in(path, std::ios::binary);
  in.seekg(begin);
  std::vector<Json> launches;
  for (std::string line; std::getline(in, line);)
    launches.push_back(Json::parse(line));
  return launches;
}

static std::vector<Json> sumsByKernel(const std::vector<Json> &launches) {
  std::vector<Json> kernels;
  for (const Json &launch : launches) {
    Json *sum = nullptr;
    for (Json &kernel : kernels)
      if (kernel["kernel"] == launch["kernel"])
        sum = &kernel;
    if (!sum) {
      kernels.push_back({{"kernel", launch["kernel"]},
                         {"chip", launch["chip"]},
                         {"launches", uint64_t(0)}});
      sum = &kernels.back();
    }
    (*sum)["launches"] = (*sum)["launches"].get<uint64_t>() + 1;
    accumulate(*sum, launch);
  }
  return kernels;
}

static void appendRow(std::string &out, const char *name, const Json &kernel,
                      const char *key, const std::string &note = "") {
  char row[160];
  std::snprintf(row, sizeof row, "    %-28s %16llu%s%s\n", name,
                static_cast<unsigned long long>(kernel.value(key, uint64_t(0))),
                note.empty() ? "" : "  ", note.c_str());
  out += row;
}

static std::string times(uint64_t part, uint64_t whole) {
  if (!whole)
    return "";
  char text[64];
  std::snprintf(text, sizeof text, "%.2f x compulsory",
                static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

/// Every line says that nothing was measured.
static void appendTiming(std::string &out, const Json &t) {
  char row[256];
  auto add = [&](const char *name, const char *text) {
    char line[320];
    std::snprintf(line, sizeof line, "    modelled %-20s %s\n", name, text);
    out += line;
  };
  std::snprintf(row, sizeof row, "%15.0f  on %s, +-%.0f %%",
                t["clocks"].get<double>(), t["chip"].get<std::string>().c_str(),
                100 * t["relative_error"].get<double>());
  add("clocks", row);
  std::snprintf(row, sizeof row, "%15.2f  %.2f sustained",
                t["burst_us"].get<double>(), t["sustained_us"].get<double>());
  add("us, burst", row);
  add("limit", t["limit"].get<std::string>().c_str());
  if (double share = t["mfma_loop_share"].get<double>(); share > 0) {
    std::snprintf(row, sizeof row, "%14.1f %%", 100 * share);
    add("MFMA in the loop", row);
  }
  size_t shown = 0;
  for (const auto &[name, clocks] : t["stalls"].items()) {
    if (++shown > 4)
      break;
    std::snprintf(row, sizeof row, "%14.1f %%  of the waves' time",
                  100 * clocks.get<double>() / t["wave_clocks"].get<double>());
    add(("wait: " + name).c_str(), row);
  }
}

static std::string table(const std::vector<Json> &kernels) {
  std::string out;
  for (const Json &k : kernels) {
    out += "counters of " + k["kernel"].get<std::string>() + " on emulated " +
           k["chip"].get<std::string>() + "\n";
    appendRow(out, "launches", k, "launches");
    appendRow(out, "workgroups", k, "workgroups");
    appendRow(out, "waves", k, "waves");
    appendRow(out, "wave instructions", k, "instructions_total");
    for (const auto &[name, count] : k["instructions"].items())
      if (count.get<uint64_t>())
        appendRow(out, ("  " + name).c_str(), k["instructions"], name.c_str());
    appendRow(out, "VALU clocks", k, "valu_clocks");
    appendRow(out, "MFMA clocks", k, "mfma_clocks");
    appendRow(out, "LDS bytes", k, "lds_bytes");
    appendRow(out, "LDS clocks", k, "lds_clocks");
    appendRow(out, "  of them bank conflicts", k, "lds_conflict_clocks");
    uint64_t moved = k.value("global_read_bytes", uint64_t(0)) +
                     k.value("global_write_bytes", uint64_t(0));
    appendRow(out, "global bytes read", k, "global_read_bytes");
    appendRow(out, "global bytes written", k, "global_write_bytes",
              times(moved, k.value("compulsory_bytes", uint64_t(0))));
    appendRow(out, "compulsory bytes", k, "compulsory_bytes");
    appendRow(out, "transactions of 64 bytes", k, "transactions_64");
    appendRow(out, "transactions of 128 bytes", k, "transactions_128");
    appendRow(out, "waits", k, "waits");
    appendRow(out, "barriers", k, "barriers");
    if (k.contains("timing") && !k["timing"].is_null())
      appendTiming(out, k["timing"]);
  }
  return out;
}

std::string CounterFile::report(CounterFormat format,
                                const std::string &device) const {
  std::vector<Json> kernels = sumsByKernel(readLines(path, begin));
  if (kernels.empty())
    throw Failure("--counters: " + device +
                  " has no counters or nothing was launched; the emulator has "
                  "them: --device=hip:0 with HK_HIP_LIBRARY=libhk_emu.so");
  return format == CounterFormat::Json
             ? Json({{"kernels", kernels}}).dump(2) + "\n"
             : table(kernels);
}

std::vector<LaunchCounters> CounterFile::launches() const {
  std::vector<LaunchCounters> made;
  for (const Json &line : readLines(path, begin)) {
    LaunchCounters launch;
    launch.chip = line.value("chip", "");
    launch.bytesRead = line.value("global_read_bytes", uint64_t(0));
    launch.bytesWritten = line.value("global_write_bytes", uint64_t(0));
    Json timing = line.value("timing", Json::object());
    launch.microseconds = timing.value("burst_us", 0.0);
    launch.clocks = timing.value("clocks", 0.0);
    launch.limit = timing.value("limit", "");
    made.push_back(std::move(launch));
  }
  return made;
}
