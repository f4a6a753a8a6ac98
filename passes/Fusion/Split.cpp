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
// Where only a call tells how many rows there are, a decode step wants slices
// and a prompt does not: the function then gets versions for few rows, split
// for them. They are right for any number of rows; a call picks one by its own.
//
//===----------------------------------------------------------------------===//

#include "hk/Families/Family.h"
#include "hk/Passes/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKSPLIT
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

/// Numbers of parts to ask for.
static constexpr int64_t kCounts[] = {2, 4, 8, 16, 32};
/// Rows for which a function gets a version of its own, where its number of
/// rows is dynamic and the version splits something.
static constexpr int64_t kFewRows[] = {1, 16, 64};
/// Parts must be modelled to take at most this part of the time: a model that
/// is a little wrong must not add launches.
static constexpr double kWorthwhile = 0.9;

namespace {
/// The number of rows of a function's products and attentions, a size that only
/// a call tells: dim `dim` of argument `argument`.
struct RowCount {
  unsigned argument;
  int64_t dim;
};
/// That number, and what it is assumed to be at most.
struct FewRows {
  RowCount rows;
  int64_t most;
};

struct PlannedSplit {
  Operation *op;
  const Family *family;
  SplitPlan plan;
};
using Plans = SmallVector<PlannedSplit>;

struct HKSplit : ::mlir::hk::impl::HKSplitBase<HKSplit> {
  using HKSplitBase::HKSplitBase;
  HKSplit(const HKSplitOptions &options, DecisionLog &log)
      : HKSplitBase(options), log(&log) {}
  HKSplit(const HKSplit &other) : HKSplitBase(other), log(other.log) {}

  void runOnOperation() override;

private:
  bool checkOptions();
  Plans planAll(func::FuncOp function, const ::hk::Target &target,
                std::optional<FewRows> few);
  std::optional<RowCount> unknownRows(func::FuncOp function,
                                      const Plans &plans);
  void addVersions(func::FuncOp function, RowCount rows,
                   const ::hk::Target &target, DecisionLog &decisions);
  SmallVector<int64_t> splitAll(const Plans &plans, StringRef when,
                                DecisionLog &decisions);
  int64_t decide(const PlannedSplit &planned, StringRef when,
                 DecisionLog &decisions);
  /// Slices asked for by option; 0: none in particular.
  int64_t forcedParts(FamilyKind kind) const {
    switch (kind) {
    case FamilyKind::gemm:
      return k;
    case FamilyKind::attention:
      return keys;
    case FamilyKind::gated_delta:
      return segments;
    default:
      return 0;
    }
  }

  DecisionLog *log = nullptr;
};
} // namespace

bool HKSplit::checkOptions() {
  for (auto [name, value] :
       {std::pair("k", k.getValue()), std::pair("keys", keys.getValue()),
        std::pair("segments", segments.getValue())})
    if (value < 0) {
      getOperation().emitError("expected option '")
          << name
          << "' of hk-split to be 0 (by cost), 1 (never) or a number of "
             "slices, but got "
          << value;
      return false;
    }
  return true;
}

void HKSplit::runOnOperation() {
  ModuleOp module = getOperation();
  const ::hk::Target *target = requireTarget(module);
  if (!target)
    return signalPassFailure();
  if (!checkOptions())
    return signalPassFailure();
  DecisionLog own;
  DecisionLog &decisions = log ? *log : own;
  SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
  for (func::FuncOp function : functions) {
    // Other functions are an error of hk-fuse.
    if (function.isExternal() || !function.getBody().hasOneBlock())
      continue;
    Plans plans = planAll(function, *target, std::nullopt);
    std::optional<RowCount> rows = unknownRows(function, plans);
    if (rows && k <= 1 && keys <= 1 && segments <= 1)
      addVersions(function, *rows, *target, decisions);
    splitAll(plans, "", decisions);
  }
}

/// What could be split, before anything is.
Plans HKSplit::planAll(func::FuncOp function, const ::hk::Target &target,
                       std::optional<FewRows> few) {
  Block &block = function.getBody().front();
  const DimSymbols dims(block);
  std::optional<DimName> rows;
  if (few)
    rows = dims.dim(function.getArgument(few->rows.argument), few->rows.dim);
  auto sizeOf = [&](TensorDim size) {
    return rows && dims.dim(size.value, size.dim) == *rows
               ? few->most
               : cast<RankedTensorType>(size.value.getType())
                     .getDimSize(size.dim);
  };
  Plans plans;
  for (Operation &op : block)
    for (const Family *family : allFamilies()) {
      int64_t forced = forcedParts(family->getKind());
      std::optional<SplitPlan> plan = family->planSplit(
          &op, target, forced > 1 ? ArrayRef(forced) : ArrayRef(kCounts),
          sizeOf);
      if (!plan)
        continue;
      plans.push_back({&op, family, std::move(*plan)});
      break;
    }
  return plans;
}

/// The size that most plans lack, if it is one of an argument.
std::optional<RowCount> HKSplit::unknownRows(func::FuncOp function,
                                             const Plans &plans) {
  const DimSymbols dims(function.getBody().front());
  llvm::MapVector<DimName, int64_t> votes;
  for (const PlannedSplit &planned : plans)
    if (planned.plan.rows && forcedParts(planned.family->getKind()) == 0)
      ++votes[dims.dim(planned.plan.rows->value, planned.plan.rows->dim)];
  auto most = llvm::max_element(votes, llvm::less_second());
  if (most == votes.end() || most->first >= 0)
    return std::nullopt;
  const SizeExpr &size = dims.definition(-1 - most->first);
  auto argument = dyn_cast_or_null<BlockArgument>(size.value);
  if (size.kind != SizeExpr::Kind::Argument || !argument)
    return std::nullopt;
  return RowCount{argument.getArgNumber(), size.dim};
}

/// Versions of `function` for few rows, where one splits something. Of those
/// that split alike the one for most rows stays.
void HKSplit::addVersions(func::FuncOp function, RowCount rows,
                          const ::hk::Target &target, DecisionLog &decisions) {
  SymbolTable symbols(getOperation());
  func::FuncOp last;
  SmallVector<int64_t> lastParts;
  DecisionLog lastDecisions;
  for (int64_t most : kFewRows) {
    func::FuncOp version = function.clone();
    version.setName((function.getSymName() + "__up_to_" + Twine(most)).str());
    symbols.insert(version, std::next((last ? last : function)->getIterator()));
    DecisionLog made;
    SmallVector<int64_t> parts =
        splitAll(planAll(version, target, FewRows{rows, most}),
                 (" of at most " + Twine(most) + " rows").str(), made);
    if (llvm::all_of(parts, [](int64_t n) { return n == 1; })) {
      version.erase();
      break; // more rows are split less
    }
    version->setAttr(kVersionAttrName,
                     VersionAttr::get(&getContext(),
                                      FlatSymbolRefAttr::get(function),
                                      rows.argument, rows.dim, most));
    if (last && parts == lastParts)
      last.erase();
    else
      decisions.append(std::move(lastDecisions));
    last = version;
    lastParts = std::move(parts);
    lastDecisions = std::move(made);
  }
  decisions.append(std::move(lastDecisions));
}

/// The parts of every plan.
SmallVector<int64_t> HKSplit::splitAll(const Plans &plans, StringRef when,
                                       DecisionLog &decisions) {
  SmallVector<int64_t> parts;
  for (const PlannedSplit &planned : plans) {
    parts.push_back(decide(planned, when, decisions));
    if (parts.back() == 1)
      continue;
    OpBuilder builder(planned.op);
    planned.family->split(planned.op, parts.back(), builder);
    ++numSplit;
  }
  return parts;
}

/// `when`, for people: the case that the decision is about.
int64_t HKSplit::decide(const PlannedSplit &planned, StringRef when,
                        DecisionLog &decisions) {
  const auto &[op, family, plan] = planned;
  int64_t forced = forcedParts(family->getKind());
  Decision decision{DecisionKind::Plan,
                    op->getLoc(),
                    (op->getName().getStringRef() + when).str(),
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
    return 1;
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
  return parts;
}

std::unique_ptr<Pass> mlir::hk::createHKSplit(const HKSplitOptions &options,
                                              DecisionLog &log) {
  return std::make_unique<HKSplit>(options, log);
}
