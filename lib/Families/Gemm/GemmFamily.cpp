//===- GemmFamily.cpp - The matrix product family -------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ties match, tiles and emission of matrix products to the family interface.
//
//===----------------------------------------------------------------------===//

#include "GemmPlan.h"

using namespace mlir;
using namespace mlir::hk;

namespace {

class GemmFamily final : public Family {
public:
  FamilyKind getKind() const override { return FamilyKind::gemm; }

  Verdict canStart(Operation *op, const FusionContext &context) const override {
    return canStartGemm(op, context);
  }
  Verdict canJoin(ArrayRef<Operation *> group, Operation *op,
                  const FusionContext &context) const override {
    return canJoinGemm(group, op, context);
  }
  Verdict canTakeIn(ArrayRef<Operation *> group, Operation *op,
                    const FusionContext &context) const override {
    return canTakeInGemm(group, op, context);
  }
  bool takesInForEpilogues() const override { return true; }
  Verdict canMerge(ArrayRef<Operation *>, ArrayRef<Operation *>,
                   const FusionContext &) const override {
    return Verdict::refuse(Reason::OtherFamily,
                           "a kernel computes one product only");
  }
  std::optional<SplitPlan> planSplit(Operation *op, const ::hk::Target &target,
                                     ArrayRef<int64_t> counts,
                                     SizeOf sizeOf) const override {
    if (auto dequantize = dyn_cast<DequantizeOp>(op))
      return planDecoding(dequantize, target, sizeOf);
    auto matmul = dyn_cast<MatmulOp>(op);
    return matmul ? planGemmSplit(matmul, target, counts, sizeOf)
                  : std::nullopt;
  }
  void split(Operation *op, int64_t parts, OpBuilder &builder) const override {
    if (auto dequantize = dyn_cast<DequantizeOp>(op))
      return decodeApart(dequantize);
    splitGemm(cast<MatmulOp>(op), parts, builder);
  }
  LogicalResult addVariants(KernelOp kernel, const ::hk::Target &target,
                            DecisionLog &log) const override {
    return addGemmVariants(kernel, target, log);
  }
  SmallVector<int64_t>
  getSharedThreads(KernelOp kernel, const ::hk::Target &target) const override {
    return gemmSharedThreads(kernel, target);
  }
  double getMicroseconds(KernelOp kernel, VariantOp variant,
                         const ::hk::Target &target,
                         ArrayRef<int64_t> dims) const override {
    return gemmVariantMicroseconds(
        kernel, cast<GemmTileAttr>(variant.getTile()), target, dims);
  }
  int64_t getLeastSent(KernelOp kernel,
                       const ::hk::Target &target) const override {
    return leastSentByGemm(kernel, target);
  }
  bool canSend(KernelOp kernel, VariantOp variant) const override {
    return sendsBoxes(kernel, cast<GemmTileAttr>(variant.getTile()));
  }
  SmallVector<hk_tensor_map_abi>
  getTensorMaps(KernelOp kernel, VariantOp variant) const override {
    return gemmTensorMaps(kernel, cast<GemmTileAttr>(variant.getTile()));
  }
  SmallVector<Reach> getReaches(KernelOp kernel, VariantOp variant,
                                const ::hk::Target &target) const override {
    return gemmReaches(kernel, cast<GemmTileAttr>(variant.getTile()), target);
  }
  LogicalResult emit(KernelOp kernel, const ::hk::Target &target,
                     StringRef prefix, raw_ostream &os) const override {
    return emitGemm(kernel, target, prefix, os);
  }
};

} // namespace

const Family &mlir::hk::getGemmFamily() {
  static const GemmFamily family;
  return family;
}
