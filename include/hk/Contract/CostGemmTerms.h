//===- CostGemmTerms.h - Sizes of a product for its models -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What every model of a product counts: the rate of its instruction, bytes,
// blocks.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_COSTGEMMTERMS_H
#define HK_CONTRACT_COSTGEMMTERMS_H

#include "hk/Contract/Cost.h"
#include "hk/Contract/GemmFits.h"
#include "hk/Contract/GroupTiles.h"
#include "hk/Contract/Slices.h"

namespace hk {

/// That of a loop; the scaled instruction has its rates from the wider operand.
constexpr double matrixRate(const Target &target, const GemmTile &tile,
                            const GemmShapeClass &shape) {
  if (tile.loop != GemmLoop::Microscaled)
    return matrixRate(target, shape.operand);
  auto [a, b] = gemmBits(tile.loop, shape);
  return a == 4 && b == 4 ? 4.0 : 2.0;
}

struct GemmSize {
  int64_t m, n, k, batches;
  /// Bytes of an element of A, B and of everything written per result element.
  double bytesA, bytesB, bytesOut;
  /// Rows of a matrix of the batch come in blocks of so many places, of which
  /// the last is filled up; 0: they follow each other.
  int64_t block = 0;
  /// Groups that have rows are fewer than groups, and a row each.
  bool fewGroups = false;
};

/// Bytes of all operands and results, each once.
constexpr double gemmBytes(const GemmShapeClass &shape, const GemmSize &size) {
  double rowsB = double(size.n) * (shape.pair ? 2 : 1);
  return double(size.batches) *
         (double(size.m) * double(size.k) * size.bytesA +
          rowsB * double(size.k) * size.bytesB +
          double(size.m) * double(size.n) * size.bytesOut);
}

/// Blocks of a launch, and the products that each computes one after the other.
struct GemmBlocks {
  double blocks, products;
};
constexpr GemmBlocks gemmBlocks(const Target &target, const GemmTile &tile,
                                const GemmShapeClass &shape,
                                const GemmSize &size) {
  double columns = ceilDiv(double(size.n), gemmColumns(tile, shape.pair));
  if (size.block == 0)
    return {ceilDiv(double(size.m), tile.bm) * columns * double(size.batches),
            1};
  int64_t together =
      blocksOfTile(takesRunsOfBlocks(target), tile.bm, size.block);
  double each = ceilDiv(double(size.m), double(size.block));
  double tiles = ceilDiv(each * double(size.batches), double(together)) *
                 double(tilesOfBlock(tile.bm, size.block));
  return {tiles * columns, productsOfTile(together, each)};
}

/// Tiles of `bm` rows of a group on average. Tokens choose their experts, so
/// that rows of a group vary by the root of their mean: here evenly, as far on
/// either side of it as gives that deviation.
constexpr double tilesOfGroup(double rows, double bm) {
  double root = rows > 1 ? rows : 1;
  for (int i = 0; i < 32; ++i)
    root = (root + rows / root) / 2;
  double reach = 1.7320508 * root;
  double from = rows > reach ? rows - reach : 0, to = rows + reach;
  auto sumOfTiles = [&](double most) { // of all numbers of rows up to `most`
    double whole = double(int64_t(most / bm));
    return bm * whole * (whole + 1) / 2 + (whole + 1) * (most - whole * bm);
  };
  return (sumOfTiles(to) - sumOfTiles(from)) / (to - from);
}

/// Every block of places as a matrix of the batch: it is read once a block.
constexpr GemmSize withBlocksAsBatches(GemmSize size) {
  if (size.block == 0)
    return size;
  size.batches *= (size.m + size.block - 1) / size.block;
  size.m = size.m < size.block ? size.m : size.block;
  size.block = 0;
  return size;
}

} // namespace hk

#endif // HK_CONTRACT_COSTGEMMTERMS_H
