//===- DimRules.cpp - What each operator says of its sizes ----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One rule per operator: which dims it requires or makes equal, and how it
// computes the others. A size of 1 that broadcasts says nothing. An operator
// without a rule gives results of unknown sizes.
//
//===----------------------------------------------------------------------===//

#include "DimSymbolsBuilder.h"

#include "hk/Contract/Scale.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::hk;

static int64_t rankOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}
static bool isOne(Value value, int64_t dim) {
  return cast<RankedTensorType>(value.getType()).getDimSize(dim) == 1;
}

namespace {
/// Rules shared by several operators.
struct Rules {
  DimSymbolsBuilder &b;

  /// NumPy broadcasting: aligned at the last dim; 1 repeats.
  void broadcast(ValueRange operands, Value result) {
    for (Value operand : operands) {
      int64_t shift = rankOf(result) - rankOf(operand);
      for (int64_t dim = 0; dim < rankOf(operand); ++dim)
        if (!isOne(operand, dim))
          b.unite(b.node(result, dim + shift), b.node(operand, dim));
    }
  }
  /// The last dim of a vector operand (a weight) equals that of `value`.
  void lastDim(Value vector, Value value) {
    if (vector)
      b.unite(b.node(value, rankOf(value) - 1), b.node(vector, 0));
  }
  /// Scales: one element, or leading dims as `value` and a last dim of 1 or of
  /// one per group.
  void groupScale(Value scale, Value value, int64_t group) {
    if (rankOf(scale) != rankOf(value))
      return;
    int64_t last = rankOf(value) - 1;
    for (int64_t dim = 0; dim < last; ++dim)
      if (!isOne(scale, dim))
        b.unite(b.node(scale, dim), b.node(value, dim));
    if (!isOne(scale, last))
      b.derive(SizeExpr::Kind::CeilDiv, b.node(value, last), group, scale,
               last);
  }
};
} // namespace

/// One dim of `collapsed` is the product of a group of dims of `expanded`.
void DimSymbolsBuilder::reassociate(Value collapsed, Value expanded,
                                    ArrayRef<ReassociationIndices> groups) {
  auto type = cast<RankedTensorType>(expanded.getType());
  bool expands = collapsed.getDefiningOp() == nullptr ||
                 !isa<tensor::CollapseShapeOp>(collapsed.getDefiningOp());
  for (auto [dim, group] : llvm::enumerate(groups)) {
    int64_t fixed = 1;
    SmallVector<Node> dynamic;
    int64_t open = -1;
    for (int64_t inner : group) {
      if (type.isDynamicDim(inner)) {
        dynamic.push_back(node(expanded, inner));
        open = inner;
      } else {
        fixed *= type.getDimSize(inner);
      }
    }
    if (dynamic.empty())
      continue;
    if (!expands)
      derive(Kind::Product, dynamic, fixed, collapsed, dim);
    else if (dynamic.size() == 1)
      derive(Kind::FloorDiv, node(collapsed, dim), fixed, expanded, open);
    else // several unknown factors: their values are the op's operands
      derive(Kind::Product, dynamic, fixed, collapsed, dim);
  }
}

void DimSymbolsBuilder::visitView(Operation *op) {
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    int64_t result = 0;
    for (auto [dim, size] : llvm::enumerate(slice.getMixedSizes()))
      if (!dropped.test(dim))
        unite(node(slice.getResult(), result++), sizeNode(size));
  } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    reassociate(expand.getSrc(), expand.getResult(),
                expand.getReassociationIndices());
    for (auto [dim, size] : llvm::enumerate(expand.getMixedOutputShape()))
      unite(node(expand.getResult(), dim), sizeNode(size));
  } else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    reassociate(collapse.getResult(), collapse.getSrc(),
                collapse.getReassociationIndices());
  } else if (auto cast = dyn_cast<tensor::CastOp>(op)) {
    if (isa<RankedTensorType>(cast.getSource().getType()) &&
        isa<RankedTensorType>(cast.getType()))
      sameShape(cast.getSource(), cast.getResult());
  } else if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
    for (auto [dim, size] : llvm::enumerate(empty.getMixedSizes()))
      unite(node(empty, dim), sizeNode(size));
  } else if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    std::optional<int64_t> index = dim.getConstantIndex();
    if (index && isa<RankedTensorType>(dim.getSource().getType()))
      indices[dim.getResult()] = node(dim.getSource(), *index);
  }
}

/// Sizes that the function computes itself.
void DimSymbolsBuilder::visitIndex(Operation *op) {
  Value result = op->getResult(0);
  if (!result.getType().isIndex())
    return;
  SmallVector<Node> operands;
  bool minus = isa<arith::SubIOp>(op), product = isa<arith::MulIOp>(op);
  bool sum = minus || isa<arith::AddIOp>(op);
  int64_t constant = sum ? 0 : 1;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    APInt value;
    bool isConstant = matchPattern(operand, m_ConstantInt(&value));
    if (minus && isConstant != (index == 1))
      return; // only x - constant is a sum
    if (!isConstant)
      operands.push_back(indexNode(operand));
    else if (sum)
      constant += minus ? -value.getSExtValue() : value.getSExtValue();
    else if (product || index == 1)
      constant *= value.getSExtValue();
    else
      return; // stays an index value that is only itself
  }
  if (operands.empty() || (!sum && !product && operands.size() != 1))
    return;
  auto known = indices.find(result);
  Node made = known == indices.end() ? make() : known->second;
  indices[result] = made;
  derive(made,
         sum                       ? Kind::Sum
         : product                 ? Kind::Product
         : isa<arith::DivUIOp>(op) ? Kind::FloorDiv
                                   : Kind::CeilDiv,
         operands, constant, result, 0);
}

void DimSymbolsBuilder::visitQuantization(Operation *op) {
  Rules rules{*this};
  constexpr int64_t kMxBlock = 32;
  if (auto quantize = dyn_cast<QuantizeOp>(op)) {
    sameShape(quantize.getQuantized(), quantize.getInput());
    rules.groupScale(quantize.getScale(), quantize.getInput(),
                     quantize.getGroupSize());
  } else if (auto fixed = dyn_cast<QuantizeStaticOp>(op)) {
    sameShape(fixed.getQuantized(), fixed.getInput());
    rules.groupScale(fixed.getScale(), fixed.getInput(), fixed.getGroupSize());
  } else if (auto mx = dyn_cast<QuantizeMxOp>(op)) {
    sameShape(mx.getQuantized(), mx.getInput());
    rules.groupScale(mx.getScale(), mx.getInput(), kMxBlock);
  } else if (auto back = dyn_cast<DequantizeOp>(op)) {
    sameShape(back.getResult(), back.getInput());
    bool isMx =
        isa<Float8E8M0FNUType>(getElementTypeOrSelf(back.getScale().getType()));
    // The leading dims of a block scale may be coarser than the tensor's when
    // they are static; a dynamic one is one per row.
    auto scale = cast<RankedTensorType>(back.getScale().getType());
    int64_t rank = rankOf(back.getInput());
    if (scale.getRank() == rank) {
      for (int64_t dim = 0; dim + 1 < rank; ++dim)
        if (scale.isDynamicDim(dim))
          unite(node(back.getScale(), dim), node(back.getInput(), dim));
      if (rank > 0 && scale.isDynamicDim(rank - 1))
        derive(Kind::CeilDiv, node(back.getInput(), rank - 1),
               isMx ? kMxBlock : back.getGroupSize(), back.getScale(),
               rank - 1);
    }
  }
}

/// Sizes that the operands, the scales and the last two dims of the result of a
/// product share.
void DimSymbolsBuilder::visitProduct(ProductOpInterface product) {
  Value lhs = product.getLhs(), rhs = product.getRhs();
  int64_t n = rankOf(product.getResult()) - 1;
  Node m = node(lhs, product.getLhsDim(MatmulDim::M));
  Node k = node(lhs, product.getLhsDim(MatmulDim::K));
  unite(k, node(rhs, product.getRhsDim(MatmulDim::K)));
  unite(node(product.getResult(), n),
        node(rhs, product.getRhsDim(MatmulDim::N)));
  auto scale = [&](Value scale, Value operand, ::hk::ScaleSpec blocks,
                   Node rows) {
    if (!scale || rankOf(scale) < 2)
      return;
    auto type = cast<RankedTensorType>(scale.getType());
    int64_t last = rankOf(scale) - 1;
    bool mx = isa<Float8E8M0FNUType>(type.getElementType());
    for (int64_t d = 0; d + 1 < last; ++d)
      if (type.isDynamicDim(d))
        unite(node(scale, d), node(operand, d));
    if (type.isDynamicDim(last - 1)) {
      // One scale per row, unless there are several along k.
      if (mx || blocks.rows == 1 || type.getDimSize(last) == 1)
        unite(node(scale, last - 1), rows);
      else
        derive(Kind::CeilDiv, rows, blocks.rows, scale, last - 1);
    }
    if (type.isDynamicDim(last))
      derive(Kind::CeilDiv, k, mx ? ::hk::kMxScale.depth : blocks.depth, scale,
             last);
  };
  scale(product.getLhsScale(), lhs, ::hk::kBlockScaleA, m);
  scale(product.getRhsScale(), rhs, ::hk::kBlockScaleB,
        node(product.getResult(), n));
}

void DimSymbolsBuilder::visitMatmul(MatmulOp matmul) {
  visitProduct(matmul);
  Value lhs = matmul.getLhs(), rhs = matmul.getRhs();
  Value result = matmul.getResult();
  int64_t first = matmul.getNumSliceDims();
  unite(node(result, rankOf(result) - 2),
        node(lhs, matmul.getLhsDim(MatmulDim::M)));
  same(result, first, lhs, 0, rankOf(lhs) - 2);
  if (rankOf(rhs) == rankOf(lhs))
    same(result, first, rhs, 0, rankOf(rhs) - 2);
}

void DimSymbolsBuilder::visitGroupedMatmul(GroupedMatmulOp op) {
  visitProduct(op);
  Value result = op.getResult();
  if (op.getAlongK())
    return unite(node(result, 1),
                 node(op.getLhs(), op.getLhsDim(MatmulDim::M)));
  Node groups = node(op.getRhs(), 0);
  for (Value perGroup : {op.getBias(), op.getGroupScale()})
    if (perGroup)
      unite(node(perGroup, 0), groups);
  if (op.getBias())
    unite(node(op.getBias(), 1), node(result, 1));
  if (op.getForm() == GroupForm::lengths)
    unite(node(op.getGroups(), 0), groups);
  if (!op.isBlocks())
    return unite(node(result, 0), node(op.getPlaces(), 0));
  Node rows = node(op.getLhs(), 0);
  if (op.getTopK() == 1)
    unite(node(result, 0), rows);
  else if (cast<RankedTensorType>(result.getType()).isDynamicDim(0))
    derive(Kind::Product, rows, op.getTopK(), result, 0);
}

void DimSymbolsBuilder::visitAttention(AttentionOp attention) {
  Value q = attention.getQuery(), k = attention.getKey();
  Value v = attention.getValue(), o = attention.getResult();
  int64_t rank = rankOf(q), first = attention.getNumSliceDims();
  same(o, first, q, 0, rank - 1);
  // Rows and what holds them; heads and elements are static.
  CacheDims keys = attention.getKeyDims(), values = attention.getValueDims();
  unite(node(k, 0), node(v, 0));
  if (keys.rows.size() == 1 && values.rows.size() == 1)
    unite(node(k, keys.rows.front()), node(v, values.rows.front()));
  if (Value lse = attention.getLse())
    same(lse, first, q, 0, rank - 1);
  if (Value sink = attention.getSink())
    unite(node(sink, 0), node(q, rank - 2));
  Value lens = attention.getKvLens(), table = attention.getBlockTable();
  Value tableOffsets = attention.getTableOffsets();
  if (lens && table && !tableOffsets)
    unite(node(lens, 0), node(table, 0));
  else if (lens && !table && rankOf(k) == 4)
    unite(node(lens, 0), node(k, 0));
  if (lens && rank == 4)
    unite(node(lens, 0), node(q, 0));
  if (rank == 4 && rankOf(k) == 4 && !table)
    unite(node(q, 0), node(k, 0));
  Value qOffsets = attention.getQOffsets(), kv = attention.getKvOffsets();
  for (Value bounds : {kv, tableOffsets})
    if (qOffsets && bounds)
      unite(node(qOffsets, 0), node(bounds, 0));
  if (qOffsets && lens &&
      cast<RankedTensorType>(qOffsets.getType()).isDynamicDim(0))
    derive(Kind::Sum, node(lens, 0), 1, qOffsets, 0);
}

/// Only [B, T], or T with offsets, and what counts sequences are dynamic; the
/// first operand has the tokens.
void DimSymbolsBuilder::visitGatedDelta(Operation *op) {
  Value offsets, state, newState, states;
  SmallVector<Value> perSequence;
  llvm::TypeSwitch<Operation *>(op).Case<GatedDeltaRuleOp, ChunkStateOp>(
      [&](auto o) {
        state = o.getState();
        newState = o.getNewState();
        for (Value value : {o.getIndices(), o.getHasInitial()})
          if (value)
            perSequence.push_back(value);
        if (state && !o.getIndices())
          perSequence.push_back(state);
      });
  llvm::TypeSwitch<Operation *>(op).Case<ChunkStateOp, ChunkOutputOp>(
      [&](auto o) { states = o.getStates(); });
  llvm::TypeSwitch<Operation *>(op)
      .Case<GatedDeltaRuleOp, ChunkKktOp, SolveTrilOp, ChunkWUOp, ChunkStateOp,
            ChunkOutputOp>([&](auto o) { offsets = o.getOffsets(); });
  Value lead = op->getOperand(0);
  int64_t leading = offsets ? 1 : 2;
  SmallVector<Value> values(op->getOperands());
  values.append(op->result_begin(), op->result_end());
  for (Value value : values)
    if (value != offsets && value != state && value != newState &&
        value != states && !llvm::is_contained(perSequence, value) &&
        rankOf(value) > leading)
      same(value, 0, lead, 0, leading);
  if (newState)
    sameShape(newState, state);
  for (Value value : perSequence) {
    unite(node(value, 0), node(perSequence.front(), 0));
    if (!offsets)
      unite(node(value, 0), node(lead, 0));
  }
  if (offsets && !perSequence.empty())
    derive(Kind::Sum, node(perSequence.front(), 0), 1, offsets, 0);
  if (!states)
    return;
  auto type = cast<RankedTensorType>(states.getType());
  auto chunk = op->getAttrOfType<IntegerAttr>("chunk").getInt();
  if (!offsets) {
    unite(node(states, 0), node(lead, 0));
    if (type.isDynamicDim(1))
      derive(Kind::CeilDiv, node(lead, 1), chunk, states, 1);
  } else if (type.isDynamicDim(0)) {
    Node chunks = compute(Kind::CeilDiv, node(lead, 0), chunk);
    derive(Kind::Sum, {chunks, node(offsets, 0)}, -1, states, 0);
  }
}

void DimSymbolsBuilder::visitMqaLogits(MqaLogitsOp logits) {
  Value q = logits.getQuery(), k = logits.getKey();
  Value result = logits.getResult(), table = logits.getBlockTable();
  int64_t rank = rankOf(q);
  same(logits.getWeights(), 0, q, 0, rank - 1);
  same(result, 0, q, 0, rank - 2);
  unite(node(q, rank - 1), node(k, rankOf(k) - 1));
  if (Value scales = logits.getKeyScales())
    same(scales, 0, k, 0, rankOf(k) - 1);
  for (Value range : std::initializer_list<Value>{
           logits.getStarts(), logits.getEnds(), logits.getKvLens(), table})
    if (range)
      unite(node(range, 0), node(q, 0));
  if (!table)
    return unite(node(result, rank - 2), node(k, 0));
  auto type = cast<RankedTensorType>(result.getType());
  int64_t fixed = 1;
  SmallVector<Node> factors;
  for (auto [value, dim] : {std::pair(table, 1), {k, 1}}) {
    int64_t size = cast<RankedTensorType>(value.getType()).getDimSize(dim);
    if (ShapedType::isDynamic(size))
      factors.push_back(node(value, dim));
    else
      fixed *= size;
  }
  if (!factors.empty() && type.isDynamicDim(rank - 2))
    derive(Kind::Product, factors, fixed, result, rank - 2);
}

void DimSymbolsBuilder::visitAttentionBackward(AttentionBackwardOp op) {
  Value q = op.getQuery(), k = op.getKey(), v = op.getValue();
  Value gradient = op.getGradient();
  int64_t last = rankOf(q) - 1;
  unite(node(q, last), node(k, last));
  unite(node(gradient, last), node(v, last));
  same(v, 0, k, 0, last);
  for (Value value : {gradient, Value(op.getLse()), Value(op.getDelta())})
    same(value, 0, q, 0, last);
  if (!op.isRagged())
    unite(node(k, 0), node(q, 0));
  if (op.getQOffsets())
    unite(node(op.getKvOffsets(), 0), node(op.getQOffsets(), 0));
  sameShape(op.getDquery(), q);
  sameShape(op.getDkey(), k);
  sameShape(op.getDvalue(), v);
  if (!op.getSink())
    return;
  unite(node(op.getSink(), 0), node(q, last - 1));
  sameShape(op.getDsink(), op.getSink());
}

void DimSymbolsBuilder::visitConv1d(CausalConv1dOp conv) {
  sameShape(conv.getResult(), conv.getInput());
  if (Value seqIdx = conv.getSeqIdx()) {
    unite(node(seqIdx, 0), node(conv.getInput(), 0));
    unite(node(seqIdx, 1), node(conv.getInput(), conv.getTokenDim()));
  }
  if (!conv.getState())
    return;
  sameShape(conv.getNewState(), conv.getState());
  if (Value windows = conv.getWindows()) {
    unite(node(windows, 0), node(conv.getInput(), 0));
    unite(node(windows, 1), node(conv.getInput(), conv.getTokenDim()));
  }
  Value offsets = conv.getOffsets();
  SmallVector<Value> perSequence;
  if (conv.getIndices())
    perSequence.push_back(conv.getIndices());
  else
    perSequence.push_back(conv.getState());
  for (Value value : {conv.getHasInitial(), conv.getAccepted(), conv.getRing()})
    if (value)
      perSequence.push_back(value);
  for (Value value : perSequence) {
    unite(node(value, 0), node(perSequence.front(), 0));
    if (!offsets)
      unite(node(value, 0), node(conv.getInput(), 0));
  }
  if (!offsets)
    return;
  int64_t bounds = cast<RankedTensorType>(offsets.getType()).getDimSize(0);
  if (ShapedType::isDynamic(bounds))
    derive(Kind::Sum, node(perSequence.front(), 0), 1, offsets, 0);
  else
    unite(node(perSequence.front(), 0), constantNode(bounds - 1));
}

void DimSymbolsBuilder::visitRouting(Operation *op) {
  auto isDynamic = [](Value vector) {
    return cast<RankedTensorType>(vector.getType()).isDynamicDim(0);
  };
  if (auto bits = dyn_cast<CountBitsOp>(op)) {
    if (bits.getBefore() && isDynamic(bits.getBefore()))
      derive(Kind::CeilDiv, node(bits.getBits(), 1), bits.getBlock(),
             bits.getBefore(), 0);
    return;
  }
  if (auto sort = dyn_cast<SortByKeyOp>(op)) {
    Node keys = node(sort.getKeys(), 0);
    unite(node(sort.getPosition(), 0), keys);
    if (sort.getBlock() == 1)
      unite(node(sort.getOrder(), 0), keys);
    else if (isDynamic(sort.getOrder()))
      derive(Kind::Sum, keys, sort.getBins() * (sort.getBlock() - 1),
             sort.getOrder(), 0);
    return;
  }
  auto segments = cast<SegmentsOp>(op);
  Node size = node(segments.getSegments(), 0);
  bool bounds = segments.getForm() == SegmentForm::bounds;
  unite(node(segments.getIds(), 0), node(segments.getRanks(), 0));
  if (bounds)
    unite(node(segments.getOffsets(), 0), size);
  else if (isDynamic(segments.getOffsets()))
    derive(Kind::Sum, size, 1, segments.getOffsets(), 0);
  if (!isDynamic(segments.getIds()))
    return;
  Node items = node(segments.getItems(), 0);
  auto block = static_cast<int64_t>(segments.getBlock());
  if (block == 1)
    return unite(node(segments.getIds(), 0), items);
  // Every segment may leave all but one place of a block empty.
  Node spare = compute(Kind::Product, size, block - 1);
  Node places = compute(Kind::Sum, {items, spare}, bounds ? 1 - block : 0);
  derive(Kind::CeilDiv, places, block, segments.getIds(), 0);
}

void DimSymbolsBuilder::visitLaunch(LaunchOp launch) {
  if (!llvm::all_of(launch->getOperandTypes(), llvm::IsaPred<RankedTensorType>))
    return;
  for (auto [out, result] : llvm::zip(launch.getOuts(), launch.getResults()))
    sameShape(result, out);
  if (kernels.empty())
    if (auto module = launch->getParentOfType<ModuleOp>())
      for (auto kernel : module.getOps<KernelOp>())
        kernels[kernel.getSymNameAttr()] = kernel;
  auto it = kernels.find(launch.getKernelAttr().getAttr());
  if (it == kernels.end())
    return;
  llvm::DenseMap<DimName, Node> seen;
  auto shapes = it->second.getShapes().getAsRange<SymShapeAttr>();
  for (auto [operand, shape] : llvm::zip(launch->getOperands(), shapes))
    for (auto [dim, size] : llvm::enumerate(shape.getSizes())) {
      Node n = node(operand, dim);
      if (auto [first, inserted] = seen.try_emplace(size, n); !inserted)
        unite(first->second, n);
    }
}

void DimSymbolsBuilder::visit(Operation *op) {
  Rules rules{*this};
  llvm::TypeSwitch<Operation *>(op)
      .Case<tensor::ExtractSliceOp, tensor::ExpandShapeOp,
            tensor::CollapseShapeOp, tensor::CastOp, tensor::EmptyOp,
            tensor::DimOp>([&](auto) { visitView(op); })
      .Case<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::DivUIOp,
            arith::CeilDivUIOp>([&](auto) { visitIndex(op); })
      .Case<QuantizeOp, QuantizeStaticOp, QuantizeMxOp, DequantizeOp>(
          [&](auto) { visitQuantization(op); })
      .Case([&](MatmulOp o) { visitMatmul(o); })
      .Case([&](GroupedMatmulOp o) { visitGroupedMatmul(o); })
      .Case([&](AttentionOp o) { visitAttention(o); })
      .Case([&](AttentionBackwardOp o) { visitAttentionBackward(o); })
      .Case<CountBitsOp, SortByKeyOp, SegmentsOp>(
          [&](auto) { visitRouting(op); })
      .Case<CumsumOp>([&](CumsumOp o) {
        bool longer = o.getKind() == ScanKind::offsets;
        for (int64_t dim = 0; dim < rankOf(o.getInput()); ++dim)
          if (!longer || dim != int64_t(o.getDim()))
            unite(node(o.getResult(), dim), node(o.getInput(), dim));
          else if (cast<RankedTensorType>(o.getResult().getType())
                       .isDynamicDim(dim))
            derive(Kind::Sum, node(o.getInput(), dim), 1, o.getResult(), dim);
      })
      .Case<AddOp, SubOp, MulOp, DivOp, MaxOp, MinOp, CompareOp, SelectOp,
            PhiloxOp>(
          [&](auto o) { rules.broadcast(o->getOperands(), o.getResult()); })
      .Case<GatherElementsOp>([&](GatherElementsOp o) {
        rules.broadcast(o.getIndices(), o.getResult());
      })
      .Case<RmsNormOp>([&](RmsNormOp o) {
        sameShape(o.getResult(), o.getInput());
        rules.lastDim(o.getWeight(), o.getResult());
      })
      .Case<LayerNormOp>([&](LayerNormOp o) {
        sameShape(o.getResult(), o.getInput());
        rules.lastDim(o.getWeight(), o.getResult());
        rules.lastDim(o.getBias(), o.getResult());
      })
      .Case<GatedActivationOp>([&](GatedActivationOp o) {
        int64_t last = rankOf(o.getResult()) - 1;
        same(o.getResult(), 0, o.getInput(), 0, last);
        derive(Kind::FloorDiv, node(o.getInput(), last), 2, o.getResult(),
               last);
      })
      .Case<RopeOp>([&](RopeOp o) {
        sameShape(o.getResult(), o.getInput());
        sameShape(o.getCos(), o.getSin());
        for (Value index : {o.getPositions(), o.getOffsets()})
          if (index)
            same(index, 0, o.getInput(), 0, rankOf(index));
      })
      .Case<TransposeOp>([&](TransposeOp o) {
        for (auto [dim, from] : llvm::enumerate(o.getPermutation()))
          unite(node(o.getResult(), dim), node(o.getInput(), from));
      })
      .Case<ConcatOp>([&](ConcatOp o) {
        int64_t axis = o.getDim(), fixed = 0;
        SmallVector<Node> dynamic;
        for (Value input : o.getInputs()) {
          auto type = cast<RankedTensorType>(input.getType());
          for (int64_t dim = 0; dim < type.getRank(); ++dim)
            if (dim != axis)
              unite(node(o.getResult(), dim), node(input, dim));
          if (type.isDynamicDim(axis))
            dynamic.push_back(node(input, axis));
          else
            fixed += type.getDimSize(axis);
        }
        if (!dynamic.empty())
          derive(Kind::Sum, dynamic, fixed, o.getResult(), axis);
      })
      .Case<PadOp>([&](PadOp o) {
        same(o.getResult(), 0, o.getInput(), 0, rankOf(o.getInput()) - 1);
      })
      .Case<SumSlicesOp>([&](SumSlicesOp o) {
        same(o.getResult(), 0, o.getInput(), 1, rankOf(o.getResult()));
      })
      .Case<AttentionCombineOp>([&](AttentionCombineOp o) {
        Value result = o.getResult(), lse = o.getSliceLse();
        int64_t rank = rankOf(result);
        same(result, 0, o.getPartials(), 1, rank);
        same(result, 0, lse, 1, rank - 1);
        if (o.getLse())
          same(o.getLse(), 0, result, 0, rank - 1);
        if (o.getSink())
          unite(node(o.getSink(), 0), node(result, rank - 2));
      })
      .Case<GatherRowsOp>([&](GatherRowsOp o) {
        int64_t rows = rankOf(o.getIndices());
        same(o.getResult(), 0, o.getIndices(), 0, rows);
        same(o.getResult(), rows, o.getTable(), 1, rankOf(o.getTable()) - 1);
      })
      .Case<TopkOp>([&](TopkOp o) {
        same(o.getValues(), 0, o.getInput(), 0, rankOf(o.getInput()) - 1);
        sameShape(o.getIndices(), o.getValues());
      })
      .Case<GatherLastOp>([&](GatherLastOp o) {
        sameShape(o.getResult(), o.getIndices());
        same(o.getInput(), 0, o.getIndices(), 0, rankOf(o.getInput()) - 1);
      })
      .Case<BitmatrixOp>([&](BitmatrixOp o) {
        same(o.getResult(), 0, o.getIndices(), 0, rankOf(o.getIndices()) - 1);
      })
      .Case<KVCacheWriteOp>([&](KVCacheWriteOp o) {
        sameShape(o.getResult(), o.getCache());
        unite(node(o.getValues(), 0), node(o.getSlots(), 0));
        unite(node(o.getValues(), 1), node(o.getCache(), o.getHeadDim()));
        if (ArrayRef<unsigned> dims = o.getElementDims(); dims.size() == 1)
          unite(node(o.getValues(), 2), node(o.getCache(), dims.front()));
      })
      .Case<ReduceOp>([&](ReduceOp o) {
        same(o.getResult(), 0, o.getInput(), 0,
             rankOf(o.getInput()) - static_cast<int64_t>(o.getDims()));
      })
      .Case<CausalConv1dOp>([&](CausalConv1dOp o) { visitConv1d(o); })
      .Case<MqaLogitsOp>([&](MqaLogitsOp o) { visitMqaLogits(o); })
      .Case<GatedDeltaRuleOp, ChunkKktOp, SolveTrilOp, ChunkWUOp, ChunkStateOp,
            ChunkOutputOp>([&](auto) { visitGatedDelta(op); })
      .Case<FusedOp>([&](FusedOp o) {
        for (auto [out, result] : llvm::zip(o.getOuts(), o.getResults()))
          sameShape(result, out);
        Block &body = o.getBody().front();
        for (auto [argument, operand] :
             llvm::zip(body.getArguments(), o->getOperands()))
          sameShape(operand, argument);
        for (Operation &inner : body)
          visit(&inner);
        for (auto [value, result] :
             llvm::zip(body.getTerminator()->getOperands(), o.getResults()))
          sameShape(result, value);
      })
      .Case<LaunchOp>([&](LaunchOp o) { visitLaunch(o); })
      .Case<RowwiseOpInterface>([&](Operation *o) {
        // Everything else row-wise keeps the shape of its one operand.
        if (o->getNumOperands() == 1 && o->getNumResults() == 1 &&
            rankOf(o->getOperand(0)) == rankOf(o->getResult(0)))
          sameShape(o->getResult(0), o->getOperand(0));
      });
}
