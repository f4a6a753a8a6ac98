//===- AttentionBackwardVariants.cpp - Tiles of attention's gradients
//------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One variant: the first tile that fits in the LDS and is not known to spill,
// for any number of queries and keys.
//
//===----------------------------------------------------------------------===//

#include "../Launch.h"
#include "../TileReport.h"
#include "AttentionBackwardPlan.h"

using namespace mlir;
using namespace mlir::hk;
using ::hk::AttentionBackwardTile;

static std::string textOf(const AttentionBackwardTile &t) {
  return (Twine(t.rows) + "x" + Twine(t.walked) + " waves " + Twine(t.waves) +
          " stages " + Twine(t.stages))
      .str();
}

namespace {

class TileChoice {
public:
  TileChoice(const AttentionBackwardPlan &kernel, const ::hk::Target &target,
             DecisionLog &log)
      : kernel(kernel), target(target), log(log) {}

  LogicalResult run() {
    SmallVector<AttentionBackwardTile> tiles = candidates();
    std::optional<AttentionBackwardTile> chosen = choose(tiles);
    if (!chosen)
      return reportNoTile(tiles);
    addVariant(
        kernel.getKernel(), DimSymbols::ofKernel(kernel.getKernel()),
        attrOf(*chosen), ::hk::attentionBackwardThreads(target.arch, *chosen),
        ldsOf(*chosen),
        [&](LaunchBuilder &launch) { return launchDims(launch, *chosen); });
    return success();
  }

private:
  /// The first that is legal.
  std::optional<AttentionBackwardTile>
  choose(ArrayRef<AttentionBackwardTile> tiles) {
    TileReport report(kernel.getKernel(), log);
    std::optional<AttentionBackwardTile> chosen;
    for (const AttentionBackwardTile &tile : tiles) {
      bool spills = isKnownToSpill(kernel.getKernel(), attrOf(tile));
      Verdict verdict = checkTile(target, ldsOf(tile), spills);
      report.add(textOf(tile), verdict, ldsOf(tile));
      if (!chosen && verdict.accepted()) {
        chosen = tile;
        report.chooseLast();
      }
    }
    return chosen;
  }

  /// All tiles for the shape, the preferred first.
  SmallVector<AttentionBackwardTile> candidates() const {
    SmallVector<AttentionBackwardTile> tiles;
    const ::hk::AttentionBackwardShape &shape = kernel.getShape();
    bool host = target.arch == ::hk::Arch::Host;
    if (host || ::hk::attentionBackwardHasMatrixTile(target.arch, shape))
      for (const auto &candidate : ::hk::kAttentionBackwardCandidates)
        if (::hk::usableForShape(candidate, target.arch, shape))
          tiles.push_back(candidate.tile);
    if (!host)
      tiles.push_back(::hk::attentionBackwardVectorTile(target.arch));
    return tiles;
  }

  int64_t ldsOf(const AttentionBackwardTile &tile) const {
    const ::hk::AttentionBackwardShape &s = kernel.getShape();
    return ::hk::attentionBackwardLdsBytes(target.arch, tile, s.type, s.headDim,
                                           s.valueDim);
  }
  AttentionBackwardTileAttr attrOf(const AttentionBackwardTile &tile) const {
    return AttentionBackwardTileAttr::get(kernel.getOp().getContext(),
                                          tile.rows, tile.walked, tile.waves,
                                          tile.stages);
  }

  LogicalResult reportNoTile(ArrayRef<AttentionBackwardTile> tiles) {
    AttentionBackwardTile least = tiles.front();
    for (const AttentionBackwardTile &tile : tiles)
      if (ldsOf(tile) < ldsOf(least))
        least = tile;
    return refuseSmallestTile(kernel.getOp(), kernel.getKernel(), target,
                              {textOf(least), ldsOf(least)}, std::nullopt)
           << "; use smaller head sizes than " << kernel.getShape().headDim
           << " and " << kernel.getShape().valueDim;
  }

  /// See backwardTiles() in the kernels.
  Value tilesOf(LaunchBuilder &launch, DimName size, int64_t rowsEach,
                int64_t tile) {
    const AttentionBackwardOperands &operands = kernel.getOperands();
    Value owned = launch.multiply(launch.size(size), rowsEach);
    if (operands.qOffsets >= 0) {
      Value bounds = launch.size(kernel.dim(operands.qOffsets, 0));
      return launch.raggedTiles(owned, tile, launch.atLeast(bounds, 1));
    }
    Value tiles = launch.ceilDivide(owned, tile);
    return kernel.getOp().isRagged()
               ? tiles
               : launch.multiply(tiles,
                                 launch.size(kernel.dim(operands.query, 0)));
  }

  /// The groups of dsink, then the tiles of keys, then those of queries.
  LaunchDims launchDims(LaunchBuilder &launch,
                        const AttentionBackwardTile &tile) {
    const AttentionBackwardOperands &operands = kernel.getOperands();
    Value blocks = launch.constant(operands.dsink >= 0 ? kernel.getGroup() : 0);
    if (operands.dkey >= 0 || operands.dvalue >= 0)
      blocks =
          launch.add(blocks, tilesOf(launch, kernel.getKeys(), 1, tile.rows));
    if (operands.dquery >= 0)
      blocks = launch.add(blocks, tilesOf(launch, kernel.getQueries(),
                                          kernel.getGroup(), tile.rows));
    return launch.grid(blocks, launch.constant(kernel.getKeyHeads()));
  }

  const AttentionBackwardPlan &kernel;
  const ::hk::Target &target;
  DecisionLog &log;
};

} // namespace

LogicalResult mlir::hk::addAttentionBackwardVariants(KernelOp kernel,
                                                     const ::hk::Target &target,
                                                     DecisionLog &log) {
  FailureOr<AttentionBackwardPlan> backward =
      AttentionBackwardPlan::create(kernel);
  if (failed(backward))
    return failure();
  return TileChoice(*backward, target, log).run();
}
