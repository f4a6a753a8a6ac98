//===- GemmPlan.h - What one matrix product kernel computes -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The facts that match, tiles and emit share: the product, how its operands lie
// in memory and are decoded, what its epilogue needs of a tile (paired columns,
// groups that share a scale), and how its scales apply.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_GEMM_GEMMPLAN_H
#define HK_FAMILIES_GEMM_GEMMPLAN_H

#include "hk/Analysis/LoopMaps.h"
#include "hk/Contract/CostGemm.h"
#include "hk/Families/Family.h"

#include <optional>

namespace mlir::hk {

/// How many columns may share a scale in a fused quantisation: lanes of eight
/// columns each, of one wave.
inline constexpr int64_t kGemmGroups[] = {32, 64, 128};
/// Columns of which an epilogue chooses one, and elements that may follow from
/// the choice.
inline constexpr int64_t kBestColumns[] = {16, 32, 64, 128};
inline constexpr int64_t kMostBehindBest = 8;
/// Behind more columns, or more of k, a launch of its own chooses as fast on
/// sm_90a: measured with 16 to 128 columns and 16 to 5120 of k
/// (benchmarks/results/h200-moe.md).
inline constexpr int64_t kMostBestColumnsSm90 = 64, kMostBestDepthSm90 = 512;

/// Columns that an epilogue has at a time where it needs whole vectors of them,
/// to choose one or to quantise.
inline int64_t wholeVector(const ::hk::Target &target) {
  return target.arch == ::hk::Arch::Host ? 16 : 8;
}

/// How a scale of the product applies.
enum class ScaleUse : int32_t {
  None,
  /// One factor per result element: per tensor, row or column.
  Outer,
  /// f32, of the partial sum of a block along k.
  AlongK,
  /// e8m0, of the elements.
  Elements,
};

enum class GemmSide : int32_t { Lhs, Rhs };

/// One side of the product as its kernel reads it.
struct GemmOperand {
  /// What lies in memory, and which of its dims is M (or N) and which K.
  Value data;
  int64_t row, k;
  /// hk.dequantize, hk.quantize_mx or hk.quantize that the kernel computes
  /// where it reads `data`, or null. A transpose is in `row`, `k` and `order`.
  Operation *decoder = nullptr;
  /// Scales of the elements, or null; their dims along M (or N) and K and how
  /// many elements of those share one. No dim: all do.
  Value scale;
  /// What is subtracted first (`offset`: added last), one element or of the
  /// scales' shape, or null; if it is a constant, its value instead.
  Value zeroPoint;
  std::optional<double> fixedZero;
  bool offset = false;
  std::optional<int64_t> scaleRow, scaleK;
  int64_t rowBlock = 0, kBlock = 0;
  /// Holds what is multiplied exactly.
  ::hk::DType result;
  /// Which rows of `data` are the product's, an operand names.
  bool gathered = false;
  /// A block's rows are every other one.
  bool alternates = false;
  /// The kernel begins at any k.
  bool anywhereInK = false;
  /// The dims of `data` that those of the product's operand are, where a
  /// transpose lies between the two; empty: the same.
  SmallVector<int64_t> order;

  /// The dim of `data` that is dim `dim` of the product's operand.
  int64_t memoryDim(int64_t dim) const {
    return order.empty() ? dim : order[dim];
  }

  bool isDecoded() const { return scale || decoder; }
  bool isKContiguous() const { return k > row; }
  ::hk::DType type() const;
};

struct GemmPlan {
  /// hk.matmul or hk.grouped_matmul.
  ProductOpInterface matmul;
  /// The gate over the two halves of the product's columns, or null.
  GatedActivationOp gated;
  /// The quantisation in groups of columns that ends the epilogue, or null.
  Operation *quantize = nullptr;
  /// The choice of the best column of a row, all of whose columns are in one
  /// tile, that ends the epilogue but for what is computed from it; or null.
  TopkOp best;
  /// Of each side, what makes its operand and is computed by the kernel, or
  /// null.
  Operation *decoders[2] = {nullptr, nullptr};

  /// Columns that share a scale of `quantize`; 0: there is none.
  int64_t quantizedGroup() const {
    return quantize ? reductionGroupOf(quantize) : 0;
  }
  /// Columns that the epilogue needs together; 0: none do.
  int64_t columnsTogether() {
    return best ? tensorType(best.getInput()).getShape().back()
                : quantizedGroup();
  }
  /// Whether `value` is one of the elements of `best`, or computed from them by
  /// operators of the group.
  bool isBehindBest(Value value,
                    llvm::function_ref<bool(Operation *)> isMember) const;
  bool isPair() { return static_cast<bool>(gated); }
  /// Whether the columns of a pair alternate.
  bool alternates() { return gated && gated.getInterleaved(); }
  /// The product if rows or k come in groups, or null.
  GroupedMatmulOp grouped() {
    return dyn_cast<GroupedMatmulOp>(matmul.getOperation());
  }
  /// Whether groups begin anywhere along k.
  bool groupsK() { return grouped() && grouped().getAlongK(); }
  GemmOperand operand(GemmSide side);
  /// How the product's scale of a side applies.
  ScaleUse scaleUse(GemmSide side);
  bool hasScaleAlongK() {
    return scaleUse(GemmSide::Lhs) == ScaleUse::AlongK ||
           scaleUse(GemmSide::Rhs) == ScaleUse::AlongK;
  }
  /// The quantisation in groups along k of the left operand, if the kernel
  /// computes it, or null.
  QuantizeOp quantizedLhs() {
    return dyn_cast_or_null<QuantizeOp>(decoders[0]);
  }
  /// The dim of the product's scale of `operand` along its rows, if it has more
  /// than one.
  std::optional<int64_t> scaleRowDim(const GemmOperand &operand, Value scale);
  /// Whether `slices` of all batches may be more matrices than a grid's z.
  bool mayExceedGrid(int64_t slices);
};

/// Which dims of the left operand (and of the result) the kernel treats how.
struct GemmDims {
  /// Its size is M, or the size of the last batch dim where M is 1 and all
  /// batches share the right operand: then those are the rows of one product.
  int64_t row;
  SmallVector<int64_t> batch;
};
GemmDims gemmDims(ProductOpInterface op);

/// The tile as the kernels have it.
::hk::GemmTile podOf(GemmTileAttr tile);

/// The one product among `ops`, with its gate and quantisation.
GemmPlan describeGemm(ArrayRef<Operation *> ops);
GemmPlan describeGemm(KernelOp kernel);

/// The symbolic sizes of an operand, by the dims of the product's operand.
SmallVector<int64_t> productShape(KernelOp kernel, const GemmOperand &operand);

/// Whether the kernels have the element types.
Verdict verdictOf(ProductOpInterface op);

/// Bytes that are known to divide every k row (or m/n row) start and the
/// contiguous extent, given those of the row starts.
int64_t operandAlignment(Value operand, int64_t rowAlignment);
/// The same as the kernel relies on it, of `operand`.
int64_t operandAlignment(const GemmOperand &operand, int64_t rowAlignment);

/// Whether tensor maps can describe both operands, so that the loops of sm_90a
/// that copy with them apply; alignments as in shapeClassOf.
Verdict bulkVerdict(GemmPlan gemm, const ::hk::Target &target, int64_t alignA,
                    int64_t alignB);

/// Whether sm_90a can decode the right operand's 4-bit codes in registers
/// (skinny_codes); alignments as in shapeClassOf.
Verdict codesVerdict(GemmPlan gemm, const ::hk::Target &target, int64_t alignA,
                     int64_t alignB);

/// Whether the scaled matrix instruction takes both operands as they lie in
/// memory (microscaled); alignments as in shapeClassOf.
Verdict microscaledVerdict(GemmPlan gemm, const ::hk::Target &target,
                           int64_t alignA, int64_t alignB);

/// Whether two groups of waves in turns multiply it (ping_pong) where it has
/// many rows; alignments as in shapeClassOf.
Verdict pingPongVerdict(GemmPlan gemm, const ::hk::Target &target,
                        int64_t alignA, int64_t alignB);

/// Whether rows of `operand`, multiplied as `type`, are copied straight into
/// LDS; `rowAlignment` in bytes, of their starts.
Verdict copyVerdict(const GemmOperand &operand, ::hk::DType type,
                    const ::hk::Target &target, int64_t rowAlignment);

/// Tells the log which operands of a kernel take the slower way through
/// registers.
void noteStagedOperands(GemmPlan gemm, const ::hk::Target &target,
                        int64_t alignA, int64_t alignB, DecisionLog &log);

/// Bytes of an element of a tensor; half of one where two share a byte.
double bytesOf(Value value);

/// What the choice of a tile depends on. Alignments are those of the operands'
/// rows in bytes.
::hk::GemmShapeClass shapeClassOf(GemmPlan gemm, const ::hk::Target &target,
                                  int64_t alignA, int64_t alignB);
/// Of `kernel`, which says how rows are aligned and what its epilogue reads.
::hk::GemmShapeClass shapeClassOf(KernelOp kernel, GemmPlan gemm,
                                  const ::hk::Target &target);

/// The rows for which a kernel's tile is chosen that takes `rows` of a dynamic
/// number of them.
int64_t typicalRows(const ::hk::Target &target,
                    const ::hk::GemmShapeClass &shape, int64_t rows);

/// The sizes of a product for the model: `rows` rows, and what `sizeOf` says of
/// its other dims, each a constant or a dim symbol, and what is typical of it.
::hk::GemmSize
gemmSizeOf(KernelOp kernel, GemmPlan gemm, int64_t rows,
           llvm::function_ref<int64_t(int64_t name, int64_t typical)> sizeOf);

/// See Family::getReaches.
SmallVector<Reach> gemmReaches(KernelOp kernel, GemmTileAttr tile,
                               const ::hk::Target &target);

/// See Family::getSharedThreads and getMicroseconds.
SmallVector<int64_t> gemmSharedThreads(KernelOp kernel,
                                       const ::hk::Target &target);
double gemmVariantMicroseconds(KernelOp kernel, GemmTileAttr tile,
                               const ::hk::Target &target,
                               ArrayRef<int64_t> dims);

/// Whether a product that chooses the best column itself (`with`) is as quick
/// as one that leaves it to the launch behind, for any number of rows.
Verdict bestVerdict(GemmPlan with, GemmPlan without,
                    const ::hk::Target &target);

/// Whether some tile of `target` computes `gemm`; ignores alignment.
bool hasLegalTile(GemmPlan gemm, const ::hk::Target &target);

/// Family entry points, one file each.
Verdict canStartGemm(Operation *op, const FusionContext &context);
Verdict canJoinGemm(ArrayRef<Operation *> group, Operation *op,
                    const FusionContext &context);
Verdict canTakeInGemm(ArrayRef<Operation *> group, Operation *op,
                      const FusionContext &context);
std::optional<SplitPlan> planGemmSplit(MatmulOp op, const ::hk::Target &target,
                                       ArrayRef<int64_t> counts, SizeOf sizeOf);
void splitGemm(MatmulOp op, int64_t parts, OpBuilder &builder);
/// Whether codes that a product multiplies are decoded once, by a launch in
/// front of it: the plan's second candidate, which decodeApart() takes.
std::optional<SplitPlan>
planDecoding(DequantizeOp op, const ::hk::Target &target, SizeOf sizeOf);
void decodeApart(DequantizeOp op);
/// Whether `product`, of so many rows, decodes its right operand itself in a
/// loop that streams codes. Clusters share k there, and slices of k would take
/// the product to a loop that decodes slower.
bool streamsCodes(MatmulOp product, const ::hk::Target &target, int64_t rows);
/// A product as the model sees it.
struct ModelledProduct {
  ::hk::GemmShapeClass shape;
  ::hk::GemmSize size;
  ::hk::GemmTile tile;
  double microseconds;
};
/// The quickest tile for `rows` rows of one product whose operands are aligned.
ModelledProduct quickestProduct(GemmPlan gemm, const ::hk::Target &target,
                                int64_t rows);
LogicalResult addGemmVariants(KernelOp kernel, const ::hk::Target &target,
                              DecisionLog &log);
/// Whether the kernel's result is its product, rounded and nothing else.
bool onlyRounds(KernelOp kernel);
/// Whether a variant with `tile` rounds its result where the sums are: one of
/// 16 bits, for which the epilogue reads no other matrix, or one like it. The
/// copy engine stores it then, or of groups, which end anywhere, the kernel by
/// rows.
bool storesBoxes(KernelOp kernel, GemmTileAttr tile);
/// The other matrix that the epilogue of a kernel reads which storesBoxes(), if
/// any.
BlockArgument matrixInBoxes(KernelOp kernel);
/// Bytes from which on a launch has more tiles than the chip computes at once,
/// so that the link can work behind them; 0: the result cannot be sent.
int64_t leastSentByGemm(KernelOp kernel, const ::hk::Target &target);
/// Whether variants with `tile` send the result to the other rank.
bool sendsBoxes(KernelOp kernel, GemmTileAttr tile);
/// Whether the loop of a tile reads operands through tensor maps.
bool mapsOperands(KernelOp kernel, GemmTileAttr tile);
/// Maps of A, unless an order names its rows, B and, if the engine stores it,
/// the result and what is read where it is stored; of a loop that has them.
SmallVector<hk_tensor_map_abi> gemmTensorMaps(KernelOp kernel,
                                              GemmTileAttr tile);
LogicalResult emitGemm(KernelOp kernel, const ::hk::Target &target,
                       StringRef prefix, raw_ostream &os);

} // namespace mlir::hk

#endif // HK_FAMILIES_GEMM_GEMMPLAN_H
