//===- Sharding.cpp - Which part of a tensor a rank has -------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arithmetic of segments.
//
//===----------------------------------------------------------------------===//

#include "Sharding.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::shards;

Sharding Sharding::split(int64_t dim, ArrayRef<Segment> segments) {
  if (llvm::all_of(segments, [](Segment s) { return s.parts == 1; }))
    return replicated();
  return {Kind::Split, dim, Segments(segments), {}};
}

std::string shards::textOf(const Sharding &sharding) {
  switch (sharding.kind) {
  case Kind::Replicated:
    return "whole";
  case Kind::Split:
    return "cut along dim " + std::to_string(sharding.dim);
  case Kind::Partial:
    return "a term of a sum";
  case Kind::Owned:
    return "right in its own rows only";
  }
  llvm_unreachable("every kind is listed");
}

RankedTensorType shards::localType(RankedTensorType type,
                                   const Sharding &sharding) {
  if (!sharding.is(Kind::Split))
    return type;
  SmallVector<int64_t> sizes(type.getShape());
  sizes[sharding.dim] = 0;
  for (const Segment &segment : sharding.segments)
    sizes[sharding.dim] += segment.partSize();
  return type.clone(sizes);
}

std::optional<Segments> shards::segmentsIn(ArrayRef<Segment> segments,
                                           int64_t offset, int64_t length) {
  Segments inside;
  int64_t begin = 0;
  for (const Segment &segment : segments) {
    int64_t first = std::max(begin, offset),
            last = std::min(begin + segment.size, offset + length);
    begin += segment.size;
    if (first >= last)
      continue;
    if (last - first != segment.size && segment.parts != 1)
      return std::nullopt;
    inside.push_back({last - first, segment.parts});
  }
  return inside;
}

bool shards::mayCopy(const ShardFactor &factor) {
  return llvm::any_of(factor.places,
                      [](const FactorPlace &place) { return place.mayCopy; });
}

std::optional<int64_t> shards::partsOfPlace(const ShardFactor &factor,
                                            const FactorPlace &place,
                                            int64_t ranks) {
  if (ShapedType::isDynamic(factor.steps) || factor.steps == 0)
    return std::nullopt;
  if (factor.steps % ranks == 0)
    return ranks;
  bool fewer = ranks % factor.steps == 0;
  for (const FactorPlace &other : factor.places)
    fewer &= other.mayCopy || factor.steps * other.unit % ranks == 0;
  if (!fewer)
    return std::nullopt;
  return place.mayCopy ? factor.steps : ranks;
}

std::optional<Segments> shards::stepsOf(const ShardFactor &factor,
                                        const FactorPlace &place,
                                        ArrayRef<Segment> elements,
                                        int64_t ranks) {
  if (mayCopy(factor)) {
    std::optional<int64_t> parts = partsOfPlace(factor, place, ranks);
    if (!parts || elements.size() != 1 || elements[0].parts != *parts)
      return std::nullopt;
    return Segments{{factor.steps, ranks}};
  }
  Segments steps;
  for (const Segment &segment : elements) {
    if (segment.partSize() % place.unit != 0)
      return std::nullopt;
    steps.push_back({segment.size / place.unit, segment.parts});
  }
  return steps;
}

std::optional<Segments> shards::elementsOf(const ShardFactor &factor,
                                           const FactorPlace &place,
                                           ArrayRef<Segment> steps,
                                           int64_t ranks) {
  Segments elements;
  for (const Segment &segment : steps)
    elements.push_back({segment.size * place.unit, segment.parts});
  if (!mayCopy(factor))
    return elements;
  std::optional<int64_t> parts = partsOfPlace(factor, place, ranks);
  if (!parts || elements.size() != 1)
    return std::nullopt;
  elements[0].parts = *parts;
  return elements;
}
