//===- HKSelectOps.td - Selection along the last dimension -------*- tablegen -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Top-k and what routers put around it. All of these stay inside a row, so that a
// router is one kernel: scores, selection, weights and bit matrix.
//
//===----------------------------------------------------------------------===//

#ifndef HK_HKSELECTOPS
#define HK_HKSELECTOPS

include "HKOpBase.td"
include "HKEnums.td"

def HK_TopkOp : HK_RowwiseOp<"topk"> {
  let summary = "the k largest elements of the last dimension and where they are";
  let description = [{
    k is the size of the results' last dim. Elements are ordered by value; NaN, of
    any sign, is larger than +inf, and -0 equals +0. Of equal elements those with
    the lowest index are taken first, or with `ties highest_index` the highest. This is a total order, so for
    every input, NaN and infinities included, the indices of a row are distinct and
    in [0, N).

    The results come in descending order of (value, index rule), or with
    `order by_index` by ascending index. Values are the elements themselves; a zero is returned as +0 and a NaN
    as the quiet NaN. Where a dynamic N is less than k, the entries after the N-th
    have value -inf and index -1. Zero rows give zero rows. Source: torch.topk,
    which fixes no tie rule; `highest_index` with `by_index` is AITER's MoE router,
    `lowest_index` with `by_value` that of vLLM and DeepSeek.

    Example:
    ```mlir
    %v, %i = hk.topk %x : tensor<?x256xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
    ```
  }];
  let arguments = (ins HK_RealTensor:$input,
      DefaultValuedAttr<HK_TieRuleAttr, "::mlir::hk::TieRule::lowest_index">:$ties,
      DefaultValuedAttr<HK_TopkOrderAttr, "::mlir::hk::TopkOrder::by_value">:$order);
  let results = (outs HK_RealTensor:$values, HK_IndexTensor:$indices);
  let selection = "true";
  let fewElements = "true";
  let shapes = [{
    shapes.rowsLike({"values", getValues()}, {"input", getInput()});
    shapes.isStatic({"values", getValues()}, -1);
    shapes.same({"indices", getIndices()}, getValues());
    shapes.isStatic({"indices", getIndices()}, -1);
  }];
  let syntax = "$input oilist(`ties` $ties | `order` $order) attr-dict `:` type($input) `->` type($values) `,` type($indices)";
  let extraClassDeclaration = [{
    int64_t getK() {
      return ::llvm::cast<::mlir::RankedTensorType>(getValues().getType())
          .getShape().back();
    }
  }];
}

def HK_GatherLastOp : HK_RowwiseOp<"gather_last"> {
  let summary = "elements of a row by index";
  let description = [{
    result[r..., j] = input[r..., indices[r..., j]]. An index that is not in [0, N)
    gives zero. Source: torch.gather on the last dim.

    Example:
    ```mlir
    %w = hk.gather_last %scores, %ids : tensor<?x256xf32>, tensor<?x8xi32> -> tensor<?x8xf32>
    ```
  }];
  let arguments = (ins HK_Tensor:$input, HK_IndexTensor:$indices);
  let results = (outs HK_Tensor:$result);
  let operandMaps = "";
  let movement = "true";
  let fewElements = "true";
  let shapes = [{
    shapes.rowsLike({"indices", getIndices()}, {"input", getInput()});
    shapes.same({"result", getResult()}, getIndices());
  }];
  let syntax = "$input `,` $indices attr-dict `:` type($input) `,` type($indices) `->` type($result)";
}

def HK_GroupLimitOp : HK_RowwiseOp<"group_limit"> {
  let summary = "keep the elements of the best groups";
  let description = [{
    The last dim is `groups` groups of equal size. The score of a group is its
    largest element or the f32 sum of its two largest (equal elements count twice).
    The `top_groups` groups with the largest scores, of equal ones those with the
    lowest index, keep their elements; the elements of the others become `fill`, a
    number of the element type (-inf unless given). NaN orders as in hk.topk. At most 64 groups. Source: the group-limited routing of
    DeepSeek-V2 (maximum) and V3 (top2_sum).

    Example:
    ```mlir
    %y = hk.group_limit top2_sum %x groups 8 top_groups 4 : tensor<?x256xf32>
    ```
  }];
  let arguments = (ins HK_GroupScoreAttr:$score, HK_RealTensor:$input,
                       I64Attr:$groups, I64Attr:$top_groups,
                       DefaultValuedAttr<F32Attr, "-INFINITY">:$fill);
  let results = (outs HK_RealTensor:$result);
  let selection = "true";
  let shapes = [{
    shapes.minRank({"input", getInput()}, 1);
    shapes.same({"result", getResult()}, getInput());
    shapes.isStatic({"input", getInput()}, -1);
  }];
  let syntax = "$score $input `groups` $groups `top_groups` $top_groups (`fill` $fill^)? attr-dict `:` type($input) `` custom<ResultType>(ref(type($input)), type($result))";
}

def HK_BitmatrixOp : HK_RowwiseOp<"bitmatrix"> {
  let summary = "a row of indices as bits";
  let description = [{
    Bit c % 32 (bit 0 is the lowest) of word result[r..., c / 32] is 1 iff c is
    among indices[r..., :]. Indices outside [0, 32 * words) set nothing. The
    word-major bit matrix [words, rows] of AITER's and Triton's MoE routing is its
    hk.transpose, which is stored by the same kernel.

    Example:
    ```mlir
    %b = hk.bitmatrix %ids : tensor<?x8xi32> -> tensor<?x8xi32>
    %t = hk.transpose %b [1, 0] : tensor<?x8xi32> -> tensor<8x?xi32>
    ```
  }];
  let arguments = (ins HK_IndexTensor:$indices);
  let results = (outs RankedTensorOf<[I32]>:$result);
  let fewElements = "true";
  let hasVerifier = 0;
  // Every word is made of all indices of its row.
  let shapes = [{
    shapes.rowsLike({"result", getResult()}, {"indices", getIndices()});
    shapes.isStatic({"result", getResult()}, -1);
    shapes.isStatic({"indices", getIndices()}, -1);
  }];
  let syntax = "$indices attr-dict `:` type($indices) `->` type($result)";
}

#endif // HK_HKSELECTOPS
