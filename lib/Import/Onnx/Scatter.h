//===- Scatter.h - Rows that are written at indices -------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What ScatterND and ScatterElements share: where the updates go, and how they
// are joined with what is there.
//
//===----------------------------------------------------------------------===//

#ifndef HK_IMPORT_ONNX_SCATTER_H
#define HK_IMPORT_ONNX_SCATTER_H

#include "Node.h"

namespace mlir::hk::importer {

/// Data as [places, ...], updates as [count, ...].
struct Scattered {
  Tensor data, updates;
  int64_t indexed; // dims that an index names
  int64_t places;
  Size count;
};

/// Updates by their place: those of place p are order[bounds[p]] and what is
/// behind it, counts[p] of them, in the order of the file.
struct ByPlace {
  Tensor counts; // i32 [places]
  Tensor order;  // i32 [count]
  Tensor bounds; // i32 [places + 1]
};

/// What joins an update with what is at its place.
using Join = FailureOr<Tensor> (*)(Node &node, const Tensor &kept,
                                   const Tensor &update);

/// Updates are joined one after the other, as often as this at most.
inline constexpr int64_t kMostJoined = 64;

/// The attribute 'reduction': nothing for none.
FailureOr<std::optional<Join>> joinOf(Node &node);

/// The place of each update by indices of the file.
FailureOr<SmallVector<int64_t>> knownPlaces(Node &node, const Data &data,
                                            int64_t depth);
/// The order of the updates where each call tells their places.
FailureOr<ByPlace> orderByCall(Node &node, const Scattered &s);

/// The data, [places, ...], with all updates joined to it.
FailureOr<Tensor> joined(Node &node, const Scattered &s, Join join);

/// ScatterElements.
LogicalResult scatterElements(Node &node);

} // namespace mlir::hk::importer

#endif // HK_IMPORT_ONNX_SCATTER_H
