//===- CommunicatorMemory.h - What messages lie in -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to the communicator. After an error it stays alive for ever: messages
// that nobody will take may still be under way.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_COMM_COMMUNICATORMEMORY_H
#define HK_RUNTIME_COMM_COMMUNICATORMEMORY_H

#include "comm/CallLog.h"
#include "comm/Communicator.h"

namespace hk {

/// What a rank says of itself when ranks meet.
struct Header {
  uint64_t meetings, identity;
  char text[232];
};

/// What a rank says when it fails.
struct Note {
  char text[1024];
};

struct Pending {
  Message message;
  int64_t peer;
  bool sends;
};

struct Communicator::Memory {
  Memory *before = nullptr; // of a communicator that ended with an error
  std::vector<char> sent, received;
  std::vector<Pending> pending;
  Header header;
  std::vector<Header> headers; // by rank
  Note note;
  std::vector<Note> notes; // by rank
  std::vector<Message> noteReceives, noteSends;
  char farewell = 0;
  std::vector<char> farewells; // by rank
  std::vector<Message> farewellReceives, farewellSends;
  std::vector<bool> left;
  std::unique_ptr<CallLog> calls;
};

} // namespace hk

#endif // HK_RUNTIME_COMM_COMMUNICATORMEMORY_H
