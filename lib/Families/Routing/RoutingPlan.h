//===- RoutingPlan.h - What one routing kernel computes -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A routing kernel is one block that counts keys into bins, then runs steps
// (sorts, prefix sums, segments) over bins or over arguments, and stores what
// elementwise operators make of each step's results; where it sorts many keys
// and counts nothing else, several blocks. Every value of a group is
// found at one place of that program; a value that would be needed elsewhere
// does not join.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_ROUTING_ROUTINGPLAN_H
#define HK_FAMILIES_ROUTING_ROUTINGPLAN_H

#include "hk/Contract/Tile.h"
#include "hk/Families/Family.h"
#include "llvm/ADT/MapVector.h"

#include <tuple>

namespace mlir::hk {

/// Where a value is found.
enum class RoutingSpace : int32_t {
  Outside,  // an argument or a constant: anywhere
  Bins,     // a count per bin: anywhere after counting
  Sums,     // at an element of a prefix sum, or the offset of a segment
  Total,    // after a prefix sum or segments: its last element
  Blocks,   // at a block of rows and a bin
  Places,   // at a place of segments
  Order,    // at an entry of a sort's order
  Position, // at an item of a sort
};

struct RoutingPlace {
  RoutingSpace space = RoutingSpace::Outside;
  Operation *step = nullptr; // none outside and for bins

  bool operator==(const RoutingPlace &other) const {
    return space == other.space && step == other.step;
  }
  bool operator!=(const RoutingPlace &other) const { return !(*this == other); }
};

/// Counters that ops share: of the same keys and number of bins. A sort uses
/// its counters up.
struct RoutingCounter {
  Value source;
  int64_t bins;
  bool bits = false;
  int64_t offset = 0; // of its first bin among those of the kernel
  Operation *sort = nullptr;
};

class RoutingPlan {
public:
  /// Of a group in topological order, or of the body of a kernel; a verdict
  /// that is not accepted leaves the plan unusable.
  Verdict analyze(ArrayRef<Operation *> ops, const DimSymbols &dims);
  static SmallVector<Operation *> bodyOf(KernelOp kernel);

  ArrayRef<Operation *> getMembers() const { return members; }
  ArrayRef<RoutingCounter> counters() const { return allCounters; }
  /// The counters that `op` (histogram, count_bits, sort) reads.
  const RoutingCounter &counterOf(Operation *op) const {
    return allCounters[counterIndex.lookup(op)];
  }
  /// Whether the result of `op` is the counts of bins.
  bool counts(Operation *op) const {
    return counterIndex.contains(op) &&
           placeOf(op->getResult(0)).space == RoutingSpace::Bins;
  }
  /// Sorts, prefix sums and segments, in order.
  ArrayRef<Operation *> steps() const { return allSteps; }
  RoutingPlace placeOf(Value value) const { return places.lookup(value); }
  int64_t numBins() const { return bins; }
  /// The keys that several blocks of `tile` sort; null: one block does all.
  Value sharedKeys(const ::hk::Target &target, const ::hk::RoutingTile &tile,
                   const DimSymbols &dims) const;

private:
  void addCounter(Operation *op, Value source, int64_t bins, bool bits);
  Verdict checkSource(Operation *op, Value source, StringRef what);
  Verdict addStep(Operation *op, Value input);
  Verdict addElementwise(Operation *op, const DimSymbols &dims);
  Verdict addSlice(Operation *op);

  SmallVector<Operation *> members;
  SmallVector<RoutingCounter> allCounters;
  SmallVector<Operation *> allSteps;
  llvm::DenseMap<Operation *, size_t> counterIndex;
  llvm::DenseMap<Value, RoutingPlace> places;
  int64_t bins = 0;
};

/// Whether `op` is one of the operators that make a routing kernel, rather than
/// one that may follow in it.
bool isRoutingOp(Operation *op);

// Family entry points, one file each.
LogicalResult addRoutingVariants(KernelOp kernel, const ::hk::Target &target,
                                 DecisionLog &log);
LogicalResult emitRouting(KernelOp kernel, const ::hk::Target &target,
                          StringRef prefix, raw_ostream &os);
/// Whether some tile has room for `bins` counters.
bool hasRoutingTile(const ::hk::Target &target, int64_t bins);

} // namespace mlir::hk

#endif // HK_FAMILIES_ROUTING_ROUTINGPLAN_H
