//===- HKInterfaces.td - What operators state of themselves ------*- tablegen -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The facts that fusion, tiles and emission ask an operator for, so that none of
// them has to know it by name. lib/Analysis/LoopMaps.h answers questions with
// them.
//
//===----------------------------------------------------------------------===//

#ifndef HK_HKINTERFACES
#define HK_HKINTERFACES

include "mlir/IR/OpBase.td"

def HK_RowwiseOpInterface : OpInterface<"RowwiseOpInterface"> {
  let cppNamespace = "::mlir::hk";
  let description = [{
    Ops that a row-wise kernel can run: an element of a result depends only on
    elements of the same row, where a row is a fixed value of the leading dims.
    The loops of an op run over the dims of its first result; those of a write to
    a cache run over what is written.
  }];
  let methods = [
    InterfaceMethod<[{
      Number of trailing result dims that form the row of this op: 0 for
      pointwise ops, 1 for a reduction along the last dim.
    }], "int64_t", "getNumLocalDims">,
    InterfaceMethod<[{
      For every operand a map from the op's loops to the index of what it reads.
      A symbol is an index that the loops do not tell: all elements of a row, a
      row that another operand names, or, as `d - s`, a place in an operand that
      is a part of the dim. Null: gathered, nothing is known of where.
    }], "::llvm::SmallVector<::mlir::AffineMap>", "getOperandMaps">,
    InterfaceMethod<[{
      The reductions of trailing dims of the first operand that the op needs, in
      the order in which they are computed.
    }], "::llvm::SmallVector<::mlir::hk::RowReduction>", "getRowReductions">,
    InterfaceMethod<[{
      How many trailing dims of the first operand those are of.
    }], "int64_t", "getNumReducedDims">,
    InterfaceMethod<[{
      How many consecutive elements of the last dim share a reduction, whose
      results are then stored one per group; 0: all.
    }], "int64_t", "getReductionGroup">,
    InterfaceMethod<[{
      Sizes and offsets in elements, besides those of its tensors, at which the
      op cuts the last dim: a vector of consecutive elements must divide them.
    }], "::llvm::SmallVector<int64_t>", "getVectorDivisors">,
    InterfaceMethod<[{
      Operations per element of the result, about: an elementary function or a
      division counts 3, nothing computed 0.
    }], "int64_t", "getCost">,
    InterfaceMethod<[{
      Whether it is a reduction of the whole last dim whose result is more than a
      number: which elements are kept.
    }], "bool", "isSelection">,
    InterfaceMethod<[{
      Whether the elements of the result are elements of the operands, unchanged.
    }], "bool", "isMovement">,
    InterfaceMethod<[{
      Whether a row of the result is a few elements, however long the rows of the
      operands are.
    }], "bool", "hasFewElements">,
    InterfaceMethod<[{
      Whether a sum of operands gives the sum of the results, roundings aside.
    }], "::mlir::hk::Linearity", "getLinearity">
  ];
}

def HK_ShardOpInterface : OpInterface<"ShardOpInterface"> {
  let cppNamespace = "::mlir::hk";
  let description = [{
    Ops that say themselves which dims of their operands and results go together
    when tensors are cut between ranks (hk/Dialect/ShardFactors.h). For row-wise
    ops without it their operand maps tell.
  }];
  let methods = [InterfaceMethod<[{
      Adds the factors; a dim that is in none of them cannot be cut.
    }], "void", "stateFactors", (ins "::mlir::hk::ShardFactors &":$factors)>];
}

def HK_ShapeOpInterface : OpInterface<"ShapeOpInterface"> {
  let cppNamespace = "::mlir::hk";
  let description = [{
    Ops that state how the sizes of their operands and results are related. The
    verifier, reifyResultShapes, the dim symbols of lib/Analysis and the
    interpreter read the statement; none of them knows the op.
  }];
  let methods = [InterfaceMethod<[{
      Adds the relations to `shapes`, in the order in which they are checked. Runs
      on ops that are not verified yet: a rank may be wrong, an attribute out of
      range.
    }], "void", "stateShapes", (ins "::mlir::hk::ShapeRelations &":$shapes)>];
  let verify = "return ::mlir::hk::verifyShapes($_op);";
}

def HK_UnaryOpInterface : OpInterface<"UnaryOpInterface"> {
  let cppNamespace = "::mlir::hk";
  let description = [{
    Pointwise ops of one real operand without attributes.
  }];
  let methods = [StaticInterfaceMethod<[{
      The function of runtime/kernels/device/math.h that computes it in f32.
    }], "::llvm::StringRef", "getDeviceFunction">];
}

def HK_ProductOpInterface : OpInterface<"ProductOpInterface"> {
  let cppNamespace = "::mlir::hk";
  let description = [{
    Products C[m, n] = sum over k of A[m, k] * B[k, n], with optional scales, that
    kernels of the GEMM family compute. The last two dims of A and B are those of
    the matrices, exchanged by `transpose`; what stands in front of them counts
    matrices.
  }];
  let methods = [
    InterfaceMethod<"A.", "::mlir::Value", "getLhs", (ins), [{ return $_op.getLhs(); }]>,
    InterfaceMethod<"B.", "::mlir::Value", "getRhs", (ins), [{ return $_op.getRhs(); }]>,
    InterfaceMethod<"Scales of A, or null.", "::mlir::Value", "getLhsScale", (ins),
                    [{ return $_op.getLhsScale(); }]>,
    InterfaceMethod<"Scales of B, or null.", "::mlir::Value", "getRhsScale", (ins),
                    [{ return $_op.getRhsScale(); }]>,
    InterfaceMethod<"C.", "::mlir::Value", "getResult", (ins), [{ return $_op.getResult(); }]>,
    InterfaceMethod<"How the products of fp8 are summed.", "::mlir::hk::Accumulation",
                    "getAccumulation", (ins), [{ return $_op.getAccumulation(); }]>,
    InterfaceMethod<[{
      The dim of A that holds M or K.
    }], "int64_t", "getLhsDim", (ins "::mlir::hk::MatmulDim":$dim)>,
    InterfaceMethod<[{
      The dim of B that holds K or N.
    }], "int64_t", "getRhsDim", (ins "::mlir::hk::MatmulDim":$dim)>,
    InterfaceMethod<[{
      Dims of the result in front of those of the operands: slices of k, or its
      groups.
    }], "int64_t", "getNumSliceDims">,
    InterfaceMethod<[{
      Slices of equal length that k is cut into; 1: k is whole.
    }], "int64_t", "getNumSlices">
  ];
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

def HK_CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::mlir::hk";
  let description = [{
    Ops over the ranks along an axis of the module's mesh. Their first operand, if
    they have one, is what a rank sends.
  }];
  let methods = [
    InterfaceMethod<"Name of the axis.", "::llvm::StringRef", "getAxis", (ins), [{
      return $_op.getAxis();
    }]>,
    InterfaceMethod<[{
      What is sent to which rank, and what becomes of it.
    }], "::mlir::hk::Exchange", "getExchange">
  ];
}

// Kernels of such an op read its operands from memory only: none is computed or
// a constant of the kernel.
def HK_OperandsInMemory : NativeOpTrait<"OperandsInMemory"> {
  let cppNamespace = "::mlir::hk";
}

// Its first result may be an operand of a product whose kernel computes it where
// it loads the operand: what lies in memory is narrower, or lies otherwise.
def HK_DecodesOperand : NativeOpTrait<"DecodesOperand"> {
  let cppNamespace = "::mlir::hk";
}

// Counts items that are integer keys, or puts them in order: work of one block,
// whose results lie where its steps leave them.
def HK_CountsItems : NativeOpTrait<"CountsItems"> {
  let cppNamespace = "::mlir::hk";
}

// An element of its result needs those of tokens before it: who computes it in
// passing computes all of it.
def HK_RunsAlongTokens : NativeOpTrait<"RunsAlongTokens"> {
  let cppNamespace = "::mlir::hk";
}

// An element of its result is made of two elements of a row of its operand, half
// a row apart or beside each other, and of nothing else of it: what has both at
// hand, as a product's tile that holds both columns, computes it.
def HK_PairsColumns : NativeOpTrait<"PairsColumns"> {
  let cppNamespace = "::mlir::hk";
}

#endif // HK_HKINTERFACES
