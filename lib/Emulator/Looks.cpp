//===- Looks.cpp - Loads with which a compare-and-swap begins -------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Found backwards from the swaps, of which programs have few.
//
//===----------------------------------------------------------------------===//

#include "Looks.h"
#include "OpTable.h"
#include <string_view>

namespace hk::emu {
namespace {

/// The register with which a compare-and-swap compares, or -1.
int comparedRegister(const Inst &inst) {
  std::string_view text = inst.text, name = text.substr(0, text.find(' '));
  auto has = [&](const char *part) { return name.find(part) != name.npos; };
  if (has("ds_cmpst_rtn"))
    return inst.o[2].reg;
  if (has("ds_cmpst"))
    return inst.o[1].reg;
  bool wide = has("64") || has("_x2");
  int words = wide ? 2 : 1;
  if (has("buffer_atomic_cmpswap"))
    return inst.o[0].reg + words;
  if (has("_atomic_cmpswap"))
    return inst.o[inst.m.sc0 ? 2 : 1].reg + words;
  return -1;
}

bool isVectorLoad(const Inst &inst) {
  return inst.op->numDst == 1 &&
         (inst.op->cls == InstClass::Vmem || inst.op->cls == InstClass::Lds);
}

bool writes(const Inst &inst, RegFile file, int reg) {
  return inst.numOperands && inst.o[0].file == file && inst.o[0].reg <= reg &&
         reg < inst.o[0].reg + inst.o[0].width;
}

/// Marks the loads that the swap at index `at` begins with; false if there are
/// none and it compares with no constant.
bool markLooksOf(std::vector<Inst> &program, size_t at, int compared) {
  constexpr size_t kBefore = 64;
  bool known = false;
  int scalar = -1; // where all lanes look at one word it comes in this register
  for (size_t i = at; i > 0 && i + kBefore > at; --i) {
    Inst &before = program[i - 1];
    std::string_view text = before.text;
    if (text.find("s_barrier") == 0 || text.find("s_endpgm") == 0)
      break;
    if (before.op->cls == InstClass::Smem && scalar >= 0 &&
        writes(before, RegFile::Sgpr, scalar))
      before.looks = known = true;
    if (!before.numOperands || !before.o[0].isVgpr() ||
        before.o[0].reg != compared)
      continue;
    if (isVectorLoad(before) && before.m.offset == program[at].m.offset)
      before.looks = known = true;
    if (text.find("v_mov_b") != 0)
      continue;
    known |= before.o[1].isConst();
    if (before.o[1].isSgpr())
      scalar = before.o[1].reg;
  }
  return known;
}

} // namespace

bool markLooks(std::vector<Inst> &program) {
  bool allKnown = true;
  for (size_t at = 0; at < program.size(); ++at) {
    int compared = comparedRegister(program[at]);
    if (compared >= 0)
      allKnown &= markLooksOf(program, at, compared);
  }
  return allKnown;
}

} // namespace hk::emu
