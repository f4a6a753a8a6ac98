//===- Hip.h - HIP types and the emulated device ----------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of HIP's public C interface that the shim exports, with the values
// of ROCm 6, and the state behind it.
//
//===----------------------------------------------------------------------===//
#ifndef HK_TOOLS_HK_EMU_HIP_H
#define HK_TOOLS_HK_EMU_HIP_H

#include "CodeObject.h"
#include "Launch.h"
#include "Memory.h"
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#define HK_HIP_API extern "C" __attribute__((visibility("default")))

using hipError_t = int;
enum : hipError_t {
  hipSuccess = 0,
  hipErrorInvalidValue = 1,
  hipErrorOutOfMemory = 2,
  hipErrorNotInitialized = 3,
  hipErrorInvalidDevicePointer = 17,
  hipErrorInvalidDevice = 101,
  hipErrorNoDevice = 100,
  hipErrorInvalidImage = 200,
  hipErrorNoBinaryForGpu = 209,
  hipErrorFileNotFound = 301,
  hipErrorInvalidHandle = 400,
  hipErrorNotFound = 500,
  hipErrorLaunchFailure = 719,
  hipErrorNotSupported = 801,
  hipErrorStreamCaptureUnsupported = 900,
  hipErrorIllegalState = 401
};

enum : int { hipLimitStackSize = 0 };

enum hipMemcpyKind : int {
  hipMemcpyHostToHost,
  hipMemcpyHostToDevice,
  hipMemcpyDeviceToHost,
  hipMemcpyDeviceToDevice,
  hipMemcpyDefault
};

/// hipDeviceProp_tR0600: the fields that have a meaning here, at their offsets
/// in ROCm 6's struct.
struct hipDeviceProp_tR0600 {
  char name[256];
  char identity[32];
  size_t totalGlobalMem;
  size_t sharedMemPerBlock;
  int regsPerBlock;
  int warpSize;
  size_t memPitch;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int clockRate;
  size_t totalConstMem;
  int major;
  int minor;
  size_t textureAlignment[2];
  int deviceOverlap;
  int multiProcessorCount;
  char limits[232];
  int maxThreadsPerMultiProcessor;
  char caches[12];
  size_t sharedMemPerMultiprocessor;
  char managed[48];
  size_t sharedMemPerBlockOptin;
  char rest[456];
  char gcnArchName[256];
  size_t maxSharedMemoryPerMultiProcessor;
  int clockInstructionRate;
  char tail[44];
};
static_assert(offsetof(hipDeviceProp_tR0600, multiProcessorCount) == 388);
static_assert(offsetof(hipDeviceProp_tR0600, maxThreadsPerMultiProcessor) ==
              624);
static_assert(offsetof(hipDeviceProp_tR0600, sharedMemPerMultiprocessor) ==
              640);
static_assert(offsetof(hipDeviceProp_tR0600, sharedMemPerBlockOptin) == 696);
static_assert(offsetof(hipDeviceProp_tR0600, gcnArchName) == 1160);
static_assert(sizeof(hipDeviceProp_tR0600) == 1472);

/// hipDeviceProp_tR0000, the layout of ROCm 5 and before.
struct hipDeviceProp_tR0000 {
  char name[256];
  size_t totalGlobalMem;
  size_t sharedMemPerBlock;
  int regsPerBlock;
  int warpSize;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int clockRate;
  int memoryClockRate;
  int memoryBusWidth;
  size_t totalConstMem;
  int major;
  int minor;
  int multiProcessorCount;
  int l2CacheSize;
  int maxThreadsPerMultiProcessor;
  int computeMode;
  int clockInstructionRate;
  unsigned arch;
  int concurrentKernels;
  int pci[3];
  size_t maxSharedMemoryPerMultiProcessor;
  int isMultiGpuBoard;
  int canMapHostMemory;
  int gcnArch;
  char gcnArchName[256];
  char tail[160];
};

namespace hk::emu {

struct HipModule;
struct HipFunction {
  HipModule *module = nullptr;
  const Kernel *kernel = nullptr;
};
struct HipModule {
  std::unique_ptr<CodeObject> object;
  std::vector<std::unique_ptr<HipFunction>> functions;
};
/// Work in the order in which it was captured.
struct HipGraph {
  std::vector<std::function<hipError_t()>> steps;
};
struct HipStream {
  std::unique_ptr<HipGraph> captured; ///< while the stream is captured
};
struct HipEvent {
  std::chrono::steady_clock::time_point time;
  bool recorded = false;
};

/// The one emulated device of the process.
class HipDevice {
public:
  static HipDevice &get();

  const Chip *chip = nullptr; ///< null: HK_EMU_CHIP names no known chip
  Memory memory;
  Options options;
  /// Launches and copies are done one at a time, in call order.
  std::mutex mutex;

  hipError_t load(const void *data, size_t size, HipModule *&module);
  hipError_t launch(HipFunction &function, const LaunchConfig &config);

private:
  HipDevice();
  std::string reportPath, countersPath, timesPath, timingPath;
  bool sampleOnly = false; ///< run only what the timing model traces

  LaunchResult launchCounted(const CodeObject &object, const Kernel &kernel,
                             const LaunchConfig &config, std::string &timing);
};

/// Does the work, or keeps it where the stream is captured.
hipError_t enqueue(HipStream *stream, std::function<hipError_t()> work);
/// Waiting for a stream that is captured is an error.
hipError_t waitable(const HipStream *stream);

/// That memory at `p` is freed, which may have a handle; the device's mutex is
/// held.
void forgetExported(void *p);

/// Keeps the last error of the thread and passes it on.
hipError_t setLastError(hipError_t error);

} // namespace hk::emu

#endif // HK_TOOLS_HK_EMU_HIP_H
