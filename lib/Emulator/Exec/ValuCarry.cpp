//===- ValuCarry.cpp - Vector ALU with a lane mask result or source -------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Carries, selects, 64-bit multiply-add and the division helpers: operations
// that read or write one bit a lane.
//
//===----------------------------------------------------------------------===//

#include "../Valu.h"
#include <cmath>

namespace hk::emu {
namespace {

using u32 = uint32_t;
using u64 = uint64_t;

struct LaneBits {
  u64 value = 0, defined = ~0ull;
};

LaneBits readBits(Wave &w, const Operand &o) {
  if (o.isSgpr())
    return {w.s64(o.reg), w.sd64(o.reg)};
  return {o.imm, ~0ull};
}

/// Lanes of EXEC get the result bits, the others zero.
void writeBits(Wave &w, unsigned reg, u64 bits, u64 defined) {
  w.setS64(reg, bits & w.exec, defined | ~w.exec);
}

u64 sourcesDefined(Wave &w, const Inst &inst, unsigned first, unsigned n) {
  u64 m = ~0ull;
  for (unsigned k = 0; k < n; ++k)
    m &= definedLanes(w, inst.o[first + k]);
  return m;
}

enum CarryKind : uint16_t { kAdd, kSub, kSubRev };

/// v_add_co, v_addc_co and the like: D, mask = a op b (op carry).
template <CarryKind Kind, bool CarryIn>
void carryOp(Wave &w, const Inst &inst) {
  Fetched<u32> a(w, inst, 2), b(w, inst, 3);
  LaneBits in;
  in.value = 0;
  if (CarryIn)
    in = readBits(w, inst.o[4]);
  LaneBuf lo, hi;
  u64 out = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    u64 x = Kind == kSubRev ? b[l] : a[l], y = Kind == kSubRev ? a[l] : b[l];
    u64 c = in.value >> l & 1;
    u64 r = Kind == kAdd ? x + y + c : x - y - c;
    lo.lo[l] = u32(r);
    out |= (r >> 32 & 1) << l;
  }
  if (inst.m.clamp)
    for (unsigned l = 0; l < kLanes; ++l)
      if (out >> l & 1)
        lo.lo[l] = Kind == kAdd ? ~0u : 0;
  u64 defined = ~0ull;
  if (w.checks) {
    defined = sourcesDefined(w, inst, 2, 2) & in.defined;
    setDefinedLanes(w, inst.o[0].reg, w.exec, defined);
  }
  commitResult<u32>(w, inst, lo, hi);
  writeBits(w, inst.o[1].reg, out, defined);
}

template <bool Signed> void mad64(Wave &w, const Inst &inst) {
  Fetched<u32> a(w, inst, 2), b(w, inst, 3);
  Fetched<u64> c(w, inst, 4);
  LaneBuf lo, hi;
  u64 out = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    u64 product =
        Signed ? u64(int64_t(int32_t(a[l])) * int32_t(b[l])) : u64(a[l]) * b[l];
    u64 r = product + c[l];
    bool carry = Signed ? (int64_t(r) < int64_t(c[l])) != (int64_t(product) < 0)
                        : r < product;
    out |= u64(carry) << l;
    lo.lo[l] = u32(r);
    hi.lo[l] = u32(r >> 32);
  }
  u64 defined = ~0ull;
  if (w.checks) {
    // The low word does not depend on the addend's high word.
    const Operand &addend = inst.o[4];
    u64 factors = sourcesDefined(w, inst, 2, 2);
    u64 low = factors;
    if (addend.isVgpr())
      low &= w.vd[addend.reg].whole();
    else
      low &= definedLanes(w, addend);
    defined = factors & definedLanes(w, addend);
    setDefinedLanes(w, inst.o[0].reg, w.exec, low);
    setDefinedLanes(w, inst.o[0].reg + 1, w.exec, defined);
  }
  commitResult<u64>(w, inst, lo, hi);
  writeBits(w, inst.o[1].reg, out, defined);
}

void condMask(Wave &w, const Inst &inst) {
  LaneBits mask = readBits(w, inst.o[3]);
  // Float modifiers are allowed although the data is untyped.
  LaneBuf bufA, bufB, lo, hi;
  const u32 *a = fetchWord(w, inst, 1, Type::F32, false, bufA);
  const u32 *b = fetchWord(w, inst, 2, Type::F32, false, bufB);
  alignas(64) u32 m[kLanes];
  Wave::expandMask(mask.value, m);
  for (unsigned l = 0; l < kLanes; ++l)
    lo.lo[l] = (b[l] & m[l]) | (a[l] & ~m[l]);
  if (w.checks) {
    const Operand &oa = inst.o[1], &ob = inst.o[2];
    bool bytes = !inst.complex && !w.gprIdxMode;
    auto masks = [&](const Operand &o) {
      return bytes && o.isVgpr() ? w.vd[o.reg].all
                                 : ByteMasks{} | definedLanes(w, o);
    };
    ByteMasks chosen = (masks(ob) & mask.value) | (masks(oa) & ~mask.value);
    w.vd[inst.o[0].reg].set(writeMask(w, inst), chosen & mask.defined);
  }
  commitResult<u32>(w, inst, lo, hi);
}

// --- division: CDNA3 ISA, V_DIV_SCALE, V_DIV_FMAS, V_DIV_FIXUP ---
template <class T> struct Ieee;
template <> struct Ieee<float> {
  using Bits = u32;
  using Signed = int32_t;
  static constexpr int mantissa = 23, maxExponent = 255, bias = 127;
  static constexpr int farApart = 96, scale = 64, tiny = 24, underflow = -150;
  static constexpr int inverseDenormal = 253;
};
template <> struct Ieee<double> {
  using Bits = u64;
  using Signed = int64_t;
  static constexpr int mantissa = 52, maxExponent = 2047, bias = 1023;
  static constexpr int farApart = 768, scale = 128, tiny = 53,
                       underflow = -1075;
  static constexpr int inverseDenormal = 2045;
};

template <class T> typename Ieee<T>::Bits bitsOf(T v) {
  typename Ieee<T>::Bits b;
  std::memcpy(&b, &v, sizeof v);
  return b;
}
template <class T> int exponentOf(T v) {
  return int(bitsOf(v) >> Ieee<T>::mantissa) & Ieee<T>::maxExponent;
}
template <class T> bool isDenormal(T v) { return v != 0 && exponentOf(v) == 0; }

/// By exponents alone, as hardware was seen to do; the documents' conditions on
/// denormal quotients are not those. See the docs.
template <class T> T divScale(T s0, T s1, T s2, bool &flag) {
  using I = Ieee<T>;
  flag = false;
  auto scaled = [&](int e) { return std::ldexp(s0, e); };
  bool isDenominator = bitsOf(s0) == bitsOf(s1);
  if (s2 == 0 || s1 == 0)
    return std::nan("");
  int apart = exponentOf(s2) - exponentOf(s1);
  if (apart >= I::farApart) {
    flag = true;
    return isDenominator ? scaled(I::scale) : s0;
  }
  if (isDenormal(s1))
    return scaled(I::scale);
  bool small = apart <= -I::farApart;
  if (exponentOf(s1) >= I::inverseDenormal) {
    flag = small;
    return small && !isDenominator ? s0 : scaled(-I::scale);
  }
  if (small) {
    flag = true;
    return isDenominator ? s0 : scaled(I::scale);
  }
  return exponentOf(s2) <= I::tiny ? scaled(I::scale) : s0;
}

/// True if no lane needs scaling: numerator, denominator and quotient are far
/// from overflow and from denormals. Nearly always so, and cheap to see.
template <class T>
bool nothingToScale(const Fetched<T> &denominator,
                    const Fetched<T> &numerator) {
  using I = Ieee<T>;
  using Bits = typename I::Bits;
  auto exponent = [](Bits v) {
    return typename I::Signed(v >> I::mantissa & I::maxExponent);
  };
  Bits wrong = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    auto d = exponent(bitsOf(denominator[l])),
         n = exponent(bitsOf(numerator[l]));
    wrong |= Bits((d < 1) | (d > I::maxExponent - 3) | (n <= I::tiny) |
                  (n == I::maxExponent) | (n - d >= I::farApart) |
                  (n - d <= -I::farApart));
  }
  return !wrong;
}

template <class T> void divScaleOp(Wave &w, const Inst &inst) {
  Fetched<T> a(w, inst, 2), b(w, inst, 3), c(w, inst, 4);
  LaneBuf lo, hi;
  u64 out = 0;
  if (nothingToScale<T>(b, c)) {
    for (unsigned l = 0; l < kLanes; ++l)
      storeLane<T>(lo.lo, hi.lo, l, a[l]);
  } else {
    for (unsigned l = 0; l < kLanes; ++l) {
      bool flag = false;
      storeLane<T>(lo.lo, hi.lo, l, divScale<T>(a[l], b[l], c[l], flag));
      out |= u64(flag) << l;
    }
  }
  u64 defined = ~0ull;
  if (w.checks) {
    defined = sourcesDefined(w, inst, 2, 3);
    for (unsigned r = 0; r < sizeof(T) / 4; ++r)
      setDefinedLanes(w, inst.o[0].reg + r, w.exec, defined);
  }
  commitResult<T>(w, inst, lo, hi);
  writeBits(w, inst.o[1].reg, out, defined);
}

/// r with its last bit set if it is inexact, so that another rounding sees on
/// which side of r the true value is.
double madeOdd(double r, double error) {
  if (std::isfinite(r) && error != 0 && !(bitsOf(r) & 1))
    r = std::nextafter(r, error > 0 ? HUGE_VAL : -HUGE_VAL);
  return r;
}

/// 2^e * (a * b + c), rounded once even when the result is denormal.
float scaledFma(float a, float b, float c, int e) {
  double product = double(a) * b; // exact
  double sum = product + c, part = sum - product;
  double error = (product - (sum - part)) + (c - part);
  return float(std::ldexp(madeOdd(sum, error), e));
}
double scaledFma(double a, double b, double c, int e) {
  double r = std::fma(a, b, c);
  double scaled = std::ldexp(r, e);
  if (!isDenormal(scaled) || !std::isfinite(r))
    return scaled;
  double product = a * b, rest = std::fma(a, b, -product);
  double sum = product + c, part = sum - product;
  double lost = (product - (sum - part)) + (c - part) + rest;
  return std::ldexp(madeOdd(r, (sum - r) + lost), e);
}

template <class T> void divFmas(Wave &w, const Inst &inst) {
  Fetched<T> a(w, inst, 1), b(w, inst, 2), c(w, inst, 3);
  LaneBuf lo, hi;
  u64 vcc = w.s64(kVccLo);
  if (!(vcc & w.exec))
    for (unsigned l = 0; l < kLanes; ++l)
      storeLane<T>(lo.lo, hi.lo, l, std::fma(a[l], b[l], c[l]));
  else
    for (unsigned l = 0; l < kLanes; ++l) {
      int e =
          exponentOf(c[l]) > Ieee<T>::bias ? Ieee<T>::scale : -Ieee<T>::scale;
      T r = (vcc >> l & 1) ? scaledFma(a[l], b[l], c[l], e)
                           : std::fma(a[l], b[l], c[l]);
      storeLane<T>(lo.lo, hi.lo, l, r);
    }
  propagate(w, inst, 1, 3, sizeof(T) / 4);
  commitResult<T>(w, inst, lo, hi);
}

template <class T> T divFixup(T s0, T s1, T s2) {
  using I = Ieee<T>;
  bool negative = std::signbit(s1) != std::signbit(s2);
  T inf = std::numeric_limits<T>::infinity();
  auto signedValue = [&](T v) { return negative ? -v : v; };
  if (__builtin_isnan(s2))
    return s2;
  if (__builtin_isnan(s1))
    return s1;
  if ((s1 == 0 && s2 == 0) || (std::isinf(s1) && std::isinf(s2)))
    return -std::numeric_limits<T>::quiet_NaN();
  if (s1 == 0 || std::isinf(s2))
    return signedValue(inf);
  if (std::isinf(s1) || s2 == 0)
    return signedValue(0);
  if (exponentOf(s2) - exponentOf(s1) < I::underflow)
    return signedValue(0);
  // The quotient overflowed on the way: infinities there may give NaN.
  if (exponentOf(s0) == I::maxExponent)
    return signedValue(inf);
  return negative ? -std::fabs(s0) : std::fabs(s0);
}

template <class T> void addDivision(OpTable &t, const std::string &suffix) {
  Op op;
  op.cls = InstClass::Valu;
  for (Type &type : op.types)
    type = typeOf<T>();
  op.clocks = sizeof(T) == 8 ? 8 : 4;
  op.mods = kModOut;
  op.fn = divFmas<T>;
  t.add("v_div_fmas" + suffix, op);
  Op fixup = laneOp([](T a, T b, T c) { return divFixup<T>(a, b, c); });
  t.add("v_div_fixup" + suffix, fixup);
  op.numDst = 2;
  op.fn = divScaleOp<T>;
  t.add("v_div_scale" + suffix, op);
}

} // namespace

void addValuCarry(OpTable &t) {
  auto add = [&](const char *name, Handler fn) {
    Op op;
    op.cls = InstClass::Valu;
    op.fn = fn;
    op.clampFn = fn;
    op.numDst = 2;
    op.mods = kModOut | kModSdwa | kModDpp;
    return &t.add(name, op);
  };
  add("v_add_co_u32", carryOp<kAdd, false>);
  add("v_sub_co_u32", carryOp<kSub, false>);
  add("v_subrev_co_u32", carryOp<kSubRev, false>);
  add("v_addc_co_u32", carryOp<kAdd, true>);
  add("v_subb_co_u32", carryOp<kSub, true>);
  add("v_subbrev_co_u32", carryOp<kSubRev, true>);
  for (bool isSigned : {false, true}) {
    Op *op = add(isSigned ? "v_mad_i64_i32" : "v_mad_u64_u32",
                 isSigned ? mad64<true> : mad64<false>);
    op->types[4] = isSigned ? Type::I64 : Type::B64;
    op->mods = 0;
    op->clocks = 16;
  }
  Op op;
  op.cls = InstClass::Valu;
  op.fn = condMask;
  op.types[3] = Type::B64;
  op.mods = kModSdwa | kModDpp;
  t.add("v_cndmask_b32", op);
  addDivision<float>(t, "_f32");
  addDivision<double>(t, "_f64");
}

} // namespace hk::emu
