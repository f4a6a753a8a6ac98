//===- AttentionSplit.cpp - Slices of the keys for more blocks ------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A decode step has a tile of rows per key head and sequence, far fewer than
// the chip has compute units, and each of them walks all keys. Slices of the
// keys make more blocks; combining them costs memory traffic and, unless a
// row-wise kernel follows anyway, a launch.
//
//===----------------------------------------------------------------------===//

#include "AttentionEpilogue.h"
#include "AttentionPlan.h"

#include "hk/Analysis/Alignment.h"
#include "hk/Contract/CostAttention.h"

using namespace mlir;
using namespace mlir::hk;

/// Stands for an unknown number of keys.
static constexpr int64_t kTypicalKeys = 4096;
/// The traffic of partial results is at most this part of that of the keys, for
/// numbers of sequences that are not known: then slices cost little also where
/// they are not needed.
static constexpr double kMostExtraTraffic = 1.0 / 16;
/// As many queries, of any number of sequences, are taken for decode steps.
static constexpr int64_t kFewQueries = 16;

/// Queries and keys of a sequence; nullopt: dynamic.
static std::optional<int64_t> knownSize(int64_t size) {
  return ShapedType::isDynamic(size) ? std::nullopt : std::optional(size);
}
/// The dim of the query that counts queries.
static TensorDim queryDim(AttentionOp op) {
  return {op.getQuery(), op.hasRaggedQueries() ? 0 : 1};
}
static std::optional<int64_t> queriesOf(AttentionOp op, SizeOf sizeOf) {
  std::optional<int64_t> queries = knownSize(sizeOf(queryDim(op)));
  if (!op.getQOffsets())
    return queries;
  // Of all sequences, some of which may have most. That few are the steps of as
  // many sequences is the case that matters.
  if (!queries || *queries > kFewQueries)
    return std::nullopt;
  return 1;
}
static std::optional<int64_t> sequencesOf(AttentionOp op) {
  if (op.hasRaggedQueries())
    return 1; // all of them
  return knownSize(tensorType(op.getQuery()).getDimSize(0));
}
static std::optional<int64_t> keysOf(AttentionOp op, SizeOf sizeOf) {
  RankedTensorType key = tensorType(op.getKey());
  std::optional<int64_t> keys;
  switch (op.getKeyForm()) {
  case KeyForm::Ragged:
    keys = knownSize(key.getDimSize(0));
    break;
  case KeyForm::Dense:
    keys = knownSize(key.getDimSize(op.getKeyDims().rows.front()));
    break;
  case KeyForm::Paged: {
    if (op.getTableOffsets()) // some sequence may have most blocks
      break;
    int64_t blocks = tensorType(op.getBlockTable()).getDimSize(1);
    int64_t rows = key.getDimSize(op.getKeyDims().rows.front());
    if (knownSize(blocks) && knownSize(rows))
      keys = blocks * rows;
    break;
  }
  }
  std::optional<int64_t> queries = queriesOf(op, sizeOf);
  if (keys && queries && op.getWindowLeft())
    keys = std::min<int64_t>(*keys, *op.getWindowLeft() + *queries);
  return keys;
}

bool mlir::hk::takesRuns(AttentionOp op) {
  return op.getKvLens() || op.getKvOffsets() || op.getTableOffsets() ||
         (!op.hasRaggedQueries() && tensorType(op.getQuery()).isDynamicDim(0));
}

::hk::AttentionShape mlir::hk::shapeOf(AttentionOp op) {
  ::hk::AttentionShape shape;
  shape.type = *multipliedType(op);
  shape.sharedValues = op.getKey() == op.getValue();
  shape.headDim = op.getHeadSize();
  shape.valueDim = op.getValueSize();
  shape.align = std::min({guaranteedAlignment(op.getQuery()),
                          guaranteedAlignment(op.getKey()),
                          guaranteedAlignment(op.getValue())});
  if (AttentionPlan::isChunked(op))
    shape.align = 1;
  return shape;
}

/// The tile of which clusters of blocks share the keys, for so many queries and
/// (sequence, head) pairs, if the whole operator has one.
static std::optional<::hk::AttentionTile>
clusterTileOf(AttentionOp op, const ::hk::Target &target,
              ::hk::AttentionShape shape, int64_t queries, int64_t heads) {
  ::hk::DType out = *dtypeOf(tensorType(op.getResult()).getElementType());
  shape.bulk = checkBulk(op, shape, out, target).accepted();
  shape.softcap = op.getSoftcap().has_value();
  if (!shape.bulk)
    return std::nullopt;
  ::hk::AttentionTile bulk = ::hk::attentionTiles(target.arch, shape).tile[0];
  int64_t group = op.getNumHeads() / op.getNumKeyHeads();
  for (int32_t cluster : ::hk::kAttentionClusters) {
    ::hk::AttentionTile tile = ::hk::clusteredTile(bulk, group, cluster);
    int64_t tiles =
        llvm::divideCeil(queries, tile.bq / tile.heads) * (heads / tile.heads);
    if (tiles <= ::hk::residentClusters(target, cluster))
      return tile;
  }
  return std::nullopt;
}

/// What the model is asked for: sizes that only a call knows are typical ones.
static ::hk::AttentionSize
sizeOfSplit(AttentionOp op, const ::hk::Target &target,
            const ::hk::AttentionTile &tile, const ::hk::AttentionShape &shape,
            std::optional<int64_t> queries, std::optional<int64_t> sequences,
            std::optional<int64_t> keys) {
  ArrayRef<int64_t> q = tensorType(op.getQuery()).getShape();
  int64_t keyHeads = op.getNumKeyHeads();
  ::hk::AttentionSize size;
  size.rows = queries.value_or(1) * (op.getNumHeads() / keyHeads);
  size.heads = sequences.value_or(1) * keyHeads;
  size.keys = keys.value_or(kTypicalKeys);
  // The tile's kernel has runs where it knows the rows too.
  bool fixed = !op.getQOffsets() &&
               !ShapedType::isDynamic(q[op.hasRaggedQueries() ? 0 : 1]);
  if (fixed && takesRuns(op))
    size.runs = ::hk::attentionRuns(target, tile, shape, size.rows);
  size.unequal = size.runs > 0 &&
                 (op.getKvLens() || op.getKvOffsets() || op.getTableOffsets());
  size.paged = op.getKeyForm() == KeyForm::Paged;
  return size;
}

namespace {
/// What an operator takes with slices of its keys.
struct SliceCost {
  const ::hk::Target &target;
  const ::hk::AttentionTile &tile;
  const ::hk::AttentionShape &shape;
  /// Of the whole operator.
  ::hk::AttentionSize size;
  /// The tile whose clusters share the keys of the whole operator.
  std::optional<::hk::AttentionTile> clusters;
  /// Of an element of the result.
  double bytesOut;
  bool knowsSequences;
  /// Whether combining the slices takes a launch of its own.
  bool ownLaunch;

  /// Modelled microseconds; nullopt where as many parts may not be offered.
  std::optional<double> of(int64_t parts) const {
    ::hk::AttentionSize sliced = size;
    sliced.slices = parts;
    double elements = double(size.rows * size.heads * shape.valueDim);
    double keyBytes = double(size.heads) * double(size.keys) *
                      double(shape.headDim + shape.valueDim) *
                      ::hk::info(shape.type).bits / 8;
    // Runs make a part for every unit and every block.
    double most = size.runs > 0 ? 1 + double(size.runs) / double(size.heads)
                                : double(parts);
    double partial = 2 * 4.0 * std::min(most, double(parts)) * elements;
    if (parts > 1 && !knowsSequences && partial > kMostExtraTraffic * keyBytes)
      return std::nullopt;
    double time =
        ::hk::attentionSlicesMicroseconds(target, tile, shape, sliced);
    if (parts > 1)
      return time + ::hk::combineMicroseconds(
                        target, parts, partial + elements * bytesOut, ownLaunch,
                        /*weighs=*/true);
    if (clusters)
      time = std::min(time, ::hk::attentionClusterMicroseconds(
                                target, *clusters, shape, sliced));
    return time;
  }
};
} // namespace

std::optional<SplitPlan>
mlir::hk::planAttentionSplit(AttentionOp op, const ::hk::Target &target,
                             ArrayRef<int64_t> counts, SizeOf sizeOf) {
  std::optional<int64_t> queries = queriesOf(op, sizeOf),
                         keys = keysOf(op, sizeOf);
  // A kernel of segments combines them before it ends.
  if (isSegment(op) || op.getKvSlices() ||
      op.getNormalizer() == Normalizer::none ||
      (keys && ::hk::filledSlices(*keys, 2) < 2))
    return std::nullopt;

  ::hk::AttentionShape shape = shapeOf(op);
  // Slices have results in f32.
  shape.latent = checkLatent(op, shape, ::hk::DType::F32, target).accepted();
  shape.stream = checkStream(op, shape, target).accepted();
  ::hk::AttentionTileList tiles = ::hk::attentionTiles(target.arch, shape);
  if (tiles.count == 0)
    return std::nullopt; // tile selection has an error for it
  int64_t rows = queries.value_or(1) * (op.getNumHeads() / op.getNumKeyHeads());
  dropStream(tiles, target, rows);
  // The variant that takes as many rows; of many a unit does as much in fewer
  // tiles.
  ::hk::AttentionTile few = tiles.tile[shape.latent ? 0 : tiles.count - 1];
  bool manyRows = queries && target.arch != ::hk::Arch::Host && rows > few.bq;
  if (manyRows && !takesScalars(op))
    few = tiles.tile[0];
  std::optional<int64_t> sequences = sequencesOf(op);

  SliceCost cost = {
      target,
      few,
      shape,
      sizeOfSplit(op, target, few, shape, queries, sequences, keys),
      std::nullopt,
      ::hk::info(*dtypeOf(tensorType(op.getResult()).getElementType())).bits /
          8.0,
      sequences.has_value(),
      !feedsKernelOfRows(op, target)};
  if (manyRows)
    cost.clusters = clusterTileOf(op, target, shape, *queries,
                                  sequences.value_or(1) * op.getNumHeads());

  SplitPlan plan;
  plan.what = "keys";
  if (!queries) {
    plan.known = Verdict::refuse(
        Reason::SizeUnknown,
        "slices of the keys pay with few queries only, and their number is "
        "dynamic");
    plan.rows = queryDim(op);
  }
  auto add = [&](int64_t parts) {
    if (std::optional<double> time = queries ? cost.of(parts) : 0.0)
      plan.candidates.push_back({parts, *time});
  };
  add(1);
  for (int64_t count : counts) {
    int64_t parts = keys ? ::hk::filledSlices(*keys, count) : count;
    if (parts > plan.candidates.back().parts)
      add(parts);
  }
  return plan;
}

void mlir::hk::splitAttention(AttentionOp op, int64_t parts,
                              OpBuilder &builder) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin(), parts);
  Type f32 = builder.getF32Type();
  auto partials = RankedTensorType::get(shape, f32);
  auto sliceLse = RankedTensorType::get(ArrayRef(shape).drop_back(), f32);
  builder.setInsertionPoint(op);
  OperationState state(op.getLoc(), AttentionOp::getOperationName());
  state.addTypes({partials, sliceLse});
  state.addOperands(op->getOperands());
  state.getOrAddProperties<AttentionOp::Properties>() = op.getProperties();
  for (Region &region : op->getRegions())
    state.addRegion()->takeBody(region);
  auto sliced = cast<AttentionOp>(builder.create(state));
  Value sink = op.getSink(); // counts once, when the slices are combined
  sliced.getSinkMutable().clear();
  sliced.setKvSlices(parts);
  Value lse = op.getLse();
  auto combined = AttentionCombineOp::create(
      builder, op.getLoc(), type, lse ? lse.getType() : Type(),
      ValueRange(sliced.getResult()), ValueRange(sliced.getLse()), sink);
  op.getResult().replaceAllUsesWith(combined.getResult());
  if (lse)
    lse.replaceAllUsesWith(combined.getLse());
  op.erase();
}
