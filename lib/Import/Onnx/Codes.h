//===- Codes.h - Codes, their scales and zero points ------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What operators of codes of 8 bits share: products and convolutions whose sums
// are exact, and how a sum becomes a code again. Codes are int8; in the place
// of uint8 they and their zero points are less 128, so that differences are
// what they were.
//
//===----------------------------------------------------------------------===//

#ifndef HK_IMPORT_ONNX_CODES_H
#define HK_IMPORT_ONNX_CODES_H

#include "Products.h"

namespace mlir::hk::importer {

/// A matrix of codes.
struct Operand {
  Tensor codes;               // int8
  const Item *item;           // that the codes are of
  std::optional<Tensor> zero; // int32, [] or, of columns, [N]; nothing for 0
  std::optional<Data> zeros;  // the same numbers where the file has them
};

/// Element `i` of codes or zero points of a file, as hk's int8.
int64_t signedAt(const Data &data, int64_t i);
/// The codes and the zero point, null or no name for none. The item of the
/// codes stays where it is as long as the operand is used.
FailureOr<Operand> operandOf(Node &node, StringRef codes, StringRef zero);
FailureOr<Operand> operandOf(Node &node, Item &codes, Item *zero);
/// A scale of at most one dim, as f32, [] where it has one element.
FailureOr<Tensor> scaleOf(Node &node, StringRef name);

/// sum (qx - zx) (qw - zw), int32, of x [..., K] and w [K, N], or [N, K] if
/// `transposed`, or with batch dims. x has at most one zero point.
FailureOr<Tensor> integerProduct(Node &node, Operand x, Operand w,
                                 bool transposed);

/// An f32 quotient rounded half to even, moved by the zero point of input
/// `zero` and limited, as codes of its type. Without one it is 0 of type
/// `otherwise`.
FailureOr<Tensor> codesOf(Node &node, const Tensor &x, size_t zero,
                          int otherwise);
/// An int32 sum as codes: times x * w / y, one number in f32, where y is the
/// scale of the result, input `scale`; x is one number.
FailureOr<Tensor> rescaled(Node &node, const Tensor &sum, const Tensor &x,
                           const Tensor &w, size_t scale, size_t zero);

} // namespace mlir::hk::importer

#endif // HK_IMPORT_ONNX_CODES_H
