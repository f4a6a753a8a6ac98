//===- Device.h - What the runtime needs from a device -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface that the host, HIP and CUDA devices implement: memory, copies,
// kernels, launches and timing. All of it may be called from many threads at
// once. A launch neither allocates nor synchronises.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_DEVICE_DEVICE_H
#define HK_RUNTIME_DEVICE_DEVICE_H

#include "base/Status.h"
#include "hk/Runtime/ModuleAbi.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace hk {

class FencedMemory;

/// One variant of one kernel, ready to be launched on a device.
class LoadedKernel {
public:
  virtual ~LoadedKernel();
};

/// In microseconds, `begin` since the first launch of the timer.
struct LaunchTime {
  double begin = 0, duration = 0;
};

/// Measures launches. start() and stop() surround each one; collect() waits for
/// all of them and appends their times.
class LaunchTimer {
public:
  virtual ~LaunchTimer();
  virtual Status start(void *stream) = 0;
  virtual Status stop(void *stream) = 0;
  virtual Status collect(std::vector<LaunchTime> &times) = 0;
};

/// `rows` rows of `rowBytes` bytes, which begin a pitch apart.
struct RowCopy {
  void *to = nullptr;
  const void *from = nullptr;
  uint64_t toPitch = 0, fromPitch = 0, rowBytes = 0, rows = 0;
};

/// What another process needs to map memory of this one: the driver's handle.
struct SharedHandle {
  char bytes[64];
};

/// What a stream is doing.
enum class StreamState { Idle, Busy, Capturing };

class Device {
public:
  virtual ~Device();

  /// Name of the chip in the contract's target table.
  const std::string &target() const { return targetName; }
  const std::string &description() const { return descriptionText; }
  DLDevice dlDevice() const { return dlpackDevice; }
  /// Largest grid the device launches, per dimension.
  const uint32_t *maxGrid() const { return gridLimit; }
  /// Blocks of a compute unit each that are under way at once; 0: not known.
  uint32_t computeUnits() const { return unitCount; }
  /// Kernels run in the caller's address space.
  bool isHost() const { return dlpackDevice.device_type == kDLCPU; }

  /// 256-byte aligned; never NULL on success, not even for 0 bytes.
  Status allocate(uint64_t bytes, void **data);
  void deallocate(void *data);
  Status synchronize();
  /// Waits for everything launched; leaves the fences alone.
  virtual Status waitIdle() = 0;
  /// With debug memory: an error if a fence around an allocation was
  /// overwritten. Reads device memory, so on a GPU synchronize() calls it.
  Status checkFences();
  bool hasDebugMemory() const { return fenced != nullptr; }

  virtual Status upload(void *to, const void *from, uint64_t bytes) = 0;
  virtual Status download(void *to, const void *from, uint64_t bytes) = 0;

  virtual Status loadKernel(const hk_kernel_abi &kernel,
                            const hk_variant_abi &variant,
                            std::unique_ptr<LoadedKernel> &loaded) = 0;
  virtual Status launch(const LoadedKernel &kernel, const uint64_t *words,
                        const uint32_t *grid, void *stream) = 0;
  virtual std::unique_ptr<LaunchTimer> createTimer() = 0;

  /// Within device memory, in the order of the stream.
  virtual Status copyRows(const RowCopy &copy, void *stream) = 0;
  virtual Status storeWords(void *to, uint32_t value, uint64_t count,
                            void *stream) = 0;
  virtual Status query(void *stream, StreamState &state) = 0;

  /// Memory that processes with another device of this machine can map.
  virtual Status allocateShared(uint64_t bytes, void **data,
                                SharedHandle &handle);
  virtual void freeShared(void *data) { (void)data; }
  /// Maps what another process has allocated.
  virtual Status openShared(const SharedHandle &handle, void **data);
  virtual void closeShared(void *data) { (void)data; }
  /// A word of the host's memory that kernels can read, 0 at first.
  virtual Status allocateHostWord(uint32_t **word);
  virtual void freeHostWord(uint32_t *word) { (void)word; }
  /// `call()` with the device current, for libraries that ask the driver for
  /// it.
  virtual Status runWithin(const std::function<Status()> &call) = 0;

protected:
  Device();
  /// Poison and fence every allocation from now on.
  void enableDebugMemory();

  virtual Status allocateRaw(uint64_t bytes, void **data) = 0;
  virtual Status freeRaw(void *data) = 0;

  std::string targetName, descriptionText;
  DLDevice dlpackDevice{kDLCPU, 0};
  uint32_t unitCount = 0;
  uint32_t gridLimit[3] = {UINT32_MAX, UINT32_MAX, UINT32_MAX};

private:
  friend class FencedMemory;
  std::unique_ptr<FencedMemory> fenced;
};

/// What hk_device_options says, with the environment's defaults filled in.
struct DeviceOptions {
  uint32_t numThreads = 0;
  uint64_t shuffleSeed = 0;
  bool debugMemory = false;
};

Status createHostDevice(const DeviceOptions &options,
                        std::unique_ptr<Device> &device);
Status createHipDevice(int ordinal, const DeviceOptions &options,
                       std::unique_ptr<Device> &device);
Status createCudaDevice(int ordinal, const DeviceOptions &options,
                        std::unique_ptr<Device> &device);

} // namespace hk

#endif // HK_RUNTIME_DEVICE_DEVICE_H
