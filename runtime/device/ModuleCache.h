//===- ModuleCache.h - Loaded code, once per device -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels that come from the same code share what a driver made of it, for as
// long as one of them lives.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_DEVICE_MODULECACHE_H
#define HK_RUNTIME_DEVICE_MODULECACHE_H

#include "device/Device.h"

#include <map>
#include <memory>
#include <mutex>

namespace hk {

/// `Module` has `Status load(const void *code, uint64_t bytes)`. Thread-safe.
template <typename Module> class ModuleCache {
public:
  /// The module of a variant's code; `make()` gives an empty one to load.
  template <typename Make>
  Status get(const hk_variant_abi &variant, Make make,
             std::shared_ptr<Module> &module) {
    std::lock_guard<std::mutex> lock(mutex);
    std::weak_ptr<Module> &known = modules[variant.code];
    module = known.lock();
    if (module)
      return {};
    module = make();
    if (Status error = module->load(variant.code, variant.code_bytes))
      return error;
    known = module;
    return {};
  }

private:
  std::mutex mutex;
  std::map<const void *, std::weak_ptr<Module>> modules; // by their code
};

} // namespace hk

#endif // HK_RUNTIME_DEVICE_MODULECACHE_H
