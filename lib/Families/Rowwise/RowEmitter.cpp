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

/// Chunks of a thread in a strip of a row that is too long to unroll.
static constexpr int64_t kStripSlots = 4;

RowEmitter::RowEmitter(KernelOp kernel, const RowPlan &plan,
                       const DimSymbols &dims, const ::hk::Target &target,
                       RowTileAttr tile, CodeWriter &out)
    : Puller(kernel, dims, out), plan(plan), target(target), tile(tile),
      host(target.arch == ::hk::Arch::Host),
      resident(!host && isResident(plan, podOf(tile))),
      shifted(!host && tile.getVec() > 1 && tile.getVec() == plan.shiftedVec()),
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
    int64_t own = plan.pieceOf(store, podOf(tile), host);
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
    position[first + i] = simplify(outermost ? rest : rest % dimSize);
    rest = simplify(rest.floorDiv(dimSize));
  }
  return position;
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
                      const std::string &memo, const Expr &name) {
  // e^x of a softmax is not rounded to the type of x.
  bool rounded = memo == key(value, lastPosition, loop.vec);
  bool loaded = loop.batched && rounded && isa<BlockArgument>(value);
  auto isKnown = [&](const Kept &kept) { return kept.memo == memo; };
  if (!loop.unrolled || loaded || llvm::any_of(space.kept, isKnown))
    return;
  Type type = cast<ShapedType>(value.getType()).getElementType();
  std::string v = std::to_string(loop.vec);
  std::string array = "keep" + std::to_string(keepCount++);
  std::string element = name.type.text();
  std::string packed = name.text, unpacked = array + "[s]";
  if (!host && rounded && type.getIntOrFloatBitWidth() <= 16 &&
      !keepsUnpacked(loop)) {
    std::string access = "<" + dtypeText(type) + ", " + v + ">";
    element = "Packed" + access;
    packed = "packExact" + access + "(" + packed + ")";
    unpacked = "unpack" + access + "(opaque(" + unpacked + "))";
  }
  space.kept.push_back(
      {memo,
       {unpacked, name.type},
       out.reserve(rowDepth),
       out.reserve(out.depth()),
       element + " " + array + "[" + std::to_string(loop.slots) + "];",
       array + "[s] = " + packed + ";"});
}

bool RowEmitter::fillsGrid(const RowLoop &loop) const {
  int64_t piece = threadsPerRow * loop.slots;
  if (!loop.chunks || *loop.chunks % piece != 0)
    return false;
  for (const RowStore &store : plan.stores()) {
    std::optional<int64_t> flat = RowPlan::flatSize(store.local);
    int64_t own = plan.pieceOf(store, podOf(tile), host);
    if (!flat || int64_t(llvm::divideCeil(*flat, own)) > *loop.chunks / piece)
      return false;
  }
  return true;
}

bool RowEmitter::hasOnePiece() const {
  return llvm::all_of(plan.stores(), [&](const RowStore &store) {
    std::optional<int64_t> flat = RowPlan::flatSize(store.local);
    return flat && *flat <= plan.pieceOf(store, podOf(tile), host);
  });
}

/// Chunks of a line of memory, if a row in registers is to begin with one that
/// its first elements may share with the row before; 0: if not.
int64_t RowEmitter::lineOf(const RowLoop &loop) const {
  const ::hk::RowwiseCalibration *measured = ::hk::rowwiseCalibration(target);
  int64_t bytes = loop.vec * plan.rowElementBytes();
  // Wider accesses straddle a line less often.
  if (!measured || resident || bytes > 4 || !plan.selections().empty() ||
      plan.segmentSize() != 0)
    return 0;
  int64_t line = measured->lineBytes / bytes;
  bool fits = *loop.chunks + line - 1 <= loop.rounds * threadsPerRow;
  return fits && *loop.chunks % line != 0 ? line : 0;
}

/// A loop over the piece of a row that is the block's.
void RowEmitter::planPiece(RowLoop &loop, std::optional<int64_t> flat) const {
  // A short row is done by the first of the blocks that split the longest.
  if (loop.chunks)
    loop.slots = std::min<int64_t>(loop.slots, loop.rounds);
  loop.form = RowLoopForm::Piece;
  loop.piece = piecesFirst(plan, target)  ? "piece"
               : votes() && hasOnePiece() ? "0"
                                          : "block.y";
  loop.full = fillsGrid(loop);
  // Lanes without a chunk take part in the exchange of the last group.
  int64_t group = plan.segmentSize();
  if (votes() && !loop.full && flat && group && *flat % group != 0 &&
      !loop.masked && group % loop.vec == 0 &&
      threadsPerRow % (group / loop.vec) == 0)
    loop.form = RowLoopForm::RepeatedPiece;
}

RowLoop RowEmitter::planLoop(const Space &space,
                             ArrayRef<const RowStore *> stores) const {
  RowLoop loop;
  loop.vec = loopVec(tile.getVec(), host, space.local, stores, loop.masked);
  std::optional<int64_t> flat = RowPlan::flatSize(space.local);
  std::optional<int64_t> &chunks = loop.chunks;
  if (shifted && flat == plan.widest()) {
    loop.vec = tile.getVec();
    loop.masked = true;
    loop.shiftedWidth = *flat;
  }
  if (!host && !loop.masked && flat)
    loop.pairedHead = plan.pairedHead(stores, loop.vec);
  if (flat)
    chunks = llvm::divideCeil(*flat + (loop.shiftedWidth ? loop.vec - 1 : 0),
                              loop.vec * (loop.pairedHead ? 2 : 1));
  loop.end = chunks ? std::to_string(*chunks)
                    : "((" + text(space.size) + " + " +
                          std::to_string(loop.vec - 1) + ") / " +
                          std::to_string(loop.vec) + ")";
  loop.first = host ? "0" : "thread";
  loop.step = threadsPerRow;
  loop.index = flat && *flat < (int64_t(1) << 30) ? "i32" : "i64";
  int64_t slots = tile.getSlots();
  if (resident)
    slots = residenceOf(plan, podOf(tile)).registers;
  bool split = splitsRows(plan);
  if (chunks)
    loop.rounds = llvm::divideCeil(*chunks, threadsPerRow);
  // Of no chunks there is not even a first one.
  loop.unrolled = !split && slots > 0 && chunks && *chunks > 0 &&
                  loop.rounds <= slots && loop.vec == tile.getVec();
  loop.batched = !host && (!loop.masked || loop.shiftedWidth);

  loop.slots = slots;
  if (split) {
    planPiece(loop, flat);
  } else if (loop.unrolled) {
    loop.form = RowLoopForm::RowSlots;
    loop.slots = loop.rounds;
    loop.full = *chunks % threadsPerRow == 0;
    loop.line = lineOf(loop);
    if (loop.line) {
      loop.form = RowLoopForm::LedSlots;
      // A first chunk below zero that is widened would give each access an
      // address of its own.
      loop.index = "i64";
    }
  } else if (loop.batched && (!chunks || *chunks > threadsPerRow)) {
    loop.cutInStrips(kStripSlots, 0, chunks);
  } else {
    loop.batched = false;
    loop.full = chunks && *chunks % threadsPerRow == 0;
  }
  return loop;
}

SmallVector<RowLoop>
RowEmitter::planLoops(const Space &space,
                      ArrayRef<const RowStore *> stores) const {
  RowLoop whole = planLoop(space, stores);
  ::hk::RowResidence kept = residenceOf(plan, podOf(tile));
  int64_t slots = kept.registers + kept.lds;
  if (!resident || !whole.batched || whole.vec != tile.getVec() ||
      !whole.chunks || *whole.chunks < slots * threadsPerRow ||
      whole.rounds <= kept.registers)
    return {whole};
  SmallVector<RowLoop> loops;
  // What is not kept comes first: it is the sooner read again.
  if (slots < whole.rounds) {
    RowLoop rest = whole;
    rest.part = RowPart::Rest;
    rest.cutInStrips(kStripSlots, slots * threadsPerRow, whole.chunks);
    loops.push_back(rest);
  }
  if (kept.lds > 0) {
    RowLoop lds = whole;
    lds.part = RowPart::Lds;
    lds.cutInStrips(std::gcd(kStripSlots, kept.lds),
                    kept.registers * threadsPerRow, slots * threadsPerRow);
    loops.push_back(lds);
  }
  RowLoop registers = whole;
  registers.part = RowPart::Registers;
  registers.form = RowLoopForm::RowSlots;
  registers.slots = kept.registers;
  registers.first = "thread";
  registers.full = true;
  registers.unrolled = true;
  loops.push_back(registers);
  return loops;
}

/// Whether it is the maximum that a sum of exponentials follows.
static bool isOfSoftmax(const RowStat &stat) {
  return stat.kind == RowReduction::Maximum &&
         llvm::is_contained(rowReductionsOf(stat.op), RowReduction::SumOfExp);
}

bool RowEmitter::isOnline(const RowStat &stat, const RowLoop &loop) const {
  return (loop.isInStrips() || loop.part != RowPart::Whole) &&
         isOfSoftmax(stat);
}

void RowEmitter::enterLoop(Space &space, const RowLoop &loop) {
  if (loop.unrolled)
    for (Kept &kept : space.kept)
      out.rememberIfRecalled(kept.memo, "v", kept.value, [this, &kept] {
        if (std::exchange(kept.isRead, true))
          return;
        out.lineInto(kept.declared, kept.declare);
        out.lineInto(kept.set, kept.assign);
      });
  AffineExpr &chunk = space.chunks[out.depth()];
  if (!chunk)
    chunk = symbol("c");
  currentChunk = chunk;
  if (loop.shiftedWidth)
    exchangeLanes({loop.lanesText(), {"i64"}, out.depth()});
  else if (loop.masked)
    exchangeLanes(out.define(out.depth(), "lanes",
                             {"i64(" + text(space.size) + ") - i64(" +
                                  text(currentChunk * loop.vec) + ")",
                              {"i64"}}));
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
    keep(space, loop, stat.input, key(stat.input, lastPosition, vec, "exp"),
         term);
  else
    keep(space, loop, stat.input, key(stat.input, lastPosition, vec),
         pull(stat.input, lastPosition, vec));
  if (x && !loop.masked)
    return out.assign(sum, call("fma", {x, x, sum}));
  if (x)
    term = x * x;
  StringRef reduction = reductionOf(stat.kind);
  term = onlyExisting(term, reduction);
  checkType(term, sum.type, "a term of a sum");
  out.line(sum.text + " = " + reduction + "::apply<" + sum.type.text() + ">(" +
           sum.text + ", " + term.text + ");");
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
  for (const RowStore *store : stores) {
    if (!loop.pairedHead) {
      emitStore(*store, positionOf(store->local, first), loop.vec);
      continue;
    }
    for (bool second : {false, true})
      emitStore(*store, pairPosition(store->local, loop, second), loop.vec);
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

void RowEmitter::emitStore(const RowStore &store, const Position &position,
                           int vec) {
  switch (store.kind) {
  case StoreKind::Value: {
    Stored stored;
    Expr value = pullUnrounded(store.value, position, vec, stored);
    if (stored.rounded)
      value = pull(store.value, position, vec);
    this->store(store.operand, position, vec, value, stored);
    return;
  }
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
    out.openIf(text(votes() ? inGroup : simplify(inGroup)) + " == 0",
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
  if (!out.recall(memo)) {
    Expr index = pullScalar(write.getSlots(), token);
    out.remember(memo, out.define(depth, "slot", scalarCast("i64", index)));
  }
  std::string slot = out.recall(memo)->text;
  // Before the slot is tested: lanes without one may have to exchange values.
  (void)pull(store.value, position, vec);
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
  Expr value = pull(store.value, position, vec);
  if (vec == 1)
    return this->store(store.operand, placeOf(position), 1, value);
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
    if (kept.memo == key(sum->input, lastPosition, loop.vec, "exp"))
      kept.value = kept.value * scale;
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
