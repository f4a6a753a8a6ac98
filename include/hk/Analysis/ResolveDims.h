//===- ResolveDims.h - Sizes as values -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes of any tensor of a block in terms of sizes of the block's arguments.
// Every symbol is computed once. Nothing refers to an intermediate tensor, so
// the operators that made it may disappear.
//
//===----------------------------------------------------------------------===//

#ifndef HK_ANALYSIS_RESOLVEDIMS_H
#define HK_ANALYSIS_RESOLVEDIMS_H

#include "hk/Analysis/DimSymbols.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

#include <functional>

namespace mlir::hk {

class DimResolver {
public:
  /// Gives the size of a dim of a block argument; by default tensor.dim.
  using ArgumentSize =
      std::function<Value(OpBuilder &, Location, Value argument, int64_t dim)>;

  /// `builder` stands where the sizes may be computed, for example at the start
  /// of the block; it is moved along.
  DimResolver(OpBuilder builder, Location loc, const DimSymbols &dims,
              ArgumentSize argumentSize = nullptr);

  /// Where sizes that the block computes in other ways are found; by default
  /// they are the block's own values.
  void setIndexSource(std::function<Value(Value)> source) {
    indexSource = std::move(source);
  }

  /// Makes dim `dim` of `tensor` the source of `name`, before its definition.
  void bind(DimName name, Value tensor, int64_t dim);

  /// A constant as an attribute, any other size as an index value.
  OpFoldResult get(DimName name);
  OpFoldResult get(Value tensor, int64_t dim) {
    return get(dims.dim(tensor, dim));
  }
  /// The same, always as a value.
  Value getValue(DimName name);
  Value getValue(Value tensor, int64_t dim) {
    return getValue(dims.dim(tensor, dim));
  }
  /// All sizes of `tensor`.
  SmallVector<OpFoldResult> getShape(Value tensor);

  /// One side of a guard.
  Value materialize(const SizeExpr &expr);

private:
  Value constant(int64_t value);
  OpBuilder builder;
  Location loc;
  const DimSymbols &dims;
  ArgumentSize argumentSize;
  std::function<Value(Value)> indexSource;
  llvm::DenseMap<int64_t, Value> symbols;
  llvm::DenseMap<int64_t, std::pair<Value, int64_t>> bound;
  llvm::DenseMap<int64_t, Value> constants;
};

} // namespace mlir::hk

#endif // HK_ANALYSIS_RESOLVEDIMS_H
