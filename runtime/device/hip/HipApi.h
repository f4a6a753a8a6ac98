//===- HipApi.h - The part of HIP that the runtime uses -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Own declarations of the few HIP functions needed, so that hk builds without
// ROCm and runs with releases 5 to 7, whose headers differ but whose entry
// points do not. Values are those of HIP's C interface.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_DEVICE_HIP_HIPAPI_H
#define HK_RUNTIME_DEVICE_HIP_HIPAPI_H

#include "device/DynamicLibrary.h"

#include <cstddef>
#include <cstdint>

namespace hk {

/// hipError_t; named values are those the runtime tells apart.
enum class HipError : int {
  Success = 0,
  OutOfMemory = 2,
  NotInitialized = 3,
  InsufficientDriver = 35,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidImage = 200,
  NoBinaryForGpu = 209,
  InvalidKernelFile = 218,
  NotFound = 500,
  NotReady = 600,
};

enum class HipCopy : int {
  HostToDevice = 1,
  DeviceToHost = 2,
  DeviceToDevice = 3
};

/// hipStreamCaptureStatus; any other value is a capture, too.
enum class HipCapture : int { None = 0 };
/// hipStreamCaptureMode: which calls of this thread end a capture.
enum class HipCaptureMode : int { Relaxed = 2 };

using HipHandle = void *;

/// hipIpcMemHandle_t, and the flags of functions that hk uses.
struct HipIpcHandle {
  char bytes[64];
};
inline constexpr unsigned kHipLazyPeerAccess = 1;
inline constexpr unsigned kHipUncached = 3; // hipDeviceMallocUncached
inline constexpr unsigned kHipPortable = 1, kHipMapped = 2;

// name, parameters; all return hipError_t.
#define HK_HIP_REQUIRED(X)                                                     \
  X(hipGetDeviceCount, (int *))                                                \
  X(hipGetDevice, (int *))                                                     \
  X(hipSetDevice, (int))                                                       \
  X(hipDeviceSynchronize, ())                                                  \
  X(hipMalloc, (void **, size_t))                                              \
  X(hipFree, (void *))                                                         \
  X(hipMemcpy, (void *, const void *, size_t, HipCopy))                        \
  X(hipMemcpy2DAsync, (void *, size_t, const void *, size_t, size_t, size_t,   \
                       HipCopy, HipHandle))                                    \
  X(hipMemsetD32Async, (void *, int, size_t, HipHandle))                       \
  X(hipStreamQuery, (HipHandle))                                               \
  X(hipStreamIsCapturing, (HipHandle, HipCapture *))                           \
  X(hipThreadExchangeStreamCaptureMode, (HipCaptureMode *))                    \
  X(hipModuleLoadData, (HipHandle *, const void *))                            \
  X(hipModuleUnload, (HipHandle))                                              \
  X(hipModuleGetFunction, (HipHandle *, HipHandle, const char *))              \
  X(hipModuleLaunchKernel,                                                     \
    (HipHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,    \
     unsigned, HipHandle, void **, void **))                                   \
  X(hipEventCreate, (HipHandle *))                                             \
  X(hipEventDestroy, (HipHandle))                                              \
  X(hipEventRecord, (HipHandle, HipHandle))                                    \
  X(hipEventSynchronize, (HipHandle))                                          \
  X(hipEventElapsedTime, (float *, HipHandle, HipHandle))

// The same; the runtime does without when they are missing. Of the two property
// functions one must be there: the first has the layout of ROCm 6 and later,
// the second that of ROCm 5.
#define HK_HIP_OPTIONAL(X)                                                     \
  X(hipInit, (unsigned))                                                       \
  X(hipExtMallocWithFlags, (void **, size_t, unsigned))                        \
  X(hipIpcGetMemHandle, (HipIpcHandle *, void *))                              \
  X(hipIpcOpenMemHandle, (void **, HipIpcHandle, unsigned))                    \
  X(hipIpcCloseMemHandle, (void *))                                            \
  X(hipHostMalloc, (void **, size_t, unsigned))                                \
  X(hipHostFree, (void *))                                                     \
  X(hipGetDevicePropertiesR0600, (void *, int))                                \
  X(hipGetDeviceProperties, (void *, int))

// Launch arguments given as one block of memory.
enum class HipLaunchParam : uintptr_t {
  BufferPointer = 1,
  BufferSize = 2,
  End = 3
};

struct HipApi {
#define HK_DECLARE(name, parameters) HipError(*name) parameters = nullptr;
  HK_HIP_REQUIRED(HK_DECLARE)
  HK_HIP_OPTIONAL(HK_DECLARE)
#undef HK_DECLARE
  const char *(*hipGetErrorString)(HipError) = nullptr;
  const char *(*hipGetErrorName)(HipError) = nullptr;

  DynamicLibrary library;

  Status load();
  /// The error for a result of `call`, with HIP's own text.
  Status check(HipError result, const char *call) const;
  /// The chip ("gfx942") and the name of a device.
  Status describe(int ordinal, std::string &chip, std::string &name) const;
};

} // namespace hk

#endif // HK_RUNTIME_DEVICE_HIP_HIPAPI_H
