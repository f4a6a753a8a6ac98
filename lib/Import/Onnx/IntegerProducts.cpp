//===- IntegerProducts.cpp - Products of quantised tensors ----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products of codes of 8 bits with zero points. With codes q and zero points z
//
//   sum (qx - zx) (qw - zw) = sum qx qw - zx sum qw - zw sum qx + K zx zw,
//
// in int32 and so exactly. The sums over a weight are made at import, as is a
// weight less its zero points where that is int8. uint8 is int8 less 128, its
// zero points as well, so that differences are what they were.
//
//===----------------------------------------------------------------------===//

#include "Codes.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

static bool isByte(int dtype) { return dtype == kInt8 || dtype == kUInt8; }

static bool isFloat8(int dtype) {
  return dtype >= kFloat8E4M3FN && dtype <= kFloat8E5M2FNUZ;
}

int64_t mlir::hk::importer::signedAt(const Data &data, int64_t i) {
  return data.integer(i) - (data.dtype == kUInt8 ? 128 : 0);
}

/// A value as int8: integers of 8 bits.
static FailureOr<Tensor> bytesOf(Node &node, Item &item) {
  if (!isByte(item.dtype))
    return node.error() << "expected '" << item.name
                        << "' to be integers of 8 bits, but got "
                        << dtypeName(item.dtype);
  HK_TRY(value, node.graph.tensorOf(node.loc, item));
  return Tensor{value, kInt8, item.shape};
}

FailureOr<Operand> mlir::hk::importer::operandOf(Node &node, StringRef codes,
                                                 StringRef zero) {
  Item *found = node.graph.find(codes);
  if (!found)
    return node.error() << "expected all codes and scales, but one is left out";
  return operandOf(node, *found,
                   zero.empty() ? nullptr : node.graph.find(zero));
}

FailureOr<Operand> mlir::hk::importer::operandOf(Node &node, Item &codes,
                                                 Item *zero) {
  Operand made;
  HK_TRY(bytes, bytesOf(node, codes));
  made.codes = bytes;
  made.item = &codes;
  DataStore &store = node.graph.store;
  if (!zero) {
    // Without a zero point it is 0.
    if (made.item->dtype == kInt8)
      return made;
    made.zeros = store.makeIntegers(kInt32, {}, {-128});
    HK_TRY(number, node.constant(*made.zeros, ""));
    made.zero = number;
    return made;
  }
  Item &given = *zero;
  if (given.dtype != made.item->dtype || given.shape.size() > 1)
    return node.error() << "expected a zero point of "
                        << dtypeName(made.item->dtype)
                        << " of at most one dim, but got "
                        << dtypeName(given.dtype) << " "
                        << node.describe(given.shape);
  bool one = given.shape.empty() || given.shape[0].isConstant(1);
  if (given.data) {
    SmallVector<int64_t> numbers;
    for (int64_t i = 0, e = given.data->getNumElements(); i < e; ++i)
      numbers.push_back(signedAt(*given.data, i));
    if (llvm::all_of(numbers, [](int64_t number) { return number == 0; }))
      return made;
    SmallVector<int64_t> sizes;
    if (!one)
      sizes.push_back(numbers.size());
    made.zeros = store.makeIntegers(kInt32, sizes, numbers);
    HK_TRY(constant, node.constant(*made.zeros, given.name + ".int32"));
    made.zero = constant;
    return made;
  }
  HK_TRY(narrow, bytesOf(node, given));
  HK_TRY(wide, node.cast(narrow, kInt32));
  HK_TRY(shaped, node.reshape(wide, one ? Shape() : narrow.shape));
  made.zero = shaped;
  return made;
}

/// Takes the zero points of a weight [K, N], or [N, K] if `transposed`, out of
/// its codes, where the file has both and the differences are int8.
static LogicalResult foldZeros(Node &node, Operand &w, bool transposed) {
  if (!w.zero || !w.zeros || !w.item->data || w.codes.rank() != 2)
    return success();
  const Data &codes = *w.item->data;
  int64_t columns = codes.sizes[1], zeros = w.zeros->getNumElements();
  if (zeros != 1 && zeros != codes.sizes[transposed ? 0 : 1])
    return success(); // told where they meet
  std::string made(codes.getNumElements(), '\0');
  for (int64_t i = 0, e = made.size(); i < e; ++i) {
    int64_t n = zeros == 1 ? 0 : transposed ? i / columns : i % columns;
    int64_t code = signedAt(codes, i) - w.zeros->integer(n);
    if (code < -128 || code > 127)
      return success();
    made[i] = char(code);
  }
  HK_TRY(constant, node.constant(Data{kInt8, codes.sizes,
                                      node.graph.store.keep(std::move(made))},
                                 w.item->name + ".less_zero"));
  w.codes = constant;
  w.zero.reset();
  return success();
}

/// `count` ones in int8, [count, 1] or [1, count].
static FailureOr<Tensor> onesOf(Node &node, const Size &count, bool asColumn) {
  Shape shape{asColumn ? count : Size(1), asColumn ? Size(1) : count};
  std::optional<int64_t> known = count.getConstant();
  if (known && *known <= node.graph.options.maxEvaluated) {
    HK_TRY(ones,
           node.constant(node.graph.store.makeIntegers(
                             kInt8, *known, SmallVector<int64_t>(*known, 1)),
                         ""));
    return node.reshape(ones, shape);
  }
  HK_TRY(all, node.truths(count));
  HK_TRY(ones, node.cast(all, kInt8));
  return node.reshape(ones, shape);
}

/// Sums of the codes of the columns of [..., K, N]: int32 [N] of a matrix of
/// the file, otherwise the product of ones with it, [..., 1, N].
static FailureOr<Tensor> columnSums(Node &node, const Operand &w,
                                    bool transposed) {
  if (w.codes.rank() < 2)
    return node.error() << "expected a matrix as the second operand, since the "
                           "first has a zero point, but got "
                        << node.describe(w.codes.shape);
  if (!w.item->data || w.codes.rank() != 2) {
    HK_TRY(ones,
           onesOf(node, w.codes.shape[w.codes.rank() - (transposed ? 1 : 2)],
                  /*asColumn=*/false));
    return matmul(node, ones, w.codes, false, transposed, kInt32);
  }
  const Data &codes = *w.item->data;
  // Of folded zero points: what was taken off.
  bool folded = w.zeros && !w.zero;
  int64_t columns = codes.sizes[1], n = codes.sizes[transposed ? 0 : 1];
  SmallVector<int64_t> sums(n);
  for (int64_t i = 0, e = codes.getNumElements(); i < e; ++i) {
    int64_t at = transposed ? i / columns : i % columns;
    int64_t zero =
        folded ? w.zeros->integer(w.zeros->getNumElements() == 1 ? 0 : at) : 0;
    sums[at] += signedAt(codes, i) - zero;
  }
  return node.constant(node.graph.store.makeIntegers(kInt32, {n}, sums),
                       w.item->name + ".sums");
}

/// Sums of rows [..., M, K], int32 [..., M, 1]: the product with ones.
static FailureOr<Tensor> rowSums(Node &node, const Tensor &x) {
  HK_TRY(ones, onesOf(node, x.shape.back(), /*asColumn=*/true));
  return matmul(node, x, ones, false, false, kInt32);
}

FailureOr<Tensor> mlir::hk::importer::integerProduct(Node &node, Operand x,
                                                     Operand w,
                                                     bool transposed) {
  if (x.zero && x.zero->rank() != 0)
    return node.error() << "expected one zero point of the first operand, but "
                           "got "
                        << node.describe(x.zero->shape);
  if (failed(foldZeros(node, w, transposed)))
    return failure();
  HK_TRY(sums, matmul(node, x.codes, w.codes, false, transposed, kInt32));
  Tensor made = sums;
  if (x.zero) {
    HK_TRY(columns, columnSums(node, w, transposed));
    HK_TRY(off, node.binary<MulOp>(columns, *x.zero));
    HK_TRY(less, node.binary<SubOp>(made, off));
    made = less;
  }
  if (w.zero) {
    HK_TRY(rows, rowSums(node, x.codes));
    Tensor moved = rows;
    if (x.zero) {
      HK_TRY(k, node.count(x.codes.shape.back(), kInt32));
      HK_TRY(all, node.binary<MulOp>(*x.zero, k));
      HK_TRY(less, node.binary<SubOp>(rows, all));
      moved = less;
    }
    HK_TRY(off, node.binary<MulOp>(moved, *w.zero));
    HK_TRY(less, node.binary<SubOp>(made, off));
    made = less;
  }
  return made;
}

/// An int32 sum times its scales, f32: [] of rows, [] or [N] of columns.
static FailureOr<Tensor> scaledSum(Node &node, const Tensor &sum,
                                   const Tensor &x, const Tensor &w) {
  HK_TRY(wide, node.cast(sum, kFloat));
  HK_TRY(both, node.binary<MulOp>(w, x));
  return node.binary<MulOp>(wide, both);
}

FailureOr<Tensor> mlir::hk::importer::scaleOf(Node &node, StringRef name) {
  Item *found = node.graph.find(name);
  if (!found)
    return node.error() << "expected all codes and scales, but one is left out";
  Item &item = *found;
  HK_TRY(value, node.graph.tensorOf(node.loc, item));
  HK_TRY(wide, node.cast(Tensor{value, item.dtype, item.shape}, kFloat));
  if (wide.rank() > 1)
    return node.error() << "expected a scale of at most one dim, but got "
                        << node.describe(wide.shape);
  bool one = wide.rank() == 1 && wide.shape[0].isConstant(1);
  return node.reshape(wide, one ? Shape() : wide.shape);
}

//===----------------------------------------------------------------------===//
// MatMul and Gemm of dequantised values
//===----------------------------------------------------------------------===//

/// hk.matmul with the scales of the operands, f32.
static FailureOr<Tensor> scaledProduct(Node &node, const Tensor &x,
                                       const Tensor &w, const Tensor &xScale,
                                       const Tensor &wScale, bool transposed) {
  Tensor columns = wScale;
  if (wScale.rank() == 1) {
    HK_TRY(made, node.reshape(wScale, {wScale.shape[0], Size(1)}));
    columns = made;
  }
  Shape shape(ArrayRef<Size>(x.shape).drop_back());
  shape.push_back(w.shape[transposed ? 0 : 1]);
  HK_TRY(type, node.type(kFloat, shape));
  OperationState state(node.loc, MatmulOp::getOperationName());
  MatmulOp::build(node.b, state, type, x.value, w.value, xScale.value,
                  columns.value, /*transpose_a=*/false, transposed,
                  IntegerAttr());
  return Tensor{node.b.create(state)->getResult(0), kFloat, shape};
}

/// Whether zero points are there, or may be.
static bool hasZeros(Node &node, const Quantised &q) {
  if (q.zero.empty())
    return false;
  const Item &zero = *node.graph.find(q.zero);
  return !zero.data ||
         llvm::any_of(zero.data->bytes, [](char c) { return c != 0; });
}

/// Whether the values of both are (codes - zero) * scale with scales that a
/// product keeps: of all rows, and of all or each of the columns. Values in f32
/// alone: others are rounded before they are multiplied.
static bool isQuantisedProduct(Node &node, bool transposed) {
  const Item &x = node.input(0), &w = node.input(1);
  if (!x.quantised || !w.quantised || x.dtype != kFloat || w.dtype != kFloat ||
      x.shape.size() < 2 || w.shape.size() != 2 || x.quantised->axis >= 0 ||
      (w.quantised->axis >= 0 && w.quantised->axis != (transposed ? 0 : 1)))
    return false;
  int codes[] = {node.graph.find(x.quantised->codes)->dtype,
                 node.graph.find(w.quantised->codes)->dtype};
  if (isFloat8(codes[0]) && isFloat8(codes[1]))
    return !hasZeros(node, *x.quantised) && !hasZeros(node, *w.quantised);
  // The sums over a weight are made at import.
  return isByte(codes[0]) && isByte(codes[1]) &&
         node.graph.find(w.quantised->codes)->data &&
         w.shape.front().getConstant() && w.shape.back().getConstant();
}

std::optional<FailureOr<Tensor>>
mlir::hk::importer::quantisedProduct(Node &node, bool transposed) {
  if (!isQuantisedProduct(node, transposed))
    return std::nullopt;
  auto make = [&]() -> FailureOr<Tensor> {
    const Quantised &x = *node.input(0).quantised,
                    &w = *node.input(1).quantised;
    HK_TRY(xScale, scaleOf(node, x.scale));
    HK_TRY(wScale, scaleOf(node, w.scale));
    Item &codes = *node.graph.find(x.codes),
         &weight = *node.graph.find(w.codes);
    const Shape &rows = codes.shape, &columns = weight.shape;
    const Size &k = columns[transposed ? 1 : 0];
    if ((rows.back() - k).getConstant().value_or(0) != 0)
      return node.error() << "expected the inner sizes of a product to be "
                             "equal, but got "
                          << node.describe(rows) << " and "
                          << node.describe(columns);
    if (isFloat8(codes.dtype)) {
      HK_TRY(xValue, node.graph.tensorOf(node.loc, codes));
      HK_TRY(wValue, node.graph.tensorOf(node.loc, weight));
      return scaledProduct(node, {xValue, codes.dtype, rows},
                           {wValue, weight.dtype, columns}, xScale, wScale,
                           transposed);
    }
    HK_TRY(left, operandOf(node, x.codes, x.zero));
    HK_TRY(right, operandOf(node, w.codes, w.zero));
    if (failed(foldZeros(node, right, transposed)))
      return failure();
    if (!left.zero && !right.zero)
      return scaledProduct(node, left.codes, right.codes, xScale, wScale,
                           transposed);
    HK_TRY(sum, integerProduct(node, left, right, transposed));
    return scaledSum(node, sum, xScale, wScale);
  };
  return make();
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

static StringRef nameOf(Node &node, size_t i) {
  return node.has(i) ? node.inputName(i) : StringRef();
}

/// The int32 product of codes at inputs `a` and `b` with zero points.
static FailureOr<Tensor> integerProduct(Node &node, size_t a, size_t aZero,
                                        size_t b, size_t bZero) {
  HK_TRY(x, operandOf(node, node.inputName(a), nameOf(node, aZero)));
  HK_TRY(w, operandOf(node, node.inputName(b), nameOf(node, bZero)));
  return integerProduct(node, x, w, /*transposed=*/false);
}

static LogicalResult matmulInteger(Node &node) {
  HK_TRY(made, integerProduct(node, 0, 2, 1, 3));
  return node.result(0, made);
}

FailureOr<Tensor> mlir::hk::importer::codesOf(Node &node, const Tensor &x,
                                              size_t zero, int otherwise) {
  HK_TRY(rounded, node.unary<RoundOp>(x));
  int dtype = node.has(zero) ? node.input(zero).dtype : otherwise;
  FailureOr<Tensor> by =
      node.scalar(dtype == kUInt8 ? -128 : 0, kFloat); // as hk stores a 0
  if (node.has(zero)) {
    HK_TRY(given, node.codes(zero));
    HK_TRY(wide, node.cast(given, kFloat));
    bool one = wide.rank() == 1 && wide.shape[0].isConstant(1);
    by = node.reshape(wide, one ? Shape() : wide.shape);
  }
  if (failed(by))
    return failure();
  HK_TRY(moved, node.binary<AddOp>(rounded, *by));
  HK_TRY(made, node.cast(moved, kInt8)); // saturates
  return Tensor{made.value, dtype, made.shape};
}

FailureOr<Tensor> mlir::hk::importer::rescaled(Node &node, const Tensor &sum,
                                               const Tensor &x, const Tensor &w,
                                               size_t scale, size_t zero) {
  HK_TRY(y, scaleOf(node, node.inputName(scale)));
  HK_TRY(both, node.binary<MulOp>(w, x));
  HK_TRY(factor, node.binary<DivOp>(both, y));
  HK_TRY(wide, node.cast(sum, kFloat));
  HK_TRY(quotient, node.binary<MulOp>(wide, factor));
  return codesOf(node, quotient, zero, kInt8);
}

/// Inputs: a, its scale and zero point, those of b, then of the result.
static LogicalResult qlinearMatmul(Node &node) {
  HK_TRY(sum, integerProduct(node, 0, 2, 3, 5));
  HK_TRY(x, scaleOf(node, node.inputName(1)));
  HK_TRY(w, scaleOf(node, node.inputName(4)));
  HK_TRY(made, rescaled(node, sum, x, w, 6, 7));
  return node.result(0, made);
}

/// Inputs: a, its scale and zero point, those of b, an int32 bias, the scale
/// and zero point of the result, which is real without them.
static LogicalResult qgemm(Node &node) {
  if (failed(node.only("transA", 0, "rows of A are what is multiplied")))
    return failure();
  bool transposed = node.integer("transB", 0) != 0;
  double alpha = node.real("alpha", 1.0);
  HK_TRY(a, operandOf(node, node.inputName(0), nameOf(node, 2)));
  HK_TRY(b, operandOf(node, node.inputName(3), nameOf(node, 5)));
  HK_TRY(product, integerProduct(node, a, b, transposed));
  Tensor sum = product;
  if (node.has(6)) {
    HK_TRY(bias, node.tensor(6));
    if (bias.dtype != kInt32)
      return node.error() << "expected a bias of int32, but got "
                          << dtypeName(bias.dtype);
    HK_TRY(added, node.binary<AddOp>(sum, bias));
    sum = added;
  }
  HK_TRY(x, scaleOf(node, node.inputName(1)));
  HK_TRY(w, scaleOf(node, node.inputName(4)));
  HK_TRY(factor, node.scalar(alpha, kFloat));
  HK_TRY(left, node.binary<MulOp>(x, factor));
  if (node.has(7) != node.has(8))
    return node.error() << "expected both a scale and a zero point of the "
                           "result, or none";
  FailureOr<Tensor> made = node.has(7) ? rescaled(node, sum, left, w, 7, 8)
                                       : scaledSum(node, sum, left, w);
  if (failed(made))
    return failure();
  return node.result(0, *made);
}

namespace {
struct Dynamic {
  Tensor codes, scale, zero; // uint8 less 128, f32 [], the same []
};
} // namespace

/// The largest or smallest element of all, and 0.
template <typename Op>
static FailureOr<Tensor> boundOf(Node &node, const Tensor &x, ReduceKind kind) {
  HK_TRY(type, node.type(kFloat, Shape(x.rank(), Size(1))));
  Tensor made{ReduceOp::create(node.b, node.loc, type, kind, x.value,
                               uint64_t(x.rank())),
              kFloat, Shape(x.rank(), Size(1))};
  HK_TRY(number, node.reshape(made, Shape()));
  HK_TRY(zero, node.scalar(0, kFloat));
  return node.binary<Op>(number, zero);
}

/// DynamicQuantizeLinear: the range with 0 in it in 255 steps. A range of
/// nothing has the scale 1.
static FailureOr<Dynamic> dynamicCodes(Node &node, const Tensor &x) {
  if (x.dtype != kFloat || x.rank() < 1)
    return node.error() << "expected floats of at least one dim, but got "
                        << dtypeName(x.dtype) << " " << node.describe(x.shape);
  HK_TRY(most, boundOf<MaxOp>(node, x, ReduceKind::max));
  HK_TRY(least, boundOf<MinOp>(node, x, ReduceKind::min));
  HK_TRY(range, node.binary<SubOp>(most, least));
  HK_TRY(steps, node.scalar(255, kFloat));
  HK_TRY(none, node.scalar(0, kFloat));
  HK_TRY(one, node.scalar(1, kFloat));
  HK_TRY(step, node.binary<DivOp>(range, steps));
  HK_TRY(isNothing, node.compare(ComparePredicate::eq, range, none));
  HK_TRY(scale, node.select(isNothing, one, step));
  // 0 - least / scale is in [0, 255] but for its rounding: less 128, int8.
  HK_TRY(low, node.binary<DivOp>(least, scale));
  HK_TRY(lowRounded, node.unary<RoundOp>(low));
  HK_TRY(half, node.scalar(-128, kFloat));
  HK_TRY(zeroWide, node.binary<SubOp>(half, lowRounded));
  HK_TRY(zero, node.cast(zeroWide, kInt8));
  HK_TRY(zeroBack, node.cast(zero, kFloat));
  HK_TRY(quotient, node.binary<DivOp>(x, scale));
  HK_TRY(rounded, node.unary<RoundOp>(quotient));
  HK_TRY(moved, node.binary<AddOp>(rounded, zeroBack));
  HK_TRY(codes, node.cast(moved, kInt8));
  return Dynamic{codes, scale, zero};
}

static LogicalResult dynamicQuantize(Node &node) {
  HK_TRY(x, node.tensor(0));
  HK_TRY(made, dynamicCodes(node, x));
  made.codes.dtype = made.zero.dtype = kUInt8;
  return failure(failed(node.result(0, made.codes)) ||
                 failed(node.result(1, made.scale)) ||
                 failed(node.result(2, made.zero)));
}

/// Adds the bias of input `i`, if there is one.
static LogicalResult biasedResult(Node &node, const Tensor &x, size_t i) {
  if (!node.has(i))
    return node.result(0, x);
  HK_TRY(bias, node.tensor(i));
  HK_TRY(sum, node.binary<AddOp>(x, bias));
  return node.result(0, sum);
}

/// Inputs: a, b, their scales, their zero points, a bias.
static LogicalResult matmulIntegerToFloat(Node &node) {
  HK_TRY(sum, integerProduct(node, 0, 4, 1, 5));
  HK_TRY(x, scaleOf(node, node.inputName(2)));
  HK_TRY(w, scaleOf(node, node.inputName(3)));
  HK_TRY(made, scaledSum(node, sum, x, w));
  return biasedResult(node, made, 6);
}

/// Inputs: a, b, its scale and zero point, a bias.
static LogicalResult dynamicQuantizeMatmul(Node &node) {
  HK_TRY(x, node.tensor(0));
  HK_TRY(codes, dynamicCodes(node, x));
  Operand left;
  left.codes = codes.codes;
  left.item = nullptr;
  HK_TRY(zero, node.cast(codes.zero, kInt32));
  left.zero = zero;
  HK_TRY(right, operandOf(node, node.inputName(1), nameOf(node, 3)));
  HK_TRY(sum, integerProduct(node, left, right, /*transposed=*/false));
  HK_TRY(w, scaleOf(node, node.inputName(2)));
  HK_TRY(made, scaledSum(node, sum, codes.scale, w));
  return biasedResult(node, made, 4);
}

ArrayRef<Operator> mlir::hk::importer::integerProductOperators() {
  constexpr const char *kMs = "com.microsoft";
  static const Operator table[] = {
      {"", "MatMulInteger", 10, 2, 4, matmulInteger, "one zero point of A"},
      {"", "QLinearMatMul", 10, 8, 8, qlinearMatmul,
       "one scale and zero point of A"},
      {"", "DynamicQuantizeLinear", 11, 1, 1, dynamicQuantize, ""},
      {kMs, "MatMulIntegerToFloat", 1, 4, 7, matmulIntegerToFloat,
       "one scale and zero point of A"},
      {kMs, "QGemm", 1, 6, 9, qgemm, "A not transposed"},
      {kMs, "DynamicQuantizeMatMul", 1, 3, 5, dynamicQuantizeMatmul, ""},
  };
  return table;
}
