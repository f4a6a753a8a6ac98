//===- TileReport.h - The tiles of a kernel, and why not -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What every family says of its tiles, in the same words: each candidate with
// its LDS and why it is not used, the one that is, and where none is legal an
// error with the smallest tile and the nearest one that fits.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_TILEREPORT_H
#define HK_FAMILIES_TILEREPORT_H

#include "hk/Families/Family.h"

namespace mlir::hk {

/// Whether a tile with so many bytes of LDS may be launched; `spills`: its
/// kernel is known to.
Verdict checkTile(const ::hk::Target &target, int64_t ldsBytes, bool spills);

/// The candidates of one choice. It is logged when the report ends.
class TileReport {
public:
  /// `sizes`: for which sizes the choice is, if there are several.
  TileReport(KernelOp kernel, DecisionLog &log, const Twine &sizes = "");
  ~TileReport() { log.add(std::move(decision)); }
  TileReport(const TileReport &) = delete;
  TileReport &operator=(const TileReport &) = delete;

  /// Adds a candidate; `microseconds` 0: its time is not modelled.
  void add(const Twine &what, Verdict verdict, int64_t ldsBytes = 0,
           double microseconds = 0);
  /// The candidate that was added last is the one to use, so far.
  void chooseLast() { decision.chosen = count() - 1; }
  void choose(int64_t index) { decision.chosen = index; }
  int64_t count() const { return int64_t(decision.candidates.size()); }

private:
  DecisionLog &log;
  Decision decision;
};

/// Reports `tile`, the only one a kernel can have.
void reportOnlyTile(KernelOp kernel, DecisionLog &log, const Twine &tile,
                    int64_t ldsBytes = 0);

/// A tile in an error.
struct NamedTile {
  std::string text;
  int64_t ldsBytes;
};

/// Says on `op`, which is part of `kernel`, that even its smallest tile does
/// not fit, and which one nearest to it does, if there is one. What to do about
/// it is the caller's to add.
InFlightDiagnostic refuseSmallestTile(Operation *op, KernelOp kernel,
                                      const ::hk::Target &target,
                                      const NamedTile &smallest,
                                      const std::optional<NamedTile> &nearest);

} // namespace mlir::hk

#endif // HK_FAMILIES_TILEREPORT_H
