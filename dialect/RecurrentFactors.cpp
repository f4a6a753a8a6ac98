//===- RecurrentFactors.cpp - How recurrent layers are cut ----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A convolution is cut by channels, everything of the gated delta rule by key
// heads, each with the value heads that use it; their states with them. All of
// them are Models: the operators' classes say nothing of ranks.
//
//===----------------------------------------------------------------------===//

#include "RecurrentFactors.h"
#include "OpUtils.h"
#include "hk/Dialect/ShardFactors.h"

using namespace mlir;
using namespace mlir::hk;

/// Adds the key heads of an operator: `keyed` have one of them for each index
/// of dim `dim`, `valued` a run of value heads for it, and `others`, too, at
/// dims of their own. What is absent has no value.
static void stateHeads(ShardFactors &factors, int64_t dim,
                       ArrayRef<Value> keyed, ArrayRef<Value> valued,
                       ArrayRef<FactorPlace> others = {}) {
  int64_t heads = tensorType(valued.front()).getDimSize(dim);
  int64_t keyHeads =
      keyed.empty() ? heads : tensorType(keyed.front()).getDimSize(dim);
  if (ShapedType::isDynamic(keyHeads) || keyHeads < 1 ||
      ShapedType::isDynamic(heads))
    return;
  int64_t each = heads / keyHeads;
  SmallVector<FactorPlace> places;
  for (Value value : valued)
    places.push_back({value, dim, 0, each});
  for (FactorPlace place : others) {
    place.unit = each;
    places.push_back(place);
  }
  for (Value value : keyed)
    places.push_back({value, dim, 0, 1, /*mayCopy=*/true});
  factors
      .add(FactorKind::Parallel, keyed.empty() ? "heads" : "key heads",
           keyHeads, places)
      .readers = "values'";
}

/// The dim of heads of [B, T, heads, ...], or of [T, heads, ...] with offsets.
static int64_t headDim(Value offsets) { return offsets ? 1 : 2; }

namespace {
template <class OpT> struct Model;

template <> struct Model<CausalConv1dOp> {
  static void state(CausalConv1dOp op, ShardFactors &factors) {
    int64_t dim = op.getChannelDim(), stateDim = op.getStateChannelDim();
    factors.add(FactorKind::Parallel, "channels", op.getNumChannels(),
                {{op.getInput(), dim},
                 {op.getWeight(), 0},
                 {op.getBias(), 0},
                 {op.getState(), stateDim},
                 {op.getResult(), dim},
                 {op.getNewState(), stateDim},
                 {op.getWindows(), 2}});
  }
};

template <> struct Model<GatedDeltaRuleOp> {
  static void state(GatedDeltaRuleOp op, ShardFactors &factors) {
    stateHeads(factors, headDim(op.getOffsets()), {op.getQuery(), op.getKey()},
               {op.getValue(), op.getDecay(), op.getKeyDecay(),
                op.getValueDecay(), op.getBeta(), op.getResult()},
               {{op.getState(), 1}, {op.getNewState(), 1}});
  }
};

template <> struct Model<ChunkKktOp> {
  static void state(ChunkKktOp op, ShardFactors &factors) {
    stateHeads(factors, headDim(op.getOffsets()), {op.getKey()},
               {op.getResult(), op.getDecay(), op.getBeta()});
  }
};

template <> struct Model<SolveTrilOp> {
  static void state(SolveTrilOp op, ShardFactors &factors) {
    stateHeads(factors, headDim(op.getOffsets()), {},
               {op.getResult(), op.getInput()});
  }
};

template <> struct Model<ChunkWUOp> {
  static void state(ChunkWUOp op, ShardFactors &factors) {
    stateHeads(factors, headDim(op.getOffsets()), {op.getKey()},
               {op.getValue(), op.getInverse(), op.getDecay(), op.getBeta(),
                op.getW(), op.getU()});
  }
};

template <> struct Model<ChunkStateOp> {
  static void state(ChunkStateOp op, ShardFactors &factors) {
    stateHeads(
        factors, headDim(op.getOffsets()), {op.getKey()},
        {op.getU(), op.getW(), op.getDecay(), op.getStates(), op.getVNew()},
        {{op.getState(), 1}, {op.getNewState(), 1}, {op.getStarts(), 2}});
  }
};

template <> struct Model<ChunkOutputOp> {
  static void state(ChunkOutputOp op, ShardFactors &factors) {
    stateHeads(factors, headDim(op.getOffsets()), {op.getQuery(), op.getKey()},
               {op.getValue(), op.getStates(), op.getDecay(), op.getResult()});
  }
};

/// Sums along one dim are the same for whatever is cut of the others.
template <> struct Model<CumsumOp> {
  static void state(CumsumOp op, ShardFactors &factors) {
    RankedTensorType type = tensorType(op.getInput());
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (dim != int64_t(op.getDim()))
        factors.add(FactorKind::Parallel, "rows", type.getDimSize(dim),
                    {{op.getInput(), dim}, {op.getResult(), dim}});
  }
};

template <class OpT>
struct External : ShardOpInterface::ExternalModel<External<OpT>, OpT> {
  void stateFactors(Operation *op, ShardFactors &factors) const {
    Model<OpT>::state(cast<OpT>(op), factors);
  }
};
} // namespace

template <class... OpTs> static void attach(MLIRContext &context) {
  (OpTs::template attachInterface<External<OpTs>>(context), ...);
}

void mlir::hk::attachRecurrentFactors(MLIRContext &context) {
  attach<CausalConv1dOp, GatedDeltaRuleOp, ChunkKktOp, SolveTrilOp, ChunkWUOp,
         ChunkStateOp, ChunkOutputOp, CumsumOp>(context);
}
