//===- PlaceStores.h - Stores of slices of a product -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A vector of columns of the product is stored into a result that holds some of
// them where its place in the result says, if it has one there.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_GEMM_PLACESTORES_H
#define HK_FAMILIES_GEMM_PLACESTORES_H

#include "ColumnPlaces.h"
#include "Emission/Puller.h"

namespace mlir::hk {

class PlaceStores {
public:
  /// `row`: the position in the product of the `vec` columns that begin at
  /// `column`, its last index; `columns`: of the product.
  PlaceStores(Puller &puller, const ColumnPlaces &places,
              ArrayRef<AffineExpr> row, int64_t columns, int vec)
      : puller(puller), places(places), row(row), column(row.back()),
        columns(columns), vec(vec) {}

  /// Stores what the columns are, and are followed by, in `value`, the result
  /// in kernel operand `operand`.
  void store(unsigned operand, Value value);

private:
  /// Where the vector is in `value` if its first column, counted from where
  /// `place` begins, is `first`; `guard` gets the conditions for it to be
  /// there.
  Position positionIn(Value value, const ColumnPlace &place, AffineExpr first,
                      std::string &guard);
  void storePlaced(unsigned operand, Value value, int64_t offset);
  void storeBeside(unsigned operand, Value piece, const ColumnPlace &heads,
                   Value result, int64_t offset);
  void storeAt(unsigned operand, Value value, const Position &at,
               int64_t offset, StringRef guard);

  Puller &puller;
  const ColumnPlaces &places;
  Position row;
  AffineExpr column;
  int64_t columns;
  int vec;
};

} // namespace mlir::hk

#endif // HK_FAMILIES_GEMM_PLACESTORES_H
