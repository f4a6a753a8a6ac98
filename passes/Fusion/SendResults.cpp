//===- SendResults.cpp - Products that send their results -----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order of the launches is final here. A kernel sends where each of its
// launches makes what the next exchange adds, and nothing else reads it: that
// one takes the slot into which the rows go (kernels/collective/send.h).
//
//===----------------------------------------------------------------------===//

#include "AddInProducts.h"
#include "JointKernels.h"
#include "LoggedPass.h"

#include "hk/Families/KernelExchange.h"
#include "hk/Passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKSENDRESULTS
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

namespace {
/// What its launches say of a kernel.
struct Sender {
  StringRef axis;
  int64_t launches = 0;
  /// The first refusal of those that a sum reads.
  Verdict verdict = Verdict::accept();
};

class Senders {
public:
  explicit Senders(const ::hk::Target &target) : target(target) {}

  void add(func::FuncOp function) {
    SmallVector<LaunchOp> order;
    function.walk([&](LaunchOp launch) {
      order.push_back(launch);
      ++launches[kernelOf(launch)];
    });
    for (auto [index, launch] : llvm::enumerate(order))
      if (auto sum = dyn_cast_or_null<AllReduceOp>(
              exchangeOf(kernelOf(launch)).getOperation()))
        addSum(order, index, sum);
  }

  /// Kernels whose results sums read, with what is to be done.
  llvm::MapVector<Operation *, Sender> take() {
    for (auto &[kernel, sender] : senders)
      if (sender.verdict.accepted() && sender.launches != launches[kernel])
        sender.verdict = Verdict::refuse(
            Reason::ResultEscapes,
            "some of its launches make what no sum over ranks reads");
    return std::move(senders);
  }

private:
  void addSum(ArrayRef<LaunchOp> order, size_t index, AllReduceOp sum) {
    LaunchOp launch = order[index];
    auto input = dyn_cast<BlockArgument>(sum.getInput());
    if (!input || kernelOf(launch).getFamily() == FamilyKind::collective)
      return;
    auto product =
        launch->getOperand(input.getArgNumber()).getDefiningOp<LaunchOp>();
    if (!product || kernelOf(product).getFamily() != FamilyKind::gemm)
      return;
    Sender &sender = senders[kernelOf(product)];
    ++sender.launches;
    sender.axis = sum.getAxis();
    Verdict verdict = judge(order, index, product, sum);
    if (sender.verdict.accepted())
      sender.verdict = std::move(verdict);
  }

  Verdict judge(ArrayRef<LaunchOp> order, size_t index, LaunchOp product,
                AllReduceOp sum) {
    auto wish = product->getParentOfType<ModuleOp>()->getAttrOfType<StringAttr>(
        kExchangeAttrName);
    if (wish && wish.getValue() != "product")
      return Verdict::refuse(Reason::Disabled, "the module asks for it");
    if (ranksOf(sum) != 2)
      return Verdict::refuse(Reason::UnsupportedShape,
                             "a product sends to one other rank");
    // The product leaves sums where it has summed.
    if (!sum.getInput().hasOneUse() || !product->hasOneUse())
      return Verdict::refuse(Reason::ResultEscapes,
                             "something else reads what it computes");
    if (familyOf(FamilyKind::gemm).getLeastSent(kernelOf(product), target) == 0)
      return Verdict::refuse(Reason::UnsupportedShape,
                             "none of its variants stores a matrix of 16-bit "
                             "elements by the copy engine");
    if (tensorType(sum.getInput()).getElementType() !=
        tensorType(sum.getResult()).getElementType())
      return Verdict::refuse(Reason::UnsupportedDType,
                             "it sends sums of the type of its result");
    for (LaunchOp between : llvm::reverse(order.take_front(index))) {
      if (between == product)
        return Verdict::accept();
      if (exchangeOf(kernelOf(between)))
        return Verdict::refuse(Reason::WouldCycle,
                               "another exchange is launched between it and "
                               "the sum");
    }
    return Verdict::refuse(Reason::WouldCycle, "the sum is launched before it");
  }

  const ::hk::Target &target;
  llvm::DenseMap<Operation *, int64_t> launches;
  llvm::MapVector<Operation *, Sender> senders;
};

struct HKSendResults
    : LoggedPass<::mlir::hk::impl::HKSendResultsBase<HKSendResults>> {
  using LoggedPass::LoggedPass;

  void runOnOperation() override {
    const ::hk::Target *target = requireTarget(getOperation());
    if (!target)
      return signalPassFailure();
    Senders senders(*target);
    for (auto function : getOperation().getOps<func::FuncOp>())
      senders.add(function);
    for (auto &[op, sender] : senders.take()) {
      auto kernel = cast<KernelOp>(op);
      report(kernel, sender, *target);
      if (!sender.verdict.accepted())
        continue;
      kernel->setAttr(kSendsAttrName,
                      StringAttr::get(&getContext(), sender.axis));
      ++numSending;
    }
    addInProducts(getOperation());
  }

private:
  void report(KernelOp kernel, const Sender &sender,
              const ::hk::Target &target) {
    Decision decision{DecisionKind::Shard,
                      kernel.getLoc(),
                      ("@" + kernel.getSymName()).str(),
                      {},
                      0};
    if (sender.verdict.accepted()) {
      int64_t least = familyOf(kernel.getFamily()).getLeastSent(kernel, target);
      decision.candidates.push_back(
          {"sent to the other rank tile by tile, of " + std::to_string(least) +
               " bytes and more, before the sum",
           Verdict::accept()});
    } else {
      decision.candidates.push_back(
          {"sent by the sum behind it", Verdict::accept()});
      decision.candidates.push_back({"tile by tile", sender.verdict});
    }
    log().add(std::move(decision));
  }
};
} // namespace

std::unique_ptr<Pass> mlir::hk::createHKSendResults(DecisionLog &log) {
  return std::make_unique<HKSendResults>(log);
}
