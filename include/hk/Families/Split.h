//===- Split.h - Cutting an operator into parts for more blocks -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a family tells hk-split of an operator: in how many parts it could cut
// the operator's reduction, and what each way would cost. The parts are an
// operator with partial results and one that combines them; both are base
// operators, so the second fuses with what follows.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_SPLIT_H
#define HK_FAMILIES_SPLIT_H

#include "hk/Dialect/HK.h"
#include "hk/Families/Decision.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace mlir::hk {

/// `parts` parts; 1 leaves the operator whole.
struct SplitCandidate {
  int64_t parts;
  double microseconds; // modelled
};

/// Dim `dim` of `value`.
struct TensorDim {
  Value value;
  int64_t dim;
};

/// The size of a dim where it is static or the caller assumes one, else
/// ShapedType::kDynamic.
using SizeOf = llvm::function_ref<int64_t(TensorDim)>;

struct SplitPlan {
  /// What is cut, for people: "k", "keys".
  std::string what;
  /// Refused: why the sizes do not tell whether parts pay. They are legal all
  /// the same.
  Verdict known = Verdict::accept();
  /// Where it is refused: the number of rows, if that is all that is missing.
  std::optional<TensorDim> rows;
  /// What the second candidate is, for people, where it is no number of parts
  /// of `what`; options that ask for parts do not mean it.
  std::string instead;
  /// A number of rows that is missing is taken to be large, so the plan holds
  /// only where versions for few rows stand beside the function.
  bool forMany = false;
  /// Where versions for few rows end best, besides the usual numbers of rows.
  std::optional<int64_t> limit;
  /// Up to how many rows versions for few rows are planned for them; those for
  /// more take what is planned of an unknown number.
  int64_t mostRows = 64;
  /// Parts must be modelled to take at most this part of the time: a model that
  /// is a little wrong must not add launches.
  double worthwhile = 0.9;
  /// The whole operator first; then what is left of the numbers of parts asked
  /// for once every part has something to do.
  llvm::SmallVector<SplitCandidate> candidates;
};

/// Whether a kernel that works on whole rows will read `value` anyway, so that
/// combining parts needs no launch of its own. Operators that could be the
/// epilogue of the operator that makes `value` do not count.
bool feedsRowKernel(Value value);

} // namespace mlir::hk

#endif // HK_FAMILIES_SPLIT_H
