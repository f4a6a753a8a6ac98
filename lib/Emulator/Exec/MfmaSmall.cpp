//===- MfmaSmall.cpp - Matrix instructions with several blocks, and f64 ---===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shapes whose lanes hold several independent products: block b of A is in the
// lanes b * M and up; cbsz and abid broadcast one block of A to a group of
// blocks, blgp moves the lanes of B. The f64 forms, whose blgp negates, are
// here too. Not on any hot path, so written element by element.
//
//===----------------------------------------------------------------------===//

#include "Mfma.h"
#include <cmath>

namespace hk::emu {
namespace {

const MfmaShape kSmallShapes[] = {
    {"v_mfma_f32_32x32x1_2b_f32", 32, 1, 2, Mat::F32, Mat::F32, 64, 64},
    {"v_mfma_f32_16x16x1_4b_f32", 16, 1, 4, Mat::F32, Mat::F32, 32, 32},
    {"v_mfma_f32_4x4x1_16b_f32", 4, 1, 16, Mat::F32, Mat::F32, 8, 8},
    {"v_mfma_f32_32x32x4_2b_f16", 32, 4, 2, Mat::F16, Mat::F16, 64, 64},
    {"v_mfma_f32_16x16x4_4b_f16", 16, 4, 4, Mat::F16, Mat::F16, 32, 32},
    {"v_mfma_f32_4x4x4_16b_f16", 4, 4, 16, Mat::F16, Mat::F16, 8, 8},
    {"v_mfma_f32_32x32x4_2b_bf16", 32, 4, 2, Mat::Bf16, Mat::Bf16, 64, 64},
    {"v_mfma_f32_16x16x4_4b_bf16", 16, 4, 4, Mat::Bf16, Mat::Bf16, 32, 32},
    {"v_mfma_f32_4x4x4_16b_bf16", 4, 4, 16, Mat::Bf16, Mat::Bf16, 8, 8},
    {"v_mfma_i32_32x32x4_2b_i8", 32, 4, 2, Mat::I8, Mat::I8, 64, 64},
    {"v_mfma_i32_16x16x4_4b_i8", 16, 4, 4, Mat::I8, Mat::I8, 32, 32},
    {"v_mfma_i32_4x4x4_16b_i8", 4, 4, 16, Mat::I8, Mat::I8, 8, 8},
    {"v_mfma_f64_16x16x4_f64", 16, 4, 1, Mat::F64, Mat::F64, 32, 64},
    {"v_mfma_f64_4x4x4_4b_f64", 4, 4, 4, Mat::F64, Mat::F64, 16, 16},
};

/// Where element (row, column) of a block of D is.
void locate(const MfmaShape &s, unsigned block, unsigned row, unsigned col,
            unsigned &reg, unsigned &lane) {
  if (s.m == 4) {
    reg = row;
    lane = block * 4 + col;
  } else if (s.m == 16) {
    reg = block * 4 + row % 4;
    lane = row / 4 * 16 + col;
  } else {
    reg = block * 16 + row / 8 * 4 + row % 4;
    lane = row / 4 % 2 * 32 + col;
  }
}

/// A group of blocks reads one of its own.
std::string checkBroadcast(const Inst &inst) {
  const MfmaShape &s = kSmallShapes[inst.op->info];
  if (1u << inst.m.cbsz > s.blocks)
    return "cbsz names more blocks than there are";
  return inst.m.abid >> inst.m.cbsz ? "abid is outside the group of cbsz" : "";
}

void smallMfma(Wave &w, const Inst &inst) {
  const MfmaShape &s = kSmallShapes[inst.op->info];
  const Operand &d = inst.o[0], &c = inst.o[3];
  float a[4][kLanes], b[4][kLanes];
  for (unsigned e = 0; e < s.k; ++e) {
    unpackElement(w, inst.o[1].reg, s.a, e, a[e]);
    unpackElement(w, inst.o[2].reg, s.b, e, b[e]);
  }
  uint64_t definedA = definedLanes(w, inst.o[1]);
  uint64_t definedB = definedLanes(w, inst.o[2]);
  bool integer = s.a == Mat::I8, saturates = saturatesMatrix(w);
  unsigned group = 1u << inst.m.cbsz;
  static thread_local uint32_t out[32][kLanes];
  uint64_t ok[32] = {};
  for (unsigned block = 0; block < s.blocks; ++block) {
    unsigned source = (block & ~(group - 1)) + inst.m.abid;
    for (unsigned row = 0; row < s.m; ++row)
      for (unsigned col = 0; col < s.m; ++col) {
        unsigned reg, lane;
        locate(s, block, row, col, reg, lane);
        uint32_t from = mfmaC(w, c, reg)[lane];
        unsigned la = source * s.m + row;
        unsigned lb = blgpLane(inst.m.blgp, block * s.m + col);
        float acc = integer ? 0 : fromBits<float>(from);
        for (unsigned k = 0; k < s.k; ++k)
          acc = __builtin_fmaf(a[k][la], b[k][lb], acc);
        if (!integer && saturates)
          acc = saturatedSum(
              acc, fromBits<float>(from), s.k,
              [&](unsigned k) { return a[k][la]; },
              [&](unsigned k) { return b[k][lb]; });
        out[reg][lane] =
            integer ? integerSum(from, acc, saturates) : toBits(acc);
        bool defined = (definedA >> la & 1) && (definedB >> lb & 1) &&
                       (!c.isVgpr() || (w.vd[c.reg + reg].whole() >> lane & 1));
        ok[reg] |= uint64_t(defined) << lane;
      }
  }
  for (unsigned r = 0; r < d.width; ++r) {
    std::memcpy(w.v[d.reg + r], out[r], sizeof out[r]);
    if (w.checks)
      setDefinedLanes(w, d.reg + r, ~0ull, ok[r]);
  }
}

double readDouble(Wave &w, const Operand &o, unsigned index, unsigned lane) {
  uint64_t bits = o.imm;
  if (o.isVgpr()) {
    unsigned r = o.reg + 2 * index;
    bits = uint64_t(w.v[r + 1][lane]) << 32 | w.v[r][lane];
  }
  double v;
  std::memcpy(&v, &bits, 8);
  return v;
}

/// 16x16x4: A and B lane l hold row (column) l % 16 and k = l / 16; D double r
/// is row 4 * r + l / 16. 4x4x4: lane = row + 4 * block + 16 * k, and in D
/// lane = column + 4 * block + 16 * row.
void doubleMfma(Wave &w, const Inst &inst) {
  const MfmaShape &s = kSmallShapes[inst.op->info];
  const Operand &d = inst.o[0], &a = inst.o[1], &b = inst.o[2], &c = inst.o[3];
  double sign[3];
  for (unsigned k = 0; k < 3; ++k)
    sign[k] = ((inst.m.negLo | inst.m.blgp) >> k & 1) ? -1 : 1;
  bool big = s.m == 16;
  unsigned n = big ? 4 : 1;
  double out[4][kLanes];
  uint64_t ok[4] = {}, da = definedLanes(w, a), db = definedLanes(w, b);
  for (unsigned r = 0; r < n; ++r)
    for (unsigned l = 0; l < kLanes; ++l) {
      unsigned row = big ? 4 * r + l / 16 : l / 16;
      unsigned block = big ? 0 : l / 4 % 4;
      unsigned col = big ? l % 16 : l % 4;
      double acc = sign[2] * readDouble(w, c, r, l);
      bool defined =
          !c.isVgpr() ||
          ((w.vd[c.reg + 2 * r].whole() & w.vd[c.reg + 2 * r + 1].whole()) >>
               l &
           1);
      for (unsigned k = 0; k < 4; ++k) {
        unsigned la = row + 4 * block + 16 * k, lb = col + 4 * block + 16 * k;
        acc = __builtin_fma(sign[0] * readDouble(w, a, 0, la),
                            sign[1] * readDouble(w, b, 0, lb), acc);
        defined = defined && (da >> la & 1) && (db >> lb & 1);
      }
      out[r][l] = acc;
      ok[r] |= uint64_t(defined) << l;
    }
  for (unsigned r = 0; r < n; ++r)
    for (unsigned word = 0; word < 2; ++word) {
      unsigned reg = d.reg + 2 * r + word;
      for (unsigned l = 0; l < kLanes; ++l) {
        uint64_t bits;
        std::memcpy(&bits, &out[r][l], 8);
        w.v[reg][l] = uint32_t(bits >> (32 * word));
      }
      if (w.checks)
        setDefinedLanes(w, reg, ~0ull, ok[r]);
    }
}

} // namespace

void addMfmaSmall(OpTable &t) {
  for (unsigned k = 0; k < sizeof kSmallShapes / sizeof *kSmallShapes; ++k) {
    const MfmaShape &s = kSmallShapes[k];
    Op op;
    op.cls = InstClass::Mfma;
    op.fn =
        s.a == Mat::F64 ? inMatrixMode<doubleMfma> : inMatrixMode<smallMfma>;
    op.info = uint16_t(k);
    op.clocks = s.clocks942;
    op.clocks950 = s.clocks950;
    op.rule = DefRule::Custom;
    op.mods = kModBlgp;
    if (s.a != Mat::F64) {
      op.mods |= kModCbsz;
      op.check = checkBroadcast;
    }
    op.types[3] = s.a == Mat::I8    ? Type::B32
                  : s.a == Mat::F64 ? Type::F64
                                    : Type::F32;
    t.add(s.name, op);
  }
}

} // namespace hk::emu
