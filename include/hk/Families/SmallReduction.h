//===- SmallReduction.h - What one workgroup reduces -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the line lies between a reduction of one workgroup and one of two
// launches; the row-wise family and hk-split-reductions must agree on it.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_SMALLREDUCTION_H
#define HK_FAMILIES_SMALLREDUCTION_H

#include "mlir/IR/BuiltinTypeInterfaces.h"

namespace mlir::hk {

/// Elements that one workgroup reads in about the time of a launch.
inline constexpr int64_t kSmallReduction = 65536;

inline bool isSmallReduction(ArrayRef<int64_t> shape) {
  return !ShapedType::isDynamicShape(shape) &&
         ShapedType::getNumElements(shape) <= kSmallReduction;
}

} // namespace mlir::hk

#endif // HK_FAMILIES_SMALLREDUCTION_H
