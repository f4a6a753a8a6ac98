//===- Salu.cpp - Scalar arithmetic ---------------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SOP1 and SOP2 operations on numbers. An undefined source bit makes the result
// undefined, unless the entry has a rule that says which bits of it.
//
//===----------------------------------------------------------------------===//

#include "Scalar.h"
#include <algorithm>

namespace hk::emu {
namespace {

/// What SCC becomes: nothing, a carry or a choice, which need every source bit,
/// or "the result is not zero", which one defined bit may settle.
enum SccUse : uint16_t { kNoScc, kWholeScc, kNonZeroScc };

void finish(Wave &w, const Inst &inst, bool wide, uint64_t r, bool all,
            uint64_t bits) {
  uint64_t defined = all ? ~0ull : inst.op->scalarRule ? bits : 0;
  writeScalar(w, inst, inst.o[0], wide, r, defined);
  if (inst.op->info)
    w.sccDefined = all || (inst.op->info == kNonZeroScc && (r & defined) != 0);
}

template <class F> Op sop2(F lambda, uint16_t scc, ScalarRule rule = nullptr) {
  static const F f = lambda;
  (void)f;
  using S = Signature<F>;
  Op op;
  op.cls = InstClass::Salu;
  op.types[1] = typeOf<typename S::template Arg<1>>();
  op.types[2] = typeOf<typename S::template Arg<2>>();
  op.info = scc;
  op.scalarRule = rule;
  op.fn = [](Wave &w, const Inst &inst) {
    using A = typename S::template Arg<1>;
    using B = typename S::template Arg<2>;
    using R = typename S::Result;
    Scalar a = readScalar(w, inst.o[1], isWide<A>());
    Scalar b = readScalar(w, inst.o[2], isWide<B>());
    R r = f(w, A(a.value), B(b.value));
    bool all = allDefined(a, isWide<A>()) && allDefined(b, isWide<B>());
    uint64_t bits =
        !all && inst.op->scalarRule
            ? inst.op->scalarRule(a.defined, a.value, b.defined, b.value)
            : 0;
    finish(w, inst, isWide<R>(), uint64_t(r), all, bits);
  };
  return op;
}

template <class F> Op sop1(F lambda, uint16_t scc, ScalarRule rule = nullptr) {
  static const F f = lambda;
  (void)f;
  using S = Signature<F>;
  Op op;
  op.cls = InstClass::Salu;
  op.types[1] = typeOf<typename S::template Arg<1>>();
  op.info = scc;
  op.scalarRule = rule;
  op.fn = [](Wave &w, const Inst &inst) {
    using A = typename S::template Arg<1>;
    using R = typename S::Result;
    Scalar a = readScalar(w, inst.o[1], isWide<A>());
    R r = f(w, A(a.value));
    bool all = allDefined(a, isWide<A>());
    uint64_t bits = !all && inst.op->scalarRule
                        ? inst.op->scalarRule(a.defined, a.value, ~0ull, 0)
                        : 0;
    finish(w, inst, isWide<R>(), uint64_t(r), all, bits);
  };
  return op;
}

/// The result sets SCC if it is not zero.
template <class F> Op nonZero2(F lambda, ScalarRule rule = nullptr) {
  static const F f = lambda;
  using S = Signature<F>;
  return sop2(
      [](Wave &w, typename S::template Arg<0> a,
         typename S::template Arg<1> b) {
        auto r = f(a, b);
        w.scc = r != 0;
        return r;
      },
      kNonZeroScc, rule);
}
template <class F> Op nonZero1(F lambda) {
  static const F f = lambda;
  using S = Signature<F>;
  return sop1(
      [](Wave &w, typename S::template Arg<0> a) {
        auto r = f(a);
        w.scc = r != 0;
        return r;
      },
      kNonZeroScc);
}

/// The first operand if `better` says so, which SCC remembers.
template <class F> Op chooseOp(F better) {
  static const F f = better;
  using T = typename Signature<F>::template Arg<0>;
  return sop2(
      [](Wave &w, T a, T b) {
        w.scc = f(a, b);
        return w.scc ? a : b;
      },
      kWholeScc);
}

/// (a << Shift) + b with the carry in SCC.
template <unsigned Shift> Op shiftAdd() {
  return sop2(
      [](Wave &w, uint32_t a, uint32_t b) {
        uint64_t r = (uint64_t(a) << Shift) + b;
        w.scc = r >> 32 != 0;
        return uint32_t(r);
      },
      kWholeScc);
}

template <class T> T bitFieldExtract(Wave &w, T a, uint32_t b) {
  constexpr unsigned bits = sizeof(T) * 8;
  unsigned offset = b & (bits - 1), width = std::min(b >> 16 & 0x7f, bits);
  T r = 0;
  if (width) {
    using U = std::make_unsigned_t<T>;
    U u = U(a) >> offset;
    unsigned avail = bits - offset;
    if (width < avail) {
      u <<= bits - width;
      r = T(T(u) >> (bits - width));
    } else {
      r = T(a >> offset);
    }
  }
  w.scc = r != 0;
  return r;
}

// --- rules of definedness ---

constexpr uint64_t kTop = 0xffffffff00000000ull; ///< above a 32-bit operand

template <class T, bool Left>
uint64_t shiftBits(uint64_t aDefined, uint64_t, uint64_t bDefined, uint64_t b) {
  constexpr unsigned width = sizeof(T) * 8;
  if ((bDefined & (width - 1)) != width - 1)
    return 0;
  unsigned n = b & (width - 1);
  using U = std::make_unsigned_t<T>;
  if (Left)
    return U(aDefined << n | ((1ull << n) - 1));
  // A sign that is not defined comes down; zeros are.
  U top = n ? U(~U(0) << (width - n)) : U(0);
  bool sign = std::is_unsigned_v<T> || (aDefined >> (width - 1) & 1);
  return U(U(aDefined) >> n | (sign ? top : 0));
}

template <class T>
uint64_t bfeBits(uint64_t aDefined, uint64_t, uint64_t bDefined, uint64_t b) {
  constexpr unsigned bits = sizeof(T) * 8;
  using U = std::make_unsigned_t<T>;
  uint64_t needed = 0x7f0000 | (bits - 1);
  if ((bDefined & needed) != needed)
    return 0;
  unsigned offset = b & (bits - 1),
           width = std::min(b >> 16 & 0x7f, uint64_t(bits - offset));
  if (!width)
    return ~0ull;
  U field = width == bits ? ~U(0) : U((U(1) << width) - 1);
  U from = U(aDefined) >> offset;
  bool extension = std::is_unsigned_v<T> || (from >> (width - 1) & 1);
  return U((from & field) | (extension ? U(~field) : U(0))) |
         (bits == 32 ? kTop : 0);
}

/// The halves of a packed result: which one of each source.
template <bool HighA, bool HighB>
uint64_t packBits(uint64_t aDefined, uint64_t, uint64_t bDefined, uint64_t) {
  return (aDefined >> (HighA ? 16 : 0) & 0xffff) |
         (bDefined >> (HighB ? 16 : 0) & 0xffff) << 16;
}

template <class T> int32_t findFirst(T v) {
  if (!v)
    return -1;
  return sizeof(T) == 8 ? __builtin_ctzll(uint64_t(v))
                        : __builtin_ctz(uint32_t(v));
}
template <class T> int32_t leadingZeros(T v) {
  if (!v)
    return -1;
  return sizeof(T) == 8 ? __builtin_clzll(uint64_t(v))
                        : __builtin_clz(uint32_t(v));
}
/// Position of the first bit that differs from the sign, or -1.
template <class S> int32_t leadingSigns(S v) {
  using U = std::make_unsigned_t<S>;
  return leadingZeros<U>(U(v < 0 ? ~v : v));
}

using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;

void addSums(OpTable &t) {
  t.add("s_add_u32", sop2(
                         [](Wave &w, u32 a, u32 b) {
                           w.scc = u32(a + b) < a;
                           return u32(a + b);
                         },
                         kWholeScc));
  t.add("s_sub_u32", sop2(
                         [](Wave &w, u32 a, u32 b) {
                           w.scc = b > a;
                           return u32(a - b);
                         },
                         kWholeScc));
  t.add("s_add_i32", sop2(
                         [](Wave &w, i32 a, i32 b) {
                           i32 r;
                           w.scc = __builtin_add_overflow(a, b, &r);
                           return r;
                         },
                         kWholeScc));
  t.add("s_sub_i32", sop2(
                         [](Wave &w, i32 a, i32 b) {
                           i32 r;
                           w.scc = __builtin_sub_overflow(a, b, &r);
                           return r;
                         },
                         kWholeScc));
  t.add("s_addc_u32", sop2(
                          [](Wave &w, u32 a, u32 b) {
                            u64 r = u64(a) + b + w.scc;
                            w.scc = r >> 32 != 0;
                            return u32(r);
                          },
                          kWholeScc));
  t.add("s_subb_u32", sop2(
                          [](Wave &w, u32 a, u32 b) {
                            u64 r = u64(a) - b - w.scc;
                            w.scc = r >> 32 != 0;
                            return u32(r);
                          },
                          kWholeScc));
  t.add("s_absdiff_i32", sop2(
                             [](Wave &w, i32 a, i32 b) {
                               u32 d = u32(a) - u32(b);
                               i32 r = i32(d) < 0 ? i32(0u - d) : i32(d);
                               w.scc = r != 0;
                               return r;
                             },
                             kWholeScc));
  t.add("s_lshl1_add_u32", shiftAdd<1>());
  t.add("s_lshl2_add_u32", shiftAdd<2>());
  t.add("s_lshl3_add_u32", shiftAdd<3>());
  t.add("s_lshl4_add_u32", shiftAdd<4>());
}

void addProductsAndExtremes(OpTable &t) {
  t.add("s_mul_i32",
        sop2([](Wave &, u32 a, u32 b) { return u32(a * b); }, kNoScc));
  t.add(
      "s_mul_hi_u32",
      sop2([](Wave &, u32 a, u32 b) { return u32(u64(a) * b >> 32); }, kNoScc));
  t.add("s_mul_hi_i32",
        sop2([](Wave &, i32 a, i32 b) { return i32(int64_t(a) * b >> 32); },
             kNoScc));
  // SCC says that the first operand was chosen; when both are equal that is
  // the maximum and not the minimum.
  auto choose = [&](const char *name, auto better) {
    t.add(name, chooseOp(better));
  };
  choose("s_min_i32", [](i32 a, i32 b) { return a < b; });
  choose("s_min_u32", [](u32 a, u32 b) { return a < b; });
  choose("s_max_i32", [](i32 a, i32 b) { return a >= b; });
  choose("s_max_u32", [](u32 a, u32 b) { return a >= b; });
}

void addShifts(OpTable &t) {
  t.add("s_lshl_b32", nonZero2([](u32 a, u32 b) { return u32(a << (b & 31)); },
                               shiftBits<u32, true>));
  t.add("s_lshr_b32", nonZero2([](u32 a, u32 b) { return u32(a >> (b & 31)); },
                               shiftBits<u32, false>));
  t.add("s_ashr_i32", nonZero2([](i32 a, u32 b) { return i32(a >> (b & 31)); },
                               shiftBits<i32, false>));
  t.add("s_lshl_b64", nonZero2([](u64 a, u32 b) { return u64(a << (b & 63)); },
                               shiftBits<u64, true>));
  t.add("s_lshr_b64", nonZero2([](u64 a, u32 b) { return u64(a >> (b & 63)); },
                               shiftBits<u64, false>));
  t.add("s_ashr_i64",
        nonZero2([](int64_t a, u32 b) { return int64_t(a >> (b & 63)); },
                 shiftBits<int64_t, false>));
}

/// Fields of bits: made, extracted, packed.
void addFields(OpTable &t) {
  t.add("s_bfm_b32",
        sop2([](Wave &, u32 a,
                u32 b) { return u32(((1u << (a & 31)) - 1) << (b & 31)); },
             kNoScc));
  t.add("s_bfm_b64",
        sop2([](Wave &, u32 a,
                u32 b) { return u64(((1ull << (a & 63)) - 1) << (b & 63)); },
             kNoScc));
  t.add("s_bfe_u32", sop2([](Wave &w, u32 a,
                             u32 b) { return bitFieldExtract<u32>(w, a, b); },
                          kNonZeroScc, bfeBits<u32>));
  t.add("s_bfe_i32", sop2([](Wave &w, i32 a,
                             u32 b) { return bitFieldExtract<i32>(w, a, b); },
                          kNonZeroScc, bfeBits<i32>));
  t.add("s_bfe_u64", sop2([](Wave &w, u64 a,
                             u32 b) { return bitFieldExtract<u64>(w, a, b); },
                          kNonZeroScc, bfeBits<u64>));
  t.add("s_bfe_i64",
        sop2([](Wave &w, int64_t a,
                u32 b) { return bitFieldExtract<int64_t>(w, a, b); },
             kNonZeroScc, bfeBits<int64_t>));
  t.add("s_pack_ll_b32_b16",
        sop2([](Wave &, u32 a, u32 b) { return u32((a & 0xffff) | b << 16); },
             kNoScc, packBits<false, false>));
  t.add("s_pack_lh_b32_b16",
        sop2([](Wave &, u32 a,
                u32 b) { return u32((a & 0xffff) | (b & 0xffff0000)); },
             kNoScc, packBits<false, true>));
  t.add(
      "s_pack_hh_b32_b16",
      sop2([](Wave &, u32 a, u32 b) { return u32(a >> 16 | (b & 0xffff0000)); },
           kNoScc, packBits<true, true>));
}

void addBitCounts(OpTable &t) {
  t.add("s_brev_b32",
        sop1([](Wave &, u32 a) { return u32(__builtin_bitreverse32(a)); },
             kNoScc,
             [](uint64_t a, uint64_t, uint64_t, uint64_t) {
               return uint64_t(__builtin_bitreverse32(u32(a)));
             }));
  t.add("s_brev_b64",
        sop1([](Wave &, u64 a) { return u64(__builtin_bitreverse64(a)); },
             kNoScc,
             [](uint64_t a, uint64_t, uint64_t, uint64_t) {
               return uint64_t(__builtin_bitreverse64(a));
             }));
  t.add("s_bcnt0_i32_b32",
        nonZero1([](u32 a) { return u32(u32(__builtin_popcount(~a))); }));
  t.add("s_bcnt0_i32_b64",
        nonZero1([](u64 a) { return u32(u32(__builtin_popcountll(~a))); }));
  t.add("s_bcnt1_i32_b32",
        nonZero1([](u32 a) { return u32(u32(__builtin_popcount(a))); }));
  t.add("s_bcnt1_i32_b64",
        nonZero1([](u64 a) { return u32(u32(__builtin_popcountll(a))); }));
  t.add("s_ff0_i32_b32",
        sop1([](Wave &, u32 a) { return findFirst<u32>(~a); }, kNoScc));
  t.add("s_ff0_i32_b64",
        sop1([](Wave &, u64 a) { return findFirst<u64>(~a); }, kNoScc));
  t.add("s_ff1_i32_b32",
        sop1([](Wave &, u32 a) { return findFirst<u32>(a); }, kNoScc));
  t.add("s_ff1_i32_b64",
        sop1([](Wave &, u64 a) { return findFirst<u64>(a); }, kNoScc));
  t.add("s_flbit_i32_b32",
        sop1([](Wave &, u32 a) { return leadingZeros<u32>(a); }, kNoScc));
  t.add("s_flbit_i32_b64",
        sop1([](Wave &, u64 a) { return leadingZeros<u64>(a); }, kNoScc));
  t.add("s_flbit_i32",
        sop1([](Wave &, i32 a) { return leadingSigns<i32>(a); }, kNoScc));
  t.add(
      "s_flbit_i32_i64",
      sop1([](Wave &, int64_t a) { return leadingSigns<int64_t>(a); }, kNoScc));
}

/// Signs, and masks of several bits for each.
void addSignsAndMasks(OpTable &t) {
  t.add("s_sext_i32_i8",
        sop1([](Wave &, u32 a) { return i32(int8_t(a)); }, kNoScc));
  t.add("s_sext_i32_i16",
        sop1([](Wave &, u32 a) { return i32(int16_t(a)); }, kNoScc));
  t.add("s_abs_i32",
        nonZero1([](i32 a) { return i32(a < 0 ? i32(0u - u32(a)) : a); }));
  t.add("s_bitreplicate_b64_b32", sop1(
                                      [](Wave &, u32 a) {
                                        u64 r = 0;
                                        for (unsigned k = 0; k < 32; ++k)
                                          if (a >> k & 1)
                                            r |= 3ull << (2 * k);
                                        return r;
                                      },
                                      kNoScc));
  t.add("s_quadmask_b64", sop1(
                              [](Wave &w, u64 a) {
                                u64 r = 0;
                                for (unsigned k = 0; k < 16; ++k)
                                  r |= u64((a >> (4 * k) & 15) != 0) << k;
                                w.scc = r != 0;
                                return r;
                              },
                              kWholeScc));
  t.add("s_wqm_b64", sop1(
                         [](Wave &w, u64 a) {
                           u64 r = 0;
                           for (unsigned k = 0; k < 16; ++k)
                             if (a >> (4 * k) & 15)
                               r |= 15ull << (4 * k);
                           w.scc = r != 0;
                           return r;
                         },
                         kWholeScc));
}

} // namespace

void addSalu(OpTable &t) {
  addSums(t);
  addProductsAndExtremes(t);
  addShifts(t);
  addFields(t);
  addBitCounts(t);
  addSignsAndMasks(t);
}

} // namespace hk::emu
