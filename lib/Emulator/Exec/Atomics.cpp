//===- Atomics.cpp - Global, flat and buffer atomics ----------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Atomics are sequentially consistent: each lane is one compare-and-swap on
// host memory, so they also hold between the worker threads.
//
//===----------------------------------------------------------------------===//

#include "../AtomicOps.h"
#include "LdsLanes.h"
#include "ScalarMemory.h"

namespace hk::emu {

template <class T>
static uint64_t applyAt(const AtomicOp &op, uint64_t address, uint64_t source,
                        uint64_t compare) {
  T *p = reinterpret_cast<T *>(address);
  T old = __atomic_load_n(p, __ATOMIC_SEQ_CST);
  while (true) {
    T next = T(op.apply(old, source, compare));
    if (__atomic_compare_exchange_n(p, &old, next, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST))
      return old;
  }
}

uint64_t updateGlobal(Wave &w, const Inst &inst, const AtomicOp &op,
                      uint64_t address, unsigned lane, uint64_t source,
                      uint64_t compare, bool returns) {
  if (w.checks) {
    uint64_t bad = w.launch->memory->firstUndefined(address, op.bytes);
    if (bad != ~0ull) {
      noteUndefined(w, inst, bad, false);
      w.reportUndefined(inst, int(lane), bad, "the memory word of this atomic");
    }
    releaseWord(w, address); // later atomics may tell others of this one
  }
  uint64_t old = op.bytes == 8
                     ? applyAt<uint64_t>(op, address, source, compare)
                     : applyAt<uint32_t>(op, address, source, compare);
  // The result may tell that others are done; asked after it is there, as they
  // may run on another thread.
  if (w.checks && returns) {
    w.wg->launch->sync.acquire(address, w.wg->after);
    w.wg->nextEpoch(); // nor is it known which waves of this workgroup are
  }
  return old;
}

namespace {

uint64_t laneValue(Wave &w, unsigned reg, unsigned lane, bool wide) {
  uint64_t v = w.v[reg][lane];
  return wide ? v | uint64_t(w.v[reg + 1][lane]) << 32 : v;
}

/// `dst` is the result register, or -1 when nothing is returned.
void run(Wave &w, const Inst &inst, LaneAddresses &at, unsigned data, int dst) {
  const AtomicOp &op = atomicOps()[inst.op->info];
  bool wide = op.bytes == 8;
  uint64_t wanted = at.mask;
  if (dst >= 0 && w.launch->sampled) {
    w.wg->launch->asked = &inst;
    w.wg->launch->stop = true;
  } else if (dst >= 0 && w.launch->tracer && ++w.wg->asked > 1) {
    w.wg->launch->draws = true;
    w.wg->turnEnds = w.yields = true;
  }
  checkGlobal(w, inst, at, op.bytes, true, true);
  unsigned words = op.bytes / 4;
  if (w.checks) {
    uint64_t bad = 0;
    for (unsigned r = 0; r < words * (op.compare ? 2 : 1); ++r)
      bad |= at.mask & ~w.vd[data + r].whole();
    if (bad)
      w.reportUndefined(inst, __builtin_ctzll(bad), at.a[__builtin_ctzll(bad)],
                        "the operand of this atomic");
  }
  if (w.observed)
    countGlobal(w, at, op.bytes, true);
  if (w.checks)
    checkRaces(w, inst, at, op.bytes, Use::Atomic);
  for (uint64_t m = wanted; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctzll(m));
    uint64_t old = 0;
    if ((at.mask >> l & 1) && at.a[l] % op.bytes == 0) {
      if (op.compare && w.checks)
        swapsGlobal(w, at.a[l], op.bytes);
      uint64_t compare = op.compare ? laneValue(w, data + words, l, wide) : 0;
      old = updateGlobal(w, inst, op, at.a[l], l, laneValue(w, data, l, wide),
                         compare, dst >= 0);
    }
    if (dst >= 0) {
      w.v[dst][l] = uint32_t(old);
      if (wide)
        w.v[dst + 1][l] = uint32_t(old >> 32);
    }
  }
  if (dst >= 0)
    for (unsigned r = 0; r < words; ++r)
      define(w, unsigned(dst) + r, wanted);
}

void globalAtomic(Wave &w, const Inst &inst) {
  bool returns = inst.m.sc0;
  unsigned first = returns ? 1 : 0;
  LaneAddresses at;
  globalAddresses(w, inst, first, at);
  run(w, inst, at, inst.o[first + 1].reg, returns ? int(inst.o[0].reg) : -1);
  unsigned words = returns ? atomicOps()[inst.op->info].bytes / 4 : 0;
  issueVm(w, returns ? Pending::VmLoad : Pending::VmStore,
          returns ? inst.o[0].reg : 0, words);
}

void flatAtomic(Wave &w, const Inst &inst) {
  const AtomicOp &op = atomicOps()[inst.op->info];
  bool returns = inst.m.sc0, wide = op.bytes == 8;
  unsigned first = returns ? 1 : 0, data = inst.o[first + 1].reg;
  int dst = returns ? int(inst.o[0].reg) : -1;
  FlatSplit s;
  splitFlat(w, inst, first, s);
  if (s.scratch)
    w.report(inst, Check::BadInstruction, __builtin_ctzll(s.scratch), 0,
             "flat atomics on private memory are not emulated");
  if (s.global.mask)
    run(w, inst, s.global, data, dst);
  if (s.lds.mask)
    updateLds(w, inst, s.lds, op.bytes, definedLanes(w, inst.o[first + 1]), dst,
              [&](uint64_t old, unsigned l) {
                if (op.compare)
                  swapsLds(w, s.lds.a[l], op.bytes);
                return op.apply(old, laneValue(w, data, l, wide),
                                op.compare
                                    ? laneValue(w, data + op.bytes / 4, l, wide)
                                    : 0);
              });
  issueVm(
      w, Pending::Flat, returns ? inst.o[0].reg : 0, returns ? op.bytes / 4 : 0,
      w.checks && s.lds.mask ? touchLds(w, s.lds, op.bytes, Use::Atomic) : -1);
}

void bufferAtomic(Wave &w, const Inst &inst) {
  const AtomicOp &op = atomicOps()[inst.op->info];
  BufferAccess access;
  if (!bufferAddresses(w, inst, 1, op.bytes, access))
    return;
  for (unsigned k = 0; k < op.bytes / 4; ++k)
    access.at.mask &= access.inRange[k];
  bool returns = inst.m.sc0;
  run(w, inst, access.at, inst.o[0].reg, returns ? int(inst.o[0].reg) : -1);
  issueVm(w, returns ? Pending::VmLoad : Pending::VmStore,
          returns ? inst.o[0].reg : 0, returns ? op.bytes / 4 : 0);
}

} // namespace

void addAtomics(OpTable &t) {
  const auto &ops = atomicOps();
  for (size_t k = 0; k < ops.size(); ++k) {
    if (ops[k].name.empty())
      continue;
    Op op;
    op.cls = InstClass::Vmem;
    op.info = uint16_t(k);
    op.mods = kModOffset | kModCache;
    op.numDst = 0;
    op.fn = globalAtomic;
    t.add("global_atomic_" + ops[k].name, op);
    op.fn = flatAtomic;
    t.add("flat_atomic_" + ops[k].name, op);
    op.fn = bufferAtomic;
    op.mods |= kModBuffer;
    t.add("buffer_atomic_" + ops[k].name, op);
  }
}

} // namespace hk::emu
