//===- GatedDeltaSplit.cpp - Walks over chunks in segments ----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block walks over the chunks of a sequence, one after the other: few heads
// keep few units busy, however long the sequence. What a segment of it makes of
// the state before it is linear, M S + C, so all segments but the last find
// their M and C at once, a short walk over those gives the states before each
// segment, and then all segments are walked at once. It costs a second walk,
// over as many columns more as there are keys.
//
//===----------------------------------------------------------------------===//

#include "GatedDeltaPlan.h"

#include "hk/Contract/CostGatedDelta.h"

using namespace mlir;
using namespace mlir::hk;

/// What tokens that only a call counts are taken for.
static constexpr int64_t kTypicalTokens = 4096;

/// The sequences of the batch; nullopt: a call knows.
static std::optional<int64_t> sequencesOf(ChunkStateOp op, SizeOf sizeOf) {
  Value counted = op.getOffsets() ? Value(op.getOffsets()) : op.getKey();
  int64_t n = sizeOf({counted, 0});
  if (ShapedType::isDynamic(n))
    return std::nullopt;
  return op.getOffsets() ? n - 1 : n;
}

std::optional<SplitPlan> mlir::hk::planSegments(ChunkStateOp op,
                                                const ::hk::Target &target,
                                                ArrayRef<int64_t> counts,
                                                SizeOf sizeOf) {
  auto chunk = int64_t(op.getChunk());
  int64_t tokens = sizeOf({op.getKey(), op.getOffsets() ? 0 : 1});
  std::optional<int64_t> sequences = sequencesOf(op, sizeOf);
  if (ShapedType::isDynamic(tokens))
    tokens = kTypicalTokens;
  if (op.getStarts() || (sequences && *sequences < 1))
    return std::nullopt;
  if (op.getOffsets()) // in the mean
    tokens = llvm::divideCeil(tokens, sequences.value_or(1));
  int64_t chunks = llvm::divideCeil(tokens, chunk);
  if (chunks < 2)
    return std::nullopt;

  SplitPlan plan;
  plan.what = "the chunks";
  if (!sequences)
    plan.known = Verdict::refuse(
        Reason::SizeUnknown,
        "segments of a sequence pay with few sequences only, and their number "
        "is dynamic");
  auto u = cast<RankedTensorType>(op.getU().getType()).getShape();
  ::hk::ChunkWalk walk;
  walk.heads = sequences.value_or(1) * u[u.size() - 2];
  walk.values = u.back();
  walk.keys = cast<RankedTensorType>(op.getKey().getType()).getShape().back();
  walk.chunk = chunk;
  walk.chunks = chunks;
  walk.bits =
      getElementTypeOrSelf(op.getKey().getType()).getIntOrFloatBitWidth();
  if (plan.known.accepted() && !::hk::hasMatrixTransitions(target, walk))
    plan.known = Verdict::refuse(
        Reason::UnsupportedShape,
        "what segments make of a state would be computed on vector units");
  auto add = [&](int64_t parts) {
    walk.segments = parts;
    plan.candidates.push_back(
        {parts, ::hk::chunkWalkMicroseconds(target, walk)});
  };
  add(1);
  for (int64_t count : counts)
    if (count <= chunks)
      add(count);
  return plan;
}

void mlir::hk::splitInSegments(ChunkStateOp op, int64_t segments,
                               OpBuilder &builder) {
  builder.setInsertionPoint(op);
  auto u = cast<RankedTensorType>(op.getU().getType()).getShape();
  int64_t heads = u[u.size() - 2], values = u.back();
  int64_t keys =
      cast<RankedTensorType>(op.getKey().getType()).getShape().back();
  Value counted = op.getOffsets() ? Value(op.getOffsets()) : op.getKey();
  int64_t sequences = cast<RankedTensorType>(counted.getType()).getDimSize(0);
  if (op.getOffsets() && !ShapedType::isDynamic(sequences))
    --sequences;
  auto typeOf = [&](int64_t first, int64_t columns) {
    return RankedTensorType::get({first, sequences, heads, keys, columns},
                                 builder.getF32Type());
  };
  auto transitions = ChunkTransitionOp::create(
      builder, op.getLoc(), typeOf(segments - 1, values + keys), op.getKey(),
      op.getW(), op.getU(), op.getDecay(), op.getOffsets(), op.getChunk(),
      segments);
  auto starts = ChunkStartsOp::create(
      builder, op.getLoc(), typeOf(segments, values), transitions.getResult(),
      op.getState(), op.getIndices(), op.getHasInitial(), op.getStateLayout());
  op.getStartsMutable().assign(starts.getResult());
}
