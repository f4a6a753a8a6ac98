//===- GemmSplit.cpp - Slices of k for more blocks ------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With few rows a product has fewer tiles than the chip has compute units, and
// each of them walks the whole of k. Slices of k make more blocks with less to
// walk; their f32 results cost memory traffic and, unless a row-wise kernel
// follows anyway, a launch.
//
//===----------------------------------------------------------------------===//

#include "GemmPlan.h"

#include "hk/Analysis/Alignment.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::hk;

/// sm_90a: beside some hundred rows of a dynamic number, whose time is modelled
/// for the most of a range. With 0.85 products of few columns took 0.97 of the
/// time that they took with 0.75 (an H200, benchmarks/results/h200-gemm.md).
static constexpr double kWorthwhileBesideClusters = 0.85;
static constexpr int64_t kFewRows = 64;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static bool isInteger(MatmulOp op) {
  return getElementTypeOrSelf(op.getLhs().getType()).isInteger(8);
}

static GemmPlan productOf(MatmulOp op) {
  GemmPlan gemm;
  gemm.matmul = op;
  return gemm;
}

static bool hasScales(MatmulOp op) {
  return op.getLhsScale() || op.getRhsScale();
}

/// Integer sums are exact; they stay so when scales of whole sums wait for all
/// slices.
static bool scalesAfterSum(MatmulOp op) {
  return isInteger(op) && hasScales(op) && !productOf(op).hasScaleAlongK();
}

static bool isOneElement(Value scale) {
  if (!scale)
    return true;
  auto type = cast<RankedTensorType>(scale.getType());
  return type.hasStaticShape() && type.getNumElements() == 1;
}

namespace {
class SplitModel {
public:
  SplitModel(MatmulOp op, const ::hk::Target &target, SizeOf sizeOf)
      : op(op), target(target), dims(gemmDims(op)) {
    shape =
        shapeClassOf(productOf(op), target, guaranteedAlignment(op.getLhs()),
                     guaranteedAlignment(op.getRhs()));
    ArrayRef<int64_t> lhs = shapeOf(op.getLhs());
    size.m = sizeOf({op.getLhs(), dims.row});
    size.k = depth();
    size.n = shapeOf(op.getRhs())[op.getRhsDim(MatmulDim::N)];
    size.batches = 1;
    onlyRowsUnknown =
        llvm::none_of(llvm::ArrayRef{size.k, size.n}, ShapedType::isDynamic);
    for (int64_t dim : dims.batch) {
      onlyRowsUnknown &= !ShapedType::isDynamic(lhs[dim]);
      size.batches *= lhs[dim];
    }
    known = onlyRowsUnknown && !ShapedType::isDynamic(size.m);
    size.bytesA = bytesOf(op.getLhs());
    size.bytesB = bytesOf(op.getRhs());
    size.bytesOut = bytesOf(op.getResult());
    ownLaunch = !feedsRowKernel(op.getResult());
  }

  /// Whether every size that the model needs is static.
  bool isKnown() const { return known; }
  int64_t rows() const { return size.m; }
  /// The number of rows, where that is all that is not.
  std::optional<TensorDim> unknownRows() const {
    if (known || !onlyRowsUnknown)
      return std::nullopt;
    return TensorDim{op.getLhs(), dims.row};
  }

  /// Whether it is one of more than a few dynamic rows on sm_90a.
  bool isOfClusters() const {
    return ::hk::hasCopyEngine(target) && known && size.m > kFewRows &&
           ShapedType::isDynamic(shapeOf(op.getLhs())[dims.row]);
  }

  double microseconds(int64_t parts) const {
    ::hk::GemmSize part = size;
    if (parts == 1)
      return leastTime(part);
    part.k = ::hk::sliceLength(size.k, parts);
    part.batches = size.batches * parts;
    part.bytesOut = 4;
    double elements = double(size.batches) * double(size.m) * double(size.n);
    return leastTime(part) +
           ::hk::combineMicroseconds(
               target, parts, elements * (4.0 * double(parts) + size.bytesOut),
               ownLaunch);
  }

private:
  int64_t depth() { return shapeOf(op.getLhs())[op.getLhsDim(MatmulDim::K)]; }

  /// With the best tile that fits; of a dynamic number of rows with the best
  /// for those that the kernel's tile is chosen for.
  double leastTime(const ::hk::GemmSize &part) const {
    ::hk::GemmSize typical = part;
    if (ShapedType::isDynamic(shapeOf(op.getLhs())[dims.row]))
      typical.m = typicalRows(target, shape, part.m);
    double least = 0, time = 0;
    ::hk::GemmTileTable table = ::hk::gemmTiles(target);
    for (const ::hk::GemmTileRow &row : ArrayRef(table.rows, table.size)) {
      ::hk::GemmTile tile = ::hk::tileOf(row, target, shape);
      if (!::hk::gemmTileFits(row, target, shape) ||
          !::hk::gemmTileTakes(row, target, shape, part) ||
          ::hk::gemmLds(target, tile, shape) > target.ldsBytes)
        continue;
      double chosen = ::hk::gemmMicroseconds(target, tile, shape, typical);
      if (least != 0 && chosen >= least)
        continue;
      least = chosen;
      time = ::hk::gemmMicroseconds(target, tile, shape, part);
    }
    return time;
  }

  mutable MatmulOp op;
  const ::hk::Target &target;
  GemmDims dims;
  ::hk::GemmShapeClass shape;
  ::hk::GemmSize size;
  bool known, onlyRowsUnknown, ownLaunch;
};
} // namespace

std::optional<SplitPlan> mlir::hk::planGemmSplit(MatmulOp op,
                                                 const ::hk::Target &target,
                                                 ArrayRef<int64_t> counts,
                                                 SizeOf sizeOf) {
  int64_t k = shapeOf(op.getLhs())[op.getLhsDim(MatmulDim::K)];
  // Column scales of batches would need a transposition of their own.
  if (op.getKSlices() || !verdictOf(op).accepted() ||
      (scalesAfterSum(op) && !isOneElement(op.getRhsScale()) &&
       shapeOf(op.getRhsScale()).size() > 2) ||
      (!ShapedType::isDynamic(k) && ::hk::filledSlices(k, 2) < 2))
    return std::nullopt;
  SplitModel model(op, target, sizeOf);
  if (model.isKnown() && streamsCodes(op, target, model.rows()))
    return std::nullopt;
  SplitPlan plan;
  plan.what = "k";
  // Thousands of rows of few columns have few tiles, too.
  plan.mostRows = 4096;
  if (model.isOfClusters())
    plan.worthwhile = kWorthwhileBesideClusters;
  if (!model.isKnown()) {
    plan.known = Verdict::refuse(
        Reason::SizeUnknown,
        "slices of k pay with few rows only, and a size is dynamic");
    plan.rows = model.unknownRows();
  }
  auto add = [&](int64_t parts) {
    plan.candidates.push_back(
        {parts, model.isKnown() ? model.microseconds(parts) : 0});
  };
  add(1);
  for (int64_t count : counts) {
    int64_t parts =
        ShapedType::isDynamic(k) ? count : ::hk::filledSlices(k, count);
    if (parts > plan.candidates.back().parts)
      add(parts);
  }
  return plan;
}

/// sum * lhs_scale * rhs_scale.
static Value applyScales(MatmulOp op, Value sum, OpBuilder &b) {
  Location loc = op.getLoc();
  Value rows = op.getLhsScale(), columns = op.getRhsScale();
  if (!columns)
    return MulOp::create(b, loc, op.getType(), sum, rows);
  if (!isOneElement(columns)) // [N, 1]: along the last dim of the sum
    columns = tensor::CollapseShapeOp::create(
        b, loc, columns, ArrayRef<ReassociationIndices>{{0, 1}});
  if (rows)
    sum = MulOp::create(b, loc, sum.getType(), sum, rows);
  return MulOp::create(b, loc, op.getType(), sum, columns);
}

void mlir::hk::splitGemm(MatmulOp op, int64_t parts, OpBuilder &builder) {
  auto type = cast<RankedTensorType>(op.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin(), parts);
  bool scaleLater = scalesAfterSum(op);
  bool exact = isInteger(op) && (scaleLater || !hasScales(op));
  Type f32 = builder.getF32Type();
  builder.setInsertionPoint(op);
  auto partial = MatmulOp::create(
      builder, op.getLoc(),
      RankedTensorType::get(shape, exact ? builder.getI32Type() : f32),
      op.getLhs(), op.getRhs(), scaleLater ? Value() : op.getLhsScale(),
      scaleLater ? Value() : op.getRhsScale(), op.getTransposeAAttr(),
      op.getTransposeBAttr(), builder.getI64IntegerAttr(parts),
      op.getAccumulationAttr());
  Value result = SumSlicesOp::create(
      builder, op.getLoc(),
      scaleLater ? RankedTensorType::get(type.getShape(), f32) : type,
      partial.getResult());
  if (scaleLater)
    result = applyScales(op, result, builder);
  op.getResult().replaceAllUsesWith(result);
  op.erase();
}
