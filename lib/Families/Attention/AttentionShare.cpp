//===- AttentionShare.cpp - Attention beside other problems of a launch ---===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prefill and decode in one launch need tiles of as many threads; which there
// are and how long they take. On sm_90a a block of either fills its compute
// unit: what units with decode steps leave of the matrix units, others use.
//
//===----------------------------------------------------------------------===//

#include "AttentionPlan.h"
#include "hk/Contract/Capability.h"

#include "hk/Contract/CostAttention.h"

using namespace mlir;
using namespace mlir::hk;

static bool holdsAttention(KernelOp kernel) {
  return !kernel.getSpecBlock().getOps<AttentionOp>().empty();
}

SmallVector<::hk::AttentionTile>
mlir::hk::attentionTilesOf(const AttentionPlan &kernel,
                           const ::hk::Target &target, int64_t threads) {
  ::hk::AttentionShape shape = kernel.getBulkShape(target);
  SmallVector<::hk::AttentionTile> tiles;
  auto add = [&](const ::hk::AttentionTile &tile) {
    bool known = !tiles.empty() && tiles.back().bq == tile.bq;
    if (!known && ::hk::attentionThreads(target.arch, tile) == threads &&
        ::hk::attentionLds(target.arch, tile, shape) <= target.ldsBytes)
      tiles.push_back(tile);
  };
  bool host = target.arch == ::hk::Arch::Host;
  if (!host && !::hk::attentionHasMatrixTile(target.arch, shape))
    add(::hk::attentionVectorTile(target.arch));
  else
    for (const ::hk::AttentionCandidate &c : ::hk::kAttentionCandidates)
      if (::hk::usableForShape(c, target.arch, shape))
        add(c.tile);
  return tiles;
}

SmallVector<int64_t>
mlir::hk::attentionSharedThreads(KernelOp kernel, const ::hk::Target &target) {
  SmallVector<int64_t> found;
  if (!holdsAttention(kernel))
    return found;
  FailureOr<AttentionPlan> attention = AttentionPlan::create(kernel);
  if (failed(attention))
    return found;
  // Other prefills are no match for the copy engine's.
  SmallVector<int64_t> counts = {1, 2, 4, 8};
  if (::hk::hasCopyEngine(target))
    counts = {::hk::kBulkAttentionWaves};
  for (int64_t waves : counts) {
    int64_t threads = waves * target.waveSize;
    if (!attentionTilesOf(*attention, target, threads).empty())
      found.push_back(threads);
  }
  return found;
}

/// Keys of a segment that a sequence has on average.
static int64_t keysOf(const AttentionPlan &kernel,
                      const AttentionSegment &segment, int64_t sequences,
                      llvm::function_ref<int64_t(DimName)> sizeOf) {
  switch (segment.getOp().getKeyForm()) {
  case KeyForm::Ragged:
    return llvm::divideCeil(sizeOf(kernel.dim(segment.key, 0)), sequences);
  case KeyForm::Dense:
    return sizeOf(kernel.dim(segment.key, 1));
  case KeyForm::Paged: {
    int64_t page = sizeOf(kernel.dim(segment.key, 1));
    // A table of one dim has the pages of all sequences.
    if (tensorType(segment.getOp().getBlockTable()).getRank() == 1)
      return llvm::divideCeil(sizeOf(kernel.dim(segment.blockTable, 0)),
                              sequences) *
             page;
    return sizeOf(kernel.dim(segment.blockTable, 1)) * page;
  }
  }
  llvm_unreachable("every form has a case");
}

namespace {
/// A variant for certain sizes as the model sees it.
struct ModelledVariant {
  ::hk::AttentionTile tile;
  ::hk::AttentionShape shape;
  ::hk::AttentionSize size;
};
} // namespace

static ModelledVariant modelOf(KernelOp kernel, VariantOp variant,
                               ArrayRef<int64_t> dims) {
  FailureOr<AttentionPlan> made = AttentionPlan::create(kernel);
  assert(succeeded(made) && "asked about kernels that may share a launch");
  const AttentionPlan &attention = *made;
  const AttentionOperands &operands = attention.getOperands();
  AttentionOp op = attention.getOp();
  auto sizeOf = [&](DimName name) -> int64_t {
    return SymShapeAttr::isSymbol(name) ? dims[SymShapeAttr::symbolOf(name)]
                                        : name;
  };
  auto tile = cast<AttentionTileAttr>(variant.getTile());
  ::hk::AttentionTile own = podOf(tile);
  int64_t sequences = 1;
  if (!op.hasRaggedQueries())
    sequences = sizeOf(attention.dim(operands.query, 0));
  else if (operands.qOffsets >= 0)
    sequences =
        std::max<int64_t>(sizeOf(attention.dim(operands.qOffsets, 0)) - 1, 1);
  int64_t queries = sizeOf(attention.getQueries());
  if (operands.qOffsets >= 0)
    queries = llvm::divideCeil(queries, sequences);
  int64_t keys = 0;
  for (const AttentionSegment &segment : attention.getSegments())
    keys += keysOf(attention, segment, sequences, sizeOf);
  ::hk::AttentionSize size;
  size.rows = queries * attention.getGroup();
  size.heads = sequences * attention.getKeyHeads();
  size.keys = std::max<int64_t>(keys, 1);
  size.slices = op.getNumSlices();
  size.runs = own.blocks;
  return {own, attention.getShape(), size};
}

double mlir::hk::attentionVariantMicroseconds(KernelOp kernel,
                                              VariantOp variant,
                                              const ::hk::Target &target,
                                              ArrayRef<int64_t> dims) {
  ModelledVariant m = modelOf(kernel, variant, dims);
  // Of a decode step by the chip's own clocks, as its slices were chosen: both
  // sides of the comparison have the same tile, or one that walks alike.
  double time =
      m.tile.cluster > 1
          ? ::hk::attentionClusterMicroseconds(target, m.tile, m.shape, m.size)
          : ::hk::attentionSlicesMicroseconds(target, m.tile, m.shape, m.size);
  bool shared = kernel.getThreads() && ::hk::hasCopyEngine(target);
  return shared
             ? ::hk::attentionSharedMicroseconds(target, m.tile, m.size, time)
             : time;
}

double mlir::hk::attentionVariantUnitShare(KernelOp kernel, VariantOp variant,
                                           const ::hk::Target &target,
                                           ArrayRef<int64_t> dims) {
  // Elsewhere blocks of both problems share their units.
  if (!::hk::hasCopyEngine(target))
    return 1;
  ModelledVariant m = modelOf(kernel, variant, dims);
  return ::hk::attentionUnitShare(target, m.tile, m.shape, m.size);
}
