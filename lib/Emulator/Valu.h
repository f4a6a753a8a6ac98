//===- Valu.h - Lane loops of the vector ALU --------------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns a lambda over scalars into a handler over 64 lanes: the parameter
// types say how each source is read, the result type how it is written. The
// loops have no branches, so that the compiler vectorises them; everything
// unusual (DPP, SDWA, modifiers, EXEC) is in the fetch and the commit.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_VALU_H
#define HK_LIB_EMULATOR_VALU_H

#include "Float.h"
#include "Wave.h"
#include <cstring>
#include <type_traits>

namespace hk::emu {

using half = _Float16;

struct alignas(64) LaneBuf {
  uint32_t lo[kLanes];
};

/// One source: its low words and, for 64-bit types, its high words.
struct Src {
  const uint32_t *lo = nullptr, *hi = nullptr;
};

// --- Valu.cpp ---
uint64_t specialValue(Wave &w, unsigned special);
const uint32_t *fetchComplex(Wave &w, const Inst &inst, unsigned k, Type type,
                             bool high, LaneBuf &buf);
/// DPP masks, clamp, omod, SDWA destination; `words` is 1 or 2.
void commitComplex(Wave &w, const Inst &inst, Type type, LaneBuf &lo,
                   LaneBuf &hi);
/// The part of source k that a 16-bit or SDWA operation reads.
Sel selectedPart(const Inst &inst, unsigned k, Type type);
/// op_sel sends a 16-bit result to bits 16 and up.
bool writesHighHalf(const Inst &inst);
/// Lanes a VALU result reaches: EXEC less the lanes DPP leaves alone.
uint64_t writeMask(Wave &w, const Inst &inst);
void propagateSlow(Wave &w, const Inst &inst, unsigned firstSrc,
                   unsigned numSrc, unsigned dst, unsigned words);
/// The register an operand means under s_set_gpr_idx.
unsigned indexedVgpr(Wave &w, const Inst &inst, unsigned k);

template <class T> constexpr Type typeOf() {
  if constexpr (std::is_same_v<T, float>)
    return Type::F32;
  else if constexpr (std::is_same_v<T, double>)
    return Type::F64;
  else if constexpr (std::is_same_v<T, half>)
    return Type::F16;
  else if constexpr (std::is_same_v<T, int64_t>)
    return Type::I64;
  else if constexpr (sizeof(T) == 8)
    return Type::B64;
  else if constexpr (sizeof(T) == 2)
    return Type::B16;
  else
    return std::is_same_v<T, int32_t> ? Type::I32 : Type::B32;
}

template <class T> inline T fromBits(uint32_t bits) {
  T value;
  if constexpr (sizeof(T) == 4) {
    std::memcpy(&value, &bits, 4);
  } else {
    uint16_t low = uint16_t(bits);
    std::memcpy(&value, &low, 2);
  }
  return value;
}
template <class T> inline uint32_t toBits(T value) {
  if constexpr (sizeof(T) == 4) {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    return bits;
  } else {
    uint16_t bits;
    std::memcpy(&bits, &value, 2);
    return bits;
  }
}
template <class T> inline T getLane(const Src &s, unsigned l) {
  if constexpr (sizeof(T) == 8) {
    uint64_t bits = uint64_t(s.hi[l]) << 32 | s.lo[l];
    T value;
    std::memcpy(&value, &bits, 8);
    return value;
  } else {
    return fromBits<T>(s.lo[l]);
  }
}

inline const uint32_t *broadcast(uint32_t value, LaneBuf &buf) {
  for (unsigned l = 0; l < kLanes; ++l)
    buf.lo[l] = value;
  return buf.lo;
}

/// An operand that is neither a plain VGPR nor a constant.
const uint32_t *fetchScalar(Wave &w, const Operand &o, bool high, LaneBuf &buf);

/// 32 bits of operand k in every lane; `high` selects the second register.
inline const uint32_t *fetchWord(Wave &w, const Inst &inst, unsigned k,
                                 Type type, bool high, LaneBuf &buf) {
  if (__builtin_expect(inst.complex || w.gprIdxMode, 0))
    return fetchComplex(w, inst, k, type, high, buf);
  const Operand &o = inst.o[k];
  if (o.file == RegFile::Vgpr)
    return w.v[o.reg + high];
  if (o.file == RegFile::Const)
    return o.lanes + (high ? kLanes : 0);
  return fetchScalar(w, o, high, buf);
}

template <class T> struct Fetched {
  LaneBuf lo;
  Src src;
  Fetched(Wave &w, const Inst &inst, unsigned k) {
    src.lo = fetchWord(w, inst, k, typeOf<T>(), false, lo);
  }
  T operator[](unsigned l) const { return getLane<T>(src, l); }
};
/// Two words a lane.
template <class T, Type TYPE> struct FetchedPair {
  LaneBuf lo, hi;
  Src src;
  FetchedPair(Wave &w, const Inst &inst, unsigned k) {
    src.lo = fetchWord(w, inst, k, TYPE, false, lo);
    src.hi = fetchWord(w, inst, k, TYPE, true, hi);
  }
  T operator[](unsigned l) const { return getLane<T>(src, l); }
};
template <> struct Fetched<uint64_t> : FetchedPair<uint64_t, Type::B64> {
  using FetchedPair::FetchedPair;
};
template <> struct Fetched<int64_t> : FetchedPair<int64_t, Type::B64> {
  using FetchedPair::FetchedPair;
};
template <> struct Fetched<double> : FetchedPair<double, Type::F64> {
  using FetchedPair::FetchedPair;
};

inline void commitWord(Wave &w, unsigned reg, const uint32_t *values) {
  uint32_t *d = w.v[reg];
  if (w.exec == ~0ull) {
    std::memcpy(d, values, sizeof(LaneArray));
    return;
  }
  const uint32_t *m = w.execLanes();
  for (unsigned l = 0; l < kLanes; ++l)
    d[l] = (values[l] & m[l]) | (d[l] & ~m[l]);
}

/// Byte-wise definedness of all words of one operand.
inline ByteMasks definedBytes(const Wave &w, const Operand &o) {
  ByteMasks m = ~ByteMasks{};
  if (o.isVgpr()) {
    for (unsigned r = o.reg; r < unsigned(o.reg) + o.width; ++r)
      m &= w.vd[r].all;
  } else if (o.isSgpr()) {
    uint32_t bits = ~0u;
    for (unsigned r = o.reg; r < unsigned(o.reg) + o.width; ++r)
      bits &= w.sd[r];
    if (bits != ~0u)
      m = ByteMasks{};
  }
  return m;
}

/// Whole-lane definedness of one operand.
inline uint64_t definedLanes(const Wave &w, const Operand &o) {
  return __builtin_reduce_and(definedBytes(w, o));
}

inline void define(Wave &w, unsigned reg, uint64_t lanes) {
  w.vd[reg].all |= lanes;
}
inline void setDefinedLanes(Wave &w, unsigned reg, uint64_t lanes,
                            uint64_t value) {
  w.vd[reg].set(lanes, ByteMasks{} | value);
}

/// The unusual cases of propagate: undefined bytes, moved bytes.
void propagateUnusual(Wave &w, const Inst &inst, unsigned firstSrc,
                      unsigned numSrc, unsigned words);

/// Definedness of a VALU result from sources [firstSrc, firstSrc + numSrc).
inline void propagate(Wave &w, const Inst &inst, unsigned firstSrc,
                      unsigned numSrc, unsigned words) {
  if (!w.checks)
    return;
  ByteMasks m = ~ByteMasks{};
  for (unsigned k = 0; k < numSrc; ++k)
    m &= definedBytes(w, inst.o[firstSrc + k]);
  if (inst.op->dstIsSource)
    m &= definedBytes(w, inst.o[0]);
  if (__builtin_expect(__builtin_reduce_or(w.exec & ~m) != 0 || inst.complex ||
                           w.gprIdxMode,
                       0)) {
    propagateUnusual(w, inst, firstSrc, numSrc, words);
    return;
  }
  for (unsigned r = 0; r < words; ++r)
    define(w, inst.o[0].reg + r, w.exec);
}

template <class F> struct Signature : Signature<decltype(&F::operator())> {};
template <class C, class R, class... A> struct Signature<R (C::*)(A...) const> {
  using Result = R;
  static constexpr unsigned count = sizeof...(A);
  template <unsigned I>
  using Arg = std::tuple_element_t < I<count ? I : 0, std::tuple<A...>>;
};

/// Operand index of source k.
inline unsigned sourceIndex(const Inst &inst, unsigned k, unsigned count) {
  return inst.op->dstIsSource && k + 1 == count ? 0 : inst.op->numDst + k;
}

template <class R>
inline void commitResult(Wave &w, const Inst &inst, LaneBuf &lo, LaneBuf &hi) {
  if (__builtin_expect(inst.complex || w.gprIdxMode, 0)) {
    commitComplex(w, inst, typeOf<R>(), lo, hi);
    return;
  }
  commitWord(w, inst.o[0].reg, lo.lo);
  if constexpr (sizeof(R) == 8)
    commitWord(w, inst.o[0].reg + 1, hi.lo);
}

template <class R, class T>
inline void storeLane(uint32_t *lo, uint32_t *hi, unsigned l, T value) {
  if constexpr (sizeof(R) == 8) {
    uint64_t bits;
    std::memcpy(&bits, &value, 8);
    lo[l] = uint32_t(bits);
    hi[l] = uint32_t(bits >> 32);
  } else {
    lo[l] = toBits<R>(value);
  }
}

inline bool isInfinite(half v) { return (toBits(v) & 0x7fff) == 0x7c00; }

/// Whether a source makes an infinite result a true one.
template <class T> bool makesInfinite(T v, bool poleAtZero) {
  if constexpr (std::is_same_v<T, half>)
    return isInfinite(v) || (poleAtZero && v == half(0));
  else if constexpr (std::is_same_v<T, float>)
    return __builtin_isinf(v);
  else
    return false;
}
/// What an f16 result is under MODE.FP16_OVFL.
template <class... A>
half saturatedHalf(half r, bool poleAtZero, A... sources) {
  if (!isInfinite(r) || (makesInfinite(sources, poleAtZero) || ...))
    return r;
  return r < half(0) ? half(-65504) : half(65504);
}

/// A handler that applies `f` to every lane.
template <class F> Handler laneHandler(F lambda) {
  static const F f = lambda;
  (void)f;
  return [](Wave &w, const Inst &inst) {
    using S = Signature<F>;
    using R = typename S::Result;
    using A = typename S::template Arg<0>;
    using B = typename S::template Arg<1>;
    using C = typename S::template Arg<2>;
    constexpr unsigned n = S::count;
    constexpr unsigned words = sizeof(R) == 8 ? 2 : 1;
    // Definedness first: the destination may be one of the sources.
    propagate(w, inst, inst.op->numDst, inst.op->dstIsSource ? n - 1 : n,
              words);
    LaneBuf lo, hi, bufs[n * 2];
    Src src[3];
    auto fetch = [&](unsigned k, Type type, bool wide) {
      unsigned index = sourceIndex(inst, k, n);
      src[k].lo = fetchWord(w, inst, index, type, false, bufs[2 * k]);
      if (wide)
        src[k].hi = fetchWord(w, inst, index, type, true, bufs[2 * k + 1]);
    };
    fetch(0, typeOf<A>(), sizeof(A) == 8);
    if constexpr (n > 1)
      fetch(1, typeOf<B>(), sizeof(B) == 8);
    if constexpr (n > 2)
      fetch(2, typeOf<C>(), sizeof(C) == 8);
    auto run = [&](uint32_t *outLo, uint32_t *outHi) {
    // A lane reads only its own elements, so that the result may be written
    // over a source.
#pragma clang loop vectorize(assume_safety)
      for (unsigned l = 0; l < kLanes; ++l) {
        R r;
        if constexpr (n == 1)
          r = R(f(getLane<A>(src[0], l)));
        else if constexpr (n == 2)
          r = R(f(getLane<A>(src[0], l), getLane<B>(src[1], l)));
        else
          r = R(f(getLane<A>(src[0], l), getLane<B>(src[1], l),
                  getLane<C>(src[2], l)));
        storeLane<R>(outLo, outHi, l, r);
      }
    };
    bool saturates = std::is_same_v<R, half> && saturatesOverflow(w);
    if (__builtin_expect(w.exec == ~0ull && !inst.complex && !w.gprIdxMode &&
                             !saturates,
                         1)) {
      run(w.v[inst.o[0].reg], w.v[inst.o[0].reg + words - 1]);
      return;
    }
    run(lo.lo, hi.lo);
    if constexpr (std::is_same_v<R, half>)
      for (unsigned l = 0; saturates && l < kLanes; ++l) {
        half r = fromBits<half>(lo.lo[l]);
        bool pole = inst.op->poleAtZero;
        A a = getLane<A>(src[0], l);
        if constexpr (n == 1)
          r = saturatedHalf(r, pole, a);
        else if constexpr (n == 2)
          r = saturatedHalf(r, pole, a, getLane<B>(src[1], l));
        else
          r = saturatedHalf(r, pole, a, getLane<B>(src[1], l),
                            getLane<C>(src[2], l));
        lo.lo[l] = toBits(r);
      }
    commitResult<R>(w, inst, lo, hi);
  };
}

/// Bits of MODE that choose between two handlers.
enum ModeBit : unsigned { kModeIeee = 9, kModeOverflow = 23 };

/// A handler that does `set` with that bit of MODE and `clear` without. F and G
/// tell the instances apart.
template <ModeBit Bit, class F, class G>
Handler modeHandler(F, G, Handler set, Handler clear) {
  static const Handler with = set, without = clear;
  return [](Wave &w, const Inst &inst) {
    (w.mode >> Bit & 1 ? with : without)(w, inst);
  };
}

/// The table entry of a lane operation.
template <class F> Op laneOp(F f, DefRule rule = DefRule::Whole) {
  using S = Signature<F>;
  using R = typename S::Result;
  Op op;
  op.fn = laneHandler(f);
  op.cls = InstClass::Valu;
  op.rule = rule;
  op.types[0] = typeOf<R>();
  op.types[1] = typeOf<typename S::template Arg<0>>();
  if (S::count > 1)
    op.types[2] = typeOf<typename S::template Arg<1>>();
  if (S::count > 2)
    op.types[3] = typeOf<typename S::template Arg<2>>();
  op.mods = kModDpp | kModSdwa;
  if (std::is_floating_point_v<R> || std::is_same_v<R, half>)
    op.mods |= kModOut;
  op.clocks = sizeof(R) == 8 ? 8 : 4;
  return op;
}

/// The table entry of a lane operation that heeds a bit of MODE.
template <ModeBit Bit, class F, class G>
Op modeLaneOp(F set, G clear, DefRule rule = DefRule::Whole) {
  Op op = laneOp(clear, rule);
  op.fn = modeHandler<Bit>(set, clear, laneHandler(set), op.fn);
  return op;
}

/// Calls add(name, ieee, plain) for minimum and maximum.
template <class T, class Add> void forMinMax(Add add) {
  add(
      "min", [](T a, T b) { return minNumIeee(a, b); },
      [](T a, T b) { return minNum(a, b); });
  add(
      "max", [](T a, T b) { return maxNumIeee(a, b); },
      [](T a, T b) { return maxNum(a, b); });
}
/// The same for three sources, and the median.
template <class T, class Add> void forMinMax3(Add add) {
  add(
      "min3", [](T a, T b, T c) { return minNumIeee(minNumIeee(a, b), c); },
      [](T a, T b, T c) { return minNum(minNum(a, b), c); });
  add(
      "max3", [](T a, T b, T c) { return maxNumIeee(maxNumIeee(a, b), c); },
      [](T a, T b, T c) { return maxNum(maxNum(a, b), c); });
  add(
      "med3", [](T a, T b, T c) { return med3Ieee(a, b, c); },
      [](T a, T b, T c) { return med3(a, b, c); });
}

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_VALU_H
