//===- GemmMaps.cpp - Tensor maps of a matrix product ---------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What sm_90a's copy engine is told of the operands and, when it stores it, of
// the result: matrices of rows along k (of the result: along n), and the boxes
// that the loops in runtime/kernels/gemm/sm90 move.
//
//===----------------------------------------------------------------------===//

#include "Emission/ArgumentWords.h"
#include "GemmPlan.h"

#include "hk/Analysis/Alignment.h"
#include "hk/Analysis/LoopMaps.h"

using namespace mlir;
using namespace mlir::hk;

/// Rows and columns of a box of the result (gemm/sm90/box_epilogue.h).
static constexpr int64_t kStoreRows = 16, kStoreColumns = 64;

static unsigned argument(Value value) {
  return cast<BlockArgument>(value).getArgNumber();
}

namespace {
struct MapBuilder {
  ArgumentWords words;

  /// Of `operand`, which has the type of `value`; no matrixDim: one matrix.
  hk_tensor_map_abi build(unsigned operand, Value value, int64_t rowDim,
                          std::optional<int64_t> matrixDim, int64_t boxColumns,
                          int64_t boxRows) {
    RankedTensorType type = tensorType(value);
    hk_tensor_map_abi map = {};
    map.pointer = words.pointer(operand);
    map.dtype = uint8_t(*dtypeOf(type.getElementType()));
    map.columns = words.dimNumber(operand, type.getRank() - 1);
    map.rows = words.dimNumber(operand, rowDim);
    map.row_stride = words.strideNumber(operand, rowDim);
    map.matrices = {1, HK_NO_WORD};
    map.matrix_stride = map.row_stride;
    map.batches = map.batch_stride = {0, HK_NO_WORD};
    if (matrixDim) {
      map.matrices = words.dimNumber(operand, *matrixDim);
      map.matrix_stride = words.strideNumber(operand, *matrixDim);
    }
    map.box_columns = uint32_t(boxColumns);
    map.box_rows = uint32_t(boxRows);
    return map;
  }
};
} // namespace

/// Whether an epilogue would read it at places of its own for every element.
static bool isMatrix(Value operand) {
  ArrayRef<int64_t> shape = tensorType(operand).getShape();
  return llvm::count_if(shape, [](int64_t size) { return size != 1; }) > 1;
}

/// Whether `operand` lies like the kernel's first result, and boxes of both
/// have the same places.
static bool isLikeResult(KernelOp kernel, BlockArgument operand) {
  unsigned own = operand.getArgNumber(),
           result = unsigned(kernel.getNumInputs());
  Type element = tensorType(operand).getElementType();
  return (element.isBF16() || element.isF16()) &&
         kernel.getShapes()[own] == kernel.getShapes()[result] &&
         operandAlignment(operand, kernel.getAligns()[own]) >= 16;
}

namespace {
/// Operators of elements behind a product, where they are.
struct LightEpilogue {
  /// Whether they are all such, and read nothing but the product, rows, columns
  /// and `matrix`.
  bool isLight = true;
  /// Elementary functions among them.
  int64_t functions = 0;
  BlockArgument matrix;

  LightEpilogue(KernelOp kernel, GemmPlan gemm) {
    for (Operation &op : kernel.getSpecBlock().without_terminator()) {
      if (&op == gemm.matmul || isa<ConstantOp>(op))
        continue;
      isLight &= !isView(&op) && isElementwiseOrPairs(&op);
      constexpr int64_t kElementary = 3; // RowwiseOpInterface::getCost
      if (auto rowwise = dyn_cast<RowwiseOpInterface>(op))
        functions += rowwise.getCost() >= kElementary && !isMovement(&op);
      for (Value operand : op.getOperands())
        if (auto argument = dyn_cast<BlockArgument>(operand);
            argument && isMatrix(argument))
          add(kernel, gemm, argument);
    }
  }

private:
  void add(KernelOp kernel, GemmPlan gemm, BlockArgument argument) {
    isLight &= !gemm.grouped() && (!matrix || matrix == argument) &&
               isLikeResult(kernel, argument);
    matrix = argument;
  }
};
} // namespace

bool mlir::hk::mapsOperands(KernelOp kernel, GemmTileAttr tile) {
  GemmLoop loop = tile.getLoop();
  if (::hk::isGroupedSkinny(podOf(tile)))
    return false;
  if (::hk::isSwappedCodes(podOf(tile)))
    return !describeGemm(kernel).operand(GemmSide::Lhs).gathered;
  return loop == GemmLoop::warp_specialised || loop == GemmLoop::skinny ||
         loop == GemmLoop::streamed_codes || loop == GemmLoop::swapped;
}

bool mlir::hk::onlyRounds(KernelOp kernel) {
  GemmPlan gemm = describeGemm(kernel);
  return kernel.getSpecBlock().getTerminator()->getOperand(0) ==
             gemm.matmul.getResult() &&
         gemm.scaleUse(GemmSide::Lhs) != ScaleUse::Outer &&
         gemm.scaleUse(GemmSide::Rhs) != ScaleUse::Outer;
}

/// Elementary functions of a row of a tile of experts' products in boxes: with
/// 256, of gelu_tanh, a kernel has 200 KB of code (benchmarks/results/
/// h100-fusion.md).
static constexpr int64_t kMostUnrolled = 160;

/// Results of a tile that a lane computes, in columns of a row of it that a
/// lane with two columns of every eight has.
static int64_t unrolledColumns(KernelOp kernel, GemmTileAttr tile) {
  int64_t parts = describeGemm(kernel).isPair() ? 2 : 1;
  return ::hk::isSwappedWide(podOf(tile)) ? 2 * tile.getBm() / parts
                                          : tile.getBn() / parts;
}

bool mlir::hk::storesBoxes(KernelOp kernel, GemmTileAttr tile) {
  GemmPlan gemm = describeGemm(kernel);
  Operation *yield = kernel.getSpecBlock().getTerminator();
  int64_t columns = tile.getBn() / (gemm.isPair() ? 2 : 1);
  if (tile.getLoop() != GemmLoop::warp_specialised ||
      (::hk::isSwapped(podOf(tile)) && !::hk::isSwappedWide(podOf(tile))) ||
      yield->getNumOperands() != 1 || columns < kStoreColumns ||
      !LightEpilogue(kernel, gemm).isLight)
    return false;
  // What is computed of accumulators is unrolled, as they are registers. Blocks
  // of experts have a tile or two, and would wait for that much code most of
  // their time.
  if (gemm.grouped() &&
      LightEpilogue(kernel, gemm).functions * unrolledColumns(kernel, tile) >
          kMostUnrolled)
    return false;
  // The last box may store columns of the one before it again.
  if (columns % kStoreColumns != 0 &&
      (LightEpilogue(kernel, gemm).matrix || gemm.grouped()))
    return false;
  Type element = tensorType(yield->getOperand(0)).getElementType();
  int64_t align = kernel.getAligns()[kernel.getNumInputs()];
  return (element.isBF16() || element.isF16()) &&
         operandAlignment(yield->getOperand(0), align) >= 16;
}

BlockArgument mlir::hk::matrixInBoxes(KernelOp kernel) {
  return LightEpilogue(kernel, describeGemm(kernel)).matrix;
}

int64_t mlir::hk::leastSentByGemm(KernelOp kernel, const ::hk::Target &target) {
  GemmPlan gemm = describeGemm(kernel);
  if (gemm.grouped() || !gemmDims(gemm.matmul).batch.empty() ||
      matrixInBoxes(kernel))
    return 0;
  int64_t most = 0;
  for (VariantOp variant : kernel.getVariants())
    if (auto tile = cast<GemmTileAttr>(variant.getTile());
        storesBoxes(kernel, tile))
      most = std::max<int64_t>(most, tile.getBm() * tile.getBn() /
                                         (gemm.isPair() ? 2 : 1));
  constexpr int64_t kElementBytes = 2;
  return most == 0 ? 0 : most * target.computeUnits * kElementBytes + 1;
}

bool mlir::hk::sendsBoxes(KernelOp kernel, GemmTileAttr tile) {
  return kernel->hasAttr(kSendsAttrName) && storesBoxes(kernel, tile);
}

/// A, and the codes of B.
static SmallVector<hk_tensor_map_abi> streamedMaps(KernelOp kernel,
                                                   GemmTileAttr tile) {
  GemmPlan gemm = describeGemm(kernel);
  GemmOperand a = gemm.operand(GemmSide::Lhs), b = gemm.operand(GemmSide::Rhs);
  int64_t rowsB = tile.getBn() / (gemm.isPair() ? 2 : 1);
  int32_t bits = ::hk::info(b.type()).bits;
  int64_t depth = ::hk::streamedDepth(bits);
  bool swapped = tile.getLoop() == GemmLoop::swapped;
  MapBuilder maps{ArgumentWords(kernel)};
  return {
      maps.build(argument(a.data), a.data, a.row, std::nullopt,
                 depth / ::hk::streamedBoxes(bits),
                 swapped ? ::hk::kGroupBoxRows : tile.getBm()),
      maps.build(argument(b.data), b.data, b.row, std::nullopt, depth, rowsB)};
}

SmallVector<hk_tensor_map_abi> mlir::hk::gemmTensorMaps(KernelOp kernel,
                                                        GemmTileAttr tile) {
  GemmPlan gemm = describeGemm(kernel);
  if (!mapsOperands(kernel, tile))
    return {};
  bool decodes =
      gemm.operand(GemmSide::Rhs).type() != gemm.operand(GemmSide::Lhs).type();
  if (tile.getLoop() == GemmLoop::streamed_codes ||
      (tile.getLoop() == GemmLoop::swapped && decodes))
    return streamedMaps(kernel, tile);
  ProductOpInterface op = gemm.matmul;
  GemmDims dims = gemmDims(op);
  std::optional<int64_t> matrix;
  if (!dims.batch.empty())
    matrix = dims.batch.front();
  Value lhs = op.getLhs(), rhs = op.getRhs();
  bool sharedB = tensorType(rhs).getRank() == 2;
  std::optional<int64_t> matrixB = sharedB ? std::nullopt : matrix;
  if (gemm.grouped())
    matrixB = 0;
  // A box of B is half of a pair or, where a cluster shares B, what one of its
  // blocks brings of that.
  int64_t rowsB = tile.getBn() / (gemm.isPair() ? 2 : 1);
  // Clusters of groups' products share A.
  if (tile.getLoop() == GemmLoop::warp_specialised && !gemm.grouped())
    rowsB = ::hk::bulkBoxRows(int32_t(rowsB), tile.getCluster());
  MapBuilder maps{ArgumentWords(kernel)};
  SmallVector<hk_tensor_map_abi> result;
  // Rows that an order names are in no box, and few rows need none.
  if (!gemm.operand(GemmSide::Lhs).gathered &&
      !::hk::isGroupedStaged(podOf(tile)))
    result.push_back(
        maps.build(argument(lhs), lhs, dims.row, matrix, tile.getBk(),
                   gemm.grouped() ? ::hk::kGroupBoxRows : tile.getBm()));
  // Codes come by threads there.
  if (::hk::isSwappedCodes(podOf(tile)))
    return result;
  if (gemm.operand(GemmSide::Rhs).isKContiguous())
    result.push_back(maps.build(argument(rhs), rhs, op.getRhsDim(MatmulDim::N),
                                matrixB, tile.getBk(), rowsB));
  else
    result.push_back(maps.build(argument(rhs), rhs, op.getRhsDim(MatmulDim::K),
                                matrixB, ::hk::kBulkPanelColumns,
                                tile.getBk()));
  if (storesBoxes(kernel, tile) && !gemm.grouped()) {
    Value out = kernel.getSpecBlock().getTerminator()->getOperand(0);
    result.push_back(maps.build(unsigned(kernel.getNumInputs()), out, dims.row,
                                matrix, kStoreColumns, kStoreRows));
    if (BlockArgument read = matrixInBoxes(kernel))
      result.push_back(maps.build(read.getArgNumber(), read, dims.row, matrix,
                                  kStoreColumns, kStoreRows));
  }
  return result;
}

SmallVector<Reach> mlir::hk::gemmReaches(KernelOp kernel, GemmTileAttr tile,
                                         const ::hk::Target &target) {
  if (!::hk::readsAtOffsets(target))
    return {};
  GemmPlan gemm = describeGemm(kernel);
  ArgumentWords words(kernel);
  SmallVector<Reach> reaches;
  for (GemmSide side : {GemmSide::Lhs, GemmSide::Rhs}) {
    GemmOperand operand = gemm.operand(side);
    // Rows that an order names have addresses of their own; one loop makes them
    // from a stride of 32 bits.
    bool named = operand.gathered;
    if (named && tile.getLoop() != GemmLoop::ping_pong)
      continue;
    unsigned number = argument(operand.data);
    int64_t along = operand.isKContiguous() ? operand.row : operand.k;
    int64_t most = named                      ? 2
                   : !operand.isKContiguous() ? tile.getBk()
                   : side == GemmSide::Lhs    ? tile.getBm()
                   : operand.alternates       ? 2 * tile.getBn()
                                              : tile.getBn();
    reaches.push_back({words.dimNumber(number, along), most,
                       words.strideNumber(number, along),
                       ::hk::info(operand.type()).bits});
  }
  return reaches;
}
