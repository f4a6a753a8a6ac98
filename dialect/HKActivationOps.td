//===- HKActivationOps.td - Gated activations and rotary embedding ---*- tablegen -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gated units and rotary position embedding.
//
//===----------------------------------------------------------------------===//

#ifndef HK_HKACTIVATIONOPS
#define HK_HKACTIVATIONOPS

include "HKEnums.td"

def HK_GatedActivationOp : HK_RowwiseOp<"gated_activation", "1",
    [HK_StatesShapes, HK_StatesFactors, HK_PairsColumns]> {
  let summary = "act(gate) * up over the halves of the last dimension";
  let description = [{
    The input's last dim is 2N: gate = x[..., :N], up = x[..., N:], the result
    [..., N] is `act(gate) * up` in f32, rounded once. With `limit` L:
    gate = min(gate, L), up = clamp(up, -L, L) before. `swiglu_oai` is
    `gate * sigmoid(1.702 gate) * (up + 1)`. With `round_before_up`, act(gate) is
    rounded to the input's type before it is multiplied: the meaning of an
    activation and a product written as two operators. `swiglu_oai` has no such
    value. With `interleaved` the two alternate, gate = x[..., 0::2] and
    up = x[..., 1::2], as GPT-OSS stores them.

    Example:
    ```mlir
    %y = hk.gated_activation silu %x : tensor<?x1408xbf16> -> tensor<?x704xbf16>
    ```
  }];
  let arguments = (ins HK_GateKindAttr:$kind, HK_RealTensor:$input,
                       OptionalAttr<F32Attr>:$limit, UnitAttr:$round_before_up,
                       UnitAttr:$interleaved);
  let results = (outs HK_RealTensor:$result);
  let cost = 3;
  let syntax = [{
    $kind $input oilist(`limit` $limit | `round_before_up` $round_before_up
    | `interleaved` $interleaved) attr-dict `:` type($input) `->` type($result)
  }];
}

def HK_RopeOp : HK_RowwiseOp<"rope", "1", [AttrSizedOperandSegments, HK_StatesShapes]> {
  let summary = "rotary position embedding";
  let description = [{
    x is [T..., H, D], R <= D of its elements are rotated, R even. cos and sin are
    [P, R/2], shared by the two elements of a pair, or [P, R] with
    `angle_per_element`; the row used for a token is its position plus its offset
    (both shaped [T...]; offsets need positions). Without positions it is the index in dim `position_dim`
    of x; with `bounds` [S + 1] (starting at 0, not decreasing) the index in the
    token's own sequence, where sequence s has the tokens [bounds[s],
    bounds[s + 1]) of the one token dim. A row outside [0, P) leaves the token
    unrotated, and so does a token behind the last bound.
    `y = x * cos + rot(x) * sin` on R elements, f32, rounded once. neox pairs
    (j, j + R/2), gptj pairs (2i, 2i + 1); `rot` is (-second, first). The other
    D - R elements are copied; they come last, or first with `nope_first`.
    `inverse` rotates by the negative angle (the gradient). Source: Su et al.,
    2021.

    Example:
    ```mlir
    %y = hk.rope neox %x, %cos, %sin positions %pos : tensor<?x4x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<?xi32>
    ```
  }];
  let arguments = (ins HK_RopeStyleAttr:$style, HK_RealTensor:$input,
                       HK_RealTensor:$cos, HK_RealTensor:$sin,
                       Optional<HK_IndexTensor>:$positions,
                       Optional<HK_IndexTensor>:$offsets,
                       Optional<HK_IndexTensor>:$bounds,
                       DefaultValuedAttr<I64Attr, "0">:$position_dim,
                       UnitAttr:$angle_per_element, UnitAttr:$nope_first,
                       UnitAttr:$inverse);
  let results = (outs HK_RealTensor:$result);
  let operandMaps = "";
  let vectorDivisors = "getCuts()";
  let cost = 3;
  let syntax = [{
    $style $input `,` $cos `,` $sin (`positions` $positions^)?
    (`offsets` $offsets^)? (`bounds` $bounds^)?
    oilist(`position_dim` $position_dim | `angle_per_element` $angle_per_element
    | `nope_first` $nope_first | `inverse` $inverse) attr-dict `:` type($input) `,`
    type($cos) `,` type($sin) (`positions` type($positions)^)?
    (`offsets` type($offsets)^)? (`bounds` type($bounds)^)?
    `` custom<ResultType>(ref(type($input)), type($result))
  }];
  let extraClassDeclaration = [{
    /// R, the number of rotated elements of a head.
    int64_t getRotarySize();
    int64_t getHeadSize();
    /// Where pairs and rotated elements begin and end in a head.
    ::llvm::SmallVector<int64_t> getCuts();
  }];
}

#endif // HK_HKACTIVATIONOPS
