//===- HipMemory.cpp - Memory of the HIP shim -----------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Allocation, copies and fills. A copy carries the definedness of its source.
//
//===----------------------------------------------------------------------===//

#include "Hip.h"
#include <cstring>

using namespace hk::emu;

namespace {

bool isDevice(const Memory &memory, const void *p) {
  return memory.owner(uint64_t(p)) != nullptr;
}

/// Device memory to device memory, with its shadow.
void copyDefined(Memory &memory, uint64_t dst, uint64_t src, size_t size) {
  if (((dst | src) & 3) == 0) {
    std::memmove(memory.defined(dst), memory.defined(src), size / 4);
    size_t tail = size & ~size_t(3);
    dst += tail;
    src += tail;
    size -= tail;
  }
  for (size_t i = 0; i < size; ++i)
    memory.setDefined(dst + i, 1,
                      *memory.defined(src + i) >> ((src + i) & 3) & 1);
}

hipError_t copy(void *dst, const void *src, size_t size) {
  HipDevice &device = HipDevice::get();
  std::lock_guard<std::mutex> lock(device.mutex);
  if (!size)
    return hipSuccess;
  if (!dst || !src)
    return hipErrorInvalidValue;
  Memory &memory = device.memory;
  bool toDevice = isDevice(memory, dst), fromDevice = isDevice(memory, src);
  if ((toDevice && !memory.contains(uint64_t(dst), size)) ||
      (fromDevice && !memory.contains(uint64_t(src), size)))
    return hipErrorInvalidValue;
  std::memmove(dst, src, size);
  if (toDevice && fromDevice)
    copyDefined(memory, uint64_t(dst), uint64_t(src), size);
  else if (toDevice)
    memory.setDefined(uint64_t(dst), size);
  return hipSuccess;
}

hipError_t allocate(void **p, size_t size, const char *label, bool defined) {
  if (!p)
    return hipErrorInvalidValue;
  *p = nullptr;
  HipDevice &device = HipDevice::get();
  if (!device.chip)
    return hipErrorNoDevice;
  if (!size)
    return hipSuccess;
  std::lock_guard<std::mutex> lock(device.mutex);
  uint64_t address = device.memory.allocate(size, label);
  if (!address)
    return hipErrorOutOfMemory;
  if (defined)
    device.memory.setDefined(address, size);
  *p = reinterpret_cast<void *>(address);
  return hipSuccess;
}

hipError_t release(void *p) {
  if (!p)
    return hipSuccess;
  HipDevice &device = HipDevice::get();
  std::lock_guard<std::mutex> lock(device.mutex);
  forgetExported(p);
  return device.memory.release(uint64_t(p)) ? hipSuccess : hipErrorInvalidValue;
}

template <class T> hipError_t fill(void *dst, T value, size_t count) {
  HipDevice &device = HipDevice::get();
  std::lock_guard<std::mutex> lock(device.mutex);
  size_t size = count * sizeof(T);
  if (!size)
    return hipSuccess;
  if (!device.memory.contains(uint64_t(dst), size))
    return hipErrorInvalidValue;
  if (sizeof(T) == 1)
    std::memset(dst, int(value), size);
  else
    for (size_t i = 0; i < count; ++i)
      std::memcpy(static_cast<char *>(dst) + i * sizeof(T), &value, sizeof(T));
  device.memory.setDefined(uint64_t(dst), size);
  return hipSuccess;
}

} // namespace

HK_HIP_API hipError_t hipMalloc(void **p, size_t size) {
  return setLastError(allocate(p, size, "hipMalloc", false));
}
HK_HIP_API hipError_t hipMallocAsync(void **p, size_t size, void *) {
  return hipMalloc(p, size);
}
HK_HIP_API hipError_t hipFree(void *p) { return setLastError(release(p)); }
HK_HIP_API hipError_t hipFreeAsync(void *p, void *) { return hipFree(p); }

HK_HIP_API hipError_t hipHostMalloc(void **p, size_t size, unsigned) {
  return setLastError(allocate(p, size, "hipHostMalloc", true));
}
HK_HIP_API hipError_t hipHostFree(void *p) { return setLastError(release(p)); }

HK_HIP_API hipError_t hipMemGetInfo(size_t *free, size_t *total) {
  HipDevice &device = HipDevice::get();
  if (!free || !total || !device.chip)
    return setLastError(hipErrorInvalidValue);
  *total = device.chip->memoryBytes;
  *free = *total - device.memory.bytesInUse();
  return hipSuccess;
}

HK_HIP_API hipError_t hipMemcpy(void *dst, const void *src, size_t size,
                                hipMemcpyKind) {
  return setLastError(copy(dst, src, size));
}
HK_HIP_API hipError_t hipMemcpyAsync(void *dst, const void *src, size_t size,
                                     hipMemcpyKind, HipStream *stream) {
  return setLastError(enqueue(stream, [=] { return copy(dst, src, size); }));
}
HK_HIP_API hipError_t hipMemcpyHtoD(void *dst, const void *src, size_t size) {
  return setLastError(copy(dst, src, size));
}
HK_HIP_API hipError_t hipMemcpyDtoH(void *dst, const void *src, size_t size) {
  return setLastError(copy(dst, src, size));
}
HK_HIP_API hipError_t hipMemcpyDtoD(void *dst, const void *src, size_t size) {
  return setLastError(copy(dst, src, size));
}

static hipError_t copyRows(void *dst, size_t dstPitch, const void *src,
                           size_t srcPitch, size_t width, size_t height) {
  for (size_t row = 0; row < height; ++row)
    if (hipError_t error =
            copy(static_cast<char *>(dst) + row * dstPitch,
                 static_cast<const char *>(src) + row * srcPitch, width))
      return error;
  return hipSuccess;
}

HK_HIP_API hipError_t hipMemcpy2DAsync(void *dst, size_t dstPitch,
                                       const void *src, size_t srcPitch,
                                       size_t width, size_t height,
                                       hipMemcpyKind, HipStream *stream) {
  if (width > dstPitch || width > srcPitch)
    return setLastError(hipErrorInvalidValue);
  return setLastError(enqueue(stream, [=] {
    return copyRows(dst, dstPitch, src, srcPitch, width, height);
  }));
}

HK_HIP_API hipError_t hipMemset(void *dst, int value, size_t size) {
  return setLastError(fill(dst, uint8_t(value), size));
}
HK_HIP_API hipError_t hipMemsetAsync(void *dst, int value, size_t size,
                                     HipStream *stream) {
  return setLastError(
      enqueue(stream, [=] { return fill(dst, uint8_t(value), size); }));
}
HK_HIP_API hipError_t hipMemsetD8(void *dst, unsigned char value,
                                  size_t count) {
  return setLastError(fill(dst, value, count));
}
HK_HIP_API hipError_t hipMemsetD16(void *dst, unsigned short value,
                                   size_t count) {
  return setLastError(fill(dst, value, count));
}
HK_HIP_API hipError_t hipMemsetD32(void *dst, int value, size_t count) {
  return setLastError(fill(dst, value, count));
}
HK_HIP_API hipError_t hipMemsetD32Async(void *dst, int value, size_t count,
                                        HipStream *stream) {
  return setLastError(enqueue(stream, [=] { return fill(dst, value, count); }));
}
