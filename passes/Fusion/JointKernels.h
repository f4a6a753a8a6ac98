//===- JointKernels.h - Several kernels become problems of one -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the passes have in common that make one launch of several: the joint
// kernel, its plan, and whether the model says that it takes no longer.
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_FUSION_JOINTKERNELS_H
#define HK_PASSES_FUSION_JOINTKERNELS_H

#include "hk/Families/Family.h"

namespace mlir::hk {

/// Most problems of a launch: every one adds its code to all.
inline constexpr size_t kMaxProblems = 4;
/// Of all dynamic sizes, where nothing bounds them.
inline constexpr int64_t kUnboundedSize = std::numeric_limits<int64_t>::max();
/// Where times are compared for many.
inline constexpr int64_t kManySize = 4096;

/// A kernel that becomes a part of a joint one, and how its dim symbols are
/// called there. Operands are those of its launch.
struct JointMember {
  KernelOp kernel;
  SmallVector<int64_t> dims;

  SymShapeAttr renamed(Attribute shape) const;
  /// The values of the kernel's own symbols.
  SmallVector<int64_t> values(ArrayRef<int64_t> joint) const;
  /// Operands but for the words in which an ordered kernel counts its blocks.
  int64_t getNumOwnOperands() const;
};

/// What a kernel brings into a joint one: itself, or its problems.
std::vector<KernelOp> problemsOf(KernelOp kernel);
KernelOp kernelOf(LaunchOp launch);

/// The joint kernel of `members`, without variants. `ordered`: the last member
/// waits for the others.
KernelOp buildJoint(ArrayRef<JointMember> members, SymbolTable &symbols,
                    bool ordered);

/// Leaves `joint` with the variants of least time, reported to `log`, if these
/// take no longer than the members' own launches where all dynamic sizes are at
/// most `mostSize`.
Verdict planJoint(KernelOp joint, ArrayRef<JointMember> members,
                  const ::hk::Target &target, int64_t mostSize,
                  DecisionLog &log);

/// Erases the kernels of `module` that nothing launches.
void eraseUnlaunched(ModuleOp module, SymbolTable &symbols);

} // namespace mlir::hk

#endif // HK_PASSES_FUSION_JOINTKERNELS_H
