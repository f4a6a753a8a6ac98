//===- FencedMemory.h - Debug memory of a device -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every allocation is filled with 0xFF, which is a NaN in f32, bf16, f16, fp8
// e4m3fn, e5m2 and e8m0 and -1 in integers, so that reading memory nobody wrote
// shows; and it stands between two fences, so that a write just outside it is
// found when it is freed and whenever the device is synchronised.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_DEVICE_FENCEDMEMORY_H
#define HK_RUNTIME_DEVICE_FENCEDMEMORY_H

#include "base/Status.h"

#include <map>
#include <mutex>

namespace hk {

class Device;

inline constexpr uint8_t kPoisonByte = 0xFF;
inline constexpr uint8_t kFenceByte = 0xA5;
/// Keeps the 256-byte alignment of the data between the fences.
inline constexpr uint64_t kFenceBytes = 256;

class FencedMemory {
public:
  explicit FencedMemory(Device &device) : device(device) {}

  Status allocate(uint64_t bytes, void **data);
  Status deallocate(void *data);
  /// Checks every live allocation, and reports once what deallocate() found.
  Status check();

private:
  Status checkOne(const char *data, uint64_t bytes);
  Status checkFence(const char *fence, const char *data, uint64_t bytes,
                    const char *where);

  Device &device;
  std::mutex mutex;
  std::map<char *, uint64_t> live; // data -> bytes
  Status foundAtFree;
};

} // namespace hk

#endif // HK_RUNTIME_DEVICE_FENCEDMEMORY_H
