//===- SaluControl.cpp - Scalar compares, constants, calls and MODE -------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SOPC, SOPK, the program counter and the hardware registers.
//
//===----------------------------------------------------------------------===//

#include "../Parser.h"
#include "Scalar.h"

namespace hk::emu {
namespace {

template <class T, class F> Handler compare(F lambda) {
  static const F f = lambda;
  (void)f;
  return [](Wave &w, const Inst &inst) {
    Scalar a = readScalar(w, inst.o[0], isWide<T>());
    Scalar b = readScalar(w, inst.o[1], isWide<T>());
    w.scc = f(T(a.value), T(b.value));
    w.sccDefined = allDefined(a, isWide<T>()) && allDefined(b, isWide<T>());
  };
}

uint64_t currentPc(Wave &w) {
  const Inst &next = w.object->program()[w.pc];
  return w.object->imageBase() + next.pc;
}

void jumpTo(Wave &w, const Inst &inst, uint64_t address) {
  const Inst *to = w.object->instAt(address - w.object->imageBase());
  w.pc = to ? uint32_t(to - w.object->program().data()) : ~0u;
  if (!to) {
    w.report(inst, Check::BadInstruction, -1, address,
             "jump to an address that holds no decoded instruction");
    w.state = WaveState::Ended;
    ++w.wg->ended;
  }
}

void getPc(Wave &w, const Inst &inst) {
  w.setS64(inst.o[0].reg, w.object->imageBase() + inst.pc + inst.size);
}
void setPc(Wave &w, const Inst &inst) {
  jumpTo(w, inst, readScalar(w, inst.o[0], true).value);
}
void swapPc(Wave &w, const Inst &inst) {
  uint64_t to = readScalar(w, inst.o[1], true).value;
  w.setS64(inst.o[0].reg, w.object->imageBase() + inst.pc + inst.size);
  jumpTo(w, inst, to);
}
void call(Wave &w, const Inst &inst) {
  w.setS64(inst.o[0].reg, currentPc(w));
  w.pc = uint32_t(inst.target);
}

// --- hardware registers ---
std::string parseHwreg(const std::string &text, Inst &inst) {
  // "s0, hwreg(NAME, offset, width)" or "hwreg(NAME, 4, 4), 15"
  size_t open = text.find("hwreg(");
  size_t close = text.find(')', open == std::string::npos ? 0 : open);
  if (open == std::string::npos || close == std::string::npos)
    return "expected hwreg(...)";
  std::string args = text.substr(open + 6, close - open - 6);
  std::string rest = text.substr(0, open) + text.substr(close + 1);
  for (const char *strip : {", ", ","})
    while (rest.find(strip) != std::string::npos)
      rest.erase(rest.find(strip), std::strlen(strip));
  int64_t offset = 0, width = 32;
  size_t comma = args.find(',');
  std::string name = args.substr(0, comma);
  if (comma != std::string::npos) {
    size_t second = args.find(',', comma + 1);
    if (second == std::string::npos ||
        !parseInteger(args.substr(comma + 2, second - comma - 2), offset) ||
        !parseInteger(args.substr(second + 2), width))
      return "bad hwreg field";
  }
  // Only MODE has a meaning for a kernel's results; others read as zero.
  inst.raw = uint32_t(offset | width << 8 | (name == "HW_REG_MODE") << 16);
  return parseOperands(rest, inst);
}

void getReg(Wave &w, const Inst &inst) {
  unsigned offset = inst.raw & 0xff, width = inst.raw >> 8 & 0xff;
  uint32_t value = inst.raw >> 16 ? w.mode : 0;
  uint64_t mask = (1ull << width) - 1;
  w.setS(inst.o[0].reg, uint32_t((value >> offset) & mask));
}

void setReg(Wave &w, const Inst &inst) {
  unsigned offset = inst.raw & 0xff, width = inst.raw >> 8 & 0xff;
  if (!(inst.raw >> 16))
    return;
  uint32_t mask = uint32_t(((1ull << width) - 1) << offset);
  uint32_t value = uint32_t(readScalar(w, inst.o[0], false).value) << offset;
  setMode(w, (w.mode & ~mask) | (value & mask));
}

void addCompares(OpTable &t) {
  using u32 = uint32_t;
  using i32 = int32_t;
  using u64 = uint64_t;
  auto add = [&](const char *name, Handler fn, bool wide) {
    Op op;
    op.cls = InstClass::Salu;
    op.numDst = 0;
    op.fn = fn;
    if (wide)
      op.types[0] = op.types[1] = Type::B64;
    t.add(name, op);
  };
  auto bothWidths = [&](const std::string &cmp, Handler i, Handler u) {
    add(("s_cmp_" + cmp + "_i32").c_str(), i, false);
    add(("s_cmp_" + cmp + "_u32").c_str(), u, false);
  };
  bothWidths("eq", compare<i32>([](i32 a, i32 b) { return a == b; }),
             compare<u32>([](u32 a, u32 b) { return a == b; }));
  bothWidths("lg", compare<i32>([](i32 a, i32 b) { return a != b; }),
             compare<u32>([](u32 a, u32 b) { return a != b; }));
  bothWidths("gt", compare<i32>([](i32 a, i32 b) { return a > b; }),
             compare<u32>([](u32 a, u32 b) { return a > b; }));
  bothWidths("ge", compare<i32>([](i32 a, i32 b) { return a >= b; }),
             compare<u32>([](u32 a, u32 b) { return a >= b; }));
  bothWidths("lt", compare<i32>([](i32 a, i32 b) { return a < b; }),
             compare<u32>([](u32 a, u32 b) { return a < b; }));
  bothWidths("le", compare<i32>([](i32 a, i32 b) { return a <= b; }),
             compare<u32>([](u32 a, u32 b) { return a <= b; }));
  add("s_cmp_eq_u64", compare<u64>([](u64 a, u64 b) { return a == b; }), true);
  add("s_cmp_lg_u64", compare<u64>([](u64 a, u64 b) { return a != b; }), true);
  add("s_bitcmp0_b32",
      compare<u32>([](u32 a, u32 b) { return !(a >> (b & 31) & 1); }), false);
  add("s_bitcmp1_b32",
      compare<u32>([](u32 a, u32 b) { return (a >> (b & 31) & 1) != 0; }),
      false);

  for (int one = 0; one < 2; ++one) {
    Op op;
    op.cls = InstClass::Salu;
    op.numDst = 0;
    op.types[0] = Type::B64;
    op.info = uint16_t(one);
    op.fn = [](Wave &w, const Inst &inst) {
      Scalar a = readScalar(w, inst.o[0], true);
      Scalar b = readScalar(w, inst.o[1], false);
      w.scc = (a.value >> (b.value & 63) & 1) == inst.op->info;
      w.sccDefined = allDefined(a, true) && allDefined(b, false);
    };
    t.add(one ? "s_bitcmp1_b64" : "s_bitcmp0_b64", op);
  }
}

/// The 16-bit immediate of SOPK instructions is printed without its sign.
void addSopk(OpTable &t, const char *name, Handler fn, unsigned numDst) {
  Op op;
  op.cls = InstClass::Salu;
  op.numDst = uint8_t(numDst);
  op.fn = fn;
  t.add(name, op);
}

void addSopkArithmetic(OpTable &t) {
  addSopk(
      t, "s_movk_i32",
      [](Wave &w, const Inst &inst) {
        w.setS(inst.o[0].reg, uint32_t(int32_t(int16_t(inst.o[1].imm))));
        if (inst.o[0].reg >= kExecLo)
          w.setExec(w.s64(kExecLo));
      },
      1);
  addSopk(
      t, "s_cmovk_i32",
      [](Wave &w, const Inst &inst) {
        if (w.scc)
          w.setS(inst.o[0].reg, uint32_t(int32_t(int16_t(inst.o[1].imm))));
      },
      1);
  addSopk(
      t, "s_addk_i32",
      [](Wave &w, const Inst &inst) {
        unsigned r = inst.o[0].reg;
        int32_t sum;
        w.scc = __builtin_add_overflow(int32_t(w.s[r]),
                                       int32_t(int16_t(inst.o[1].imm)), &sum);
        w.sccDefined = w.sd[r] == ~0u;
        w.setS(r, uint32_t(sum), w.sd[r] == ~0u ? ~0u : 0);
      },
      1);
  addSopk(
      t, "s_mulk_i32",
      [](Wave &w, const Inst &inst) {
        unsigned r = inst.o[0].reg;
        w.setS(r, w.s[r] * uint32_t(int32_t(int16_t(inst.o[1].imm))),
               w.sd[r] == ~0u ? ~0u : 0);
      },
      1);
}

void addSopkCompares(OpTable &t) {
#define HK_CMPK(NAME, TYPE, EXPR)                                              \
  addSopk(                                                                     \
      t, "s_cmpk_" NAME,                                                       \
      [](Wave &w, const Inst &inst) {                                          \
        auto a = static_cast<TYPE>(w.s[inst.o[0].reg]);                        \
        auto b = std::is_signed_v<TYPE>                                        \
                     ? static_cast<TYPE>(int32_t(int16_t(inst.o[1].imm)))      \
                     : static_cast<TYPE>(uint16_t(inst.o[1].imm));             \
        w.scc = EXPR;                                                          \
        w.sccDefined = w.sd[inst.o[0].reg] == ~0u;                             \
      },                                                                       \
      0)
  HK_CMPK("eq_i32", int32_t, a == b);
  HK_CMPK("lg_i32", int32_t, a != b);
  HK_CMPK("gt_i32", int32_t, a > b);
  HK_CMPK("ge_i32", int32_t, a >= b);
  HK_CMPK("lt_i32", int32_t, a < b);
  HK_CMPK("le_i32", int32_t, a <= b);
  HK_CMPK("eq_u32", uint32_t, a == b);
  HK_CMPK("lg_u32", uint32_t, a != b);
  HK_CMPK("gt_u32", uint32_t, a > b);
  HK_CMPK("ge_u32", uint32_t, a >= b);
  HK_CMPK("lt_u32", uint32_t, a < b);
  HK_CMPK("le_u32", uint32_t, a <= b);
#undef HK_CMPK
}

} // namespace

void addSaluControl(OpTable &t) {
  addCompares(t);
  addSopkArithmetic(t);
  addSopkCompares(t);
  addScalarOp(t, "s_getpc_b64", getPc, true);
  addScalarOp(t, "s_setpc_b64", setPc, true, 0);
  addScalarOp(t, "s_swappc_b64", swapPc, true);
  Op op;
  op.cls = InstClass::Branch;
  op.fn = call;
  op.parse = [](const std::string &text, Inst &inst) -> std::string {
    std::string error = parseOperands(text, inst);
    if (!error.empty() || inst.numOperands != 2)
      return error.empty() ? "expected a register and an offset" : error;
    inst.hasTarget = true;
    inst.branchOffset = int16_t(inst.o[1].imm);
    return "";
  };
  t.add("s_call_b64", op);
  Op hwreg;
  hwreg.cls = InstClass::Salu;
  hwreg.parse = parseHwreg;
  hwreg.fn = getReg;
  t.add("s_getreg_b32", hwreg);
  hwreg.fn = setReg;
  hwreg.numDst = 0;
  t.add("s_setreg_b32", hwreg);
  t.add("s_setreg_imm32_b32", hwreg);
}

} // namespace hk::emu
