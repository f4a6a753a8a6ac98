//===- FamilyRegistry.cpp - The list of families --------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An explicit list, no static constructors: the order is the order in which
// fusion asks.
//
//===----------------------------------------------------------------------===//

#include "hk/Families/Family.h"

#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace mlir::hk;

namespace {
/// Accepts single operators of the families whose folders have not landed yet,
/// and chains of row-wise operators of equal shape; it has neither tiles nor
/// kernels.
class ProvisionalFamily final : public Family {
public:
  explicit ProvisionalFamily(FamilyKind kind) : kind(kind) {}
  FamilyKind getKind() const override { return kind; }

  Verdict canStart(Operation *op, const FusionContext &) const override {
    bool fits = kind == FamilyKind::rowwise ? isa<RowwiseOpInterface>(op)
                : kind == FamilyKind::gemm  ? isa<MatmulOp>(op)
                                            : isa<AttentionOp>(op);
    return fits ? Verdict::accept()
                : Verdict::refuse(Reason::OtherFamily, "another family's");
  }
  Verdict canJoin(ArrayRef<Operation *> group, Operation *op,
                  const FusionContext &context) const override {
    if (kind != FamilyKind::rowwise)
      return Verdict::refuse(Reason::NotAnEpilogue, "single operators only");
    if (!isa<RowwiseOpInterface, tensor::ExtractSliceOp, tensor::ExpandShapeOp,
             tensor::CollapseShapeOp>(op))
      return Verdict::refuse(Reason::OtherFamily, "not row-wise");
    return sameRows(group, op, context);
  }
  Verdict canMerge(ArrayRef<Operation *> a, ArrayRef<Operation *> b,
                   const FusionContext &context) const override {
    if (kind != FamilyKind::rowwise)
      return Verdict::refuse(Reason::OtherFamily, "single operators only");
    return sameRows(a, b.front(), context);
  }
  LogicalResult addVariants(KernelOp kernel, const ::hk::Target &,
                            DecisionLog &) const override {
    return kernel.emitOpError("its family has no tiles in this build");
  }
  LogicalResult emit(KernelOp kernel, const ::hk::Target &, StringRef,
                     raw_ostream &) const override {
    return kernel.emitOpError("its family has no kernels in this build");
  }

private:
  static Verdict sameRows(ArrayRef<Operation *> group, Operation *op,
                          const FusionContext &context) {
    auto rows = [&](Operation *o) -> std::optional<DimName> {
      Value value = isa<KVCacheWriteOp>(o) ? o->getOperand(0) : o->getResult(0);
      ArrayRef<DimName> shape = context.dims.shape(value);
      if (shape.empty())
        return std::nullopt;
      return shape.front();
    };
    if (rows(group.front()) != rows(op))
      return Verdict::refuse(Reason::RowDimsDiffer, "the first dims differ");
    return Verdict::accept();
  }
  FamilyKind kind;
};
} // namespace

ArrayRef<const Family *> mlir::hk::allFamilies() {
  static const ProvisionalFamily gemm(FamilyKind::gemm);
  static const Family *const list[] = {&getRowwiseFamily(), &gemm,
                                       &getAttentionFamily()};
  return list;
}

const Family &mlir::hk::familyOf(FamilyKind kind) {
  for (const Family *family : allFamilies())
    if (family->getKind() == kind)
      return *family;
  llvm_unreachable("every family kind is registered");
}
