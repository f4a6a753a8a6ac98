//===- AtomicOps.h - Read-modify-write operations ---------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations that LDS, global, flat and buffer atomics share, by name.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_ATOMICOPS_H
#define HK_LIB_EMULATOR_ATOMICOPS_H

#include <cstdint>
#include <string>
#include <vector>

namespace hk::emu {

struct AtomicOp {
  std::string name;  ///< as in global_atomic_<name>
  std::string ds;    ///< as in ds_<name>, empty if there is none
  std::string dsRtn; ///< as in ds_<name> with a result
  unsigned bytes;    ///< 4 or 8
  bool compare;      ///< takes a second operand
  uint64_t (*apply)(uint64_t old, uint64_t source, uint64_t compare);
  bool isInteger = false; ///< has a scalar form
};

const std::vector<AtomicOp> &atomicOps();

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_ATOMICOPS_H
