//===- Profile.h - Times per kernel -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums the launches of each variant over any number of calls.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_API_PROFILE_H
#define HK_RUNTIME_API_PROFILE_H

#include "hk/Runtime/ModuleAbi.h"
#include "hk/Runtime/hk.h"

#include <deque>
#include <map>
#include <mutex>
#include <string>

struct hk_profile {
  struct Entry {
    // Copies: a profile may outlive the module.
    std::string kernel, variant, ops;
    uint64_t launches = 0;
    double totalUs = 0, minUs = 0;
  };

  void add(const hk_kernel_abi &kernel, const hk_variant_abi &variant,
           double microseconds);

  mutable std::mutex mutex;
  std::deque<Entry> entries; // in the order of first launch; addresses stay
  std::map<std::pair<std::string, std::string>, Entry *> byName;
};

#endif // HK_RUNTIME_API_PROFILE_H
