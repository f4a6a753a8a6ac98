//===- WeightSlice.h - The part of a weight that a rank has -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A weight of several ranks lies whole in its file; every rank reads its part.
// A dim is a list of segments, as the queries, keys and values of a merged
// projection, and each of them is cut by itself. The compiler, which records
// checksums of parts, and the runtime, which reads them, cut here.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_WEIGHTSLICE_H
#define HK_CONTRACT_WEIGHTSLICE_H

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace hk {

/// A segment of a dim: `parts` equal parts of `size` elements in all. With
/// fewer parts than ranks neighbouring ranks have the same one; 1: all have it.
struct WeightSegment {
  int64_t size = 0, parts = 1;
  int64_t partSize() const { return size / parts; }
  /// Where the part of the rank at `place` of `ranks` begins in the segment.
  int64_t begin(int64_t place, int64_t ranks) const {
    return place / (ranks / parts) * partSize();
  }
  bool operator==(const WeightSegment &other) const {
    return size == other.size && parts == other.parts;
  }
};

/// One dim cut along one axis of the mesh.
struct WeightSlice {
  std::string axis;
  int64_t dim = 0;
  std::vector<WeightSegment> segments;

  int64_t wholeSize() const {
    int64_t size = 0;
    for (const WeightSegment &segment : segments)
      size += segment.size;
    return size;
  }
  int64_t partSize() const {
    int64_t size = 0;
    for (const WeightSegment &segment : segments)
      size += segment.partSize();
    return size;
  }
  /// What is wrong with it for a tensor of `sizes` and an axis of `ranks`; "":
  /// nothing.
  std::string problem(const std::vector<int64_t> &sizes, int64_t ranks) const {
    if (dim < 0 || dim >= int64_t(sizes.size()))
      return "dim " + std::to_string(dim) + " of a tensor of rank " +
             std::to_string(sizes.size());
    for (const WeightSegment &segment : segments)
      if (segment.parts < 1 || ranks % segment.parts != 0 || segment.size < 0 ||
          segment.size % segment.parts != 0)
        return std::to_string(segment.parts) + " parts of " +
               std::to_string(segment.size) + " elements for " +
               std::to_string(ranks) + " ranks";
    if (wholeSize() != sizes[dim])
      return "segments of " + std::to_string(wholeSize()) +
             " elements in all for a dim of " + std::to_string(sizes[dim]);
    return "";
  }
};

/// Slices that count bytes along the last dim of a tensor of rank `rank`, of
/// which `perByte` elements share one.
inline std::vector<WeightSlice> bytesOfSlices(std::vector<WeightSlice> slices,
                                              std::size_t rank,
                                              int64_t perByte) {
  for (WeightSlice &slice : slices)
    if (slice.dim + 1 == int64_t(rank))
      for (WeightSegment &segment : slice.segments)
        segment.size /= perByte;
  return slices;
}

/// Copies the part of the rank at `place` of `ranks` from `whole`, a dense
/// tensor of `sizes` items of `itemBytes`, to `part`.
inline void cutWeight(const WeightSlice &slice,
                      const std::vector<int64_t> &sizes, int64_t itemBytes,
                      int64_t place, int64_t ranks, const char *whole,
                      char *part) {
  int64_t outer = 1, inner = itemBytes;
  for (int64_t d = 0; d < slice.dim; ++d)
    outer *= sizes[d];
  for (int64_t d = slice.dim + 1; d < int64_t(sizes.size()); ++d)
    inner *= sizes[d];
  for (int64_t o = 0; o < outer; ++o) {
    for (const WeightSegment &segment : slice.segments) {
      int64_t bytes = segment.partSize() * inner;
      std::memcpy(part, whole + segment.begin(place, ranks) * inner, bytes);
      part += bytes;
      whole += segment.size * inner;
    }
  }
}

} // namespace hk

#endif // HK_CONTRACT_WEIGHTSLICE_H
