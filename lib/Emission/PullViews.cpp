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

#include "PullTable.h"

#include "hk/Analysis/LoopMaps.h"

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

static Expr pullSlice(Puller &p, tensor::ExtractSliceOp op,
                      Puller::Args position, int vec) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  Position source;
  size_t next = 0;
  bool contiguous = true;
  for (int64_t d = 0, e = rankOf(op.getSource()); d < e; ++d) {
    AffineExpr index =
        dropped.test(d) ? p.constant(0) : AffineExpr(position[next++]);
    int64_t stride = op.getStaticStrides()[d];
    // Vectors of elements of 4 bits begin at a byte.
    if (d + 1 == e)
      contiguous = stride == 1 && !dropped.test(d) &&
                   (!isPacked(elementTypeOf(op.getSource())) ||
                    op.getStaticOffsets()[d] % 2 == 0);
    source.push_back(p.simplify(index * stride + op.getStaticOffsets()[d]));
  }
  if (vec > 1 && !contiguous)
    return p.pullByElement(op.getResult(), position, vec);
  return p.pull(op.getSource(), source, vec);
}

static Expr pullExpand(Puller &p, tensor::ExpandShapeOp op,
                       Puller::Args position, int vec) {
  Position source;
  for (const ReassociationIndices &group : op.getReassociationIndices()) {
    AffineExpr index = p.constant(0);
    for (int64_t d : group)
      index = index * p.sizeOf(op.getResult(), d) + position[d];
    source.push_back(p.simplify(index));
  }
  if (source.empty() && vec > 1)
    return p.pullByElement(op.getResult(), position, vec);
  return p.pull(op.getSrc(), source, vec);
}

static Expr pullCollapse(Puller &p, tensor::CollapseShapeOp op,
                         Puller::Args position, int vec) {
  auto sourceType = cast<RankedTensorType>(op.getSrc().getType());
  Position source(sourceType.getRank(), p.constant(0));
  for (auto [g, group] : llvm::enumerate(op.getReassociationIndices())) {
    AffineExpr rest = position[g];
    for (size_t i = group.size(); i-- > 0;) {
      AffineExpr size = p.sizeOf(op.getSrc(), group[i]);
      source[group[i]] = p.simplify(i == 0 ? rest : rest % size);
      if (i != 0)
        rest = p.simplify(rest.floorDiv(size));
    }
  }
  if (vec > 1) {
    int64_t last = sourceType.getRank() - 1;
    bool splits = op.getReassociationIndices().empty() ||
                  op.getReassociationIndices().back().size() > 1;
    int64_t size = last < 0 ? 1 : sourceType.getDimSize(last);
    if (splits && (ShapedType::isDynamic(size) || size % vec != 0 ||
                   !isMultiple(position.back(), vec)))
      return p.pullByElement(op.getResult(), position, vec);
  }
  return p.pull(op.getSrc(), source, vec);
}

static Expr pullTranspose(Puller &p, TransposeOp op, Puller::Args position,
                          int vec) {
  ArrayRef<int64_t> permutation = op.getPermutation();
  Position source(permutation.size());
  for (auto [i, p] : llvm::enumerate(permutation))
    source[p] = position[i];
  if (vec > 1 && op.movesColumns())
    return p.pullByElement(op.getResult(), position, vec);
  return p.pull(op.getInput(), source, vec);
}

/// The tensor of which `part`, or what is rotated or cast to it, is the slice
/// that begins at `begin` of the last dim; null if there is none.
static Value sourceOfPart(Value part, AffineExpr begin) {
  while (Operation *def = part.getDefiningOp()) {
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(def)) {
      auto offset = dyn_cast<AffineConstantExpr>(begin);
      ArrayRef<int64_t> offsets = slice.getStaticOffsets();
      bool same = offset && slice.getDroppedDims().none() &&
                  offsets.back() == offset.getValue() &&
                  llvm::all_of(offsets.drop_back(),
                               [](int64_t at) { return at == 0; }) &&
                  llvm::all_of(slice.getStaticStrides(),
                               [](int64_t step) { return step == 1; });
      return same ? slice.getSource() : Value();
    }
    if (!isa<RopeOp, CastOp>(def))
      return Value();
    part = def->getOperand(0);
  }
  return Value();
}

/// What all parts of a concatenation along the last dim are slices of, each at
/// its own place, if the tensor has a statistic: inside of a part only some
/// lanes get to it, so that they could not exchange their elements. Null if
/// there is none.
static Value normalizedWhole(Puller &p, ConcatOp op) {
  int64_t dim = op.getDim();
  if (!p.votes() || dim + 1 != rankOf(op.getResult()))
    return Value();
  Value whole;
  AffineExpr begin = p.constant(0);
  for (Value input : op.getInputs()) {
    Value source = sourceOfPart(input, begin);
    if (!source || (whole && whole != source))
      return Value();
    whole = source;
    begin = p.simplify(begin + p.sizeOf(input, dim));
  }
  Operation *def = whole.getDefiningOp();
  return def && !rowReductionsOf(def).empty() ? whole : Value();
}

/// The elements at `position` of the one input that is known to have all of
/// them; null if none is.
static Expr pullKnownPart(Puller &p, ConcatOp op, Puller::Args position,
                          int vec) {
  int64_t dim = op.getDim(), begin = 0;
  auto range = p.knownRange(position[dim]);
  if (!range)
    return {};
  for (Value input : op.getInputs()) {
    auto size = dyn_cast<AffineConstantExpr>(p.sizeOf(input, dim));
    if (!size)
      return {};
    int64_t end = begin + size.getValue();
    if (range->first >= begin && range->second < end) {
      Position source(position);
      source[dim] = p.simplify(position[dim] - begin);
      return p.pull(input, source, vec);
    }
    begin = end;
  }
  return {};
}

static Expr pullConcat(Puller &p, ConcatOp op, Puller::Args position, int vec) {
  if (op.getInputs().size() == 1)
    return p.pull(op.getInputs().front(), position, vec);
  if (Expr part = pullKnownPart(p, op, position, vec))
    return part;
  int64_t dim = op.getDim();
  bool last = dim + 1 == int64_t(position.size());
  SmallVector<AffineExpr> ends;
  AffineExpr end = p.constant(0);
  for (Value input : op.getInputs()) {
    if (last && vec > 1 &&
        !(isMultiple(end, vec) && isMultiple(position.back(), vec)))
      return p.pullByElement(op.getResult(), position, vec);
    end = p.simplify(end + p.sizeOf(input, dim));
    ends.push_back(end);
  }
  if (Value whole = normalizedWhole(p, op))
    p.pull(whole, position, vec);
  Expr made =
      p.code().declare("v", carrierOf(elementTypeOf(op.getResult()), vec));
  AffineExpr begin = p.constant(0);
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    p.openRange(position[dim], begin, ends[i]);
    Position source(position);
    source[dim] = p.simplify(position[dim] - begin);
    p.code().assign(made, p.pull(input, source, vec));
    p.closeRange();
    begin = ends[i];
  }
  return made;
}

static Expr pullPad(Puller &p, PadOp op, Puller::Args position, int vec) {
  int64_t last = rankOf(op.getInput()) - 1;
  AffineExpr size = p.sizeOf(op.getInput(), last);
  CType type = carrierOf(elementTypeOf(op.getResult()), vec);
  Expr fill = {"0", {type.element}};
  if (!op.getValue().isZero())
    fill.text = type.element == "float"
                    ? floatText(op.getValue().convertToFloat())
                    : std::to_string(int64_t(op.getValue().convertToFloat()));
  Expr made = p.code().declare("v", type, fill.text);
  p.openRange(position.back(), p.constant(0), size);
  bool whole = isMultiple(size, vec) && isMultiple(position.back(), vec);
  if (whole) {
    p.code().assign(made, p.pull(op.getInput(), position, vec));
  } else {
    int depth = p.code().depth();
    Expr count = p.code().define(
        depth, "n",
        {"i64(" + p.text(size) + ") - i64(" + p.text(position.back()) + ")",
         {"i64"}});
    Expr saved = p.exchangeLanes(count);
    Expr x = p.pull(op.getInput(), position, vec);
    p.code().assign(
        made, p.code().define(depth, "v", call("keepFirst", {x, count, fill})));
    p.exchangeLanes(std::move(saved));
  }
  p.closeRange();
  return made;
}

static Expr pullGather(Puller &p, GatherRowsOp op, Puller::Args position,
                       int vec) {
  int64_t rank = rankOf(op.getIndices());
  if (vec > 1 && rank == int64_t(position.size()))
    return p.pullByElement(op.getResult(), position, vec);
  ArrayRef<AffineExpr> at = position.take_front(rank);
  Value table = p.resolved(op.getTable());
  std::string rows = p.text(p.sizeOf(table, 0));
  std::string found = p.key(op.getIndices(), at, 1, "row of " + rows);
  // The index may be known further in than its position says.
  ExistingRow row =
      p.existingRow(found, p.depthOf(at), p.sizeOf(table, 0),
                    [&] { return p.pullScalar(op.getIndices(), at); });
  Position source = {p.symbol(row.index.text, row.index.depth)};
  llvm::append_range(source, position.drop_front(rank));
  CType type = carrierOf(elementTypeOf(op.getResult()), vec);
  if (!row.guard)
    return call("mostly",
                {row.exists, p.pull(table, source, vec),
                 splat(type, {"0", {type.element}})},
                type.element);
  // A missing row is read as nothing at all: the table may have no rows.
  Expr made = p.code().declare("v", type);
  p.code().openIf(row.guard.text);
  p.code().assign(made, p.pull(table, source, vec));
  p.code().close();
  return made;
}

static Expr pullHasRow(Puller &p, HasRowOp op, Puller::Args position, int vec) {
  if (vec > 1)
    return p.pullByElement(op.getResult(), position, vec);
  Expr index = p.pullScalar(op.getIndices(), position);
  std::string rows = p.text(p.sizeOf(p.resolved(op.getTable()), 0));
  return p.code().declare("v", carrierOf(elementTypeOf(op.getResult()), 1),
                          index.text + " >= 0 && " + index.text + " < i64(" +
                              rows + ")");
}

/// Element by element: an index per dim, checked, then one load.
static Expr pullGatherElements(Puller &p, GatherElementsOp op,
                               Puller::Args position, int vec) {
  if (vec > 1)
    return p.pullByElement(op.getResult(), position, vec);
  Value table = p.resolved(op.getTable());
  std::string found;
  Position source;
  for (auto [dim, indices] : llvm::enumerate(op.getIndices())) {
    Expr index = laneOf(p.pullBroadcast(indices, position, 1), "0");
    AffineExpr at =
        p.defineIndex(p.code().depth(), "i", scalarCast("i64", index).text);
    std::string size = p.text(p.sizeOf(table, int64_t(dim)));
    found += (dim ? " && " : "") + p.text(at) + " >= 0 && " + p.text(at) +
             " < i64(" + size + ")";
    source.push_back(at);
  }
  // An element outside is not read: the table may have none.
  Expr made =
      p.code().declare("v", carrierOf(elementTypeOf(op.getResult()), 1));
  p.code().openIf(found);
  p.code().assign(made, p.pull(table, source, 1));
  p.code().close();
  return made;
}

static Expr pullCopy(Puller &p, CopyOp op, Puller::Args position, int vec) {
  return p.pull(op.getInput(), position, vec);
}

static Expr pullTensorCast(Puller &p, tensor::CastOp op, Puller::Args position,
                           int vec) {
  return p.pull(op.getSource(), position, vec);
}

void mlir::hk::addViewPulls(PullTable &table) {
  table.add(pullCopy);
  table.add(pullTensorCast);
  table.add(pullSlice);
  table.add(pullExpand);
  table.add(pullCollapse);
  table.add(pullTranspose);
  table.add(pullConcat);
  table.add(pullPad);
  table.add(pullGather);
  table.add(pullHasRow);
  table.add(pullGatherElements);
}
