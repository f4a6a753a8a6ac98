//===- Fuse.cpp - Group base operators into hk.fused regions --------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks the operators of a block once, in order. Each one joins a group that
// makes its operands (several such groups become one when their family allows),
// or starts a group and is offered to groups that read the same input. What was
// tried, and why it was refused, goes to the decision log and to remarks.
//
//===----------------------------------------------------------------------===//

#include "Fusion/FusionTable.h"
#include "Fusion/PrepareBlock.h"
#include "Fusion/RegionBuilder.h"
#include "LoggedPass.h"
#include "hk/Analysis/Alignment.h"
#include "hk/Analysis/LoopMaps.h"
#include "hk/Passes/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKFUSE
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

/// Earlier kernels that one is offered to share its launch with.
static constexpr size_t kMaxMergeCandidates = 8;

namespace {
struct HKFuse : LoggedPass<::mlir::hk::impl::HKFuseBase<HKFuse>> {
  using LoggedPass::LoggedPass;

  void runOnOperation() override;

private:
  LogicalResult fuse(func::FuncOp function, const ::hk::Target &target,
                     DecisionLog &decisions);
  LogicalResult place(Operation *op, FusionTable &table,
                      const PreparedBlock &prepared,
                      const FusionContext &context, DecisionLog &decisions);
  SmallVector<FusionTable::GroupId>
  kernelsToJoin(Operation *op, Operation *boundTo, const FusionTable &table,
                const PreparedBlock &prepared) const;
  void mergeIndependent(FusionTable &table, DecisionLog &decisions);
  void takeInProducers(Operation *op, FusionTable::GroupId reader,
                       FusionTable &table, Decision &decision);
  LogicalResult startGroup(Operation *op, FusionTable &table,
                           const FusionContext &context, Decision &decision);
  void refuse(Operation *op, const Candidate &candidate);
  void settleRefusals(Operation *op, ArrayRef<Operation *> refusing,
                      const FusionTable &table, Decision &decision);
};
} // namespace

void HKFuse::runOnOperation() {
  const ::hk::Target *target = requireTarget(getOperation());
  if (!target)
    return signalPassFailure();
  DecisionLog own; // of versions, which repeat what their function says
  for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
    if (!function.isExternal() &&
        failed(fuse(function, *target,
                    function->hasAttr(kVersionAttrName) ? own : log())))
      return signalPassFailure();
}

static std::string nameOf(Operation *op) {
  return op->getName().getStringRef().str();
}

static Candidate candidate(StringRef how, Operation *partner, Verdict verdict,
                           StringRef why) {
  Candidate made{(how + " " + partner->getName().getStringRef()).str(),
                 std::move(verdict), 0, 0, why};
  made.partner = partner->getLoc();
  return made;
}

/// Adds the bytes of `value`, `times` over, to what a fusion saves.
static void addSaved(Value value, int64_t times, Candidate &candidate) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  std::optional<::hk::DType> dtype =
      type ? dtypeOf(type.getElementType()) : std::nullopt;
  if (!dtype)
    return;
  int64_t bits = ::hk::info(*dtype).bits;
  for (int64_t size : type.getShape())
    if (!ShapedType::isDynamic(size))
      bits *= size;
  candidate.perSize |= !type.hasStaticShape();
  candidate.savedBytes += times * bits / 8;
}

/// What `op` needs not read, nor a kernel write for it alone, because `group`
/// makes it.
static void addSavedBy(Operation *op, const FusionGroup &group,
                       Candidate &candidate) {
  for (Value operand : op->getOperands()) {
    Value root = rootOfViews(operand);
    if (Operation *def = root.getDefiningOp();
        def && llvm::is_contained(group.ops, def))
      addSaved(root, root.hasOneUse() ? 2 : 1, candidate);
  }
}

/// What `op` needs not read because `group` reads it as well.
static void addShared(Operation *op, const FusionGroup &group,
                      Candidate &candidate) {
  llvm::SmallDenseSet<Value> read;
  for (Operation *other : group.ops)
    if (other != op)
      read.insert(other->operand_begin(), other->operand_end());
  for (Value operand : op->getOperands())
    if (read.contains(operand) && !operand.getDefiningOp<ConstantOp>())
      addSaved(operand, 1, candidate);
}

/// The family that computes `op` where no kernel takes it in.
static const Family *startingFamily(Operation *op,
                                    const FusionContext &context) {
  for (const Family *family : allFamilies())
    if (family->canStart(op, context).accepted())
      return family;
  return nullptr;
}

/// Why `op` is not in a kernel of `family`, which refused it with `verdict`:
/// where its own family reads operands from memory, that is why.
static Verdict explainRefusal(Verdict verdict, Operation *op,
                              const Family *family,
                              const FusionContext &context) {
  if (verdict.accepted() || isa<RowwiseOpInterface>(op))
    return verdict;
  const Family *own = startingFamily(op, context);
  if (!own || own == family || own->getKind() == FamilyKind::rowwise)
    return verdict;
  StringRef reads = op->hasTrait<OperandsInMemory>()
                        ? ", which reads its operands from memory"
                        : "";
  return Verdict::refuse(Reason::OtherFamily,
                         op->getName().getStringRef() +
                             " is computed by a kernel of family " +
                             stringifyFamilyKind(own->getKind()) + reads);
}

static LogicalResult refuseForeign(Operation *op) {
  if (isa<tensor::InsertSliceOp>(op))
    return op->emitOpError(
        "can only put back what was written in a slice of a state; "
        "hk.kv_cache_write writes rows of a state, hk.concat joins tensors");
  return op->emitOpError("is neither an hk base operator nor a view; hk has no "
                         "kernel for it");
}

/// A kernel writes whole bytes, so that no two threads write one.
static LogicalResult checkRows(FusedOp fused) {
  for (Type result : fused.getResultTypes())
    if (auto type = cast<RankedTensorType>(result); !hasWholeRows(type))
      return fused.emitOpError("makes a tensor for another kernel to read, of "
                               "which the last size must be static and even "
                               "for ")
             << type.getElementType() << ", but is " << type
             << "; convert it to i8 before";
  return success();
}

LogicalResult HKFuse::fuse(func::FuncOp function, const ::hk::Target &target,
                           DecisionLog &decisions) {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError(
        "has control flow; hk compiles functions of one block");
  Block &block = function.getBody().front();
  for (Operation &op : block.without_terminator())
    if (!isBaseOp(&op) && !mayStayOutside(&op))
      return refuseForeign(&op);

  PreparedBlock prepared = prepareBlock(block);
  DimSymbols dims(block);
  resolveDims(block, dims);
  scheduleBlock(block);

  FusionContext context{dims, target};
  FusionTable table(block, context, maxOps);
  for (Operation &op : block) {
    if (isa<FusedOp, LaunchOp>(op))
      table.start(&op, nullptr);
    else if (isBaseOp(&op) &&
             failed(place(&op, table, prepared, context, decisions)))
      return failure();
  }
  if (!disable)
    mergeIndependent(table, decisions);
  {
    RegionBuilder builder(block, dims);
    for (const FusionGroup *group : table.liveGroups()) {
      if (failed(checkRows(builder.build(*group))))
        return failure();
      ++numRegions;
    }
  }
  eraseUnused(block);
  scheduleBlock(block);
  for (Operation &op : block)
    if (isBaseOp(&op))
      return op.emitOpError("is in no kernel after fusion");
  return success();
}

void HKFuse::refuse(Operation *op, const Candidate &candidate) {
  ++numRefused;
  remark::missed(op->getLoc(),
                 remark::RemarkOpts::name("NotFused").category("hk-fuse"))
      << remark::reason("{0}: {1}",
                        stringify(candidate.verdict.getReason()).str(),
                        candidate.verdict.getDetail().str())
      << remark::metric("With", candidate.what);
}

/// The view that `op` reads and memory cannot hold, if there is one: only the
/// kernel of what it is a view of can compute `op`.
static Operation *boundOperandOf(Operation *op, const PreparedBlock &prepared) {
  Operation *bound = nullptr;
  for (Value operand : op->getOperands())
    if (Operation *def = operand.getDefiningOp();
        def && prepared.bound.contains(def))
      bound = def;
  return bound;
}

/// The kernels that `op` is offered to, each of which makes an operand of it.
SmallVector<FusionTable::GroupId>
HKFuse::kernelsToJoin(Operation *op, Operation *boundTo,
                      const FusionTable &table,
                      const PreparedBlock &prepared) const {
  if (boundTo)
    return {*table.producerOf(boundTo->getResult(0))};
  if (disable)
    return {};
  SmallVector<FusionTable::GroupId> producers = table.producersOf(op);
  if (prepared.sources.contains(op))
    llvm::erase_if(producers, [&](FusionTable::GroupId id) {
      const Family *family = table.get(id).family;
      return !family || family->getKind() != FamilyKind::rowwise;
    });
  return producers;
}

LogicalResult HKFuse::place(Operation *op, FusionTable &table,
                            const PreparedBlock &prepared,
                            const FusionContext &context,
                            DecisionLog &decisions) {
  Decision decision{DecisionKind::Fuse,
                    op->getLoc(),
                    nameOf(op),
                    {},
                    /*chosen=*/-1};
  auto finish = [&](bool chosen) {
    if (chosen)
      decision.chosen = decision.candidates.size() - 1;
    decisions.add(std::move(decision));
  };
  Operation *boundTo = boundOperandOf(op, prepared);
  SmallVector<FusionTable::GroupId> producers =
      kernelsToJoin(op, boundTo, table, prepared);
  SmallVector<Operation *> refusing;
  for (FusionTable::GroupId id : producers) {
    const FusionGroup &group = table.get(id);
    Operation *with = group.ops.front();
    const Family *family = group.family;
    SmallVector<FusionTable::GroupId> together = {id};
    if (!disable)
      for (FusionTable::GroupId other : producers)
        if (other != id && table.get(other).family == family)
          together.push_back(other);
    Verdict verdict = table.join(together, op);
    if (!verdict.accepted() && together.size() > 1)
      verdict = table.join(id, op);
    // That another kernel has to run between the two is no news.
    if (verdict.getReason() == Reason::WouldCycle && !boundTo)
      continue;
    decision.candidates.push_back(
        candidate("join", with, explainRefusal(verdict, op, family, context),
                  "it reads what that makes"));
    if (verdict.accepted()) {
      ++numFused;
      addSavedBy(op, table.get(id), decision.candidates.back());
      // It may have been the last reader of something outside of the kernel.
      if (!disable && (family->canStart(op, context).accepted() ||
                       family->takesInForEpilogues()))
        takeInProducers(op, id, table, decision);
      settleRefusals(op, refusing, table, decision);
      finish(/*chosen=*/true);
      return success();
    }
    refusing.push_back(with);
  }
  if (boundTo)
    return boundTo->emitOpError("has no layout in memory and no kernel takes "
                                "it in: ")
           << decision.candidates.back().verdict.getDetail();
  if (failed(startGroup(op, table, context, decision)))
    return failure();
  settleRefusals(op, refusing, table, decision);
  finish(/*chosen=*/true);
  return success();
}

/// The first candidates of `decision` are kernels, those of `refusing`, that
/// `op` could not join. Those that its kernel took in are no refusals.
void HKFuse::settleRefusals(Operation *op, ArrayRef<Operation *> refusing,
                            const FusionTable &table, Decision &decision) {
  auto own = table.producerOf(op->getResult(0));
  size_t next = 0;
  for (Operation *with : refusing)
    if (table.producerOf(with->getResult(0)) == own)
      decision.candidates.erase(decision.candidates.begin() + next);
    else
      refuse(op, decision.candidates[next++]);
}

/// The operator of `group` that makes an operand of `op`, perhaps through
/// views.
static Operation *madeFor(Operation *op, const FusionGroup &group) {
  for (Value operand : op->getOperands())
    if (Operation *def = rootOfViews(operand).getDefiningOp();
        def && llvm::is_contained(group.ops, def))
      return def;
  return group.ops.back();
}

/// What makes operands of `op` goes to its kernel, the last candidate, if that
/// can compute it and nothing else reads it.
void HKFuse::takeInProducers(Operation *op, FusionTable::GroupId reader,
                             FusionTable &table, Decision &decision) {
  for (FusionTable::GroupId producer : table.producersOf(op)) {
    // One may have been taken in by now with another.
    if (producer == reader || table.get(producer).ops.empty() ||
        table.get(producer).family == table.get(reader).family)
      continue;
    Operation *with = madeFor(op, table.get(producer));
    // Kernels of another kind may have producers that they could not take in.
    // What was fused before has no family.
    SmallVector<Operation *> others;
    const Family *family = table.get(producer).family;
    if (family && family->getKind() != FamilyKind::rowwise)
      others = table.get(producer).ops;
    Verdict taken = table.takeIn(reader, producer);
    // Most families read their operands; that is nothing to report.
    if (taken.getReason() == Reason::OtherFamily)
      continue;
    Candidate made =
        candidate("take in", with, taken, "nothing else reads what that makes");
    if (taken.accepted()) {
      ++numFused;
      for (Value result : with->getResults())
        addSaved(result, 2, made);
    }
    decision.candidates.insert(std::prev(decision.candidates.end()),
                               std::move(made));
    if (taken.accepted())
      for (Operation *other : others)
        takeInProducers(other, reader, table, decision);
  }
}

LogicalResult HKFuse::startGroup(Operation *op, FusionTable &table,
                                 const FusionContext &context,
                                 Decision &decision) {
  SmallVector<Candidate> refusals;
  for (const Family *family : allFamilies()) {
    std::string what = "start " + stringifyFamilyKind(family->getKind()).str();
    Verdict verdict = family->canStart(op, context);
    if (!verdict.accepted()) {
      refusals.push_back({what, verdict, 0, 0});
      continue;
    }
    FusionTable::GroupId id = table.start(op, family);
    decision.candidates.push_back({what, verdict, 0, 0});
    // A parameter goes to where it is read, alone.
    if (disable || isOnlyParameter(op))
      return success();
    takeInProducers(op, id, table, decision);
    for (FusionTable::GroupId sibling : table.siblingsOf(op, *family)) {
      if (sibling == id)
        continue;
      Operation *with = table.get(sibling).ops.front();
      Verdict merged = table.merge(sibling, id);
      // That one needs the other is no news.
      if (merged.getReason() == Reason::WouldCycle)
        continue;
      Candidate made =
          candidate("merge with", with, merged, "both read the same operand");
      if (merged.accepted())
        addShared(op, table.get(sibling), made);
      decision.candidates.insert(merged.accepted()
                                     ? decision.candidates.end()
                                     : std::prev(decision.candidates.end()),
                                 std::move(made));
      if (merged.accepted()) {
        ++numFused;
        // What had readers in both has them in one kernel now.
        takeInProducers(op, sibling, table, decision);
        break;
      }
    }
    return success();
  }
  InFlightDiagnostic error = op->emitOpError("has no kernel for target '")
                             << context.target.name << "'";
  // The family that the operator is of says what it cannot.
  for (const Candidate &refusal : refusals)
    if (refusal.verdict.getReason() != Reason::OtherFamily)
      error << "; " << refusal.verdict.getDetail();
  for (const Candidate &refusal : refusals)
    error.attachNote(op->getLoc())
        << refusal.what << ": " << stringify(refusal.verdict.getReason())
        << ", " << refusal.verdict.getDetail();
  return failure();
}

/// Kernels of one family that read nothing in common may still be one launch
/// when nothing leads from one to the other: the parts of a cache write, the
/// norms of two latents. Tried at the end, because a larger group has less
/// freedom to take in what uses its results.
void HKFuse::mergeIndependent(FusionTable &table, DecisionLog &decisions) {
  SmallVector<FusionTable::GroupId> kept;
  for (FusionTable::GroupId id : table.liveIds()) {
    Operation *first = table.get(id).ops.front();
    Decision decision{DecisionKind::Fuse,
                      first->getLoc(),
                      nameOf(first),
                      {},
                      /*chosen=*/-1};
    size_t tried = 0;
    for (FusionTable::GroupId other : llvm::reverse(kept)) {
      if (++tried > kMaxMergeCandidates)
        break;
      if (table.get(other).family != table.get(id).family)
        continue;
      Operation *with = table.get(other).ops.front();
      Verdict verdict = table.merge(other, id);
      // That a family's kernels never share a launch, or that one needs the
      // other, is no news.
      if (verdict.getReason() == Reason::OtherFamily ||
          verdict.getReason() == Reason::WouldCycle)
        continue;
      // What one kernel would cost more, one launch may not.
      StringRef how = verdict.getReason() == Reason::CostlierFused
                          ? "share a kernel with"
                          : "share a launch with";
      decision.candidates.push_back(
          candidate(how, with, verdict,
                    "their rows are the same, and neither needs the other"));
      if (!verdict.accepted()) {
        refuse(first, decision.candidates.back());
        continue;
      }
      decision.chosen = decision.candidates.size() - 1;
      ++numFused;
      break;
    }
    if (decision.chosen < 0)
      kept.push_back(id);
    if (!decision.candidates.empty())
      decisions.add(std::move(decision));
  }
}

std::unique_ptr<Pass> mlir::hk::createHKFuse(const HKFuseOptions &options,
                                             DecisionLog &log) {
  return std::make_unique<HKFuse>(log, options);
}
