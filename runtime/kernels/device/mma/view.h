//===- view.h - Bounded rectangles of global memory -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `rows` rows of `rowBytes` bytes, `stride` bytes apart; what lies outside
// reads as zero and is never touched. On AMD a view is a buffer descriptor, so
// that a bound costs no branch; its offsets have 32 bits, hence a view starts
// at the tile's corner (64-bit arithmetic) and spans a tile's rows only: their
// stride is below 16 MiB for 256 rows. sm_90a predicates the access.
// GatheredView: rows that a table names; LinesView: those of a thread.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_MMA_VIEW_H
#define HK_KERNELS_DEVICE_MMA_VIEW_H

#include "hk/Contract/Capability.h"
#include "kernels/device/arch.h"

namespace hk {

/// What a load of so many bytes yields.
template <int Bytes> struct LoadedWord;
template <> struct LoadedWord<1> {
  using Type = u8;
};
template <> struct LoadedWord<2> {
  using Type = u16;
};
template <> struct LoadedWord<4> {
  using Type = u32;
};
template <> struct LoadedWord<8> {
  using Type = u32x2;
};
template <> struct LoadedWord<16> {
  using Type = u32x4;
};
template <int Bytes> using WordOf = typename LoadedWord<Bytes>::Type;

#if defined(__AMDGCN__)

using LdsPointer = __attribute__((address_space(3))) void *;

struct TileView {
  __amdgpu_buffer_rsrc_t rsrc;
  u32 stride, rowBytes;

  HK_MEM TileView(Global<const u8> base, i64 stride, i64 rows, i64 rowBytes)
      : TileView(base, u32(stride), rowBytes > 0 ? u32(rowBytes) : 0,
                 bytesOf(stride, rows, rowBytes)) {}
  /// Rows of which only whole ones are read; `rows` may be 0.
  HK_MEM static TileView ofWholeRows(Global<const u8> base, u32 stride,
                                     u32 rows, u32 rowBytes) {
    u32 bytes = rows * (stride > rowBytes ? stride : rowBytes);
    // The compiler may have it in a vector register.
    return TileView(base, stride, rowBytes,
                    u32(__builtin_amdgcn_readfirstlane(int(bytes))));
  }
  /// A column outside the row is sent behind the buffer's end.
  HK_MEM u32 offset(int row, u32 byte) const {
    return byte < rowBytes ? u32(row) * stride + byte : kOutside;
  }
  /// Behind the buffer's end.
  static constexpr u32 kOutside = u32(kReachBytes);
  /// `Bytes` bytes at (row, byte), which all lie inside or all outside.
  template <int Bytes> HK_MEM auto load(int row, u32 byte) const {
    u32 o = offset(row, byte);
    if constexpr (Bytes == 16)
      return bitCast<u32x4>(
          __builtin_amdgcn_raw_buffer_load_b128(rsrc, o, 0, 0));
    else if constexpr (Bytes == 8)
      return bitCast<u32x2>(
          __builtin_amdgcn_raw_buffer_load_b64(rsrc, o, 0, 0));
    else if constexpr (Bytes == 4)
      return u32(__builtin_amdgcn_raw_buffer_load_b32(rsrc, o, 0, 0));
    else if constexpr (Bytes == 2)
      return u16(__builtin_amdgcn_raw_buffer_load_b16(rsrc, o, 0, 0));
    else
      return u8(__builtin_amdgcn_raw_buffer_load_b8(rsrc, o, 0, 0));
  }
  /// 16 bytes at an offset that was made before, for all lanes `further` on.
  HK_MEM u32x4 loadFurther(u32 offset, u32 further) const {
    return bitCast<u32x4>(
        __builtin_amdgcn_raw_buffer_load_b128(rsrc, offset, further, 0));
  }
  /// What load() calls row `row`, which is unit `i` of a thread's copy.
  HK_MEM static int lineOf(int, int row) { return row; }
#if defined(__gfx950__)
  /// The wave's 16 bytes a lane of loadFurther straight into LDS.
  HK_MEM void copyFurther(u32 offset, u32 further, u8 *to) const {
    __builtin_amdgcn_raw_ptr_buffer_load_lds(rsrc, LdsPointer(to), 16, offset,
                                             further, 0, 0);
  }
  /// The wave's 16 bytes a lane straight into LDS, from `to` on.
  HK_MEM void copy16(int, int row, u32 byte, u8 *to) const {
    __builtin_amdgcn_raw_ptr_buffer_load_lds(rsrc, LdsPointer(to), 16,
                                             offset(row, byte), 0, 0, 0);
  }
#endif

private:
  HK_MEM TileView(Global<const u8> base, u32 stride, u32 rowBytes, u32 bytes)
      : rsrc(__builtin_amdgcn_make_buffer_rsrc(
            const_cast<u8 *>(reinterpret_cast<const u8 *>(u64(base))), 0, bytes,
            kArch == Arch::Gfx1100 ? 0x31004000 : 0x00027000)),
        stride(stride), rowBytes(rowBytes) {}
  HK_MEM static u32 bytesOf(i64 stride, i64 rows, i64 rowBytes) {
    i64 bytes = rows > 0 && rowBytes > 0 ? (rows - 1) * stride + rowBytes : 0;
    constexpr i64 most = 0xFFFFFFC0;
    return u32(bytes < most ? bytes : most);
  }
};

#elif defined(__NVPTX__)

/// The 32-bit shared-memory address that PTX instructions take.
HK_DEV u32 ldsAddress(const void *p) {
  return u32(u64((__attribute__((address_space(3))) const void *)p));
}

struct TileView {
  Global<const u8> base;
  i64 stride;
  i64 rows, rowBytes;

  HK_MEM TileView(Global<const u8> base, i64 stride, i64 rows, i64 rowBytes)
      : base(base), stride(stride), rows(rows), rowBytes(rowBytes) {}
  HK_MEM static TileView ofWholeRows(Global<const u8> base, u32 stride,
                                     u32 rows, u32 rowBytes) {
    return TileView(base, stride, rows, rowBytes);
  }
  HK_MEM bool contains(int row, u32 byte) const {
    return row < rows && i64(byte) < rowBytes;
  }
  HK_MEM Global<const u8> address(int row, u32 byte) const {
    return base + (row * stride + byte);
  }
  template <int Bytes> HK_MEM auto load(int row, u32 byte) const {
    return read<WordOf<Bytes>>(row, byte);
  }
  HK_MEM static int lineOf(int, int row) { return row; }

private:
  template <class T> HK_MEM T read(int row, u32 byte) const {
    T v = 0;
    if (contains(row, byte))
      v = *(Global<const T>)address(row, byte);
    return v;
  }
};

#endif

#if HK_GPU

/// What is read outside of rows that have addresses of their own.
alignas(16) __attribute__((device)) static const u8 kZeroChunk[16] = {};

#if defined(__gfx950__)
/// 16 bytes a lane straight into LDS, where the wave's begin at `to`.
HK_DEV void copy16(Global<const u8> from, u8 *to) {
  __builtin_amdgcn_global_load_lds((HK_GLOBAL void *)(from), LdsPointer(to), 16,
                                   0, 0);
}
#endif

/// Rows that a thread copies, each at an address of its own.
template <int Lines> struct LinesView {
  const Global<const u8> *lines;
  i64 rowBytes;

  HK_MEM static int lineOf(int i, int) { return i; }
  HK_MEM Global<const u8> address(int i, u32 byte) const {
    return i64(byte) < rowBytes ? lines[i] + byte
                                : (Global<const u8>)(kZeroChunk);
  }
  template <int Bytes> HK_MEM auto load(int i, u32 byte) const {
    return *(Global<const WordOf<Bytes>>)address(i, byte);
  }
#if defined(__gfx950__)
  HK_MEM void copy16(int i, int, u32 byte, u8 *to) const {
    hk::copy16(address(i, byte), to);
  }
#endif
};

/// Rows that a table in LDS names, -1 for one whose elements nobody uses.
/// `base` is the first row of all, which there is. Rows may be anywhere, so
/// that an access has an address of its own instead of an offset.
struct GatheredView {
  Global<const u8> base;
  i64 stride;
  const i32 *rows;
  i64 rowBytes;

  HK_MEM bool contains(int row, u32 byte) const {
    return rows[row] >= 0 && i64(byte) < rowBytes;
  }
  HK_MEM Global<const u8> address(int row, u32 byte) const {
    return base + (i64(rows[row]) * stride + byte);
  }
  /// Of a row that is not there anything is read, for there is no branch and no
  /// mask to keep for every load; behind a row's end zeros, as products need.
  template <int Bytes> HK_MEM auto load(int row, u32 byte) const {
    return read<WordOf<Bytes>>(row, byte);
  }
  HK_MEM static int lineOf(int, int row) { return row; }

private:
  template <class T> HK_MEM T read(int row, u32 byte) const {
    bool inside = i64(byte) < rowBytes;
    i64 at = rows[row] < 0 ? 0 : i64(rows[row]);
    Global<const u8> from = base + (at * stride + (inside ? byte : 0u));
    T v = *(Global<const T>)from;
    return inside ? v : T(0);
  }
};

#endif

/// `Bytes` bytes as an array of words, in accesses of at most Align bytes; any
/// part of them may lie outside.
template <int Bytes> struct RawBytes {
  alignas(Bytes < 4 ? 4 : Bytes) u32 w[(Bytes + 3) / 4];
};
template <int Bytes, int Align, class View>
HK_DEV RawBytes<Bytes> loadRaw(const View &view, int row, u32 byte) {
  RawBytes<Bytes> r;
  constexpr int piece = Align < Bytes ? Align : Bytes;
  if constexpr (piece == 16 && Bytes == 16) {
    return bitCast<RawBytes<Bytes>>(view.template load<16>(row, byte));
  } else if constexpr (piece == Bytes && Bytes >= 4) {
    return bitCast<RawBytes<Bytes>>(view.template load<Bytes>(row, byte));
  } else if constexpr (piece >= 4) {
    HK_UNROLL for (int i = 0; i < Bytes / piece; ++i) {
      auto v = bitCast<RawBytes<piece>>(
          view.template load<piece>(row, byte + i * piece));
      HK_UNROLL for (int j = 0; j < piece / 4; ++j) r.w[i * (piece / 4) + j] =
          v.w[j];
    }
    return r;
  } else {
    HK_UNROLL for (int i = 0; i < (Bytes + 3) / 4; ++i) r.w[i] = 0;
    HK_UNROLL for (int i = 0; i < Bytes / piece; ++i) r.w[i * piece / 4] |=
        u32(view.template load<piece>(row, byte + i * piece))
        << (i * piece % 4 * 8);
    return r;
  }
}

} // namespace hk

#endif // HK_KERNELS_DEVICE_MMA_VIEW_H
