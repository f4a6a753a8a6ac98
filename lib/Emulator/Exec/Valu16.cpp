//===- Valu16.cpp - 16-bit vector ALU -------------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// f16 and 16-bit integer operations that are not packed. f16 arithmetic is done
// in f32 (fma in f64), which rounds once.
//
//===----------------------------------------------------------------------===//

#include "../Float.h"
#include "../Valu.h"
#include <algorithm>
#include <cmath>

namespace hk::emu {
namespace {

using u16 = uint16_t;
using i16 = int16_t;
using u32 = uint32_t;
using i32 = int32_t;

half fmaHalf(half a, half b, half c) {
  return half(double(a) * double(b) + double(c));
}

half divFixupHalf(half a, half b, half c) {
  bool negative = std::signbit(float(b)) != std::signbit(float(c));
  float n = float(c), d = float(b), q = __builtin_fabsf(float(a));
  float nan = __builtin_nanf("");
  if (n != n || d != d)
    return half(n != n ? n : d);
  if ((d == 0 && n == 0) || (std::isinf(d) && std::isinf(n)))
    return half(-nan);
  if (d == 0 || std::isinf(n))
    q = __builtin_inff();
  else if (std::isinf(d) || n == 0)
    q = 0;
  return half(negative ? -q : q);
}

Op halfOp(Op op, bool preserve = false) {
  op.mods |= kModOpSel;
  op.preserveHigh = preserve;
  return op;
}

template <class F, class G>
void addClamped(OpTable &t, const char *name, F plain, G clamped,
                bool preserve = false) {
  Op op = halfOp(laneOp(plain), preserve);
  op.clampFn = laneHandler(clamped);
  op.mods |= kModOut;
  t.add(name, op);
}

u16 clampU16(i32 v) { return u16(std::clamp(v, 0, 65535)); }
i16 clampI16(i32 v) { return i16(std::clamp(v, -32768, 32767)); }

void addHalf(OpTable &t) {
  t.add("v_add_f16", halfOp(laneOp([](half a, half b) {
          return half(float(a) + float(b));
        })));
  t.add("v_sub_f16", halfOp(laneOp([](half a, half b) {
          return half(float(a) - float(b));
        })));
  t.add("v_subrev_f16", halfOp(laneOp([](half a, half b) {
          return half(float(b) - float(a));
        })));
  t.add("v_mul_f16", halfOp(laneOp([](half a, half b) {
          return half(float(a) * float(b));
        })));
  t.add("v_fma_f16",
        halfOp(laneOp([](half a, half b, half c) { return fmaHalf(a, b, c); }),
               true));
  // The legacy forms zero the upper half.
  Op fmac =
      halfOp(laneOp([](half a, half b, half c) { return fmaHalf(a, b, c); }));
  t.add("v_fma_legacy_f16", fmac);
  fmac.dstIsSource = true;
  t.add("v_fmac_f16", fmac);
  t.add("v_min_f16",
        halfOp(laneOp([](half a, half b) { return minNum(a, b); })));
  t.add("v_max_f16",
        halfOp(laneOp([](half a, half b) { return maxNum(a, b); })));
  t.add("v_min3_f16", halfOp(laneOp([](half a, half b, half c) {
                               return minNum(minNum(a, b), c);
                             }),
                             true));
  t.add("v_max3_f16", halfOp(laneOp([](half a, half b, half c) {
                               return maxNum(maxNum(a, b), c);
                             }),
                             true));
  t.add("v_med3_f16",
        halfOp(laneOp([](half a, half b, half c) { return med3(a, b, c); }),
               true));
  t.add("v_trunc_f16", halfOp(laneOp([](half a) {
          return half(__builtin_truncf(float(a)));
        })));
  t.add("v_ceil_f16",
        halfOp(laneOp([](half a) { return half(__builtin_ceilf(float(a))); })));
  t.add("v_floor_f16", halfOp(laneOp([](half a) {
          return half(__builtin_floorf(float(a)));
        })));
  t.add("v_rndne_f16", halfOp(laneOp([](half a) {
          return half(__builtin_roundevenf(float(a)));
        })));
  t.add("v_fract_f16", halfOp(laneOp([](half a) {
          float f = float(a) - __builtin_floorf(float(a));
          return half(f < 0.99951172f ? f : 0.99951172f);
        })));
  t.add("v_ldexp_f16", halfOp(laneOp([](half a, i16 b) {
          return half(std::ldexp(float(a), b));
        })));
  t.add("v_frexp_exp_i16_f16", halfOp(laneOp([](half a) {
          int e = 0;
          float v = float(a);
          if (v == v && v - v == 0 && v != 0)
            std::frexp(v, &e);
          return i16(e);
        })));
  t.add("v_frexp_mant_f16", halfOp(laneOp([](half a) {
          int e = 0;
          float v = float(a);
          return v == v && v - v == 0 ? half(std::frexp(v, &e)) : a;
        })));
  auto fixup = [] {
    return halfOp(
        laneOp([](half a, half b, half c) { return divFixupHalf(a, b, c); }));
  };
  Op keeps = fixup();
  keeps.preserveHigh = true;
  t.add("v_div_fixup_f16", keeps);
  t.add("v_div_fixup_legacy_f16", fixup());
}

void addInt16(OpTable &t) {
  addClamped(
      t, "v_add_u16", [](u16 a, u16 b) { return u16(a + b); },
      [](u16 a, u16 b) { return clampU16(a + b); });
  addClamped(
      t, "v_sub_u16", [](u16 a, u16 b) { return u16(a - b); },
      [](u16 a, u16 b) { return clampU16(a - b); });
  addClamped(
      t, "v_subrev_u16", [](u16 a, u16 b) { return u16(b - a); },
      [](u16 a, u16 b) { return clampU16(b - a); });
  addClamped(
      t, "v_add_i16", [](u16 a, u16 b) { return u16(a + b); },
      [](i16 a, i16 b) { return u16(clampI16(a + b)); });
  addClamped(
      t, "v_sub_i16", [](u16 a, u16 b) { return u16(a - b); },
      [](i16 a, i16 b) { return u16(clampI16(a - b)); });
  t.add("v_mul_lo_u16",
        halfOp(laneOp([](u16 a, u16 b) { return u16(u32(a) * b); })));
  addClamped(
      t, "v_mad_u16", [](u16 a, u16 b, u16 c) { return u16(u32(a) * b + c); },
      [](u16 a, u16 b, u16 c) {
        u32 r = u32(a) * b + c;
        return u16(r > 65535 ? 65535 : r);
      },
      true);
  addClamped(
      t, "v_mad_i16", [](u16 a, u16 b, u16 c) { return u16(u32(a) * b + c); },
      [](i16 a, i16 b, i16 c) { return u16(clampI16(i32(a) * b + c)); }, true);
  addClamped(
      t, "v_mad_legacy_u16",
      [](u16 a, u16 b, u16 c) { return u16(u32(a) * b + c); },
      [](u16 a, u16 b, u16 c) {
        u32 r = u32(a) * b + c;
        return u16(r > 65535 ? 65535 : r);
      });
  addClamped(
      t, "v_mad_legacy_i16",
      [](u16 a, u16 b, u16 c) { return u16(u32(a) * b + c); },
      [](i16 a, i16 b, i16 c) { return u16(clampI16(i32(a) * b + c)); });
  t.add("v_mad_u32_u16",
        laneOp([](u16 a, u16 b, u32 c) { return u32(a) * b + c; }))
      .mods |= kModOpSel;
  t.add("v_mad_i32_i16",
        laneOp([](i16 a, i16 b, u32 c) { return u32(i32(a) * b) + c; }))
      .mods |= kModOpSel;
  t.add("v_min_u16",
        halfOp(laneOp([](u16 a, u16 b) { return u16(std::min(a, b)); })));
  t.add("v_max_u16",
        halfOp(laneOp([](u16 a, u16 b) { return u16(std::max(a, b)); })));
  t.add("v_min_i16",
        halfOp(laneOp([](i16 a, i16 b) { return u16(std::min(a, b)); })));
  t.add("v_max_i16",
        halfOp(laneOp([](i16 a, i16 b) { return u16(std::max(a, b)); })));
  t.add("v_min3_u16", halfOp(laneOp([](u16 a, u16 b, u16 c) {
                               return u16(std::min({a, b, c}));
                             }),
                             true));
  t.add("v_max3_u16", halfOp(laneOp([](u16 a, u16 b, u16 c) {
                               return u16(std::max({a, b, c}));
                             }),
                             true));
  t.add("v_med3_u16",
        halfOp(laneOp([](u16 a, u16 b, u16 c) {
                 return u16(
                     std::max(std::min(a, b), std::min(std::max(a, b), c)));
               }),
               true));
  t.add("v_min3_i16", halfOp(laneOp([](i16 a, i16 b, i16 c) {
                               return u16(std::min({a, b, c}));
                             }),
                             true));
  t.add("v_max3_i16", halfOp(laneOp([](i16 a, i16 b, i16 c) {
                               return u16(std::max({a, b, c}));
                             }),
                             true));
  t.add("v_med3_i16",
        halfOp(laneOp([](i16 a, i16 b, i16 c) {
                 return u16(
                     std::max(std::min(a, b), std::min(std::max(a, b), c)));
               }),
               true));
  t.add("v_lshlrev_b16",
        halfOp(laneOp([](u16 a, u16 b) { return u16(b << (a & 15)); })));
  t.add("v_lshrrev_b16",
        halfOp(laneOp([](u16 a, u16 b) { return u16(b >> (a & 15)); })));
  t.add("v_ashrrev_i16",
        halfOp(laneOp([](u16 a, i16 b) { return u16(b >> (a & 15)); })));
}

} // namespace

void addValu16(OpTable &t) {
  addHalf(t);
  addInt16(t);
}

} // namespace hk::emu
