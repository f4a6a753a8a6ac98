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
    : threads(numThreads),
      maySpin(numThreads <= std::thread::hardware_concurrency()) {
  try {
    for (Slot &slot : slots)
      slot.ranges = std::make_unique<Range[]>(numThreads);
    for (unsigned i = 1; i < numThreads; ++i)
      workers.emplace_back([this, i] { workerLoop(i); });
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

/// Shares out `count` items; the first ranges have one more.
void ThreadPool::fillRanges(Slot &slot, uint64_t count) const {
  uint64_t each = count / threads, more = count % threads, begin = 0;
  for (unsigned i = 0; i < threads; ++i) {
    slot.ranges[i].next.store(begin, std::memory_order_relaxed);
    begin += each + (i < more);
    slot.ranges[i].end = begin;
  }
}

/// Thread `self` works on its range, then on the others; whether it had
/// anything to do.
bool ThreadPool::work(Slot &slot, unsigned self, Body body) const {
  // A share of what is left: few handovers, and the threads end together
  // though the last blocks may be the longest (causal attention).
  constexpr uint64_t shares = 4;
  void *context = slot.context.load(std::memory_order_relaxed);
  bool worked = false;
  for (unsigned i = 0; i < threads; ++i) {
    unsigned at = self + i;
    Range &range = slot.ranges[at < threads ? at : at - threads];
    uint64_t seen = range.next.load(std::memory_order_relaxed);
    while (seen < range.end) {
      uint64_t chunk = std::max<uint64_t>(1, (range.end - seen) / shares);
      uint64_t begin = range.next.fetch_add(chunk, std::memory_order_relaxed);
      seen = std::min(begin + chunk, range.end);
      if (begin < seen) {
        body(context, begin, seen);
        worked = true;
      }
    }
  }
  return worked;
}

/// The number of a free slot; kSlots if there is none.
unsigned ThreadPool::takeSlot() {
  for (unsigned i = 0; i < kSlots; ++i) {
    bool is = false;
    if (!taken[i].load(std::memory_order_relaxed) &&
        taken[i].compare_exchange_strong(is, true))
      return i;
  }
  return kSlots;
}

void ThreadPool::run(uint64_t count, Body body, void *context) {
  unsigned at = count > 1 && threads > 1 ? takeSlot() : kSlots;
  if (at == kSlots) {
    if (count)
      body(context, 0, count);
    return;
  }
  Slot &slot = slots[at];
  fillRanges(slot, count);
  slot.context.store(context, std::memory_order_relaxed);
  slot.number.store(slot.number.load(std::memory_order_relaxed) + 1,
                    std::memory_order_relaxed);
  slot.body.store(body, std::memory_order_release);
  epoch.fetch_add(1);
  if (sleepers.load() != 0)
    futexWakeAll(epoch);
  work(slot, 0, body);
  slot.body.store(nullptr);
  waitForUsers(slot);
  taken[at].store(false, std::memory_order_release);
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

/// Helps with every job that `self` has not left, by the number of the last one
/// it left in each slot; true when there was something to do.
bool ThreadPool::workOnce(unsigned self, uint32_t *left) {
  bool worked = false;
  // Those of the slot that most jobs take, both at once.
  __builtin_prefetch(&slots[0], 1);
  __builtin_prefetch(&slots[0].ranges[self], 1);
  for (unsigned i = 0; i < kSlots; ++i) {
    Slot &slot = slots[i];
    if (!slot.body.load(std::memory_order_relaxed) ||
        slot.number.load(std::memory_order_relaxed) == left[i])
      continue;
    // On its way while the slot is taken hold of.
    __builtin_prefetch(slot.context.load(std::memory_order_relaxed));
    slot.users.fetch_add(1);
    if (Body body = slot.body.load()) {
      left[i] = slot.number.load(std::memory_order_relaxed);
      worked |= work(slot, self, body);
    }
    if (slot.users.fetch_sub(1) == 1 && slot.callerSleeps.load())
      futexWakeAll(slot.users);
  }
  return worked;
}

void ThreadPool::workerLoop(unsigned self) {
  uint32_t left[kSlots] = {};
  for (;;) {
    // In this order: whoever stops the pool sets `stopping` before `epoch`
    // changes, so a worker that missed the one does not sleep on the other.
    uint32_t seen = epoch.load();
    if (stopping)
      return;
    if (workOnce(self, left))
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
