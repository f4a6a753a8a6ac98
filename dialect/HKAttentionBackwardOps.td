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
    AttrSizedOperandSegments, AttrSizedResultSegments, IsolatedFromAbove,
    HK_OperandsInMemory, HK_StatesShapes]> {
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

    Which keys a query sees, s and softcap are as in hk.attention, and so are the
    regions `score` and `weight` and what they read (`reads`). `score` may add to s
    what does not depend on it, subtract that, and choose by hk.select, on what
    does not depend on it, between such sums and -inf: biases, slopes, masks. So
    its result t has a slope of 1 by s, or is -inf. w is what `weight` gives: 1, or
    0 and 1 / (1 - rate) for dropout. For a visible key, with all sums in f32:
      * p = e^(t - lse), and 0 where lse is -inf
      * dt = p * (w * (gradient . v) - delta)
      * ds = dt, times 1 - (s / c)^2 with `softcap` c
      * dq = scale * sum over keys of ds k
      * dk = scale * sum over queries, and the heads that share the key, of ds q
      * dv = sum over the same of p w gradient
      * dsink[h] = -sum of e^(sink[h] - lse) * delta over the queries of head h that
        see a key
      * dbias = dt at [sequence, head, i, j], 0 where i does not see j: the gradient
        of what `score` adds, f32, bf16 or f16, where there is such
        a region. [B, Hq, Sq, Sk], or [1, Hq, Sq, Sk], the sum over the sequences in
        their order. Of ragged sequences it is that sum, [1, Hq, I, J] with I and J
        known at compile time: of queries i below I and keys j below J, and 0 where no
        sequence has such a pair. Of a bias that heads or rows share, hk.reduce makes the rest
    Every gradient is rounded once. A query that sees no key, and a key that no
    query sees, has gradients of 0. p w and ds may be rounded to the element type of
    the operands before the products, as p w is in hk.attention, but not in dbias. Results have the
    same bits in every run: nothing is added atomically. Where an operand is
    infinite or NaN, the gradients of that sequence and key head are unspecified;
    so they are where a region gives NaN or, but for a t of -inf, an infinity.
    Source: Dao, "FlashAttention-2", 2023.

    With `normalizer none`, as in hk.attention, p is what `score` makes of s, or s,
    and 0 where that is -inf. `score` may be any region then, and the region `slope`,
    with the same arguments, gives the slope of its result by s; what it gives where
    the result is -inf has no influence. Without `score` there is no `slope`, and it
    is 1. There are no lse, delta, sink and dbias, and for a visible key
      * ds = slope * w * (gradient . v), times 1 - (s / c)^2 with `softcap` c
      * dq, dk and dv are the sums above.
    The operator does not derive `slope` from `score`: it computes what it is given.
    Where `slope` gives an infinity or NaN, gradients are unspecified as above.
    Source: Zhai et al., "Actions Speak Louder than Words" (HSTU), 2024.

    Example:
    ```mlir
    %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.125 causal : tensor<1x64x4x64xbf16>, tensor<1x64x2x64xbf16>, tensor<1x64x2x64xbf16>, tensor<1x64x4x64xbf16>, tensor<1x64x4xf32> -> tensor<1x64x4x64xbf16>, tensor<1x64x2x64xbf16>, tensor<1x64x2x64xbf16>
    %eq, %ek, %ev, %eb = hk.attention_backward %q, %k, %v, %do, %lse, %delta reads (%bias) scale 0.125 : tensor<2x64x4x64xbf16>, tensor<2x64x2x64xbf16>, tensor<2x64x2x64xbf16>, tensor<2x64x4x64xbf16>, tensor<2x64x4xf32> reads (tensor<4x64x64xf32>) -> tensor<2x64x4x64xbf16>, tensor<2x64x2x64xbf16>, tensor<2x64x2x64xbf16> dbias tensor<1x4x64x64xf32> score {
    ^bb0(%s: tensor<f32>, %seq: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<4x64x64xf32>):
      %x = hk.gather_elements %t [%h, %i, %j] : tensor<4x64x64xf32> [tensor<i32>, tensor<i32>, tensor<i32>] -> tensor<f32>
      %y = hk.add %s, %x : tensor<f32>
      hk.yield %y : tensor<f32>
    }
    %fq, %fk, %fv = hk.attention_backward %q, %k, %v, %do scale 0.125 causal normalizer none : tensor<1x64x4x64xbf16>, tensor<1x64x2x64xbf16>, tensor<1x64x2x64xbf16>, tensor<1x64x4x64xbf16> -> tensor<1x64x4x64xbf16>, tensor<1x64x2x64xbf16>, tensor<1x64x2x64xbf16> score {
    ^bb0(%s: tensor<f32>, %seq: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
      %y = hk.mul %s, %s : tensor<f32>
      hk.yield %y : tensor<f32>
    } slope {
    ^bb0(%s: tensor<f32>, %seq: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
      %y = hk.add %s, %s : tensor<f32>
      hk.yield %y : tensor<f32>
    }
    ```
  }];
  let arguments = (ins HK_RealTensor:$query, HK_RealTensor:$key,
                       HK_RealTensor:$value, HK_RealTensor:$gradient,
                       Optional<HK_F32Tensor>:$lse, Optional<HK_F32Tensor>:$delta,
                       Optional<RankedTensorOf<[I32]>>:$q_offsets,
                       Optional<RankedTensorOf<[I32]>>:$kv_offsets,
                       Optional<HK_F32Tensor>:$sink,
                       Variadic<HK_Tensor>:$reads,
                       F32Attr:$scale, UnitAttr:$causal,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$window_left,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$window_right,
                       OptionalAttr<F32Attr>:$softcap,
                       DefaultValuedAttr<HK_NormalizerAttr, "::mlir::hk::Normalizer::softmax">:$normalizer);
  let results = (outs HK_RealTensor:$dquery, HK_RealTensor:$dkey,
                      HK_RealTensor:$dvalue, Optional<HK_F32Tensor>:$dsink,
                      Optional<HK_RealTensor>:$dbias);
  let regions = (region AnyRegion:$score, AnyRegion:$slope, AnyRegion:$weight);
  let hasRegionVerifier = 1;
  let syntax = [{
    $query `,` $key `,` $value `,` $gradient (`,` $lse^ `,` $delta)?
    oilist(`q_offsets` $q_offsets | `kv_offsets` $kv_offsets | `sink` $sink)
    (`reads` `(` $reads^ `)`)?
    `scale` $scale oilist(`causal` $causal | `window_left` $window_left
    | `window_right` $window_right | `softcap` $softcap | `normalizer` $normalizer)
    attr-dict `:` type($query) `,` type($key) `,` type($value) `,`
    type($gradient) `` custom<RowNumbersType>(type($lse), type($delta))
    (`q_offsets` type($q_offsets)^)? (`kv_offsets` type($kv_offsets)^)?
    (`sink` type($sink)^)? (`reads` `(` type($reads)^ `)`)? `->` type($dquery) `,` type($dkey) `,` type($dvalue)
    (`,` type($dsink)^)? (`dbias` type($dbias)^)? (`score` $score^)?
    (`slope` $slope^)? (`weight` $weight^)?
  }];
  let extraClassDeclaration = [{
    /// Sequences of operands [T, ...] rather than [B, S, ...].
    bool isRagged();
    /// dbias is one for all sequences.
    bool sumsDbias();
  }];
}

#endif // HK_HKATTENTIONBACKWARDOPS
