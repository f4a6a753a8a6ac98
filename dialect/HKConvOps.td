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

def HK_CausalConv1dOp : HK_BaseOp<"causal_conv1d", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<HK_StateOpInterface>]> {
  let summary = "causal depthwise convolution along time";
  let description = [{
    Formula: `y[c, t] = bias[c] + sum_j weight[c, j] x[c, t - (W - 1) + j]`, j from
    0 to W - 1, W in 2 to 4: the last weight multiplies the current token. f32,
    bias first, rounded once. The weight is [C, W], the bias [C]; C is static.
    Source: the causal-conv1d library of Dao et al. (Mamba).

    `channel_last` inputs are dense [B, L, C], or ragged [T, C] with `offsets`
    (i32 [B + 1], ascending from 0 to T) that cut the tokens into B sequences; a
    sequence may be empty. `channel_first` inputs are [B, C, L].

    Left of a sequence x is 0, or what `state` holds: [lines, S, C] for a
    `state_layout` of channel_last (the default), [lines, C, S] for channel_first,
    S >= W - 1, of the input's element type. Its last W - 1 entries are read, the
    newest last; where `has_initial` (i1 [B]) is 0 they count as 0. Sequence b uses
    line b, or line `indices`[b]; if that is not in [0, lines), as for a padding
    slot, the sequence's results are 0 and no state is written. Two equal indices
    are an error of the caller. `new_state` is the state afterwards, it shares the
    operand's memory: each line that is used holds the last S inputs of its old
    contents (0 where `has_initial` is 0) followed by the sequence, copied bit by
    bit.

    Example (a prefill of ragged sequences):
    ```mlir
    %y, %s = hk.causal_conv1d channel_last %x, %w bias %b offsets %cu state %state indices %lines : tensor<?x8192xbf16>, tensor<8192x4xbf16> bias tensor<8192xbf16> offsets tensor<?xi32> state tensor<64x3x8192xbf16> indices tensor<?xi32> -> tensor<?x8192xbf16>, tensor<64x3x8192xbf16>
    ```
  }];
  let arguments = (ins HK_Conv1dLayoutAttr:$layout, HK_RealTensor:$input,
      HK_RealTensor:$weight, Optional<HK_RealTensor>:$bias,
      Optional<RankedTensorOf<[I32]>>:$offsets, Optional<HK_RealTensor>:$state,
      Optional<HK_IndexTensor>:$indices, Optional<HK_BoolTensor>:$has_initial,
      DefaultValuedAttr<HK_Conv1dLayoutAttr,
                        "::mlir::hk::Conv1dLayout::channel_last">:$state_layout);
  let results = (outs HK_RealTensor:$result, Optional<HK_RealTensor>:$new_state);
  let assemblyFormat = [{
    $layout $input `,` $weight oilist(`bias` $bias | `offsets` $offsets
    | `state` $state | `indices` $indices | `has_initial` $has_initial)
    (`state_layout` $state_layout^)? attr-dict `:` type($input) `,` type($weight)
    (`bias` type($bias)^)? (`offsets` type($offsets)^)? (`state` type($state)^)?
    (`indices` type($indices)^)? (`has_initial` type($has_initial)^)?
    `->` type($result) (`,` type($new_state)^)?
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
