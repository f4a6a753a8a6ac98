//===- Conversions.cpp - Conversions --------------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between integers, f16, bf16, f32, f64 and fp8. Float to integer conversions
// saturate and send NaN to zero.
//
//===----------------------------------------------------------------------===//

#include "../MiniFloat.h"
#include "../Valu.h"
#include <algorithm>
#include <cmath>

namespace hk::emu {
namespace {

using u16 = uint16_t;
using i16 = int16_t;
using u32 = uint32_t;
using i32 = int32_t;

template <class I, class F> I saturate(F v) {
  constexpr double low = double(std::numeric_limits<I>::min());
  constexpr double high = double(std::numeric_limits<I>::max());
  double d = double(v);
  d = d != d ? 0 : d;
  d = d < low ? low : d;
  d = d > high ? high : d;
  return I(int64_t(d));
}

// Stochastic rounding adds as many random bits as are dropped and cuts. The
// document does not say which bits of the word those are; here they are its
// top ones, as its pseudocode has it for fp8 (S1[31 : 12]).
u16 toBf16Stochastic(float v, u32 random) {
  u32 bits = toBits(v);
  if ((bits & 0x7f800000u) == 0x7f800000u)
    return u16(v != v ? bits >> 16 | 0x40 : bits >> 16);
  return u16((bits + (random >> 16)) >> 16);
}

half truncateToHalf(float v) {
  half h = half(v);
  if (!std::isfinite(v))
    return h;
  float back = float(h);
  if (std::fabs(back) > std::fabs(v)) {
    u16 bits = u16(toBits(h));
    h = fromBits<half>(bits - 1u); // one step towards zero
  }
  return h;
}

u32 toHalfStochastic(float v, u32 random) {
  if (!std::isfinite(v))
    return u32(toBits(half(v)));
  u32 bits = toBits(v) + (random >> 19);
  return u32(toBits(truncateToHalf(fromBits<float>(bits))));
}

/// `word` with byte `at` set to v, an integer or out of range.
u32 withByte(u32 word, u32 at, float v) {
  u32 shift = 8 * (at & 3);
  return (word & ~(0xffu << shift)) | u32(saturate<uint8_t>(v)) << shift;
}

u32 pack(u32 lo, u32 hi) { return (lo & 0xffff) | hi << 16; }

/// Two f16 in a word; FP16_OVFL decides what an overflow becomes.
template <bool Saturates> u32 packNearest(float a, float b) {
  half lo = half(a), hi = half(b);
  if (Saturates) {
    lo = saturatedHalf(lo, false, a);
    hi = saturatedHalf(hi, false, b);
  }
  return pack(toBits(lo), toBits(hi));
}

void addIntegerFloat(OpTable &t) {
  t.add("v_cvt_f32_i32", laneOp([](i32 a) { return float(a); }));
  t.add("v_cvt_f32_u32", laneOp([](u32 a) { return float(a); }));
  t.add("v_cvt_i32_f32", laneOp([](float a) { return saturate<i32>(a); }));
  t.add("v_cvt_u32_f32", laneOp([](float a) { return saturate<u32>(a); }));
  t.add("v_cvt_rpi_i32_f32", laneOp([](float a) {
          return saturate<i32>(__builtin_floor(double(a) + 0.5));
        }));
  t.add("v_cvt_flr_i32_f32",
        laneOp([](float a) { return saturate<i32>(__builtin_floorf(a)); }));
  t.add("v_cvt_f64_i32", laneOp([](i32 a) { return double(a); }));
  t.add("v_cvt_f64_u32", laneOp([](u32 a) { return double(a); }));
  t.add("v_cvt_i32_f64", laneOp([](double a) { return saturate<i32>(a); }));
  t.add("v_cvt_u32_f64", laneOp([](double a) { return saturate<u32>(a); }));
  t.add("v_cvt_f32_f64", laneOp([](double a) { return float(a); }));
  t.add("v_cvt_f64_f32", laneOp([](float a) { return double(a); }));
  t.add("v_cvt_off_f32_i4", laneOp([](u32 a) {
          return float((a & 8) ? int(a & 15) - 16 : int(a & 15)) * 0.0625f;
        }));
  auto addByte = [&](const char *name, Op op, unsigned byte) {
    op.rule = DefRule::OneByte;
    op.info = uint16_t(byte);
    t.add(name, op);
  };
  addByte("v_cvt_f32_ubyte0", laneOp([](u32 a) { return float(a & 0xff); }), 0);
  addByte("v_cvt_f32_ubyte1",
          laneOp([](u32 a) { return float(a >> 8 & 0xff); }), 1);
  addByte("v_cvt_f32_ubyte2",
          laneOp([](u32 a) { return float(a >> 16 & 0xff); }), 2);
  addByte("v_cvt_f32_ubyte3", laneOp([](u32 a) { return float(a >> 24); }), 3);
}

/// Numbers that become part of a register: bytes, and pairs of 16 bits.
void addParts(OpTable &t) {
  // Rounds as MODE says, as measured on gfx90c and on gfx1201 (rocjitsu), where
  // NaN is 0 too.
  Op byte = laneOp(
      [](float a, u32 b, u32 c) { return withByte(c, b, __builtin_rintf(a)); });
  t.add("v_cvt_pk_u8_f32", byte);
  byte.dstIsSource = true;
  t.add("v_cvt_pkaccum_u8_f32", byte);
  t.add("v_cvt_pk_u16_u32", laneOp(
                                [](u32 a, u32 b) {
                                  return pack(std::min(a, 65535u),
                                              std::min(b, 65535u));
                                },
                                DefRule::PackHalf));
  t.add("v_cvt_pk_i16_i32",
        laneOp(
            [](i32 a, i32 b) {
              return pack(u32(std::clamp(a, -32768, 32767)),
                          u32(std::clamp(b, -32768, 32767)));
            },
            DefRule::PackHalf));
  t.add("v_cvt_pknorm_i16_f32",
        laneOp(
            [](float a, float b) {
              auto one = [](float v) {
                return u32(saturate<i16>(
                    __builtin_rint(std::clamp(double(v), -1.0, 1.0) * 32767)));
              };
              return pack(one(a), one(b));
            },
            DefRule::PackHalf));
  t.add("v_cvt_pknorm_u16_f32",
        laneOp(
            [](float a, float b) {
              auto one = [](float v) {
                return u32(saturate<u16>(
                    __builtin_rint(std::clamp(double(v), 0.0, 1.0) * 65535)));
              };
              return pack(one(a), one(b));
            },
            DefRule::PackHalf));
  t.add("v_sat_pk_u8_i16", laneOp([](u32 a) {
          auto one = [](i32 v) { return u32(std::clamp(v, 0, 255)); };
          return one(i16(a)) | one(i16(a >> 16)) << 8;
        }));
}

void addHalf(OpTable &t) {
  auto halfOp = [](Op op) {
    op.mods |= kModOpSel;
    return op;
  };
  t.add("v_cvt_f16_f32", halfOp(laneOp([](float a) { return half(a); })));
  t.add("v_cvt_f32_f16", halfOp(laneOp([](half a) { return float(a); })));
  t.add("v_cvt_f16_u16", halfOp(laneOp([](u16 a) { return half(float(a)); })));
  t.add("v_cvt_f16_i16", halfOp(laneOp([](i16 a) { return half(float(a)); })));
  t.add("v_cvt_u16_f16",
        halfOp(laneOp([](half a) { return saturate<u16>(float(a)); })));
  t.add("v_cvt_i16_f16",
        halfOp(laneOp([](half a) { return u16(saturate<i16>(float(a))); })));
  t.add("v_cvt_pkrtz_f16_f32", laneOp(
                                   [](float a, float b) {
                                     return pack(toBits(truncateToHalf(a)),
                                                 toBits(truncateToHalf(b)));
                                   },
                                   DefRule::PackHalf));
  t.add("v_cvt_pk_f16_f32",
        modeLaneOp<kModeOverflow>(
            [](float a, float b) { return packNearest<true>(a, b); },
            [](float a, float b) { return packNearest<false>(a, b); },
            DefRule::PackHalf));
  t.add("v_pack_b32_f16", halfOp(laneOp([](u16 a, u16 b) { return pack(a, b); },
                                        DefRule::PackHalf)));
  t.add("v_cvt_pk_bf16_f32",
        laneOp([](float a, float b) { return pack(bf16Bits(a), bf16Bits(b)); },
               DefRule::PackHalf));
  t.add("v_cvt_f32_bf16",
        halfOp(laneOp([](u16 a) { return fromBits<float>(u32(a) << 16); })));
  // One value; op_sel picks the half, the other one stays.
  Op single = halfOp(laneOp(
      [](float a, u32 r) { return fromBits<half>(toHalfStochastic(a, r)); }));
  single.preserveHigh = true;
  t.add("v_cvt_sr_f16_f32", single);
  single =
      halfOp(laneOp([](float a, u32 r) { return toBf16Stochastic(a, r); }));
  single.preserveHigh = true;
  t.add("v_cvt_sr_bf16_f32", single);
}

// --- fp8: the format depends on the chip ---

template <bool Bf8> void decodeFp8(Wave &w, const Inst &inst) {
  LaneBuf buf, lo, hi;
  // SDWA picks the byte; the other forms use byte 0.
  const uint32_t *a = fetchWord(w, inst, 1, Type::B32, false, buf);
  const float *table = fp8Format(w.fp8Ocp, Bf8).table();
  unsigned shift = 8 * ((inst.m.opSel & 1) * 2 + (inst.m.opSel >> 1 & 1));
  for (unsigned l = 0; l < kLanes; ++l)
    lo.lo[l] = toBits(table[a[l] >> shift & 0xff]);
  propagate(w, inst, 1, 1, 1);
  commitResult<u32>(w, inst, lo, hi);
}

template <bool Bf8> void decodePairFp8(Wave &w, const Inst &inst) {
  LaneBuf buf, lo, hi;
  const uint32_t *a = fetchWord(w, inst, 1, Type::B32, false, buf);
  const float *table = fp8Format(w.fp8Ocp, Bf8).table();
  unsigned shift = (inst.m.opSel & 1) ? 16 : 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    uint32_t v = a[l] >> shift;
    lo.lo[l] = toBits(table[v & 0xff]);
    hi.lo[l] = toBits(table[v >> 8 & 0xff]);
  }
  propagate(w, inst, 1, 1, 2);
  commitResult<uint64_t>(w, inst, lo, hi);
}

template <bool Bf8, bool Stochastic> void encodeFp8(Wave &w, const Inst &inst) {
  Fetched<float> a(w, inst, 1);
  LaneBuf bufB, lo;
  const uint32_t *b =
      fetchWord(w, inst, 2, Stochastic ? Type::B32 : Type::F32, false, bufB);
  const MiniFloat &format = fp8Format(w.fp8Ocp, Bf8);
  bool sat = saturatesOverflow(w);
  // op_sel: pk forms use bit 2 (word), sr forms bits 2 and 3 (byte).
  unsigned byte =
      Stochastic ? (inst.m.opSel >> 2 & 3) : (inst.m.opSel >> 2 & 1) * 2;
  const uint32_t *old = w.v[inst.o[0].reg];
  uint32_t field = (Stochastic ? 0xffu : 0xffffu) << (8 * byte);
  const MiniFloat f = format; // a copy, so that the loop keeps it in registers
  if (Stochastic)
    for (unsigned l = 0; l < kLanes; ++l)
      lo.lo[l] = f.encodeStochastic(a[l], sat, b[l]);
  else
    for (unsigned l = 0; l < kLanes; ++l)
      lo.lo[l] = f.encode(a[l], sat) | f.encode(fromBits<float>(b[l]), sat)
                                           << 8;
  for (unsigned l = 0; l < kLanes; ++l)
    lo.lo[l] = (old[l] & ~field) | lo.lo[l] << (8 * byte);
  if (w.checks) {
    uint64_t da = definedLanes(w, inst.o[1]), db = definedLanes(w, inst.o[2]);
    Defined &d = w.vd[inst.o[0].reg];
    auto put = [&](unsigned k, uint64_t m) {
      d.byte[k] = (d.byte[k] & ~w.exec) | (m & w.exec);
    };
    if (Stochastic) {
      put(byte, da & db);
    } else {
      put(byte, da);
      put(byte + 1, db);
    }
  }
  commitWord(w, inst.o[0].reg, lo.lo);
}

void addFp8(OpTable &t) {
  auto add = [&](const char *name, Handler fn, uint16_t mods) {
    Op op;
    op.cls = InstClass::Valu;
    op.types[1] = op.types[2] = Type::F32;
    op.fn = fn;
    op.mods = mods;
    op.packed = true;
    t.add(name, op);
  };
  uint16_t decode = kModSdwa | kModDpp | kModOpSel;
  add("v_cvt_f32_fp8", decodeFp8<false>, decode);
  add("v_cvt_f32_bf8", decodeFp8<true>, decode);
  add("v_cvt_pk_f32_fp8", decodePairFp8<false>, decode);
  add("v_cvt_pk_f32_bf8", decodePairFp8<true>, decode);
  add("v_cvt_pk_fp8_f32", encodeFp8<false, false>, kModOpSel);
  add("v_cvt_pk_bf8_f32", encodeFp8<true, false>, kModOpSel);
  add("v_cvt_sr_fp8_f32", encodeFp8<false, true>, kModOpSel);
  add("v_cvt_sr_bf8_f32", encodeFp8<true, true>, kModOpSel);
}

} // namespace

void addConversions(OpTable &t) {
  addIntegerFloat(t);
  addParts(t);
  addHalf(t);
  addFp8(t);
}

} // namespace hk::emu
