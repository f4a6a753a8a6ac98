//===- JointFamily.cpp - The family of kernels of several problems --------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ties variants and emission of joint kernels to the family interface. Fusion
// never asks: joint kernels are made of kernels that have been outlined.
//
//===----------------------------------------------------------------------===//

#include "JointPlan.h"

#include "hk/Contract/Cost.h"
#include "hk/Dialect/WaitingProblems.h"

using namespace mlir;
using namespace mlir::hk;

namespace {

class JointFamily final : public Family {
public:
  FamilyKind getKind() const override { return FamilyKind::joint; }

  Verdict canStart(Operation *, const FusionContext &) const override {
    return refuse();
  }
  Verdict canJoin(ArrayRef<Operation *>, Operation *,
                  const FusionContext &) const override {
    return refuse();
  }
  Verdict canMerge(ArrayRef<Operation *>, ArrayRef<Operation *>,
                   const FusionContext &) const override {
    return refuse();
  }

  SmallVector<int64_t>
  getSharedThreads(KernelOp joint, const ::hk::Target &target) const override {
    // Beside counters that are made of nothing, a block of zeros, rows need not
    // have been measured.
    std::vector<KernelOp> problems = joint.getProblems();
    bool ordered =
        isOrdered(joint) || llvm::any_of(problems, [](KernelOp problem) {
          return problem.getNumInputs() == 0;
        });
    std::optional<SmallVector<int64_t>> common;
    for (KernelOp problem : problems) {
      const Family &family = familyOf(problem.getFamily());
      SmallVector<int64_t> own = ordered
                                     ? family.getOrderedThreads(problem, target)
                                     : family.getSharedThreads(problem, target);
      if (common)
        llvm::erase_if(own, [&](int64_t threads) {
          return !llvm::is_contained(*common, threads);
        });
      common = own;
    }
    return common.value_or(SmallVector<int64_t>());
  }

  double getMicroseconds(KernelOp joint, VariantOp variant,
                         const ::hk::Target &target,
                         ArrayRef<int64_t> dims) const override {
    // Problems that wait begin another step.
    SmallVector<SmallVector<::hk::LaunchLoad>> steps(1);
    for (VariantOp part : problemVariants(joint, variant)) {
      auto problem = cast<KernelOp>(part->getParentOp());
      const Family &family = familyOf(problem.getFamily());
      if (waits(problem))
        steps.emplace_back();
      steps.back().push_back(
          {family.getMicroseconds(problem, part, target, dims),
           double(launchSizeOf(part, dims).blocks()),
           int64_t(part.getLdsBytes()),
           family.getUnitShare(problem, part, target, dims)});
    }
    double time = 0;
    for (SmallVector<::hk::LaunchLoad> &loads : steps) {
      // Every block has the LDS of the problem that needs most.
      loads.push_back({target.launchMicroseconds, 0,
                       int64_t(variant.getLdsBytes()), /*unitShare=*/1});
      time +=
          ::hk::sharedMicroseconds(target, loads.data(), int32_t(loads.size()),
                                   int64_t(variant.getThreads()));
    }
    return time -
           ::hk::orderedSavingMicroseconds(target, int(steps.size()) - 1);
  }

  SmallVector<hk_tensor_map_abi>
  getTensorMaps(KernelOp joint, VariantOp variant) const override {
    SmallVector<hk_tensor_map_abi> maps;
    for (VariantOp part : problemVariants(joint, variant)) {
      auto problem = cast<KernelOp>(part->getParentOp());
      llvm::append_range(
          maps, familyOf(problem.getFamily()).getTensorMaps(problem, part));
    }
    return maps;
  }

  SmallVector<Reach> getReaches(KernelOp joint, VariantOp variant,
                                const ::hk::Target &target) const override {
    SmallVector<Reach> reaches;
    for (VariantOp part : problemVariants(joint, variant)) {
      auto problem = cast<KernelOp>(part->getParentOp());
      llvm::append_range(
          reaches,
          familyOf(problem.getFamily()).getReaches(problem, part, target));
    }
    return reaches;
  }

  LogicalResult addVariants(KernelOp joint, const ::hk::Target &target,
                            DecisionLog &log) const override {
    return addJointVariants(joint, target, log);
  }
  LogicalResult emit(KernelOp joint, const ::hk::Target &target,
                     StringRef prefix, raw_ostream &os) const override {
    return emitJoint(joint, target, prefix, os);
  }

private:
  static Verdict refuse() {
    return Verdict::refuse(Reason::OtherFamily,
                           "a joint kernel is made of kernels");
  }
};

} // namespace

const Family &mlir::hk::getJointFamily() {
  static const JointFamily family;
  return family;
}
