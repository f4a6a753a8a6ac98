//===- SaluMoves.cpp - Scalar moves with an index, quads ------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// s_movrels and s_movreld, whose register number is relative to M0, the 32-bit
// quad masks, and the mode that skips vector instructions.
//
//===----------------------------------------------------------------------===//

#include "Scalar.h"

namespace hk::emu {
namespace {

/// The register M0 selects, or the operand itself (reported) when outside.
unsigned relative(Wave &w, const Inst &inst, const Operand &o) {
  if (w.checks && w.sd[kM0] != ~0u)
    w.reportUndefined(inst, -1, 0, "M0, the register index,");
  uint64_t reg = uint64_t(o.reg) + w.s[kM0];
  if (reg + o.width <= kFlatScratchLo)
    return unsigned(reg);
  w.report(inst, Check::BadInstruction, -1, 0,
           "M0 selects register s" + std::to_string(reg) +
               ", which does not exist");
  return o.reg;
}

template <bool Wide, bool Source> void moveRelative(Wave &w, const Inst &inst) {
  Operand to = inst.o[0], from = inst.o[1];
  Operand &moved = Source ? from : to;
  moved.reg = uint16_t(relative(w, inst, moved));
  Scalar v = readScalar(w, from, Wide);
  writeScalar(w, inst, to, Wide, v.value, v.defined);
}

/// Bit k of the result says whether any of the four source bits of quad k is
/// set; with `Whole` all four bits of the quad say it.
template <bool Whole> void quads(Wave &w, const Inst &inst) {
  Scalar a = readScalar(w, inst.o[1], false);
  uint32_t r = 0;
  for (unsigned k = 0; k < 8; ++k)
    if (a.value >> (4 * k) & 15)
      r |= Whole ? 15u << (4 * k) : 1u << k;
  bool ok = allDefined(a, false);
  writeScalar(w, inst, inst.o[0], false, r, ok ? ~0ull : 0);
  w.scc = r != 0;
  w.sccDefined = ok;
}

/// Bit S1 of S0 says whether vector instructions are skipped from here on. The
/// flag is MODE.VSKIP; the wave's turn ends so that it is seen at once.
void setSkip(Wave &w, const Inst &inst) {
  uint64_t bits = readScalar(w, inst.o[0], false).value;
  uint64_t bit = readScalar(w, inst.o[1], false).value & 31;
  w.mode = bits >> bit & 1 ? w.mode | kModeSkip : w.mode & ~kModeSkip;
  w.yields = true;
}

} // namespace

void addSaluMoves(OpTable &t) {
  addScalarOp(t, "s_movrels_b32", moveRelative<false, true>, false);
  addScalarOp(t, "s_movrels_b64", moveRelative<true, true>, true);
  addScalarOp(t, "s_movreld_b32", moveRelative<false, false>, false);
  addScalarOp(t, "s_movreld_b64", moveRelative<true, false>, true);
  addScalarOp(t, "s_setvskip", setSkip, false, 0);
  addScalarOp(t, "s_quadmask_b32", quads<false>, false);
  addScalarOp(t, "s_wqm_b32", quads<true>, false);
}

} // namespace hk::emu
