//===- PullViews.cpp - Pulling through views and data movement -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Views rewrite the position. Where the `vec` consecutive elements of the
// result are not consecutive in the source, the value is pulled element by
// element.
//
//===----------------------------------------------------------------------===//

#include "Puller.h"

using namespace mlir;
using namespace mlir::hk;

static Type elementTypeOf(Value value) {
  return cast<ShapedType>(value.getType()).getElementType();
}

static int64_t rankOf(Value value) {
  return cast<ShapedType>(value.getType()).getRank();
}

/// Whether `index` and the static `size` both are multiples of vec.
static bool isMultiple(AffineExpr index, int vec) {
  return vec == 1 || index.isMultipleOf(vec);
}

AffineExpr Puller::simplify(AffineExpr expr) const {
  return simplifyAffineExpr(expr, 0, symbols.size());
}

std::string Puller::pullSlice(tensor::ExtractSliceOp op, Args position,
                              int vec) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  Position source;
  size_t next = 0;
  bool contiguous = true;
  for (int64_t d = 0, e = rankOf(op.getSource()); d < e; ++d) {
    AffineExpr index =
        dropped.test(d) ? constant(0) : AffineExpr(position[next++]);
    int64_t stride = op.getStaticStrides()[d];
    if (d + 1 == e)
      contiguous = stride == 1 && !dropped.test(d);
    source.push_back(simplify(index * stride + op.getStaticOffsets()[d]));
  }
  if (vec > 1 && !contiguous)
    return pullByElement(op.getResult(), position, vec);
  return pull(op.getSource(), source, vec);
}

std::string Puller::pullExpand(tensor::ExpandShapeOp op, Args position,
                               int vec) {
  Position source;
  for (const ReassociationIndices &group : op.getReassociationIndices()) {
    AffineExpr index = constant(0);
    for (int64_t d : group)
      index = index * sizeOf(op.getResult(), d) + position[d];
    source.push_back(simplify(index));
  }
  if (source.empty() && vec > 1)
    return pullByElement(op.getResult(), position, vec);
  return pull(op.getSrc(), source, vec);
}

std::string Puller::pullCollapse(tensor::CollapseShapeOp op, Args position,
                                 int vec) {
  auto sourceType = cast<RankedTensorType>(op.getSrc().getType());
  Position source(sourceType.getRank(), constant(0));
  for (auto [g, group] : llvm::enumerate(op.getReassociationIndices())) {
    AffineExpr rest = position[g];
    for (size_t i = group.size(); i-- > 0;) {
      AffineExpr size = sizeOf(op.getSrc(), group[i]);
      source[group[i]] = simplify(i == 0 ? rest : rest % size);
      if (i != 0)
        rest = simplify(rest.floorDiv(size));
    }
  }
  if (vec > 1) {
    int64_t last = sourceType.getRank() - 1;
    bool splits = op.getReassociationIndices().empty() ||
                  op.getReassociationIndices().back().size() > 1;
    int64_t size = last < 0 ? 1 : sourceType.getDimSize(last);
    if (splits && (ShapedType::isDynamic(size) || size % vec != 0 ||
                   !isMultiple(position.back(), vec)))
      return pullByElement(op.getResult(), position, vec);
  }
  return pull(op.getSrc(), source, vec);
}

std::string Puller::pullTranspose(TransposeOp op, Args position, int vec) {
  ArrayRef<int64_t> permutation = op.getPermutation();
  Position source(permutation.size());
  for (auto [i, p] : llvm::enumerate(permutation))
    source[p] = position[i];
  bool moved = permutation.back() != int64_t(permutation.size()) - 1;
  if (vec > 1 && moved)
    return pullByElement(op.getResult(), position, vec);
  return pull(op.getInput(), source, vec);
}

std::string Puller::pullConcat(ConcatOp op, Args position, int vec) {
  int64_t dim = op.getDim();
  bool last = dim + 1 == int64_t(position.size());
  SmallVector<AffineExpr> ends;
  AffineExpr end = constant(0);
  for (Value input : op.getInputs()) {
    if (last && vec > 1 &&
        !(isMultiple(end, vec) && isMultiple(position.back(), vec)))
      return pullByElement(op.getResult(), position, vec);
    end = simplify(end + sizeOf(input, dim));
    ends.push_back(end);
  }
  std::string name = out.freshName("v");
  Type type = elementTypeOf(op.getResult());
  out.line(vecText(type, vec) + " " + name + " = 0;");
  AffineExpr begin = constant(0);
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    bool only = op.getInputs().size() == 1;
    std::string condition = text(position[dim]) + " < " + text(ends[i]);
    if (i > 0)
      condition =
          text(position[dim]) + " >= " + text(begin) + " && " + condition;
    out.open(only ? "" : "if (" + condition + ")", /*conditional=*/true);
    Position source(position);
    source[dim] = simplify(position[dim] - begin);
    out.line(name + " = " + pull(input, source, vec) + ";");
    out.close();
    begin = ends[i];
  }
  return name;
}

std::string Puller::pullPad(PadOp op, Args position, int vec) {
  int64_t last = rankOf(op.getInput()) - 1;
  AffineExpr size = sizeOf(op.getInput(), last);
  Type type = elementTypeOf(op.getResult());
  std::string name = out.freshName("v");
  std::string fill = "0";
  if (!op.getValue().isZero())
    fill = isa<FloatType>(type)
               ? floatText(op.getValue().convertToFloat())
               : std::to_string(int64_t(op.getValue().convertToFloat()));
  out.line(vecText(type, vec) + " " + name + " = " + fill + ";");
  out.open("if (" + text(position.back()) + " < " + text(size) + ")",
           /*conditional=*/true);
  bool whole = isMultiple(size, vec) && isMultiple(position.back(), vec);
  std::string saved = laneCount;
  int savedDepth = laneDepth;
  std::string count;
  if (!whole) {
    count = out.define(out.depth(), "i64", "n",
                       "i64(" + text(size) + ") - i64(" +
                           text(position.back()) + ")");
    setLaneCount(count);
  }
  std::string value = pull(op.getInput(), position, vec);
  if (!whole)
    value = keepFirst(type, value, count, fill, vec);
  out.line(name + " = " + value + ";");
  laneCount = saved;
  laneDepth = savedDepth;
  out.close();
  return name;
}

std::string Puller::pullGather(GatherRowsOp op, Args position, int vec) {
  int64_t rank = rankOf(op.getIndices());
  if (vec > 1 && rank == int64_t(position.size()))
    return pullByElement(op.getResult(), position, vec);
  ArrayRef<AffineExpr> at = position.take_front(rank);
  int depth = depthOf(at);
  std::string rows = text(sizeOf(op.getTable(), 0));
  std::string found = key(op.getIndices(), at, 1, "row of " + rows);
  if (out.recall(found).empty()) {
    std::string index = pullScalar(op.getIndices(), at);
    // The index may be known further in than its position says.
    int known = depth;
    out.recall(key(op.getIndices(), at, 1), &known);
    depth = std::max(depth, known);
    std::string row = out.define(depth, "i64", "row",
                                 index + " >= 0 && " + index + " < i64(" +
                                     rows + ") ? i64(" + index + ") : -1");
    out.remember(depth, found, row);
  }
  std::string row = out.recall(found, &depth).str();
  Position source = {symbol(row, depth)};
  llvm::append_range(source, position.drop_front(rank));
  // A missing row is read as nothing at all: the table may have no rows.
  Type type = elementTypeOf(op.getResult());
  std::string name = out.freshName("v");
  out.line(vecText(type, vec) + " " + name + " = 0;");
  out.open("if (" + row + " >= 0)", /*conditional=*/true);
  out.line(name + " = " + pull(op.getTable(), source, vec) + ";");
  out.close();
  return name;
}
