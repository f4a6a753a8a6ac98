//===- Window.h - Memory that the other ranks write -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every rank of one machine has a window of device memory, which the others
// map: kernels write their rows into it (kernels/collective/exchange.h). It has
// a region for each axis of the mesh: two slots with a part for each rank of
// the axis; behind them, if there are two, words of tiles for each slot. Its
// first page is where ranks greet each other, to see that what one writes the
// other reads.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_COMM_WINDOW_H
#define HK_RUNTIME_COMM_WINDOW_H

#include "device/Device.h"
#include "hk/Contract/Mesh.h"

#include <vector>

namespace hk {

class Window {
public:
  Window(Device &device, const Mesh &mesh, int64_t rank)
      : device(device), mesh(mesh), rank(rank) {}
  /// No other rank writes any more.
  ~Window();
  Window(const Window &) = delete;
  Window &operator=(const Window &) = delete;

  /// `bytes` of this rank, all of them empty.
  Status allocate(uint64_t bytes);
  const SharedHandle &handle() const { return ownHandle; }
  /// Maps those of the others; handles by rank.
  Status map(const std::vector<SharedHandle> &handles);
  /// Greets all ranks; after all have, each looks at what it got.
  Status greet();
  Status checkGreetings();

  /// Bytes of a tensor that kernels can exchange over an axis.
  uint64_t partBytes(int64_t axis) const { return regions[axis].partBytes; }
  /// The words of a launch (hk/Contract/Exchange.h).
  void fillWords(int64_t axis, uint64_t *words) const;
  /// Of a launch whose rows, so many, products have sent over an axis of two
  /// ranks.
  void fillSentWords(int64_t axis, int64_t rows, int64_t columns,
                     uint64_t *words) const;
  /// The words of such a product.
  void fillSendWords(int64_t axis, int64_t rows, int64_t columns,
                     uint64_t *words) const;
  /// Kernels that wait for other ranks end. From any thread.
  void abort() { *static_cast<volatile uint32_t *>(isOver) = 1; }

private:
  /// The other rank of an axis of two.
  int64_t otherOf(int64_t axis) const;

  struct Region {
    uint64_t offset = 0, partBytes = 0;
    /// Of the words of tiles of slot 0.
    uint64_t tileWords() const { return offset + 4 * partBytes; }
  };
  uint64_t addressOf(int64_t peer) const {
    return reinterpret_cast<uintptr_t>(memory[peer]);
  }

  Device &device;
  const Mesh &mesh;
  int64_t rank;
  std::vector<void *> memory;  // by rank; this one's is its own
  std::vector<Region> regions; // by axis
  SharedHandle ownHandle{};
  void *turns = nullptr; // a counter for each axis
  uint32_t *isOver = nullptr;
};

} // namespace hk

#endif // HK_RUNTIME_COMM_WINDOW_H
