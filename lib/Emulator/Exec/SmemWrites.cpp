//===- SmemWrites.cpp - Scalar stores and atomics -------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One address for the wave. The accesses are those of lane 0 of a vector
// instruction, with data from SGPRs.
//
//===----------------------------------------------------------------------===//

#include "../AtomicOps.h"
#include "ScalarMemory.h"

namespace hk::emu {
namespace {

/// The address of data operand 0's access; false if it must not happen.
bool target(Wave &w, const Inst &inst, bool buffer, unsigned bytes, bool atomic,
            LaneAddresses &at) {
  ScalarAddress a = scalarAddress(w, inst, buffer);
  if (w.checks && !a.defined)
    w.reportUndefined(inst, -1, a.address, "the address of this scalar access");
  at.mask = a.address + bytes <= a.limit ? 1 : 0;
  at.a[0] = a.address & ~3ull;
  checkGlobal(w, inst, at, bytes, true, atomic);
  return at.mask;
}

template <bool Buffer> void store(Wave &w, const Inst &inst) {
  unsigned words = inst.op->info, reg = inst.o[0].reg;
  LaneAddresses at;
  if (target(w, inst, Buffer, 4 * words, false, at)) {
    for (unsigned k = 0; k < words; ++k)
      if (w.checks && w.sd[reg + k] != ~0u) {
        w.reportUndefined(inst, -1, at.a[0] + 4 * k,
                          "the value stored to global memory");
        break;
      }
    if (w.checks)
      checkRaces(w, inst, at, 4 * words, Use::Write);
    std::memcpy(reinterpret_cast<void *>(at.a[0]), &w.s[reg], 4 * words);
    w.launch->memory->setDefined(at.a[0], 4 * words);
  }
  issueLgkm(w, Pending::Smem, true, 0, 0);
}

/// The data operand also takes the result when glc asks for it; a compare and
/// swap has its comparison value behind the new value.
template <bool Buffer> void atomic(Wave &w, const Inst &inst) {
  const AtomicOp &op = atomicOps()[inst.op->info];
  unsigned words = op.bytes / 4, reg = inst.o[0].reg;
  auto operand = [&](unsigned r) {
    return op.bytes == 8 ? w.s64(r) : uint64_t(w.s[r]);
  };
  LaneAddresses at;
  if (target(w, inst, Buffer, op.bytes, true, at)) {
    for (unsigned k = 0; k < words * (op.compare ? 2 : 1); ++k)
      if (w.checks && w.sd[reg + k] != ~0u) {
        w.reportUndefined(inst, -1, at.a[0], "the operand of this atomic");
        break;
      }
    if (w.checks)
      checkRaces(w, inst, at, op.bytes, Use::Atomic);
    uint64_t old =
        updateGlobal(w, inst, op, at.a[0], 0, operand(reg),
                     op.compare ? operand(reg + words) : 0, inst.m.sc0);
    for (unsigned k = 0; inst.m.sc0 && k < words; ++k)
      w.setS(reg + k, uint32_t(old >> (32 * k)));
  }
  issueLgkm(w, Pending::Smem, true, reg, inst.m.sc0 ? words : 0);
}

} // namespace

void addSmemWrites(OpTable &t) {
  Op op;
  op.cls = InstClass::Smem;
  op.mods = kModOffset | kModCache;
  op.numDst = 0;
  for (unsigned words : {1, 2, 4}) {
    std::string suffix =
        words == 1 ? "dword" : "dwordx" + std::to_string(words);
    op.info = uint16_t(words);
    op.fn = store<false>;
    t.add("s_store_" + suffix, op);
    op.fn = store<true>;
    t.add("s_buffer_store_" + suffix, op);
  }
  const auto &ops = atomicOps();
  for (size_t k = 0; k < ops.size(); ++k) {
    if (!ops[k].isInteger)
      continue;
    op.info = uint16_t(k);
    op.fn = atomic<false>;
    t.add("s_atomic_" + ops[k].name, op);
    op.fn = atomic<true>;
    t.add("s_buffer_atomic_" + ops[k].name, op);
  }
}

} // namespace hk::emu
