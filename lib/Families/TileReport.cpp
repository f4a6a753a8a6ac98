//===- TileReport.cpp - The tiles of a kernel, and why not ----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The wording of tiles that are not used.
//
//===----------------------------------------------------------------------===//

#include "TileReport.h"

using namespace mlir;
using namespace mlir::hk;

Verdict mlir::hk::checkTile(const ::hk::Target &target, int64_t ldsBytes,
                            bool spills) {
  if (ldsBytes > target.ldsBytes)
    return Verdict::refuse(Reason::LdsExceeded,
                           Twine(ldsBytes) + " of " + Twine(target.ldsBytes));
  if (spills)
    return Verdict::refuse(Reason::RegistersExceeded, "its kernel spills");
  return Verdict::accept();
}

TileReport::TileReport(KernelOp kernel, DecisionLog &log, const Twine &sizes)
    : log(log), decision{DecisionKind::Tile,
                         kernel.getLoc(),
                         (kernel.getSymName() + sizes).str(),
                         {},
                         /*chosen=*/-1} {}

void TileReport::add(const Twine &what, Verdict verdict, int64_t ldsBytes,
                     double microseconds) {
  decision.candidates.push_back(
      {what.str(), std::move(verdict), microseconds, ldsBytes});
}

void mlir::hk::reportOnlyTile(KernelOp kernel, DecisionLog &log,
                              const Twine &tile, int64_t ldsBytes) {
  TileReport report(kernel, log);
  report.add(tile, Verdict::accept(), ldsBytes);
  report.chooseLast();
}

InFlightDiagnostic mlir::hk::refuseSmallestTile(
    Operation *op, KernelOp kernel, const ::hk::Target &target,
    const NamedTile &smallest, const std::optional<NamedTile> &nearest) {
  InFlightDiagnostic error = op->emitOpError("in kernel @")
                             << kernel.getSymName() << ": its smallest tile "
                             << smallest.text << " needs " << smallest.ldsBytes
                             << " bytes of LDS, but " << target.name << " has "
                             << target.ldsBytes;
  if (nearest)
    error << "; the nearest tile that fits is " << nearest->text << " with "
          << nearest->ldsBytes << " bytes";
  return error;
}
