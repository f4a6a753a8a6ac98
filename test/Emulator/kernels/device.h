//===- device.h - Builtins for the emulator's test kernels ------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What test kernels need of HIP, without its headers.
//
//===----------------------------------------------------------------------===//
#ifndef HK_TEST_EMULATOR_KERNELS_DEVICE_H
#define HK_TEST_EMULATOR_KERNELS_DEVICE_H

#define KERNEL extern "C" __attribute__((global))
#define DEVICE __attribute__((device))
#define SHARED __attribute__((shared))

DEVICE inline int tid() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE inline int wg() { return __builtin_amdgcn_workgroup_id_x(); }
DEVICE inline void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

#ifndef BAD
#define BAD 0
#endif

#endif // HK_TEST_EMULATOR_KERNELS_DEVICE_H
