//===- HKPointwiseOps.td - Pointwise operators -------------------*- tablegen -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One class each for unary and binary operators, then compare, select and cast.
//
//===----------------------------------------------------------------------===//

#ifndef HK_HKPOINTWISEOPS
#define HK_HKPOINTWISEOPS

include "HKOpBase.td"
include "HKEnums.td"

// `function` computes it on the device; an elementary function costs 3.
class HK_UnaryOp<string mnemonic, string formula, int operations = 1,
                 string function = mnemonic, string linear = "Linear::none">
    : HK_PointwiseOp<mnemonic,
          [DeclareOpInterfaceMethods<HK_UnaryOpInterface>]> {
  let summary = "elementwise " # formula;
  let description = [{
    Formula: `}] # formula # [{`. Operand and result have the same shape and a
    real element type; computed in f32, rounded once to the result's type.

    Example:
    ```mlir
    %y = hk.}] # mnemonic # [{ %x : tensor<?x4096xbf16>
    ```
  }];
  let arguments = (ins HK_RealTensor:$input);
  let results = (outs HK_RealTensor:$result);
  let syntax = "$input attr-dict `:` type($input) `` custom<ResultType>(ref(type($input)), type($result))";
  let hasVerifier = 0;
  let cost = operations;
  let linearity = linear;
  let shapes = [{ shapes.same({"result", getResult()}, getInput()); }];
  let extraClassDefinition = factsDefinition # shapesDefinition # [{
    ::llvm::StringRef $cppClass::getDeviceFunction() { return "}] # function # [{"; }
  }];
}

class HK_BinaryOp<string mnemonic, string formula, list<Trait> traits = [],
                  int operations = 1, string linear = "Linear::none">
    : HK_PointwiseOp<mnemonic, traits> {
  let summary = "elementwise " # formula;
  let description = [{
    Formula: `}] # formula # [{`, with NumPy broadcasting: shapes are aligned at
    the last dim, a size of 1 repeats, `?` is equal to `?` (checked at run time).
    Both operands are real or both have the same integer type. Reals are computed
    in f32 and rounded once; integers wrap.

    Example:
    ```mlir
    %y = hk.}] # mnemonic # [{ %a, %b : tensor<?x64xbf16>, tensor<64xbf16>
    %z = hk.}] # mnemonic # [{ %a, 2.0 : tensor<?x64xbf16>
    ```
  }];
  let arguments = (ins HK_NumberTensor:$lhs, HK_NumberTensor:$rhs);
  let results = (outs HK_NumberTensor:$result);
  // parse and print: an operand may be a number (dialect/OpSyntax.h).
  let assemblyFormat = ?;
  let hasCustomAssemblyFormat = 1;
  let cost = operations;
  let linearity = linear;
  let shapes = [{
    shapes.broadcast({{"lhs", getLhs()}, {"rhs", getRhs()}},
                     {"result", getResult()});
  }];
  let extraClassDefinition = factsDefinition # shapesDefinition # [{
    ::llvm::LogicalResult $cppClass::verify() {
      return verifyBinary(*this, getLhs(), getRhs(), getResult());
    }
    ::mlir::ParseResult $cppClass::parse(::mlir::OpAsmParser &parser,
                                         ::mlir::OperationState &result) {
      return parseBinary(parser, result);
    }
    void $cppClass::print(::mlir::OpAsmPrinter &printer) {
      printBinary(printer, *this);
    }
  }];
}

def HK_NegOp : HK_UnaryOp<"neg", "-x", 1, "neg", "Linear::each">;
def HK_AbsOp : HK_UnaryOp<"abs", "|x|">;
def HK_ExpOp : HK_UnaryOp<"exp", "e^x", 3>;
def HK_Exp2Op : HK_UnaryOp<"exp2", "2^x", 3>;
def HK_Expm1Op : HK_UnaryOp<"expm1", "e^x - 1, which loses nothing where x is small", 3>;
def HK_LogOp : HK_UnaryOp<"log", "ln x; NaN below zero, -inf at zero", 3>;
def HK_Log2Op : HK_UnaryOp<"log2", "log2 x", 3>;
def HK_Log1pOp : HK_UnaryOp<"log1p", "ln(1 + x), which loses nothing where x is small; NaN below -1, -inf at -1", 3>;
def HK_SqrtOp : HK_UnaryOp<"sqrt", "square root, correctly rounded">;
def HK_RsqrtOp : HK_UnaryOp<"rsqrt", "1 / sqrt(x)">;
def HK_ReciprocalOp : HK_UnaryOp<"reciprocal", "1 / x, correctly rounded">;
def HK_SinOp : HK_UnaryOp<"sin", "sine, x in radians; some value in [-1, 1] above 2^22", 3>;
def HK_CosOp : HK_UnaryOp<"cos", "cosine, x in radians; some value in [-1, 1] above 2^22", 3>;
def HK_TanhOp : HK_UnaryOp<"tanh", "hyperbolic tangent", 3>;
def HK_ErfOp : HK_UnaryOp<"erf", "error function", 3>;
def HK_SigmoidOp : HK_UnaryOp<"sigmoid", "1 / (1 + e^-x)", 3>;
def HK_SiluOp : HK_UnaryOp<"silu", "x / (1 + e^-x); NaN at -inf, as x * sigmoid(x) gives", 3>;
def HK_GeluOp : HK_UnaryOp<"gelu", "0.5 x (1 + erf(x / sqrt 2))", 3>;
def HK_GeluTanhOp : HK_UnaryOp<"gelu_tanh", "0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))", 3, "geluTanh">;
def HK_ReluOp : HK_UnaryOp<"relu", "max(x, 0); NaN stays NaN">;
def HK_SoftplusOp : HK_UnaryOp<"softplus", "x > 20 ? x : ln(1 + e^x), torch.nn.functional.softplus; NaN stays NaN", 3>;
def HK_FloorOp : HK_UnaryOp<"floor", "largest integer not above x">;
def HK_RoundOp : HK_UnaryOp<"round", "nearest integer, ties to even", 1, "roundEven">;

def HK_AddOp : HK_BinaryOp<"add", "x + y", [Commutative], 1, "Linear::joint">;
def HK_SubOp : HK_BinaryOp<"sub", "x - y", [], 1, "Linear::joint">;
def HK_MulOp : HK_BinaryOp<"mul", "x * y", [Commutative], 1, "Linear::each">;
def HK_DivOp : HK_BinaryOp<"div", "x / y, correctly rounded for floats; integers truncate toward zero, x / 0 is 0", [], 3>;
def HK_MaxOp : HK_BinaryOp<"max", "the larger; NaN if either is NaN", [Commutative]>;
def HK_MinOp : HK_BinaryOp<"min", "the smaller; NaN if either is NaN", [Commutative]>;

def HK_ClampOp : HK_PointwiseOp<"clamp"> {
  let summary = "elementwise limitation to a range";
  let description = [{
    Formula: `min(max(x, min), max)` in f32, rounded once; NaN stays NaN. Operand
    and result have the same shape. The bounds are f32 and no NaN, and min is not
    above max; an infinite one is none. Source: torch.clamp.

    Example:
    ```mlir
    %y = hk.clamp %x min -7.0 max 7.0 : tensor<?x64xbf16>
    ```
  }];
  let arguments = (ins HK_RealTensor:$input, F32Attr:$min, F32Attr:$max);
  let results = (outs HK_RealTensor:$result);
  let shapes = [{ shapes.same({"result", getResult()}, getInput()); }];
  let syntax = "$input `min` $min `max` $max attr-dict `:` type($input) `` custom<ResultType>(ref(type($input)), type($result))";
}

def HK_CompareOp : HK_PointwiseOp<"compare"> {
  let summary = "elementwise comparison";
  let description = [{
    1 where the comparison holds, else 0; broadcasting as in `hk.add`. A NaN makes
    every predicate but `ne` false.

    Example:
    ```mlir
    %c = hk.compare lt %a, %b : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xi1>
    %d = hk.compare ge %a, 0.5 : tensor<?x64xf32> -> tensor<?x64xi1>
    ```
  }];
  let arguments = (ins HK_ComparePredicateAttr:$predicate, HK_NumberTensor:$lhs,
                       HK_NumberTensor:$rhs);
  let results = (outs HK_BoolTensor:$result);
  let shapes = [{
    shapes.broadcast({{"lhs", getLhs()}, {"rhs", getRhs()}},
                     {"result", getResult()});
  }];
  let assemblyFormat = ?;
  let hasCustomAssemblyFormat = 1;
}

def HK_SelectOp : HK_PointwiseOp<"select"> {
  let summary = "elementwise choice";
  let description = [{
    `condition ? true_value : false_value`, all three broadcast together. The
    value that is not chosen has no influence (no 0 * inf). Both values and the
    result have one element type.

    Example:
    ```mlir
    %y = hk.select %c, %a, %b : tensor<?x64xi1>, tensor<?x64xf32>, tensor<f32> -> tensor<?x64xf32>
    %z = hk.select %c, %a, 0.0 : tensor<?x64xi1>, tensor<?x64xf32> -> tensor<?x64xf32>
    ```
  }];
  let arguments = (ins HK_BoolTensor:$condition, HK_NumberTensor:$true_value,
                       HK_NumberTensor:$false_value);
  let results = (outs HK_NumberTensor:$result);
  let shapes = [{
    shapes.broadcast({{"condition", getCondition()},
                      {"true_value", getTrueValue()},
                      {"false_value", getFalseValue()}},
                     {"result", getResult()});
  }];
  let assemblyFormat = ?;
  let hasCustomAssemblyFormat = 1;
}

def HK_CastOp : HK_PointwiseOp<"cast"> {
  let summary = "change the element type";
  let description = [{
    Rounds to nearest even; conversions to f8, f4 and i8 saturate to the largest
    finite value, other integer conversions truncate toward zero and saturate.
    NaN becomes NaN, or 0 for integers and for f4.

    Example:
    ```mlir
    %y = hk.cast %x : tensor<?x64xf32> -> tensor<?x64xbf16>
    ```
  }];
  let arguments = (ins HK_Tensor:$input);
  let results = (outs HK_Tensor:$result);
  let shapes = [{ shapes.same({"result", getResult()}, getInput()); }];
  let linearity = "::llvm::isa<::mlir::FloatType>(getResult().getType().getElementType()) ? Linear::each : Linear::none";
  let syntax = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
}

def HK_PhiloxOp : HK_PointwiseOp<"philox"> {
  let summary = "uniform random numbers by position";
  let description = [{
    Philox4x32-10 of the key `seed` (i64: low, then high 32 bits) and the counter
    (low and high 32 bits of `counter`, 0, 0); both broadcast together. With x the
    first of its four words as an i32, the result is (x < 0 ? -x - 1 : x) rounded
    to f32 times 0x1.fffffep-32, in f32: a number of [0, 1), the same on every
    target. Source: Salmon et al., "Parallel
    random numbers: as easy as 1, 2, 3", 2011; triton.language.rand.

    Example:
    ```mlir
    %u = hk.philox %seed, %counter : tensor<i64>, tensor<?x64xi64> -> tensor<?x64xf32>
    ```
  }];
  let arguments = (ins RankedTensorOf<[I64]>:$seed, RankedTensorOf<[I64]>:$counter);
  let results = (outs HK_F32Tensor:$result);
  let hasVerifier = 0;
  let shapes = [{
    shapes.broadcast({{"seed", getSeed()}, {"counter", getCounter()}},
                     {"result", getResult()});
  }];
  let syntax = "$seed `,` $counter attr-dict `:` type($seed) `,` type($counter) `->` type($result)";
  let cost = 40;
}

def HK_IotaOp : HK_RowwiseOp<"iota", "0"> {
  let summary = "0, 1, 2, ...";
  let description = [{
    Element i of the result, a vector of i32, i64 or f32, is i, rounded once. Its
    size is static, or, with `like` x `dim` d, that of dim d of x, whose elements
    are not read. Source: tosa, stablehlo.iota, numpy.arange; a start and a step
    are an hk.add and an hk.mul.

    Example:
    ```mlir
    %p = hk.iota : tensor<4096xi32>
    %q = hk.iota like %x dim 1 : tensor<?xf32> like tensor<2x?x64xbf16>
    ```
  }];
  let arguments = (ins Optional<HK_Tensor>:$like,
      DefaultValuedAttr<ConfinedAttr<I64Attr, [IntMinValue<0>]>, "0">:$dim);
  let results = (outs RankedTensorOf<[F32, I32, I64]>:$result);
  let syntax = "(`like` $like^ `dim` $dim)? attr-dict `:` type($result) (`like` type($like)^)?";
  let shapes = [{
    shapes.rank({"result", getResult()}, 1);
    if (!getLike())
      return shapes.isStatic({"result", getResult()}, 0);
    shapes.minRank({"like", getLike()}, int64_t(getDim()) + 1);
    shapes.size({"result", getResult()}, 0, dimOf(getLike(), int64_t(getDim())));
  }];
  let operandMaps = "::llvm::SmallVector<::mlir::AffineMap>(getOperation()->getNumOperands())";
  let cost = 0;
}

def HK_ConstantOp : HK_Op<"constant", [Pure, ConstantLike, HK_Reify,
    HK_StatesShapes, AllTypesMatch<["value", "result"]>,
    DeclareOpInterfaceMethods<HK_RowwiseOpInterface>]>, HK_RowFacts<"0">,
    HK_ShapeFacts<[HK_StatesShapes]> {
  let summary = "small constant";
  let description = [{
    A constant of at most 256 bytes, copied into every kernel that uses it. Larger
    constants are weights. Where all elements are equal one number is written;
    otherwise a dense attribute. Bits in hexadecimal stand for infinities and NaN.
    An arith.constant of a tensor is accepted in place of this operator.

    Example:
    ```mlir
    %c = hk.constant 1.702 : tensor<f32>
    %d = hk.constant dense<[1, 2]> : tensor<2xi32>
    %e = hk.constant 0xFF800000 : tensor<f32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs HK_Tensor:$result);
  let syntax = "attr-dict custom<Constant>($value)";
  let operandMaps = "{}";
  let cost = 0;
  let extraClassDefinition = factsDefinition # shapesDefinition;
  let hasFolder = 1;
  let hasVerifier = 1;
}

#endif // HK_HKPOINTWISEOPS
