//===- States.h - What a rank has of every value ----------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Forward over a function, before anything is changed: the sharding of every
// value along one axis, and as what each operand is wanted. Where the two
// differ the rewriter exchanges.
//
// Weights, constants and what is computed from them alone are free: a rank can
// have any part of them without asking another one. So are states until the
// first operator that reads or writes them.
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_SHARD_STATES_H
#define HK_PASSES_SHARD_STATES_H

#include "Annotations.h"
#include "Demand.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::hk::shards {

/// An operand of numbers that is to count from what is the rank's first.
struct OwnNumbers {
  enum Form {
    Steps,  // less the rank's first step
    Bounds, // the rank's bounds, less the first of them; `order` from there on
    Rows,   // less the first of the rank's bounds, `bounds`
    Sent,   // bounds of rows that come from all ranks; `order` says of which
    Back,   // of what comes back from the ranks that have its rows' groups
  } form;
  Value numbers;
  int64_t steps = 0; // of a rank
  Value order{}, bounds{};
};

inline bool isTensor(Value value) {
  return isa<RankedTensorType>(value.getType());
}
/// Whether rows of `value` are rows of the first result of `op`.
bool keepsRows(Operation *op, Value value);

class States {
public:
  States(func::FuncOp function, const Axis &axis)
      : function(function), axis(axis), demands(axis) {}

  /// Failures are emitted at the operator.
  LogicalResult run();

  const Sharding &of(Value value) const;
  /// As what an operand is wanted.
  const Sharding &wanted(OpOperand &operand) const;
  const OwnNumbers *ownNumbersOf(Operation *op) const;
  /// Whether a rank can have any part of it.
  bool isFree(Value value) const;
  /// The operands of `op`, the operator of a free value, of which it computes
  /// `sharding` of its result; nullopt if it cannot.
  std::optional<SmallVector<Sharding>>
  operandsFor(Operation *op, const Sharding &sharding) const;
  /// Whether anything is cut.
  bool cutsAny() const { return anyCut; }

private:
  struct Active {
    const ShardFactor *factor;
    Segments steps;
  };

  LogicalResult visit(Operation *op);
  LogicalResult visitAnnotation(Operation *op);
  bool givesOwnTokens(Operation *op) const;
  LogicalResult checkSent(Operation *op, const ShardFactor &factor) const;
  LogicalResult visitReturn(Operation *op);
  /// A factor of which each rank has the steps that are its own.
  FailureOr<bool> tryNumbered(Operation *op);
  bool isChosen(const ShardFactor &factor) const;
  bool tryPartial(Operation *op);
  bool tryOwned(Operation *op);
  bool trySplit(Operation *op);
  LogicalResult tryColumns(Operation *op);
  FailureOr<bool> cutColumns(ProductOpInterface op, const ShardFactor &factor,
                             bool forced);
  /// Wants it of a free value or of a state that nothing has touched.
  bool canHave(Value value, const Sharding &sharding) const;
  bool activate(const ShardFactors &factors, Value value,
                const Sharding &sharding,
                SmallVectorImpl<Active> &active) const;
  std::optional<Sharding> shardingAt(Value value,
                                     ArrayRef<Active> active) const;
  /// Takes the factors for all operands and results; false: changes nothing.
  bool apply(Operation *op, ArrayRef<Active> active);
  bool reachesGroups(Value value, const Owner &owner, int depth) const;
  bool tryRowsOfOwned(Operation *op);
  std::optional<Sharding> annotationOf(Value value) const;
  void want(OpOperand &operand, const Sharding &sharding);
  bool isPending(Value value) const { return pending.contains(value); }

  func::FuncOp function;
  const Axis &axis;
  Demands demands;
  bool anyCut = false, ownTokens = false;
  llvm::DenseMap<Value, Sharding> states;
  llvm::DenseMap<OpOperand *, Sharding> wishes;
  llvm::DenseMap<Operation *, OwnNumbers> numbered;
  llvm::DenseSet<Value> pending; // states that nothing has touched yet
  mutable llvm::DenseMap<Value, bool> free;
};

} // namespace mlir::hk::shards

#endif // HK_PASSES_SHARD_STATES_H
