//===- HipDevice.cpp - Device, properties and errors of the HIP shim ------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One device, chosen by HK_EMU_CHIP.
//
//===----------------------------------------------------------------------===//

#include "Environment.h"
#include "Hip.h"
#include "TimedLaunch.h"
#include "TimingReport.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

namespace hk::emu {

/// The calling thread's, as HIP defines it.
static hipError_t &lastError() {
  static thread_local hipError_t error = hipSuccess;
  return error;
}

hipError_t setLastError(hipError_t error) {
  if (error != hipSuccess)
    lastError() = error;
  return error;
}

HipDevice &HipDevice::get() {
  // Never destroyed: kernels may still be released by other destructors.
  static HipDevice *device = new HipDevice;
  return *device;
}

HipDevice::HipDevice() {
  const char *name = std::getenv("HK_EMU_CHIP");
  std::string chipName = name && *name ? name : "gfx942";
  chip = findChip(chipName);
  if (!chip)
    std::fprintf(stderr, "hk-emu: HK_EMU_CHIP=%s is not emulated; use %s\n",
                 chipName.c_str(), chipNames());
  options = optionsFromEnvironment();
  reportPath = fileFromEnvironment("HK_EMU_REPORT");
  countersPath = fileFromEnvironment("HK_EMU_COUNTERS");
  timesPath = fileFromEnvironment("HK_EMU_TIMES");
  timingPath = fileFromEnvironment("HK_EMU_TIMING");
  sampleOnly = numberFromEnvironment("HK_EMU_TIMING_SAMPLE", 0, 1) &&
               !timingPath.empty();
}

/// Counters come with a modelled time, whose replay is kept short.
LaunchResult HipDevice::launchCounted(const CodeObject &object,
                                      const Kernel &kernel,
                                      const LaunchConfig &config,
                                      std::string &timing) {
  const ChipTiming *constants = findTiming(chip->product);
  if (!constants || (countersPath.empty() && timingPath.empty()))
    return launchKernel(object, kernel, memory, config, options);
  TimedOptions timed;
  timed.sampleOnly = sampleOnly;
  timed.chips = {*constants};
  if (timingPath.empty()) {
    timed.traceBytes = 1 << 26;
    timed.model.mostSteps = 2000000;
  }
  TimedLaunch result =
      launchTimed(object, kernel, memory, config, options, timed);
  if (!result.timings.empty())
    timing = timingJson(result.timings[0]);
  return std::move(result.launch);
}

/// Picks this chip's image out of a clang offload bundle, else one for several
/// chips.
static bool unbundle(const Chip &chip, const char *&data, size_t &size) {
  static const char magic[] = "__CLANG_OFFLOAD_BUNDLE__";
  if (std::memcmp(data, magic, 4) != 0 ||
      std::memcmp(data, magic, sizeof magic - 1) != 0)
    return true;
  const char *p = data + sizeof magic - 1;
  auto next = [&p] {
    uint64_t v;
    std::memcpy(&v, p, 8);
    p += 8;
    return v;
  };
  const char *found = nullptr;
  bool own = false;
  for (uint64_t n = next(); n && !own; --n) {
    uint64_t offset = next(), bytes = next(), length = next();
    std::string id(p, length);
    p += length;
    own = bytes && id.find(chip.name) != std::string::npos;
    if (own || (bytes && id.find(kGenericTarget) != std::string::npos)) {
      found = data + offset;
      size = bytes;
    }
  }
  data = found ? found : data;
  return found;
}

hipError_t HipDevice::load(const void *image, size_t size, HipModule *&module) {
  const char *data = static_cast<const char *>(image);
  if (!chip || !unbundle(*chip, data, size)) {
    std::fprintf(stderr, "hk-emu: the bundle has no code object for %s\n",
                 chip ? chip->name : "this chip");
    return hipErrorNoBinaryForGpu;
  }
  if (!size)
    size = CodeObject::imageSize(data);
  std::string error = "not an ELF code object";
  std::unique_ptr<CodeObject> object;
  if (size)
    object = CodeObject::load(data, size, *chip, memory, error);
  if (!object) {
    std::fprintf(stderr, "hk-emu: code object refused: %s\n", error.c_str());
    return hipErrorInvalidImage;
  }
  module = new HipModule;
  module->object = std::move(object);
  return hipSuccess;
}

hipError_t HipDevice::launch(HipFunction &function,
                             const LaunchConfig &config) {
  std::lock_guard<std::mutex> lock(mutex);
  const CodeObject &object = *function.module->object;
  std::string timing;
  LaunchResult result = launchCounted(object, *function.kernel, config, timing);
  if (!result.error.empty()) {
    std::fprintf(stderr, "hk-emu: launch refused: %s\n", result.error.c_str());
    return hipErrorInvalidValue;
  }
  for (const Finding &f : result.findings)
    std::fprintf(stderr, "hk-emu: %s\n", f.text().c_str());
  if (!reportPath.empty() && !result.findings.empty()) {
    std::ofstream out(reportPath, std::ios::app);
    for (const Finding &f : result.findings)
      out << f.json() << "\n";
  }
  if (!countersPath.empty()) {
    std::ofstream out(countersPath, std::ios::app);
    std::string line = result.counters.json(function.kernel->name, chip->name);
    if (!timing.empty())
      line.replace(line.size() - 1, 1, ",\"timing\":" + timing + "}");
    out << line << "\n";
  }
  if (!timingPath.empty() && !timing.empty())
    std::ofstream(timingPath, std::ios::app) << timing << "\n";
  if (!timesPath.empty()) {
    std::ofstream out(timesPath, std::ios::app);
    out << "{\"kernel\":" << jsonString(function.kernel->name)
        << ",\"chip\":" << jsonString(chip->name)
        << ",\"wave_instructions\":" << result.counters.total()
        << ",\"seconds\":" << result.seconds
        << ",\"cpu_seconds\":" << result.cpuSeconds << "}\n";
  }
  return result.findings.empty() ? hipSuccess : hipErrorLaunchFailure;
}

namespace {

struct ErrorText {
  hipError_t code;
  const char *name, *text;
};
const ErrorText kErrors[] = {
    {hipSuccess, "hipSuccess", "no error"},
    {hipErrorInvalidValue, "hipErrorInvalidValue", "invalid argument"},
    {hipErrorOutOfMemory, "hipErrorOutOfMemory", "out of memory"},
    {hipErrorNotInitialized, "hipErrorNotInitialized", "initialization error"},
    {hipErrorInvalidDevicePointer, "hipErrorInvalidDevicePointer",
     "invalid device pointer"},
    {hipErrorNoDevice, "hipErrorNoDevice",
     "no ROCm-capable device is detected"},
    {hipErrorInvalidDevice, "hipErrorInvalidDevice", "invalid device ordinal"},
    {hipErrorInvalidImage, "hipErrorInvalidImage",
     "device kernel image is invalid"},
    {hipErrorNoBinaryForGpu, "hipErrorNoBinaryForGpu",
     "no kernel image is available for execution on the device"},
    {hipErrorFileNotFound, "hipErrorFileNotFound", "file not found"},
    {hipErrorInvalidHandle, "hipErrorInvalidHandle", "invalid resource handle"},
    {hipErrorNotFound, "hipErrorNotFound", "named symbol not found"},
    {hipErrorLaunchFailure, "hipErrorLaunchFailure",
     "unspecified launch failure"},
    {hipErrorNotSupported, "hipErrorNotSupported", "operation not supported"},
    {hipErrorStreamCaptureUnsupported, "hipErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {hipErrorIllegalState, "hipErrorIllegalState",
     "the operation cannot be performed in the present state"},
};

const ErrorText &errorText(hipError_t code) {
  for (const ErrorText &e : kErrors)
    if (e.code == code)
      return e;
  static const ErrorText unknown = {999, "hipErrorUnknown", "unknown error"};
  return unknown;
}

hipError_t checkDevice(int device) {
  if (!HipDevice::get().chip)
    return hipErrorNoDevice;
  return device == 0 ? hipSuccess : hipErrorInvalidDevice;
}

template <class P> void fillCommon(P &p, const Chip &chip) {
  std::memset(&p, 0, sizeof p);
  std::strncpy(p.name, chip.deviceName, sizeof p.name - 1);
  std::string arch = std::string(chip.name) + ":sramecc+:xnack-";
  std::strncpy(p.gcnArchName, arch.c_str(), sizeof p.gcnArchName - 1);
  p.totalGlobalMem = chip.memoryBytes;
  p.sharedMemPerBlock = chip.ldsBytes;
  p.regsPerBlock = 65536;
  p.warpSize = 64;
  p.maxThreadsPerBlock = 1024;
  for (int d = 0; d < 3; ++d) {
    p.maxThreadsDim[d] = 1024;
    p.maxGridSize[d] = d ? 65536 : 0x7fffffff;
  }
  p.clockRate = 2100000;
  p.totalConstMem = 0x7fffffff;
  p.major = 9;
  p.minor = chip.mfmaDivisor > 1 ? 5 : 4;
  p.multiProcessorCount = int(chip.computeUnits);
  p.maxThreadsPerMultiProcessor = 2048;
  p.maxSharedMemoryPerMultiProcessor = chip.ldsBytes;
}

} // namespace
} // namespace hk::emu

using namespace hk::emu;

HK_HIP_API hipError_t hipInit(unsigned) { return setLastError(checkDevice(0)); }

HK_HIP_API hipError_t hipGetDeviceCount(int *count) {
  if (!count)
    return setLastError(hipErrorInvalidValue);
  *count = HipDevice::get().chip ? 1 : 0;
  return *count ? hipSuccess : setLastError(hipErrorNoDevice);
}

HK_HIP_API hipError_t hipSetDevice(int device) {
  return setLastError(checkDevice(device));
}

HK_HIP_API hipError_t hipGetDevice(int *device) {
  if (!device)
    return setLastError(hipErrorInvalidValue);
  *device = 0;
  return setLastError(checkDevice(0));
}

HK_HIP_API hipError_t hipDeviceGet(int *device, int ordinal) {
  if (device)
    *device = ordinal;
  return setLastError(device ? checkDevice(ordinal) : hipErrorInvalidValue);
}

HK_HIP_API hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600 *p,
                                                  int device) {
  if (!p)
    return setLastError(hipErrorInvalidValue);
  if (hipError_t e = checkDevice(device))
    return setLastError(e);
  const Chip &chip = *HipDevice::get().chip;
  fillCommon(*p, chip);
  p->sharedMemPerMultiprocessor = chip.ldsBytes;
  p->sharedMemPerBlockOptin = chip.ldsBytes;
  return hipSuccess;
}

HK_HIP_API hipError_t hipGetDevicePropertiesR0000(hipDeviceProp_tR0000 *p,
                                                  int device) {
  if (!p)
    return setLastError(hipErrorInvalidValue);
  if (hipError_t e = checkDevice(device))
    return setLastError(e);
  fillCommon(*p, *HipDevice::get().chip);
  return hipSuccess;
}

/// The unversioned symbol keeps its ROCm 5 meaning, as in libamdhip64.
HK_HIP_API hipError_t hipGetDeviceProperties(hipDeviceProp_tR0000 *p,
                                             int device) {
  return hipGetDevicePropertiesR0000(p, device);
}

HK_HIP_API hipError_t hipDeviceGetName(char *name, int length, int device) {
  if (!name || length <= 0)
    return setLastError(hipErrorInvalidValue);
  if (hipError_t e = checkDevice(device))
    return setLastError(e);
  std::strncpy(name, HipDevice::get().chip->deviceName, size_t(length));
  name[length - 1] = 0;
  return hipSuccess;
}

HK_HIP_API hipError_t hipDeviceTotalMem(size_t *bytes, int device) {
  if (!bytes)
    return setLastError(hipErrorInvalidValue);
  if (hipError_t e = checkDevice(device))
    return setLastError(e);
  *bytes = HipDevice::get().chip->memoryBytes;
  return hipSuccess;
}

HK_HIP_API hipError_t hipDeviceGetAttribute(int *value, int attribute,
                                            int device) {
  if (!value)
    return setLastError(hipErrorInvalidValue);
  if (hipError_t e = checkDevice(device))
    return setLastError(e);
  const Chip &chip = *HipDevice::get().chip;
  // Values of hipDeviceAttribute_t in ROCm 6.
  switch (attribute) {
  case 5: // clock rate
    *value = 2100000;
    return hipSuccess;
  case 23: // compute capability major
    *value = 9;
    return hipSuccess;
  case 26: // largest workgroup in x, y, z and in all
  case 27:
  case 28:
  case 56:
    *value = 1024;
    return hipSuccess;
  case 57:
    *value = 2048;
    return hipSuccess;
  case 61: // compute capability minor
    *value = chip.mfmaDivisor > 1 ? 5 : 4;
    return hipSuccess;
  case 63: // compute units
    *value = int(chip.computeUnits);
    return hipSuccess;
  case 74: // LDS of a workgroup
    *value = int(chip.ldsBytes);
    return hipSuccess;
  case 87: // wave size
    *value = 64;
    return hipSuccess;
  default:
    return setLastError(hipErrorInvalidValue);
  }
}

HK_HIP_API hipError_t hipDriverGetVersion(int *version) {
  if (version)
    *version = 60000000;
  return setLastError(version ? hipSuccess : hipErrorInvalidValue);
}
HK_HIP_API hipError_t hipRuntimeGetVersion(int *version) {
  return hipDriverGetVersion(version);
}

HK_HIP_API const char *hipGetErrorString(hipError_t error) {
  return errorText(error).text;
}
HK_HIP_API const char *hipGetErrorName(hipError_t error) {
  return errorText(error).name;
}
HK_HIP_API hipError_t hipGetLastError() {
  hipError_t error = lastError();
  lastError() = hipSuccess;
  return error;
}
HK_HIP_API hipError_t hipPeekAtLastError() { return lastError(); }
