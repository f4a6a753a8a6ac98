//===- CudaDevice.cpp - NVIDIA GPUs through the CUDA driver -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels are PTX, assembled by the driver when a program is made (the driver
// keeps its own cache). The device uses the primary context, which is the one
// that frameworks use, and leaves the caller's current context as it was.
//
//===----------------------------------------------------------------------===//

#include "device/EventTimer.h"
#include "device/ModuleCache.h"
#include "device/cuda/TensorMaps.h"

#include <cstring>

using namespace hk;

namespace {

/// Dynamic shared memory that needs no opting in.
constexpr uint32_t kDefaultSharedBytes = 48 * 1024;
/// What the driver takes for a block; what all blocks of a unit may need to
/// need little, and the share of a unit's shared memory that holds it.
constexpr uint32_t kBlockSharedBytes = 1024, kLittleSharedBytes = 64 * 1024;
constexpr int kLittleSharedPercent = 28;
constexpr size_t kJitLogBytes = 16 * 1024;

#define HK_CUDA(api, call, ...) (api).check((api).call(__VA_ARGS__), #call)

/// Makes a context current while it lives.
class CurrentContext {
public:
  CurrentContext(const CudaApi &api, CudaHandle context) : api(api) {
    CudaHandle current = nullptr;
    error = HK_CUDA(api, cuCtxGetCurrent, &current);
    if (error || current == context)
      return;
    error = HK_CUDA(api, cuCtxPushCurrent, context);
    pushed = !error;
  }
  CurrentContext(const CurrentContext &) = delete;
  ~CurrentContext() {
    CudaHandle popped;
    if (pushed)
      (void)api.cuCtxPopCurrent(&popped);
  }
  Status takeError() { return std::move(error); }

private:
  const CudaApi &api;
  bool pushed = false;
  Status error;
};

/// An assembled module; kernels that share one text share this.
class CudaModule {
public:
  CudaModule(const CudaApi &api, CudaHandle context)
      : api(api), context(context) {}
  CudaModule(const CudaModule &) = delete;
  ~CudaModule() {
    CurrentContext current(api, context);
    if (handle)
      (void)api.cuModuleUnload(handle);
  }
  Status load(const void *code, uint64_t bytes);
  Status find(const char *symbol, CudaHandle &function) {
    return HK_CUDA(api, cuModuleGetFunction, &function, handle, symbol);
  }

private:
  const CudaApi &api;
  CudaHandle context;
  CudaHandle handle = nullptr;
};

struct CudaKernel : LoadedKernel {
  std::shared_ptr<CudaModule> module;
  CudaHandle function = nullptr;
  uint32_t threads = 0, sharedBytes = 0;
  const hk_tensor_map_abi *maps = nullptr; // of the module
  uint32_t numMaps = 0;
};

class CudaDevice : public Device, EventDriver {
public:
  ~CudaDevice() override {
    if (context)
      (void)api.cuDevicePrimaryCtxRelease(cudaDevice);
  }
  Status initialize(int ordinal, const DeviceOptions &options);

  Status upload(void *to, const void *from, uint64_t bytes) override;
  Status download(void *to, const void *from, uint64_t bytes) override;
  Status loadKernel(const hk_kernel_abi &kernel, const hk_variant_abi &variant,
                    std::unique_ptr<LoadedKernel> &loaded) override;
  Status launch(const LoadedKernel &kernel, const uint64_t *words,
                const uint32_t *grid, void *stream) override;
  std::unique_ptr<LaunchTimer> createTimer() override {
    EventDriver &driver = *this;
    return std::make_unique<EventTimer>(driver);
  }
  Status waitIdle() override;
  Status copyRows(const RowCopy &copy, void *stream) override;
  Status storeWords(void *to, uint32_t value, uint64_t count,
                    void *stream) override;
  Status query(void *stream, StreamState &state) override;
  Status allocateShared(uint64_t bytes, void **data,
                        SharedHandle &handle) override;
  void freeShared(void *data) override { (void)freeRaw(data).release(); }
  Status openShared(const SharedHandle &handle, void **data) override;
  void closeShared(void *data) override;
  Status allocateHostWord(uint32_t **word) override;
  void freeHostWord(uint32_t *word) override;
  Status runWithin(const std::function<Status()> &call) override {
    return within(call);
  }

protected:
  Status allocateRaw(uint64_t bytes, void **data) override;
  Status freeRaw(void *data) override;

private:
  /// `call()` with this context current.
  template <typename Call> Status within(const Call &call) {
    CurrentContext current(api, context);
    if (Status error = current.takeError())
      return error;
    return call();
  }

  Status createEvent(void *&event) override {
    return within([&] { return HK_CUDA(api, cuEventCreate, &event, 0); });
  }
  void destroyEvent(void *event) override {
    CurrentContext current(api, context);
    (void)api.cuEventDestroy(event);
  }
  Status recordEvent(void *event, void *stream) override {
    return within([&] { return HK_CUDA(api, cuEventRecord, event, stream); });
  }
  Status elapsedMilliseconds(void *begin, void *end, float &time) override {
    return within([&] {
      if (Status error = HK_CUDA(api, cuEventSynchronize, end))
        return error;
      return HK_CUDA(api, cuEventElapsedTime, &time, begin, end);
    });
  }

  CudaApi api;
  int cudaDevice = 0;
  CudaHandle context = nullptr;
  ModuleCache<CudaModule> modules;
};

CudaPointer toCuda(const void *data) {
  return static_cast<CudaPointer>(reinterpret_cast<uintptr_t>(data));
}

} // namespace

/// What follows `.version` in PTX, or "unknown".
static std::string ptxVersionOf(const std::string &text) {
  constexpr const char *key = ".version ";
  size_t at = text.find(key);
  if (at == std::string::npos)
    return "unknown";
  at += std::strlen(key);
  return text.substr(at, text.find_first_of(" \n", at) - at);
}

Status CudaModule::load(const void *code, uint64_t bytes) {
  // PTX is text that the driver wants terminated.
  std::string text(static_cast<const char *>(code), bytes);
  std::vector<char> info(kJitLogBytes), errors(kJitLogBytes);
  CudaJitOption options[] = {
      CudaJitOption::InfoLogBuffer, CudaJitOption::InfoLogBufferBytes,
      CudaJitOption::ErrorLogBuffer, CudaJitOption::ErrorLogBufferBytes};
  void *logBytes = reinterpret_cast<void *>(kJitLogBytes);
  void *values[] = {info.data(), logBytes, errors.data(), logBytes};
  CudaError result =
      api.cuModuleLoadDataEx(&handle, text.c_str(), 4, options, values);
  Status error = api.check(result, "cuModuleLoadDataEx");
  if (!error)
    return {};
  if (result == CudaError::UnsupportedPtxVersion)
    return makeError(HK_INCOMPATIBLE,
                     "the kernels are PTX of version %s, which is newer than "
                     "this driver (for CUDA %s) can assemble; install a newer "
                     "driver",
                     ptxVersionOf(text).c_str(), api.version().c_str());
  errors.back() = '\0';
  if (!errors[0])
    return error;
  return makeError(error.code(), "%s; the assembler says: %s", error.message(),
                   errors.data());
}

Status CudaDevice::initialize(int ordinal, const DeviceOptions &options) {
  if (Status error = api.load())
    return error;
  if (Status error = HK_CUDA(api, cuInit, 0))
    return error;
  int count = 0, major = 0, minor = 0;
  if (Status error = HK_CUDA(api, cuDeviceGetCount, &count))
    return error;
  if (ordinal >= count)
    return makeError(HK_UNAVAILABLE, "the CUDA driver finds %d device%s", count,
                     count == 1 ? "" : "s");
  if (Status error = HK_CUDA(api, cuDeviceGet, &cudaDevice, ordinal))
    return error;
  char name[256] = "";
  if (Status error =
          HK_CUDA(api, cuDeviceGetName, name, sizeof(name) - 1, cudaDevice))
    return error;
  if (Status error = HK_CUDA(api, cuDeviceGetAttribute, &major,
                             CudaAttribute::ComputeCapabilityMajor, cudaDevice))
    return error;
  if (Status error = HK_CUDA(api, cuDeviceGetAttribute, &minor,
                             CudaAttribute::ComputeCapabilityMinor, cudaDevice))
    return error;
  int units = 0;
  if (Status error = HK_CUDA(api, cuDeviceGetAttribute, &units,
                             CudaAttribute::ComputeUnits, cudaDevice))
    return error;
  unitCount = uint32_t(units);
  if (Status error =
          HK_CUDA(api, cuDevicePrimaryCtxRetain, &context, cudaDevice))
    return error;
  // From compute capability 9.0 on the contract means the chip's own features
  // ("a"), which later chips do not have.
  targetName = "sm_" + std::to_string(major) + std::to_string(minor) +
               (major >= 9 ? "a" : "");
  descriptionText =
      std::string(name) + " (" + targetName + "), CUDA driver " + api.version();
  dlpackDevice = {kDLCUDA, ordinal};
  gridLimit[0] = INT32_MAX;
  gridLimit[1] = gridLimit[2] = UINT16_MAX;
  if (options.debugMemory)
    enableDebugMemory();
  return {};
}

Status CudaDevice::allocateRaw(uint64_t bytes, void **data) {
  CudaPointer pointer = 0;
  if (Status error =
          within([&] { return HK_CUDA(api, cuMemAlloc, &pointer, bytes); }))
    return addContext(std::move(error), "allocating " + std::to_string(bytes) +
                                            " bytes on '" + descriptionText +
                                            "'");
  *data = reinterpret_cast<void *>(static_cast<uintptr_t>(pointer));
  return {};
}

Status CudaDevice::freeRaw(void *data) {
  return within([&] {
    // A garbage collector frees what it finds while its thread captures a graph
    // of something else; the driver would end that capture, and leak.
    auto mode = CudaCaptureMode::Relaxed;
    if (Status error = HK_CUDA(api, cuThreadExchangeStreamCaptureMode, &mode))
      return error;
    Status freed = HK_CUDA(api, cuMemFree, toCuda(data));
    if (Status error = HK_CUDA(api, cuThreadExchangeStreamCaptureMode, &mode))
      return error;
    return freed;
  });
}

Status CudaDevice::waitIdle() {
  return within([&] { return HK_CUDA(api, cuCtxSynchronize); });
}

Status CudaDevice::upload(void *to, const void *from, uint64_t bytes) {
  return within([&] {
    // Launches may be running on any stream; a copy comes after all of them,
    // and is over when this returns.
    if (Status error = HK_CUDA(api, cuCtxSynchronize))
      return error;
    if (Status error = HK_CUDA(api, cuMemcpyHtoD, toCuda(to), from, bytes))
      return error;
    return HK_CUDA(api, cuCtxSynchronize);
  });
}

Status CudaDevice::download(void *to, const void *from, uint64_t bytes) {
  return within([&] {
    if (Status error = HK_CUDA(api, cuCtxSynchronize))
      return error;
    return HK_CUDA(api, cuMemcpyDtoH, to, toCuda(from), bytes);
  });
}

Status CudaDevice::copyRows(const RowCopy &copy, void *stream) {
  CudaCopy2D all{};
  all.from.type = all.to.type = CudaMemoryType::Device;
  all.from.device = toCuda(copy.from);
  all.from.pitch = copy.fromPitch;
  all.to.device = toCuda(copy.to);
  all.to.pitch = copy.toPitch;
  all.rowBytes = copy.rowBytes;
  all.rows = copy.rows;
  return within([&] { return HK_CUDA(api, cuMemcpy2DAsync, &all, stream); });
}

Status CudaDevice::storeWords(void *to, uint32_t value, uint64_t count,
                              void *stream) {
  return within([&] {
    return HK_CUDA(api, cuMemsetD32Async, toCuda(to), value, count, stream);
  });
}

Status CudaDevice::allocateShared(uint64_t bytes, void **data,
                                  SharedHandle &handle) {
  // The driver's own memory: what pools and frameworks hand out has no handle.
  if (Status error = allocateRaw(bytes, data))
    return error;
  CudaIpcHandle made;
  Status error = within(
      [&] { return HK_CUDA(api, cuIpcGetMemHandle, &made, toCuda(*data)); });
  static_assert(sizeof(made) == sizeof(handle));
  std::memcpy(&handle, &made, sizeof(made));
  if (error)
    freeShared(*data);
  return error;
}

Status CudaDevice::openShared(const SharedHandle &handle, void **data) {
  CudaIpcHandle given;
  std::memcpy(&given, &handle, sizeof(given));
  CudaPointer pointer = 0;
  Status error = within([&] {
    return HK_CUDA(api, cuIpcOpenMemHandle, &pointer, given,
                   kCudaLazyPeerAccess);
  });
  *data = reinterpret_cast<void *>(static_cast<uintptr_t>(pointer));
  return error;
}

void CudaDevice::closeShared(void *data) {
  (void)within([&] {
    return HK_CUDA(api, cuIpcCloseMemHandle, toCuda(data));
  }).release();
}

Status CudaDevice::allocateHostWord(uint32_t **word) {
  void *data = nullptr;
  // Device and host see it at one address.
  if (Status error = within([&] {
        return HK_CUDA(api, cuMemHostAlloc, &data, sizeof(uint32_t),
                       kCudaPortable | kCudaMapped);
      }))
    return error;
  *word = static_cast<uint32_t *>(data);
  **word = 0;
  return {};
}

void CudaDevice::freeHostWord(uint32_t *word) {
  (void)within([&] { return HK_CUDA(api, cuMemFreeHost, word); }).release();
}

Status CudaDevice::query(void *stream, StreamState &state) {
  return within([&]() -> Status {
    CudaCapture capture = CudaCapture::None;
    if (Status error = HK_CUDA(api, cuStreamIsCapturing, stream, &capture))
      return error;
    state = StreamState::Capturing;
    if (capture != CudaCapture::None)
      return {};
    CudaError result = api.cuStreamQuery(stream);
    state =
        result == CudaError::NotReady ? StreamState::Busy : StreamState::Idle;
    return result == CudaError::NotReady ? Status()
                                         : api.check(result, "cuStreamQuery");
  });
}

/// A unit divides its memory between shared memory and the L1 cache, which
/// holds what loads have under way. With all of it shared memory a kernel that
/// streams through registers takes up to 1.5 times as long, and so it does, it
/// seems, behind one that needs much, where it says nothing. So all kernels
/// whose blocks need little say so, the same of all: blocks of two shares do
/// not stand beside each other (benchmarks/results/h200-moe.md).
static Status preferCache(const CudaApi &api, const CudaKernel &kernel) {
  int blocks = 0;
  if (Status error =
          HK_CUDA(api, cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks,
                  kernel.function, static_cast<int>(kernel.threads),
                  static_cast<size_t>(kernel.sharedBytes)))
    return error;
  if (kernel.sharedBytes == 0 ||
      blocks * uint64_t(kernel.sharedBytes + kBlockSharedBytes) >
          kLittleSharedBytes)
    return {};
  return HK_CUDA(api, cuFuncSetAttribute, kernel.function,
                 CudaFunctionAttribute::PreferredSharedMemoryCarveout,
                 kLittleSharedPercent);
}

Status CudaDevice::loadKernel(const hk_kernel_abi &,
                              const hk_variant_abi &variant,
                              std::unique_ptr<LoadedKernel> &loaded) {
  CurrentContext current(api, context);
  if (Status error = current.takeError())
    return error;
  auto result = std::make_unique<CudaKernel>();
  auto make = [&] { return std::make_shared<CudaModule>(api, context); };
  if (Status error = modules.get(variant, make, result->module))
    return error;
  if (Status error = result->module->find(variant.symbol, result->function))
    return error;
  result->threads = variant.threads;
  result->sharedBytes = variant.lds_dynamic;
  result->maps = variant.maps;
  result->numMaps = variant.num_maps;
  if (variant.lds_dynamic > kDefaultSharedBytes)
    if (Status error = HK_CUDA(api, cuFuncSetAttribute, result->function,
                               CudaFunctionAttribute::MaxDynamicSharedBytes,
                               static_cast<int>(variant.lds_dynamic)))
      return addContext(std::move(error),
                        "asking for " + std::to_string(variant.lds_dynamic) +
                            " bytes of shared memory");
  if (Status error = preferCache(api, *result))
    return error;
  loaded = std::move(result);
  return {};
}

Status CudaDevice::launch(const LoadedKernel &loaded, const uint64_t *words,
                          const uint32_t *grid, void *stream) {
  const auto &kernel = static_cast<const CudaKernel &>(loaded);
  CurrentContext current(api, context);
  if (Status error = current.takeError())
    return error;
  // hk's kernels wait for the one before themselves (HK_KERNEL), so their
  // blocks may take their places while its last ones run.
  CudaLaunchAttribute overlap{
      CudaLaunchAttributeId::ProgrammaticStreamSerialization, 1, {}};
  CudaLaunchConfig config{{grid[0], grid[1], grid[2]},
                          {kernel.threads, 1, 1},
                          kernel.sharedBytes,
                          stream,
                          &overlap,
                          1};
  CudaTensorMaps maps;
  if (Status error =
          encodeTensorMaps(api, kernel.maps, kernel.numMaps, words, maps))
    return error;
  // The struct of words and, where there are any, the maps, both by value: the
  // launch copies them, so a captured one keeps them.
  void *parameters[] = {const_cast<uint64_t *>(words), &maps};
  return HK_CUDA(api, cuLaunchKernelEx, &config, kernel.function, parameters,
                 nullptr);
}

Status hk::createCudaDevice(int ordinal, const DeviceOptions &options,
                            std::unique_ptr<Device> &device) {
  auto result = std::make_unique<CudaDevice>();
  if (Status error = result->initialize(ordinal, options))
    return addContext(std::move(error), "cuda:" + std::to_string(ordinal));
  device = std::move(result);
  return {};
}
