//===- Watch.cpp - Ranks whose devices exchange tensors -------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the communicator does where tensors go from device to device: it tells
// of calls, and looks at those of the other ranks, by itself and whenever it is
// asked.
//
//===----------------------------------------------------------------------===//

#include "comm/CommunicatorMemory.h"

#include <cstring>

using namespace hk;

/// How often the watcher looks. What ranks have told has to fit in the engine's
/// memory in between, or waits at the sender.
static constexpr std::chrono::milliseconds kWatchEvery{20};

/// An error where a rank did not come to a call of this one, or to another.
Status Communicator::checkCalls() {
  CallLog &calls = *memory->calls;
  if (Status error = calls.read())
    return error;
  Clock::time_point now = Clock::now();
  for (int64_t peer = 0; peer < engine->numRanks(); ++peer) {
    const CallLog::Call *call = calls.missedBy(peer);
    if (!call)
      continue;
    if (memory->left[peer])
      return gone(peer, call->text);
    if (now - call->when > std::chrono::milliseconds(timeoutMs))
      return makeError(HK_TIMEOUT,
                       "rank %lld has not come to %s within %u ms, where rank "
                       "%lld waits; does it still run, and does it make the "
                       "same calls?",
                       static_cast<long long>(peer), call->text.c_str(),
                       timeoutMs, static_cast<long long>(engine->rank()));
  }
  return {};
}

/// What a rank told before it left has been read when its calls are looked at.
Status Communicator::lookAround() {
  if (Status error = readOthers())
    return error;
  return checkCalls();
}

void Communicator::watch() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!stopsWatching.wait_for(lock, kWatchEvery, [&] {
    return isStopping;
  }) && brokenCode == HK_OK)
    // Kept for whoever asks.
    (void)keep(lookAround()).release();
}

void Communicator::stopWatching() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isStopping = true;
  }
  stopsWatching.notify_all();
  if (watcher.joinable())
    watcher.join();
}

Status Communicator::openDevice(Device &opened,
                                const std::vector<void *> &natives) {
  device = &opened;
  DeviceEngineOptions options;
  options.timeoutMs = timeoutMs;
  options.check = [this] { return check(); };
  for (size_t axis = 0; axis < ranks.axes().size(); ++axis) {
    const std::string &name = ranks.axes()[axis].name;
    RankLine line = lineOf(name.c_str());
    int64_t count = line.ranks.size();
    // The first one's bytes to all others.
    auto spread = [this, line, count, name](void *data,
                                            uint64_t bytes) -> Status {
      Traffic traffic{bytes,
                      std::vector<int64_t>(count, line.place == 0 ? 0 : -1),
                      std::vector<int64_t>(count, -1)};
      traffic.receiveAt[0] = 0;
      auto *at = static_cast<char *>(data);
      return exchange(
          line, {0, "the ranks of axis '" + name + "'"}, traffic, bytes, bytes,
          [&](char *sent, char *received) {
            std::memcpy(sent, at, bytes);
            std::memcpy(received, at, bytes);
          },
          [&](const char *received) { std::memcpy(at, received, bytes); });
    };
    options.axes.push_back({name, line.place, count, spread,
                            natives.empty() ? nullptr : natives[axis]});
  }
  std::unique_ptr<DeviceEngine> made;
  if (Status error = createNcclEngine(opened, std::move(options), made))
    return error;
  std::lock_guard<std::mutex> lock(mutex);
  if (Status error = kept())
    return error;
  onDevice = std::move(made);
  watcher = std::thread([this] { watch(); });
  return {};
}

/// Gives every rank the handles of all.
Status Communicator::spreadHandle(const SharedHandle &own,
                                  const std::string &text,
                                  std::vector<SharedHandle> &handles) {
  RankLine line = everyone();
  constexpr uint64_t kBytes = sizeof(SharedHandle);
  handles.resize(line.ranks.size());
  Traffic traffic{kBytes, std::vector<int64_t>(line.ranks.size(), 0), {}};
  for (size_t place = 0; place < line.ranks.size(); ++place)
    traffic.receiveAt.push_back(int64_t(place * kBytes));
  uint64_t all = handles.size() * kBytes;
  return exchange(
      line, {0, text}, traffic, kBytes, all,
      [&](char *sent, char *) { std::memcpy(sent, &own, kBytes); },
      [&](const char *received) {
        std::memcpy(handles.data(), received, all);
      });
}

Status Communicator::openWindow(uint64_t bytes) {
  std::string text =
      "hk_comm_open with options.shared_bytes of " + std::to_string(bytes);
  auto made = std::make_unique<Window>(*device, ranks, engine->rank());
  if (Status error = made->allocate(bytes))
    return addContext(std::move(error), text);
  std::vector<SharedHandle> handles;
  if (Status error = spreadHandle(made->handle(), text, handles))
    return error;
  // From here on others may write into it: after an error it stays.
  Window &window = *made.release();
  if (Status error = window.map(handles))
    return addContext(std::move(error),
                      text + " (ranks of one machine share memory)");
  if (Status error = window.greet())
    return addContext(std::move(error), text);
  if (Status error = meet({0, text + ", mapped"}))
    return error;
  if (Status error = window.checkGreetings())
    return addContext(std::move(error), text);
  std::lock_guard<std::mutex> lock(mutex);
  if (Status error = kept())
    return error;
  shared.reset(&window);
  return {};
}

Status Communicator::beginCall(const std::string &what) {
  std::lock_guard<std::mutex> lock(mutex);
  if (Status error = kept())
    return error;
  return keep(memory->calls->add(what));
}

Status Communicator::wait(Device &waited, void *stream, uint32_t limitMs) {
  Clock::time_point end = Clock::now() + std::chrono::milliseconds(limitMs);
  constexpr int kYields = 5000;
  for (int idle = 0;; ++idle) {
    if (Status error = check())
      return error;
    StreamState state = StreamState::Idle;
    if (Status error = waited.query(stream, state))
      return error;
    if (state == StreamState::Capturing)
      return makeError(HK_INVALID_ARGUMENT,
                       "hk_comm_wait: the stream is captured; wait where the "
                       "graph is launched");
    bool agree = true;
    {
      std::lock_guard<std::mutex> lock(mutex);
      for (int64_t peer = 0; peer < engine->numRanks(); ++peer)
        agree &= memory->calls->missedBy(peer) == nullptr;
    }
    if (state == StreamState::Idle && agree)
      return {};
    if (Clock::now() > end) {
      std::lock_guard<std::mutex> lock(mutex);
      return keep(makeError(
          HK_TIMEOUT, "the stream of rank %lld is not done within %u ms%s",
          static_cast<long long>(engine->rank()), limitMs,
          agree ? "; all ranks have made the same calls, so it waits for a "
                  "graph that not all have launched, or just takes longer"
                : ", and not all ranks have made its calls"));
    }
    if (idle < kYields)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

Status Communicator::deviceMemory(uint64_t bytes, bool capturing, void **data) {
  std::lock_guard<std::mutex> lock(mutex);
  if (bytes > deviceBytes) {
    if (capturing)
      return makeError(HK_INVALID_ARGUMENT,
                       "an exchange needs %llu bytes more than there are, and "
                       "nothing is allocated while a graph is captured; make "
                       "the same call once before",
                       static_cast<unsigned long long>(bytes - deviceBytes));
    // What is enqueued still uses the block before.
    void *block = nullptr;
    if (Status error = device->allocate(bytes, &block))
      return error;
    deviceBlocks.push_back(block);
    deviceBytes = bytes;
  }
  *data = deviceBlocks.empty() ? nullptr : deviceBlocks.back();
  return {};
}
