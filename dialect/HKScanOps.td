//===- HKScanOps.td - Prefix sums --------------------------------*- tablegen -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums along a dim that keep every step.
//
//===----------------------------------------------------------------------===//

#ifndef HK_HKSCANOPS
#define HK_HKSCANOPS

include "HKEnums.td"

def HK_CumsumOp : HK_BaseOp<"cumsum", [HK_StatesShapes, HK_RunsAlongTokens]> {
  let summary = "prefix sums along a dimension";
  let description = [{
    With x a line of `input` along `dim`, 0 unless given, cut into runs: `inclusive` gives
    y[i] = sum of x[j] for j <= i of the run of i, `exclusive` for j < i. With
    `reverse` sums go over j >= i, or j > i. `offsets` is `exclusive` with the
    total appended: the result is one longer along `dim`, begins with 0 and needs
    one run (no `chunk`, `bounds` or `reverse`).

    A run is the whole line, or, with `bounds` (i32, starting at 0, not
    decreasing, at most the size of `dim`), one sequence
    [bounds[s], bounds[s + 1]); elements behind the last bound are in no run and
    give 0. Sequences may be empty. With `chunk` every run is cut again after
    each `chunk` elements.

    Floats accumulate in f32, in any order within the prefix, and round once to
    the result's type. Integers (i1, i8, i16, i32, i64) are summed in the result's
    type, i32 or i64, and wrap. A NaN makes every later sum of its run NaN. No
    elements: no sums, but `offsets` of an empty line is 0. Source: the
    chunk-local cumsum of flash-linear-attention.

    Example:
    ```mlir
    %y = hk.cumsum inclusive %g bounds %cu dim 1 chunk 64 : tensor<1x?x32xf32> bounds tensor<?xi32>
    ```
  }];
  let arguments = (ins HK_ScanKindAttr:$kind,
                       RankedTensorOf<[HK_Real, I1, HK_Int]>:$input,
                       Optional<RankedTensorOf<[I32]>>:$bounds,
                       DefaultValuedAttr<I64Attr, "0">:$dim,
                       OptionalAttr<I64Attr>:$chunk, UnitAttr:$reverse);
  let results = (outs RankedTensorOf<[HK_Real, HK_IndexInt]>:$result);
  let syntax = [{
    $kind $input (`bounds` $bounds^)?
    oilist(`dim` $dim | `chunk` $chunk | `reverse` $reverse) attr-dict `:`
    type($input) (`bounds` type($bounds)^)?
    `` custom<ResultType>(ref(type($input)), type($result))
  }];
}

#endif // HK_HKSCANOPS
