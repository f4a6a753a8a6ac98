//===- arch.h - The target this translation unit is compiled for -*- C++
//-*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Picks the architecture's own layer: thread indices, barriers, lane shuffles,
// native instructions. Nothing outside device/ uses these directly.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_ARCH_H
#define HK_KERNELS_DEVICE_ARCH_H

#include "kernels/device/types.h"

namespace hk {

#if defined(__gfx942__)
inline constexpr Arch kArch = Arch::Gfx942;
#elif defined(__gfx950__)
inline constexpr Arch kArch = Arch::Gfx950;
#elif defined(__gfx1100__)
inline constexpr Arch kArch = Arch::Gfx1100;
#elif defined(__AMDGCN__)
#error "hk kernels: this AMD target is not in hk/Contract/Target.h"
#elif defined(__NVPTX__)
inline constexpr Arch kArch = Arch::Sm90a;
#else
inline constexpr Arch kArch = Arch::Host;
#endif

inline constexpr const Target &kTarget = targetOf(kArch);
/// Lanes of a wave; 1 on the host.
inline constexpr int kWave = kTarget.waveSize;
inline constexpr bool kIsHost = kArch == Arch::Host;

/// Waves each of the four SIMDs must be able to hold for `minBlocks` blocks of
/// `threads` threads to be resident.
constexpr int wavesPerSimd(int threads, int minBlocks) {
  int waves = (threads + kWave - 1) / kWave * (minBlocks > 0 ? minBlocks : 1);
  int perSimd = (waves + 3) / 4;
  return perSimd < 8 ? perSimd : 8;
}

} // namespace hk

#if defined(__AMDGCN__)
#include "kernels/device/arch/amdgcn.h"
#elif defined(__NVPTX__)
#include "kernels/device/arch/nvptx.h"
#else
#include "kernels/device/arch/host.h"
#endif

#endif // HK_KERNELS_DEVICE_ARCH_H
