//===- DynamicLibrary.cpp - A driver's library, found at run time ---------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// dlopen with an error that a user can act on.
//
//===----------------------------------------------------------------------===//

#include "device/DynamicLibrary.h"

#include <dlfcn.h>

using namespace hk;

Status DynamicLibrary::open(const char *what,
                            const std::vector<std::string> &names) {
  std::string reasons;
  for (const std::string &name : names) {
    handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle) {
      loadedName = name;
      return {};
    }
    const char *reason = dlerror();
    reasons +=
        (reasons.empty() ? "" : "; ") + std::string(reason ? reason : "");
  }
  return makeError(HK_UNAVAILABLE, "cannot load %s (%s)", what,
                   reasons.c_str());
}

void *DynamicLibrary::address(const char *symbol) const {
  return dlsym(handle, symbol);
}

Status DynamicLibrary::missing(const char *symbol) const {
  return makeError(HK_INCOMPATIBLE, "'%s' does not export %s",
                   loadedName.c_str(), symbol);
}
