//===- GemmCost.cpp - Modelled times of a product's variants --------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The model of hk/Contract/CostGemm.h, asked for sizes: for typical ones where
// a tile is chosen, for given ones where launches are compared.
//
//===----------------------------------------------------------------------===//

#include "GemmGroups.h"

#include "hk/Contract/Slices.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::hk;

/// Stands for an unknown number of columns or elements of k.
static constexpr int64_t kTypicalExtent = 4096;

static unsigned argument(Value value) {
  return cast<BlockArgument>(value).getArgNumber();
}
double mlir::hk::bytesOf(Value value) {
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  return ::hk::info(*dtypeOf(element)).bits / 8.0;
}

::hk::GemmShapeClass mlir::hk::shapeClassOf(KernelOp kernel, GemmPlan gemm,
                                            const ::hk::Target &target) {
  ArrayRef<int64_t> aligns = kernel.getAligns();
  ::hk::GemmShapeClass shape = shapeClassOf(
      gemm, target, aligns[argument(gemm.operand(GemmSide::Lhs).data)],
      aligns[argument(gemm.operand(GemmSide::Rhs).data)]);
  shape.readsMatrix = static_cast<bool>(matrixInBoxes(kernel));
  return shape;
}

::hk::GemmSize mlir::hk::gemmSizeOf(
    KernelOp kernel, GemmPlan gemm, int64_t rows,
    llvm::function_ref<int64_t(int64_t name, int64_t typical)> sizeOf) {
  GemmOperand a = gemm.operand(GemmSide::Lhs), b = gemm.operand(GemmSide::Rhs);
  SmallVector<int64_t> lhs = productShape(kernel, a);
  SmallVector<int64_t> rhs = productShape(kernel, b);
  ::hk::GemmSize size;
  size.m = std::max<int64_t>(rows, 1);
  size.k = sizeOf(lhs[gemm.matmul.getLhsDim(MatmulDim::K)], kTypicalExtent);
  int64_t slices = gemm.matmul.getNumSlices();
  if (slices > 1)
    size.k = ::hk::sliceLength(size.k, slices);
  // A pair of the product's columns makes one of the result.
  size.n = sizeOf(rhs[gemm.matmul.getRhsDim(MatmulDim::N)], kTypicalExtent);
  if (gemm.isPair())
    size.n /= 2;
  size.batches = slices;
  for (int64_t dim : gemmDims(gemm.matmul).batch)
    size.batches *= std::max<int64_t>(sizeOf(lhs[dim], 1), 1);
  size.bytesA = bytesOf(a.data);
  size.bytesB = bytesOf(b.data);
  size.bytesOut = bytesOf(gemm.matmul.getResult());
  return size;
}

ModelledProduct mlir::hk::quickestProduct(GemmPlan gemm,
                                          const ::hk::Target &target,
                                          int64_t rows) {
  constexpr int64_t kAligned = 16;
  ::hk::GemmShapeClass shape = shapeClassOf(gemm, target, kAligned, kAligned);
  auto extent = [](RankedTensorType type, int64_t dim) {
    return type.isDynamicDim(dim) ? kTypicalExtent : type.getDimSize(dim);
  };
  ProductOpInterface product = gemm.matmul;
  RankedTensorType lhs = tensorType(product.getLhs());
  RankedTensorType rhs = tensorType(product.getRhs());
  ::hk::GemmSize size = {};
  size.m = rows;
  size.n = extent(rhs, product.getRhsDim(MatmulDim::N));
  size.k = extent(lhs, product.getLhsDim(MatmulDim::K));
  size.batches = 1;
  size.bytesA = bytesOf(gemm.operand(GemmSide::Lhs).data);
  size.bytesB = bytesOf(gemm.operand(GemmSide::Rhs).data);
  size.bytesOut = bytesOf(product.getResult());
  ModelledProduct best = {shape, size, {}, std::numeric_limits<double>::max()};
  ::hk::GemmTileTable table = ::hk::gemmTiles(target);
  for (const ::hk::GemmTileRow &row : ArrayRef(table.rows, table.size)) {
    ::hk::GemmTile tile = ::hk::tileOf(row, target, shape);
    if (!::hk::gemmTileFits(row, target, shape) ||
        !::hk::gemmTileTakes(row, target, shape, size) ||
        ::hk::gemmLds(target, tile, shape) > target.ldsBytes)
      continue;
    double time = ::hk::gemmMicroseconds(target, tile, shape, size);
    if (time < best.microseconds) {
      best.tile = tile;
      best.microseconds = time;
    }
  }
  return best;
}

Verdict mlir::hk::bestVerdict(GemmPlan with, GemmPlan without,
                              const ::hk::Target &target) {
  RankedTensorType lhs = tensorType(with.matmul.getLhs());
  int64_t row = gemmDims(with.matmul).row;
  SmallVector<int64_t> counts = {1, 64, 512, 4096};
  if (!lhs.isDynamicDim(row))
    counts = {std::max<int64_t>(lhs.getDimSize(row), 1)};
  for (int64_t rows : counts) {
    double one = quickestProduct(with, target, rows).microseconds;
    double two = quickestProduct(without, target, rows).microseconds +
                 target.launchMicroseconds;
    if (one > two)
      return Verdict::refuse(
          Reason::CostlierFused,
          llvm::formatv("the best of the columns of {0} rows, chosen where a "
                        "block has all of them, takes {1:f1} us, in a launch "
                        "of its own {2:f1}",
                        rows, one, two)
              .str());
  }
  return Verdict::accept();
}

SmallVector<int64_t> mlir::hk::gemmSharedThreads(KernelOp kernel,
                                                 const ::hk::Target &target) {
  auto asked = kernel->getParentOfType<ModuleOp>()->getAttrOfType<StringAttr>(
      kGemmLoopAttrName);
  if (asked && asked.getValue() != stringifyGemmLoop(GemmLoop::blocks))
    return {};
  GemmPlan gemm = describeGemm(kernel);
  ::hk::GemmShapeClass shape = shapeClassOf(kernel, gemm, target);
  ::hk::GemmTileTable table = ::hk::gemmTiles(target);
  SmallVector<int64_t> threads;
  for (const ::hk::GemmTileRow &row : ArrayRef(table.rows, table.size)) {
    ::hk::GemmTile tile = ::hk::tileOf(row, target, shape);
    int64_t own = ::hk::gemmThreads(target, tile);
    if (row.loop == ::hk::GemmLoop::Blocks &&
        ::hk::gemmTileFits(row, target, shape) &&
        ::hk::gemmLds(target, tile, shape) <= target.ldsBytes &&
        !llvm::is_contained(threads, own))
      threads.push_back(own);
  }
  return threads;
}

double mlir::hk::gemmVariantMicroseconds(KernelOp kernel, GemmTileAttr tile,
                                         const ::hk::Target &target,
                                         ArrayRef<int64_t> dims) {
  GemmPlan gemm = describeGemm(kernel);
  auto sizeOf = [&](int64_t name, int64_t) {
    return SymShapeAttr::isSymbol(name) ? dims[SymShapeAttr::symbolOf(name)]
                                        : name;
  };
  SmallVector<int64_t> lhs = productShape(kernel, gemm.operand(GemmSide::Lhs));
  int64_t rows = sizeOf(lhs[gemmDims(gemm.matmul).row], /*typical=*/1);
  ::hk::GemmSize size =
      gemm.grouped()
          ? GroupGrid(kernel, gemm.grouped()).sizeOf(kernel, gemm, sizeOf)
          : gemmSizeOf(kernel, gemm, rows, sizeOf);
  ::hk::GemmTile own = podOf(tile);
  // Of groups' products a cluster shares A, which costs and saves no tiles.
  if (gemm.grouped())
    own.cluster = 1;
  return ::hk::gemmMicroseconds(target, own, shapeClassOf(kernel, gemm, target),
                                size);
}
