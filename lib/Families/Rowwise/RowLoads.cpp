//===- RowLoads.cpp - Loads that are issued together ----------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernel operands may alias, so a compiler does not move a load before a store.
// A batched loop therefore gets a loop before it for each of its loads, which
// fills an array of raw vectors, one per slot. Later loops over the same chunks
// find them there. Loads of later loops that wait for nothing (the weight of a
// norm, the second of two tensors) are issued in the first one. Where chunks
// are shifted (kernels/rowwise/shifted.h), loads say so here.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"
#include "RowVariants.h"

#include "hk/Contract/Calibration.h"
#include "hk/Contract/Cost.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::hk;

/// Registers of a thread that loaded chunks may take, of all loops whose chunks
/// stay.
static constexpr int64_t kMaxBatchWords = 64;

/// Bytes of the next rows that the blocks of a compute unit ask for while they
/// work on theirs. Measured on an H200: 48 and 50 KiB make norms 1 to 5 %
/// faster, 64 to 70 KiB most of them slower, 128 KiB everything by a quarter.
static constexpr int64_t kMaxBytesAhead = 50 << 10;

/// Smaller blocks lose 1 to 2 % of a long run by asking for their own rows
/// only.
static constexpr int64_t kMinAskingThreads = 256;

bool RowEmitter::votes() const { return ::hk::boundByIssue(target); }

bool RowEmitter::sharesOffset(Args indices) const {
  return votes() && tile.getRows() > 1 &&
         llvm::all_of(indices, [&](auto i) { return isOfRow(i); });
}

std::string RowEmitter::sharedOffset(const std::string &text) {
  std::string &name = rowOffsets[text];
  if (name.empty()) {
    name = out.freshName("row");
    out.lineInto(rowOffsetPlace,
                 "const auto " + name + " = offsetOfRow(" + text + ");");
  }
  return name;
}

std::optional<int64_t> RowEmitter::strideOf(unsigned operand,
                                            int64_t dim) const {
  if (strides.empty() || strides[operand].empty() ||
      ShapedType::isDynamic(strides[operand][dim]))
    return std::nullopt;
  return strides[operand][dim];
}

size_t RowEmitter::denseRowDims(unsigned operand, Args position) const {
  size_t numRows = rowCoordinates.size();
  if (!votes() || numRows < 2 || position.size() < numRows ||
      position.take_front(numRows) != Args(rowCoordinates))
    return 0;
  // Each row dim has to step over all of the next ones.
  std::optional<int64_t> step =
      position.size() == numRows ? 1 : strideOf(operand, numRows - 1);
  for (size_t d = numRows; step && d-- > 1;) {
    DimName size = plan.rows()[d];
    if (size < 0 || strideOf(operand, d - 1) != *step * size)
      return 0;
    *step *= size;
  }
  return step ? numRows : 0;
}

bool RowEmitter::keepsUnpacked(const RowLoop &loop) const {
  constexpr int64_t mostElements = 32;
  return votes() && loop.unrolled && loop.vec > 1 &&
         loop.slots * loop.vec <= mostElements;
}

std::string RowEmitter::rowText(BlockArgument argument) {
  unsigned operand = argument.getArgNumber();
  Position first(rowCoordinates.begin(), rowCoordinates.end());
  AffineExpr zero = getAffineConstantExpr(0, getContext());
  first.resize(cast<ShapedType>(argument.getType()).getRank(), zero);
  return "p" + std::to_string(operand) + " + (" + offsetText(operand, first) +
         ")";
}

void RowEmitter::emitShift() {
  std::string vec = std::to_string(tile.getVec()), even;
  for (BlockArgument argument : plan.body().getArguments()) {
    if (!plan.isWholeRowOperand(argument))
      continue;
    std::string row = "<" + vec + ">(" + rowText(argument);
    if (even.empty())
      out.line("const i32 shift = shiftOf" + row + ");");
    even += (even.empty() ? "" : " && ") + ("beginsEven" + row + ", shift)");
  }
  AffineExpr rows = constant(1);
  for (DimName dim : plan.rows())
    rows = rows * size(dim);
  out.line("const RowPlace place = placeOfRow(" + even + ", shift, row, i64(" +
           text(rows) + "));");
  shift = symbol("shift");
}

int64_t RowEmitter::alignment(unsigned operand, AffineExpr last,
                              int vec) const {
  BlockArgument argument = plan.body().getArgument(operand);
  if (current.shiftedWidth && vec == current.vec && last &&
      plan.isWholeRowOperand(argument) &&
      last == simplify(currentChunk * vec - shift))
    return std::min<int64_t>(
        16, vec *
                cast<ShapedType>(argument.getType()).getElementTypeBitWidth() /
                8);
  return Puller::alignment(operand, last, vec);
}

std::string RowEmitter::preload(const BatchedLoad &load,
                                std::optional<CodeWriter::Place> place) {
  std::string name = "raw" + std::to_string(preloadCount++);
  std::string slots = std::to_string(load.loop.slots);
  auto line = [&](const Twine &text) {
    place ? out.lineInto(*place, text) : out.lineAt(batchDepth, text);
  };
  // Lanes without a value vote, too, and have to have one.
  bool votes = !load.guard.empty() && ::hk::boundByIssue(target);
  line("Packed" + load.access + " " + name + "[" + slots + "]" +
       (votes ? " = {};" : ";"));
  line(load.loop.chunksText() + " " +
       CodeWriter::conditional(load.guard,
                               name + "[s] = " + load.expression + ";"));
  preloads[load.key] = name;
  return name;
}

BatchedLoad RowEmitter::batchedLoad(BlockArgument argument, Args position,
                                    int vec) {
  Type element = cast<ShapedType>(argument.getType()).getElementType();
  BatchedLoad load;
  load.loop = current;
  load.access = "<" + dtypeText(element) + ", " + std::to_string(vec) + ">";
  load.expression = "loadPacked" + accessText(argument, position, vec) +
                    (getLaneCount() ? ", " + getLaneCount().text : "") + ")";
  load.guard = loadGuard.text;
  load.key = current.stripsText() + current.chunksText() + load.guard +
             load.expression;
  if (current.part == RowPart::Lds)
    useLds(argument, load);
  return load;
}

Expr RowEmitter::load(BlockArgument argument, Args position, int vec) {
  Type element = cast<ShapedType>(argument.getType()).getElementType();
  int64_t bits = vec * int64_t(element.getIntOrFloatBitWidth());
  // Lanes of other loops are known inside of them only.
  bool known = !getLaneCount() || (current.knowsLanes() && vec == current.vec);
  if (!current.batched || bits < 32 || !known)
    return Puller::load(argument, position, vec);
  // The contract has counted what stays.
  bool stays = current.part == RowPart::Registers &&
               llvm::is_contained(plan.statOperands(), argument);
  bool ofChunk = false, inside = false, waits = bool(loadGuard);
  for (AffineExpr expr : position)
    expr.walk([&](AffineExpr e) {
      if (!isa<AffineSymbolExpr>(e))
        return;
      ofChunk |= e == currentChunk;
      inside |= e != currentChunk && symbolDepth(e) > batchDepth;
      waits |= e != currentChunk && e != threadIndex && e != shift &&
               !((splitsRows(plan) || stays || plan.exchange()) && isOfRow(e));
    });
  if (!ofChunk || inside)
    return Puller::load(argument, position, vec);

  // What is not read for every row may not be there.
  bool always = out.hoistLimit() <= batchDepth;
  if (always)
    notePrefetch(argument, position, vec);
  BatchedLoad load = batchedLoad(argument, position, vec);
  int64_t words = llvm::divideCeil(bits, 32) * current.slots;
  auto unpacked = [&](const std::string &chunk) {
    std::string unpack =
        votes() && isCoded(element) ? "unpackCodesOf" : "unpack";
    return Expr{unpack + load.access + "(" + chunk + ")",
                carrierOf(element, vec)};
  };
  auto earlier = preloads.find(load.key);
  if (earlier != preloads.end()) {
    std::string chunk = earlier->second + "[s]";
    // Unpacked values of an earlier loop should not live on.
    if (!ownPreloads.count(load.key) && !keepsUnpacked(current))
      chunk = "opaque(" + chunk + ")";
    return unpacked(chunk);
  }
  bool early = earlyLoads && !current.isInStrips() && !waits &&
               (stays || earlyWords + words <= kMaxEarlyWords);
  bool fits = early || stays || batchWords + words <= kMaxBatchWords;
  if (!always || !fits)
    return Puller::load(argument, position, vec);
  if (!stays)
    (early ? earlyWords : batchWords) += words;
  if (early)
    return unpacked("opaque(" + preload(load, earlyLoads) + "[s])");
  ownPreloads.insert(load.key);
  std::string name = preload(load, std::nullopt);
  if (!load.keepAs.empty())
    out.lineAt(batchDepth, load.loop.chunksText() + " " + load.keepAs + " = " +
                               name + "[s];");
  return unpacked(name + "[s]");
}

void RowEmitter::useLds(BlockArgument argument, BatchedLoad &load) {
  bool counted = llvm::is_contained(plan.statOperands(), argument);
  auto [owner, isNew] = ldsOwners.try_emplace(argument, load.key);
  if (!counted || owner->second != load.key)
    return;
  // A thread reads only what it wrote.
  ::hk::RowResidence kept = residenceOf(plan, podOf(tile));
  std::string place = "lds.kept" + std::to_string(argument.getArgNumber()) +
                      "[c - " + std::to_string(kept.registers * threadsPerRow) +
                      "]";
  if (isNew)
    load.keepAs = place;
  else
    load.expression = place;
}

bool RowEmitter::isOfRow(AffineExpr symbol) const {
  bool found = false;
  for (AffineExpr coordinate : rowCoordinates)
    coordinate.walk([&](AffineExpr e) { found |= e == symbol; });
  return found;
}

void RowEmitter::noteShiftedPrefetch(BlockArgument argument,
                                     int64_t elementBytes) {
  // What every row reads alike is there after the first ones.
  if (elementBytes == 0 || !plan.isWholeRowOperand(argument))
    return;
  // The vectors that lie in the row as a whole.
  int64_t bytes = (current.shiftedWidth * elementBytes - 15) / 16 * 16;
  std::string statement = "prefetchL2<" + std::to_string(bytes) +
                          ">(firstVector(" + rowText(argument) + "));";
  if (llvm::is_contained(prefetches.ofRow, statement))
    return;
  prefetches.ofRow.push_back(statement);
  prefetches.bytesOfRow += bytes;
}

void RowEmitter::notePrefetch(BlockArgument argument, Args position, int vec) {
  const ::hk::RowwiseCalibration *measured = ::hk::rowwiseCalibration(target);
  if (!measured || !measured->prefetchesRows || splitsRows(plan) || loadGuard ||
      current.isInStrips() || !current.chunks)
    return;
  // The loop's chunks lie one behind the other, and nothing has to be loaded
  // to find them.
  unsigned operand = argument.getArgNumber();
  Type element = cast<ShapedType>(argument.getType()).getElementType();
  int64_t bits = element.getIntOrFloatBitWidth(), bytes = vec * bits / 8;
  if (current.shiftedWidth) {
    noteShiftedPrefetch(argument, bits / 8);
    return;
  }
  Position first(position);
  first.back() = simplify(position.back() - currentChunk * vec);
  bool known = bits >= 8 && bytes % 16 == 0 &&
               alignment(operand, position.back(), vec) % 16 == 0;
  bool ofRow = false;
  for (AffineExpr coordinate : first)
    coordinate.walk([&](AffineExpr e) {
      if (!isa<AffineSymbolExpr>(e))
        return;
      known &= isOfRow(e);
      ofRow |= isOfRow(e);
    });
  if (!known)
    return;
  int64_t all = *current.chunks * bytes;
  std::string statement = "prefetchL2<" + std::to_string(all) +
                          ">((const void *)(p" + std::to_string(operand) +
                          " + (" + offsetText(operand, first) + ")));";
  auto &statements = ofRow ? prefetches.ofRow : prefetches.ofAll;
  if (llvm::is_contained(statements, statement))
    return;
  statements.push_back(statement);
  prefetches.bytesOfRow += ofRow ? all : 0;
}

bool RowEmitter::emitPrefetches(const Prefetches &wanted) {
  int64_t blocks = minBlocksOf(plan, podOf(tile), target);
  int64_t bytes = wanted.bytesOfRow * tile.getRows() * blocks;
  bool ahead = bytes > 0 && bytes <= kMaxBytesAhead && tile.getCluster() <= 1;
  if ((wanted.ofRow.empty() && wanted.ofAll.empty()) ||
      (!ahead && tile.getThreads() < kMinAskingThreads))
    return false;
  std::string atOnce = std::to_string(blocks * target.computeUnits);
  // Addresses that live across the wait cost registers, so this is a scope.
  out.open("const auto ask = [&](BlockId block)");
  declareArguments();
  emitRowStart();
  out.openIf("thread == 0", Hoist::Freely);
  for (const std::string &statement : wanted.ofRow)
    out.line(statement);
  if (!wanted.ofAll.empty()) {
    out.openIf("row == 0", Hoist::Freely);
    for (const std::string &statement : wanted.ofAll)
      out.line(statement);
    out.close();
  }
  out.close();
  out.close();
  out.line(";");
  out.lineIf("block.x < " + atOnce, "ask(block);");
  out.line("beginAfterLast();");
  if (ahead)
    out.lineIf("block.x + " + atOnce + " < blockCountX()",
               "ask(BlockId{block.x + " + atOnce + ", 0, 0});");
  return true;
}
