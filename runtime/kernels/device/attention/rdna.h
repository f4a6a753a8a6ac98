//===- rdna.h - Attention fragments of gfx1100 -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 16x16x16 WMMA with operands swapped: lane l holds row l % 16 and every second
// key. The left operand of the second product wants all 16 keys in both halves
// of the wave, so lanes l and l ^ 16 exchange their rounded scores.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_ATTENTION_RDNA_H
#define HK_KERNELS_DEVICE_ATTENTION_RDNA_H

#include "kernels/device/attention/copy_staged.h"
#include "kernels/device/mma/rdna.h"

namespace hk {

template <DType D, int Rows, int Keys, int HeadBytes, int Columns, int Waves,
          int ValueBytes = Columns * info(D).bits / 8>
struct AttentionFragments {
  using Op = Wmma<D>;
  using Operand = typename Op::Operand;
  static constexpr int kThreads = Waves * 32;
  /// Rows a lane owns.
  static constexpr int kRows = Rows / Waves / 16;
  static constexpr int NS = Keys / 16, NO = Columns / 16;
  static constexpr int kSteps = HeadBytes / 32;
  static constexpr int kValueBytes = ValueBytes;
  static_assert(kRows * Waves * 16 == Rows && NS * 16 == Keys &&
                NO * 16 == Columns && HeadBytes % 64 == 0);

  struct Chunks {
    u32x4 lo, hi;
  };
  Chunks q[kRows][kSteps];
  f32x8 s[kRows][NS], o[kRows][NO];

  /// Other waves of the block may have the same rows.
  HK_MEM static int firstRow() {
    return Waves == 1 ? 0 : waveId() % Waves * (Rows / Waves);
  }
  HK_MEM static int rowOf(int slot) {
    return firstRow() + slot * 16 + (laneId() & 15);
  }
  HK_MEM static bool rowLead() { return laneId() < 16; }

  HK_MEM void clearOutput() {
    HK_UNROLL for (int i = 0; i < kRows; ++i)
        HK_UNROLL for (int j = 0; j < NO; ++j) o[i][j] = f32x8(0.f);
  }

  template <class F> HK_MEM void loadQueries(F f) {
    HK_UNROLL for (int i = 0; i < kRows; ++i)
        HK_UNROLL for (int k = 0; k < kSteps; ++k) q[i][k] =
            Chunks{f.template load<u32x4>(i, rowOf(i), k * 32),
                   f.template load<u32x4>(i, rowOf(i), k * 32 + 16)};
  }

  HK_MEM void scores(const u8 *keys) {
    int r = laneId() & 15;
    HK_UNROLL for (int j = 0; j < NS; ++j) {
      HK_UNROLL for (int i = 0; i < kRows; ++i) s[i][j] = f32x8(0.f);
      HK_UNROLL for (int k = 0; k < kSteps; ++k) {
        Chunks key;
        key.lo = *reinterpret_cast<const u32x4 *>(
            keys + swizzled<HeadBytes>(j * 16 + r, k * 32));
        key.hi = *reinterpret_cast<const u32x4 *>(
            keys + swizzled<HeadBytes>(j * 16 + r, k * 32 + 16));
        HK_UNROLL for (int i = 0; i < kRows; ++i) s[i][j] =
            Op::step(bitCast<Operand>(key), bitCast<Operand>(q[i][k]), s[i][j]);
      }
    }
  }

  HK_MEM void rows(const u8 *tile) {
    int r = laneId() & 15;
    HK_UNROLL for (int j = 0; j < NO; ++j)
        HK_UNROLL for (int k = 0; k < kSteps; ++k) {
      Chunks column;
      column.lo = *reinterpret_cast<const u32x4 *>(
          tile + swizzled<HeadBytes>(j * 16 + r, k * 32));
      column.hi = *reinterpret_cast<const u32x4 *>(
          tile + swizzled<HeadBytes>(j * 16 + r, k * 32 + 16));
      HK_UNROLL for (int i = 0; i < kRows; ++i) o[i][j] = Op::step(
          bitCast<Operand>(column), bitCast<Operand>(q[i][k]), o[i][j]);
    }
  }

  HK_MEM void values(const u8 *tile, int first = 0) {
    int r = laneId() & 15;
    bool upper = laneId() >= 16;
    HK_UNROLL for (int k = 0; k < NS; ++k) {
      Operand p[kRows];
      HK_UNROLL for (int i = 0; i < kRows; ++i) {
        Vec<u32, 8> pairs;
        HK_UNROLL for (int e = 0; e < 4; ++e) {
          // Own keys 4e + h and 4e + 2 + h, the partner's 4e + 1 - h, ...
          u32 own = packPair<D>(s[i][k][2 * e], s[i][k][2 * e + 1]);
          u32 other = u32(laneXor<16>(int(own)));
          u32 even = upper ? other : own, odd = upper ? own : other;
          pairs[2 * e] = (even & 0xFFFFu) | (odd << 16);
          pairs[2 * e + 1] = (even >> 16) | (odd & 0xFFFF0000u);
        }
        p[i] = bitCast<Operand>(pairs);
      }
      HK_UNROLL for (int j = 0; j < NO; ++j) {
        Vec<u16, 16> v;
        HK_UNROLL for (int e = 0; e < 16; ++e) v[e] =
            *reinterpret_cast<const u16 *>(
                tile +
                swizzled<kValueBytes>(k * 16 + e, first + (j * 16 + r) * 2));
        HK_UNROLL for (int i = 0; i < kRows; ++i) o[i][j] =
            Op::step(bitCast<Operand>(v), p[i], o[i][j]);
      }
    }
  }

  /// f(slot, key, Vec<float, 1> &).
  template <class F> HK_MEM void forEachScore(F f) {
    int h = laneId() >> 4;
    HK_UNROLL for (int i = 0; i < kRows; ++i)
        HK_UNROLL for (int j = 0; j < NS; ++j)
            HK_UNROLL for (int g = 0; g < 8; ++g) {
      Vec<float, 1> x = {s[i][j][g]};
      f(i, j * 16 + g * 2 + h, x);
      s[i][j][g] = x[0];
    }
  }

  HK_MEM void scaleOutput(const float (&factor)[kRows]) {
    HK_UNROLL for (int i = 0; i < kRows; ++i)
        HK_UNROLL for (int j = 0; j < NO; ++j) o[i][j] *= factor[i];
  }

  /// f(slot, column, Vec<float, 1>).
  static constexpr int kOutputVec = 1;
  template <class F> HK_MEM void forEachOutput(F f) {
    int h = laneId() >> 4;
    HK_UNROLL for (int i = 0; i < kRows; ++i)
        HK_UNROLL for (int j = 0; j < NO; ++j)
            HK_UNROLL for (int g = 0; g < 8; ++g) {
      Vec<float, 1> x = {o[i][j][g]};
      f(i, j * 16 + g * 2 + h, x);
    }
  }

  /// Sets the result to f(slot, column) of every element.
  template <class F> HK_MEM void fillOutput(F f) {
    int h = laneId() >> 4;
    HK_UNROLL for (int i = 0; i < kRows; ++i)
        HK_UNROLL for (int j = 0; j < NO; ++j)
            HK_UNROLL for (int g = 0; g < 8; ++g) o[i][j][g] =
                f(i, j * 16 + g * 2 + h);
  }

  /// Adds f(slot, column) to every element of the result.
  template <class F> HK_MEM void addOutput(F f) {
    int h = laneId() >> 4;
    HK_UNROLL for (int i = 0; i < kRows; ++i)
        HK_UNROLL for (int j = 0; j < NO; ++j)
            HK_UNROLL for (int g = 0; g < 8; ++g) o[i][j][g] +=
        f(i, j * 16 + g * 2 + h);
  }

  /// f(slot, index, float &) over the registers of the result.
  template <class F> HK_MEM void eachOutput(F f) {
    HK_UNROLL for (int i = 0; i < kRows; ++i)
        HK_UNROLL for (int j = 0; j < NO; ++j)
            HK_UNROLL for (int e = 0; e < 8; ++e) {
      float x = o[i][j][e];
      f(i, (i * NO + j) * 8 + e, x);
      o[i][j][e] = x;
    }
  }

  template <class Op2>
  HK_MEM static void laneReduce(float (&r)[kRows], Op2 op) {
    HK_UNROLL for (int i = 0; i < kRows; ++i) r[i] =
        op(r[i], bitCast<float>(laneXor<16>(bitCast<int>(r[i]))));
  }
};

} // namespace hk

#endif // HK_KERNELS_DEVICE_ATTENTION_RDNA_H
