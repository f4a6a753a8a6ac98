//===- ShareLaunches.cpp - Kernels that need nothing of each other --------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two launches that nothing leads between become one of a joint kernel, where
// the model says that it takes no longer. Both kernels have been planned alone
// by then, so that the times compared are those of the variants that would run.
//
//===----------------------------------------------------------------------===//

#include "JointKernels.h"
#include "LoggedPass.h"

#include "hk/Analysis/Alignment.h"
#include "hk/Analysis/DimSymbols.h"
#include "hk/Families/Family.h"
#include "hk/Passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKSHARELAUNCHES
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

/// Earlier launches that one is offered to share with.
static constexpr size_t kMaxCandidates = 8;

namespace {

/// The dim symbols of a joint kernel, named by the sizes of its operands.
class JointDims {
public:
  explicit JointDims(const DimSymbols &dims) : dims(dims) {}

  /// The symbols that stand for those of the kernel of `launch`.
  SmallVector<int64_t> add(LaunchOp launch, KernelOp kernel) {
    SmallVector<int64_t> map(kernel.getNumDims(), 0);
    forEachSymbol(kernel, SmallVector<Value>(launch->getOperands()),
                  [&](int64_t symbol, Value operand, int64_t dim) {
                    map[symbol] = symbols
                                      .try_emplace(dims.dim(operand, dim),
                                                   int64_t(symbols.size()))
                                      .first->second;
                  });
    return map;
  }
  int64_t size() const { return symbols.size(); }

private:
  const DimSymbols &dims;
  llvm::DenseMap<DimName, int64_t> symbols;
};

/// The launches of one block.
class BlockSharing {
public:
  using Report = llvm::function_ref<void(LaunchOp, LaunchOp, const Verdict &)>;

  BlockSharing(Block &block, const ::hk::Target &target, JointKernels &kernels)
      : block(block), target(target), kernels(kernels), dims(block) {}

  void run(Report report) {
    SmallVector<LaunchOp> kept;
    for (LaunchOp launch : SmallVector<LaunchOp>(block.getOps<LaunchOp>())) {
      LaunchOp last = launch;
      noteDepth(launch);
      if (canShare(launch))
        last = offer(launch, kept, report);
      kept.push_back(last);
    }
  }

private:
  bool canShare(LaunchOp launch) {
    return !llvm::is_contained(launch.getReadsOut(), true) &&
           mayShareLaunch(kernelOf(launch), target, /*ordered=*/false);
  }

  /// Whether the families of all problems take each other's.
  static bool mayShare(KernelOp kernel, KernelOp other) {
    for (KernelOp a : problemsOf(kernel))
      for (KernelOp b : problemsOf(other))
        if (!familyOf(a.getFamily()).mayShareWith(b.getFamily()) ||
            !familyOf(b.getFamily()).mayShareWith(a.getFamily()))
          return false;
    return true;
  }

  /// Launches on the longest way to `launch`, which is one of them.
  void noteDepth(Operation *launch) {
    int64_t before = 0;
    for (Value operand : launch->getOperands())
      if (auto it = depths.find(rootOfViews(operand).getDefiningOp());
          it != depths.end())
        before = std::max(before, it->second);
    depths[launch] = before + 1;
  }

  /// The latest launches, those first that are as deep as `launch`: one that
  /// waits for a deeper one leaves what needs it without a partner.
  SmallVector<LaunchOp> candidatesFor(LaunchOp launch,
                                      ArrayRef<LaunchOp> kept) {
    SmallVector<LaunchOp> candidates(
        llvm::reverse(kept.take_back(kMaxCandidates)));
    auto apart = [&](LaunchOp other) {
      return std::abs(depths.at(other) - depths.at(launch));
    };
    llvm::stable_sort(candidates, [&](LaunchOp a, LaunchOp b) {
      return apart(a) < apart(b);
    });
    return candidates;
  }

  /// `launch`, or the joint one that it is a part of then.
  LaunchOp offer(LaunchOp launch, SmallVectorImpl<LaunchOp> &kept,
                 Report report) {
    for (LaunchOp other : candidatesFor(launch, kept)) {
      if (!canShare(other)) {
        reportAlone(launch, other, report);
        continue;
      }
      std::optional<SmallVector<Operation *>> later = between(other, launch);
      if (!later || !mayShare(kernelOf(launch), kernelOf(other)))
        continue;
      std::array<LaunchOp, 2> both = longerFirst(other, launch);
      auto [joint, verdict, saved] = jointKernel(both);
      report(launch, other, verdict);
      if (!verdict.accepted())
        continue;
      llvm::erase(kept, other);
      return unite(both, joint, /*before=*/launch, *later);
    }
    return launch;
  }

  /// Says of a kernel of the same family that nothing else keeps apart that it
  /// has a launch of its own.
  void reportAlone(LaunchOp launch, LaunchOp other, Report report) {
    if (kernelOf(launch).getFamily() == kernelOf(other).getFamily() &&
        !llvm::is_contained(other.getReadsOut(), true) &&
        between(other, launch))
      report(launch, other,
             Verdict::refuse(Reason::UnsupportedShape,
                             "its kernel has no tiles for a launch of several "
                             "problems"));
  }

  /// The operators between the two that use the first one's results and run
  /// after both then; none if the second is one of them, or if a state is
  /// written between them, which the first one may have to read before.
  std::optional<SmallVector<Operation *>> between(LaunchOp first,
                                                  LaunchOp second) {
    SmallVector<Operation *> users;
    llvm::SmallPtrSet<Operation *, 16> reached = {first};
    for (Operation *op = first->getNextNode();; op = op->getNextNode()) {
      bool uses = llvm::any_of(op->getOperands(), [&](Value operand) {
        return reached.contains(operand.getDefiningOp());
      });
      if (uses) {
        if (op == second)
          return std::nullopt;
        reached.insert(op);
        users.push_back(op);
      }
      if (op == second)
        return users;
      if (auto launch = dyn_cast<LaunchOp>(op);
          launch && llvm::is_contained(launch.getReadsOut(), true))
        return std::nullopt;
    }
  }

  /// The blocks of the longer problem start first, for the largest of sizes.
  std::array<LaunchOp, 2> longerFirst(LaunchOp first, LaunchOp second) {
    auto time = [&](LaunchOp launch) {
      KernelOp kernel = kernelOf(launch);
      SmallVector<int64_t> sizes(kernel.getNumDims(), kManySize);
      return familyOf(kernel.getFamily())
          .getMicroseconds(kernel, variantFor(kernel, sizes), target, sizes);
    };
    if (time(first) < time(second))
      return {second, first};
    return {first, second};
  }

  JointChoice jointKernel(ArrayRef<LaunchOp> both) {
    JointDims names(dims);
    SmallVector<JointMember> members;
    for (LaunchOp launch : both)
      members.push_back(
          {kernelOf(launch), names.add(launch, kernelOf(launch))});
    return kernels.get(members, kUnboundedSize);
  }

  /// `later` moves behind the launch, which takes the place of `before`.
  LaunchOp unite(ArrayRef<LaunchOp> both, KernelOp joint, LaunchOp before,
                 ArrayRef<Operation *> later) {
    OpBuilder builder(before);
    LaunchOp first = both[0], second = both[1];
    SmallVector<Value> inputs(first.getInputs()), outs(first.getOuts());
    llvm::append_range(inputs, second.getInputs());
    llvm::append_range(outs, second.getOuts());
    SmallVector<Type> types(first.getResultTypes());
    llvm::append_range(types, second.getResultTypes());
    auto launch = LaunchOp::create(
        builder, builder.getFusedLoc({first.getLoc(), second.getLoc()}), types,
        joint.getSymName(), inputs, outs,
        SmallVector<bool>(outs.size(), false));
    depths[launch] = std::max(depths.at(first), depths.at(second));
    size_t next = 0;
    for (LaunchOp old : both)
      for (Value result : old.getResults()) {
        Value now = launch.getResult(next++);
        dims.alias(result, now);
        result.replaceAllUsesWith(now);
      }
    for (LaunchOp old : both) {
      depths.erase(old);
      old.erase();
    }
    Operation *last = launch;
    for (Operation *op : later) {
      op->moveAfter(last);
      last = op;
      if (isa<LaunchOp>(op))
        noteDepth(op);
    }
    return launch;
  }

  Block &block;
  const ::hk::Target &target;
  JointKernels &kernels;
  DimSymbols dims;
  llvm::DenseMap<Operation *, int64_t> depths;
};

struct HKShareLaunches
    : LoggedPass<::mlir::hk::impl::HKShareLaunchesBase<HKShareLaunches>> {
  using LoggedPass::LoggedPass;

  void runOnOperation() override {
    const ::hk::Target *target = requireTarget(getOperation());
    if (!target)
      return signalPassFailure();
    SymbolTable symbols(getOperation());
    DecisionLog &decisions = log();
    JointKernels kernels(*target, symbols, /*ordered=*/false, decisions);
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      for (Block &block : function.getBody())
        BlockSharing(block, *target, kernels)
            .run([&](LaunchOp launch, LaunchOp other, const Verdict &verdict) {
              reportJoint({"hk-share-launches", "NotShared",
                           "share a launch with", "neither needs the other"},
                          launch, other, verdict, decisions);
              if (verdict.accepted())
                ++numShared;
            });
    eraseUnlaunched(getOperation(), symbols);
  }
};
} // namespace

std::unique_ptr<Pass> mlir::hk::createHKShareLaunches(DecisionLog &log) {
  return std::make_unique<HKShareLaunches>(log);
}
