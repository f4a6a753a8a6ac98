//===- Packed.cpp - Packed vector ALU (VOP3P) -----------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two 16-bit operations in a word, or two f32 operations in a register pair.
// op_sel and op_sel_hi pick the half (word) each result reads, neg_lo and
// neg_hi negate it.
//
//===----------------------------------------------------------------------===//

#include "HalfOps.h"

namespace hk::emu {
namespace {

using u16 = uint16_t;
using i16 = int16_t;
using u32 = uint32_t;
using i32 = int32_t;

/// The half of source k that feeds result `hi`, negated as asked.
template <class T>
void selectHalf(const Inst &inst, const uint32_t *words, unsigned k, bool hi,
                uint16_t *out) {
  unsigned shift = ((hi ? inst.m.opSelHi : inst.m.opSel) >> k & 1) ? 16 : 0;
  bool negate = (hi ? inst.m.negHi : inst.m.negLo) >> k & 1;
  uint16_t flip = negate && std::is_same_v<T, half> ? 0x8000 : 0;
  for (unsigned l = 0; l < kLanes; ++l)
    out[l] = uint16_t(words[l] >> shift) ^ flip;
}

template <class F> Handler packedHandler(F lambda) {
  static const F f = lambda;
  (void)f;
  return [](Wave &w, const Inst &inst) {
    using S = Signature<F>;
    using A = typename S::template Arg<0>;
    using B = typename S::template Arg<1>;
    using C = typename S::template Arg<2>;
    constexpr unsigned n = S::count;
    LaneBuf buf[3], lo, hi;
    const uint32_t *src[3] = {};
    [[maybe_unused]] bool saturates = saturatesOverflow(w);
    for (unsigned k = 0; k < n; ++k)
      src[k] =
          fetchWord(w, inst, sourceIndex(inst, k, n), Type::B32, false, buf[k]);
    for (unsigned h = 0; h < 2; ++h) {
      alignas(64) uint16_t a[kLanes], b[kLanes], c[kLanes];
      selectHalf<A>(inst, src[0], 0, h, a);
      selectHalf<B>(inst, src[1], 1, h, b);
      if constexpr (n == 3)
        selectHalf<C>(inst, src[2], 2, h, c);
      for (unsigned l = 0; l < kLanes; ++l) {
        typename S::Result r;
        if constexpr (n == 3)
          r = f(fromBits<A>(a[l]), fromBits<B>(b[l]), fromBits<C>(c[l]));
        else
          r = f(fromBits<A>(a[l]), fromBits<B>(b[l]));
        if constexpr (std::is_same_v<typename S::Result, half>)
          if (saturates)
            r = saturatedHalf(r, false, fromBits<half>(a[l]),
                              fromBits<half>(b[l]),
                              fromBits<half>(n == 3 ? c[l] : 0));
        if (std::is_same_v<decltype(r), half> && inst.m.clamp) {
          float v = float(r);
          r = typename S::Result(v > 0 ? (v < 1 ? v : 1.0f) : 0.0f);
        }
        uint32_t bits = toBits(r) & 0xffff;
        lo.lo[l] = h ? (lo.lo[l] | bits << 16) : bits;
      }
    }
    propagate(w, inst, 1, inst.op->dstIsSource ? n - 1 : n, 1);
    commitResult<u32>(w, inst, lo, hi);
  };
}

template <class F> Op packedOp(F f) {
  using S = Signature<F>;
  Op op;
  op.cls = InstClass::Valu;
  op.rule = DefRule::Halves;
  op.packed = true;
  op.mods = kModOpSel;
  op.fn = packedHandler(f);
  op.clampFn = op.fn;
  if (std::is_same_v<typename S::Result, half>)
    op.mods |= kModOut;
  else
    op.check = checkNoSign;
  op.types[1] = typeOf<typename S::template Arg<0>>();
  op.types[2] = typeOf<typename S::template Arg<1>>();
  op.types[3] = typeOf<typename S::template Arg<2>>();
  return op;
}

void addHalves(OpTable &t) {
  forHalfOps([&](const char *name, auto plain, auto... clamped) {
    Op op = packedOp(plain);
    if constexpr (sizeof...(clamped)) {
      op.clampFn = packedHandler(clamped...);
      op.mods |= kModOut;
    }
    t.add(std::string("v_pk_") + name, op);
  });
  forMinMax<half>([&](const std::string &name, auto ieee, auto plain) {
    Op op = packedOp(plain);
    op.clampFn = op.fn = modeHandler<kModeIeee>(
        ieee, plain, packedHandler(ieee), packedHandler(plain));
    t.add("v_pk_" + name + "_f16", op);
  });
  Op fmac = packedOp([](half a, half b, half c) { return fmaHalf(a, b, c); });
  fmac.dstIsSource = true;
  fmac.mods |= kModDpp | kModSdwa;
  t.add("v_pk_fmac_f16", fmac);
  t.add("v_pk_minimum3_f16", packedOp([](half a, half b, half c) {
          return minimum(minimum(a, b), c);
        }));
  t.add("v_pk_maximum3_f16", packedOp([](half a, half b, half c) {
          return maximum(maximum(a, b), c);
        }));
}

// --- register pairs ---

const uint32_t *pairWord(Wave &w, const Inst &inst, unsigned k, bool hi,
                         LaneBuf &buf) {
  bool second = (hi ? inst.m.opSelHi : inst.m.opSel) >> k & 1;
  const Operand &o = inst.o[1 + k];
  const uint32_t *p = o.isConst() ? o.lanes
                                  : fetchWord(w, inst, 1 + k, Type::B32,
                                              second && o.width > 1, buf);
  if (!((hi ? inst.m.negHi : inst.m.negLo) >> k & 1))
    return p;
  for (unsigned l = 0; l < kLanes; ++l)
    buf.lo[l] = p[l] ^ 0x80000000u;
  return buf.lo;
}

void definePair(Wave &w, const Inst &inst, unsigned numSrc, Defined out[2]) {
  for (unsigned h = 0; h < 2; ++h) {
    uint64_t m = ~0ull;
    for (unsigned k = 0; k < numSrc; ++k) {
      const Operand &o = inst.o[1 + k];
      bool second =
          ((h ? inst.m.opSelHi : inst.m.opSel) >> k & 1) && o.width > 1;
      if (o.isVgpr())
        m &= w.vd[o.reg + second].whole();
      else if (o.isSgpr() && w.sd[o.reg + second] != ~0u)
        m = 0;
    }
    for (uint64_t &byte : out[h].byte)
      byte = m;
  }
}

enum PairKind { kPairFma, kPairMul, kPairAdd };

template <PairKind Kind> void pairOp(Wave &w, const Inst &inst) {
  constexpr unsigned n = Kind == kPairFma ? 3 : 2;
  LaneBuf out[2];
  for (unsigned h = 0; h < 2; ++h) {
    LaneBuf buf[3];
    const uint32_t *s[3] = {};
    for (unsigned k = 0; k < n; ++k)
      s[k] = pairWord(w, inst, k, h, buf[k]);
    for (unsigned l = 0; l < kLanes; ++l) {
      float a = fromBits<float>(s[0][l]), b = fromBits<float>(s[1][l]), r;
      if constexpr (Kind == kPairFma)
        r = __builtin_fmaf(a, b, fromBits<float>(s[2][l]));
      else
        r = Kind == kPairMul ? a * b : a + b;
      out[h].lo[l] = toBits(r);
    }
    if (inst.m.clamp)
      for (unsigned l = 0; l < kLanes; ++l) {
        float v = fromBits<float>(out[h].lo[l]);
        out[h].lo[l] = toBits(v > 0 ? (v < 1 ? v : 1.0f) : 0.0f);
      }
  }
  if (w.checks) {
    Defined d[2];
    definePair(w, inst, n, d);
    for (unsigned h = 0; h < 2; ++h)
      setDefinedLanes(w, inst.o[0].reg + h, w.exec, d[h].whole());
  }
  commitWord(w, inst.o[0].reg, out[0].lo);
  commitWord(w, inst.o[0].reg + 1, out[1].lo);
}

/// v_pk_mov_b32: op_sel picks the word of source 0 for the low result and of
/// source 1 for the high one; op_sel_hi has no part in it.
void pairMove(Wave &w, const Inst &inst) {
  LaneBuf out[2], buf;
  for (unsigned h = 0; h < 2; ++h) {
    const Operand &o = inst.o[1 + h];
    bool second = (inst.m.opSel >> h & 1) && o.width > 1;
    const uint32_t *p = o.isConst()
                            ? o.lanes
                            : fetchWord(w, inst, 1 + h, Type::B32, second, buf);
    std::memcpy(out[h].lo, p, sizeof out[h].lo);
  }
  Defined d[2];
  for (unsigned h = 0; h < 2; ++h) {
    const Operand &o = inst.o[1 + h];
    bool second = (inst.m.opSel >> h & 1) && o.width > 1;
    for (unsigned k = 0; k < 4; ++k)
      d[h].byte[k] = o.isVgpr()   ? w.vd[o.reg + second].byte[k]
                     : o.isSgpr() ? (w.sd[o.reg + second] == ~0u ? ~0ull : 0)
                                  : ~0ull;
  }
  for (unsigned h = 0; h < 2; ++h) {
    Defined &to = w.vd[inst.o[0].reg + h];
    for (unsigned k = 0; k < 4; ++k)
      to.byte[k] = (to.byte[k] & ~w.exec) | (d[h].byte[k] & w.exec);
    commitWord(w, inst.o[0].reg + h, out[h].lo);
  }
}

// --- mixed precision and dot products ---

/// One source of v_fma_mix: f16 half or f32, with neg and abs.
void mixSource(Wave &w, const Inst &inst, unsigned k, float *out) {
  LaneBuf buf;
  const Operand &o = inst.o[1 + k];
  const uint32_t *p = o.isConst()  ? o.lanes
                      : o.isSgpr() ? broadcast(w.s[o.reg], buf)
                                   : w.v[o.reg];
  bool isHalf = inst.m.opSelHi >> k & 1;
  bool high = inst.m.opSel >> k & 1;
  for (unsigned l = 0; l < kLanes; ++l) {
    float v = isHalf ? float(fromBits<half>(p[l] >> (high ? 16 : 0)))
                     : fromBits<float>(p[l]);
    if (o.abs)
      v = __builtin_fabsf(v);
    out[l] = o.neg ? -v : v;
  }
}

enum MixKind { kMixF32, kMixLo, kMixHi };

template <MixKind Kind> void mixOp(Wave &w, const Inst &inst) {
  alignas(64) float a[kLanes], b[kLanes], c[kLanes];
  mixSource(w, inst, 0, a);
  mixSource(w, inst, 1, b);
  mixSource(w, inst, 2, c);
  LaneBuf lo;
  const uint32_t *old = w.v[inst.o[0].reg];
  for (unsigned l = 0; l < kLanes; ++l) {
    float r = __builtin_fmaf(a[l], b[l], c[l]);
    if (inst.m.clamp)
      r = r > 0 ? (r < 1 ? r : 1.0f) : 0.0f;
    if (Kind == kMixF32) {
      lo.lo[l] = toBits(r);
    } else {
      // Rounded to f32 first: compilers fold a conversion into it.
      half h = half(r);
      if (saturatesOverflow(w))
        h = saturatedHalf(h, false, a[l], b[l], c[l]);
      uint32_t bits = toBits(h) & 0xffff;
      lo.lo[l] = Kind == kMixLo ? (old[l] & 0xffff0000u) | bits
                                : (old[l] & 0xffffu) | bits << 16;
    }
  }
  if (w.checks) {
    uint64_t m = ~0ull;
    for (unsigned k = 0; k < 3; ++k) {
      const Operand &o = inst.o[1 + k];
      if (!o.isVgpr()) {
        m &= definedLanes(w, o);
        continue;
      }
      const Defined &d = w.vd[o.reg];
      if (!(inst.m.opSelHi >> k & 1))
        m &= d.whole();
      else
        m &= (inst.m.opSel >> k & 1) ? d.byte[2] & d.byte[3]
                                     : d.byte[0] & d.byte[1];
    }
    Defined &d = w.vd[inst.o[0].reg];
    for (unsigned k = 0; k < 4; ++k)
      if (Kind == kMixF32 || (Kind == kMixLo) == (k < 2))
        d.byte[k] = (d.byte[k] & ~w.exec) | (m & w.exec);
  }
  commitWord(w, inst.o[0].reg, lo.lo);
}

/// A denormal addend is zero whatever MODE says (LLVM's combine to fdot2); the
/// sum is none then, as products are multiples of 2^-48.
float dot2Half(u32 a, u32 b, float c) {
  auto lo = [](u32 v) { return double(fromBits<half>(v)); };
  auto hi = [](u32 v) { return double(fromBits<half>(v >> 16)); };
  double addend = __builtin_fabsf(c) < 0x1p-126f ? 0 : c;
  return float(lo(a) * lo(b) + hi(a) * hi(b) + addend);
}
float dot2Bf16(u32 a, u32 b, float c) {
  auto lo = [](u32 v) { return double(fromBits<float>(v << 16)); };
  auto hi = [](u32 v) { return double(fromBits<float>(v & 0xffff0000u)); };
  return float(lo(a) * lo(b) + hi(a) * hi(b) + double(c));
}
/// Without the addend, exact.
int64_t dot2Int(u32 a, u32 b, bool isSigned) {
  int64_t sum = 0;
  for (unsigned k = 0; k < 32; k += 16)
    sum += isSigned ? int64_t(i16(a >> k)) * i16(b >> k)
                    : int64_t(a >> k & 0xffff) * int64_t(b >> k & 0xffff);
  return sum;
}

using FloatDot = float (*)(u32, u32, float);

/// neg_lo is of the first product and, with NegatesAddend, of the addend;
/// neg_hi of the second product.
template <FloatDot F, bool NegatesAddend>
void floatDot(Wave &w, const Inst &inst) {
  propagate(w, inst, 1, inst.op->dstIsSource ? 2 : 3, 1);
  LaneBuf buf[3], lo, hi;
  const u32 *src[3];
  u32 flip[3];
  for (unsigned k = 0; k < 3; ++k) {
    src[k] = fetchWord(w, inst, sourceIndex(inst, k, 3),
                       k == 2 ? Type::F32 : Type::B32, false, buf[k]);
    flip[k] = (inst.m.negLo >> k & 1 ? 0x8000u : 0) |
              (inst.m.negHi >> k & 1 ? 0x80000000u : 0);
  }
  flip[2] = NegatesAddend && (inst.m.negLo >> 2 & 1) ? 0x80000000u : 0;
  for (unsigned l = 0; l < kLanes; ++l)
    lo.lo[l] = toBits(F(src[0][l] ^ flip[0], src[1][l] ^ flip[1],
                        fromBits<float>(src[2][l] ^ flip[2])));
  commitResult<float>(w, inst, lo, hi);
}

template <FloatDot F, bool NegatesAddend> Op floatDotOp() {
  Op op = laneOp([](u32 a, u32 b, float c) { return F(a, b, c); });
  op.fn = floatDot<F, NegatesAddend>;
  op.check = checkDot;
  return op;
}

template <bool Signed> Op dot2IntOp() {
  return integerDotOp(
      [](u32 a, u32 b, u32 c) { return u32(dot2Int(a, b, Signed)) + c; },
      [](u32 a, u32 b, u32 c) {
        return clampDot<Signed>(dot2Int(a, b, Signed), c);
      });
}

/// The dot products and their accumulating forms (v_dot2c), which the unsigned
/// one lacks.
void addDot(OpTable &t, const std::string &name, Op op) {
  op.mods |= kModOpSel;
  op.packed = true;
  t.add(name, op);
  if (name == "v_dot2_u32_u16")
    return;
  op.dstIsSource = true;
  op.clampFn = nullptr;
  t.add(name.substr(0, 6) + "c" + name.substr(6), op);
}

} // namespace

void addPacked(OpTable &t) {
  addHalves(t);
  auto addPair = [&](const char *name, Handler fn, uint16_t mods) {
    Op op;
    op.cls = InstClass::Valu;
    op.packed = true;
    op.mods = mods;
    op.fn = fn;
    op.clampFn = fn;
    op.types[1] = op.types[2] = op.types[3] = Type::F32;
    op.plainOpSelHi = std::strstr(name, "_mix") != nullptr;
    t.add(name, op);
  };
  addPair("v_pk_fma_f32", pairOp<kPairFma>, kModOpSel | kModOut);
  addPair("v_pk_mul_f32", pairOp<kPairMul>, kModOpSel | kModOut);
  addPair("v_pk_add_f32", pairOp<kPairAdd>, kModOpSel | kModOut);
  addPair("v_pk_mov_b32", pairMove, kModOpSel);
  addPair("v_fma_mix_f32", mixOp<kMixF32>, kModOpSel | kModOut);
  addPair("v_fma_mixlo_f16", mixOp<kMixLo>, kModOpSel | kModOut);
  addPair("v_fma_mixhi_f16", mixOp<kMixHi>, kModOpSel | kModOut);
  addDot(t, "v_dot2_f32_f16", floatDotOp<dot2Half, true>());
  // "NEG and ABS do not affect S2" (CDNA4, V_DOT2_F32_BF16).
  addDot(t, "v_dot2_f32_bf16", floatDotOp<dot2Bf16, false>());
  addDot(t, "v_dot2_i32_i16", dot2IntOp<true>());
  addDot(t, "v_dot2_u32_u16", dot2IntOp<false>());
}

} // namespace hk::emu
