//===- GatedDeltaHeads.cpp - A recurrence with its neighbours -------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What blocks of whole heads (kernels/gated_delta/recurrent_heads.h) can do
// beyond the recurrence: the convolution in front of it, norms and
// quantisations of a head behind it, and other shapes of the results.
//
//===----------------------------------------------------------------------===//

#include "../Conv1d/Conv1dPlan.h"
#include "GatedDeltaPlan.h"

#include "hk/Analysis/LoopMaps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::hk;
using ::hk::GatedDeltaKernel;

/// Values of a head that the lanes of a wave can finish.
static constexpr int64_t kMinRow = 8, kMaxRow = 512;
/// Elements of the states of all heads of a block, in registers.
static constexpr int64_t kMaxStates = 1024 * 128;

static int64_t lastSize(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getRank() == 0 ? 1 : type.getShape().back();
}

/// Whether the kernel can compute `op` from the row that it lies in.
static bool isRowOperator(Operation *op) {
  SmallVector<RowReduction> kinds = rowReductionsOf(op);
  // Lanes have one statistic each time, and whole bytes of a row.
  bool statistics = llvm::all_of(kinds, [](RowReduction kind) {
    return kind == RowReduction::Sum || kind == RowReduction::SumOfSquares ||
           kind == RowReduction::SumOfCentredSquares ||
           kind == RowReduction::AbsMaximum;
  });
  bool bytes = llvm::none_of(op->getResults(), [](Value result) {
    Type type = getElementTypeOrSelf(result.getType());
    return type.getIntOrFloatBitWidth() < 8 || isa<Float8E8M0FNUType>(type);
  });
  return !kinds.empty() && statistics && bytes &&
         lastSize(op->getResult(0)) == lastSize(op->getOperand(0));
}

Verdict mlir::hk::joinsHeads(const GatedDeltaPlan &plan, Operation *op) {
  bool reshapes = isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op);
  if (plan.kernel != GatedDeltaKernel::Recurrent ||
      !(reshapes || isRowOperator(op)))
    return Verdict::refuse(op, Reason::NotAnEpilogue,
                           "is not a pointwise operator");
  if (!llvm::isPowerOf2_64(plan.values) || plan.values < kMinRow ||
      plan.values > kMaxRow)
    return Verdict::refuse(op, Reason::UnsupportedShape,
                           "follows heads of " + Twine(plan.values) +
                               " values; lanes share a power of two from " +
                               Twine(kMinRow) + " to " + Twine(kMaxRow));
  int64_t size = lastSize(reshapes ? op->getResult(0) : op->getOperand(0));
  if (reshapes) {
    if (ShapedType::isDynamic(size) || size % plan.values != 0)
      return Verdict::refuse(op, Reason::UnsupportedShape,
                             "cuts the " + Twine(plan.values) +
                                 " values of a head");
    return Verdict::accept();
  }
  if (int64_t group = reductionGroupOf(op))
    size = group;
  if (size != plan.values)
    return Verdict::refuse(op, Reason::NeedsWholeRow,
                           "needs rows of " +
                               (ShapedType::isDynamic(size)
                                    ? Twine("unknown size")
                                    : Twine(size)) +
                               "; a block of the recurrence has the " +
                               Twine(plan.values) + " values of a head");
  return Verdict::accept();
}

/// The members of `group`, in order, that lie between `convolution` and `rule`.
static SmallVector<Operation *> between(CausalConv1dOp convolution,
                                        Operation *rule,
                                        ArrayRef<Operation *> group) {
  llvm::SmallPtrSet<Operation *, 16> from;
  SmallVector<Operation *> result;
  for (Operation *op : group) {
    bool depends = llvm::any_of(op->getOperands(), [&](Value operand) {
      return operand == convolution.getResult() ||
             from.contains(operand.getDefiningOp());
    });
    if (!depends || op == rule)
      continue;
    from.insert(op);
    result.push_back(op);
  }
  return result;
}

/// A convolution of one token of every sequence, with a state of which a block
/// can read and write its channels alone.
static Verdict suitsHeads(CausalConv1dOp op) {
  auto type = cast<RankedTensorType>(op.getInput().getType());
  if (op.getLayout() != Conv1dLayout::channel_last || op.getOffsets() ||
      type.getDimSize(1) != 1)
    return Verdict::refuse(
        op, Reason::UnsupportedShape,
        "has several tokens of a sequence; the recurrence takes in "
        "one of one token");
  if (!op.getState() || op.getStateLayout() != Conv1dLayout::channel_last)
    return Verdict::refuse(op, Reason::UnsupportedShape,
                           "has no state with channels innermost");
  if (op.getAccepted() || op.getRing() || op.getComputed() || op.getSeqIdx() ||
      op.getWindows())
    return Verdict::refuse(op, Reason::UnsupportedShape,
                           "has accepted, ring, computed, seq_idx or windows");
  auto state = cast<RankedTensorType>(op.getState().getType());
  if (!state.getElementType().isBF16() && !state.getElementType().isF32())
    return Verdict::refuse(op, Reason::UnsupportedShape,
                           "has a state that is neither bf16 nor f32");
  if (ShapedType::isDynamic(state.getDimSize(1)) || state.getDimSize(1) > 8)
    return Verdict::refuse(op, Reason::UnsupportedShape,
                           "has a state of more than 8 entries");
  if (llvm::any_of(op.getResult().getUsers(), [](Operation *user) {
        return user->hasTrait<OpTrait::IsTerminator>();
      }))
    return Verdict::refuse(op, Reason::ResultEscapes,
                           "has a result that is returned");
  return Verdict::accept();
}

Verdict mlir::hk::takesConvolution(const GatedDeltaPlan &plan,
                                   ArrayRef<Operation *> group,
                                   CausalConv1dOp convolution,
                                   const DimSymbols &dims) {
  auto rule = dyn_cast<GatedDeltaRuleOp>(plan.op);
  if (!rule)
    return Verdict::refuse(convolution, Reason::OtherFamily,
                           "goes into the recurrent form only");
  if (Verdict suits = suitsHeads(convolution); !suits.accepted())
    return suits;
  if (plan.offsets)
    return Verdict::refuse(convolution, Reason::UnsupportedShape,
                           "lies in front of ragged sequences");
  if (!llvm::isPowerOf2_64(plan.values) || plan.values < kMinRow ||
      plan.values > kMaxRow)
    return Verdict::refuse(convolution, Reason::UnsupportedShape,
                           "lies in front of heads of " + Twine(plan.values) +
                               " values, no power of two from " +
                               Twine(kMinRow) + " to " + Twine(kMaxRow));
  if (plan.valueHeads / plan.heads * plan.values * plan.keys > kMaxStates)
    return Verdict::refuse(
        convolution, Reason::UnsupportedShape,
        "lies in front of states of a key head that no block has "
        "the registers for");
  Conv1dPlan places(dims);
  if (Verdict verdict = places.add(convolution); !verdict.accepted())
    return verdict;
  for (Operation *op : between(convolution, plan.op, group))
    if (Verdict verdict = places.add(op); !verdict.accepted())
      return verdict;
  // Query, key and value have all channels, each one once.
  SmallVector<std::pair<int64_t, int64_t>> runs;
  for (Value operand : {rule.getQuery(), rule.getKey(), rule.getValue()}) {
    if (!places.has(operand))
      return Verdict::refuse(
          convolution, Reason::UnsupportedShape,
          "does not make query, key and value of the recurrence");
    runs.push_back(
        {places.placeOf(operand).begin, places.numChannels(operand)});
  }
  llvm::sort(runs);
  int64_t next = 0;
  for (auto [begin, count] : runs) {
    if (begin != next)
      return Verdict::refuse(
          convolution, Reason::UnsupportedShape,
          "has channels that query, key and value read twice or not "
          "at all");
    next += count;
  }
  return next == convolution.getNumChannels()
             ? Verdict::accept()
             : Verdict::refuse(convolution, Reason::UnsupportedShape,
                               "has channels that nothing reads");
}

void mlir::hk::planHeads(GatedDeltaPlan &plan, ArrayRef<Operation *> members) {
  if (plan.kernel != GatedDeltaKernel::Recurrent)
    return;
  for (Operation *op : members) {
    if (auto convolution = dyn_cast<CausalConv1dOp>(op))
      plan.convolution = convolution;
    else if (op != plan.op && !isElementwise(op) &&
             llvm::any_of(op->getOperands(), [&](Value operand) {
               return static_cast<bool>(plan.resultOf(operand));
             }))
      plan.wholeHeads = true;
  }
  plan.wholeHeads |= static_cast<bool>(plan.convolution);
  if (!plan.wholeHeads)
    return;
  plan.templateName = "RecurrentHeads";
  plan.header = "recurrent_heads";
  for (GatedDeltaTensor &write : plan.writes)
    write = {"finish", write.value, GatedDeltaAccess::Head};
}
