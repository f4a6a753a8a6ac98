//===- stream_cdna.h - Few rows beside keys in registers -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention fragments of at most 16 rows whose keys and values come from memory
// as what the instruction multiplies, without LDS. 16x16 MFMA with operands
// swapped: lane l holds row l % 16, and of 16 keys those 4q .. 4q + 3 with
// q = l / 16, which is just what the second product wants of it.
//
// A key's elements: the order of k is free, so a lane takes whole chunks of 16
// bytes, and queries are permuted alike. A value's columns: a lane takes some
// neighbouring columns of four keys and transposes them in registers; column j
// of every lane is a fragment, whose order of columns is free again.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_ATTENTION_STREAM_CDNA_H
#define HK_KERNELS_DEVICE_ATTENTION_STREAM_CDNA_H

#include "hk/Contract/LdsAttention.h"
#include "kernels/device/attention/widening.h"
#include "kernels/device/mma/view.h"

namespace hk {

/// A step of a 16x16 fragment: 16 bytes of k per lane and operand.
template <DType D> HK_DEV f32x4 mfma16(u32x4 b, u32x4 a, f32x4 c) {
  static_assert(D == DType::BF16 || D == DType::F16);
#if defined(__gfx950__)
  if constexpr (D == DType::BF16)
    return __builtin_amdgcn_mfma_f32_16x16x32_bf16(
        bitCast<bf16x8>(b), bitCast<bf16x8>(a), c, 0, 0, 0);
  else
    return __builtin_amdgcn_mfma_f32_16x16x32_f16(
        bitCast<Vec<f16, 8>>(b), bitCast<Vec<f16, 8>>(a), c, 0, 0, 0);
#elif defined(__gfx942__)
  using B = Vec<i16, 4>;
  using H = Vec<f16, 4>;
  if constexpr (D == DType::BF16) {
    c = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(bitCast<B>(b.lo),
                                                  bitCast<B>(a.lo), c, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(
        bitCast<B>(b.hi), bitCast<B>(a.hi), c, 0, 0, 0);
  } else {
    c = __builtin_amdgcn_mfma_f32_16x16x16f16(bitCast<H>(b.lo),
                                              bitCast<H>(a.lo), c, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_16x16x16f16(bitCast<H>(b.hi),
                                                 bitCast<H>(a.hi), c, 0, 0, 0);
  }
#endif
}

/// D is multiplied; From and FromValue lie in memory.
template <DType D, DType From, DType FromValue, int HeadDim, int ValueDim>
struct StreamFragments {
  /// Rows a lane owns; keys of a step, in groups that lie at equal distances.
  static constexpr int kRows = 1, kGroups = 2, kGroupKeys = 16;
  static constexpr int kKeys = kGroups * kGroupKeys;
  static constexpr int kColumns = int(attentionStreamColumns(ValueDim));
  /// Neighbouring columns of a lane.
  static constexpr int kPerm = kColumns / 16;
  /// 16-byte chunks of a key that a lane multiplies.
  static constexpr int kSteps = (HeadDim + 31) / 32;
  static constexpr int kKeyChunk = kBytes<From, 8>;
  static constexpr int kValueChunk = kBytes<FromValue, kPerm>;
  static_assert(info(D).bits == 16 && (kPerm == 4 || kPerm == 8));

  u32x4 q[kSteps];
  f32x4 s[kGroups], o[kPerm];
  WordOf<kKeyChunk> key[kGroups][kSteps];
  WordOf<kValueChunk> value[kGroups][4];

  HK_MEM static int rowOf(int) { return laneId() & 15; }
  HK_MEM static bool rowLead() { return laneId() < 16; }
  HK_MEM static int quad() { return laneId() >> 4; }

  HK_MEM void clearOutput() {
    HK_UNROLL for (int j = 0; j < kPerm; ++j) o[j] = f32x4(0.f);
  }
  template <class F> HK_MEM void loadQueries(F f) {
    HK_UNROLL for (int c = 0; c < kSteps; ++c) q[c] =
        f.template load<u32x4>(0, rowOf(0), (4 * c + quad()) * 16);
  }

  /// Asks for the keys of a group, which are the rows of the view.
  HK_MEM void loadKeys(int g, const TileView &view) {
    HK_UNROLL for (int c = 0; c < kSteps; ++c) key[g][c] =
        view.load<kKeyChunk>(laneId() & 15, u32(4 * c + quad()) * kKeyChunk);
  }
  HK_MEM void loadValues(int g, const TileView &view) {
    int chunk = chunkOf(laneId() & 15);
    HK_UNROLL for (int x = 0; x < 4; ++x) value[g][x] =
        view.load<kValueChunk>(4 * quad() + x, u32(chunk) * kValueChunk);
  }

  HK_MEM void scores() {
    HK_UNROLL for (int g = 0; g < kGroups; ++g) s[g] = f32x4(0.f);
    HK_UNROLL for (int c = 0; c < kSteps; ++c)
        HK_UNROLL for (int g = 0; g < kGroups; ++g) {
      using W = Widening<From, D>;
      s[g] = mfma16<D>(W::convert(bitCast<typename W::Raw>(key[g][c])), q[c],
                       s[g]);
    }
  }
  HK_MEM void values() {
    u32x4 p;
    HK_UNROLL for (int e = 0; e < 4; ++e) p[e] =
        packPair<D>(s[e / 2][e % 2 * 2], s[e / 2][e % 2 * 2 + 1]);
    Vec<u16, kPerm> t[8];
    HK_UNROLL for (int x = 0; x < 8; ++x) t[x] = widened(value[x / 4][x % 4]);
    HK_UNROLL for (int j = 0; j < kPerm; ++j) {
      Vec<u16, 8> column = {t[0][j], t[1][j], t[2][j], t[3][j],
                            t[4][j], t[5][j], t[6][j], t[7][j]};
      o[j] = mfma16<D>(bitCast<u32x4>(column), p, o[j]);
    }
  }

  /// f(slot, key, f32x4 &): four consecutive keys.
  template <class F> HK_MEM void forEachScore(F f) {
    HK_UNROLL for (int g = 0; g < kGroups; ++g)
        f(0, g * kGroupKeys + 4 * quad(), s[g]);
  }
  HK_MEM void scaleOutput(const float (&factor)[kRows]) {
    HK_UNROLL for (int j = 0; j < kPerm; ++j) o[j] *= factor[0];
  }
  /// f(slot, column, Vec<float, kPerm>): consecutive columns.
  static constexpr int kOutputVec = kPerm;
  template <class F> HK_MEM void forEachOutput(F f) {
    HK_UNROLL for (int e = 0; e < 4; ++e) {
      Vec<float, kPerm> x;
      HK_UNROLL for (int j = 0; j < kPerm; ++j) x[j] = o[j][e];
      f(0, chunkOf(4 * quad() + e) * kPerm, x);
    }
  }
  /// f(slot, index, float &) over the registers of the result.
  template <class F> HK_MEM void eachOutput(F f) {
    HK_UNROLL for (int j = 0; j < kPerm; ++j)
        HK_UNROLL for (int e = 0; e < 4; ++e) {
      float x = o[j][e];
      f(0, j * 4 + e, x);
      o[j][e] = x;
    }
  }
  template <class Op> HK_MEM static void laneReduce(float (&r)[kRows], Op op) {
    r[0] = op(r[0], bitCast<float>(laneXor<16>(bitCast<int>(r[0]))));
    r[0] = op(r[0], bitCast<float>(laneXor<32>(bitCast<int>(r[0]))));
  }

private:
  /// Which chunk of a value lane n of a quad has: those that a lane has of the
  /// result are 4 apart, so that the lanes of a row store side by side.
  HK_MEM static int chunkOf(int n) { return (n & 3) * 4 + (n >> 2); }
  HK_MEM static Vec<u16, kPerm> widened(WordOf<kValueChunk> raw) {
    if constexpr (FromValue == D)
      return bitCast<Vec<u16, kPerm>>(raw);
    else
      return bitCast<Vec<u16, kPerm>>(
          packExact<D, kPerm>(convertTo<float, kPerm>(unpack<FromValue, kPerm>(
              bitCast<Packed<FromValue, kPerm>>(raw)))));
  }
};

} // namespace hk

#endif // HK_KERNELS_DEVICE_ATTENTION_STREAM_CDNA_H
