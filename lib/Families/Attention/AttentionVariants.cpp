//===- AttentionVariants.cpp - Tiles and variants of attention
//---------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two variants: the tile with fewest rows where the (query, head) rows of a
// sequence fit in it (a decode step), else the one with most. In front of them,
// on gfx942 and gfx950, one whose keys stream into registers. Between them,
// where tensor maps can describe the operands, warp-specialised ones: for fewer
// tiles than the chip has units, whose keys clusters of blocks share, and for
// sequences of many queries.
//
//===----------------------------------------------------------------------===//

#include "../Launch.h"
#include "../TileReport.h"
#include "AttentionPlan.h"
#include "hk/Contract/Capability.h"
#include "hk/Contract/CostAttention.h"

using namespace mlir;
using namespace mlir::hk;
using ::hk::AttentionTile;

static std::string textOf(const AttentionTile &t) {
  std::string cluster =
      t.cluster > 1 ? " cluster " + std::to_string(t.cluster) : "";
  return (Twine(t.bq) + "x" + Twine(t.bk) + " waves " + Twine(t.waves) +
          " stages " + Twine(t.stages) + cluster)
      .str();
}
static bool isBulk(const ::hk::Target &target, const AttentionTile &t) {
  return ::hk::attentionPath(target.arch, t) ==
         ::hk::AttentionPath::WarpSpecialised;
}
static bool isLatent(const ::hk::Target &target, const AttentionTile &t) {
  return ::hk::attentionPath(target.arch, t) == ::hk::AttentionPath::Latent;
}

bool mlir::hk::takesScalars(AttentionOp op) {
  bool twoWindows = op.getWindowLeft() && op.getWindowRight();
  bool scales = op.getQScale() || op.getKScale() || op.getVScale();
  bool regions = !op.getScore().empty() || !op.getWeight().empty();
  return regions || twoWindows || scales;
}

namespace {

class AttentionVariants {
public:
  AttentionVariants(const AttentionPlan &kernel, const ::hk::Target &target,
                    DecisionLog &log)
      : kernel(kernel), target(target), log(log),
        shape(kernel.getBulkShape(target)), bulk(kernel.getBulkVerdict(target)),
        latent(kernel.getLatentVerdict(target)),
        dims(DimSymbols::ofKernel(kernel.getKernel())) {
    shape.latent = latent.accepted();
  }

  LogicalResult run() {
    ::hk::AttentionTileList list =
        withoutSpilling(::hk::attentionTiles(target.arch, shape));
    if (std::optional<uint64_t> threads = kernel.getKernel().getThreads()) {
      list = {};
      for (const AttentionTile &tile :
           attentionTilesOf(kernel, target, int64_t(*threads)))
        if (list.count < int32_t(std::size(list.tile)))
          list.tile[list.count++] = tile;
    }
    if (list.count == 0) {
      record({});
      return reportNoTile();
    }
    if (isBulk(target, list.tile[0]))
      list.tile[0] = withLessPadding(list.tile[0]);
    // Tiles that the copy engine feeds are the first, if there are any.
    int32_t first =
        isBulk(target, list.tile[0]) || isLatent(target, list.tile[0]) ? 1 : 0;
    std::optional<int64_t> rows = knownRows();
    if (rows)
      dropStream(list, target, *rows);
    if (isStream(target, list.tile[list.count - 1])) {
      if (buildStream(list.tile[list.count - 1], rows || list.count == 1))
        return success();
      --list.count;
    }
    AttentionTile few = list.tile[list.count - 1];
    bool fewScores =
        target.arch != ::hk::Arch::Host &&
        llvm::any_of(kernel.getSegments(), [](const AttentionSegment &segment) {
          return takesScalars(segment.getOp());
        });
    AttentionTile many = fewScores ? few : list.tile[first];
    bool neverFew = few.bq == many.bq || (rows && *rows > few.bq);
    bool alwaysFew = !neverFew && rows && *rows <= few.bq;
    Use useOfBulk = first == 0 || alwaysFew          ? Use::Never
                    : isLatent(target, list.tile[0]) ? latentUse()
                                                     : bulkUse();
    if (!neverFew)
      build(few, alwaysFew ? Use::Always : Use::Sometimes);
    if (!alwaysFew && buildClusters(list.tile[0]))
      return success();
    if (useOfBulk != Use::Never && buildWide(list.tile[0], useOfBulk))
      return success();
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
    DimName queries = kernel.getQueries();
    if (!SymShapeAttr::isSymbol(queries) &&
        queries < ::hk::kBulkAttentionQueries)
      return Use::Never;
    bool known =
        !isRagged() && !SymShapeAttr::isSymbol(queries) && hasKnownKeys();
    return known ? Use::Always : Use::Sometimes;
  }
  bool hasKnownKeys() const {
    return llvm::none_of(
        kernel.getSegments(), [&](const AttentionSegment &segment) {
          return SymShapeAttr::isSymbol(kernel.getMappedRows(segment));
        });
  }

  /// Rows that are all in one tile, `always` or where a call has so few.
  /// Returns whether no other variant is needed.
  bool buildStream(const AttentionTile &tile, bool always) {
    build(tile, always ? Use::Always : Use::Sometimes);
    if (always)
      record(tile);
    return always;
  }

  /// A step of 128 keys costs 1 to 2 % more a key than one of 192. So where all
  /// queries see the same known number of keys, the tile of which they leave
  /// less empty (benchmarks/results/h200-attention.md).
  AttentionTile withLessPadding(AttentionTile tile) const {
    constexpr int32_t few = 128;
    DimName keys = kernel.getKeys(kernel.getSegments().front());
    AttentionOp op = kernel.getOp();
    bool same = kernel.getSegments().size() == 1 &&
                op.getKeyForm() == KeyForm::Dense && !op.getKvLens() &&
                !op.getCausal() && !op.getWindowLeft() && !op.getWindowRight();
    if (same && !SymShapeAttr::isSymbol(keys) && tile.bk > few &&
        llvm::alignTo(keys, few) * 41 < llvm::alignTo(keys, tile.bk) * 40)
      tile.bk = few;
    return tile;
  }

  /// Warp-specialised tiles of all queries and heads: how many there are at
  /// least, and whether that is all.
  struct TileCount {
    int64_t least;
    bool known;
  };
  TileCount tilesOf(const AttentionTile &tile) const {
    DimName queries = kernel.getQueries(), sequences = 1;
    if (!kernel.getOp().hasRaggedQueries())
      sequences = kernel.dim(kernel.getOperands().query, 0);
    bool known = !isRagged() && !SymShapeAttr::isSymbol(queries) &&
                 !SymShapeAttr::isSymbol(sequences);
    auto least = [](DimName size) {
      return SymShapeAttr::isSymbol(size) ? 1 : int64_t(size);
    };
    int64_t slots =
        isRagged() ? 1 : llvm::divideCeil(least(queries), tile.bq / tile.heads);
    return {slots * least(sequences) * kernel.getKeyHeads() *
                kernel.getGroup() / tile.heads,
            known};
  }
  /// Whether a block has all keys in its first step.
  bool hasFewKeys(const AttentionTile &tile) const {
    return llvm::all_of(
        kernel.getSegments(), [&](const AttentionSegment &segment) {
          DimName rows = kernel.getMappedRows(segment);
          return segment.getOp().getKeyForm() != KeyForm::Paged &&
                 !SymShapeAttr::isSymbol(rows) && rows <= tile.bk;
        });
  }

  /// Beside blocks of another problem there are none.
  bool takesClusters(const AttentionTile &tile) const {
    return isBulk(target, tile) && !kernel.getKernel().getThreads() &&
           !hasFewKeys(tile);
  }

  /// What several segments hold in registers beside a step of more keys spills
  /// by 4 to 12 bytes where heads have 192 and more columns.
  AttentionTile clusteredTile(const AttentionTile &bulk,
                              int32_t cluster) const {
    AttentionTile tile = ::hk::clusteredTile(bulk, kernel.getGroup(), cluster);
    if (kernel.getSegments().size() > 1)
      tile.bk = std::min(tile.bk, ::hk::kWarpgroupRows);
    return tile;
  }

  /// Few queries over many keys have fewer tiles than there are units: clusters
  /// of blocks share their keys, of as many blocks as units suffice for.
  /// Returns whether no other variant is needed.
  bool buildClusters(const AttentionTile &bulk) {
    if (!takesClusters(bulk))
      return false;
    for (int32_t cluster : ::hk::kAttentionClusters) {
      AttentionTile tile = clusteredTile(bulk, cluster);
      TileCount tiles = tilesOf(tile);
      if (tiles.least > ::hk::residentClusters(target, cluster) ||
          isKnownToSpill(kernel.getKernel(), attrOf(tile)))
        continue;
      bool always = tiles.known && hasKnownKeys();
      build(tile, always ? Use::Always : Use::Sometimes);
      if (always)
        record(tile);
      if (tiles.known)
        return always;
    }
    return false;
  }

  /// Whether there is a tile of more queries, and what keeps the registers of
  /// its four warpgroups from it.
  Verdict checkWide(const AttentionTile &bulk) const {
    auto refuse = [](Reason reason, const char *what) {
      return Verdict::refuse(reason, what);
    };
    if (shape.largestDim() > ::hk::kWideAttentionDim)
      return refuse(Reason::UnsupportedShape,
                    "heads have more than 64 columns");
    AttentionOp op = kernel.getOp();
    if (kernel.getSegments().size() > 1 || op.getKeyForm() == KeyForm::Paged)
      return refuse(Reason::UnsupportedShape,
                    "keys lie in segments or in pages");
    if (shape.softcap || op.getWindowLeft() || op.getWindowRight() ||
        op.getPast())
      return refuse(Reason::UnsupportedShape,
                    "a soft cap, a window or past keys");
    if (kernel.getKernel().getThreads())
      return refuse(Reason::UnsupportedShape,
                    "the launch is shared with blocks of fewer threads");
    TileCount wide = tilesOf(::hk::kWideAttentionTile), all = tilesOf(bulk);
    if (wide.known && all.known && !paysWide(wide.least, all.least))
      return refuse(Reason::CostlierFused, "too few queries to fill the units");
    return Verdict::accept();
  }
  /// Under a causal mask of as many queries as keys tiles are of all lengths:
  /// the units take as many as this in the time of the longest, few ones are
  /// done no sooner. 0: all tiles are as long.
  int64_t tilesOfLongest() const {
    bool differ =
        kernel.getOp().getCausal() &&
        kernel.getQueries() == kernel.getKeys(kernel.getSegments().front());
    return differ ? target.computeUnits * 8 / 5 : 0;
  }
  bool paysWide(int64_t wide, int64_t bulk) const {
    auto time = [&](int64_t tiles, int64_t each) {
      int64_t least = tilesOfLongest();
      return each * (least ? std::max(tiles, least)
                           : llvm::divideCeil(tiles, target.computeUnits));
    };
    return time(wide, ::hk::kWideRound[0]) <= time(bulk, ::hk::kWideRound[1]);
  }
  /// A tile of more queries than `bulk` has, of as many calls as fill their
  /// units with it. Returns whether no other variant is needed.
  bool buildWide(const AttentionTile &bulk, Use useOfBulk) {
    constexpr AttentionTile tile = ::hk::kWideAttentionTile;
    if (!isBulk(target, bulk) || !checkWide(bulk).accepted() ||
        isKnownToSpill(kernel.getKernel(), attrOf(tile)))
      return false;
    bool always = useOfBulk == Use::Always && tilesOf(tile).known;
    build(tile, always ? Use::Always : Use::Sometimes);
    if (always)
      record(tile);
    return always;
  }

  /// There is no map of no keys.
  Use latentUse() {
    DimName keys = kernel.getMappedRows(kernel.getSegments().front());
    return SymShapeAttr::isSymbol(keys) ? Use::Sometimes : Use::Always;
  }

  bool isRagged() const { return kernel.getOperands().qOffsets >= 0; }
  /// Rows of a sequence, where they are known.
  std::optional<int64_t> knownRows() const {
    DimName queries = kernel.getQueries();
    if (isRagged() || SymShapeAttr::isSymbol(queries))
      return std::nullopt;
    return queries * kernel.getGroup();
  }
  /// See AttentionTile::blocks.
  int64_t runsOf(const AttentionTile &tile) const {
    std::optional<int64_t> rows = knownRows();
    bool runs =
        rows && kernel.getOp().getNumSlices() > 1 && takesRuns(kernel.getOp());
    return runs ? ::hk::attentionRuns(target, tile, shape, *rows) : 0;
  }

  /// Without tiles whose registers spilled; at last the vector units are left.
  ::hk::AttentionTileList withoutSpilling(::hk::AttentionTileList all) const {
    ::hk::AttentionTileList left = {};
    for (int32_t i = 0; i < all.count; ++i)
      if (!isKnownToSpill(kernel.getKernel(), attrOf(all.tile[i])))
        left.tile[left.count++] = all.tile[i];
    if (left.count == 0 && all.count != 0 && target.arch != ::hk::Arch::Host)
      left.tile[left.count++] = ::hk::attentionVectorTile(target.arch);
    return left;
  }
  AttentionTileAttr attrOf(AttentionTile tile) const {
    return AttentionTileAttr::get(kernel.getOp().getContext(), tile.bq, tile.bk,
                                  tile.waves, tile.stages,
                                  int32_t(kernel.getOp().getNumSlices()),
                                  runsOf(tile), tile.heads, tile.cluster);
  }

  int64_t ldsOf(const AttentionTile &tile) const {
    return ::hk::attentionLds(target.arch, tile, shape);
  }

  void record(std::optional<AttentionTile> chosen) {
    TileReport report(kernel.getKernel(), log);
    auto add = [&](const AttentionTile &tile) {
      int64_t lds = ldsOf(tile);
      bool spills = isKnownToSpill(kernel.getKernel(), attrOf(tile));
      report.add(textOf(tile), checkTile(target, lds, spills), lds);
      if (chosen && chosen->bq == tile.bq && chosen->bk == tile.bk &&
          chosen->cluster == tile.cluster)
        report.chooseLast();
    };
    auto addClusters = [&](const AttentionTile &bulk) {
      for (int32_t cluster : ::hk::kAttentionClusters) {
        AttentionTile tile = clusteredTile(bulk, cluster);
        int64_t tiles = tilesOf(tile).least,
                most = ::hk::residentClusters(target, cluster);
        if (tiles <= most)
          add(tile);
        else
          report.add(textOf(tile),
                     Verdict::refuse(Reason::UnsupportedShape,
                                     Twine(tiles) + " tiles fill more than " +
                                         Twine(most) + " such clusters"));
      }
    };
    if (::hk::hasCopyEngine(target) && !bulk.accepted())
      report.add("warp_specialised", bulk);
    if (::hk::hasCopyEngine(target) && ::hk::attentionSharesValues(shape) &&
        !latent.accepted())
      report.add("latent", latent);
    if (Verdict stream = kernel.getStreamVerdict(target);
        ::hk::hasAttentionStream(target.arch) && !stream.accepted())
      report.add("stream", stream);
    auto addWide = [&](const AttentionTile &bulk) {
      if (shape.largestDim() > ::hk::kWideAttentionDim ||
          kernel.getKernel().getThreads())
        return;
      if (Verdict verdict = checkWide(bulk); !verdict.accepted())
        report.add(textOf(::hk::kWideAttentionTile), verdict);
      else
        add(::hk::kWideAttentionTile);
    };
    if (usesVectorUnits())
      return add(::hk::attentionVectorTile(target.arch));
    bool wide = false; // one is enough
    for (const ::hk::AttentionCandidate &c : ::hk::kAttentionCandidates)
      if (::hk::usableForShape(c, target.arch, shape)) {
        if (takesClusters(c.tile))
          addClusters(c.tile);
        if (isBulk(target, c.tile) && !std::exchange(wide, true))
          addWide(c.tile);
        add(c.tile);
      }
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
    if (!asked)
      return kernel.getOp().emitOpError("in kernel @")
             << kernel.getKernel().getSymName() << ": no tile of "
             << target.name << " has head sizes of "
             << kernel.getShape().largestDim();
    AttentionTile fits = *asked;
    while (fits.bk > 1 && ldsOf(fits) > target.ldsBytes)
      fits.bk /= 2;
    std::optional<NamedTile> nearest;
    if (ldsOf(fits) <= target.ldsBytes)
      nearest = {textOf(fits), ldsOf(fits)};
    InFlightDiagnostic diag =
        refuseSmallestTile(kernel.getOp(), kernel.getKernel(), target,
                           {textOf(*asked), ldsOf(*asked)}, nearest);
    if (nearest)
      diag << ", fewer keys than a matrix fragment has";
    return diag;
  }

  void build(AttentionTile tile, Use use) {
    tile.splitKv = int32_t(kernel.getOp().getNumSlices());
    tile.blocks = int32_t(runsOf(tile));
    addVariant(kernel.getKernel(), dims, attrOf(tile),
               ::hk::attentionThreads(target.arch, tile), ldsOf(tile),
               [&](LaunchBuilder &launch) {
                 return isBulk(target, tile) ? bulkDims(launch, tile, use)
                                             : launchDims(launch, tile, use);
               });
  }

  Value bounds(LaunchBuilder &launch) const {
    DimName size = kernel.dim(kernel.getOperands().qOffsets, 0);
    return launch.atLeast(launch.size(size), 1);
  }
  /// Warp-specialised tiles.
  Value bulkTiles(LaunchBuilder &launch, const AttentionTile &tile) const {
    Value queries = launch.size(kernel.getQueries()), slots;
    int64_t each = tile.bq / tile.heads;
    if (isRagged()) {
      slots = launch.raggedTiles(queries, each, bounds(launch));
    } else {
      slots = launch.ceilDivide(queries, each);
      if (!kernel.getOp().hasRaggedQueries())
        slots = launch.multiply(
            slots, launch.size(kernel.dim(kernel.getOperands().query, 0)));
    }
    return launch.multiply(slots, kernel.getKeyHeads() * kernel.getGroup() /
                                      tile.heads);
  }
  /// Whether `tiles` wide tiles take no longer than those of half as many
  /// queries.
  Value paysWide(LaunchBuilder &launch, Value tiles,
                 const AttentionTile &wide) const {
    AttentionTile half = wide;
    half.bq /= 2;
    auto time = [&](Value all, int64_t each) {
      int64_t least = tilesOfLongest();
      return launch.multiply(least
                                 ? launch.atLeast(all, least)
                                 : launch.ceilDivide(all, target.computeUnits),
                             each);
    };
    return launch.isAtMost(time(tiles, ::hk::kWideRound[0]),
                           time(bulkTiles(launch, half), ::hk::kWideRound[1]));
  }

  /// As many blocks as the chip holds; each takes tile after tile, in the order
  /// of runtime/kernels/attention/sm90/schedule.h. Beside blocks of another
  /// problem each takes one.
  LaunchDims bulkDims(LaunchBuilder &launch, const AttentionTile &tile,
                      Use use) {
    Value queries = launch.size(kernel.getQueries());
    Value tiles = bulkTiles(launch, tile);
    bool shared = kernel.getKernel().getThreads().has_value();
    bool clusters = tile.cluster > 1;
    LaunchDims grid =
        launch.grid(clusters ? launch.multiply(tiles, tile.cluster)
                    : shared ? tiles
                             : launch.atMost(tiles, target.computeUnits));
    if (use != Use::Always) {
      Value sequences = launch.constant(1);
      if (isRagged())
        sequences = launch.subtract(bounds(launch), 1);
      Value least = launch.multiply(sequences, ::hk::kBulkAttentionQueries);
      grid.condition =
          clusters ? launch.isAtMost(
                         tiles, ::hk::residentClusters(target, tile.cluster))
                   : launch.isAtMost(least, queries);
      if (tile.bq == ::hk::kWideAttentionTile.bq)
        grid.condition =
            launch.both(grid.condition, paysWide(launch, tiles, tile));
      for (const AttentionSegment &segment : kernel.getSegments())
        grid.condition = launch.both(
            grid.condition,
            launch.isAtMost(launch.constant(1),
                            launch.size(kernel.getMappedRows(segment))));
    }
    return grid;
  }

  /// Blocks that may have a run. A key head has at most a run for each slice;
  /// others would keep units from blocks that have one.
  Value runBlocks(LaunchBuilder &launch, const AttentionTile &tile) const {
    Value sequences = launch.size(kernel.dim(kernel.getOperands().query, 0));
    return launch.atMost(
        launch.multiply(sequences, kernel.getKeyHeads() * tile.splitKv),
        tile.blocks);
  }

  LaunchDims launchDims(LaunchBuilder &launch, const AttentionTile &tile,
                        Use use) {
    if (tile.blocks > 0)
      return launch.grid(launch.multiply(
          runBlocks(launch, tile), llvm::divideCeil(*knownRows(), tile.bq)));
    const AttentionOperands &operands = kernel.getOperands();
    Value rows =
        launch.multiply(launch.size(kernel.getQueries()), kernel.getGroup());
    Value tiles, sequences = launch.constant(1);
    if (isRagged()) {
      // See raggedTile() in the kernels.
      Value bounds =
          launch.atLeast(launch.size(kernel.dim(operands.qOffsets, 0)), 1);
      sequences = launch.subtract(bounds, 1);
      tiles = launch.raggedTiles(rows, tile.bq, bounds);
    } else {
      tiles = launch.ceilDivide(rows, tile.bq);
      if (!kernel.getOp().hasRaggedQueries())
        tiles =
            launch.multiply(tiles, launch.size(kernel.dim(operands.query, 0)));
    }
    LaunchDims grid = launch.grid(tiles, launch.constant(kernel.getKeyHeads()),
                                  launch.constant(tile.splitKv));
    if (use == Use::Sometimes && isLatent(target, tile))
      grid.condition = launch.isAtMost(
          launch.constant(1),
          launch.size(kernel.getMappedRows(kernel.getSegments().front())));
    else if (use == Use::Sometimes)
      grid.condition =
          launch.isAtMost(rows, launch.multiply(sequences, tile.bq));
    return grid;
  }

  const AttentionPlan &kernel;
  const ::hk::Target &target;
  DecisionLog &log;
  ::hk::AttentionShape shape;
  Verdict bulk, latent;
  DimSymbols dims;
};

} // namespace

LogicalResult mlir::hk::addAttentionVariants(KernelOp kernel,
                                             const ::hk::Target &target,
                                             DecisionLog &log) {
  FailureOr<AttentionPlan> attention = AttentionPlan::create(kernel);
  if (failed(attention))
    return failure();
  return AttentionVariants(*attention, target, log).run();
}
