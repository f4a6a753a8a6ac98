//===- HKGatedDeltaOps.td - The gated delta rule -----------------*- tablegen -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linear attention with a state that is decayed and corrected at every token, as
// a recurrence and as the operators of its chunked form.
//
//===----------------------------------------------------------------------===//

#ifndef HK_HKGATEDDELTAOPS
#define HK_HKGATEDDELTAOPS

include "HKEnums.td"

// An operator over the tokens of sequences: dense tensors are [B, T, H, ...];
// with `offsets` (i32 [N + 1], from 0, not decreasing, at most T) they are
// [T, H, ...] and sequence s has the tokens [offsets[s], offsets[s + 1]).
class HK_TokenOp<string mnemonic, list<Trait> traits = []>
    : HK_BaseOp<mnemonic, !listconcat([AttrSizedOperandSegments, HK_StatesShapes],
                                     traits)>;

def HK_GatedDeltaRuleOp : HK_TokenOp<"gated_delta_rule",
    [DeclareOpInterfaceMethods<HK_StateOpInterface>]> {
  let summary = "gated delta rule or linear attention, token by token";
  let description = [{
    A state S [K, V] per sequence and value head, in f32. At every token, in this
    order:
    ```
    S = exp(decay) S; S = exp(key_decay[k]) S; S = exp(value_decay[v]) S
    d[v] = beta (value[v] - sum_k S[k, v] key[k])
    S[k, v] = S[k, v] + key[k] d[v]
    result[v] = sum_k S[k, v] (scale query[k])
    ```
    With `rule linear` nothing is corrected, d[v] = beta value[v]: linear attention
    with decays, and the scan of a state space model. `query` and `key` are [B, T, H, K], `value` [B, T, HV, V], HV a multiple of H:
    value head h uses query and key head h / (HV / H). `decay` is [B, T, HV],
    `key_decay` [B, T, HV, K], `value_decay` [B, T, HV, V] (natural logarithms; 0
    where absent), `beta` [B, T, HV] or [B, T, HV, V] (1 where absent). `scale` is
    K^-0.5 unless given. With `l2norm` e, query and key are first multiplied by
    1 / sqrt(sum_k x[k]^2 + e), in f32. With `offsets` (i32 [N + 1], not decreasing,
    from 0 to at most T) all of these have no B and sequence n has the tokens
    [offsets[n], offsets[n + 1]); later tokens give 0.

    `state` is [lines, HV, K, V], or [lines, HV, V, K] with a `state_layout` of
    value_major. Sequence n uses line n, or line `indices`[n]; if that is not in
    [0, lines) it starts from 0 and its last state is not kept. It starts from 0,
    too, where `has_initial` (i1 [N]) is 0, and without a state. `new_state` is the
    memory of `state` afterwards, rounded once to its type. An empty sequence
    leaves its line (0 where `has_initial` is 0). Two equal indices are an error of
    the caller.

    f32 throughout, sums in any order, the result rounded once. A NaN stays in the
    columns of the state that it reaches. No tokens: no results. Source: Yang et
    al., "Gated Delta Networks", and flash-linear-attention's fused recurrent form;
    the linear rule: Yang et al., "Gated Linear Attention Transformers", and Dao and
    Gu, "Transformers are SSMs".

    Example (decode from a pool of states):
    ```mlir
    %o, %s1 = hk.gated_delta_rule %q, %k, %v decay %g beta %b state %s indices %line l2norm 1.0e-06 : tensor<?x1x16x128xbf16>, tensor<?x1x16x128xbf16>, tensor<?x1x32x128xbf16> decay tensor<?x1x32xf32> beta tensor<?x1x32xf32> state tensor<64x32x128x128xf32> indices tensor<?xi32> -> tensor<?x1x32x128xbf16>, tensor<64x32x128x128xf32>
    ```
  }];
  let arguments = (ins HK_RealTensor:$query, HK_RealTensor:$key,
      HK_RealTensor:$value, Optional<HK_RealTensor>:$decay,
      Optional<HK_RealTensor>:$key_decay, Optional<HK_RealTensor>:$value_decay,
      Optional<HK_RealTensor>:$beta, Optional<RankedTensorOf<[I32]>>:$offsets,
      Optional<HK_RealTensor>:$state, Optional<HK_IndexTensor>:$indices,
      Optional<HK_BoolTensor>:$has_initial, OptionalAttr<F64Attr>:$scale,
      OptionalAttr<F64Attr>:$l2norm,
      DefaultValuedAttr<HK_StateLayoutAttr,
                        "::mlir::hk::StateLayout::key_major">:$state_layout,
      DefaultValuedAttr<HK_StateRuleAttr,
                        "::mlir::hk::StateRule::delta">:$rule);
  let results = (outs HK_RealTensor:$result, Optional<HK_RealTensor>:$new_state);
  let syntax = [{
    $query `,` $key `,` $value oilist(`decay` $decay | `key_decay` $key_decay
    | `value_decay` $value_decay | `beta` $beta | `offsets` $offsets
    | `state` $state | `indices` $indices | `has_initial` $has_initial)
    (`state_layout` $state_layout^)? (`rule` $rule^)?
    oilist(`scale` $scale | `l2norm` $l2norm)
    attr-dict `:` type($query) `,` type($key) `,`
    type($value) (`decay` type($decay)^)? (`key_decay` type($key_decay)^)?
    (`value_decay` type($value_decay)^)? (`beta` type($beta)^)?
    (`offsets` type($offsets)^)? (`state` type($state)^)?
    (`indices` type($indices)^)? (`has_initial` type($has_initial)^)?
    `->` type($result) (`,` type($new_state)^)?
  }];
}

def HK_ChunkKktOp : HK_TokenOp<"chunk_kkt"> {
  let summary = "products of the keys of a chunk with each other";
  let description = [{
    Every sequence is cut after each `chunk` tokens. For token i and the j-th token
    of its chunk, in f32:
    ```
    result[i, h, j] = beta[i, h] exp(decay[i, h] - decay[j, h]) sum_k key[i, k] key[j, k]
    ```
    where j comes before i, else 0. `key` is [B, T, H, K], `decay` [B, T, HV] (the
    sums of hk.cumsum within the chunk; 0 where absent), `beta` [B, T, HV] (1 where
    absent), `result` f32 [B, T, HV, chunk]; value head h uses key head
    h / (HV / H). With `offsets` they have no B and sequence n has the tokens
    [offsets[n], offsets[n + 1]); later tokens give 0. `chunk` is 16, 32 or 64.
    The difference, the exponential and the products round in f32; what is not
    before i is never computed, so that its exponential cannot overflow. Source:
    chunk_scaled_dot_kkt of flash-linear-attention.

    Example:
    ```mlir
    %a = hk.chunk_kkt %k decay %G beta %b chunk 64 : tensor<1x?x16x128xbf16> decay tensor<1x?x32xf32> beta tensor<1x?x32xf32> -> tensor<1x?x32x64xf32>
    ```
  }];
  let arguments = (ins HK_RealTensor:$key, Optional<HK_RealTensor>:$decay,
      Optional<HK_RealTensor>:$beta, Optional<RankedTensorOf<[I32]>>:$offsets,
      I64Attr:$chunk);
  let results = (outs HK_F32Tensor:$result);
  let syntax = [{
    $key oilist(`decay` $decay | `beta` $beta | `offsets` $offsets)
    `chunk` $chunk attr-dict `:`
    type($key) (`decay` type($decay)^)? (`beta` type($beta)^)?
    (`offsets` type($offsets)^)? `->` type($result)
  }];
}

def HK_SolveTrilOp : HK_BaseOp<"solve_tril", [HK_StatesShapes]> {
  let summary = "inverse of I + A for every chunk";
  let description = [{
    With A the C tokens of a chunk of `input` as a [C, C] matrix of which the part
    below the diagonal counts, `result` is (I + A)^-1: 1 on the diagonal, 0 above
    it. `input` is f32 [B, T, H, C], C 16, 32 or 64; a last chunk of fewer tokens
    is a smaller matrix, and columns after it are 0. With `offsets` there is no B,
    sequence n has the tokens [offsets[n], offsets[n + 1]) and later tokens give 0.
    Forward substitution in f32,
    `x[i, j] = -(a[i, j] + sum of a[i, l] x[l, j] for j < l < i)`, in any order,
    rounded once to the result's type. Source: solve_tril of
    flash-linear-attention.

    Example:
    ```mlir
    %x = hk.solve_tril %a : tensor<1x?x32x64xf32> -> tensor<1x?x32x64xbf16>
    ```
  }];
  let arguments = (ins HK_F32Tensor:$input,
                       Optional<RankedTensorOf<[I32]>>:$offsets);
  let results = (outs HK_RealTensor:$result);
  let syntax = [{
    $input (`offsets` $offsets^)? attr-dict `:` type($input)
    (`offsets` type($offsets)^)? `->` type($result)
  }];
  let extraClassDeclaration = [{ int64_t getChunk(); }];
}

def HK_ChunkWUOp : HK_TokenOp<"chunk_wu"> {
  let summary = "keys and values of a chunk, corrected by those before them";
  let description = [{
    With X = `inverse` [B, T, HV, C], rows of hk.solve_tril:
    ```
    u[i] = sum of X[i, j] r(beta[j] value[j]) over the tokens j of i's chunk up to i
    w[i] = sum of X[i, j] r(beta[j] exp(decay[j]) key[j])
    ```
    r rounds to the element type of value or key. `key` is [B, T, H, K], `value`
    [B, T, HV, V], `decay` (0 where absent) and `beta` (1 where absent) [B, T, HV];
    `w` is [B, T, HV, K] of key's type, `u` [B, T, HV, V] of value's type. Head h
    uses key head h / (HV / H). With `offsets` there is no B, sequence n has the
    tokens [offsets[n], offsets[n + 1]) and later tokens give 0. Sums in f32, in
    any order. Source: recompute_w_u of flash-linear-attention.

    Example:
    ```mlir
    %w, %u = hk.chunk_wu %k, %v, %x decay %G beta %b : tensor<1x?x16x128xbf16>, tensor<1x?x32x128xbf16>, tensor<1x?x32x64xbf16> decay tensor<1x?x32xf32> beta tensor<1x?x32xf32> -> tensor<1x?x32x128xbf16>, tensor<1x?x32x128xbf16>
    ```
  }];
  let arguments = (ins HK_RealTensor:$key, HK_RealTensor:$value,
      HK_RealTensor:$inverse, Optional<HK_RealTensor>:$decay,
      Optional<HK_RealTensor>:$beta, Optional<RankedTensorOf<[I32]>>:$offsets);
  let results = (outs HK_RealTensor:$w, HK_RealTensor:$u);
  let syntax = [{
    $key `,` $value `,` $inverse oilist(`decay` $decay | `beta` $beta
    | `offsets` $offsets) attr-dict `:` type($key) `,` type($value) `,`
    type($inverse) (`decay` type($decay)^)? (`beta` type($beta)^)?
    (`offsets` type($offsets)^)? `->` type($w) `,` type($u)
  }];
  let extraClassDeclaration = [{ int64_t getChunk(); }];
}

def HK_ChunkStateOp : HK_TokenOp<"chunk_state",
    [DeclareOpInterfaceMethods<HK_StateOpInterface>]> {
  let summary = "states of the gated delta rule at the chunks' starts";
  let description = [{
    A state S [K, V] per sequence and value head, in f32; chunk after chunk:
    ```
    states[c] = r(S)
    v_new[i] = u[i] - sum_k w[i, k] r(S[k])                   for its tokens i
    S = exp(decay[last]) S + sum_i key[i] r(v_new[i] exp(decay[last] - decay[i]))
    ```
    r rounds to key's element type; on the way to the states of later chunks both
    of its roundings in this may be left out. `last` is the chunk's last token. `key` is
    [B, T, H, K], `w` [B, T, HV, K], `u` [B, T, HV, V], `decay` [B, T, HV] (sums
    within the chunk; 0 where absent); `v_new` is like u and rounds once, and what
    is decayed is v_new before that rounding. `states` is [B, ceil(T / chunk), HV,
    K, V] of key's type. With `offsets` there is no B and sequence n has the tokens
    [offsets[n], offsets[n + 1]); `states` is [ceil(T / chunk) + N, HV, K, V], the
    chunks of sequence n lie there from floor(offsets[n] / chunk) + n on, entries of
    no chunk are 0, and so are the results of later tokens. `state`, `indices`,
    `has_initial`, `state_layout` and `new_state` are those of
    hk.gated_delta_rule. With `starts` [segments, sequences, HV, K, V] the chunks
    of every sequence are cut in as many segments, each of
    ceil(chunks / segments), and S is starts[s] before the first chunk of segment
    s: hk.chunk_starts gives what it would be. Sums in f32, in any order. Source:
    chunk_delta_h of flash-linear-attention.

    Example:
    ```mlir
    %h, %v1 = hk.chunk_state %k, %w, %u decay %G chunk 64 : tensor<1x?x16x128xbf16>, tensor<1x?x32x128xbf16>, tensor<1x?x32x128xbf16> decay tensor<1x?x32xf32> -> tensor<1x?x32x128x128xbf16>, tensor<1x?x32x128xbf16>
    ```
  }];
  let arguments = (ins HK_RealTensor:$key, HK_RealTensor:$w, HK_RealTensor:$u,
      Optional<HK_RealTensor>:$decay, Optional<RankedTensorOf<[I32]>>:$offsets,
      Optional<HK_RealTensor>:$state, Optional<HK_IndexTensor>:$indices,
      Optional<HK_BoolTensor>:$has_initial, Optional<HK_F32Tensor>:$starts,
      I64Attr:$chunk,
      DefaultValuedAttr<HK_StateLayoutAttr,
                        "::mlir::hk::StateLayout::key_major">:$state_layout);
  let results = (outs HK_RealTensor:$states, HK_RealTensor:$v_new,
                      Optional<HK_RealTensor>:$new_state);
  let syntax = [{
    $key `,` $w `,` $u oilist(`decay` $decay | `offsets` $offsets
    | `state` $state | `indices` $indices | `has_initial` $has_initial
    | `starts` $starts) (`state_layout` $state_layout^)? `chunk` $chunk attr-dict `:` type($key) `,` type($w) `,`
    type($u) (`decay` type($decay)^)? (`offsets` type($offsets)^)?
    (`state` type($state)^)? (`indices` type($indices)^)?
    (`has_initial` type($has_initial)^)? (`starts` type($starts)^)? `->`
    type($states) `,` type($v_new)
    (`,` type($new_state)^)?
  }];
  let extraClassDeclaration = [{
    /// Segments of every sequence; 1 without starts.
    int64_t getSegments();
  }];
}

def HK_ChunkTransitionOp : HK_TokenOp<"chunk_transition"> {
  let summary = "what each segment of a sequence makes of any state";
  let description = [{
    The chunks of every sequence are cut in `segments` segments, each of
    ceil(chunks / segments); later ones may be empty. hk.chunk_state makes of a
    state S before a segment M S + C behind it, if nothing is rounded:
    ```
    result[s, n, h, k, 0 .. V] = C        (from S = 0)
    result[s, n, h, k, V .. V + K] = M    (from S = 1, with u = 0)
    ```
    for segment s of sequence n, the last segment excepted. `key`, `w`, `u`,
    `decay`, `offsets` and `chunk` are those of hk.chunk_state, `result` is f32
    [segments - 1, sequences, HV, K, V + K]. An empty segment has C = 0 and M = 1. Sums in f32, in any order; what
    is multiplied may be rounded to twice the digits of key's element type
    (bf16: 2^-16). hk-split makes it of hk.chunk_state.

    Example:
    ```mlir
    %t = hk.chunk_transition %k, %w, %u decay %G chunk 64 segments 8 : tensor<1x?x2x128xbf16>, tensor<1x?x8x128xbf16>, tensor<1x?x8x128xbf16> decay tensor<1x?x8xf32> -> tensor<7x1x8x128x256xf32>
    ```
  }];
  let arguments = (ins HK_RealTensor:$key, HK_RealTensor:$w, HK_RealTensor:$u,
      Optional<HK_RealTensor>:$decay, Optional<RankedTensorOf<[I32]>>:$offsets,
      I64Attr:$chunk, ConfinedAttr<I64Attr, [IntMinValue<2>]>:$segments);
  let results = (outs HK_F32Tensor:$result);
  let syntax = [{
    $key `,` $w `,` $u oilist(`decay` $decay | `offsets` $offsets)
    `chunk` $chunk `segments` $segments attr-dict `:` type($key) `,` type($w)
    `,` type($u) (`decay` type($decay)^)? (`offsets` type($offsets)^)? `->`
    type($result)
  }];
}

def HK_ChunkStartsOp : HK_TokenOp<"chunk_starts"> {
  let summary = "states before the segments of a sequence";
  let description = [{
    With C and M of hk.chunk_transition in `transitions` [segments - 1, sequences,
    HV, K, V + K], in f32:
    ```
    result[0] = the sequence's first state
    result[s + 1] = C[s] + sum_k M[s, :, k] result[s, k]
    ```
    `result` is f32 [segments, sequences, HV, K, V]. `state`, `indices`, `has_initial` and `state_layout`
    are those of hk.gated_delta_rule. Sums in f32, in any order.

    Example:
    ```mlir
    %s = hk.chunk_starts %t state %p : tensor<7x1x8x128x256xf32> state tensor<1x8x128x128xf32> -> tensor<8x1x8x128x128xf32>
    ```
  }];
  let arguments = (ins HK_F32Tensor:$transitions,
      Optional<HK_RealTensor>:$state, Optional<HK_IndexTensor>:$indices,
      Optional<HK_BoolTensor>:$has_initial,
      DefaultValuedAttr<HK_StateLayoutAttr,
                        "::mlir::hk::StateLayout::key_major">:$state_layout);
  let results = (outs HK_F32Tensor:$result);
  let syntax = [{
    $transitions oilist(`state` $state | `indices` $indices
    | `has_initial` $has_initial) (`state_layout` $state_layout^)? attr-dict
    `:` type($transitions) (`state` type($state)^)?
    (`indices` type($indices)^)? (`has_initial` type($has_initial)^)? `->`
    type($result)
  }];
}

def HK_ChunkOutputOp : HK_TokenOp<"chunk_output"> {
  let summary = "results of the gated delta rule from the chunks' states";
  let description = [{
    With S the state at the start of token i's chunk, and j over the tokens of the
    chunk up to i:
    ```
    result[i] = scale (exp(decay[i]) sum_k query[i, k] S[k]
                       + sum_j r(exp(decay[i] - decay[j]) sum_k query[i, k] key[j, k]) value[j])
    ```
    r rounds to value's element type. `query` and `key` are [B, T, H, K], `value`
    (v_new of hk.chunk_state) [B, T, HV, V], `decay` [B, T, HV] (0 where absent),
    `states` as hk.chunk_state gives them for this `chunk` and these `offsets`.
    `scale` is K^-0.5 unless given. Tokens after the last offset give 0. Sums in
    f32, in any order, the result rounded once. Source: chunk_fwd_o of
    flash-linear-attention.

    Example:
    ```mlir
    %o = hk.chunk_output %q, %k, %v1, %h decay %G chunk 64 : tensor<1x?x16x128xbf16>, tensor<1x?x16x128xbf16>, tensor<1x?x32x128xbf16>, tensor<1x?x32x128x128xbf16> decay tensor<1x?x32xf32> -> tensor<1x?x32x128xbf16>
    ```
  }];
  let arguments = (ins HK_RealTensor:$query, HK_RealTensor:$key,
      HK_RealTensor:$value, HK_RealTensor:$states,
      Optional<HK_RealTensor>:$decay, Optional<RankedTensorOf<[I32]>>:$offsets,
      I64Attr:$chunk, OptionalAttr<F64Attr>:$scale);
  let results = (outs HK_RealTensor:$result);
  let syntax = [{
    $query `,` $key `,` $value `,` $states oilist(`decay` $decay
    | `offsets` $offsets) `chunk` $chunk (`scale` $scale^)? attr-dict `:`
    type($query) `,` type($key) `,`
    type($value) `,` type($states) (`decay` type($decay)^)?
    (`offsets` type($offsets)^)? `->` type($result)
  }];
}

#endif // HK_HKGATEDDELTAOPS
