//===- NcclApi.cpp - The functions of NCCL and RCCL that hk calls ---------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library that the process has loaded already is found by its soname, so a
// program with PyTorch uses PyTorch's.
//
//===----------------------------------------------------------------------===//

#include "comm/NcclApi.h"

#include <cstdlib>

using namespace hk;

Status NcclApi::load(bool isAmd) {
  const char *variable = isAmd ? "HK_RCCL_LIBRARY" : "HK_NCCL_LIBRARY";
  const char *named = std::getenv(variable);
  const char *usual = isAmd ? "librccl.so.1" : "libnccl.so.2";
  std::string what =
      std::string(isAmd
                      ? "RCCL, the engine of several AMD GPUs; install ROCm's "
                        "rccl"
                      : "NCCL, the engine of several NVIDIA GPUs; install "
                        "libnccl2") +
      " or name its library with " + variable;
  if (Status error =
          library.open(what.c_str(), {named && *named ? named : usual}))
    return error;
#define HK_REQUIRE(name, parameters)                                           \
  if (Status error = library.require(#name, name))                             \
    return error;
  HK_NCCL_FUNCTIONS(HK_REQUIRE)
#undef HK_REQUIRE
  library.find("ncclGetLastError", ncclGetLastError);
  return library.require("ncclGetErrorString", ncclGetErrorString);
}

Status NcclApi::check(NcclResult result, const char *what) const {
  if (result == NcclResult::Success || result == NcclResult::InProgress)
    return {};
  const char *text = ncclGetErrorString(result);
  const char *last = ncclGetLastError ? ncclGetLastError(nullptr) : nullptr;
  return makeError(HK_RANK_FAILED, "%s of '%s' failed with error %d: %s%s%s",
                   what, library.name().c_str(), static_cast<int>(result),
                   text ? text : "no text", last && *last ? "; " : "",
                   last ? last : "");
}
