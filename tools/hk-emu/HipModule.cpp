//===- HipModule.cpp - Modules, launches and events of the HIP shim -------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything runs in the calling thread before the call returns, so streams
// have nothing to wait for.
//
//===----------------------------------------------------------------------===//

#include "Hip.h"
#include <cstring>
#include <fstream>
#include <iterator>

using namespace hk::emu;

namespace {

constexpr uintptr_t kParamEnd = 3, kParamPointer = 1, kParamSize = 2;

/// The argument bytes from either way of passing them.
bool collectArgs(const Kernel &kernel, void **params, void **extra,
                 std::vector<uint8_t> &bytes) {
  if (extra) {
    const void *pointer = nullptr;
    size_t size = 0;
    for (void **p = extra; uintptr_t(*p) != kParamEnd; p += 2) {
      if (uintptr_t(*p) == kParamPointer)
        pointer = p[1];
      else if (uintptr_t(*p) == kParamSize)
        size = *static_cast<size_t *>(p[1]);
      else
        return false;
    }
    const auto *b = static_cast<const uint8_t *>(pointer);
    if (size && !b)
      return false;
    bytes.assign(b, b + size);
    return true;
  }
  bytes.assign(kernel.explicitBytes(), 0);
  size_t next = 0;
  for (const KernelArg &arg : kernel.args) {
    if (arg.isHidden())
      continue;
    if (!params || !params[next])
      return false;
    std::memcpy(bytes.data() + arg.offset, params[next++], arg.size);
  }
  return true;
}

} // namespace

HK_HIP_API hipError_t hipModuleLoadData(HipModule **module, const void *image) {
  if (!module || !image)
    return setLastError(hipErrorInvalidValue);
  return setLastError(HipDevice::get().load(image, 0, *module));
}

HK_HIP_API hipError_t hipModuleLoadDataEx(HipModule **module, const void *image,
                                          unsigned, int *, void **) {
  return hipModuleLoadData(module, image);
}

HK_HIP_API hipError_t hipModuleLoad(HipModule **module, const char *path) {
  if (!module || !path)
    return setLastError(hipErrorInvalidValue);
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return setLastError(hipErrorFileNotFound);
  std::string data((std::istreambuf_iterator<char>(in)),
                   std::istreambuf_iterator<char>());
  data.resize(data.size() + 64); // headers are read before their size is known
  return setLastError(
      HipDevice::get().load(data.data(), data.size() - 64, *module));
}

HK_HIP_API hipError_t hipModuleUnload(HipModule *module) {
  delete module;
  return hipSuccess;
}

HK_HIP_API hipError_t hipModuleGetFunction(HipFunction **function,
                                           HipModule *module,
                                           const char *name) {
  if (!function || !module || !name)
    return setLastError(hipErrorInvalidValue);
  const Kernel *kernel = module->object->kernel(name);
  if (!kernel)
    return setLastError(hipErrorNotFound);
  std::lock_guard<std::mutex> lock(HipDevice::get().mutex);
  for (auto &known : module->functions)
    if (known->kernel == kernel) {
      *function = known.get();
      return hipSuccess;
    }
  module->functions.emplace_back(new HipFunction{module, kernel});
  *function = module->functions.back().get();
  return hipSuccess;
}

HK_HIP_API hipError_t hipModuleGetGlobal(void **pointer, size_t *bytes,
                                         HipModule *module, const char *name) {
  if (!module || !name)
    return setLastError(hipErrorInvalidValue);
  uint64_t size = 0;
  uint64_t address = module->object->global(name, size);
  if (!address)
    return setLastError(hipErrorNotFound);
  if (pointer)
    *pointer = reinterpret_cast<void *>(address);
  if (bytes)
    *bytes = size;
  return hipSuccess;
}

HK_HIP_API hipError_t hipModuleLaunchKernel(HipFunction *function, unsigned gx,
                                            unsigned gy, unsigned gz,
                                            unsigned bx, unsigned by,
                                            unsigned bz, unsigned shared,
                                            HipStream *stream, void **params,
                                            void **extra) {
  if (!function)
    return setLastError(hipErrorInvalidHandle);
  LaunchConfig config;
  const unsigned grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
  for (int d = 0; d < 3; ++d) {
    config.grid[d] = grid[d];
    config.block[d] = block[d];
  }
  config.dynamicLds = shared;
  if (!collectArgs(*function->kernel, params, extra, config.args))
    return setLastError(hipErrorInvalidValue);
  return setLastError(enqueue(stream, [function, config] {
    return HipDevice::get().launch(*function, config);
  }));
}

/// Attributes by their number in hipFunction_attribute.
HK_HIP_API hipError_t hipFuncGetAttribute(int *value, int attribute,
                                          HipFunction *function) {
  if (!value || !function)
    return setLastError(hipErrorInvalidValue);
  const Kernel &k = *function->kernel;
  switch (attribute) {
  case 0:
    *value = int(k.maxWorkgroupSize);
    break;
  case 1:
    *value = int(k.ldsBytes);
    break;
  case 2:
    *value = 0; // constant memory
    break;
  case 3:
    *value = int(k.scratchBytes);
    break;
  case 4:
    *value = int(k.vgprs);
    break;
  case 5:
  case 6:
    *value = 90; // PTX and binary version have no meaning
    break;
  default:
    return setLastError(hipErrorInvalidValue);
  }
  return hipSuccess;
}

/// The only limit is the stack of kernels whose calls have no known depth.
HK_HIP_API hipError_t hipDeviceSetLimit(int limit, size_t value) {
  if (limit != hipLimitStackSize || value > 16 * 1024)
    return setLastError(hipErrorInvalidValue);
  HipDevice::get().options.stackBytes = uint32_t(value);
  return hipSuccess;
}
HK_HIP_API hipError_t hipDeviceGetLimit(size_t *value, int limit) {
  if (!value || limit != hipLimitStackSize)
    return setLastError(hipErrorInvalidValue);
  *value = HipDevice::get().options.stackBytes;
  return hipSuccess;
}

HK_HIP_API hipError_t hipDeviceSynchronize() { return hipSuccess; }

HK_HIP_API hipError_t hipEventCreate(HipEvent **event) {
  if (!event)
    return setLastError(hipErrorInvalidValue);
  *event = new HipEvent;
  return hipSuccess;
}
HK_HIP_API hipError_t hipEventCreateWithFlags(HipEvent **event, unsigned) {
  return hipEventCreate(event);
}
HK_HIP_API hipError_t hipEventRecord(HipEvent *event, HipStream *) {
  if (!event)
    return setLastError(hipErrorInvalidHandle);
  event->time = std::chrono::steady_clock::now();
  event->recorded = true;
  return hipSuccess;
}
HK_HIP_API hipError_t hipEventSynchronize(HipEvent *) { return hipSuccess; }
HK_HIP_API hipError_t hipEventQuery(HipEvent *) { return hipSuccess; }
HK_HIP_API hipError_t hipEventElapsedTime(float *ms, HipEvent *start,
                                          HipEvent *stop) {
  if (!ms || !start || !stop || !start->recorded || !stop->recorded)
    return setLastError(hipErrorInvalidHandle);
  *ms = std::chrono::duration<float, std::milli>(stop->time - start->time)
            .count();
  return hipSuccess;
}
HK_HIP_API hipError_t hipEventDestroy(HipEvent *event) {
  delete event;
  return hipSuccess;
}
