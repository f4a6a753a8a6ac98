//===- RowEmitter.cpp - The C++ of a row-wise kernel -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See docs/rowwise.md. A block handles `rows`
// rows; a row belongs to threads / rows threads, which take its chunks of vec
// elements in turn; or all threads of a cluster of blocks take one row. On the
// host a block is one thread that goes over its rows.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"

#include "hk/Contract/Calibration.h"
#include "hk/Contract/Cost.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>
#include <set>

using namespace mlir;
using namespace mlir::hk;

/// From this size on the host writes a result past its caches: it is evicted
/// before anything reads it, and writing through them reads it first.
static constexpr int64_t kStreamedBytes = 32 << 20;

RowEmitter::RowEmitter(KernelOp kernel, const RowPlan &plan,
                       const DimSymbols &dims, const ::hk::Target &target,
                       RowTileAttr tile, CodeWriter &out)
    : Puller(kernel, dims, out), plan(plan), target(target), tile(tile),
      host(target.arch == ::hk::Arch::Host),
      resident(!host && isResident(plan, podOf(tile))),
      shifted(::hk::rowwiseCalibration(target) && tile.getVec() > 1 &&
              tile.getVec() == plan.shiftedVec()),
      tailed(tile.getVec() > 1 && tile.getVec() == plan.tailedVec(target)),
      threadsPerRow(podOf(tile).threadsPerRow()) {
  if (host)
    threadsPerRow = 1;
  if (::hk::boundByIssue(target))
    strides = launchedStrides(kernel);
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
    for (const RowStore &store : plan.stores()) {
      std::optional<int64_t> width = RowPlan::flatSize(store.local);
      if (store.kind != StoreKind::Value || !width || *width < tile.getVec())
        continue;
      Type type = cast<ShapedType>(store.value.getType()).getElementType();
      int64_t bytes = *width * type.getIntOrFloatBitWidth() / 8;
      std::string name = "stream" + std::to_string(store.operand);
      out.line("const bool " + name + " = rows * " + Twine(bytes) +
               " >= " + Twine(kStreamedBytes) + ";");
      streamed[store.operand] = name;
    }
    out.openEach(
        "ROW", "row, RowsOfBlock<" + Twine(tile.getRows()) + ">{block.x, rows}",
        Hoist::Freely);
  } else if (tile.getCluster() > 1) {
    std::string blocks = std::to_string(tile.getCluster());
    out.line("const i64 row = block.x / " + blocks + ";");
    out.line("const i32 thread = i32(block.x % " + blocks + ") * " +
             Twine(tile.getThreads()) + " + threadId();");
  } else if (tile.getRows() == 1) {
    std::string block = emitPiece();
    out.line(votes() ? "const auto row = onlyRow(" + block + ");"
                     : "const i64 row = " + block + ";");
    out.line("const i32 thread = threadId();");
  } else {
    out.line("const i64 rows = " + rows + ";");
    // Threads past the last row take part in everything but stores.
    out.line("const auto [row, valid] = rowOfThread<" + Twine(tile.getRows()) +
             ", " + Twine(threadsPerRow) + ">(" + emitPiece() + ", rows);");
    out.line("const i32 thread = threadId() % " + Twine(threadsPerRow) + ";");
    guardStores("valid");
  }
  rowDepth = out.depth();
  if (!host)
    threadIndex = symbol("thread");
  emitRowCoordinates();
  rowOffsetPlace = out.reserve(rowDepth);
  if (shifted)
    emitShift();
}

void RowEmitter::emitRowCoordinates() {
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
    if (votes() && isa<AffineConstantExpr>(dimSize)) {
      std::string size = "Row<" + text(dimSize) + ">(" + text(rest) + ")";
      rowCoordinates[d] = defineIndex(rowDepth, "r", "inner" + size);
      rest = defineIndex(rowDepth, "q", "outer" + size);
      continue;
    }
    rowCoordinates[d] =
        defineIndex(rowDepth, "r", "i64(" + index + " % " + divisor + ")");
    rest = defineIndex(rowDepth, "q", "i64(" + index + " / " + divisor + ")");
  }
}

bool mlir::hk::piecesFirst(const RowPlan &plan, const ::hk::Target &target) {
  const ::hk::RowwiseCalibration *measured = ::hk::rowwiseCalibration(target);
  return measured && measured->piecesFirst && splitsRows(plan) &&
         plan.segmentSize() == 0 &&
         llvm::all_of(plan.stores(),
                      [](const RowStore &store) {
                        return store.kind == StoreKind::Value;
                      }) &&
         plan.body().getOps<RopeOp>().empty();
}

std::string RowEmitter::emitPiece() {
  if (!piecesFirst(plan, target))
    return "block.x";
  std::string pieces;
  for (const RowStore &store : plan.stores()) {
    AffineExpr flat = constant(1);
    for (DimName dim : store.local)
      flat = flat * size(dim);
    int64_t own = plan.pieceOf(store, podOf(tile), target);
    std::string count =
        "i64(" + text(simplify((flat + (own - 1)).floorDiv(own))) + ")";
    pieces = pieces.empty() || pieces == count
                 ? count
                 : "(" + pieces + " < " + count + " ? " + count + " : " +
                       pieces + ")";
  }
  out.line("const u32 pieces = u32(" + pieces + ");");
  out.line("const u32 piece = block.x % pieces;");
  return "block.x / pieces";
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
    AffineExpr place = outermost ? rest : rest % dimSize;
    if (!outermost && rest == flat && isOfThread(flat, local[i]))
      place = (threadIndex * current.vec) % dimSize;
    position[first + i] = simplify(place);
    rest = simplify(rest.floorDiv(dimSize));
  }
  return position;
}

bool RowEmitter::isOfThread(AffineExpr flat, DimName size) const {
  bool rotates = !plan.body().getOps<RopeOp>().empty();
  return votes() && rotates && plan.segmentSize() == 0 &&
         current.form == RowLoopForm::Piece && current.vec > 1 && size > 0 &&
         !current.groupChunk && !current.masked &&
         threadsPerRow * current.vec % size == 0 &&
         flat == currentChunk * current.vec;
}

Position RowEmitter::pairPosition(ArrayRef<DimName> local, const RowLoop &loop,
                                  bool second) {
  int64_t half = loop.pairedHead / 2, perHalf = half / loop.vec;
  Position position =
      positionOf(local.drop_back(), currentChunk.floorDiv(perHalf));
  // All chunks of a thread may lie at one place of their heads. What depends on
  // that place alone is then computed once.
  bool severalHeads = loop.chunks && *loop.chunks > perHalf;
  AffineExpr lane =
      severalHeads && threadsPerRow % perHalf == 0 ? threadIndex : currentChunk;
  AffineExpr first = (lane % perHalf) * loop.vec;
  position.push_back(simplify(first + (second ? half : 0)));
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
  spaces.push_back(std::move(space));
  return spaces.back();
}

void RowEmitter::keep(Space &space, const RowLoop &loop, Value value,
                      StringRef tag, const Expr &name) {
  std::string memo = key(value, lastPosition, loop.vec, tag);
  // e^x of a softmax is not rounded to the type of x.
  bool rounded = tag.empty();
  bool loaded = loop.batched && rounded && isa<BlockArgument>(value);
  auto isKnown = [&](const Kept &kept) {
    return kept.chunks.front().first == memo;
  };
  if (!loop.unrolled || loaded || llvm::any_of(space.kept, isKnown))
    return;
  Type type = cast<ShapedType>(value.getType()).getElementType();
  std::string v = std::to_string(loop.vec);
  std::string array = "keep" + std::to_string(keepCount++);
  std::string element = name.type.text();
  std::string packed = name.text;
  std::pair<std::string, std::string> unpack;
  if (!host && rounded && type.getIntOrFloatBitWidth() <= 16 &&
      !keepsUnpacked(loop)) {
    std::string access = "<" + dtypeText(type) + ", " + v + ">";
    element = "Packed" + access;
    packed = "packExact" + access + "(" + packed + ")";
    unpack = {"unpack" + access + "(opaque(", "))"};
  }
  auto read = [&](const std::string &slot) {
    return Expr{unpack.first + array + "[" + slot + "]" + unpack.second,
                name.type};
  };
  SmallVector<std::pair<std::string, Expr>> chunks{{memo, read("s")}};
  // Other chunks of the thread, which a part of a row may be made of.
  bool known = votes() && loop.form == RowLoopForm::RowSlots && loop.full &&
               !plan.body().getOps<ConcatOp>().empty();
  for (int64_t slot = 1; known && slot < loop.slots; ++slot)
    for (int64_t by : {slot, -slot}) {
      Position position(lastPosition);
      position.back() =
          simplify(position.back() + by * threadsPerRow * loop.vec);
      std::string other = "(s + " +
                          std::to_string(by < 0 ? loop.slots + by : by) +
                          ") % " + std::to_string(loop.slots);
      chunks.emplace_back(key(value, position, loop.vec, tag), read(other));
    }
  space.kept.push_back(
      {std::move(chunks), out.reserve(rowDepth), out.reserve(out.depth()),
       element + " " + array + "[" + std::to_string(loop.slots) + "];",
       array + "[s] = " + packed + ";"});
}

void RowEmitter::enterLoop(Space &space, const RowLoop &loop) {
  if (loop.unrolled)
    for (Kept &kept : space.kept)
      for (const auto &[memo, value] : kept.chunks)
        out.rememberIfRecalled(memo, "v", value, [this, &kept] {
          if (std::exchange(kept.isRead, true))
            return;
          out.lineInto(kept.declared, kept.declare);
          out.lineInto(kept.set, kept.assign);
        });
  AffineExpr &chunk = space.chunks[out.depth()];
  if (!chunk)
    chunk = symbol("c");
  currentChunk = chunk;
  if (loop.knowsLanes())
    exchangeLanes(
        {loop.lanesText(),
         {loop.tailedWidth ? StringRef(kTailLanes) : StringRef("i64")},
         out.depth()});
  else if (loop.masked)
    exchangeLanes(out.define(out.depth(), "lanes",
                             {"i64(" + text(space.size) + ") - i64(" +
                                  text(currentChunk * loop.vec) + ")",
                              {"i64"}}));
}

void RowEmitter::emitLoops(Space &space, ArrayRef<RowLoop> loops,
                           ArrayRef<const RowStat *> stats,
                           ArrayRef<const RowStore *> stores) {
  const RowLoop &loop = loops.front();
  for (const RowStat *stat : stats) {
    bool online = isOnline(*stat, loop);
    auto accumulate = [&](RowReduction kind) {
      accumulators[{stat->op, int(kind)}] =
          out.declare("acc", {"float", online ? 0 : loop.vec},
                      reductionOf(kind) + "::kIdentity");
    };
    accumulate(stat->kind);
    if (online)
      accumulate(RowReduction::SumOfExp);
  }
  // The loads of what stays in registers are under way while the rest is read;
  // what is declared inside strips ends with each of them.
  if ((loops.size() > 1 || loop.isInStrips()) && !earlyLoads)
    earlyLoads = out.reserve(out.depth());
  for (const RowLoop &part : loops)
    emitLoop(space, part, stats, stores);
  reducedVec = loop.vec;
}

void RowEmitter::emitLoop(Space &space, const RowLoop &loop,
                          ArrayRef<const RowStat *> stats,
                          ArrayRef<const RowStore *> stores) {
  int64_t wordsBefore = batchWords;
  bool isFirst = !earlyLoads;
  if (loop.isInStrips())
    out.open(loop.stripsText());
  ownPreloads.clear();
  current = loop;
  batchDepth = out.depth();
  out.open(loop.chunksText());
  enterLoop(space, loop);
  std::string rowExists = getStoreGuard();
  bool repeats = loop.form == RowLoopForm::RepeatedPiece;
  if (repeats) {
    out.line(
        "const bool own = " + (rowExists.empty() ? "" : rowExists + " && ") +
        loop.existsText() + ";");
    guardStores("own");
  }
  AffineExpr first = currentChunk * loop.vec;
  if (loop.shiftedWidth)
    first = first - shift;
  for (const RowStat *stat : stats)
    emitAccumulate(space, loop, *stat, first);
  if (loop.groupChunk)
    emitGroup(std::exchange(stores, {}));
  for (const RowStore *store : stores) {
    if (!loop.pairedHead) {
      emitPart(*store, positionOf(store->local, first), loop.vec, store->part);
      continue;
    }
    pairPlaces = {pairPosition(store->local, loop, false),
                  pairPosition(store->local, loop, true)};
    for (bool second : {false, true}) {
      auto [begin, end] = store->part;
      (second ? begin : end) = begin + loop.pairedHead / 2;
      emitPart(*store, pairPlaces[second], loop.vec, {begin, end});
    }
    pairPlaces.clear();
  }
  guardStores(rowExists);
  exchangeLanes({});
  if (isFirst)
    earlyLoads = out.reserve(batchDepth);
  current = RowLoop();
  out.close();
  for (const std::string &line : std::exchange(afterChunks, {}))
    out.line(line);
  if (loop.isInStrips()) {
    out.close();
    for (const std::string &own : ownPreloads)
      preloads.erase(own);
    batchWords = wordsBefore;
  }
}

void RowEmitter::emitPart(const RowStore &store, Position position, int vec,
                          std::pair<int64_t, int64_t> range) {
  if (!store.isPart())
    return emitStore(store, position, vec);
  position.back() = simplify(position.back() + store.part.first);
  Bounds outer = exchangeBounds({position.back(), range.first, range.second});
  emitStore(store, position, vec);
  exchangeBounds(std::move(outer));
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
    return dims.shape(stat.input).drop_front(plan.numRowDims());
  };
  // The sum of a softmax may have been found with its maximum.
  auto isDue = [&](const RowStat &stat) {
    return stat.phase == phase && !rowStats.count({stat.op, int(stat.kind)});
  };
  for (const RowStat &stat : plan.stats())
    if (isDue(stat))
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
      if (isDue(stat) && &spaceOf(statSpace(stat)) == &space)
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
    SmallVector<RowLoop> loops = planLoops(space, stores);
    emitLoops(space, loops, stats, stores);
    emitReductions(space, loops.front(), stats);
  }
  for (const RowSelection &selection : plan.selections())
    if (selection.phase == phase)
      emitSelection(selection);
}

void RowEmitter::emitBody() {
  declareArguments();
  if (tile.getCluster() > 1)
    out.line("clusterArrive();");
  emitRowStart();
  if (plan.exchange())
    emitExchange();
  for (int64_t phase = 0; phase < plan.numPhases(); ++phase)
    emitPhase(phase);
  if (host) {
    out.close();
    if (!streamed.empty())
      out.line("finishStreams();");
  }
}
