//===- Explain.cpp - Rendering of the decision log ------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text: one line per kernel and per refusal. JSON: versioned by "version".
//
//===----------------------------------------------------------------------===//

#include "Explain.h"

#include "mlir/IR/Location.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mlir::hk;

static StringRef kindName(DecisionKind kind) {
  switch (kind) {
  case DecisionKind::Fuse:
    return "fuse";
  case DecisionKind::Tile:
    return "tile";
  case DecisionKind::Plan:
    return "plan";
  }
  return "";
}

static std::string locationText(Location loc) {
  std::string text;
  llvm::raw_string_ostream os(text);
  loc.print(os);
  return StringRef(text).consume_front("loc(") ? text.substr(4, text.size() - 5)
                                               : text;
}

void mlir::hk::explainText(const Section &section, const DecisionLog &log,
                           unsigned opsBefore, llvm::raw_ostream &os) {
  os << "target " << section.target->name << ": " << opsBefore
     << " base operators";
  for (const FunctionRecord &function : section.functions)
    os << ", " << function.numLaunches << " launches in @" << function.name;
  os << ", " << section.kernels.size() << " distinct kernels\n";
  for (const KernelRecord &kernel : section.kernels) {
    os << "  @" << kernel.name << " " << kernel.family << ": " << kernel.ops
       << "\n";
    for (const VariantRecord &variant : kernel.variants)
      os << "    " << variant.tile << ", LDS " << variant.ldsBytes << " of "
         << section.target->ldsBytes << " bytes, " << variant.threads
         << " threads\n";
  }
  for (const Decision &decision : log.get()) {
    if (decision.kind == DecisionKind::Plan && decision.chosen > 0) {
      const Candidate &chosen = decision.candidates[decision.chosen];
      os << "  split: " << decision.subject << " in " << chosen.what
         << llvm::format(", %.1f us instead of %.1f", chosen.microseconds,
                         decision.candidates.front().microseconds)
         << " at " << locationText(decision.location) << "\n";
    }
    for (const Candidate &candidate : decision.candidates)
      if (candidate.verdict.accepted() && !candidate.why.empty())
        os << "  fused: " << decision.subject << " / " << candidate.what << ": "
           << candidate.why << " at " << locationText(decision.location)
           << "\n";
    for (const Candidate &candidate : decision.candidates) {
      if (candidate.verdict.accepted())
        continue;
      os << "  not " << (decision.kind == DecisionKind::Fuse ? "fused" : "used")
         << " (" << stringify(candidate.verdict.getReason())
         << "): " << decision.subject << " / " << candidate.what;
      if (!candidate.verdict.getDetail().empty())
        os << ": " << candidate.verdict.getDetail();
      os << " at " << locationText(decision.location) << "\n";
    }
  }
}

llvm::json::Value mlir::hk::explainJson(const Section &section,
                                        const DecisionLog &log,
                                        unsigned opsBefore) {
  using llvm::json::Array;
  using llvm::json::Object;
  Array functions, kernels, decisions;
  for (const FunctionRecord &function : section.functions)
    functions.push_back(Object{{"name", function.name},
                               {"launches", int64_t(function.numLaunches)}});
  for (const KernelRecord &kernel : section.kernels) {
    Array variants;
    for (const VariantRecord &variant : kernel.variants)
      variants.push_back(Object{{"tile", variant.tile},
                                {"threads", int64_t(variant.threads)},
                                {"lds_bytes", int64_t(variant.ldsBytes)}});
    kernels.push_back(Object{{"name", kernel.name},
                             {"family", kernel.family},
                             {"ops", kernel.ops},
                             {"variants", std::move(variants)}});
  }
  for (const Decision &decision : log.get()) {
    Array candidates;
    for (const Candidate &candidate : decision.candidates)
      candidates.push_back(
          Object{{"what", candidate.what},
                 {"reason", stringify(candidate.verdict.getReason())},
                 {"detail", candidate.verdict.getDetail()},
                 {"microseconds", candidate.microseconds},
                 {"lds_bytes", candidate.ldsBytes}});
    decisions.push_back(Object{{"kind", kindName(decision.kind)},
                               {"subject", decision.subject},
                               {"location", locationText(decision.location)},
                               {"chosen", decision.chosen},
                               {"candidates", std::move(candidates)}});
  }
  return Object{{"version", 1},
                {"target", section.target->name},
                {"lds_limit", section.target->ldsBytes},
                {"base_operators", int64_t(opsBefore)},
                {"functions", std::move(functions)},
                {"kernels", std::move(kernels)},
                {"decisions", std::move(decisions)}};
}
