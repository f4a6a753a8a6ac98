//===- ThreadPool.cpp - Threads that share out the blocks of a launch -----===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The orderings that matter are sequentially consistent on purpose: "publish,
// then look whether anybody sleeps" against "announce sleep, then look whether
// anything was published", and the same for a slot's job and users.
//
//===----------------------------------------------------------------------===//

#include "device/host/ThreadPool.h"

#include <algorithm>
#include <chrono>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace hk;

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kWorkerSpin = std::chrono::microseconds(50);
constexpr auto kCallerSpin = std::chrono::microseconds(30);

void futexWait(std::atomic<uint32_t> &word, uint32_t expected) {
  static_assert(sizeof(word) == sizeof(uint32_t));
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAIT_PRIVATE,
          expected, nullptr, nullptr, 0);
}

void futexWakeAll(std::atomic<uint32_t> &word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAKE_PRIVATE,
          INT32_MAX, nullptr, nullptr, 0);
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Polls `ready` for up to `limit`; true when it became true.
template <typename Ready>
bool spinUntil(std::chrono::microseconds limit, Ready ready) {
  Clock::time_point end = Clock::now() + limit;
  do {
    for (int i = 0; i < 32; ++i) {
      if (ready())
        return true;
      relax();
    }
  } while (Clock::now() < end);
  return ready();
}

} // namespace

ThreadPool::ThreadPool(unsigned numThreads)
    // With more threads than processors a spinning thread only keeps another
    // one from its work.
    : maySpin(numThreads <= std::thread::hardware_concurrency()) {
  try {
    for (unsigned i = 1; i < numThreads; ++i)
      workers.emplace_back([this] { workerLoop(); });
  } catch (...) {
    stop();
    throw;
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  stopping = true;
  epoch.fetch_add(1);
  futexWakeAll(epoch);
  for (std::thread &worker : workers)
    worker.join();
  workers.clear();
}

void ThreadPool::Job::work() {
  for (uint64_t seen = 0;;) {
    // A share of what is left: few handovers, and the threads end together
    // though the last blocks may be the longest (causal attention). What is
    // left is taken from this thread's last chunk: to ask costs as much as a
    // handover, and a chunk that is too large is not wrong.
    uint64_t chunk = std::max<uint64_t>(1, (count - seen) / shares);
    uint64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
    if (begin >= count)
      return;
    seen = std::min(begin + chunk, count);
    body(context, begin, seen);
  }
}

ThreadPool::Slot *ThreadPool::takeSlot() {
  for (Slot &slot : slots) {
    bool taken = false;
    if (!slot.taken.load(std::memory_order_relaxed) &&
        slot.taken.compare_exchange_strong(taken, true))
      return &slot;
  }
  return nullptr;
}

void ThreadPool::run(uint64_t count, Body body, void *context) {
  Slot *slot = count > 1 && !workers.empty() ? takeSlot() : nullptr;
  if (!slot) {
    if (count)
      body(context, 0, count);
    return;
  }
  Job job{body, context, count, 4 * numThreads()};
  slot->job.store(&job);
  epoch.fetch_add(1);
  if (sleepers.load() != 0)
    futexWakeAll(epoch);
  job.work();
  slot->job.store(nullptr);
  waitForUsers(*slot);
  slot->taken.store(false, std::memory_order_release);
}

void ThreadPool::waitForUsers(Slot &slot) {
  auto done = [&] { return slot.users.load() == 0; };
  if (spinUntil(kCallerSpin, done))
    return;
  slot.callerSleeps.store(1);
  while (uint32_t users = slot.users.load())
    futexWait(slot.users, users);
  slot.callerSleeps.store(0);
}

/// Helps with every job there is; true when there was one.
bool ThreadPool::workOnce() {
  bool worked = false;
  for (Slot &slot : slots) {
    if (!slot.job.load(std::memory_order_relaxed))
      continue;
    slot.users.fetch_add(1);
    if (Job *job = slot.job.load()) {
      worked |= job->next.load(std::memory_order_relaxed) < job->count;
      job->work();
    }
    if (slot.users.fetch_sub(1) == 1 && slot.callerSleeps.load())
      futexWakeAll(slot.users);
  }
  return worked;
}

void ThreadPool::workerLoop() {
  for (;;) {
    // In this order: whoever stops the pool sets `stopping` before `epoch`
    // changes, so a worker that missed the one does not sleep on the other.
    uint32_t seen = epoch.load();
    if (stopping)
      return;
    if (workOnce())
      continue;
    auto changed = [&] { return epoch.load() != seen; };
    if (maySpin && spinUntil(kWorkerSpin, changed))
      continue;
    sleepers.fetch_add(1);
    if (!changed())
      futexWait(epoch, seen);
    sleepers.fetch_sub(1);
  }
}
