//===- HKOpBase.td - The hk dialect and its op classes -----------*- tablegen -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dialect, the element-type sets and the base classes of its ops. A base op
// states shapes, element types and where it rounds; see docs/numerics.md.
//
//===----------------------------------------------------------------------===//

#ifndef HK_HKOPBASE
#define HK_HKOPBASE

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "HKInterfaces.td"

def HK_Dialect : Dialect {
  let name = "hk";
  let cppNamespace = "::mlir::hk";
  let summary = "LLM operators, their fusions and their kernels";
  let description = [{
    Base operators work on ranked tensors by value. Unless an op says otherwise,
    operands are widened exactly, the result is computed in at least f32 and
    rounded once, to nearest even, to the result's element type. Conversions to
    f8, f4 and i8 saturate; NaN stays NaN where the type has one.

    Elements of 4 bits (f4E2M1FN, i4 from -8 to 7, ui4 from 0 to 15) lie two to a
    byte, the one of even index in the low half; so the last size of such a tensor
    is even. i4 and ui4 are storage: hk.dequantize and hk.cast read them, views and
    operators that only move elements keep them, nothing computes with them.

    ## Writing a model

    A model is a module with one `func.func` per entry point; functions may call
    others, which are inlined. Arguments and results are ranked tensors of f32,
    bf16, f16, f8E4M3FN, f8E4M3FNUZ, f8E5M2, f8E5M2FNUZ, f8E8M0FNU, f4E2M1FN, i1,
    i4, ui4, i8, i16, i32 or i64; a `?` is a size that each call brings.

    ```mlir
    hk.weight @wq "layers.0.wq" : tensor<512x256xbf16>

    func.func @step(%x: tensor<?x256xbf16> {hk.name = "x", hk.dims = ["T", "_"]},
                    %slots: tensor<?xi32> {hk.dims = ["T"]},
                    %cache: tensor<8x16x4x128xbf16> {hk.state})
        -> (tensor<?x512xbf16> {hk.name = "q"}, tensor<8x16x4x128xbf16>) {
      %w = hk.weight_ref @wq : tensor<512x256xbf16>
      %q = hk.matmul %x, %w transpose_b : tensor<?x256xbf16>, tensor<512x256xbf16> -> tensor<?x512xbf16>
      %c0 = arith.constant 0 : index
      %t = tensor.dim %x, %c0 : tensor<?x256xbf16>
      %h = tensor.expand_shape %q [[0], [1, 2]] output_shape [%t, 4, 128] : tensor<?x512xbf16> into tensor<?x4x128xbf16>
      %c = hk.kv_cache_write %h, %slots into %cache : tensor<?x4x128xbf16>, tensor<?xi32>, tensor<8x16x4x128xbf16>
      return %q, %c : tensor<?x512xbf16>, tensor<8x16x4x128xbf16>
    }
    ```

    * `hk.name = "x"`, of an argument or a result: its public name; else that of
      the SSA value in the source, `arg<n>` or `out<n>`. Names of a function differ,
      and each can be the name of a file.
    * `hk.state`, of an argument: memory that the function writes in place. The
      last value written is also returned; that result is no output.
    * `hk.dims = ["T", "_"]`, of an argument: dims of one name have one size, `_`
      names none. Fusion relies on it, every call checks it.
    * `hk.weight` and `hk.weight_ref`: tensors of a safetensors file.
    * `hk.mesh = "tp=2,ep=4"`, of the module: several ranks run its functions, each
      on tensors of its own; hk.all_reduce and its like exchange them along an axis.
      Ranks are numbered with the last axis fastest.

    Views come from upstream: `tensor.extract_slice`, `tensor.expand_shape`,
    `tensor.collapse_shape` and `tensor.cast`; `tensor.insert_slice` of what was
    written in a slice of a state. Sizes and offsets are index values made by
    `tensor.dim`, `arith.constant` and the integer operators of arith. What a
    dynamic view demands is checked by every call. There are no scalar operands: a
    number is an `hk.constant` of rank 0, which broadcasts, or an `arith.constant`
    of a tensor of at most 256 bytes. In the text an arithmetic operator,
    hk.compare and hk.select take a number in the place of an operand:
    `hk.mul %x, 2.0 : tensor<?x64xbf16>` is read as an `hk.constant` and the
    operator on it. The number is f32 beside reals, so that it is not rounded to
    the operand's type, and of the operand's type beside integers and in
    hk.select; it has no type in the list.

    ## Spelling

    Types follow the colon. Operands of one type have it once where an operator
    has two of a kind (`hk.add %a, %b : tensor<4xf32>`), and where an operator
    keeps the shape of its first operand a result of that operand's type is left
    out. Attributes are words in front of the colon; those with a default may be
    left out and are not printed with it. Braces are for attributes of other
    dialects: an unknown attribute is an error.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let hasConstantMaterializer = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// Refuses an operator that does not exist, and names those that are near.
    ::std::optional<ParseOpHook>
    getParseOperationHook(::llvm::StringRef name) const override;
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

// Types that arithmetic produces.
def HK_Real : AnyTypeOf<[F32, BF16, F16]>;
def HK_Fp8 : AnyTypeOf<[F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ]>;
def HK_Fp4 : TypeAlias<F4E2M1FN, "f4E2M1FN">;
def HK_Int4 : AnyTypeOf<[I<4>, UI<4>]>;
def HK_Int : AnyTypeOf<[I8, I16, I32, I64]>;
def HK_IndexInt : AnyTypeOf<[I32, I64]>;
def HK_Element : AnyTypeOf<[F32, BF16, F16, F8E4M3FN, F8E4M3FNUZ, F8E5M2,
                            F8E5M2FNUZ, F4E2M1FN, F8E8M0FNU, I1, HK_Int4, I8, I16,
                            I32, I64]>;

def HK_Tensor : RankedTensorOf<[HK_Element]>;
def HK_RealTensor : RankedTensorOf<[HK_Real]>;
def HK_NumberTensor : RankedTensorOf<[HK_Real, HK_Int]>;
def HK_BoolTensor : RankedTensorOf<[I1]>;
def HK_IndexTensor : RankedTensorOf<[HK_IndexInt]>;
def HK_QuantTensor : RankedTensorOf<[HK_Fp8, I8]>;
def HK_MxTensor : RankedTensorOf<[F4E2M1FN, F8E4M3FN, F8E5M2]>;
def HK_MxScaleTensor : RankedTensorOf<[F8E8M0FNU]>;
def HK_F32Tensor : RankedTensorOf<[F32]>;

//===----------------------------------------------------------------------===//
// Op classes
//===----------------------------------------------------------------------===//

def HK_Reify : DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
                                         ["reifyResultShapes"]>;

// An attribute that the op does not define and that is no other dialect's is an
// error: a misspelt one would silently mean another function.
def HK_OnlyKnownAttributes : NativeOpTrait<"OnlyKnownAttributes"> {
  let cppNamespace = "::mlir::hk";
}

class HK_Op<string mnemonic, list<Trait> traits = []>
    : Op<HK_Dialect, mnemonic, !listconcat([HK_OnlyKnownAttributes], traits)> {
  // The assembly format, in which `attr-dict` takes attributes of other dialects
  // only: those of the operator are words, and have one spelling. It is told the
  // format itself, which says what words there are.
  string syntax = "";
  let assemblyFormat = !subst("attr-dict",
      "`` custom<Braces>(attr-dict, \"getOperationName()\", \"R\\\"hk(" # !subst("$", "", syntax) # ")hk\\\"\")",
      syntax);
}

// The operator's .cpp says how the sizes of its tensors are related: stateShapes.
def HK_StatesShapes : DeclareOpInterfaceMethods<HK_ShapeOpInterface>;

// And how it is cut between ranks: stateFactors.
def HK_StatesFactors : DeclareOpInterfaceMethods<HK_ShardOpInterface>;

// How the sizes of an operator's tensors are related. Mixed into its class, which
// takes `shapesDefinition` into its extraClassDefinition and `shapeTraits` into
// its traits.
class HK_ShapeFacts<list<Trait> given> {
  // Statements on `shapes`, a ShapeRelations (include/hk/Dialect/ShapeRelations.h).
  // Empty: with the trait HK_StatesShapes the operator's .cpp has them; without
  // it, it implements ReifyRankedShapedTypeOpInterface itself.
  string shapes = "";
  bit statesElsewhere = !foldl(0, given, found, trait,
                               !or(found, !eq(trait, HK_StatesShapes)));
  bit statesHere = !not(!empty(shapes));
  list<Trait> shapeTraits =
      !listconcat([HK_Reify], !if(statesHere, [HK_StatesShapes], []<Trait>));
  string shapesDefinition = !if(statesHere, [{
    void $cppClass::stateShapes(::mlir::hk::ShapeRelations &shapes) {
      }] # shapes # [{
    }
  }], "") # !if(!or(statesHere, statesElsewhere), [{
    ::llvm::LogicalResult $cppClass::reifyResultShapes(
        ::mlir::OpBuilder &b, ::mlir::ReifiedRankedShapedTypeDims &sizes) {
      return ::mlir::hk::reifyShapes(*this, b, sizes);
    }
  }], "");
}

// A base operator on tensors by value.
class HK_BaseOp<string mnemonic, list<Trait> given = []>
    : HK_Op<mnemonic, []>, HK_ShapeFacts<given> {
  let traits = !listconcat([HK_OnlyKnownAttributes, Pure], shapeTraits, given);
  let extraClassDefinition = shapesDefinition;
  let hasVerifier = 1;
}

// What a row-wise operator states of itself, once: C++ expressions for the
// methods of RowwiseOpInterface. Mixed into the operator's class, which takes
// `factsDefinition` into its extraClassDefinition.
class HK_RowFacts<string rowDims> {
  string localDims = rowDims;
  // Empty: the operator's .cpp defines getOperandMaps.
  string operandMaps = "::mlir::hk::rowMaps(getOperation())";
  string rowReductions = "{}";
  string reducedDims = "1";
  string reductionGroup = "0";
  string vectorDivisors = "{}";
  int cost = 1;
  string selection = "false";
  string movement = "false";
  string fewElements = "false";
  // Of ::mlir::hk::Linearity, here Linear.
  string linearity = "Linear::none";
  string mapsDefinition = !if(!empty(operandMaps), "", [{
    ::llvm::SmallVector<::mlir::AffineMap> $cppClass::getOperandMaps() {
      return }] # operandMaps # [{;
    }
  }]);
  string factsDefinition = mapsDefinition # [{
    int64_t $cppClass::getNumLocalDims() { return }] # localDims # [{; }
    ::llvm::SmallVector<::mlir::hk::RowReduction> $cppClass::getRowReductions() {
      return }] # rowReductions # [{;
    }
    int64_t $cppClass::getNumReducedDims() { return }] # reducedDims # [{; }
    int64_t $cppClass::getReductionGroup() { return }] # reductionGroup # [{; }
    ::llvm::SmallVector<int64_t> $cppClass::getVectorDivisors() {
      return }] # vectorDivisors # [{;
    }
    int64_t $cppClass::getCost() { return }] # cost # [{; }
    bool $cppClass::isSelection() { return }] # selection # [{; }
    bool $cppClass::isMovement() { return }] # movement # [{; }
    bool $cppClass::hasFewElements() { return }] # fewElements # [{; }
    ::mlir::hk::Linearity $cppClass::getLinearity() {
      using Linear = ::mlir::hk::Linearity;
      return }] # linearity # [{;
    }
  }];
}

// A base operator that row-wise kernels can run.
class HK_RowwiseOp<string mnemonic, string rowDims = "1",
                   list<Trait> traits = []>
    : HK_BaseOp<mnemonic, !listconcat(
          [DeclareOpInterfaceMethods<HK_RowwiseOpInterface>], traits)>,
      HK_RowFacts<rowDims> {
  let extraClassDefinition = factsDefinition # shapesDefinition;
}

// One whose result elements are functions of the operands' elements of the same
// index, with NumPy broadcasting.
class HK_PointwiseOp<string mnemonic, list<Trait> traits = []>
    : HK_RowwiseOp<mnemonic, "0", traits> {
  let operandMaps = "::mlir::hk::broadcastMaps(getOperation())";
}

#endif // HK_HKOPBASE
