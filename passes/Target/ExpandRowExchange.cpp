//===- ExpandRowExchange.cpp - Rows by counts, as equal parts -------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a count says is known on the device only, so what is sent has the size
// that the most rows have: the place of a row is computed, and rows that nobody
// sends are zero.
//
//===----------------------------------------------------------------------===//

#include "ExpandRowExchange.h"

#include "hk/Dialect/ShapeRelations.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::hk;

namespace {
class Expansion {
public:
  explicit Expansion(AllToAllRowsOp op)
      : op(op), b(op), loc(op.getLoc()), integer(b.getI32Type()) {}
  void run();

private:
  Value numbersTo(int64_t end, Value like);
  Value startsOfRanks();
  Value asColumn(Value vector, bool isRow);
  Value sentRows();
  Value toRanks(Value parts, Type type);

  AllToAllRowsOp op;
  OpBuilder b;
  Location loc;
  Type integer;
  Value places; // as many numbers as the input has rows
};
} // namespace

/// 0, 1, 2, ... up to `end`, which may be the dynamic size of `like`.
Value Expansion::numbersTo(int64_t end, Value like) {
  auto type = RankedTensorType::get({end}, integer);
  return IotaOp::create(b, loc, type,
                        ShapedType::isDynamic(end) ? like : Value());
}

/// The first row for each rank; `places` on the way.
Value Expansion::startsOfRanks() {
  RankedTensorType counts = op.getCounts().getType();
  int64_t ranks = counts.getDimSize(0);
  auto perRow =
      RankedTensorType::get({op.getInput().getType().getDimSize(0)}, integer);
  auto segments = SegmentsOp::create(
      b, loc, TypeRange{perRow, perRow, counts.clone({ranks + 1})},
      SegmentForm::lengths, op.getCounts(), op.getInput());
  places = segments.getIds();
  SmallVector<OpFoldResult> zero{b.getIndexAttr(0)}, one{b.getIndexAttr(1)},
      size{b.getIndexAttr(ranks)};
  return tensor::ExtractSliceOp::create(b, loc, counts, segments.getOffsets(),
                                        zero, size, one);
}

/// A vector along one of two dims.
Value Expansion::asColumn(Value vector, bool isRow) {
  int64_t size = tensorType(vector).getDimSize(0);
  SmallVector<int64_t> shape =
      isRow ? SmallVector<int64_t>{1, size} : SmallVector<int64_t>{size, 1};
  OpFoldResult many = tensor::getMixedSize(b, loc, vector, 0),
               one = b.getIndexAttr(1);
  SmallVector<OpFoldResult> sizes = isRow
                                        ? SmallVector<OpFoldResult>{one, many}
                                        : SmallVector<OpFoldResult>{many, one};
  SmallVector<ReassociationIndices> groups{{0, 1}};
  return tensor::ExpandShapeOp::create(b, loc, tensorType(vector).clone(shape),
                                       vector, groups, sizes);
}

Value Expansion::sentRows() {
  RankedTensorType type = op.getRows().getType();
  Value starts = asColumn(startsOfRanks(), /*isRow=*/false);
  Value counts = asColumn(op.getCounts(), /*isRow=*/false);
  Value number = asColumn(numbersTo(type.getDimSize(1), places), true);
  auto table =
      RankedTensorType::get({type.getDimSize(0), type.getDimSize(1)}, integer);
  Value row = AddOp::create(b, loc, table, starts, number);
  Value isSent = CompareOp::create(b, loc, table.clone(b.getI1Type()),
                                   ComparePredicate::lt, number, counts);
  auto scalar = RankedTensorType::get({}, integer);
  Value none = ConstantOp::create(
      b, loc, SplatElementsAttr::get(scalar, b.getI32IntegerAttr(-1)));
  Value from = SelectOp::create(b, loc, table, isSent, row, none);
  return GatherRowsOp::create(b, loc, type, op.getInput(), from);
}

Value Expansion::toRanks(Value parts, Type type) {
  return AllToAllOp::create(b, loc, type, parts, op.getAxis(), /*split=*/0,
                            /*concat=*/0);
}

void Expansion::run() {
  if (!op.getRows().use_empty())
    op.getRows().replaceAllUsesWith(
        toRanks(sentRows(), op.getRows().getType()));
  if (!op.getReceived().use_empty())
    op.getReceived().replaceAllUsesWith(
        toRanks(op.getCounts(), op.getReceived().getType()));
  op->erase();
}

void mlir::hk::expandRowExchange(AllToAllRowsOp op) { Expansion(op).run(); }
