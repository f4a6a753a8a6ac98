//===- ChipTiming.h - Constants of the timing model -------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers a replay needs of a chip, all in one table whose rows name their
// source and how good it is. Clocks are those of the shader engine.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_TIMING_CHIPTIMING_H
#define HK_LIB_EMULATOR_TIMING_CHIPTIMING_H

#include <string>

namespace hk::emu {

struct ChipTiming {
  const char *product = "";
  // Chip.
  double computeUnits = 0, xcds = 0, peakMHz = 0;
  // Issue, clocks.
  double valuLatency = 0, branchTaken = 0, barrier = 0, workgroupGap = 0;
  double scalarTrip = 0;
  // LDS.
  double ldsPhase = 0, ldsQueue = 0, ldsTrip = 0;
  // Vector memory of a compute unit.
  double lineClocks = 0, vmemQueue = 0, l1Bytes = 0, l1Sets = 0, l1Trip = 0;
  double bytesInFlight = 0, returnBytes = 0;
  // Memory levels: trips in clocks, rates of the whole chip in GB/s, but the
  // L2's in bytes per clock and XCD.
  double l2Bytes = 0, l2Trip = 0, l2Rate = 0;
  double mallBytes = 0, mallTrip = 0, mallGBps = 0;
  double hbmTrip = 0, hbmGBps = 0;
  // Time outside the clocks.
  double launchUs = 0;
  double bf16Tflops = 0, f16Tflops = 0,
         fp8Tflops = 0; ///< sustained; 0: unknown
};

/// How a constant is known.
enum class Evidence {
  Measured,  ///< on the hardware, by the source
  Published, ///< by the vendor or in compiler source
  Derived,   ///< from measured or published numbers
  Assumed    ///< nobody has published it
};

struct ConstantRow {
  const char *name, *unit;
  double ChipTiming::*field;
  double mi300x, mi325x, mi355x;
  Evidence evidence;
  bool fitted; ///< the accuracy protocol may choose it
  const char *source;
};

/// Null: no such product.
const ChipTiming *findTiming(const std::string &product);
/// Replaces constants, "name=value,name=value". Returns why not, or nothing.
std::string setConstants(ChipTiming &chip, const std::string &text);
/// The table as text, for `hk-emu --constants`.
std::string constantsTable();

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_TIMING_CHIPTIMING_H
