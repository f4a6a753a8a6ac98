//===- TimingReport.cpp - Modelled times for people and programs ----------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every line of text says "modelled", so that none can be quoted without it.
//
//===----------------------------------------------------------------------===//

#include "TimingReport.h"
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace hk::emu {
namespace {

__attribute__((format(printf, 1, 2))) std::string format(const char *text,
                                                         ...) {
  char buffer[512];
  va_list args;
  va_start(args, text);
  std::vsnprintf(buffer, sizeof buffer, text, args);
  va_end(args);
  return buffer;
}

constexpr size_t kMostLines = 12;

/// Causes with their clocks, the worst first.
std::vector<std::pair<double, const char *>> causesOf(const StallClocks &s) {
  std::vector<std::pair<double, const char *>> list;
  for (size_t k = 0; k < s.size(); ++k)
    if (s[k] > 0)
      list.push_back({s[k], stallName(Stall(k))});
  std::sort(list.begin(), list.end(), [](auto &a, auto &b) {
    return a.first != b.first ? a.first > b.first
                              : std::strcmp(a.second, b.second) < 0;
  });
  return list;
}

class Text {
public:
  void row(const char *name, const std::string &value) {
    out += format("  modelled  %-24s ", name) + value + "\n";
  }
  std::string out;
};

void appendTimes(Text &t, const TimingResult &r) {
  t.row("clocks",
        format("%.0f", r.clocks) + format("  (+-%.0f %%, %s bound)",
                                          100 * errorOf(r.timeClass),
                                          timeClassName(r.timeClass)));
  t.row("time, burst",
        format("%.2f us at %.0f MHz, with the launch", r.burstUs, r.peakMHz));
  t.row("time, sustained", format("%.2f us", r.sustainedUs));
  t.row("limited by", r.limit);
  if (r.matrixLoopShare > 0)
    t.row("MFMA share of the loop",
          format("%.1f %%, %.0f clocks an iteration", 100 * r.matrixLoopShare,
                 r.iterationClocks));
}

void appendUsage(Text &t, const TimingResult &r) {
  for (const Usage &u : r.usage)
    if (u.share >= 0.005)
      t.row((std::string("busy: ") + u.resource).c_str(),
            format("%5.1f %%", 100 * u.share));
}

void appendMemory(Text &t, const TimingResult &r) {
  t.row("L1, L2 hits", format("%.1f %%, %.1f %% of lines", 100 * r.l1HitRate,
                              100 * r.l2HitRate));
  for (Level level : {Level::L2, Level::Mall, Level::Hbm})
    if (double bytes = r.levelBytes[size_t(level)]; bytes > 0)
      t.row((std::string("bytes past ") + (level == Level::L2     ? "L1"
                                           : level == Level::Mall ? "L2"
                                                                  : "MALL"))
                .c_str(),
            format("%.0f", bytes));
}

void appendStalls(Text &t, const TimingResult &r) {
  double all = std::max(r.waveClocks, 1.0);
  for (auto [clocks, name] : causesOf(r.stalls))
    if (clocks >= 0.005 * all)
      t.row((std::string("waits: ") + name).c_str(),
            format("%5.1f %% of the waves' time", 100 * clocks / all));
  size_t n = 0;
  for (const SourceStall &line : r.lines) {
    if (++n > kMostLines || line.total < 0.005 * all)
      break;
    auto causes = causesOf(line.clocks);
    t.row(("at " + line.where).c_str(),
          format("%5.1f %%  %s: ", 100 * line.total / all,
                 causes.front().second) +
              line.text);
  }
}

std::string field(const char *name, double value) {
  return format(",\"%s\":%.10g", name, value);
}

std::string stallsJson(const StallClocks &stalls) {
  std::string out = "{";
  for (auto [clocks, name] : causesOf(stalls))
    out += (out.size() > 1 ? "," : "") + jsonString(name) +
           format(":%.10g", clocks);
  return out + "}";
}

std::string linesJson(const TimingResult &r) {
  std::string out = "[";
  for (const SourceStall &line : r.lines)
    out += (out.size() > 1 ? "," : "") +
           ("{\"where\":" + jsonString(line.where)) +
           ",\"instruction\":" + jsonString(line.text) +
           ",\"stalls\":" + stallsJson(line.clocks) + "}";
  return out + "]";
}

} // namespace

std::string timingText(const TimingResult &r) {
  if (!r.error.empty())
    return "modelled time of " + r.kernel + ": none, " + r.error + "\n";
  Text t;
  t.out =
      "modelled time of " + r.kernel + " on " + r.chip + " (no measurement)\n";
  const Dispatch &d = r.dispatch;
  t.row("workgroups", format("%llu of %u waves, %u at once on a compute unit "
                             "(%s)",
                             static_cast<unsigned long long>(d.workgroups),
                             d.waves, d.resident, d.limit));
  t.row("from", format("%llu traced, %llu replayed workgroups",
                       static_cast<unsigned long long>(r.traced),
                       static_cast<unsigned long long>(r.replayed)));
  appendTimes(t, r);
  appendUsage(t, r);
  appendMemory(t, r);
  appendStalls(t, r);
  return t.out;
}

std::string timingJson(const TimingResult &r) {
  std::string out = "{\"modelled\":true,\"kernel\":" + jsonString(r.kernel) +
                    ",\"chip\":" + jsonString(r.chip);
  if (!r.error.empty())
    return out + ",\"error\":" + jsonString(r.error) + "}";
  out += field("workgroups", double(r.dispatch.workgroups)) +
         field("resident", r.dispatch.resident) +
         field("traced", double(r.traced)) +
         field("replayed", double(r.replayed)) + field("clocks", r.clocks) +
         field("burst_us", r.burstUs) + field("sustained_us", r.sustainedUs) +
         ",\"class\":" + jsonString(timeClassName(r.timeClass)) +
         field("relative_error", errorOf(r.timeClass)) +
         ",\"limit\":" + jsonString(r.limit) +
         field("mfma_share", r.matrixShare) +
         field("mfma_loop_share", r.matrixLoopShare) +
         field("iteration_clocks", r.iterationClocks) +
         field("l1_hit_rate", r.l1HitRate) + field("l2_hit_rate", r.l2HitRate) +
         field("l2_bytes", r.levelBytes[size_t(Level::L2)]) +
         field("mall_bytes", r.levelBytes[size_t(Level::Mall)]) +
         field("hbm_bytes", r.levelBytes[size_t(Level::Hbm)]) +
         field("flops", r.flops) + field("wave_clocks", r.waveClocks) +
         ",\"busy\":{";
  for (size_t i = 0; i < r.usage.size(); ++i)
    out += (i ? "," : "") + jsonString(r.usage[i].resource) +
           format(":%.6g", r.usage[i].share);
  return out + "},\"stalls\":" + stallsJson(r.stalls) +
         ",\"lines\":" + linesJson(r) + "}";
}

std::string timelineJson(const TimingResult &r, const CodeObject &object) {
  std::string out = "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"modelled\":"
                    "true,\"kernel\":" +
                    jsonString(r.kernel) +
                    ",\"unit\":\"1 us is one clock\"},"
                    "\"traceEvents\":[";
  for (unsigned simd = 0; simd < 4; ++simd)
    out += format("%s\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%u,"
                  "\"args\":{\"name\":\"SIMD %u (modelled)\"}}",
                  simd ? "," : "", simd, simd);
  for (const TimelineEvent &e : r.timeline)
    out += format(",\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%u,\"tid\":%u,"
                  "\"ts\":%.0f,\"dur\":%.0f,\"args\":{\"instruction\":",
                  e.name, e.simd, e.wave, e.start, e.clocks) +
           jsonString(object.program()[e.inst].text) + "}}";
  return out + "\n]}\n";
}

} // namespace hk::emu
