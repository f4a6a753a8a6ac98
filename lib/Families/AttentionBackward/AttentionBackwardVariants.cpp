//===- AttentionBackwardVariants.cpp - Tiles of attention's gradients
//------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first tile that fits in the LDS and is not known to spill, for any number
// of queries and keys. In front of it, where tensor maps can describe the
// operands, a warp-specialised one for sequences of many queries.
//
//===----------------------------------------------------------------------===//

#include "../TileReport.h"
#include "AttentionBackwardOrdered.h"
#include "hk/Contract/Capability.h"

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
      : kernel(kernel), target(target), log(log), shape(kernel.getShape()),
        bulk(kernel.getBulkVerdict(target)) {
    shape.bulk = bulk.accepted();
  }

  LogicalResult run() {
    SmallVector<AttentionBackwardTile> tiles = candidates();
    Choice choice = choose(tiles);
    if (!choice.any)
      return reportNoTile(tiles);
    if (choice.ordered)
      build(*choice.ordered, orderedUse());
    if (choice.ordered && orderedUse() == Use::Always)
      return success();
    if (choice.bulk)
      build(*choice.bulk, bulkUse());
    if (!choice.bulk || bulkUse() != Use::Always)
      build(*choice.any, Use::Always);
    return success();
  }

private:
  /// For which sizes a variant is, of those that the ones before leave.
  enum class Use { Never, Sometimes, Always };
  /// The first tile of each kind that is legal; `any`: that all sizes can take.
  struct Choice {
    std::optional<AttentionBackwardTile> ordered, bulk, any;
  };

  bool isBulk(const AttentionBackwardTile &tile) const {
    return ::hk::attentionBackwardPath(target.arch, tile) ==
           ::hk::AttentionBackwardPath::WarpSpecialised;
  }

  /// Few queries would leave most of a warp-specialised tile empty, and there
  /// is no map of no rows.
  Use bulkUse() const {
    DimName queries = kernel.getQueries(), keys = kernel.getKeys();
    bool known = !SymShapeAttr::isSymbol(queries);
    if (known && queries < ::hk::kBulkBackwardQueries)
      return Use::Never;
    return known && !SymShapeAttr::isSymbol(keys) &&
                   kernel.getOperands().qOffsets < 0
               ? Use::Always
               : Use::Sometimes;
  }

  Use orderedUse() const {
    return kernel.isOrderedForAll() ? Use::Always : Use::Sometimes;
  }

  Choice choose(ArrayRef<AttentionBackwardTile> tiles) {
    TileReport report(kernel.getKernel(), log);
    if (::hk::hasCopyEngine(target) && !bulk.accepted())
      report.add("warp_specialised", bulk);
    if (bulk.accepted() && !shape.sums)
      if (Verdict ordered = kernel.getOrderedVerdict(target);
          !ordered.accepted())
        report.add("dq_in_order", ordered);
    Choice choice;
    for (const AttentionBackwardTile &tile : tiles) {
      bool spills = isKnownToSpill(kernel.getKernel(), attrOf(tile));
      Verdict verdict = checkTile(target, ldsOf(tile), spills);
      report.add(textOf(tile), verdict, ldsOf(tile));
      if (!verdict.accepted() || (isBulk(tile) && bulkUse() == Use::Never))
        continue;
      if (!choice.ordered && !choice.bulk && !choice.any)
        report.chooseLast();
      std::optional<AttentionBackwardTile> &place = ::hk::sumsInOrder(tile)
                                                        ? choice.ordered
                                                    : isBulk(tile) ? choice.bulk
                                                                   : choice.any;
      if (!place)
        place = tile;
    }
    return choice;
  }

  /// All tiles for the shape, the preferred first.
  SmallVector<AttentionBackwardTile> candidates() const {
    SmallVector<AttentionBackwardTile> tiles;
    bool host = target.arch == ::hk::Arch::Host;
    if (host || ::hk::attentionBackwardHasMatrixTile(target.arch, shape))
      for (const auto &candidate : ::hk::kAttentionBackwardCandidates)
        if (::hk::usableForShape(candidate, target.arch, shape))
          tiles.push_back(candidate.tile);
    if (!host)
      tiles.push_back(::hk::attentionBackwardVectorTile(target.arch));
    return tiles;
  }

  void build(const AttentionBackwardTile &tile, Use use) {
    addVariant(kernel.getKernel(), DimSymbols::ofKernel(kernel.getKernel()),
               attrOf(tile), ::hk::attentionBackwardThreads(target.arch, tile),
               ldsOf(tile), [&](LaunchBuilder &launch) {
                 if (::hk::sumsInOrder(tile))
                   return orderedDims(launch, use);
                 LaunchDims grid = launchDims(launch, tile);
                 if (use == Use::Sometimes)
                   grid.condition = isForBulk(launch);
                 return grid;
               });
  }

  /// Enough queries for the number of sequences, and a key.
  Value isForBulk(LaunchBuilder &launch) {
    const AttentionBackwardOperands &operands = kernel.getOperands();
    Value sequences = launch.constant(1);
    if (operands.qOffsets >= 0)
      sequences = launch.atLeast(
          launch.subtract(
              launch.atLeast(launch.size(kernel.dim(operands.qOffsets, 0)), 1),
              1),
          1);
    return launch.both(
        launch.isAtMost(launch.multiply(sequences, ::hk::kBulkBackwardQueries),
                        launch.size(kernel.getQueries())),
        launch.isAtMost(launch.constant(1), launch.size(kernel.getKeys())));
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

  /// See locateBias() in the kernels.
  Value biasTiles(LaunchBuilder &launch, const AttentionBackwardTile &tile) {
    int64_t dbias = kernel.getOperands().dbias;
    bool own = kernel.getOp().isRagged(); // not the sizes of all sequences
    Value queries =
        launch.size(own ? kernel.dim(dbias, 2) : kernel.getQueries());
    Value keys = launch.size(own ? kernel.dim(dbias, 3) : kernel.getKeys());
    Value tiles = launch.multiply(
        launch.ceilDivide(launch.multiply(queries, kernel.getGroup()),
                          tile.rows),
        launch.ceilDivide(keys, tile.walked));
    return kernel.getOp().sumsDbias()
               ? tiles
               : launch.multiply(tiles, launch.size(kernel.dim(
                                            kernel.getOperands().query, 0)));
  }

  /// Those that own keys and finish dq, then the heads of dsink.
  LaunchDims orderedDims(LaunchBuilder &launch, Use use) {
    OrderedBackwardLaunch sizes(kernel, target, launch);
    bool sinks = kernel.getOperands().dsink >= 0;
    int64_t heads = sinks ? kernel.getGroup() * kernel.getKeyHeads() : 0;
    LaunchDims grid =
        launch.grid(launch.add(sizes.blocks, launch.constant(heads)));
    if (use == Use::Sometimes)
      grid.condition = sizes.getPays();
    return grid;
  }

  /// The groups of dsink, then the tiles of keys, then those of queries, then
  /// those of dbias.
  LaunchDims launchDims(LaunchBuilder &launch,
                        const AttentionBackwardTile &tile) {
    const AttentionBackwardOperands &operands = kernel.getOperands();
    Value blocks = launch.constant(operands.dsink >= 0 ? kernel.getGroup() : 0);
    if (operands.dkey >= 0 || operands.dvalue >= 0)
      blocks =
          launch.add(blocks, tilesOf(launch, kernel.getKeys(), 1, tile.rows));
    if (operands.dquery >= 0) {
      // A warp-specialised tile's rows are of one head.
      int64_t heads = isBulk(tile) ? kernel.getGroup() : 1;
      Value tiles = tilesOf(launch, kernel.getQueries(),
                            kernel.getGroup() / heads, tile.rows);
      blocks = launch.add(blocks, launch.multiply(tiles, heads));
    }
    if (operands.dbias >= 0)
      blocks = launch.add(blocks, biasTiles(launch, tile));
    return launch.grid(blocks, launch.constant(kernel.getKeyHeads()));
  }

  const AttentionBackwardPlan &kernel;
  const ::hk::Target &target;
  DecisionLog &log;
  ::hk::AttentionBackwardShape shape;
  Verdict bulk;
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
