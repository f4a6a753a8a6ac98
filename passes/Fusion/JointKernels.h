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

#include <map>

namespace mlir::hk {

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

/// Calls `f` where a dim symbol of `kernel` is the size of a dim of an operand,
/// for the first of its operands, which `operands` are where it is launched.
void forEachSymbol(
    KernelOp kernel, ArrayRef<Value> operands,
    llvm::function_ref<void(int64_t symbol, Value operand, int64_t dim)> f);

/// Whether a launch of several problems may have `kernel`, as far as only the
/// kernel says.
bool mayShareLaunch(KernelOp kernel, const ::hk::Target &target, bool ordered);

/// A joint kernel, or none and why not, and what it is modelled to save of few,
/// some and many rows, microseconds; one number where no size is dynamic.
struct JointChoice {
  KernelOp kernel;
  Verdict verdict;
  SmallVector<double> saved;
};

/// Joint kernels by what they are made of: those of equal layers are one.
class JointKernels {
public:
  /// `ordered`: the last member waits for the others.
  JointKernels(const ::hk::Target &target, SymbolTable &symbols, bool ordered,
               DecisionLog &log)
      : target(target), symbols(symbols), ordered(ordered), log(log) {}

  /// The kernel of `members` with the variants of least time, reported to the
  /// log, if these take no longer than the members' own launches where all
  /// dynamic sizes are at most `mostSize`.
  JointChoice get(ArrayRef<JointMember> members, int64_t mostSize);

private:
  const ::hk::Target &target;
  SymbolTable &symbols;
  bool ordered;
  DecisionLog &log;
  std::map<std::pair<std::string, std::vector<int64_t>>, JointChoice> known;
};

/// How a pass that makes joint kernels is named, and what it does.
struct JointPass {
  StringRef name, missed; // of the pass, and of its remarks
  StringRef what, why;    // what `launch` does with another one, and why it may
};
/// Adds to `log` whether `launch` became a problem of the launch of `other`.
void reportJoint(const JointPass &pass, LaunchOp launch, LaunchOp other,
                 const Verdict &verdict, DecisionLog &log);

/// The kernel zero_<count>_<words>, which writes so many zeros of i32 as one
/// row, with its variants; made where there is none yet. zero_<words>, for a
/// dynamic count, writes as many as there is room for; it has what it writes as
/// an input, too, of which it reads the size.
FailureOr<KernelOp> zeroKernel(int64_t count, StringRef words,
                               const ::hk::Target &target, SymbolTable &symbols,
                               Location loc, DecisionLog &log);

/// Erases the kernels of `module` that nothing launches.
void eraseUnlaunched(ModuleOp module, SymbolTable &symbols);

} // namespace mlir::hk

#endif // HK_PASSES_FUSION_JOINTKERNELS_H
