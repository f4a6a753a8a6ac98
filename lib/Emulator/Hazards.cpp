//===- Hazards.cpp - Required wait states between instructions ------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function per table of the ISA documents. Where a document gives a range
// of cases the numbers are those compilers use.
//
//===----------------------------------------------------------------------===//

#include "Hazards.h"
#include "OpTable.h"
#include <cstring>

namespace hk::emu {
namespace {

bool startsWith(const Inst &inst, const char *prefix) {
  return inst.op->name.compare(0, std::strlen(prefix), prefix) == 0;
}
InstClass classOf(const Inst &inst) { return InstClass(inst.cls); }
bool isMfma(const Inst &inst) { return classOf(inst) == InstClass::Mfma; }
bool isTrans(const Inst &inst) {
  return classOf(inst) == InstClass::Transcendental;
}
bool isDot(const Inst &inst) { return startsWith(inst, "v_dot"); }
/// Vector ALU without the matrix instructions.
bool isValu(const Inst &inst) {
  return classOf(inst) == InstClass::Valu || isTrans(inst);
}
bool isVmem(const Inst &inst) {
  return classOf(inst) == InstClass::Vmem ||
         classOf(inst) == InstClass::Scratch;
}
bool isDouble(const Inst &inst) { return startsWith(inst, "v_mfma_f64"); }
/// Not on the matrix pipeline proper: f32 inputs.
bool isSmfma(const Inst &inst) {
  const std::string &name = inst.op->name;
  return name.size() > 4 && name.compare(name.size() - 4, 4, "_f32") == 0 &&
         name.compare(name.size() - 5, 5, "_xf32") != 0;
}
unsigned passes(const Inst &inst) { return inst.clocks / 4; }

bool overlap(const Operand &a, const Operand &b) {
  return a.file == b.file && a.reg < b.reg + b.width && b.reg < a.reg + a.width;
}

bool isLaneAccess(const Inst &inst) {
  return startsWith(inst, "v_readlane") || startsWith(inst, "v_writelane");
}

/// Calls f(operand, index among the sources) for what `inst` reads.
template <class F> void forSources(const Inst &inst, F f) {
  unsigned first = inst.op->numDst;
  for (unsigned k = first; k < inst.numOperands; ++k)
    f(inst.o[k], k - first);
  if (inst.op->dstIsSource)
    f(inst.o[0], inst.numOperands - first);
}
template <class F> void forResults(const Inst &inst, F f) {
  for (unsigned k = 0; k < inst.op->numDst && k < inst.numOperands; ++k)
    f(inst.o[k]);
}

bool readsAny(const Inst &inst, const Operand &reg) {
  bool found = false;
  forSources(inst,
             [&](const Operand &o, unsigned) { found |= overlap(o, reg); });
  return found;
}
bool writesAny(const Inst &inst, const Operand &reg) {
  bool found = false;
  forResults(inst, [&](const Operand &o) { found |= overlap(o, reg); });
  return found;
}
bool writesExec(const Inst &inst) { return startsWith(inst, "v_cmpx"); }

struct Worst {
  HazardNeed need;
  void add(unsigned states, const char *why) {
    if (states > need.states)
      need = {states, why};
  }
};

/// CDNA3 ISA 4.5: a vector ALU instruction comes first.
void afterValu(const Inst &first, const Inst &second, Worst &worst) {
  bool lanes = isLaneAccess(second) || startsWith(second, "v_readfirstlane");
  if (writesExec(first)) {
    if (second.m.dpp)
      worst.add(5, "EXEC written by the VALU, then DPP");
    if (lanes)
      worst.add(4, "EXEC written by the VALU, then a lane access");
    if (isMfma(second))
      worst.add(4, "EXEC written by the VALU, then MFMA");
  }
  forResults(first, [&](const Operand &d) {
    if (d.isSgpr()) {
      if (isVmem(second) && readsAny(second, d))
        worst.add(5, "SGPR written by the VALU, then read by VMEM");
      if (isLaneAccess(second) && second.numOperands > 2 &&
          overlap(second.o[2], d))
        worst.add(4, "SGPR written by the VALU, then a lane number");
      if (startsWith(second, "v_div_fmas") && d.reg == kVccLo)
        worst.add(4, "VCC written by the VALU, then v_div_fmas");
      if (isValu(second) && readsAny(second, d))
        worst.add(2, "SGPR written by the VALU, then read by the VALU");
    }
    if (!d.isVgpr())
      return;
    if (second.m.dpp && overlap(second.o[second.op->numDst], d))
      worst.add(2, "VGPR written by the VALU, then read by DPP");
    if (lanes && readsAny(second, d))
      worst.add(1, "VGPR written by the VALU, then a lane read");
    if (isMfma(second) && !isDot(first) && readsAny(second, d))
      worst.add(2, "VGPR written by the VALU, then read by MFMA");
    if (isTrans(first) && isValu(second) && !isTrans(second) &&
        readsAny(second, d))
      worst.add(1, "result of a transcendental instruction, then a VALU use");
    bool part = first.m.dstSel != Sel::Dword && (first.m.seen & kModSdwa);
    if (part && isValu(second) && readsAny(second, d))
      worst.add(1, "part of a VGPR written by SDWA, then a VALU use");
    if (isDot(first) && isValu(second) && first.op != second.op &&
        (readsAny(second, d) || writesAny(second, d)))
      worst.add(3, "result of a dot product, then another VALU instruction");
  });
}

/// CDNA3 ISA 7.5: a matrix instruction comes first. The CDNA4 pipeline takes
/// one state more for all but the shortest.
void afterMfma(const Inst &first, const Inst &second, bool cdna4,
               Worst &worst) {
  const Operand &d = first.o[0];
  unsigned n = passes(first);
  bool is16 = startsWith(first, "v_mfma_f64_16");
  unsigned longer = cdna4 && n != 2 ? 1 : 0;
  unsigned result = isDouble(first)  ? (is16 ? (cdna4 ? 19 : 11) : 6)
                    : isSmfma(first) ? n + 2
                                     : n + 3 + longer;
  if (isMfma(second)) {
    forSources(second, [&](const Operand &o, unsigned k) {
      if (!overlap(o, d))
        return;
      // Sparse instructions have the index third and accumulate in D.
      bool isC = startsWith(second, "v_smfmac") ? k == 3 : k == 2;
      if (!isC) {
        worst.add(result, "result of MFMA, then A or B of MFMA");
        return;
      }
      bool same = o.reg == d.reg && o.width == d.width;
      if (same) {
        worst.add(isDouble(first) && isDouble(second) && !is16 ? 4
                  : n == 2                                     ? 2
                                                               : 0,
                  "result of MFMA, then the same C of MFMA");
      } else if (isDouble(first)) {
        if (isDouble(second) || isSmfma(second))
          worst.add(is16 ? (cdna4 ? 17 : 9) : 4,
                    "result of MFMA, then an overlapping C of MFMA");
      } else if (isSmfma(first)) {
        if (isSmfma(second))
          worst.add(n, "result of MFMA, then an overlapping C of MFMA");
      } else {
        worst.add(n + 1 + longer,
                  "result of MFMA, then an overlapping C of MFMA");
      }
    });
    return;
  }
  bool memory = isVmem(second) || classOf(second) == InstClass::Lds;
  if (!memory && !isValu(second))
    return;
  if (readsAny(second, d))
    worst.add(memory && isDouble(first) ? (is16 ? 18 : 9) : result,
              "result of MFMA, then a read by another unit");
  if (!isValu(second))
    return;
  if (writesAny(second, d))
    worst.add(result, "result of MFMA, then overwritten by the VALU");
  const Operand &c = first.o[3];
  if (!isDouble(first) && first.numOperands > 3 && c.isVgpr() &&
      writesAny(second, c))
    worst.add(n - 1, "C of MFMA, then overwritten by the VALU");
}

bool writesReg(const Inst &inst, unsigned sgpr) {
  bool found = false;
  forResults(inst, [&](const Operand &o) {
    found |= o.isSgpr() && o.reg <= sgpr && sgpr < o.reg + o.width;
  });
  return found;
}

void afterOther(const Inst &first, const Inst &second, Worst &worst) {
  if (classOf(first) == InstClass::Salu) {
    bool usesM0 = second.m.lds || startsWith(second, "global_load_lds") ||
                  startsWith(second, "s_sendmsg") ||
                  startsWith(second, "s_movrel") ||
                  startsWith(second, "ds_read_addtid") ||
                  startsWith(second, "ds_write_addtid");
    if (usesM0 && writesReg(first, kM0))
      worst.add(1, "M0 written by the SALU, then used");
    if (startsWith(first, "s_setreg") &&
        (startsWith(second, "s_setreg") || startsWith(second, "s_getreg")) &&
        (first.raw >> 16) == (second.raw >> 16))
      worst.add(2, "hardware register written, then accessed");
  }
  // The data of a wide store are read late.
  bool store =
      isVmem(first) && first.op->name.find("_store_") != std::string::npos;
  if (!store || !isValu(second))
    return;
  bool buffer = startsWith(first, "buffer_");
  const Operand &data = first.o[buffer ? 0 : 1];
  bool fixedOffset = !buffer || !first.o[3].isSgpr();
  if (data.isVgpr() && data.width > 2 && fixedOffset && writesAny(second, data))
    worst.add(2, "data of a wide store, then overwritten by the VALU");
}

/// The longest window in which anything could follow `first` too closely.
unsigned reach(const Inst &first) {
  if (isMfma(first))
    return kMaxHazardStates;
  if (isValu(first))
    return 5;
  return classOf(first) == InstClass::Salu || isVmem(first) ? 2 : 0;
}

/// Follows every path from the instruction after `first`.
bool tooClose(const Program &program, const Inst &first, uint32_t at,
              unsigned states, unsigned limit) {
  const std::vector<Inst> &insts = program.instructions();
  while (states < limit && at < insts.size()) {
    const Inst &second = insts[at];
    if (hazardBetween(first, second, program.chip()).states > states)
      return true;
    states += waitStates(second);
    if (second.target >= 0 &&
        tooClose(program, first, uint32_t(second.target), states, limit))
      return true;
    bool ends = startsWith(second, "s_endpgm") ||
                startsWith(second, "s_branch") ||
                startsWith(second, "s_setpc") || startsWith(second, "s_swappc");
    if (ends)
      return false;
    at = second.next;
  }
  return false;
}

} // namespace

HazardNeed hazardBetween(const Inst &first, const Inst &second,
                         const Chip &chip) {
  Worst worst;
  if (isMfma(first))
    afterMfma(first, second, chip.mfmaDivisor > 1, worst);
  else if (isValu(first))
    afterValu(first, second, worst);
  else
    afterOther(first, second, worst);
  return worst.need;
}

unsigned waitStates(const Inst &inst) {
  return startsWith(inst, "s_nop") ? (inst.raw & 15) + 1 : 1;
}

bool mayHaveHazard(const Program &program) {
  for (const Inst &first : program.instructions()) {
    unsigned limit = reach(first);
    if (limit && tooClose(program, first, first.next, 0, limit))
      return true;
  }
  return false;
}

HazardNeed HazardWindow::check(const Inst &inst, const Chip &chip,
                               const Inst *&first, unsigned &between) {
  HazardNeed worst;
  for (const Entry &e : entries) {
    if (!e.inst || now - e.at > kMaxHazardStates)
      continue;
    HazardNeed need = hazardBetween(*e.inst, inst, chip);
    unsigned states = unsigned(now - e.at) - 1;
    if (need.states > states && need.states > worst.states) {
      worst = need;
      first = e.inst;
      between = states;
    }
  }
  return worst;
}

void HazardWindow::add(const Inst &inst) {
  entries[next] = {&inst, now};
  next = (next + 1) % entries.size();
  now += waitStates(inst);
}

} // namespace hk::emu
