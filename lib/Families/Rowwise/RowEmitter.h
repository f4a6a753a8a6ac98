//===- RowEmitter.h - The C++ of a row-wise kernel -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits one entry point per variant: phases of loops over the row, statistics
// in between. On a GPU a loop first loads what it needs for all of its slots,
// so that a thread has many loads in flight; what it loaded stays in registers
// as it came from memory.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_ROWWISE_ROWEMITTER_H
#define HK_FAMILIES_ROWWISE_ROWEMITTER_H

#include "RowLoop.h"
#include "RowPlan.h"

#include "hk/Contract/LdsRowwise.h"

#include "llvm/ADT/SmallPtrSet.h"

#include <list>
#include <map>
#include <set>
#include <vector>

namespace mlir::hk {

/// Whether the blocks of a kernel without statistics of whole rows also split
/// the row, in pieces of threads per row x slots x vec elements.
inline bool splitsRows(const RowPlan &plan) { return !plan.needsWholeRows(); }
/// Whether the next block of such a kernel has the next piece of a row, not the
/// same piece (grid y) of the next one. On an H200 gated activations are 4 %
/// faster so; with scales of groups or rotary pairs 2 to 10 % slower. Not
/// measured on AMD.
bool piecesFirst(const RowPlan &plan, const ::hk::Target &target);

inline ::hk::RowTile podOf(RowTileAttr tile) {
  return {int32_t(tile.getRows()), int32_t(tile.getThreads()),
          int32_t(tile.getVec()), int32_t(tile.getSlots()),
          int32_t(tile.getCluster())};
}

/// Chunks of a row that a thread keeps in registers and in LDS.
::hk::RowResidence residenceOf(const RowPlan &plan, const ::hk::RowTile &tile);
/// Whether a thread keeps more of a row than is unrolled, or only a part of it.
bool isResident(const RowPlan &plan, const ::hk::RowTile &tile);
/// LDS bytes of a kernel.
int64_t rowLds(const RowPlan &plan, const ::hk::Target &target,
               const ::hk::RowTile &tile);
/// LDS bytes of the selections of a kernel.
int64_t selectionLds(const RowPlan &plan, const ::hk::Target &target,
                     const ::hk::RowTile &tile);
/// LDS bytes of the sums over ranks of a row, and their member of its LDS.
int64_t exchangeLds(const RowPlan &plan);
std::string exchangeMemberText(const RowPlan &plan);
/// Defines the type `name` of a kernel's LDS.
std::string sharedText(const RowPlan &plan, const ::hk::Target &target,
                       const ::hk::RowTile &tile, StringRef name);

/// The strides of a kernel's operands, in elements, that all its launches pass
/// alike; dynamic if they do not, none for a kernel that nothing launches.
SmallVector<SmallVector<int64_t>> launchedStrides(KernelOp kernel);

/// A load of all slots of a loop.
struct BatchedLoad {
  RowLoop loop;
  std::string key, expression;
  std::string access; // template arguments: dtype, elements
  std::string guard;  // where it is not safe everywhere
  std::string keepAs; // where to store it too
};

/// Statements that ask for what will be loaded from known addresses: by each
/// row, and by the first one for all; bytes of the former.
struct Prefetches {
  std::vector<std::string> ofRow, ofAll;
  int64_t bytesOfRow = 0;
};

class RowEmitter : public Puller {
public:
  RowEmitter(KernelOp kernel, const RowPlan &plan, const DimSymbols &dims,
             const ::hk::Target &target, RowTileAttr tile, CodeWriter &out);

  /// The body of the kernel.
  void emitBody();
  /// What its loads wish for, on sm_90a.
  const Prefetches &getPrefetches() const { return prefetches; }
  /// What goes before it where that pays: asks for what will be loaded while
  /// the kernel before ends, and waits for that. Returns whether it pays.
  bool emitPrefetches(const Prefetches &wanted);

  Expr statistic(Operation *op, Value input, RowReduction kind, int64_t group,
                 ArrayRef<AffineExpr> leading, AffineExpr segment,
                 ArrayRef<AffineExpr> position, int vec) override;
  Expr keptGroups(GroupLimitOp op) override;

private:
  /// A value that may stay in registers for later phases. Its array is declared
  /// and set, in the places reserved for that, when one of them reads it.
  struct Kept {
    /// Of the chunk itself, then of other ones of the thread: what is pulled,
    /// and how it is read.
    SmallVector<std::pair<std::string, Expr>> chunks;
    CodeWriter::Place declared, set;
    std::string declare, assign;
    bool isRead = false;
  };
  /// Loops that run over the same elements of a row.
  struct Space {
    SmallVector<DimName> local; // without dims of size 1
    AffineExpr size;
    /// Symbols of the chunk number, by the depth of the loop.
    std::map<int, AffineExpr> chunks;
    std::list<Kept> kept; // references stay valid
  };
  void emitRowStart();
  void emitRowCoordinates();
  /// Of a row of shifted chunks: where it begins, and whether all operands do.
  void emitShift();
  /// Of a kernel whose blocks split rows: defines which piece is this block's.
  /// Returns the number of the block of rows.
  std::string emitPiece();
  void emitPhase(int64_t phase);
  RowLoop planLoop(const Space &space, ArrayRef<const RowStore *> stores) const;
  void planPiece(RowLoop &loop, std::optional<int64_t> flat) const;
  void repeatLastGroup(RowLoop &loop, std::optional<int64_t> flat) const;
  /// The loops over the parts of a row; one if it stays as a whole.
  SmallVector<RowLoop> planLoops(const Space &space,
                                 ArrayRef<const RowStore *> stores) const;
  /// Whether a loop that splits its row has a chunk for every thread, slot and
  /// block of the grid.
  bool fillsGrid(const RowLoop &loop) const;
  /// Whether no row is split between blocks.
  bool hasOnePiece() const;
  int64_t lineOf(const RowLoop &loop) const;
  /// Lanes around one that run the current loop's body together.
  int64_t callersOf(int64_t lanes) const;
  void emitLoops(Space &space, ArrayRef<RowLoop> loops,
                 ArrayRef<const RowStat *> stats,
                 ArrayRef<const RowStore *> stores);
  void emitLoop(Space &space, const RowLoop &loop,
                ArrayRef<const RowStat *> stats,
                ArrayRef<const RowStore *> stores);
  /// Declares, in the scope of a chunk, what pulls rely on.
  void enterLoop(Space &space, const RowLoop &loop);
  void emitSelection(const RowSelection &selection);
  /// The results of `topk` are in the variable `name`.
  void bindSelected(TopkOp topk, const std::string &name);
  /// Leaves the row's sums over ranks in LDS.
  void emitExchange();
  void emitAddend(StringRef name, AddOp add, AllReduceOp sum,
                  const Position &position, int vec, int64_t words);
  std::string emitScore(Space &space, Value input, const RowLoop &loop);
  void emitAccumulate(Space &space, const RowLoop &loop, const RowStat &stat,
                      AffineExpr first);
  void emitReductions(Space &space, const RowLoop &loop,
                      ArrayRef<const RowStat *> stats);
  /// Whether each wave first finds the sum of a softmax with a maximum of its
  /// own: one exchange between the waves, not two. Worth it between blocks;
  /// within one a barrier costs less than to rescale every wave's sum.
  bool isByWaves(const RowStat &stat, const RowLoop &loop) const;
  void emitSoftmaxByWaves(Space &space, const RowLoop &loop,
                          const RowStat &maximum);
  /// The LDS of the next `count` statistics.
  std::string scratch(int count);
  void emitStore(const RowStore &store, const Position &position, int vec);
  /// A store of a row or of a part of it, whose elements at `position` of the
  /// part's own are in `range`.
  void emitPart(const RowStore &store, Position position, int vec,
                std::pair<int64_t, int64_t> range);
  std::string slotOf(KVCacheWriteOp write, ArrayRef<AffineExpr> token);
  void emitCacheWrite(const RowStore &store, const Position &position, int vec);
  /// Stores vec elements one by one, each at `placeOf` its position.
  void
  storeByElement(const RowStore &store, const Position &position, int vec,
                 llvm::function_ref<Position(ArrayRef<AffineExpr>)> placeOf);
  /// The same where the elements are a stride apart, `first` the first of them.
  void storeAlong(const RowStore &store, const Position &first, int vec,
                  const Expr &value);
  Space &spaceOf(ArrayRef<DimName> local);
  /// `tag`: see key.
  void keep(Space &space, const RowLoop &loop, Value value, StringRef tag,
            const Expr &name);
  /// Whether what several phases use stays as numbers, not as it lies in
  /// memory: few elements, where unpacking takes more than registers are worth.
  bool keepsUnpacked(const RowLoop &loop) const;
  /// Whether the maximum and the sum of a softmax are found in one loop.
  bool isOnline(const RowStat &stat, const RowLoop &loop) const;

  bool votes() const override;
  /// Those of rows that are no number of their own (RowOfBlock).
  bool sharesOffset(Args indices) const override;
  std::string sharedOffset(const std::string &text) override;
  std::optional<int64_t> strideOf(unsigned operand, int64_t dim) const override;
  size_t denseRowDims(unsigned operand, Args position) const override;
  Expr load(BlockArgument argument, Args position, int vec) override;
  /// Such a load in the current loop.
  BatchedLoad batchedLoad(BlockArgument argument, Args position, int vec);
  int64_t alignment(unsigned operand, AffineExpr last, int vec) const override;
  /// Loads into an array in a place before a loop; null: before the current
  /// one.
  std::string preload(const BatchedLoad &load,
                      std::optional<CodeWriter::Place> place);
  /// Lets a load of the part in LDS store there what it read, or read it there.
  void useLds(BlockArgument argument, BatchedLoad &load);
  /// Notes a load of a whole row, for emitPrefetches.
  void notePrefetch(BlockArgument argument, Args position, int vec);
  void noteShiftedPrefetch(BlockArgument argument, int64_t elementBytes);
  /// Where the row of an operand of whole rows begins.
  std::string rowText(BlockArgument argument);
  /// Whether the expression is an index of the row.
  bool isOfRow(AffineExpr symbol) const;

  /// Row coordinates, then `flat` cut into the dims of `local`.
  Position positionOf(ArrayRef<DimName> local, AffineExpr flat);
  /// Whether all chunks of a thread lie at one place of heads of `size`, which
  /// element `flat` of the row is in: their angles are then found once.
  bool isOfThread(AffineExpr flat, DimName size) const;
  /// The stores of the current chunk, which is a group.
  void emitGroup(ArrayRef<const RowStore *> stores);
  /// The statistic of the current chunk's group, of the vectors that it is.
  Expr groupStatistic(Operation *op, Value input, RowReduction kind,
                      ArrayRef<AffineExpr> leading);
  /// Vector number `second` of the current chunk of a loop over heads.
  Position pairPosition(ArrayRef<DimName> local, const RowLoop &loop,
                        bool second);

  bool allGoOneWay(int64_t lanes, int vec);
  std::optional<int> segmentLanes(RowReduction kind, int64_t size,
                                  AffineExpr last, ArrayRef<AffineExpr> leading,
                                  AffineExpr segment, int64_t segmentSize,
                                  ArrayRef<AffineExpr> position, int vec);
  /// A chunk's part of a statistic of its segment.
  Expr reducedTerm(Operation *op, Value input, RowReduction kind,
                   ArrayRef<AffineExpr> position, int vec);
  /// Whether the vectors of a pair are a thread's part of the head at
  /// `leading`, whose lanes all get here; and its statistic.
  bool canPair(ArrayRef<AffineExpr> leading, int vec) const;
  Expr pairStatistic(Operation *op, Value input, RowReduction kind);
  Expr serialStatistic(Operation *op, Value input, RowReduction kind,
                       ArrayRef<AffineExpr> leading, AffineExpr segment,
                       int64_t size);
  /// The elements of a chunk that exist, or what changes no result.
  Expr onlyExisting(const Expr &term, StringRef reduction) const;

  const RowPlan &plan;
  const ::hk::Target &target;
  RowTileAttr tile;
  bool host;
  bool resident;
  bool shifted; // chunks begin where vectors of memory do
  bool tailed;  // the row's last chunk is partial, by a known number
  int64_t threadsPerRow;
  /// Strides of operands that all launches pass alike.
  SmallVector<SmallVector<int64_t>> strides;
  int rowDepth = 0;
  AffineExpr threadIndex; // in the row; not on the host
  AffineExpr shift;       // elements before the row in its first chunk
  SmallVector<AffineExpr> rowCoordinates;
  /// Offsets of the row in operands by what they are, and where they are named.
  std::map<std::string, std::string> rowOffsets;
  CodeWriter::Place rowOffsetPlace = 0;
  std::list<Space> spaces; // references stay valid
  /// Of whole rows.
  llvm::DenseMap<std::pair<Operation *, int>, Expr> rowStats;
  llvm::SmallPtrSet<const RowStore *, 8> stored;
  llvm::DenseMap<std::pair<Operation *, int>, Expr> accumulators;
  llvm::DenseMap<Operation *, Expr> keptGroupNames;
  int selectionCount = 0;
  int keepCount = 0;
  int reductions = 0;
  /// Of the loop being emitted.
  AffineExpr currentChunk;
  Position lastPosition;
  /// Of its pair, if it is one, both vectors.
  SmallVector<Position> pairPlaces;
  /// Where the vectors of its group begin.
  SmallVector<AffineExpr> groupPlaces;
  RowLoop current;
  int reducedVec = 1;
  int batchDepth = 0;
  /// Statements behind the loop over the slots.
  std::vector<std::string> afterChunks;
  int64_t batchWords = 0, earlyWords = 0;
  /// Before the first loop: loads of later ones that wait for nothing.
  std::optional<CodeWriter::Place> earlyLoads;
  /// The load that each operand in LDS is kept for.
  llvm::DenseMap<BlockArgument, std::string> ldsOwners;
  /// Arrays of loaded chunks by loop and load; those of strips end with it.
  std::map<std::string, std::string> preloads;
  int preloadCount = 0;
  /// Keys of those that the current loop introduced.
  std::set<std::string> ownPreloads;
  Prefetches prefetches;
};

} // namespace mlir::hk

#endif // HK_FAMILIES_ROWWISE_ROWEMITTER_H
