//===- Annotations.h - What a module says of its sharding -------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// shard.grid, shard.sharding and shard.shard of MLIR, checked, read and erased.
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_SHARD_ANNOTATIONS_H
#define HK_PASSES_SHARD_ANNOTATIONS_H

#include "Sharding.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::hk::shards {

/// Errors are emitted at the operator.
LogicalResult checkAnnotations(ModuleOp module, const ::hk::Mesh &mesh);

/// What shard.shard says of its operand along `axis`; nullopt for other
/// operators.
std::optional<Sharding> annotatedSharding(Operation *op, const Axis &axis);

void eraseAnnotations(ModuleOp module);

} // namespace mlir::hk::shards

#endif // HK_PASSES_SHARD_ANNOTATIONS_H
