//===- HipIpc.cpp - Memory of the HIP shim that processes share -----------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory with a handle is that of a file without a name, which another process
// finds as long as this one has it open.
//
//===----------------------------------------------------------------------===//

#include "Hip.h"
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

using namespace hk::emu;

struct hipIpcMemHandle_t {
  char reserved[64];
};

namespace {

/// What a handle holds.
struct Handle {
  uint64_t mark, size;
  int process, file;
};
constexpr uint64_t kMark = 0x686b656d75697063;
static_assert(sizeof(Handle) <= sizeof(hipIpcMemHandle_t));

/// This process' own ones, by address; guarded by the device's mutex.
std::map<void *, Handle> &exported() {
  static std::map<void *, Handle> list;
  return list;
}

hipError_t map(void **p, uint64_t size, int file, const char *label) {
  HipDevice &device = HipDevice::get();
  uint64_t address = device.memory.allocateShared(size, label, file);
  if (!address)
    return hipErrorOutOfMemory;
  *p = reinterpret_cast<void *>(address);
  return hipSuccess;
}

hipError_t allocate(void **p, size_t size) {
  if (!p || !size)
    return hipErrorInvalidValue;
  HipDevice &device = HipDevice::get();
  if (!device.chip)
    return hipErrorNoDevice;
  std::lock_guard<std::mutex> lock(device.mutex);
  int file = memfd_create("hk_emu", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, off_t(size)) ||
      map(p, size, file, "hipExtMallocWithFlags")) {
    if (file >= 0)
      close(file);
    return hipErrorOutOfMemory;
  }
  exported()[*p] = {kMark, size, getpid(), file};
  return hipSuccess;
}

hipError_t open(void **p, const hipIpcMemHandle_t &given) {
  Handle handle;
  std::memcpy(&handle, &given, sizeof(handle));
  if (!p || handle.mark != kMark || handle.process == getpid())
    return hipErrorInvalidValue;
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%d/fd/%d", handle.process,
                handle.file);
  int file = ::open(path, O_RDWR | O_CLOEXEC);
  if (file < 0)
    return hipErrorInvalidHandle;
  HipDevice &device = HipDevice::get();
  std::lock_guard<std::mutex> lock(device.mutex);
  hipError_t error = map(p, handle.size, file, "hipIpcOpenMemHandle");
  close(file);
  if (!error)
    device.memory.setDefined(uint64_t(*p), handle.size);
  return error;
}

} // namespace

void hk::emu::forgetExported(void *p) {
  auto it = exported().find(p);
  if (it == exported().end())
    return;
  close(it->second.file);
  exported().erase(it);
}

HK_HIP_API hipError_t hipExtMallocWithFlags(void **p, size_t size, unsigned) {
  return setLastError(allocate(p, size));
}

HK_HIP_API hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t *handle, void *p) {
  HipDevice &device = HipDevice::get();
  std::lock_guard<std::mutex> lock(device.mutex);
  auto it = exported().find(p);
  if (!handle || it == exported().end())
    return setLastError(hipErrorInvalidValue);
  std::memset(handle, 0, sizeof(*handle));
  std::memcpy(handle, &it->second, sizeof(Handle));
  return setLastError(hipSuccess);
}

HK_HIP_API hipError_t hipIpcOpenMemHandle(void **p, hipIpcMemHandle_t handle,
                                          unsigned) {
  return setLastError(open(p, handle));
}

HK_HIP_API hipError_t hipIpcCloseMemHandle(void *p) {
  HipDevice &device = HipDevice::get();
  std::lock_guard<std::mutex> lock(device.mutex);
  return setLastError(
      device.memory.release(uint64_t(p)) ? hipSuccess : hipErrorInvalidValue);
}
