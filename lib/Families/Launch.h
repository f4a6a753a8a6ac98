//===- Launch.h - Variants and their grids ----------------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place that builds a variant's region: a family says with sizes when
// its tile is meant and how many blocks there are.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_LAUNCH_H
#define HK_FAMILIES_LAUNCH_H

#include "hk/Families/Family.h"

namespace mlir::hk {

/// Builds the sizes of a variant's grid from the dim symbols of its kernel. All
/// values are of type index; what is known at compile time is folded.
class LaunchBuilder {
public:
  /// `symbols` are the block arguments of the variant, one per dim symbol;
  /// `dims` may derive more names from them.
  LaunchBuilder(OpBuilder &builder, Location loc, ValueRange symbols,
                const DimSymbols &dims)
      : builder(builder), loc(loc), symbols(symbols), dims(dims) {}

  Value constant(int64_t value);
  /// The size of a name, or of a dim of a tensor in the kernel's body.
  Value size(DimName name);
  Value size(Value tensor, int64_t dim) { return size(dims.dim(tensor, dim)); }
  /// 1 of none.
  Value product(ArrayRef<DimName> names);
  /// The product of dims [begin, end) of `tensor`.
  Value product(Value tensor, int64_t begin, int64_t end) {
    return product(dims.shape(tensor).slice(begin, end - begin));
  }

  Value add(Value a, Value b);
  Value subtract(Value a, int64_t b);
  Value multiply(Value a, Value b);
  Value multiply(Value a, int64_t b) { return multiply(a, constant(b)); }
  Value divide(Value a, int64_t b);
  Value ceilDivide(Value a, Value b);
  Value ceilDivide(Value a, int64_t b) { return ceilDivide(a, constant(b)); }
  Value larger(Value a, Value b);
  Value smaller(Value a, Value b);
  Value atLeast(Value a, int64_t b) { return larger(a, constant(b)); }
  Value atMost(Value a, int64_t b) { return smaller(a, constant(b)); }
  /// Tiles of `each` of `total` places in sequences that `bounds` bounds cut
  /// (one more than there are): every sequence may end in a partly filled one,
  /// and so may what comes after the last bound. See device/ragged.h.
  Value raggedTiles(Value total, int64_t each, Value bounds) {
    return add(divide(total, each), bounds);
  }

  /// Conditions, of type i1.
  Value always();
  Value isAtMost(Value a, Value b);
  Value isAtMost(Value a, int64_t b) { return isAtMost(a, constant(b)); }
  Value both(Value a, Value b);
  Value choose(Value condition, Value ifTrue, Value ifFalse);

  /// A grid that is always meant; null is 1.
  LaunchDims grid(Value x, Value y = nullptr, Value z = nullptr);

private:
  OpBuilder &builder;
  Location loc;
  ValueRange symbols;
  const DimSymbols &dims;
};

/// Appends an hk.variant named v<n> to `kernel`, whose dims are `dims`. `fill`
/// builds the condition and the grid.
VariantOp addVariant(KernelOp kernel, const DimSymbols &dims, Attribute tile,
                     int64_t threads, int64_t ldsBytes,
                     llvm::function_ref<LaunchDims(LaunchBuilder &)> fill);

} // namespace mlir::hk

#endif // HK_FAMILIES_LAUNCH_H
