//===- CpuTiles.h - Leave to use a CPU's matrix unit -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linux saves 8 KiB more for a thread that has used AMX's tiles, and lets a
// process use them only once it has asked.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_CPUTILES_H
#define HK_CONTRACT_CPUTILES_H

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace hk {

/// Whether all threads of this process may use AMX's tiles from now on; asks
/// for it. False where the system does not know them or does not let it.
inline bool requestCpuTiles() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr long kRequest = 0x1023, kTileData = 18; // ARCH_REQ_XCOMP_PERM
  return syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
#else
  return false;
#endif
}

} // namespace hk

#endif // HK_CONTRACT_CPUTILES_H
