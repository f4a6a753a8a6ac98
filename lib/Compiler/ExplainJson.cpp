//===- ExplainJson.cpp - The decision log for tools -----------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// docs/explain.md describes the fields; "version" is raised when one changes
// its meaning.
//
//===----------------------------------------------------------------------===//

#include "Explain.h"
#include "Repeats.h"

#include "hk/Dialect/HK.h"

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
  case DecisionKind::Shard:
    return "exchange";
  }
  return "";
}

static llvm::json::Array operandsJson(ArrayRef<OperandRecord> operands) {
  llvm::json::Array made;
  for (const OperandRecord &operand : operands) {
    int64_t elements = 1;
    bool dynamic = false;
    llvm::json::Array shape;
    for (int64_t size : operand.sizes) {
      if (SymShapeAttr::isSymbol(size)) {
        dynamic = true;
        shape.push_back("d" + std::to_string(SymShapeAttr::symbolOf(size)));
      } else {
        elements *= size;
        shape.push_back(size);
      }
    }
    llvm::json::Object one{
        {"dtype", ::hk::info(operand.dtype).name},
        {"shape", std::move(shape)},
        {"bytes", ::hk::packedBytes(operand.dtype, elements)}};
    if (dynamic)
      one["per_dynamic_size"] = true;
    made.push_back(std::move(one));
  }
  return made;
}

static llvm::json::Object kernelJson(const KernelRecord &kernel) {
  using llvm::json::Array;
  using llvm::json::Object;
  Array variants, sources;
  for (const VariantRecord &variant : kernel.variants)
    variants.push_back(Object{{"symbol", variant.symbol},
                              {"tile", variant.tile},
                              {"threads", int64_t(variant.threads)},
                              {"lds_bytes", int64_t(variant.ldsBytes)}});
  for (const auto &[op, place] : kernel.sources)
    sources.push_back(Object{{"op", op}, {"location", locationText(place)}});
  return Object{{"name", kernel.name},
                {"family", kernel.family},
                {"ops", kernel.ops},
                {"sources", std::move(sources)},
                {"inputs", operandsJson(kernel.inputs)},
                {"outputs", operandsJson(kernel.outputs)},
                {"variants", std::move(variants)}};
}

static llvm::json::Object candidateJson(const Candidate &candidate) {
  llvm::json::Object made{{"what", candidate.what},
                          {"reason", stringify(candidate.verdict.getReason())},
                          {"detail", candidate.verdict.getDetail()},
                          {"microseconds", candidate.microseconds},
                          {"lds_bytes", candidate.ldsBytes}};
  if (StringRef advice = adviceFor(candidate.verdict.getReason());
      !advice.empty())
    made["advice"] = advice;
  if (!candidate.why.empty())
    made["why"] = candidate.why;
  if (candidate.partner)
    made["partner"] = locationText(*candidate.partner);
  if (candidate.savedBytes != 0)
    made["saved_bytes"] = candidate.savedBytes;
  if (candidate.perSize)
    made["per_dynamic_size"] = true;
  return made;
}

llvm::json::Value mlir::hk::explainJson(const Section &section,
                                        const DecisionLog &log,
                                        unsigned opsBefore) {
  using llvm::json::Array;
  using llvm::json::Object;
  Array functions, kernels, decisions;
  for (const FunctionRecord &function : section.functions) {
    Array versions;
    for (const FunctionRecord::Version &version : function.versions)
      versions.push_back(Object{{"dim", version.dim},
                                {"at_most", version.atMost},
                                {"launches", int64_t(version.order.size())},
                                {"order", Array(version.order)},
                                {"folded",
                                 stepsJson(foldRepeats(version.order))}});
    functions.push_back(
        Object{{"name", function.name},
               {"launches", int64_t(function.numLaunches)},
               {"order", Array(function.order)},
               {"folded", stepsJson(foldRepeats(function.order))},
               {"versions", std::move(versions)}});
  }
  for (const KernelRecord &kernel : section.kernels)
    kernels.push_back(kernelJson(kernel));
  for (const Decision &decision : log.get()) {
    Array candidates;
    for (const Candidate &candidate : decision.candidates)
      candidates.push_back(candidateJson(candidate));
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
