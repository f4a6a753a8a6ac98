//===- PadDepth.cpp - Rows that the copy engine reads ---------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows along k of 3,001 elements begin anywhere, and the copy engine reads none
// of them; threads copy an element or some at a time, for every tile anew. With
// zeros behind their end rows begin where it reads, and the sums are the same:
// a copy of both operands costs less than that. Measured on an H200
// (benchmarks/results/h200-gemm-2.md).
//
//===----------------------------------------------------------------------===//

#include "hk/Analysis/Alignment.h"
#include "hk/Analysis/LoopMaps.h"
#include "hk/Contract/Capability.h"
#include "hk/Dialect/HK.h"
#include "hk/Passes/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKPADDEPTH
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

namespace {
struct HKPadDepth : ::mlir::hk::impl::HKPadDepthBase<HKPadDepth> {
  void runOnOperation() override;
};
} // namespace

/// Elements of 16 bits in 16 bytes.
static constexpr int64_t kAlignedElements = 8;
/// Up to so many rows a matrix is read once or twice, and pairs of elements
/// come as quickly as a copy would be made (27 us and 30 of 5000 x 3002).
static constexpr int64_t kFewRows = 16;
/// Elements of a matrix that are read one by one, and multiplications, from
/// which on two launches more are worth it: 1 row of 5000 x 77 took 3.7 us and
/// 9.2 padded, 300 rows of 512 x 77 took 4.6 and 4.0.
static constexpr int64_t kLeastElements = int64_t(1) << 20,
                         kLeastProducts = int64_t(1) << 23;

/// Whether both operands run along k: the right one, which may be codes that
/// the product decodes where it computes them, as it is given, the left one as
/// it is computed.
static bool isOfRows(MatmulOp product) {
  Operation *lhs = rootOfViews(product.getLhs()).getDefiningOp(),
            *rhs = rootOfViews(product.getRhs()).getDefiningOp();
  Type a = getElementTypeOrSelf(product.getLhs().getType()),
       b = getElementTypeOrSelf(product.getRhs().getType());
  return a == b && (a.isBF16() || a.isF16()) && !product.getTransposeA() &&
         product.getTransposeB() && !product.getKSlices() &&
         !product.getLhsScale() && !product.getRhsScale() && !rhs &&
         !(lhs && isMovement(lhs));
}

/// Whether padded operands are quicker. An unknown number counts as many.
static bool pays(MatmulOp product, int64_t depth) {
  RankedTensorType lhs = tensorType(product.getLhs()),
                   rhs = tensorType(product.getRhs());
  int64_t rows = lhs.getDimSize(lhs.getRank() - 2),
          columns = rhs.getDimSize(rhs.getRank() - 2);
  if (ShapedType::isDynamic(columns))
    return true;
  int64_t elements = columns * depth;
  if (depth % 2 != 0 && elements >= kLeastElements)
    return true;
  if (ShapedType::isDynamic(rows))
    return elements >= kLeastElements;
  return rows > kFewRows && elements * rows >= kLeastProducts;
}

static bool isPaddable(MatmulOp product) {
  if (!isOfRows(product))
    return false;
  int64_t depth = tensorType(product.getLhs()).getShape().back();
  if (ShapedType::isDynamic(depth) || depth % kAlignedElements == 0)
    return false;
  bool aligned = guaranteedAlignment(product.getLhs()) >= 16 &&
                 guaranteedAlignment(product.getRhs()) >= 16;
  return !aligned && pays(product, depth);
}

static void pad(MatmulOp product) {
  OpBuilder builder(product);
  auto padded = [&](Value value) -> Value {
    RankedTensorType type = tensorType(value);
    SmallVector<int64_t> shape(type.getShape());
    shape.back() = llvm::alignTo(shape.back(), kAlignedElements);
    return PadOp::create(builder, product.getLoc(), type.clone(shape), value,
                         FloatAttr());
  };
  product.getLhsMutable().assign(padded(product.getLhs()));
  product.getRhsMutable().assign(padded(product.getRhs()));
}

void HKPadDepth::runOnOperation() {
  const ::hk::Target *target = requireTarget(getOperation());
  if (!target)
    return signalPassFailure();
  if (!::hk::hasCopyEngine(*target))
    return;
  SmallVector<MatmulOp> products;
  getOperation().walk([&](MatmulOp product) {
    if (isPaddable(product))
      products.push_back(product);
  });
  llvm::for_each(products, pad);
  numPadded += static_cast<int64_t>(products.size());
}
