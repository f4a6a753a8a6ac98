//===- ExpandExchanges.cpp - Exchanges that an engine lacks ---------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Libraries of collectives between GPUs add in an order of their own, round as
// they go, know one type for inputs and results, and lose NaNs of extremes.
// What means something else is an exchange of the parts, which are then reduced
// on this rank, in a kernel with what follows. A sum that such a kernel
// exchanges itself stays what it is. Rows by counts are, on every target, an
// exchange of equal parts.
//
//===----------------------------------------------------------------------===//

#include "ExpandRowExchange.h"
#include "hk/Contract/Capability.h"
#include "hk/Dialect/HK.h"
#include "hk/Families/KernelExchange.h"
#include "hk/Passes/Passes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKEXPANDEXCHANGES
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

namespace {
struct HKExpandExchanges
    : ::mlir::hk::impl::HKExpandExchangesBase<HKExpandExchanges> {
  using HKExpandExchangesBase::HKExpandExchangesBase;
  void runOnOperation() override;
};
} // namespace

/// `value` as the only slice of a tensor with one dim more, in front.
static Value asSlice(OpBuilder &b, Location loc, Value value) {
  RankedTensorType type = tensorType(value);
  SmallVector<int64_t> shape{1};
  llvm::append_range(shape, type.getShape());
  SmallVector<OpFoldResult> sizes{b.getIndexAttr(1)};
  llvm::append_range(sizes, tensor::getMixedSizes(b, loc, value));
  SmallVector<ReassociationIndices> groups;
  if (type.getRank() > 0)
    groups.push_back({0, 1});
  for (int64_t d = 1; d < type.getRank(); ++d)
    groups.push_back({d + 1});
  return tensor::ExpandShapeOp::create(b, loc, type.clone(shape), value, groups,
                                       sizes);
}

/// The parts that this rank reduces, one slice for each rank, in order.
static Value exchangeSlices(OpBuilder &b, CollectiveOpInterface op,
                            const Exchange &exchange, int64_t ranks) {
  Location loc = op->getLoc();
  Value slice = asSlice(b, loc, op->getOperand(0));
  SmallVector<int64_t> shape(tensorType(slice).getShape());
  shape[0] = ranks;
  if (!exchange.split)
    return AllGatherOp::create(b, loc, tensorType(slice).clone(shape), slice,
                               op.getAxis(), /*dim=*/0);
  int64_t split = *exchange.split + 1;
  if (!ShapedType::isDynamic(shape[split]))
    shape[split] /= ranks;
  return AllToAllOp::create(b, loc, tensorType(slice).clone(shape), slice,
                            op.getAxis(), uint64_t(split), /*concat=*/0);
}

/// Slice `index`, without its dim.
static Value sliceOf(OpBuilder &b, Location loc, Value slices, int64_t index) {
  RankedTensorType type = tensorType(slices);
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, slices);
  SmallVector<OpFoldResult> offsets(sizes.size(), b.getIndexAttr(0)),
      strides(sizes.size(), b.getIndexAttr(1));
  offsets[0] = b.getIndexAttr(index);
  sizes[0] = b.getIndexAttr(1);
  return tensor::ExtractSliceOp::create(
      b, loc, type.clone(type.getShape().drop_front()), slices, offsets, sizes,
      strides);
}

/// The larger or smaller of all slices, or the sum of integers, which wraps.
static Value reduceSlices(OpBuilder &b, Location loc, ReduceKind kind,
                          Value slices) {
  Value result = sliceOf(b, loc, slices, 0);
  for (int64_t i = 1, n = tensorType(slices).getDimSize(0); i < n; ++i) {
    Value next = sliceOf(b, loc, slices, i);
    Type type = result.getType();
    switch (kind) {
    case ReduceKind::max:
      result = MaxOp::create(b, loc, type, result, next);
      break;
    case ReduceKind::min:
      result = MinOp::create(b, loc, type, result, next);
      break;
    default:
      result = AddOp::create(b, loc, type, result, next);
    }
  }
  return result;
}

static void expand(CollectiveOpInterface op, const Exchange &exchange,
                   int64_t ranks) {
  OpBuilder b(op);
  Location loc = op->getLoc();
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Value slices = exchangeSlices(b, op, exchange, ranks), result;
  bool isReal = isa<FloatType>(type.getElementType());
  if (isReal && *exchange.reduction == ReduceKind::sum) {
    result = SumSlicesOp::create(b, loc, type, slices);
  } else {
    result = reduceSlices(b, loc, *exchange.reduction, slices);
    if (result.getType() != type)
      result = CastOp::create(b, loc, type, result);
  }
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

void HKExpandExchanges::runOnOperation() {
  ModuleOp module = getOperation();
  const ::hk::Target *target = targetOf(module);
  if (!target || !meshOf(module))
    return;
  module.walk([&](AllToAllRowsOp op) {
    expandRowExchange(op);
    ++numExpanded;
  });
  if (::hk::reducesRanksAsMeant(*target))
    return;
  module.walk([&](CollectiveOpInterface op) {
    auto sum = dyn_cast<AllReduceOp>(op.getOperation());
    if (isOfEngine(op) || (sum && judgeKernelExchange(sum, *target).accepted()))
      return;
    expand(op, op.getExchange(), ranksOf(op));
    ++numExpanded;
  });
}
