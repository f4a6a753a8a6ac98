//===- AttentionFamily.cpp - The attention family -------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel of this family is one hk.attention, several to segments of the keys
// with their hk.attention_combine, each with pointwise operators behind it, or
// one hk.mqa_logits.
//
//===----------------------------------------------------------------------===//

#include "AttentionEpilogue.h"
#include "AttentionPlan.h"
#include "MqaLogits.h"

using namespace mlir;
using namespace mlir::hk;

namespace {

/// Whether there are kernels for `attention` at all.
Verdict checkForm(AttentionOp attention) {
  auto query = cast<RankedTensorType>(attention.getQuery().getType());
  ArrayRef<int64_t> heads = query.getShape().take_back(2);
  int64_t valueDim = attention.getValueSize();
  // Rows are told apart by dividing by the group.
  if (heads[0] == 0 || heads[1] == 0 || valueDim == 0)
    return Verdict::refuse(Reason::UnsupportedShape,
                           "heads and head sizes must not be 0, but got " +
                               Twine(heads[0]) + " heads of " +
                               Twine(heads[1]) + " and values of " +
                               Twine(valueDim));
  if (!multipliedType(attention))
    return Verdict::refuse(Reason::UnsupportedDType,
                           "queries, keys and values must be f32, bf16, f16, "
                           "f8 or i8");
  return Verdict::accept();
}

/// The hk.attention of a group; null: it computes logits.
AttentionOp attentionOf(ArrayRef<Operation *> group) {
  for (Operation *op : group)
    if (auto attention = dyn_cast<AttentionOp>(op))
      return attention;
  return {};
}

/// What the kernel of a group gives: the combination of its segments, if it has
/// several.
Value resultOf(ArrayRef<Operation *> group) {
  for (Operation *op : group)
    if (auto combine = dyn_cast<AttentionCombineOp>(op))
      return combine.getResult();
  return attentionOf(group).getResult();
}

/// Whether a group may become the kernel of the segments that `combine`
/// combines.
Verdict checkJoinedCombine(ArrayRef<Operation *> group,
                           AttentionCombineOp combine,
                           const ::hk::Target &target) {
  Verdict verdict = checkSegments(combine);
  if (!verdict.accepted())
    return verdict;
  SmallVector<Operation *> others;
  for (Value partials : combine.getPartials())
    if (!llvm::is_contained(group, partials.getDefiningOp()))
      others.push_back(partials.getDefiningOp());
  if (others.empty())
    return Verdict::accept();
  verdict = checkSameOrders(group, others);
  if (verdict.accepted())
    verdict = judgeSegments(group, others, target);
  return verdict.accepted()
             ? Verdict::refuse(Reason::NotAnEpilogue,
                               "another kernel computes one of the segments")
             : verdict;
}

/// Whether the result of a group is computed of `op`.
bool standsInFront(Operation *op, ArrayRef<Operation *> group) {
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    return llvm::is_contained(group, user) &&
           (user == resultOf(group).getDefiningOp() ||
            standsInFront(user, group));
  });
}

/// Whether `op`, which reads results of a group, may be computed behind it.
Verdict checkFollowing(ArrayRef<Operation *> group, AttentionOp attention,
                       Operation *op, const FusionContext &context) {
  if (attention.getNumSliceDims() != 0)
    return Verdict::refuse(Reason::NotAnEpilogue,
                           "every block of the attention kernel sees one slice "
                           "of the keys");
  Value result = resultOf(group);
  auto transpose = dyn_cast<TransposeOp>(op);
  if (transpose && transpose.getInput() == result)
    return checkJoinedTranspose(result, transpose);
  Verdict verdict = checkJoinedEpilogue(group, result, op, context.dims);
  return verdict.accepted()
             ? judgeEpilogue(attention, result, op, context.target)
             : verdict;
}

class AttentionFamily final : public Family {
public:
  FamilyKind getKind() const override { return FamilyKind::attention; }

  Verdict canStart(Operation *op, const FusionContext &) const override {
    if (auto logits = dyn_cast<MqaLogitsOp>(op))
      return checkMqaLogits(logits);
    auto attention = dyn_cast<AttentionOp>(op);
    if (!attention)
      return Verdict::refuse(Reason::OtherFamily, "not an attention");
    return checkForm(attention);
  }

  Verdict canJoin(ArrayRef<Operation *> group, Operation *op,
                  const FusionContext &context) const override {
    if (auto combine = dyn_cast<AttentionCombineOp>(op))
      return checkJoinedCombine(group, combine, context.target);
    if (AttentionOp attention = attentionOf(group))
      return checkFollowing(group, attention, op, context);
    return Verdict::refuse(Reason::NotAnEpilogue,
                           "logits are stored as they are");
  }

  Verdict canTakeIn(ArrayRef<Operation *> group, Operation *op,
                    const FusionContext &) const override {
    AttentionOp attention = attentionOf(group);
    if (!attention)
      return Verdict::refuse(Reason::OtherFamily,
                             "logits are made of operands in memory");
    return standsInFront(op, group) ? checkTakenTranspose(attention, op)
                                    : checkTakenEpilogue(op);
  }
  bool takesInForEpilogues() const override { return true; }

  /// Where only the log-sum-exp is read, the attention is computed as well.
  bool storesUnread(OpResult result) const override {
    return result.getResultNumber() == 0;
  }

  Verdict canMerge(ArrayRef<Operation *> a, ArrayRef<Operation *> b,
                   const FusionContext &context) const override {
    if (auto combine = dyn_cast_or_null<AttentionCombineOp>(context.joining)) {
      Verdict verdict = checkSegments(combine);
      if (verdict.accepted())
        verdict = checkSameOrders(a, b);
      return verdict.accepted() ? judgeSegments(a, b, context.target) : verdict;
    }
    return Verdict::refuse(Reason::OtherFamily,
                           "a kernel computes one attention only");
  }

  std::optional<SplitPlan> planSplit(Operation *op, const ::hk::Target &target,
                                     ArrayRef<int64_t> counts,
                                     SizeOf sizeOf) const override {
    auto attention = dyn_cast<AttentionOp>(op);
    return attention && checkForm(attention).accepted()
               ? planAttentionSplit(attention, target, counts, sizeOf)
               : std::nullopt;
  }
  void split(Operation *op, int64_t parts, OpBuilder &builder) const override {
    splitAttention(cast<AttentionOp>(op), parts, builder);
  }

  LogicalResult addVariants(KernelOp kernel, const ::hk::Target &target,
                            DecisionLog &log) const override {
    return isMqaLogits(kernel) ? addMqaLogitsVariants(kernel, target, log)
                               : addAttentionVariants(kernel, target, log);
  }

  SmallVector<hk_tensor_map_abi>
  getTensorMaps(KernelOp kernel, VariantOp variant) const override {
    if (isMqaLogits(kernel))
      return {};
    return attentionTensorMaps(kernel,
                               cast<AttentionTileAttr>(variant.getTile()));
  }

  SmallVector<Reach> getReaches(KernelOp kernel, VariantOp variant,
                                const ::hk::Target &target) const override {
    return isMqaLogits(kernel)
               ? SmallVector<Reach>()
               : attentionReaches(kernel,
                                  cast<AttentionTileAttr>(variant.getTile()),
                                  target);
  }

  SmallVector<int64_t>
  getSharedThreads(KernelOp kernel, const ::hk::Target &target) const override {
    return attentionSharedThreads(kernel, target);
  }
  double getMicroseconds(KernelOp kernel, VariantOp variant,
                         const ::hk::Target &target,
                         ArrayRef<int64_t> dims) const override {
    return attentionVariantMicroseconds(kernel, variant, target, dims);
  }

  double getUnitShare(KernelOp kernel, VariantOp variant,
                      const ::hk::Target &target,
                      ArrayRef<int64_t> dims) const override {
    return attentionVariantUnitShare(kernel, variant, target, dims);
  }

  LogicalResult emit(KernelOp kernel, const ::hk::Target &target,
                     StringRef prefix, raw_ostream &os) const override {
    return isMqaLogits(kernel) ? emitMqaLogits(kernel, prefix, os)
                               : emitAttention(kernel, target, prefix, os);
  }
};

} // namespace

const Family &mlir::hk::getAttentionFamily() {
  static const AttentionFamily family;
  return family;
}
