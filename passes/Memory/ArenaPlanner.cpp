//===- ArenaPlanner.cpp - Offsets of buffers with known lives -------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Greedy placement by decreasing size, as TensorFlow Lite's and TVM's planners
// do (Pisarchyk and Lee, 2020).
//
//===----------------------------------------------------------------------===//

#include "ArenaPlanner.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir::hk;

int64_t mlir::hk::planArena(llvm::MutableArrayRef<ArenaBuffer> buffers,
                            int64_t alignment) {
  llvm::SmallVector<ArenaBuffer *> bySize =
      llvm::map_to_vector(buffers, [](ArenaBuffer &b) { return &b; });
  llvm::stable_sort(bySize, [](const ArenaBuffer *a, const ArenaBuffer *b) {
    return a->bytes > b->bytes;
  });

  int64_t total = 0;
  llvm::SmallVector<const ArenaBuffer *> placed; // ordered by offset
  for (ArenaBuffer *buffer : bySize) {
    int64_t offset = 0;
    for (const ArenaBuffer *other : placed) {
      if (other->last < buffer->first || buffer->last < other->first)
        continue;
      if (offset + buffer->bytes <= other->offset)
        break;
      offset = std::max(offset, static_cast<int64_t>(llvm::alignTo(
                                    other->offset + other->bytes, alignment)));
    }
    buffer->offset = offset;
    total = std::max(total, static_cast<int64_t>(llvm::alignTo(
                                offset + buffer->bytes, alignment)));
    auto position = llvm::upper_bound(
        placed, buffer, [](const ArenaBuffer *a, const ArenaBuffer *b) {
          return a->offset < b->offset;
        });
    placed.insert(position, buffer);
  }
  return total;
}
