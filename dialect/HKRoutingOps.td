//===- HKRoutingOps.td - Counting, sorting, segments -------------*- tablegen -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The integer work of routing tokens to experts and of ragged batches. Results are
// exact. A result whose useful length only the data tell has a size that always
// suffices; what is left of it holds a stated value.
//
//===----------------------------------------------------------------------===//

#ifndef HK_HKROUTINGOPS
#define HK_HKROUTINGOPS

include "HKEnums.td"

def HK_I32Vector : 1DTensorOf<[I32]>;
def HK_KeyVector : 1DTensorOf<[HK_IndexInt]>;

def HK_HistogramOp : HK_BaseOp<"histogram", [HK_CountsItems]> {
  let summary = "how often each key occurs";
  let description = [{
    result[e] = number of i with keys[i] == e, for 0 <= e < the static size of the
    result. Other keys (-1: an expert of another device) count nowhere. No keys:
    all counts are 0.

    Example:
    ```mlir
    %counts = hk.histogram %ids : tensor<?xi32> -> tensor<128xi32>
    ```
  }];
  let arguments = (ins HK_KeyVector:$keys);
  let results = (outs HK_I32Vector:$result);
  let shapes = [{ shapes.isStatic({"result", getResult()}, 0); }];
  let hasVerifier = 0;
  let syntax = "$keys attr-dict `:` type($keys) `->` type($result)";
}

def HK_CountBitsOp : HK_BaseOp<"count_bits", [HK_StatesShapes, HK_CountsItems]> {
  let summary = "how many rows of a bit matrix have each bit";
  let description = [{
    `bits` is [words, rows]: bit b of bits[w, r], least significant first, says
    whether row r has column 32 w + b. result[c] = number of rows that have column
    c. Columns behind the result's static size count nowhere.

    `before`, if asked for, is [ceil(rows / block), columns], `block` 32 unless given: before[t, c] = number
    of rows r < block * t that have column c. A sort that takes blocks of rows one
    by one starts there (the partial sums of Triton's and AITER's MoE routing).

    Example:
    ```mlir
    %counts, %before = hk.count_bits %bits block 32 : tensor<4x?xi32> -> tensor<128xi32>, tensor<?x128xi32>
    ```
  }];
  let arguments = (ins 2DTensorOf<[I32]>:$bits,
                       DefaultValuedAttr<I64Attr, "32">:$block);
  let results = (outs HK_I32Vector:$result, Optional<2DTensorOf<[I32]>>:$before);
  let syntax = "$bits (`block` $block^)? attr-dict `:` type($bits) `->` type($result) (`,` type($before)^)?";
}

def HK_SortByKeyOp : HK_BaseOp<"sort_by_key", [HK_StatesShapes, HK_CountsItems]> {
  let summary = "stable order of items by their key";
  let description = [{
    Items 0, ..., n - 1 with keys in [0, bins), stable: with c[e] the number of items
    of key e, `block` 1 unless given and P[e] the sum of `block` * ceil(c[k] / block) over k < e, the items
    of key e are order[P[e]], ..., order[P[e] + c[e] - 1], in increasing order. All
    other entries of `order` are n. position[i] is where item i is in that order,
    or -1 for a key outside [0, bins). `block` 1 gives a permutation and its
    inverse; larger blocks start every key at a multiple of `block`.

    A dynamic `order` has n + bins * (block - 1) entries, which always suffices; a
    static one has what its type says, and places behind it are not stored.
    Source: moe_align_block_size of vLLM (there called sorted_token_ids).

    Example:
    ```mlir
    %order, %position = hk.sort_by_key %ids bins 128 block 16 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
    ```
  }];
  let arguments = (ins HK_KeyVector:$keys, I64Attr:$bins,
                       DefaultValuedAttr<I64Attr, "1">:$block);
  let results = (outs HK_I32Vector:$order, HK_I32Vector:$position);
  let syntax = "$keys `bins` $bins (`block` $block^)? attr-dict `:` type($keys) `->` type($order) `,` type($position)";
}

def HK_SegmentsOp : HK_BaseOp<"segments", [HK_StatesShapes, HK_CountsItems]> {
  let summary = "the segment of each place, and its rank there";
  let description = [{
    Segment s takes b[s] = ceil(max(l[s], 0) / block) places, in order, where block
    is 1 unless given and l[s] is
    segments[s] (`lengths`) or segments[s + 1] - segments[s] (`bounds`, one more
    element than segments). offsets[s] is the sum of b[k] over k < s, for
    0 <= s <= number of segments. For place j: ids[j] = s and
    ranks[j] = j - offsets[s] with offsets[s] <= j < offsets[s + 1], so empty
    segments are skipped without shifting later ids; behind the last place both are
    -1. Sums stay below 2^31.

    A dynamic `ids` has ceil((m + n * (block - 1)) / block) elements for n segments
    and m, the size of dim 0 of `items`: enough for lengths that add up to at most
    m, and m itself with `block` 1. Only the shape of `items` is read. A static
    `ids` has what its type says, and places behind it are not stored.

    Gives sequence ids and positions of ragged tokens (`block` 1), chunks of
    sequences, and the expert of each block of a grouped product.

    Example:
    ```mlir
    %seq, %chunk, %first = hk.segments bounds %cu items %q block 64 : tensor<?xi32> items tensor<?x8x128xbf16> -> tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
    ```
  }];
  let arguments = (ins HK_SegmentFormAttr:$form, HK_I32Vector:$segments,
                       Optional<HK_Tensor>:$items,
                       DefaultValuedAttr<I64Attr, "1">:$block);
  let results = (outs HK_I32Vector:$ids, HK_I32Vector:$ranks,
                      HK_I32Vector:$offsets);
  let syntax = [{
    $form $segments (`items` $items^)? (`block` $block^)? attr-dict `:` type($segments)
    (`items` type($items)^)? `->` type($ids) `,` type($ranks) `,` type($offsets)
  }];
}

#endif // HK_HKROUTINGOPS
