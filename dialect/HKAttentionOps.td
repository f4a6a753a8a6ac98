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

// Elements of queries, keys and values; those of 8 bits may have scales.
def HK_AttentionTensor : RankedTensorOf<[HK_Real, HK_Fp8, I8]>;

def HK_AttentionOp : HK_BaseOp<"attention", [AttrSizedOperandSegments,
    IsolatedFromAbove, HK_OperandsInMemory, HK_StatesShapes, HK_StatesFactors]> {
  let summary = "scaled dot product attention";
  let description = [{
    Queries are dense [B, Sq, Hq, D] or ragged [T, Hq, D], in which case
    `q_offsets` (i32 [B + 1], ascending from 0) cuts them into sequences; without
    it the T queries are one sequence. Queries behind the last offset, as in a
    padded batch, belong to no sequence and see nothing. Keys and values are
      * dense [B, Sk, Hk, D] (also a contiguous cache), optionally with `kv_lens`
        (i32 [B]): only that many keys of each sequence exist;
      * ragged [Tk, Hk, D] cut by `kv_offsets` (i32 [B + 1]);
      * paged [blocks, block_size, Hk, D] with `block_table` (i32 [B, n]) and
        perhaps `kv_lens`: key j of sequence b is row j % block_size of block
        block_table[b, j / block_size]. Or the table is ragged, i32 [N] cut by
        `table_offsets` (i32 [B + 1], ascending): the block is
        block_table[table_offsets[b] + j / block_size]. Without `kv_lens` all rows
        of a sequence's blocks are keys. A key in a block with a negative
        number is one that no query sees.
    Hq is a multiple of Hk; query head h uses key head h / (Hq / Hk). Values may
    have another head size than keys. Where value is the tensor key itself, its
    first columns are the values, as many as the result has: latent attention. Keys and values of rank 4 or 5 lie in memory
    as `key_layout` and `value_layout` say, see hk.kv_cache_write: `token_major` as
    above, `head_major` [B, Hk, Sk, D]; of pages also `key_chunks` for keys,
    `transposed` and `value_chunks` for values.

    ## Scores
    For a sequence of Sq queries and L keys, query i sees key j if all hold:
    j < L; with `causal`, j <= i + L - Sq (bottom right); with `window_left` w,
    j >= i + L - Sq - w; with `window_right`, j <= i + L - Sq + w; with `past`,
    j < L - Sq: the last Sq keys, those of the queries' own tokens, are left to
    another attention.
    s = scale * (q . k), in f32; with `softcap` c, s = c * tanh(s / c). Then the
    region `score`, if there is one, makes s from s. A score of -inf is that of a
    key the query does not see.

    The types of q, k and v may differ; products of elements are exact. Scales are
    f32: s = scale * q_scale * k_scale * (q . k), and v_scale multiplies v. Each is
      * [], one for all;
      * [B or 1, heads], one of a sequence and head;
      * of the rank of its operand, [B or 1, rows or 1, heads or 1, 1] (ragged:
        [rows or 1, heads or 1, 1]; head_major: dims in that order), one of a row.
        With `q_block` n (`k_block` n), n neighbouring rows share one and the dim
        has ceil(rows / n). The last dim of v_scale may be that of v: one of a
        channel, then rows is 1.

    ## Results
    p = softmax(s) over the visible keys, to which `sink` (f32 [Hq]) adds one logit
    without a value; with `normalizer none`, p = s and 0 for keys that are not
    seen. o = sum p w v in f32, rounded once, where w is what the region `weight`
    gives, or 1. A query that sees nothing gives 0, and -inf as its LSE. `lse`
    (f32, the shape of o without its last dim) is ln(sum e^s), sink included.
    Source: Vaswani et al., 2017; Dao et al., 2022.

    Before the second product p w, or p w v_scale, may be rounded to `p_type`; by
    default to the type of v, of q where v has 8 bits, or bf16 where both have.
    A type of 8 bits counts from the largest p of the row so far.

    ## Regions
    `score` and `weight` hold pointwise operators on tensors of rank 0, and yield a
    tensor<f32>. Arguments of `score`: s (f32), then as i32 the number of the
    sequence, the query head, i, j, Sq and L, then the operands `reads` whole.
    `weight` has the same without s. i and j count from 0 in the sequence.
    hk.gather_elements and hk.gather_rows take elements of `reads` by position:
    biases, masks, slopes. What the regions yield for keys that are not seen has no
    influence.

    With `kv_slices` n the results have a leading dim of n, in which element s is
    the attention to slice s of the keys alone; hk.attention_combine of them is the
    attention. The slices of a sequence are its keys in order, and some may have
    none: then the lse is -inf and the result may be anything. How long each is, is
    a kernel's choice. Slices of equal length, which the interpreter takes, hold
    keys b + s * c to b + (s + 1) * c, where c is (L - b) / n rounded up to a
    multiple of 128, and b is 0 or, with `window_left` w, L - Sq - w rounded down to
    one. The results are f32, there is an lse and no sink.

    Example:
    ```mlir
    %o = hk.attention %q, %k, %v kv_lens %n scale 0.125 causal : tensor<?x4x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1x512x2x64xbf16> kv_lens tensor<1xi32> -> tensor<?x4x64xbf16>
    %b = hk.attention %q, %k, %v kv_lens %n reads (%bias) scale 0.125 : tensor<?x4x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1x512x2x64xbf16> kv_lens tensor<1xi32> reads (tensor<4x?x512xf32>) -> tensor<?x4x64xbf16> score {
    ^bb0(%s: tensor<f32>, %seq: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<4x?x512xf32>):
      %x = hk.gather_elements %t [%h, %i, %j] : tensor<4x?x512xf32> [tensor<i32>, tensor<i32>, tensor<i32>] -> tensor<f32>
      %y = hk.add %s, %x : tensor<f32>
      hk.yield %y : tensor<f32>
    }
    ```
  }];
  let arguments = (ins HK_AttentionTensor:$query, HK_AttentionTensor:$key,
                       HK_AttentionTensor:$value,
                       Optional<RankedTensorOf<[I32]>>:$q_offsets,
                       Optional<RankedTensorOf<[I32]>>:$kv_offsets,
                       Optional<RankedTensorOf<[I32]>>:$kv_lens,
                       Optional<RankedTensorOf<[I32]>>:$block_table,
                       Optional<RankedTensorOf<[I32]>>:$table_offsets,
                       Optional<HK_F32Tensor>:$sink,
                       Optional<HK_F32Tensor>:$q_scale,
                       Optional<HK_F32Tensor>:$k_scale,
                       Optional<HK_F32Tensor>:$v_scale,
                       Variadic<HK_Tensor>:$reads,
                       F32Attr:$scale, UnitAttr:$causal, UnitAttr:$past,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$window_left,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$window_right,
                       OptionalAttr<F32Attr>:$softcap,
                       DefaultValuedAttr<HK_NormalizerAttr, "::mlir::hk::Normalizer::softmax">:$normalizer,
                       OptionalAttr<TypeAttr>:$p_type,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$q_block,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$k_block,
                       DefaultValuedAttr<HK_CacheLayoutAttr, "::mlir::hk::CacheLayout::token_major">:$key_layout,
                       DefaultValuedAttr<HK_CacheLayoutAttr, "::mlir::hk::CacheLayout::token_major">:$value_layout,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntMinValue<2>]>>:$kv_slices);
  let results = (outs HK_RealTensor:$result, Optional<HK_F32Tensor>:$lse);
  let regions = (region AnyRegion:$score, AnyRegion:$weight);
  let hasRegionVerifier = 1;
  let syntax = [{
    $query `,` $key `,` $value oilist(`q_offsets` $q_offsets | `kv_offsets` $kv_offsets
    | `kv_lens` $kv_lens | `block_table` $block_table | `table_offsets` $table_offsets
    | `sink` $sink | `q_scale` $q_scale | `k_scale` $k_scale | `v_scale` $v_scale)
    (`reads` `(` $reads^ `)`)?
    `scale` $scale oilist(`causal` $causal | `past` $past
    | `window_left` $window_left | `window_right` $window_right
    | `softcap` $softcap | `normalizer` $normalizer
    | `p_type` $p_type | `q_block` $q_block | `k_block` $k_block
    | `key_layout` $key_layout | `value_layout` $value_layout | `kv_slices` $kv_slices)
    attr-dict `:` type($query) `,` type($key) `,` type($value)
    (`q_offsets` type($q_offsets)^)? (`kv_offsets` type($kv_offsets)^)?
    (`kv_lens` type($kv_lens)^)? (`block_table` type($block_table)^)?
    (`table_offsets` type($table_offsets)^)? (`sink` type($sink)^)?
    (`q_scale` type($q_scale)^)? (`k_scale` type($k_scale)^)?
    (`v_scale` type($v_scale)^)? (`reads` `(` type($reads)^ `)`)?
    `->` type($result) (`,` type($lse)^)? (`score` $score^)? (`weight` $weight^)?
  }];
  let extraClassDeclaration = [{
    /// Queries [T, Hq, D] rather than [B, Sq, Hq, D].
    bool hasRaggedQueries();
    /// Dims of the results before those of the queries: 1 with kv_slices.
    int64_t getNumSliceDims() { return getKvSlices() ? 1 : 0; }
    /// Slices of the keys; 1 without kv_slices.
    int64_t getNumSlices() { return getKvSlices().value_or(1); }
    KeyForm getKeyForm();
    /// The dims of keys and of values that count rows, heads and elements.
    CacheDims getKeyDims();
    CacheDims getValueDims();
    /// Query heads, key heads, and the head sizes of keys and of values.
    int64_t getNumHeads();
    int64_t getNumKeyHeads();
    int64_t getHeadSize();
    int64_t getValueSize();
    /// The element type that probabilities may be rounded to.
    Type getProbabilityType();
    /// Arguments of the regions in front of those for `reads`.
    static constexpr unsigned kNumScoreArguments = 7;
    static constexpr unsigned kNumWeightArguments = 6;
  }];
}

def HK_AttentionCombineOp : HK_RowwiseOp<"attention_combine", "1",
    [AttrSizedOperandSegments, HK_StatesShapes]> {
  let summary = "attention from the attentions to parts of the keys";
  let description = [{
    Pairs of an attention to some keys and its ln(sum e^s), both f32. A pair is
    [n, ..., H, D] and [n, ..., H], the attentions to n slices of the keys, or, of
    the result's rank, [..., H, D] and [..., H], the attention to one segment of
    them, as to a cached prefix or to the new tokens. No key is in two of them.
    With w_s = e^lse_s over all slices and segments, o = sum w_s partials_s /
    sum w_s in f32, rounded once; `sink` (f32 [H]) adds e^sink to the denominator.
    A part whose lse is -inf counts for nothing, whatever it holds; a row whose
    parts all have that is 0. `lse` is ln(sum w_s), sink included.
    Segments that one query attends to are one attention kernel with one running
    softmax. Source: Dao, "Flash-Decoding", 2023.

    Example:
    ```mlir
    %p, %l = hk.attention %q, %k, %v scale 0.125 kv_slices 4 : tensor<1x4x64xbf16>, tensor<8192x2x64xbf16>, tensor<8192x2x64xbf16> -> tensor<4x1x4x64xf32>, tensor<4x1x4xf32>
    %o = hk.attention_combine %p, %l : tensor<4x1x4x64xf32>, tensor<4x1x4xf32> -> tensor<1x4x64xbf16>
    %x, %a = hk.attention %q, %k, %v scale 0.125 : tensor<9x4x64xbf16>, tensor<512x2x64xbf16>, tensor<512x2x64xbf16> -> tensor<9x4x64xf32>, tensor<9x4xf32>
    %y, %b = hk.attention %q, %n, %m scale 0.125 causal : tensor<9x4x64xbf16>, tensor<9x2x64xbf16>, tensor<9x2x64xbf16> -> tensor<9x4x64xf32>, tensor<9x4xf32>
    %o = hk.attention_combine %x, %a, %y, %b : tensor<9x4x64xf32>, tensor<9x4xf32>, tensor<9x4x64xf32>, tensor<9x4xf32> -> tensor<9x4x64xbf16>
    ```
  }];
  let arguments = (ins Variadic<HK_F32Tensor>:$partials,
                       Variadic<HK_F32Tensor>:$part_lses,
                       Optional<HK_F32Tensor>:$sink);
  let results = (outs HK_RealTensor:$result, Optional<HK_F32Tensor>:$lse);
  let operandMaps = "";
  let syntax = [{
    custom<OperandPairs>($partials, $part_lses) (`sink` $sink^)? attr-dict `:`
    custom<TypePairs>(type($partials), type($part_lses))
    (`sink` type($sink)^)? `->` type($result) (`,` type($lse)^)?
  }];
  let extraClassDeclaration = [{
    /// Whether a pair has slices in front; else it is one segment.
    bool isSliced(unsigned pair);
  }];
}

def HK_KVCacheWriteOp : HK_Op<"kv_cache_write", [Pure, HK_Reify,
    HK_StatesShapes, HK_StatesFactors, DestinationStyleOpInterface,
    AllTypesMatch<["cache", "result"]>,
    DeclareOpInterfaceMethods<HK_StateOpInterface>,
    DeclareOpInterfaceMethods<HK_RowwiseOpInterface>]>, HK_RowFacts<"2">,
    HK_ShapeFacts<[HK_StatesShapes]> {
  let summary = "write rows into a cache at given slots";
  let description = [{
    values is [T, H, D], slots [T]; the cache has A blocks of B rows (contiguous:
    sequence, position; paged: block, row). Row t goes to row slots[t] % B of block
    slots[t] / B; a negative slot, or one past the end, is skipped. Two equal slots
    are an error of the caller. The result is the cache afterwards; it shares the
    operand's memory. Element types are equal. Dims of the cache by `layout`, with
    the last one, x, a chunk of D or B:
    * `token_major` [A, B, H, D]
    * `head_major` [A, H, B, D]
    * `key_chunks` [A, H, D / x, B, x], vLLM's cache of keys
    * `transposed` [A, H, D, B], vLLM's cache of values
    * `value_chunks` [A, H, B / x, D, x]

    Example:
    ```mlir
    %c = hk.kv_cache_write %k, %slots into %cache : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<1x512x2x64xbf16>
    ```
  }];
  let arguments = (ins HK_Tensor:$values, HK_IndexTensor:$slots, HK_Tensor:$cache,
      DefaultValuedAttr<HK_CacheLayoutAttr, "::mlir::hk::CacheLayout::token_major">:$layout);
  let results = (outs HK_Tensor:$result);
  let syntax = "$values `,` $slots `into` $cache (`layout` $layout^)? attr-dict `:` type($values) `,` type($slots) `,` type($cache)";
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getCacheMutable(); }
    /// Dims of the cache that count rows of a block, heads, and elements of a
    /// head; the second of two is a chunk.
    ::llvm::ArrayRef<unsigned> getRowDims();
    unsigned getHeadDim();
    ::llvm::ArrayRef<unsigned> getElementDims();
  }];
  let operandMaps = "";
  let extraClassDefinition = factsDefinition # shapesDefinition # [{
    ::mlir::OpOperand *$cppClass::getTiedState(::mlir::OpResult) {
      return &getCacheMutable();
    }
  }];
  let hasVerifier = 1;
}

#endif // HK_HKATTENTIONOPS
