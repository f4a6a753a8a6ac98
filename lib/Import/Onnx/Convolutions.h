//===- Convolutions.h - Convolutions of ONNX ------------------ -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tables of convolutions, of pooling and of resizing, and what convolutions
// of reals and of codes share.
//
//===----------------------------------------------------------------------===//

#ifndef HK_IMPORT_ONNX_CONVOLUTIONS_H
#define HK_IMPORT_ONNX_CONVOLUTIONS_H

#include "Windows.h"

namespace mlir::hk::importer {

/// What a convolution is multiplied with: `out` channels of the result, each of
/// `channels` of its group.
struct Filter {
  int64_t groups, out, channels, taps;
  bool isApart() const { return channels == 1 && groups == out && groups > 1; }
};

/// The sizes of input `i`, a weight of two dims and a window.
FailureOr<SmallVector<int64_t>> weightSizes(Node &node, size_t i);
/// The filter of a weight [M, C, window...] over input 0, of which the channels
/// are dim 1; an error where the groups do not fit.
FailureOr<Filter> filterOf(Node &node, ArrayRef<int64_t> sizes);
/// A weight [M, C, taps] of the file in the order of rows, [M, taps C].
Data dataByTap(Node &node, const Item &weight, const Filter &filter);

/// Adds elements in front of and behind those of a dim.
using Padder = llvm::function_ref<FailureOr<Tensor>(
    const Tensor &x, int64_t dim, int64_t before, int64_t after)>;
/// x [N, ..., C] as the rows of its windows, [N, places..., taps C].
FailureOr<Tensor> rowsOf(Node &node, const Tensor &x, ArrayRef<Window> windows,
                         Padder pad);

/// AveragePool of x, reals of input 0's shape, by the node's attributes.
FailureOr<Tensor> averagePooled(Node &node, const Tensor &x);

ArrayRef<Operator> convolutionOperators();
ArrayRef<Operator> integerConvolutionOperators();
ArrayRef<Operator> poolingOperators();
ArrayRef<Operator> resizeOperators();

} // namespace mlir::hk::importer

#endif // HK_IMPORT_ONNX_CONVOLUTIONS_H
