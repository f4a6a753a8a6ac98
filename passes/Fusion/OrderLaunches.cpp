//===- OrderLaunches.cpp - A kernel and what needs its results ------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small kernels that each need what the one in front makes cost a launch each,
// whatever they compute. Runs of them become one launch of an ordered joint
// kernel, whose later problems wait for the earlier ones, where the model says
// that waiting takes no longer than a launch.
//
// This is done on memrefs, where a problem may read what another one of its
// launch writes; the memory of both is live then, which hk-plan-arena sees. The
// words in which blocks are counted are zero when a launch begins: those of all
// ordered launches of a function are zeroed by a problem of a launch in front
// of them that may have one more, or else by a launch of its own. So what all
// of them save must be more than that takes.
//
//===----------------------------------------------------------------------===//

#include "JointKernels.h"
#include "LoggedPass.h"

#include "hk/Contract/Cost.h"
#include "hk/Contract/Order.h"
#include "hk/Passes/Entry.h"
#include "hk/Passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKORDERLAUNCHES
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

namespace {

/// The memory that `value` is a view of.
Value memoryOf(Value value) {
  while (auto view = value.getDefiningOp<ViewLikeOpInterface>())
    value = view.getViewSource();
  return value;
}

/// A dynamic size of a memref: the number that it was made with, or else its
/// own. Equal names are equal sizes.
using SizeName = std::pair<Value, int64_t>;
SizeName sizeNameOf(Value memref, int64_t dim) {
  while (true) {
    auto alloc = memref.getDefiningOp<memref::AllocOp>();
    if (!alloc)
      return {memref, dim};
    auto size = alloc.getDynamicSizes()[alloc.getType().getDynamicDimIndex(
        unsigned(dim))];
    auto of = size.getDefiningOp<memref::DimOp>();
    std::optional<int64_t> index = of ? of.getConstantIndex() : std::nullopt;
    if (!index)
      return {size, 0};
    memref = of.getSource();
    dim = *index;
  }
}

/// Launches one after the other, and the kernel that they become.
struct Run {
  SmallVector<LaunchOp> launches;
  KernelOp kernel;

  /// Inputs, or outs, of all.
  SmallVector<Value> operands(bool inputs) const {
    SmallVector<Value> all;
    for (LaunchOp launch : launches)
      llvm::append_range(all, inputs ? launch.getInputs() : launch.getOuts());
    return all;
  }
};

/// A launch in front of all that zeroes the words, beside its own kernel, and
/// what it takes longer for that.
struct Host {
  LaunchOp launch;
  KernelOp joint;
  double microseconds;
};

/// The dim symbols of the joint kernel of a run.
class RunDims {
public:
  SmallVector<int64_t> add(KernelOp kernel, const Run &run) {
    SmallVector<Value> operands = run.operands(/*inputs=*/true);
    llvm::append_range(operands, run.operands(/*inputs=*/false));
    SmallVector<int64_t> map(kernel.getNumDims(), -1);
    // An ordered kernel has one operand more, of a static size.
    forEachSymbol(kernel, operands,
                  [&](int64_t own, Value operand, int64_t dim) {
                    // Several names of one symbol are names of one size.
                    int64_t &symbol = map[own];
                    auto [it, isNew] =
                        symbols.try_emplace(sizeNameOf(operand, dim), symbol);
                    if (symbol < 0)
                      symbol = isNew ? next++ : it->second;
                    if (isNew)
                      it->second = symbol;
                  });
    return map;
  }

private:
  llvm::DenseMap<SizeName, int64_t> symbols;
  int64_t next = 0;
};

/// The runs of the launches of a function.
class FunctionOrder {
public:
  using Report = llvm::function_ref<void(LaunchOp, LaunchOp, const Verdict &)>;

  FunctionOrder(func::FuncOp function, const ::hk::Target &target,
                SymbolTable &symbols, JointKernels &kernels,
                JointKernels &besides, DecisionLog &log)
      : function(function), target(target), symbols(symbols), kernels(kernels),
        besides(besides), log(log) {
    if (VersionAttr version = versionOf(function))
      mostSize = version.getAtMost();
  }

  /// Returns how many launches became a problem of another one, or fails with
  /// an error.
  FailureOr<int64_t> run(Report report) {
    std::vector<Offer> offers;
    std::vector<Run> runs;
    for (LaunchOp launch : function.getBody().front().getOps<LaunchOp>()) {
      Run own{{launch}, kernelOf(launch)};
      if (runs.empty() || !extend(runs.back(), own, offers))
        runs.push_back(std::move(own));
    }
    llvm::erase_if(runs,
                   [](const Run &run) { return run.launches.size() < 2; });
    double least = leastSaved(offers);
    std::optional<Host> host;
    if (failed(findHost(runs, host)))
      return failure();
    double cost = host ? host->microseconds : target.launchMicroseconds;
    bool pays = least > cost + (host ? 0 : ::hk::kOrderedFunctionMicroseconds);
    for (Offer &offer : offers) {
      if (!pays && offer.choice.verdict.accepted())
        offer.choice.verdict = Verdict::refuse(
            Reason::CostlierFused,
            llvm::formatv("all waits of the function save {0:f1} us and the "
                          "launch that zeroes their counters takes {1:f1}",
                          least, cost)
                .str());
      report(offer.launch, offer.other, offer.choice.verdict);
    }
    if (!pays || runs.empty())
      return 0;
    int64_t fewer = 0;
    for (const Run &run : runs)
      fewer += int64_t(run.launches.size()) - 1;
    for (ArrayRef<Run> rest = runs; !rest.empty();
         rest = rest.drop_front(std::min(rest.size(), kMostZeroed)), host = {})
      if (failed(replace(rest.take_front(kMostZeroed), host)))
        return failure();
    return fewer;
  }

private:
  /// Launches whose words one launch zeroes, as many as a constant can have.
  /// What so many save is far more than another such launch.
  static constexpr size_t kMostZeroed =
      kMaxConstantBytes / (4 * ::hk::kOrderWords);

  struct Offer {
    LaunchOp launch, other;
    JointChoice choice;
  };

  /// What the accepted ones save together, of as many rows as make it least.
  static double leastSaved(ArrayRef<Offer> offers) {
    size_t samples = 1;
    for (const Offer &offer : offers)
      samples = std::max(samples, offer.choice.saved.size());
    double least = std::numeric_limits<double>::max();
    for (size_t i = 0; i < samples; ++i) {
      double sum = 0;
      for (const Offer &offer : offers)
        if (const JointChoice &choice = offer.choice; choice.verdict.accepted())
          sum += choice.saved[std::min(i, choice.saved.size() - 1)];
      least = std::min(least, sum);
    }
    return least;
  }

  bool mayOrder(const Run &run) {
    KernelOp kernel = run.kernel;
    // What is sent to another rank needs words of the kernel's own launch.
    return !kernel->hasAttr(kSendsAttrName) &&
           llvm::none_of(run.launches,
                         [](LaunchOp launch) {
                           return llvm::is_contained(launch.getReadsOut(),
                                                     true);
                         }) &&
           mayShareLaunch(kernel, target, /*ordered=*/true);
  }

  /// Whether `next` reads what the run writes.
  static bool needs(const Run &next, const Run &run) {
    llvm::SmallPtrSet<Value, 8> written;
    for (Value out : run.operands(/*inputs=*/false))
      written.insert(memoryOf(out));
    return llvm::any_of(next.operands(/*inputs=*/true), [&](Value input) {
      return written.contains(memoryOf(input));
    });
  }

  bool extend(Run &run, const Run &next, std::vector<Offer> &offers) {
    KernelOp last = next.kernel;
    if (!familyOf(last.getFamily()).mayWait() || !mayOrder(next) ||
        !mayOrder(run) || !needs(next, run))
      return false;
    JointChoice choice = jointKernel(run, next);
    offers.push_back({next.launches.front(), run.launches.back(), choice});
    if (!choice.verdict.accepted())
      return false;
    llvm::append_range(run.launches, next.launches);
    run.kernel = choice.kernel;
    return true;
  }

  JointChoice jointKernel(const Run &run, const Run &next) {
    RunDims names;
    SmallVector<JointMember> members;
    for (const Run *part : {&run, &next})
      members.push_back({part->kernel, names.add(part->kernel, *part)});
    return kernels.get(members, mostSize);
  }

  /// The kernel that zeroes the words of up to `count` launches.
  FailureOr<KernelOp> zeroKernelOf(size_t count) {
    int64_t words = int64_t(std::min(count, kMostZeroed)) * ::hk::kOrderWords;
    return zeroKernel(words, "words", target, symbols, function.getLoc(), log);
  }

  /// The last launch in front of the runs that may zero their words as well, in
  /// less time than a launch takes: `host`, if there is one.
  LogicalResult findHost(ArrayRef<Run> runs, std::optional<Host> &host) {
    if (runs.empty())
      return success();
    FailureOr<KernelOp> made = zeroKernelOf(runs.size());
    if (failed(made))
      return failure();
    KernelOp zero = *made;
    const Family &family = familyOf(zero.getFamily());
    double apart =
        family.getMicroseconds(zero, variantFor(zero, {}), target, {});
    Operation *op = runs.front().launches.front();
    while ((op = op->getPrevNode())) {
      auto launch = dyn_cast<LaunchOp>(op);
      if (!launch || llvm::is_contained(launch.getReadsOut(), true))
        continue;
      KernelOp kernel = kernelOf(launch);
      const Family &own = familyOf(kernel.getFamily());
      if (kernel->hasAttr(kSendsAttrName) ||
          !own.mayShareWith(zero.getFamily()) ||
          !family.mayShareWith(kernel.getFamily()) ||
          !mayShareLaunch(kernel, target, /*ordered=*/true))
        continue;
      RunDims names;
      JointMember first{kernel, names.add(kernel, Run{{launch}, kernel})};
      JointChoice choice =
          besides.get({first, JointMember{zero, {}}}, mostSize);
      if (!choice.verdict.accepted())
        continue;
      host =
          Host{launch, choice.kernel, apart - *llvm::min_element(choice.saved)};
      return success();
    }
    return success();
  }

  /// Memory of the words of `runs`, zero when the first one begins.
  FailureOr<Value> zeroedWords(ArrayRef<Run> runs, std::optional<Host> host) {
    LaunchOp before = host ? host->launch : runs.front().launches.front();
    OpBuilder builder(before);
    Location loc = function.getLoc();
    FailureOr<KernelOp> zero = zeroKernelOf(runs.size());
    if (failed(zero))
      return failure();
    Value all = memref::AllocOp::create(
        builder, loc,
        MemRefType::get({int64_t(runs.size()) * ::hk::kOrderWords},
                        builder.getI32Type()));
    SmallVector<Value> inputs, outs;
    if (host) {
      llvm::append_range(inputs, before.getInputs());
      llvm::append_range(outs, before.getOuts());
      loc = before.getLoc();
    }
    outs.push_back(all);
    KernelOp kernel = host ? host->joint : *zero;
    LaunchOp::create(builder, loc, TypeRange(), kernel.getSymName(), inputs,
                     outs, SmallVector<bool>(outs.size(), false));
    if (host)
      before.erase();
    return all;
  }

  LogicalResult replace(ArrayRef<Run> runs, std::optional<Host> host) {
    FailureOr<Value> all = zeroedWords(runs, host);
    if (failed(all))
      return failure();
    OpBuilder builder(function.getContext());
    Location loc = function.getLoc();
    for (auto [index, run] : llvm::enumerate(runs)) {
      LaunchOp last = run.launches.back();
      builder.setInsertionPoint(last);
      SmallVector<Location> locations;
      for (LaunchOp launch : run.launches)
        locations.push_back(launch.getLoc());
      Value own = memref::SubViewOp::create(
          builder, loc, *all,
          SmallVector<OpFoldResult>{
              builder.getIndexAttr(int64_t(index) * ::hk::kOrderWords)},
          SmallVector<OpFoldResult>{builder.getIndexAttr(::hk::kOrderWords)},
          SmallVector<OpFoldResult>{builder.getIndexAttr(1)});
      SmallVector<Value> outs = run.operands(/*inputs=*/false);
      SmallVector<bool> reads(outs.size(), false);
      outs.push_back(own);
      reads.push_back(true);
      KernelOp kernel = run.kernel;
      LaunchOp::create(builder, builder.getFusedLoc(locations), TypeRange(),
                       kernel.getSymName(), run.operands(/*inputs=*/true), outs,
                       reads);
      for (LaunchOp launch : run.launches)
        launch.erase();
    }
    return success();
  }

  func::FuncOp function;
  const ::hk::Target &target;
  SymbolTable &symbols;
  JointKernels &kernels, &besides;
  DecisionLog &log;
  int64_t mostSize = kUnboundedSize;
};

struct HKOrderLaunches
    : LoggedPass<::mlir::hk::impl::HKOrderLaunchesBase<HKOrderLaunches>> {
  using LoggedPass::LoggedPass;

  void runOnOperation() override {
    const ::hk::Target *target = requireTarget(getOperation());
    if (!target)
      return signalPassFailure();
    if (!::hk::blocksWait(*target))
      return;
    SymbolTable symbols(getOperation());
    DecisionLog &decisions = log();
    JointKernels kernels(*target, symbols, /*ordered=*/true, decisions);
    JointKernels besides(*target, symbols, /*ordered=*/false, decisions);
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && !function.isExternal()) {
        FailureOr<int64_t> ordered =
            FunctionOrder(function, *target, symbols, kernels, besides,
                          decisions)
                .run([&](LaunchOp launch, LaunchOp other,
                         const Verdict &verdict) {
                  reportJoint({"hk-order-launches", "NotOrdered",
                               "wait in the launch of",
                               "it needs what that makes"},
                              launch, other, verdict, decisions);
                });
        if (failed(ordered))
          return signalPassFailure();
        numOrdered += *ordered;
      }
    eraseUnlaunched(getOperation(), symbols);
  }
};
} // namespace

std::unique_ptr<Pass> mlir::hk::createHKOrderLaunches(DecisionLog &log) {
  return std::make_unique<HKOrderLaunches>(log);
}
