//===- Window.cpp - Memory that the other ranks write ---------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layout, mapping, and the words of launches.
//
//===----------------------------------------------------------------------===//

#include "comm/Window.h"

#include "hk/Contract/Exchange.h"

#include <algorithm>

using namespace hk;

/// A page for greetings, and what parts begin with a multiple of.
static constexpr uint64_t kPageBytes = 4096;
/// Behind the greetings: two words of each axis that say that rows are sent.
static constexpr uint64_t kSentWordsOffset = kPageBytes / 2;
/// Drivers share memory in pieces of this size.
static constexpr uint64_t kPieceBytes = uint64_t(2) << 20;
/// Counters of two axes are in lines of memory of their own.
static constexpr uint64_t kLineBytes = 256;

static uint32_t greetingOf(int64_t rank) {
  return 0x68690000u + uint32_t(rank);
}

Window::~Window() {
  for (int64_t peer = 0; peer < int64_t(memory.size()); ++peer)
    if (memory[peer] && peer != rank)
      device.closeShared(memory[peer]);
  if (!memory.empty() && memory[rank])
    device.freeShared(memory[rank]);
  device.deallocate(turns);
  if (isOver)
    device.freeHostWord(isOver);
}

Status Window::allocate(uint64_t bytes) {
  memory.resize(mesh.numRanks(), nullptr);
  uint64_t whole = (bytes + kPieceBytes - 1) / kPieceBytes * kPieceBytes;
  uint64_t numAxes = mesh.axes().size(), at = kPageBytes;
  uint64_t each = (whole - kPageBytes) / numAxes;
  for (const auto &axis : mesh.axes()) {
    // What the parts of so much memory leave to the words of their tiles.
    uint64_t ranks = uint64_t(axis.size),
             forParts = ranks == 2 ? each - tileWordBytes(each) : each;
    uint64_t part = forParts / (2 * ranks) / kPageBytes * kPageBytes;
    regions.push_back({at, part});
    at += each / kPageBytes * kPageBytes;
  }
  if (Status error = device.allocateHostWord(&isOver))
    return error;
  if (Status error = device.allocate(numAxes * kLineBytes, &turns))
    return error;
  if (Status error = device.allocateShared(whole, &memory[rank], ownHandle))
    return addContext(std::move(error),
                      "allocating " + std::to_string(whole) + " bytes");
  if (Status error =
          device.storeWords(turns, 0, numAxes * kLineBytes / 4, nullptr))
    return error;
  // Words of all ones are such as have not come.
  if (Status error =
          device.storeWords(memory[rank], UINT32_MAX, whole / 4, nullptr))
    return error;
  return device.waitIdle();
}

Status Window::map(const std::vector<SharedHandle> &handles) {
  for (int64_t peer = 0; peer < int64_t(handles.size()); ++peer)
    if (peer != rank)
      if (Status error = device.openShared(handles[peer], &memory[peer]))
        return addContext(std::move(error),
                          "mapping the memory of rank " + std::to_string(peer));
  return {};
}

Status Window::greet() {
  for (void *window : memory)
    if (Status error = device.storeWords(static_cast<uint32_t *>(window) + rank,
                                         greetingOf(rank), 1, nullptr))
      return error;
  return device.waitIdle();
}

Status Window::checkGreetings() {
  std::vector<uint32_t> got(memory.size());
  if (Status error = device.download(got.data(), memory[rank],
                                     got.size() * sizeof(uint32_t)))
    return error;
  for (int64_t peer = 0; peer < int64_t(got.size()); ++peer)
    if (got[peer] != greetingOf(peer))
      return makeError(HK_DEVICE_ERROR,
                       "what rank %lld wrote into the memory of rank %lld did "
                       "not come",
                       static_cast<long long>(peer),
                       static_cast<long long>(rank));
  return {};
}

void Window::fillWords(int64_t axis, uint64_t *words) const {
  words[kExchangeTurns] =
      reinterpret_cast<uintptr_t>(turns) + uint64_t(axis) * kLineBytes;
  words[kExchangeOver] = reinterpret_cast<uintptr_t>(isOver);
  words[kExchangePartBytes] = regions[axis].partBytes;
  words[kExchangePlace] = uint64_t(mesh.placeOf(rank, int(axis)));
  words[kExchangeSummed] = words[kExchangeSplit] = 0;
  words[kExchangeSent] = words[kExchangeTold] = 0;
  words[kExchangeOwn] = addressOf(rank) + regions[axis].offset;
  for (int64_t place = 0; place < mesh.axes()[axis].size; ++place)
    words[kExchangeWindows + place] =
        addressOf(mesh.rankAt(rank, int(axis), place)) + regions[axis].offset;
}

void Window::fillSentWords(int64_t axis, int64_t rows, int64_t columns,
                           uint64_t *words) const {
  uint64_t offset = kSentWordsOffset + uint64_t(axis) * 2 * sizeof(uint32_t);
  words[kExchangeSummed] =
      uint64_t(summedColumns(device.computeUnits(), rows, columns));
  words[kExchangeSplit] = uint64_t(firstRowOfSecond(rows));
  words[kExchangeSent] = addressOf(rank) + offset;
  words[kExchangeTold] = addressOf(otherOf(axis)) + offset;
}

int64_t Window::otherOf(int64_t axis) const {
  return mesh.rankAt(rank, int(axis), 1 - mesh.placeOf(rank, int(axis)));
}

void Window::fillSendWords(int64_t axis, int64_t rows, int64_t columns,
                           uint64_t *words) const {
  const Region &region = regions[axis];
  int64_t other = otherOf(axis);
  auto ownPart = [&](int64_t of) {
    return addressOf(of) + region.offset +
           uint64_t(mesh.placeOf(of, int(axis))) * region.partBytes;
  };
  words[kSendTurns] =
      reinterpret_cast<uintptr_t>(turns) + uint64_t(axis) * kLineBytes;
  words[kSendOver] = reinterpret_cast<uintptr_t>(isOver);
  words[kSendPlace] = uint64_t(mesh.placeOf(rank, int(axis)));
  words[kSendSplit] = uint64_t(firstRowOfSecond(rows));
  words[kSendSummed] =
      uint64_t(summedColumns(device.computeUnits(), rows, columns));
  words[kSendTo] = ownPart(other);
  words[kSendCome] = ownPart(rank);
  words[kSendSlot] = 2 * region.partBytes;
  words[kSendTold] = addressOf(other) + region.tileWords();
  words[kSendHeard] = addressOf(rank) + region.tileWords();
  words[kSendWordsSlot] = tileWordBytes(region.partBytes);
}
