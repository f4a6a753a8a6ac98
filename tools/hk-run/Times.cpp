//===- Times.cpp - Times of every kernel of a call ------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each call has a profile of its own, so that there is a median. Cold: every
// call has its own copy of the arguments; after all copies were made, as many
// bytes as the caches hold are written over something else.
//
//===----------------------------------------------------------------------===//

#include "Times.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>

using namespace hk;
using namespace hk::run;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

namespace {
/// Device memory that copies of the arguments may take.
constexpr uint64_t kMostCopies = uint64_t(8) << 30;

/// Arguments with memory of their own.
class ArgumentCopy {
public:
  explicit ArgumentCopy(const Session &session) {
    for (const Argument &arg : session.arguments()) {
      bool isOutput = arg.role == Role::Output;
      const HostTensor &host = isOutput ? arg.after : arg.before;
      buffers.push_back(
          std::make_unique<Buffer>(session.device(), host.bytes.size()));
      if (!isOutput)
        check(hk_device_upload(session.device(), buffers.back()->get(),
                               host.bytes.data(), host.bytes.size()));
      tensors.push_back(arg.tensor);
      tensors.back().data = buffers.back()->get();
    }
    for (const DLTensor &tensor : tensors)
      pointers.push_back(&tensor);
  }
  const std::vector<const DLTensor *> &arguments() const { return pointers; }

private:
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<DLTensor> tensors;
  std::vector<const DLTensor *> pointers;
};

Json summary(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return {{"min", times.front()},
          {"median", times[times.size() / 2]},
          {"max", times.back()}};
}

/// Times by kernel and variant, in the order of the first launch.
class KernelTimes {
public:
  void add(const hk_profile *profile, const char *key) {
    for (uint32_t i = 0; i < hk_profile_num_entries(profile); ++i) {
      hk_profile_entry e = hk_profile_get(profile, i);
      Kernel &kernel = find(e);
      kernel.samples[key].push_back(e.total_us /
                                    static_cast<double>(e.launches));
    }
  }
  Json json() const {
    Json list = Json::array();
    for (const Kernel &kernel : kernels) {
      list.push_back(kernel.json);
      for (const auto &[key, samples] : kernel.samples)
        list.back()[key] =
            key == "first_us" ? Json(samples.front()) : summary(samples);
    }
    return list;
  }

private:
  struct Kernel {
    Json json;
    std::map<std::string, std::vector<double>> samples;
  };
  std::vector<Kernel> kernels;

  Kernel &find(const hk_profile_entry &e) {
    for (Kernel &kernel : kernels)
      if (kernel.json["kernel"] == e.kernel &&
          kernel.json["variant"] == e.variant)
        return kernel;
    kernels.push_back({{{"kernel", e.kernel},
                        {"variant", e.variant},
                        {"ops", e.ops},
                        {"launches", e.launches}},
                       {}});
    return kernels.back();
  }
};

ProfileHandle newProfile() {
  hk_profile *raw = nullptr;
  check(hk_profile_create(&raw));
  return ProfileHandle(raw);
}

/// What the caches hold after it is none of the arguments.
void overwriteCaches(const Session &session, uint64_t bytes) {
  constexpr uint64_t kPart = uint64_t(16) << 20;
  std::vector<uint8_t> something(std::min(bytes, kPart), 1);
  Buffer buffer(session.device(), bytes);
  for (uint64_t at = 0; at < bytes; at += something.size())
    check(hk_device_upload(
        session.device(), static_cast<uint8_t *>(buffer.get()) + at,
        something.data(), std::min<uint64_t>(something.size(), bytes - at)));
}

void timeCold(Session &session, uint32_t calls, uint64_t coldBytes,
              KernelTimes &times) {
  uint64_t each = 0;
  for (const Argument &arg : session.arguments())
    each += std::max(arg.before.bytes.size(), arg.after.bytes.size());
  uint64_t count = std::min<uint64_t>(
      calls, std::max<uint64_t>(1, kMostCopies / std::max<uint64_t>(each, 1)));
  std::vector<std::unique_ptr<ArgumentCopy>> copies;
  copies.reserve(count);
  for (uint64_t i = 0; i < count; ++i)
    copies.push_back(std::make_unique<ArgumentCopy>(session));
  for (uint32_t i = 0; i < calls; ++i) {
    if (i % count == 0)
      overwriteCaches(session, coldBytes);
    ProfileHandle profile = newProfile();
    session.callOn(copies[i % count]->arguments(), profile.get());
    times.add(profile.get(), "cold_us");
  }
}
} // namespace

void hk::run::appendTimes(const std::string &path, Session &session,
                          uint32_t calls, uint64_t coldBytes) {
  KernelTimes times;
  times.add(session.profile(), "first_us");
  std::vector<const DLTensor *> tensors;
  tensors.reserve(session.arguments().size());
  for (const Argument &arg : session.arguments())
    tensors.push_back(&arg.tensor);
  std::vector<double> callTimes;
  for (uint32_t i = 0; i < calls; ++i) {
    Clock::time_point start = Clock::now();
    session.callOn(tensors, nullptr);
    session.wait();
    callTimes.push_back(
        std::chrono::duration<double, std::micro>(Clock::now() - start)
            .count());
  }
  for (uint32_t i = 0; i < calls; ++i) {
    ProfileHandle profile = newProfile();
    session.callOn(tensors, profile.get());
    times.add(profile.get(), "warm_us");
  }
  if (coldBytes)
    timeCold(session, calls, coldBytes, times);
  Json line = {{"function", session.functionName()},
               {"iterations", calls},
               {"kernels", times.json()}};
  if (calls)
    line["call_us"] = summary(callTimes);
  std::ofstream file(path, std::ios::app);
  file << line.dump() << "\n";
  file.close();
  if (!file)
    throw Failure("cannot write '" + path + "': " + std::strerror(errno));
}
