//===- Device.cpp - Behaviour common to all devices -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Routes allocations through the debug memory when it is on.
//
//===----------------------------------------------------------------------===//

#include "device/Device.h"

#include "device/FencedMemory.h"

#include <cstdio>

using namespace hk;

LoadedKernel::~LoadedKernel() = default;
LaunchTimer::~LaunchTimer() = default;
Device::Device() = default;
Device::~Device() = default;

void Device::enableDebugMemory() {
  fenced = std::make_unique<FencedMemory>(*this);
}

Status Device::allocate(uint64_t bytes, void **data) {
  if (fenced)
    return fenced->allocate(bytes, data);
  return allocateRaw(bytes ? bytes : 1, data);
}

void Device::deallocate(void *data) {
  if (!data)
    return;
  Status error = fenced ? fenced->deallocate(data) : freeRaw(data);
  // hk_device_free has no result to carry the error.
  if (error)
    std::fprintf(stderr, "hk: freeing device memory: %s\n", error.message());
}

Status Device::synchronize() {
  if (Status error = waitIdle())
    return error;
  return checkFences();
}

Status Device::checkFences() { return fenced ? fenced->check() : Status(); }

static Status refuseShared(const std::string &device) {
  return makeError(HK_UNAVAILABLE, "'%s' has no memory that ranks share",
                   device.c_str());
}
Status Device::allocateShared(uint64_t, void **, SharedHandle &) {
  return refuseShared(descriptionText);
}
Status Device::openShared(const SharedHandle &, void **) {
  return refuseShared(descriptionText);
}
Status Device::allocateHostWord(uint32_t **) {
  return refuseShared(descriptionText);
}
