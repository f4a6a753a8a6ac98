//===- AttentionBackwardTiles.cpp - Tiles of attention's gradients ------===//
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

#include "AttentionBackwardKernel.h"

using namespace mlir;
using namespace mlir::hk;
using ::hk::AttentionBackwardTile;

static std::string textOf(const AttentionBackwardTile &t) {
  return (Twine(t.rows) + "x" + Twine(t.walked) + " waves " + Twine(t.waves) +
          " stages " + Twine(t.stages))
      .str();
}

namespace {

class VariantBuilder {
public:
  VariantBuilder(const AttentionBackwardKernel &kernel,
                 const ::hk::Target &target, DecisionLog &log)
      : kernel(kernel), target(target), log(log) {}

  LogicalResult run() {
    SmallVector<AttentionBackwardTile> tiles = candidates();
    Decision decision = {DecisionKind::Tile,
                         kernel.getOp().getLoc(),
                         kernel.getKernel().getSymName().str(),
                         {},
                         -1};
    std::optional<AttentionBackwardTile> chosen;
    for (const AttentionBackwardTile &tile : tiles) {
      Verdict verdict = check(tile);
      if (!chosen && verdict.accepted()) {
        chosen = tile;
        decision.chosen = int64_t(decision.candidates.size());
      }
      decision.candidates.push_back({textOf(tile), verdict, 0, ldsOf(tile)});
    }
    log.add(std::move(decision));
    if (!chosen)
      return reportNoTile(tiles);
    addVariant(kernel.getKernel(), attrOf(*chosen),
               ::hk::attentionBackwardThreads(target.arch, *chosen),
               ldsOf(*chosen),
               [&](OpBuilder &b, Location loc, ValueRange symbols) {
                 return launchDims(b, loc, symbols, *chosen);
               });
    return success();
  }

private:
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

  Verdict check(const AttentionBackwardTile &tile) const {
    int64_t lds = ldsOf(tile);
    if (lds > target.ldsBytes)
      return Verdict::refuse(Reason::LdsExceeded,
                             Twine(lds) + " of " + Twine(target.ldsBytes));
    if (isKnownToSpill(kernel.getKernel(), attrOf(tile)))
      return Verdict::refuse(Reason::RegistersExceeded,
                             "its registers spilled");
    return Verdict::accept();
  }

  LogicalResult reportNoTile(ArrayRef<AttentionBackwardTile> tiles) {
    AttentionBackwardTile least = tiles.front();
    for (const AttentionBackwardTile &tile : tiles)
      if (ldsOf(tile) < ldsOf(least))
        least = tile;
    return kernel.getOp().emitOpError("in kernel @")
           << kernel.getKernel().getSymName() << ": its smallest tile "
           << textOf(least) << " needs " << ldsOf(least)
           << " bytes of LDS, but " << target.name << " has " << target.ldsBytes
           << "; use smaller head sizes than " << kernel.getShape().headDim
           << " and " << kernel.getShape().valueDim;
  }

  /// See backwardTiles() in the kernels.
  Value tilesOf(OpBuilder &b, Location loc, ValueRange symbols, DimName size,
                int64_t rowsEach, int64_t tile) {
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(b, loc, value);
    };
    auto valueOf = [&](DimName name) -> Value {
      return SymShapeAttr::isSymbol(name)
                 ? Value(symbols[SymShapeAttr::symbolOf(name)])
                 : constant(name);
    };
    Value owned =
        b.createOrFold<arith::MulIOp>(loc, valueOf(size), constant(rowsEach));
    const AttentionBackwardOperands &operands = kernel.getOperands();
    if (operands.qOffsets >= 0) {
      Value bounds = b.createOrFold<arith::MaxUIOp>(
          loc, valueOf(kernel.dim(operands.qOffsets, 0)), constant(1));
      Value full = b.createOrFold<arith::DivUIOp>(loc, owned, constant(tile));
      return b.createOrFold<arith::AddIOp>(loc, full, bounds);
    }
    Value tiles =
        b.createOrFold<arith::CeilDivUIOp>(loc, owned, constant(tile));
    if (kernel.getOp().isRagged())
      return tiles;
    return b.createOrFold<arith::MulIOp>(
        loc, tiles, valueOf(kernel.dim(operands.query, 0)));
  }

  LaunchDims launchDims(OpBuilder &b, Location loc, ValueRange symbols,
                        const AttentionBackwardTile &tile) {
    const AttentionBackwardOperands &operands = kernel.getOperands();
    LaunchDims launch;
    launch.x = arith::ConstantIndexOp::create(
        b, loc, operands.dsink >= 0 ? kernel.getGroup() : 0);
    auto add = [&](DimName size, int64_t rowsEach) {
      launch.x = b.createOrFold<arith::AddIOp>(
          loc, launch.x, tilesOf(b, loc, symbols, size, rowsEach, tile.rows));
    };
    if (operands.dkey >= 0 || operands.dvalue >= 0)
      add(kernel.getKeys(), 1);
    if (operands.dquery >= 0)
      add(kernel.getQueries(), kernel.getGroup());
    launch.y = arith::ConstantIndexOp::create(b, loc, kernel.getKeyHeads());
    launch.z = arith::ConstantIndexOp::create(b, loc, 1);
    launch.condition = arith::ConstantIntOp::create(b, loc, 1, 1);
    return launch;
  }

  const AttentionBackwardKernel &kernel;
  const ::hk::Target &target;
  DecisionLog &log;
};

} // namespace

LogicalResult mlir::hk::addAttentionBackwardVariants(KernelOp kernel,
                                                     const ::hk::Target &target,
                                                     DecisionLog &log) {
  FailureOr<AttentionBackwardKernel> backward =
      AttentionBackwardKernel::create(kernel);
  if (failed(backward))
    return failure();
  return VariantBuilder(*backward, target, log).run();
}
