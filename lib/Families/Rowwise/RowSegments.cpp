//===- RowSegments.cpp - Statistics of a part of a row -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A segment whose chunks lie in consecutive lanes of one wave is reduced by
// exchanging lanes, in the place where it is needed, unless only some of these
// lanes get there. Every other one is reduced by each thread for itself.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"

#include "llvm/Support/MathExtras.h"

#include <set>

using namespace mlir;
using namespace mlir::hk;

/// Whether of `lanes` neighbouring lanes all or none are in each block that is
/// open, as far as that can be told.
bool RowEmitter::allGoOneWay(int64_t lanes, int vec) {
  constexpr int64_t kMostChunks = 1 << 16;
  for (const Range &range : openRanges()) {
    if (!range.at.isFunctionOfSymbol(
            cast<AffineSymbolExpr>(currentChunk).getPosition()))
      continue;
    auto begin = dyn_cast<AffineConstantExpr>(range.begin),
         end = dyn_cast<AffineConstantExpr>(range.end);
    if (!begin || !end)
      return false;
    // A place within a head repeats itself, but not before the range ends.
    int64_t chunks = 2 * (end.getValue() / vec + lanes) + 4 * lanes;
    if (chunks > kMostChunks)
      return false;
    for (int64_t chunk = 0, inside = 0; chunk < chunks; ++chunk) {
      auto at = dyn_cast<AffineConstantExpr>(
          simplify(range.at.replace(currentChunk, constant(chunk))));
      if (!at)
        return false;
      inside +=
          at.getValue() >= begin.getValue() && at.getValue() < end.getValue();
      if ((chunk + 1) % lanes != 0)
        continue;
      if (inside != 0 && inside != lanes)
        return false;
      inside = 0;
    }
  }
  return true;
}

/// The number of lanes that hold a segment of `size` elements around
/// `position`; nullopt if they are not what the exchange needs. Checked by
/// trying: for every chunk of a few segments, aligned groups of lanes must hold
/// all of one segment.
std::optional<int> RowEmitter::segmentLanes(RowReduction kind, int64_t size,
                                            AffineExpr last,
                                            ArrayRef<AffineExpr> leading,
                                            AffineExpr segment, int64_t lastDim,
                                            ArrayRef<AffineExpr> position,
                                            int vec) {
  if (position.empty() || size % vec != 0 || lastDim < 0 ||
      !last.isMultipleOf(vec) || !currentChunk)
    return std::nullopt;
  int64_t lanes = size / vec;
  if (lanes == 1)
    return 1;
  bool repeats = current.form == RowLoopForm::RepeatedPiece && mayRepeat(kind);
  // Every lane has a chunk, and the row's last one is partial.
  bool ends = current.tailedWidth && current.full;
  bool unknownLanes =
      getLaneCount() && (!current.tailedWidth || vec != current.vec);
  if ((lastDim % size != 0 && !repeats && !ends) || unknownLanes || host ||
      !llvm::isPowerOf2_64(lanes) || lanes > target.waveSize ||
      threadsPerRow % lanes != 0)
    return std::nullopt;
  // A loop over a part of the columns, as of a gate's results, may end within a
  // group, of which no lane has the rest.
  if (current.chunks) {
    int64_t columns =
        *current.chunks * current.vec * (current.pairedHead ? 2 : 1);
    if (lastDim % size == 0 ? columns % size != 0 : columns < lastDim)
      return std::nullopt;
  }
  // Symbols of inner scopes may differ between lanes.
  int chunkDepth = symbolDepth(currentChunk);
  SmallVector<AffineExpr> exprs(leading);
  exprs.push_back(segment);
  exprs.push_back(last);
  for (AffineExpr expr : exprs) {
    bool known = true;
    expr.walk([&](AffineExpr e) {
      if (isa<AffineSymbolExpr>(e) && e != currentChunk)
        known &= symbolDepth(e) < chunkDepth;
    });
    if (!known)
      return std::nullopt;
  }
  if (!allGoOneWay(lanes, vec))
    return std::nullopt;
  auto evaluate = [&](AffineExpr expr, int64_t chunk) -> int64_t {
    AffineExpr value = expr.replace(currentChunk, constant(chunk));
    expr.walk([&](AffineExpr e) {
      if (isa<AffineSymbolExpr>(e))
        value = value.replace(e, constant(8 * size));
    });
    auto result = dyn_cast<AffineConstantExpr>(value);
    return result ? result.getValue() : chunk;
  };
  for (int64_t first = 0; first < 4 * lanes; first += lanes) {
    std::set<int64_t> offsets, segments;
    for (int64_t chunk = first; chunk < first + lanes; ++chunk) {
      int64_t id = evaluate(segment, chunk);
      for (AffineExpr expr : leading)
        id = id * 1000003 + evaluate(expr, chunk);
      segments.insert(id);
      offsets.insert(((evaluate(last, chunk) % size) + size) % size);
    }
    if (segments.size() != 1 || int64_t(offsets.size()) != lanes)
      return std::nullopt;
  }
  return int(lanes);
}

int64_t RowEmitter::callersOf(int64_t lanes) const {
  bool wholeWaves = current.full ||
                    (current.chunks && *current.chunks % target.waveSize == 0);
  return wholeWaves && threadsPerRow % target.waveSize == 0 &&
                 out.hoistLimit() == 0
             ? target.waveSize
             : lanes;
}

Expr RowEmitter::onlyExisting(const Expr &term, StringRef reduction) const {
  if (!getLaneCount())
    return term;
  return call(
      "keepFirst",
      {term, getLaneCount(), {(reduction + "::kIdentity").str(), {"float"}}});
}

Expr RowEmitter::reducedTerm(Operation *op, Value input, RowReduction kind,
                             ArrayRef<AffineExpr> position, int vec) {
  StringRef reduction = reductionOf(kind);
  if (kind != RowReduction::AbsMaximum)
    return reduced(
        reduction,
        onlyExisting(statisticTerm(op, input, kind, position, vec), reduction));
  Expr made = call("largestMagnitude",
                   onlyExisting(pull(input, position, vec), reduction));
  made.type.lanes = 0;
  return made;
}

Expr RowEmitter::serialStatistic(Operation *op, Value input, RowReduction kind,
                                 ArrayRef<AffineExpr> leading,
                                 AffineExpr segment, int64_t size) {
  int64_t lastDim = dims.shape(input).back();
  int64_t vec = host ? 16 : 8;
  while (vec > 1 && (size % vec != 0 || lastDim < 0 || lastDim % vec != 0))
    vec /= 2;
  StringRef reduction = reductionOf(kind);
  std::string v = std::to_string(vec);
  Expr made = out.declare("f", {"float"}, reduction + "::kIdentity");
  std::string e = out.freshName("e");
  std::string bound = std::to_string(size);
  AffineExpr start = segment * size;
  if (lastDim < 0 || (size > 0 && lastDim % size != 0)) {
    std::string rest = "i64(" + text(sizeOf(input, leading.size())) +
                       ") - i64(" + text(start) + ")";
    bound = out.define(out.depth(), "n",
                       {rest + " < " + bound + " ? " + rest + " : " + bound,
                        {"i64"}})
                .text;
  }
  Expr saved = exchangeLanes({});
  out.openEach("VECTOR", e + ", " + v + ", " + bound);
  Position position(leading);
  // e is a multiple of vec, which the symbol cannot say.
  AffineExpr step = defineIndex(out.depth(), "e", e + " / " + v);
  position.push_back(simplify(start + step * vec));
  out.assign(made, call(reduction + "::apply<float>",
                        {made, reducedTerm(op, input, kind, position, vec)}));
  out.close();
  exchangeLanes(std::move(saved));
  return made;
}

bool RowEmitter::canPair(ArrayRef<AffineExpr> leading, int vec) const {
  return current.pairedHead && !pairPlaces.empty() && vec == current.vec &&
         leading == ArrayRef(pairPlaces.front()).drop_back() &&
         openRanges().empty() && !getLaneCount() &&
         threadsPerRow % (current.pairedHead / 2 / vec) == 0;
}

Expr RowEmitter::pairStatistic(Operation *op, Value input, RowReduction kind) {
  int64_t lanes = current.pairedHead / 2 / current.vec;
  std::string reduction = reductionOf(kind).str();
  auto exchanged = [&](const Expr &own) {
    return lanes == 1
               ? own
               : call("segmentReduce<" + reduction + ", " + Twine(lanes) +
                          ", " + Twine(callersOf(lanes)) + ">",
                      own);
  };
  SmallVector<Expr> terms;
  for (const Position &place : pairPlaces) {
    terms.push_back(reducedTerm(op, input, kind, place, current.vec));
    // A sum is that of as many lanes with a vector each, step by step.
    if (!mayRepeat(kind))
      terms.back() = exchanged(terms.back());
  }
  Expr both = call(reduction + "::apply<float>", terms);
  return mayRepeat(kind) ? exchanged(both) : both;
}

Expr RowEmitter::statistic(Operation *op, Value input, RowReduction kind,
                           int64_t group, ArrayRef<AffineExpr> leading,
                           AffineExpr segment, ArrayRef<AffineExpr> position,
                           int vec) {
  auto known = rowStats.find({op, int(kind)});
  if (known != rowStats.end())
    return known->second;

  SmallVector<AffineExpr> where(leading);
  where.push_back(segment);
  std::string memo =
      key(op->getResult(0), where, 1, "segment " + std::to_string(int(kind)));
  if (const Expr *known = out.recall(memo))
    return *known;

  int64_t lastDim = dims.shape(input).back();
  int64_t size = group ? groupInRow(group, lastDim) : lastDim;
  Expr made;
  std::optional<int> lanes;
  if (current.groupChunk)
    return groupStatistic(op, input, kind, leading);
  if (size == current.pairedHead && canPair(leading, vec)) {
    made = out.define(out.depth(), "f", pairStatistic(op, input, kind));
    out.remember(memo, made);
    return made;
  }
  if (!position.empty())
    lanes = segmentLanes(kind, size, position.back(), leading, segment, lastDim,
                         position, vec);
  if (lanes) {
    Expr own = reducedTerm(op, input, kind, position, vec);
    if (*lanes > 1)
      own = call("segmentReduce<" + reductionOf(kind) + ", " + Twine(*lanes) +
                     ", " + Twine(callersOf(*lanes)) + ">",
                 own);
    made = out.define(out.depth(), "f", own);
  } else {
    made = serialStatistic(op, input, kind, leading, segment, size);
  }
  out.remember(memo, made);
  return made;
}
