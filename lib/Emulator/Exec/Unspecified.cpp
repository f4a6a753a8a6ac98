//===- Unspecified.cpp - Results that no source settles -------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions and values for which the documents, AMD's own tools and other
// people's measurements disagree or are silent. The emulator picks one reading
// (docs/emulator.md says which); HK_EMU_UNSPECIFIED=1 reports each execution
// whose result depends on the choice. One row per subject, tested on the
// operands before the instruction runs, or on its results after; NaNs without a
// code are found where they are converted.
//
//===----------------------------------------------------------------------===//

#include "Mfma.h"
#include "Scalar.h"
#include <cmath>

namespace hk::emu {
namespace {

/// Reports the first active lane for which `test(lane)` holds.
template <class F>
void doubtLanes(Wave &w, const Inst &inst, const char *why, F test) {
  for (uint64_t m = w.exec; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctzll(m));
    if (!test(l))
      continue;
    w.report(inst, Check::Unspecified, int(l), 0, why);
    return;
  }
}

/// "1U << S1[22 : 16]" (CDNA4 ISA) is undefined for the register's width.
template <unsigned Bits> void doubtField(Wave &w, const Inst &inst) {
  uint32_t field = uint32_t(readScalar(w, inst.o[2], false).value);
  if ((field >> 16 & 0x7f) >= Bits)
    w.report(inst, Check::Unspecified, -1, 0,
             "a field as wide as the register");
}

/// The document adds one product after the other, here the sum is exact.
void doubtDot(Wave &w, const Inst &inst) {
  LaneBuf buf[3];
  const uint32_t *s[3];
  for (unsigned k = 0; k < 3; ++k)
    s[k] = fetchWord(w, inst, sourceIndex(inst, k, 3),
                     k == 2 ? Type::F32 : Type::B32, false, buf[k]);
  doubtLanes(w, inst, "the order in which the products are added", [&](auto l) {
    double product[2];
    for (unsigned h = 0; h < 2; ++h) {
      product[h] = double(fromBits<half>(s[0][l] >> (16 * h))) *
                   double(fromBits<half>(s[1][l] >> (16 * h)));
      if ((h ? inst.m.negHi : inst.m.negLo) & 1)
        product[h] = -product[h];
      if ((h ? inst.m.negHi : inst.m.negLo) & 2)
        product[h] = -product[h];
    }
    double c = fromBits<float>(s[2][l]);
    if (inst.m.negLo & 4)
      c = -c;
    float once = float(product[0] + product[1] + c);
    float inTurn = float(float(c + product[0]) + product[1]);
    return once == once && once != inTurn;
  });
}

/// The top bits of S1 are added here; the low ones are as good a reading.
template <unsigned Dropped> void doubtRandom(Wave &w, const Inst &inst) {
  LaneBuf bufV, bufR;
  const uint32_t *v = fetchWord(w, inst, 1, Type::F32, false, bufV);
  const uint32_t *r = fetchWord(w, inst, 2, Type::B32, false, bufR);
  constexpr uint32_t mask = (1u << Dropped) - 1;
  doubtLanes(w, inst, "which bits of the random number count", [&](auto l) {
    uint32_t rest = v[l] & mask;
    bool top = rest + (r[l] >> (32 - Dropped)) > mask;
    return std::isfinite(fromBits<float>(v[l])) &&
           top != (rest + (r[l] & mask) > mask);
  });
}

/// A reciprocal of zero is a true infinity in the documents; gfx1201 clamps it.
void doubtPole(Wave &w, const Inst &inst) {
  if (!saturatesOverflow(w))
    return;
  unsigned k = inst.op->numDst + (inst.numOperands > 2 ? 1 : 0); // divisor
  LaneBuf buf;
  const uint32_t *v = fetchWord(w, inst, k, Type::F16, false, buf);
  doubtLanes(w, inst, "whether FP16_OVFL clamps the result of a zero",
             [&](auto l) { return (v[l] & 0x7fff) == 0; });
}

/// The L2 cache flushes (CDNA4 ISA, 9.2.2), or MODE says (LLVM).
void doubtAtomicAdd(Wave &w, const Inst &inst) {
  bool returns = inst.m.sc0, buffer = inst.op->mods & kModBuffer;
  const Operand &data = inst.o[buffer ? 0 : (returns ? 2 : 1)];
  doubtLanes(w, inst, "whether denormals are flushed", [&](auto l) {
    uint32_t magnitude = w.v[data.reg][l] & 0x7fffffff; // the host may flush
    return magnitude && magnitude < 0x800000;
  });
}

/// Groups of 2^CBSZ neighbouring blocks (AMD's calculator), or one group of
/// lanes for all (CDNA4 ISA, 7.1.6.1). Both agree where it spans all blocks.
template <unsigned Blocks> void doubtBroadcast(Wave &w, const Inst &inst) {
  if (inst.m.cbsz && 1u << inst.m.cbsz < Blocks)
    w.report(inst, Check::Unspecified, -1, 0,
             "which blocks CBSZ gives the selected one to");
}

/// CDNA4 clamps results under FP16_OVFL, but says of i8 that it has no part in
/// MODE (7.4); of CDNA3 no such sentence is known.
void doubtMatrix(Wave &w, const Inst &inst) {
  if (!saturatesOverflow(w))
    return;
  bool integer = inst.op->name.find("_i32_") != std::string::npos;
  if (!integer && w.object->chip().mfmaSaturates)
    return;
  for (unsigned r = 0; r < inst.o[0].width; ++r)
    for (unsigned l = 0; l < kLanes; ++l) {
      uint32_t v = w.v[inst.o[0].reg + r][l];
      if (integer ? v != 0x7fffffff && v != 0x80000000u
                  : (v & 0x7fffffff) != 0x7f800000)
        continue;
      w.report(inst, Check::Unspecified, int(l), 0,
               "whether FP16_OVFL clamps this overflow");
      return;
    }
}

struct Row {
  const char *name; ///< or a part of it, if it begins with '_'
  Handler doubt;
};
const Row kBefore[] = {{"s_bfe_u32", doubtField<32>},
                       {"s_bfe_i32", doubtField<32>},
                       {"s_bfe_u64", doubtField<64>},
                       {"s_bfe_i64", doubtField<64>},
                       {"v_dot2_f32_f16", doubtDot},
                       {"v_dot2c_f32_f16", doubtDot},
                       {"v_cvt_sr_f16_f32", doubtRandom<13>},
                       {"v_cvt_sr_bf16_f32", doubtRandom<16>},
                       {"v_log_f16", doubtPole},
                       {"v_rcp_f16", doubtPole},
                       {"v_rsq_f16", doubtPole},
                       {"v_div_fixup_f16", doubtPole},
                       {"v_div_fixup_legacy_f16", doubtPole},
                       {"global_atomic_add_f32", doubtAtomicAdd},
                       {"flat_atomic_add_f32", doubtAtomicAdd},
                       {"buffer_atomic_add_f32", doubtAtomicAdd},
                       {"_2b_", doubtBroadcast<2>},
                       {"_4b_", doubtBroadcast<4>},
                       {"_16b_", doubtBroadcast<16>}};
const Row kAfter[] = {{"_mfma_", doubtMatrix}, {"_smfmac_", doubtMatrix}};

bool matches(const Row &row, const std::string &name) {
  return *row.name == '_' ? name.find(row.name) != std::string::npos
                          : name == row.name;
}

} // namespace

void addDoubts(OpTable &t) {
  t.forEach([](Op &op) {
    for (const Row &row : kBefore)
      if (matches(row, op.name))
        op.doubtBefore = row.doubt;
    for (const Row &row : kAfter)
      if (matches(row, op.name))
        op.doubtAfter = row.doubt;
  });
}

} // namespace hk::emu
