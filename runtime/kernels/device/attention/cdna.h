//===- cdna.h - Attention fragments of gfx942 and gfx950 -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 32x32 MFMA with operands swapped: lane l holds row l % 32, and of every eight
// keys those 4h .. 4h + 3 with h = l / 32. The instruction wants just that of
// its left operand, as the order of k inside a step is free, so scores are
// rounded in place. 16-bit values are read as stored: a lane takes Perm
// adjacent columns of eight keys and transposes them in registers, and fragment
// j of a group of Perm holds columns Perm * n + j.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_ATTENTION_CDNA_H
#define HK_KERNELS_DEVICE_ATTENTION_CDNA_H

#include "kernels/device/attention/copy_cdna.h"
#include "kernels/device/mma/cdna.h"

namespace hk {

template <DType D, int Rows, int Keys, int HeadBytes, int Columns, int Waves,
          int ValueBytes = Columns * info(D).bits / 8,
          ValueLayout Layout = ValueLayout::Rows>
struct AttentionFragments {
  using Op = Mfma<D>;
  static constexpr int kThreads = Waves * 64;
  /// Rows a lane owns.
  static constexpr int kRows = Rows / Waves / 32;
  static constexpr int NS = Keys / 32, NO = Columns / 32;
  static constexpr int kSteps = HeadBytes / 32;
  static constexpr int kValueBytes = ValueBytes;
  /// Transposing reads give lanes neighbouring columns.
  static constexpr int kPerm =
      D == DType::F32 || Layout == ValueLayout::TransposingReads
          ? 1
          : kAdjacentColumns<Columns>;
  static_assert(kRows * Waves * 32 == Rows && NS * 32 == Keys &&
                NO * 32 == Columns && HeadBytes % 64 == 0);

  u32x4 q[kRows][kSteps];
  f32x16 s[kRows][NS], o[kRows][NO];

  /// Other waves of the block may have the same rows.
  HK_MEM static int firstRow() {
    return Waves == 1 ? 0 : waveId() % Waves * (Rows / Waves);
  }
  HK_MEM static int rowOf(int slot) {
    return firstRow() + slot * 32 + (laneId() & 31);
  }
  HK_MEM static bool rowLead() { return laneId() < 32; }

  HK_MEM void clearOutput() {
    HK_UNROLL for (int i = 0; i < kRows; ++i)
        HK_UNROLL for (int j = 0; j < NO; ++j) o[i][j] = f32x16(0.f);
  }

  template <class F> HK_MEM void loadQueries(F f) {
    int h = laneId() >> 5;
    HK_UNROLL for (int i = 0; i < kRows; ++i)
        HK_UNROLL for (int k = 0; k < kSteps; ++k) q[i][k] =
            f.template load<u32x4>(i, rowOf(i), (2 * k + h) * 16);
  }

  HK_MEM void scores(const u8 *keys) {
    int r = laneId() & 31, h = laneId() >> 5;
    auto read = [&](int j, int k) __attribute__((always_inline)) {
      return *reinterpret_cast<const u32x4 *>(
          keys + swizzled<HeadBytes>(j * 32 + r, (2 * k + h) * 16));
    };
    HK_UNROLL for (int j = 0; j < NS; ++j)
        HK_UNROLL for (int i = 0; i < kRows; ++i) s[i][j] = f32x16(0.f);
    if constexpr (Layout == ValueLayout::Rows) {
      HK_UNROLL for (int j = 0; j < NS; ++j)
          HK_UNROLL for (int k = 0; k < kSteps; ++k) {
        u32x4 key = read(j, k);
        HK_UNROLL for (int i = 0; i < kRows; ++i) s[i][j] =
            Op::step(key, q[i][k], s[i][j]);
      }
    } else {
      // Chains that do not wait for each other. Waves of other blocks that are
      // at their softmax give way, so that blocks of a unit come to alternate.
      __builtin_amdgcn_s_setprio(1);
      HK_UNROLL for (int k = 0; k < kSteps; ++k)
          HK_UNROLL for (int j = 0; j < NS; ++j) {
        u32x4 key = read(j, k);
        HK_UNROLL for (int i = 0; i < kRows; ++i) s[i][j] =
            Op::step(key, q[i][k], s[i][j]);
      }
      readAhead<NS * kSteps, kRows * Op::kInstructions, 4>();
      __builtin_amdgcn_s_setprio(0);
    }
  }
  /// Reads of LDS, each of which Macs matrix instructions need, are Ahead of
  /// them.
  template <int Reads, int Macs, int Ahead> HK_MEM static void readAhead() {
    constexpr int kRead = 0x100, kMatrix = 0x008;
    __builtin_amdgcn_sched_group_barrier(kRead, Ahead, 0);
    HK_UNROLL for (int n = 0; n < Reads; ++n) {
      __builtin_amdgcn_sched_group_barrier(kMatrix, Macs, 0);
      if (n + Ahead < Reads)
        __builtin_amdgcn_sched_group_barrier(kRead, 1, 0);
    }
  }

  HK_MEM void rows(const u8 *tile) {
    int r = laneId() & 31, h = laneId() >> 5;
    HK_UNROLL for (int j = 0; j < NO; ++j) {
      int row = j / kPerm * kPerm * 32 + r * kPerm + j % kPerm;
      HK_UNROLL for (int k = 0; k < kSteps; ++k) {
        u32x4 column = *reinterpret_cast<const u32x4 *>(
            tile + swizzled<HeadBytes>(row, (2 * k + h) * 16));
        HK_UNROLL for (int i = 0; i < kRows; ++i) o[i][j] =
            Op::step(column, q[i][k], o[i][j]);
      }
    }
  }

  HK_MEM void values(const u8 *tile, int first = 0) {
    int r = laneId() & 31, h = laneId() >> 5;
    if constexpr (D == DType::F32) {
      HK_UNROLL for (int k = 0; k < Keys / 8; ++k) {
        u32x4 p[kRows];
        HK_UNROLL for (int i = 0; i < kRows; ++i)
            HK_UNROLL for (int e = 0; e < 4; ++e) p[i][e] =
                bitCast<u32>(s[i][k / 4][k % 4 * 4 + e]);
        HK_UNROLL for (int j = 0; j < NO; ++j) {
          u32x4 v;
          HK_UNROLL for (int e = 0; e < 4; ++e) v[e] =
              *reinterpret_cast<const u32 *>(
                  tile + swizzled<kValueBytes>(k * 8 + h * 4 + e,
                                               first + (j * 32 + r) * 4));
          HK_UNROLL for (int i = 0; i < kRows; ++i) o[i][j] =
              Op::step(v, p[i], o[i][j]);
        }
      }
    } else if constexpr (Layout != ValueLayout::Rows) {
      __builtin_amdgcn_s_setprio(1);
      HK_UNROLL for (int k = 0; k < Keys / 16; ++k) {
        u32x4 p[kRows];
        packProbabilities(k, p);
        HK_UNROLL for (int j = 0; j < NO; ++j) {
          u32x4 v = column(tile, k, j);
          HK_UNROLL for (int i = 0; i < kRows; ++i) o[i][j] =
              Op::step(v, p[i], o[i][j]);
        }
      }
      __builtin_amdgcn_s_setprio(0);
    } else {
      using Group = Vec<u16, kPerm>;
      HK_UNROLL for (int k = 0; k < Keys / 16; ++k) {
        u32x4 p[kRows];
        packProbabilities(k, p);
        HK_UNROLL for (int jb = 0; jb < NO; jb += kPerm) {
          Group t[8];
          HK_UNROLL for (int x = 0; x < 8; ++x) t[x] =
              *reinterpret_cast<const Group *>(
                  tile +
                  swizzled<kValueBytes>(k * 16 + x / 4 * 8 + h * 4 + x % 4,
                                        first + (jb * 32 + r * kPerm) * 2));
          HK_UNROLL for (int j = 0; j < kPerm; ++j) {
            Vec<u16, 8> v = {t[0][j], t[1][j], t[2][j], t[3][j],
                             t[4][j], t[5][j], t[6][j], t[7][j]};
            HK_UNROLL for (int i = 0; i < kRows; ++i) o[i][jb + j] =
                Op::step(bitCast<u32x4>(v), p[i], o[i][jb + j]);
          }
        }
      }
    }
  }

  /// Those of step k.
  HK_MEM void packProbabilities(int k, u32x4 (&p)[kRows]) {
    HK_UNROLL for (int i = 0; i < kRows; ++i)
        HK_UNROLL for (int e = 0; e < 4; ++e) p[i][e] = packPair<D>(
            s[i][k / 2][k % 2 * 8 + 2 * e], s[i][k / 2][k % 2 * 8 + 2 * e + 1]);
  }
  /// Of fragment j, what step k multiplies.
  HK_MEM static u32x4 column(const u8 *tile, int k, int j) {
    int l = laneId(), h = l >> 5;
    if constexpr (Layout == ValueLayout::Columns) {
      int row = j * 32 + (l & 31);
      return *reinterpret_cast<const u32x4 *>(
          tile + columnByte<Keys * 2>(row, 2 * k + h));
    }
#if defined(__gfx950__)
    // A lane reads 4 columns of a key and gets 4 keys of a column.
    auto read = [&](int key) __attribute__((always_inline)) {
      int row = key + h * 4 + (l >> 2 & 3), byte = j * 64 + (l & 16) * 2;
      int chunk = byte / 16 + (l >> 1 & 1);
      auto at = (__attribute__((address_space(
          3))) Vec<i16, 4> *)(tile + row * kValueBytes +
                              transposedChunk<kValueBytes>(row, chunk) * 16 +
                              (l & 1) * 8);
      return bitCast<u32x2>(__builtin_amdgcn_ds_read_tr16_b64_v4i16(at));
    };
    u32x2 lo = read(k * 16), hi = read(k * 16 + 8);
    return {lo[0], lo[1], hi[0], hi[1]};
#endif
  }

  /// f(slot, key, f32x4 &): four consecutive keys.
  template <class F> HK_MEM void forEachScore(F f) {
    int h = laneId() >> 5;
    HK_UNROLL for (int i = 0; i < kRows; ++i)
        HK_UNROLL for (int j = 0; j < NS; ++j)
            HK_UNROLL for (int g = 0; g < 4; ++g) {
      f32x4 x;
      HK_UNROLL for (int e = 0; e < 4; ++e) x[e] = s[i][j][g * 4 + e];
      f(i, j * 32 + g * 8 + h * 4, x);
      HK_UNROLL for (int e = 0; e < 4; ++e) s[i][j][g * 4 + e] = x[e];
    }
  }

  HK_MEM void scaleOutput(const float (&factor)[kRows]) {
    HK_UNROLL for (int i = 0; i < kRows; ++i)
        HK_UNROLL for (int j = 0; j < NO; ++j) o[i][j] *= factor[i];
  }

  /// f(slot, column, Vec<float, 4 * kPerm>): consecutive columns.
  static constexpr int kOutputVec = 4 * kPerm;
  template <class F> HK_MEM void forEachOutput(F f) {
    int h = laneId() >> 5;
    HK_UNROLL for (int i = 0; i < kRows; ++i)
        HK_UNROLL for (int jb = 0; jb < NO; jb += kPerm)
            HK_UNROLL for (int g = 0; g < 4; ++g) {
      Vec<float, 4 * kPerm> x;
      HK_UNROLL for (int e = 0; e < 4; ++e)
          HK_UNROLL for (int j = 0; j < kPerm; ++j) x[e * kPerm + j] =
              o[i][jb + j][g * 4 + e];
      f(i, jb * 32 + kPerm * (g * 8 + h * 4), x);
    }
  }

  /// Sets the result to f(slot, column) of every element.
  template <class F> HK_MEM void fillOutput(F f) {
    int h = laneId() >> 5;
    HK_UNROLL for (int i = 0; i < kRows; ++i)
        HK_UNROLL for (int j = 0; j < NO; ++j)
            HK_UNROLL for (int g = 0; g < 16; ++g) o[i][j][g] =
                f(i, j / kPerm * kPerm * 32 +
                         kPerm * (g / 4 * 8 + h * 4 + g % 4) + j % kPerm);
  }

  /// Adds f(slot, column) to every element of the result.
  template <class F> HK_MEM void addOutput(F f) {
    int h = laneId() >> 5;
    HK_UNROLL for (int i = 0; i < kRows; ++i)
        HK_UNROLL for (int j = 0; j < NO; ++j)
            HK_UNROLL for (int g = 0; g < 16; ++g) o[i][j][g] +=
        f(i, j / kPerm * kPerm * 32 + kPerm * (g / 4 * 8 + h * 4 + g % 4) +
                 j % kPerm);
  }

  /// f(slot, index, float &) over the registers of the result.
  template <class F> HK_MEM void eachOutput(F f) {
    HK_UNROLL for (int i = 0; i < kRows; ++i)
        HK_UNROLL for (int j = 0; j < NO; ++j)
            HK_UNROLL for (int e = 0; e < 16; ++e) {
      float x = o[i][j][e];
      f(i, (i * NO + j) * 16 + e, x);
      o[i][j][e] = x;
    }
  }

  template <class Op2>
  HK_MEM static void laneReduce(float (&r)[kRows], Op2 op) {
    HK_UNROLL for (int i = 0; i < kRows; ++i) r[i] =
        op(r[i], bitCast<float>(laneXor<32>(bitCast<int>(r[i]))));
  }
};

} // namespace hk

#endif // HK_KERNELS_DEVICE_ATTENTION_CDNA_H
