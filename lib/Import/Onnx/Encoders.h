//===- Encoders.h - What ORT's optimiser fuses of encoders ---- -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parts of its operators for encoders that other files' tables name.
//
//===----------------------------------------------------------------------===//

#ifndef HK_IMPORT_ONNX_ENCODERS_H
#define HK_IMPORT_ONNX_ENCODERS_H

#include "Node.h"

namespace mlir::hk::importer {

/// com.microsoft.Attention.
LogicalResult projectedAttention(Node &node);

/// The sum of rows that EmbedLayerNormalization normalises, [B, S, H], which is
/// also its output 2; output 1, the lengths of sequences by their mask, int32
/// [B], is made here, too.
FailureOr<Tensor> embeddedRows(Node &node);

} // namespace mlir::hk::importer

#endif // HK_IMPORT_ONNX_ENCODERS_H
