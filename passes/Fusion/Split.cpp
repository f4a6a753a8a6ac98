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

#include "LoggedPass.h"
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
static constexpr int64_t kFewRows[] = {1, 16, 64, 256, 512, 1024, 4096};
/// Of versions for more rows than this, one that is modelled to take more than
/// this part of the time that the next one takes of as many rows is left out,
/// unless it leaves whole what that one splits: it would be another copy of all
/// kernels.
static constexpr int64_t kFewestShared = 64;
static constexpr double kAlike = 0.95;

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

/// A copy of a function, split for at most `most` rows, and what was decided of
/// it: the parts of every plan, of so many candidates.
struct RowVersion {
  int64_t most;
  func::FuncOp function;
  SmallVector<int64_t> parts;
  SmallVector<SmallVector<SplitCandidate>> candidates;
  DecisionLog decisions;

  /// Whether it leaves a plan whole that `other` splits.
  bool leavesWhole(ArrayRef<int64_t> other) const {
    return llvm::any_of(llvm::seq(parts.size()), [&](size_t i) {
      return parts[i] == 1 && other[i] != 1;
    });
  }
  /// Modelled time of all plans in `chosen` parts; infinite where those are no
  /// candidates.
  double microseconds(ArrayRef<int64_t> chosen) const {
    double sum = 0;
    for (size_t i = 0; i < chosen.size(); ++i) {
      int64_t parts = chosen[i];
      const SplitCandidate *found =
          llvm::find_if(candidates[i], [&](const SplitCandidate &candidate) {
            return candidate.parts == parts;
          });
      sum += found == candidates[i].end()
                 ? std::numeric_limits<double>::infinity()
                 : found->microseconds;
    }
    return sum;
  }
};

struct HKSplit : LoggedPass<::mlir::hk::impl::HKSplitBase<HKSplit>> {
  using LoggedPass::LoggedPass;

  void runOnOperation() override;

private:
  bool checkOptions();
  Plans planAll(func::FuncOp function, const ::hk::Target &target,
                std::optional<FewRows> few);
  std::optional<RowCount> unknownRows(func::FuncOp function,
                                      const Plans &plans);
  void addVersions(func::FuncOp function, RowCount rows, const Plans &base,
                   const ::hk::Target &target, DecisionLog &decisions);
  SmallVector<int64_t> splitAll(const Plans &plans, StringRef when,
                                DecisionLog &decisions);
  int64_t decide(const PlannedSplit &planned, StringRef when,
                 DecisionLog &decisions);
  /// Slices asked for by option; 0: none in particular.
  int64_t forcedParts(const PlannedSplit &planned) const {
    return planned.plan.instead.empty() ? forcedParts(planned.family->getKind())
                                        : 0;
  }
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
};
} // namespace

/// Plans for many rows hold where versions of `function` for few of the same
/// `rows` stand beside it.
static void refuseForMany(Plans &plans, func::FuncOp function,
                          std::optional<RowCount> rows) {
  const DimSymbols dims(function.getBody().front());
  for (PlannedSplit &planned : plans) {
    SplitPlan &plan = planned.plan;
    bool stands = rows && plan.rows &&
                  dims.dim(plan.rows->value, plan.rows->dim) ==
                      dims.dim(function.getArgument(rows->argument), rows->dim);
    if (plan.forMany && !stands)
      plan.known = Verdict::refuse(
          Reason::SizeUnknown, "pays with many rows only, and their number is "
                               "no dim of an argument that has versions");
  }
}

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
  DecisionLog &decisions = log();
  SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
  for (func::FuncOp function : functions) {
    // Other functions are an error of hk-fuse.
    if (function.isExternal() || !function.getBody().hasOneBlock())
      continue;
    Plans plans = planAll(function, *target, std::nullopt);
    std::optional<RowCount> rows = unknownRows(function, plans);
    if (k > 1 || keys > 1 || segments > 1)
      rows = std::nullopt;
    refuseForMany(plans, function, rows);
    if (rows)
      addVersions(function, *rows, plans, *target, decisions);
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
  auto given = [](TensorDim size) {
    return cast<RankedTensorType>(size.value.getType()).getDimSize(size.dim);
  };
  auto assumed = [&](TensorDim size) {
    return rows && dims.dim(size.value, size.dim) == *rows ? few->most
                                                           : given(size);
  };
  Plans plans;
  for (Operation &op : block)
    for (const Family *family : allFamilies()) {
      int64_t forced = forcedParts(family->getKind());
      ArrayRef<int64_t> counts =
          forced > 1 ? ArrayRef(forced) : ArrayRef(kCounts);
      std::optional<SplitPlan> plan =
          family->planSplit(&op, target, counts, assumed);
      if (plan && few && few->most > plan->mostRows)
        plan = family->planSplit(&op, target, counts, given);
      if (!plan)
        continue;
      plans.push_back({&op, family, std::move(*plan)});
      break;
    }
  if (few)
    refuseForMany(plans, function, std::nullopt);
  return plans;
}

/// The size that most plans lack, if it is one of an argument.
std::optional<RowCount> HKSplit::unknownRows(func::FuncOp function,
                                             const Plans &plans) {
  const DimSymbols dims(function.getBody().front());
  llvm::MapVector<DimName, int64_t> votes;
  for (const PlannedSplit &planned : plans)
    if (planned.plan.rows && forcedParts(planned) == 0)
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

/// Numbers of rows to plan versions for.
static SmallVector<int64_t> limitsOf(const Plans &plans) {
  SmallVector<int64_t> limits(std::begin(kFewRows), std::end(kFewRows));
  for (const PlannedSplit &planned : plans)
    if (planned.plan.limit.value_or(0) > 0)
      limits.push_back(*planned.plan.limit);
  llvm::sort(limits);
  limits.erase(llvm::unique(limits), limits.end());
  return limits;
}

/// Versions of `function` for few rows, up to the last that is split otherwise
/// than the function itself, as `base` says. Of neighbours that split alike the
/// one for more rows stays, also of those that split nothing below one that
/// does.
void HKSplit::addVersions(func::FuncOp function, RowCount rows,
                          const Plans &base, const ::hk::Target &target,
                          DecisionLog &decisions) {
  SymbolTable symbols(getOperation());
  SmallVector<RowVersion> made;
  SmallVector<int64_t> ofBase;
  DecisionLog unused;
  for (const PlannedSplit &planned : base)
    ofBase.push_back(decide(planned, "", unused));
  for (int64_t most : limitsOf(base)) {
    func::FuncOp copy = function.clone();
    copy.setName((function.getSymName() + "__up_to_" + Twine(most)).str());
    getOperation().push_back(copy); // plans ask for the module's attributes
    RowVersion version{most, copy, {}, {}, {}};
    Plans plans = planAll(copy, target, FewRows{rows, most});
    for (const PlannedSplit &planned : plans)
      version.candidates.push_back(planned.plan.candidates);
    version.parts =
        splitAll(plans, (" of at most " + Twine(most) + " rows").str(),
                 version.decisions);
    copy->setAttr(kVersionAttrName,
                  VersionAttr::get(&getContext(),
                                   FlatSymbolRefAttr::get(function),
                                   rows.argument, rows.dim, most));
    if (!made.empty() && made.back().parts == version.parts)
      made.pop_back_val().function.erase();
    made.push_back(std::move(version));
  }
  while (!made.empty() && made.back().parts == ofBase)
    made.pop_back_val().function.erase();
  for (size_t i = made.size(); i-- > 1;) {
    RowVersion &fewer = made[i - 1];
    if (fewer.most <= kFewestShared || fewer.leavesWhole(made[i].parts) ||
        fewer.microseconds(fewer.parts) <
            kAlike * fewer.microseconds(made[i].parts))
      continue;
    fewer.function.erase();
    made.erase(&fewer);
  }
  Operation *last = function;
  for (RowVersion &version : made) {
    symbols.insert(version.function);
    version.function->moveAfter(last);
    last = version.function;
    decisions.append(std::move(version.decisions));
  }
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
  int64_t forced = forcedParts(planned);
  Decision decision{DecisionKind::Plan,
                    op->getLoc(),
                    (op->getName().getStringRef() + when).str(),
                    {},
                    /*chosen=*/0};
  const SplitCandidate &whole = plan.candidates.front();
  double limit = whole.microseconds * plan.worthwhile;
  decision.candidates.push_back(
      {"whole", Verdict::accept(), whole.microseconds});
  Verdict verdict = forced == 1 ? Verdict::refuse(Reason::Disabled, "by option")
                    : forced > 1 ? Verdict::accept()
                                 : plan.known;
  if (!verdict.accepted()) {
    decision.candidates.push_back(
        {plan.instead.empty() ? "slices of " + plan.what : plan.instead,
         verdict});
    decisions.add(std::move(decision));
    return 1;
  }
  for (const SplitCandidate &cut : ArrayRef(plan.candidates).drop_front()) {
    if (forced > 1 || cut.microseconds < limit) {
      decision.chosen = int64_t(decision.candidates.size());
      limit = cut.microseconds;
    }
    decision.candidates.push_back(
        {plan.instead.empty()
             ? (Twine(cut.parts) + " slices of " + plan.what).str()
             : plan.instead,
         Verdict::accept(), cut.microseconds});
  }
  int64_t parts = plan.candidates[decision.chosen].parts;
  decisions.add(std::move(decision));
  return parts;
}

std::unique_ptr<Pass> mlir::hk::createHKSplit(const HKSplitOptions &options,
                                              DecisionLog &log) {
  return std::make_unique<HKSplit>(log, options);
}
