//===- copy_cdna.h - Copies of keys and values for CDNA -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What else than RowCopy brings a tile of keys or of 16-bit values into LDS.
// gfx950 copies without registers, and reads values as stored by instructions
// that transpose. On gfx942 values are transposed on the way in, once for a
// block instead of once for each wave: LDS then has a row for each column, in
// the order in which fragments take them, and in it the keys in the order in
// which one 16-byte read gives a lane what it multiplies.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_ATTENTION_COPY_CDNA_H
#define HK_KERNELS_DEVICE_ATTENTION_COPY_CDNA_H

#include "kernels/device/attention/copy_staged.h"

namespace hk {

/// Where a chunk of a row of the columns of values lies: reads each take 32
/// rows, in rows 2 or 4 apart as they are written. Short rows share a line of
/// 128 bytes with their neighbour, and chunks go to either half of it.
template <int RowBytes> HK_DEV int columnByte(int row, int chunk) {
  if constexpr (RowBytes == 64) {
    int in = row % 32;
    return (row - in) * 64 +
           ((in * 64 + chunk * 16) ^ (in * 8 & 0x70) ^ (in & 16));
  } else if constexpr (RowBytes >= 128) {
    return row * RowBytes + (chunk ^ (row % 8) ^ (row / 8 % 8)) * 16;
  } else {
    return swizzled<RowBytes>(row, chunk * 16);
  }
}

/// Adjacent columns that are in as many fragments of 32.
template <int Columns>
inline constexpr int kAdjacentColumns = Columns % 128 == 0  ? 4
                                        : Columns % 64 == 0 ? 2
                                                            : 1;

/// Values of Rows keys, of ValidBytes each, as RowBytes / 2 columns.
/// Elements<n>::Raw is n of them in memory, convert(raw) makes a Vec<u16, n>.
template <int Rows, int RowBytes, int ValidBytes, int Threads,
          template <int> class Elements>
struct ColumnCopy {
  static constexpr int Perm = kAdjacentColumns<RowBytes / 2>;
  static constexpr bool kDirect = false;
  static constexpr int kColumnBytes = Rows * 2;
  /// Columns of a unit, which has four keys.
  static constexpr int kWide =
      Rows / 4 * (RowBytes / 16) >= Threads && RowBytes % 16 == 0 ? 8 : 4;
  static constexpr int kChunks = RowBytes / 2 / kWide, kGroups = Rows / 4;
  static constexpr int kPerThread = (kGroups * kChunks + Threads - 1) / Threads;
  static constexpr bool kExact = kGroups * kChunks % Threads == 0;
  /// Chunks that neighbouring lanes have.
  static constexpr int kSide = kChunks % 8 == 0 ? 8 : kChunks;
  using Columns = Vec<u16, kWide>;
  using Raw = typename Elements<kWide>::Raw;
  static constexpr int kRawBytes = int(sizeof(Raw));
  Raw v[kPerThread][4];

  struct Unit {
    int group, chunk;
    bool exists;
  };
  HK_MEM static Unit unit(int thread, int i) {
    int u = i * Threads + thread, g = u / kSide % kGroups;
    // Lanes whose writes meet in time have both halves of a place.
    return {(g & ~3) | (g & 1) << 1 | (g >> 1 & 1),
            u % kSide + u / kSide / kGroups * kSide,
            kExact || u < kGroups * kChunks};
  }

  template <bool Gaps = false, class F>
  HK_MEM void issue(int thread, F rowAt, u8 *) {
    HK_UNROLL for (int i = 0; i < kPerThread; ++i) {
      Unit at = unit(thread, i);
      bool valid = at.exists && (RowBytes == ValidBytes ||
                                 at.chunk * kWide * 2 < ValidBytes);
      Global<const u8> from[4];
      HK_UNROLL for (int x = 0; x < 4; ++x) from[x] =
          rowAt(at.exists ? at.group * 4 + x : 0);
      HK_UNROLL for (int x = 0; x < 4; ++x) {
        v[i][x] = Raw(0);
        if (valid && (!Gaps || from[x]))
          v[i][x] = *(Global<const Raw>)(from[x] + at.chunk * kRawBytes);
      }
    }
  }
  HK_MEM void issueTile(int thread, const TileView &view, u8 *) {
    HK_UNROLL for (int i = 0; i < kPerThread; ++i) {
      Unit at = unit(thread, i);
      if (at.exists)
        HK_UNROLL for (int x = 0; x < 4; ++x) v[i][x] = bitCast<Raw>(
            view.load<kRawBytes>(at.group * 4 + x, u32(at.chunk) * kRawBytes));
    }
  }
  HK_MEM void land(int thread, u8 *lds) {
    HK_UNROLL for (int i = 0; i < kPerThread; ++i) {
      Unit at = unit(thread, i);
      if (!at.exists)
        continue;
      Columns t[4];
      HK_UNROLL for (int x = 0; x < 4; ++x) t[x] =
          Elements<kWide>::convert(v[i][x]);
      int place = at.group / 4 * 2 + (at.group & 1);
      HK_UNROLL for (int e = 0; e < kWide; ++e) {
        int row = rowOf(at.chunk * kWide + e);
        *reinterpret_cast<Vec<u16, 4> *>(lds +
                                         columnByte<kColumnBytes>(row, place) +
                                         (at.group >> 1 & 1) * 8) =
            Vec<u16, 4>{t[0][e], t[1][e], t[2][e], t[3][e]};
      }
    }
  }

private:
  /// The row in LDS of a column.
  HK_MEM static int rowOf(int column) {
    int in = column % (32 * Perm);
    return column - in + in % Perm * 32 + in / Perm;
  }
};

#if defined(__gfx950__)
/// Where 16-byte chunks lie of which transposing reads take 4 of 4 rows at a
/// time.
template <int RowBytes> HK_DEV int transposedChunk(int row, int chunk) {
  if constexpr (RowBytes % 256 == 0)
    return chunk ^ row % 4 << 2;
  else if constexpr (RowBytes % 128 == 0)
    return chunk ^ row / 2 % 2 << 2;
  return chunk;
}

/// RowCopy without registers, for rows of keys or of values; wait() is for all
/// that this thread issued.
template <int Rows, int RowBytes, int ValidBytes, int Threads, bool Values>
struct DirectRowCopy {
  static constexpr bool kDirect = true;
  static constexpr int kChunks = RowBytes / 16;
  static constexpr int kPerThread = Rows * kChunks / Threads;
  static_assert(Rows * kChunks % Threads == 0 && Threads % kWave == 0);

  /// The row and the byte in it of what a thread copies.
  struct Chunk {
    int row;
    u32 byte;
  };
  HK_MEM static Chunk chunk(int thread, int i) {
    int s = i * Threads + thread, row = s / kChunks, ch = s % kChunks;
    return {row, u32(Values ? transposedChunk<RowBytes>(row, ch)
                            : swizzleChunk<RowBytes>(row, ch)) *
                     16};
  }
  /// Lanes write side by side.
  HK_MEM static LdsPointer target(int i, u8 *lds) {
    return LdsPointer(lds + (i * Threads + waveId() * kWave) * 16);
  }

  template <bool Gaps = false, class F>
  HK_MEM void issue(int thread, F rowAt, u8 *lds) {
    Global<const u8> from[kPerThread];
    HK_UNROLL for (int i = 0; i < kPerThread; ++i) {
      Chunk at = chunk(thread, i);
      from[i] = rowAt(at.row);
      bool valid = RowBytes == ValidBytes || at.byte < ValidBytes;
      if constexpr (Gaps)
        valid = valid && from[i];
      from[i] = valid ? from[i] + at.byte : (Global<const u8>)(kZeroChunk);
    }
    HK_UNROLL for (int i = 0; i < kPerThread; ++i)
        __builtin_amdgcn_global_load_lds((HK_GLOBAL void *)(from[i]),
                                         target(i, lds), 16, 0, 0);
  }
  HK_MEM void issueTile(int thread, const TileView &view, u8 *lds) {
    HK_UNROLL for (int i = 0; i < kPerThread; ++i) {
      Chunk at = chunk(thread, i);
      view.copy16(i, at.row, at.byte,
                  lds + (i * Threads + waveId() * kWave) * 16);
    }
  }
  HK_MEM static void wait() {
    __builtin_amdgcn_s_waitcnt(0x0f70); // vmcnt(0), no other counter
  }
  HK_MEM void land(int, u8 *) {}
};
#endif

} // namespace hk

#endif // HK_KERNELS_DEVICE_ATTENTION_COPY_CDNA_H
