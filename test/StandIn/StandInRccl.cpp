//===- StandInRccl.cpp - What hk calls of RCCL, without GPUs --------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For tests: ranks are processes whose emulated devices (HK_HIP_LIBRARY) have
// memory of their own, and exchange tensors by a mapped file. As in RCCL
// nothing blocks, a rank that does not come is never an error, and sizes that
// differ are noticed by nobody: such an exchange just never ends. Sums go
// around a ring, rounded at each step. Streams are done when a function is, so
// every function is in progress until all ranks have come. On a stream that is
// captured an exchange is a host function of the graph, which waits for the
// other ranks whenever the graph is launched. As in NCCL, aborting frees
// streams at once and comes back when the graphs are destroyed, here never.
//
//   HK_STANDIN_RCCL=KIND:N   what the N-th exchange of the process does,
//   counted
//                            from 1
//     error   fails
//     die     ends the process
//     stall   never ends
//   HK_STANDIN_RCCL=version:V  the version of the library
//
//===----------------------------------------------------------------------===//

#include "comm/NcclApi.h"
#include "comm/Reduce.h"
#include "device/hip/HipApi.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace hk;

#define STANDIN extern "C" __attribute__((visibility("default")))

namespace {
constexpr int kMostRanks = 8;
/// Of what one rank sends in one exchange; the file has holes.
constexpr size_t kAreaBytes = size_t(1) << 28;
constexpr NcclResult kFailed{1}, kInvalid{4};

enum class Kind : uint32_t {
  AllReduce,
  ReduceScatter,
  AllGather,
  Broadcast,
  Parts
};

/// What ranks have to agree on.
struct Step {
  Kind kind = Kind::Parts;
  NcclType type = NcclType::UInt8;
  NcclReduction reduction = NcclReduction::Sum;
  int root = 0;
  uint64_t count = 0;
};

struct Place {
  std::atomic<uint64_t> joined, published, taken; // numbers of exchanges
  Step step;
};

struct Shared {
  Place places[kMostRanks];
  alignas(4096) char areas[]; // kAreaBytes for each rank
};

/// One part of a group.
struct Part {
  bool sends;
  const void *from;
  void *to;
  size_t bytes;
  int peer;
};

struct Comm {
  int rank = 0, numRanks = 0, file = -1;
  Shared *shared = nullptr;
  bool ready = false, stalls = false, busy = false, published = false;
  uint64_t number = 0; // of the exchange under way, or the last one
  Step step;
  const void *from = nullptr;
  void *to = nullptr;
  std::vector<Part> parts;

  char *area(int of) const { return shared->areas + of * kAreaBytes; }
  size_t partRoom() const { return kAreaBytes / numRanks; }
  std::vector<std::unique_ptr<struct Captured>> captured; // of graphs
  std::mutex running; // held by a host function of a graph
  std::atomic<bool> aborted{false};
  NcclResult progress();
  NcclResult begin(const Step &next, const void *source, void *target);
  NcclResult enqueue(const Step &next, const void *source, void *target,
                     void *stream);

private:
  bool all(std::atomic<uint64_t> Place::*counter, uint64_t least) const;
  bool agree() const;
  void publish();
  void take();
};

/// An exchange of a graph.
struct Captured {
  Comm *comm;
  Step step;
  const void *from;
  void *to;
  std::vector<Part> parts;
};

struct Fault {
  std::string kind;
  long number = 0;
};
const Fault &fault() {
  static const Fault value = [] {
    Fault read;
    const char *text = std::getenv("HK_STANDIN_RCCL");
    std::string all = text ? text : "";
    size_t colon = all.find(':');
    if (colon != all.npos)
      read = {all.substr(0, colon),
              std::strtol(all.c_str() + colon + 1, nullptr, 10)};
    return read;
  }();
  return value;
}

HipApi &hip() {
  static HipApi api;
  static bool loaded = [] {
    if (Status error = api.load()) {
      std::fprintf(stderr, "stand-in for RCCL: %s\n", error.message());
      std::abort();
    }
    return true;
  }();
  (void)loaded;
  return api;
}

void download(void *to, const void *from, size_t bytes) {
  if (bytes)
    (void)hip().hipMemcpy(to, from, bytes, HipCopy::DeviceToHost);
}
void upload(void *to, const void *from, size_t bytes) {
  if (bytes)
    (void)hip().hipMemcpy(to, from, bytes, HipCopy::HostToDevice);
}

DType dtypeOf(NcclType type) {
  switch (type) {
  case NcclType::F16:
    return DType::F16;
  case NcclType::F32:
    return DType::F32;
  case NcclType::BF16:
    return DType::BF16;
  case NcclType::Int64:
    return DType::I64;
  case NcclType::Int32:
    return DType::I32;
  default:
    return DType::I8;
  }
}
size_t bytesOf(NcclType type) { return info(dtypeOf(type)).bits / 8; }

hk_collective_reduction reductionOf(NcclReduction reduction) {
  return reduction == NcclReduction::Max   ? HK_COLLECTIVE_MAX
         : reduction == NcclReduction::Min ? HK_COLLECTIVE_MIN
                                           : HK_COLLECTIVE_SUM;
}

thread_local int groupDepth = 0;
thread_local Comm *groupComm = nullptr;
thread_local void *groupStream = nullptr;
} // namespace

bool Comm::all(std::atomic<uint64_t> Place::*counter, uint64_t least) const {
  for (int r = 0; r < numRanks; ++r)
    if (shared->places[r].*counter < least)
      return false;
  return true;
}

bool Comm::agree() const {
  for (int r = 0; r < numRanks; ++r) {
    const Step &other = shared->places[r].step;
    if (shared->places[r].published != number || other.kind != step.kind ||
        other.type != step.type || other.count != step.count ||
        other.reduction != step.reduction || other.root != step.root)
      return false;
  }
  return true;
}

void Comm::publish() {
  size_t item = bytesOf(step.type);
  if (step.kind == Kind::Parts) {
    for (const Part &part : parts)
      if (part.sends)
        download(area(rank) + part.peer * partRoom(), part.from, part.bytes);
  } else if (step.kind != Kind::Broadcast || step.root == rank) {
    size_t parts = step.kind == Kind::ReduceScatter ? numRanks : 1;
    download(area(rank), from, step.count * item * parts);
  }
  shared->places[rank].step = step;
  shared->places[rank].published = number;
  published = true;
}

/// Makes this rank's result.
void Comm::take() {
  size_t bytes = step.count * bytesOf(step.type);
  switch (step.kind) {
  case Kind::Parts:
    for (const Part &part : parts)
      if (!part.sends)
        upload(part.to, area(part.peer) + rank * partRoom(), part.bytes);
    break;
  case Kind::AllGather:
    for (int r = 0; r < numRanks; ++r)
      upload(static_cast<char *>(to) + r * bytes, area(r), bytes);
    break;
  case Kind::Broadcast:
    upload(to, area(step.root), bytes);
    break;
  case Kind::AllReduce:
  case Kind::ReduceScatter: {
    size_t offset = step.kind == Kind::ReduceScatter ? rank * bytes : 0;
    int first = step.kind == Kind::ReduceScatter ? rank + 1 : 1;
    DType dtype = dtypeOf(step.type);
    const char *start = area(first % numRanks) + offset;
    std::vector<char> sum(start, start + bytes);
    for (int r = 1; r < numRanks; ++r)
      reduceParts(reductionOf(step.reduction),
                  {sum.data(), area((first + r) % numRanks) + offset}, dtype,
                  sum.data(), dtype, int64_t(step.count));
    upload(to, sum.data(), bytes);
    break;
  }
  }
}

NcclResult Comm::progress() {
  if (!ready) {
    if (!all(&Place::joined, 1))
      return NcclResult::InProgress;
    ready = true;
  }
  if (!busy)
    return NcclResult::Success;
  if (stalls)
    return NcclResult::InProgress;
  // What was published before may still be read.
  if (!published && all(&Place::taken, number - 1))
    publish();
  if (!published || !all(&Place::published, number) || !agree())
    return NcclResult::InProgress;
  take();
  shared->places[rank].taken = number;
  busy = published = false;
  parts.clear();
  return NcclResult::Success;
}

NcclResult Comm::begin(const Step &next, const void *source, void *target) {
  if (busy || !ready)
    return kInvalid; // hk has to ask first
  static std::atomic<long> counter{0};
  bool strikes = ++counter == fault().number;
  if (strikes && fault().kind == "die")
    _exit(9);
  if (strikes && fault().kind == "error")
    return kFailed;
  stalls = strikes && fault().kind == "stall";
  if (next.count * bytesOf(next.type) > partRoom())
    return kInvalid;
  step = next;
  from = source;
  to = target;
  busy = true;
  ++number;
  return progress();
}

/// What a graph does at an exchange, whenever it is launched.
static void runCaptured(void *data) {
  auto &exchange = *static_cast<Captured *>(data);
  Comm &comm = *exchange.comm;
  std::lock_guard<std::mutex> lock(comm.running);
  if (comm.aborted)
    return;
  comm.parts = exchange.parts;
  NcclResult state = comm.begin(exchange.step, exchange.from, exchange.to);
  while (state == NcclResult::InProgress && !comm.aborted) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    state = comm.progress();
  }
}

NcclResult Comm::enqueue(const Step &next, const void *source, void *target,
                         void *stream) {
  HipCapture capture = HipCapture::None;
  if (hip().hipStreamIsCapturing(stream, &capture) != HipError::Success)
    return kInvalid;
  if (capture == HipCapture::None)
    return begin(next, source, target);
  int (*launch)(void *, void (*)(void *), void *) = nullptr;
  hip().library.find("hipLaunchHostFunc", launch);
  captured.push_back(std::make_unique<Captured>(
      Captured{this, next, source, target, std::move(parts)}));
  parts.clear();
  return launch && launch(stream, runCaptured, captured.back().get()) == 0
             ? NcclResult::Success
             : kInvalid;
}

STANDIN const char *ncclGetErrorString(NcclResult result) {
  return result == kFailed ? "unhandled stand-in error" : "invalid argument";
}

STANDIN NcclResult ncclGetVersion(int *version) {
  *version = fault().kind == "version" ? int(fault().number) : 22809;
  return NcclResult::Success;
}

STANDIN NcclResult ncclGetUniqueId(NcclUniqueId *id) {
  static std::atomic<int> number{0};
  std::snprintf(id->bytes, sizeof(id->bytes), "/dev/shm/hk-standin-%d-%d",
                int(getpid()), number++);
  return NcclResult::Success;
}

STANDIN NcclResult ncclCommInitRankConfig(void **result, int numRanks,
                                          NcclUniqueId id, int rank,
                                          NcclConfig *config) {
  if (config->size != 24 || config->magic != 0xcafebeef || config->blocking ||
      rank < 0 || rank >= numRanks || numRanks > kMostRanks)
    return kInvalid;
  auto *comm = new Comm;
  comm->rank = rank;
  comm->numRanks = numRanks;
  size_t bytes = sizeof(Shared) + numRanks * kAreaBytes;
  comm->file = open(id.bytes, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (comm->file < 0 || ftruncate(comm->file, off_t(bytes)) != 0)
    return kFailed;
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_NORESERVE, comm->file, 0);
  if (memory == MAP_FAILED)
    return kFailed;
  comm->shared = static_cast<Shared *>(memory);
  comm->shared->places[rank].joined = 1;
  *result = comm;
  return NcclResult::InProgress;
}

STANDIN NcclResult ncclCommGetAsyncError(void *comm, NcclResult *state) {
  auto *asked = static_cast<Comm *>(comm);
  bool wasReady = asked->ready;
  *state = asked->progress();
  // The last one to see the others removes the name; all have it open.
  if (!wasReady && asked->ready && asked->rank == 0) {
    std::string link = "/proc/self/fd/" + std::to_string(asked->file);
    char path[256] = "";
    if (readlink(link.c_str(), path, sizeof(path) - 1) > 0)
      (void)unlink(path);
  }
  return NcclResult::Success;
}

STANDIN NcclResult ncclCommAbort(void *comm) {
  // Graphs may still be launched: what they find of it stays.
  static std::mutex mutex;
  static std::vector<std::unique_ptr<Comm>> all;
  auto *ended = static_cast<Comm *>(comm);
  ended->aborted = true;
  {
    std::lock_guard<std::mutex> lock(ended->running);
    munmap(ended->shared, sizeof(Shared) + ended->numRanks * kAreaBytes);
    close(ended->file);
  }
  bool isInGraph = !ended->captured.empty();
  {
    std::lock_guard<std::mutex> listLock(mutex);
    all.emplace_back(ended);
  }
  if (isInGraph)
    for (;;) // as the library does
      std::this_thread::sleep_for(std::chrono::seconds(1));
  return NcclResult::Success;
}

STANDIN NcclResult ncclCommCount(void *comm, int *count) {
  *count = static_cast<Comm *>(comm)->numRanks;
  return NcclResult::Success;
}

STANDIN NcclResult ncclCommUserRank(void *comm, int *rank) {
  *rank = static_cast<Comm *>(comm)->rank;
  return NcclResult::Success;
}

STANDIN NcclResult ncclAllReduce(const void *from, void *to, size_t count,
                                 NcclType type, NcclReduction reduction,
                                 void *comm, void *stream) {
  return static_cast<Comm *>(comm)->enqueue(
      {Kind::AllReduce, type, reduction, 0, count}, from, to, stream);
}

STANDIN NcclResult ncclReduceScatter(const void *from, void *to, size_t count,
                                     NcclType type, NcclReduction reduction,
                                     void *comm, void *stream) {
  return static_cast<Comm *>(comm)->enqueue(
      {Kind::ReduceScatter, type, reduction, 0, count}, from, to, stream);
}

STANDIN NcclResult ncclAllGather(const void *from, void *to, size_t count,
                                 NcclType type, void *comm, void *stream) {
  return static_cast<Comm *>(comm)->enqueue(
      {Kind::AllGather, type, NcclReduction::Sum, 0, count}, from, to, stream);
}

STANDIN NcclResult ncclBroadcast(const void *from, void *to, size_t count,
                                 NcclType type, int root, void *comm,
                                 void *stream) {
  return static_cast<Comm *>(comm)->enqueue(
      {Kind::Broadcast, type, NcclReduction::Sum, root, count}, from, to,
      stream);
}

static NcclResult addPart(void *comm, const Part &part, void *stream) {
  if (groupDepth == 0)
    return kInvalid; // hk has no use for it
  groupComm = static_cast<Comm *>(comm);
  groupStream = stream;
  groupComm->parts.push_back(part);
  return NcclResult::Success;
}

STANDIN NcclResult ncclSend(const void *from, size_t count, NcclType type,
                            int peer, void *comm, void *stream) {
  return addPart(comm, {true, from, nullptr, count * bytesOf(type), peer},
                 stream);
}

STANDIN NcclResult ncclRecv(void *to, size_t count, NcclType type, int peer,
                            void *comm, void *stream) {
  return addPart(comm, {false, nullptr, to, count * bytesOf(type), peer},
                 stream);
}

STANDIN NcclResult ncclGroupStart() {
  ++groupDepth;
  return NcclResult::Success;
}

STANDIN NcclResult ncclGroupEnd() {
  if (--groupDepth > 0 || !groupComm)
    return NcclResult::Success;
  Comm *comm = groupComm;
  groupComm = nullptr;
  size_t bytes = comm->parts.empty() ? 0 : comm->parts.front().bytes;
  return comm->enqueue(
      {Kind::Parts, NcclType::UInt8, NcclReduction::Sum, 0, bytes}, nullptr,
      nullptr, groupStream);
}
