//===- Decoder.cpp - Machine code to Inst ---------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The printed form is the interface: LLVM's operand numbering is private to
// the target, its assembly syntax is documented.
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "OpTable.h"
#include "Parser.h"
#include <algorithm>
#include <cstring>
#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>
#include <mutex>

namespace hk::emu {
namespace {

uint16_t halfBits(double value) {
  _Float16 half = _Float16(value);
  uint16_t bits;
  std::memcpy(&bits, &half, 2);
  return bits;
}

std::string hex(uint64_t value) {
  char buf[24];
  std::snprintf(buf, sizeof buf, "0x%llx",
                static_cast<unsigned long long>(value));
  return buf;
}

RegisterMask registersOf(const Inst &inst) {
  RegisterMask mask;
  for (unsigned k = 0; k < inst.numOperands; ++k) {
    const Operand &o = inst.o[k];
    uint64_t *bits = o.isVgpr() ? mask.vgpr : o.isSgpr() ? mask.sgpr : nullptr;
    for (unsigned r = o.reg; bits && r < unsigned(o.reg) + o.width; ++r)
      bits[r / 64] |= 1ull << (r % 64);
  }
  return mask;
}

/// Far above any real program; zeros decode as instructions too.
constexpr size_t kMostInstructions = 1 << 21;

/// 1/(2*pi) is printed rounded; the hardware constants are exact.
bool isInverseTwoPi(double value) { return value > 0.15915 && value < 0.15916; }

} // namespace

Decoder::Decoder(Program &program)
    : program(program), image(program.image()), size(program.imageBytes()) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
  });
  disassembler = LLVMCreateDisasmCPU("amdgcn-amd-amdhsa", program.chip().name,
                                     nullptr, 0, nullptr, nullptr);
}

Decoder::~Decoder() {
  if (disassembler)
    LLVMDisasmDispose(disassembler);
}

std::string Decoder::decode(uint64_t begin, uint64_t end) {
  for (uint64_t pc = begin; pc < end;)
    if (std::string error = decodeNext(pc, end); !error.empty())
      return error;
  return "";
}

std::string Decoder::decodeReachable(uint64_t begin, uint64_t &end) {
  uint64_t furthest = begin;
  for (uint64_t pc = begin; pc < size;) {
    const uint64_t at = pc;
    if (std::string error = decodeNext(pc, size); !error.empty())
      return error;
    const Inst &inst = *program.instAt(at);
    if (inst.hasTarget)
      furthest =
          std::max(furthest, pc + uint64_t(int64_t(inst.branchOffset) * 4));
    end = pc;
    bool leaves = inst.op->name == "s_endpgm" || inst.op->name == "s_branch" ||
                  inst.op->name == "s_setpc_b64";
    if (leaves && pc > furthest)
      return "";
  }
  return "the code runs to the end of the image";
}

std::string Decoder::decodeNext(uint64_t &pc, uint64_t end) {
  if (!disassembler)
    return std::string("LLVM has no disassembler for ") + program.chip().name;
  if (end > size || pc > end || pc % 4)
    return "code range outside the image";
  if (program.insts.size() >= kMostInstructions)
    return "more than " + std::to_string(kMostInstructions) + " instructions";
  program.indexOf.resize(size / 4 + 1, -1);
  if (program.indexOf[pc / 4] < 0) {
    Inst inst;
    std::string error = decodeOne(pc, inst);
    if (!error.empty())
      return "at " + hex(pc) + ": " + error;
    program.indexOf[pc / 4] = int32_t(program.insts.size());
    program.masks.push_back(registersOf(inst));
    program.insts.push_back(inst);
  }
  pc += program.instAt(pc)->size;
  return "";
}

std::string Decoder::decodeOne(uint64_t pc, Inst &inst) {
  char text[256];
  size_t n =
      LLVMDisasmInstruction(disassembler, const_cast<uint8_t *>(image) + pc,
                            size - pc, pc, text, sizeof text);
  uint32_t word = 0;
  std::memcpy(&word, image + pc, 4);
  if (n == 0)
    return "the bytes " + hex(word) + " are no instruction of " +
           program.chip().name;
  inst.pc = pc;
  inst.size = uint32_t(n);
  inst.raw = word;
  ParsedText parsed = splitMnemonic(text);
  const char *start = text;
  while (*start == ' ' || *start == '\t')
    ++start;
  program.texts.emplace_back(start);
  std::string &shown = program.texts.back();
  std::replace(shown.begin(), shown.end(), '\t', ' ');
  inst.text = shown.c_str();
  inst.op = OpTable::get().find(parsed.mnemonic);
  if (!inst.op)
    return "instruction '" + shown + "' is not emulated";
  inst.fn = inst.op->fn;
  inst.cls = uint8_t(inst.op->cls);
  bool is950 = program.chip().mfmaDivisor > 1;
  inst.clocks =
      is950 && inst.op->clocks950 ? inst.op->clocks950 : inst.op->clocks;
  std::string error = inst.op->parse ? inst.op->parse(parsed.operands, inst)
                                     : parseOperands(parsed.operands, inst);
  if (inst.op->clocksOf)
    inst.clocks = inst.op->clocksOf(inst);
  if (error.empty())
    error = resolve(inst);
  if (!error.empty())
    error += " in '" + shown + "'";
  return error;
}

void Decoder::resolveConstant(Operand &op, Type type) {
  uint64_t bits = op.imm;
  if (op.isFloatText) {
    double value;
    std::memcpy(&value, &op.imm, 8);
    float single = float(value);
    bool twoPi = isInverseTwoPi(value);
    switch (type) {
    case Type::F64:
    case Type::B64:
    case Type::I64:
      if (twoPi)
        bits = 0x3fc45f306dc9c882;
      else
        std::memcpy(&bits, &value, 8);
      break;
    case Type::F16:
    case Type::B16:
      bits = twoPi ? 0x3118 : halfBits(value);
      break;
    default: {
      uint32_t word;
      std::memcpy(&word, &single, 4);
      bits = twoPi ? 0x3e22f983 : word;
    }
    }
  } else if (type == Type::F64 && (op.imm > 64 && op.imm < ~15ull) &&
             !(op.imm >> 32)) {
    bits = op.imm << 32; // a literal is the high half of a double
  } else if (type == Type::I64 && op.imm <= 0xffffffffull) {
    bits = uint64_t(int64_t(int32_t(op.imm)));
  }
  op.imm = bits;
  op.lanes = program.broadcast(bits);
}

std::string Decoder::resolve(Inst &inst) {
  const Op &op = *inst.op;
  if (uint16_t extra = inst.m.seen & ~op.mods)
    return "modifier group " + hex(extra) + " does not apply here";
  if (op.check)
    if (std::string error = op.check(inst); !error.empty())
      return error;
  if (op.plainOpSelHi && !inst.m.opSelHiGiven)
    inst.m.opSelHi = 0;
  if (inst.m.seen & kModSdwa)
    for (int k = 0; k < 2; ++k)
      if (op.numDst + k < inst.numOperands)
        inst.o[op.numDst + k].sel = inst.m.srcSel[k];
  for (unsigned k = 0; k < inst.numOperands; ++k) {
    Operand &o = inst.o[k];
    if (o.isConst())
      resolveConstant(o, op.types[k]);
    if (o.neg || o.abs || o.sext)
      inst.complex = true;
  }
  bool ownClamp = inst.m.clamp && op.clampFn && !inst.m.omod;
  if (ownClamp)
    inst.fn = op.clampFn;
  if (inst.m.seen & (kModDpp | kModSdwa | (ownClamp ? 0 : kModOut)))
    inst.complex = true;
  if (op.preserveHigh || (!op.packed && inst.m.opSel))
    inst.complex = true;
  return "";
}

static uint64_t targetOf(const Inst &inst) {
  return inst.pc + inst.size + uint64_t(int64_t(inst.branchOffset) * 4);
}

void Decoder::link() {
  // A branch may leave the functions that have a size: for a tail that several
  // share, or where the size is wrong. What is not code there is reported when
  // a wave gets to it. Decoding appends instructions, which may branch too.
  for (size_t i = 0; i < program.insts.size(); ++i) {
    const Inst &inst = program.insts[i];
    uint64_t target = targetOf(inst), end = 0;
    if (inst.hasTarget && !program.instAt(target))
      decodeReachable(target, end);
  }
  for (Inst &inst : program.insts) {
    const Inst *next = program.instAt(inst.pc + inst.size);
    inst.next = next ? uint32_t(next - program.insts.data()) : ~0u;
    const Inst *to = inst.hasTarget ? program.instAt(targetOf(inst)) : nullptr;
    inst.target = to ? int32_t(to - program.insts.data()) : -1;
  }
}

std::string Decoder::checkRegisters(const Kernel &kernel, uint64_t begin,
                                    uint64_t end) const {
  for (uint64_t pc = begin; pc < end;) {
    const Inst *inst = program.instAt(pc);
    if (!inst)
      break;
    pc += inst->size;
    for (unsigned k = 0; k < inst->numOperands; ++k) {
      const Operand &o = inst->o[k];
      unsigned last = o.reg + o.width - 1u;
      uint32_t limit = 0;
      // Vector registers above accum_offset are the accumulators' storage, and
      // kernels without accumulators use it as more vector registers.
      if (o.isVgpr() && o.reg < 256)
        limit = std::min(kernel.vgprs, 256u);
      else if (o.isVgpr())
        limit = 256 + kernel.vgprs - kernel.accumOffset;
      else if (o.isSgpr() && o.reg < 102)
        limit = kernel.sgprs;
      else
        continue;
      if (last >= limit)
        return "at " + hex(inst->pc) + ": register " +
               std::to_string(last & 255) + " of '" + inst->text +
               "' is outside the " + std::to_string(limit & 255) +
               " the kernel descriptor allocates";
    }
  }
  return "";
}

} // namespace hk::emu
