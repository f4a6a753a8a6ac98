//===- Reductions.cpp - Reductions of ONNX --------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums, means and extrema along any dims, softmax, cumulative sums. hk reduces
// trailing dims: others are transposed there.
//
//===----------------------------------------------------------------------===//

#include "Node.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

namespace {
/// A tensor with the reduced dims last, and the result's shape.
struct Reduction {
  Tensor x;
  int64_t dims = 0;
  Size count = 1; // elements that each result is made of
  Shape kept, shape;
};
} // namespace

/// Axes are an attribute, or since an opset (13 for sums, 18) input 1.
static FailureOr<SmallVector<bool>> reducedDims(Node &node, int64_t rank) {
  SmallVector<int64_t> axes;
  bool given = true;
  if (auto list = node.integerList("axes")) {
    axes = *list;
  } else if (node.has(1)) {
    HK_TRY(list, node.integers(1, "axes"));
    axes = list;
    given = !axes.empty();
  } else {
    given = false;
  }
  bool none = node.integer("noop_with_empty_axes", 0) != 0;
  SmallVector<bool> reduced(rank, !given && !none);
  for (int64_t at : axes) {
    HK_TRY(axis, node.axis(at, rank));
    reduced[axis] = true;
  }
  return reduced;
}

/// Of x. `behind`: not the dims of the node's axes, but all behind the first
/// two.
static FailureOr<Reduction> prepare(Node &node, const Tensor &x, bool behind) {
  if (!dtypeInfo(x.dtype)->isFloat)
    return node.error() << "expected real elements, but got "
                        << dtypeName(x.dtype) << "; hk reduces no integers";
  SmallVector<bool> reduced(x.rank(), true);
  bool keep = true;
  if (behind) {
    if (x.rank() < 3)
      return node.error() << "expected dims behind the first two, but got "
                          << node.describe(x.shape);
    reduced[0] = reduced[1] = false;
  } else {
    HK_TRY(named, reducedDims(node, x.rank()));
    reduced = named;
    keep = node.integer("keepdims", 1) != 0;
  }
  Reduction made;
  SmallVector<int64_t> permutation, last;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (reduced[d]) {
      last.push_back(d);
      made.count = made.count * x.shape[d];
      if (keep)
        made.shape.push_back(1);
      continue;
    }
    permutation.push_back(d);
    made.kept.push_back(x.shape[d]);
    made.shape.push_back(x.shape[d]);
  }
  permutation.append(last);
  made.dims = last.size();
  HK_TRY(moved, node.transpose(x, permutation));
  made.x = moved;
  return made;
}

/// Of input 0.
static FailureOr<Reduction> prepare(Node &node, bool behind = false) {
  HK_TRY(x, node.tensor(0));
  return prepare(node, x, behind);
}

/// The reduction as one of `dtype`, in the shape of the result.
static FailureOr<Tensor> reduced(Node &node, const Reduction &reduction,
                                 const Tensor &x, ReduceKind kind, int dtype) {
  Shape shape = reduction.kept;
  shape.append(reduction.dims, Size(1));
  Tensor made = x;
  if (reduction.dims > 0) {
    HK_TRY(type, node.type(dtype, shape));
    made = {
        ReduceOp::create(node.b, node.loc, type, kind, x.value, reduction.dims),
        dtype, shape};
  }
  return node.reshape(made, reduction.shape);
}

/// Integers along one dim are summed as the total behind their prefix sums, so
/// that they wrap as integers do.
static LogicalResult sumIntegers(Node &node) {
  HK_TRY(x, node.tensor(0));
  HK_TRY(reduced, reducedDims(node, x.rank()));
  bool keep = node.integer("keepdims", 1) != 0;
  if (llvm::count(reduced, true) != 1)
    return node.error() << "expected one axis for a sum of integers, but got "
                        << llvm::count(reduced, true);
  int64_t dim = llvm::find(reduced, true) - reduced.begin();
  Shape longer = x.shape;
  longer[dim] = longer[dim] + 1;
  HK_TRY(type, node.type(x.dtype, longer));
  OperationState state(node.loc, CumsumOp::getOperationName());
  CumsumOp::build(node.b, state, type, ScanKind::offsets, x.value,
                  /*bounds=*/Value(), dim, /*chunk=*/IntegerAttr(),
                  /*reverse=*/false);
  Tensor sums{node.b.create(state)->getResult(0), x.dtype, longer};
  HK_TRY(total, node.slice(sums, dim, x.shape[dim], 1));
  Shape shape = total.shape;
  if (!keep)
    shape.erase(shape.begin() + dim);
  HK_TRY(made, node.reshape(total, shape));
  return node.result(0, made);
}

template <ReduceKind kind, bool behind = false>
static LogicalResult reduce(Node &node) {
  HK_TRY(reduction, prepare(node, behind));
  HK_TRY(made, reduced(node, reduction, reduction.x, kind, reduction.x.dtype));
  return node.result(0, made);
}

static LogicalResult reduceSum(Node &node) {
  int dtype = node.input(0).dtype;
  return dtype == kInt32 || dtype == kInt64 ? sumIntegers(node)
                                            : reduce<ReduceKind::sum>(node);
}

/// Of sizes, as exporters count elements; hk multiplies no computed ones.
static LogicalResult reduceProd(Node &node) {
  auto sizes = node.graph.integersOf(node.input(0));
  if (!sizes || node.input(0).shape.size() != 1)
    return node.error() << "expected the sizes of a tensor, but got "
                        << node.describe(node.input(0).shape)
                        << " computed numbers; multiply them with Mul";
  HK_TRY(reduced, reducedDims(node, 1));
  bool keep = node.integer("keepdims", 1) != 0;
  Item made;
  made.dtype = node.input(0).dtype;
  if (!reduced.front()) {
    made.shape = node.input(0).shape;
    made.integers = *sizes;
    return node.result(0, std::move(made));
  }
  Size product(1);
  for (const Size &size : *sizes)
    product = product * size;
  if (keep)
    made.shape = {Size(1)};
  made.integers = {product};
  return node.result(0, std::move(made));
}

static FailureOr<Tensor> meanOf(Node &node, const Reduction &reduction) {
  if (reduction.count.isConstant(0))
    return node.error() << "expected elements to take the mean of";
  HK_TRY(sum, reduced(node, reduction, reduction.x, ReduceKind::sum, kFloat));
  std::optional<int64_t> known = reduction.count.getConstant();
  FailureOr<Tensor> count =
      known ? node.scalar(double(*known), kFloat)
            : node.countOf(reduction.x, reduction.x.rank() - reduction.dims);
  if (failed(count))
    return failure();
  HK_TRY(divisor, node.cast(*count, kFloat));
  HK_TRY(type, node.type(reduction.x.dtype, sum.shape));
  return Tensor{DivOp::create(node.b, node.loc, type, sum.value, divisor.value),
                reduction.x.dtype, sum.shape};
}

template <bool behind> static LogicalResult reduceMean(Node &node) {
  HK_TRY(reduction, prepare(node, behind));
  HK_TRY(made, meanOf(node, reduction));
  return node.result(0, made);
}

FailureOr<Tensor> mlir::hk::importer::averageBehind(Node &node,
                                                    const Tensor &x) {
  HK_TRY(reduction, prepare(node, x, /*behind=*/true));
  return meanOf(node, reduction);
}

template <bool root> static LogicalResult reduceSquares(Node &node) {
  HK_TRY(reduction, prepare(node));
  HK_TRY(wide, node.type(kFloat, reduction.x.shape));
  Tensor squares{MulOp::create(node.b, node.loc, wide, reduction.x.value,
                               reduction.x.value),
                 kFloat, reduction.x.shape};
  HK_TRY(sum, reduced(node, reduction, squares, ReduceKind::sum, kFloat));
  Tensor made = sum;
  if (root) {
    HK_TRY(rooted, node.unary<SqrtOp>(sum));
    made = rooted;
  }
  HK_TRY(result, node.cast(made, reduction.x.dtype));
  return node.result(0, result);
}

static LogicalResult reduceL1(Node &node) {
  HK_TRY(reduction, prepare(node));
  HK_TRY(absolute, node.unary<AbsOp>(reduction.x));
  HK_TRY(made, reduced(node, reduction, absolute, ReduceKind::sum,
                       reduction.x.dtype));
  return node.result(0, made);
}

static LogicalResult reduceLogSum(Node &node) {
  HK_TRY(reduction, prepare(node));
  HK_TRY(x, node.cast(reduction.x, kFloat));
  HK_TRY(sum, reduced(node, reduction, x, ReduceKind::sum, kFloat));
  HK_TRY(logarithm, node.unary<LogOp>(sum));
  HK_TRY(made, node.cast(logarithm, reduction.x.dtype));
  return node.result(0, made);
}

/// m + ln(sum of e^(x - m)), m the largest.
static LogicalResult reduceLogSumExp(Node &node) {
  HK_TRY(reduction, prepare(node));
  if (!reduction.dims || reduction.count.isConstant(0))
    return node.error() << "expected an axis, and elements along it";
  Reduction wide = reduction;
  HK_TRY(x, node.cast(reduction.x, kFloat));
  // In dims of size 1, beside x.
  wide.shape = reduction.kept;
  wide.shape.append(reduction.dims, Size(1));
  HK_TRY(largest, reduced(node, wide, x, ReduceKind::max, kFloat));
  HK_TRY(below, node.binary<SubOp>(x, largest));
  HK_TRY(powers, node.unary<ExpOp>(below));
  HK_TRY(sum, reduced(node, wide, powers, ReduceKind::sum, kFloat));
  HK_TRY(logarithm, node.unary<LogOp>(sum));
  HK_TRY(both, node.binary<AddOp>(logarithm, largest));
  HK_TRY(narrow, node.cast(both, reduction.x.dtype));
  HK_TRY(made, node.reshape(narrow, reduction.shape));
  return node.result(0, made);
}

FailureOr<Tensor> mlir::hk::importer::softmaxAlong(Node &node, const Tensor &x,
                                                   int64_t axis) {
  SmallVector<int64_t> swap = llvm::to_vector(llvm::seq<int64_t>(0, x.rank()));
  std::swap(swap[axis], swap.back());
  HK_TRY(rows, node.transpose(x, swap));
  HK_TRY(made, node.unary<SoftmaxOp>(rows));
  return node.transpose(made, swap);
}

static LogicalResult softmax(Node &node) {
  HK_TRY(x, node.tensor(0));
  HK_TRY(axis, node.axis(node.integer("axis", -1), x.rank()));
  HK_TRY(made, softmaxAlong(node, x, axis));
  return node.result(0, made);
}

static LogicalResult cumsum(Node &node) {
  HK_TRY(x, node.tensor(0));
  HK_TRY(given, node.integers(1, "the axis"));
  if (given.size() != 1)
    return node.error() << "expected one axis, but got " << given.size();
  HK_TRY(axis, node.axis(given.front(), x.rank()));
  HK_TRY(type, node.type(x.dtype, x.shape));
  bool exclusive = node.integer("exclusive", 0) != 0;
  bool reverse = node.integer("reverse", 0) != 0;
  OperationState state(node.loc, CumsumOp::getOperationName());
  CumsumOp::build(node.b, state, type,
                  exclusive ? ScanKind::exclusive : ScanKind::inclusive,
                  x.value, /*bounds=*/Value(), axis, /*chunk=*/IntegerAttr(),
                  reverse);
  return node.result(
      0, Tensor{node.b.create(state)->getResult(0), x.dtype, x.shape});
}

ArrayRef<Operator> mlir::hk::importer::reductionOperators() {
  using K = ReduceKind;
  static const Operator table[] = {
      {"", "ReduceSum", 11, 1, 2, reduceSum,
       "of reals, or of int32 and int64 over one axis"},
      {"", "ReduceMax", 11, 1, 2, reduce<K::max>, "of reals"},
      {"", "ReduceMin", 11, 1, 2, reduce<K::min>, "of reals"},
      {"", "ReduceProd", 11, 1, 2, reduceProd, "of shapes only"},
      {"", "ReduceMean", 11, 1, 2, reduceMean<false>, "of reals"},
      {"", "GlobalAveragePool", 1, 1, 1, reduceMean<true>, "of reals"},
      {"", "GlobalMaxPool", 1, 1, 1, reduce<K::max, true>, "of reals"},
      {"", "ReduceSumSquare", 11, 1, 2, reduceSquares<false>, "of reals"},
      {"", "ReduceL2", 11, 1, 2, reduceSquares<true>, "of reals"},
      {"", "ReduceL1", 11, 1, 2, reduceL1, "of reals"},
      {"", "ReduceLogSum", 11, 1, 2, reduceLogSum, "of reals"},
      {"", "ReduceLogSumExp", 11, 1, 2, reduceLogSumExp,
       "of reals, a finite maximum"},
      {"", "Softmax", 13, 1, 1, softmax, ""},
      {"", "CumSum", 11, 2, 2, cumsum, "an axis known at import"},
  };
  return table;
}
