//===- Vmem.h - What vector memory instructions share -----------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Forms of loads and stores, and the address and direct-to-LDS helpers that
// global and buffer instructions use.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_EXEC_VMEM_H
#define HK_LIB_EMULATOR_EXEC_VMEM_H

#include "../MemoryAccess.h"

namespace hk::emu {

/// Op::info of vector memory: bytes | flags.
enum VmemFlags : uint16_t {
  kVmemSigned = 0x100,
  kVmemLowHalf = 0x200,
  kVmemHighHalf = 0x400
};
inline unsigned vmemHalf(unsigned info) {
  return info & kVmemLowHalf ? 1 : info & kVmemHighHalf ? 2 : 0;
}

struct VmemForm {
  const char *suffix;
  uint16_t info;
};
extern const VmemForm kVmemLoads[], kVmemStores[];

/// Addresses of a global or flat instruction whose vaddr is operand `vaddr`.
void globalAddresses(Wave &w, const Inst &inst, unsigned vaddr,
                     LaneAddresses &at);

/// The lanes of a flat access by aperture; private ones keep their offset in
/// the low word of `global.a`.
struct FlatSplit {
  LaneAddresses global;
  LdsAddresses lds;
  uint64_t scratch = 0;
};
void splitFlat(Wave &w, const Inst &inst, unsigned vaddr, FlatSplit &s);

/// Direct-to-LDS: lane l's bytes go to M0 + offset + l * size. Lanes in `zero`
/// (out of a buffer's range) write zeros.
void loadToLds(Wave &w, const Inst &inst, LaneAddresses &at, uint64_t zero,
               unsigned bytes, bool signExtend);

/// Buffer addresses; lanes out of the descriptor's range are cleared from
/// `at.mask` per word: `inRange[k]` holds the lanes whose word k is inside.
struct BufferAccess {
  LaneAddresses at;
  uint64_t inRange[4];
  uint32_t wordStep; ///< from one word of a lane to the next: 4, or swizzled
};
/// `mayStep` says that the caller heeds wordStep; else more than one word
/// through a swizzled descriptor is reported.
bool bufferAddresses(Wave &w, const Inst &inst, unsigned vaddr, unsigned bytes,
                     BufferAccess &access, bool mayStep = false);

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_EXEC_VMEM_H
