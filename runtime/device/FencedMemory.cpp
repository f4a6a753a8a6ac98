//===- FencedMemory.cpp - Debug memory of a device -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fences are compared on the host, through the device's own copies.
//
//===----------------------------------------------------------------------===//

#include "device/FencedMemory.h"

#include "device/Device.h"

#include <algorithm>
#include <cinttypes>
#include <vector>

using namespace hk;

Status FencedMemory::allocate(uint64_t bytes, void **data) {
  uint64_t padded;
  // The rear fence begins right behind the data, so the sum is not rounded up.
  if (__builtin_add_overflow(bytes, 2 * kFenceBytes, &padded))
    return makeError(HK_OUT_OF_MEMORY,
                     "cannot allocate %" PRIu64 " bytes: the size overflows",
                     bytes);
  void *raw = nullptr;
  if (Status error = device.allocateRaw(padded, &raw))
    return error;
  char *base = static_cast<char *>(raw);
  std::vector<uint8_t> chunk(
      std::min<uint64_t>(std::max(bytes, kFenceBytes), 1 << 20), kFenceByte);
  Status error = device.upload(base, chunk.data(), kFenceBytes);
  if (!error)
    error =
        device.upload(base + kFenceBytes + bytes, chunk.data(), kFenceBytes);
  std::fill(chunk.begin(), chunk.end(), kPoisonByte);
  for (uint64_t at = 0; !error && at < bytes; at += chunk.size())
    error = device.upload(base + kFenceBytes + at, chunk.data(),
                          std::min<uint64_t>(chunk.size(), bytes - at));
  if (error) {
    (void)device.freeRaw(raw);
    return error;
  }
  std::lock_guard<std::mutex> lock(mutex);
  live.emplace(base + kFenceBytes, bytes);
  *data = base + kFenceBytes;
  return {};
}

Status FencedMemory::deallocate(void *data) {
  uint64_t bytes;
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto it = live.find(static_cast<char *>(data));
    if (it == live.end())
      return makeError(HK_INVALID_ARGUMENT,
                       "%p was not allocated by this device, or was freed "
                       "already",
                       data);
    bytes = it->second;
    live.erase(it);
  }
  Status damage = checkOne(static_cast<char *>(data), bytes);
  if (damage) {
    std::lock_guard<std::mutex> lock(mutex);
    if (!foundAtFree)
      foundAtFree = addContext(makeError(damage.code(), "%s", damage.message()),
                               "found at free");
  }
  if (Status error = device.freeRaw(static_cast<char *>(data) - kFenceBytes))
    return error;
  return damage;
}

Status FencedMemory::check() {
  std::lock_guard<std::mutex> lock(mutex);
  if (foundAtFree)
    return std::move(foundAtFree);
  for (const auto &[data, bytes] : live)
    if (Status error = checkOne(data, bytes))
      return error;
  return {};
}

Status FencedMemory::checkOne(const char *data, uint64_t bytes) {
  if (Status error = checkFence(data - kFenceBytes, data, bytes, "in front of"))
    return error;
  return checkFence(data + bytes, data, bytes, "behind");
}

Status FencedMemory::checkFence(const char *fence, const char *data,
                                uint64_t bytes, const char *where) {
  uint8_t copy[kFenceBytes];
  if (Status error = device.download(copy, fence, kFenceBytes))
    return error;
  for (uint64_t i = 0; i < kFenceBytes; ++i)
    if (copy[i] != kFenceByte)
      return makeError(
          HK_DEVICE_ERROR,
          "memory was written %s the allocation of %" PRIu64
          " bytes at %p: byte offset %" PRId64 " is 0x%02x, expected 0x%02x",
          where, bytes, static_cast<const void *>(data),
          static_cast<int64_t>(fence - data) + static_cast<int64_t>(i), copy[i],
          kFenceByte);
  return {};
}
