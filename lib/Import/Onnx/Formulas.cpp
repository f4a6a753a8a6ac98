//===- Formulas.cpp - Operators of ONNX as formulas ---------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Activations and other functions that hk has no operator for, by the formula
// that ONNX gives, of hk's operators.
//
//===----------------------------------------------------------------------===//

#include "Activations.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

static FailureOr<Tensor> times(Node &node, const Tensor &x, double factor) {
  if (factor == 1)
    return x;
  HK_TRY(number, node.scalar(factor, x.dtype));
  return node.binary<MulOp>(x, number);
}

static FailureOr<Tensor> plus(Node &node, const Tensor &x, double addend) {
  HK_TRY(number, node.scalar(addend, x.dtype));
  return node.binary<AddOp>(x, number);
}

static FailureOr<Tensor> compared(Node &node, ComparePredicate predicate,
                                  const Tensor &x, double number) {
  HK_TRY(other, node.scalar(number, x.dtype));
  return node.compare(predicate, x, other);
}

/// x above zero, `below` elsewhere.
static LogicalResult aboveZero(Node &node, const Tensor &x,
                               const Tensor &below) {
  HK_TRY(positive, compared(node, ComparePredicate::gt, x, 0));
  HK_TRY(made, node.select(positive, x, below));
  return node.result(0, made);
}

/// alpha (e^(x by) - 1)
static FailureOr<Tensor> decayed(Node &node, const Tensor &x, double by,
                                 double alpha) {
  HK_TRY(inner, times(node, x, by));
  HK_TRY(power, node.unary<Expm1Op>(inner));
  return times(node, power, alpha);
}

static LogicalResult elu(Node &node) {
  HK_TRY(x, node.realTensor(0));
  HK_TRY(below, decayed(node, x, 1, node.real("alpha", 1)));
  return aboveZero(node, x, below);
}

static LogicalResult celu(Node &node) {
  double alpha = node.real("alpha", 1);
  if (alpha == 0)
    return node.error() << "expected attribute 'alpha' not to be 0";
  HK_TRY(x, node.realTensor(0));
  HK_TRY(below, decayed(node, x, 1 / alpha, alpha));
  return aboveZero(node, x, below);
}

static LogicalResult selu(Node &node) {
  double alpha = node.real("alpha", 1.67326319217681884765625),
         gamma = node.real("gamma", 1.05070102214813232421875);
  HK_TRY(x, node.realTensor(0));
  HK_TRY(below, decayed(node, x, 1, gamma * alpha));
  HK_TRY(above, times(node, x, gamma));
  HK_TRY(positive, compared(node, ComparePredicate::gt, x, 0));
  HK_TRY(made, node.select(positive, above, below));
  return node.result(0, made);
}

static LogicalResult prelu(Node &node) {
  HK_TRY(x, node.realTensor(0));
  HK_TRY(inputs, node.pair(0, 1));
  Tensor slope = inputs.second;
  HK_TRY(below, node.binary<MulOp>(x, slope));
  HK_TRY(negative, compared(node, ComparePredicate::lt, x, 0));
  HK_TRY(made, node.select(negative, below, x));
  return node.result(0, made);
}

/// x tanh(softplus(x))
static LogicalResult mish(Node &node) {
  HK_TRY(x, node.realTensor(0));
  HK_TRY(soft, node.unary<SoftplusOp>(x));
  HK_TRY(gate, node.unary<TanhOp>(soft));
  HK_TRY(made, node.binary<MulOp>(x, gate));
  return node.result(0, made);
}

/// x max(0, min(1, x / 6 + 1 / 2))
static LogicalResult hardSwish(Node &node) {
  HK_TRY(x, node.realTensor(0));
  HK_TRY(gate, hardSigmoid(node, x, 1.0 / 6, 0.5));
  HK_TRY(made, node.binary<MulOp>(x, gate));
  return node.result(0, made);
}

/// Towards 0 by `bias` where x is beyond `lambd`, 0 within.
static LogicalResult shrink(Node &node) {
  double bias = node.real("bias", 0), bound = node.real("lambd", 0.5);
  HK_TRY(x, node.realTensor(0));
  HK_TRY(less, plus(node, x, -bias));
  HK_TRY(more, plus(node, x, bias));
  HK_TRY(zero, node.scalar(0, x.dtype));
  HK_TRY(above, compared(node, ComparePredicate::gt, x, bound));
  HK_TRY(below, compared(node, ComparePredicate::lt, x, -bound));
  HK_TRY(upper, node.select(above, less, zero));
  HK_TRY(made, node.select(below, more, upper));
  return node.result(0, made);
}

static LogicalResult softsign(Node &node) {
  HK_TRY(x, node.realTensor(0));
  HK_TRY(absolute, node.unary<AbsOp>(x));
  HK_TRY(divisor, plus(node, absolute, 1));
  HK_TRY(made, node.binary<DivOp>(x, divisor));
  return node.result(0, made);
}

static LogicalResult thresholdedRelu(Node &node) {
  HK_TRY(x, node.realTensor(0));
  HK_TRY(above, compared(node, ComparePredicate::gt, x, node.real("alpha", 1)));
  HK_TRY(zero, node.scalar(0, x.dtype));
  HK_TRY(made, node.select(above, x, zero));
  return node.result(0, made);
}

/// 1, -1 or x, which is 0 or NaN; also of integers.
static LogicalResult sign(Node &node) {
  HK_TRY(x, node.tensor(0));
  HK_TRY(one, node.scalar(1, x.dtype));
  HK_TRY(minusOne, node.scalar(-1, x.dtype));
  HK_TRY(negative, compared(node, ComparePredicate::lt, x, 0));
  HK_TRY(low, node.select(negative, minusOne, x));
  HK_TRY(positive, compared(node, ComparePredicate::gt, x, 0));
  HK_TRY(made, node.select(positive, one, low));
  return node.result(0, made);
}

/// Whether x is one of the infinities that the attributes ask for.
static LogicalResult isInf(Node &node) {
  HK_TRY(x, node.realTensor(0));
  bool below = node.integer("detect_negative", 1) != 0,
       above = node.integer("detect_positive", 1) != 0;
  if (!below && !above)
    return node.error() << "expected attribute 'detect_negative' or "
                           "'detect_positive' to be 1";
  Tensor from = x;
  if (below && above) {
    HK_TRY(absolute, node.unary<AbsOp>(x));
    from = absolute;
  }
  double infinity = std::numeric_limits<double>::infinity();
  HK_TRY(made, compared(node, ComparePredicate::eq, from,
                        above ? infinity : -infinity));
  return node.result(0, made);
}

//===----------------------------------------------------------------------===//
// Along an axis
//===----------------------------------------------------------------------===//

/// `x` with `axis` behind all others, and the permutation, which is its own
/// inverse.
struct Rows {
  Tensor x;
  SmallVector<int64_t> swap;
};

static FailureOr<Rows> rowsOf(Node &node, const Tensor &x, int64_t otherwise) {
  HK_TRY(axis, node.axis(node.integer("axis", otherwise), x.rank()));
  Rows rows;
  rows.swap = llvm::to_vector(llvm::seq<int64_t>(0, x.rank()));
  std::swap(rows.swap[axis], rows.swap.back());
  HK_TRY(turned, node.transpose(x, rows.swap));
  rows.x = turned;
  return rows;
}

/// Sums and maxima of rows are in f32.
static FailureOr<Tensor> reduceRows(Node &node, ReduceKind kind,
                                    const Tensor &x) {
  Shape shape = x.shape;
  shape.back() = 1;
  HK_TRY(type, node.type(kFloat, shape));
  return Tensor{ReduceOp::create(node.b, node.loc, type, kind, x.value,
                                 /*dims=*/1),
                kFloat, shape};
}

/// d - ln(sum of e^d), d = x - the largest
static LogicalResult logSoftmax(Node &node) {
  HK_TRY(x, node.realTensor(0));
  HK_TRY(rows, rowsOf(node, x, -1));
  HK_TRY(wide, node.cast(rows.x, kFloat));
  HK_TRY(largest, reduceRows(node, ReduceKind::max, wide));
  HK_TRY(below, node.binary<SubOp>(wide, largest));
  HK_TRY(powers, node.unary<ExpOp>(below));
  HK_TRY(sum, reduceRows(node, ReduceKind::sum, powers));
  HK_TRY(logarithm, node.unary<LogOp>(sum));
  HK_TRY(made, node.binary<SubOp>(below, logarithm));
  HK_TRY(narrow, node.cast(made, rows.x.dtype));
  HK_TRY(result, node.transpose(narrow, rows.swap));
  return node.result(0, result);
}

/// The index of the first of the largest elements of each row of `x`.
static FailureOr<Tensor> placesOfLargest(Node &node, const Tensor &x) {
  Shape shape = x.shape;
  shape.back() = 1;
  HK_TRY(valueType, node.type(x.dtype, shape));
  HK_TRY(indexType, node.type(kInt64, shape));
  auto op = TopkOp::create(node.b, node.loc, TypeRange{valueType, indexType},
                           x.value, TieRule::lowest_index, TopkOrder::by_value);
  return Tensor{op.getIndices(), kInt64, shape};
}

/// 1 at the first of the largest elements along a dim, 0 elsewhere.
static LogicalResult hardmax(Node &node) {
  HK_TRY(x, node.realTensor(0));
  HK_TRY(rows, rowsOf(node, x, -1));
  HK_TRY(largest, placesOfLargest(node, rows.x));
  HK_TRY(places, node.places(rows.x, x.rank() - 1, kInt64));
  HK_TRY(hot, node.compare(ComparePredicate::eq, places, largest));
  HK_TRY(one, node.scalar(1, x.dtype));
  HK_TRY(zero, node.scalar(0, x.dtype));
  HK_TRY(made, node.select(hot, one, zero));
  HK_TRY(result, node.transpose(made, rows.swap));
  return node.result(0, result);
}

/// The index of the first of the largest elements of `x`, or of the smallest.
template <bool smallest> static LogicalResult argmax(Node &node) {
  if (failed(node.only("select_last_index", 0,
                       "hk takes the first of equal elements")))
    return failure();
  bool keep = node.integer("keepdims", 1) != 0;
  HK_TRY(x, node.tensor(0));
  // hk.topk takes reals: integers are exact in f32 below 2^24.
  HK_TRY(real, dtypeInfo(x.dtype)->isFloat ? FailureOr<Tensor>(x)
                                           : node.cast(x, kFloat));
  HK_TRY(rows, rowsOf(node, real, 0));
  Tensor ordered = rows.x;
  if (smallest) {
    HK_TRY(negated, node.unary<NegOp>(ordered));
    ordered = negated;
  }
  HK_TRY(largest, placesOfLargest(node, ordered));
  HK_TRY(made, node.transpose(largest, rows.swap));
  if (keep)
    return node.result(0, made);
  Shape dropped = made.shape;
  dropped.erase(dropped.begin() + rows.swap.back());
  HK_TRY(result, node.reshape(made, dropped));
  return node.result(0, result);
}

ArrayRef<Operator> mlir::hk::importer::formulaOperators() {
  static const Operator table[] = {
      {"", "Elu", 6, 1, 1, elu, ""},
      {"", "Celu", 12, 1, 1, celu, ""},
      {"", "Selu", 6, 1, 1, selu, ""},
      {"", "PRelu", 9, 2, 2, prelu, ""},
      {"", "Mish", 18, 1, 1, mish, ""},
      {"", "HardSwish", 14, 1, 1, hardSwish, ""},
      {"", "Shrink", 9, 1, 1, shrink, ""},
      {"", "Hardmax", 13, 1, 1, hardmax, ""},
      {"", "Softsign", 1, 1, 1, softsign, ""},
      {"", "ThresholdedRelu", 10, 1, 1, thresholdedRelu, ""},
      {"", "Sign", 9, 1, 1, sign, ""},
      {"", "IsInf", 10, 1, 1, isInf, ""},
      {"", "LogSoftmax", 13, 1, 1, logSoftmax, ""},
      {"", "ArgMax", 11, 1, 1, argmax<false>, "the first; integers below 2^24"},
      {"", "ArgMin", 11, 1, 1, argmax<true>, "the first; integers below 2^24"},
  };
  return table;
}
