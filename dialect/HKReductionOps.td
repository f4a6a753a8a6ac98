//===- HKReductionOps.td - Reductions ----------------------*- tablegen -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums and extrema over trailing dims.
//
//===----------------------------------------------------------------------===//

#ifndef HK_HKREDUCTIONOPS
#define HK_HKREDUCTIONOPS

include "HKEnums.td"

def HK_ReduceOp : HK_RowwiseOp<"reduce", "static_cast<int64_t>(getDims())", [HK_StatesShapes]> {
  let summary = "sum or extremum over the trailing dimensions";
  let description = [{
    Reduces the last `dims` dims (1 unless given; all of them is a reduction of
    the whole tensor). They stay as dims of size 1, so that the result broadcasts
    against the input. `sum` adds in f32, in any order, and rounds once to the
    result's type; `max`, `min` and `absmax` (the largest |x|) are exact, then
    rounded. A NaN among the elements makes the result NaN. Over no elements sum
    and absmax are 0, max is -inf and min is +inf.

    Example:
    ```mlir
    %s = hk.reduce sum %x : tensor<?x4096xbf16> -> tensor<?x1xf32>
    %m = hk.reduce absmax %x dims 2 : tensor<?x4096xbf16> -> tensor<1x1xf32>
    ```
  }];
  let arguments = (ins HK_ReduceKindAttr:$kind, HK_RealTensor:$input,
      DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$dims);
  let results = (outs HK_RealTensor:$result);
  let operandMaps = "::mlir::hk::rowMaps(getOperation(), getDims())";
  let linearity = "getKind() == ReduceKind::sum ? Linear::each : Linear::none";
  let rowReductions = "{::mlir::hk::rowReductionOf(getKind())}";
  let reducedDims = "static_cast<int64_t>(getDims())";
  let syntax = "$kind $input (`dims` $dims^)? attr-dict `:` type($input) `->` type($result)";
}

#endif // HK_HKREDUCTIONOPS
