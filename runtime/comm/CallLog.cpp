//===- CallLog.cpp - Which calls the ranks have made ----------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls have numbers by their order. What all ranks have made is forgotten.
//
//===----------------------------------------------------------------------===//

#include "comm/CallLog.h"

#include "comm/Communicator.h"

#include <algorithm>
#include <cstring>

using namespace hk;

CallLog::CallLog(Engine &engine) : engine(engine), peers(engine.numRanks()) {}

CallLog::Post CallLog::postOf(const std::string &text) {
  Post post{hashOf(text), {}};
  std::memcpy(post.text, text.data(),
              std::min(text.size(), sizeof(post.text) - 1));
  return post;
}

Status CallLog::compare(int64_t rank, const Post &post) {
  uint64_t number = peers[rank].numCalls;
  const std::string &own = calls[number - firstCall].text;
  Post ownPost = postOf(own);
  if (ownPost.identity == post.identity &&
      std::strcmp(ownPost.text, post.text) == 0) {
    ++peers[rank].numCalls;
    return {};
  }
  return makeError(HK_INVALID_ARGUMENT,
                   "ranks do not agree: call %llu with exchanges is of %s on "
                   "rank %lld, of %s on rank %lld; all ranks have to make the "
                   "same calls in one order, with tensors of the same sizes",
                   static_cast<unsigned long long>(number), ownPost.text,
                   static_cast<long long>(engine.rank()), post.text,
                   static_cast<long long>(rank));
}

Status CallLog::add(const std::string &text) {
  calls.push_back({text, Clock::now()});
  Post post = postOf(text);
  for (int64_t rank = 0; rank < engine.numRanks(); ++rank) {
    if (rank == engine.rank())
      continue;
    sent.push_back({nullptr, post});
    Sent &last = sent.back();
    if (Status error = engine.send(rank, Channel::Call, &last.post,
                                   sizeof(Post), last.message))
      return error;
  }
  return read();
}

Status CallLog::read() {
  while (!sent.empty()) {
    if (Status error = engine.progress(sent.front().message))
      return error;
    if (sent.front().message)
      break;
    sent.pop_front();
  }
  uint64_t made = firstCall + calls.size(), byAll = made;
  for (int64_t rank = 0; rank < engine.numRanks(); ++rank) {
    if (rank == engine.rank())
      continue;
    Peer &peer = peers[rank];
    for (;;) {
      if (!peer.message)
        if (Status error = engine.receive(rank, Channel::Call, &peer.next,
                                          sizeof(Post), peer.message))
          return error;
      if (Status error = engine.progress(peer.message))
        return error;
      if (peer.message)
        break;
      peer.next.text[sizeof(peer.next.text) - 1] = '\0';
      peer.ahead.push_back(peer.next);
    }
    while (!peer.ahead.empty() && peer.numCalls < made) {
      if (Status error = compare(rank, peer.ahead.front()))
        return error;
      peer.ahead.pop_front();
    }
    byAll = std::min(byAll, peer.numCalls);
  }
  for (; firstCall < byAll; ++firstCall)
    calls.pop_front();
  return {};
}

const CallLog::Call *CallLog::missedBy(int64_t rank) const {
  uint64_t made = firstCall + calls.size(), theirs = peers[rank].numCalls;
  if (rank == engine.rank() || theirs == made)
    return nullptr;
  return &calls[theirs - firstCall];
}

void CallLog::cancel() {
  for (Peer &peer : peers)
    engine.cancel(peer.message);
}
