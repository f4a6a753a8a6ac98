//===- Compare.cpp - Which of two kernels is faster -----------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clocks are compared, since the launch is the same for both.
//
//===----------------------------------------------------------------------===//

#include "Compare.h"
#include <algorithm>
#include <cstdio>
#include <llvm/Support/JSON.h>

namespace hk::emu {

ModelledTime modelledTime(const TimingResult &r) {
  return {r.kernel, r.chip, r.limit, r.burstUs, r.clocks, errorOf(r.timeClass)};
}

static std::string addLine(llvm::StringRef text, ModelledTime &time) {
  auto value = llvm::json::parse(text);
  if (!value)
    return "not a line of HK_EMU_TIMING: " + llvm::toString(value.takeError());
  const llvm::json::Object *o = value->getAsObject();
  if (!o || !o->getBoolean("modelled").value_or(false))
    return "not a line of HK_EMU_TIMING: no field \"modelled\"";
  if (auto error = o->getString("error"))
    return "a launch has no modelled time: " + error->str();
  std::string chip = o->getString("chip").value_or("").str();
  if (!time.chip.empty() && time.chip != chip)
    return "launches on " + time.chip + " and on " + chip + " in one file";
  double clocks = o->getNumber("clocks").value_or(0);
  // The longest launch names the limit; the error is that of the parts.
  double before = time.clocks * time.error;
  if (time.name.empty() || 2 * clocks > time.clocks + clocks) {
    time.name = o->getString("kernel").value_or("").str();
    time.limit = o->getString("limit").value_or("").str();
  }
  time.chip = chip;
  time.clocks += clocks;
  time.burstUs += o->getNumber("burst_us").value_or(0);
  time.error = (before + clocks * o->getNumber("relative_error").value_or(1)) /
               std::max(time.clocks, 1.0);
  return "";
}

std::string readModelledTime(const std::string &jsonLines, ModelledTime &time) {
  llvm::StringRef rest = jsonLines;
  while (!rest.trim().empty()) {
    auto [line, after] = rest.split('\n');
    rest = after;
    if (line.trim().empty())
      continue;
    std::string problem = addLine(line, time);
    if (!problem.empty())
      return problem;
  }
  return time.chip.empty() ? "no launch in it" : "";
}

Verdict compareTimes(const ModelledTime &a, const ModelledTime &b) {
  double bar = 1 + std::max(a.error, b.error);
  if (b.clocks * bar < a.clocks)
    return Verdict::Faster;
  return a.clocks * bar < b.clocks ? Verdict::Slower
                                   : Verdict::NotDistinguishable;
}

std::string compareText(const ModelledTime &a, const ModelledTime &b) {
  std::string out;
  char row[512];
  for (const ModelledTime *t : {&a, &b}) {
    std::snprintf(
        row, sizeof row,
        "modelled  %-32s %14.0f clocks %10.2f us burst  +-%.0f %%  %s\n",
        t->name.c_str(), t->clocks, t->burstUs, 100 * t->error,
        t->limit.c_str());
    out += row;
  }
  static const char *const words[] = {"faster", "slower",
                                      "not distinguishable"};
  Verdict verdict = compareTimes(a, b);
  std::snprintf(row, sizeof row,
                "modelled  the second is %s (%.2f of the first's clocks, error "
                "bar %.0f %%) on %s\n",
                words[int(verdict)], b.clocks / std::max(a.clocks, 1.0),
                100 * std::max(a.error, b.error), a.chip.c_str());
  return out + row;
}

} // namespace hk::emu
