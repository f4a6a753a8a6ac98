//===- Functions.h - Functions of a model --------------------- -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators that the model itself defines.
//
//===----------------------------------------------------------------------===//

#ifndef HK_IMPORT_ONNX_FUNCTIONS_H
#define HK_IMPORT_ONNX_FUNCTIONS_H

#include "hk/Import/Onnx.h"

namespace onnx {
class ModelProto;
} // namespace onnx

namespace mlir::hk::importer {

/// Replaces calls of the model's functions by the functions' nodes; errors at
/// `loc` name the function.
LogicalResult inlineFunctions(Location loc, ::onnx::ModelProto &model,
                              const OnnxOptions &options);

} // namespace mlir::hk::importer

#endif // HK_IMPORT_ONNX_FUNCTIONS_H
