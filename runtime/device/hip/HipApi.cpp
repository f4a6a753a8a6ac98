//===- HipApi.cpp - The part of HIP that the runtime uses -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loading, error texts, and reading a device's chip out of a struct whose
// layout depends on the release.
//
//===----------------------------------------------------------------------===//

#include "device/hip/HipApi.h"

#include <cctype>
#include <cstdlib>
#include <cstring>

using namespace hk;

// Where gcnArchName is in hipDeviceProp_t, and room for any release's struct.
static constexpr size_t kArchOffsetRocm6 = 1160;
static constexpr size_t kArchOffsetRocm5 = 396;
static constexpr size_t kNameBytes = 256;
static constexpr size_t kPropertiesBytes = 16384;

Status HipApi::load() {
  const char *chosen = std::getenv("HK_HIP_LIBRARY");
  std::vector<std::string> names;
  if (chosen && *chosen)
    names = {chosen};
  else
    names = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6",
             "libamdhip64.so.5"};
  if (Status error = library.open(
          chosen && *chosen
              ? "the HIP runtime that HK_HIP_LIBRARY names"
              : "the HIP runtime; install ROCm, or set HK_HIP_LIBRARY to the "
                "file of its libamdhip64 or of hk's emulator",
          names))
    return error;
#define HK_REQUIRE(name, parameters)                                           \
  if (Status error = library.require(#name, name))                             \
    return error;
  HK_HIP_REQUIRED(HK_REQUIRE)
#undef HK_REQUIRE
#define HK_FIND(name, parameters) library.find(#name, name);
  HK_HIP_OPTIONAL(HK_FIND)
#undef HK_FIND
  library.find("hipGetErrorName", hipGetErrorName);
  if (!hipGetDevicePropertiesR0600 && !hipGetDeviceProperties)
    return makeError(HK_INCOMPATIBLE,
                     "'%s' exports neither hipGetDevicePropertiesR0600 nor "
                     "hipGetDeviceProperties",
                     library.name().c_str());
  return library.require("hipGetErrorString", hipGetErrorString);
}

static hk_status_code codeOf(HipError error) {
  switch (error) {
  case HipError::OutOfMemory:
    return HK_OUT_OF_MEMORY;
  case HipError::NotInitialized:
  case HipError::InsufficientDriver:
  case HipError::NoDevice:
  case HipError::InvalidDevice:
    return HK_UNAVAILABLE;
  case HipError::InvalidImage:
  case HipError::NoBinaryForGpu:
  case HipError::InvalidKernelFile:
  case HipError::NotFound:
    return HK_INCOMPATIBLE;
  default:
    return HK_DEVICE_ERROR;
  }
}

Status HipApi::check(HipError result, const char *call) const {
  if (result == HipError::Success)
    return {};
  const char *text = hipGetErrorString(result);
  const char *name = hipGetErrorName ? hipGetErrorName(result) : nullptr;
  return makeError(codeOf(result), "%s failed with %s (%d): %s", call,
                   name ? name : "hipError_t", static_cast<int>(result),
                   text ? text : "no text");
}

/// "gfx" and a digit at `text`.
static bool isChip(const char *text) {
  return std::strncmp(text, "gfx", 3) == 0 && std::isdigit(text[3]);
}

Status HipApi::describe(int ordinal, std::string &chip,
                        std::string &name) const {
  std::vector<char> properties(kPropertiesBytes, 0);
  bool isRocm6 = hipGetDevicePropertiesR0600 != nullptr;
  auto *query = isRocm6 ? hipGetDevicePropertiesR0600 : hipGetDeviceProperties;
  if (Status error =
          check(query(properties.data(), ordinal), "hipGetDeviceProperties"))
    return error;
  name.assign(properties.data(), strnlen(properties.data(), kNameBytes));
  size_t at = isRocm6 ? kArchOffsetRocm6 : kArchOffsetRocm5;
  // A release with yet another layout: the name still is the only such text
  // behind the device's own name.
  for (size_t i = kNameBytes;
       !isChip(&properties[at]) && i < kPropertiesBytes - kNameBytes; ++i)
    if (isChip(&properties[i]))
      at = i;
  if (!isChip(&properties[at]))
    return makeError(HK_INCOMPATIBLE,
                     "'%s' does not say which chip device %d ('%s') is",
                     library.name().c_str(), ordinal, name.c_str());
  chip.assign(&properties[at], strnlen(&properties[at], kNameBytes));
  // Features follow the name: gfx942:sramecc+:xnack-.
  chip = chip.substr(0, chip.find(':'));
  return {};
}
