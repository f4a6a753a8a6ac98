//===- GatedDeltaFamily.cpp - The gated delta rule family -----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What may share a kernel with an operator of the gated delta rule.
//
//===----------------------------------------------------------------------===//

#include "GatedDeltaSteps.h"

#include "hk/Analysis/Alignment.h"
#include "hk/Analysis/LoopMaps.h"

using namespace mlir;
using namespace mlir::hk;

/// A thread keeps a part of all keys of its values in registers.
static constexpr int64_t kMaxKeys = 256;

namespace {

class GatedDeltaFamily final : public Family {
public:
  FamilyKind getKind() const override { return FamilyKind::gated_delta; }

  Verdict canStart(Operation *op, const FusionContext &) const override {
    auto plan = GatedDeltaPlan::of(op);
    if (!plan)
      return Verdict::refuse(op, Reason::OtherFamily,
                             "is no operator of the gated delta rule");
    if (plan->walks() && plan->keys > kMaxKeys)
      return Verdict::refuse(op, Reason::UnsupportedShape,
                             "has " + Twine(plan->keys) + " keys; at most " +
                                 Twine(kMaxKeys) + " are supported");
    for (Value value : {plan->offsets, plan->indices, plan->initial})
      if (value && isa_and_nonnull<ConstantOp>(value.getDefiningOp()))
        return Verdict::refuse(
            op, Reason::UnsupportedShape,
            "has constant offsets, indices or has_initial; make them "
            "an hk.copy of it");
    return Verdict::accept();
  }

  Verdict canJoin(ArrayRef<Operation *> group, Operation *op,
                  const FusionContext &context) const override {
    if (isGatedDelta(op))
      return joinsSteps(group, op, context.target);
    auto plan = GatedDeltaPlan::of(group);
    if (!isElementwise(op))
      if (Verdict heads = joinsHeads(*plan, op); !heads.accepted())
        return heads;
    // One result decides where an element of the epilogue is stored.
    Value from;
    for (Value operand : op->getOperands()) {
      Value result = plan->resultOf(operand);
      if (!result)
        continue;
      if (from && result != from)
        return Verdict::refuse(op, Reason::NotAnEpilogue,
                               "combines two results of " +
                                   plan->op->getName().getStringRef());
      from = result;
      if (result == plan->newState)
        return Verdict::refuse(op, Reason::StateReadAndWritten,
                               "reads the state");
      if (result == plan->starts || result == plan->transitions)
        return Verdict::refuse(op, Reason::NotAnEpilogue,
                               "reads states of segments");
      if (!isView(op) &&
          context.dims.shape(operand) != context.dims.shape(op->getResult(0)))
        return Verdict::refuse(op, Reason::RowDimsDiffer,
                               "has another shape than its operand");
    }
    if (!from)
      return Verdict::refuse(op, Reason::NotAnEpilogue,
                             "does not read a result of the kernel");
    return Verdict::accept();
  }

  Verdict canTakeIn(ArrayRef<Operation *> group, Operation *op,
                    const FusionContext &context) const override {
    auto plan = GatedDeltaPlan::of(group);
    for (Value value : {plan->offsets, plan->state, plan->indices,
                        plan->initial, plan->starts, plan->transitions})
      if (value && llvm::is_contained(op->getResults(), value))
        return Verdict::refuse(op, Reason::UnsupportedShape,
                               "computes offsets, indices or a state");
    if (auto cumsum = dyn_cast<CumsumOp>(op))
      return takesSums(*plan, cumsum)
                 ? Verdict::accept()
                 : Verdict::refuse(op, Reason::NeedsWholeRow,
                                   "sums other runs than the kernel's chunks");
    if (auto convolution = dyn_cast<CausalConv1dOp>(op))
      return takesConvolution(*plan, group, convolution, context.dims);
    if (isView(op)) {
      // Grid and kernel know the sizes of operands only.
      ArrayRef<DimName> source = context.dims.shape(viewSource(op));
      for (DimName size : context.dims.shape(op->getResult(0)))
        if (size < 0 && !llvm::is_contained(source, size))
          return Verdict::refuse(op, Reason::UnsupportedShape,
                                 "has a size of its own");
      return Verdict::accept();
    }
    if (!isElementwise(op) && !joinsFixedSizes(op))
      return Verdict::refuse(
          op, Reason::NeedsWholeRow,
          "needs more than one element per element of its result");
    return Verdict::accept();
  }

  std::optional<SplitPlan> planSplit(Operation *op, const ::hk::Target &target,
                                     ArrayRef<int64_t> counts,
                                     SizeOf sizeOf) const override {
    auto states = dyn_cast<ChunkStateOp>(op);
    if (!states)
      return std::nullopt;
    return planSegments(states, target, counts, sizeOf);
  }
  void split(Operation *op, int64_t parts, OpBuilder &builder) const override {
    splitInSegments(cast<ChunkStateOp>(op), parts, builder);
  }

  bool takesInForEpilogues() const override { return true; }

  bool storesTakenIn(Operation *op) const override {
    return op->hasTrait<RunsAlongTokens>();
  }

  Verdict canMerge(ArrayRef<Operation *>, ArrayRef<Operation *>,
                   const FusionContext &) const override {
    return Verdict::refuse(
        Reason::OtherFamily,
        "neither of two kernels of the gated delta rule reads the other's "
        "results");
  }

  LogicalResult addVariants(KernelOp kernel, const ::hk::Target &target,
                            DecisionLog &log) const override {
    return addGatedDeltaVariants(kernel, target, log);
  }
  LogicalResult emit(KernelOp kernel, const ::hk::Target &target,
                     StringRef prefix, raw_ostream &os) const override {
    return emitGatedDelta(kernel, target, prefix, os);
  }

private:
  /// A concatenation of which the compiler knows where each part ends.
  static bool joinsFixedSizes(Operation *op) {
    auto concat = dyn_cast<ConcatOp>(op);
    return concat && llvm::all_of(concat.getInputs(), [&](Value input) {
             return !cast<RankedTensorType>(input.getType())
                         .isDynamicDim(concat.getDim());
           });
  }
};

} // namespace

const Family &mlir::hk::getGatedDeltaFamily() {
  static const GatedDeltaFamily family;
  return family;
}
