//===- Dispatch.cpp - Rows go to the ranks that have their experts --------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every rank has tokens of its own. Their rows, sorted by group, go to the rank
// that has the group (hk.all_to_all_rows), each with the number of its group
// there; a rank sorts what has come, multiplies, and sends every row back to
// the place it came from. There is room for all rows of a rank's tokens at each
// of the others, so none is lost, whatever the routing.
//
//===----------------------------------------------------------------------===//

#include "Rewriter.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::shards;

/// Of `count` numbers.
static RankedTensorType numbersType(OpBuilder &b, int64_t count) {
  return RankedTensorType::get({count}, b.getI32Type());
}

static constexpr int64_t kDynamic = ShapedType::kDynamic;

/// Elements [from, from + count) of a vector.
Value Rewriter::numbered(Value vector, int64_t from, int64_t count,
                         Location loc) {
  SmallVector<OpFoldResult> offset{b.getIndexAttr(from)},
      size{b.getIndexAttr(count)}, one{b.getIndexAttr(1)};
  return tensor::ExtractSliceOp::create(b, loc, numbersType(b, count), vector,
                                        offset, size, one);
}

/// The parts of all ranks, one behind the other.
Value Rewriter::joined(Value parts, Location loc) {
  RankedTensorType type = tensorType(parts);
  SmallVector<int64_t> shape(type.getShape().drop_front());
  shape[0] = kDynamic;
  SmallVector<ReassociationIndices> groups{{0, 1}};
  for (int64_t d = 2; d < type.getRank(); ++d)
    groups.push_back({d});
  return tensor::CollapseShapeOp::create(b, loc, type.clone(shape), parts,
                                         groups);
}

/// What other ranks have sent of such rows for this one's groups.
Value Rewriter::sent(Value rows, const Dispatch &dispatch, Operation *asker) {
  RankedTensorType type = tensorType(rows);
  SmallVector<int64_t> shape{axis.ranks};
  llvm::append_range(shape, type.getShape());
  Location loc = asker->getLoc();
  auto exchange = AllToAllRowsOp::create(
      b, loc, TypeRange{type.clone(shape), dispatch.counts.getType()}, rows,
      dispatch.counts, axis.name, IntegerAttr());
  notes.push_back({exchange, asker});
  return joined(exchange.getRows(), loc);
}

/// `keys` are numbers of groups on the ranks that have them, plus one, so that
/// a row that is not sent has none.
void Rewriter::receiveKeys(Dispatch &dispatch, Value keys, int64_t steps,
                           Operation *asker) {
  Location loc = asker->getLoc();
  RankedTensorType each = numbersType(b, kDynamic);
  Value groups =
      SubOp::create(b, loc, each, sent(keys, dispatch, asker), int32(1, loc));
  auto sorted = SortByKeyOp::create(b, loc, TypeRange{each, each}, groups,
                                    uint64_t(steps));
  dispatch.ownOrder = sorted.getOrder();
  dispatch.ownPlaces = sorted.getPosition();
  Value counts = HistogramOp::create(b, loc, numbersType(b, steps), groups);
  dispatch.ownBounds =
      CumsumOp::create(b, loc, numbersType(b, steps + 1), ScanKind::offsets,
                       counts, Value(), uint64_t(0), IntegerAttr());
}

Dispatch Rewriter::makeDispatch(GroupedMatmulOp op, int64_t steps) {
  Location loc = op.getLoc();
  Value bounds = op.getGroups();
  RankedTensorType each = numbersType(b, kDynamic),
                   ofRanks = numbersType(b, axis.ranks),
                   ends = numbersType(b, axis.ranks + 1);
  Dispatch dispatch;
  dispatch.order = op.getOrder();
  SmallVector<int32_t> firsts;
  for (int64_t rank = 0; rank <= axis.ranks; ++rank)
    firsts.push_back(int32_t(rank * steps));
  Value starts = GatherRowsOp::create(
      b, loc, ends, bounds,
      ConstantOp::create(
          b, loc, DenseElementsAttr::get(ends, ArrayRef<int32_t>(firsts))));
  dispatch.counts =
      SubOp::create(b, loc, ofRanks, numbered(starts, 1, axis.ranks, loc),
                    numbered(starts, 0, axis.ranks, loc));
  auto toRank = SegmentsOp::create(b, loc, TypeRange{each, each, ends},
                                   SegmentForm::bounds, starts, dispatch.order);
  auto toGroup =
      SegmentsOp::create(b, loc, TypeRange{each, each, bounds.getType()},
                         SegmentForm::bounds, bounds, dispatch.order);
  // Entry o is of row o / top_k, rounded down: one below 0 is of none.
  auto topK = int64_t(op.getTopK());
  dispatch.tokens = dispatch.order;
  if (topK > 1) {
    Value next = AddOp::create(b, loc, each, dispatch.order, int32(topK, loc));
    next = DivOp::create(b, loc, each, next, int32(topK, loc));
    dispatch.tokens = SubOp::create(b, loc, each, next, int32(1, loc));
  }
  // There are as many places for each rank as rows in all.
  Value zeros = SubOp::create(b, loc, each, dispatch.order, dispatch.order);
  Value room = HistogramOp::create(b, loc, numbersType(b, 1), zeros);
  Value part = MulOp::create(b, loc, each, toRank.getIds(), room);
  dispatch.places = AddOp::create(b, loc, each, part, toRank.getRanks());
  Value first = MulOp::create(b, loc, each, toRank.getIds(), int32(steps, loc));
  Value group = SubOp::create(b, loc, each, toGroup.getIds(), first);
  receiveKeys(dispatch, AddOp::create(b, loc, each, group, int32(1, loc)),
              steps, op);
  return dispatch;
}

LogicalResult Rewriter::sendRows(GroupedMatmulOp op, const OwnNumbers &own) {
  auto known = dispatches.find(own.numbers);
  if (known == dispatches.end())
    known =
        dispatches.try_emplace(own.numbers, makeDispatch(op, own.steps)).first;
  const Dispatch &dispatch = known->second;
  if (own.order) {
    if (own.order != dispatch.order)
      return op.emitError("expected all products with these groups to have the "
                          "same order, because rows go to the ranks that have "
                          "their groups along axis \"")
             << axis.name << "\"";
    for (OpOperand *operand :
         {&op.getLhsMutable(),
          op.getLhsScale() ? &*op.getLhsScaleMutable().begin() : nullptr}) {
      if (!operand)
        continue;
      Value table = operand->get();
      Value &rows = sentRows[{table, own.numbers}];
      if (!rows) {
        SmallVector<int64_t> shape(tensorType(table).getShape());
        shape[0] = kDynamic;
        rows = sent(GatherRowsOp::create(b, op.getLoc(),
                                         tensorType(table).clone(shape), table,
                                         dispatch.tokens),
                    dispatch, op);
      }
      operand->set(rows);
    }
    op.getOrderMutable().assign(dispatch.ownOrder);
    op.setTopK(1);
  }
  op.getGroupsMutable().set(dispatch.ownBounds);
  return success();
}

/// Rows by number of what ranks send back to where they come from.
void Rewriter::bringBack(Operation *op, const OwnNumbers &own) {
  Location loc = op->getLoc();
  const Dispatch &dispatch = dispatches.find(own.bounds)->second;
  auto gather = cast<GatherRowsOp>(op);
  Value made = gather.getTable();
  Value &back = sentRows[{made, own.bounds}];
  if (!back) {
    RankedTensorType type = tensorType(made);
    Value rows = GatherRowsOp::create(b, loc, type, made, dispatch.ownPlaces);
    SmallVector<int64_t> shape{axis.ranks};
    llvm::append_range(shape, type.getShape());
    SmallVector<OpFoldResult> sizes{
        b.getIndexAttr(axis.ranks),
        tensor::getMixedSize(b, loc, dispatch.order, 0)};
    SmallVector<ReassociationIndices> groups{{0, 1}};
    for (int64_t d = 1; d < type.getRank(); ++d) {
      sizes.push_back(b.getIndexAttr(type.getDimSize(d)));
      groups.push_back({d + 1});
    }
    Value parts = tensor::ExpandShapeOp::create(b, loc, type.clone(shape), rows,
                                                groups, sizes);
    parts = AllToAllOp::create(b, loc, type.clone(shape), parts, axis.name,
                               /*split=*/0, /*concat=*/0);
    notes.push_back({parts.getDefiningOp(), op});
    back = joined(parts, loc);
  }
  // One more than the place: a number outside has row 0, which is of no place.
  RankedTensorType each = tensorType(dispatch.places);
  Value table = AddOp::create(b, loc, each, dispatch.places, int32(1, loc));
  RankedTensorType type = tensorType(own.numbers).clone(b.getI32Type());
  Value places = GatherRowsOp::create(b, loc, type, table, own.numbers);
  gather.getTableMutable().set(back);
  gather.getIndicesMutable().set(
      SubOp::create(b, loc, type, places, int32(1, loc)));
}
