//===- AttentionSegments.cpp - Attention to keys that lie apart -----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keys of a cached prefix and those of the new tokens are two attentions and
// their combination. The running softmax of a kernel is that combination: it
// goes on from one segment to the next, if all have the same queries.
//
//===----------------------------------------------------------------------===//

#include "AttentionPlan.h"

using namespace mlir;
using namespace mlir::hk;

/// The attention whose results pair `pair` of a combination are, and nothing
/// else reads.
static FailureOr<AttentionOp> segmentOf(AttentionCombineOp combine,
                                        unsigned pair, Verdict &verdict) {
  Value partials = combine.getPartials()[pair];
  Value lse = combine.getPartLses()[pair];
  auto op = partials.getDefiningOp<AttentionOp>();
  if (!op || partials != op.getResult() || lse != op.getLse()) {
    verdict = Verdict::refuse(Reason::NotAnEpilogue,
                              "not all that is combined are the results of "
                              "attentions as they are");
    return failure();
  }
  if (!partials.hasOneUse() || !lse.hasOneUse()) {
    verdict =
        Verdict::refuse(Reason::ResultEscapes,
                        "the attention to one segment is needed elsewhere "
                        "as well");
    return failure();
  }
  return op;
}

/// What one kernel can do for each of its segments alone.
static Verdict checkSegment(AttentionOp op) {
  auto refuse = [](const Twine &detail) {
    return Verdict::refuse(Reason::UnsupportedShape, detail);
  };
  if (op.getKvSlices())
    return Verdict::refuse(Reason::NotAnEpilogue,
                           "every block of the attention kernel sees one slice "
                           "of the keys");
  if (op.getSink())
    return refuse("a segment has a sink of its own; give it to "
                  "hk.attention_combine");
  if (Value scale = op.getVScale()) {
    auto type = cast<RankedTensorType>(scale.getType());
    if (type.getRank() > 2 && type.getShape().back() != 1)
      return refuse("a segment has scales of the channels of its values");
  }
  return Verdict::accept();
}

/// Queries and heads, which all segments share.
static Verdict checkSameQueries(AttentionOp a, AttentionOp b) {
  auto refuse = [](StringRef what) {
    return Verdict::refuse(Reason::UnsupportedShape,
                           "the segments have different " + what);
  };
  if (a.getQuery() != b.getQuery())
    return refuse("queries");
  if (a.getQOffsets() != b.getQOffsets())
    return refuse("q_offsets");
  if (a.getQScale() != b.getQScale() || a.getQBlock() != b.getQBlock())
    return refuse("scales of the queries");
  if (a.getNumKeyHeads() != b.getNumKeyHeads())
    return refuse("numbers of key heads");
  return Verdict::accept();
}

Verdict mlir::hk::checkSegments(AttentionCombineOp combine) {
  SmallVector<AttentionOp> ops;
  for (unsigned pair = 0; pair < combine.getPartials().size(); ++pair) {
    Verdict verdict = Verdict::accept();
    FailureOr<AttentionOp> op = segmentOf(combine, pair, verdict);
    if (failed(op))
      return verdict;
    verdict = checkSegment(*op);
    if (verdict.accepted() && pair > 0)
      verdict = checkSameQueries(ops.front(), *op);
    if (!verdict.accepted())
      return verdict;
    ops.push_back(*op);
  }
  if (ops.size() < 2)
    return Verdict::refuse(Reason::NotAnEpilogue,
                           "one segment alone is an attention, whose result is "
                           "not combined");
  if (ops.size() > kMostSegments)
    return Verdict::refuse(Reason::GroupFull,
                           "a kernel has at most " + Twine(kMostSegments) +
                               " segments, but these are " + Twine(ops.size()));
  if (!multipliedType(ops))
    return Verdict::refuse(Reason::UnsupportedDType,
                           "no type holds the elements of all segments");
  return Verdict::accept();
}

Verdict mlir::hk::checkSameOrders(ArrayRef<Operation *> a,
                                  ArrayRef<Operation *> b) {
  // An operand of the kernel is permuted in one way.
  llvm::SmallDenseMap<Value, Operation *> orders;
  for (Operation *op : llvm::concat<Operation *const>(a, b)) {
    if (!isa<AttentionOp>(op))
      continue;
    for (Value operand : op->getOperands()) {
      auto transpose = operand.getDefiningOp<TransposeOp>();
      bool taken = transpose && (llvm::is_contained(a, transpose) ||
                                 llvm::is_contained(b, transpose));
      Value source = taken ? transpose.getInput() : operand;
      Operation *order = taken ? transpose.getOperation() : nullptr;
      if (auto [it, fresh] = orders.try_emplace(source, order);
          !fresh && it->second != order)
        return Verdict::refuse(
            Reason::UnsupportedShape,
            "the segments read a tensor in different orders");
    }
  }
  return Verdict::accept();
}

/// Whether rows of heads are no multiples of the 16 bytes that matrix units
/// take.
static bool needsVectorUnits(AttentionOp op) {
  ::hk::DType type = *multipliedType(op);
  return ::hk::packedBytes(type, op.getHeadSize()) % 16 != 0 ||
         ::hk::packedBytes(type, op.getValueSize()) % 16 != 0;
}

Verdict mlir::hk::judgeSegments(ArrayRef<Operation *> a,
                                ArrayRef<Operation *> b,
                                const ::hk::Target &target) {
  if (target.arch == ::hk::Arch::Host)
    return Verdict::accept();
  for (Operation *op : llvm::concat<Operation *const>(a, b))
    if (auto attention = dyn_cast<AttentionOp>(op);
        attention && (!needsVectorUnits(attention) ||
                      tensorType(attention.getQuery()).hasStaticShape()))
      return Verdict::accept();
  return Verdict::refuse(Reason::CostlierFused,
                         "without matrix units a wave walks over the keys of "
                         "one query; many queries are quicker one segment "
                         "after the other");
}

bool mlir::hk::isSegment(AttentionOp op) {
  if (!op.getResult().hasOneUse())
    return false;
  auto combine = dyn_cast<AttentionCombineOp>(*op.getResult().user_begin());
  return combine && checkSegments(combine).accepted();
}
