//===- HKQuantOps.td - Quantisation ------------------------------*- tablegen -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Quantisation to int8, fp8 and the MX formats, and back. s is always the dequantisation scale: x is about q * s.
//
//===----------------------------------------------------------------------===//

#ifndef HK_HKQUANTOPS
#define HK_HKQUANTOPS

include "HKEnums.td"

def HK_QuantizeOp : HK_RowwiseOp<"quantize", "1", [HK_StatesShapes,
    HK_DecodesOperand]> {
  let summary = "quantise with a scale computed from the data";
  let description = [{
    Scale per row of the last dim (`per_token`, scale [..., 1]) or per
    `group` consecutive elements, 128 unless given (`per_group`, scale [...,
    ceil(N / g)]). `amax_floor` is 0 unless given:
    amax = max |x| in f32; s = max(amax, amax_floor) / limit in f32, or 1 when
    that is 0; q = cast(clamp(x / s, -limit, limit)), division and rounding in
    IEEE f32, to nearest even. `limit` is the largest finite value of the result
    type (127 for i8) unless given. With `power_of_two` s is then rounded up to a
    power of two, at least 2^-126 (the UE8M0 scales of DeepSeek). NaN in a group
    makes its scale NaN.

    Example:
    ```mlir
    %q, %s = hk.quantize per_group %x group 128 : tensor<?x4096xbf16> -> tensor<?x4096xf8E4M3FN>, tensor<?x32xf32>
    ```
  }];
  let arguments = (ins HK_GranularityAttr:$granularity, HK_RealTensor:$input,
                       DefaultValuedAttr<I64Attr, "128">:$group_size,
                       DefaultValuedAttr<F32Attr, "0.0f">:$amax_floor,
                       OptionalAttr<F32Attr>:$limit, UnitAttr:$power_of_two);
  let results = (outs HK_QuantTensor:$quantized, HK_F32Tensor:$scale);
  let rowReductions = "{::mlir::hk::RowReduction::AbsMaximum}";
  let reductionGroup = "(getGranularity() == ::mlir::hk::Granularity::per_group ? int64_t(getGroupSize()) : 0)";
  let cost = 3;
  let syntax = [{
    $granularity $input oilist(`group` $group_size | `amax_floor` $amax_floor
    | `limit` $limit | `power_of_two` $power_of_two) attr-dict `:` type($input)
    `->` type($quantized) `,` type($scale)
  }];
}

def HK_QuantizeStaticOp : HK_RowwiseOp<"quantize_static", "1", [HK_StatesShapes]> {
  let summary = "quantise with a given scale";
  let description = [{
    q = cast(clamp(x / s)), IEEE f32 division, to nearest even. The scale is f32
    of one element (per tensor), [..., 1] (per token) or [..., ceil(N / g)] with
    g = `group`, 128 unless given (per group).

    Example:
    ```mlir
    %q = hk.quantize_static %x, %s : tensor<?x4096xbf16>, tensor<1xf32> -> tensor<?x4096xf8E4M3FN>
    ```
  }];
  let arguments = (ins HK_RealTensor:$input, HK_F32Tensor:$scale,
                       DefaultValuedAttr<I64Attr, "128">:$group_size,
                       OptionalAttr<F32Attr>:$limit);
  let results = (outs HK_QuantTensor:$quantized);
  let operandMaps = "::mlir::hk::scaledMaps(getOperation(), getGroupSize())";
  let vectorDivisors = "::mlir::hk::scaleGroups(getScale(), getGroupSize())";
  let cost = 3;
  let syntax = [{
    $input `,` $scale oilist(`group` $group_size | `limit` $limit) attr-dict `:`
    type($input) `,` type($scale) `->` type($quantized)
  }];
}

def HK_QuantizeMxOp : HK_RowwiseOp<"quantize_mx", "1", [HK_StatesShapes,
    HK_DecodesOperand]> {
  let summary = "quantise to an OCP microscaling format";
  let description = [{
    Blocks of 32 consecutive elements share a power-of-two scale (e8m0). With
    amax = max |x| of the block in f32 and p the largest exponent of the element
    type (2 for f4E2M1FN, 8 for f8E4M3FN, 15 for f8E5M2): `even` rounds amax to the
    nearest power of two from mantissa 1.75 (f4), 1.9375 (e4m3) or 1.875 (e5m2) up,
    then subtracts p from its exponent; `floor` takes the exponent of amax / max,
    `ceil` rounds it up; `ocp` takes the exponent of amax less p, as the
    specification has it (up to 2^(p + 1) of a block saturates), `ocp_ceil` rounds
    that one up. The exponent is clamped to [-127, 127]; an all-zero block has byte 0, a block with
    NaN or infinity byte 255 (NaN) and zero codes. Elements are x / scale rounded
    to nearest even, saturating. Source: OCP Microscaling Formats v1.0.

    Example:
    ```mlir
    %q, %s = hk.quantize_mx even %x : tensor<?x4096xbf16> -> tensor<?x4096xf4E2M1FN>, tensor<?x128xf8E8M0FNU>
    ```
  }];
  let arguments = (ins HK_MxRoundingAttr:$rounding, HK_RealTensor:$input);
  let results = (outs HK_MxTensor:$quantized, HK_MxScaleTensor:$scale);
  let rowReductions = "{::mlir::hk::RowReduction::AbsMaximum}";
  let reductionGroup = "::mlir::hk::kMxBlock";
  let cost = 3;
  let syntax = "$rounding $input attr-dict `:` type($input) `->` type($quantized) `,` type($scale)";
}

def HK_DequantizeOp : HK_RowwiseOp<"dequantize", "0", [HK_StatesShapes,
    HK_DecodesOperand]> {
  let summary = "quantised values times their scales";
  let description = [{
    y = q * s in f32, rounded once. The scale, f32, bf16, f16 or e8m0, has one
    element, or the rank of q with each dim either 1 or ceil(size / block), where a
    block is `group` elements of the last dim, 128 unless given (32 for e8m0
    scales). An e8m0 byte of 255 is NaN.

    Integer codes (i8, i4, ui4) may have zero points, of one element or of the
    scale's shape, i8, i4, ui4, f32, bf16 or f16: y = (q - z) * s, both operations in
    f32, then rounded once. With `offset` they are added last instead, and are no
    integers: y = q * s + z, as GGUF's types with a minimum have it. i4 and ui4 are packed along the last dim, low half of a
    byte first, in codes as in zero points.

    Example:
    ```mlir
    %y = hk.dequantize %q, %s : tensor<?x4096xf8E4M3FN>, tensor<?x32xf32> -> tensor<?x4096xbf16>
    %w = hk.dequantize %c, %t, %z group 64 : tensor<512x256xui4>, tensor<512x4xf16>, tensor<512x4xui4> -> tensor<512x256xbf16>
    %v = hk.dequantize %d, %u, %m offset group 32 : tensor<512x256xui4>, tensor<512x8xf16>, tensor<512x8xf16> -> tensor<512x256xf32>
    ```
  }];
  let arguments = (ins HK_Tensor:$input, HK_Tensor:$scale,
                       Optional<HK_Tensor>:$zero_point, UnitAttr:$offset,
                       DefaultValuedAttr<I64Attr, "128">:$group_size);
  let results = (outs HK_RealTensor:$result);
  let operandMaps = "::mlir::hk::scaledMaps(getOperation(), getScaleGroup())";
  let vectorDivisors = "::mlir::hk::scaleGroups(getScale(), getScaleGroup())";
  let syntax = [{
    $input `,` $scale (`,` $zero_point^)? (`offset` $offset^)? (`group` $group_size^)? attr-dict `:`
    type($input) `,` type($scale) (`,` type($zero_point)^)? `->` type($result)
  }];
  let extraClassDeclaration = [{
    /// Elements of the last dim that share a scale.
    int64_t getScaleGroup();
  }];
}

def HK_ReencodeOp : HK_PointwiseOp<"reencode"> {
  let summary = "e4m3 codes for a chip of the other flavour";
  let description = [{
    The same codes in the other e4m3 flavour, where they mean half (FN to FNUZ) or
    twice (FNUZ to FN) as much: y = x / 2, or y = 2 x. So that dequantised values
    stay what they were, multiply the scale by 2, or by 1 / 2. FN to FNUZ is exact
    but for -0, which FNUZ lacks and becomes 0 (the byte 0x80 would be NaN); FNUZ
    to FN saturates 240 to 448. NaN stays NaN.

    Example:
    ```mlir
    %y = hk.reencode %x : tensor<512x256xf8E4M3FN> -> tensor<512x256xf8E4M3FNUZ>
    ```
  }];
  let arguments = (ins RankedTensorOf<[F8E4M3FN, F8E4M3FNUZ]>:$input);
  let results = (outs RankedTensorOf<[F8E4M3FN, F8E4M3FNUZ]>:$result);
  let shapes = [{ shapes.same({"result", getResult()}, getInput()); }];
  let syntax = "$input attr-dict `:` type($input) `->` type($result)";
}

#endif // HK_HKQUANTOPS
