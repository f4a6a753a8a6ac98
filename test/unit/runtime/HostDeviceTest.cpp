//===- HostDeviceTest.cpp - What only the host device has -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Opening devices, block order, debug memory, and the thread pool under many
// callers.
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include "device/host/BlockOrder.h"
#include "device/host/ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <new>
#include <numeric>
#include <thread>

/// Counts what this thread allocates, in the test and in the library.
static thread_local uint64_t allocations = 0;
void *operator new(size_t bytes) {
  ++allocations;
  if (void *data = std::malloc(bytes))
    return data;
  throw std::bad_alloc();
}
void operator delete(void *data) noexcept { std::free(data); }
void operator delete(void *data, size_t) noexcept { std::free(data); }

using namespace hk::test;

TEST(Device, IsOpenedByName) {
  Device host = openDevice("host");
  EXPECT_STREQ(hk_device_target(host.get()), "host");
  EXPECT_THAT(hk_device_description(host.get()), testing::HasSubstr("thread"));
  EXPECT_EQ(hk_device_dldevice(host.get()).device_type, kDLCPU);
  hk_device *device;
  for (const char *spec : {"", "gpu", "host:0", "hip:", "hip:x", "cuda:-1"})
    EXPECT_HK_ERROR(hk_device_open(spec, nullptr, &device), HK_INVALID_ARGUMENT,
                    "unknown device", "expected host, hip:N or cuda:N");
  EXPECT_EQ(device, nullptr);
  hk_device_options options{};
  EXPECT_HK_ERROR(hk_device_open("host", &options, &device),
                  HK_INVALID_ARGUMENT, "options.struct_bytes is 0");
  options.struct_bytes = sizeof(options);
  options.num_threads = 100000;
  EXPECT_HK_ERROR(hk_device_open("host", &options, &device),
                  HK_INVALID_ARGUMENT, "num_threads is 100000");
}

TEST(Device, AllocatesAligned) {
  Device host = openDevice("host");
  for (uint64_t bytes : {0, 1, 255, 4096}) {
    void *data = nullptr;
    ASSERT_HK_OK(hk_device_alloc(host.get(), bytes, &data));
    EXPECT_NE(data, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 256, 0u);
    hk_device_free(host.get(), data);
  }
  void *data;
  EXPECT_HK_ERROR(hk_device_alloc(host.get(), UINT64_MAX, &data),
                  HK_OUT_OF_MEMORY, "18446744073709551615 bytes");
  hk_device_free(host.get(), nullptr);
}

TEST(DebugMemory, PoisonsAndFindsOverruns) {
  hk_device_options options{};
  options.debug_memory = 1;
  Fixture fake("host", options);
  hk_device *device = fake.device.get();
  void *fresh;
  ASSERT_HK_OK(hk_device_alloc(device, 8, &fresh));
  float value;
  ASSERT_HK_OK(hk_device_download(device, &value, fresh, 4));
  EXPECT_TRUE(std::isnan(value));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(fresh) % 256, 0u);
  hk_device_free(device, fresh);

  Matrix x(device, {3, 8}), out(device, {3, 8});
  EXPECT_HK_ERROR(call(fake.function("overrun"), {&x.tensor, &out.tensor}),
                  HK_DEVICE_ERROR, "kernel 'overrunRow'",
                  "written behind the allocation of 96 bytes",
                  "byte offset 96 is 0x00, expected 0xa5");
  EXPECT_HK_ERROR(hk_device_synchronize(device), HK_DEVICE_ERROR,
                  "written behind the allocation of 96 bytes");
  EXPECT_HK_ERROR(call(fake.function("overrun_lds"), {&x.tensor, &out.tensor}),
                  HK_DEVICE_ERROR, "kernel 'overrunLds' wrote behind its 32");
}

TEST(DebugMemory, ReportsAtTheNextSynchronizeWhatFreeFound) {
  hk_device_options options{};
  options.debug_memory = 1;
  Device device = openDevice("host", options);
  void *data;
  ASSERT_HK_OK(hk_device_alloc(device.get(), 8, &data));
  static_cast<char *>(data)[-1] = 1;
  testing::internal::CaptureStderr();
  hk_device_free(device.get(), data);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("in front of the allocation of 8 bytes"));
  EXPECT_HK_ERROR(hk_device_synchronize(device.get()), HK_DEVICE_ERROR,
                  "found at free", "byte offset -1");
  EXPECT_HK_OK(hk_device_synchronize(device.get()));
  int local;
  testing::internal::CaptureStderr();
  hk_device_free(device.get(), &local);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("was not allocated by this device"));
}

TEST(DebugMemory, PoisonsLdsBeforeEveryBlock) {
  hk_device_options options{};
  options.debug_memory = 1;
  options.num_threads = 1;
  Fixture fake("host", options);
  Matrix x(fake.device.get(), {4, 8}), out(fake.device.get(), {4, 8});
  ASSERT_HK_OK(call(fake.function("trace"), {&x.tensor, &out.tensor}));
  for (int row = 0; row < 4; ++row)
    EXPECT_EQ(out.get()[row * 8 + 1], 255.0f);
}

TEST(BlockOrder, IsRandomUnderTest) {
  hk_device_options options{};
  options.num_threads = 1;
  auto run = [&](uint64_t seed) {
    options.shuffle_seed = seed;
    Fixture fake("host", options);
    Matrix x(fake.device.get(), {64, 8}), out(fake.device.get(), {64, 8});
    EXPECT_HK_OK(call(fake.function("trace"), {&x.tensor, &out.tensor}));
    std::vector<float> rows = out.get(), order;
    for (int row = 0; row < 64; ++row)
      order.push_back(rows[row * 8]);
    return order;
  };
  std::vector<float> natural = run(0), shuffled = run(7);
  EXPECT_TRUE(std::is_sorted(natural.begin(), natural.end()));
  EXPECT_FALSE(std::is_sorted(shuffled.begin(), shuffled.end()));
}

TEST(BlockOrder, IsAPermutation) {
  for (uint64_t count : {1, 2, 3, 4, 5, 17, 64, 1000, 4097})
    for (uint64_t seed : {1, 2, 99}) {
      hk::BlockOrder order(count, seed);
      std::vector<uint64_t> seen(count), expected(count);
      for (uint64_t i = 0; i < count; ++i)
        seen[i] = order(i);
      std::sort(seen.begin(), seen.end());
      std::iota(expected.begin(), expected.end(), 0);
      EXPECT_EQ(seen, expected) << count << " seed " << seed;
    }
}

TEST(HostDevice, AllocatesNothingInACall) {
  Fixture fake("host");
  hk_device *device = fake.device.get();
  Matrix x(device, {40, 8}, 1), acc(device, {40, 8}), out(device, {40, 8});
  void *workspace;
  ASSERT_HK_OK(hk_device_alloc(device, 40 * 32, &workspace));
  const DLTensor *arguments[] = {&x.tensor, &acc.tensor, &out.tensor};
  hk_call call{};
  call.struct_bytes = sizeof(call);
  call.num_arguments = 3;
  call.arguments = arguments;
  call.workspace = workspace;
  call.workspace_bytes = 40 * 32;
  const hk_function *scaled = fake.function("scaled");
  // The first call of a thread makes its tables.
  EXPECT_HK_OK(hk_function_call(scaled, &call));
  uint64_t before = allocations;
  hk_status *status = nullptr;
  for (int i = 0; i < 100 && !status; ++i)
    status = hk_function_call(scaled, &call);
  EXPECT_EQ(allocations - before, 0u);
  EXPECT_HK_OK(status);
  // The counter sees the library's allocations: a refused call makes a text.
  call.num_arguments = 2;
  before = allocations;
  status = hk_function_call(scaled, &call);
  EXPECT_GT(allocations - before, 0u);
  EXPECT_HK_ERROR(status, HK_INVALID_ARGUMENT, "takes 3 arguments, got 2");
  hk_device_free(device, workspace);
}

TEST(ThreadPool, EndsWhenItsWorkersHaveNotBegun) {
  for (int i = 0; i < 2000; ++i)
    hk::ThreadPool pool(4);
}

TEST(ThreadPool, RunsEveryItemOnceForManyCallers) {
  hk::ThreadPool pool(3);
  EXPECT_EQ(pool.numThreads(), 3u);
  struct Task {
    std::vector<std::atomic<int>> hits;
    explicit Task(size_t count) : hits(count) {}
  };
  // More callers than the pool has slots.
  std::vector<std::thread> callers;
  callers.reserve(24);
  std::atomic<int> wrong{0};
  for (int c = 0; c < 24; ++c)
    callers.emplace_back([&, c] {
      for (int round = 0; round < 100; ++round) {
        Task task((c * 31 + round * 7) % 200);
        pool.run(
            task.hits.size(),
            [](void *context, uint64_t begin, uint64_t end) {
              for (uint64_t i = begin; i < end; ++i)
                ++static_cast<Task *>(context)->hits[i];
            },
            &task);
        for (std::atomic<int> &hit : task.hits)
          wrong += hit != 1;
      }
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, HelpsWithTheRangeOfAThreadThatIsHeldUp) {
  hk::ThreadPool pool(2);
  for (int round = 0; round < 50; ++round) {
    // Whoever has the first item of the second half waits for all the others,
    // so the other thread must take what is left of that half.
    std::atomic<int> done{0};
    pool.run(
        8,
        [](void *context, uint64_t begin, uint64_t end) {
          auto &count = *static_cast<std::atomic<int> *>(context);
          for (uint64_t i = begin; i < end; ++i) {
            while (i == 4 && count < 7)
              std::this_thread::yield();
            ++count;
          }
        },
        &done);
    EXPECT_EQ(done, 8);
  }
}

TEST(ThreadPool, SharesFewItemsAmongMoreThreads) {
  hk::ThreadPool pool(5);
  for (uint64_t count = 0; count < 12; ++count) {
    std::vector<std::atomic<int>> hits(count);
    pool.run(
        count,
        [](void *context, uint64_t begin, uint64_t end) {
          for (uint64_t i = begin; i < end; ++i)
            ++(*static_cast<std::vector<std::atomic<int>> *>(context))[i];
        },
        &hits);
    for (std::atomic<int> &hit : hits)
      EXPECT_EQ(hit, 1) << count;
  }
}

TEST(ThreadPool, WakesSleepingWorkers) {
  hk::ThreadPool pool(2);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    // Both threads must be there at once for this to end.
    std::atomic<int> arrived{0};
    pool.run(
        2,
        [](void *context, uint64_t, uint64_t) {
          auto &count = *static_cast<std::atomic<int> *>(context);
          ++count;
          while (count < 2)
            std::this_thread::yield();
        },
        &arrived);
    EXPECT_EQ(arrived, 2);
  }
}
