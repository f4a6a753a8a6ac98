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
// A thread gets a range of items that follow each other, as what is asked for
// ahead of one is then the thread's own next one, and helps with other ranges
// when its own is used up. Cores that share no cache pass a line in a quarter
// of a microsecond: a worker polls one that is written last, and what it needs
// to begin lies in few others.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_DEVICE_HOST_THREADPOOL_H
#define HK_RUNTIME_DEVICE_HOST_THREADPOOL_H

#include <atomic>
#include <cstdint>
#include <memory>
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

  unsigned numThreads() const { return threads; }

  /// Runs body over all of [0, count), on the calling thread and on workers
  /// that are free, and returns when all of it is done.
  void run(uint64_t count, Body body, void *context);

private:
  /// What is left of a thread's share of a job; any thread may take from it.
  struct alignas(64) Range {
    std::atomic<uint64_t> next{0};
    uint64_t end = 0;
  };

  /// Where workers find a job. A worker holds the slot (users) before it looks
  /// at `body`, and the caller clears `body` and then waits for users to leave,
  /// so that no worker touches a job after run() has returned.
  struct alignas(64) Slot {
    std::atomic<Body> body{nullptr};
    std::atomic<void *> context{nullptr};
    /// One for each thread; the caller's is the first.
    std::unique_ptr<Range[]> ranges;
    std::atomic<uint32_t> users{0};
    std::atomic<uint32_t> callerSleeps{0};
    /// Of the job: a worker that left it has nothing to look for in it.
    std::atomic<uint32_t> number{0};
  };

  unsigned takeSlot();
  void fillRanges(Slot &slot, uint64_t count) const;
  bool work(Slot &slot, unsigned self, Body body) const;
  static void waitForUsers(Slot &slot);
  void workerLoop(unsigned self);
  bool workOnce(unsigned self, uint32_t *left);
  void stop();

  static constexpr unsigned kSlots = 16;
  Slot slots[kSlots];
  /// Counts submitted jobs; workers sleep on it.
  alignas(64) std::atomic<uint32_t> epoch{0};
  /// Which slots have a caller; workers do not look.
  alignas(64) std::atomic<bool> taken[kSlots] = {};
  alignas(64) std::atomic<uint32_t> sleepers{0};
  std::atomic<bool> stopping{false};
  unsigned threads;
  bool maySpin;
  std::vector<std::thread> workers;
};

} // namespace hk

#endif // HK_RUNTIME_DEVICE_HOST_THREADPOOL_H
