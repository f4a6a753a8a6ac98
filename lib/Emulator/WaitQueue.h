//===- WaitQueue.h - Outstanding memory operations --------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations a wave has issued and not yet waited for, per counter, and
// the registers and LDS bytes that are not safe to touch until then.
// Loads and stores retire in order on vmcnt. On lgkmcnt LDS operations retire
// in order but scalar loads do not, so while one is outstanding only a wait
// for zero retires anything (CDNA3 ISA 4.4).
// A counter holds no more than its largest value: the instruction that would
// pass it does not issue before older ones are done (docs/emulator.md). So
// where operations retire in order, those behind which that many were issued
// are done without a wait.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_WAITQUEUE_H
#define HK_LIB_EMULATOR_WAITQUEUE_H

#include "Inst.h"
#include "LdsShadow.h"
#include <cstdint>
#include <vector>

namespace hk::emu {

/// The most operations that a wave has under way on a counter: six bits of
/// vmcnt, four of lgkmcnt.
constexpr size_t kMaxVm = 63, kMaxLgkm = 15;

enum class Pending : uint8_t { VmLoad, VmStore, VmToLds, Lds, Smem, Flat };

/// LDS bytes an outstanding operation touches: `size` bytes in each lane.
struct LdsTouch {
  uint64_t mask = 0;
  uint32_t size = 0;
  Use use = Use::Read;
  uint32_t address[kLanes];
};

struct Outstanding {
  Pending kind = Pending::VmLoad;
  bool sgpr = false;
  uint16_t reg = 0;
  uint8_t count = 0;
  uint64_t sequence = 0;
  /// Indices into Wave::touches; ds_read2 and ds_write2 have two.
  int32_t touch = -1, touch2 = -1;
};

/// One counter's queue.
class WaitQueue {
public:
  void reset();
  uint64_t push(const Outstanding &entry) {
    entries.push_back(entry);
    entries.back().sequence = ++issued;
    return issued;
  }
  /// Adds a second LDS touch to the newest entry.
  void attach(int32_t touch) { entries.back().touch2 = touch; }
  size_t size() const { return entries.size() - head; }
  bool empty() const { return head == entries.size(); }
  /// Retires until at most `n` remain. Calls done(entry) on each.
  template <class F> void retireTo(size_t n, F done) {
    if (n && outOfOrder())
      return;
    while (size() > n)
      done(entries[head++]);
    if (empty()) {
      entries.clear();
      head = 0;
    }
    retired = issued - size();
  }
  template <class F> void forEach(F f) const {
    for (size_t i = head; i < entries.size(); ++i)
      f(entries[i]);
  }
  uint64_t retiredSequence() const { return retired; }
  uint64_t issuedSequence() const { return issued; }

private:
  bool outOfOrder() const {
    for (size_t i = head; i < entries.size(); ++i)
      if (entries[i].kind == Pending::Smem || entries[i].kind == Pending::Flat)
        return true;
    return false;
  }
  std::vector<Outstanding> entries;
  size_t head = 0;
  uint64_t issued = 0, retired = 0;
};

inline void WaitQueue::reset() {
  entries.clear();
  head = 0;
  issued = retired = 0;
}

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_WAITQUEUE_H
