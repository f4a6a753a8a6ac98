//===- RowStores.cpp - What a row-wise kernel stores -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stores of a chunk: its value, the scale of its group, its place in a
// transposed tensor or in a cache, and the zeros behind a row that is padded.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::hk;

void RowEmitter::emitStore(const RowStore &store, const Position &position,
                           int vec) {
  switch (store.kind) {
  case StoreKind::Value:
    storeUnrounded(store.operand, store.value, position, vec);
    return;
  case StoreKind::GroupScale: {
    Expr scale = scaleAt(store.op, position, vec);
    bool isE8M0 = isa<Float8E8M0FNUType>(
        getElementTypeOrSelf(store.op->getResult(1).getType()));
    Expr value = isE8M0 ? decodedScale(scale) : splat({"float", 1}, scale);
    Position own(position);
    own.back() = simplify(position.back().floorDiv(store.group));
    if (TransposeOp transposed = store.transposed)
      own =
          llvm::map_to_vector(transposed.getPermutation(),
                              [from = own](int64_t dim) { return from[dim]; });
    // A mask where the group is a power of two, which simplifying hides.
    AffineExpr inGroup = position.back() % store.group;
    // A chunk that is a group begins it.
    out.openIf(current.groupChunk
                   ? ""
                   : text(votes() ? inGroup : simplify(inGroup)) + " == 0",
               Hoist::Freely);
    this->store(store.operand, own, 1, value);
    out.close();
    return;
  }
  case StoreKind::Transposed:
    storeByElement(store, position, vec, [&](ArrayRef<AffineExpr> from) {
      Position to;
      for (int64_t d : cast<TransposeOp>(store.op).getPermutation())
        to.push_back(from[d]);
      return to;
    });
    return;
  case StoreKind::CacheWrite:
    emitCacheWrite(store, position, vec);
    return;
  case StoreKind::Padding: {
    Position behind(position);
    Value input = store.value;
    behind.back() = simplify(position.back() + dims.shape(input).back());
    Type type = cast<ShapedType>(input.getType()).getElementType();
    CType carrier = carrierOf(type, vec);
    this->store(store.operand, behind, vec,
                splat(carrier, {"0", {carrier.element}}));
    return;
  }
  }
}

/// The number that `write` stores the row of `token` at; below 0, or none of
/// the cache's rows: nowhere.
std::string RowEmitter::slotOf(KVCacheWriteOp write,
                               ArrayRef<AffineExpr> token) {
  std::string memo = key(write.getSlots(), token, 1, "slot");
  if (!out.recall(memo)) {
    Expr index = pullScalar(write.getSlots(), token);
    out.remember(memo,
                 out.define(depthOf(token), "slot", scalarCast("i64", index)));
  }
  return out.recall(memo)->text;
}

void RowEmitter::emitCacheWrite(const RowStore &store, const Position &position,
                                int vec) {
  auto write = cast<KVCacheWriteOp>(store.op);
  ArrayRef<unsigned> rowDims = write.getRowDims();
  ArrayRef<unsigned> elementDims = write.getElementDims();
  AffineExpr block = constant(1);
  for (unsigned dim : rowDims)
    block = block * sizeOf(write.getCache(), dim);
  std::string rows = text(block);
  std::string capacity = text(sizeOf(write.getCache(), 0) * block);
  std::string slot = slotOf(write, ArrayRef(position).drop_back(2));
  DimName chunk = dims.shape(write.getCache()).back();
  bool sideBySide =
      elementDims.back() + 1 == dims.shape(write.getCache()).size() &&
      (elementDims.size() == 1 ||
       (chunk % vec == 0 && position.back().isMultipleOf(vec)));
  // Before the slot is tested: lanes without one may have to exchange values.
  Stored stored;
  Expr value;
  if (sideBySide)
    value = pullUnrounded(store.value, position, vec, stored);
  if (stored.rounded)
    value = pull(store.value, position, vec);
  else
    value = out.define(out.depth(), "v", value);
  out.openIf(slot + " >= 0 && " + slot + " < i64(" + capacity + ")",
             Hoist::Freely);
  Position own(dims.shape(write.getCache()).size(), constant(0));
  // Index `i` counted over some dims of the cache.
  auto place = [&](ArrayRef<unsigned> over, AffineExpr i) {
    for (unsigned dim : llvm::reverse(over.drop_front())) {
      own[dim] = simplify(i % sizeOf(write.getCache(), dim));
      i = simplify(i.floorDiv(sizeOf(write.getCache(), dim)));
    }
    own[over.front()] = i;
  };
  auto part = [&](StringRef prefix, StringRef sign) {
    return symbol(out.define(out.depth(), prefix,
                             {slot + sign.str() + "i64(" + rows + ")", {"i64"}})
                      .text);
  };
  own[0] = part("a", " / ");
  place(rowDims, part("b", " % "));
  own[write.getHeadDim()] = position[position.size() - 2];
  if (sideBySide) {
    place(elementDims, position.back());
    this->store(store.operand, own, vec, value, stored);
  } else {
    storeByElement(store, position, vec, [&](ArrayRef<AffineExpr> from) {
      place(elementDims, from.back());
      return own;
    });
  }
  out.close();
}

void RowEmitter::storeAlong(const RowStore &store, const Position &first,
                            int vec, const Expr &value) {
  ArrayRef<int64_t> permutation = cast<TransposeOp>(store.op).getPermutation();
  int64_t last = int64_t(permutation.size()) - 1;
  int64_t dim = llvm::find(permutation, last) - permutation.begin();
  if (dim == last)
    return this->store(store.operand, first, vec, value);
  // One address, and steps that all lanes share.
  std::string dtype = dtypeText(getElementTypeOrSelf(store.value.getType()));
  Expr at =
      out.define(out.depth(), "at",
                 {"addressOf<" + dtype + ">(p" + std::to_string(store.operand) +
                      ", " + offsetText(store.operand, first) + ")",
                  {"auto"}});
  std::string e = out.freshName("e");
  Expr saved = exchangeLanes({});
  out.openElements(e, vec, saved.text, Hoist::Freely);
  // As in memory: a truth value is a byte.
  int64_t bytes =
      ::hk::info(*dtypeOf(getElementTypeOrSelf(store.value.getType()))).bits /
      8;
  out.lineIf(getStoreGuard(),
             "storeExact<" + dtype + ", 1, " + Twine(bytes) + ">(" + at.text +
                 ", i64(nearIndex<" + Twine(vec) + ">(" + e + ") * " +
                 strideName(store.operand, dim) + "), " +
                 splat({value.type.element, 1}, laneOf(value, e)).text + ");");
  out.close();
  exchangeLanes(std::move(saved));
}

void RowEmitter::storeByElement(
    const RowStore &store, const Position &position, int vec,
    llvm::function_ref<Position(ArrayRef<AffineExpr>)> placeOf) {
  Expr value = pull(store.value, position, vec);
  if (vec == 1)
    return this->store(store.operand, placeOf(position), 1, value);
  if (votes() && store.kind == StoreKind::Transposed)
    return storeAlong(store, placeOf(position), vec, value);
  std::string e = out.freshName("e");
  Expr saved = exchangeLanes({});
  out.openElements(e, vec, saved.text, Hoist::Freely);
  Position one(position);
  one.back() = one.back() + symbol(e);
  this->store(store.operand, placeOf(one), 1,
              splat({value.type.element, 1}, laneOf(value, e)));
  out.close();
  exchangeLanes(std::move(saved));
}
