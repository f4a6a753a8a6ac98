//===- AttentionPlan.h - What one attention kernel computes -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The facts of an attention kernel that tiles and emission share, read from its
// spec: its operands are block arguments, in whatever order fusion gave them.
// The spec is one hk.attention, or one for each segment of the keys (a cached
// prefix, the new tokens) and the hk.attention_combine of them.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_ATTENTION_ATTENTIONPLAN_H
#define HK_FAMILIES_ATTENTION_ATTENTIONPLAN_H

#include "hk/Contract/AttentionTiles.h"
#include "hk/Families/Family.h"
#include "hk/Runtime/ModuleAbi.h"

namespace mlir::hk {

class ArgumentsWriter;

/// Operand numbers of the kernel that all segments share; -1: absent. A result
/// that an epilogue stores is.
struct AttentionOperands {
  int64_t query, qOffsets = -1, qScale = -1, sink = -1;
  int64_t result = -1, lse = -1;
};

/// Keys that the queries see, how they lie and which of them, and the operand
/// numbers of what is about them; -1: absent.
struct AttentionSegment {
  AttentionOp op;
  int64_t key, value;
  int64_t kvOffsets = -1, kvLens = -1, blockTable = -1, tableOffsets = -1;
  int64_t kScale = -1, vScale = -1;
  SmallVector<int64_t> reads; // of the regions

  // Accessors of ops are not const.
  AttentionOp getOp() const { return op; }
  bool hasRegions() const {
    return !getOp().getScore().empty() || !getOp().getWeight().empty();
  }
};

class AttentionPlan {
public:
  /// Fails with an error when the body is not attention over block arguments.
  static FailureOr<AttentionPlan> create(KernelOp kernel);

  KernelOp getKernel() const { return kernel; }
  /// That of the first segment: what it says of queries holds for all.
  AttentionOp getOp() const { return segments.front().op; }
  ArrayRef<AttentionSegment> getSegments() const { return segments; }
  /// What all segments together give.
  Value getResult() const;
  const AttentionOperands &getOperands() const { return operands; }
  /// Whether something follows the result in the kernel, which then stores it
  /// as an epilogue says: AttentionOperands::result is absent.
  bool hasEpilogue() const { return !epilogue.empty(); }
  /// What the epilogue stores, by operand numbers of the kernel.
  ArrayRef<std::pair<int64_t, Value>> getEpilogue() const { return epilogue; }
  /// The quantisation with computed scales that ends it, or null.
  Operation *getQuantization() const { return quantization; }
  const ::hk::AttentionShape &getShape() const { return shape; }

  /// The type of what is multiplied; those in memory may be narrower.
  ::hk::DType getType() const { return shape.type; }
  ::hk::DType getOutType() const;
  int64_t getKeyHeads() const { return getOp().getNumKeyHeads(); }
  /// Query heads per key head.
  int64_t getGroup() const { return getOp().getNumHeads() / getKeyHeads(); }
  /// Size of a dim of an operand: a constant or a symbol of the kernel.
  DimName dim(int64_t operand, int64_t index) const;
  /// The dim of the kernel's operand that is dim `index` of the operator's.
  int64_t memoryDim(int64_t operand, int64_t index) const;
  /// Queries of one sequence, or of all ragged ones.
  DimName getQueries() const;
  /// Keys of one sequence, or of all ragged ones; not of paged ones.
  DimName getKeys(const AttentionSegment &segment) const;
  /// The number of keys, of pages if they lie in those; there is no tensor map
  /// of none.
  DimName getMappedRows(const AttentionSegment &segment) const;
  /// Whether tensor maps can describe the operands of this kernel for
  /// `target`, so that its warp-specialised loop applies.
  Verdict getBulkVerdict(const ::hk::Target &target) const;
  /// The shape, with what tiles of that loop and of streamed keys depend on.
  ::hk::AttentionShape getBulkShape(const ::hk::Target &target) const;
  /// The same of the loop for values that are columns of keys.
  Verdict getLatentVerdict(const ::hk::Target &target) const;
  /// Whether its keys may go straight into registers.
  Verdict getStreamVerdict(const ::hk::Target &target) const;
  /// Whether elements of a key, or of a value, lie apart.
  static bool isChunked(AttentionOp op);

private:
  explicit AttentionPlan(KernelOp kernel) : kernel(kernel) {}

  /// The operand that `value` is, perhaps through a transpose, or -1; notes
  /// when it is none.
  int64_t numberOf(Value value, bool &mapped);
  void addSegment(AttentionOp op, bool &mapped);
  void mapResults(YieldOp yield, bool &mapped);
  /// Whether each of `values` follows the result.
  bool mapEpilogue(ArrayRef<std::pair<int64_t, Value>> values);
  void describeShape();

  // Accessors of ops are not const.
  mutable KernelOp kernel;
  mutable AttentionCombineOp combine;
  SmallVector<AttentionSegment, 1> segments;
  SmallVector<std::pair<int64_t, Value>, 1> epilogue;
  Operation *quantization = nullptr;
  AttentionOperands operands = {};
  ::hk::AttentionShape shape = {};
  /// By operand number; memoryDim of each dim.
  llvm::SmallDenseMap<int64_t, SmallVector<int64_t>> permutations;
};

/// The narrowest type that holds queries, keys, values and, unless they are of
/// 8 bits, probabilities of all `ops` exactly, and that chips multiply;
/// nullopt: there is none.
std::optional<::hk::DType> multipliedType(ArrayRef<AttentionOp> ops);

/// What tiles of `op` depend on, before it has a kernel.
::hk::AttentionShape shapeOf(AttentionOp op);

/// Whether an attention may read an operand through `op`, the transpose of a
/// tensor, or store `result`, what its kernel gives, through `op`: heads in
/// front of tokens cost a stride, not a copy.
Verdict checkTakenTranspose(AttentionOp attention, Operation *op);
Verdict checkJoinedTranspose(Value result, TransposeOp op);

/// Most segments of a kernel: see makeRoom in
/// runtime/kernels/attention/matrix.h.
inline constexpr size_t kMostSegments = 4;
/// Whether what `combine` combines are segments that one kernel can walk over,
/// one after the other, for the same queries.
Verdict checkSegments(AttentionCombineOp combine);
/// Whether two groups may be one kernel of segments, each reading a tensor in
/// the order that the other does.
Verdict checkSameOrders(ArrayRef<Operation *> a, ArrayRef<Operation *> b);
/// Whether one walk over the keys of all segments is no slower than a launch
/// for each.
Verdict judgeSegments(ArrayRef<Operation *> a, ArrayRef<Operation *> b,
                      const ::hk::Target &target);
/// Whether fusion will make `op` one segment of a kernel with several.
bool isSegment(AttentionOp op);

/// Whether only a call knows how many keys its sequences have: then blocks take
/// equal runs of them (AttentionTile::blocks). Where all have the same number,
/// equal slices have fewer parts and are the faster ones.
bool takesRuns(AttentionOp op);

::hk::AttentionTile podOf(AttentionTileAttr tile);
/// Whether a tile is one of the warp-specialised loop of sm_90a, or of the one
/// for values that are columns of keys.
bool isWarpSpecialised(AttentionTileAttr tile);
bool isLatent(AttentionTileAttr tile);
/// Whether a tile is one of keys that go straight into registers.
bool isStream(const ::hk::Target &target, const ::hk::AttentionTile &tile);
/// Leaves out such a tile, the last of `tiles`, where it holds fewer rows than
/// there are and another one is there.
void dropStream(::hk::AttentionTileList &tiles, const ::hk::Target &target,
                int64_t rows);

/// What the loops of sm_90a that the copy engine feeds can compute of the forms
/// that the operator has; `loop` is the name of one.
Verdict checkMappedLoop(AttentionOp op, StringRef loop);
/// Whether the latent loop can compute `op`, whose rows are aligned to
/// `shape.align` bytes and whose result has elements of `outType`.
Verdict checkLatent(AttentionOp op, const ::hk::AttentionShape &shape,
                    ::hk::DType outType, const ::hk::Target &target);
/// The same of the warp-specialised loop.
Verdict checkBulk(AttentionOp op, const ::hk::AttentionShape &shape,
                  ::hk::DType outType, const ::hk::Target &target);
/// Whether the keys and values of `op` may go straight into the registers that
/// multiply them, beside few queries.
Verdict checkStream(AttentionOp op, const ::hk::AttentionShape &shape,
                    const ::hk::Target &target);
/// Whether a mask or scales take scalar registers for every score of a lane, so
/// that only the tile of few rows holds them.
bool takesScalars(AttentionOp op);
/// The tensor map of its keys.
hk_tensor_map_abi latentTensorMap(const AttentionPlan &kernel,
                                  AttentionTileAttr tile);

// Family entry points, one file each.
std::optional<SplitPlan> planAttentionSplit(AttentionOp op,
                                            const ::hk::Target &target,
                                            ArrayRef<int64_t> counts,
                                            SizeOf sizeOf);
void splitAttention(AttentionOp op, int64_t parts, OpBuilder &builder);
LogicalResult addAttentionVariants(KernelOp kernel, const ::hk::Target &target,
                                   DecisionLog &log);
SmallVector<hk_tensor_map_abi> attentionTensorMaps(KernelOp kernel,
                                                   AttentionTileAttr tile);
/// The tiles with blocks of `threads` threads that fit in the LDS, most rows
/// first, one for every number of rows.
SmallVector<::hk::AttentionTile> attentionTilesOf(const AttentionPlan &kernel,
                                                  const ::hk::Target &target,
                                                  int64_t threads);
/// See Family::getReaches.
SmallVector<Reach> attentionReaches(KernelOp kernel, AttentionTileAttr tile,
                                    const ::hk::Target &target);
/// See Family::getSharedThreads, getMicroseconds and getUnitShare.
SmallVector<int64_t> attentionSharedThreads(KernelOp kernel,
                                            const ::hk::Target &target);
double attentionVariantMicroseconds(KernelOp kernel, VariantOp variant,
                                    const ::hk::Target &target,
                                    ArrayRef<int64_t> dims);
double attentionVariantUnitShare(KernelOp kernel, VariantOp variant,
                                 const ::hk::Target &target,
                                 ArrayRef<int64_t> dims);
/// The fields of the spec, and of the arguments, that are about types in memory
/// and scales.
void emitNarrowSpec(const AttentionPlan &kernel,
                    const AttentionSegment &segment, raw_ostream &os);
void emitScaleArguments(
    const AttentionPlan &kernel, const AttentionSegment &segment,
    llvm::function_ref<std::string(unsigned, int64_t)> stride,
    llvm::function_ref<std::string(unsigned, int64_t)> size,
    ArgumentsWriter &fields);
/// Writes the spec of a segment and the function that reads its arguments from
/// the words of a launch; `number` is behind the names of both, `around` the
/// type of regions and epilogue, empty without any.
void emitAttentionSegment(const AttentionPlan &kernel,
                          const AttentionSegment &segment, StringRef number,
                          StringRef around, raw_ostream &os);
LogicalResult emitAttention(KernelOp kernel, const ::hk::Target &target,
                            StringRef prefix, raw_ostream &os);

} // namespace mlir::hk

#endif // HK_FAMILIES_ATTENTION_ATTENTIONPLAN_H
