//===- Vopc.cpp - Vector compares -----------------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// v_cmp and v_cmpx: one result bit a lane, zero in inactive lanes.
//
//===----------------------------------------------------------------------===//

#include "../Valu.h"
#include <cmath>
#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace hk::emu {
namespace {

uint64_t packMask(const LaneBuf &lanes) {
  uint64_t bits = 0;
#ifdef __AVX2__
  for (unsigned l = 0; l < kLanes; l += 8) {
    __m256 v = _mm256_load_ps(reinterpret_cast<const float *>(lanes.lo + l));
    bits |= uint64_t(uint32_t(_mm256_movemask_ps(v))) << l;
  }
#else
  for (unsigned l = 0; l < kLanes; ++l)
    bits |= uint64_t(lanes.lo[l] >> 31) << l;
#endif
  return bits;
}

/// Lanes whose result does not depend on undefined bytes.
uint64_t compareDefined(Wave &w, const Inst &inst, Type type) {
  uint64_t m = definedLanes(w, inst.o[1]) & definedLanes(w, inst.o[2]);
  if ((w.exec & ~m) == 0)
    return ~0ull;
  bool half = type == Type::F16 || type == Type::B16;
  if (!half && !(inst.m.seen & kModSdwa))
    return m;
  // Only the selected part matters.
  m = ~0ull;
  for (unsigned k = 1; k < 3; ++k) {
    const Operand &o = inst.o[k];
    if (!o.isVgpr()) {
      m &= definedLanes(w, o);
      continue;
    }
    const Defined &d = w.vd[o.reg];
    Sel sel = selectedPart(inst, k, type);
    if (sel == Sel::Dword && half)
      sel = Sel::Word0;
    switch (sel) {
    case Sel::Dword:
      m &= d.whole();
      break;
    case Sel::Word0:
      m &= d.byte[0] & d.byte[1];
      break;
    case Sel::Word1:
      m &= d.byte[2] & d.byte[3];
      break;
    default:
      m &= d.byte[unsigned(sel)];
    }
  }
  return m;
}

void finishCompare(Wave &w, const Inst &inst, uint64_t bits, Type type) {
  uint64_t defined = w.checks ? compareDefined(w, inst, type) | ~w.exec : ~0ull;
  bits &= w.exec;
  bool writesExec = inst.op->info;
  if (writesExec && w.checks && defined != ~0ull)
    w.reportUndefined(inst, __builtin_ctzll(~defined), 0,
                      "a compared value that decides EXEC");
  w.setS64(inst.o[0].reg, bits, defined);
  if (writesExec)
    w.setExec(bits);
}

template <class T, class F> Op compareOp(F lambda) {
  static const F f = lambda;
  (void)f;
  Op op;
  op.cls = InstClass::Valu;
  op.types[0] = Type::B64;
  op.types[1] = op.types[2] = typeOf<T>();
  op.mods = kModSdwa | kModDpp;
  op.clocks = sizeof(T) == 8 ? 8 : 4;
  op.fn = [](Wave &w, const Inst &inst) {
    Fetched<T> a(w, inst, 1), b(w, inst, 2);
    LaneBuf r;
    for (unsigned l = 0; l < kLanes; ++l)
      r.lo[l] = f(a[l], b[l]) ? ~0u : 0u;
    finishCompare(w, inst, packMask(r), typeOf<T>());
  };
  return op;
}

void add(OpTable &t, const std::string &cmp, const std::string &suffix, Op op) {
  t.add("v_cmp_" + cmp + suffix, op);
  op.info = 1;
  t.add("v_cmpx_" + cmp + suffix, op);
}

template <class T> void addFloat(OpTable &t, const std::string &s) {
  // f16 compares in f32: exact.
  using C = std::conditional_t<sizeof(T) == 2, float, T>;
  add(t, "f", s, compareOp<T>([](T, T) { return false; }));
  add(t, "lt", s, compareOp<T>([](T a, T b) { return C(a) < C(b); }));
  add(t, "eq", s, compareOp<T>([](T a, T b) { return C(a) == C(b); }));
  add(t, "le", s, compareOp<T>([](T a, T b) { return C(a) <= C(b); }));
  add(t, "gt", s, compareOp<T>([](T a, T b) { return C(a) > C(b); }));
  add(t, "lg", s,
      compareOp<T>([](T a, T b) { return C(a) < C(b) || C(a) > C(b); }));
  add(t, "ge", s, compareOp<T>([](T a, T b) { return C(a) >= C(b); }));
  add(t, "o", s,
      compareOp<T>([](T a, T b) { return C(a) == C(a) && C(b) == C(b); }));
  add(t, "u", s,
      compareOp<T>([](T a, T b) { return C(a) != C(a) || C(b) != C(b); }));
  add(t, "nge", s, compareOp<T>([](T a, T b) { return !(C(a) >= C(b)); }));
  add(t, "nlg", s,
      compareOp<T>([](T a, T b) { return !(C(a) < C(b) || C(a) > C(b)); }));
  add(t, "ngt", s, compareOp<T>([](T a, T b) { return !(C(a) > C(b)); }));
  add(t, "nle", s, compareOp<T>([](T a, T b) { return !(C(a) <= C(b)); }));
  add(t, "neq", s, compareOp<T>([](T a, T b) { return !(C(a) == C(b)); }));
  add(t, "nlt", s, compareOp<T>([](T a, T b) { return !(C(a) < C(b)); }));
  add(t, "tru", s, compareOp<T>([](T, T) { return true; }));
}

template <class T> void addInteger(OpTable &t, const std::string &s) {
  add(t, "f", s, compareOp<T>([](T, T) { return false; }));
  add(t, "lt", s, compareOp<T>([](T a, T b) { return a < b; }));
  add(t, "eq", s, compareOp<T>([](T a, T b) { return a == b; }));
  add(t, "le", s, compareOp<T>([](T a, T b) { return a <= b; }));
  add(t, "gt", s, compareOp<T>([](T a, T b) { return a > b; }));
  add(t, "ne", s, compareOp<T>([](T a, T b) { return a != b; }));
  add(t, "ge", s, compareOp<T>([](T a, T b) { return a >= b; }));
  add(t, "t", s, compareOp<T>([](T, T) { return true; }));
}

/// Bits of the class mask, from the CDNA3 ISA: signalling and quiet NaN, then
/// -inf -normal -denormal -0 +0 +denormal +normal +inf.
template <class T> unsigned floatClass(T v) {
  uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof v);
  // On the bits: denormals are told apart whatever MODE says.
  constexpr unsigned mantissa = sizeof(T) == 2 ? 10 : sizeof(T) == 4 ? 23 : 52;
  constexpr unsigned width = sizeof(T) * 8;
  constexpr uint64_t top = (1ull << (width - 1 - mantissa)) - 1;
  bool negative = bits >> (width - 1) & 1;
  uint64_t exponent = bits >> mantissa & top;
  uint64_t fraction = bits & ((1ull << mantissa) - 1);
  if (exponent == top && fraction)
    return fraction >> (mantissa - 1) & 1;
  if (exponent == top)
    return negative ? 2 : 9;
  if (exponent)
    return negative ? 3 : 8;
  if (fraction)
    return negative ? 4 : 7;
  return negative ? 5 : 6;
}

template <class T> void classOp(Wave &w, const Inst &inst) {
  Fetched<T> a(w, inst, 1);
  Fetched<uint32_t> b(w, inst, 2);
  uint64_t bits = 0;
  for (unsigned l = 0; l < kLanes; ++l)
    bits |= uint64_t(b[l] >> floatClass(a[l]) & 1) << l;
  finishCompare(w, inst, bits, typeOf<T>());
}

template <class T> void addClass(OpTable &t, const std::string &s) {
  Op op;
  op.cls = InstClass::Valu;
  op.types[0] = Type::B64;
  op.types[1] = typeOf<T>();
  op.mods = kModSdwa | kModDpp;
  op.fn = classOp<T>;
  add(t, "class", s, op);
}

} // namespace

void addVopc(OpTable &t) {
  addFloat<half>(t, "_f16");
  addFloat<float>(t, "_f32");
  addFloat<double>(t, "_f64");
  addInteger<int16_t>(t, "_i16");
  addInteger<uint16_t>(t, "_u16");
  addInteger<int32_t>(t, "_i32");
  addInteger<uint32_t>(t, "_u32");
  addInteger<int64_t>(t, "_i64");
  addInteger<uint64_t>(t, "_u64");
  addClass<half>(t, "_f16");
  addClass<float>(t, "_f32");
  addClass<double>(t, "_f64");
}

} // namespace hk::emu
