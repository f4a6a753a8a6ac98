//===- Alignment.cpp - What is known of addresses -------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A layout is tracked as divisors, in bits, of the base address and of every
// stride: divisors survive dynamic sizes and offsets.
//
//===----------------------------------------------------------------------===//

#include "hk/Analysis/Alignment.h"

#include "hk/Dialect/HK.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/TypeUtilities.h"

#include <numeric>

using namespace mlir;
using namespace mlir::hk;

bool mlir::hk::isView(Operation *op) {
  return op && isa<tensor::ExtractSliceOp, tensor::ExpandShapeOp,
                   tensor::CollapseShapeOp, tensor::CastOp>(op);
}

Value mlir::hk::viewSource(Operation *op) { return op->getOperand(0); }

Value mlir::hk::rootOfViews(Value value) {
  while (isView(value.getDefiningOp()))
    value = viewSource(value.getDefiningOp());
  return value;
}

namespace {
struct Divisors {
  int64_t base;                 // of the address of element 0
  SmallVector<int64_t> strides; // of each dim's stride
};
} // namespace

static constexpr int64_t kMaxBits = kMaxAlignment * 8;

static int64_t clampBits(int64_t bits) { return std::gcd(bits, kMaxBits); }

static int64_t elementBits(Type type) {
  std::optional<::hk::DType> dtype = dtypeOf(getElementTypeOrSelf(type));
  return dtype ? ::hk::info(*dtype).bits : 8;
}

/// Strides of a dense tensor whose innermost stride is `inner`.
static void denseStrides(ArrayRef<int64_t> shape, int64_t inner,
                         SmallVectorImpl<int64_t> &strides) {
  int64_t stride = inner;
  size_t first = strides.size();
  for (int64_t size : llvm::reverse(shape)) {
    strides.push_back(stride);
    if (!ShapedType::isDynamic(size) && size > 0)
      stride = clampBits(stride * std::gcd(size, kMaxBits));
  }
  std::reverse(strides.begin() + first, strides.end());
}

static Divisors divisorsOf(Value value) {
  Operation *op = value.getDefiningOp();
  auto type = cast<RankedTensorType>(value.getType());
  Divisors result;
  if (!isView(op)) {
    result.base = kMaxBits;
    denseStrides(type.getShape(), elementBits(type), result.strides);
    return result;
  }
  Divisors source = divisorsOf(viewSource(op));
  result.base = source.base;
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    for (size_t dim = 0; dim < source.strides.size(); ++dim) {
      int64_t offset = slice.getStaticOffsets()[dim];
      int64_t step = slice.getStaticStrides()[dim];
      int64_t stride = source.strides[dim];
      if (ShapedType::isDynamic(offset))
        result.base = std::gcd(result.base, stride);
      else if (offset != 0)
        result.base =
            std::gcd(result.base, stride * std::gcd(offset, kMaxBits));
      if (!ShapedType::isDynamic(step) && step > 0)
        stride = clampBits(stride * std::gcd(step, kMaxBits));
      if (!dropped.test(dim))
        result.strides.push_back(stride);
    }
    return result;
  }
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    for (auto [dim, group] : llvm::enumerate(expand.getReassociationIndices()))
      denseStrides(type.getShape().slice(group.front(), group.size()),
                   source.strides[dim], result.strides);
    // A scalar expanded to dims of size 1 has no group.
    result.strides.resize(type.getRank(), kMaxBits);
    return result;
  }
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    for (const ReassociationIndices &group : collapse.getReassociationIndices())
      result.strides.push_back(source.strides[group.back()]);
    return result;
  }
  result.strides = source.strides;
  return result;
}

int64_t mlir::hk::guaranteedAlignment(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return 1;
  Divisors divisors = divisorsOf(value);
  int64_t bits = divisors.base;
  for (int64_t dim = 0; dim + 1 < type.getRank(); ++dim)
    if (type.getDimSize(dim) != 1) // a dim of one element is never stepped
      bits = std::gcd(bits, divisors.strides[dim]);
  return std::max<int64_t>(bits / 8, 1);
}

bool mlir::hk::hasWholeRows(RankedTensorType type) {
  if (!isPacked(type.getElementType()))
    return true;
  return type.getRank() != 0 && !type.isDynamicDim(type.getRank() - 1) &&
         type.getShape().back() % 2 == 0;
}

/// Whether an address can be that of the first of these elements of 4 bits, and
/// those of the rows be, too. Rows of an odd size are read one element at a
/// time from the first, wherever they begin.
static bool beginsAtBytes(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  Divisors divisors = divisorsOf(value);
  bool odd = type.getRank() != 0 && !type.isDynamicDim(type.getRank() - 1) &&
             type.getShape().back() % 2 != 0;
  for (int64_t dim = 0; !odd && dim + 1 < type.getRank(); ++dim)
    if (type.getDimSize(dim) != 1 && divisors.strides[dim] % 8 != 0)
      return false;
  return divisors.base % 8 == 0;
}

std::optional<MemRefType> mlir::hk::layoutOfViews(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  Operation *op = value.getDefiningOp();
  MemRefType layout;
  if (!isView(op)) {
    layout = MemRefType::get(type.getShape(), type.getElementType());
    return layout;
  }
  std::optional<MemRefType> source = layoutOfViews(viewSource(op));
  if (!source)
    return std::nullopt;
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    layout = memref::SubViewOp::inferRankReducedResultType(
        type.getShape(), *source, slice.getMixedOffsets(),
        slice.getMixedSizes(), slice.getMixedStrides());
  } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    FailureOr<MemRefType> expanded = memref::ExpandShapeOp::computeExpandedType(
        *source, type.getShape(), expand.getReassociationIndices());
    if (failed(expanded))
      return std::nullopt;
    layout = *expanded;
  } else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    if (!memref::CollapseShapeOp::isGuaranteedCollapsible(
            *source, collapse.getReassociationIndices()))
      return std::nullopt;
    layout = memref::CollapseShapeOp::computeCollapsedType(
        *source, collapse.getReassociationIndices());
  } else {
    auto [strides, offset] = source->getStridesAndOffset();
    layout = MemRefType::get(
        type.getShape(), type.getElementType(),
        StridedLayoutAttr::get(type.getContext(), offset, strides));
    if (source->getLayout().isIdentity())
      layout = MemRefType::get(type.getShape(), type.getElementType());
  }
  if (isPacked(type.getElementType()) && !beginsAtBytes(value))
    return std::nullopt;
  if (layout.getRank() == 0)
    return layout;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(layout.getStridesAndOffset(strides, offset)) ||
      strides.back() != 1)
    return std::nullopt;
  return layout;
}
