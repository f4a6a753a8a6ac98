//===- StaticTable.cpp - What the replay needs of an instruction ----------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clocks of vector and matrix instructions come from the op table, which has
// them by shape and operand type; the rest is read off the mnemonic.
//
//===----------------------------------------------------------------------===//

#include "StaticTable.h"
#include "OpTable.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace hk::emu {
namespace {

bool contains(const std::string &text, const char *part) {
  return text.find(part) != std::string::npos;
}

/// The number behind the mnemonic of s_nop, s_sleep and s_setprio.
unsigned immediateOf(const Inst &inst) {
  const char *space = std::strchr(inst.text, ' ');
  return space ? unsigned(std::strtoul(space, nullptr, 0)) : 0;
}

/// Bytes that an access moves for each lane.
uint16_t laneBytes(const std::string &name) {
  unsigned bytes = 4;
  if (contains(name, "x4") || contains(name, "b128"))
    bytes = 16;
  else if (contains(name, "x3") || contains(name, "b96"))
    bytes = 12;
  else if (contains(name, "x2") || contains(name, "64"))
    bytes = 8;
  if (contains(name, "read2") || contains(name, "write2"))
    bytes *= 2;
  return uint16_t(bytes);
}

/// 2 M N K of "..._32x32x8_f16" or "..._4x4x4_16b_f16"; 0 if there is none.
float flopsOf(const std::string &name) {
  for (size_t at = name.find('_'); at != std::string::npos;
       at = name.find('_', at + 1)) {
    unsigned m, n, k, blocks = 1;
    int used = 0;
    if (std::sscanf(name.c_str() + at, "_%ux%ux%u%n", &m, &n, &k, &used) != 3)
      continue;
    char b = 0;
    if (std::sscanf(name.c_str() + at + used, "_%u%c", &blocks, &b) != 2 ||
        b != 'b')
      blocks = 1;
    return 2.0f * float(m) * float(n) * float(k) * float(blocks);
  }
  return 0;
}

FlopType flopTypeOf(const std::string &name) {
  if (contains(name, "bf16"))
    return FlopType::Bf16;
  if (contains(name, "fp8") || contains(name, "bf8") || contains(name, "i8"))
    return FlopType::Fp8;
  if (name.size() > 4 && name.compare(name.size() - 4, 4, "_f16") == 0)
    return FlopType::F16;
  return FlopType::Other;
}

RegisterRange rangeOf(const Operand &o) {
  return o.isVgpr() ? RegisterRange{o.reg, o.width} : RegisterRange{};
}

void addSource(StaticInst &s, const Operand &o) {
  if (!o.isVgpr())
    return;
  for (RegisterRange &r : s.src)
    if (!r.count) {
      r = rangeOf(o);
      return;
    }
}

void setRegisters(StaticInst &s, const Inst &inst) {
  const Op &op = *inst.op;
  bool memory = op.cls == InstClass::Lds || op.cls == InstClass::Vmem ||
                op.cls == InstClass::Scratch;
  unsigned dst = memory && s.store ? 0 : op.numDst;
  // What a load returns is guarded by waits, which are in the trace.
  if (!memory && dst && inst.numOperands)
    s.dst = rangeOf(inst.o[0]);
  for (unsigned k = dst; k < inst.numOperands; ++k) {
    bool accumulates = s.kind == StepKind::Mfma && k == 3 &&
                       inst.o[3].isVgpr() && inst.o[3].reg == inst.o[0].reg;
    if (accumulates)
      s.accumulator = rangeOf(inst.o[3]);
    else
      addSource(s, inst.o[k]);
  }
  if (op.dstIsSource)
    addSource(s, inst.o[0]);
}

void setVector(StaticInst &s, const Inst &inst, const ChipTiming &chip) {
  s.port = Port::Valu;
  s.clocks = inst.clocks;
  if (inst.op->cls != InstClass::Mfma) {
    s.latency = uint16_t(inst.clocks + chip.valuLatency - 4);
    return;
  }
  // The matrix unit works while others issue. Its result is read 4 passes
  // after the last one, but at once as the next accumulator.
  s.kind = StepKind::Mfma;
  s.clocks = 4;
  s.pipe = inst.clocks;
  s.latency = uint16_t(inst.clocks + 16);
  s.flops = flopsOf(inst.op->name);
  s.flopType = flopTypeOf(inst.op->name);
}

void setMemory(StaticInst &s, const Inst &inst) {
  const std::string &name = inst.op->name;
  s.bytes = laneBytes(name);
  s.store = contains(name, "store") || contains(name, "_write") ||
            contains(name, "atomic");
  s.scratch = inst.op->cls == InstClass::Scratch;
  s.returns = !s.store || inst.m.sc0;
  if (inst.op->cls == InstClass::Lds) {
    s.port = Port::Lds;
    // A write hands over its data before the next instruction: rocRoller.
    if (s.store)
      s.clocks = uint16_t(4 + s.bytes);
    return;
  }
  s.port = Port::Vmem;
  s.unit = s.bytes > 4 ? 16 : 4; // gluon: x2 and x4 take 16, a word 4
}

void setOther(StaticInst &s, const Inst &inst) {
  const std::string &name = inst.op->name;
  if (name == "s_nop" || name == "s_sleep") {
    s.kind = StepKind::Idle;
    unsigned n = immediateOf(inst);
    s.clocks =
        uint16_t(name == "s_nop" ? 4 * (n + 1) : std::min(64 * n, 0xffffu));
  } else if (name == "s_setprio") {
    s.kind = StepKind::Priority;
    s.priority = uint8_t(immediateOf(inst));
  }
}

StaticInst makeEntry(const Inst &inst, const ChipTiming &chip) {
  StaticInst s;
  s.next = inst.next;
  switch (inst.op->cls) {
  case InstClass::Salu:
    s.port = Port::Salu;
    break;
  case InstClass::Branch:
    s.port = Port::Branch;
    if (inst.op->name.compare(0, 8, "s_endpgm") == 0)
      s.kind = StepKind::End;
    break;
  case InstClass::Wait:
    s.kind = StepKind::Wait;
    s.vmCount = inst.raw & 0xff;
    s.lgkmCount = inst.raw >> 8 & 0xff;
    break;
  case InstClass::Barrier:
    s.kind = StepKind::Barrier;
    break;
  case InstClass::Smem:
    s.port = Port::Smem;
    break;
  case InstClass::Valu:
  case InstClass::Transcendental:
  case InstClass::Mfma:
    setVector(s, inst, chip);
    break;
  case InstClass::Lds:
  case InstClass::Vmem:
  case InstClass::Scratch:
    setMemory(s, inst);
    break;
  default:
    setOther(s, inst);
  }
  setRegisters(s, inst);
  return s;
}

} // namespace

StaticTable::StaticTable(const CodeObject &object, const ChipTiming &chip) {
  table.reserve(object.program().size());
  for (const Inst &inst : object.program())
    table.push_back(makeEntry(inst, chip));
}

} // namespace hk::emu
