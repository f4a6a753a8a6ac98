//===- HKMqaLogitsOps.td - Logits of an indexer ------------------*- tablegen -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How much each query of a sparse attention wants each key.
//
//===----------------------------------------------------------------------===//

#ifndef HK_HKMQALOGITSOPS
#define HK_HKMQALOGITSOPS

include "HKOpBase.td"

def HK_MqaLogitsOp : HK_BaseOp<"mqa_logits", [AttrSizedOperandSegments,
    HK_OperandsInMemory, HK_StatesShapes]> {
  let summary = "weighted sum over heads of rectified query-key products";
  let description = [{
    With H heads that share the keys,
    logits[i, j] = sum over h of weights[i, h] * relu((q[i, h] . k[j]) * s[j])
    for the keys j that query i sees, and -inf for the others; s is `key_scales`,
    or 1. Two forms:
      * query [T, H, D], key [N, D], weights [T, H], key_scales [N, 1]; query i sees
        the keys j with starts[i] <= j < ends[i] (i32 [T] each; without them from 0,
        to N). The result is [T, N].
      * paged: query [B, S, H, D], key [blocks, block_size, D], weights [B, S, H],
        key_scales [blocks, block_size, 1], with `block_table` (i32 [B, n]) and
        `kv_lens` (i32 [B]): key j of sequence b is row j % block_size of block
        block_table[b, j / block_size]. Query i of a sequence of L keys sees key j
        if j <= L - S + i and the entry names a block of the cache; an entry of -1 is
        no block. The result is [B, S, n * block_size].

    Element types of query and key are equal. Products are exact and summed in f32,
    the scale, relu, the weight and the sum over heads are f32 operations; relu
    keeps NaN. A scale that lies behind its key, or behind the keys of a block, is
    that part of the cache as a tensor of f32. Source: the lightning indexer of
    DeepSeek-V3.2.

    Example:
    ```mlir
    %l = hk.mqa_logits %q, %k, %w key_scales %s ends %e : tensor<?x64x128xf8E4M3FN>, tensor<?x128xf8E4M3FN>, tensor<?x64xf32> key_scales tensor<?x1xf32> ends tensor<?xi32> -> tensor<?x?xf32>
    ```
  }];
  let arguments = (ins RankedTensorOf<[HK_Real, HK_Fp8]>:$query,
                       RankedTensorOf<[HK_Real, HK_Fp8]>:$key,
                       HK_F32Tensor:$weights,
                       Optional<HK_F32Tensor>:$key_scales,
                       Optional<RankedTensorOf<[I32]>>:$starts,
                       Optional<RankedTensorOf<[I32]>>:$ends,
                       Optional<RankedTensorOf<[I32]>>:$kv_lens,
                       Optional<RankedTensorOf<[I32]>>:$block_table);
  let results = (outs HK_F32Tensor:$result);
  let syntax = [{
    $query `,` $key `,` $weights oilist(`key_scales` $key_scales | `starts` $starts
    | `ends` $ends | `kv_lens` $kv_lens | `block_table` $block_table)
    attr-dict `:` type($query) `,` type($key) `,` type($weights)
    (`key_scales` type($key_scales)^)? (`starts` type($starts)^)?
    (`ends` type($ends)^)? (`kv_lens` type($kv_lens)^)?
    (`block_table` type($block_table)^)? `->` type($result)
  }];
  let extraClassDeclaration = [{
    /// Keys in blocks of a cache rather than [N, D].
    bool isPaged() {
      return ::llvm::cast<::mlir::RankedTensorType>(getKey().getType())
                 .getRank() == 3;
    }
  }];
}

#endif // HK_HKMQALOGITSOPS
