//===- DeviceApi.cpp - The C interface of devices -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Opening by name, options and their defaults, and thin wrappers.
//
//===----------------------------------------------------------------------===//

#include "api/Program.h"
#include "device/Device.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

using namespace hk;

static Status readOptions(const hk_device_options *given,
                          DeviceOptions &options) {
  const char *debug = std::getenv("HK_DEBUG_MEMORY");
  options.debugMemory = debug && *debug && std::strcmp(debug, "0") != 0;
  if (!given)
    return {};
  if (given->struct_bytes != sizeof(hk_device_options))
    return makeError(HK_INVALID_ARGUMENT,
                     "hk_device_open: options.struct_bytes is %u, expected %zu",
                     given->struct_bytes, sizeof(hk_device_options));
  options.numThreads = given->num_threads;
  options.shuffleSeed = given->shuffle_seed;
  options.debugMemory |= given->debug_memory != 0;
  return {};
}

static Status openDevice(const std::string &spec, const DeviceOptions &options,
                         std::unique_ptr<Device> &device) {
  if (spec == "host")
    return createHostDevice(options, device);
  size_t colon = spec.find(':');
  std::string kind = spec.substr(0, colon);
  std::string digits = colon == spec.npos ? "0" : spec.substr(colon + 1);
  bool isNumber = !digits.empty() && digits.size() <= 4 &&
                  digits.find_first_not_of("0123456789") == digits.npos;
  if (!isNumber || (kind != "hip" && kind != "cuda"))
    return makeError(HK_INVALID_ARGUMENT,
                     "unknown device '%s': expected host, hip:N or cuda:N",
                     spec.c_str());
  int ordinal = std::stoi(digits);
  return kind == "hip" ? createHipDevice(ordinal, options, device)
                       : createCudaDevice(ordinal, options, device);
}

hk_status *hk_device_open(const char *spec, const hk_device_options *options,
                          hk_device **device) {
  return guarded([&]() -> Status {
    if (Status error = requireNonNull(spec, "hk_device_open", "spec"))
      return error;
    if (Status error = requireNonNull(device, "hk_device_open", "device"))
      return error;
    *device = nullptr;
    DeviceOptions merged;
    if (Status error = readOptions(options, merged))
      return error;
    auto result = std::make_unique<hk_device>();
    if (Status error = openDevice(spec, merged, result->impl))
      return error;
    *device = result.release();
    return {};
  });
}

void hk_device_close(hk_device *device) { delete device; }

const char *hk_device_target(const hk_device *device) {
  return device ? device->impl->target().c_str() : "";
}

const char *hk_device_description(const hk_device *device) {
  return device ? device->impl->description().c_str() : "";
}

DLDevice hk_device_dldevice(const hk_device *device) {
  return device ? device->impl->dlDevice() : DLDevice{kDLCPU, 0};
}

hk_status *hk_device_alloc(hk_device *device, uint64_t bytes, void **data) {
  return guarded([&]() -> Status {
    if (Status error = requireNonNull(device, "hk_device_alloc", "device"))
      return error;
    if (Status error = requireNonNull(data, "hk_device_alloc", "data"))
      return error;
    *data = nullptr;
    return device->impl->allocate(bytes, data);
  });
}

void hk_device_free(hk_device *device, void *data) {
  if (device)
    hk_status_free(guarded([&]() -> Status {
      device->impl->deallocate(data);
      return {};
    }));
}

/// The checks that uploads and downloads share.
static Status checkCopy(const char *name, const hk_device *device,
                        const void *to, const void *from, uint64_t bytes) {
  if (Status error = requireNonNull(device, name, "device"))
    return error;
  if (bytes == 0)
    return {};
  if (Status error = requireNonNull(to, name, "to"))
    return error;
  return requireNonNull(from, name, "from");
}

hk_status *hk_device_upload(hk_device *device, void *to, const void *from,
                            uint64_t bytes) {
  return guarded([&]() -> Status {
    if (Status error = checkCopy("hk_device_upload", device, to, from, bytes))
      return error;
    return bytes ? device->impl->upload(to, from, bytes) : Status();
  });
}

hk_status *hk_device_download(hk_device *device, void *to, const void *from,
                              uint64_t bytes) {
  return guarded([&]() -> Status {
    if (Status error = checkCopy("hk_device_download", device, to, from, bytes))
      return error;
    return bytes ? device->impl->download(to, from, bytes) : Status();
  });
}

hk_status *hk_device_synchronize(hk_device *device) {
  return guarded([&]() -> Status {
    if (Status error =
            requireNonNull(device, "hk_device_synchronize", "device"))
      return error;
    return device->impl->synchronize();
  });
}
