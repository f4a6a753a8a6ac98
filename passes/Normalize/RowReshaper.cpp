//===- RowReshaper.cpp - Another shape for the rows of an operator --------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes are compared by name and made from the block's arguments, before its
// first operator; the block is scheduled again afterwards.
//
//===----------------------------------------------------------------------===//

#include "Normalize/RowReshaper.h"

#include "hk/Dialect/HK.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::hk;

RowReshaper::RowReshaper(Block &block) : dims(block) {
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  Location loc = block.getParentOp()->getLoc();
  anchor = arith::ConstantIndexOp::create(builder, loc, 0);
  sizes.emplace(OpBuilder(anchor), loc, dims);
}

RowReshaper::~RowReshaper() { anchor->erase(); }

ArrayRef<DimName> RowReshaper::shapeOf(Value value) const {
  auto it = shapes.find(value);
  return it == shapes.end() ? dims.shape(value) : ArrayRef(it->second);
}

std::optional<RowShape> RowReshaper::rowShapeOf(Operation *view) const {
  Value many, one;
  SmallVector<ReassociationIndices> groups;
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(view)) {
    many = expand.getResult(), one = expand.getSrc();
    groups = expand.getReassociationIndices();
  } else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(view)) {
    many = collapse.getSrc(), one = collapse.getResult();
    groups = collapse.getReassociationIndices();
  }
  // The last dim is never one of rows.
  if (groups.size() < 2)
    return std::nullopt;
  RowShape shape;
  shape.many.append(shapeOf(many).take_front(groups.front().size()).begin(),
                    shapeOf(many).take_front(groups.front().size()).end());
  shape.one = shapeOf(one).front();
  if (llvm::all_of(ArrayRef(shape.many).drop_front(),
                   [](DimName name) { return name == 1; }))
    return std::nullopt;
  return shape;
}

/// The sizes before and after.
static ArrayRef<DimName> before(const RowShape &shape, bool flatten) {
  return flatten ? ArrayRef(shape.many) : ArrayRef(shape.one);
}
static ArrayRef<DimName> after(const RowShape &shape, bool flatten) {
  return before(shape, !flatten);
}

static bool allOne(ArrayRef<DimName> names) {
  return llvm::all_of(names, [](DimName name) { return name == 1; });
}

static SmallVector<bool> onesOf(const RowShape &shape) {
  SmallVector<bool> ones;
  for (DimName name : shape.many)
    ones.push_back(name == 1);
  return ones;
}

/// How an operand that broadcasts to rows of `shape` has to change with them.
/// An empty `many`: not at all; nullopt: it can't.
static std::optional<RowShape> broadcastShape(ArrayRef<DimName> operand,
                                              int64_t resultRank,
                                              const RowShape &shape,
                                              bool flatten) {
  int64_t pad = resultRank - int64_t(operand.size());
  int64_t n = int64_t(before(shape, flatten).size());
  if (pad >= n)
    return RowShape();
  ArrayRef<DimName> own = operand.take_front(n - pad);
  RowShape ones{
      SmallVector<DimName>(flatten ? own.size() : shape.many.size(), 1), 1};
  if (allOne(own))
    return ones;
  if (own != before(shape, flatten).drop_front(pad) ||
      !allOne(before(shape, flatten).take_front(pad)))
    return std::nullopt;
  return RowShape{SmallVector<DimName>(ArrayRef(shape.many).drop_front(pad)),
                  shape.one};
}

bool RowReshaper::isKnown(DimName name) const {
  if (name >= 0)
    return true;
  const SizeExpr &expr = dims.definition(-1 - name);
  return expr.kind != SizeExpr::Kind::Opaque &&
         llvm::all_of(expr.operands,
                      [&](DimName operand) { return isKnown(operand); });
}

bool RowReshaper::canReshape(Operation *op, const RowShape &shape,
                             bool flatten) const {
  ArrayRef<DimName> from = before(shape, flatten);
  auto n = int64_t(from.size());
  std::optional<SmallVector<RowUse>> uses = rowUsesOf(op, n);
  if (!uses)
    return false;
  auto hasRows = [&](Value value, int64_t first) {
    ArrayRef<DimName> names = shapeOf(value);
    return int64_t(names.size()) >= first + n &&
           names.slice(first, n) == from &&
           llvm::all_of(names, [&](DimName name) { return isKnown(name); });
  };
  for (Value result : op->getResults())
    if (!hasRows(result, 0))
      return false;
  int64_t rank = int64_t(shapeOf(op->getResult(0)).size());
  for (auto [operand, use] : llvm::zip(op->getOperands(), *uses)) {
    if (use.kind == RowUse::Rows && !hasRows(operand, use.first))
      return false;
    if (use.kind == RowUse::Broadcast &&
        !broadcastShape(shapeOf(operand), rank, shape, flatten))
      return false;
  }
  return canMoveDims(op, n, int64_t(after(shape, flatten).size()),
                     onesOf(shape));
}

RankedTensorType RowReshaper::typeOf(RankedTensorType type,
                                     const RowShape &shape, int64_t first,
                                     bool flatten) const {
  auto size = [](DimName name) {
    return name < 0 ? ShapedType::kDynamic : name;
  };
  SmallVector<int64_t> made(type.getShape().take_front(first));
  for (DimName name : after(shape, flatten))
    made.push_back(size(name));
  llvm::append_range(
      made, type.getShape().drop_front(first + before(shape, flatten).size()));
  return RankedTensorType::get(made, type.getElementType());
}

/// `names` with the rows from `first` on in their new shape.
static SmallVector<DimName> renamed(ArrayRef<DimName> names,
                                    const RowShape &shape, int64_t first,
                                    bool flatten) {
  SmallVector<DimName> result(names.take_front(first));
  llvm::append_range(result, after(shape, flatten));
  llvm::append_range(result,
                     names.drop_front(first + before(shape, flatten).size()));
  return result;
}

/// `groups` where dims that the group at `first` joins are `numLead` dims which
/// stay as they are.
static SmallVector<ReassociationIndices>
withoutLead(ArrayRef<ReassociationIndices> groups, int64_t first,
            size_t numLead) {
  SmallVector<ReassociationIndices> result;
  int64_t next = 0;
  for (auto [i, group] : llvm::enumerate(groups)) {
    if (int64_t(i) == first) {
      for (size_t n = 0; n < numLead; ++n)
        result.push_back({next++});
      continue;
    }
    ReassociationIndices &made = result.emplace_back();
    for (size_t n = 0; n < group.size(); ++n)
      made.push_back(next++);
  }
  return result;
}

static SmallVector<ReassociationIndices> groupsOf(Operation *view) {
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(view))
    return expand.getReassociationIndices();
  return cast<tensor::CollapseShapeOp>(view).getReassociationIndices();
}

Value RowReshaper::viewBy(OpBuilder &builder, Location loc, Value value,
                          ArrayRef<ReassociationIndices> groups,
                          RankedTensorType type, ArrayRef<DimName> names) {
  if (llvm::all_of(groups, [](auto &group) { return group.size() == 1; }))
    return value;
  Value made;
  if (type.getRank() > cast<RankedTensorType>(value.getType()).getRank()) {
    SmallVector<OpFoldResult> shape;
    for (DimName name : names)
      shape.push_back(sizes->get(name));
    made =
        tensor::ExpandShapeOp::create(builder, loc, type, value, groups, shape);
  } else {
    made = tensor::CollapseShapeOp::create(builder, loc, type, value, groups);
  }
  shapes[made] = SmallVector<DimName>(names);
  return made;
}

Value RowReshaper::undo(OpBuilder &builder, Value value, const RowShape &shape,
                        int64_t first, bool flatten) {
  Operation *def = value.getDefiningOp();
  if (!(flatten ? isa_and_nonnull<tensor::ExpandShapeOp>(def)
                : isa_and_nonnull<tensor::CollapseShapeOp>(def)))
    return Value();
  SmallVector<ReassociationIndices> groups = groupsOf(def);
  ArrayRef<DimName> from = shapeOf(def->getOperand(0));
  ArrayRef<DimName> to = after(shape, flatten);
  if (first >= int64_t(groups.size()) ||
      groups[first].size() != shape.many.size() ||
      groups[first].front() != first || from.slice(first, to.size()) != to)
    return Value();
  return viewBy(
      builder, def->getLoc(), def->getOperand(0),
      withoutLead(groups, first, to.size()),
      typeOf(cast<RankedTensorType>(value.getType()), shape, first, flatten),
      renamed(shapeOf(value), shape, first, flatten));
}

Value RowReshaper::view(OpBuilder &builder, Value value, const RowShape &shape,
                        int64_t first, bool flatten) {
  if (shape.many.size() < 2)
    return value;
  if (Value undone = undo(builder, value, shape, first, flatten))
    return undone;
  auto type = cast<RankedTensorType>(value.getType());
  RankedTensorType made = typeOf(type, shape, first, flatten);
  SmallVector<ReassociationIndices> groups;
  int64_t next = 0;
  for (int64_t d = 0; d < std::min(type.getRank(), made.getRank()); ++d) {
    ReassociationIndices &group = groups.emplace_back();
    for (size_t n = 0; n < (d == first ? shape.many.size() : 1); ++n)
      group.push_back(next++);
  }
  return viewBy(builder, value.getLoc(), value, groups, made,
                renamed(shapeOf(value), shape, first, flatten));
}

void RowReshaper::simplify(Operation *user) {
  std::optional<RowShape> shape = rowShapeOf(user);
  if (!shape)
    return;
  bool flatten = isa<tensor::CollapseShapeOp>(user);
  OpBuilder builder(user);
  Value source = undo(builder, user->getOperand(0), *shape, 0, flatten);
  if (!source)
    return;
  Value result = user->getResult(0);
  result.replaceAllUsesWith(
      viewBy(builder, user->getLoc(), source,
             withoutLead(groupsOf(user), 0, after(*shape, flatten).size()),
             cast<RankedTensorType>(result.getType()), shapeOf(result)));
}

Operation *RowReshaper::rebuild(OpBuilder &builder, Operation *op,
                                ValueRange operands, const RowShape &shape,
                                bool flatten) {
  Location loc = op->getLoc();
  ArrayRef<DimName> to = after(shape, flatten);
  size_t from = before(shape, flatten).size();
  SmallVector<SmallVector<DimName>> names;
  SmallVector<RankedTensorType> types;
  for (Value result : op->getResults()) {
    names.push_back(renamed(shapeOf(result), shape, 0, flatten));
    types.push_back(
        typeOf(cast<RankedTensorType>(result.getType()), shape, 0, flatten));
  }
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op)) {
    SmallVector<ReassociationIndices> own = groupsOf(op), groups;
    for (size_t n = 0; n < to.size(); ++n)
      groups.push_back({int64_t(n)});
    int64_t shift = int64_t(to.size()) - int64_t(from);
    // The last of the rows may stand beside dims of 1: [T, 2] seen as [T, 2,
    // 1].
    for (int64_t dim : ArrayRef(own[from - 1]).drop_front())
      groups.back().push_back(dim + shift);
    for (ReassociationIndices group : ArrayRef(own).drop_front(from)) {
      for (int64_t &dim : group)
        dim += shift;
      groups.push_back(std::move(group));
    }
    return viewBy(builder, loc, operands[0], groups, types[0], names[0])
        .getDefiningOp();
  }
  Operation *made;
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    SmallVector<OpFoldResult> offsets(to.size(), builder.getIndexAttr(0));
    SmallVector<OpFoldResult> strides(to.size(), builder.getIndexAttr(1)), rows;
    // Sizes of the source itself: that all rows stay must remain provable.
    for (size_t dim = 0; dim < to.size(); ++dim)
      rows.push_back(tensor::getMixedSize(builder, loc, operands[0],
                                          static_cast<int64_t>(dim)));
    llvm::append_range(offsets,
                       ArrayRef(slice.getMixedOffsets()).drop_front(from));
    llvm::append_range(strides,
                       ArrayRef(slice.getMixedStrides()).drop_front(from));
    llvm::append_range(rows, ArrayRef(slice.getMixedSizes()).drop_front(from));
    made = tensor::ExtractSliceOp::create(builder, loc, types[0], operands[0],
                                          offsets, rows, strides);
  } else {
    made = builder.clone(*op);
    made->setOperands(operands);
    for (auto [result, type] : llvm::zip(made->getResults(), types))
      result.setType(type);
    moveDims(made, int64_t(from), int64_t(to.size()), onesOf(shape));
  }
  for (auto [result, name] : llvm::zip(made->getResults(), names))
    shapes[result] = name;
  return made;
}

SmallVector<Operation *>
RowReshaper::reshape(Operation *op, const RowShape &shape, bool flatten) {
  OpBuilder builder(op);
  SmallVector<RowUse> uses =
      *rowUsesOf(op, int64_t(before(shape, flatten).size()));
  int64_t rank = int64_t(shapeOf(op->getResult(0)).size());
  SmallVector<Value> operands;
  SmallVector<Operation *> views;
  auto note = [&](Value value) {
    if (Operation *def = value.getDefiningOp())
      views.push_back(def);
  };
  for (auto [operand, use] : llvm::zip(op->getOperands(), uses)) {
    Value made = operand;
    if (use.kind == RowUse::Rows)
      made = view(builder, operand, shape, use.first, flatten);
    else if (use.kind == RowUse::Broadcast)
      made = view(builder, operand,
                  *broadcastShape(shapeOf(operand), rank, shape, flatten), 0,
                  flatten);
    if (made != operand)
      note(made);
    operands.push_back(made);
  }
  Operation *made = rebuild(builder, op, operands, shape, flatten);
  for (auto [old, result] : llvm::zip(op->getResults(), made->getResults())) {
    if (old.use_empty())
      continue;
    Value back = view(builder, result, shape, 0, !flatten);
    old.replaceAllUsesWith(back);
    note(back);
    for (Operation *user : llvm::make_early_inc_range(back.getUsers()))
      if (user->getNumOperands() > 0 && user->getOperand(0) == back)
        simplify(user);
    note(result);
    for (Operation *user : result.getUsers())
      views.push_back(user);
  }
  op->erase();
  return views;
}
