//===- Sopp.cpp - Program control -----------------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Branches, waits, barriers and the hints that do nothing here.
//
//===----------------------------------------------------------------------===//

#include "../Parser.h"
#include "../Wave.h"
#include <xmmintrin.h>

namespace hk::emu {

/// Rounding and denormal bits of MODE drive the host's own; see docs.
void setMode(Wave &w, uint32_t mode) {
  w.mode = mode;
  static const unsigned rounding[] = {0, 2, 1, 3}; // RNE, +inf, -inf, zero
  unsigned csr = 0x1f80 | rounding[mode & 3] << 13;
  unsigned denorm = mode >> 4 & 3;
  if (!(denorm & 1))
    csr |= 0x0040; // inputs are flushed
  if (!(denorm & 2))
    csr |= 0x8000; // results are flushed
  w.mxcsr = csr;
  _mm_setcsr(csr);
}

namespace {

std::string parseBranch(const std::string &text, Inst &inst) {
  int64_t offset;
  if (!parseInteger(text, offset))
    return "expected a branch offset";
  inst.hasTarget = true;
  inst.branchOffset = int16_t(offset);
  return "";
}

std::string parseNothing(const std::string &, Inst &) { return ""; }

/// raw: vmcnt | lgkmcnt << 8, 0xff where the counter is not named.
std::string parseWaitcnt(const std::string &text, Inst &inst) {
  uint32_t vm = 0xff, lgkm = 0xff;
  size_t at = 0;
  int64_t imm;
  if (parseInteger(text, imm)) {
    vm = uint32_t((imm & 15) | (imm >> 14 & 3) << 4);
    lgkm = uint32_t(imm >> 8 & 15);
    inst.raw = (vm == 63 ? 0xff : vm) | (lgkm == 15 ? 0xff : lgkm) << 8;
    return "";
  }
  while (at < text.size()) {
    size_t open = text.find('(', at), close = text.find(')', at);
    if (open == std::string::npos || close == std::string::npos ||
        !parseInteger(text.substr(open + 1, close - open - 1), imm))
      return "expected counter(n)";
    size_t start = text.find_first_not_of(" &,", at);
    std::string name = text.substr(start, open - start);
    if (name == "vmcnt")
      vm = uint32_t(imm);
    else if (name == "lgkmcnt")
      lgkm = uint32_t(imm);
    else if (name != "expcnt")
      return "unknown counter '" + name + "'";
    at = close + 1;
  }
  inst.raw = vm | lgkm << 8;
  return "";
}

void waitcnt(Wave &w, const Inst &inst) {
  ++w.wg->counters.waits;
  unsigned vm = inst.raw & 0xff, lgkm = inst.raw >> 8 & 0xff;
  if (vm != 0xff)
    waitVm(w, vm);
  if (lgkm != 0xff)
    waitLgkm(w, lgkm);
}

void branch(Wave &w, const Inst &inst) { w.pc = uint32_t(inst.target); }

void checkScc(Wave &w, const Inst &inst) {
  if (w.checks && !w.sccDefined)
    w.reportUndefined(inst, -1, 0, "SCC, which decides this branch,");
}

template <bool Value> void branchScc(Wave &w, const Inst &inst) {
  checkScc(w, inst);
  if (w.scc == Value)
    w.pc = uint32_t(inst.target);
}

template <bool Zero> void branchVcc(Wave &w, const Inst &inst) {
  uint64_t value = w.s64(kVccLo), defined = w.sd64(kVccLo);
  if (w.checks && defined != ~0ull && !(value & defined))
    w.reportUndefined(inst, __builtin_ctzll(~defined), 0,
                      "VCC, which decides this branch,");
  if ((value == 0) == Zero)
    w.pc = uint32_t(inst.target);
}

template <bool Zero> void branchExec(Wave &w, const Inst &inst) {
  if ((w.exec == 0) == Zero)
    w.pc = uint32_t(inst.target);
}

void endProgram(Wave &w, const Inst &) {
  w.state = WaveState::Ended;
  ++w.wg->ended;
}

void barrier(Wave &w, const Inst &inst) {
  ++w.wg->counters.barriers;
  w.barrier = &inst;
  if (w.wg->waves.size() > 1)
    w.state = WaveState::AtBarrier;
}

void nothing(Wave &, const Inst &) {}
void sleep(Wave &w, const Inst &) { w.yields = true; }

std::string parseGprIdx(const std::string &text, Inst &inst) {
  size_t open = text.find("gpr_idx(");
  inst.raw = 0;
  size_t last = text.rfind(',');
  int64_t mask;
  if (open == std::string::npos && last != std::string::npos &&
      parseInteger(text.substr(text.find_first_not_of(' ', last + 1)), mask)) {
    inst.raw = uint32_t(mask) & 15;
    return parseOperands(text.substr(0, last), inst);
  }
  if (open == std::string::npos)
    return "expected gpr_idx(...)";
  std::string names = text.substr(open + 8);
  static const char *const bits[] = {"SRC0", "SRC1", "SRC2", "DST"};
  for (unsigned k = 0; k < 4; ++k)
    if (names.find(bits[k]) != std::string::npos)
      inst.raw |= 1u << k;
  size_t comma = text.rfind(',', open);
  return comma == std::string::npos
             ? ""
             : parseOperands(text.substr(0, comma), inst);
}

void gprIdxOn(Wave &w, const Inst &inst) {
  const Operand &o = inst.o[0];
  uint32_t index = o.isSgpr() ? w.s[o.reg] : uint32_t(o.imm);
  w.setS(kM0, (w.s[kM0] & ~0xffu) | (index & 0xff));
  w.gprIdxMode = uint8_t(inst.raw);
}
void gprIdxMode(Wave &w, const Inst &inst) { w.gprIdxMode = uint8_t(inst.raw); }
void gprIdxOff(Wave &w, const Inst &) { w.gprIdxMode = 0; }
void gprIdxIdx(Wave &w, const Inst &inst) {
  w.setS(kM0, (w.s[kM0] & ~0xffu) | (w.s[inst.o[0].reg] & 0xff));
}

void trap(Wave &w, const Inst &inst) {
  w.report(inst, Check::BadInstruction, -1, 0, "the kernel trapped");
  endProgram(w, inst);
}

} // namespace

void addSopp(OpTable &t) {
  auto add = [&](const char *name, Handler fn, InstClass cls,
                 std::string (*parse)(const std::string &, Inst &)) {
    Op op;
    op.fn = fn;
    op.cls = cls;
    op.parse = parse;
    op.numDst = 0;
    t.add(name, op);
  };
  auto addBranch = [&](const char *name, Handler fn) {
    add(name, fn, InstClass::Branch, parseBranch);
  };
  addBranch("s_branch", branch);
  addBranch("s_cbranch_scc0", branchScc<false>);
  addBranch("s_cbranch_scc1", branchScc<true>);
  addBranch("s_cbranch_vccz", branchVcc<true>);
  addBranch("s_cbranch_vccnz", branchVcc<false>);
  addBranch("s_cbranch_execz", branchExec<true>);
  addBranch("s_cbranch_execnz", branchExec<false>);
  // Conditional debug branches are never taken outside a debugger.
  for (const char *name :
       {"s_cbranch_cdbgsys", "s_cbranch_cdbguser", "s_cbranch_cdbgsys_or_user",
        "s_cbranch_cdbgsys_and_user"})
    add(name, nothing, InstClass::Branch, parseNothing);
  add("s_waitcnt", waitcnt, InstClass::Wait, parseWaitcnt);
  add("s_barrier", barrier, InstClass::Barrier, parseNothing);
  add("s_endpgm", endProgram, InstClass::Branch, parseNothing);
  add("s_endpgm_saved", endProgram, InstClass::Branch, parseNothing);
  add("s_endpgm_ordered_ps_done", endProgram, InstClass::Branch, parseNothing);
  add("s_trap", trap, InstClass::Other, parseNothing);
  for (const char *name :
       {"s_nop", "s_setprio", "s_sethalt", "s_icache_inv", "s_sendmsg",
        "s_incperflevel", "s_decperflevel", "s_ttracedata", "s_wakeup",
        "s_setkill", "s_sendmsghalt"})
    add(name, nothing, InstClass::Other, parseNothing);
  add("s_sleep", sleep, InstClass::Other, parseNothing);
  add("s_set_gpr_idx_on", gprIdxOn, InstClass::Salu, parseGprIdx);
  add("s_set_gpr_idx_mode", gprIdxMode, InstClass::Salu, parseGprIdx);
  add("s_set_gpr_idx_off", gprIdxOff, InstClass::Salu, parseNothing);
  add("s_set_gpr_idx_idx", gprIdxIdx, InstClass::Salu, nullptr);
  // Cache maintenance: the emulated memory is coherent.
  for (const char *name :
       {"buffer_wbl2", "buffer_inv", "s_dcache_wb", "s_dcache_inv",
        "s_dcache_inv_vol", "s_dcache_wb_vol"})
    add(name, nothing, InstClass::Other, parseNothing);
}

} // namespace hk::emu
