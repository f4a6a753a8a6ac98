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

hk_profile::Entry &hk_profile::add(const Timed &launch, double microseconds) {
  Entry *&entry = byName[{launch.kernel->name, launch.variant->symbol}];
  if (!entry) {
    entries.push_back({launch.kernel->name, launch.variant->symbol,
                       launch.kernel->ops, 0, 0, 0});
    entry = &entries.back();
  }
  entry->minUs =
      entry->launches ? std::min(entry->minUs, microseconds) : microseconds;
  entry->totalUs += microseconds;
  ++entry->launches;
  return *entry;
}

void hk_profile::add(const char *function, Clock::time_point first,
                     const std::vector<Timed> &made,
                     const std::vector<hk::LaunchTime> &times) {
  double begin =
      std::chrono::duration<double, std::micro>(first - created).count();
  std::lock_guard<std::mutex> lock(mutex);
  const std::string &name = *functions.insert(function).first;
  for (size_t i = 0; i < times.size() && i < made.size(); ++i) {
    const Entry &entry = add(made[i], times[i].duration);
    if (launches.size() < mostLaunches)
      launches.push_back(
          {&entry, &name, calls, begin + times[i].begin, times[i].duration});
  }
  ++calls;
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

hk_status *hk_profile_keep_launches(hk_profile *profile, uint64_t most) {
  return guarded([&]() -> Status {
    if (Status error =
            requireNonNull(profile, "hk_profile_keep_launches", "profile"))
      return error;
    std::lock_guard<std::mutex> lock(profile->mutex);
    profile->mostLaunches = most;
    return {};
  });
}

uint64_t hk_profile_num_launches(const hk_profile *profile) {
  if (!profile)
    return 0;
  std::lock_guard<std::mutex> lock(profile->mutex);
  return profile->launches.size();
}

hk_profile_launch hk_profile_get_launch(const hk_profile *profile,
                                        uint64_t index) {
  hk_profile_launch result{};
  if (!profile)
    return result;
  std::lock_guard<std::mutex> lock(profile->mutex);
  if (index >= profile->launches.size())
    return result;
  const hk_profile::Launch &launch = profile->launches[index];
  result.function = launch.function->c_str();
  result.kernel = launch.entry->kernel.c_str();
  result.variant = launch.entry->variant.c_str();
  result.ops = launch.entry->ops.c_str();
  result.call = launch.call;
  result.begin_us = launch.beginUs;
  result.duration_us = launch.durationUs;
  return result;
}
