//===- ChipTiming.cpp - Constants of the timing model ---------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One row per constant. "gluon": ROCm/gfx950-gluon-tutorials, thread traces and
// counters on MI300X and MI355X. "Origami": the constants of
// ROCm/rocm-libraries, shared/origami. "rocRoller": the same repository's
// shared/rocroller, whose tests compare with thread traces. What depends on the
// instruction (matrix and transcendental clocks, LDS phases) is in the op table
// and in LdsBanks.cpp.
//
//===----------------------------------------------------------------------===//

#include "ChipTiming.h"
#include <cstdio>
#include <cstdlib>

namespace hk::emu {
namespace {

using C = ChipTiming;
constexpr auto M = Evidence::Measured, P = Evidence::Published,
               D = Evidence::Derived, A = Evidence::Assumed;

const ConstantRow kRows[] = {
    {"computeUnits", "", &C::computeUnits, 304, 304, 256, P, false,
     "AMD data sheets"},
    {"xcds", "", &C::xcds, 8, 8, 8, P, false, "AMD data sheets"},
    {"peakMHz", "MHz", &C::peakMHz, 2100, 2100, 2400, P, false,
     "AMD data sheets"},
    {"valuLatency", "clk", &C::valuLatency, 4, 4, 8, M, false,
     "dependent v_fma on MI355X: facebookexperimental/triton pull request 2507;"
     " gfx942 assumed"},
    {"branchTaken", "clk", &C::branchTaken, 16, 16, 16, A, false,
     "lower end of the 16 to 20 that thread traces show"},
    {"barrier", "clk", &C::barrier, 16, 16, 16, A, false,
     "from the last arrival"},
    {"workgroupGap", "clk", &C::workgroupGap, 200, 200, 200, A, false,
     "from the end of a workgroup to its successor's first instruction"},
    {"scalarTrip", "clk", &C::scalarTrip, 200, 200, 200, A, false,
     "scalar load that hits"},
    {"ldsPhase", "clk", &C::ldsPhase, 2, 2, 2, D, false,
     "two SIMD pairs take turns at the banks: 64 (gfx950: 128) B/clk each; "
     "gluon lds_throughput: 16, 32, 64 clocks for conflicts of 1, 2, 4"},
    {"ldsQueue", "entries", &C::ldsQueue, 8, 8, 8, M, false,
     "of a SIMD pair: gluon"},
    {"ldsTrip", "clk", &C::ldsTrip, 40, 40, 40, M, false,
     "beside the data clocks: rocRoller"},
    {"lineClocks", "clk", &C::lineClocks, 2, 2, 2, M, false,
     "a dwordx4 of 8 lines takes 16, half used lines double it: gluon"},
    {"vmemQueue", "entries", &C::vmemQueue, 12, 12, 12, M, false, "gluon"},
    {"l1Bytes", "B", &C::l1Bytes, 32768, 32768, 32768, P, false,
     "CDNA3 white paper"},
    {"l1Sets", "", &C::l1Sets, 4, 4, 4, M, false, "gluon"},
    {"l1Trip", "clk", &C::l1Trip, 120, 120, 120, A, false, "a hit"},
    {"bytesInFlight", "B", &C::bytesInFlight, 32768, 32768, 32768, M, true,
     "of a compute unit, what the L1 lacks: gluon, tcp_bound_tile_model"},
    {"returnBytes", "B/clk", &C::returnBytes, 64, 64, 64, P, false,
     "L1 to registers: CDNA3 white paper"},
    {"l2Bytes", "B", &C::l2Bytes, 4194304, 4194304, 4194304, P, false,
     "of an XCD: CDNA3 white paper"},
    {"l2Trip", "clk", &C::l2Trip, 700, 700, 700, D, true,
     "44 KiB in 1000 clocks, of them 32 KiB behind the queue, less 32 clocks "
     "in "
     "the unit and on the return path: gluon, tcp_bound_tile_model"},
    {"l2Rate", "B/clk", &C::l2Rate, 2048, 2048, 2048, P, false,
     "16 channels of 128 B/clk of an XCD: CDNA3 white paper"},
    {"mallBytes", "B", &C::mallBytes, 268435456, 268435456, 268435456, P, false,
     "AMD data sheets"},
    {"mallTrip", "clk", &C::mallTrip, 1150, 1150, 1200, A, false,
     "between the L2 and memory"},
    {"mallGBps", "GB/s", &C::mallGBps, 7300, 7300, 8500, M, false,
     "usable: Origami; MI325X taken from the MI300X"},
    {"hbmTrip", "clk", &C::hbmTrip, 1150, 1150, 1460, D, true,
     "32 KiB over the rate of few compute units: Origami on the MI300X, gluon "
     "(1529 GB/s for 32 workgroups) on the MI355X"},
    {"hbmGBps", "GB/s", &C::hbmGBps, 4000, 4500, 6440, M, false,
     "usable: Origami; gluon on the MI355X; MI325X by its peak"},
    {"launchUs", "us", &C::launchUs, 4, 4, 4, A, true,
     "events around one kernel"},
    {"bf16Tflops", "TFLOP/s", &C::bf16Tflops, 708, 843, 0, M, false,
     "sustained, ROCm blog on maximum achievable FLOPs, part 2"},
    {"f16Tflops", "TFLOP/s", &C::f16Tflops, 654, 794, 0, M, false, "the same"},
    {"fp8Tflops", "TFLOP/s", &C::fp8Tflops, 1273, 1519, 0, M, false,
     "the same"},
};

ChipTiming make(const char *product, double ConstantRow::*column) {
  ChipTiming chip;
  chip.product = product;
  for (const ConstantRow &row : kRows)
    chip.*row.field = row.*column;
  return chip;
}

const char *evidenceName(Evidence e) {
  static const char *const names[] = {"measured", "published", "derived",
                                      "assumed"};
  return names[int(e)];
}

} // namespace

const ChipTiming *findTiming(const std::string &product) {
  static const ChipTiming chips[] = {make("mi300x", &ConstantRow::mi300x),
                                     make("mi325x", &ConstantRow::mi325x),
                                     make("mi355x", &ConstantRow::mi355x)};
  for (const ChipTiming &chip : chips)
    if (product == chip.product)
      return &chip;
  return nullptr;
}

std::string setConstants(ChipTiming &chip, const std::string &text) {
  for (size_t at = 0; at < text.size();) {
    size_t comma = std::min(text.find(',', at), text.size());
    std::string item = text.substr(at, comma - at);
    at = comma + 1;
    size_t equal = item.find('=');
    const ConstantRow *found = nullptr;
    for (const ConstantRow &row : kRows)
      if (item.substr(0, equal) == row.name)
        found = &row;
    if (!found)
      return "no constant '" + item.substr(0, equal) + "'; see --constants";
    const char *digits =
        equal == std::string::npos ? "" : item.c_str() + equal + 1;
    char *end;
    double value = std::strtod(digits, &end);
    if (end == digits || *end || !(value > 0))
      return "constant '" + item + "' needs a positive number";
    chip.*found->field = value;
  }
  return "";
}

std::string constantsTable() {
  std::string out;
  char row[512];
  std::snprintf(row, sizeof row, "%-14s %-8s %10s %10s %10s  %-9s %-6s %s\n",
                "constant", "unit", "mi300x", "mi325x", "mi355x", "evidence",
                "fitted", "source");
  out += row;
  for (const ConstantRow &r : kRows) {
    std::snprintf(row, sizeof row,
                  "%-14s %-8s %10.10g %10.10g %10.10g  %-9s %-6s %s\n", r.name,
                  r.unit, r.mi300x, r.mi325x, r.mi355x,
                  evidenceName(r.evidence), r.fitted ? "yes" : "no", r.source);
    out += row;
  }
  return out;
}

} // namespace hk::emu
