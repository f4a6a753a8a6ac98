//===- sm90.h - Attention fragments of sm_90a -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mma.sync m16n8k16: a lane owns two rows of a fragment and two adjacent
// columns. Two neighbouring score fragments, rounded, are the left operand of
// one step of the second product; values come transposed by ldmatrix.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_ATTENTION_SM90_H
#define HK_KERNELS_DEVICE_ATTENTION_SM90_H

#include "kernels/device/mma/sm90.h"

namespace hk {

/// Rows of RowBytes in LDS, of which ValidBytes exist; the rest is zero.
/// Asynchronous copies straight into LDS.
template <int Rows, int RowBytes, int ValidBytes, int Threads> struct RowCopy {
  static constexpr bool kDirect = true;
  static constexpr int kRowBytes = RowBytes;
  static constexpr int kChunks = RowBytes / 16;
  static constexpr int kPerThread = (Rows * kChunks + Threads - 1) / Threads;
  static constexpr bool kExact = Rows * kChunks % Threads == 0;

  /// rowAt(row): address of the row's first byte; with Gaps null for a row of
  /// zeros. `thread` is below Threads.
  template <bool Gaps = false, class F>
  HK_MEM void issue(int thread, F rowAt, u8 *lds) {
    HK_UNROLL for (int i = 0; i < kPerThread; ++i) {
      int s = i * Threads + thread, row = s / kChunks, ch = s % kChunks;
      if (!kExact && row >= Rows)
        continue;
      u32 to = ldsAddress(lds + row * RowBytes +
                          swizzleChunk<RowBytes>(row, ch) * 16);
      bool valid = RowBytes == ValidBytes || ch * 16 < ValidBytes;
      auto from = rowAt(row);
      if constexpr (Gaps)
        valid = valid && from;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to),
                   "l"(from + (valid ? ch * 16 : 0)), "r"(valid ? 16 : 0)
                   : "memory");
    }
  }
  /// Count rows, `stride` bytes from each other, of which `rows` exist; zeros
  /// behind them.
  template <int Count>
  HK_MEM void issueRows(int thread, Global<const u8> first, i64 stride,
                        i32 rows, u8 *lds) {
    if (rows >= Count)
      issueRows<Count, true>(thread, first, stride, rows, lds);
    else
      issueRows<Count, false>(thread, first, stride, rows, lds);
  }
  HK_MEM void land(int, u8 *) {}

private:
  template <int Count, bool All>
  HK_MEM void issueRows(int thread, Global<const u8> first, i64 stride,
                        i32 rows, u8 *lds) {
    // Chunks of a thread in rows that are as many apart.
    constexpr bool even = Threads % kChunks == 0;
    constexpr int apart = even ? Threads / kChunks : 0;
    // Else registers would hold its multiples through the walk.
    asm volatile("" : "+l"(stride));
    auto at = first + thread / kChunks * stride + thread % kChunks * 16;
    HK_UNROLL for (int s = 0; s < Count * kChunks; s += Threads) {
      int row = (s + thread) / kChunks, ch = (s + thread) % kChunks;
      if constexpr (even)
        row = s / kChunks + thread / kChunks, ch = thread % kChunks;
      if (Count * kChunks % Threads != 0 && row >= Count)
        continue;
      auto from = even ? at : first + row * stride + ch * 16;
      u32 to = ldsAddress(lds + row * RowBytes +
                          swizzleChunk<RowBytes>(row, ch) * 16);
      bool valid = (All || row < rows) &&
                   (RowBytes == ValidBytes || ch * 16 < ValidBytes);
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to),
                   "l"(from), "r"(valid ? 16 : 0)
                   : "memory");
      at += apart * stride;
    }
  }
};

/// Waits for every copy this thread issued.
HK_DEV void rowCopyWait() { asm volatile("cp.async.wait_all;" ::: "memory"); }
/// The copies that this thread issued since the last one are a group.
HK_DEV void rowCopyCommit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Waits for all groups of this thread but the last PENDING ones.
template <int PENDING> HK_DEV void rowCopyWaitBut() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

/// Shares: waves of the same rows, each of which multiplies a part of the head;
/// scores are the sums of theirs.
template <DType D, int Rows, int Keys, int HeadBytes, int Columns, int Waves,
          int ValueBytes = Columns * info(D).bits / 8, int Shares = 1>
struct AttentionFragments {
  using Op = MmaSync<D>;
  static constexpr int kThreads = Waves * 32;
  static constexpr int MI = Rows / Waves / 16;
  /// Rows a lane owns.
  static constexpr int kRows = MI * 2;
  static constexpr int NS = Keys / 8, NO = Columns / 8;
  static constexpr int kShares = Shares;
  static constexpr int kSteps = HeadBytes / 32 / Shares;
  static_assert(kSteps * Shares * 32 == HeadBytes);
  static constexpr int kValueBytes = ValueBytes;
  static_assert(MI * Waves * 16 == Rows && NS * 8 == Keys && NS % 2 == 0 &&
                NO * 8 == Columns && NO % 2 == 0 && HeadBytes % 64 == 0);

  u32x4 q[MI][kSteps];
  f32x4 s[MI][NS], o[MI][NO];

  /// Other waves of the block may have the same rows.
  HK_MEM static int firstRow() {
    return Waves == 1 ? 0 : waveId() % Waves * (Rows / Waves);
  }
  HK_MEM static int rowOf(int slot) {
    return firstRow() + slot / 2 * 16 + slot % 2 * 8 + laneId() / 4;
  }
  /// The first byte of the wave's part of a head.
  HK_MEM static int firstByte() {
    return Shares == 1 ? 0 : waveId() / Waves * (kSteps * 32);
  }
  HK_MEM static bool rowLead() { return laneId() % 4 == 0; }

  HK_MEM void clearOutput() {
    HK_UNROLL for (int i = 0; i < MI; ++i)
        HK_UNROLL for (int j = 0; j < NO; ++j) o[i][j] = f32x4(0.f);
  }

  template <class F> HK_MEM void loadQueries(F f) {
    int c = firstByte() + laneId() % 4 * 4;
    HK_UNROLL for (int i = 0; i < MI; ++i)
        HK_UNROLL for (int k = 0; k < kSteps; ++k)
            HK_UNROLL for (int e = 0; e < 4; ++e) {
      int slot = i * 2 + e % 2;
      q[i][k][e] =
          f.template load<u32>(slot, rowOf(slot), k * 32 + e / 2 * 16 + c);
    }
  }

  template <bool Transposed> HK_MEM static u32x4 ldmatrix(const u8 *p) {
    u32 a, b, c, d;
    if constexpr (Transposed)
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 "
                   "{%0,%1,%2,%3}, [%4];"
                   : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                   : "r"(ldsAddress(p))
                   : "memory");
    else
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
                   "{%0,%1,%2,%3}, [%4];"
                   : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                   : "r"(ldsAddress(p))
                   : "memory");
    return u32x4{a, b, c, d};
  }

  HK_MEM void scores(const u8 *keys) { scores(keys, laneId()); }
  HK_MEM void scores(const u8 *keys, int l) {
    int first = firstByte();
    HK_UNROLL for (int i = 0; i < MI; ++i)
        HK_UNROLL for (int j = 0; j < NS; ++j) s[i][j] = f32x4(0.f);
    HK_UNROLL for (int k = 0; k < kSteps; ++k)
        HK_UNROLL for (int j = 0; j < NS; j += 2) {
      u32x4 key = ldmatrix<false>(
          keys + swizzled<HeadBytes>(j * 8 + (l & 7) + (l >> 4) * 8,
                                     first + k * 32 + ((l >> 3) & 1) * 16));
      HK_UNROLL for (int i = 0; i < MI; ++i) {
        Op::step(s[i][j], q[i][k], key[0], key[1]);
        Op::step(s[i][j + 1], q[i][k], key[2], key[3]);
      }
    }
  }

  /// Bytes of LDS that addShares takes.
  static constexpr int kShareBytes =
      Shares > 1 ? Shares * Waves * MI * NS * 16 * 32 : 0;
  /// Adds what the waves of the same rows have of scores, in one order.
  HK_MEM void addShares(u8 *scratch) {
    f32x4 *own = reinterpret_cast<f32x4 *>(scratch) +
                 waveId() % Waves * (Shares * MI * NS * 32) + laneId();
    int share = waveId() / Waves;
    HK_UNROLL for (int i = 0; i < MI * NS; ++i)
        own[(share * MI * NS + i) * 32] = s[i / NS][i % NS];
    barrier();
    HK_UNROLL for (int i = 0; i < MI * NS; ++i) {
      f32x4 sum = own[i * 32];
      HK_UNROLL for (int w = 1; w < Shares; ++w) sum +=
          own[(w * MI * NS + i) * 32];
      s[i / NS][i % NS] = sum;
    }
  }

  HK_MEM void rows(const u8 *tile) {
    int l = laneId();
    HK_UNROLL for (int k = 0; k < kSteps; ++k)
        HK_UNROLL for (int j = 0; j < NO; j += 2) {
      u32x4 column = ldmatrix<false>(
          tile + swizzled<HeadBytes>(j * 8 + (l & 7) + (l >> 4) * 8,
                                     k * 32 + ((l >> 3) & 1) * 16));
      HK_UNROLL for (int i = 0; i < MI; ++i) {
        Op::step(o[i][j], q[i][k], column[0], column[1]);
        Op::step(o[i][j + 1], q[i][k], column[2], column[3]);
      }
    }
  }

  HK_MEM void values(const u8 *tile, int first = 0) {
    values(tile, first, laneId());
  }
  HK_MEM void values(const u8 *tile, int first, int l) {
    HK_UNROLL for (int k = 0; k < Keys / 16; ++k) {
      u32x4 p[MI];
      HK_UNROLL for (int i = 0; i < MI; ++i)
          HK_UNROLL for (int e = 0; e < 4; ++e) p[i][e] =
              packPair<D>(s[i][2 * k + e / 2][e % 2 * 2],
                          s[i][2 * k + e / 2][e % 2 * 2 + 1]);
      HK_UNROLL for (int j = 0; j < NO; j += 2) {
        u32x4 v = ldmatrix<true>(
            tile + swizzled<kValueBytes>(k * 16 + (l & 15),
                                         first + j * 16 + (l >> 4) * 16));
        HK_UNROLL for (int i = 0; i < MI; ++i) {
          Op::step(o[i][j], p[i], v[0], v[1]);
          Op::step(o[i][j + 1], p[i], v[2], v[3]);
        }
      }
    }
  }

  /// f(slot, key, f32x2 &): two adjacent keys.
  template <class F> HK_MEM void forEachScore(F f) {
    HK_UNROLL for (int i = 0; i < MI; ++i)
        HK_UNROLL for (int j = 0; j < NS; ++j)
            HK_UNROLL for (int e = 0; e < 2; ++e) {
      f32x2 x = {s[i][j][2 * e], s[i][j][2 * e + 1]};
      f(i * 2 + e, j * 8 + laneId() % 4 * 2, x);
      s[i][j][2 * e] = x[0];
      s[i][j][2 * e + 1] = x[1];
    }
  }

  HK_MEM void scaleOutput(const float (&factor)[kRows]) {
    HK_UNROLL for (int i = 0; i < MI; ++i)
        HK_UNROLL for (int j = 0; j < NO; ++j)
            HK_UNROLL for (int e = 0; e < 4; ++e) o[i][j][e] *=
        factor[i * 2 + e / 2];
  }

  /// f(slot, column, f32x2): two adjacent columns.
  static constexpr int kOutputVec = 2;
  template <class F> HK_MEM void forEachOutput(F f) {
    HK_UNROLL for (int i = 0; i < MI; ++i)
        HK_UNROLL for (int j = 0; j < NO; ++j)
            HK_UNROLL for (int e = 0; e < 2; ++e) {
      f32x2 x = {o[i][j][2 * e], o[i][j][2 * e + 1]};
      f(i * 2 + e, j * 8 + laneId() % 4 * 2, x);
    }
  }

  /// Sets the result to f(slot, column) of every element.
  template <class F> HK_MEM void fillOutput(F f) {
    HK_UNROLL for (int i = 0; i < MI; ++i)
        HK_UNROLL for (int j = 0; j < NO; ++j)
            HK_UNROLL for (int e = 0; e < 4; ++e) o[i][j][e] =
                f(i * 2 + e / 2, j * 8 + laneId() % 4 * 2 + e % 2);
  }

  /// Adds f(slot, column) to every element of the result.
  template <class F> HK_MEM void addOutput(F f) {
    HK_UNROLL for (int i = 0; i < MI; ++i)
        HK_UNROLL for (int j = 0; j < NO; ++j)
            HK_UNROLL for (int e = 0; e < 4; ++e) o[i][j][e] +=
        f(i * 2 + e / 2, j * 8 + laneId() % 4 * 2 + e % 2);
  }

  /// f(slot, index, float &) over the registers of the result.
  template <class F> HK_MEM void eachOutput(F f) {
    HK_UNROLL for (int i = 0; i < MI; ++i)
        HK_UNROLL for (int j = 0; j < NO; ++j)
            HK_UNROLL for (int e = 0; e < 4; ++e) {
      float x = o[i][j][e];
      f(i * 2 + e / 2, (i * NO + j) * 4 + e, x);
      o[i][j][e] = x;
    }
  }

  template <class Op2>
  HK_MEM static void laneReduce(float (&r)[kRows], Op2 op) {
    HK_UNROLL for (int i = 0; i < kRows; ++i) {
      r[i] = op(r[i], bitCast<float>(laneXor<1>(bitCast<int>(r[i]))));
      r[i] = op(r[i], bitCast<float>(laneXor<2>(bitCast<int>(r[i]))));
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_DEVICE_ATTENTION_SM90_H
