//===- RowGroups.cpp - Chunks that are groups of a quantisation -----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A group that is no power of two of vectors is not shared by lanes. A thread
// takes all of it: it computes the elements once, reduces them, and stores them
// with the scale. Of the row's last group, which may lack elements, the last
// one that there is stands for those; a maximum may count it more than once.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"

using namespace mlir;
using namespace mlir::hk;

Expr RowEmitter::groupStatistic(Operation *op, Value input, RowReduction kind,
                                ArrayRef<AffineExpr> leading) {
  assert(mayRepeat(kind) &&
         "groups of a quantisation have a largest magnitude");
  std::string memo = key(op->getResult(0), leading, 1,
                         "group of chunk " + std::to_string(int(kind)));
  if (const Expr *known = out.recall(memo))
    return *known;
  std::string reduction = reductionOf(kind).str();
  Expr made{reduction + "::kIdentity", {"float"}};
  for (AffineExpr place : groupPlaces) {
    Position position(leading);
    position.push_back(place);
    made = call(reduction + "::apply<float>",
                {made, reducedTerm(op, input, kind, position, current.vec)});
  }
  made = out.define(out.depth(), "f", made);
  out.remember(memo, made);
  return made;
}

void RowEmitter::emitGroup(ArrayRef<const RowStore *> stores) {
  int64_t vec = current.vec, group = current.groupChunk;
  int64_t width = *RowPlan::flatSize(stores.front()->local);
  std::string rowExists = getStoreGuard();
  std::vector<std::string> exists;
  groupPlaces.clear();
  for (int64_t element = 0; element < group; element += vec) {
    AffineExpr place = simplify(currentChunk * group + element);
    exists.emplace_back();
    if (element != 0 && width % group != 0) {
      // In vectors, so that what is known of multiples stays known.
      AffineExpr vectors =
          simplify((currentChunk * group + element).floorDiv(vec));
      std::string last = std::to_string(width / vec - 1);
      exists.back() = text(vectors) + " <= " + last;
      place =
          defineIndex(out.depth(), "e",
                      exists.back() + " ? " + text(vectors) + " : " + last) *
          vec;
    }
    groupPlaces.push_back(place);
  }
  for (auto [place, there] : llvm::zip_equal(groupPlaces, exists)) {
    std::string both = rowExists.empty() || there.empty() ? "" : " && ";
    guardStores(rowExists + both + there);
    for (const RowStore *store : stores)
      if (store->kind != StoreKind::GroupScale || place == groupPlaces.front())
        emitStore(*store, positionOf(store->local, place), int(vec));
  }
  guardStores(rowExists);
  groupPlaces.clear();
}
