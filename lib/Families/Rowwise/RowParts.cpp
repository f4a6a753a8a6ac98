//===- RowParts.cpp - Rows that are stored part by part -------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Heads of which a part is rotated and the rest copied are joined by a
// concatenation along the last dim. Where neighbouring lanes have elements of
// different parts, each wave takes the way of all of them. On chips that the
// vector unit bounds each part of such a row is stored by a loop of its own, in
// which all lanes go one way; what a part does once a row is then in front of
// its loop.
//
//===----------------------------------------------------------------------===//

#include "RowPlan.h"

#include "hk/Contract/Cost.h"

using namespace mlir;
using namespace mlir::hk;

/// Whether something is computed to make `value`.
static bool isComputed(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<ConstantOp>(op))
    return false;
  return !isMovement(op) || llvm::any_of(op->getOperands(), isComputed);
}

/// The sizes of the parts that a concatenation along the last dim joins to what
/// `value` is made of, element by element, if one of them is computed; empty if
/// there is none or they differ.
static SmallVector<int64_t> partsOf(Value value) {
  Operation *op = value.getDefiningOp();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!op || !type || type.getRank() == 0)
    return {};
  SmallVector<int64_t> parts;
  if (auto concat = dyn_cast<ConcatOp>(op)) {
    if (int64_t(concat.getDim()) + 1 != type.getRank() ||
        llvm::none_of(concat.getInputs(), isComputed))
      return {};
    for (Value input : concat.getInputs()) {
      parts.push_back(
          cast<RankedTensorType>(input.getType()).getShape().back());
      if (ShapedType::isDynamic(parts.back()))
        return {};
    }
    return parts;
  }
  if (!isRecomputable(op))
    return {};
  for (Value operand : op->getOperands()) {
    auto own = dyn_cast<RankedTensorType>(operand.getType());
    if (!own || own.getRank() != type.getRank() ||
        own.getShape().back() != type.getShape().back())
      continue;
    SmallVector<int64_t> other = partsOf(operand);
    if (!parts.empty() && !other.empty() && parts != other)
      return {};
    if (!other.empty())
      parts = std::move(other);
  }
  return parts;
}

/// Chunks of a row from which on its parts fill enough lanes each: of 80
/// columns, 10 chunks, in parts of 64 and 16 the loops took 1.7 times as much.
static constexpr int64_t kLeastPartedChunks = 16;

void RowPlan::splitStores() {
  const ::hk::Target *target = targetOf(kernel);
  if (!target || !::hk::boundByIssue(*target) || needsWholeRows() ||
      segmentSize() != 0)
    return;
  int64_t vec = commonVec(16 / rowElementBytes());
  SmallVector<RowStore> all;
  for (RowStore &store : rowStores) {
    std::optional<int64_t> flat = flatSize(store.local);
    bool mayBeCut = (store.kind == StoreKind::Value ||
                     store.kind == StoreKind::CacheWrite) &&
                    !store.local.empty() && flat &&
                    *flat >= kLeastPartedChunks * vec &&
                    !isPacked(getElementTypeOrSelf(store.value));
    SmallVector<int64_t> parts =
        mayBeCut ? partsOf(store.value) : SmallVector<int64_t>();
    if (parts.size() < 2) {
      all.push_back(std::move(store));
      continue;
    }
    int64_t begin = 0;
    for (int64_t size : parts) {
      RowStore part = store;
      part.part = {begin, begin + size};
      part.local.back() = size;
      begin += size;
      if (size > 0)
        all.push_back(std::move(part));
    }
  }
  rowStores = std::move(all);
}
