//===- AttentionTiles.cpp - Tiles and variants of attention ---------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two variants: the tile with fewest rows where the (query, head) rows of a
// sequence fit in it (a decode step), else the one with most.
//
//===----------------------------------------------------------------------===//

#include "../Launch.h"
#include "AttentionKernel.h"

using namespace mlir;
using namespace mlir::hk;
using ::hk::AttentionTile;

static std::string textOf(const AttentionTile &t) {
  return (Twine(t.bq) + "x" + Twine(t.bk) + " waves " + Twine(t.waves) +
          " stages " + Twine(t.stages))
      .str();
}

namespace {

class AttentionVariants {
public:
  AttentionVariants(const AttentionKernel &kernel, const ::hk::Target &target,
                    DecisionLog &log)
      : kernel(kernel), target(target), log(log),
        dims(DimSymbols::ofKernel(kernel.getKernel())) {}

  LogicalResult run() {
    ::hk::AttentionTileList list =
        ::hk::attentionTiles(target.arch, kernel.getShape());
    if (list.count == 0) {
      record({});
      return reportNoTile();
    }
    AttentionTile many = list.tile[0], few = list.tile[list.count - 1];
    DimName queries = kernel.getQueries();
    // Rows of a sequence, where they are known.
    std::optional<int64_t> rows;
    if (!isRagged() && !SymShapeAttr::isSymbol(queries))
      rows = queries * kernel.getGroup();
    bool neverFew = few.bq == many.bq || (rows && *rows > few.bq);
    bool alwaysFew = !neverFew && rows && *rows <= few.bq;
    if (!neverFew)
      build(few, /*conditional=*/!alwaysFew);
    if (!alwaysFew)
      build(many, /*conditional=*/false);
    record(alwaysFew ? few : many);
    return success();
  }

private:
  bool isRagged() const { return kernel.getOperands().qOffsets >= 0; }

  int64_t ldsOf(const AttentionTile &tile) const {
    const ::hk::AttentionShape &s = kernel.getShape();
    return ::hk::attentionLdsBytes(target.arch, tile, s.type, s.headDim,
                                   s.valueDim);
  }

  void record(std::optional<AttentionTile> chosen) {
    Decision decision = {DecisionKind::Tile,
                         kernel.getOp().getLoc(),
                         kernel.getKernel().getSymName().str(),
                         {},
                         -1};
    auto add = [&](const AttentionTile &tile) {
      int64_t lds = ldsOf(tile);
      if (chosen && chosen->bq == tile.bq && chosen->bk == tile.bk)
        decision.chosen = int64_t(decision.candidates.size());
      Verdict verdict =
          lds > target.ldsBytes
              ? Verdict::refuse(Reason::LdsExceeded,
                                Twine(lds) + " of " + Twine(target.ldsBytes))
              : Verdict::accept();
      decision.candidates.push_back({textOf(tile), verdict, 0, lds});
    };
    if (usesVectorUnits())
      add(::hk::attentionVectorTile(target.arch));
    else
      for (const ::hk::AttentionCandidate &c : ::hk::kAttentionCandidates)
        if (::hk::usableForShape(c, target.arch, kernel.getShape()))
          add(c.tile);
    log.add(std::move(decision));
  }

  bool usesVectorUnits() const {
    return target.arch != ::hk::Arch::Host &&
           !::hk::attentionHasMatrixTile(target.arch, kernel.getShape());
  }

  /// Names the smallest tile there is, and how few keys would fit.
  LogicalResult reportNoTile() {
    std::optional<AttentionTile> asked;
    if (usesVectorUnits())
      asked = ::hk::attentionVectorTile(target.arch);
    else
      for (const ::hk::AttentionCandidate &c : ::hk::kAttentionCandidates)
        if (::hk::usableForShape(c, target.arch, kernel.getShape()) &&
            (!asked || ldsOf(c.tile) < ldsOf(*asked)))
          asked = c.tile;
    InFlightDiagnostic diag = kernel.getOp().emitOpError("in kernel @")
                              << kernel.getKernel().getSymName() << ": ";
    if (!asked)
      return diag << "no tile of " << target.name << " has head sizes of "
                  << kernel.getShape().largestDim();
    diag << "its smallest tile " << textOf(*asked) << " needs " << ldsOf(*asked)
         << " bytes of LDS, but " << target.name << " has " << target.ldsBytes;
    AttentionTile fits = *asked;
    while (fits.bk > 1 && ldsOf(fits) > target.ldsBytes)
      fits.bk /= 2;
    if (ldsOf(fits) <= target.ldsBytes)
      diag << "; the nearest tile that fits is " << textOf(fits) << " with "
           << ldsOf(fits) << " bytes, fewer keys than a matrix fragment has";
    return diag;
  }

  void build(AttentionTile tile, bool conditional) {
    tile.splitKv = int32_t(kernel.getOp().getNumSlices());
    auto attr =
        AttentionTileAttr::get(kernel.getOp().getContext(), tile.bq, tile.bk,
                               tile.waves, tile.stages, tile.splitKv);
    addVariant(kernel.getKernel(), dims, attr,
               ::hk::attentionThreads(target.arch, tile), ldsOf(tile),
               [&](LaunchBuilder &launch) {
                 return launchDims(launch, tile, conditional);
               });
  }

  LaunchDims launchDims(LaunchBuilder &launch, const AttentionTile &tile,
                        bool conditional) {
    const AttentionOperands &operands = kernel.getOperands();
    Value rows =
        launch.multiply(launch.size(kernel.getQueries()), kernel.getGroup());
    Value tiles, fewRows = launch.constant(tile.bq);
    if (isRagged()) {
      // See raggedTile() in the kernels.
      Value bounds =
          launch.atLeast(launch.size(kernel.dim(operands.qOffsets, 0)), 1);
      Value sequences = launch.subtract(bounds, 1);
      tiles = launch.raggedTiles(rows, tile.bq, bounds);
      fewRows = launch.multiply(fewRows, sequences);
    } else {
      tiles = launch.ceilDivide(rows, tile.bq);
      if (!kernel.getOp().hasRaggedQueries())
        tiles =
            launch.multiply(tiles, launch.size(kernel.dim(operands.query, 0)));
    }
    LaunchDims grid = launch.grid(tiles, launch.constant(kernel.getKeyHeads()),
                                  launch.constant(tile.splitKv));
    if (conditional)
      grid.condition = launch.isAtMost(rows, fewRows);
    return grid;
  }

  const AttentionKernel &kernel;
  const ::hk::Target &target;
  DecisionLog &log;
  DimSymbols dims;
};

} // namespace

LogicalResult mlir::hk::addAttentionVariants(KernelOp kernel,
                                             const ::hk::Target &target,
                                             DecisionLog &log) {
  FailureOr<AttentionKernel> attention = AttentionKernel::create(kernel);
  if (failed(attention))
    return failure();
  return AttentionVariants(*attention, target, log).run();
}
