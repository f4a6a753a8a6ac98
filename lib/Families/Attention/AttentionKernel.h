//===- AttentionKernel.h - What one attention kernel computes -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The facts of an hk.attention that tiles and emission share, read from the
// kernel's spec: its operands are block arguments, in whatever order fusion
// gave them.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_ATTENTION_ATTENTIONKERNEL_H
#define HK_FAMILIES_ATTENTION_ATTENTIONKERNEL_H

#include "hk/Contract/AttentionTiles.h"
#include "hk/Families/Family.h"
#include "hk/Runtime/ModuleAbi.h"

namespace mlir::hk {

/// Operand numbers of the kernel; -1: absent.
struct AttentionOperands {
  int64_t query, key, value;
  int64_t qOffsets = -1, kvOffsets = -1, kvLens = -1, blockTable = -1;
  int64_t tableOffsets = -1, sink = -1;
  int64_t qScale = -1, kScale = -1, vScale = -1;
  SmallVector<int64_t> reads; // of the regions
  int64_t result, lse = -1;
};

class AttentionKernel {
public:
  /// Fails with an error when the body is not one hk.attention over block
  /// arguments.
  static FailureOr<AttentionKernel> create(KernelOp kernel);

  KernelOp getKernel() const { return kernel; }
  AttentionOp getOp() const { return op; }
  const AttentionOperands &getOperands() const { return operands; }
  const ::hk::AttentionShape &getShape() const { return shape; }

  /// The type of what is multiplied; those in memory may be narrower.
  ::hk::DType getType() const { return shape.type; }
  ::hk::DType getOutType() const;
  int64_t getKeyHeads() const { return op.getNumKeyHeads(); }
  /// Query heads per key head.
  int64_t getGroup() const { return op.getNumHeads() / getKeyHeads(); }
  /// Size of a dim of an operand: a constant or a symbol of the kernel.
  DimName dim(int64_t operand, int64_t index) const;
  /// The dim of the kernel's operand that is dim `index` of the operator's.
  int64_t memoryDim(int64_t operand, int64_t index) const;
  /// Whether hk.transpose stands between an operand and memory.
  bool isPermuted() const { return !permutations.empty(); }
  /// Queries of one sequence, or of all ragged ones.
  DimName getQueries() const;
  /// Keys of one sequence, or of all ragged ones; not of paged ones.
  DimName getKeys() const;
  /// Whether tensor maps can describe the operands of this kernel for
  /// `target`, so that its warp-specialised loop applies.
  Verdict getBulkVerdict(const ::hk::Target &target) const;
  /// Whether elements of a key, or of a value, lie apart.
  static bool isChunked(AttentionOp op);

private:
  AttentionKernel(KernelOp kernel, AttentionOp op) : kernel(kernel), op(op) {}

  // Accessors of ops are not const.
  mutable KernelOp kernel;
  mutable AttentionOp op;
  AttentionOperands operands = {};
  ::hk::AttentionShape shape = {};
  /// By operand number; memoryDim of each dim.
  llvm::SmallDenseMap<int64_t, SmallVector<int64_t>> permutations;
};

/// The narrowest type that holds queries, keys, values and, unless they are of
/// 8 bits, probabilities exactly, and that chips multiply; nullopt: there is
/// none.
std::optional<::hk::DType> multipliedType(AttentionOp op);

/// Whether an attention may read an operand through `op`, the transpose of a
/// tensor, or store its result through it: heads in front of tokens cost a
/// stride, not a copy.
Verdict checkTakenTranspose(AttentionOp attention, Operation *op);
Verdict checkJoinedTranspose(AttentionOp attention, Operation *op);

/// Whether a tile is one of the warp-specialised loop of sm_90a.
bool isWarpSpecialised(AttentionTileAttr tile);

// Family entry points, one file each.
std::optional<SplitPlan> planAttentionSplit(AttentionOp op,
                                            const ::hk::Target &target,
                                            ArrayRef<int64_t> counts);
void splitAttention(AttentionOp op, int64_t parts, OpBuilder &builder);
LogicalResult addAttentionVariants(KernelOp kernel, const ::hk::Target &target,
                                   DecisionLog &log);
SmallVector<hk_tensor_map_abi> attentionTensorMaps(KernelOp kernel,
                                                   AttentionTileAttr tile);
/// The tiles with blocks of `threads` threads that fit in the LDS, most rows
/// first, one for every number of rows.
SmallVector<::hk::AttentionTile> attentionTilesOf(const AttentionKernel &kernel,
                                                  const ::hk::Target &target,
                                                  int64_t threads);
/// See Family::getSharedThreads and getMicroseconds.
SmallVector<int64_t> attentionSharedThreads(KernelOp kernel,
                                            const ::hk::Target &target);
double attentionVariantMicroseconds(KernelOp kernel, VariantOp variant,
                                    const ::hk::Target &target,
                                    ArrayRef<int64_t> dims);
/// The fields of the spec, and of the arguments, that are about types in memory
/// and scales.
void emitNarrowSpec(const AttentionKernel &kernel, raw_ostream &os);
void emitScaleArguments(
    const AttentionKernel &kernel,
    llvm::function_ref<std::string(unsigned)> address,
    llvm::function_ref<std::string(unsigned, int64_t)> stride,
    llvm::function_ref<std::string(unsigned, int64_t)> size, raw_ostream &os);
/// Writes `struct Regions`, the functors of score and weight.
void emitAttentionRegions(const AttentionKernel &kernel, raw_ostream &os);
LogicalResult emitAttention(KernelOp kernel, const ::hk::Target &target,
                            StringRef prefix, raw_ostream &os);

} // namespace mlir::hk

#endif // HK_FAMILIES_ATTENTION_ATTENTIONKERNEL_H
