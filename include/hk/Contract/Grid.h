//===- Grid.h - Batches that a grid's z cannot count -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A batch is a grid's z, of which a GPU has 65535 at most. A larger one is cut
// into parts of equal depth, which follow each other along y: block (y, z) of
// part y / rows works on matrix part * depth + z. The compiler makes the grid,
// the kernel finds its matrix.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_GRID_H
#define HK_CONTRACT_GRID_H

#include <cstdint>

namespace hk {

/// Most blocks along y and along z, of CUDA and HIP.
inline constexpr int64_t kMostGridZ = 65535;

/// Parts that `matrices` are cut into; 0 of none.
constexpr int64_t gridParts(int64_t matrices) {
  return (matrices + kMostGridZ - 1) / kMostGridZ;
}

/// Matrices of a part. The last part may have fewer.
constexpr int64_t gridDepth(int64_t matrices) {
  int64_t parts = gridParts(matrices);
  return parts <= 1 ? matrices : (matrices + parts - 1) / parts;
}

static_assert(gridDepth(65535) == 65535 && gridParts(65536) == 2 &&
              gridDepth(65536) == 32768 && gridDepth(131071) == 43691);

} // namespace hk

#endif // HK_CONTRACT_GRID_H
