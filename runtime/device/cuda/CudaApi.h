//===- CudaApi.h - The part of the CUDA driver that the runtime uses ------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Own declarations of the few driver functions needed, so that hk builds
// without the CUDA toolkit. Values are those of the driver's C interface.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_DEVICE_CUDA_CUDAAPI_H
#define HK_RUNTIME_DEVICE_CUDA_CUDAAPI_H

#include "device/DynamicLibrary.h"

#include <cstddef>
#include <cstdint>

namespace hk {

/// CUresult; named values are those the runtime tells apart.
enum class CudaError : int {
  Success = 0,
  OutOfMemory = 2,
  NotInitialized = 3,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidImage = 200,
  NoBinaryForGpu = 209,
  InvalidPtx = 218,
  UnsupportedPtxVersion = 222,
  NotFound = 500,
  NotReady = 600,
};

/// CUdevice_attribute.
enum class CudaAttribute : int {
  ComputeUnits = 16,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
};

/// CUfunction_attribute.
enum class CudaFunctionAttribute : int {
  MaxDynamicSharedBytes = 8,
  PreferredSharedMemoryCarveout = 9
};

/// CUjit_option.
enum class CudaJitOption : int {
  InfoLogBuffer = 3,
  InfoLogBufferBytes = 4,
  ErrorLogBuffer = 5,
  ErrorLogBufferBytes = 6,
};

using CudaHandle = void *;
/// CUdeviceptr.
using CudaPointer = unsigned long long;

/// CUlaunchAttributeID.
enum class CudaLaunchAttributeId : unsigned {
  /// Whether blocks may start before the kernel before has ended.
  ProgrammaticStreamSerialization = 6
};

/// CUlaunchAttribute; of its values, a union of 64 bytes, only numbers.
struct CudaLaunchAttribute {
  CudaLaunchAttributeId id;
  alignas(8) int value;
  char unused[60];
};
static_assert(sizeof(CudaLaunchAttribute) == 72);

/// CUlaunchConfig.
struct CudaLaunchConfig {
  unsigned grid[3], block[3];
  unsigned sharedBytes;
  CudaHandle stream;
  CudaLaunchAttribute *attributes;
  unsigned numAttributes;
};

/// CUtensorMapDataType, ...Interleave, ...Swizzle, ...L2promotion and
/// ...FloatOOBfill: what hk uses of them.
enum class CudaTensorMapType : int { UInt8 = 0, UInt16 = 1, UInt32 = 2 };
enum class CudaTensorMapInterleave : int { None = 0 };
enum class CudaTensorMapSwizzle : int { Bytes128 = 3 };
enum class CudaTensorMapPromotion : int { Bytes128 = 2 };
enum class CudaTensorMapFill : int { Zero = 0 };

/// CUmemorytype.
enum class CudaMemoryType : int { None = 0, Device = 2 };

/// One side of CUDA_MEMCPY2D, and the whole; the driver's order of fields.
struct CudaCopySide {
  size_t xBytes, y;
  CudaMemoryType type;
  const void *host;
  CudaPointer device;
  CudaHandle array;
  size_t pitch;
};
struct CudaCopy2D {
  CudaCopySide from, to;
  size_t rowBytes, rows;
};
static_assert(sizeof(CudaCopy2D) == 128);

/// CUipcMemHandle, and the flags of functions that hk uses.
struct CudaIpcHandle {
  char bytes[64];
};
inline constexpr unsigned kCudaLazyPeerAccess = 1;
inline constexpr unsigned kCudaPortable = 1, kCudaMapped = 2;

/// CUstreamCaptureStatus; any other value is a capture, too.
enum class CudaCapture : int { None = 0 };
/// CUstreamCaptureMode: which calls of this thread end a capture.
enum class CudaCaptureMode : int { Relaxed = 2 };

// field, exported symbol, parameters; all return CUresult.
#define HK_CUDA_FUNCTIONS(X)                                                   \
  X(cuInit, "cuInit", (unsigned))                                              \
  X(cuDriverGetVersion, "cuDriverGetVersion", (int *))                         \
  X(cuDeviceGetCount, "cuDeviceGetCount", (int *))                             \
  X(cuDeviceGet, "cuDeviceGet", (int *, int))                                  \
  X(cuDeviceGetName, "cuDeviceGetName", (char *, int, int))                    \
  X(cuDeviceGetAttribute, "cuDeviceGetAttribute", (int *, CudaAttribute, int)) \
  X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CudaHandle *, int)) \
  X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (int))          \
  X(cuCtxGetCurrent, "cuCtxGetCurrent", (CudaHandle *))                        \
  X(cuCtxPushCurrent, "cuCtxPushCurrent_v2", (CudaHandle))                     \
  X(cuCtxPopCurrent, "cuCtxPopCurrent_v2", (CudaHandle *))                     \
  X(cuCtxSynchronize, "cuCtxSynchronize", ())                                  \
  X(cuMemAlloc, "cuMemAlloc_v2", (CudaPointer *, size_t))                      \
  X(cuMemFree, "cuMemFree_v2", (CudaPointer))                                  \
  X(cuMemcpyHtoD, "cuMemcpyHtoD_v2", (CudaPointer, const void *, size_t))      \
  X(cuMemcpyDtoH, "cuMemcpyDtoH_v2", (void *, CudaPointer, size_t))            \
  X(cuMemcpy2DAsync, "cuMemcpy2DAsync_v2", (const CudaCopy2D *, CudaHandle))   \
  X(cuMemsetD32Async, "cuMemsetD32Async",                                      \
    (CudaPointer, unsigned, size_t, CudaHandle))                               \
  X(cuMemHostAlloc, "cuMemHostAlloc", (void **, size_t, unsigned))             \
  X(cuMemFreeHost, "cuMemFreeHost", (void *))                                  \
  X(cuIpcGetMemHandle, "cuIpcGetMemHandle", (CudaIpcHandle *, CudaPointer))    \
  X(cuIpcOpenMemHandle, "cuIpcOpenMemHandle_v2",                               \
    (CudaPointer *, CudaIpcHandle, unsigned))                                  \
  X(cuIpcCloseMemHandle, "cuIpcCloseMemHandle", (CudaPointer))                 \
  X(cuStreamQuery, "cuStreamQuery", (CudaHandle))                              \
  X(cuStreamIsCapturing, "cuStreamIsCapturing", (CudaHandle, CudaCapture *))   \
  X(cuThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode",    \
    (CudaCaptureMode *))                                                       \
  X(cuModuleLoadDataEx, "cuModuleLoadDataEx",                                  \
    (CudaHandle *, const void *, unsigned, CudaJitOption *, void **))          \
  X(cuModuleUnload, "cuModuleUnload", (CudaHandle))                            \
  X(cuModuleGetFunction, "cuModuleGetFunction",                                \
    (CudaHandle *, CudaHandle, const char *))                                  \
  X(cuFuncSetAttribute, "cuFuncSetAttribute",                                  \
    (CudaHandle, CudaFunctionAttribute, int))                                  \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor,                               \
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",                             \
    (int *, CudaHandle, int, size_t))                                          \
  X(cuLaunchKernelEx, "cuLaunchKernelEx",                                      \
    (const CudaLaunchConfig *, CudaHandle, void **, void **))                  \
  X(cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled",                          \
    (void *, CudaTensorMapType, uint32_t, void *, const uint64_t *,            \
     const uint64_t *, const uint32_t *, const uint32_t *,                     \
     CudaTensorMapInterleave, CudaTensorMapSwizzle, CudaTensorMapPromotion,    \
     CudaTensorMapFill))                                                       \
  X(cuEventCreate, "cuEventCreate", (CudaHandle *, unsigned))                  \
  X(cuEventDestroy, "cuEventDestroy_v2", (CudaHandle))                         \
  X(cuEventRecord, "cuEventRecord", (CudaHandle, CudaHandle))                  \
  X(cuEventSynchronize, "cuEventSynchronize", (CudaHandle))                    \
  X(cuEventElapsedTime, "cuEventElapsedTime",                                  \
    (float *, CudaHandle, CudaHandle))                                         \
  X(cuGetErrorName, "cuGetErrorName", (CudaError, const char **))              \
  X(cuGetErrorString, "cuGetErrorString", (CudaError, const char **))

struct CudaApi {
#define HK_DECLARE(name, symbol, parameters)                                   \
  CudaError(*name) parameters = nullptr;
  HK_CUDA_FUNCTIONS(HK_DECLARE)
#undef HK_DECLARE

  DynamicLibrary library;

  Status load();
  /// The newest CUDA that the driver serves, as "12.9".
  std::string version() const;
  /// The error for a result of `call`, with the driver's own text.
  Status check(CudaError result, const char *call) const;
};

} // namespace hk

#endif // HK_RUNTIME_DEVICE_CUDA_CUDAAPI_H
