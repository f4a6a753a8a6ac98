//===- GatedDeltaPlan.h - What a gated delta kernel computes ----*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is one operator of the gated delta rule, or a few that a block can
// compute one after the other (its steps), elementwise operators that make
// their operands, which are computed where they are read, and elementwise
// operators on their results. A plan says what an operator reads and writes in
// terms that all of them share.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_GATEDDELTA_GATEDDELTAPLAN_H
#define HK_FAMILIES_GATEDDELTA_GATEDDELTAPLAN_H

#include "hk/Contract/LdsGatedDelta.h"
#include "hk/Families/Family.h"

namespace mlir::hk {

/// How a kernel reads or writes a tensor at a token and head.
enum class GatedDeltaAccess {
  Scalar,  // [.., heads]
  Keys,    // [.., heads, keys], a vector of keys
  Columns, // [.., heads, n], the columns of a thread
  Row,     // [.., heads, chunk], four elements
  Head,    // [.., heads, values], a lane's part of a head
  States,  // [.., chunks, heads, keys, values], the columns of a thread
};

/// An operand or a result, by the name that the kernel template gives it.
struct GatedDeltaTensor {
  StringRef name;
  Value value;
  GatedDeltaAccess access;
};

struct GatedDeltaPlan {
  Operation *op = nullptr;
  /// The operators of the family in the kernel, this one among them.
  SmallVector<Operation *> steps;
  ::hk::GatedDeltaKernel kernel;
  StringRef templateName, header;
  /// The kernel on matrix units; empty: there is none.
  StringRef matrixName, matrixHeader;
  /// The kernel by warpgroups; empty: there is none.
  StringRef warpgroupName, warpgroupHeader;
  int64_t heads = 1, valueHeads = 1, keys = 1, values = 1;
  int64_t chunk = 0;
  /// Segments of a sequence; columns that have values of their own, where the
  /// others are of a transition matrix (0: all).
  int64_t segments = 1, fresh = 0;
  std::optional<double> scale, l2norm;
  /// Whether a token takes from its values what the state has for its keys.
  bool corrects = true;
  SmallVector<GatedDeltaTensor> reads, writes;
  /// Types that the definition rounds to on the way.
  Type keyType, valueType;
  Value offsets, state, newState, indices, initial;
  /// States in f32 at the edges of segments, operands or results.
  Value starts, transitions;
  bool keyMajor = true;
  /// The sums of decays, where the kernel makes them itself.
  Operation *sums = nullptr;
  /// What makes query, key and value, where the kernel convolves them itself.
  CausalConv1dOp convolution;
  /// Whether a block has whole heads: something needs a row of results, or
  /// moves them to another shape.
  bool wholeHeads = false;

  /// The plan of one of the family's operators; nullopt for another.
  static std::optional<GatedDeltaPlan> of(Operation *op);
  /// The plan of the first such operator among `ops`.
  static std::optional<GatedDeltaPlan> of(ArrayRef<Operation *> ops);
  /// A walk that gives the results of each chunk on the way.
  static GatedDeltaPlan of(ChunkStateOp states, ChunkOutputOp output);
  /// The plans of a kernel's steps, in order.
  static SmallVector<GatedDeltaPlan, 1> of(KernelOp kernel);

  bool hasOperand(StringRef name) const;
  /// Whether blocks with this tile multiply by warpgroups.
  bool usesWarpgroups(const ::hk::Target &target,
                      const ::hk::GatedDeltaTile &tile) const;
  /// The operand whose leading dims count tokens.
  Value lead() const { return op->getOperand(0); }
  /// Whether a block walks over the tokens of a sequence; else it has a chunk.
  bool walks() const {
    return kernel == ::hk::GatedDeltaKernel::Recurrent ||
           kernel == ::hk::GatedDeltaKernel::State ||
           kernel == ::hk::GatedDeltaKernel::Transition ||
           kernel == ::hk::GatedDeltaKernel::Scan;
  }
  /// Segments of a sequence that blocks walk: what the last one makes of a
  /// state nobody reads.
  int64_t segmentsOfBlocks() const {
    return kernel == ::hk::GatedDeltaKernel::Transition ? segments - 1
                                                        : segments;
  }
  /// What LDS depends on.
  ::hk::ChunkShape shape() const;
  /// Value heads of a block that has whole heads.
  int64_t headsPerBlock() const { return convolution ? valueHeads / heads : 1; }
  /// The result of a step that `value` is computed from; null for none.
  Value resultOf(Value value) const;
};

/// Whether `op` is an operator of the gated delta rule.
bool isGatedDelta(Operation *op);

/// Whether `cumsum` makes the decays of the plan's operator and a block that
/// has a chunk can do so.
bool takesSums(const GatedDeltaPlan &plan, CumsumOp cumsum);

/// Whether `op`, which reads a result of the recurrence or a view of one, can
/// be computed by blocks of whole heads where it is no pointwise operator.
Verdict joinsHeads(const GatedDeltaPlan &plan, Operation *op);

/// Whether `convolution` makes query, key and value of the recurrence among
/// `group`, which holds what lies between, each of its channels once.
Verdict takesConvolution(const GatedDeltaPlan &plan,
                         ArrayRef<Operation *> group,
                         CausalConv1dOp convolution, const DimSymbols &dims);

/// Completes the plan of a kernel with `members`.
void planHeads(GatedDeltaPlan &plan, ArrayRef<Operation *> members);

/// Blocks of a kernel that walks over tokens which share a head.
int64_t gatedDeltaSlices(const GatedDeltaPlan &plan, const ::hk::Target &target,
                         const ::hk::GatedDeltaTile &tile);

/// What a walk over a sequence would cost in segments of its own that begin at
/// once; nullopt for one that has no two chunks, or segments already.
std::optional<SplitPlan> planSegments(ChunkStateOp op,
                                      const ::hk::Target &target,
                                      ArrayRef<int64_t> counts, SizeOf sizeOf);
void splitInSegments(ChunkStateOp op, int64_t segments, OpBuilder &builder);

LogicalResult addGatedDeltaVariants(KernelOp kernel, const ::hk::Target &target,
                                    DecisionLog &log);
LogicalResult emitGatedDelta(KernelOp kernel, const ::hk::Target &target,
                             StringRef prefix, raw_ostream &os);

} // namespace mlir::hk

#endif // HK_FAMILIES_GATEDDELTA_GATEDDELTAPLAN_H
