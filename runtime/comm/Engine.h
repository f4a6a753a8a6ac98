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
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_COMM_ENGINE_H
#define HK_RUNTIME_COMM_ENGINE_H

#include "base/Status.h"

#include <cstdint>

namespace hk {

/// Kinds of messages; each has an order of its own.
enum class Channel : int { Header = 1, Data = 2, Note = 3, Farewell = 4 };

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

  static constexpr uint64_t kMostBytes = uint64_t(1) << 30;
};

struct EngineOptions {
  uint32_t timeoutMs = 0;
  void *native = nullptr; // the caller's MPI_Comm; NULL: all processes
};

/// MPI, found with dlopen. OpenMPI only: handles are part of an MPI's ABI.
Status createMpiEngine(const EngineOptions &options,
                       std::unique_ptr<Engine> &engine);

} // namespace hk

#endif // HK_RUNTIME_COMM_ENGINE_H
