//===- RowEmitter.h - The C++ of a row-wise kernel -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits one entry point per variant: phases of loops over the row, statistics
// in between.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_ROWWISE_ROWEMITTER_H
#define HK_FAMILIES_ROWWISE_ROWEMITTER_H

#include "RowPlan.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallSet.h"

#include <list>

namespace mlir::hk {

/// Whether the blocks of a kernel without statistics of whole rows also split
/// the row: grid y counts pieces of threads per row x slots x vec elements.
inline bool splitsRows(const RowPlan &plan) { return !plan.needsWholeRows(); }

/// LDS bytes of the selections of a kernel.
int64_t selectionLds(const RowPlan &plan, const ::hk::Target &target,
                     const ::hk::RowTile &tile);
/// Defines the type `name` of a kernel's LDS.
std::string sharedText(const RowPlan &plan, const ::hk::Target &target,
                       const ::hk::RowTile &tile, StringRef name);

class RowEmitter : public Puller {
public:
  RowEmitter(KernelOp kernel, const RowPlan &plan, const DimSymbols &dims,
             const ::hk::Target &target, RowTileAttr tile, CodeWriter &out);

  /// The body of the kernel. `kept`: which of the values that could stay in
  /// registers between phases do; null: all of them.
  void emitBody(const llvm::SmallSet<int, 8> *kept);

  /// How many values could be kept.
  int numKeepCandidates() const { return keepCount; }

  std::string statistic(Operation *op, Value input, StatKind kind,
                        int64_t group, ArrayRef<AffineExpr> leading,
                        AffineExpr segment, ArrayRef<AffineExpr> position,
                        int vec) override;
  std::string keptGroups(GroupLimitOp op) override;

private:
  /// Loops that run over the same elements of a row.
  struct Space {
    SmallVector<DimName> local; // without dims of size 1
    AffineExpr size;
    AffineExpr chunk; // symbol of the chunk number
    /// Values that stay in registers from an earlier phase: memo key, name.
    SmallVector<std::pair<std::string, std::string>> kept;
    SmallVector<std::string> candidates;
  };

  /// How a loop over a space runs.
  struct LoopShape {
    int vec = 1;
    bool masked = false; // the last vector is partial
    std::optional<int64_t> chunks;
    std::string limit;     // the number of chunks in C++
    std::string index;     // type of a chunk number
    int64_t rounds = 0;    // chunks of a thread; 0 if dynamic
    bool unrolled = false; // values stay in registers, one per round
  };

  void emitRowStart();
  void emitPhase(int64_t phase);
  void emitLoop(Space &space, ArrayRef<const RowStat *> stats,
                ArrayRef<const RowStore *> stores);
  LoopShape shapeOf(Space &space, ArrayRef<const RowStore *> stores) const;
  /// Declares, in the scope of a chunk, what pulls rely on.
  void enterLoop(Space &space, const LoopShape &shape);
  void emitSelection(const RowSelection &selection);
  std::string emitScore(Space &space, Value input, const LoopShape &shape);
  void emitReductions(ArrayRef<const RowStat *> stats);
  void emitStore(const RowStore &store, AffineExpr flat, int vec);
  void emitCacheWrite(const RowStore &store, const Position &position, int vec);
  /// Stores vec elements one by one, each at `placeOf` its position.
  void
  storeByElement(const RowStore &store, const Position &position, int vec,
                 llvm::function_ref<Position(ArrayRef<AffineExpr>)> placeOf);
  Space &spaceOf(ArrayRef<DimName> local);
  void keep(Space &space, const std::string &memo, StringRef name, int vec);

  /// Row coordinates, then `flat` cut into the dims of `local`.
  Position positionOf(ArrayRef<DimName> local, AffineExpr flat);

  std::optional<int> segmentLanes(int64_t size, AffineExpr last,
                                  ArrayRef<AffineExpr> leading,
                                  AffineExpr segment, int64_t segmentSize,
                                  ArrayRef<AffineExpr> position, int vec);
  std::string serialStatistic(Operation *op, Value input, StatKind kind,
                              ArrayRef<AffineExpr> leading, AffineExpr segment,
                              int64_t size);

  const RowPlan &plan;
  const ::hk::Target &target;
  RowTileAttr tile;
  bool host;
  int64_t threadsPerRow;
  int rowDepth = 0;
  SmallVector<AffineExpr> rowCoordinates;
  std::list<Space> spaces; // references stay valid
  llvm::DenseMap<std::pair<Operation *, int>, std::string> rowStatNames;
  llvm::SmallPtrSet<const RowStore *, 8> stored;
  llvm::DenseMap<std::pair<Operation *, int>, std::string> accumulators;
  llvm::DenseMap<Operation *, std::string> keptGroupNames;
  int selectionCount = 0;
  const llvm::SmallSet<int, 8> *keptFilter = nullptr;
  int keepCount = 0;
  int reductions = 0;
  /// Of the loop being emitted.
  AffineExpr currentChunk;
  bool unrolledSlots = false;
};

} // namespace mlir::hk

#endif // HK_FAMILIES_ROWWISE_ROWEMITTER_H
