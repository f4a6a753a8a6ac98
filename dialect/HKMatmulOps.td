//===- HKMatmulOps.td - Matrix products --------------------------*- tablegen -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matrix products.
//
//===----------------------------------------------------------------------===//

#ifndef HK_HKMATMULOPS
#define HK_HKMATMULOPS

include "HKEnums.td"

def HK_ProductScaleTensor : RankedTensorOf<[F32, F8E8M0FNU]>;

def HK_MatmulOp : HK_BaseOp<"matmul", [AttrSizedOperandSegments,
    HK_OperandsInMemory, HK_StatesShapes, HK_StatesFactors,
    DeclareOpInterfaceMethods<HK_ProductOpInterface>]> {
  let summary = "matrix product, batched, with optional scales";
  let description = [{
    C[b..., m, n] = sum over k of A[b..., m, k] * B[b..., k, n]. A is stored
    [b..., M, K], or [b..., K, M] with `transpose_a`; B is stored [b..., K, N], or
    [b..., N, K] with `transpose_b`. B may lack the batch dims (shared by all).
    Float products accumulate in f32, int8 in i32; the sum, times the scales when
    given, is rounded once to the result's type.

    f32 scales of A are one element, [M, 1] or [M, ceil(K / 128)], those of B one
    element, [N, 1] or [ceil(N / 128), ceil(K / 128)]; along K they multiply the
    partial sum of each 128 elements. f8E8M0FNU scales are those of an OCP
    microscaling format (elements f4E2M1FN, f8E4M3FN or f8E5M2): [M, ceil(K / 32)]
    of A, [N, ceil(K / 32)] of B; they multiply the elements before the product,
    exactly. Scales of a batched operand may have its batch dims in front. The
    scales of A and of B may be of different kinds, and `none` of one of them. Where each element is to be rounded after it is scaled (weights in int8
    or fp4 read as bf16), put hk.dequantize in front: the product's kernel takes
    it in.

    A and B may be of different float types; products of their elements are exact.

    `accumulation tensor_core`, for fp8 operands, allows the sums that fp8 matrix
    instructions make: the products of each 128 elements of k, counted from the
    first, are added with an error of at most 2^-13 of each partial sum, toward 0,
    and those sums are added in f32. The default, `strict`, is f32 throughout.
    docs/numerics.md has the bounds of both.

    With `k_slices` n the result has a leading dim of n, in which element s is the
    product of slice s of k alone: of elements s * c to (s + 1) * c, where c is
    K / n rounded up to a multiple of 128; of no elements it is 0. The partial
    products are f32, or i32 of int8 without scales; hk.sum_slices of them is the
    product.

    Example:
    ```mlir
    %y = hk.matmul %x, %w transpose_b : tensor<?x256xbf16>, tensor<512x256xbf16> -> tensor<?x512xbf16>
    %z = hk.matmul %q, %wq scales (%s, %ws) transpose_b : tensor<?x256xf8E4M3FN>, tensor<512x256xf8E4M3FN> scales (tensor<?x1xf32>, tensor<512x1xf32>) -> tensor<?x512xbf16>
    %m = hk.matmul %a4, %w4 scales (%as, %bs) transpose_b : tensor<?x256xf4E2M1FN>, tensor<512x256xf4E2M1FN> scales (tensor<?x8xf8E8M0FNU>, tensor<512x8xf8E8M0FNU>) -> tensor<?x512xbf16>
    %v = hk.matmul %x, %w4 scales (none, %bs) transpose_b : tensor<?x256xbf16>, tensor<512x256xf4E2M1FN> scales (none, tensor<512x8xf8E8M0FNU>) -> tensor<?x512xbf16>
    %f = hk.matmul %q, %wq transpose_b accumulation tensor_core : tensor<?x256xf8E4M3FN>, tensor<512x256xf8E4M3FN> -> tensor<?x512xbf16>
    %p = hk.matmul %x, %w transpose_b k_slices 4 : tensor<1x4096xbf16>, tensor<512x4096xbf16> -> tensor<4x1x512xf32>
    ```
  }];
  let arguments = (ins HK_Tensor:$lhs, HK_Tensor:$rhs,
                       Optional<HK_ProductScaleTensor>:$lhs_scale,
                       Optional<HK_ProductScaleTensor>:$rhs_scale,
                       UnitAttr:$transpose_a, UnitAttr:$transpose_b,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntMinValue<2>]>>:$k_slices,
                       DefaultValuedAttr<HK_AccumulationAttr,
                           "::mlir::hk::Accumulation::strict">:$accumulation);
  let results = (outs RankedTensorOf<[HK_Real, I32]>:$result);
  let hasCanonicalizeMethod = 1;
  let syntax = [{
    $lhs `,` $rhs custom<ProductScales>($lhs_scale, $rhs_scale)
    oilist(`transpose_a` $transpose_a | `transpose_b` $transpose_b
    | `k_slices` $k_slices | `accumulation` $accumulation) attr-dict `:`
    type($lhs) `,` type($rhs)
    custom<ProductScaleTypes>(type($lhs_scale), type($rhs_scale))
    `->` type($result)
  }];
}

def HK_SumSlicesOp : HK_RowwiseOp<"sum_slices", "0"> {
  let summary = "sum over the leading dimension";
  let description = [{
    y[i...] = sum over s of x[s, i...]. Floats are summed in f32 in the order of s
    and rounded once to the result's type; i32 is summed in i32, exactly. No slices
    give 0. The number of slices is static.

    Example:
    ```mlir
    %y = hk.sum_slices %p : tensor<4x1x512xf32> -> tensor<1x512xbf16>
    ```
  }];
  let arguments = (ins RankedTensorOf<[HK_Real, I32]>:$input);
  let results = (outs RankedTensorOf<[HK_Real, I32]>:$result);
  let operandMaps = "";
  let linearity = "Linear::each";
  let shapes = [{
    shapes.minRank({"input", getInput()}, 1);
    shapes.isStatic({"input", getInput()}, 0);
    shapes.shape({"result", getResult()}, dimsOf(getInput(), 1));
  }];
  let syntax = "$input attr-dict `:` type($input) `->` type($result)";
}

#endif // HK_HKMATMULOPS
