//===- ColumnPlaces.h - Slices of a product and where they go -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product's columns may be heads, and slices of heads may be results of their
// own, alone or beside other tensors (the keys and values of an MLA prefill). A
// place says which columns of the product a value holds, dim by dim, so that
// whoever has a vector of columns knows where in the value it belongs, if it
// does. Pointwise operators keep the place of what they read.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_GEMM_COLUMNPLACES_H
#define HK_FAMILIES_GEMM_COLUMNPLACES_H

#include "hk/Dialect/HK.h"
#include "hk/Families/Family.h"

#include <optional>

namespace mlir::hk {

/// A dim of a value: a leading dim of the product, a size of 1, or a walk over
/// columns.
struct PlaceDim {
  /// The dim of the product; -1: a size of 1, or columns.
  int64_t leading = -1;
  /// Columns from one index to the next; 0: no columns.
  int64_t step = 0;

  bool operator==(const PlaceDim &other) const {
    return leading == other.leading && step == other.step;
  }
};

/// The value's columns begin at column `begin` of the product.
struct ColumnPlace {
  SmallVector<PlaceDim> dims;
  int64_t begin = 0;

  bool operator==(const ColumnPlace &other) const {
    return dims == other.dims && begin == other.begin;
  }
};

class ColumnPlaces {
public:
  ColumnPlaces(ProductOpInterface product, const DimSymbols &dims);

  /// Whether a kernel of the product can compute `op` behind its tile. Values
  /// that it does not read off the product have no place, and none is needed.
  Verdict add(Operation *op);

  /// Null: not of the product's columns only, or all of them where they are.
  const ColumnPlace *find(Value value) const;
  /// Whether `value` is, element by element, where the product is: also what is
  /// not read off its columns, or only through the rest of an epilogue.
  bool isWhole(Value value) const;

  /// A number that divides every run of columns and its begin.
  int64_t divisor() const;
  /// Whether columns come in whole vectors only, never one by one.
  bool needsVectors() const { return vectors; }

private:
  Verdict addPlaced(Operation *op);
  Verdict addSlice(tensor::ExtractSliceOp op);
  Verdict addReshape(Operation *op, Value source, Value result, bool expands,
                     ArrayRef<ReassociationIndices> groups);
  Verdict addTranspose(TransposeOp op);
  Verdict addConcat(ConcatOp op);
  Verdict addPointwise(Operation *op);
  Verdict addRope(RopeOp op);
  Verdict place(Value value, ColumnPlace place);

  ProductOpInterface product;
  const DimSymbols &dims;
  llvm::DenseMap<Value, ColumnPlace> places;
  int64_t runs = 64; // more than any vector
  bool vectors = false;
};

/// Columns of a head, the innermost dim that walks over runs of them; all
/// `columns` where there is none.
int64_t headWidth(const ColumnPlace &place, int64_t columns);

/// The piece of a concatenation that others are stored beside: the first with a
/// place.
Value placedPiece(ConcatOp op, const ColumnPlaces &places);

} // namespace mlir::hk

#endif // HK_FAMILIES_GEMM_COLUMNPLACES_H
