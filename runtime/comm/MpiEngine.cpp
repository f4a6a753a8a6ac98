//===- MpiEngine.cpp - Messages between ranks by MPI ----------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A copy of the caller's communicator, so that messages of hk and of the caller
// never meet. What in MPI waits for all ranks (starting, copying a
// communicator, ending) runs on a thread that is left alone when time is up.
//
//===----------------------------------------------------------------------===//

#include "comm/Engine.h"
#include "comm/MpiApi.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

using namespace hk;

namespace {

/// Runs `work` on another thread. False when it takes longer than `timeoutMs`;
/// it goes on then, with a state that it shares.
template <typename Work>
bool finishesWithin(uint32_t timeoutMs, const Work &work) {
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
  };
  auto state = std::make_shared<State>();
  std::thread([state, work] {
    work();
    std::lock_guard<std::mutex> lock(state->mutex);
    state->done = true;
    state->changed.notify_all();
  }).detach();
  std::unique_lock<std::mutex> lock(state->mutex);
  return state->changed.wait_for(lock, std::chrono::milliseconds(timeoutMs),
                                 [&] { return state->done; });
}

/// Whether MPI_Finalize may be called: hk started MPI, and every engine since
/// has left in order. After a failure it would wait for ranks that are gone.
std::atomic<bool> &endsInOrder() {
  static std::atomic<bool> value{false};
  return value;
}

void endMpi() {
  const MpiApi *api = nullptr;
  if (!endsInOrder() || MpiApi::load(api))
    return;
  int finalized = 1;
  if (api->finalized(&finalized) == 0 && !finalized)
    (void)api->finalize();
}

/// What a start, which may outlive its caller, works on.
struct Start {
  const MpiApi *api = nullptr;
  MpiHandle source = nullptr, copy = nullptr;
  bool initialise = false;
  int code = 0, provided = 0;
  std::string failed; // the function whose error `code` is
};

void startMpi(Start &start) {
  const MpiApi &api = *start.api;
  auto failed = [&](int code, const char *name) {
    start.code = code;
    start.failed = name;
    return code != 0;
  };
  if (start.initialise &&
      failed(
          api.initThread(nullptr, nullptr, kMpiThreadMultiple, &start.provided),
          "MPI_Init_thread"))
    return;
  if (failed(api.commDup(start.source, &start.copy), "MPI_Comm_dup"))
    return;
  failed(api.commSetErrhandler(start.copy, api.errorsReturn),
         "MPI_Comm_set_errhandler");
}

class MpiEngine final : public Engine {
public:
  MpiEngine(const MpiApi &api, MpiHandle comm) : api(api), comm(comm) {}
  ~MpiEngine() override {
    if (!left)
      endsInOrder() = false;
  }

  Status start() {
    if (Status error = api.check(api.commRank(comm, &ownRank), "MPI_Comm_rank"))
      return error;
    return api.check(api.commSize(comm, &count), "MPI_Comm_size");
  }

  int64_t rank() const override { return ownRank; }
  int64_t numRanks() const override { return count; }

  Status send(int64_t to, Channel channel, const void *data, uint64_t bytes,
              Message &message) override {
    return api.check(api.isend(data, int(bytes), api.byteType, int(to),
                               int(channel), comm, &message),
                     "MPI_Isend");
  }
  Status receive(int64_t from, Channel channel, void *data, uint64_t bytes,
                 Message &message) override {
    return api.check(api.irecv(data, int(bytes), api.byteType, int(from),
                               int(channel), comm, &message),
                     "MPI_Irecv");
  }
  Status progress(Message &message) override {
    int done = 0;
    if (Status error =
            api.check(api.test(&message, &done, nullptr), "MPI_Test"))
      return error;
    if (done)
      message = nullptr;
    return {};
  }
  void cancel(Message &message) override {
    if (message && api.cancel(&message) == 0)
      (void)api.requestFree(&message);
    message = nullptr;
  }
  void leave() override {
    left = true;
    (void)api.commFree(&comm);
  }

private:
  const MpiApi &api;
  MpiHandle comm;
  int ownRank = 0, count = 0;
  bool left = false;
};

} // namespace

/// Whether a launcher of MPI started this process: alone, MPI_Init would make
/// a world of one.
static bool hasLauncher() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") || std::getenv("PMIX_RANK");
}

/// What `options` demand of MPI as the process has it.
static Status prepare(const MpiApi &api, const EngineOptions &options,
                      Start &start) {
  int initialized = 0, finalized = 0;
  if (Status error =
          api.check(api.initialized(&initialized), "MPI_Initialized"))
    return error;
  if (Status error = api.check(api.finalized(&finalized), "MPI_Finalized"))
    return error;
  if (finalized)
    return makeError(HK_UNAVAILABLE, "MPI has been finalized in this process; "
                                     "open communicators before that");
  start.api = &api;
  start.source = options.native ? options.native : api.world;
  start.initialise = !initialized;
  if (start.initialise && !hasLauncher())
    return makeError(HK_UNAVAILABLE,
                     "this process was not started by mpirun; start all ranks "
                     "with mpirun -n RANKS, or initialise MPI before");
  if (initialized)
    return api.check(api.queryThread(&start.provided), "MPI_Query_thread");
  return {};
}

Status hk::createMpiEngine(const EngineOptions &options,
                           std::unique_ptr<Engine> &engine) {
  const MpiApi *api = nullptr;
  if (Status error = MpiApi::load(api))
    return error;
  auto start = std::make_shared<Start>();
  if (Status error = prepare(*api, options, *start))
    return error;
  if (!start->initialise && start->provided < kMpiThreadSerialized)
    return makeError(HK_UNAVAILABLE,
                     "MPI was initialised for calls of one thread; hk needs "
                     "MPI_Init_thread with MPI_THREAD_SERIALIZED or more");
  if (!finishesWithin(options.timeoutMs, [start] { startMpi(*start); }))
    return makeError(HK_TIMEOUT,
                     "MPI did not start within %u ms: some rank has not opened "
                     "its communicator; was it started, and did it fail?",
                     options.timeoutMs);
  if (Status error = api->check(start->code, start->failed.c_str()))
    return error;
  if (start->initialise) {
    endsInOrder() = true;
    std::atexit(endMpi);
  }
  if (start->provided < kMpiThreadSerialized)
    return makeError(HK_UNAVAILABLE,
                     "this MPI allows calls of one thread only "
                     "(level %d); hk needs %d",
                     start->provided, kMpiThreadSerialized);
  auto made = std::make_unique<MpiEngine>(*api, start->copy);
  if (Status error = made->start())
    return error;
  engine = std::move(made);
  return {};
}
