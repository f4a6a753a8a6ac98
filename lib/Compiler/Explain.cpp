//===- Explain.cpp - Rendering of the decision log ------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text: one line per kernel and per kind of decision. JSON: versioned by
// "version".
//
//===----------------------------------------------------------------------===//

#include "Explain.h"

#include "mlir/IR/Location.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
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
  case DecisionKind::Raise:
    return "raise";
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

/// "4:8" where `loc` is in the file of `beside`, else all of it.
static std::string placeText(Location loc, Location beside) {
  auto place = dyn_cast<FileLineColLoc>(loc);
  auto other = dyn_cast<FileLineColLoc>(beside);
  if (!place || !other || place.getFilename() != other.getFilename())
    return locationText(loc);
  return (Twine(place.getLine()) + ":" + Twine(place.getColumn())).str();
}

static std::string savedText(const Candidate &candidate) {
  if (candidate.savedBytes == 0)
    return "";
  return (", saves " + Twine(candidate.savedBytes) + " bytes" +
          (candidate.perSize ? " times its dynamic sizes" : ""))
      .str();
}

namespace {
/// Lines that differ in their place only, as those of equal layers, are
/// printed once.
class Lines {
public:
  void add(std::string text, Location loc, std::optional<Location> partner) {
    auto [it, inserted] = index.try_emplace(text, lines.size());
    if (inserted)
      lines.push_back({std::move(text), loc, partner, 0});
    else
      ++lines[it->second].more;
  }

  void print(llvm::raw_ostream &os) const {
    for (const Line &line : lines) {
      os << line.text << " at " << locationText(line.loc);
      if (line.partner)
        os << ", the other at " << placeText(*line.partner, line.loc);
      if (line.more > 0)
        os << ", and at " << line.more << " more place"
           << (line.more > 1 ? "s" : "");
      os << "\n";
    }
  }

private:
  struct Line {
    std::string text;
    Location loc;
    std::optional<Location> partner;
    size_t more;
  };
  std::vector<Line> lines;
  llvm::StringMap<size_t> index;
};
} // namespace

static std::string refusalText(const Decision &decision,
                               const Candidate &candidate) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "  not " << (decision.kind == DecisionKind::Fuse ? "fused" : "used")
     << " (" << stringify(candidate.verdict.getReason())
     << "): " << decision.subject << " / " << candidate.what;
  if (!candidate.verdict.getDetail().empty())
    os << ": " << candidate.verdict.getDetail();
  return text;
}

static void explainDecisions(const DecisionLog &log, llvm::raw_ostream &os) {
  Lines lines;
  llvm::SmallSetVector<Reason, 8> refused;
  for (const Decision &decision : log.get()) {
    if (decision.kind == DecisionKind::Plan && decision.chosen > 0) {
      const Candidate &chosen = decision.candidates[decision.chosen];
      std::string text;
      llvm::raw_string_ostream(text)
          << "  split: " << decision.subject << " in " << chosen.what
          << llvm::format(", %.1f us instead of %.1f", chosen.microseconds,
                          decision.candidates.front().microseconds);
      lines.add(std::move(text), decision.location, std::nullopt);
    }
    for (const Candidate &candidate : decision.candidates)
      if (candidate.verdict.accepted() && !candidate.why.empty())
        lines.add("  fused: " + decision.subject + " / " + candidate.what +
                      ": " + candidate.why.str() + savedText(candidate),
                  decision.location, candidate.partner);
    for (const Candidate &candidate : decision.candidates) {
      if (candidate.verdict.accepted())
        continue;
      refused.insert(candidate.verdict.getReason());
      lines.add(refusalText(decision, candidate), decision.location,
                candidate.partner);
    }
  }
  lines.print(os);
  for (Reason reason : refused)
    if (StringRef advice = adviceFor(reason); !advice.empty())
      os << "  advice (" << stringify(reason) << "): " << advice << "\n";
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
  explainDecisions(log, os);
}

llvm::json::Value mlir::hk::explainJson(const Section &section,
                                        const DecisionLog &log,
                                        unsigned opsBefore) {
  using llvm::json::Array;
  using llvm::json::Object;
  Array functions, kernels, decisions;
  for (const FunctionRecord &function : section.functions)
    functions.push_back(Object{{"name", function.name},
                               {"launches", int64_t(function.numLaunches)},
                               {"order", Array(function.order)}});
  for (const KernelRecord &kernel : section.kernels) {
    Array variants;
    for (const VariantRecord &variant : kernel.variants)
      variants.push_back(Object{{"tile", variant.tile},
                                {"threads", int64_t(variant.threads)},
                                {"lds_bytes", int64_t(variant.ldsBytes)}});
    Array sources;
    for (const auto &[op, place] : kernel.sources)
      sources.push_back(Object{{"op", op}, {"location", locationText(place)}});
    kernels.push_back(Object{{"name", kernel.name},
                             {"family", kernel.family},
                             {"ops", kernel.ops},
                             {"sources", std::move(sources)},
                             {"variants", std::move(variants)}});
  }
  for (const Decision &decision : log.get()) {
    Array candidates;
    for (const Candidate &candidate : decision.candidates) {
      Object made{{"what", candidate.what},
                  {"reason", stringify(candidate.verdict.getReason())},
                  {"detail", candidate.verdict.getDetail()},
                  {"microseconds", candidate.microseconds},
                  {"lds_bytes", candidate.ldsBytes}};
      if (candidate.partner)
        made["partner"] = locationText(*candidate.partner);
      if (candidate.savedBytes != 0)
        made["saved_bytes"] = candidate.savedBytes;
      if (candidate.perSize)
        made["per_dynamic_size"] = true;
      candidates.push_back(std::move(made));
    }
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
