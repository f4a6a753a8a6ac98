//===- FusionTable.h - Groups of operators on a side table -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every group has a level, and every edge between groups goes to a strictly
// higher level, so that no grouping can make a cycle. A new group gets 1 + the
// highest level of its producers. An operator joins a group whose level is
// above all its other producers; a group may be lifted for that as long as it
// stays below its own consumers. Groups without a path between them may become
// one under the same condition.
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_FUSION_FUSIONTABLE_H
#define HK_PASSES_FUSION_FUSIONTABLE_H

#include "Fusion/ScheduleBlock.h"
#include "hk/Families/Family.h"

namespace mlir::hk {

struct FusionGroup {
  /// Null for an operator that was a kernel already.
  const Family *family = nullptr;
  int64_t level = 0;
  int64_t numBaseOps = 0;
  /// In block order; views of members that members use are members too.
  SmallVector<Operation *> ops;
  /// Memory that is written in place somewhere in the block: read here, written
  /// here.
  SmallVector<Value> reads, writes;
};

class FusionTable {
public:
  using GroupId = unsigned;

  /// `block` is prepared and scheduled.
  FusionTable(Block &block, const FusionContext &context, int64_t maxOps);

  /// Groups that make operands of `op`, directly or through views; highest
  /// level first.
  SmallVector<GroupId> producersOf(Operation *op) const;
  /// Existing groups of `family` that read what `op` reads; the latest few.
  SmallVector<GroupId> siblingsOf(Operation *op, const Family &family) const;
  /// The group that makes the value under the views of `operand`, if any.
  std::optional<GroupId> producerOf(Value operand) const;

  GroupId start(Operation *op, const Family *family);

  /// Makes one group of `groups`, the first of which leads, and `op`. Changes
  /// nothing when it refuses.
  Verdict join(ArrayRef<GroupId> groups, Operation *op);
  /// Makes one group of two.
  Verdict merge(GroupId into, GroupId from);

  /// Makes `from`, a group of another family whose results only `into` reads,
  /// part of it: computed where they are read.
  Verdict takeIn(GroupId into, GroupId from);

  const FusionGroup &get(GroupId id) const { return groups[id]; }
  /// The groups that live, in the order of their first operators.
  SmallVector<const FusionGroup *> liveGroups() const;
  /// The same by id.
  SmallVector<GroupId> liveIds() const;

private:
  struct Union {
    int64_t level = 0;
    SmallVector<Operation *> ops;
  };
  Verdict unite(ArrayRef<GroupId> ids, int64_t minLevel, Operation *joining,
                Union &result) const;
  void commit(ArrayRef<GroupId> ids, Union united);
  bool consumersAbove(GroupId id, int64_t level) const;
  bool usersAbove(Value value, ArrayRef<GroupId> except, int64_t level,
                  int &budget) const;
  bool staysInside(Operation *op, ArrayRef<Operation *> ops, GroupId into,
                   GroupId from) const;
  int64_t levelNeeded(Operation *op, ArrayRef<GroupId> except) const;
  Verdict checkState(ArrayRef<GroupId> ids, Operation *op) const;
  Verdict checkLaterRead(GroupId into, GroupId from) const;
  void noteState(Operation *op, FusionGroup &group) const;
  void noteInputs(Operation *op, GroupId id);
  Value memoryOf(Value value) const;
  bool isClonable(Operation *view) const;
  void insertInOrder(SmallVectorImpl<Operation *> &ops, Operation *op) const;
  std::string describe(GroupId id) const;

  const FusionContext &context;
  int64_t maxOps;
  std::vector<FusionGroup> groups;
  llvm::DenseMap<Operation *, GroupId> groupOf;
  llvm::DenseMap<Operation *, unsigned> position;
  /// Readers of a state before their writer, both ways.
  llvm::DenseMap<Operation *, SmallVector<Operation *, 1>> readersOf, writersOf;
  llvm::DenseMap<Value, Value> memory; // of results written in place
  llvm::DenseMap<Value, int> written;  // memory that some operator overwrites
  llvm::DenseMap<Value, SmallVector<GroupId, 4>> readersOfValue;
};

} // namespace mlir::hk

#endif // HK_PASSES_FUSION_FUSIONTABLE_H
