//===- Profile.cpp - Times per kernel -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Accumulation and the C accessors.
//
//===----------------------------------------------------------------------===//

#include "api/Profile.h"

#include "base/Status.h"

#include <algorithm>

using namespace hk;

void hk_profile::add(const hk_kernel_abi &kernel, const hk_variant_abi &variant,
                     double microseconds) {
  std::lock_guard<std::mutex> lock(mutex);
  Entry *&entry = byName[{kernel.name, variant.symbol}];
  if (!entry) {
    entries.push_back({kernel.name, variant.symbol, kernel.ops, 0, 0, 0});
    entry = &entries.back();
  }
  entry->minUs =
      entry->launches ? std::min(entry->minUs, microseconds) : microseconds;
  entry->totalUs += microseconds;
  ++entry->launches;
}

hk_status *hk_profile_create(hk_profile **profile) {
  return guarded([&]() -> Status {
    if (Status error = requireNonNull(profile, "hk_profile_create", "profile"))
      return error;
    *profile = new hk_profile;
    return {};
  });
}

void hk_profile_destroy(hk_profile *profile) { delete profile; }

uint32_t hk_profile_num_entries(const hk_profile *profile) {
  if (!profile)
    return 0;
  std::lock_guard<std::mutex> lock(profile->mutex);
  return profile->entries.size();
}

hk_profile_entry hk_profile_get(const hk_profile *profile, uint32_t index) {
  hk_profile_entry result{};
  if (!profile)
    return result;
  std::lock_guard<std::mutex> lock(profile->mutex);
  if (index >= profile->entries.size())
    return result;
  const hk_profile::Entry &entry = profile->entries[index];
  result.kernel = entry.kernel.c_str();
  result.variant = entry.variant.c_str();
  result.ops = entry.ops.c_str();
  result.launches = entry.launches;
  result.total_us = entry.totalUs;
  result.min_us = entry.minUs;
  return result;
}
