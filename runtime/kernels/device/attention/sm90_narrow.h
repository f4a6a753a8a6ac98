//===- sm90_narrow.h - Attention fragments of 8-bit keys -------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keys and values lie in LDS as in memory and become elements of 16 bits on
// their way into a product: half the bytes are copied, and many tiles can be
// under way, as none of them waits in registers. Four bytes of a lane are two
// pairs of neighbours: so the elements of a key, and of a query, are multiplied
// in another order than they lie in, and a lane has four neighbouring columns
// of two fragments of the result.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_ATTENTION_SM90NARROW_H
#define HK_KERNELS_DEVICE_ATTENTION_SM90NARROW_H

#include "kernels/device/attention/sm90.h"

namespace hk {

/// Keys of type From in rows of KeyBytes, values of type FromValue in rows of
/// Columns bytes; both are multiplied as D.
template <DType D, DType From, DType FromValue, int Rows, int Keys,
          int KeyBytes, int Columns, int Waves>
struct NarrowAttentionFragments
    : AttentionFragments<D, Rows, Keys, 2 * KeyBytes, Columns, Waves> {
  using Base = AttentionFragments<D, Rows, Keys, 2 * KeyBytes, Columns, Waves>;
  using Base::MI, Base::NS, Base::NO, Base::kSteps, Base::kRows;
  using Base::q, Base::s, Base::o;
  using typename Base::Op;
  static_assert(NO % 4 == 0 && KeyBytes % 32 == 0);

  /// The pairs of four neighbouring elements.
  struct Pairs {
    u32 first, second;
  };
  template <DType T> HK_MEM static Pairs widen(u32 bytes) {
    if constexpr (D == DType::F16 && kNativeDecode<T>)
      return {decodeHalves<T>(u16(bytes)), decodeHalves<T>(u16(bytes >> 16))};
    return bitCast<Pairs>(packExact<D, 4>(
        convertTo<float, 4>(unpack<T, 4>(bitCast<Packed<T, 4>>(bytes)))));
  }

  template <class F> HK_MEM void loadQueries(F f) {
    int c = laneId() % 4 * 8;
    HK_UNROLL for (int i = 0; i < MI; ++i)
        HK_UNROLL for (int k = 0; k < kSteps; ++k)
            HK_UNROLL for (int e = 0; e < 4; ++e) {
      int slot = i * 2 + e % 2;
      q[i][k][e] =
          f.template load<u32>(slot, Base::rowOf(slot), k * 32 + c + e / 2 * 4);
    }
  }

  /// What scores are multiplied by behind queriesToHalves().
  float queryUnit[kRows];

  /// Queries of bf16 become f16: the rows times powers of two, with which
  /// their largest element is below 2^15. What is 2^-31 of it or more keeps
  /// its digits.
  HK_MEM void queriesToHalves() {
    static_assert(D == DType::F16);
    float factor[kRows];
    HK_UNROLL for (int i = 0; i < kRows; ++i) {
      u32 most = 0;
      HK_UNROLL for (int k = 0; k < kSteps; ++k)
          HK_UNROLL for (int e = i % 2; e < 4; e += 2) {
        u32 x = q[i / 2][k][e];
        most = largerOf(most, largerOf(x & 0x7FFFu, x >> 16 & 0x7FFFu));
      }
      most = largerOf(most, u32(laneXor<1>(int(most))));
      most = largerOf(most, u32(laneXor<2>(int(most))));
      u32 exponent = largerOf(most >> 7, 15u);
      factor[i] = bitCast<float>((127 + 127 + 14 - exponent) << 23);
      queryUnit[i] = bitCast<float>((exponent - 14) << 23);
    }
    HK_UNROLL for (int i = 0; i < MI; ++i)
        HK_UNROLL for (int k = 0; k < kSteps; ++k)
            HK_UNROLL for (int e = 0; e < 4; ++e) {
      u32 x = q[i][k][e];
      float by = factor[i * 2 + e % 2];
      q[i][k][e] = packPair<D>(bitCast<float>(x << 16) * by,
                               bitCast<float>(x & 0xFFFF0000u) * by);
    }
  }

  HK_MEM void scores(const u8 *keys) {
    int l = laneId();
    HK_UNROLL for (int i = 0; i < MI; ++i)
        HK_UNROLL for (int j = 0; j < NS; ++j) s[i][j] = f32x4(0.f);
    HK_UNROLL for (int k = 0; k < kSteps; k += 2)
        HK_UNROLL for (int j = 0; j < NS; j += 2) {
      u32x4 key = Base::template ldmatrix<false>(
          keys + swizzled<KeyBytes>(j * 8 + (l & 7) + (l >> 4) * 8,
                                    k * 16 + ((l >> 3) & 1) * 16));
      HK_UNROLL for (int e = 0; e < 4; ++e) {
        Pairs x = widen<From>(key[e]);
        HK_UNROLL for (int i = 0; i < MI; ++i)
            Op::step(s[i][j + e / 2], q[i][k + e % 2], x.first, x.second);
      }
    }
  }

  /// Columns 4 * c and 4 * c + 2 of sixteen are in one fragment, the ones
  /// behind them in the next.
  HK_MEM void values(const u8 *tile, int = 0) {
    int l = laneId();
    HK_UNROLL for (int k = 0; k < Keys / 16; ++k) {
      u32x4 p[MI];
      HK_UNROLL for (int i = 0; i < MI; ++i)
          HK_UNROLL for (int e = 0; e < 4; ++e) p[i][e] =
              packPair<D>(s[i][2 * k + e / 2][e % 2 * 2],
                          s[i][2 * k + e / 2][e % 2 * 2 + 1]);
      HK_UNROLL for (int j = 0; j < NO; j += 4) {
        u32x4 v = Base::template ldmatrix<true>(
            tile + swizzled<Columns>(k * 16 + (l & 15), j * 8 + (l >> 4) * 16));
        HK_UNROLL for (int h = 0; h < 2; ++h) {
          // Bytes of a lane: two columns of a key, then of the next key.
          Pairs low = widen<FromValue>(swapInner(v[2 * h]));
          Pairs high = widen<FromValue>(swapInner(v[2 * h + 1]));
          HK_UNROLL for (int i = 0; i < MI; ++i) {
            Op::step(o[i][j + 2 * h], p[i], low.first, high.first);
            Op::step(o[i][j + 2 * h + 1], p[i], low.second, high.second);
          }
        }
      }
    }
  }

  /// f(slot, column, f32x4): four adjacent columns.
  template <class F> HK_MEM void forEachOutput(F f) {
    HK_UNROLL for (int i = 0; i < MI; ++i)
        HK_UNROLL for (int j = 0; j < NO; j += 2)
            HK_UNROLL for (int e = 0; e < 2; ++e) {
      f32x4 x = {o[i][j][2 * e], o[i][j + 1][2 * e], o[i][j][2 * e + 1],
                 o[i][j + 1][2 * e + 1]};
      f(i * 2 + e, j * 8 + laneId() % 4 * 4, x);
    }
  }

private:
  HK_MEM static u32 largerOf(u32 a, u32 b) { return a > b ? a : b; }
  /// Bytes 0, 2, 1, 3.
  HK_MEM static u32 swapInner(u32 v) { return u32(__nvvm_prmt(v, 0, 0x3120)); }
};

} // namespace hk

#endif // HK_KERNELS_DEVICE_ATTENTION_SM90NARROW_H
