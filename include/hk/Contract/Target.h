//===- Target.h - The chips hk compiles for -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one table of target facts: memory limits, matrix shapes, rates. The
// compiler plans with it and the kernels static_assert against it. It includes
// neither LLVM nor HIP. An unknown name is nullptr for the caller to report,
// never a default chip.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_TARGET_H
#define HK_CONTRACT_TARGET_H

#include <cstdint>

namespace hk {

enum class Arch : int32_t { Host, Gfx942, Gfx950, Gfx1100, Sm90a, Tiny };

/// How an 8-bit e4m3 float is encoded by the chip's own instructions.
enum class Fp8Flavour : int32_t { Ocp, Fnuz };

struct Target {
  const char *name;
  Arch arch;
  Fp8Flavour fp8;
  /// Lanes of a wave; 1 on the host, where a block is one thread.
  int32_t waveSize;
  /// Largest number of threads in a block.
  int32_t maxThreads;
  /// LDS bytes one workgroup may use.
  int64_t ldsBytes;
  /// Vector registers per lane of a SIMD (AMD: VGPR + AGPR of the unified
  /// file).
  int32_t vgprs;
  /// Rows of the bf16 matrix instruction a fragment is built on.
  int32_t mmaM;
  /// Widest copy from global memory straight into LDS, bytes; 0 if none.
  int32_t directToLds;
  /// LDS read that transposes 16-bit elements.
  bool transposedLdsRead;
  /// Matrix instruction with block scales (MX formats).
  bool scaledMma;
  int32_t ldsBanks;
  /// LDS bytes per clock and compute unit.
  int32_t ldsBytesPerClock;
  int32_t computeUnits;
  /// Peak memory bandwidth, GB/s, and dense bf16 rate, TFLOP/s.
  double memoryGBps;
  double bf16Tflops;
  /// Cost of one kernel launch for the cost model, microseconds.
  double launchMicroseconds;
  /// The product whose rates these are; chips of one target differ in them.
  const char *product = "";

  /// Most blocks that may reach each other's LDS; 1: there is no such thing.
  constexpr int32_t maxCluster() const { return arch == Arch::Sm90a ? 8 : 1; }
};

/// Sources. LDS, waves, registers: AMD CDNA3/CDNA4 ISA documents and the ROCm
/// "GPU hardware specifications" page; rates: AMD's MI325X and MI355X product
/// pages; sm_90a: NVIDIA H200 datasheet and CUDA programming guide. The LDS
/// rate of gfx950 is AMD's 128 B/clk of CDNA3; articles say CDNA4 doubled it,
/// which nobody here has measured. `tiny` is a fake chip for tests: gfx942 with
/// 8 KiB.
inline constexpr Target kTargets[] = {
    {"host", Arch::Host, Fp8Flavour::Ocp, 1, 1, 1 << 20, 32, 8, 0, false, false,
     1, 64, 2, 20.0, 0.15, 2.0},
    {"gfx942", Arch::Gfx942, Fp8Flavour::Fnuz, 64, 1024, 65536, 512, 32, 4,
     false, false, 32, 128, 304, 6000.0, 1307.4, 5.0, "mi325x"},
    {"gfx950", Arch::Gfx950, Fp8Flavour::Ocp, 64, 1024, 163840, 512, 32, 16,
     true, true, 64, 128, 256, 8000.0, 2500.0, 5.0, "mi355x"},
    {"gfx1100", Arch::Gfx1100, Fp8Flavour::Ocp, 32, 1024, 65536, 256, 16, 0,
     false, false, 32, 128, 96, 960.0, 122.8, 5.0, "rx7900xtx"},
    {"sm_90a", Arch::Sm90a, Fp8Flavour::Ocp, 32, 1024, 232448, 255, 16, 16,
     true, false, 32, 128, 132, 4800.0, 989.0, 3.0, "h200"},
    {"tiny", Arch::Tiny, Fp8Flavour::Fnuz, 64, 1024, 8192, 512, 32, 4, false,
     false, 32, 128, 4, 100.0, 10.0, 5.0},
};

constexpr bool sameName(const char *a, const char *b) {
  for (; *a && *a == *b; ++a, ++b) {
  }
  return *a == *b;
}

/// The row of `name`, or nullptr when there is none.
constexpr const Target *findTarget(const char *name) {
  for (const Target &t : kTargets)
    if (sameName(t.name, name))
      return &t;
  return nullptr;
}

/// The row of `arch`; every enumerator has one.
constexpr const Target &targetOf(Arch arch) {
  for (const Target &t : kTargets)
    if (t.arch == arch)
      return t;
  return kTargets[0];
}

/// Whether the copies of a tile may take each row from another place.
constexpr bool copiesGatheredRows(const Target &target) {
  return target.arch != Arch::Gfx1100 && target.arch != Arch::Host;
}

} // namespace hk

#endif // HK_CONTRACT_TARGET_H
