//===- Norms.cpp - Normalisations of ONNX ---------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layer and root mean square normalisation over trailing dims, with the sums
// that contrib operators add in front.
//
//===----------------------------------------------------------------------===//

#include "Encoders.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

/// A weight or bias as the vector [size], or null when it is not given.
static FailureOr<Value> vectorInput(Node &node, size_t i, const Size &size) {
  if (!node.has(i))
    return Value();
  HK_TRY(x, node.tensor(i));
  HK_TRY(made, node.reshape(x, size));
  return made.value;
}

/// [size] of one number.
static FailureOr<Value> filled(Node &node, const Size &size, int dtype,
                               double number, StringRef name) {
  std::optional<int64_t> count = size.getConstant();
  if (!count || *count > node.graph.options.maxEvaluated)
    return node.error() << "expected rows of at most "
                        << node.graph.options.maxEvaluated
                        << " elements when there is no bias, but got "
                        << node.graph.symbols.describe(size);
  HK_TRY(made,
         node.constant(node.graph.store.make(
                           dtype, *count, SmallVector<double>(*count, number)),
                       name));
  return made.value;
}

/// The normalised tensor, of the element type of `x`.
template <typename Op>
static FailureOr<Tensor> normalised(Node &node, const Tensor &x, size_t weight,
                                    size_t bias, double epsilon) {
  HK_TRY(type, node.type(x.dtype, x.shape));
  HK_TRY(scale, vectorInput(node, weight, x.shape.back()));
  FloatAttr e = node.b.getF32FloatAttr(epsilon);
  OperationState state(node.loc, Op::getOperationName());
  if constexpr (std::is_same_v<Op, RmsNormOp>) {
    Op::build(node.b, state, type, x.value, scale, e, node.b.getF32FloatAttr(0),
              UnitAttr());
  } else {
    HK_TRY(given, vectorInput(node, bias, x.shape.back()));
    Value shift = given;
    if (!shift) {
      HK_TRY(zeros, filled(node, x.shape.back(), x.dtype, 0, "hk.zeros"));
      shift = zeros;
    }
    Op::build(node.b, state, type, x.value, scale, shift, e);
  }
  return Tensor{node.b.create(state)->getResult(0), x.dtype, x.shape};
}

/// LayerNormalization, RMSNormalization: over the dims from `axis` on.
template <typename Op> static LogicalResult norm(Node &node) {
  HK_TRY(x, node.tensor(0));
  HK_TRY(axis, node.axis(node.integer("axis", -1), x.rank()));
  if (int64_t stash = node.integer("stash_type", 1); stash != 1)
    return node.error() << "expected attribute 'stash_type' to be 1 (float), "
                           "in which hk computes, but got "
                        << stash;
  Size width(1);
  for (const Size &size : ArrayRef<Size>(x.shape).drop_front(axis))
    width = width * size;
  Shape rows(ArrayRef<Size>(x.shape).take_front(axis));
  rows.push_back(width);
  HK_TRY(row, node.reshape(x, rows));
  double epsilon = node.real("epsilon", 1e-5f);
  HK_TRY(made, normalised<Op>(node, row, 1, 2, epsilon));
  HK_TRY(result, node.reshape(made, x.shape));
  return node.result(0, result);
}

/// Skip(Simplified)LayerNormalization: inputs x, skip, weight[, bias of the
/// norm][, bias of the sum]; outputs y, mean, inverse deviation, sum.
template <typename Op> static LogicalResult skipNorm(Node &node) {
  HK_TRY(x, node.tensor(0));
  HK_TRY(skip, node.tensor(1));
  HK_TRY(sum, node.binary<AddOp>(x, skip));
  Tensor added = sum;
  size_t bias = std::is_same_v<Op, RmsNormOp> ? 3 : 4;
  if (node.has(bias)) {
    HK_TRY(shift, node.tensor(bias));
    HK_TRY(shifted, node.binary<AddOp>(added, shift));
    added = shifted;
  }
  if (!node.has(2))
    return node.error() << "expected input #2, the weight, but it is left out";
  HK_TRY(made, normalised<Op>(node, added, 2, 3, node.real("epsilon", 1e-12f)));
  return failure(failed(node.result(0, made)) || failed(node.result(3, added)));
}

/// Inputs: ids, segments, rows of words, places and segments, weight, bias,
/// mask, places.
static LogicalResult embedNorm(Node &node) {
  HK_TRY(rows, embeddedRows(node));
  HK_TRY(made, normalised<LayerNormOp>(node, rows, 5, 6,
                                       node.real("epsilon", 1e-12f)));
  return node.result(0, made);
}

static LogicalResult simplified(Node &node) { return norm<RmsNormOp>(node); }

/// LpNormalization with p = 2 is another formula than hk.l2_norm, which has an
/// epsilon under the root.
static LogicalResult lpNormalization(Node &node) {
  HK_TRY(x, node.tensor(0));
  HK_TRY(axis, node.axis(node.integer("axis", -1), x.rank()));
  int64_t p = node.integer("p", 2);
  if (p != 1 && p != 2)
    return node.error() << "expected attribute 'p' to be 1 or 2, but got " << p;
  SmallVector<int64_t> swap = llvm::to_vector(llvm::seq<int64_t>(0, x.rank()));
  std::swap(swap[axis], swap.back());
  HK_TRY(rows, node.transpose(x, swap));
  FailureOr<Tensor> powers =
      p == 2 ? node.binary<MulOp>(rows, rows) : node.unary<AbsOp>(rows);
  if (failed(powers))
    return failure();
  Shape shape = rows.shape;
  shape.back() = 1;
  HK_TRY(type, node.type(x.dtype, shape));
  Tensor norm{ReduceOp::create(node.b, node.loc, type, ReduceKind::sum,
                               powers->value, 1),
              x.dtype, shape};
  if (p == 2) {
    HK_TRY(root, node.unary<SqrtOp>(norm));
    norm = root;
  }
  // A row of zeros stays zeros.
  HK_TRY(zero, node.scalar(0, x.dtype));
  HK_TRY(isZero, node.compare(ComparePredicate::eq, norm, zero));
  HK_TRY(quotient, node.binary<DivOp>(rows, norm));
  HK_TRY(made, node.select(isZero, zero, quotient));
  HK_TRY(result, node.transpose(made, swap));
  return node.result(0, result);
}

/// (x - mean) * scale / sqrt(variance + epsilon) + bias with numbers of each
/// channel, dim 1, in f32. Inputs: x, scale, bias, mean, variance.
static LogicalResult batchNormalization(Node &node) {
  if (failed(node.only("training_mode", 0, "no statistics of a batch")))
    return failure();
  node.real("momentum", 0.9);
  HK_TRY(x, node.realTensor(0));
  if (x.rank() < 2)
    return node.error() << "expected channels as dim 1, but got "
                        << node.describe(x.shape);
  Shape shape(x.rank() - 1, Size(1));
  shape[0] = x.shape[1];
  SmallVector<Tensor> channels;
  for (size_t i = 1; i < 5; ++i) {
    HK_TRY(given, node.realTensor(i));
    HK_TRY(wide, node.cast(given, kFloat));
    HK_TRY(shaped, node.reshape(wide, shape));
    channels.push_back(shaped);
  }
  HK_TRY(epsilon, node.scalar(node.real("epsilon", 1e-5), kFloat));
  HK_TRY(above, node.binary<AddOp>(channels[3], epsilon));
  HK_TRY(inverse, node.unary<RsqrtOp>(above));
  HK_TRY(factor, node.binary<MulOp>(channels[0], inverse));
  HK_TRY(wide, node.cast(x, kFloat));
  HK_TRY(centred, node.binary<SubOp>(wide, channels[2]));
  HK_TRY(scaled, node.binary<MulOp>(centred, factor));
  HK_TRY(moved, node.binary<AddOp>(scaled, channels[1]));
  HK_TRY(made, node.cast(moved, x.dtype));
  return node.result(0, made);
}

ArrayRef<Operator> mlir::hk::importer::normOperators() {
  constexpr const char *kMs = "com.microsoft";
  static const Operator table[] = {
      {"", "LayerNormalization", 17, 2, 3, norm<LayerNormOp>,
       "stash_type 1, first output"},
      {"", "BatchNormalization", 9, 5, 5, batchNormalization,
       "no training, first output"},
      {"", "RMSNormalization", 23, 2, 2, norm<RmsNormOp>, "stash_type 1"},
      {"", "LpNormalization", 1, 1, 1, lpNormalization, ""},
      // ORT registers this one without a domain of its own.
      {"", "SimplifiedLayerNormalization", 1, 2, 2, simplified,
       "stash_type 1, first output"},
      {kMs, "SimplifiedLayerNormalization", 1, 2, 2, simplified,
       "stash_type 1, first output"},
      {kMs, "SkipSimplifiedLayerNormalization", 1, 3, 4, skipNorm<RmsNormOp>,
       "outputs 0 and 3"},
      {kMs, "SkipLayerNormalization", 1, 3, 5, skipNorm<LayerNormOp>,
       "outputs 0 and 3"},
      {kMs, "EmbedLayerNormalization", 1, 1, 9, embedNorm, ""},
  };
  return table;
}
