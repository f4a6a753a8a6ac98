//===- Products.cpp - Products of ONNX ------------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matrix products with the batch dims as hk takes them.
//
//===----------------------------------------------------------------------===//

#include "Products.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

/// hk.matmul of [b..., M, K] and [b..., K, N] or [K, N], as stored with
/// `transposeA`, `transposeB`.
static FailureOr<Tensor> product(Node &node, const Tensor &x, const Tensor &y,
                                 bool transposeA, bool transposeB, int dtype) {
  const Size &m = x.shape[x.rank() - (transposeA ? 1 : 2)],
             &k = x.shape[x.rank() - (transposeA ? 2 : 1)],
             &l = y.shape[y.rank() - (transposeB ? 1 : 2)],
             &n = y.shape[y.rank() - (transposeB ? 2 : 1)];
  if ((k - l).getConstant().value_or(0) != 0)
    return node.error() << "expected the inner sizes of a product to be equal, "
                           "but got "
                        << node.describe(x.shape) << " and "
                        << node.describe(y.shape);
  Shape shape(ArrayRef<Size>(x.shape).drop_back(2));
  shape.push_back(m);
  shape.push_back(n);
  HK_TRY(type, node.type(dtype, shape));
  OperationState state(node.loc, MatmulOp::getOperationName());
  MatmulOp::build(node.b, state, type, x.value, y.value, Value(), Value(),
                  transposeA, transposeB, IntegerAttr());
  return Tensor{node.b.create(state)->getResult(0), dtype, shape};
}

FailureOr<Tensor> mlir::hk::importer::matmul(Node &node, Tensor x, Tensor y,
                                             bool transposeA, bool transposeB,
                                             int dtype) {
  if (x.rank() < 1 || y.rank() < 1 || (x.rank() == 1 && transposeA) ||
      (y.rank() == 1 && transposeB))
    return node.error() << "expected matrices, but got "
                        << node.describe(x.shape) << " and "
                        << node.describe(y.shape);
  bool rowVector = x.rank() == 1, columnVector = y.rank() == 1;
  if (rowVector) {
    HK_TRY(matrix, node.reshape(x, {Size(1), x.shape[0]}));
    x = matrix;
  }
  if (columnVector) {
    HK_TRY(matrix, node.reshape(y, {y.shape[0], Size(1)}));
    y = matrix;
  }
  // Either may lack batch dims or repeat along them; hk repeats only a second
  // operand without any.
  if (y.rank() > 2 || x.rank() < y.rank()) {
    HK_TRY(batch, node.broadcast(ArrayRef<Size>(x.shape).drop_back(2),
                                 ArrayRef<Size>(y.shape).drop_back(2)));
    for (Tensor *side : {&x, &y}) {
      Shape whole = batch;
      whole.append(side->shape.end() - 2, side->shape.end());
      HK_TRY(grown, node.expand(*side, whole));
      *side = grown;
    }
  }
  HK_TRY(made, product(node, x, y, transposeA, transposeB, dtype));
  Shape shape(ArrayRef<Size>(made.shape).drop_back(2));
  if (!rowVector)
    shape.push_back(made.shape[made.rank() - 2]);
  if (!columnVector)
    shape.push_back(made.shape.back());
  return node.reshape(made, shape);
}

static LogicalResult realProduct(Node &node) {
  for (size_t i : {0, 1})
    if (int dtype = node.input(i).dtype; !dtypeInfo(dtype) ||
                                         !dtypeInfo(dtype)->isFloat ||
                                         dtype != node.input(0).dtype)
      return node.error() << "expected two inputs of one real type, but got "
                          << dtypeName(node.input(0).dtype) << " and "
                          << dtypeName(node.input(1).dtype);
  return success();
}

static LogicalResult importMatmul(Node &node) {
  if (failed(realProduct(node)))
    return failure();
  if (auto made = quantisedProduct(node, /*transposeB=*/false))
    return failed(*made) ? failure() : node.result(0, **made);
  HK_TRY(x, node.tensor(0));
  HK_TRY(y, node.tensor(1));
  HK_TRY(made, matmul(node, x, y, false, false, x.dtype));
  return node.result(0, made);
}

/// x times a number, unless it is 1.
static FailureOr<Tensor> scaled(Node &node, const Tensor &x, double factor) {
  if (factor == 1)
    return x;
  HK_TRY(number, node.scalar(factor, x.dtype));
  return node.binary<MulOp>(x, number);
}

/// A B of a Gemm.
static FailureOr<Tensor> gemmProduct(Node &node) {
  bool transposeA = node.integer("transA", 0) != 0,
       transposeB = node.integer("transB", 0) != 0;
  const Shape &a = node.input(0).shape, &b = node.input(1).shape;
  if (a.size() != 2 || b.size() != 2)
    return node.error() << "expected matrices, but got " << node.describe(a)
                        << " and " << node.describe(b);
  if (!transposeA)
    if (auto made = quantisedProduct(node, transposeB))
      return *made;
  HK_TRY(x, node.tensor(0));
  HK_TRY(y, node.tensor(1));
  return matmul(node, x, y, transposeA, transposeB, x.dtype);
}

static LogicalResult gemm(Node &node) {
  if (failed(realProduct(node)))
    return failure();
  HK_TRY(made, gemmProduct(node));
  HK_TRY(result, scaled(node, made, node.real("alpha", 1)));
  double beta = node.real("beta", 1);
  if (!node.has(2) || beta == 0)
    return node.result(0, result);
  HK_TRY(c, node.tensor(2));
  HK_TRY(addend, scaled(node, c, beta));
  HK_TRY(sum, node.binary<AddOp>(result, addend));
  return node.result(0, sum);
}

static LogicalResult fusedMatmul(Node &node) {
  if (failed(realProduct(node)) ||
      failed(node.only("transBatchA", 0, "hk does not permute batch dims")) ||
      failed(node.only("transBatchB", 0, "hk does not permute batch dims")))
    return failure();
  HK_TRY(x, node.tensor(0));
  HK_TRY(y, node.tensor(1));
  HK_TRY(made, matmul(node, x, y, node.integer("transA", 0) != 0,
                      node.integer("transB", 0) != 0, x.dtype));
  HK_TRY(result, scaled(node, made, node.real("alpha", 1)));
  return node.result(0, result);
}

ArrayRef<Operator> mlir::hk::importer::productOperators() {
  constexpr const char *kMs = "com.microsoft";
  static const Operator table[] = {
      {"", "MatMul", 1, 2, 2, importMatmul, "of reals"},
      {"", "Gemm", 7, 2, 3, gemm, "of reals"},
      {kMs, "FusedMatMul", 1, 2, 2, fusedMatmul,
       "of reals, batch dims in front"},
  };
  return table;
}
