//===- Engine.h - Messages between ranks -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the communicator needs of a message library: messages that are started
// and asked about, never waited for, so that whoever waits can look at the
// clock. Messages of one channel between two ranks arrive in the order in which
// they were sent. Memory of a message stays alive until it is finished.
//
// And what it needs of a library that exchanges tensors between GPUs:
// operations that are enqueued on a stream. Such ranks tell of themselves by
// messages, too.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_COMM_ENGINE_H
#define HK_RUNTIME_COMM_ENGINE_H

#include "base/Status.h"
#include "hk/Contract/DType.h"
#include "hk/Runtime/ModuleAbi.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace hk {

/// Kinds of messages; each has an order of its own.
enum class Channel : int {
  Header = 1,
  Data = 2,
  Note = 3,
  Farewell = 4,
  Call = 5
};

/// A message under way; NULL: none, or finished.
using Message = void *;

class Engine {
public:
  virtual ~Engine();

  virtual int64_t rank() const = 0;
  virtual int64_t numRanks() const = 0;

  /// At most kMostBytes.
  virtual Status send(int64_t to, Channel channel, const void *data,
                      uint64_t bytes, Message &message) = 0;
  virtual Status receive(int64_t from, Channel channel, void *data,
                         uint64_t bytes, Message &message) = 0;
  /// Sets a finished message to NULL.
  virtual Status progress(Message &message) = 0;
  /// Gives up a message that has not begun to arrive.
  virtual void cancel(Message &message) = 0;
  /// After all ranks said farewell: nothing is under way.
  virtual void leave() = 0;
  /// An error if the rank's process is known to have ended.
  virtual Status checkAlive(int64_t rank);

  static constexpr uint64_t kMostBytes = uint64_t(1) << 30;
};

struct EngineOptions {
  uint32_t timeoutMs = 0;
  void *native = nullptr; // the caller's MPI_Comm; NULL: all processes
};

/// MPI, found with dlopen. OpenMPI only: handles are part of an MPI's ABI.
Status createMpiEngine(const EngineOptions &options,
                       std::unique_ptr<Engine> &engine);

struct FileEngineOptions {
  std::string path; // of a file that the first rank makes
  int64_t rank = 0, numRanks = 1;
  uint32_t timeoutMs = 0;
};
/// Processes of one machine, by memory that they share.
Status createFileEngine(const FileEngineOptions &options,
                        std::unique_ptr<Engine> &engine);

/// What ranks do together with tensors in device memory, all of them dense.
struct DeviceExchange {
  enum class Kind { AllReduce, ReduceScatter, AllGather, AllToAll, Broadcast };
  Kind kind = Kind::AllReduce;
  const void *from = nullptr;
  void *to = nullptr;
  /// Elements; of AllReduce and Broadcast the input's, else of one rank's part.
  uint64_t count = 0;
  DType dtype = DType::F32; // of reductions; else elements are bytes
  hk_collective_reduction reduction = HK_COLLECTIVE_SUM;
  int64_t root = 0;
};

class DeviceEngine {
public:
  virtual ~DeviceEngine();
  /// On the stream, with the other ranks of axis `axis` of the mesh.
  virtual Status enqueue(int64_t axis, const DeviceExchange &exchange,
                         void *stream) = 0;
  /// Ends what is under way; nothing is enqueued any more. From any thread.
  virtual void abort() = 0;
};

class Device;

/// This rank among those of an axis. `spread` gives all of them the first one's
/// bytes.
struct DeviceAxis {
  std::string name;
  int64_t place = 0, numRanks = 1;
  std::function<Status(void *data, uint64_t bytes)> spread;
  void *native = nullptr; // the caller's ncclComm_t; NULL: one is made
};

struct DeviceEngineOptions {
  std::vector<DeviceAxis> axes;
  uint32_t timeoutMs = 0;
  /// An error when it is of no use any more to wait for other ranks.
  std::function<Status()> check;
};
/// NCCL for CUDA devices, RCCL for HIP devices, found with dlopen.
Status createNcclEngine(Device &device, DeviceEngineOptions options,
                        std::unique_ptr<DeviceEngine> &engine);

} // namespace hk

#endif // HK_RUNTIME_COMM_ENGINE_H
