//===- Evaluators.h - One function per op -----------------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The signature of the functions that give ops their meaning, and the help they
// share. Every file adds its functions to the table.
//
//===----------------------------------------------------------------------===//

#ifndef HK_REFERENCE_EVALUATORS_H
#define HK_REFERENCE_EVALUATORS_H

#include "Noise.h"

#include "llvm/ADT/StringMap.h"

#include <functional>

namespace mlir::hk::reference {

/// The values of an op's operands.
class Operands {
public:
  Operands(Operation *op, ArrayRef<const Tensor *> tensors)
      : op(op), tensors(tensors) {}
  const Tensor &operator[](unsigned i) const { return *tensors[i]; }
  const Tensor &of(Value operand) const { return *find(operand); }
  /// nullptr for an absent optional operand.
  const Tensor *find(Value operand) const {
    for (auto [value, tensor] : llvm::zip_equal(op->getOperands(), tensors))
      if (value == operand)
        return tensor;
    return nullptr;
  }
  size_t size() const { return tensors.size(); }

private:
  Operation *op;
  ArrayRef<const Tensor *> tensors;
};

using Results = SmallVectorImpl<Tensor>;
using Evaluator =
    std::function<LogicalResult(Operation *, const Operands &, Results &)>;

/// The function of the op; empty: there is none.
Evaluator evaluatorOf(StringRef operationName);

//===----------------------------------------------------------------------===//
// Shared by the families
//===----------------------------------------------------------------------===//

inline ::hk::DType resultDType(Operation *op, unsigned i = 0) {
  auto type = cast<ShapedType>(op->getResult(i).getType());
  return *dtypeOf(type.getElementType());
}

/// `value`, which element i of `indices` chose: anything is right where noise
/// decides the index.
inline Noisy chosenBy(const Tensor &indices, int64_t i, Noisy value) {
  if (indices.errorAt(i) != 0)
    value.sigma = kInf;
  return value;
}

/// A result tensor of `sizes`; its element i is what was set last, or 0.
class ResultBuilder {
public:
  ResultBuilder(::hk::DType dtype, ArrayRef<int64_t> sizes)
      : tensor(dtype, sizes), errors(tensor.values.size()),
        jumps(tensor.values.size()), flips(tensor.values.size()) {}
  /// Rounds to the element type.
  void set(int64_t i, Noisy v) { setExact(i, rounded(tensor.dtype, v)); }
  /// A number of the element type, taken as it is.
  void setExact(int64_t i, Noisy v) {
    tensor.values[i] = v.value;
    // Unspecified, times zero.
    errors[i] = std::isnan(v.sigma) ? kInf : v.sigma;
    jumps[i] = std::isfinite(v.jump) ? v.jump : 0;
    flips[i] = v.flip;
  }
  /// The finished tensor; without errors where all are zero.
  Tensor take();

private:
  Tensor tensor;
  std::vector<double> errors, jumps, flips;
};

inline Noisy at(const Tensor &t, int64_t i) {
  return {t.values[i], t.errorAt(i), t.jumpAt(i)};
}

/// Rows of the last dim.
inline int64_t rowSize(const Tensor &t) { return t.sizes.back(); }
inline int64_t numRows(const Tensor &t) {
  return rowSize(t) == 0 ? 0 : t.numElements() / rowSize(t);
}

/// Emits "expected <what> to be <expected>, but got <got>" when they differ.
LogicalResult requireSize(Operation *op, const Twine &what, int64_t expected,
                          int64_t got);
LogicalResult requireSizes(Operation *op, StringRef what,
                           ArrayRef<int64_t> expected, ArrayRef<int64_t> got);

/// NumPy broadcasting of operands whose sizes allow it: the sizes of the
/// result, and for each operand the position of the element that result element
/// i uses.
class Broadcast {
public:
  explicit Broadcast(ArrayRef<const Tensor *> operands);
  ArrayRef<int64_t> sizes() const { return resultSizes; }
  /// Calls fn(i, positions) for all elements of the result in order.
  void forEach(function_ref<void(int64_t, ArrayRef<int64_t>)> fn) const;

private:
  SmallVector<int64_t> resultSizes;
  SmallVector<SmallVector<int64_t>>
      strides; // per operand, of the result's dims
};

/// Value of a unary op with its noise before the rounding to the result.
Noisy sigmoid(Noisy x);
Noisy silu(Noisy x);
Noisy relu(Noisy x);
Noisy gelu(Noisy x);
Noisy geluTanh(Noisy x);
Noisy exponential(Noisy x);
/// 1 / sqrt(v) with the noise of v and of a kernel's rsqrt, in f32.
Noisy rsqrt(Noisy v);

/// a + b as one IEEE addition of f32: exact operands have an exact result.
Noisy addF32(Noisy a, Noisy b);
/// Of the two that max or min may pick when noise can swap them.
Noisy pick(Noisy a, Noisy b, bool takeA);
/// Two's complement of the width of `dtype`, an integer type: of an i64 that no
/// double holds anything is right.
Noisy wrapped(::hk::DType dtype, uint64_t v);

/// Evaluates an operator over several ranks: `inputs` are the operands of the
/// ranks along its axis in their order, or null pointers where it has none;
/// `results` gets one tensor for each of them.
LogicalResult evaluateCollective(CollectiveOpInterface op,
                                 ArrayRef<const Tensor *> inputs,
                                 Results &results);
/// The same of hk.all_to_all_rows, which has two operands and two results.
LogicalResult
evaluateRowExchange(AllToAllRowsOp op,
                    ArrayRef<SmallVector<const Tensor *>> operands,
                    SmallVectorImpl<SmallVector<Tensor>> &results);
/// Whether an operator of this name is one of those.
bool isCollective(StringRef operationName);

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

class EvaluatorTable {
public:
  template <class... Ops> void add(const Evaluator &evaluator) {
    ((functions[Ops::getOperationName()] = evaluator), ...);
  }
  Evaluator lookup(StringRef name) const { return functions.lookup(name); }

private:
  llvm::StringMap<Evaluator> functions;
};

// One per file of functions.
void addPointwise(EvaluatorTable &table);
void addMovement(EvaluatorTable &table);
void addNorms(EvaluatorTable &table);
void addActivations(EvaluatorTable &table);
void addSelections(EvaluatorTable &table);
void addQuantisation(EvaluatorTable &table);
void addReductions(EvaluatorTable &table);
void addConvolutions(EvaluatorTable &table);
void addProducts(EvaluatorTable &table);
void addGroupedProducts(EvaluatorTable &table);
void addAttention(EvaluatorTable &table);
void addMqaLogits(EvaluatorTable &table);
void addAttentionCombine(EvaluatorTable &table);
void addAttentionBackward(EvaluatorTable &table);
void addScans(EvaluatorTable &table);
void addGatedDelta(EvaluatorTable &table);
void addRouting(EvaluatorTable &table);

} // namespace mlir::hk::reference

#endif // HK_REFERENCE_EVALUATORS_H
