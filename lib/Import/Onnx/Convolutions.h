//===- Convolutions.h - Convolutions of ONNX ------------------ -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tables of convolutions, of pooling and of resizing.
//
//===----------------------------------------------------------------------===//

#ifndef HK_IMPORT_ONNX_CONVOLUTIONS_H
#define HK_IMPORT_ONNX_CONVOLUTIONS_H

#include "Node.h"

namespace mlir::hk::importer {

ArrayRef<Operator> convolutionOperators();
ArrayRef<Operator> poolingOperators();
ArrayRef<Operator> resizeOperators();

} // namespace mlir::hk::importer

#endif // HK_IMPORT_ONNX_CONVOLUTIONS_H
