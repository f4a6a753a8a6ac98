//===- Mfma.cpp - Matrix instructions with one block ----------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 16x16 and 32x32 MFMA of every element type except the scaled ones. Products
// are accumulated in order of K with one rounding (fma) each; see
// docs/emulator.md for how hardware differs.
//
//===----------------------------------------------------------------------===//

#include "Mfma.h"

namespace hk::emu {

/// The 10 mantissa bits that the hardware keeps; a NaN stays one.
static float cutToXf32(float v) {
  return v != v ? v : fromBits<float>(toBits(v) & ~0x1fffu);
}

void unpackElement(Wave &w, unsigned reg, Mat type, unsigned e, float *lanes) {
  unsigned perWord = 4 / matBytes(type);
  const uint32_t *v = w.v[reg + e / perWord];
  switch (type) {
  case Mat::F32:
    for (unsigned l = 0; l < kLanes; ++l)
      lanes[l] = fromBits<float>(v[l]);
    break;
  case Mat::Xf32:
    for (unsigned l = 0; l < kLanes; ++l)
      lanes[l] = cutToXf32(fromBits<float>(v[l]));
    break;
  case Mat::F16: {
    unsigned shift = e % 2 * 16;
    for (unsigned l = 0; l < kLanes; ++l)
      lanes[l] = float(fromBits<half>(v[l] >> shift));
    break;
  }
  case Mat::Bf16:
    if (e % 2)
      for (unsigned l = 0; l < kLanes; ++l)
        lanes[l] = fromBits<float>(v[l] & 0xffff0000u);
    else
      for (unsigned l = 0; l < kLanes; ++l)
        lanes[l] = fromBits<float>(v[l] << 16);
    break;
  case Mat::I8: {
    unsigned shift = 24 - e % 4 * 8;
    for (unsigned l = 0; l < kLanes; ++l)
      lanes[l] = float(int32_t(v[l] << shift) >> 24);
    break;
  }
  default: {
    const float *table = fp8Format(w.fp8Ocp, type == Mat::Bf8).table();
    unsigned shift = e % 4 * 8;
    for (unsigned l = 0; l < kLanes; ++l)
      lanes[l] = table[v[l] >> shift & 0xff];
  }
  }
}

const uint32_t *mfmaC(Wave &w, const Operand &c, unsigned r) {
  return c.isVgpr() ? w.v[c.reg + r] : c.lanes;
}

unsigned blgpLane(unsigned blgp, unsigned lane) {
  switch (blgp) {
  case 1:
    return lane % 32;
  case 2:
    return 32 + lane % 32;
  case 3:
    return (lane + 16) % 64;
  case 4:
  case 5:
  case 6:
  case 7:
    return 16 * (blgp - 4) + lane % 16;
  default:
    return lane;
  }
}

uint64_t movedLanes(unsigned blgp, uint64_t defined) {
  if (!blgp)
    return defined;
  uint64_t moved = 0;
  for (unsigned l = 0; l < kLanes; ++l)
    moved |= (defined >> blgpLane(blgp, l) & 1) << l;
  return moved;
}

namespace {

// Clocks: multiply-accumulates over the rate per SIMD and clock. Rates follow
// from the peak numbers of the data sheets (MI300X: f16 1307 TFLOP/s on 304
// compute units at 2.1 GHz = 256; MI355X doubles 16 and 8 bit, halves f64).
const MfmaShape kShapes[] = {
    {"v_mfma_f32_32x32x2_f32", 32, 2, 1, Mat::F32, Mat::F32, 64, 64},
    {"v_mfma_f32_16x16x4_f32", 16, 4, 1, Mat::F32, Mat::F32, 32, 32},
    {"v_mfma_f32_16x16x8_xf32", 16, 8, 1, Mat::Xf32, Mat::Xf32, 16, 16},
    {"v_mfma_f32_32x32x4_xf32", 32, 4, 1, Mat::Xf32, Mat::Xf32, 32, 32},
    {"v_mfma_f32_32x32x8_f16", 32, 8, 1, Mat::F16, Mat::F16, 32, 32},
    {"v_mfma_f32_16x16x16_f16", 16, 16, 1, Mat::F16, Mat::F16, 16, 16},
    {"v_mfma_f32_32x32x8_bf16", 32, 8, 1, Mat::Bf16, Mat::Bf16, 32, 32},
    {"v_mfma_f32_16x16x16_bf16", 16, 16, 1, Mat::Bf16, Mat::Bf16, 16, 16},
    {"v_mfma_f32_32x32x16_f16", 32, 16, 1, Mat::F16, Mat::F16, 32, 32},
    {"v_mfma_f32_16x16x32_f16", 16, 32, 1, Mat::F16, Mat::F16, 16, 16},
    {"v_mfma_f32_32x32x16_bf16", 32, 16, 1, Mat::Bf16, Mat::Bf16, 32, 32},
    {"v_mfma_f32_16x16x32_bf16", 16, 32, 1, Mat::Bf16, Mat::Bf16, 16, 16},
    {"v_mfma_i32_32x32x16_i8", 32, 16, 1, Mat::I8, Mat::I8, 32, 32},
    {"v_mfma_i32_16x16x32_i8", 16, 32, 1, Mat::I8, Mat::I8, 16, 16},
    {"v_mfma_i32_32x32x32_i8", 32, 32, 1, Mat::I8, Mat::I8, 32, 32},
    {"v_mfma_i32_16x16x64_i8", 16, 64, 1, Mat::I8, Mat::I8, 16, 16},
    {"v_mfma_f32_16x16x32_fp8_fp8", 16, 32, 1, Mat::Fp8, Mat::Fp8, 16, 16},
    {"v_mfma_f32_16x16x32_fp8_bf8", 16, 32, 1, Mat::Fp8, Mat::Bf8, 16, 16},
    {"v_mfma_f32_16x16x32_bf8_fp8", 16, 32, 1, Mat::Bf8, Mat::Fp8, 16, 16},
    {"v_mfma_f32_16x16x32_bf8_bf8", 16, 32, 1, Mat::Bf8, Mat::Bf8, 16, 16},
    {"v_mfma_f32_32x32x16_fp8_fp8", 32, 16, 1, Mat::Fp8, Mat::Fp8, 32, 32},
    {"v_mfma_f32_32x32x16_fp8_bf8", 32, 16, 1, Mat::Fp8, Mat::Bf8, 32, 32},
    {"v_mfma_f32_32x32x16_bf8_fp8", 32, 16, 1, Mat::Bf8, Mat::Fp8, 32, 32},
    {"v_mfma_f32_32x32x16_bf8_bf8", 32, 16, 1, Mat::Bf8, Mat::Bf8, 32, 32},
};

void moveLanes(unsigned blgp, float *lanes) {
  float from[kLanes];
  std::memcpy(from, lanes, sizeof from);
  for (unsigned l = 0; l < kLanes; ++l)
    lanes[l] = from[blgpLane(blgp, l)];
}

template <unsigned M> void mfma(Wave &w, const Inst &inst) {
  const MfmaShape &shape = kShapes[inst.op->info];
  constexpr unsigned groups = kLanes / M;
  constexpr unsigned maxK = 64;
  unsigned perLane = shape.k / groups;
  alignas(64) float a[maxK][M], b[maxK][M], lanes[kLanes];
  for (unsigned e = 0; e < perLane; ++e) {
    unpackElement(w, inst.o[1].reg, shape.a, e, lanes);
    for (unsigned g = 0; g < groups; ++g)
      std::memcpy(a[g * perLane + e], lanes + g * M, sizeof a[0]);
    unpackElement(w, inst.o[2].reg, shape.b, e, lanes);
    if (inst.m.blgp)
      moveLanes(inst.m.blgp, lanes);
    for (unsigned g = 0; g < groups; ++g)
      std::memcpy(b[g * perLane + e], lanes + g * M, sizeof b[0]);
  }
  mfmaMultiply<M>(w, inst, a, b,
                  movedLanes(inst.m.blgp, definedLanes(w, inst.o[2])), shape.k,
                  shape.a == Mat::I8);
}

} // namespace

void addMfma(OpTable &t) {
  for (unsigned k = 0; k < sizeof kShapes / sizeof *kShapes; ++k) {
    const MfmaShape &s = kShapes[k];
    Op op;
    op.cls = InstClass::Mfma;
    op.fn = s.m == 32 ? inMatrixMode<mfma<32>> : inMatrixMode<mfma<16>>;
    op.info = uint16_t(k);
    op.clocks = s.clocks942;
    op.clocks950 = s.clocks950;
    op.rule = DefRule::Custom;
    op.mods = s.a == Mat::F32 ? kModBlgp : 0;
    op.types[3] = s.a == Mat::I8 ? Type::B32 : Type::F32;
    t.add(s.name, op);
  }
}

} // namespace hk::emu
