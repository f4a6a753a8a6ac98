//===- Sharding.h - Which part of a tensor a rank has -----------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lattice of hk-shard, for one axis of the mesh: a rank has all of a
// tensor, a part of one dim, a term of a sum, or the rows that are its own.
// How these go through the factors of an operator.
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_SHARD_SHARDING_H
#define HK_PASSES_SHARD_SHARDING_H

#include "hk/Analysis/FactorsOf.h"

#include <optional>

namespace mlir::hk::shards {

using Segment = ::hk::WeightSegment;
using Segments = SmallVector<Segment>;

enum class Kind {
  Replicated, // all of it
  Split,      // parts of the segments of a dim
  Partial,    // the sum over the ranks is the tensor
  Owned,      // rows are right on the rank that owns their group only
};

/// What decides which rank owns a row.
struct Owner {
  Value numbers{}, order{};
  /// The rows of a rank come first, from row 0 on.
  bool first = false;
  explicit operator bool() const { return static_cast<bool>(numbers); }
  bool operator==(const Owner &other) const {
    return numbers == other.numbers && order == other.order &&
           first == other.first;
  }
};

struct Sharding {
  Kind kind = Kind::Replicated;
  int64_t dim = 0;     // of Split
  Segments segments{}; // of Split
  /// Of Owned, and of a Partial whose other rows are zero.
  Owner owner{};

  static Sharding replicated() { return {}; }
  /// Replicated if every rank has all of every segment.
  static Sharding split(int64_t dim, ArrayRef<Segment> segments);
  static Sharding partial(Owner owner = {}) {
    return {Kind::Partial, 0, {}, owner};
  }
  static Sharding owned(Owner owner) { return {Kind::Owned, 0, {}, owner}; }
  bool is(Kind k) const { return kind == k; }
  bool operator==(const Sharding &other) const {
    return kind == other.kind && dim == other.dim &&
           segments == other.segments && owner == other.owner;
  }
};

/// "cut along dim 1", for people.
std::string textOf(const Sharding &sharding);

/// The axis that is being cut.
struct Axis {
  std::string name;
  int64_t ranks = 1;
  /// Experts are cut rather than columns.
  bool takesExperts() const { return name == "ep"; }
};

/// The type that a rank has of a value of this sharding.
RankedTensorType localType(RankedTensorType type, const Sharding &sharding);

/// The segments of elements [offset, offset + length); nullopt where one of
/// them is cut there.
std::optional<Segments> segmentsIn(ArrayRef<Segment> segments, int64_t offset,
                                   int64_t length);

/// Whether places of the factor may be copies.
bool mayCopy(const ShardFactor &factor);
/// What each place of a factor that may copy is cut into, and nullopt if its
/// steps cannot be shared among so many ranks.
std::optional<int64_t> partsOfPlace(const ShardFactor &factor,
                                    const FactorPlace &place, int64_t ranks);

/// The segments of a factor's steps from those of one of its places, and the
/// other way round; nullopt where a cut lies inside of a step.
std::optional<Segments> stepsOf(const ShardFactor &factor,
                                const FactorPlace &place,
                                ArrayRef<Segment> elements, int64_t ranks);
std::optional<Segments> elementsOf(const ShardFactor &factor,
                                   const FactorPlace &place,
                                   ArrayRef<Segment> steps, int64_t ranks);

} // namespace mlir::hk::shards

#endif // HK_PASSES_SHARD_SHARDING_H
