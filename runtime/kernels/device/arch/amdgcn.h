//===- amdgcn.h - CDNA and RDNA primitives -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Thread indices, barriers, lane exchange and native conversions of AMD GPUs.
// Exchange distances are template arguments because DPP controls and swizzle
// patterns are immediates.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_ARCH_AMDGCN_H
#define HK_KERNELS_DEVICE_ARCH_AMDGCN_H

#include "kernels/device/types.h"

namespace hk {

HK_DEV int threadId() { return int(__builtin_amdgcn_workitem_id_x()); }
HK_DEV int laneId() { return threadId() & (kWave - 1); }
HK_DEV int waveId() {
  return __builtin_amdgcn_readfirstlane(threadId() / kWave);
}

/// __builtin_amdgcn_s_waitcnt that is known to write no memory. Behind that one
/// clang loads what is the same for all lanes by the vector unit, as it might
/// have been overwritten.
extern "C" __attribute__((device)) __declspec(noalias) void
hkWaitCounters(int counters) __asm("llvm.amdgcn.s.waitcnt");

/// Waits until this wave's accesses to LDS are done: lgkmcnt is 0, whatever the
/// other counters are.
HK_DEV void waitLds() {
  hkWaitCounters(kArch == Arch::Gfx1100 ? 0xfc07 : 0xc07f);
}

/// Waits for all threads of the block; LDS writes before it are visible after.
/// The wait is written out: LLVM 22 takes the fence's own away at the head of a
/// loop that is entered with no access under way (docs/emulator.md).
HK_DEV void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
  waitLds();
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

/// Orders LDS accesses of the threads of a wave, which all take part.
HK_DEV void waveBarrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront", "local");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront", "local");
}

/// What stands before it stays there in the code: the compiler delays loads
/// otherwise, as they take registers.
HK_DEV void keepOrder() { __builtin_amdgcn_sched_barrier(0); }

/// The same for all of clang: accesses to memory stay on their side, too.
HK_DEV void codeFence() {
  keepOrder();
  asm volatile("" ::: "memory");
}

/// x, the same in all lanes: what is computed from it is not computed in front
/// of here, where it would take registers. What the compiler does not know to
/// be the same everywhere, such as a place found in offsets, lies in vector
/// registers until here.
HK_DEV i64 computeFromHere(i64 x) {
  u32 low = __builtin_amdgcn_readfirstlane(u32(x));
  u32 high = __builtin_amdgcn_readfirstlane(u32(u64(x) >> 32));
  x = i64(u64(high) << 32 | low);
  asm volatile("" : "+s"(x));
  return x;
}
/// The same of a word that lanes have each their own of.
HK_DEV int computeLaneFromHere(int x) {
  asm volatile("" : "+v"(x));
  return x;
}

/// Whether what only some lanes need, as NaN does, is done by a branch that the
/// whole wave takes: a compare for two elements is then all that it costs. For
/// kernels that define HK_VOTES and are bound by the vector unit; a loop over
/// matrix instructions is better off without branches.
#if (defined(__gfx942__) || defined(__gfx950__)) && defined(HK_VOTES)
inline constexpr bool kVotes = true;
#else
inline constexpr bool kVotes = false;
#endif

/// Then it is one instruction on gfx950, and three on gfx942 where a choice
/// takes four.
inline constexpr bool kNativeMaximum = kVotes;
inline constexpr bool kNativeRsqrt = false;
/// 1 / sqrt(x) within 1 ulp, of x that is 0 or no subnormal number.
template <int V> HK_DEV Vec<float, V> nearRsqrt(Vec<float, V> x) {
  HK_UNROLL for (int e = 0; e < V; ++e) x[e] = __builtin_amdgcn_rsqf(x[e]);
  return x;
}
inline constexpr bool kNativeLdexp = true;

/// x towards zero, saturated; NaN becomes 0.
inline constexpr bool kNativeTruncation = true;
HK_DEV i32 truncated(float x) {
  i32 r;
  asm("v_cvt_i32_f32 %0, %1" : "=v"(r) : "v"(x));
  return r;
}

/// v, as a value that the compiler does not know to be v.
HK_DEV u32 opaqueWord(u32 v) {
  asm("" : "+v"(v));
  return v;
}
/// The same of a word that is the same in all lanes, in a scalar register.
HK_DEV u32 opaqueScalar(u32 v) {
  asm("" : "+s"(v));
  return v;
}
/// The same of a pair in neighbouring registers, which packed instructions
/// take.
HK_DEV f32x2 opaquePair(f32x2 v) {
  asm("" : "+v"(v));
  return v;
}

/// a - b in one instruction; LLVM 22 makes two of it.
HK_DEV f32x2 differenceOfPairs(f32x2 a, f32x2 b) {
  f32x2 r;
  asm("v_pk_add_f32 %0, %1, %2 neg_lo:[0,1] neg_hi:[0,1]"
      : "=v"(r)
      : "v"(a), "v"(b));
  return r;
}

/// v, which is the same in all lanes, in registers of its own: part of what was
/// loaded together with others it would be copied for each vector instruction.
template <class T> HK_DEV T opaqueUniform(T v) {
  if constexpr (kVotes)
    asm("" : "+s"(v));
  return v;
}

/// v, of this lane, as one value.
HK_DEV u64 opaqueLane(u64 v) {
  asm("" : "+v"(v));
  return v;
}

/// 1 / x within 1 ulp for x from 2^-126 to 2^126; above it may be 0. Infinity
/// gives 0 and NaN stays.
template <int V> HK_DEV Vec<float, V> nearReciprocal(Vec<float, V> x) {
  HK_UNROLL for (int e = 0; e < V; ++e) x[e] = __builtin_amdgcn_rcpf(x[e]);
  return x;
}

/// What lane `lane` of the wave, the same one for all, holds.
HK_DEV int fromLane(int v, int lane) {
  return __builtin_amdgcn_readlane(v, lane);
}

/// v, the same in all lanes, in a scalar register, also where clang knows that
/// it is the same but has it in a vector register: then it would lead what is
/// computed from fromLane() in vector registers, too.
HK_DEV i32 firstLane(i32 v) {
  i32 r;
  asm("v_readfirstlane_b32 %0, %1" : "=s"(r) : "v"(v));
  return r;
}

/// The value that lane (lane ^ M) holds. Only the GROUP lanes around this one
/// need to take part.
template <int M, int GROUP = kWave> HK_DEV int laneXor(int v) {
  static_assert(M > 0 && M < kWave);
  if constexpr (M == 1)
    return __builtin_amdgcn_mov_dpp(v, 0xB1, 0xf, 0xf, true);
  else if constexpr (M == 2)
    return __builtin_amdgcn_mov_dpp(v, 0x4E, 0xf, 0xf, true);
  else if constexpr (M == 3) // a quad backwards, then half a row and a row
    return __builtin_amdgcn_mov_dpp(v, 0x1B, 0xf, 0xf, true);
  else if constexpr (M == 7)
    return __builtin_amdgcn_mov_dpp(v, 0x141, 0xf, 0xf, true);
  else if constexpr (M == 15)
    return __builtin_amdgcn_mov_dpp(v, 0x140, 0xf, 0xf, true);
  else if constexpr (M < 32)
    return __builtin_amdgcn_ds_swizzle(v, (M << 10) | 0x1f);
  else {
    int lane =
        int(__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)));
    return __builtin_amdgcn_ds_bpermute((lane ^ M) << 2, v);
  }
}

/// Whether joinLaneMax finishes the largest over G lanes from the largest over
/// each row of 16.
template <int G> inline constexpr bool kJoinsLaneMax = G == 64;
HK_DEV u32 joinLaneMax(u32 v) {
  u32 a = u32(__builtin_amdgcn_readlane(int(v), 0));
  u32 b = u32(__builtin_amdgcn_readlane(int(v), 16));
  u32 c = u32(__builtin_amdgcn_readlane(int(v), 32));
  u32 d = u32(__builtin_amdgcn_readlane(int(v), 48));
  a = a > b ? a : b;
  c = c > d ? c : d;
  return a > c ? a : c;
}
/// Whether laneMax is the largest over G lanes.
template <int G> inline constexpr bool kNativeLaneMax = false;
HK_DEV u32 laneMax(u32 v) { return v; }

/// One bit per lane of the wave: whether its `condition` holds.
HK_DEV u64 ballot(bool condition) {
  if constexpr (kWave == 64)
    return __builtin_amdgcn_ballot_w64(condition);
  else
    return __builtin_amdgcn_ballot_w32(condition);
}

/// 2^x within 1 ulp; below 2^-126 it is 0.
template <int V> HK_DEV Vec<float, V> exp2Small(Vec<float, V> x) {
  HK_UNROLL for (int e = 0; e < V; ++e) x[e] = __builtin_amdgcn_exp2f(x[e]);
  return x;
}

/// x limited to [lo, hi]; NaN becomes lo or hi.
template <int V>
HK_DEV Vec<float, V> limitNumber(Vec<float, V> x, float lo, float hi) {
  HK_UNROLL for (int e = 0; e < V; ++e) x[e] =
      __builtin_amdgcn_fmed3f(x[e], lo, hi);
  return x;
}

#if defined(__gfx942__)
inline constexpr DType kNativeE4M3 = DType::F8E4M3FNUZ;
inline constexpr DType kNativeE5M2 = DType::F8E5M2FNUZ;
#else
inline constexpr DType kNativeE4M3 = DType::F8E4M3FN;
inline constexpr DType kNativeE5M2 = DType::F8E5M2;
#endif

#if defined(__gfx942__) || defined(__gfx950__)
template <DType D>
inline constexpr bool kNativeDecode = D == kNativeE4M3 || D == kNativeE5M2;
/// The chip's formats, and those with the same codes for other powers of two:
/// OCP's values are twice FNUZ's. The chip's codes of NaN are not those fixed
/// in convert.h but for its own e4m3.
template <DType D>
inline constexpr bool kNativeEncode =
    D == kNativeE4M3 ||
    (kVotes &&
     (kNativeDecode<D> || D == DType::F8E4M3FN || D == DType::F8E4M3FNUZ ||
      D == DType::F8E5M2 || D == DType::F8E5M2FNUZ));

template <DType D> HK_DEV f32x4 decode4(u32 bytes) {
  f32x2 lo, hi;
  if constexpr (D == kNativeE4M3) {
    lo = __builtin_amdgcn_cvt_pk_f32_fp8(bytes, false);
    hi = __builtin_amdgcn_cvt_pk_f32_fp8(bytes, true);
  } else {
    lo = __builtin_amdgcn_cvt_pk_f32_bf8(bytes, false);
    hi = __builtin_amdgcn_cvt_pk_f32_bf8(bytes, true);
  }
  return f32x4{lo[0], lo[1], hi[0], hi[1]};
}

namespace detail {
/// The upper byte of each of four words.
HK_DEV u32 upperBytes(Vec<u32, 4> x) {
  return __builtin_amdgcn_perm(x[1], x[0], 0x0c0c0703u) |
         __builtin_amdgcn_perm(x[3], x[2], 0x07030c0cu);
}
template <bool E4M3> HK_DEV u32 convert4(f32x4 v) {
  if constexpr (E4M3) {
    int r = __builtin_amdgcn_cvt_pk_fp8_f32(v[0], v[1], 0, false);
    return u32(__builtin_amdgcn_cvt_pk_fp8_f32(v[2], v[3], r, true));
  }
  int r = __builtin_amdgcn_cvt_pk_bf8_f32(v[0], v[1], 0, false);
  return u32(__builtin_amdgcn_cvt_pk_bf8_f32(v[2], v[3], r, true));
}
} // namespace detail

/// Codes of D, saturated; with votes any of NaN.
template <DType D> HK_DEV u32 encode4(f32x4 v) {
  constexpr bool e4m3 = D == DType::F8E4M3FN || D == DType::F8E4M3FNUZ;
  constexpr float max = float(info(D).maxFinite);
  f32x4 c = limitNumber<4>(v, -max, max);
  if constexpr (!kVotes)
    HK_UNROLL for (int e = 0; e < 4; ++e) c[e] =
        v[e] != v[e] ? __builtin_nanf("") : c[e];
  if constexpr (kNativeDecode<D>)
    return detail::convert4<e4m3>(c);
  else if constexpr (kArch == Arch::Gfx942) {
    // FNUZ has no -0.
    u32 signs = detail::upperBytes(bitCast<Vec<u32, 4>>(v)) & 0x80808080u;
    return detail::convert4<e4m3>(c * 0.5f) | signs;
  } else {
    u32 codes = detail::convert4<e4m3>(c * 2.f);
    if constexpr (!e4m3) {
      // FNUZ's largest numbers are twice as large as OCP's half; those from 1
      // on have an exponent that is larger by one.
      u32 above = detail::convert4<e4m3>(c) + 0x04040404u;
      u32 large = (above >> 6 & 0x01010101u) * 0xffu;
      codes = (above & large) | (codes & ~large);
    }
    // 480, of which there is only FNUZ's half, is OCP's NaN; and there is no
    // -0.
    u32 magnitudes = codes & 0x7f7f7f7fu;
    return codes & ((magnitudes + 0x7f7f7f7fu) | 0x7f7f7f7fu);
  }
}

/// Codes of f4E2M1FN of up to eight numbers, the first one in the lowest bits.
template <int V> HK_DEV u32 encodeFp4(Vec<float, V> x) {
  static_assert(V <= 8);
  u32 codes = 0;
#if defined(__gfx950__)
  HK_UNROLL for (int e = 0; e < V; e += 2) {
    float a = x[e], b = x[e + 1];
    // Which byte is an immediate.
    codes =
        e == 0   ? __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(codes, a, b, 1.f, 0)
        : e == 2 ? __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(codes, a, b, 1.f, 1)
        : e == 4
            ? __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(codes, a, b, 1.f, 2)
            : __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(codes, a, b, 1.f, 3);
  }
#else
  // The codes count halves up to 2, then ones from 2 and twos from 4 on. A sum
  // with 2^23 is rounded to integers, the last bits of its own; of the three
  // the least is right.
  using F = Vec<float, V>;
  using U = Vec<u32, V>;
  constexpr float magic = 0x1p23f;
  F magnitude = limitNumber<V>(__builtin_elementwise_abs(x), 0.f, 6.f);
  auto integers = [&](float scale, float first) {
    return bitCast<U>(
        __builtin_elementwise_fma(magnitude, F(scale), F(magic + first)));
  };
  U code = __builtin_elementwise_min(
      __builtin_elementwise_min(integers(2.f, 0.f), integers(1.f, 2.f)),
      integers(0.5f, 4.f));
  u32 magics = 0;
  HK_UNROLL for (int e = V - 1; e >= 0; --e) {
    codes = __builtin_amdgcn_alignbit(codes, bitCast<u32>(x[e]), 31);
    codes = (codes << 3) + code[e];
    magics = (magics << 4) + bitCast<u32>(magic);
  }
  codes -= magics;
#endif
  return codes;
}
#else
template <int V> HK_DEV u32 encodeFp4(Vec<float, V> x);
template <DType> inline constexpr bool kNativeDecode = false;
template <DType> inline constexpr bool kNativeEncode = false;
#endif

/// Whether pairs of elements of D are multiplied by a power of two and
/// converted to To in one instruction.
#if defined(__gfx950__)
template <DType D, DType To>
inline constexpr bool kNativeScaled =
    To == DType::BF16 &&
    (D == DType::F4E2M1FN || D == DType::F8E4M3FN || D == DType::F8E5M2);

/// Elements 2 * Pair and the next one of a word.
template <DType D, int Pair> HK_DEV u32 scaledPair(u32 word, float scale) {
  if constexpr (D == DType::F4E2M1FN)
    return bitCast<u32>(
        __builtin_amdgcn_cvt_scalef32_pk_bf16_fp4(word, scale, Pair));
  else if constexpr (D == DType::F8E4M3FN)
    return bitCast<u32>(
        __builtin_amdgcn_cvt_scalef32_pk_bf16_fp8(word, scale, Pair != 0));
  else
    return bitCast<u32>(
        __builtin_amdgcn_cvt_scalef32_pk_bf16_bf8(word, scale, Pair != 0));
}

/// Eight elements of D, in 4 or 8 bytes, times `scale`: a power of two, of
/// which the exponent counts, or NaN.
template <DType D, class Codes>
HK_DEV u32x4 scaledToBf16(const Codes &codes, float scale) {
  if constexpr (info(D).bits == 4)
    return {
        scaledPair<D, 0>(codes[0], scale), scaledPair<D, 1>(codes[0], scale),
        scaledPair<D, 2>(codes[0], scale), scaledPair<D, 3>(codes[0], scale)};
  else
    return {
        scaledPair<D, 0>(codes[0], scale), scaledPair<D, 1>(codes[0], scale),
        scaledPair<D, 0>(codes[1], scale), scaledPair<D, 1>(codes[1], scale)};
}
#else
template <DType D, DType To> inline constexpr bool kNativeScaled = false;
template <DType D, class Codes>
HK_DEV u32x4 scaledToBf16(const Codes &codes, float scale);
#endif

/// Whether __builtin_convertvector(f32 -> bf16) is one instruction.
#if defined(__gfx950__)
inline constexpr bool kNativeBf16 = true;
#else
inline constexpr bool kNativeBf16 = false;
#endif

} // namespace hk

#endif // HK_KERNELS_DEVICE_ARCH_AMDGCN_H
