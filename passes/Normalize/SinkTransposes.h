//===- SinkTransposes.h - Columns are moved last -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_NORMALIZE_SINKTRANSPOSES_H
#define HK_PASSES_NORMALIZE_SINKTRANSPOSES_H

#include "mlir/IR/Block.h"

namespace mlir::hk {

/// Moves transposes that move columns behind the elementwise operators of one
/// operand between them and the function's result, where the vector unit
/// bounds: vectors are loaded and computed whole, and elements stored.
void sinkTransposes(Block &block);

} // namespace mlir::hk

#endif // HK_PASSES_NORMALIZE_SINKTRANSPOSES_H
