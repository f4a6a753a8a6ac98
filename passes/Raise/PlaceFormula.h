//===- PlaceFormula.h - Elements as formulas of their place -----*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Graphs compute masks from positions: ranges, comparisons, gathers, prefix
// sums. Here the element at a place of such a tensor is derived as a formula of
// the place, for all sizes at once: a number, or a conjunction of conditions.
// What cannot be derived is a leaf, an element of a tensor that is there.
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_RAISE_PLACEFORMULA_H
#define HK_PASSES_RAISE_PLACEFORMULA_H

#include "hk/Analysis/DimSymbols.h"
#include "hk/Dialect/HK.h"

#include <map>

namespace mlir::hk::raise {

/// constant + sum of coefficient * variable. Variables from 0 on are
/// coordinates, those below 0 the sizes that are dim symbols of that name.
struct Affine {
  int64_t constant = 0;
  std::map<int64_t, int64_t> terms; // no zero coefficients

  Affine(int64_t constant = 0) : constant(constant) {}
  static Affine variable(int64_t number);
  /// A size: a constant or a dim symbol.
  static Affine size(DimName name) {
    return name >= 0 ? Affine(name) : variable(name);
  }
  std::optional<int64_t> getConstant() const;
  int64_t coefficient(int64_t variable) const;
  /// The coordinate that this is; nullopt if it is more than one.
  std::optional<int64_t> getCoordinate() const;
  /// Whether it is at least `least` for all coordinates and sizes, none of
  /// which is negative.
  bool isAtLeast(int64_t least) const;
  Affine operator+(const Affine &other) const;
  Affine operator*(int64_t factor) const;
  Affine operator-(const Affine &other) const { return *this + other * -1; }
  bool operator==(const Affine &other) const {
    return constant == other.constant && terms == other.terms;
  }
  /// With `value` in the place of `variable`.
  Affine substitute(int64_t variable, const Affine &value) const;
};

/// `atLeastZero` >= 0 or, with a table, table[index] != 0.
struct Condition {
  Affine atLeastZero;
  Value table;
  SmallVector<Affine> index;
};

struct Formula {
  enum class Kind { Unknown, Number, Real, Truth, Choice };
  Kind kind = Kind::Unknown;
  Affine number;
  double real = 0, otherwise = 0; // Choice: all conditions hold or not
  bool never = false;             // Truth: false everywhere
  SmallVector<Condition> all;     // Truth, Choice

  bool isUnknown() const { return kind == Kind::Unknown; }
  static Formula ofNumber(const Affine &number);
  static Formula ofReal(double real);
  static Formula truth(bool value);
  /// A truth value that is the same everywhere.
  std::optional<bool> getTruth() const;
};

/// The formulas of values of one block.
class PlaceFormulas {
public:
  /// Coordinate c runs over [0, sizes[c]).
  PlaceFormulas(const DimSymbols &dims, ArrayRef<DimName> sizes)
      : dims(dims), sizes(sizes) {}

  /// The element of `value` at `index`, one affine expression per dim.
  Formula at(Value value, ArrayRef<Affine> index) {
    return at(value, index, 0);
  }

private:
  Formula at(Value value, ArrayRef<Affine> index, int depth);
  Formula derive(Operation *op, ArrayRef<Affine> index, int depth);
  Formula ofView(Operation *op, ArrayRef<Affine> index, int depth);
  Formula ofSlice(tensor::ExtractSliceOp op, ArrayRef<Affine> index, int depth);
  Formula ofConcat(ConcatOp op, ArrayRef<Affine> index, int depth);
  Formula ofCumsum(CumsumOp op, ArrayRef<Affine> index, int depth);
  Formula ofGather(GatherElementsOp op, ArrayRef<Affine> index, int depth);
  Formula ofCompare(CompareOp op, ArrayRef<Affine> index, int depth);
  Formula ofSelect(SelectOp op, ArrayRef<Affine> index, int depth);
  Formula ofArithmetic(Operation *op, ArrayRef<Affine> index, int depth);
  Formula operand(Operation *op, unsigned i, ArrayRef<Affine> index, int depth);

  const DimSymbols &dims;
  SmallVector<DimName> sizes;
  int64_t steps = 0;
};

} // namespace mlir::hk::raise

#endif // HK_PASSES_RAISE_PLACEFORMULA_H
