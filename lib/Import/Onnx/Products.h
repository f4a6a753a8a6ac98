//===- Products.h - Products of matrices ------------------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the operators that multiply matrices share: NumPy's batch dims, sums of
// integers with zero points, values that stand for codes and scales.
//
//===----------------------------------------------------------------------===//

#ifndef HK_IMPORT_ONNX_PRODUCTS_H
#define HK_IMPORT_ONNX_PRODUCTS_H

#include "Node.h"

namespace mlir::hk::importer {

/// NumPy's matmul, of elements of type `dtype`: vectors become matrices, batch
/// dims broadcast.
FailureOr<Tensor> matmul(Node &node, Tensor x, Tensor y, bool transposeA,
                         bool transposeB, int dtype);

/// The product of inputs 0 and 1 as one of codes, where both are dequantised
/// ones: sums of integers or of float8, each times its scales. Nothing where
/// they are not, or where that would be another value.
std::optional<FailureOr<Tensor>> quantisedProduct(Node &node, bool transposeB);

/// LSTM and GRU, whose steps are products.
ArrayRef<Operator> recurrentOperators();

} // namespace mlir::hk::importer

#endif // HK_IMPORT_ONNX_PRODUCTS_H
