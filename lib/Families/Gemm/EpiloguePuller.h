//===- EpiloguePuller.h - The text of a product's epilogue -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The puller with the accumulators bound to the product's result: scaled,
// rounded, and where a row and a column of them lie in values of its rank.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_GEMM_EPILOGUEPULLER_H
#define HK_FAMILIES_GEMM_EPILOGUEPULLER_H

#include "Emission/Puller.h"
#include "GemmPlan.h"

namespace mlir::hk {

inline Type elementTypeOf(Value value) {
  return cast<ShapedType>(value.getType()).getElementType();
}
inline int64_t rankOf(Value value) {
  return cast<ShapedType>(value.getType()).getRank();
}
/// Which of equal columns is taken, as kernels/topk/keys.h has it.
inline std::string tiesText(TopkOp topk) {
  return topk.getTies() == TieRule::lowest_index ? "Ties::Lowest"
                                                 : "Ties::Highest";
}

/// Pulls the epilogue of one vector of columns. `zeros`: of a row of zeros,
/// that no product gives.
class EpiloguePuller : public Puller {
public:
  EpiloguePuller(KernelOp kernel, const DimSymbols &dims, CodeWriter &out,
                 GemmPlan gemm, int vec, bool zeros = false)
      : Puller(kernel, dims, out), gemm(gemm), layout(gemmDims(gemm.matmul)),
        width(vec), zeros(zeros) {
    declareArguments();
    row = symbol("row");
    if (vec == 1) {
      column = symbol("col");
    } else {
      // Written as a multiple, so that accesses know their alignment.
      out.line("[[maybe_unused]] const i64 vector = col / " + Twine(vec) + ";");
      column = symbol("vector") * vec;
    }
    group = symbol("batch");
    AffineExpr rest = group;
    batch.resize(layout.batch.size());
    for (int64_t i = int64_t(batch.size()) - 1; i >= 0; --i) {
      AffineExpr size = sizeOf(gemm.matmul.getLhs(), layout.batch[i]);
      // What is left belongs to the outermost dim, the slice of k if there are
      // any.
      bool outermost = i == 0 && sliceDims() == 0;
      batch[i] = outermost ? rest : rest % size;
      rest = rest.floorDiv(size);
    }
    slice = rest;
    bind(gemm.matmul.getResult(),
         [this](ArrayRef<AffineExpr> position, int count) {
           return product(position, count);
         });
  }

  /// Where the vector lies in a value of the product's rank.
  Position here(AffineExpr last) {
    Position position(rankOf(gemm.matmul.getResult()), constantZero());
    if (sliceDims())
      position.front() = slice;
    for (auto [index, dim] : llvm::enumerate(layout.batch))
      position[sliceDims() + dim] = batch[index];
    // With M == 1 the rows are a batch dim and M itself stays 0.
    position[resultRowDim()] = row;
    position.back() = last;
    return position;
  }
  AffineExpr columns() { return column; }

  /// The best column, in front of what is computed from it.
  void bindBest(TopkOp topk) {
    bind(topk.getValues(), [this](ArrayRef<AffineExpr>, int) {
      return Expr{
          "Vec<float, 1>(valueOfBest(best))", {"float", 1}, code().depth()};
    });
    bool wide = elementTypeOf(topk.getIndices()).isInteger(64);
    std::string index =
        "Vec<i32, 1>(indexOfBest<" + tiesText(topk) + ">(best))";
    bind(topk.getIndices(), [this, index, wide](ArrayRef<AffineExpr>, int) {
      Expr place = {index, {"i32", 1}, code().depth()};
      return wide ? call("convertTo<i64>", place, "i64") : place;
    });
  }

  Expr statistic(Operation *, Value, RowReduction, int64_t,
                 ArrayRef<AffineExpr>, AffineExpr, ArrayRef<AffineExpr>,
                 int) override {
    return {"in.stat", {"float"}, code().depth()};
  }

private:
  AffineExpr constantZero() {
    return getAffineConstantExpr(0, gemm.matmul->getContext());
  }
  int64_t sliceDims() { return gemm.matmul.getNumSliceDims(); }
  int64_t resultRowDim() {
    int64_t rank = rankOf(gemm.matmul.getResult()) - sliceDims();
    bool oneRow = int64_t(layout.batch.size()) != rank - 2;
    return sliceDims() + (oneRow ? layout.row : rank - 2);
  }

  /// The product at `position`, scaled and rounded.
  Expr product(ArrayRef<AffineExpr> position, int count) {
    Value result = gemm.matmul.getResult();
    Type type = elementTypeOf(result);
    CType carrier = carrierOf(type, count);
    if (zeros)
      return splat(carrier, {"0", {carrier.element}});
    StringRef source = "in.acc";
    AffineExpr offset = simplify(position.back() - column);
    if (gemm.alternates()) {
      offset = simplify(position.back() - column * 2);
      source = simplify(offset % 2) == constantZero() ? "in.acc" : "in.pair";
      offset = simplify(offset.floorDiv(2));
    } else if (gemm.gated) {
      int64_t half =
          cast<ShapedType>(gemm.gated.getResult().getType()).getShape().back();
      if (isUpperHalf(offset, half)) {
        source = "in.pair";
        offset = simplify(offset - half);
      }
    }
    Expr value = {source.str(), {carrier.element, width}};
    if (count != width)
      value = splat(carrier, laneOf(value, text(offset)));
    if (!isa<FloatType>(type))
      return value;
    // Sums of integers are integers.
    value = call("convertTo<float>", value);
    if (gemm.scaleUse(GemmSide::Lhs) == ScaleUse::Outer)
      value = value * rowScale(position);
    if (gemm.scaleUse(GemmSide::Rhs) == ScaleUse::Outer)
      value = value * columnScale(position, count);
    if (GroupedMatmulOp grouped = gemm.grouped())
      value = applyGroup(grouped, value, position, count);
    return rounded(type, value);
  }

  /// The scale and the bias of the group.
  Expr applyGroup(GroupedMatmulOp grouped, Expr value,
                  ArrayRef<AffineExpr> position, int count) {
    if (Value scale = grouped.getGroupScale())
      value = value * pullScalar(scale, {group});
    if (Value bias = grouped.getBias())
      value = value + pull(bias, {group, position.back()}, count);
    return value;
  }

  /// The row of the left operand that made a row of the result.
  AffineExpr operandRow(ArrayRef<AffineExpr> position) {
    GroupedMatmulOp grouped = gemm.grouped();
    auto topK = int64_t(grouped.getTopK());
    if (grouped.isBlocks())
      return position.front().floorDiv(topK);
    if (!grouped.getOrder())
      return position.front();
    Expr entry =
        scalarCast("i64", pullScalar(grouped.getOrder(), {position.front()}));
    return defineIndex(code().depth(), "source",
                       Twine(entry.text) + " / " + Twine(topK));
  }

  /// Whether `offset` from the lane's columns is in the partner's half: columns
  /// of a vector are fewer than those of a half.
  static bool isUpperHalf(AffineExpr offset, int64_t half) {
    bool upper = false;
    offset.walk([&](AffineExpr e) {
      if (auto c = dyn_cast<AffineConstantExpr>(e))
        upper |= c.getValue() >= half;
    });
    return upper;
  }

  Expr rowScale(ArrayRef<AffineExpr> position) {
    Value scale = gemm.matmul.getLhsScale();
    Position own(rankOf(scale), constantZero());
    auto type = cast<RankedTensorType>(scale.getType());
    if (gemm.grouped() &&
        (!type.hasStaticShape() || type.getNumElements() != 1)) {
      own[0] = operandRow(position);
      return pullScalar(scale, own);
    }
    if (!type.hasStaticShape() || type.getNumElements() != 1)
      for (int64_t d = 0; d + 1 < rankOf(scale); ++d)
        own[d] = position[int64_t(position.size()) - rankOf(scale) + d];
    return pullScalar(scale, own);
  }

  Expr columnScale(ArrayRef<AffineExpr> position, int count) {
    Value scale = gemm.matmul.getRhsScale();
    int64_t rank = rankOf(scale);
    Position own(rank, constantZero());
    auto type = cast<RankedTensorType>(scale.getType());
    if (type.hasStaticShape() && type.getNumElements() == 1)
      return pullScalar(scale, own);
    for (int64_t d = 0; d + 2 < rank; ++d)
      own[d] = gemm.grouped() ? group : position[sliceDims() + d];
    Expr made = {"", {"float", count}};
    for (int e = 0; e < count; ++e) {
      own[rank - 2] = simplify(position.back() + e);
      Expr one = pullScalar(scale, own);
      made.text += (e ? ", " : "") + one.text;
      made.depth = std::max(made.depth, one.depth);
    }
    made.text = made.type.text() + "{" + made.text + "}";
    return made;
  }

  GemmPlan gemm;
  GemmDims layout;
  int width;
  bool zeros;
  AffineExpr row, column, slice, group;
  SmallVector<AffineExpr> batch;
};

} // namespace mlir::hk

#endif // HK_FAMILIES_GEMM_EPILOGUEPULLER_H
