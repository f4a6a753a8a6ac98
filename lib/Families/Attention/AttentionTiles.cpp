//===- AttentionTiles.cpp - Tiles and variants of attention ---------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two variants: the tile with fewest rows where the (query, head) rows of a
// sequence fit in it (a decode step), else the one with most. Between them,
// where tensor maps can describe the operands, a warp-specialised one for
// sequences of many queries.
//
//===----------------------------------------------------------------------===//

#include "AttentionKernel.h"

using namespace mlir;
using namespace mlir::hk;
using ::hk::AttentionTile;

static std::string textOf(const AttentionTile &t) {
  return (Twine(t.bq) + "x" + Twine(t.bk) + " waves " + Twine(t.waves) +
          " stages " + Twine(t.stages))
      .str();
}
static bool isBulk(const ::hk::Target &target, const AttentionTile &t) {
  return ::hk::attentionPath(target.arch, t) ==
         ::hk::AttentionPath::WarpSpecialised;
}

namespace {

class VariantBuilder {
public:
  VariantBuilder(const AttentionKernel &kernel, const ::hk::Target &target,
                 DecisionLog &log)
      : kernel(kernel), target(target), log(log), shape(kernel.getShape()),
        bulk(kernel.getBulkVerdict(target)) {
    shape.bulk = bulk.accepted();
    shape.softcap = kernel.getOp().getSoftcap().has_value();
  }

  LogicalResult run() {
    ::hk::AttentionTileList list = ::hk::attentionTiles(target.arch, shape);
    if (list.count == 0) {
      record({});
      return reportNoTile();
    }
    // The bulk tiles are the first, if there are any.
    int32_t first = isBulk(target, list.tile[0]) ? 1 : 0;
    AttentionTile many = list.tile[first], few = list.tile[list.count - 1];
    DimName queries = kernel.getQueries();
    // Rows of a sequence, where they are known.
    std::optional<int64_t> rows;
    if (!isRagged() && !SymShapeAttr::isSymbol(queries))
      rows = queries * kernel.getGroup();
    bool neverFew = few.bq == many.bq || (rows && *rows > few.bq);
    bool alwaysFew = !neverFew && rows && *rows <= few.bq;
    Use useOfBulk = first == 0 || alwaysFew ? Use::Never : bulkUse();
    if (!neverFew)
      build(few, alwaysFew ? Use::Always : Use::Sometimes);
    if (useOfBulk != Use::Never)
      build(list.tile[0], useOfBulk);
    if (!alwaysFew && useOfBulk != Use::Always)
      build(many, Use::Always);
    if (useOfBulk == Use::Never)
      record(alwaysFew ? few : many);
    else
      record(list.tile[0]);
    return success();
  }

private:
  /// For which sizes a variant is, of those that the ones before leave.
  enum class Use { Never, Sometimes, Always };

  /// Few queries of a head would leave most of a warp-specialised tile empty,
  /// and there is no map of no keys.
  Use bulkUse() {
    DimName queries = kernel.getQueries(), keys = kernel.getKeys();
    if (!SymShapeAttr::isSymbol(queries) &&
        queries < ::hk::kBulkAttentionQueries)
      return Use::Never;
    bool known = !isRagged() && !SymShapeAttr::isSymbol(queries) &&
                 !SymShapeAttr::isSymbol(keys);
    return known ? Use::Always : Use::Sometimes;
  }

  bool isRagged() const { return kernel.getOperands().qOffsets >= 0; }

  int64_t ldsOf(const AttentionTile &tile) const {
    return ::hk::attentionLdsBytes(target.arch, tile, shape.type, shape.headDim,
                                   shape.valueDim);
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
    if (target.arch == ::hk::Arch::Sm90a && !bulk.accepted())
      decision.candidates.push_back({"warp_specialised", bulk});
    if (usesVectorUnits())
      add(::hk::attentionVectorTile(target.arch));
    else
      for (const ::hk::AttentionCandidate &c : ::hk::kAttentionCandidates)
        if (::hk::usableForShape(c, target.arch, shape))
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

  void build(AttentionTile tile, Use use) {
    tile.splitKv = int32_t(kernel.getOp().getNumSlices());
    auto attr =
        AttentionTileAttr::get(kernel.getOp().getContext(), tile.bq, tile.bk,
                               tile.waves, tile.stages, tile.splitKv);
    addVariant(kernel.getKernel(), attr,
               ::hk::attentionThreads(target.arch, tile), ldsOf(tile),
               [&](OpBuilder &b, Location loc, ValueRange symbols) {
                 return isBulk(target, tile)
                            ? bulkDims(b, loc, symbols, tile, use)
                            : launchDims(b, loc, symbols, tile, use);
               });
  }

  static Value valueOf(OpBuilder &b, Location loc, ValueRange symbols,
                       DimName name) {
    if (SymShapeAttr::isSymbol(name))
      return symbols[SymShapeAttr::symbolOf(name)];
    return arith::ConstantIndexOp::create(b, loc, name);
  }

  /// As many blocks as the chip holds; each takes tile after tile, in the order
  /// of runtime/kernels/attention/sm90/schedule.h.
  LaunchDims bulkDims(OpBuilder &b, Location loc, ValueRange symbols,
                      const AttentionTile &tile, Use use) {
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(b, loc, value);
    };
    const AttentionOperands &operands = kernel.getOperands();
    Value queries = valueOf(b, loc, symbols, kernel.getQueries());
    Value sequences = constant(1), slots;
    if (isRagged()) {
      Value bounds = b.createOrFold<arith::MaxUIOp>(
          loc, valueOf(b, loc, symbols, kernel.dim(operands.qOffsets, 0)),
          constant(1));
      sequences = b.createOrFold<arith::SubIOp>(loc, bounds, constant(1));
      slots = b.createOrFold<arith::AddIOp>(
          loc, b.createOrFold<arith::DivUIOp>(loc, queries, constant(tile.bq)),
          bounds);
    } else {
      slots =
          b.createOrFold<arith::CeilDivUIOp>(loc, queries, constant(tile.bq));
      if (!kernel.getOp().hasRaggedQueries())
        slots = b.createOrFold<arith::MulIOp>(
            loc, slots,
            valueOf(b, loc, symbols, kernel.dim(operands.query, 0)));
    }
    Value tiles = b.createOrFold<arith::MulIOp>(
        loc, slots, constant(kernel.getKeyHeads() * kernel.getGroup()));
    LaunchDims launch;
    launch.x = b.createOrFold<arith::MinUIOp>(loc, tiles,
                                              constant(target.computeUnits));
    launch.y = launch.z = constant(1);
    if (use == Use::Always) {
      launch.condition = arith::ConstantIntOp::create(b, loc, 1, 1);
      return launch;
    }
    Value least = b.createOrFold<arith::MulIOp>(
        loc, sequences, constant(::hk::kBulkAttentionQueries));
    Value many = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge,
                                       queries, least);
    Value keys = arith::CmpIOp::create(
        b, loc, arith::CmpIPredicate::ugt,
        valueOf(b, loc, symbols, kernel.getKeys()), constant(0));
    launch.condition = arith::AndIOp::create(b, loc, many, keys);
    return launch;
  }

  LaunchDims launchDims(OpBuilder &b, Location loc, ValueRange symbols,
                        const AttentionTile &tile, Use use) {
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(b, loc, value);
    };
    auto valueOf = [&](DimName name) {
      return VariantBuilder::valueOf(b, loc, symbols, name);
    };
    const AttentionOperands &operands = kernel.getOperands();
    Value rows = b.createOrFold<arith::MulIOp>(
        loc, valueOf(kernel.getQueries()), constant(kernel.getGroup()));
    LaunchDims launch;
    Value fewRows = constant(tile.bq);
    if (isRagged()) {
      // See raggedTile() in the kernels: a partly filled tile per sequence, and
      // one for the queries of none.
      Value bounds = b.createOrFold<arith::MaxUIOp>(
          loc, valueOf(kernel.dim(operands.qOffsets, 0)), constant(1));
      Value sequences = b.createOrFold<arith::SubIOp>(loc, bounds, constant(1));
      Value full = b.createOrFold<arith::DivUIOp>(loc, rows, constant(tile.bq));
      launch.x = b.createOrFold<arith::AddIOp>(loc, full, bounds);
      fewRows = b.createOrFold<arith::MulIOp>(loc, fewRows, sequences);
    } else {
      launch.x =
          b.createOrFold<arith::CeilDivUIOp>(loc, rows, constant(tile.bq));
      if (!kernel.getOp().hasRaggedQueries())
        launch.x = b.createOrFold<arith::MulIOp>(
            loc, launch.x, valueOf(kernel.dim(operands.query, 0)));
    }
    launch.y = constant(kernel.getKeyHeads());
    launch.z = constant(tile.splitKv);
    launch.condition =
        use == Use::Sometimes
            ? arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule, rows,
                                    fewRows)
                  .getResult()
            : arith::ConstantIntOp::create(b, loc, 1, 1).getResult();
    return launch;
  }

  const AttentionKernel &kernel;
  const ::hk::Target &target;
  DecisionLog &log;
  ::hk::AttentionShape shape;
  Verdict bulk;
};

} // namespace

LogicalResult mlir::hk::addAttentionVariants(KernelOp kernel,
                                             const ::hk::Target &target,
                                             DecisionLog &log) {
  FailureOr<AttentionKernel> attention = AttentionKernel::create(kernel);
  if (failed(attention))
    return failure();
  return VariantBuilder(*attention, target, log).run();
}
