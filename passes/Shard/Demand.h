//===- Demand.h - Where a dim of a value may be cut -------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What everything that reads a value, and what reads that, asks of a cut along
// one of its dims: that it be cut in segments (the queries, keys and values of
// one product), that parts hold whole heads, or that it not be cut at all.
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_SHARD_DEMAND_H
#define HK_PASSES_SHARD_DEMAND_H

#include "Sharding.h"

#include "llvm/ADT/DenseMap.h"

namespace mlir::hk::shards {

struct Demand {
  struct Piece {
    int64_t size;
    int64_t parts; // 0: as many as there are ranks
    int64_t unit;  // parts are multiples of it
    /// Something needs all of it, on every rank.
    bool whole = false;
  };
  /// Of the whole dim, in order.
  SmallVector<Piece> pieces;
  /// Something sums over it: the cut ends in a partial sum.
  bool ends = false;
  /// What needs the dim whole, not just a piece.
  SmallVector<Operation *> needers;
  /// Why so many ranks cannot share it, up to what could; of which operator.
  std::string refusal;
  Operation *refuser = nullptr;
};

class Demands {
public:
  explicit Demands(const Axis &axis) : axis(axis) {}

  /// Of a dim of static size.
  const Demand &of(Value value, int64_t dim);

private:
  Demand compute(Value value, int64_t dim);
  void addUse(Operation *op, Value value, int64_t dim, Demand &demand);
  void addFactor(Operation *op, const ShardFactor &factor,
                 const FactorPlace &place, Demand &demand);

  /// Whether its columns are worth cutting, so that its left operand is not.
  bool wantsColumns(ProductOpInterface product);
  /// Whether what makes `value` can make a part of the dim.
  bool canBePart(Value value, int64_t dim);
  bool hasPartsBeside(const ShardFactor &factor, Value value, Operation *op);

  const Axis &axis;
  llvm::DenseMap<std::pair<Value, int64_t>, std::unique_ptr<Demand>> known;
  llvm::DenseMap<std::pair<Value, int64_t>, bool> parts;
};

/// The numbers of ranks from 2 to 64 among which `fits` says that it works:
/// "2, 3 or 6", or "no other".
std::string ranksThatFit(function_ref<bool(int64_t)> fits);

/// The segments that `demand`, that of dim `dim` of `value`, asks for, or why
/// they cannot be cut, and among how many ranks they can. Pieces that something
/// needs whole have one part, unless all are to be cut.
std::optional<Segments> segmentsFor(const Demand &demand, Value value,
                                    int64_t dim, const Axis &axis, bool cutsAll,
                                    std::string &refusal);

} // namespace mlir::hk::shards

#endif // HK_PASSES_SHARD_DEMAND_H
