//===- Conv1dFamily.cpp - The causal convolution family -------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ties match, tiles and emission of convolutions to the family interface.
//
//===----------------------------------------------------------------------===//

#include "Conv1dPlan.h"

using namespace mlir;
using namespace mlir::hk;

namespace {

class Conv1dFamily final : public Family {
public:
  FamilyKind getKind() const override { return FamilyKind::conv1d; }

  Verdict canStart(Operation *op, const FusionContext &context) const override {
    return Conv1dPlan(context.dims).add(op);
  }
  Verdict canJoin(ArrayRef<Operation *> group, Operation *op,
                  const FusionContext &context) const override {
    Conv1dPlan kernel(context.dims);
    for (Operation *member : group)
      if (Verdict verdict = kernel.add(member); !verdict.accepted())
        return verdict;
    return kernel.add(op);
  }
  Verdict canMerge(ArrayRef<Operation *>, ArrayRef<Operation *>,
                   const FusionContext &) const override {
    return Verdict::refuse(Reason::OtherFamily,
                           "a kernel computes one convolution only");
  }
  LogicalResult addVariants(KernelOp kernel, const ::hk::Target &target,
                            DecisionLog &log) const override {
    return addConv1dVariants(kernel, target, log);
  }
  LogicalResult emit(KernelOp kernel, const ::hk::Target &target,
                     StringRef prefix, raw_ostream &os) const override {
    return emitConv1d(kernel, target, prefix, os);
  }
};

} // namespace

const Family &mlir::hk::getConv1dFamily() {
  static const Conv1dFamily family;
  return family;
}
