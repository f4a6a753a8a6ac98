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

def HK_Dialect : Dialect {
  let name = "hk";
  let cppNamespace = "::mlir::hk";
  let summary = "LLM operators, their fusions and their kernels";
  let description = [{
    Base operators work on ranked tensors by value. Unless an op says otherwise,
    operands are widened exactly, the result is computed in at least f32 and
    rounded once, to nearest even, to the result's element type. Conversions to
    f8, f4 and i8 saturate; NaN stays NaN where the type has one.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let hasConstantMaterializer = 1;
  let hasCanonicalizer = 1;
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
def HK_Int : AnyTypeOf<[I8, I16, I32, I64]>;
def HK_IndexInt : AnyTypeOf<[I32, I64]>;
def HK_Element : AnyTypeOf<[F32, BF16, F16, F8E4M3FN, F8E4M3FNUZ, F8E5M2,
                            F8E5M2FNUZ, F4E2M1FN, F8E8M0FNU, I1, I8, I16, I32,
                            I64]>;

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

def HK_RowwiseOpInterface : OpInterface<"RowwiseOpInterface"> {
  let cppNamespace = "::mlir::hk";
  let description = [{
    Ops that a row-wise kernel can run: an element of a result depends only on
    elements of the same row, where a row is a fixed value of the leading dims.
  }];
  let methods = [InterfaceMethod<[{
      Number of trailing result dims that form the row of this op: 0 for
      pointwise ops, 1 for a reduction along the last dim.
    }], "int64_t", "getNumLocalDims">];
}

def HK_StateOpInterface : OpInterface<"StateOpInterface"> {
  let cppNamespace = "::mlir::hk";
  let description = [{
    Ops that overwrite operands (state): some of their results are the memory of
    an operand afterwards.
  }];
  let methods = [InterfaceMethod<[{
      The operand whose memory `result` is; null for a result of its own.
    }], "::mlir::OpOperand *", "getTiedState", (ins "::mlir::OpResult":$result)>];
}

// An attribute that the op does not define and that is no other dialect's is an
// error: a misspelt one would silently mean another function.
def HK_OnlyKnownAttributes : NativeOpTrait<"OnlyKnownAttributes"> {
  let cppNamespace = "::mlir::hk";
}

class HK_Op<string mnemonic, list<Trait> traits = []>
    : Op<HK_Dialect, mnemonic, !listconcat([HK_OnlyKnownAttributes], traits)>;

// A base operator on tensors by value.
class HK_BaseOp<string mnemonic, list<Trait> traits = []>
    : HK_Op<mnemonic, !listconcat([Pure, HK_Reify], traits)> {
  let hasVerifier = 1;
}

// A base operator that row-wise kernels can run; `localDims` is a C++ expression.
class HK_RowwiseOp<string mnemonic, string localDims = "1",
                   list<Trait> traits = []>
    : HK_BaseOp<mnemonic, !listconcat(
          [DeclareOpInterfaceMethods<HK_RowwiseOpInterface>], traits)> {
  let extraClassDefinition = [{
    int64_t $cppClass::getNumLocalDims() { return }] # localDims # [{; }
  }];
}

#endif // HK_HKOPBASE
