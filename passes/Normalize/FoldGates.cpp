//===- FoldGates.cpp - Gates over the halves of one tensor ----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// act(first half) * second half, as models write it behind a merged gate and up
// projection, is hk.gated_activation. As one operator it needs no view of the
// product, so the product computes it behind its tile.
//
//===----------------------------------------------------------------------===//

#include "Fusion/PrepareBlock.h"
#include "LoggedPass.h"
#include "hk/Analysis/DimSymbols.h"
#include "hk/Analysis/Gates.h"
#include "hk/Dialect/HK.h"
#include "hk/Passes/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKFOLDGATES
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

namespace {
struct HKFoldGates
    : LoggedPass<::mlir::hk::impl::HKFoldGatesBase<HKFoldGates>> {
  using LoggedPass::LoggedPass;

  void runOnOperation() override;

private:
  void fold(Block &block, DecisionLog &decisions);
};
} // namespace

/// The tensor of whose last dim `value` is the first (second) half; null if it
/// is none.
static Value halvedBy(Value value, bool second, const DimSymbols &dims) {
  auto slice = value.getDefiningOp<tensor::ExtractSliceOp>();
  if (!slice || !slice.hasUnitStride() || slice.getType().getRank() == 0 ||
      slice.getType().getRank() != slice.getSourceType().getRank())
    return nullptr;
  ArrayRef<DimName> whole = dims.shape(slice.getSource()),
                    part = dims.shape(slice.getResult());
  int64_t size = slice.getType().getShape().back();
  if (ShapedType::isDynamic(size) || whole.back() != 2 * size ||
      whole.drop_back() != part.drop_back() ||
      !llvm::all_of(slice.getStaticOffsets().drop_back(),
                    [](int64_t offset) { return offset == 0; }) ||
      slice.getStaticOffsets().back() != (second ? size : 0))
    return nullptr;
  return slice.getSource();
}

/// The gated activation that `op` is, in its place; null if it is none.
static GatedActivationOp foldGate(MulOp op, const DimSymbols &dims) {
  for (const Gate &gate : gatesOf(op)) {
    Value source = halvedBy(gate.gate, /*second=*/false, dims);
    if (!source || source != halvedBy(gate.up, /*second=*/true, dims))
      continue;
    OpBuilder builder(op);
    return GatedActivationOp::create(builder, op.getLoc(), op.getType(),
                                     gate.kind, source, FloatAttr(),
                                     /*round_before_up=*/true,
                                     /*interleaved=*/false);
  }
  return nullptr;
}

/// That `op` and its activation became `gated`.
static Decision decisionOf(MulOp op, GatedActivationOp gated) {
  Candidate made{("become " + gated->getName().getStringRef()).str(),
                 Verdict::accept()};
  made.why =
      "it multiplies the activation of one half of a tensor by the other";
  for (Value factor : op->getOperands())
    if (Operation *def = factor.getDefiningOp();
        def && !isa<tensor::ExtractSliceOp>(def))
      made.partner = def->getLoc();
  return {DecisionKind::Fuse,
          op.getLoc(),
          op->getName().getStringRef().str(),
          {std::move(made)},
          /*chosen=*/0};
}

void HKFoldGates::fold(Block &block, DecisionLog &decisions) {
  DimSymbols dims(block);
  for (MulOp op : llvm::make_early_inc_range(block.getOps<MulOp>()))
    if (GatedActivationOp gated = foldGate(op, dims)) {
      decisions.add(decisionOf(op, gated));
      dims.alias(op.getResult(), gated.getResult());
      op.getResult().replaceAllUsesWith(gated.getResult());
      ++numFolded;
    }
  eraseUnused(block);
}

void HKFoldGates::runOnOperation() {
  for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
    // Other functions are an error of hk-fuse.
    if (!function.isExternal() && function.getBody().hasOneBlock())
      fold(function.getBody().front(), log());
}

std::unique_ptr<Pass> mlir::hk::createHKFoldGates(DecisionLog &log) {
  return std::make_unique<HKFoldGates>(log);
}
