//===- Communicator.h - One rank among those of a mesh -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every exchange begins with headers, which say where in which program a rank
// is: ranks that disagree, or a rank that does not come in time, are an error
// with a text instead of a hang or of wrong numbers. After an error the ranks
// no longer agree on what comes next, so the communicator keeps it and every
// later use returns it. A rank that fails by itself tells the others.
//
// GPUs meet without their hosts: what ranks call they tell each other, and a
// thread looks now and then whether all make the same calls, in time. Where
// they do not, what is under way is ended.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_COMM_COMMUNICATOR_H
#define HK_RUNTIME_COMM_COMMUNICATOR_H

#include "comm/Engine.h"
#include "comm/Window.h"
#include "device/Device.h"
#include "hk/Contract/Mesh.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace hk {

/// What ranks that meet must agree on.
struct MeetingPoint {
  uint64_t identity = 0; // of what `text` does not tell
  std::string text;      // for people, sizes included
};

/// FNV-1a; not for secrets.
uint64_t hashOf(const std::string &text, uint64_t start = 0);

/// Some of the ranks, in order, and this one's place among them.
struct RankLine {
  std::vector<int64_t> ranks;
  int64_t place = 0;
};

/// What a rank sends to and receives from each place of a line: `bytes` from
/// that offset of the communicator's memory, or nothing.
struct Traffic {
  uint64_t bytes = 0;
  std::vector<int64_t> sendFrom, receiveAt; // by place; -1: nothing
};

class Communicator {
public:
  Communicator(std::unique_ptr<Engine> engine, Mesh mesh, std::string meshText,
               uint32_t timeoutMs);
  ~Communicator();

  int64_t rank() const { return engine->rank(); }
  int64_t numRanks() const { return engine->numRanks(); }
  const std::string &meshText() const { return text; }
  RankLine lineOf(const char *axis) const;

  /// Waits for all ranks, which must be at the same point.
  Status meet(const MeetingPoint &point);

  /// Meets the ranks of a line, then exchanges parts with them. `fill` gets the
  /// memory that is sent, of `sent` bytes, and `use` what was received, of
  /// `received` bytes; both run while no other exchange can.
  template <typename Fill, typename Use>
  Status exchange(const RankLine &line, const MeetingPoint &point,
                  const Traffic &traffic, uint64_t sent, uint64_t received,
                  const Fill &fill, const Use &use) {
    std::lock_guard<std::mutex> lock(mutex);
    if (Status error = meetLine(line, point))
      return error;
    fill(sendMemory(sent), receiveMemory(received));
    if (Status error = move(line, traffic, point))
      return error;
    use(receiveMemory(received));
    return {};
  }

  /// The error that the communicator keeps or that another rank has told of, or
  /// what is wrong with the calls that ranks have made.
  Status check();
  /// Keeps `error` and tells the other ranks.
  void fail(const Status &error);

  /// Makes what exchanges tensors between this device and those of the other
  /// ranks, and begins to watch them. `natives`: the caller's ncclComm_t, one
  /// for each axis, or none.
  Status openDevice(Device &device, const std::vector<void *> &natives);
  /// NULL: tensors are exchanged by messages.
  DeviceEngine *deviceEngine() const { return onDevice.get(); }
  /// Gives every rank `bytes` that the others write.
  Status openWindow(uint64_t bytes);
  /// NULL: no such memory.
  const Window *window() const { return shared.get(); }
  int64_t axisOf(const char *name) const { return ranks.find(name); }
  /// Tells the other ranks what this one calls.
  Status beginCall(const std::string &text);
  /// Waits until the stream is idle and all ranks have made the calls of this
  /// one.
  Status wait(Device &device, void *stream, uint32_t limitMs);
  /// Device memory for parts of tensors that are not dense, for the next
  /// exchange only. Nothing is allocated while a graph is captured.
  Status deviceMemory(uint64_t bytes, bool capturing, void **data);

private:
  using Clock = std::chrono::steady_clock;
  struct Memory; // of messages; outlives the communicator after an error

  RankLine everyone() const;
  Status spreadHandle(const SharedHandle &own, const std::string &text,
                      std::vector<SharedHandle> &handles);
  Status meetLine(const RankLine &line, const MeetingPoint &point);
  Status compareHeaders(const RankLine &line);
  Status move(const RankLine &line, const Traffic &traffic,
              const MeetingPoint &point);
  Status start(int64_t peer, Channel channel, char *data, uint64_t bytes,
               bool sends);
  Status finish(const MeetingPoint &point);
  Status late(const MeetingPoint &point) const;
  /// Of a rank that left, where this one still waits for it.
  Status gone(int64_t peer, const std::string &where) const;
  Status readNotes();
  Status readFarewells();
  Status readOthers();
  std::vector<int64_t> awaited() const;
  Status progressPending(bool &done);
  Status checkPeers(const MeetingPoint &point, bool &done);
  Status kept() const;
  /// Keeps an error, if it is one, and tells the others.
  Status keep(Status error);
  void tellOthers();
  void setBroken(hk_status_code code, const std::string &what);
  Status lookAround();
  Status checkCalls();
  void watch();
  void stopWatching();
  bool sayFarewell();
  char *sendMemory(uint64_t bytes);
  char *receiveMemory(uint64_t bytes);

  std::mutex mutex;
  std::unique_ptr<Engine> engine;
  Mesh ranks;
  std::string text;
  uint32_t timeoutMs;
  uint64_t meetings = 0;
  hk_status_code brokenCode = HK_OK;
  std::string brokenText;
  std::unique_ptr<Memory> memory;

  Device *device = nullptr;
  std::unique_ptr<DeviceEngine> onDevice;
  std::unique_ptr<Window> shared;
  std::vector<void *> deviceBlocks; // the last one is used
  uint64_t deviceBytes = 0;
  std::thread watcher;
  std::condition_variable stopsWatching;
  bool isStopping = false;
};

/// An error that says what a mesh looks like, where `text` is none.
Status parseMesh(const std::string &text, Mesh &mesh);

struct CommunicatorOptions {
  std::string mesh;
  std::string engine; // "": the one there is
  std::string idFile; // "": the ranks meet by MPI
  std::vector<void *> natives;
  Device *device = nullptr;
  uint32_t timeoutMs = 0;
  uint64_t sharedBytes = 0;     // of each rank, for the others to write
  uint32_t rank = 0, world = 0; // compared with the engine's unless world is 0
};
Status openCommunicator(const CommunicatorOptions &options,
                        std::unique_ptr<Communicator> &communicator);

} // namespace hk

#endif // HK_RUNTIME_COMM_COMMUNICATOR_H
