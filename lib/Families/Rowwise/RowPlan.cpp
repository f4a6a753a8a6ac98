//===- RowPlan.cpp - What a row-wise kernel does, row by row -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Phases, stores and the numbers that tiles depend on.
//
//===----------------------------------------------------------------------===//

#include "RowPlan.h"
#include "hk/Contract/Cost.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::hk;

RowPlan::RowPlan(KernelOp kernel, const DimSymbols &dims)
    : kernel(kernel), dims(dims) {
  SmallVector<Operation *> ops;
  for (Operation &op : body().without_terminator())
    if (isRowwiseOp(&op))
      ops.push_back(&op);
  // Matched before; the rows are what is wanted.
  (void)matchRows(ops, dims, rowDims);
  for (Operation *op : ops) {
    addStats(*op);
    if (auto sum = dyn_cast<AllReduceOp>(op))
      rowExchange = sum;
  }
  for (auto [i, value] : llvm::enumerate(body().getTerminator()->getOperands()))
    addStore(i, value);
  splitStores();
}

bool RowPlan::isWholeRow(Operation *op) const {
  return reducesWholeRow(op, dims.shape(op->getOperand(0)), numRowDims());
}

int64_t RowPlan::phaseOf(Value value) {
  auto it = phaseCache.find(value);
  if (it != phaseCache.end())
    return it->second;
  int64_t phase = 0;
  if (Operation *op = value.getDefiningOp()) {
    for (Value operand : op->getOperands())
      phase = std::max(phase, phaseOf(operand));
    if (reductionGroupOf(op) == 0 && op->getNumOperands() && isWholeRow(op))
      phase += rowReductionsOf(op).size();
    if (isSelection(op))
      ++phase;
  }
  phaseCache[value] = phase;
  return phase;
}

void RowPlan::addStats(Operation &op) {
  if (isSelection(&op)) {
    int64_t phase = phaseOf(op.getOperand(0));
    rowSelections.push_back({&op, op.getOperand(0), phase});
    phases = std::max(phases, phase + 2);
  }
  SmallVector<RowReduction> kinds = rowReductionsOf(&op);
  if (kinds.empty() || reductionGroupOf(&op) != 0 || !isWholeRow(&op))
    return;
  int64_t phase = phaseOf(op.getOperand(0));
  for (RowReduction kind : kinds)
    rowStats.push_back({&op, op.getOperand(0), kind, phase++});
  phases = std::max(phases, phase + 1);
}

void RowPlan::addStore(unsigned index, Value value) {
  RowStore store;
  store.operand = kernel.getNumInputs() + index;
  store.value = value;
  store.op = nullptr;
  store.kind = StoreKind::Value;
  store.group = 0;
  Operation *op = value.getDefiningOp();
  auto isMember = [&](Operation *other) {
    return other->getBlock() == &body();
  };
  auto isGroupScale = [](Value scale) {
    Operation *def = scale.getDefiningOp();
    return def && reductionGroupOf(def) != 0 && scale == def->getResult(1);
  };
  bool isAlone = llvm::hasSingleElement(body().without_terminator());
  // Beside the codes that it belongs to, wherever it goes.
  if (op && isTransposedStore(op, isMember, isAlone) &&
      isGroupScale(op->getOperand(0))) {
    store.transposed = cast<TransposeOp>(op);
    store.value = value = op->getOperand(0);
    op = value.getDefiningOp();
  }
  Value space = value;
  if (auto write = dyn_cast_or_null<KVCacheWriteOp>(op)) {
    store.kind = StoreKind::CacheWrite;
    store.op = op;
    store.value = space = write.getValues();
  } else if (isGroupScale(value)) {
    store.kind = StoreKind::GroupScale;
    store.op = op;
    store.group = reductionGroupOf(op);
    space = op->getOperand(0);
  }
  if (op && isTransposedStore(op, isMember, isAlone)) {
    store.kind = StoreKind::Transposed;
    store.op = op;
    store.value = space = op->getOperand(0);
  }
  store.phase = phaseOf(value);
  phases = std::max(phases, store.phase + 1);
  auto pad = dyn_cast_or_null<PadOp>(op);
  DimName padded = pad ? dims.shape(value).back() : 0;
  DimName own = pad ? dims.shape(pad.getInput()).back() : 0;
  if (!pad || own <= 0 || padded <= own || !pad->hasOneUse() ||
      !pad.getValue().isZero()) {
    store.local =
        SmallVector<DimName>(dims.shape(space).drop_front(numRowDims()));
    rowStores.push_back(std::move(store));
    return;
  }
  store.value = pad.getInput();
  store.local =
      SmallVector<DimName>(dims.shape(store.value).drop_front(numRowDims()));
  RowStore zeros = store;
  zeros.kind = StoreKind::Padding;
  zeros.op = pad;
  zeros.local.back() = padded - own;
  rowStores.push_back(std::move(store));
  rowStores.push_back(std::move(zeros));
}

std::optional<int64_t> RowPlan::flatSize(ArrayRef<DimName> local) {
  int64_t size = 1;
  for (DimName dim : local) {
    if (dim < 0)
      return std::nullopt;
    size *= dim;
  }
  return size;
}

int64_t RowPlan::widest() const {
  int64_t widest = 1;
  for (const RowStore &store : rowStores) {
    std::optional<int64_t> size = flatSize(store.local);
    if (!size)
      return 0;
    widest = std::max(widest, *size);
  }
  for (const RowStat &stat : rowStats) {
    std::optional<int64_t> size =
        flatSize(dims.shape(stat.input).drop_front(numRowDims()));
    if (!size)
      return 0;
    widest = std::max(widest, *size);
  }
  for (const RowSelection &selection : rowSelections) {
    DimName size = dims.shape(selection.input).back();
    if (size < 0)
      return 0;
    widest = std::max(widest, size);
  }
  return widest;
}

bool RowPlan::movesColumns(const RowStore &store) const {
  if (store.kind != StoreKind::Transposed)
    return false;
  const ::hk::Target *target = targetOf(store.op);
  return target && ::hk::boundByIssue(*target) &&
         cast<TransposeOp>(store.op).movesColumns();
}

int64_t RowPlan::commonVec(int64_t limit) const {
  int64_t vec = limit;
  auto cut = [&](int64_t size) {
    while (vec > 1 && size % vec != 0)
      vec /= 2;
  };
  auto cutLast = [&](Value value) {
    ArrayRef<DimName> shape = dims.shape(value);
    if (int64_t(shape.size()) > numRowDims() && shape.back() > 1)
      cut(shape.back());
  };
  // What is selected is a few elements, and so are scales that only move or
  // are cast: stored by loops of their own.
  llvm::SmallPtrSet<Operation *, 8> selected, movedScales;
  auto isScale = [&](Value value) {
    Operation *def = value.getDefiningOp();
    return movedScales.contains(def) ||
           (def && !rowReductionsOf(def).empty() &&
            cast<OpResult>(value).getResultNumber() == 1);
  };
  for (Operation &op : body().without_terminator()) {
    auto rowwise = dyn_cast<RowwiseOpInterface>(op);
    if ((rowwise && rowwise.hasFewElements()) ||
        llvm::any_of(op.getOperands(), [&](Value operand) {
          return selected.contains(operand.getDefiningOp());
        })) {
      selected.insert(&op);
      continue;
    }
    if ((isMovement(&op) || isa<CastOp>(op)) && isScale(op.getOperand(0))) {
      movedScales.insert(&op);
      continue;
    }
    // Elements that are stored one by one are cut by nothing.
    if (llvm::any_of(rowStores, [&](const RowStore &store) {
          return store.op == &op && movesColumns(store);
        }))
      continue;
    if (auto write = dyn_cast<KVCacheWriteOp>(op)) {
      // Other layouts are stored element by element.
      if (write.getElementDims().back() + 1 ==
          dims.shape(write.getCache()).size())
        cutLast(write.getResult());
      continue;
    }
    for (Value result : op.getResults())
      // A scale has one element per group, not a row of its own.
      if (result.getType() == op.getResult(0).getType() ||
          op.getNumResults() == 1)
        cutLast(result);
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
        slice && !slice.getStaticOffsets().empty())
      cut(slice.getStaticOffsets().back());
    if (!rowwise)
      continue;
    if (int64_t group = rowwise.getReductionGroup())
      cut(group);
    for (int64_t size : rowwise.getVectorDivisors())
      cut(size);
    for (OpOperand &operand : op.getOpOperands())
      if (runsAlongLastDim(operand))
        cutLast(operand.get());
  }
  return vec;
}

bool RowPlan::isWholeRowOperand(BlockArgument argument) const {
  return isOfRows(argument) &&
         flatSize(dims.shape(argument).drop_front(numRowDims())) == widest();
}

/// What is computed with an element of a row may cost as much: eight at a time
/// take registers.
static constexpr int64_t kMostShiftedWork = 12;
/// Elements of a row from which on shifted chunks pay: on an H100 softmax of
/// 1001 took 14.6 us with them and 14.3 without, layer_norm of 1281 39.9 and
/// 42.1.
static constexpr int64_t kLeastShiftedWidth = 1024;

int64_t RowPlan::shiftedVec() const {
  int64_t width = widest(), vec = 16 / rowElementBytes();
  if (rowStats.empty() || !rowSelections.empty() || rowExchange ||
      rowElementBytes() != 2 || width % 2 == 0 || width < kLeastShiftedWidth ||
      workPerElement() > kMostShiftedWork)
    return 0;
  return hasPlainRows(/*halves=*/false, /*groupVec=*/0) ? vec : 0;
}

int64_t RowPlan::tailedVec(const ::hk::Target &target) const {
  int64_t width = widest(), vec = 16 / rowElementBytes();
  // Half a vector is two accesses in place of one, an element many; what is
  // computed of lanes that do not exist is lost.
  // A group costs each of its lanes an exchange and a scale.
  int64_t segment = segmentSize(), more = segment == 0 ? 4 : 2;
  bool pays = ::hk::boundByIssue(target) && width > vec &&
              more * commonVec(vec) <= vec &&
              5 * width >= 4 * int64_t(llvm::alignTo(width, vec));
  bool whole = rowSelections.empty() && !rowExchange;
  bool exchanged = segment % vec == 0 &&
                   (segment == 0 || llvm::isPowerOf2_64(segment / vec)) &&
                   segment / vec <= target.waveSize;
  return pays && whole && exchanged && hasPlainRows(/*halves=*/true, vec) ? vec
                                                                          : 0;
}

/// Whether `op` puts rows of memory in another order, each as it is.
static bool movesWholeRows(Operation *op) {
  auto transpose = dyn_cast<TransposeOp>(op);
  return transpose && isa<BlockArgument>(transpose.getInput()) &&
         !transpose.movesColumns();
}

/// Whether each of the groups of `op` is whole vectors of its row.
static bool hasGroupsOf(Operation *op, int64_t vec, DimName width) {
  auto isWhole = [&](int64_t group) {
    return groupInRow(group, width) % vec == 0;
  };
  if (int64_t group = reductionGroupOf(op))
    return isWhole(group);
  auto dequantize = dyn_cast<DequantizeOp>(op);
  return dequantize && !dequantize.getZeroPoint() &&
         dequantize.getScaleGroup() != 0 && isWhole(dequantize.getScaleGroup());
}

bool RowPlan::hasPlainRows(bool halves, int64_t groupVec,
                           bool packedInputs) const {
  int64_t width = widest();
  // Every value has a whole row or one element of it, and a position in a row
  // is the same everywhere.
  auto isPlain = [&](Value value) {
    ArrayRef<DimName> local = dims.shape(value);
    if (isOfRows(value) || isOfMovedRows(value))
      local = local.drop_front(numRowDims());
    SmallVector<DimName> own = withoutOnes(local);
    return own.empty() ||
           (own.size() == 1 && own[0] == width && local.back() != 1);
  };
  auto isOfHalves = [&](Value value) {
    return halves && isa<BlockArgument>(value) && isOfRows(value) &&
           withoutOnes(dims.shape(value).drop_front(numRowDims())) ==
               SmallVector<DimName>{2 * width};
  };
  for (Operation &op : body().without_terminator()) {
    auto constant = dyn_cast<ConstantOp>(op);
    auto gated = dyn_cast<GatedActivationOp>(op);
    bool gates =
        gated && !gated.getInterleaved() && isOfHalves(gated.getInput());
    bool groups = groupVec != 0 && hasGroupsOf(&op, groupVec, width);
    bool known = constant ? constant.getValue().isSplat()
                          : groups || isRecomputable(&op) || isWholeRow(&op) ||
                                movesWholeRows(&op);
    // Scales have an element for each group.
    auto operands = op.getOperands().drop_front(gates ? 1 : 0);
    auto results = op.getResults();
    if (!known || (!groups && llvm::any_of(op.getOpOperands(), isGathered)) ||
        !llvm::all_of(groups ? operands.take_front(1) : operands, isPlain) ||
        !llvm::all_of(groups ? results.take_front(1) : results, isPlain))
      return false;
  }
  bool plainStores = llvm::all_of(rowStores, [&](const RowStore &store) {
    bool packed = isPacked(getElementTypeOrSelf(store.value));
    return groupVec != 0 ? (store.kind == StoreKind::Value &&
                            (!packed || width % 2 == 0)) ||
                               store.kind == StoreKind::GroupScale
                         : store.kind == StoreKind::Value && !packed;
  });
  KernelOp owner = kernel;
  bool packed =
      llvm::any_of(body().getArguments().take_front(owner.getNumInputs()),
                   [](BlockArgument argument) {
                     return isPacked(getElementTypeOrSelf(argument));
                   });
  return plainStores && (!packed || packedInputs);
}

/// Largest group whose elements one thread computes.
static constexpr int64_t kMostGroupChunk = 16;

int64_t RowPlan::groupChunk(const ::hk::Target &target, int64_t vec) const {
  int64_t group = segmentSize(), width = widest();
  if (!::hk::boundByIssue(target) || needsWholeRows() || group < 2 ||
      group > kMostGroupChunk || width <= group || group % vec != 0 ||
      llvm::isPowerOf2_64(group / vec))
    return 0;
  bool oneGroup = llvm::all_of(body().without_terminator(), [&](Operation &op) {
    return rowReductionsOf(&op).empty() || reductionGroupOf(&op) == group;
  });
  bool ownPlaces = llvm::all_of(rowStores, [&](const RowStore &store) {
    return flatSize(store.local) == width && !store.transposed &&
           (store.kind == StoreKind::Value ||
            store.kind == StoreKind::GroupScale);
  });
  return oneGroup && ownPlaces &&
                 hasPlainRows(/*halves=*/false, /*groupVec=*/1,
                              /*packedInputs=*/true)
             ? group
             : 0;
}

int64_t mlir::hk::groupInRow(int64_t group, DimName last) {
  if (group == 0 || last <= 0)
    return group;
  return std::min<int64_t>(group, llvm::PowerOf2Ceil(uint64_t(last)));
}

int64_t RowPlan::segmentSize() const {
  int64_t segment = 0;
  for (Operation &op : body().without_terminator()) {
    if (rowReductionsOf(&op).empty())
      continue;
    DimName last = dims.shape(op.getOperand(0)).back();
    int64_t size = groupInRow(reductionGroupOf(&op), last);
    if (size == 0 && !isWholeRow(&op))
      size = last;
    if (size > 0)
      segment = segment == 0 ? size : std::min(segment, size);
  }
  return segment;
}

int64_t RowPlan::rowElementBytes() const {
  int64_t bytes = 4;
  for (BlockArgument arg : body().getArguments()) {
    auto type = cast<RankedTensorType>(arg.getType());
    int64_t bits = type.getElementTypeBitWidth();
    if (isa<FloatType>(type.getElementType()) && bits >= 16 &&
        type.getRank() > numRowDims())
      bytes = std::min(bytes, bits / 8);
  }
  return bytes;
}

int64_t RowPlan::workPerElement() const {
  int64_t work = 0;
  for (Operation &op : body().without_terminator()) {
    if (auto rowwise = dyn_cast<RowwiseOpInterface>(op))
      work += rowwise.getCost();
  }
  return work;
}

bool mlir::hk::computesAngles(Operation *op) {
  constexpr int64_t kElementary = 3; // RowwiseOpInterface::getCost
  auto rowwise = dyn_cast<RowwiseOpInterface>(op);
  return rowwise && rowwise.getCost() >= kElementary && isRecomputable(op) &&
         llvm::any_of(op->getUsers(), [&](Operation *user) {
           auto rope = dyn_cast<RopeOp>(user);
           return rope && (rope.getCos() == op->getResult(0) ||
                           rope.getSin() == op->getResult(0));
         });
}

int64_t RowPlan::workPerThread() const {
  int64_t work = 0;
  if (body().getOps<RopeOp>().empty())
    return work;
  for (Operation &op : body().without_terminator()) {
    auto rowwise = dyn_cast<RowwiseOpInterface>(op);
    if (!rowwise || isMovement(&op))
      continue;
    ArrayRef<DimName> shape = dims.shape(op.getResult(0));
    bool isOne = !rowDims.sizes.empty() &&
                 shape.take_front(numRowDims()) == ArrayRef(rowDims.sizes) &&
                 withoutOnes(shape.drop_front(numRowDims())).empty();
    if (isOne || computesAngles(&op))
      work += rowwise.getCost();
  }
  return work;
}

int64_t RowPlan::angleChunks(int64_t vec) const {
  int64_t chunks = 1;
  if (llvm::none_of(body().without_terminator(),
                    [](Operation &op) { return computesAngles(&op); }))
    return chunks;
  for (RopeOp rope : body().getOps<RopeOp>()) {
    int64_t head = dims.shape(rope.getInput()).back();
    SmallVector<const RowStore *> stores;
    for (const RowStore &store : rowStores)
      if (!store.local.empty() && store.local.back() == head)
        stores.push_back(&store);
    int64_t own = head / vec / (pairedHead(stores, int(vec)) ? 2 : 1);
    chunks = std::lcm(chunks, std::max<int64_t>(own, 1));
  }
  return chunks;
}

bool RowPlan::isOfRows(Value value) const {
  ArrayRef<DimName> shape = dims.shape(value);
  return int64_t(shape.size()) > numRowDims() &&
         shape.take_front(numRowDims()) == ArrayRef(rowDims.sizes);
}

bool RowPlan::isOfMovedRows(Value value) const {
  ArrayRef<DimName> shape = dims.shape(value);
  return isa<BlockArgument>(value) && int64_t(shape.size()) > numRowDims() &&
         llvm::all_of(value.getUsers(), movesWholeRows) &&
         std::is_permutation(shape.begin(), shape.begin() + numRowDims(),
                             rowDims.sizes.begin());
}

SmallVector<BlockArgument> RowPlan::statOperands() const {
  llvm::SmallPtrSet<Value, 16> seen;
  SmallVector<Value> pending;
  SmallVector<BlockArgument> operands;
  for (const RowStat &stat : rowStats)
    pending.push_back(stat.input);
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (Operation *op = value.getDefiningOp()) {
      if (op != rowExchange) // in LDS, not loaded
        llvm::append_range(pending, op->getOperands());
      continue;
    }
    if (isWholeRowOperand(cast<BlockArgument>(value)))
      operands.push_back(cast<BlockArgument>(value));
  }
  return operands;
}

int64_t RowPlan::statChunkBytes(int64_t vec) const {
  int64_t bits = 0;
  for (BlockArgument operand : statOperands())
    bits += vec *
            cast<RankedTensorType>(operand.getType()).getElementTypeBitWidth();
  return llvm::divideCeil(bits, 8);
}

double RowPlan::bitsPerElement(BlockArgument argument) const {
  auto type = cast<RankedTensorType>(argument.getType());
  if (type.getRank() <= numRowDims() || numRowDims() == 0)
    return 0;
  // Operands of other widths (both halves of a gate, scales) count by them.
  double width = double(widest());
  ArrayRef<DimName> local = dims.shape(argument);
  std::optional<int64_t> own = flatSize(local.drop_front(numRowDims()));
  double share = own && width > 0 ? double(*own) / width : 1;
  return type.getElementTypeBitWidth() * share;
}

double RowPlan::inputBitsPerElement() const {
  KernelOp owner = kernel;
  double bits = 0;
  for (BlockArgument arg :
       body().getArguments().take_front(owner.getNumInputs()))
    if (isOfRows(arg))
      bits += bitsPerElement(arg);
  return bits;
}

double RowPlan::sharedBitsPerElement() const {
  KernelOp owner = kernel;
  double bits = 0;
  for (BlockArgument arg :
       body().getArguments().take_front(owner.getNumInputs()))
    if (ArrayRef<DimName> shape = dims.shape(arg);
        !shape.empty() && !isOfRows(arg) && shape.back() == widest())
      bits += cast<RankedTensorType>(arg.getType()).getElementTypeBitWidth();
  return bits;
}

double RowPlan::bytesPerRowElement() const {
  double bits = 0;
  for (BlockArgument arg : body().getArguments())
    bits += bitsPerElement(arg);
  return std::max(1.0, bits / 8);
}

int64_t RowPlan::pairedHead(ArrayRef<const RowStore *> stores, int vec) const {
  if (needsWholeRows() || stores.empty())
    return 0;
  int64_t head = 0;
  for (Operation &op : body().without_terminator())
    if (auto rope = dyn_cast<RopeOp>(op)) {
      int64_t own = dims.shape(rope.getInput()).back();
      bool whole = rope.getStyle() == RopeStyle::neox &&
                   int64_t(rope.getRotarySize()) == own;
      if (!whole || (head != 0 && own != head))
        return 0;
      head = own;
    }
  for (const RowStore *store : stores)
    if (store->local.empty() || store->local.back() != head)
      return 0;
  if (head <= 0 || head % (2 * vec) != 0 || !pairsSegments(head, vec))
    return 0;
  // A few pairs leave more lanes idle than a partner that is loaded again costs
  // where the vector unit bounds.
  constexpr int64_t kLeastPairs = 4;
  const ::hk::Target *target = targetOf(kernel);
  bool few = vec > 1 && llvm::all_of(stores, [&](const RowStore *store) {
               std::optional<int64_t> flat = flatSize(store->local);
               return flat && *flat < kLeastPairs * 2 * vec;
             });
  return few && target && ::hk::boundByIssue(*target) ? 0 : head;
}

bool RowPlan::pairsAllHeads(int vec) const {
  SmallVector<const RowStore *> all;
  for (const RowStore &store : rowStores)
    all.push_back(&store);
  return pairedHead(all, vec) != 0;
}

bool RowPlan::pairsSegments(int64_t head, int vec) const {
  if (segmentSize() == 0)
    return true;
  const ::hk::Target *target = targetOf(kernel);
  int64_t lanes = head / (2 * vec);
  bool ofHeads = llvm::all_of(body().without_terminator(), [&](Operation &op) {
    return rowReductionsOf(&op).empty() ||
           (reductionGroupOf(&op) == 0 &&
            dims.shape(op.getOperand(0)).back() == head);
  });
  return ofHeads && target && ::hk::boundByIssue(*target) &&
         llvm::isPowerOf2_64(lanes) && lanes <= target->waveSize;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

int64_t RowPlan::chunkOf(const RowStore &store, int tileVec,
                         const ::hk::Target &target) const {
  if (tileVec == tailedVec(target) && flatSize(store.local) == widest())
    return tileVec;
  bool host = target.arch == ::hk::Arch::Host;
  SmallVector<const RowStore *> loop;
  for (const RowStore &other : rowStores)
    if (sameSpace(store.local, other.local))
      loop.push_back(&other);
  bool masked = false;
  int vec = loopVec(tileVec, host, store.local, loop, masked);
  if (int64_t group = groupChunk(target, vec))
    return group;
  return !host && pairedHead(loop, vec) ? 2 * vec : vec;
}

int64_t RowPlan::pieceOf(const RowStore &store, const ::hk::RowTile &tile,
                         const ::hk::Target &target) const {
  bool host = target.arch == ::hk::Arch::Host;
  int64_t threads = host ? 1 : tile.threadsPerRow();
  return threads * tile.slots * chunkOf(store, tile.vec, target);
}

SmallVector<DimName> mlir::hk::withoutOnes(ArrayRef<DimName> local) {
  SmallVector<DimName> result(local);
  llvm::erase(result, 1);
  return result;
}

bool mlir::hk::sameSpace(ArrayRef<DimName> a, ArrayRef<DimName> b) {
  if (withoutOnes(a) == withoutOnes(b))
    return true;
  std::optional<int64_t> size = RowPlan::flatSize(a);
  return size && size == RowPlan::flatSize(b);
}

int RowPlan::loopVec(int64_t tileVec, bool host, ArrayRef<DimName> space,
                     ArrayRef<const RowStore *> stores, bool &masked) const {
  int64_t vec = tileVec;
  bool flat = true, endsInOne = false, cutsGroups = false;
  auto cut = [&](ArrayRef<DimName> local) {
    SmallVector<DimName> own = withoutOnes(local);
    flat &= own.size() <= 1;
    endsInOne |= !own.empty() && local.back() == 1;
    if (own.empty())
      vec = 1; // one element a row: a vector would run into the next rows
    while (vec > 1 && !own.empty() && (own.back() < 0 || own.back() % vec != 0))
      vec /= 2;
  };
  cut(space);
  for (const RowStat &stat : rowStats) {
    ArrayRef<DimName> local = dims.shape(stat.input).drop_front(numRowDims());
    if (sameSpace(local, space))
      cut(local);
  }
  for (const RowStore *store : stores) {
    cut(store->local);
    if (store->kind != StoreKind::GroupScale)
      continue;
    cutsGroups |= store->group % tileVec != 0;
    while (vec > 1 && store->group % vec != 0)
      vec /= 2;
  }
  if (endsInOne || withoutOnes(space).empty())
    vec = 1;
  SmallVector<DimName> own = withoutOnes(space);
  bool dynamic = !own.empty() && own.back() < 0;
  bool wide = dynamic || RowPlan::flatSize(own).value_or(tileVec) > tileVec;
  // Where nothing else cuts it, a row that is no multiple of the vector ends in
  // a partial one.
  masked = flat && !endsInOne && !cutsGroups && wide && vec < tileVec &&
           (dynamic || (host && vec < 8));
  if (masked)
    return tileVec;
  // A byte has two elements of a packed type; other operators of the kernel may
  // be cut to single ones.
  for (const RowStore *store : stores)
    if (isPacked(getElementTypeOrSelf(store->value)))
      vec = std::max<int64_t>(vec, 2);
  return vec;
}
