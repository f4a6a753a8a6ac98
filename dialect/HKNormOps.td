//===- HKNormOps.td - Normalisations -----------------------------*- tablegen -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Normalisations along the last dim. Statistics are f32 for every element type.
//
//===----------------------------------------------------------------------===//

#ifndef HK_HKNORMOPS
#define HK_HKNORMOPS

include "HKOpBase.td"
include "HKEnums.td"

def HK_RmsNormOp : HK_RowwiseOp<"rms_norm"> {
  let summary = "root mean square normalisation";
  let description = [{
    Formula: `y = x * rsqrt(sum(x^2) / N + epsilon) * (weight_offset + weight)`
    along the last dim of size N; multiplied in this order in f32, rounded once.
    With `round_before_weight` the product x * r is first rounded to the result's
    type (the Llama code of Hugging Face). A row of zeros gives zeros. The weight
    is [N]; without one the last factor is absent. Source: Zhang and Sennrich,
    2019.

    Example:
    ```mlir
    %y = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<?x4096xbf16>, tensor<4096xbf16>
    ```
  }];
  let arguments = (ins HK_RealTensor:$input, Optional<HK_RealTensor>:$weight,
                       F32Attr:$epsilon,
                       DefaultValuedAttr<F32Attr, "0.0f">:$weight_offset,
                       UnitAttr:$round_before_weight);
  let results = (outs HK_RealTensor:$result);
  let rowReductions = "{::mlir::hk::RowReduction::SumOfSquares}";
  let shapes = [{
    shapes.minRank({"input", getInput()}, 1);
    shapes.same({"result", getResult()}, getInput());
    shapes.vectorLike({"weight", getWeight()}, getInput());
  }];
  let syntax = [{
    $input (`,` $weight^)? `epsilon` $epsilon
    oilist(`weight_offset` $weight_offset | `round_before_weight` $round_before_weight)
    attr-dict `:` type($input) (`,` type($weight)^)?
    `` custom<ResultType>(ref(type($input)), type($result))
  }];
}

def HK_LayerNormOp : HK_RowwiseOp<"layer_norm"> {
  let summary = "layer normalisation";
  let description = [{
    Formula: `y = (x - mean) * rsqrt(var + epsilon) * weight + bias` along the
    last dim; var is the biased two-pass variance. f32, rounded once. Weight and
    bias are [N]. Source: Ba, Kiros and Hinton, 2016.

    Example:
    ```mlir
    %y = hk.layer_norm %x, %w, %b epsilon 1.0e-05 : tensor<?x768xf16>, tensor<768xf16>, tensor<768xf16>
    ```
  }];
  let arguments = (ins HK_RealTensor:$input, HK_RealTensor:$weight,
                       HK_RealTensor:$bias, F32Attr:$epsilon);
  let results = (outs HK_RealTensor:$result);
  let rowReductions = "{::mlir::hk::RowReduction::Sum, ::mlir::hk::RowReduction::SumOfCentredSquares}";
  let shapes = [{
    shapes.minRank({"input", getInput()}, 1);
    shapes.same({"result", getResult()}, getInput());
    shapes.vectorLike({"weight", getWeight()}, getInput());
    shapes.vectorLike({"bias", getBias()}, getInput());
  }];
  let syntax = "$input `,` $weight `,` $bias `epsilon` $epsilon attr-dict `:` type($input) `,` type($weight) `,` type($bias) `` custom<ResultType>(ref(type($input)), type($result))";
}

def HK_L2NormOp : HK_RowwiseOp<"l2_norm"> {
  let summary = "L2 normalisation";
  let description = [{
    Formula: `y = x * rsqrt(sum(x^2) + epsilon)` along the last dim (sum, not
    mean). f32, rounded once.

    Example:
    ```mlir
    %y = hk.l2_norm %x epsilon 1.0e-06 : tensor<?x16x128xbf16>
    ```
  }];
  let arguments = (ins HK_RealTensor:$input, F32Attr:$epsilon);
  let results = (outs HK_RealTensor:$result);
  let rowReductions = "{::mlir::hk::RowReduction::SumOfSquares}";
  let shapes = [{
    shapes.minRank({"input", getInput()}, 1);
    shapes.same({"result", getResult()}, getInput());
  }];
  let syntax = "$input `epsilon` $epsilon attr-dict `:` type($input) `` custom<ResultType>(ref(type($input)), type($result))";
}

def HK_SoftmaxOp : HK_RowwiseOp<"softmax"> {
  let summary = "softmax along the last dimension";
  let description = [{
    Formula: `y = e^(x - max) / sum(e^(x - max))`, f32, rounded once. A row that
    holds NaN or +inf, or only -inf, is NaN; other -inf elements give 0.

    Example:
    ```mlir
    %y = hk.softmax %x : tensor<?x256xf32>
    ```
  }];
  let arguments = (ins HK_RealTensor:$input);
  let results = (outs HK_RealTensor:$result);
  let rowReductions = "{::mlir::hk::RowReduction::Maximum, ::mlir::hk::RowReduction::SumOfExp}";
  let cost = 3;
  let hasVerifier = 0;
  let shapes = [{
    shapes.minRank({"input", getInput()}, 1);
    shapes.same({"result", getResult()}, getInput());
  }];
  let syntax = "$input attr-dict `:` type($input) `` custom<ResultType>(ref(type($input)), type($result))";
}

#endif // HK_HKNORMOPS
