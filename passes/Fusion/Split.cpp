//===- Split.cpp - Share one reduction between more blocks ----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rewrites an operator whose reduction one block would walk alone, though the
// chip has idle compute units, into one with partial results and one that
// combines them. How, and what it would cost, is the family's knowledge; the
// pass takes the cheapest way and records the others.
//
//===----------------------------------------------------------------------===//

#include "hk/Families/Family.h"
#include "hk/Passes/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKSPLIT
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

/// Numbers of parts to ask for.
static constexpr int64_t kCounts[] = {2, 4, 8, 16, 32};
/// Parts must be modelled to take at most this part of the time: a model that
/// is a little wrong must not add launches.
static constexpr double kWorthwhile = 0.9;

namespace {
struct HKSplit : ::mlir::hk::impl::HKSplitBase<HKSplit> {
  using HKSplitBase::HKSplitBase;
  HKSplit(const HKSplitOptions &options, DecisionLog &log)
      : HKSplitBase(options), log(&log) {}
  HKSplit(const HKSplit &other) : HKSplitBase(other), log(other.log) {}

  void runOnOperation() override;

private:
  void decide(Operation *op, const Family &family, const SplitPlan &plan,
              int64_t forced, DecisionLog &decisions);
  /// Slices asked for by option; 0: none in particular.
  int64_t forcedParts(FamilyKind kind) const {
    switch (kind) {
    case FamilyKind::gemm:
      return k;
    case FamilyKind::attention:
      return keys;
    default:
      return 0;
    }
  }

  DecisionLog *log = nullptr;
};
} // namespace

void HKSplit::runOnOperation() {
  ModuleOp module = getOperation();
  const ::hk::Target *target = ::mlir::hk::targetOf(module);
  if (!target) {
    module.emitError("module has no target; run hk-assign-target");
    return signalPassFailure();
  }
  for (auto [name, value] :
       {std::pair("k", k.getValue()), std::pair("keys", keys.getValue())})
    if (value < 0) {
      module.emitError("expected option '")
          << name
          << "' of hk-split to be 0 (by cost), 1 (never) or a number of "
             "slices, but got "
          << value;
      return signalPassFailure();
    }
  DecisionLog own;
  for (func::FuncOp function : module.getOps<func::FuncOp>()) {
    // Other functions are an error of hk-fuse.
    if (function.isExternal() || !function.getBody().hasOneBlock())
      continue;
    for (Operation &op : llvm::make_early_inc_range(function.getBody().front()))
      for (const Family *family : allFamilies()) {
        int64_t forced = forcedParts(family->getKind());
        std::optional<SplitPlan> plan = family->planSplit(
            &op, *target, forced > 1 ? ArrayRef(forced) : ArrayRef(kCounts));
        if (!plan)
          continue;
        decide(&op, *family, *plan, forced, log ? *log : own);
        break;
      }
  }
}

void HKSplit::decide(Operation *op, const Family &family, const SplitPlan &plan,
                     int64_t forced, DecisionLog &decisions) {
  Decision decision{DecisionKind::Plan,
                    op->getLoc(),
                    op->getName().getStringRef().str(),
                    {},
                    /*chosen=*/0};
  const SplitCandidate &whole = plan.candidates.front();
  double limit = whole.microseconds * kWorthwhile;
  decision.candidates.push_back(
      {"whole", Verdict::accept(), whole.microseconds});
  Verdict verdict = forced == 1 ? Verdict::refuse(Reason::Disabled, "by option")
                    : forced > 1 ? Verdict::accept()
                                 : plan.known;
  if (!verdict.accepted()) {
    decision.candidates.push_back({"slices of " + plan.what, verdict});
    decisions.add(std::move(decision));
    return;
  }
  for (const SplitCandidate &cut : ArrayRef(plan.candidates).drop_front()) {
    if (forced > 1 || cut.microseconds < limit) {
      decision.chosen = int64_t(decision.candidates.size());
      limit = cut.microseconds;
    }
    decision.candidates.push_back(
        {(Twine(cut.parts) + " slices of " + plan.what).str(),
         Verdict::accept(), cut.microseconds});
  }
  int64_t parts = plan.candidates[decision.chosen].parts;
  decisions.add(std::move(decision));
  if (parts == 1)
    return;
  OpBuilder builder(op);
  family.split(op, parts, builder);
  ++numSplit;
}

std::unique_ptr<Pass> mlir::hk::createHKSplit(const HKSplitOptions &options,
                                              DecisionLog &log) {
  return std::make_unique<HKSplit>(options, log);
}
