//===- NcclEngine.cpp - Exchanges between GPUs by NCCL or RCCL ------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One communicator of the library for each axis, made without blocking: every
// function may return before it is done, and is asked again and again until it
// is, so that whoever waits can look at the other ranks and at the clock. The
// library tells nothing of a rank that has ended; ending its communicators
// frees the streams.
//
//===----------------------------------------------------------------------===//

#include "comm/Engine.h"
#include "comm/NcclApi.h"
#include "device/Device.h"

#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

using namespace hk;

namespace {

class NcclEngine final : public DeviceEngine {
public:
  NcclEngine(Device &device, DeviceEngineOptions options)
      : device(device), options(std::move(options)) {}
  ~NcclEngine() override { abort(); }

  Status start();
  Status enqueue(int64_t axis, const DeviceExchange &exchange,
                 void *stream) override;
  void abort() override;

private:
  struct Group {
    NcclComm comm = nullptr;
    bool isOwn = false;
  };

  Status startGroup(size_t axis);
  Status adopt(const DeviceAxis &axis);
  Status warmUp(int64_t axis);
  Status settle(int64_t axis, const char *what);
  NcclResult begin(const DeviceAxis &axis, const Group &group,
                   const DeviceExchange &exchange, void *stream) const;
  NcclResult exchangeParts(const DeviceAxis &axis, const Group &group,
                           const DeviceExchange &exchange, void *stream) const;

  /// Lives as long as a thread that aborts.
  std::shared_ptr<NcclApi> library = std::make_shared<NcclApi>();
  NcclApi &api = *library;
  Device &device;
  DeviceEngineOptions options;
  std::mutex mutex; // of what follows, and of calls of the library
  std::vector<Group> groups;
  bool isAborted = false;
};

NcclType typeOf(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return NcclType::F32;
  case DType::BF16:
    return NcclType::BF16;
  case DType::F16:
    return NcclType::F16;
  case DType::I64:
    return NcclType::Int64;
  case DType::I32:
    return NcclType::Int32;
  default:
    return NcclType::Int8;
  }
}

NcclReduction reductionOf(hk_collective_reduction reduction) {
  return reduction == HK_COLLECTIVE_MAX   ? NcclReduction::Max
         : reduction == HK_COLLECTIVE_MIN ? NcclReduction::Min
                                          : NcclReduction::Sum;
}

const char *nameOf(DeviceExchange::Kind kind) {
  constexpr const char *names[] = {"ncclAllReduce", "ncclReduceScatter",
                                   "ncclAllGather", "ncclSend",
                                   "ncclBroadcast"};
  return names[int(kind)];
}

} // namespace

/// The library frees streams at once, but comes back when the graphs that it is
/// in are destroyed, which may be never: whoever aborts does not wait for that.
static constexpr std::chrono::milliseconds kAbortWait{2000};

void NcclEngine::abort() {
  std::lock_guard<std::mutex> lock(mutex);
  if (isAborted)
    return;
  isAborted = true;
  std::vector<std::future<void>> ends;
  for (Group &group : groups) {
    if (!group.isOwn || !group.comm)
      continue;
    // The library makes the device current by itself.
    std::packaged_task<void()> end([kept = library, comm = group.comm] {
      (void)kept->ncclCommAbort(comm);
    });
    ends.push_back(end.get_future());
    std::thread(std::move(end)).detach();
  }
  auto until = std::chrono::steady_clock::now() + kAbortWait;
  for (std::future<void> &end : ends)
    (void)end.wait_until(until);
}

/// Waits until the library is done with what it was asked, not with what it
/// put on streams.
Status NcclEngine::settle(int64_t axis, const char *what) {
  auto end = std::chrono::steady_clock::now() +
             std::chrono::milliseconds(options.timeoutMs);
  constexpr int kSpins = 1000;
  for (int idle = 0;; ++idle) {
    NcclResult state = NcclResult::Success, result = NcclResult::Success;
    bool isOver = false;
    {
      std::lock_guard<std::mutex> lock(mutex);
      isOver = isAborted;
      if (!isOver)
        result = api.ncclCommGetAsyncError(groups[axis].comm, &state);
    }
    if (Status error = api.check(result, "ncclCommGetAsyncError"))
      return error;
    if (Status error = api.check(state, what))
      return error;
    if (isOver || idle >= kSpins)
      if (Status error = options.check())
        return error;
    if (state == NcclResult::Success)
      return {};
    if (idle < kSpins)
      continue;
    if (std::chrono::steady_clock::now() > end)
      return makeError(HK_TIMEOUT,
                       "%s over axis '%s' has not begun within %u ms: some "
                       "rank has not come; do all still run, and make the "
                       "same calls?",
                       what, options.axes[axis].name.c_str(),
                       options.timeoutMs);
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

/// The caller's communicator must be the axis'.
Status NcclEngine::adopt(const DeviceAxis &axis) {
  int count = 0, place = 0;
  if (Status error =
          api.check(api.ncclCommCount(axis.native, &count), "ncclCommCount"))
    return error;
  if (Status error = api.check(api.ncclCommUserRank(axis.native, &place),
                               "ncclCommUserRank"))
    return error;
  if (count == axis.numRanks && place == axis.place)
    return {};
  return makeError(HK_INVALID_ARGUMENT,
                   "expected the communicator in options.native for axis '%s' "
                   "to be of place %lld of %lld, but it is of place %d of %d",
                   axis.name.c_str(), static_cast<long long>(axis.place),
                   static_cast<long long>(axis.numRanks), place, count);
}

Status NcclEngine::startGroup(size_t index) {
  const DeviceAxis &axis = options.axes[index];
  if (axis.numRanks == 1 && !axis.native)
    return {};
  if (axis.native) {
    groups[index].comm = axis.native;
    return adopt(axis);
  }
  // The first rank's library makes the name; what it says goes to all.
  struct {
    NcclUniqueId id;
    int version;
  } first{}, own{};
  if (Status error =
          api.check(api.ncclGetVersion(&own.version), "ncclGetVersion"))
    return error;
  first.version = own.version;
  if (axis.place == 0)
    if (Status error =
            api.check(api.ncclGetUniqueId(&first.id), "ncclGetUniqueId"))
      return error;
  if (Status error = axis.spread(&first, sizeof(first)))
    return error;
  if (first.version != own.version)
    return makeError(HK_INCOMPATIBLE,
                     "'%s' is of version %d here, of %d on the first rank of "
                     "axis '%s'; all ranks have to use the same one",
                     api.library.name().c_str(), own.version, first.version,
                     axis.name.c_str());
  NcclConfig config;
  {
    std::lock_guard<std::mutex> lock(mutex);
    NcclResult result =
        api.ncclCommInitRankConfig(&groups[index].comm, int(axis.numRanks),
                                   first.id, int(axis.place), &config);
    groups[index].isOwn = true;
    if (Status error = api.check(result, "ncclCommInitRankConfig"))
      return error;
  }
  return settle(int64_t(index), "ncclCommInitRankConfig");
}

/// Connections are made at first use, which a captured graph must not be.
Status NcclEngine::warmUp(int64_t index) {
  if (!groups[index].comm)
    return {};
  const DeviceAxis &axis = options.axes[index];
  void *memory = nullptr;
  constexpr uint64_t kBytes = 256;
  if (Status error = device.allocate(2 * kBytes * axis.numRanks, &memory))
    return error;
  auto *to = static_cast<char *>(memory) + kBytes * axis.numRanks;
  std::vector<char> zeros(kBytes * axis.numRanks);
  Status error = device.upload(memory, zeros.data(), zeros.size());
  using Kind = DeviceExchange::Kind;
  for (Kind kind : {Kind::AllReduce, Kind::ReduceScatter, Kind::AllGather,
                    Kind::AllToAll, Kind::Broadcast})
    if (!error)
      error = enqueue(
          index,
          {kind, memory, to, kBytes / 4, DType::F32, HK_COLLECTIVE_SUM, 0},
          nullptr);
  auto end = std::chrono::steady_clock::now() +
             std::chrono::milliseconds(options.timeoutMs);
  for (StreamState state = StreamState::Busy;
       !error && state != StreamState::Idle;
       std::this_thread::sleep_for(std::chrono::microseconds(100))) {
    error = device.query(nullptr, state);
    if (!error)
      error = options.check();
    if (!error && std::chrono::steady_clock::now() > end)
      error = makeError(HK_TIMEOUT,
                        "the first exchanges over axis '%s' have not ended "
                        "within %u ms",
                        axis.name.c_str(), options.timeoutMs);
  }
  if (error)
    abort(); // before the memory goes
  device.deallocate(memory);
  return error;
}

Status NcclEngine::start() {
  if (Status error = api.load(device.dlDevice().device_type == kDLROCM))
    return error;
  groups.resize(options.axes.size());
  for (size_t axis = 0; axis < groups.size(); ++axis)
    if (Status error = device.runWithin([&] { return startGroup(axis); }))
      return error;
  for (size_t axis = 0; axis < groups.size(); ++axis)
    if (Status error = warmUp(int64_t(axis)))
      return error;
  return {};
}

NcclResult NcclEngine::exchangeParts(const DeviceAxis &axis, const Group &group,
                                     const DeviceExchange &exchange,
                                     void *stream) const {
  uint64_t bytes = exchange.count * info(exchange.dtype).bits / 8;
  NcclResult result = api.ncclGroupStart();
  for (int64_t place = 0; place < axis.numRanks; ++place) {
    if (result == NcclResult::Success)
      result =
          api.ncclSend(static_cast<const char *>(exchange.from) + place * bytes,
                       bytes, NcclType::UInt8, int(place), group.comm, stream);
    if (result == NcclResult::Success || result == NcclResult::InProgress)
      result =
          api.ncclRecv(static_cast<char *>(exchange.to) + place * bytes, bytes,
                       NcclType::UInt8, int(place), group.comm, stream);
    if (result == NcclResult::InProgress)
      result = NcclResult::Success;
  }
  NcclResult ended = api.ncclGroupEnd();
  return result == NcclResult::Success ? ended : result;
}

NcclResult NcclEngine::begin(const DeviceAxis &axis, const Group &group,
                             const DeviceExchange &exchange,
                             void *stream) const {
  using Kind = DeviceExchange::Kind;
  const void *from = exchange.from;
  void *to = exchange.to;
  uint64_t count = exchange.count;
  uint64_t bytes = count * info(exchange.dtype).bits / 8;
  NcclType type = typeOf(exchange.dtype);
  NcclReduction reduction = reductionOf(exchange.reduction);
  switch (exchange.kind) {
  case Kind::AllReduce:
    return api.ncclAllReduce(from, to, count, type, reduction, group.comm,
                             stream);
  case Kind::ReduceScatter:
    return api.ncclReduceScatter(from, to, count, type, reduction, group.comm,
                                 stream);
  case Kind::AllGather:
    return api.ncclAllGather(from, to, bytes, NcclType::UInt8, group.comm,
                             stream);
  case Kind::AllToAll:
    return exchangeParts(axis, group, exchange, stream);
  case Kind::Broadcast:
    return api.ncclBroadcast(from, to, bytes, NcclType::UInt8,
                             int(exchange.root), group.comm, stream);
  }
  return NcclResult::Success;
}

Status NcclEngine::enqueue(int64_t axis, const DeviceExchange &exchange,
                           void *stream) {
  const char *name = nameOf(exchange.kind);
  return device.runWithin([&]() -> Status {
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (!isAborted) // else what waits for it says why
        if (Status error = api.check(
                begin(options.axes[axis], groups[axis], exchange, stream),
                name))
          return error;
    }
    return settle(axis, name);
  });
}

Status hk::createNcclEngine(Device &device, DeviceEngineOptions options,
                            std::unique_ptr<DeviceEngine> &engine) {
  auto made = std::make_unique<NcclEngine>(device, std::move(options));
  if (Status error = made->start())
    return error;
  engine = std::move(made);
  return {};
}
