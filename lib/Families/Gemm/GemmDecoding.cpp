//===- GemmDecoding.cpp - Codes decoded once, or by every block -----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product that decodes its right operand does so once for every tile of rows:
// with few rows the codes are all that is read, with many they are decoded over
// and over, in loops that multiply at a third of the chip's rate. From some
// hundred rows on a launch in front decodes them once, to memory, and the
// product copies what that made straight into LDS. The numbers are the same.
//
//===----------------------------------------------------------------------===//

#include "GemmPlan.h"

#include "hk/Analysis/Alignment.h"
#include "hk/Contract/Capability.h"
#include "hk/Dialect/Apart.h"

using namespace mlir;
using namespace mlir::hk;

/// Most bytes that are decoded to memory: it is the function's for the time of
/// two launches.
static constexpr int64_t kMostDecodedBytes = int64_t(1) << 30;
/// Rows that an unknown number of them is taken for, and of which a version for
/// few rows ends at a multiple: a tile of streamed_codes has as many.
static constexpr int64_t kManyRows = 4096, kStepOfRows = 32;
/// How much longer than modelled tiles take that decode beside their products,
/// with so many multiply-adds and more, where power limits the chip (1,024 rows
/// by 28672 x 4096 of 8 bits on an H200: 458 us).
static constexpr double kManyDecoded = 1.25, kManyMultiplyAdds = 3.2e10;
/// Measured on an H200 (benchmarks/results/h200-gemm-2.md): of the memory's
/// rate, what a launch that decodes reads and writes; codes that a unit, and a
/// thread of a block, decodes in `blocks` in a microsecond.
static constexpr double kDecodingMemory = 0.8, kCodesOfUnit = 8900,
                        kCodesOfThread = 38;

/// The product whose right operand `op` makes and nobody else reads, if its
/// codes may be decoded apart.
static MatmulOp productOfCodes(DequantizeOp op, const ::hk::Target &target) {
  RankedTensorType type = op.getType();
  auto module = op->getParentOfType<ModuleOp>();
  if (!::hk::hasCopyEngine(target) || type.getRank() != 2 ||
      !type.hasStaticShape() || !type.getElementType().isFloat() ||
      type.getElementTypeBitWidth() != 16 || !op->hasOneUse() || !module ||
      module->hasAttr(kGemmLoopAttrName) ||
      type.getNumElements() > kMostDecodedBytes / 2)
    return {};
  auto product = dyn_cast<MatmulOp>(*op->user_begin());
  bool reads = product && product.getRhs() == op.getResult() &&
               product->getBlock() == op->getBlock();
  if (!reads || product.getKSlices() || !gemmDims(product).batch.empty())
    return {};
  // Rows that begin elsewhere are not copied straight into LDS.
  bool aligned = guaranteedAlignment(product.getLhs()) >= 16 &&
                 guaranteedAlignment(op.getResult()) >= 16;
  return aligned ? product : MatmulOp();
}

namespace {
/// Times of both ways.
class DecodingModel {
public:
  DecodingModel(DequantizeOp op, MatmulOp product, const ::hk::Target &target)
      : target(target) {
    plain.matmul = product;
    fused = plain;
    fused.decoders[int(GemmSide::Rhs)] = op;
    double elements = double(op.getType().getNumElements());
    double codes = ::hk::info(fused.operand(GemmSide::Rhs).type()).bits / 8.0;
    decoding =
        target.launchMicroseconds +
        elements * (codes + 2) / (target.memoryGBps * 1e3 * kDecodingMemory);
  }

  bool isLegal() const { return hasLegalTile(fused, target); }
  /// The model chooses a tile with less exact times than these.
  double inProduct(int64_t rows) const {
    ModelledProduct product = quickestProduct(fused, target, rows);
    const ::hk::GemmTile &tile = product.tile;
    double multiplyAdds =
        double(rows) * double(product.size.n) * double(product.size.k);
    if (tile.loop == ::hk::GemmLoop::Swapped &&
        multiplyAdds >= kManyMultiplyAdds)
      return product.microseconds * kManyDecoded;
    if (tile.loop != ::hk::GemmLoop::Blocks)
      return product.microseconds;
    double codes = double(tile.bn) * double(product.size.k);
    double blocks =
        ::hk::gemmBlocks(target, tile, product.shape, product.size).blocks;
    return std::max(
        {product.microseconds,
         blocks * codes / (target.computeUnits * kCodesOfUnit),
         codes / (kCodesOfThread * ::hk::gemmThreads(target, tile))});
  }
  bool streams(int64_t rows) const {
    return quickestProduct(fused, target, rows).tile.loop !=
           ::hk::GemmLoop::Blocks;
  }
  double apart(int64_t rows) const {
    return decoding + quickestProduct(plain, target, rows).microseconds;
  }
  bool paysApart(int64_t rows) const {
    return apart(rows) < SplitPlan().worthwhile * inProduct(rows);
  }

private:
  const ::hk::Target &target;
  GemmPlan plain, fused;
  double decoding;
};
} // namespace

std::optional<SplitPlan> mlir::hk::planDecoding(DequantizeOp op,
                                                const ::hk::Target &target,
                                                SizeOf sizeOf) {
  MatmulOp product = productOfCodes(op, target);
  if (!product || !verdictOf(product).accepted())
    return std::nullopt;
  DecodingModel model(op, product, target);
  if (!model.isLegal())
    return std::nullopt;
  SplitPlan plan;
  plan.what = "codes";
  plan.instead = "a launch of its own";
  plan.mostRows = kManyRows;
  int64_t row = gemmDims(product).row;
  int64_t rows = sizeOf({product.getLhs(), row});
  if (ShapedType::isDynamic(rows)) {
    plan.rows = TensorDim{product.getLhs(), row};
    plan.forMany = true;
    rows = kManyRows;
    for (int64_t few = kStepOfRows; few <= kManyRows; few += kStepOfRows)
      if (model.paysApart(few)) {
        plan.limit = few - kStepOfRows;
        break;
      }
  }
  plan.candidates = {{1, model.inProduct(rows)}, {2, model.apart(rows)}};
  return plan;
}

bool mlir::hk::streamsCodes(MatmulOp product, const ::hk::Target &target,
                            int64_t rows) {
  auto op = product.getRhs().getDefiningOp<DequantizeOp>();
  if (!op || isApart(op) || productOfCodes(op, target) != product)
    return false;
  DecodingModel model(op, product, target);
  return model.isLegal() && model.streams(rows) && !model.paysApart(rows);
}

void mlir::hk::decodeApart(DequantizeOp op) {
  op->setAttr(kApartAttrName, UnitAttr::get(op.getContext()));
  // What it makes lives until the product has read it, and no longer.
  op->moveBefore(*op->user_begin());
}
