//===- HostDevice.cpp - The processor as a device -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One block of a kernel is one call of its function. Blocks are shared out over
// a thread pool; launches too small to be worth that run on the caller. Memory
// is the caller's own, and streams do not exist: a launch is finished when it
// returns.
//
//===----------------------------------------------------------------------===//

#include "device/Device.h"
#include "device/host/BlockOrder.h"
#include "device/host/ThreadPool.h"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdlib>
#include <cstring>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace hk;

namespace {

constexpr uint64_t kAlignment = 256;
constexpr uint64_t kLdsAlignment = 64;
constexpr uint8_t kLdsPoison = 0xFF;
constexpr uint8_t kLdsFence = 0xA5;
constexpr uint64_t kLdsFenceBytes = 64;
constexpr unsigned kMaxThreads = 1024;

/// Below this a launch costs less on one thread than handing it out does:
/// about two microseconds, in ticks().
constexpr uint64_t kInlineTicks = 6000;

/// A cheap clock, only ever compared with itself and with kInlineTicks.
uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return 3 * std::chrono::steady_clock::now().time_since_epoch() /
         std::chrono::nanoseconds(1);
#endif
}

struct HostKernel : LoadedKernel {
  hk_host_kernel_fn function = nullptr;
  uint64_t ldsBytes = 0;
  std::string name;
  /// Ticks a block took in the last launch; 0 before the first. Apart from what
  /// other threads read.
  alignas(64) mutable std::atomic<uint64_t> blockTicks{0};
};

/// The LDS of the blocks that run on this thread, kept from launch to launch.
class ThreadLds {
public:
  ~ThreadLds() { std::free(data); }
  /// NULL when there is no memory.
  char *get(uint64_t bytes) {
    if (bytes > capacity) {
      std::free(data);
      capacity = (bytes + kLdsAlignment - 1) / kLdsAlignment * kLdsAlignment;
      data = static_cast<char *>(std::aligned_alloc(kLdsAlignment, capacity));
      if (!data)
        capacity = 0;
    }
    return data;
  }

private:
  char *data = nullptr;
  uint64_t capacity = 0;
};
ThreadLds &threadLds() {
  static thread_local ThreadLds lds;
  return lds;
}

/// Kernels compute under the default floating-point environment on every
/// thread, whatever the caller has set (flush to zero, rounding).
class DefaultFloatEnvironment {
#if defined(__x86_64__)
public:
  DefaultFloatEnvironment() : saved(_mm_getcsr()) {
    if ((saved & kControl) != (kDefault & kControl))
      _mm_setcsr(kDefault);
  }
  ~DefaultFloatEnvironment() {
    if ((saved & kControl) != (kDefault & kControl))
      _mm_setcsr(saved);
  }

private:
  static constexpr unsigned kDefault = 0x1f80, kControl = ~0x3fu;
  unsigned saved;
#else
public:
  DefaultFloatEnvironment() {}
#endif
};

/// What all threads read, and behind it, in lines of its own, what they write.
struct alignas(64) HostLaunch {
  const HostKernel &kernel;
  const uint64_t *words;
  const uint32_t *grid;
  BlockOrder order;
  bool poison;
  /// The thread that launches: it alone says how long blocks take.
  const ThreadLds *caller;
  alignas(64) uint64_t ticksUsed = 0;
  uint64_t blocksTimed = 0;
  alignas(64) std::atomic<bool> outOfMemory{false};
  std::atomic<bool> ldsOverrun{false};

  void runBlocks(uint64_t begin, uint64_t end);
};

void HostLaunch::runBlocks(uint64_t begin, uint64_t end) {
  DefaultFloatEnvironment environment;
  uint64_t ldsBytes = kernel.ldsBytes;
  char *lds = nullptr;
  if (ldsBytes || poison) {
    lds = threadLds().get(ldsBytes + (poison ? kLdsFenceBytes : 0));
    if (!lds) {
      outOfMemory = true;
      return;
    }
  }
  uint64_t start = ticks();
  for (uint64_t i = begin; i < end; ++i) {
    uint64_t index = order(i);
    uint32_t block[3] = {
        static_cast<uint32_t>(index % grid[0]),
        static_cast<uint32_t>(index / grid[0] % grid[1]),
        static_cast<uint32_t>(index / grid[0] / grid[1]),
    };
    if (poison) {
      std::memset(lds, kLdsPoison, ldsBytes);
      std::memset(lds + ldsBytes, kLdsFence, kLdsFenceBytes);
    }
    kernel.function(words, block, grid, lds);
    if (poison)
      for (uint64_t k = 0; k < kLdsFenceBytes; ++k)
        if (static_cast<uint8_t>(lds[ldsBytes + k]) != kLdsFence)
          ldsOverrun = true;
  }
  if (&threadLds() == caller) {
    ticksUsed += ticks() - start;
    blocksTimed += end - begin;
  }
}

class HostTimer : public LaunchTimer {
public:
  Status start(void *) override {
    begin = Clock::now();
    if (times.empty())
      first = begin;
    return {};
  }
  Status stop(void *) override {
    times.push_back(
        {microseconds(begin - first), microseconds(Clock::now() - begin)});
    return {};
  }
  Status collect(std::vector<LaunchTime> &collected) override {
    collected.insert(collected.end(), times.begin(), times.end());
    times.clear();
    return {};
  }

private:
  using Clock = std::chrono::steady_clock;
  static double microseconds(Clock::duration time) {
    return std::chrono::duration<double, std::micro>(time).count();
  }

  Clock::time_point first, begin;
  std::vector<LaunchTime> times;
};

class HostDevice : public Device {
public:
  HostDevice(const DeviceOptions &options, unsigned numThreads)
      : shuffleSeed(options.shuffleSeed), pool(numThreads) {
    targetName = "host";
    descriptionText = "host, " + std::to_string(numThreads) +
                      (numThreads == 1 ? " thread" : " threads");
    if (options.debugMemory)
      enableDebugMemory();
  }

  Status upload(void *to, const void *from, uint64_t bytes) override {
    if (bytes)
      std::memmove(to, from, bytes);
    return {};
  }
  Status download(void *to, const void *from, uint64_t bytes) override {
    return upload(to, from, bytes);
  }

  Status loadKernel(const hk_kernel_abi &kernel, const hk_variant_abi &variant,
                    std::unique_ptr<LoadedKernel> &loaded) override;
  Status launch(const LoadedKernel &kernel, const uint64_t *words,
                const uint32_t *grid, void *stream) override;
  Status waitIdle() override { return {}; }
  std::unique_ptr<LaunchTimer> createTimer() override {
    return std::make_unique<HostTimer>();
  }
  Status copyRows(const RowCopy &copy, void *) override {
    for (uint64_t row = 0; row < copy.rows; ++row)
      std::memmove(static_cast<char *>(copy.to) + row * copy.toPitch,
                   static_cast<const char *>(copy.from) + row * copy.fromPitch,
                   copy.rowBytes);
    return {};
  }
  Status storeWords(void *to, uint32_t value, uint64_t count, void *) override {
    for (uint64_t i = 0; i < count; ++i)
      std::memcpy(static_cast<char *>(to) + i * sizeof(value), &value,
                  sizeof(value));
    return {};
  }
  Status query(void *, StreamState &state) override {
    state = StreamState::Idle;
    return {};
  }
  Status runWithin(const std::function<Status()> &call) override {
    return call();
  }

protected:
  Status allocateRaw(uint64_t bytes, void **data) override;
  Status freeRaw(void *data) override {
    std::free(data);
    return {};
  }

private:
  uint64_t shuffleSeed;
  std::atomic<uint64_t> launches{0};
  ThreadPool pool;
};

} // namespace

Status HostDevice::allocateRaw(uint64_t bytes, void **data) {
  uint64_t rounded = 0;
  bool overflows = __builtin_add_overflow(bytes, kAlignment - 1, &rounded);
  rounded = rounded / kAlignment * kAlignment;
  *data = overflows ? nullptr : std::aligned_alloc(kAlignment, rounded);
  if (!*data)
    return makeError(HK_OUT_OF_MEMORY,
                     "cannot allocate %" PRIu64 " bytes of host memory", bytes);
  return {};
}

Status HostDevice::loadKernel(const hk_kernel_abi &kernel,
                              const hk_variant_abi &variant,
                              std::unique_ptr<LoadedKernel> &loaded) {
  if (!variant.host)
    return makeError(HK_INCOMPATIBLE,
                     "kernel '%s' variant '%s' has no host function",
                     kernel.name, variant.symbol);
  auto result = std::make_unique<HostKernel>();
  result->function = variant.host;
  result->ldsBytes = variant.lds_dynamic;
  result->name = variant.symbol;
  loaded = std::move(result);
  return {};
}

Status HostDevice::launch(const LoadedKernel &loaded, const uint64_t *words,
                          const uint32_t *grid, void *) {
  const auto &kernel = static_cast<const HostKernel &>(loaded);
  uint64_t plane = uint64_t(grid[0]) * grid[1], blocks;
  if (__builtin_mul_overflow(plane, uint64_t(grid[2]), &blocks))
    return makeError(HK_INVALID_ARGUMENT,
                     "kernel '%s': a grid of %u x %u x %u blocks is too large",
                     kernel.name.c_str(), grid[0], grid[1], grid[2]);
  if (blocks == 0)
    return {};
  uint64_t seed = 0;
  if (shuffleSeed)
    // Another order every launch, the same in every run of one caller. The low
    // bit keeps it from being 0, the natural order.
    seed = (shuffleSeed + launches.fetch_add(1)) * 0x9e3779b97f4a7c15ull | 1;
  HostLaunch job{kernel,           words,       grid, BlockOrder(blocks, seed),
                 hasDebugMemory(), &threadLds()};
  uint64_t expected = kernel.blockTicks.load(std::memory_order_relaxed);
  if (blocks == 1 || (expected && expected < kInlineTicks / blocks))
    job.runBlocks(0, blocks);
  else
    pool.run(
        blocks,
        [](void *context, uint64_t begin, uint64_t end) {
          static_cast<HostLaunch *>(context)->runBlocks(begin, end);
        },
        &job);
  if (job.blocksTimed)
    kernel.blockTicks.store(
        std::max<uint64_t>(1, job.ticksUsed / job.blocksTimed),
        std::memory_order_relaxed);
  if (job.outOfMemory)
    return makeError(HK_OUT_OF_MEMORY,
                     "kernel '%s': no memory for %" PRIu64
                     " bytes of LDS on a thread",
                     kernel.name.c_str(), kernel.ldsBytes);
  if (job.ldsOverrun)
    return makeError(HK_DEVICE_ERROR,
                     "kernel '%s' wrote behind its %" PRIu64 " bytes of LDS",
                     kernel.name.c_str(), kernel.ldsBytes);
  return {};
}

Status hk::createHostDevice(const DeviceOptions &options,
                            std::unique_ptr<Device> &device) {
  unsigned numThreads = options.numThreads;
  if (numThreads == 0)
    numThreads = std::max(1u, std::thread::hardware_concurrency());
  if (numThreads > kMaxThreads)
    return makeError(HK_INVALID_ARGUMENT,
                     "host: num_threads is %u, the most is %u", numThreads,
                     kMaxThreads);
  device = std::make_unique<HostDevice>(options, numThreads);
  return {};
}
