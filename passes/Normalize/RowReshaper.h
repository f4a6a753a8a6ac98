//===- RowReshaper.h - Another shape for the rows of an operator -*- C++ -*-==//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces an operator by one whose leading dims have another shape, with views
// of its operands in front and views of its results behind. A view that undoes
// the one before it disappears, so that views move through operators.
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_NORMALIZE_ROWRESHAPER_H
#define HK_PASSES_NORMALIZE_ROWRESHAPER_H

#include "Normalize/RowUses.h"
#include "hk/Analysis/DimSymbols.h"
#include "hk/Analysis/ResolveDims.h"
#include "mlir/IR/Builders.h"

namespace mlir::hk {

/// Dims `many`, in order, seen as the one dim `one`: their product.
struct RowShape {
  SmallVector<DimName> many;
  DimName one = 0;
};

class RowReshaper {
public:
  explicit RowReshaper(Block &block);
  ~RowReshaper();
  RowReshaper(const RowReshaper &) = delete;
  RowReshaper &operator=(const RowReshaper &) = delete;

  /// What `view`, a tensor.collapse_shape or expand_shape, does with leading
  /// dims; nullopt if nothing, if it only adds or drops dims of 1 behind the
  /// first, or if no dim is left that is not one of rows.
  std::optional<RowShape> rowShapeOf(Operation *view) const;

  /// Whether the rows of `op` may become one dim, or `shape.many`.
  bool canReshape(Operation *op, const RowShape &shape, bool flatten) const;

  /// Does it and erases `op`. Returns the operators next to the one that took
  /// its place, views first of all.
  SmallVector<Operation *> reshape(Operation *op, const RowShape &shape,
                                   bool flatten);

private:
  ArrayRef<DimName> shapeOf(Value value) const;
  /// Whether a size can be made from arguments.
  bool isKnown(DimName name) const;
  RankedTensorType typeOf(RankedTensorType type, const RowShape &shape,
                          int64_t first, bool flatten) const;
  Value viewBy(OpBuilder &builder, Location loc, Value value,
               ArrayRef<ReassociationIndices> groups, RankedTensorType type,
               ArrayRef<DimName> names);
  /// `value` with its rows from dim `first` on in their new shape.
  Value view(OpBuilder &builder, Value value, const RowShape &shape,
             int64_t first, bool flatten);
  /// The same where `value` is a view that gave them their present one.
  Value undo(OpBuilder &builder, Value value, const RowShape &shape,
             int64_t first, bool flatten);
  void simplify(Operation *user);
  Operation *rebuild(OpBuilder &builder, Operation *op, ValueRange operands,
                     const RowShape &shape, bool flatten);

  const DimSymbols dims;
  llvm::DenseMap<Value, SmallVector<DimName>> shapes; // of what was made
  Operation *anchor;                                  // sizes stand before it
  std::optional<DimResolver> sizes;
};

} // namespace mlir::hk

#endif // HK_PASSES_NORMALIZE_ROWRESHAPER_H
