//===- HKGroupedMatmulOps.td - Products of groups of rows --------*- tablegen -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One product for many matrices: the experts of a mixture, the groups of a ragged
// batch. Which rows meet which matrix, the data tell.
//
//===----------------------------------------------------------------------===//

#ifndef HK_HKGROUPEDMATMULOPS
#define HK_HKGROUPEDMATMULOPS

include "HKMatmulOps.td"
include "HKRoutingOps.td"

def HK_GroupedMatmulOp : HK_BaseOp<"grouped_matmul", [AttrSizedOperandSegments,
    HK_OperandsInMemory, HK_StatesShapes, HK_StatesFactors,
    DeclareOpInterfaceMethods<HK_ProductOpInterface>]> {
  let summary = "matrix product of rows with the matrix of their group";
  let description = [{
    Rows of A [R, K] are multiplied with one of the G matrices of B, [G, K, N], or
    [G, N, K] with `transpose_b`. A place p has a group and a row of A. Without
    `order` the places are the rows of A. With `order` [P] its entry o says the
    row, o / top_k (1 unless given); an entry outside [0, R * top_k) makes an empty
    place, whatever its group.

    `bounds` [G + 1] and `lengths` [G] give group g the places
    bounds[g] <= p < bounds[g + 1], where bounds start at 0 and do not decrease, or
    are the sums of the lengths, of which those below 0 count as 0:

      result[p, n] = bias[g, n] + group_scale[g] * sum over k of A[row, k] * B[g, k, n].

    `blocks` [at least ceil(P / block)] gives place p the group blocks[p / block],
    and the product goes where its entry of `order` says, to result [R * top_k, N]:

      result[order[p], n] = bias[g, n] + group_scale[g] * sum over k of A[order[p] / top_k, k] * B[g, k, n].

    No entry stands twice in `order` then; of one that does, the result is any of
    the two. Rows of the result to which no place with a row and a group in [0, G)
    leads are 0, without the bias: places behind the last bound, experts of another
    device (group -1), and, with `blocks`, rows that `order` does not name.

    With `along_k` the groups are of k: A [K, M], or [M, K] with `transpose_a`,
    B [K, N] or [N, K] with `transpose_b`, no order, bias, scales or fp8, and

      result[g, m, n] = sum over k in group g of A[k, m] * B[k, n],

    0 for an empty group. This is the gradient of the matrices.

    Element types, scales, `accumulation` and the rounding are those of hk.matmul;
    scales of B have G in front ([G, N, 1], [G, ceil(N / 128), ceil(K / 128)],
    e8m0 [G, N, ceil(K / 32)]), or are shared by all groups without it. All
    factors and the bias are applied in f32 in front of the one rounding. Source:
    fused_moe of vLLM (`blocks`), matmul_ogs of triton_kernels and gmm of AITER
    (`bounds`, `lengths`), ptgmm (`along_k`).

    Example:
    ```mlir
    %y = hk.grouped_matmul %x, %w blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x256xbf16>, tensor<8x512x256xbf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x512xbf16>
    %z = hk.grouped_matmul %x, %w bounds %offsets bias %b : tensor<?x256xbf16>, tensor<8x256x512xbf16> groups tensor<9xi32> bias tensor<8x512xf32> -> tensor<?x512xbf16>
    %q = hk.grouped_matmul %c, %v scales (%s, %t) bounds %offsets transpose_b accumulation tensor_core : tensor<?x256xf8E4M3FN>, tensor<8x512x256xf8E4M3FN> scales (tensor<?x2xf32>, tensor<8x4x2xf32>) groups tensor<9xi32> -> tensor<?x512xbf16>
    %d = hk.grouped_matmul %x, %dz lengths %sizes along_k : tensor<?x256xbf16>, tensor<?x512xbf16> groups tensor<8xi32> -> tensor<8x256x512xbf16>
    ```
  }];
  let arguments = (ins HK_Tensor:$lhs, HK_Tensor:$rhs,
                       Optional<HK_ProductScaleTensor>:$lhs_scale,
                       Optional<HK_ProductScaleTensor>:$rhs_scale,
                       HK_GroupFormAttr:$form, HK_I32Vector:$groups,
                       Optional<HK_I32Vector>:$order,
                       Optional<2DTensorOf<[HK_Real]>>:$bias,
                       Optional<1DTensorOf<[F32]>>:$group_scale,
                       UnitAttr:$transpose_a, UnitAttr:$transpose_b,
                       UnitAttr:$along_k,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntMinValue<1>]>>:$block,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntMinValue<1>]>, "1">:$top_k,
                       DefaultValuedAttr<HK_AccumulationAttr,
                           "::mlir::hk::Accumulation::strict">:$accumulation);
  let results = (outs RankedTensorOf<[HK_Real, I32]>:$result);
  let syntax = [{
    $lhs `,` $rhs custom<ProductScales>($lhs_scale, $rhs_scale)
    $form $groups (`order` $order^)? (`bias` $bias^)? (`group_scale` $group_scale^)?
    oilist(`transpose_a` $transpose_a | `transpose_b` $transpose_b
    | `along_k` $along_k | `block` $block | `top_k` $top_k
    | `accumulation` $accumulation) attr-dict `:`
    type($lhs) `,` type($rhs)
    custom<ProductScaleTypes>(type($lhs_scale), type($rhs_scale))
    `groups` type($groups) (`order` type($order)^)?
    (`bias` type($bias)^)? (`group_scale` type($group_scale)^)? `->` type($result)
  }];
  let extraClassDeclaration = [{
    /// Number of groups, or dynamic: of matrices, or with along_k of results.
    int64_t getNumGroups();
    /// What the places are of: dim 0 of `order`, or the rows of A.
    ::mlir::Value getPlaces() { return getOrder() ? getOrder() : getLhs(); }
    /// Whether the rows of A are named by `order`.
    bool gathers() { return static_cast<bool>(getOrder()); }
    bool isBlocks() { return getForm() == GroupForm::blocks; }
  }];
}

#endif // HK_HKGROUPEDMATMULOPS
