//===- AttentionBackwardFamily.cpp - The family of attention's gradients ===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel of this family is one hk.attention_backward. What makes its
// operands, delta among them, and what reads its results are kernels of their
// own.
//
//===----------------------------------------------------------------------===//

#include "AttentionBackwardPlan.h"

using namespace mlir;
using namespace mlir::hk;

namespace {

/// Whether there are kernels for `op` at all.
Verdict checkForm(AttentionBackwardOp op) {
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  auto value = cast<RankedTensorType>(op.getValue().getType());
  ArrayRef<int64_t> heads = query.getShape().take_back(2);
  int64_t valueDim = value.getShape().back();
  // Rows are told apart by dividing by the group.
  if (heads[0] == 0 || heads[1] == 0 || valueDim == 0)
    return Verdict::refuse(Reason::UnsupportedShape,
                           "heads and head sizes must not be 0, but got " +
                               Twine(heads[0]) + " heads of " +
                               Twine(heads[1]) + " and values of " +
                               Twine(valueDim));
  return Verdict::accept();
}

class AttentionBackwardFamily final : public Family {
public:
  FamilyKind getKind() const override { return FamilyKind::attention_backward; }

  Verdict canStart(Operation *op, const FusionContext &) const override {
    auto backward = dyn_cast<AttentionBackwardOp>(op);
    if (!backward)
      return Verdict::refuse(Reason::OtherFamily,
                             "not the gradients of an attention");
    return checkForm(backward);
  }

  Verdict canJoin(ArrayRef<Operation *>, Operation *,
                  const FusionContext &) const override {
    return Verdict::refuse(Reason::NotAnEpilogue,
                           "kernels of attention's gradients have no epilogue");
  }

  Verdict canMerge(ArrayRef<Operation *>, ArrayRef<Operation *>,
                   const FusionContext &) const override {
    return Verdict::refuse(Reason::OtherFamily,
                           "a kernel computes one attention's gradients only");
  }

  LogicalResult addVariants(KernelOp kernel, const ::hk::Target &target,
                            DecisionLog &log) const override {
    return addAttentionBackwardVariants(kernel, target, log);
  }

  SmallVector<hk_tensor_map_abi>
  getTensorMaps(KernelOp kernel, VariantOp variant) const override {
    return attentionBackwardTensorMaps(
        kernel, cast<AttentionBackwardTileAttr>(variant.getTile()));
  }

  SmallVector<OwnMemory> getOrderedSums(KernelOp kernel,
                                        const ::hk::Target &target,
                                        OpBuilder &builder,
                                        ValueRange symbols) const override {
    return attentionBackwardSums(kernel, target, builder, symbols);
  }

  LogicalResult emit(KernelOp kernel, const ::hk::Target &, StringRef prefix,
                     raw_ostream &os) const override {
    return emitAttentionBackward(kernel, prefix, os);
  }
};

} // namespace

const Family &mlir::hk::getAttentionBackwardFamily() {
  static const AttentionBackwardFamily family;
  return family;
}
