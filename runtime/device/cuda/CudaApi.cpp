//===- CudaApi.cpp - The part of the CUDA driver that the runtime uses ----===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loading and error texts.
//
//===----------------------------------------------------------------------===//

#include "device/cuda/CudaApi.h"

#include <cstdlib>

using namespace hk;

Status CudaApi::load() {
  const char *chosen = std::getenv("HK_CUDA_LIBRARY");
  bool isChosen = chosen && *chosen;
  if (Status error =
          library.open(isChosen ? "the CUDA driver that HK_CUDA_LIBRARY names"
                                : "the CUDA driver; install NVIDIA's driver",
                       {isChosen ? chosen : "libcuda.so.1"}))
    return error;
#define HK_REQUIRE(name, symbol, parameters)                                   \
  if (Status error = library.require(symbol, name))                            \
    return error;
  HK_CUDA_FUNCTIONS(HK_REQUIRE)
#undef HK_REQUIRE
  return {};
}

std::string CudaApi::version() const {
  int number = 0;
  if (cuDriverGetVersion(&number) != CudaError::Success)
    return "unknown";
  return std::to_string(number / 1000) + "." +
         std::to_string(number % 1000 / 10);
}

static hk_status_code codeOf(CudaError error) {
  switch (error) {
  case CudaError::OutOfMemory:
    return HK_OUT_OF_MEMORY;
  case CudaError::NotInitialized:
  case CudaError::NoDevice:
  case CudaError::InvalidDevice:
    return HK_UNAVAILABLE;
  case CudaError::InvalidImage:
  case CudaError::NoBinaryForGpu:
  case CudaError::InvalidPtx:
  case CudaError::UnsupportedPtxVersion:
  case CudaError::NotFound:
    return HK_INCOMPATIBLE;
  default:
    return HK_DEVICE_ERROR;
  }
}

Status CudaApi::check(CudaError result, const char *call) const {
  if (result == CudaError::Success)
    return {};
  const char *name = nullptr, *text = nullptr;
  (void)cuGetErrorName(result, &name);
  (void)cuGetErrorString(result, &text);
  return makeError(codeOf(result), "%s failed with %s (%d): %s", call,
                   name ? name : "CUresult", static_cast<int>(result),
                   text ? text : "no text");
}
