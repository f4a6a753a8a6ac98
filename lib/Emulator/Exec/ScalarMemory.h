//===- ScalarMemory.h - Addresses of scalar memory --------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What scalar loads, stores and atomics share.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_EXEC_SCALARMEMORY_H
#define HK_LIB_EMULATOR_EXEC_SCALARMEMORY_H

#include "../MemoryAccess.h"

namespace hk::emu {

struct AtomicOp;

struct ScalarAddress {
  uint64_t address = 0;
  uint64_t limit = ~0ull; ///< end of the buffer; beyond it nothing happens
  bool defined = true;
};

/// The address of a scalar access whose base (or descriptor) is operand 1.
ScalarAddress scalarAddress(Wave &w, const Inst &inst, bool buffer);

/// One atomic operation on a checked address; returns the old value. `returns`
/// says that the kernel sees it, which orders workgroups.
uint64_t updateGlobal(Wave &w, const Inst &inst, const AtomicOp &op,
                      uint64_t address, unsigned lane, uint64_t source,
                      uint64_t compare, bool returns);

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_EXEC_SCALARMEMORY_H
