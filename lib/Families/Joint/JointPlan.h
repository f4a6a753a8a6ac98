//===- JointPlan.h - Several problems in one launch -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A joint kernel is a list of kernels of other families that share a launch.
// Its blocks are those of the first problem, then those of the second, and so
// on; a block runs the code of its problem, on the problem's part of the words.
// Nothing here knows what a problem computes.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_JOINT_JOINTPLAN_H
#define HK_FAMILIES_JOINT_JOINTPLAN_H

#include "hk/Families/Family.h"

namespace mlir::hk {

/// The variant of each problem that a variant of their joint kernel runs.
SmallVector<VariantOp> problemVariants(KernelOp joint, VariantOp variant);

/// Family entry points, one file each.
LogicalResult addJointVariants(KernelOp joint, const ::hk::Target &target,
                               DecisionLog &log);
LogicalResult emitJoint(KernelOp joint, const ::hk::Target &target,
                        StringRef prefix, raw_ostream &os);

} // namespace mlir::hk

#endif // HK_FAMILIES_JOINT_JOINTPLAN_H
