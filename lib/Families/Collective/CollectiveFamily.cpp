//===- CollectiveFamily.cpp - The collective family -----------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operator over several ranks is a kernel of its own, which the runtime's
// engine runs: it reads its operand from memory, nothing joins it, and there is
// no code to compile.
//
//===----------------------------------------------------------------------===//

#include "../Launch.h"
#include "../TileReport.h"

#include "hk/Contract/Calibration.h"
#include "hk/Contract/Capability.h"
#include "hk/Families/KernelExchange.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mlir::hk;

namespace {

/// Bytes that a rank sends over the link to its neighbour, of an input of
/// `bytes`, as rings do it.
double bytesSent(const Exchange &exchange, double bytes, double ranks) {
  if (exchange.root)
    return bytes;
  if (exchange.reduction && !exchange.split)
    return 2 * (ranks - 1) / ranks * bytes;
  return exchange.split ? (ranks - 1) / ranks * bytes : (ranks - 1) * bytes;
}

/// Says what an exchange takes: microseconds, or what its dynamic sizes are
/// multiplied with.
void report(KernelOp kernel, const ::hk::Target &target, DecisionLog &log) {
  reportOnlyTile(kernel, log, "the runtime's engine");
  CollectiveOpInterface op =
      *kernel.getSpecBlock().getOps<CollectiveOpInterface>().begin();
  if (op->getNumOperands() == 0)
    return; // nothing is exchanged
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  double elements = 1;
  for (int64_t size : type.getShape())
    elements *= ShapedType::isDynamic(size) ? 1 : double(size);
  std::optional<::hk::Mesh> mesh = meshOf(kernel);
  int64_t ranks = mesh->axes()[mesh->find(op.getAxis().str())].size;
  double bytes =
      elements * ::hk::info(*dtypeOf(type.getElementType())).bits / 8.0;
  ::hk::ExchangeCalibration rates = ::hk::exchangeCalibration(target);
  Exchange exchange = op.getExchange();
  bool isOfParts =
      exchange.reduction.has_value() == exchange.split.has_value() &&
      !exchange.root;
  double us = bytesSent(exchange, bytes, double(ranks)) /
              (isOfParts ? rates.partsGBps : rates.linkGBps) / 1e3;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "by the runtime's engine, modelled ";
  if (type.hasStaticShape())
    os << llvm::format("%.1f us", rates.startUs + us);
  else
    os << llvm::format("%.1f us and %.4f", rates.startUs, us)
       << " times its dynamic sizes";
  Candidate candidate{text, Verdict::accept()};
  candidate.microseconds = type.hasStaticShape() ? rates.startUs + us : 0;
  Decision decision{DecisionKind::Shard,
                    kernel.getLoc(),
                    ("@" + kernel.getSymName()).str(),
                    {std::move(candidate)},
                    0};
  auto sum = dyn_cast<AllReduceOp>(op.getOperation());
  if (sum && !::hk::reducesRanksAsMeant(target))
    decision.candidates.push_back(
        {"by a kernel", judgeKernelExchange(sum, target)});
  log.add(std::move(decision));
}

class CollectiveFamily final : public Family {
public:
  FamilyKind getKind() const override { return FamilyKind::collective; }

  Verdict canStart(Operation *op, const FusionContext &) const override {
    if (!isa<CollectiveOpInterface>(op))
      return Verdict::refuse(Reason::OtherFamily,
                             op->getName().getStringRef() +
                                 " is not an operator over several ranks");
    return Verdict::accept();
  }

  Verdict canJoin(ArrayRef<Operation *>, Operation *,
                  const FusionContext &) const override {
    return Verdict::refuse(Reason::OtherFamily,
                           "an exchange with other ranks is a launch of its "
                           "own");
  }

  Verdict canMerge(ArrayRef<Operation *>, ArrayRef<Operation *>,
                   const FusionContext &) const override {
    return Verdict::refuse(Reason::OtherFamily,
                           "an exchange with other ranks is a launch of its "
                           "own");
  }

  LogicalResult addVariants(KernelOp kernel, const ::hk::Target &target,
                            DecisionLog &log) const override {
    report(kernel, target, log);
    addVariant(kernel, DimSymbols::ofKernel(kernel),
               CollectiveTileAttr::get(kernel.getContext()), /*threads=*/1,
               /*ldsBytes=*/0, [&](LaunchBuilder &launch) {
                 return launch.grid(launch.constant(1));
               });
    return success();
  }

  /// For people, and so that variants are named like others; never compiled.
  LogicalResult emit(KernelOp kernel, const ::hk::Target &, StringRef,
                     raw_ostream &os) const override {
    os << "// run by the runtime's engine:";
    for (Operation &op : kernel.getSpecBlock().without_terminator())
      os << " " << op.getName();
    os << "\n";
    return success();
  }
};

} // namespace

const Family &mlir::hk::getCollectiveFamily() {
  static const CollectiveFamily family;
  return family;
}
