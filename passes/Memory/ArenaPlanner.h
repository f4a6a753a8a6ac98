//===- ArenaPlanner.h - Offsets of buffers with known lives -----*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Places buffers in one arena so that buffers alive at the same time do not
// overlap. Sizes are numbers: bytes, or bytes per unit of a dynamic size.
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_MEMORY_ARENAPLANNER_H
#define HK_PASSES_MEMORY_ARENAPLANNER_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>

namespace mlir::hk {

/// A buffer alive from step `first` to step `last`, both included.
struct ArenaBuffer {
  int64_t bytes;
  int64_t first, last;
  int64_t offset = 0; // result
};

/// Buffers start at multiples of this many bytes of the workspace.
inline constexpr int64_t kArenaAlignment = 256;

/// Sets the offsets, largest buffers first, each at the lowest multiple of
/// `alignment` that is free during its whole life; returns the size of the
/// arena, a multiple of it, too. Deterministic.
int64_t planArena(llvm::MutableArrayRef<ArenaBuffer> buffers,
                  int64_t alignment);

} // namespace mlir::hk

#endif // HK_PASSES_MEMORY_ARENAPLANNER_H
