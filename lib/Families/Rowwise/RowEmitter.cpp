//===- RowEmitter.cpp - The C++ of a row-wise kernel -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See docs/architecture.md, "The row-wise kernel model". A block handles `rows`
// rows; a row belongs to threads / rows threads, which take its chunks of vec
// elements in turn. On the host a block is one thread that goes over its rows.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"

#include "llvm/Support/MathExtras.h"

#include <set>

using namespace mlir;
using namespace mlir::hk;

static StringRef reductionOf(StatKind kind) {
  return kind == StatKind::Maximum || kind == StatKind::AbsMaximum ? "Max"
                                                                   : "Sum";
}

RowEmitter::RowEmitter(KernelOp kernel, const RowPlan &plan,
                       const DimSymbols &dims, const ::hk::Target &target,
                       RowTileAttr tile, CodeWriter &out)
    : Puller(kernel, dims, out), plan(plan), target(target), tile(tile),
      host(target.arch == ::hk::Arch::Host),
      threadsPerRow(tile.getThreads() / tile.getRows()) {
  if (host)
    threadsPerRow = 1;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void RowEmitter::emitRowStart() {
  AffineExpr count = constant(1);
  for (DimName dim : plan.rows())
    count = count * size(dim);
  std::string rows = "i64(" + text(count) + ")";
  if (host) {
    out.line("const i64 rows = " + rows + ";");
    out.line("const i64 rowEnd = (i64(block.x) + 1) * " +
             Twine(tile.getRows()) + " < rows ? (i64(block.x) + 1) * " +
             Twine(tile.getRows()) + " : rows;");
    out.open("for (i64 row = i64(block.x) * " + Twine(tile.getRows()) +
             "; row < rowEnd; ++row)");
  } else if (tile.getRows() == 1) {
    out.line("const i64 row = block.x;");
    out.line("const i32 thread = threadId();");
  } else {
    out.line("const i64 rows = " + rows + ";");
    out.line("const i64 ownRow = i64(block.x) * " + Twine(tile.getRows()) +
             " + threadId() / " + Twine(threadsPerRow) + ";");
    // Threads past the last row take part in everything but stores.
    out.line("const bool valid = ownRow < rows;");
    out.line("const i64 row = valid ? ownRow : rows - 1;");
    out.line("const i32 thread = threadId() % " + Twine(threadsPerRow) + ";");
    setStoreGuard("if (valid) ");
  }
  rowDepth = out.depth();
  AffineExpr rest = symbol("row");
  rowCoordinates.assign(plan.numRowDims(), constant(0));
  for (int64_t d = plan.numRowDims(); d-- > 0;) {
    AffineExpr dimSize = size(plan.rows()[d]);
    if (isa<AffineConstantExpr>(dimSize) &&
        cast<AffineConstantExpr>(dimSize).getValue() == 1)
      continue;
    bool outermost = llvm::all_of(plan.rows().take_front(d),
                                  [](DimName dim) { return dim == 1; });
    if (outermost) {
      rowCoordinates[d] = rest;
      break;
    }
    // There are less than 2^31 blocks; a 32-bit division is much cheaper.
    std::string index = "u32(" + text(rest) + ")";
    std::string divisor = "u32(" + text(dimSize) + ")";
    rowCoordinates[d] =
        defineIndex(rowDepth, "r", "i64(" + index + " % " + divisor + ")");
    rest = defineIndex(rowDepth, "q", "i64(" + index + " / " + divisor + ")");
  }
}

Position RowEmitter::positionOf(ArrayRef<DimName> local, AffineExpr flat) {
  Position position(rowCoordinates.begin(), rowCoordinates.end());
  size_t first = position.size();
  position.append(local.size(), constant(0));
  AffineExpr rest = flat;
  for (size_t i = local.size(); i-- > 0;) {
    if (local[i] == 1)
      continue;
    bool outermost =
        llvm::all_of(local.take_front(i), [](DimName dim) { return dim == 1; });
    AffineExpr dimSize = size(local[i]);
    position[first + i] = simplify(outermost ? rest : rest % dimSize);
    rest = simplify(rest.floorDiv(dimSize));
  }
  return position;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

RowEmitter::Space &RowEmitter::spaceOf(ArrayRef<DimName> local) {
  SmallVector<DimName> own = withoutOnes(local);
  for (Space &space : spaces)
    if (sameSpace(space.local, own))
      return space;
  Space space;
  space.local = own;
  space.size = constant(1);
  for (DimName dim : own)
    space.size = space.size * size(dim);
  space.chunk = symbol("c", rowDepth + 1);
  spaces.push_back(std::move(space));
  return spaces.back();
}

void RowEmitter::keep(Space &space, const std::string &memo, StringRef value,
                      int vec) {
  if (!unrolledSlots || llvm::is_contained(space.candidates, memo))
    return;
  space.candidates.push_back(memo);
  int id = keepCount++;
  if (keptFilter && !keptFilter->contains(id))
    return;
  std::string name = "keep" + std::to_string(id);
  out.lineAt(rowDepth, "Vec<float, " + Twine(vec) + "> " + name + "[" +
                           Twine(tile.getSlots()) + "];");
  out.line(name + "[s] = " + value + ";");
  space.kept.push_back({memo, name + "[s]"});
}

RowEmitter::LoopShape
RowEmitter::shapeOf(Space &space, ArrayRef<const RowStore *> stores) const {
  LoopShape shape;
  shape.vec = loopVec(tile.getVec(), host, space.local, stores, shape.masked);
  std::optional<int64_t> flat = RowPlan::flatSize(space.local);
  if (flat) {
    shape.chunks = llvm::divideCeil(*flat, shape.vec);
    shape.rounds = llvm::divideCeil(*shape.chunks, threadsPerRow);
  }
  shape.limit = shape.chunks ? std::to_string(*shape.chunks)
                             : "((" + text(space.size) + " + " +
                                   std::to_string(shape.vec - 1) + ") / " +
                                   std::to_string(shape.vec) + ")";
  shape.index = flat && *flat < (int64_t(1) << 30) ? "i32" : "i64";
  shape.unrolled = !splitsRows(plan) && tile.getSlots() > 0 && shape.chunks &&
                   shape.rounds <= int64_t(tile.getSlots()) &&
                   shape.vec == tile.getVec();
  return shape;
}

void RowEmitter::enterLoop(Space &space, const LoopShape &shape) {
  if (shape.unrolled)
    for (auto &[memo, name] : space.kept)
      out.remember(out.depth(), memo, name);
  currentChunk = space.chunk;
  if (shape.masked)
    setLaneCount(out.define(out.depth(), "i64", "lanes",
                            "i64(" + text(space.size) + ") - i64(" +
                                text(space.chunk * shape.vec) + ")"));
}

void RowEmitter::emitLoop(Space &space, ArrayRef<const RowStat *> stats,
                          ArrayRef<const RowStore *> stores) {
  LoopShape shape = shapeOf(space, stores);
  int vec = shape.vec;
  bool masked = shape.masked, split = splitsRows(plan);
  const std::string &limit = shape.limit, &index = shape.index;
  int64_t slots = tile.getSlots();
  unrolledSlots = shape.unrolled;

  // The chunk loop, and its guard where the last round is not full.
  std::string header, chunk, guard;
  std::string first = host ? "0" : "thread";
  if (split) {
    std::string start =
        ("(" + index + "(block.y) * " + Twine(slots) + " + s)").str();
    header = ("for (int s = 0; s < " + Twine(slots) + "; ++s)").str();
    chunk = start + " * " + std::to_string(threadsPerRow) + " + " + first;
    guard = "c < " + limit;
  } else if (unrolledSlots) {
    header = ("for (int s = 0; s < " + Twine(shape.rounds) + "; ++s)").str();
    chunk = ("s * " + Twine(threadsPerRow) + " + " + first).str();
    if (*shape.chunks % threadsPerRow != 0)
      guard = "s + 1 < " + std::to_string(shape.rounds) + " || c < " + limit;
  } else {
    header = ("for (" + index + " c = " + first + "; c < " + limit +
              "; c += " + Twine(threadsPerRow) + ")")
                 .str();
  }
  if (!chunk.empty() && !host)
    header = "HK_UNROLL " + header;
  for (const RowStat *stat : stats) {
    std::string name = out.freshName("acc");
    out.line("Vec<float, " + Twine(vec) + "> " + name + " = " +
             reductionOf(stat->kind) + "::kIdentity;");
    accumulators[{stat->op, int(stat->kind)}] = name;
  }
  out.open(header);
  if (!chunk.empty())
    out.line("const " + index + " c = " + chunk + ";");
  if (!guard.empty())
    out.line("if (!(" + guard + ")) continue;");
  enterLoop(space, shape);
  AffineExpr n = space.chunk * vec;
  for (const RowStat *stat : stats) {
    int64_t last = cast<RankedTensorType>(stat->input.getType()).getRank() - 1;
    Position position(rowCoordinates.begin(), rowCoordinates.end());
    position.resize(last, constant(0));
    position.push_back(n);
    std::string term =
        statisticTerm(stat->op, stat->input, stat->kind, position, vec);
    if (stat->kind != StatKind::SumOfExp)
      keep(space, key(stat->input, position, vec),
           pull(stat->input, position, vec), vec);
    if (stat->kind == StatKind::SumOfExp)
      keep(space, key(stat->input, position, vec, "exp"), term, vec);
    if (masked)
      term = "keepFirst<" + std::to_string(vec) + ">(" + term + ", " +
             getLaneCount() + ", " + reductionOf(stat->kind).str() +
             "::kIdentity)";
    std::string name = accumulators[{stat->op, int(stat->kind)}];
    out.line(name + " = " + reductionOf(stat->kind) + "::apply<Vec<float, " +
             Twine(vec) + ">>(" + name + ", " + term + ");");
  }
  for (const RowStore *store : stores)
    emitStore(*store, n, vec);
  setLaneCount("");
  out.close();
  for (const RowStat *stat : stats) {
    std::string &name = accumulators[{stat->op, int(stat->kind)}];
    name = ("reduceVec<" + reductionOf(stat->kind) + ", " + Twine(vec) + ">(" +
            name + ")")
               .str();
  }
}

void RowEmitter::emitStore(const RowStore &store, AffineExpr flat, int vec) {
  Position position = positionOf(store.local, flat);
  switch (store.kind) {
  case StoreKind::Value:
    this->store(store.operand, position, vec, pull(store.value, position, vec));
    return;
  case StoreKind::GroupScale: {
    std::string scale = scaleAt(store.op, position, vec);
    std::string value = isa<QuantizeMxOp>(store.op)
                            ? "decodeE8M0<1>(Vec<u32, 1>(u32(" + scale + ")))"
                            : "Vec<float, 1>(" + scale + ")";
    Position own(position);
    own.back() = simplify(position.back().floorDiv(store.group));
    out.open("if (" + text(simplify(position.back() % constant(store.group))) +
             " == 0)");
    std::string saved = getLaneCount();
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
  }
}

void RowEmitter::emitCacheWrite(const RowStore &store, const Position &position,
                                int vec) {
  auto write = cast<KVCacheWriteOp>(store.op);
  ArrayRef<unsigned> rowDims = write.getRowDims();
  ArrayRef<unsigned> elementDims = write.getElementDims();
  ArrayRef<AffineExpr> token = ArrayRef(position).drop_back(2);
  AffineExpr block = constant(1);
  for (unsigned dim : rowDims)
    block = block * sizeOf(write.getCache(), dim);
  std::string rows = text(block);
  std::string capacity = text(sizeOf(write.getCache(), 0) * block);
  int depth = depthOf(token);
  std::string memo = key(write.getSlots(), token, 1, "slot");
  if (out.recall(memo).empty())
    out.remember(
        depth, memo,
        out.define(depth, "i64", "slot",
                   "i64(" + pullScalar(write.getSlots(), token) + ")"));
  std::string slot = out.recall(memo).str();
  // Before the slot is tested: lanes without one may have to exchange values.
  (void)pull(store.value, position, vec);
  out.open("if (" + slot + " >= 0 && " + slot + " < i64(" + capacity + "))");
  Position own(dims.shape(write.getCache()).size(), constant(0));
  // Index `i` counted over some dims of the cache.
  auto place = [&](ArrayRef<unsigned> over, AffineExpr i) {
    for (unsigned dim : llvm::reverse(over.drop_front())) {
      own[dim] = simplify(i % sizeOf(write.getCache(), dim));
      i = simplify(i.floorDiv(sizeOf(write.getCache(), dim)));
    }
    own[over.front()] = i;
  };
  own[0] = symbol(
      out.define(out.depth(), "i64", "a", slot + " / i64(" + rows + ")"));
  place(rowDims, symbol(out.define(out.depth(), "i64", "b",
                                   slot + " % i64(" + rows + ")")));
  own[write.getHeadDim()] = position[position.size() - 2];
  DimName chunk = dims.shape(write.getCache()).back();
  bool sideBySide = elementDims.back() + 1 == own.size() &&
                    (elementDims.size() == 1 ||
                     (chunk % vec == 0 && position.back().isMultipleOf(vec)));
  if (sideBySide) {
    place(elementDims, position.back());
    this->store(store.operand, own, vec, pull(store.value, position, vec));
  } else {
    storeByElement(store, position, vec, [&](ArrayRef<AffineExpr> from) {
      place(elementDims, from.back());
      return own;
    });
  }
  out.close();
}

void RowEmitter::storeByElement(
    const RowStore &store, const Position &position, int vec,
    llvm::function_ref<Position(ArrayRef<AffineExpr>)> placeOf) {
  std::string value = pull(store.value, position, vec);
  if (vec == 1)
    return this->store(store.operand, placeOf(position), 1, value);
  std::string lanes = getLaneCount(), e = out.freshName("e");
  out.open("HK_UNROLL for (i32 " + e + " = 0; " + e + " < " + Twine(vec) +
           "; ++" + e + ")");
  if (!lanes.empty())
    out.line("if (" + e + " >= " + lanes + ") continue;");
  Position one(position);
  one.back() = one.back() + symbol(e);
  setLaneCount("");
  Type type = cast<ShapedType>(store.value.getType()).getElementType();
  this->store(store.operand, placeOf(one), 1,
              vecText(type, 1) + "(" + value + "[" + e + "])");
  out.close();
  setLaneCount(lanes);
}

void RowEmitter::emitReductions(ArrayRef<const RowStat *> stats) {
  for (const RowStat *stat : stats) {
    StringRef reduction = reductionOf(stat->kind);
    std::string value = accumulators[{stat->op, int(stat->kind)}];
    if (!host && threadsPerRow > 1) {
      std::string scratch =
          threadsPerRow > target.waveSize
              ? "lds.scratch + " +
                    std::to_string(reductions * tile.getThreads() /
                                   target.waveSize)
              : "nullptr";
      value =
          ("wholeRowReduce<" + reduction + ", " + Twine(threadsPerRow) + ", " +
           Twine(tile.getThreads()) + ">(" + value + ", " + scratch + ")")
              .str();
      ++reductions;
    }
    std::string name = out.define(rowDepth, "float", "f", value);
    scalarDepth[name] = rowDepth;
    rowStatNames[{stat->op, int(stat->kind)}] = name;
  }
}

void RowEmitter::emitPhase(int64_t phase) {
  bool final = phase + 1 == plan.numPhases();
  // Spaces of this phase in order of appearance.
  SmallVector<SmallVector<DimName>> order;
  auto add = [&](ArrayRef<DimName> local) {
    SmallVector<DimName> own = withoutOnes(local);
    if (!llvm::is_contained(order, own))
      order.push_back(own);
  };
  auto statSpace = [&](const RowStat &stat) {
    return dims.shape(stat.input).take_back(1);
  };
  for (const RowStat &stat : plan.stats())
    if (stat.phase == phase)
      add(statSpace(stat));
  size_t statSpaces = order.size();
  for (const RowStore &store : plan.stores())
    if (final || store.phase <= phase)
      add(store.local);
  std::set<Space *> done;
  for (auto [i, local] : llvm::enumerate(order)) {
    Space &space = spaceOf(local);
    if (!done.insert(&space).second)
      continue;
    SmallVector<const RowStat *> stats;
    SmallVector<const RowStore *> stores;
    for (const RowStat &stat : plan.stats())
      if (stat.phase == phase && &spaceOf(statSpace(stat)) == &space)
        stats.push_back(&stat);
    // Before the last phase a store only joins a loop that runs anyway.
    if (final || i < statSpaces)
      for (const RowStore &store : plan.stores())
        if (store.phase <= phase && !stored.count(&store) &&
            &spaceOf(store.local) == &space)
          stores.push_back(&store);
    if (stats.empty() && stores.empty())
      continue;
    stored.insert(stores.begin(), stores.end());
    emitLoop(space, stats, stores);
    emitReductions(stats);
  }
  for (const RowSelection &selection : plan.selections())
    if (selection.phase == phase)
      emitSelection(selection);
}

void RowEmitter::emitBody(const llvm::SmallSet<int, 8> *kept) {
  keptFilter = kept;
  declareArguments();
  emitRowStart();
  for (int64_t phase = 0; phase < plan.numPhases(); ++phase)
    emitPhase(phase);
  if (host)
    out.close();
}
