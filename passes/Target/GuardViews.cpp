//===- GuardViews.cpp - Views lie inside of what they view ----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A view with a size or an offset that only the call tells could read outside
// of its tensor, or lose elements. Here, before fusion takes views into
// kernels, the function gets an hk.guard for everything a view demands that
// neither its types nor its operands prove. hk-place-outputs moves the guards
// to the shape function, which runs before any launch.
//
//===----------------------------------------------------------------------===//

#include "hk/Analysis/Alignment.h"
#include "hk/Analysis/DimSymbols.h"
#include "hk/Dialect/HK.h"
#include "hk/Passes/Entry.h"
#include "hk/Passes/Passes.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKGUARDVIEWS
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

namespace {
/// Builds the guards of the views of a function.
struct ViewGuards {
  func::FuncOp func;
  const DimSymbols &dims;
  OpBuilder b;
  Location loc;

  /// Fails where no call could be right.
  LogicalResult guardSlice(tensor::ExtractSliceOp slice);
  void guardExpand(tensor::ExpandShapeOp expand);

private:
  Value value(OpFoldResult size) {
    return getValueOrCreateConstantIndexOp(b, loc, size);
  }
  Value sizeOf(Value tensor, int64_t dim) {
    return value(tensor::getMixedSize(b, loc, tensor, dim));
  }
  void guard(GuardRelation relation, Value lhs, const Twine &lhsName, Value rhs,
             const Twine &rhsName) {
    GuardOp::create(b, loc, relation, lhs, rhs,
                    b.getStrArrayAttr({lhsName.str(), rhsName.str()}));
  }
  void guardLeast(OpFoldResult size, int64_t least, const Twine &name,
                  const Twine &leastName);
  std::string nameOf(Value tensor) const;
  bool isSizeOf(OpFoldResult size, Value tensor, int64_t dim) const;
  bool isProductOf(Value tensor, int64_t dim, ArrayRef<OpFoldResult> sizes,
                   ArrayRef<int64_t> group) const;
  Value endOf(Value offset, Value size, OpFoldResult stride);
};
} // namespace

/// A tensor as the caller knows it.
std::string ViewGuards::nameOf(Value tensor) const {
  Value root = rootOfViews(tensor);
  std::string name;
  if (auto argument = dyn_cast<BlockArgument>(root))
    name = argumentName(func, argument.getArgNumber());
  else
    name =
        "a result of " + root.getDefiningOp()->getName().getStringRef().str();
  return root == tensor ? name : "a view of " + name;
}

/// A size that is no dim of a tensor may be negative: it was subtracted from.
void ViewGuards::guardLeast(OpFoldResult size, int64_t least, const Twine &name,
                            const Twine &leastName) {
  auto computed = dyn_cast<Value>(size);
  if (!computed || getConstantIntValue(size))
    return; // the view's verifier has seen it
  if (isa_and_nonnull<tensor::DimOp>(computed.getDefiningOp()) && least == 0)
    return;
  guard(GuardRelation::ge, computed, name, value(b.getIndexAttr(least)),
        leastName);
}

/// Whether `size` is that of `dim` of `tensor`, by construction or because
/// another guard sees to it.
bool ViewGuards::isSizeOf(OpFoldResult size, Value tensor, int64_t dim) const {
  if (auto computed = dyn_cast<Value>(size); computed && dims.name(computed))
    return dims.name(computed) == dims.dim(tensor, dim);
  // Of a dynamic dim nothing checks a constant.
  return getConstantIntValue(size) ==
         cast<RankedTensorType>(tensor.getType()).getDimSize(dim);
}

/// offset + (size - 1) * stride + 1, one past the last element.
Value ViewGuards::endOf(Value offset, Value size, OpFoldResult stride) {
  if (isConstantIntValue(stride, 1))
    return b.createOrFold<arith::AddIOp>(loc, offset, size);
  Value one = value(b.getIndexAttr(1));
  Value steps = b.createOrFold<arith::SubIOp>(loc, size, one);
  steps = b.createOrFold<arith::MulIOp>(loc, steps, value(stride));
  Value last = b.createOrFold<arith::AddIOp>(loc, offset, steps);
  return b.createOrFold<arith::AddIOp>(loc, last, one);
}

/// A dim that is read backwards has to be so within a source of known size:
/// upstream checks the last index of a slice, but not that it is negative.
static LogicalResult checkBackwards(tensor::ExtractSliceOp slice, size_t dim,
                                    bool isStatic) {
  std::optional<int64_t> stride =
      getConstantIntValue(slice.getMixedStrides()[dim]);
  if (!stride || *stride >= 0)
    return success();
  if (!isStatic)
    return slice.emitOpError("expected the stride of dim ")
           << dim << " to be at least 1 where offset, size or source is "
           << "dynamic, but got " << *stride;
  int64_t first = *getConstantIntValue(slice.getMixedOffsets()[dim]);
  int64_t size = *getConstantIntValue(slice.getMixedSizes()[dim]);
  // Sizes are below 2^48, strides are not.
  if (size <= 1 || (*stride >= -first && first + (size - 1) * *stride >= 0))
    return success();
  return slice.emitOpError("expected slice of dim ")
         << dim << " to be in [0, " << slice.getSourceType().getDimSize(dim)
         << "), but got " << size << " indices from " << first
         << " on in steps of " << *stride;
}

LogicalResult ViewGuards::guardSlice(tensor::ExtractSliceOp slice) {
  Value source = slice.getSource();
  SmallVector<OpFoldResult> offsets = slice.getMixedOffsets(),
                            sizes = slice.getMixedSizes(),
                            strides = slice.getMixedStrides();
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    OpFoldResult offset = offsets[dim], size = sizes[dim],
                 stride = strides[dim];
    bool isStatic = getConstantIntValue(offset) && getConstantIntValue(size) &&
                    getConstantIntValue(stride) &&
                    !slice.getSourceType().isDynamicDim(dim);
    bool isWhole = isConstantIntValue(offset, 0) &&
                   isConstantIntValue(stride, 1) && isSizeOf(size, source, dim);
    if (failed(checkBackwards(slice, dim, isStatic)))
      return failure();
    if (isStatic || isWhole)
      continue;
    std::string what =
        " of a slice of " + nameOf(source) + " in dim " + std::to_string(dim);
    guardLeast(offset, 0, "the offset" + what, "the least offset");
    guardLeast(size, 0, "the size" + what, "the least size");
    guardLeast(stride, 1, "the stride" + what, "the least stride");
    guard(GuardRelation::le, endOf(value(offset), value(size), stride),
          "the end" + what, sizeOf(source, dim),
          nameOf(source) + " dim " + Twine(dim));
  }
  return success();
}

/// Whether dim `dim` of `tensor` was made by multiplying just these sizes.
bool ViewGuards::isProductOf(Value tensor, int64_t dim,
                             ArrayRef<OpFoldResult> sizes,
                             ArrayRef<int64_t> group) const {
  int64_t constant = 1;
  SmallVector<DimName, 2> factors;
  for (int64_t inner : group) {
    if (std::optional<int64_t> size = getConstantIntValue(sizes[inner])) {
      constant *= *size;
      continue;
    }
    std::optional<DimName> name = dims.name(cast<Value>(sizes[inner]));
    if (!name)
      return false;
    factors.push_back(*name);
  }
  DimName product = dims.dim(tensor, dim);
  if (factors.size() == 1 && constant == 1)
    return factors.front() == product;
  if (product >= 0)
    return false;
  const SizeExpr &made = dims.definition(-1 - product);
  SmallVector<DimName, 2> operands = made.operands;
  llvm::sort(operands);
  llvm::sort(factors);
  return made.kind == SizeExpr::Kind::Product && made.constant == constant &&
         operands == factors;
}

void ViewGuards::guardExpand(tensor::ExpandShapeOp expand) {
  Value source = expand.getSrc();
  SmallVector<OpFoldResult> sizes = expand.getMixedOutputShape();
  for (auto [dim, group] : llvm::enumerate(expand.getReassociationIndices())) {
    bool isStatic = llvm::all_of(group, [&](int64_t inner) {
      return !expand.getType().isDynamicDim(inner);
    });
    if ((isStatic && !expand.getSrcType().isDynamicDim(dim)) ||
        isProductOf(source, dim, sizes, group))
      continue;
    std::string from = nameOf(source);
    Value product = value(b.getIndexAttr(1));
    for (int64_t inner : group) {
      guardLeast(sizes[inner], 0,
                 "the size of dim " + Twine(inner) +
                     " of the expanded shape "
                     "of " +
                     from,
                 "the least size");
      product =
          b.createOrFold<arith::MulIOp>(loc, product, value(sizes[inner]));
    }
    guard(GuardRelation::eq, product,
          "the product of dims " + Twine(group.front()) + " to " +
              Twine(group.back()) + " of the expanded shape of " + from,
          sizeOf(source, dim), from + " dim " + Twine(dim));
  }
}

namespace {
struct HKGuardViews : ::mlir::hk::impl::HKGuardViewsBase<HKGuardViews> {
  using HKGuardViewsBase::HKGuardViewsBase;

  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (!func.isPublic() || func.isExternal())
        continue;
      Block &block = func.getBody().front();
      DimSymbols dims(block);
      SmallVector<Operation *> views;
      for (Operation &op : block)
        if (isa<tensor::ExtractSliceOp, tensor::ExpandShapeOp>(op))
          views.push_back(&op);
      for (Operation *op : views) {
        ViewGuards guards{func, dims, OpBuilder(op), op->getLoc()};
        if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
          if (failed(guards.guardSlice(slice)))
            return signalPassFailure();
        } else {
          guards.guardExpand(cast<tensor::ExpandShapeOp>(op));
        }
      }
    }
  }
};
} // namespace
