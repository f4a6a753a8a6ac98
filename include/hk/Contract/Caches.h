//===- Caches.h - Second-level caches of a chip -----------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CDNA3 and CDNA4 are eight dies with an L2 of 4 MiB each, which get the blocks
// of a launch round robin (AMD's CDNA3 white paper; HipKittens' and AITER's
// remapping of block numbers rely on it).
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_CACHES_H
#define HK_CONTRACT_CACHES_H

#include "hk/Contract/Target.h"

namespace hk {

/// L2 caches, each for the blocks of its own units.
constexpr uint32_t l2Caches(const Target &target) {
  return target.arch == Arch::Gfx942 || target.arch == Arch::Gfx950 ? 8 : 1;
}

} // namespace hk

#endif // HK_CONTRACT_CACHES_H
