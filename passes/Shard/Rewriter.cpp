//===- Rewriter.cpp - A function for one rank -----------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In place, in program order: operands first, then the types of the results.
//
//===----------------------------------------------------------------------===//

#include "Rewriter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::shards;

//===----------------------------------------------------------------------===//
// Parts of free values
//===----------------------------------------------------------------------===//

Value Rewriter::slicedWeight(WeightRefOp ref, const Sharding &part) {
  auto module = function->getParentOfType<ModuleOp>();
  auto weight =
      SymbolTable::lookupNearestSymbolFrom<WeightOp>(ref, ref.getWeightAttr());
  SmallVector<int64_t> sizes, parts;
  for (const Segment &segment : part.segments) {
    sizes.push_back(segment.size);
    parts.push_back(segment.parts);
  }
  SmallVector<Attribute> cuts;
  if (weight.getSlices())
    llvm::append_range(cuts, *weight.getSlices());
  cuts.push_back(WeightSliceAttr::get(module.getContext(), axis.name, part.dim,
                                      sizes, parts));
  ArrayAttr all = b.getArrayAttr(cuts);
  RankedTensorType type =
      localType(cast<RankedTensorType>(weight.getType()), part);
  // One weight for all who want this part.
  WeightOp sliced;
  for (auto other : module.getOps<WeightOp>())
    if (other.getSource() == weight.getSource() && other.getSlicesAttr() == all)
      sliced = other;
  if (!sliced) {
    OpBuilder atWeight(weight);
    sliced = cast<WeightOp>(atWeight.clone(*weight));
    sliced.setSlicesAttr(all);
    sliced.setType(type);
    sliced.setSymName((weight.getSymName() + "." + axis.name).str());
    // Renames it where the module has the name.
    sliced->remove();
    SymbolTable(module).insert(sliced, weight->getIterator());
    ++slices;
  }
  return WeightRefOp::create(b, ref.getLoc(), type, sliced.getSymName());
}

Value Rewriter::provide(Value value, const Sharding &part) {
  if (!part.is(Kind::Split))
    return value;
  for (auto &[from, sharding, made] : provided)
    if (from == value && sharding == part)
      return made;
  Operation *op = value.getDefiningOp();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op);
  Value made;
  if (auto ref = dyn_cast<WeightRefOp>(op)) {
    made = slicedWeight(ref, part);
  } else if (auto constant = dyn_cast<ConstantOp>(op)) {
    auto splat = cast<SplatElementsAttr>(constant.getValue());
    made = ConstantOp::create(
        b, op->getLoc(), splat.resizeSplat(localType(tensorType(value), part)));
  } else if (isa<shard::ShardOp>(op)) {
    // It may say something of another axis, too.
    Value source = provide(op->getOperand(0), part);
    b.setInsertionPoint(op);
    Operation *clone = b.clone(*op);
    clone->setOperand(0, source);
    clone->getResult(0).setType(source.getType());
    made = clone->getResult(0);
  } else {
    SmallVector<Sharding> operands = *states.operandsFor(op, part);
    SmallVector<Value> values;
    for (auto [operand, sharding] :
         llvm::zip_equal(op->getOperands(), operands))
      values.push_back(isTensor(operand) ? provide(operand, sharding)
                                         : operand);
    b.setInsertionPoint(op);
    Operation *clone = b.clone(*op);
    clone->setOperands(values);
    clone->getResult(0).setType(localType(tensorType(value), part));
    whole[clone->getResult(0)] = tensorType(value);
    adapt(clone, operands.front());
    made = clone->getResult(0);
  }
  provided.emplace_back(value, part, made);
  return made;
}

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

Value Rewriter::inOrder(Value gathered, const Sharding &has, Location loc) {
  const Segments &segments = has.segments;
  if (segments.size() == 1 && segments[0].parts == axis.ranks)
    return gathered;
  int64_t local = 0, rank = tensorType(gathered).getRank();
  for (const Segment &segment : segments)
    local += segment.partSize();
  SmallVector<OpFoldResult> strides(rank, b.getIndexAttr(1)),
      offsets(rank, b.getIndexAttr(0));
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, gathered);
  SmallVector<Value> pieces;
  int64_t begin = 0, total = 0;
  for (const Segment &segment : segments) {
    for (int64_t part = 0; part < segment.parts; ++part) {
      int64_t place = part * (axis.ranks / segment.parts);
      offsets[has.dim] = b.getIndexAttr(place * local + begin);
      sizes[has.dim] = b.getIndexAttr(segment.partSize());
      pieces.push_back(tensor::ExtractSliceOp::create(b, loc, gathered, offsets,
                                                      sizes, strides));
    }
    begin += segment.partSize();
    total += segment.size;
  }
  SmallVector<int64_t> shape(tensorType(gathered).getShape());
  shape[has.dim] = total;
  return ConcatOp::create(b, loc, tensorType(gathered).clone(shape),
                          uint64_t(has.dim), pieces);
}

Value Rewriter::exchange(Value value, const Sharding &has,
                         const Sharding &wanted, Operation *asker) {
  for (auto &[from, sharding, made] : exchanged)
    if (from == value && sharding == wanted)
      return made;
  RankedTensorType type = tensorType(value);
  Location loc = value.getLoc();
  Transport transport = isa<FloatType>(type.getElementType())
                            ? Transport::any_order
                            : Transport::in_order;
  Value made;
  if (has.is(Kind::Partial) && wanted.is(Kind::Replicated)) {
    made = AllReduceOp::create(b, loc, type, ReduceKind::sum, value, axis.name,
                               transport);
    notes.push_back({made.getDefiningOp(), asker});
  } else if (has.is(Kind::Partial) && wanted.is(Kind::Split) &&
             wanted.segments.size() == 1 &&
             wanted.segments[0].parts == axis.ranks) {
    made = ReduceScatterOp::create(b, loc, localType(type, wanted),
                                   ReduceKind::sum, value, axis.name,
                                   uint64_t(wanted.dim), transport);
    notes.push_back({made.getDefiningOp(), asker});
  } else if (has.is(Kind::Split) && wanted.is(Kind::Replicated)) {
    SmallVector<int64_t> shape(type.getShape());
    shape[has.dim] *= axis.ranks;
    made = AllGatherOp::create(b, loc, type.clone(shape), value, axis.name,
                               uint64_t(has.dim));
    notes.push_back({made.getDefiningOp(), asker});
    made = inOrder(made, has, loc);
  }
  if (made)
    exchanged.emplace_back(value, wanted, made);
  return made;
}

FailureOr<Value> Rewriter::obtain(OpOperand &operand, const Sharding &wanted) {
  Value value = operand.get();
  if (!isTensor(value))
    return value;
  if (states.isFree(value))
    return provide(value, wanted);
  const Sharding &has = states.of(value);
  if (has == wanted || wanted.is(Kind::Owned) || wanted.is(Kind::Partial))
    return value;
  b.setInsertionPoint(operand.getOwner());
  if (Value made = exchange(value, has, wanted, operand.getOwner()))
    return made;
  return operand.getOwner()->emitError("needs operand ")
         << operand.getOperandNumber() << " " << textOf(wanted)
         << " along axis \"" << axis.name << "\", but it is " << textOf(has);
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

void Rewriter::adapt(Operation *op, const Sharding &source) {
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    SmallVector<int64_t> sizes(expand.getStaticOutputShape());
    for (auto [size, local] :
         llvm::zip_equal(sizes, expand.getResultType().getShape()))
      if (!ShapedType::isDynamic(size))
        size = local;
    expand.setStaticOutputShape(sizes);
    return;
  }
  auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
  if (!slice || !source.is(Kind::Split))
    return;
  int64_t dim = source.dim;
  SmallVector<int64_t> offsets(slice.getStaticOffsets()),
      sizes(slice.getStaticSizes());
  auto localSize = [&](int64_t offset, int64_t length) {
    int64_t size = 0;
    // Cuts lie between segments; the analysis has seen to that.
    for (const Segment &segment :
         segmentsIn(source.segments, offset, length).value_or(Segments()))
      size += segment.partSize();
    return size;
  };
  sizes[dim] = localSize(offsets[dim], sizes[dim]);
  offsets[dim] = localSize(0, offsets[dim]);
  slice.setStaticOffsets(offsets);
  slice.setStaticSizes(sizes);
}

LogicalResult Rewriter::rewrite(Operation *op) {
  if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    std::optional<int64_t> index = dim.getConstantIndex();
    auto it = whole.find(dim.getSource());
    if (index && it != whole.end() && !it->second.isDynamicDim(*index)) {
      b.setInsertionPoint(op);
      op->getResult(0).replaceAllUsesWith(arith::ConstantIndexOp::create(
          b, op->getLoc(), it->second.getDimSize(*index)));
      op->erase();
    }
    return success();
  }
  if (op->getNumResults() == 1 && isTensor(op->getResult(0)) &&
      states.isFree(op->getResult(0)))
    return success();
  Sharding source;
  for (OpOperand &operand : op->getOpOperands()) {
    const Sharding wanted = states.wanted(operand);
    if (operand.getOperandNumber() == 0)
      source = wanted;
    FailureOr<Value> value = obtain(operand, wanted);
    if (failed(value))
      return failure();
    operand.set(*value);
  }
  for (Value result : op->getResults())
    if (isTensor(result)) {
      whole[result] = tensorType(result);
      result.setType(localType(tensorType(result), states.of(result)));
    }
  adapt(op, source);
  if (const OwnNumbers *own = states.ownNumbersOf(op)) {
    b.setInsertionPoint(op);
    return useOwnNumbers(op, *own);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Numbers that count from what is the rank's first
//===----------------------------------------------------------------------===//

Value Rewriter::int32(int64_t number, Location loc) {
  auto type = RankedTensorType::get({}, b.getI32Type());
  return ConstantOp::create(
      b, loc, SplatElementsAttr::get(type, b.getI32IntegerAttr(number)));
}

/// The rank's place times `steps`, of the element type of `like`.
Value Rewriter::firstOfRank(int64_t steps, Value like, Location loc) {
  auto type = RankedTensorType::get({}, b.getI32Type());
  Value rank = RankOp::create(b, loc, type, axis.name);
  Value first = MulOp::create(b, loc, type, rank, int32(steps, loc));
  Type element = tensorType(like).getElementType();
  if (element == b.getI32Type())
    return first;
  return CastOp::create(b, loc, RankedTensorType::get({}, element), first);
}

/// 0, 1, 2, ... as many as `like`, a vector, has elements.
Value Rewriter::counting(Value like, Location loc) {
  RankedTensorType type = tensorType(like);
  Value ones = CompareOp::create(b, loc, type.clone(b.getI1Type()),
                                 ComparePredicate::eq, like, like);
  return CumsumOp::create(b, loc, type.clone(b.getI32Type()),
                          ScanKind::exclusive, ones, Value(), uint64_t(0),
                          IntegerAttr());
}

Value Rewriter::ownBounds(Value bounds, int64_t steps, Location loc) {
  Value &known = boundsOfRank[bounds];
  if (known)
    return known;
  RankedTensorType type = tensorType(bounds).clone({steps + 1});
  SmallVector<OpFoldResult> zero{b.getIndexAttr(0)}, one{b.getIndexAttr(1)},
      size{b.getIndexAttr(steps + 1)};
  Value places;
  if (size_t(steps + 1) * sizeof(int32_t) <= kMaxConstantBytes) {
    auto numbers = llvm::to_vector(llvm::seq<int32_t>(0, steps + 1));
    places = ConstantOp::create(
        b, loc, DenseElementsAttr::get(type, ArrayRef<int32_t>(numbers)));
  } else {
    places = counting(
        tensor::ExtractSliceOp::create(b, loc, type, bounds, zero, size, one),
        loc);
  }
  places = AddOp::create(b, loc, type, places, firstOfRank(steps, bounds, loc));
  return known = GatherRowsOp::create(b, loc, type, bounds, places);
}

Value Rewriter::firstBound(Value bounds, int64_t steps, Location loc) {
  Value own = ownBounds(bounds, steps, loc);
  SmallVector<OpFoldResult> zero{b.getIndexAttr(0)}, one{b.getIndexAttr(1)};
  return tensor::ExtractSliceOp::create(b, loc, tensorType(own).clone({1}), own,
                                        zero, one, one);
}

/// The order from place `start` on; what is behind its end is in no group.
Value Rewriter::rollOrder(Value order, Value start, Location loc) {
  RankedTensorType type = tensorType(order);
  Value places = AddOp::create(b, loc, type, counting(order, loc), start);
  return GatherRowsOp::create(b, loc, type, order, places);
}

LogicalResult Rewriter::useOwnNumbers(Operation *op, const OwnNumbers &own) {
  Location loc = op->getLoc();
  Type type = own.numbers.getType();
  Value numbers;
  switch (own.form) {
  case OwnNumbers::Sent:
    return sendRows(cast<GroupedMatmulOp>(op), own);
  case OwnNumbers::Back:
    bringBack(op, own);
    return success();
  case OwnNumbers::Steps:
    numbers = SubOp::create(b, loc, type, own.numbers,
                            firstOfRank(own.steps, own.numbers, loc));
    break;
  case OwnNumbers::Rows: {
    Value start = firstBound(own.bounds, own.steps, loc);
    Type element = tensorType(own.numbers).getElementType();
    if (element != b.getI32Type())
      start = CastOp::create(b, loc, tensorType(start).clone(element), start);
    numbers = SubOp::create(b, loc, type, own.numbers, start);
    break;
  }
  case OwnNumbers::Bounds: {
    Value bounds = ownBounds(own.numbers, own.steps, loc);
    Value start = firstBound(own.numbers, own.steps, loc);
    numbers = SubOp::create(b, loc, bounds.getType(), bounds, start);
    if (own.order)
      op->replaceUsesOfWith(own.order, rollOrder(own.order, start, loc));
    break;
  }
  }
  op->replaceUsesOfWith(own.numbers, numbers);
  return success();
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

LogicalResult Rewriter::run() {
  Block &block = function.getBody().front();
  for (BlockArgument argument : block.getArguments()) {
    whole[argument] = tensorType(argument);
    argument.setType(localType(tensorType(argument), states.of(argument)));
  }
  for (Operation &op : llvm::make_early_inc_range(block))
    if (failed(rewrite(&op)))
      return failure();
  function.setFunctionType(
      FunctionType::get(function.getContext(), block.getArgumentTypes(),
                        block.getTerminator()->getOperandTypes()));
  return success();
}
