//===- HipDevice.cpp - AMD GPUs through HIP -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels are code objects loaded as HIP modules; their only argument is the
// block of words. The calling thread's current HIP device is left as it was.
//
//===----------------------------------------------------------------------===//

#include "device/EventTimer.h"
#include "device/ModuleCache.h"
#include "device/hip/HipApi.h"

#include <cinttypes>
#include <cstdlib>
#include <cstring>

using namespace hk;

namespace {

constexpr uint64_t kPageBytes = 4096;

#define HK_HIP(api, call, ...) (api).check((api).call(__VA_ARGS__), #call)

/// Makes a device current while it lives.
class CurrentDevice {
public:
  CurrentDevice(const HipApi &api, int ordinal) : api(api) {
    error = HK_HIP(api, hipGetDevice, &previous);
    if (error || previous == ordinal)
      return;
    error = HK_HIP(api, hipSetDevice, ordinal);
    changed = !error;
  }
  CurrentDevice(const CurrentDevice &) = delete;
  ~CurrentDevice() {
    if (changed)
      (void)api.hipSetDevice(previous);
  }
  Status takeError() { return std::move(error); }

private:
  const HipApi &api;
  int previous = 0;
  bool changed = false;
  Status error;
};

/// A code object on the device; kernels that share one share this.
class HipModule {
public:
  HipModule(const HipApi &api, int ordinal) : api(api), ordinal(ordinal) {}
  HipModule(const HipModule &) = delete;
  ~HipModule() {
    CurrentDevice current(api, ordinal);
    if (handle)
      (void)api.hipModuleUnload(handle);
  }
  Status load(const void *code, uint64_t bytes);
  Status find(const char *symbol, HipHandle &function) {
    return HK_HIP(api, hipModuleGetFunction, &function, handle, symbol);
  }

private:
  const HipApi &api;
  int ordinal;
  HipHandle handle = nullptr;
  std::unique_ptr<void, decltype(&std::free)> image{nullptr, &std::free};
};

struct HipKernel : LoadedKernel {
  std::shared_ptr<HipModule> module;
  HipHandle function = nullptr;
  uint32_t threads = 0, ldsDynamic = 0;
  size_t argumentBytes = 0;
  std::string name;
};

class HipDevice : public Device, EventDriver {
public:
  Status initialize(int ordinal, const DeviceOptions &options);

  Status upload(void *to, const void *from, uint64_t bytes) override {
    return copy(to, from, bytes, HipCopy::HostToDevice);
  }
  Status download(void *to, const void *from, uint64_t bytes) override {
    return copy(to, from, bytes, HipCopy::DeviceToHost);
  }
  Status loadKernel(const hk_kernel_abi &kernel, const hk_variant_abi &variant,
                    std::unique_ptr<LoadedKernel> &loaded) override;
  Status launch(const LoadedKernel &kernel, const uint64_t *words,
                const uint32_t *grid, void *stream) override;
  std::unique_ptr<LaunchTimer> createTimer() override {
    EventDriver &driver = *this;
    return std::make_unique<EventTimer>(driver);
  }
  Status waitIdle() override;
  Status copyRows(const RowCopy &copy, void *stream) override {
    return within([&] {
      return HK_HIP(api, hipMemcpy2DAsync, copy.to, copy.toPitch, copy.from,
                    copy.fromPitch, copy.rowBytes, copy.rows,
                    HipCopy::DeviceToDevice, stream);
    });
  }
  Status storeWords(void *to, uint32_t value, uint64_t count,
                    void *stream) override {
    return within([&] {
      return HK_HIP(api, hipMemsetD32Async, to, int(value), count, stream);
    });
  }
  Status allocateShared(uint64_t bytes, void **data,
                        SharedHandle &handle) override;
  void freeShared(void *data) override { (void)freeRaw(data).release(); }
  Status openShared(const SharedHandle &handle, void **data) override;
  void closeShared(void *data) override;
  Status allocateHostWord(uint32_t **word) override;
  void freeHostWord(uint32_t *word) override;
  Status query(void *stream, StreamState &state) override;
  Status runWithin(const std::function<Status()> &call) override {
    return within(call);
  }

protected:
  Status allocateRaw(uint64_t bytes, void **data) override;
  Status freeRaw(void *data) override;

private:
  Status copy(void *to, const void *from, uint64_t bytes, HipCopy direction);

  /// `call()` with this device current.
  template <typename Call> Status within(const Call &call) {
    CurrentDevice current(api, ordinal);
    if (Status error = current.takeError())
      return error;
    return call();
  }

  Status createEvent(void *&event) override {
    return within([&] { return HK_HIP(api, hipEventCreate, &event); });
  }
  void destroyEvent(void *event) override { (void)api.hipEventDestroy(event); }
  Status recordEvent(void *event, void *stream) override {
    return within([&] { return HK_HIP(api, hipEventRecord, event, stream); });
  }
  Status elapsedMilliseconds(void *begin, void *end, float &time) override {
    return within([&] {
      if (Status error = HK_HIP(api, hipEventSynchronize, end))
        return error;
      return HK_HIP(api, hipEventElapsedTime, &time, begin, end);
    });
  }

  HipApi api;
  int ordinal = 0;
  ModuleCache<HipModule> modules;
};

} // namespace

Status HipModule::load(const void *code, uint64_t bytes) {
  // HIP says neither how long it reads the image nor how it must be aligned, so
  // it gets a page-aligned copy that lives as long as the module.
  uint64_t rounded = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  image.reset(std::aligned_alloc(kPageBytes, rounded));
  if (!image)
    return makeError(HK_OUT_OF_MEMORY,
                     "cannot allocate %" PRIu64 " bytes for a code object",
                     rounded);
  std::memcpy(image.get(), code, bytes);
  return HK_HIP(api, hipModuleLoadData, &handle, image.get());
}

Status HipDevice::initialize(int wanted, const DeviceOptions &options) {
  ordinal = wanted;
  if (Status error = api.load())
    return error;
  if (api.hipInit)
    if (Status error = HK_HIP(api, hipInit, 0))
      return error;
  int count = 0;
  if (Status error = HK_HIP(api, hipGetDeviceCount, &count))
    return error;
  if (ordinal >= count)
    return makeError(HK_UNAVAILABLE, "'%s' finds %d device%s",
                     api.library.name().c_str(), count, count == 1 ? "" : "s");
  std::string name;
  if (Status error = api.describe(ordinal, targetName, name))
    return error;
  descriptionText =
      name + " (" + targetName + ") through " + api.library.name();
  dlpackDevice = {kDLROCM, ordinal};
  gridLimit[0] = INT32_MAX;
  gridLimit[1] = gridLimit[2] = UINT16_MAX;
  if (options.debugMemory)
    enableDebugMemory();
  return {};
}

Status HipDevice::allocateRaw(uint64_t bytes, void **data) {
  Status error = within([&] { return HK_HIP(api, hipMalloc, data, bytes); });
  if (!error)
    return {};
  return addContext(std::move(error), "allocating " + std::to_string(bytes) +
                                          " bytes on '" + descriptionText +
                                          "'");
}

Status HipDevice::freeRaw(void *data) {
  return within([&] {
    // A garbage collector frees what it finds while its thread captures a graph
    // of something else; HIP would end that capture, and leak.
    auto mode = HipCaptureMode::Relaxed;
    if (Status error = HK_HIP(api, hipThreadExchangeStreamCaptureMode, &mode))
      return error;
    Status freed = HK_HIP(api, hipFree, data);
    if (Status error = HK_HIP(api, hipThreadExchangeStreamCaptureMode, &mode))
      return error;
    return freed;
  });
}

Status HipDevice::waitIdle() {
  return within([&] { return HK_HIP(api, hipDeviceSynchronize); });
}

Status HipDevice::query(void *stream, StreamState &state) {
  return within([&]() -> Status {
    HipCapture capture = HipCapture::None;
    if (Status error = HK_HIP(api, hipStreamIsCapturing, stream, &capture))
      return error;
    state = StreamState::Capturing;
    if (capture != HipCapture::None)
      return {};
    HipError result = api.hipStreamQuery(stream);
    state =
        result == HipError::NotReady ? StreamState::Busy : StreamState::Idle;
    return result == HipError::NotReady ? Status()
                                        : api.check(result, "hipStreamQuery");
  });
}

Status HipDevice::copy(void *to, const void *from, uint64_t bytes,
                       HipCopy direction) {
  return within([&] {
    // Launches may be running on any stream; a copy comes after all of them.
    if (Status error = HK_HIP(api, hipDeviceSynchronize))
      return error;
    return HK_HIP(api, hipMemcpy, to, from, bytes, direction);
  });
}

/// ROCm 5.2 and later have all of it.
static Status checkShares(const HipApi &api) {
  if (api.hipExtMallocWithFlags && api.hipIpcGetMemHandle &&
      api.hipIpcOpenMemHandle && api.hipIpcCloseMemHandle &&
      api.hipHostMalloc && api.hipHostFree)
    return {};
  return makeError(HK_UNAVAILABLE,
                   "'%s' has no functions for memory that processes share",
                   api.library.name().c_str());
}

Status HipDevice::allocateShared(uint64_t bytes, void **data,
                                 SharedHandle &handle) {
  if (Status error = checkShares(api))
    return error;
  // What others write must not be in this device's caches.
  if (Status error = within([&] {
        return HK_HIP(api, hipExtMallocWithFlags, data, bytes, kHipUncached);
      }))
    return error;
  HipIpcHandle made;
  Status error =
      within([&] { return HK_HIP(api, hipIpcGetMemHandle, &made, *data); });
  static_assert(sizeof(made) == sizeof(handle));
  std::memcpy(&handle, &made, sizeof(made));
  if (error)
    freeShared(*data);
  return error;
}

Status HipDevice::openShared(const SharedHandle &handle, void **data) {
  HipIpcHandle given;
  std::memcpy(&given, &handle, sizeof(given));
  return within([&] {
    return HK_HIP(api, hipIpcOpenMemHandle, data, given, kHipLazyPeerAccess);
  });
}

void HipDevice::closeShared(void *data) {
  (void)within([&] {
    return HK_HIP(api, hipIpcCloseMemHandle, data);
  }).release();
}

Status HipDevice::allocateHostWord(uint32_t **word) {
  if (Status error = checkShares(api))
    return error;
  void *data = nullptr;
  if (Status error = within([&] {
        return HK_HIP(api, hipHostMalloc, &data, sizeof(uint32_t),
                      kHipPortable | kHipMapped);
      }))
    return error;
  *word = static_cast<uint32_t *>(data);
  **word = 0;
  return {};
}

void HipDevice::freeHostWord(uint32_t *word) {
  (void)within([&] { return HK_HIP(api, hipHostFree, word); }).release();
}

Status HipDevice::loadKernel(const hk_kernel_abi &kernel,
                             const hk_variant_abi &variant,
                             std::unique_ptr<LoadedKernel> &loaded) {
  CurrentDevice current(api, ordinal);
  if (Status error = current.takeError())
    return error;
  auto result = std::make_unique<HipKernel>();
  auto make = [&] { return std::make_shared<HipModule>(api, ordinal); };
  if (Status error = modules.get(variant, make, result->module))
    return error;
  if (Status error = result->module->find(variant.symbol, result->function))
    return error;
  result->threads = variant.threads;
  result->ldsDynamic = variant.lds_dynamic;
  result->argumentBytes =
      8 * (size_t(kernel.num_pointers) + kernel.num_dims + kernel.num_strides +
           (kernel.collective ? kernel.collective->extra_words : 0));
  result->name = variant.symbol;
  loaded = std::move(result);
  return {};
}

Status HipDevice::launch(const LoadedKernel &loaded, const uint64_t *words,
                         const uint32_t *grid, void *stream) {
  const auto &kernel = static_cast<const HipKernel &>(loaded);
  // HIP counts work items, and in 32 bits.
  if (uint64_t(grid[0]) * kernel.threads > UINT32_MAX)
    return makeError(HK_INVALID_ARGUMENT,
                     "%u blocks of %u threads are more than the 2^32 - 1 work "
                     "items of a HIP launch; pass smaller tensors",
                     grid[0], kernel.threads);
  CurrentDevice current(api, ordinal);
  if (Status error = current.takeError())
    return error;
  size_t bytes = kernel.argumentBytes;
  auto key = [](HipLaunchParam param) {
    return reinterpret_cast<void *>(static_cast<uintptr_t>(param));
  };
  void *arguments[] = {
      key(HipLaunchParam::BufferPointer), const_cast<uint64_t *>(words),
      key(HipLaunchParam::BufferSize), &bytes, key(HipLaunchParam::End)};
  return HK_HIP(api, hipModuleLaunchKernel, kernel.function, grid[0], grid[1],
                grid[2], kernel.threads, 1, 1, kernel.ldsDynamic, stream,
                nullptr, arguments);
}

Status hk::createHipDevice(int ordinal, const DeviceOptions &options,
                           std::unique_ptr<Device> &device) {
  auto result = std::make_unique<HipDevice>();
  if (Status error = result->initialize(ordinal, options))
    return addContext(std::move(error), "hip:" + std::to_string(ordinal));
  device = std::move(result);
  return {};
}
