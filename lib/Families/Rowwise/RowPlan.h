//===- RowPlan.h - What a row-wise kernel does, row by row -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The analysis behind matching, tiles and emission of the row-wise family.
//
// A kernel has row dims: the leading dims that everything in it shares. The
// other dims of a value are local. A statistic over a whole row is computed in
// a phase of its own; the phase of a value is the number of phases that must be
// over before it can be computed. Statistics of a part of a row (a head, a
// quantisation group) are computed in place.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_ROWWISE_ROWPLAN_H
#define HK_FAMILIES_ROWWISE_ROWPLAN_H

#include "Emission/Puller.h"

#include "hk/Analysis/LoopMaps.h"
#include "hk/Families/Decision.h"

namespace mlir::hk {

/// The row dims of a group of operators.
struct RowDims {
  SmallVector<DimName> sizes;
};

/// Whether `ops` (topologically ordered) can be one row-wise kernel, and its
/// row dims if so. `joining`, if any, is going to be the next of them.
Verdict matchRows(ArrayRef<Operation *> ops, const DimSymbols &dims,
                  RowDims &rows, Operation *joining = nullptr);

/// Whether the family knows `op` at all.
bool isRowwiseOp(Operation *op);

/// A statistic over a whole row.
struct RowStat {
  Operation *op;
  Value input;
  RowReduction kind;
  int64_t phase;
};

/// hk.topk or hk.group_limit, over the whole last dim.
struct RowSelection {
  Operation *op;
  Value input;
  int64_t phase;
};

/// Transposed: the value is the operand of an hk.transpose that moves rows.
/// Padding: the zeros behind the operand of an hk.pad, which is stored by
/// itself so that the loop over the row that computes it has it at hand.
enum class StoreKind : int32_t {
  Value,
  GroupScale,
  CacheWrite,
  Transposed,
  Padding
};

struct RowStore {
  unsigned operand; // of the kernel
  Value value;      // cache writes: the values written
  Operation *op;    // cache write, quantisation, transpose, pad; else null
  StoreKind kind;
  int64_t group;          // of a GroupScale
  TransposeOp transposed; // of a GroupScale whose place is another; or null
  int64_t phase;
  /// Sizes of the space this store iterates over.
  SmallVector<DimName> local;
  /// The first element of the last dim that is stored and the one behind the
  /// last, of a store of a part of a row; else zeros.
  std::pair<int64_t, int64_t> part = {0, 0};

  bool isPart() const { return part.second != 0; }
};

class RowPlan {
public:
  /// `kernel` has been matched.
  RowPlan(KernelOp kernel, const DimSymbols &dims);

  ArrayRef<DimName> rows() const { return rowDims.sizes; }
  int64_t numRowDims() const { return rowDims.sizes.size(); }
  ArrayRef<RowStat> stats() const { return rowStats; }
  ArrayRef<RowSelection> selections() const { return rowSelections; }
  /// The sum over ranks that the rows begin with, or null.
  AllReduceOp exchange() const { return rowExchange; }
  /// Whether a block must hold whole rows.
  bool needsWholeRows() const {
    return !rowStats.empty() || !rowSelections.empty() || rowExchange;
  }
  ArrayRef<RowStore> stores() const { return rowStores; }
  int64_t numPhases() const { return phases; }

  /// The number of elements in a local space: nullopt if dynamic.
  static std::optional<int64_t> flatSize(ArrayRef<DimName> local);
  /// Elements of the widest space; 0 if one is dynamic.
  int64_t widest() const;

  /// Whether a transposed store has each element of a vector at a place of its
  /// own, found by one address and steps (storeAlong).
  bool movesColumns(const RowStore &store) const;
  /// The largest power of two (at most `limit`) that divides every size and
  /// offset that positions are cut at.
  int64_t commonVec(int64_t limit) const;
  /// Elements of chunks that begin where vectors of memory do and not with the
  /// row (kernels/rowwise/shifted.h), where rows of an odd number of 16-bit
  /// elements allow that; 0: they do not.
  int64_t shiftedVec() const;
  /// Elements of chunks of which the row's last one is partial by a number that
  /// is known (kernels/rowwise/tails.h), where a chip that the vector unit
  /// bounds accesses vectors at any element and no larger part of one divides
  /// the row; 0: they do not.
  int64_t tailedVec(const ::hk::Target &target) const;
  /// Elements of chunks that are one group of a quantisation each, where lanes
  /// cannot share a group and the vector unit bounds: each thread reduces whole
  /// groups and computes their elements once; 0: chunks are vectors.
  int64_t groupChunk(const ::hk::Target &target, int64_t vec) const;
  /// Whether `argument` has a whole row for each row of the kernel.
  bool isWholeRowOperand(BlockArgument argument) const;
  /// Size of the segments that statistics are computed of in place; 0: none.
  int64_t segmentSize() const;
  /// Bytes of the smallest float element of two or more bytes that whole rows
  /// are read or written in.
  int64_t rowElementBytes() const;
  /// How much is computed with an element: about the number of operators, those
  /// with elementary functions counted more.
  int64_t workPerElement() const;
  /// The part of it that a thread of a rotary embedding does once for all of
  /// its chunks, if they lie at one place of their heads: positions of tokens
  /// and angles.
  int64_t workPerThread() const;
  /// Chunks of a head whose angles are computed, of which the threads of a row
  /// should be a multiple for that; else 1.
  int64_t angleChunks(int64_t vec) const;
  /// Bits read per element of a row, of its own operands and of those that all
  /// rows share, such as the weight of a norm.
  double inputBitsPerElement() const;
  double sharedBitsPerElement() const;
  /// Bytes moved per element of a row, about.
  double bytesPerRowElement() const;

  /// A loop over `stores` may take pairs of chunks, half a head apart, because
  /// rotary embedding needs both for each: the size of the head, or 0.
  int64_t pairedHead(ArrayRef<const RowStore *> stores, int vec) const;
  /// Whether one loop over all stores does.
  bool pairsAllHeads(int vec) const;

  /// Operands as wide as the row that statistics read, which later phases need
  /// again; and the bytes of a chunk of all of them.
  SmallVector<BlockArgument> statOperands() const;
  int64_t statChunkBytes(int64_t vec) const;

  /// The vector of a loop over `space`, with its statistics and `stores`;
  /// `masked`: the last one is partial.
  int loopVec(int64_t tileVec, bool host, ArrayRef<DimName> space,
              ArrayRef<const RowStore *> stores, bool &masked) const;
  /// Elements of a chunk in the loop that `store` is part of.
  int64_t chunkOf(const RowStore &store, int tileVec,
                  const ::hk::Target &target) const;
  /// Elements that `store` writes of the piece of a row that a block takes.
  int64_t pieceOf(const RowStore &store, const ::hk::RowTile &tile,
                  const ::hk::Target &target) const;

  /// The fused operators.
  Block &body() const {
    KernelOp owner = kernel;
    return owner.getSpecBlock();
  }

private:
  int64_t phaseOf(Value value);
  /// Whether the first dims of `value` are the row dims.
  bool isOfRows(Value value) const;
  /// The same in another order, in memory.
  bool isOfMovedRows(Value value) const;
  /// Bits of `argument` per element of a row.
  double bitsPerElement(BlockArgument argument) const;
  /// Whether every value has a whole row or one element of it, at the same
  /// place of the row everywhere, and none is packed. `halves`: a gate may have
  /// both of its operand's from memory. `groupVec`: groups of whole vectors of
  /// as many elements may have scales, and what is stored may be packed.
  /// `packedInputs`: operands may be packed, too.
  bool hasPlainRows(bool halves, int64_t groupVec,
                    bool packedInputs = false) const;
  void addStats(Operation &op);
  /// Whether statistics, if there are any, are of whole heads and can be
  /// reduced by lanes that have both vectors of a pair each.
  bool pairsSegments(int64_t head, int vec) const;
  void addStore(unsigned index, Value value);
  /// Makes a store of each part of a row whose parts take different ways
  /// (RowParts.cpp).
  void splitStores();
  /// Whether the statistics of `op` are of a whole row.
  bool isWholeRow(Operation *op) const;

  KernelOp kernel;
  const DimSymbols &dims;
  RowDims rowDims;
  SmallVector<RowStat> rowStats;
  SmallVector<RowSelection> rowSelections;
  AllReduceOp rowExchange;
  SmallVector<RowStore> rowStores;
  llvm::DenseMap<Value, int64_t> phaseCache;
  int64_t phases = 1;
};

/// Whether `op` is a transpose that moves the rows of its operand, made by the
/// same kernel, and is not read there: it is stored element by element. So is
/// any whose source has short rows (storesShortRows), also one that `isAlone`
/// in its kernel.
bool isTransposedStore(Operation *op,
                       llvm::function_ref<bool(Operation *)> isMember,
                       bool isAlone);

/// Whether `op` is an elementary function that makes the angles of a rotary
/// embedding.
bool computesAngles(Operation *op);

SmallVector<DimName> withoutOnes(ArrayRef<DimName> local);

/// Whether an element that is counted twice changes nothing.
inline bool mayRepeat(RowReduction kind) {
  return kind == RowReduction::AbsMaximum || kind == RowReduction::Maximum ||
         kind == RowReduction::Minimum;
}

/// The elements of a group of a row of `last`: a row that is one short group is
/// one of as many as the next power of two, so that fewer lanes exchange.
int64_t groupInRow(int64_t group, DimName last);
/// Whether one loop can serve both: the same number of elements.
bool sameSpace(ArrayRef<DimName> a, ArrayRef<DimName> b);

/// How many trailing dims of its first operand the reductions of `op` are of.
int64_t reducedDims(Operation *op);
/// Whether `op`, whose operand has `shape`, reduces whole rows of a kernel with
/// `numRows` dims of rows, and not segments of them.
bool reducesWholeRow(Operation *op, ArrayRef<DimName> shape, int64_t numRows);

} // namespace mlir::hk

#endif // HK_FAMILIES_ROWWISE_ROWPLAN_H
