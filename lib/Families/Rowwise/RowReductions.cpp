//===- RowReductions.cpp - Statistics of whole rows -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop adds its chunks to accumulators of the thread; behind it the threads
// of a row combine them, over LDS where they are of several waves. The maximum
// and the sum of a softmax are found in one loop where a row is not kept, and
// by each wave for itself where blocks share a row.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"

using namespace mlir;
using namespace mlir::hk;

/// Whether it is the maximum that a sum of exponentials follows.
static bool isOfSoftmax(const RowStat &stat) {
  return stat.kind == RowReduction::Maximum &&
         llvm::is_contained(rowReductionsOf(stat.op), RowReduction::SumOfExp);
}

bool RowEmitter::isOnline(const RowStat &stat, const RowLoop &loop) const {
  return (loop.isInStrips() || loop.part != RowPart::Whole) &&
         isOfSoftmax(stat);
}

void RowEmitter::emitAccumulate(Space &space, const RowLoop &loop,
                                const RowStat &stat, AffineExpr first) {
  int vec = loop.vec;
  lastPosition =
      positionOf(dims.shape(stat.input).drop_front(plan.numRowDims()), first);
  Expr sum = accumulators[{stat.op, int(stat.kind)}];
  if (isOnline(stat, loop)) {
    std::string array = out.freshName("online");
    out.lineAt(batchDepth, CType{"float", vec}.text() + " " + array + "[" +
                               Twine(loop.slots) + "];");
    if (!loop.full)
      out.lineAt(batchDepth, "fillSlots(" + array + ", Max::kIdentity);");
    Expr x = onlyExisting(pull(stat.input, lastPosition, vec), "Max");
    out.line(array + "[s] = " + x.text + ";");
    afterChunks.push_back(
        "onlineSoftmax<" + std::to_string(vec) + ", " +
        std::to_string(loop.slots) + ">(" + sum.text + ", " +
        accumulators[{stat.op, int(RowReduction::SumOfExp)}].text + ", " +
        array + ");");
    return;
  }
  Expr x, term;
  if (stat.kind == RowReduction::SumOfSquares)
    x = pull(stat.input, lastPosition, vec);
  else
    term = statisticTerm(stat.op, stat.input, stat.kind, lastPosition, vec);
  if (stat.kind == RowReduction::SumOfExp)
    keep(space, loop, stat.input, "exp", term);
  else
    keep(space, loop, stat.input, "", pull(stat.input, lastPosition, vec));
  // A chunk that is gone over once more is no other term of a sum.
  std::string counts =
      loop.form == RowLoopForm::RepeatedPiece && !mayRepeat(stat.kind)
          ? loop.existsText()
          : "";
  if (x && !loop.masked) {
    Expr more = call("fma", {x, x, sum});
    checkType(more, sum.type, sum.text);
    return out.lineIf(counts, sum.text + " = " + more.text + ";");
  }
  if (x)
    term = x * x;
  StringRef reduction = reductionOf(stat.kind);
  term = onlyExisting(term, reduction);
  checkType(term, sum.type, "a term of a sum");
  out.lineIf(counts, sum.text + " = " + reduction + "::apply<" +
                         sum.type.text() + ">(" + sum.text + ", " + term.text +
                         ");");
}

bool RowEmitter::isByWaves(const RowStat &stat, const RowLoop &loop) const {
  return tile.getCluster() > 1 && loop.unrolled && isOfSoftmax(stat);
}

void RowEmitter::emitSoftmaxByWaves(Space &space, const RowLoop &loop,
                                    const RowStat &maximum) {
  const RowStat *sum = llvm::find_if(plan.stats(), [&](const RowStat &stat) {
    return stat.op == maximum.op && stat.kind == RowReduction::SumOfExp;
  });
  auto ofWave = [&](const RowStat &stat, StringRef reduction) {
    return call("segmentReduce<" + reduction + ", kWave>",
                reduced(reduction, accumulators[{stat.op, int(stat.kind)}]));
  };
  Expr own = out.define(rowDepth, "f", ofWave(maximum, "Max"));
  rowStats[{maximum.op, int(maximum.kind)}] =
      out.define(rowDepth, "f", call("expBase", own));
  emitLoops(space, loop, sum, {});
  Expr total = out.declare("f", {"float"}, ofWave(*sum, "Sum").text);
  Expr top = out.declare("f", {"float"}, own.text);
  rowStats[{maximum.op, int(maximum.kind)}] = top;
  rowStats[{sum->op, int(sum->kind)}] = total;
  out.line("mergeWaves<" + Twine(threadsPerRow) + ", " +
           Twine(tile.getThreads()) + ">(" + top.text + ", " + total.text +
           ", " + scratch(2) + ");");
  // What was kept is of the wave's maximum.
  Expr scale = out.define(rowDepth, "f", call("expOfMaxima", {own, top}));
  for (Kept &kept : space.kept)
    if (kept.chunks.front().first ==
        key(sum->input, lastPosition, loop.vec, "exp"))
      for (auto &[memo, value] : kept.chunks)
        value = value * scale;
}

std::string RowEmitter::scratch(int count) {
  // No block writes into one that has not begun.
  if (tile.getCluster() > 1 && reductions == 0)
    out.line("clusterWait();");
  int first = std::exchange(reductions, reductions + count);
  if (threadsPerRow <= target.waveSize)
    return "nullptr";
  int64_t floats = tile.getThreads() * tile.getCluster() / target.waveSize;
  return "lds.scratch + " + std::to_string(first * floats);
}

void RowEmitter::emitReductions(Space &space, const RowLoop &loop,
                                ArrayRef<const RowStat *> stats) {
  auto define = [&](const RowStat &stat, RowReduction kind, const Expr &value) {
    rowStats[{stat.op, int(kind)}] = out.define(rowDepth, "f", value);
  };
  for (const RowStat *stat : stats) {
    if (isByWaves(*stat, loop)) {
      emitSoftmaxByWaves(space, loop, *stat);
      continue;
    }
    Expr value = accumulators[{stat->op, int(stat->kind)}];
    std::string threads = std::to_string(threadsPerRow) + ", " +
                          std::to_string(tile.getThreads());
    if (accumulators.count({stat->op, int(RowReduction::SumOfExp)}) &&
        stat->kind == RowReduction::Maximum) {
      Expr sum = accumulators[{stat->op, int(RowReduction::SumOfExp)}];
      if (threadsPerRow > 1)
        out.line("mergeSoftmax<" + threads + ">(" + value.text + ", " +
                 sum.text + ", " + scratch(2) + ");");
      define(*stat, RowReduction::Maximum, value);
      define(*stat, RowReduction::SumOfExp, sum);
      continue;
    }
    StringRef reduction = reductionOf(stat->kind);
    value = reduced(reduction, value);
    if (!host && threadsPerRow > 1)
      value = call("wholeRowReduce<" + reduction + ", " + threads + ">",
                   {value, {scratch(1), {"float *"}}});
    define(*stat, stat->kind, value);
  }
}
