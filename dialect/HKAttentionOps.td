//===- HKAttentionOps.td - Attention and its cache ---------------*- tablegen -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention over dense, ragged and cached keys, and the write into the cache.
//
//===----------------------------------------------------------------------===//

#ifndef HK_HKATTENTIONOPS
#define HK_HKATTENTIONOPS

include "HKOpBase.td"

def HK_AttentionOp : HK_BaseOp<"attention", [AttrSizedOperandSegments]> {
  let summary = "scaled dot product attention";
  let description = [{
    Queries are dense [B, Sq, Hq, D] or ragged [T, Hq, D], in which case
    `q_offsets` (i32 [B + 1], ascending from 0 to T) cuts them into sequences;
    without it the T queries are one sequence. Keys and values are
      * dense [B, Sk, Hk, D] (also a contiguous cache), optionally with `kv_lens`
        (i32 [B]): only that many keys of each sequence exist;
      * ragged [Tk, Hk, D] cut by `kv_offsets` (i32 [B + 1]);
      * paged [blocks, block_size, Hk, D] with `block_table` (i32 [B, n]) and
        `kv_lens`: key j of sequence b is row j % block_size of block
        block_table[b, j / block_size].
    Hq is a multiple of Hk; query head h uses key head h / (Hq / Hk). Values may
    have another head size than keys.

    For a sequence of Sq queries and L keys, query i sees key j if all hold:
    j < L; with `causal`, j <= i + L - Sq (bottom right); with `window_left` w,
    j >= i + L - Sq - w; with `window_right`, j <= i + L - Sq + w.
    s = scale * (q . k); with `softcap` c, s = c * tanh(s / c). p = softmax(s)
    over the visible keys, to which `sink` (f32 [Hq]) adds one logit without a
    value. o = sum p v in f32, rounded once. A query that sees nothing gives 0,
    and -inf as its LSE. `lse` (f32, the shape of o without its last dim) is
    ln(sum e^s), sink included. Source: Vaswani et al., 2017; Dao et al., 2022.

    Example:
    ```mlir
    %o = hk.attention %q, %k, %v kv_lens %n scale 0.125 {causal} : tensor<?x4x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1x512x2x64xbf16> kv_lens tensor<1xi32> -> tensor<?x4x64xbf16>
    ```
  }];
  let arguments = (ins HK_RealTensor:$query, HK_RealTensor:$key,
                       HK_RealTensor:$value,
                       Optional<RankedTensorOf<[I32]>>:$q_offsets,
                       Optional<RankedTensorOf<[I32]>>:$kv_offsets,
                       Optional<RankedTensorOf<[I32]>>:$kv_lens,
                       Optional<RankedTensorOf<[I32]>>:$block_table,
                       Optional<HK_F32Tensor>:$sink,
                       F32Attr:$scale, UnitAttr:$causal,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$window_left,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$window_right,
                       OptionalAttr<F32Attr>:$softcap);
  let results = (outs HK_RealTensor:$result, Optional<HK_F32Tensor>:$lse);
  let assemblyFormat = [{
    $query `,` $key `,` $value oilist(`q_offsets` $q_offsets | `kv_offsets` $kv_offsets
    | `kv_lens` $kv_lens | `block_table` $block_table | `sink` $sink)
    `scale` $scale attr-dict `:` type($query) `,` type($key) `,` type($value)
    (`q_offsets` type($q_offsets)^)? (`kv_offsets` type($kv_offsets)^)?
    (`kv_lens` type($kv_lens)^)? (`block_table` type($block_table)^)?
    (`sink` type($sink)^)? `->` type($result) (`,` type($lse)^)?
  }];
  let extraClassDeclaration = [{
    /// Queries [T, Hq, D] rather than [B, Sq, Hq, D].
    bool hasRaggedQueries();
    KeyForm getKeyForm();
  }];
}

def HK_KVCacheWriteOp : HK_Op<"kv_cache_write", [Pure, HK_Reify,
    DestinationStyleOpInterface, AllTypesMatch<["cache", "result"]>,
    DeclareOpInterfaceMethods<HK_RowwiseOpInterface>]> {
  let summary = "write rows into a cache at given slots";
  let description = [{
    values is [T, H, D], the cache [A, B, H, D] (contiguous: sequence, position;
    paged: block, row), slots [T]: row t goes to slots[t] counted over the first
    two dims of the cache; a negative slot, or one past the end, is skipped. Two
    equal slots are an error of the caller. The result is the cache afterwards; it
    shares the operand's memory. Element types are equal.

    Example:
    ```mlir
    %c = hk.kv_cache_write %k, %slots into %cache : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<1x512x2x64xbf16>
    ```
  }];
  let arguments = (ins HK_Tensor:$values, HK_IndexTensor:$slots, HK_Tensor:$cache);
  let results = (outs HK_Tensor:$result);
  let assemblyFormat = "$values `,` $slots `into` $cache attr-dict `:` type($values) `,` type($slots) `,` type($cache)";
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getCacheMutable(); }
  }];
  let extraClassDefinition = "int64_t $cppClass::getNumLocalDims() { return 2; }";
  let hasVerifier = 1;
}

#endif // HK_HKATTENTIONOPS
