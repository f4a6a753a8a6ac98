//===- Rewriter.h - A function for one rank ---------------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives every value the type that a rank has of it, every weight its slice, and
// puts exchanges in front of the first operator that needs more.
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_SHARD_REWRITER_H
#define HK_PASSES_SHARD_REWRITER_H

#include "States.h"

#include "mlir/IR/Builders.h"

namespace mlir::hk::shards {

/// One exchange, for people.
struct ExchangeNote {
  Operation *op;    // the operator over ranks
  Operation *asker; // what needs its result
};

/// Rows of a rank's tokens, sorted by group, that go to the ranks that have the
/// groups.
struct Dispatch {
  Value order;  // by which they were sorted
  Value tokens; // for each place the row of the table
  Value counts; // rows for each rank
  Value places; // for each place that of its row among those that come back
  Value ownOrder, ownPlaces, ownBounds; // of rows that came, sorted by group
};

class Rewriter {
public:
  Rewriter(func::FuncOp function, const States &states, const Axis &axis)
      : function(function), states(states), axis(axis),
        b(function.getContext()) {}

  /// Failures are emitted at the operator that needs what cannot be made.
  LogicalResult run();

  ArrayRef<ExchangeNote> getNotes() const { return notes; }
  unsigned getNumSlices() const { return slices; }

private:
  LogicalResult rewrite(Operation *op);
  FailureOr<Value> obtain(OpOperand &operand, const Sharding &wanted);
  /// A part of a free value.
  Value provide(Value value, const Sharding &part);
  Value slicedWeight(WeightRefOp ref, const Sharding &part);
  Value exchange(Value value, const Sharding &has, const Sharding &wanted,
                 Operation *asker);
  /// Parts of the ranks, one behind the other, in the order of the segments.
  Value inOrder(Value gathered, const Sharding &has, Location loc);
  /// The sizes that `op` has as attributes.
  void adapt(Operation *op, const Sharding &source);
  LogicalResult useOwnNumbers(Operation *op, const OwnNumbers &own);
  Value firstOfRank(int64_t steps, Value like, Location loc);
  /// Bounds of the rank's groups as they are given.
  Value ownBounds(Value bounds, int64_t steps, Location loc);
  Value firstBound(Value bounds, int64_t steps, Location loc);
  Value rollOrder(Value order, Value start, Location loc);
  Value counting(Value like, Location loc);
  Value int32(int64_t number, Location loc);

  // Rows that go to the ranks that have their groups, and back.
  Value numbered(Value vector, int64_t from, int64_t count, Location loc);
  Value joined(Value parts, Location loc);
  Value sent(Value rows, const Dispatch &dispatch, Operation *asker);
  Dispatch makeDispatch(GroupedMatmulOp op, int64_t steps);
  void receiveKeys(Dispatch &dispatch, Value keys, int64_t steps,
                   Operation *asker);
  LogicalResult sendRows(GroupedMatmulOp op, const OwnNumbers &own);
  void bringBack(Operation *op, const OwnNumbers &own);

  func::FuncOp function;
  const States &states;
  const Axis &axis;
  OpBuilder b;
  SmallVector<ExchangeNote> notes;
  unsigned slices = 0;
  llvm::DenseMap<Value, RankedTensorType> whole; // types as they were
  SmallVector<std::tuple<Value, Sharding, Value>> provided, exchanged;
  llvm::DenseMap<Value, Value> boundsOfRank;
  llvm::DenseMap<Value, Dispatch> dispatches;              // by bounds
  llvm::DenseMap<std::pair<Value, Value>, Value> sentRows; // of table, bounds
};

} // namespace mlir::hk::shards

#endif // HK_PASSES_SHARD_REWRITER_H
