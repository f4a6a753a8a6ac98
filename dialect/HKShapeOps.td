//===- HKShapeOps.td - Operators that move data ------------------*- tablegen -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators that move elements without arithmetic. Shape-only ops are upstream tensor ops.
//
//===----------------------------------------------------------------------===//

#ifndef HK_HKSHAPEOPS
#define HK_HKSHAPEOPS

include "HKOpBase.td"

def HK_TransposeOp : HK_RowwiseOp<"transpose",
    "(::mlir::hk::transposedLocalDims(getPermutation()))",
    [HK_StatesShapes, HK_DecodesOperand]> {
  let summary = "permute dimensions";
  let description = [{
    Result dim i is input dim `permutation[i]`.

    Example:
    ```mlir
    %y = hk.transpose %x [1, 0, 2] : tensor<?x8x64xbf16> -> tensor<8x?x64xbf16>
    ```
  }];
  let arguments = (ins HK_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs HK_Tensor:$result);
  let operandMaps = "";
  let movement = "true";
  let linearity = "Linear::each";
  let cost = 3;
  let extraClassDeclaration = [{
    /// Whether neighbours in the last dim of the result are none in that of the
    /// operand.
    bool movesColumns() {
      ::llvm::ArrayRef<int64_t> dims = getPermutation();
      return !dims.empty() && dims.back() + 1 != int64_t(dims.size());
    }
  }];
  let syntax = "$input $permutation attr-dict `:` type($input) `` custom<ResultType>(ref(type($input)), type($result))";
  let hasFolder = 1;
}

def HK_ConcatOp : HK_RowwiseOp<"concat", "getType().getRank() - getDim()",
    [HK_StatesShapes, HK_StatesFactors]> {
  let summary = "concatenate along one dimension";
  let description = [{
    All inputs have the result's shape but for dim `dim`, whose sizes add up.

    Example:
    ```mlir
    %y = hk.concat 1 (%a, %b) : tensor<?x512xbf16>, tensor<?x64xbf16> -> tensor<?x576xbf16>
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$dim,
                       Variadic<HK_Tensor>:$inputs);
  let results = (outs HK_Tensor:$result);
  let operandMaps = "::mlir::hk::partMaps(getOperation(), getDim())";
  let movement = "true";
  let linearity = "Linear::joint";
  let cost = 3;
  let syntax = "$dim `(` $inputs `)` attr-dict `:` type($inputs) `->` type($result)";
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getResult().getType());
    }
  }];
}

def HK_PadOp : HK_RowwiseOp<"pad", "1", [HK_StatesShapes]> {
  let summary = "append a constant along the last dimension";
  let description = [{
    The result's last dim is at least the input's; the new elements are `value`, a
    number of the element type (+0 unless given; f8E8M0FNU, which has no 0, then
    has its smallest number, byte 0).

    Example:
    ```mlir
    %y = hk.pad %x : tensor<?x2880xbf16> -> tensor<?x3072xbf16>
    ```
  }];
  let arguments = (ins HK_Tensor:$input,
                       DefaultValuedAttr<F32Attr, "0.0f">:$value);
  let results = (outs HK_Tensor:$result);
  let operandMaps = "::mlir::hk::partMaps(getOperation(), getInput().getType().getRank() - 1)";
  let movement = "true";
  let syntax = "$input (`value` $value^)? attr-dict `:` type($input) `` custom<ResultType>(ref(type($input)), type($result))";
}

def HK_GatherRowsOp : HK_RowwiseOp<"gather_rows", "0",
    [HK_StatesShapes, HK_StatesFactors]> {
  let summary = "rows of a table by index (embedding lookup)";
  let description = [{
    result[i..., c...] = table[indices[i...], c...]. A row whose index is not in
    [0, rows of the table) is zero.

    Example:
    ```mlir
    %e = hk.gather_rows %table, %ids : tensor<32000x4096xbf16>, tensor<?xi32> -> tensor<?x4096xbf16>
    ```
  }];
  let arguments = (ins HK_Tensor:$table, HK_IndexTensor:$indices);
  let results = (outs HK_Tensor:$result);
  let operandMaps = "";
  let movement = "true";
  let linearity = "Linear::each";
  let syntax = "$table `,` $indices attr-dict `:` type($table) `,` type($indices) `->` type($result)";
}

def HK_HasRowOp : HK_PointwiseOp<"has_row"> {
  let summary = "whether a table has the row of an index";
  let description = [{
    result[i...] is whether indices[i...] is in [0, rows of the table): what
    hk.gather_rows of the two reads. No element of the table is read.

    Example:
    ```mlir
    %ok = hk.has_row %table, %ids : tensor<?x4096xbf16>, tensor<?xi32> -> tensor<?xi1>
    ```
  }];
  let arguments = (ins HK_Tensor:$table, HK_IndexTensor:$indices);
  let results = (outs HK_BoolTensor:$result);
  let operandMaps = "";
  let hasVerifier = 0;
  let shapes = [{
    shapes.minRank({"table", getTable()}, 1);
    shapes.same({"result", getResult()}, getIndices());
  }];
  let syntax = "$table `,` $indices attr-dict `:` type($table) `,` type($indices) `->` type($result)";
}

def HK_GatherElementsOp : HK_RowwiseOp<"gather_elements", "0", [HK_StatesShapes]> {
  let summary = "elements of a table, with an index for each of its dims";
  let description = [{
    result[i...] = table[x[i...], y[i...], ...] with one index operand per dim of
    the table; these broadcast to the result's shape. An element of which some
    index is not in [0, size of its dim) is zero. In a region of hk.attention all
    indices are of rank 0.

    Example:
    ```mlir
    %b = hk.gather_elements %bias [%h, %i, %j] : tensor<8x?x?xf32> [tensor<i32>, tensor<i32>, tensor<i32>] -> tensor<f32>
    ```
  }];
  let arguments = (ins HK_Tensor:$table, Variadic<HK_IndexTensor>:$indices);
  let results = (outs HK_Tensor:$result);
  let operandMaps = "";
  let movement = "true";
  let syntax = "$table `[` $indices `]` attr-dict `:` type($table) `[` type($indices) `]` `->` type($result)";
}

def HK_CopyOp : HK_PointwiseOp<"copy", [SameOperandsAndResultType]> {
  let summary = "a copy in memory of its own";
  let description = [{
    The identity. Stands for a result that must be written although no operator
    makes it, for example an input that the function returns.

    Example:
    ```mlir
    %y = hk.copy %x : tensor<?x64xbf16>
    ```
  }];
  let arguments = (ins HK_Tensor:$input);
  let results = (outs HK_Tensor:$result);
  let hasVerifier = 0;
  let movement = "true";
  let linearity = "Linear::each";
  let cost = 0;
  let shapes = [{ shapes.same({"result", getResult()}, getInput()); }];
  let syntax = "$input attr-dict `:` type($result)";
}

#endif // HK_HKSHAPEOPS
