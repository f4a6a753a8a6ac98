//===- Wave.cpp - Wave execution and waits --------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interpreter loop, the reports and the queue of outstanding operations.
//
//===----------------------------------------------------------------------===//

#include "Wave.h"
#include "Hazards.h"
#include <xmmintrin.h>

namespace hk::emu {

const char *className(InstClass cls) {
  static const char *const names[] = {
      "salu",           "branch", "wait", "barrier", "smem",    "valu",
      "transcendental", "mfma",   "lds",  "vmem",    "scratch", "other"};
  return names[int(cls)];
}

Finding Wave::finding(const Inst &inst, Check check, int lane, uint64_t address,
                      const std::string &detail) const {
  Finding f;
  f.check = check;
  f.kernel = launch->kernel->name;
  f.instruction = inst.text;
  f.pc = inst.pc;
  f.source = object->sourceOf(inst.pc);
  f.address = address;
  f.lane = lane;
  f.wave = index;
  for (int d = 0; d < 3; ++d)
    f.workgroup[d] = wg->id[d];
  f.detail = detail;
  return f;
}

void Wave::reportTo(Finding f) { wg->launch->report.add(std::move(f)); }

void Wave::reportUndefined(const Inst &inst, int lane, uint64_t address,
                           const std::string &what) {
  std::string text = what + " is undefined";
  if (undefinedSeen) {
    char buf[128];
    std::snprintf(buf, sizeof buf,
                  "; undefined bytes were last read at pc 0x%llx from %s "
                  "address 0x%llx",
                  static_cast<unsigned long long>(undefinedPc),
                  undefinedInLds ? "LDS" : "global",
                  static_cast<unsigned long long>(undefinedAddress));
    text += buf;
  }
  report(inst, Check::Undefined, lane, address, text);
}

static void pendingHazard(Wave &w, const Inst &inst) {
  // Sources first: a read is the better description.
  for (unsigned i = 0; i < inst.numOperands; ++i) {
    unsigned k = (i + inst.op->numDst) % inst.numOperands;
    const Operand &o = inst.o[k];
    for (unsigned r = o.reg; r < unsigned(o.reg) + o.width; ++r) {
      bool vector = o.isVgpr() && (w.pendingV[r / 64] >> (r % 64) & 1);
      bool scalar = o.isSgpr() && (w.pendingS[r / 64] >> (r % 64) & 1);
      if (!vector && !scalar)
        continue;
      // Results of one kind return in order, so overwriting is safe.
      bool isLoad =
          k < inst.op->numDst && vector &&
          (inst.op->cls == InstClass::Vmem || inst.op->cls == InstClass::Lds);
      if (isLoad) {
        bool otherQueue = false;
        (inst.op->cls == InstClass::Vmem ? w.lgkm : w.vm)
            .forEach([&](const Outstanding &e) {
              otherQueue |= !e.sgpr && r >= e.reg && r < e.reg + e.count;
            });
        if (!otherQueue)
          continue;
      }
      w.report(inst, Check::MissingWait, -1, 0,
               std::string(k < inst.op->numDst ? "overwrites " : "reads ") +
                   (scalar     ? "s"
                    : r >= 256 ? "a"
                               : "v") +
                   std::to_string(r & 255) +
                   ", the destination of a load that was not waited for; an "
                   "s_waitcnt is missing");
      return;
    }
  }
}

/// A turn in instructions: long enough to amortise the change, short enough
/// that a wave that spins on another one's LDS flag makes progress.
static constexpr uint64_t kTurn = 1 << 16;

static void checkHazards(Wave &w, const Inst &inst, HazardWindow &window) {
  const Inst *first = nullptr;
  unsigned between = 0;
  HazardNeed need = window.check(inst, w.object->chip(), first, between);
  if (need.states)
    w.report(inst, Check::MissingNop, -1, 0,
             std::string(need.why) + ": " + std::to_string(need.states) +
                 " wait states needed after '" + first->text + "' at pc " +
                 std::to_string(first->pc) + ", there are " +
                 std::to_string(between));
  window.add(inst);
}

/// Asks whether any source settles the result, where that is to be reported.
static void doubt(Wave &w, const Inst &inst, Handler question) {
  if (question && w.launch->options.unspecified)
    question(w, inst);
}

/// MODE.VSKIP (s_setvskip) skips everything that works on lanes.
static bool skipsVector(const Wave &w) { return w.mode & kModeSkip; }
static bool isVector(const Inst &inst) {
  switch (InstClass(inst.cls)) {
  case InstClass::Valu:
  case InstClass::Transcendental:
  case InstClass::Mfma:
  case InstClass::Lds:
  case InstClass::Vmem:
  case InstClass::Scratch:
    return true;
  default:
    return false;
  }
}

/// Runs the wave's turn; `Watch` looks for hazards, skips and unspecified
/// results on the way, and writes the trace.
template <bool Watch> static void runTurn(Wave &w) {
  const Inst *program = w.object->program().data();
  const RegisterMask *masks = w.object->registerMasks().data();
  uint64_t end = w.executed + kTurn, limit = w.launch->options.maxInsts;
  Counters &counters = w.wg->counters;
  HazardWindow window;
  uint32_t index = 0;
  w.yields = false;
  while (w.state == WaveState::Running && w.executed != end && !w.yields) {
    if (w.pc == ~0u || w.executed >= limit) {
      const Inst &last = program[w.pc == ~0u ? index : w.pc];
      w.report(last, w.pc == ~0u ? Check::BadInstruction : Check::Timeout, -1,
               0,
               w.pc == ~0u ? "control flow left the decoded code"
                           : "the wave executed " + std::to_string(limit) +
                                 " instructions without ending");
      w.state = WaveState::Ended;
      w.wg->launch->stop = true;
      break;
    }
    ++w.executed;
    index = w.pc;
    const Inst &inst = program[index];
    w.pc = inst.next;
    if constexpr (Watch)
      if (skipsVector(w) && isVector(inst))
        continue;
    ++counters.instructions[inst.cls];
    counters.clocks[inst.cls] += inst.clocks;
    if (w.anyPending) {
      const RegisterMask &mask = masks[index];
      uint64_t hit =
          (w.pendingS[0] & mask.sgpr[0]) | (w.pendingS[1] & mask.sgpr[1]);
      for (unsigned k = 0; k < 8; ++k)
        hit |= w.pendingV[k] & mask.vgpr[k];
      if (__builtin_expect(hit != 0, 0))
        pendingHazard(w, inst);
    }
    if constexpr (Watch) {
      if (w.trace)
        w.trace->begin(index);
      if (w.checks && w.object->mayHaveHazards())
        checkHazards(w, inst, window);
      doubt(w, inst, inst.op->doubtBefore);
    }
    inst.fn(w, inst);
    if constexpr (Watch)
      doubt(w, inst, inst.op->doubtAfter);
  }
}

void runWave(Wave &w) {
  unsigned saved = _mm_getcsr();
  _mm_setcsr(w.mxcsr);
  if (skipsVector(w) || w.launch->options.unspecified || w.trace ||
      (w.checks && w.object->mayHaveHazards()))
    runTurn<true>(w);
  else
    runTurn<false>(w);
  w.mxcsr = _mm_getcsr();
  _mm_setcsr(saved);
}

static void setPending(Wave &w, const Outstanding &e, bool on) {
  uint64_t *bits = e.sgpr ? w.pendingS : w.pendingV;
  for (unsigned r = e.reg; r < unsigned(e.reg) + e.count; ++r)
    if (on)
      bits[r / 64] |= 1ull << (r % 64);
    else
      bits[r / 64] &= ~(1ull << (r % 64));
}

static void retire(Wave &w, const Outstanding &e) {
  setPending(w, e, false);
  for (int32_t touch : {e.touch, e.touch2})
    if (touch >= 0)
      w.freeTouches.push_back(touch);
}

static void afterRetire(Wave &w) {
  // Two outstanding loads may share a register: set what remains again.
  auto again = [&](const Outstanding &e) { setPending(w, e, true); };
  w.vm.forEach(again);
  w.lgkm.forEach(again);
  w.anyPending = !w.vm.empty() || !w.lgkm.empty();
}

void issueVm(Wave &w, Pending kind, unsigned reg, unsigned count,
             int32_t touch) {
  if (!w.checks)
    return;
  Outstanding e;
  e.kind = kind;
  e.reg = uint16_t(reg);
  e.count = uint8_t(count);
  // A flat access counts in both; its part in LDS is over with lgkmcnt.
  bool flat = kind == Pending::Flat;
  waitVm(w, kMaxVm - 1);
  if (flat)
    waitLgkm(w, kMaxLgkm - 1);
  e.touch = flat ? -1 : touch;
  w.vm.push(e);
  setPending(w, e, true);
  w.anyPending = true;
  if (flat) {
    e.touch = touch;
    w.lgkm.push(e);
  }
}

void issueLgkm(Wave &w, Pending kind, bool sgpr, unsigned reg, unsigned count,
               int32_t touch) {
  if (!w.checks)
    return;
  Outstanding e;
  e.kind = kind;
  e.sgpr = sgpr;
  e.reg = uint16_t(reg);
  e.count = uint8_t(count);
  e.touch = touch;
  waitLgkm(w, kMaxLgkm - 1);
  w.lgkm.push(e);
  setPending(w, e, true);
  w.anyPending = true;
}

void waitVm(Wave &w, unsigned n) {
  if (!w.checks || w.vm.size() <= n)
    return;
  w.vm.retireTo(n, [&](const Outstanding &e) { retire(w, e); });
  afterRetire(w);
}

void waitLgkm(Wave &w, unsigned n) {
  if (!w.checks || w.lgkm.size() <= n)
    return;
  w.lgkm.retireTo(n, [&](const Outstanding &e) { retire(w, e); });
  afterRetire(w);
}

int32_t newTouch(Wave &w, uint64_t mask, unsigned size, Use use) {
  int32_t index;
  if (w.freeTouches.empty()) {
    index = int32_t(w.touches.size());
    w.touches.emplace_back();
  } else {
    index = w.freeTouches.back();
    w.freeTouches.pop_back();
  }
  LdsTouch &t = w.touches[size_t(index)];
  t.mask = mask;
  t.size = size;
  t.use = use;
  return index;
}

void carryOutstanding(Wave &w) {
  auto carry = [&](const Outstanding &e) {
    for (int32_t touch : {e.touch, e.touch2}) {
      if (touch < 0)
        continue;
      const LdsTouch &t = w.touches[size_t(touch)];
      LdsConflict ignored;
      for (unsigned l = 0; l < kLanes; ++l)
        if (t.mask >> l & 1)
          w.wg->lds.access(t.address[l], t.size, w.index, t.use, ignored);
    }
  };
  w.vm.forEach(carry);
  w.lgkm.forEach(carry);
  carryGlobal(w);
}

} // namespace hk::emu
