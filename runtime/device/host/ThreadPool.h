//===- ThreadPool.h - Threads that share out a launch -----------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Built for launches of a few microseconds: idle workers spin for a moment
// before they sleep, the caller works too, and starting a job takes no lock and
// no allocation. Any number of threads may run jobs at once.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_DEVICE_HOST_THREADPOOL_H
#define HK_RUNTIME_DEVICE_HOST_THREADPOOL_H

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace hk {

class ThreadPool {
public:
  /// Works on the items [begin, end) of a job.
  using Body = void (*)(void *context, uint64_t begin, uint64_t end);

  /// `numThreads` >= 1 counts the thread that calls run().
  explicit ThreadPool(unsigned numThreads);
  ~ThreadPool();

  unsigned numThreads() const { return workers.size() + 1; }

  /// Runs body over all of [0, count), on the calling thread and on workers
  /// that are free, and returns when all of it is done.
  void run(uint64_t count, Body body, void *context);

private:
  struct Job {
    Body body;
    void *context;
    uint64_t count;
    /// A chunk is so much of what is left.
    uint64_t shares;
    std::atomic<uint64_t> next{0};

    void work();
  };

  /// A job lives on its caller's stack; a slot is how workers find it. A worker
  /// holds the slot (users) before it looks at `job`, and the caller clears
  /// `job` and then waits for users to leave, so that no worker touches a job
  /// after run() has returned.
  struct alignas(64) Slot {
    std::atomic<Job *> job{nullptr};
    std::atomic<uint32_t> users{0};
    std::atomic<uint32_t> callerSleeps{0};
    std::atomic<bool> taken{false};
  };

  Slot *takeSlot();
  static void waitForUsers(Slot &slot);
  void workerLoop();
  bool workOnce();
  void stop();

  static constexpr unsigned kSlots = 16;
  Slot slots[kSlots];
  /// Counts submitted jobs; workers sleep on it.
  alignas(64) std::atomic<uint32_t> epoch{0};
  alignas(64) std::atomic<uint32_t> sleepers{0};
  std::atomic<bool> stopping{false};
  bool maySpin;
  std::vector<std::thread> workers;
};

} // namespace hk

#endif // HK_RUNTIME_DEVICE_HOST_THREADPOOL_H
