//===- Profile.h - Times per kernel -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums the launches of each variant over any number of calls, and on request
// keeps every launch.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_API_PROFILE_H
#define HK_RUNTIME_API_PROFILE_H

#include "device/Device.h"
#include "hk/Runtime/ModuleAbi.h"
#include "hk/Runtime/hk.h"

#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

struct hk_profile {
  struct Entry {
    // Copies: a profile may outlive the module.
    std::string kernel, variant, ops;
    uint64_t launches = 0;
    double totalUs = 0, minUs = 0;
  };

  struct Launch {
    const Entry *entry;
    const std::string *function; // one of `functions`
    uint64_t call;
    double beginUs, durationUs;
  };
  /// What a call did.
  struct Timed {
    const hk_kernel_abi *kernel;
    const hk_variant_abi *variant;
  };
  using Clock = std::chrono::steady_clock;

  /// The launches of a call of `function`, the first of which was made at
  /// `first`; as many `times` as launches.
  void add(const char *function, Clock::time_point first,
           const std::vector<Timed> &launches,
           const std::vector<hk::LaunchTime> &times);

  const Clock::time_point created = Clock::now();
  mutable std::mutex mutex;
  std::deque<Entry> entries; // in the order of first launch; addresses stay
  std::map<std::pair<std::string, std::string>, Entry *> byName;
  std::set<std::string> functions;
  uint64_t calls = 0, mostLaunches = 0;
  std::vector<Launch> launches;

private:
  Entry &add(const Timed &launch, double microseconds);
};

#endif // HK_RUNTIME_API_PROFILE_H
