//===- Repeats.cpp - Equal parts of a list of launches, once --------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The repetition that leaves out most is folded first, then what is in front of
// it, in it and behind it. Time is quadratic in the number of launches.
//
//===----------------------------------------------------------------------===//

#include "Repeats.h"

#include "llvm/ADT/STLExtras.h"

#include <iterator>

using namespace mlir::hk;

namespace {
struct Repeat {
  size_t begin = 0, period = 0, times = 0;
  size_t leftOut() const { return times ? (times - 1) * period : 0; }
};
} // namespace

/// The repetition that leaves out most launches; of several the one with the
/// shortest period, then the first. `times` is 0 if none leaves out two.
static Repeat longestRepeat(llvm::ArrayRef<std::string> order) {
  Repeat best;
  for (size_t period = 1; period <= order.size() / 2; ++period) {
    size_t equal = 0; // launches from `i` on that equal those a period later
    Repeat found;
    for (size_t i = order.size() - period; i-- > 0;) {
      equal = order[i] == order[i + period] ? equal + 1 : 0;
      Repeat here{i, period, equal / period + 1};
      if (here.leftOut() >= std::max<size_t>(found.leftOut(), 2))
        found = here;
    }
    if (found.leftOut() > best.leftOut())
      best = found;
  }
  return best;
}

std::vector<Step> mlir::hk::foldRepeats(llvm::ArrayRef<std::string> order) {
  std::vector<Step> steps;
  Repeat repeat = longestRepeat(order);
  if (repeat.times == 0) {
    for (const std::string &kernel : order)
      steps.push_back({kernel, {}, 1});
    return steps;
  }
  steps = foldRepeats(order.take_front(repeat.begin));
  steps.push_back({"", foldRepeats(order.slice(repeat.begin, repeat.period)),
                   repeat.times});
  llvm::move(foldRepeats(
                 order.drop_front(repeat.begin + repeat.times * repeat.period)),
             std::back_inserter(steps));
  return steps;
}

void mlir::hk::printSteps(llvm::ArrayRef<Step> steps, llvm::raw_ostream &os) {
  llvm::interleaveComma(steps, os, [&](const Step &step) {
    os << step.kernel;
    if (step.body.empty())
      return;
    os << step.times << " x (";
    printSteps(step.body, os);
    os << ")";
  });
}

llvm::json::Array mlir::hk::stepsJson(llvm::ArrayRef<Step> steps) {
  llvm::json::Array made;
  for (const Step &step : steps) {
    if (step.body.empty())
      made.push_back(step.kernel);
    else
      made.push_back(llvm::json::Object{{"times", int64_t(step.times)},
                                        {"body", stepsJson(step.body)}});
  }
  return made;
}
