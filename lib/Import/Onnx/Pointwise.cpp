//===- Pointwise.cpp - Pointwise operators of ONNX ------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arithmetic, functions and casts.
//
//===----------------------------------------------------------------------===//

#include "Activations.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

static bool isFloat(int dtype) {
  const mlir::hk::importer::DTypeInfo *info = dtypeInfo(dtype);
  return info && info->isFloat;
}

//===----------------------------------------------------------------------===//
// Arithmetic, on tensors or on sizes
//===----------------------------------------------------------------------===//

using SizeFunction = std::optional<Size> (*)(Node &node, const Size &x,
                                             const Size &y);

/// Whether both inputs are integers that shapes decide, and at least one is no
/// tensor yet: their arithmetic is done at import.
static bool isShapeArithmetic(Node &node) {
  const Item &x = node.input(0), &y = node.input(1);
  auto a = node.graph.integersOf(x), b = node.graph.integersOf(y);
  return a && b && (x.shape == y.shape || a->size() == 1 || b->size() == 1) &&
         (x.integers || y.integers || x.dtype == kInt64);
}

/// The function of the elements, with broadcasting of one of them.
static LogicalResult evaluate(Node &node, SizeFunction function) {
  const Item &x = node.input(0), &y = node.input(1);
  SmallVector<Size> a = *node.graph.integersOf(x),
                    b = *node.graph.integersOf(y);
  if (x.shape != y.shape && a.size() != 1 && b.size() != 1)
    return node.error() << "expected integers of equal shapes or one number, "
                           "but got "
                        << node.describe(x.shape) << " and "
                        << node.describe(y.shape);
  Item made;
  made.dtype = x.dtype;
  HK_TRY(shape, node.broadcast(x.shape, y.shape));
  made.shape = shape;
  made.integers.emplace();
  for (size_t i = 0,
              e = a.empty() || b.empty() ? 0 : std::max(a.size(), b.size());
       i < e; ++i) {
    std::optional<Size> value =
        function(node, a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]);
    if (!value || !value->isValid())
      return node.error() << "expected a size, but got one that is negative, "
                             "too large, or divided by 0";
    made.integers->push_back(*value);
  }
  return node.result(0, std::move(made));
}

template <typename Op, SizeFunction function>
static LogicalResult arithmetic(Node &node) {
  if (function && isShapeArithmetic(node))
    return evaluate(node, function);
  HK_TRY(operands, node.pair(0, 1));
  HK_TRY(made, node.binary<Op>(operands.first, operands.second));
  return node.result(0, made);
}

static std::optional<Size> addSizes(Node &, const Size &x, const Size &y) {
  return x + y;
}
static std::optional<Size> subSizes(Node &, const Size &x, const Size &y) {
  return x - y;
}
static std::optional<Size> mulSizes(Node &, const Size &x, const Size &y) {
  return x * y;
}
static std::optional<Size> divSizes(Node &node, const Size &x, const Size &y) {
  return node.graph.symbols.floorDiv(node.b, node.loc, x, y);
}
/// The remainder of sizes, which are not negative.
static std::optional<Size> modSizes(Node &node, const Size &x, const Size &y) {
  return x - y * node.graph.symbols.floorDiv(node.b, node.loc, x, y);
}

static LogicalResult mod(Node &node) {
  if (failed(node.only("fmod", 0, "sizes are integers")))
    return failure();
  if (isShapeArithmetic(node))
    return evaluate(node, modSizes);
  return node.error() << "expected integers computed from shapes, but they "
                         "depend on data";
}

/// Min, Max, Sum, Mean: any number of inputs.
template <typename Op, bool mean = false>
static LogicalResult variadic(Node &node) {
  HK_TRY(first, node.tensor(0));
  Tensor made = first;
  for (size_t i = 1; i < node.numInputs(); ++i) {
    HK_TRY(next, node.tensor(i));
    if (next.dtype != made.dtype)
      return node.error() << "expected inputs of one type, but got "
                          << dtypeName(made.dtype) << " and "
                          << dtypeName(next.dtype);
    HK_TRY(both, node.binary<Op>(made, next));
    made = both;
  }
  if (mean) {
    HK_TRY(factor, node.scalar(1.0 / double(node.numInputs()), made.dtype));
    HK_TRY(scaled, node.binary<MulOp>(made, factor));
    made = scaled;
  }
  return node.result(0, made);
}

//===----------------------------------------------------------------------===//
// Functions of one operand
//===----------------------------------------------------------------------===//

template <typename Op> static LogicalResult unary(Node &node) {
  HK_TRY(x, node.realTensor(0));
  HK_TRY(made, node.unary<Op>(x));
  return node.result(0, made);
}

/// -x and |x|, also of integers, which hk's operators do not take.
template <typename Op> static LogicalResult signedUnary(Node &node) {
  HK_TRY(x, node.tensor(0));
  if (isFloat(x.dtype))
    return unary<Op>(node);
  HK_TRY(zero, node.scalar(0, x.dtype));
  HK_TRY(negative, node.binary<SubOp>(zero, x));
  if (std::is_same_v<Op, NegOp>)
    return node.result(0, negative);
  HK_TRY(made, node.binary<MaxOp>(x, negative));
  return node.result(0, made);
}

static LogicalResult gelu(Node &node) {
  StringRef kind = node.text("approximate", "none");
  if (kind != "none" && kind != "tanh")
    return node.error() << "expected attribute 'approximate' to be 'none' or "
                           "'tanh', but got '"
                        << kind << "'";
  return kind == "tanh" ? unary<GeluTanhOp>(node) : unary<GeluOp>(node);
}

/// x * sigmoid(alpha x); com.microsoft's QuickGelu and ONNX's Swish differ in
/// what alpha is by default.
static FailureOr<Tensor> scaledSwish(Node &node, double alpha) {
  alpha = node.real("alpha", alpha);
  HK_TRY(x, node.realTensor(0));
  if (alpha == 1)
    return node.unary<SiluOp>(x);
  HK_TRY(factor, node.scalar(alpha, x.dtype));
  HK_TRY(scaled, node.binary<MulOp>(x, factor));
  HK_TRY(gate, node.unary<SigmoidOp>(scaled));
  return node.binary<MulOp>(x, gate);
}
static LogicalResult swish(Node &node) {
  HK_TRY(made, scaledSwish(node, 1));
  return node.result(0, made);
}
static LogicalResult quickGelu(Node &node) {
  HK_TRY(made, scaledSwish(node, 1.702f));
  return node.result(0, made);
}
/// Swish of the first, times the second.
static LogicalResult swiglu(Node &node) {
  HK_TRY(gate, scaledSwish(node, 1));
  HK_TRY(linear, node.tensor(1));
  if (linear.dtype != gate.dtype)
    return node.error() << "expected inputs of one type, but got "
                        << dtypeName(gate.dtype) << " and "
                        << dtypeName(linear.dtype);
  HK_TRY(made, node.binary<MulOp>(gate, linear));
  return node.result(0, made);
}

/// BiasGelu, FastGelu: of the sum with a bias.
template <typename Op> static LogicalResult biasGelu(Node &node) {
  HK_TRY(x, node.tensor(0));
  Tensor sum = x;
  if (node.has(1)) {
    HK_TRY(bias, node.tensor(1));
    HK_TRY(added, node.binary<AddOp>(x, bias));
    sum = added;
  }
  HK_TRY(made, node.unary<Op>(sum));
  return node.result(0, made);
}

static LogicalResult ceil(Node &node) {
  HK_TRY(x, node.tensor(0));
  HK_TRY(negative, node.unary<NegOp>(x));
  HK_TRY(floor, node.unary<FloorOp>(negative));
  HK_TRY(made, node.unary<NegOp>(floor));
  return node.result(0, made);
}

static LogicalResult leakyReluNode(Node &node) {
  HK_TRY(x, node.tensor(0));
  HK_TRY(made, leakyRelu(node, x, node.real("alpha", 0.01f)));
  return node.result(0, made);
}

static LogicalResult hardSigmoidNode(Node &node) {
  HK_TRY(x, node.tensor(0));
  double alpha = node.real("alpha", 0.2f);
  HK_TRY(made, hardSigmoid(node, x, alpha, node.real("beta", 0.5f)));
  return node.result(0, made);
}

//===----------------------------------------------------------------------===//
// Powers, limits, casts
//===----------------------------------------------------------------------===//

/// Powers that hk has an operator or two for.
static FailureOr<Tensor> power(Node &node, const Tensor &x, double exponent) {
  if (exponent == 1)
    return x;
  if (exponent == 0.5)
    return node.unary<SqrtOp>(x);
  if (exponent == -0.5)
    return node.unary<RsqrtOp>(x);
  if (exponent == -1)
    return node.unary<ReciprocalOp>(x);
  if (exponent == 2)
    return node.binary<MulOp>(x, x);
  if (exponent == 3 || exponent == 4) {
    HK_TRY(square, node.binary<MulOp>(x, x));
    return node.binary<MulOp>(square, exponent == 3 ? x : square);
  }
  return node.error() << "expected an exponent of -1, -0.5, 0.5, 1, 2, 3 or 4, "
                         "but got "
                      << exponent;
}

static LogicalResult pow(Node &node) {
  HK_TRY(x, node.tensor(0));
  HK_TRY(exponents, node.numbers(1, "the exponent"));
  if (exponents.getNumElements() != 1 ||
      exponents.sizes.size() > x.shape.size())
    return node.error() << "expected one exponent, but got "
                        << exponents.getNumElements();
  double exponent = exponents.number(0);
  if (!isFloat(x.dtype) && exponent < 1)
    return node.error() << "expected an exponent of at least 1 for integers, "
                           "but got "
                        << exponent;
  HK_TRY(made, power(node, x, exponent));
  return node.result(0, made);
}

static LogicalResult clip(Node &node) {
  HK_TRY(x, node.tensor(0));
  Tensor made = x;
  if (node.has(1)) {
    HK_TRY(least, node.tensor(1));
    HK_TRY(limited, node.binary<MaxOp>(made, least));
    made = limited;
  }
  if (node.has(2)) {
    HK_TRY(most, node.tensor(2));
    HK_TRY(limited, node.binary<MinOp>(made, most));
    made = limited;
  }
  return node.result(0, made);
}

/// A few numbers of the file, or that known sizes decide; nothing for others.
static std::optional<SmallVector<double>> knownNumbers(Node &node,
                                                       const Item &item) {
  constexpr int64_t kMostNumbers = 64;
  SmallVector<double> numbers;
  // Reals of 8 bits and less stay with hk.
  if (item.tensor || (isFloat(item.dtype) && dtypeInfo(item.dtype)->bits < 16))
    return std::nullopt;
  if (item.data) {
    if (item.data->getNumElements() > kMostNumbers)
      return std::nullopt;
    for (int64_t i = 0, e = item.data->getNumElements(); i < e; ++i)
      numbers.push_back(item.data->number(i));
    return numbers;
  }
  auto integers = node.graph.integersOf(item);
  if (!integers || integers->size() > size_t(kMostNumbers))
    return std::nullopt;
  for (const Size &size : *integers) {
    if (!size.getConstant())
      return std::nullopt;
    numbers.push_back(double(*size.getConstant()));
  }
  return numbers;
}

static LogicalResult castTo(Node &node, int64_t dtype) {
  if (failed(node.only("saturate", 1, "hk's float8 saturates")))
    return failure();
  if (StringRef mode = node.text("round_mode", "up"); mode != "up")
    return node.error() << "expected attribute 'round_mode' to be 'up', but "
                           "got '"
                        << mode << "'";
  const Item &item = node.input(0);
  // The integers of a shape stay what they are.
  const auto *info = dtypeInfo(dtype);
  if (!info)
    return node.error() << "expected a type that is a number, but got "
                        << dtypeName(dtype);
  if (!item.tensor && node.graph.integersOf(item) &&
      (dtype == kInt64 || (dtype == kInt32 && item.integers))) {
    Item made = item;
    made.dtype = dtype;
    made.integers = node.graph.integersOf(item);
    made.data.reset();
    made.name.clear();
    return node.result(0, std::move(made));
  }
  // Numbers of the file stay such, as exponents and scales need it, and sizes
  // that are computed in reals.
  bool toReals = isFloat(dtype) && info->bits >= 16,
       toSizes = isFloat(item.dtype) && (dtype == kInt64 || dtype == kInt32);
  auto numbers = knownNumbers(node, item);
  if (numbers && (toReals || toSizes)) {
    Item made;
    made.dtype = dtype;
    made.shape = item.shape;
    SmallVector<int64_t> sizes;
    for (const Size &size : item.shape)
      sizes.push_back(*size.getConstant());
    made.data = node.graph.store.make(dtype, sizes, *numbers);
    return node.result(0, std::move(made));
  }
  if (item.dtype == kUInt8) {
    // Less 128, which every other type can add again.
    HK_TRY(codes, node.codes(0));
    HK_TRY(wide, node.cast(codes, isFloat(dtype) ? kFloat : kInt32));
    HK_TRY(half, node.scalar(128, wide.dtype));
    HK_TRY(sum, node.binary<AddOp>(wide, half));
    HK_TRY(made, node.cast(sum, dtype));
    return node.result(0, made);
  }
  HK_TRY(x, node.tensor(0));
  HK_TRY(made, node.cast(x, dtype));
  return node.result(0, made);
}
static LogicalResult importCast(Node &node) {
  return castTo(node, node.integer("to", 0));
}
static LogicalResult castLike(Node &node) {
  return castTo(node, node.input(1).dtype);
}

static LogicalResult identity(Node &node) {
  Item item = node.input(0);
  return node.result(0, std::move(item));
}

static LogicalResult dropout(Node &node) {
  node.integer("seed", 0);
  if (node.has(2)) {
    HK_TRY(training, node.numbers(2, "training_mode"));
    if (training.getNumElements() != 1 || training.integer(0))
      return node.error() << "training_mode is not supported";
  }
  return identity(node);
}

ArrayRef<Operator> mlir::hk::importer::pointwiseOperators() {
  constexpr const char *kMs = "com.microsoft";
  static const Operator table[] = {
      {"", "Add", 1, 2, 2, arithmetic<AddOp, addSizes>, ""},
      {"", "Sub", 1, 2, 2, arithmetic<SubOp, subSizes>, ""},
      {"", "Mul", 1, 2, 2, arithmetic<MulOp, mulSizes>, ""},
      {"", "Div", 1, 2, 2, arithmetic<DivOp, divSizes>, ""},
      {"", "Mod", 1, 2, 2, mod, "of shapes only"},
      {"", "Max", 1, 1, kAny, variadic<MaxOp>, ""},
      {"", "Min", 1, 1, kAny, variadic<MinOp>, ""},
      {"", "Sum", 1, 1, kAny, variadic<AddOp>, ""},
      {"", "Mean", 1, 1, kAny, variadic<AddOp, true>, ""},
      {"", "Abs", 1, 1, 1, signedUnary<AbsOp>, ""},
      {"", "Neg", 1, 1, 1, signedUnary<NegOp>, ""},
      {"", "Exp", 1, 1, 1, unary<ExpOp>, ""},
      {"", "Log", 1, 1, 1, unary<LogOp>, ""},
      {"", "Sqrt", 1, 1, 1, unary<SqrtOp>, ""},
      {"", "Reciprocal", 1, 1, 1, unary<ReciprocalOp>, ""},
      {"", "Sin", 1, 1, 1, unary<SinOp>, ""},
      {"", "Cos", 1, 1, 1, unary<CosOp>, ""},
      {"", "Tanh", 1, 1, 1, unary<TanhOp>, ""},
      {"", "Erf", 1, 1, 1, unary<ErfOp>, ""},
      {"", "Sigmoid", 1, 1, 1, unary<SigmoidOp>, ""},
      {"", "Relu", 1, 1, 1, unary<ReluOp>, ""},
      {"", "Softplus", 1, 1, 1, unary<SoftplusOp>,
       "x above 20 is returned as it is"},
      {"", "Floor", 1, 1, 1, unary<FloorOp>, ""},
      {"", "Ceil", 1, 1, 1, ceil, ""},
      {"", "Round", 1, 1, 1, unary<RoundOp>, ""},
      {"", "LeakyRelu", 1, 1, 1, leakyReluNode, ""},
      {"", "HardSigmoid", 1, 1, 1, hardSigmoidNode, ""},
      {"", "Gelu", 20, 1, 1, gelu, ""},
      {"", "Swish", 24, 1, 1, swish, ""},
      {"", "SwiGLU", 28, 2, 2, swiglu, ""},
      {"", "Pow", 1, 2, 2, pow, "exponents -1, -0.5, 0.5, 1, 2, 3 and 4"},
      {"", "Clip", 11, 1, 3, clip, ""},
      {"", "Cast", 1, 1, 1, importCast, "to types that hk has"},
      {"", "CastLike", 15, 2, 2, castLike, "to types that hk has"},
      {"", "Identity", 1, 1, 1, identity, ""},
      {"", "Dropout", 12, 1, 3, dropout, "no training"},
      {kMs, "Gelu", 1, 1, 1, unary<GeluOp>, ""},
      {kMs, "QuickGelu", 1, 1, 1, quickGelu, ""},
      {kMs, "BiasGelu", 1, 2, 2, biasGelu<GeluOp>, ""},
      {kMs, "FastGelu", 1, 1, 2, biasGelu<GeluTanhOp>, ""},
  };
  return table;
}
