//===- Smfmac.cpp - Sparse matrix instructions ----------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// D += A * B where A has 4:2 structured sparsity: of four elements along K two
// are stored, and two bits of the index register say where each of them
// belongs. B and D are laid out as in the dense instructions: a B of eight
// registers (the shapes that gfx950 adds) holds the lower half of K in its
// first four and the upper half in the others, while A stays one run of K a
// lane. With CBSZ zero ABID picks the index set of a lane, which otherwise is
// the lowest one.
//
//===----------------------------------------------------------------------===//

#include "Mfma.h"

namespace hk::emu {
namespace {

const MfmaShape kSparseShapes[] = {
    {"v_smfmac_f32_16x16x32_f16", 16, 32, 1, Mat::F16, Mat::F16, 16, 16},
    {"v_smfmac_f32_32x32x16_f16", 32, 16, 1, Mat::F16, Mat::F16, 32, 32},
    {"v_smfmac_f32_16x16x32_bf16", 16, 32, 1, Mat::Bf16, Mat::Bf16, 16, 16},
    {"v_smfmac_f32_32x32x16_bf16", 32, 16, 1, Mat::Bf16, Mat::Bf16, 32, 32},
    {"v_smfmac_i32_16x16x64_i8", 16, 64, 1, Mat::I8, Mat::I8, 16, 16},
    {"v_smfmac_i32_32x32x32_i8", 32, 32, 1, Mat::I8, Mat::I8, 32, 32},
    {"v_smfmac_f32_16x16x64_bf8_bf8", 16, 64, 1, Mat::Bf8, Mat::Bf8, 16, 16},
    {"v_smfmac_f32_16x16x64_bf8_fp8", 16, 64, 1, Mat::Bf8, Mat::Fp8, 16, 16},
    {"v_smfmac_f32_16x16x64_fp8_bf8", 16, 64, 1, Mat::Fp8, Mat::Bf8, 16, 16},
    {"v_smfmac_f32_16x16x64_fp8_fp8", 16, 64, 1, Mat::Fp8, Mat::Fp8, 16, 16},
    {"v_smfmac_f32_32x32x32_bf8_bf8", 32, 32, 1, Mat::Bf8, Mat::Bf8, 32, 32},
    {"v_smfmac_f32_32x32x32_bf8_fp8", 32, 32, 1, Mat::Bf8, Mat::Fp8, 32, 32},
    {"v_smfmac_f32_32x32x32_fp8_bf8", 32, 32, 1, Mat::Fp8, Mat::Bf8, 32, 32},
    {"v_smfmac_f32_32x32x32_fp8_fp8", 32, 32, 1, Mat::Fp8, Mat::Fp8, 32, 32},
    // gfx950
    {"v_smfmac_f32_16x16x64_f16", 16, 64, 1, Mat::F16, Mat::F16, 16, 16},
    {"v_smfmac_f32_32x32x32_f16", 32, 32, 1, Mat::F16, Mat::F16, 32, 32},
    {"v_smfmac_f32_16x16x64_bf16", 16, 64, 1, Mat::Bf16, Mat::Bf16, 16, 16},
    {"v_smfmac_f32_32x32x32_bf16", 32, 32, 1, Mat::Bf16, Mat::Bf16, 32, 32},
    {"v_smfmac_i32_16x16x128_i8", 16, 128, 1, Mat::I8, Mat::I8, 16, 16},
    {"v_smfmac_i32_32x32x64_i8", 32, 64, 1, Mat::I8, Mat::I8, 32, 32},
    {"v_smfmac_f32_16x16x128_bf8_bf8", 16, 128, 1, Mat::Bf8, Mat::Bf8, 16, 16},
    {"v_smfmac_f32_16x16x128_bf8_fp8", 16, 128, 1, Mat::Bf8, Mat::Fp8, 16, 16},
    {"v_smfmac_f32_16x16x128_fp8_bf8", 16, 128, 1, Mat::Fp8, Mat::Bf8, 16, 16},
    {"v_smfmac_f32_16x16x128_fp8_fp8", 16, 128, 1, Mat::Fp8, Mat::Fp8, 16, 16},
    {"v_smfmac_f32_32x32x64_bf8_bf8", 32, 64, 1, Mat::Bf8, Mat::Bf8, 32, 32},
    {"v_smfmac_f32_32x32x64_bf8_fp8", 32, 64, 1, Mat::Bf8, Mat::Fp8, 32, 32},
    {"v_smfmac_f32_32x32x64_fp8_bf8", 32, 64, 1, Mat::Fp8, Mat::Bf8, 32, 32},
    {"v_smfmac_f32_32x32x64_fp8_fp8", 32, 64, 1, Mat::Fp8, Mat::Fp8, 32, 32},
};

/// The index bits of every lane, shifted so that they start at bit 0.
void indexSets(Wave &w, const Inst &inst, unsigned stored, uint32_t *sets) {
  unsigned bits = 2 * stored, choices = 32 / bits;
  unsigned shift = inst.m.cbsz ? 0 : inst.m.abid % choices * bits;
  const uint32_t *index = w.v[inst.o[3].reg];
  for (unsigned l = 0; l < kLanes; ++l)
    sets[l] = index[l] >> shift;
}

template <unsigned M> void sparseMfma(Wave &w, const Inst &inst) {
  const MfmaShape &shape = kSparseShapes[inst.op->info];
  constexpr unsigned groups = kLanes / M, regs = M * M / kLanes;
  constexpr unsigned maxPerLane = 32;
  unsigned dense = shape.k / groups, stored = dense / 2;
  unsigned halves = dense * matBytes(shape.b) / 16, run = dense / halves;
  alignas(64) float a[maxPerLane / 2][kLanes], b[maxPerLane][kLanes];
  for (unsigned e = 0; e < stored; ++e)
    unpackElement(w, inst.o[1].reg, shape.a, e, a[e]);
  for (unsigned e = 0; e < dense; ++e)
    unpackElement(w, inst.o[2].reg, shape.b, e, b[e]);
  uint32_t sets[kLanes];
  indexSets(w, inst, stored, sets);
  const Operand &d = inst.o[0];
  if (w.checks)
    propagateMfma<M>(w, d, d,
                     definedLanes(w, inst.o[1]) & definedLanes(w, inst.o[3]),
                     definedLanes(w, inst.o[2]));
  bool integer = shape.a == Mat::I8, saturates = saturatesMatrix(w);
  for (unsigned r = 0; r < regs; ++r)
    for (unsigned l = 0; l < kLanes; ++l) {
      unsigned row = mfmaRow(M, r, l / M), column = l % M;
      uint32_t before = w.v[d.reg + r][l];
      float acc = integer ? 0.0f : fromBits<float>(before);
      // Stored element i of the row and what B has at its place along K.
      auto left = [&](unsigned i) {
        return a[i % stored][i / stored * M + row];
      };
      auto right = [&](unsigned i) {
        unsigned g = i / stored, e = i % stored;
        unsigned k = g * dense + e / 2 * 4 + (sets[g * M + row] >> (2 * e) & 3);
        unsigned element = k / (run * groups) * run + k % run;
        return b[element][k / run % groups * M + column];
      };
      for (unsigned i = 0; i < groups * stored; ++i)
        acc = __builtin_fmaf(left(i), right(i), acc);
      if (!integer && saturates)
        acc = saturatedSum(acc, fromBits<float>(before), groups * stored, left,
                           right);
      w.v[d.reg + r][l] =
          integer ? integerSum(before, acc, saturates) : toBits(acc);
    }
}

} // namespace

void addSmfmac(OpTable &t) {
  for (unsigned k = 0; k < sizeof kSparseShapes / sizeof *kSparseShapes; ++k) {
    const MfmaShape &s = kSparseShapes[k];
    Op op;
    op.cls = InstClass::Mfma;
    op.fn =
        s.m == 32 ? inMatrixMode<sparseMfma<32>> : inMatrixMode<sparseMfma<16>>;
    op.info = uint16_t(k);
    op.clocks = s.clocks942;
    op.clocks950 = s.clocks950;
    op.rule = DefRule::Custom;
    op.mods = kModCbsz;
    op.dstIsSource = true;
    t.add(s.name, op);
  }
}

} // namespace hk::emu
