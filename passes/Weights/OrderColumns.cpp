//===- OrderColumns.cpp - Columns in the order of those who read them -----===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each column of a product is made of one row of the weight alone, so a product
// can have its columns in any order: the weight's rows then lie in that order,
// which hk-fold-weights sees to once. A model that joins parts of heads (query,
// key and value of each group of Qwen3-Next) would have to move them in every
// call; what it joins becomes a slice of the product. Gates whose columns
// alternate become halves, which every loop of a product computes.
//
// Columns are reordered only where memory cannot hold what is read as a view of
// the product, and only if none is read twice.
//
//===----------------------------------------------------------------------===//

#include "Fusion/PrepareBlock.h"
#include "hk/Analysis/Alignment.h"
#include "hk/Analysis/DimSymbols.h"
#include "hk/Dialect/HK.h"
#include "hk/Passes/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKORDERCOLUMNS
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

/// A weight whose elements can be moved one by one.
static bool isWeight(Value value) {
  return value && value.getDefiningOp<WeightRefOp>() &&
         !::hk::isPacked(*dtypeOf(tensorType(value).getElementType()));
}

namespace {
/// Dims in front of those of the columns and behind them, which stay as the
/// columns are moved.
struct Frame {
  int64_t before, after;
};

/// What moves of the columns of `whole` make, and who reads it.
class ColumnReaders {
public:
  ColumnReaders(Value whole, const DimSymbols &dims)
      : whole(whole), rows(tensorType(whole).getRank() - 1), dims(dims) {
    moved.insert(whole);
    for (size_t i = 0; i < moved.size(); ++i)
      for (Operation *user : moved[i].getUsers())
        if (movesColumns(user))
          moved.insert(user->getResult(0));
    for (Value value : moved)
      if (llvm::any_of(value.getUsers(), [&](Operation *user) {
            return user->getNumResults() != 1 ||
                   !moved.contains(user->getResult(0));
          }))
        leaves.push_back(value);
    llvm::sort(leaves, [](Value a, Value b) {
      return a.getDefiningOp()->isBeforeInBlock(b.getDefiningOp());
    });
  }

  /// What is read by something else than a move.
  ArrayRef<Value> get() const { return leaves; }

  /// Whether another order of the columns makes views of what has none now.
  bool wantsOrder() const {
    if (leaves.size() < 2 || llvm::is_contained(leaves, whole))
      return false;
    int64_t columns = 0;
    for (Value leaf : leaves)
      columns += columnsOf(leaf);
    return columns <= tensorType(whole).getShape().back() &&
           llvm::any_of(leaves, [&](Value leaf) {
             return leaf.getDefiningOp<ConcatOp>() || !layoutOfViews(leaf);
           });
  }

  int64_t columnsOf(Value value) const {
    return ShapedType::getNumElements(
        tensorType(value).getShape().drop_front(rows));
  }

  /// `value` of `given`, which holds the columns of `whole` in the dims that
  /// `frame` leaves.
  Value moveTo(Value value, Value given, Frame frame, OpBuilder &builder) const;

private:
  bool movesColumns(Operation *user) const;
  bool keepsRows(ArrayRef<ReassociationIndices> groups) const;
  /// The shape of `value`'s columns in the frame of `given`.
  SmallVector<int64_t> shapeIn(Value value, Value given, Frame frame) const;
  SmallVector<ReassociationIndices>
  groupsIn(ArrayRef<ReassociationIndices> groups, Frame frame) const;

  Value whole;
  int64_t rows;
  const DimSymbols &dims;
  llvm::SetVector<Value> moved;
  SmallVector<Value> leaves;
};
} // namespace

bool ColumnReaders::keepsRows(ArrayRef<ReassociationIndices> groups) const {
  return int64_t(groups.size()) > rows &&
         llvm::all_of(groups.take_front(rows),
                      [](auto &group) { return group.size() == 1; });
}

bool ColumnReaders::movesColumns(Operation *user) const {
  auto isStatic = [&](Value value) {
    return tensorType(value).getRank() > rows &&
           !ShapedType::isDynamicShape(
               tensorType(value).getShape().drop_front(rows));
  };
  return llvm::TypeSwitch<Operation *, bool>(user)
      .Case([&](tensor::ExtractSliceOp op) {
        Value source = op.getSource(), result = op.getResult();
        if (!op.hasUnitStride() || op.getDroppedDims().any() ||
            !isStatic(result) ||
            llvm::any_of(op.getStaticOffsets(), ShapedType::isDynamic))
          return false;
        return llvm::all_of(llvm::seq<int64_t>(0, rows), [&](int64_t d) {
          return dims.equal(source, d, result, d);
        });
      })
      .Case([&](tensor::ExpandShapeOp op) {
        return isStatic(op.getResult()) &&
               keepsRows(op.getReassociationIndices());
      })
      .Case([&](tensor::CollapseShapeOp op) {
        return isStatic(op.getResult()) &&
               keepsRows(op.getReassociationIndices());
      })
      .Case([&](ConcatOp op) {
        return int64_t(op.getDim()) >= rows && isStatic(op.getResult()) &&
               llvm::all_of(op.getInputs(),
                            [&](Value input) { return moved.contains(input); });
      })
      .Default([](Operation *) { return false; });
}

SmallVector<int64_t> ColumnReaders::shapeIn(Value value, Value given,
                                            Frame frame) const {
  ArrayRef<int64_t> own = tensorType(given).getShape();
  SmallVector<int64_t> shape(own.take_front(frame.before));
  llvm::append_range(shape, tensorType(value).getShape().drop_front(rows));
  llvm::append_range(shape, own.take_back(frame.after));
  return shape;
}

SmallVector<ReassociationIndices>
ColumnReaders::groupsIn(ArrayRef<ReassociationIndices> groups,
                        Frame frame) const {
  SmallVector<ReassociationIndices> moved;
  int64_t next = 0;
  for (int64_t d = 0; d < frame.before; ++d)
    moved.push_back({next++});
  for (const ReassociationIndices &group : groups.drop_front(rows)) {
    ReassociationIndices own;
    for (size_t i = 0; i < group.size(); ++i)
      own.push_back(next++);
    moved.push_back(own);
  }
  for (int64_t d = 0; d < frame.after; ++d)
    moved.push_back({next++});
  return moved;
}

Value ColumnReaders::moveTo(Value value, Value given, Frame frame,
                            OpBuilder &builder) const {
  if (value == whole)
    return given;
  auto sourceOf = [&](Value operand) {
    return moveTo(operand, given, frame, builder);
  };
  auto type = RankedTensorType::get(shapeIn(value, given, frame),
                                    tensorType(given).getElementType());
  Location loc = value.getLoc();
  return llvm::TypeSwitch<Operation *, Value>(value.getDefiningOp())
      .Case([&](tensor::ExtractSliceOp op) -> Value {
        int64_t rank = type.getRank();
        SmallVector<OpFoldResult> offsets(rank, builder.getIndexAttr(0)),
            strides(rank, builder.getIndexAttr(1)), sizes;
        for (int64_t size : type.getShape())
          sizes.push_back(builder.getIndexAttr(size));
        for (auto [d, offset] :
             llvm::enumerate(ArrayRef(op.getStaticOffsets()).drop_front(rows)))
          offsets[frame.before + int64_t(d)] = builder.getIndexAttr(offset);
        return tensor::ExtractSliceOp::create(builder, loc, type,
                                              sourceOf(op.getSource()), offsets,
                                              sizes, strides);
      })
      .Case([&](tensor::ExpandShapeOp op) -> Value {
        return tensor::ExpandShapeOp::create(
            builder, loc, type, sourceOf(op.getSrc()),
            groupsIn(op.getReassociationIndices(), frame));
      })
      .Case([&](tensor::CollapseShapeOp op) -> Value {
        return tensor::CollapseShapeOp::create(
            builder, loc, type, sourceOf(op.getSrc()),
            groupsIn(op.getReassociationIndices(), frame));
      })
      .Case([&](ConcatOp op) -> Value {
        return ConcatOp::create(builder, loc, type,
                                builder.getI64IntegerAttr(int64_t(op.getDim()) -
                                                          rows + frame.before),
                                llvm::map_to_vector(op.getInputs(), sourceOf));
      });
}

namespace {
struct HKOrderColumns : ::mlir::hk::impl::HKOrderColumnsBase<HKOrderColumns> {
  void runOnOperation() override;

private:
  void order(MatmulOp product, const DimSymbols &dims);
  void halve(GatedActivationOp gate);
};
} // namespace

/// The bias that is all that reads a product, or null.
static AddOp biasOf(Operation *product) {
  if (!product->hasOneUse())
    return {};
  auto bias = dyn_cast<AddOp>(*product->user_begin());
  bool own = bias && bias.getLhs() == product->getResult(0) &&
             isWeight(bias.getRhs()) &&
             tensorType(bias.getRhs()).getShape() ==
                 tensorType(product->getResult(0)).getShape().take_back();
  return own ? bias : AddOp();
}

/// The dims of columns of a weight that has them at `dim`.
static Frame frameOf(Value weight, int64_t dim) {
  return {dim, tensorType(weight).getRank() - 1 - dim};
}

/// The columns of `leaves` of a weight, one after the other.
static Value inOrder(const ColumnReaders &readers, Value weight, int64_t dim,
                     OpBuilder &builder) {
  Frame frame = frameOf(weight, dim);
  SmallVector<Value> parts;
  SmallVector<int64_t> shape(tensorType(weight).getShape());
  shape[dim] = 0;
  for (Value leaf : readers.get()) {
    Value part = readers.moveTo(leaf, weight, frame, builder);
    int64_t many = tensorType(part).getRank() - frame.before - frame.after;
    SmallVector<ReassociationIndices> groups;
    for (int64_t d = 0; d < tensorType(part).getRank(); ++d)
      if (d > frame.before && d < frame.before + many)
        groups.back().push_back(d);
      else
        groups.push_back({d});
    if (many > 1)
      part =
          tensor::CollapseShapeOp::create(builder, leaf.getLoc(), part, groups);
    shape[dim] += tensorType(part).getDimSize(dim);
    parts.push_back(part);
  }
  return ConcatOp::create(
      builder, weight.getLoc(),
      RankedTensorType::get(shape, tensorType(weight).getElementType()),
      builder.getI64IntegerAttr(dim), parts);
}

/// `value`, a slice of columns, in the shape of `leaf`.
static Value inShapeOf(Value leaf, Value value, int64_t rows,
                       OpBuilder &builder) {
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, leaf.getLoc(), value);
  sizes.pop_back();
  ReassociationIndices columns;
  SmallVector<ReassociationIndices> groups;
  for (int64_t d = 0; d < rows; ++d)
    groups.push_back({d});
  for (int64_t d = rows; d < tensorType(leaf).getRank(); ++d) {
    columns.push_back(d);
    sizes.push_back(builder.getIndexAttr(tensorType(leaf).getDimSize(d)));
  }
  groups.push_back(columns);
  if (columns.size() == 1)
    return value;
  return tensor::ExpandShapeOp::create(builder, leaf.getLoc(), leaf.getType(),
                                       value, groups, sizes);
}

void HKOrderColumns::order(MatmulOp product, const DimSymbols &dims) {
  if (!isWeight(product.getRhs()) || product.getRhsScale() ||
      product.getKSlices() || tensorType(product.getRhs()).getRank() != 2)
    return;
  AddOp bias = biasOf(product);
  Value whole = bias ? bias.getResult() : product.getResult();
  ColumnReaders readers(whole, dims);
  if (!readers.wantsOrder())
    return;
  OpBuilder builder(whole.getDefiningOp());
  builder.setInsertionPointAfter(whole.getDefiningOp());
  Value weight = inOrder(readers, product.getRhs(),
                         product.getRhsDim(MatmulDim::N), builder);
  auto widen = [&](Value value) {
    SmallVector<int64_t> shape(tensorType(value).getShape());
    shape.back() =
        tensorType(weight).getDimSize(product.getRhsDim(MatmulDim::N));
    return RankedTensorType::get(shape, tensorType(value).getElementType());
  };
  auto ordered = cast<MatmulOp>(builder.clone(*product));
  ordered.getRhsMutable().assign(weight);
  ordered.getResult().setType(widen(product.getResult()));
  Value made = ordered.getResult();
  if (bias)
    made = AddOp::create(builder, bias.getLoc(), widen(whole), made,
                         inOrder(readers, bias.getRhs(), 0, builder));
  int64_t rank = tensorType(made).getRank(), offset = 0;
  SmallVector<OpFoldResult> offsets(rank, builder.getIndexAttr(0)),
      strides(rank, builder.getIndexAttr(1)),
      sizes = tensor::getMixedSizes(builder, made.getLoc(), made);
  for (Value leaf : readers.get()) {
    int64_t columns = readers.columnsOf(leaf);
    offsets.back() = builder.getIndexAttr(offset);
    sizes.back() = builder.getIndexAttr(columns);
    offset += columns;
    Value slice = tensor::ExtractSliceOp::create(builder, leaf.getLoc(), made,
                                                 offsets, sizes, strides);
    leaf.replaceAllUsesWith(inShapeOf(leaf, slice, rank - 1, builder));
  }
  ++numOrdered;
}

/// Every other column of `weight`, then the others.
static Value halves(Value weight, int64_t dim, OpBuilder &builder) {
  RankedTensorType type = tensorType(weight);
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] /= 2;
  auto half = RankedTensorType::get(shape, type.getElementType());
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)),
      strides(type.getRank(), builder.getIndexAttr(1)), sizes;
  for (int64_t size : shape)
    sizes.push_back(builder.getIndexAttr(size));
  strides[dim] = builder.getIndexAttr(2);
  SmallVector<Value> parts;
  for (int64_t first : {0, 1}) {
    offsets[dim] = builder.getIndexAttr(first);
    parts.push_back(tensor::ExtractSliceOp::create(
        builder, weight.getLoc(), half, weight, offsets, sizes, strides));
  }
  return ConcatOp::create(builder, weight.getLoc(), type,
                          builder.getI64IntegerAttr(dim), parts);
}

void HKOrderColumns::halve(GatedActivationOp gate) {
  if (!gate.getInterleaved() || !gate.getInput().hasOneUse())
    return;
  Operation *def = gate.getInput().getDefiningOp();
  AddOp bias;
  if (auto add = dyn_cast_or_null<AddOp>(def)) {
    def = add.getLhs().getDefiningOp();
    bias = def ? biasOf(def) : AddOp();
    if (bias != add)
      return;
  }
  auto product = dyn_cast_or_null<ProductOpInterface>(def);
  if (!product || !def->hasOneUse() || !isWeight(product.getRhs()) ||
      product.getRhsScale())
    return;
  OpBuilder builder(def);
  OpOperand *own = nullptr; // a bias of the product's own
  if (auto grouped = dyn_cast<GroupedMatmulOp>(def)) {
    if (grouped.getAlongK())
      return;
    if (grouped.getBias()) {
      own = &*grouped.getBiasMutable().begin();
      if (!isWeight(own->get()))
        return;
    }
  }
  for (OpOperand &operand : def->getOpOperands())
    if (operand.get() == product.getRhs())
      operand.set(
          halves(operand.get(), product.getRhsDim(MatmulDim::N), builder));
  if (own)
    own->set(halves(own->get(), tensorType(own->get()).getRank() - 1, builder));
  if (bias) {
    builder.setInsertionPoint(bias);
    bias.getRhsMutable().assign(halves(bias.getRhs(), 0, builder));
  }
  gate.setInterleaved(false);
  ++numOrdered;
}

void HKOrderColumns::runOnOperation() {
  func::FuncOp function = getOperation();
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return;
  Block &block = function.getBody().front();
  {
    DimSymbols dims(block);
    for (auto product : llvm::to_vector(block.getOps<MatmulOp>()))
      order(product, dims);
  }
  for (auto gate : llvm::to_vector(block.getOps<GatedActivationOp>()))
    halve(gate);
  eraseUnused(block);
}
