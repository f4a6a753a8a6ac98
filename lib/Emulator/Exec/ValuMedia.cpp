//===- ValuMedia.cpp - Rare vector ALU operations -------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cube maps, argument reduction, sums of absolute differences at four offsets,
// the unfused f16 multiply-adds and normalised conversions. Compilers seldom
// emit them; hand-written kernels may.
//
//===----------------------------------------------------------------------===//

#include "../Float.h"
#include "../Valu.h"
#include <algorithm>
#include <cmath>

namespace hk::emu {
namespace {

using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;

// --- cube maps: which face a direction (x, y, z) hits, and where ---

enum class Axis { X, Y, Z };
Axis majorAxis(float x, float y, float z) {
  float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  if (az >= ax && az >= ay)
    return Axis::Z;
  return ay >= ax ? Axis::Y : Axis::X;
}
float cubeFace(float x, float y, float z) {
  switch (majorAxis(x, y, z)) {
  case Axis::Z:
    return z < 0 ? 5 : 4;
  case Axis::Y:
    return y < 0 ? 3 : 2;
  default:
    return x < 0 ? 1 : 0;
  }
}
float cubeS(float x, float y, float z) {
  switch (majorAxis(x, y, z)) {
  case Axis::Z:
    return z < 0 ? -x : x;
  case Axis::Y:
    return x;
  default:
    return x < 0 ? z : -z;
  }
}
float cubeT(float x, float y, float z) {
  if (majorAxis(x, y, z) == Axis::Y)
    return y < 0 ? -z : z;
  return -y;
}
float cubeMajor(float x, float y, float z) {
  Axis axis = majorAxis(x, y, z);
  return 2 * (axis == Axis::Z ? z : axis == Axis::Y ? y : x);
}

// --- v_trig_preop_f64: 53 bits of 2/pi for an argument reduction ---

/// The bits of 2/pi behind the binary point.
constexpr u64 kTwoOverPi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
    0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c,
    0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41,
    0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab};
constexpr unsigned kTwoOverPiBits = 1201;

double trigPreop(double value, u32 segment) {
  u64 bits;
  std::memcpy(&bits, &value, 8);
  int exponent = int(bits >> 52 & 0x7ff);
  unsigned shift = (segment & 31) * 53;
  if (exponent > 1077)
    shift += unsigned(exponent - 1077);
  u64 result = 0;
  for (unsigned k = shift; k < shift + 53; ++k) {
    bool bit = k < kTwoOverPiBits && (kTwoOverPi[k / 64] >> (63 - k % 64) & 1);
    result = result << 1 | bit;
  }
  int scale = -53 - int(shift) + (exponent >= 1968 ? 128 : 0);
  return std::ldexp(double(result), scale);
}

// --- sums of absolute differences of bytes ---

template <bool Masked> u32 sad(u32 a, u32 b) {
  u32 sum = 0;
  for (unsigned k = 0; k < 32; k += 8) {
    u32 x = a >> k & 0xff, y = b >> k & 0xff;
    sum += Masked && !y ? 0 : x < y ? y - x : x - y;
  }
  return sum;
}
/// Four windows of `a`, one byte apart, against b; sums of 16 bits.
template <bool Masked> u64 quadSad(u64 a, u32 b, u64 c) {
  u64 r = 0;
  for (unsigned k = 0; k < 4; ++k)
    r |= u64(u16(sad<Masked>(u32(a >> (8 * k)), b) + u16(c >> (16 * k))))
         << (16 * k);
  return r;
}
/// The same with sums of 32 bits in four registers.
void wideQuadSad(Wave &w, const Inst &inst) {
  Fetched<u64> a(w, inst, 1);
  Fetched<u32> b(w, inst, 2);
  u64 defined = ~0ull;
  for (unsigned k = 1; k < 4; ++k)
    defined &= definedLanes(w, inst.o[k]);
  LaneBuf out[4];
  for (unsigned k = 0; k < 4; ++k)
    for (unsigned l = 0; l < kLanes; ++l)
      out[k].lo[l] = sad<true>(u32(a[l] >> (8 * k)), b[l]) +
                     (inst.o[3].isVgpr() ? w.v[inst.o[3].reg + k][l] : 0);
  for (unsigned k = 0; k < 4; ++k) {
    commitWord(w, inst.o[0].reg + k, out[k].lo);
    if (w.checks)
      setDefinedLanes(w, inst.o[0].reg + k, w.exec, defined);
  }
}

// --- f16 ---

/// Not fused: the product is rounded.
half mad(half a, half b, half c) {
  return half(float(half(float(a) * float(b))) + float(c));
}
u16 signedNorm(half v) {
  double d = v == v ? std::clamp(double(float(v)), -1.0, 1.0) : 0;
  return u16(int16_t(__builtin_rint(d * 32767)));
}
u16 unsignedNorm(half v) {
  double d = v == v ? std::clamp(double(float(v)), 0.0, 1.0) : 0;
  return u16(__builtin_rint(d * 65535));
}

Op halfOp(Op op) {
  op.mods |= kModOpSel;
  return op;
}

void addHalf(OpTable &t) {
  auto madOp = [] {
    return halfOp(laneOp([](half a, half b, half c) { return mad(a, b, c); }));
  };
  Op op = madOp();
  t.add("v_mad_legacy_f16", op);
  t.add("v_madak_f16", op);
  op.preserveHigh = true;
  t.add("v_mad_f16", op);
  op = madOp();
  op.dstIsSource = true;
  t.add("v_mac_f16", op);
  // The literal stands in the middle: D = a * K + b.
  t.add("v_madmk_f16",
        laneOp([](half a, half k, half b) { return mad(a, k, b); }));
  t.add("v_cvt_norm_i16_f16",
        halfOp(laneOp([](half a) { return signedNorm(a); })));
  t.add("v_cvt_norm_u16_f16",
        halfOp(laneOp([](half a) { return unsignedNorm(a); })));
  t.add("v_cvt_pknorm_i16_f16", halfOp(laneOp(
                                    [](half a, half b) {
                                      return u32(signedNorm(a)) |
                                             u32(signedNorm(b)) << 16;
                                    },
                                    DefRule::PackHalf)));
  t.add("v_cvt_pknorm_u16_f16", halfOp(laneOp(
                                    [](half a, half b) {
                                      return u32(unsignedNorm(a)) |
                                             u32(unsignedNorm(b)) << 16;
                                    },
                                    DefRule::PackHalf)));
}

} // namespace

void addValuMedia(OpTable &t) {
  t.add("v_cubeid_f32",
        laneOp([](float x, float y, float z) { return cubeFace(x, y, z); }));
  t.add("v_cubesc_f32",
        laneOp([](float x, float y, float z) { return cubeS(x, y, z); }));
  t.add("v_cubetc_f32",
        laneOp([](float x, float y, float z) { return cubeT(x, y, z); }));
  t.add("v_cubema_f32",
        laneOp([](float x, float y, float z) { return cubeMajor(x, y, z); }));
  t.add("v_trig_preop_f64",
        laneOp([](double a, u32 b) { return trigPreop(a, b); }));
  t.add("v_qsad_pk_u16_u8",
        laneOp([](u64 a, u32 b, u64 c) { return quadSad<false>(a, b, c); }));
  t.add("v_mqsad_pk_u16_u8",
        laneOp([](u64 a, u32 b, u64 c) { return quadSad<true>(a, b, c); }));
  Op op;
  op.cls = InstClass::Valu;
  op.fn = wideQuadSad;
  op.types[1] = Type::B64;
  op.clocks = 16;
  t.add("v_mqsad_u32_u8", op);
  addHalf(t);
  Op nop;
  nop.fn = [](Wave &, const Inst &) {};
  nop.cls = InstClass::Valu;
  nop.numDst = 0;
  t.add("v_clrexcp", nop);
}

} // namespace hk::emu
