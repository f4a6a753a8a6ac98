//===- HKAttentionBackwardOps.td - Gradients of attention --------*- tablegen -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradients of attention over dense and ragged keys.
//
//===----------------------------------------------------------------------===//

#ifndef HK_HKATTENTIONBACKWARDOPS
#define HK_HKATTENTIONBACKWARDOPS

include "HKOpBase.td"

def HK_AttentionBackwardOp : HK_BaseOp<"attention_backward", [
    AttrSizedOperandSegments, HK_OperandsInMemory, HK_StatesShapes,
    AllTypesMatch<["lse", "delta"]>]> {
  let summary = "gradients of scaled dot product attention";
  let description = [{
    The gradients of sum(gradient * o) by queries, keys, values and sink, where o
    and lse are what hk.attention makes of the same operands and attributes.
    Operands are dense, query [B, Sq, Hq, D], key [B, Sk, Hk, D], value
    [B, Sk, Hk, E] and gradient [B, Sq, Hq, E]; or ragged, [T, Hq, D], [Tk, Hk, D],
    [Tk, Hk, E] and [T, Hq, E], cut by `q_offsets` and `kv_offsets` (i32 [B + 1],
    ascending from 0) or, without them, one sequence. Rows behind the last offset
    belong to no sequence; their gradients are 0 and they are never read. Hq is a
    multiple of Hk. `lse` and `delta` are f32, the shape of query without its last
    dim; delta is sum(gradient * o) over the last dim, which hk.mul and hk.reduce
    compute where the gradient is made.

    Which keys a query sees, s and softcap are as in hk.attention. For a visible
    key, with all sums in f32:
      * p = e^(s - lse), and 0 where lse is -inf
      * ds = p * (gradient . v - delta), times 1 - (s / c)^2 with `softcap` c
      * dq = scale * sum over keys of ds k
      * dk = scale * sum over queries, and the heads that share the key, of ds q
      * dv = sum over the same of p gradient
      * dsink[h] = -sum of e^(sink[h] - lse) * delta over the queries of head h that
        see a key
    Every gradient is rounded once. A query that sees no key, and a key that no
    query sees, has gradients of 0. p and ds may be rounded to the element type of
    the operands before the products, as p is in hk.attention. Results have the
    same bits in every run: nothing is added atomically. Where an operand is
    infinite or NaN, the gradients of that sequence and key head are unspecified.
    Source: Dao, "FlashAttention-2", 2023.

    Example:
    ```mlir
    %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.125 causal : tensor<1x64x4x64xbf16>, tensor<1x64x2x64xbf16>, tensor<1x64x2x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4xf32> -> tensor<1x64x4x64xbf16>, tensor<1x64x2x64xbf16>, tensor<1x64x2x64xbf16>
    ```
  }];
  let arguments = (ins HK_RealTensor:$query, HK_RealTensor:$key,
                       HK_RealTensor:$value, HK_RealTensor:$gradient,
                       HK_F32Tensor:$lse, HK_F32Tensor:$delta,
                       Optional<RankedTensorOf<[I32]>>:$q_offsets,
                       Optional<RankedTensorOf<[I32]>>:$kv_offsets,
                       Optional<HK_F32Tensor>:$sink,
                       F32Attr:$scale, UnitAttr:$causal,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$window_left,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$window_right,
                       OptionalAttr<F32Attr>:$softcap);
  let results = (outs HK_RealTensor:$dquery, HK_RealTensor:$dkey,
                      HK_RealTensor:$dvalue, Optional<HK_F32Tensor>:$dsink);
  let syntax = [{
    $query `,` $key `,` $value `,` $gradient `,` $lse `,` $delta
    oilist(`q_offsets` $q_offsets | `kv_offsets` $kv_offsets | `sink` $sink)
    `scale` $scale oilist(`causal` $causal | `window_left` $window_left
    | `window_right` $window_right | `softcap` $softcap)
    attr-dict `:` type($query) `,` type($key) `,` type($value) `,`
    type($gradient) `,` type($lse)
    (`q_offsets` type($q_offsets)^)? (`kv_offsets` type($kv_offsets)^)?
    (`sink` type($sink)^)? `->` type($dquery) `,` type($dkey) `,` type($dvalue)
    (`,` type($dsink)^)?
  }];
  let extraClassDeclaration = [{
    /// Sequences of operands [T, ...] rather than [B, S, ...].
    bool isRagged();
  }];
}

#endif // HK_HKATTENTIONBACKWARDOPS
