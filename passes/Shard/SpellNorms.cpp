//===- SpellNorms.cpp - Norms over the heads of all ranks -----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A latent that is normalised goes into another product whole, so it is left
// alone: what tells them apart is that here every reader takes heads.
//
// The sums of a group of norms are columns of one tensor, which is one
// exchange, of four columns at least: kernels exchange rows of whole 16 bytes.
//
//===----------------------------------------------------------------------===//

#include "SpellNorms.h"
#include "hk/Dialect/HK.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::hk;

/// Columns of f32 that are 16 bytes.
static constexpr int64_t kColumns = 4;

/// The product whose columns, or some of them, `value` is.
static MatmulOp productOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto product = dyn_cast<MatmulOp>(op))
      return product;
    if (!isa<CastOp, tensor::ExtractSliceOp>(op))
      break;
    value = op->getOperand(0);
  }
  return {};
}

/// The heads that the last dim is taken apart in; 0 if it is not.
static int64_t headsOf(Operation *op) {
  auto view = dyn_cast<tensor::ExpandShapeOp>(op);
  if (!view || view.getReassociationIndices().back().size() < 2)
    return 0;
  int64_t heads =
      view.getResultType().getDimSize(view.getReassociationIndices().back()[0]);
  return ShapedType::isDynamic(heads) ? 0 : heads;
}

static bool isOverHeads(RmsNormOp norm) {
  RankedTensorType type = norm.getInput().getType();
  return type.getRank() >= 2 && !type.isDynamicDim(type.getRank() - 1) &&
         norm.getWeightOffset().isZero() && productOf(norm.getInput()) &&
         !norm.getResult().use_empty() &&
         llvm::all_of(norm->getUsers(), headsOf);
}

/// Whether the sums of `norm` can stand behind those of `group`, and in front
/// of all that reads them.
static bool canShare(ArrayRef<RmsNormOp> group, RmsNormOp norm) {
  RmsNormOp first = group.front();
  auto rowsOf = [](RmsNormOp op) {
    return op.getInput().getType().getShape().drop_back();
  };
  return int64_t(group.size()) < kColumns &&
         first.getEpsilon() == norm.getEpsilon() &&
         rowsOf(first) == rowsOf(norm) &&
         productOf(first.getInput()).getLhs() ==
             productOf(norm.getInput()).getLhs() &&
         llvm::all_of(
             group,
             [&](RmsNormOp one) {
               return llvm::all_of(one->getUsers(), [&](Operation *user) {
                 return norm->isBeforeInBlock(user);
               });
             });
}

namespace {
/// Writes the norms of one group, in front of the last.
class Speller {
public:
  explicit Speller(MutableArrayRef<RmsNormOp> norms)
      : norms(norms), b(norms.back()), loc(norms.back().getLoc()) {}

  void run() {
    SmallVector<Value> wide, sums;
    for (RmsNormOp norm : norms) {
      wide.push_back(widen(norm.getInput()));
      sums.push_back(ReduceOp::create(
          b, norm.getLoc(), withColumns(1), ReduceKind::sum,
          MulOp::create(b, norm.getLoc(), wide.back().getType(), wide.back(),
                        wide.back()),
          /*dims=*/1));
    }
    Value factors = factorsOf(sums);
    for (auto [index, norm] : llvm::enumerate(norms)) {
      Value scaled =
          MulOp::create(b, norm.getLoc(), wide[index].getType(), wide[index],
                        columnOf(factors, int64_t(index)));
      norm.getResult().replaceAllUsesWith(weigh(norm, scaled));
    }
    for (RmsNormOp norm : norms)
      norm->erase();
  }

private:
  RankedTensorType withColumns(int64_t columns) {
    RankedTensorType type = norms.front().getInput().getType();
    SmallVector<int64_t> shape(type.getShape());
    shape.back() = columns;
    return RankedTensorType::get(shape, b.getF32Type());
  }

  Value widen(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getElementType().isF32())
      return value;
    return CastOp::create(b, loc, type.clone(b.getF32Type()), value);
  }

  /// 1 / sqrt(sum / N + epsilon), a column of each norm.
  Value factorsOf(ArrayRef<Value> sums) {
    SmallVector<Value> columns;
    SmallVector<float> shares;
    for (int64_t c = 0; c < kColumns; ++c) {
      size_t index = size_t(c) % norms.size();
      columns.push_back(sums[index]);
      RankedTensorType type = norms[index].getInput().getType();
      shares.push_back(1.0f / float(type.getShape().back()));
    }
    RankedTensorType type = withColumns(kColumns);
    auto row = RankedTensorType::get({kColumns}, b.getF32Type());
    auto one = RankedTensorType::get({}, b.getF32Type());
    Value all = ConcatOp::create(b, loc, type, type.getRank() - 1, columns);
    Value share = ConstantOp::create(
        b, loc, DenseElementsAttr::get(row, ArrayRef<float>(shares)));
    Value epsilon = ConstantOp::create(
        b, loc,
        DenseElementsAttr::get(one,
                               norms.front().getEpsilon().convertToFloat()));
    Value mean = MulOp::create(b, loc, type, all, share);
    Value shifted = AddOp::create(b, loc, type, mean, epsilon);
    return RsqrtOp::create(b, loc, type, shifted);
  }

  Value columnOf(Value factors, int64_t column) {
    RankedTensorType type = withColumns(1);
    int64_t rank = type.getRank();
    SmallVector<OpFoldResult> offsets(rank, b.getIndexAttr(0)), sizes,
        strides(rank, b.getIndexAttr(1));
    offsets.back() = b.getIndexAttr(column);
    for (int64_t d = 0; d < rank; ++d)
      if (type.isDynamicDim(d))
        sizes.push_back(
            tensor::DimOp::create(b, loc, norms.back().getInput(), d)
                .getResult());
      else
        sizes.push_back(b.getIndexAttr(type.getDimSize(d)));
    return tensor::ExtractSliceOp::create(b, loc, type, factors, offsets, sizes,
                                          strides);
  }

  Value weigh(RmsNormOp norm, Value scaled) {
    RankedTensorType type = norm.getResult().getType();
    bool rounds = norm.getRoundBeforeWeight() || !norm.getWeight();
    if (rounds && !type.getElementType().isF32())
      scaled = CastOp::create(b, norm.getLoc(), type, scaled);
    if (!norm.getWeight())
      return scaled;
    return MulOp::create(b, norm.getLoc(), type, scaled, norm.getWeight());
  }

  MutableArrayRef<RmsNormOp> norms;
  OpBuilder b;
  Location loc;
};
} // namespace

void mlir::hk::spellNorms(Block &block, int64_t ranks) {
  SmallVector<SmallVector<RmsNormOp>> groups;
  for (auto norm : block.getOps<RmsNormOp>()) {
    if (!isOverHeads(norm))
      continue;
    // A sum over heads that are copies would count them more than once, so all
    // of such an attention stays whole.
    if (llvm::any_of(norm->getUsers(), [ranks](Operation *user) {
          return headsOf(user) % ranks != 0;
        }))
      return;
    if (groups.empty() || !canShare(groups.back(), norm))
      groups.emplace_back();
    groups.back().push_back(norm);
  }
  for (MutableArrayRef<RmsNormOp> group : groups)
    Speller(group).run();
}
