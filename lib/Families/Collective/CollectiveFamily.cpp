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

using namespace mlir;
using namespace mlir::hk;

namespace {

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

  LogicalResult addVariants(KernelOp kernel, const ::hk::Target &,
                            DecisionLog &log) const override {
    reportOnlyTile(kernel, log, "the runtime's engine");
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
