//===- HKConvOps.td - Convolutions -------------------------*- tablegen -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The short causal convolution in front of a recurrent layer, with its state.
//
//===----------------------------------------------------------------------===//

#ifndef HK_HKCONVOPS
#define HK_HKCONVOPS

include "HKEnums.td"

def HK_CausalConv1dOp : HK_BaseOp<"causal_conv1d", [AttrSizedOperandSegments, HK_OperandsInMemory, HK_RunsAlongTokens,
    AttrSizedResultSegments, HK_StatesShapes,
    DeclareOpInterfaceMethods<HK_StateOpInterface>]> {
  let summary = "causal depthwise convolution along time";
  let description = [{
    Formula: `y[c, t] = bias[c] + sum_j weight[c, j] x[c, t - (W - 1) + j]`, j from
    0 to W - 1, W in 2 to 8 for channel_last inputs, in 2 to 4 for channel_first
    ones: the last weight multiplies the current token. f32, bias first, rounded
    once. The weight is [C, W], the bias [C]; C is static.
    Source: the causal-conv1d library of Dao et al. (Mamba).

    `channel_last` inputs are dense [B, L, C], or ragged [T, C] with `offsets`
    (i32 [B + 1], ascending from 0) that cut the tokens into B sequences; a sequence
    may be empty, and the result of tokens behind the last offset, as in a padded
    batch, is 0. `channel_first` inputs are [B, C, L].

    Left of a sequence x is 0, or what `state` holds: [lines, S, C] for a
    `state_layout` of channel_last (the default), [lines, C, S] for channel_first,
    S >= W - 1, of the input's element type. Its last W - 1 entries are read, the
    newest last; where `has_initial` (i1 [B]) is 0 they count as 0. Sequence b uses
    line b, or line `indices`[b]; if that is not in [0, lines), as for a padding
    slot, the sequence's results are 0 and no state is written. Two equal indices
    are an error of the caller. `new_state` is the state afterwards, it shares the
    operand's memory: each line that is used holds the last S inputs of its old
    contents (0 where `has_initial` is 0) followed by the sequence, copied bit by
    bit. An index equal to `pad_slot` is a padding slot, too.

    With `accepted` (i32 [B]) a line holds what speculative decoding left, of which
    only the first accepted[b] of the last step's tokens were right: read are the
    W - 1 entries from accepted[b] - 1 on, and the line becomes its entries from
    accepted[b] on, as many as leave room for the sequence behind them (0 behind the
    last entry), then the sequence. accepted[b] counts as the nearest of 1 to
    S - W + 2.

    With `ring` (i32 [B]) a line is a ring buffer: the sequence's token t goes to
    entry (ring[b] + t) mod S, of several tokens for one entry the last, other
    entries stay; read are the W - 1 entries before ring[b] mod S.

    With `computed` (i32 [B]) a sequence leaves its state at every `block` tokens
    (prefix caching): `indices` is [B, blocks], and indices[b, j] is the line that
    block j of sequence b has, of which computed[b] >= 0 tokens came in earlier
    calls. What lies left is the state in the line of token computed[b] - 1, or 0
    where computed[b] is 0. Every block in which a token of this call lies gets the
    state after its last token so far. A block without a line (as above, or j
    outside of `indices`) is not written and counts as 0; where the last token's
    block has none, the sequence is padding.

    `windows` [B, L, C, W - 1] is the state after every token, to go back to when a
    token of a draft turns out wrong: windows[b, t, c, k] is input t - (W - 2) + k,
    bit by bit; 0 for a padding slot. It needs a state and dense inputs.

    With `seq_idx` (i32 [B, L], no state, no offsets) several sequences lie in one:
    x counts as 0 where its seq_idx is not that of token t.

    Example (a prefill of ragged sequences):
    ```mlir
    %y, %s = hk.causal_conv1d channel_last %x, %w bias %b offsets %cu state %state indices %lines : tensor<?x8192xbf16>, tensor<8192x4xbf16> bias tensor<8192xbf16> offsets tensor<?xi32> state tensor<64x3x8192xbf16> indices tensor<?xi32> -> tensor<?x8192xbf16>, tensor<64x3x8192xbf16>
    ```
  }];
  let arguments = (ins HK_Conv1dLayoutAttr:$layout, HK_RealTensor:$input,
      HK_RealTensor:$weight, Optional<HK_RealTensor>:$bias,
      Optional<RankedTensorOf<[I32]>>:$offsets, Optional<HK_RealTensor>:$state,
      Optional<HK_IndexTensor>:$indices, Optional<HK_BoolTensor>:$has_initial,
      Optional<RankedTensorOf<[I32]>>:$accepted,
      Optional<RankedTensorOf<[I32]>>:$ring,
      Optional<RankedTensorOf<[I32]>>:$seq_idx,
      Optional<RankedTensorOf<[I32]>>:$computed, OptionalAttr<I64Attr>:$block,
      OptionalAttr<I64Attr>:$pad_slot,
      DefaultValuedAttr<HK_Conv1dLayoutAttr,
                        "::mlir::hk::Conv1dLayout::channel_last">:$state_layout);
  let results = (outs HK_RealTensor:$result, Optional<HK_RealTensor>:$new_state,
                      Optional<HK_RealTensor>:$windows);
  let syntax = [{
    $layout $input `,` $weight oilist(`bias` $bias | `offsets` $offsets
    | `state` $state | `indices` $indices | `has_initial` $has_initial
    | `accepted` $accepted | `ring` $ring | `seq_idx` $seq_idx
    | `computed` $computed)
    (`state_layout` $state_layout^)? oilist(`block` $block | `pad_slot` $pad_slot)
    attr-dict `:` type($input) `,` type($weight)
    (`bias` type($bias)^)? (`offsets` type($offsets)^)? (`state` type($state)^)?
    (`indices` type($indices)^)? (`has_initial` type($has_initial)^)?
    (`accepted` type($accepted)^)? (`ring` type($ring)^)?
    (`seq_idx` type($seq_idx)^)? (`computed` type($computed)^)?
    `->` type($result) (`,` type($new_state)^)? (`windows` type($windows)^)?
  }];
  let extraClassDeclaration = [{
    /// Dims of the input; the result has the same.
    int64_t getChannelDim();
    int64_t getTokenDim();
    int64_t getStateChannelDim();
    int64_t getStateTokenDim();
    int64_t getNumChannels();
    int64_t getWidth();
  }];
}

#endif // HK_HKCONVOPS
