//===- GemmVariants.cpp - Tiles and variants of a matrix product
//-------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product is memory-bound with few rows and matrix-bound with many, so one
// kernel gets a variant per range of M: each the legal tile of least modelled
// time at a row count typical of the range. Neighbouring ranges that chose the
// same tile are one variant.
//
//===----------------------------------------------------------------------===//

#include "../Launch.h"
#include "../TileReport.h"
#include "GemmGroups.h"

#include "hk/Contract/Capability.h"
#include "hk/Contract/Grid.h"

using namespace mlir;
using namespace mlir::hk;

namespace {

/// Rows up to `most`, modelled as `typical` rows. `few`: rows of all groups,
/// each of a group of its own.
struct RowRange {
  int64_t most, typical;
  bool few = false;
};
constexpr int64_t kUnbounded = INT64_MAX;
constexpr RowRange kHostRanges[] = {{8, 1}, {64, 40}, {kUnbounded, 512}};
constexpr RowRange kGpuRanges[] = {
    {32, 16}, {128, 96}, {512, 384}, {kUnbounded, 4096}};
/// With 2,000 rows the largest tiles leave units of 300 idle.
constexpr RowRange kFlightRanges[] = {
    {32, 16}, {128, 96}, {512, 384}, {2048, 1536}, {kUnbounded, 4096}};
/// Few rows are the columns of an instruction: 8, 16, 32 or 64. A thousand rows
/// are typical of themselves: what fills the last round with 768 takes 1.4
/// times as long with 1,024 (benchmarks/results/h200-gemm.md).
constexpr RowRange kSm90Ranges[] = {
    {8, 1},     {16, 16},     {32, 32},     {64, 64},          {128, 96},
    {512, 384}, {1024, 1024}, {2048, 2048}, {kUnbounded, 4096}};
/// Of groups and of codes, measured with these.
constexpr RowRange kSm90OtherRanges[] = {
    {8, 1},    {16, 16},   {32, 32},          {64, 64},
    {128, 96}, {512, 384}, {kUnbounded, 4096}};
/// Rows of A of codes come in tiles of 64 to 256.
constexpr RowRange kSm90CodesRanges[] = {
    {8, 1},     {16, 16},   {32, 32},     {64, 64},
    {96, 96},   {128, 128}, {192, 192},   {256, 256},
    {384, 384}, {512, 512}, {1024, 1024}, {kUnbounded, 4096}};
/// A token or some: its experts are few, and so are their tiles.
constexpr int64_t kFewProducts[] = {1, 2, 4, 8, 32};
/// Cells of registers are bound by the unit with most of them.
constexpr RowRange kCellRanges[] = {
    {32, 16}, {128, 96}, {512, 384}, {1024, 768}, {kUnbounded, 4096}};
/// With 32 rows to a group wide swapped tiles gain on some products and lose on
/// others (benchmarks/results/h200-moe.md).
constexpr int64_t kLeastWideRows = 64;
/// With fewer no tile of ping_pong's 256 rows is taken.
constexpr int64_t kManyRows = 1024;

/// Whether a tile of `loop` computes it.
bool hasTileOf(::hk::GemmLoop loop, const ::hk::Target &target,
               const ::hk::GemmShapeClass &shape) {
  ::hk::GemmTileTable table = ::hk::gemmTiles(target);
  return llvm::any_of(
      ArrayRef(table.rows, table.size), [&](const ::hk::GemmTileRow &row) {
        return row.loop == loop && ::hk::gemmTileFits(row, target, shape);
      });
}

ArrayRef<RowRange> rangesOfRows(const ::hk::Target &target,
                                const ::hk::GemmShapeClass &shape) {
  if (target.arch == ::hk::Arch::Host)
    return kHostRanges;
  if (shape.streamedBits != 0 && !shape.bulk)
    return kSm90CodesRanges;
  if (shape.bulk || shape.codes || shape.streamedBits != 0)
    return shape.bulk && !shape.grouped ? ArrayRef(kSm90Ranges)
                                        : ArrayRef(kSm90OtherRanges);
  if (hasTileOf(::hk::GemmLoop::RegisterCells, target, shape))
    return kCellRanges;
  if (::hk::flightCalibration(target))
    return kFlightRanges;
  return kGpuRanges;
}

/// One dim of a kernel: a constant or a dim symbol.
struct Extent {
  int64_t name;
  bool isConstant() const { return name >= 0; }
  int64_t orElse(int64_t value) const { return isConstant() ? name : value; }
};

class GemmVariants {
public:
  GemmVariants(KernelOp kernel, const ::hk::Target &target, DecisionLog &log)
      : kernel(kernel), target(target), log(log),
        symbols(DimSymbols::ofKernel(kernel)), gemm(describeGemm(kernel)),
        dims(gemmDims(gemm.matmul)) {
    Value a = gemm.operand(GemmSide::Lhs).data;
    Value b = gemm.operand(GemmSide::Rhs).data;
    lhs = productShape(kernel, gemm.operand(GemmSide::Lhs));
    rhs = productShape(kernel, gemm.operand(GemmSide::Rhs));
    ArrayRef<int64_t> aligns = kernel.getAligns();
    int64_t alignA = aligns[argument(a)], alignB = aligns[argument(b)];
    if (gemm.grouped())
      groups.emplace(kernel, gemm.grouped());
    shape = shapeClassOf(kernel, gemm, target);
    bulk = bulkVerdict(gemm, target, alignA, alignB);
    codes = codesVerdict(gemm, target, alignA, alignB);
    microscaled = microscaledVerdict(gemm, target, alignA, alignB);
    pingPong = pingPongVerdict(gemm, target, alignA, alignB);
    if (!microscaled.accepted())
      noteStagedOperands(gemm, target, alignA, alignB, log);
  }

  LogicalResult run() {
    struct Choice {
      RowRange range;
      ::hk::GemmTile tile;
    };
    SmallVector<Choice> choices;
    for (RowRange range : ranges()) {
      std::optional<::hk::GemmTile> best = bestTile(range);
      if (!best)
        return reportNoTile();
      if (!choices.empty() && sameTile(choices.back().tile, *best))
        choices.back().range = range;
      else
        choices.push_back({range, *best});
    }
    for (Choice &choice : choices) {
      choice.tile.cluster = sharersOfRows(choice.tile);
      build(choice.tile, choice.range);
    }
    return success();
  }

private:
  static unsigned argument(Value value) {
    return cast<BlockArgument>(value).getArgNumber();
  }
  /// Whether so many rows leave groups without any, and tiles for that were
  /// tried.
  bool mayBeFew(int64_t products) {
    constexpr auto kLoop = ::hk::GemmLoop::WarpSpecialised;
    return groups && groups->hasRows() && shape.bulk && fits(kLoop) &&
           !kernel.getThreads() && askedLoop().value_or(kLoop) == kLoop &&
           products < groups->typicalGroups();
  }
  SmallVector<RowRange> ranges() {
    Extent m = groups ? Extent{groups->constantRowsOfGroup()} : rows();
    if (m.isConstant()) {
      int64_t products = groups ? groups->constantProducts() : 0;
      if (mayBeFew(products))
        return {{kUnbounded, products, /*few=*/true}};
      return {{kUnbounded, m.orElse(0)}};
    }
    SmallVector<RowRange> all;
    for (int64_t most : kFewProducts)
      if (mayBeFew(most))
        all.push_back({most, most, /*few=*/true});
    llvm::append_range(all, rangesOfRows(target, shape));
    return all;
  }
  Extent rows() { return {lhs[dims.row]}; }
  /// Columns of the product; a pair of them makes one of the result.
  Extent productColumns() { return {rhs[gemm.matmul.getRhsDim(MatmulDim::N)]}; }
  SmallVector<int64_t> batches() {
    SmallVector<int64_t> names;
    for (int64_t d : dims.batch)
      names.push_back(lhs[d]);
    return names;
  }

  static bool sameTile(const ::hk::GemmTile &a, const ::hk::GemmTile &b) {
    return a.bm == b.bm && a.bn == b.bn && a.bk == b.bk && a.wm == b.wm &&
           a.wn == b.wn && a.stages == b.stages && a.splitK == b.splitK &&
           a.loop == b.loop && a.cluster == b.cluster;
  }
  static GemmLoop loopOf(const ::hk::GemmTile &tile) {
    return static_cast<GemmLoop>(tile.loop);
  }
  static std::string text(const ::hk::GemmTile &t) {
    std::string text =
        (Twine(t.bm) + "x" + Twine(t.bn) + "x" + Twine(t.bk) + " waves " +
         Twine(t.wm) + "x" + Twine(t.wn) + " stages " + Twine(t.stages))
            .str();
    if (t.loop != ::hk::GemmLoop::Blocks)
      text +=
          (" " + stringifyGemmLoop(loopOf(t)) + " cluster " + Twine(t.cluster))
              .str();
    return text;
  }
  ::hk::GemmSize sizeFor(RowRange range) {
    ::hk::GemmSize size =
        gemmSizeOf(kernel, gemm, range.few ? 1 : range.typical,
                   [](int64_t name, int64_t typical) {
                     return Extent{name}.orElse(typical);
                   });
    if (range.few)
      groups->adjustToFew(size, range.typical);
    else if (groups)
      groups->adjust(size);
    return size;
  }

  GemmTileAttr attributeOf(const ::hk::GemmTile &tile) {
    return GemmTileAttr::get(kernel.getContext(), tile.bm, tile.bn, tile.bk,
                             tile.wm, tile.wn, tile.stages, tile.splitK,
                             loopOf(tile), tile.cluster);
  }
  int64_t ldsOf(const ::hk::GemmTile &tile) {
    int64_t lds = ::hk::gemmLds(target, tile, shape);
    return groups && groups->hasRows() && tile.loop == ::hk::GemmLoop::Blocks
               ? ::hk::ldsAdd(lds, ::hk::groupedLds(target, tile))
               : lds;
  }

  /// Skinny counts matrices along z alone.
  bool gridFits(::hk::GemmLoop loop) {
    return loop != ::hk::GemmLoop::Skinny ||
           !gemm.mayExceedGrid(gemm.matmul.getNumSlices());
  }

  /// A problem that shares a launch has blocks of the launch's threads, and
  /// neither clusters nor tensor maps.
  bool mayBe(const ::hk::GemmTile &tile) {
    return !kernel.getThreads() ||
           (tile.loop == ::hk::GemmLoop::Blocks &&
            ::hk::gemmThreads(target, tile) == int64_t(*kernel.getThreads()));
  }

  /// Groups of more rows than a swapped tile has read their matrix twice there,
  /// too, and take 1.4 times as long (512 rows,
  /// benchmarks/results/h200-moe.md); so do rows in blocks, half of which would
  /// have to fill a second tile.
  bool isTooNarrow(const ::hk::GemmTile &tile, RowRange range) {
    // Few rows of few groups: with many groups other tiles draw as much.
    if (::hk::isGroupedSkinny(tile))
      return !range.few && !askedLoop();
    if (::hk::isGroupedStaged(tile))
      return !range.few || groups->typicalGroups() >= ::hk::kHeldBounds;
    // Blocks decode a group's codes for every 64 rows, five times as long.
    if (shape.powersOfCodes && fits(::hk::GemmLoop::WarpSpecialised) &&
        !kernel.getThreads() && !askedLoop())
      return tile.loop == ::hk::GemmLoop::Blocks;
    if (!groups)
      return false;
    // What few tiles are for; of many their number makes no difference.
    if (tile.loop == ::hk::GemmLoop::WarpSpecialised && tile.bn < 128)
      return !range.few;
    if (tile.loop != ::hk::GemmLoop::WarpSpecialised)
      return range.few;
    if (::hk::isSwappedWide(tile) && range.typical < kLeastWideRows)
      return true;
    return ::hk::isSwapped(tile) && !::hk::isSwappedCodes(tile) &&
           (range.few || range.typical > tile.bm || gemm.grouped().isBlocks());
  }

  /// Whether sm_90a might stream the right operand's codes.
  bool isOfCodes(GemmPlan gemm) {
    return ::hk::hasCopyEngine(target) &&
           ::hk::info(gemm.operand(GemmSide::Rhs).type()).bits == 4;
  }

  bool hasElementScales() {
    return gemm.scaleUse(GemmSide::Lhs) == ScaleUse::Elements ||
           gemm.scaleUse(GemmSide::Rhs) == ScaleUse::Elements;
  }

  /// The main loop that the module asks for, if a tile of it fits.
  std::optional<::hk::GemmLoop> askedLoop() {
    auto name = kernel->getParentOfType<ModuleOp>()->getAttrOfType<StringAttr>(
        kGemmLoopAttrName);
    std::optional<GemmLoop> asked =
        name ? symbolizeGemmLoop(name.getValue()) : std::nullopt;
    if (!asked)
      return std::nullopt;
    auto loop = static_cast<::hk::GemmLoop>(*asked);
    return fits(loop) ? std::optional(loop) : std::nullopt;
  }
  bool fits(::hk::GemmLoop loop) { return hasTileOf(loop, target, shape); }

  std::optional<::hk::GemmTile> bestTile(RowRange range) {
    TileReport report(
        kernel, log, (range.few ? " rows = " : " M = ") + Twine(range.typical));
    std::optional<::hk::GemmTile> best;
    double bestTime = 0;
    ::hk::GemmTileTable table = ::hk::gemmTiles(target);
    std::optional<::hk::GemmLoop> asked = askedLoop();
    if (!bulk.accepted() && ::hk::hasCopyEngine(target) &&
        !fits(::hk::GemmLoop::WarpSpecialised))
      report.add(stringifyGemmLoop(GemmLoop::warp_specialised), bulk);
    if (!codes.accepted() && isOfCodes(gemm))
      report.add(stringifyGemmLoop(GemmLoop::skinny_codes), codes);
    if (!microscaled.accepted() && hasElementScales() && target.scaledMma)
      report.add(stringifyGemmLoop(GemmLoop::microscaled), microscaled);
    if (!pingPong.accepted() && range.typical >= kManyRows &&
        ::hk::flightCalibration(target))
      report.add(stringifyGemmLoop(GemmLoop::ping_pong), pingPong);
    for (const ::hk::GemmTileRow &row : ArrayRef(table.rows, table.size)) {
      if (!::hk::gemmTileFits(row, target, shape) ||
          (asked && row.loop != *asked) || !gridFits(row.loop))
        continue;
      ::hk::GemmTile tile = ::hk::tileOf(row, target, shape);
      if (!mayBe(tile) || isTooNarrow(tile, range) ||
          (!asked && !::hk::gemmTileTakes(row, target, shape, sizeFor(range))))
        continue;
      tile.splitK = int32_t(gemm.matmul.getNumSlices());
      int64_t lds = ldsOf(tile);
      Verdict verdict =
          checkTile(target, lds, isKnownToSpill(kernel, attributeOf(tile)));
      if (!verdict.accepted()) {
        report.add(text(tile), verdict, lds);
        continue;
      }
      double time = ::hk::gemmMicroseconds(target, tile, shape, sizeFor(range));
      report.add(text(tile), verdict, lds, time);
      if (!best || time < bestTime) {
        best = tile;
        bestTime = time;
        report.chooseLast();
      }
    }
    return best;
  }

  /// The smallest tile that the epilogue allows, and the largest that fits but
  /// that the epilogue does not allow.
  LogicalResult reportNoTile() {
    std::optional<NamedTile> asked, fits, spills;
    ::hk::GemmTileTable table = ::hk::gemmTiles(target);
    for (const ::hk::GemmTileRow &row : ArrayRef(table.rows, table.size)) {
      ::hk::GemmTile tile = ::hk::tileOf(row, target, shape);
      tile.splitK = int32_t(gemm.matmul.getNumSlices());
      int64_t lds = ldsOf(tile);
      bool computes = ::hk::gemmTileFits(row, target, shape);
      if (computes && isKnownToSpill(kernel, attributeOf(tile)))
        spills = {text(tile), lds};
      if (computes && (!asked || lds < asked->ldsBytes))
        asked = {text(tile), lds};
      if (lds <= target.ldsBytes && (!fits || lds > fits->ldsBytes))
        fits = {text(tile), lds};
    }
    InFlightDiagnostic diag =
        asked && !spills
            ? refuseSmallestTile(gemm.matmul, kernel, target, *asked, fits)
            : gemm.matmul.emitOpError("in kernel @");
    if (spills)
      diag << kernel.getSymName() << ": its tile " << spills->text
           << " needs more registers than " << target.name
           << " has, and no other tile fits; --no-fuse gives its operators "
              "kernels of their own";
    else if (!asked)
      diag << kernel.getSymName() << ": no tile of " << target.name
           << " computes it with this epilogue and these operands";
    if (gemm.quantize)
      diag << "; quantise outside of the product's kernel, or in smaller "
              "groups";
    return diag;
  }

  /// Tiles of a cluster along m, or along n.
  int64_t spread(const ::hk::GemmTile &tile, bool alongM) {
    bool spreads = tile.loop == ::hk::GemmLoop::WarpSpecialised &&
                   alongM == !groups.has_value();
    return spreads ? tile.cluster : 1;
  }
  /// Blocks of neighbouring columns that share the rows of a group, where the
  /// copy engine brings them: such tiles get as much of the L2 cache's rate as
  /// there is (benchmarks/results/h200-moe.md).
  int32_t sharersOfRows(const ::hk::GemmTile &tile) {
    bool shares =
        groups && groups->hasRows() && shape.bulk &&
        !gemm.grouped().isBlocks() && !gemm.operand(GemmSide::Lhs).gathered &&
        tile.wm * tile.wn == 2 && tile.loop == ::hk::GemmLoop::WarpSpecialised;
    return shares ? 2 : tile.cluster;
  }

  void build(const ::hk::GemmTile &tile, RowRange range) {
    addVariant(
        kernel, symbols, attributeOf(tile), ::hk::gemmThreads(target, tile),
        ldsOf(tile),
        [&](LaunchBuilder &launch) { return launchDims(launch, tile, range); });
  }

  LaunchDims launchDims(LaunchBuilder &launch, const ::hk::GemmTile &tile,
                        RowRange range) {
    Value m = launch.size(rows().name);
    // Both halves of a pair lie in the block's tile of bn columns.
    LaunchDims grid = launch.grid(
        launch.ceilDivide(launch.size(productColumns().name),
                          tile.bn * spread(tile, /*alongM=*/false)),
        launch.ceilDivide(m, tile.bm * spread(tile, /*alongM=*/true)),
        launch.constant(tile.splitK));
    if (range.most != kUnbounded)
      grid.condition = range.few ? groups->areFew(launch, range.most)
                       : groups  ? groups->atMost(launch, range.most)
                                 : launch.isAtMost(m, range.most);
    if (groups)
      groups->setGrid(launch, target, tile.bm, grid);
    grid.z = launch.multiply(launch.product(batches()), grid.z);
    if (tile.loop == ::hk::GemmLoop::Skinny ||
        tile.loop == ::hk::GemmLoop::StreamedCodes)
      grid.x = launch.multiply(grid.x, tile.cluster);
    if (tile.loop == ::hk::GemmLoop::SkinnyCodes && !groups) {
      // As many clusters as the chip holds; each takes tile after tile.
      Value clusters =
          launch.atMost(grid.x, ::hk::residentClusters(target, tile.cluster));
      grid.x = launch.multiply(clusters, tile.cluster);
      return grid;
    }
    if (tile.loop == ::hk::GemmLoop::WarpSpecialised ||
        tile.loop == ::hk::GemmLoop::Swapped ||
        tile.loop == ::hk::GemmLoop::SkinnyCodes) {
      // As many clusters as the chip holds; each takes tile after tile, but for
      // those of Swapped, whose blocks share k: they take one.
      Value clusters = launch.multiply(launch.multiply(grid.x, grid.y), grid.z);
      if (tile.loop != ::hk::GemmLoop::Swapped || tile.cluster == 1)
        clusters = launch.atMost(clusters,
                                 ::hk::residentClusters(target, tile.cluster));
      grid.x = launch.multiply(clusters, tile.cluster);
      grid.y = grid.z = launch.constant(1);
      return grid;
    }
    if (::hk::isGroupedSkinny(tile) || ::hk::isGroupedStaged(tile)) {
      Value tiles = launch.multiply(grid.x, grid.y);
      int32_t blocks = ::hk::isGroupedStaged(tile)
                           ? ::hk::kGroupedStagedOfLaunch
                           : ::hk::groupedSkinnyBlocks(tile);
      grid.x = launch.atMost(tiles, ::hk::residentClusters(target, 1) * blocks);
      grid.y = grid.z = launch.constant(1);
      return grid;
    }
    if (!gemm.mayExceedGrid(tile.splitK))
      return grid;
    // hk/Contract/Grid.h; of no matrices parts are 0, and so is y.
    Value parts = launch.ceilDivide(grid.z, ::hk::kMostGridZ);
    grid.y = launch.multiply(grid.y, parts);
    grid.z = launch.ceilDivide(grid.z, launch.atLeast(parts, 1));
    return grid;
  }

  KernelOp kernel;
  const ::hk::Target &target;
  DecisionLog &log;
  DimSymbols symbols;
  GemmPlan gemm;
  GemmDims dims;
  SmallVector<int64_t> lhs, rhs;
  ::hk::GemmShapeClass shape;
  Verdict bulk = Verdict::accept(), codes = Verdict::accept();
  Verdict microscaled = Verdict::accept(), pingPong = Verdict::accept();
  std::optional<GroupGrid> groups;
};

} // namespace

int64_t mlir::hk::typicalRows(const ::hk::Target &target,
                              const ::hk::GemmShapeClass &shape, int64_t rows) {
  return llvm::find_if(
             rangesOfRows(target, shape),
             [&](const RowRange &range) { return rows <= range.most; })
      ->typical;
}

LogicalResult mlir::hk::addGemmVariants(KernelOp kernel,
                                        const ::hk::Target &target,
                                        DecisionLog &log) {
  return GemmVariants(kernel, target, log).run();
}
