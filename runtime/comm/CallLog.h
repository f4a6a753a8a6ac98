//===- CallLog.h - Which calls the ranks have made -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GPUs exchange tensors without their hosts, and the library that does it says
// nothing of a rank that is elsewhere or does not come. So every rank tells the
// others what it calls, which takes no waiting, and compares what they call
// with its own calls, one by one, whenever somebody looks.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_COMM_CALLLOG_H
#define HK_RUNTIME_COMM_CALLLOG_H

#include "comm/Engine.h"

#include <chrono>
#include <deque>
#include <string>
#include <vector>

namespace hk {

class CallLog {
public:
  using Clock = std::chrono::steady_clock;
  struct Call {
    std::string text; // for people, sizes included
    Clock::time_point when;
  };

  explicit CallLog(Engine &engine);

  /// This rank makes another call.
  Status add(const std::string &text);
  /// Reads what others call. An error where one calls something else.
  Status read();
  /// This rank's first call that `rank` has not made yet; NULL: none.
  const Call *missedBy(int64_t rank) const;
  /// After all ranks said farewell.
  void cancel();

private:
  struct Post {
    uint64_t identity; // of the whole text
    char text[248];
  };
  struct Sent {
    Message message = nullptr;
    Post post;
  };
  struct Peer {
    Message message = nullptr; // under way into `next`
    Post next;
    uint64_t numCalls = 0;  // compared ones
    std::deque<Post> ahead; // of this rank
  };

  Status compare(int64_t rank, const Post &post);
  static Post postOf(const std::string &text);

  Engine &engine;
  std::vector<Peer> peers;
  std::deque<Sent> sent;
  std::deque<Call> calls; // those that not all others have made
  uint64_t firstCall = 0; // number of calls.front()
};

} // namespace hk

#endif // HK_RUNTIME_COMM_CALLLOG_H
