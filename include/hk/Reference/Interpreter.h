//===- Interpreter.h - The meaning of hk functions --------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates a function op by op in the plainest way and derives, for every
// element of every result, how far a correct kernel may be from it.
// docs/numerics.md states the rules. Functions may hold base ops, upstream
// tensor ops, hk.fused and hk.launch, so that a program can be compared with
// itself after any pass before bufferization.
//
//===----------------------------------------------------------------------===//

#ifndef HK_REFERENCE_INTERPRETER_H
#define HK_REFERENCE_INTERPRETER_H

#include "hk/Dialect/HK.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace mlir::hk::reference {

/// A dense row-major tensor. Values are numbers of `dtype`, held in double: an
/// i64 that none is has the nearest and an infinite error, but the largest,
/// which conversions saturate to, is held as 2^63. `error` is the standard
/// deviation of the rounding noise that correct kernels may have gathered in
/// each element; it is empty when all are exact. `jump` is the largest change
/// of the element by one rare flip of a rounding that it depends on, its own
/// included.
struct Tensor {
  ::hk::DType dtype = ::hk::DType::F32;
  SmallVector<int64_t> sizes;
  std::vector<double> values;
  std::vector<double> error, jump;
  /// The part of `error` that stands for a likely flip of the last rounding;
  /// empty where no element has one.
  std::vector<double> flip;

  Tensor() = default;
  Tensor(::hk::DType dtype, ArrayRef<int64_t> sizes);
  int64_t numElements() const;
  double errorAt(int64_t i) const { return error.empty() ? 0 : error[i]; }
  double jumpAt(int64_t i) const { return jump.empty() ? 0 : jump[i]; }
  /// Largest difference allowed at element `i`: 0 where it is exact, else 8
  /// standard deviations, two flips of earlier roundings and one unit in the
  /// last place; infinite where any result, NaN too, is right.
  double boundAt(int64_t i) const;
};

/// Bytes of `numElements` of `dtype` as they lie in memory (f4: two per byte,
/// the even index in the low nibble).
std::vector<uint8_t> toBytes(const Tensor &tensor);
/// Fails when `bytes` is not of the size that `sizes` takes.
FailureOr<Tensor> fromBytes(::hk::DType dtype, ArrayRef<int64_t> sizes,
                            ArrayRef<uint8_t> bytes);

/// `value` rounded to nearest even, as hk.cast does it: f8, f4 and i8 saturate,
/// i32 and i64 truncate and saturate, NaN is 0 where the type has none.
double roundTo(::hk::DType dtype, double value);
/// The integer that `value` is held for.
int64_t integerOf(double value);
/// The distance of neighbours of `dtype` around `value`; 1 for integers.
double ulpOf(::hk::DType dtype, double value);

/// Gives the value of an hk.weight, whose type it must have.
using WeightProvider = std::function<FailureOr<Tensor>(WeightOp)>;

/// Evaluates `function` on `arguments`. A state argument (hk.state) is an
/// argument like the others: its written value is among the results. Failures
/// (a size that does not fit, an op it does not know) are diagnosed at the op.
FailureOr<SmallVector<Tensor>> interpret(func::FuncOp function,
                                         ArrayRef<Tensor> arguments,
                                         WeightProvider weights = nullptr);

/// Evaluates `function` on all ranks of its module's mesh, step by step: what
/// hk.all_reduce and its like read is what the other ranks have computed. One
/// list of arguments, and one of results, per rank.
FailureOr<std::vector<SmallVector<Tensor>>>
interpretRanks(func::FuncOp function,
               ArrayRef<SmallVector<Tensor>> argumentsOfRanks,
               WeightProvider weights = nullptr);

/// Evaluates a block of base ops that reads nothing but its arguments: the
/// operands of its terminator.
FailureOr<SmallVector<Tensor>> interpret(Block &block,
                                         ArrayRef<Tensor> arguments);

/// Whether the interpreter knows the op of this name.
bool hasEvaluator(StringRef operationName);

} // namespace mlir::hk::reference

#endif // HK_REFERENCE_INTERPRETER_H
