//===- wgmma.h - Warpgroup products of sm_90a -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// D[64, N] (+)= A[64, 128 bytes] * B[N, 128 bytes]^T by the four warps of a
// warpgroup, both operands in LDS as rows of 128 bytes with the 128-byte
// swizzle; B of 16 bits also transposed, as panels of 64 columns with a row of
// 128 bytes for each k. The product runs on after its statement; three rules
// follow.
//  * All four steps, the fence before and the commit behind them are one
//    statement: a register moved between them makes ptxas wait for each step.
//  * The first step clears the accumulators by its own predicate.
//  * LLVM believes that the accumulators are ready behind the statement. After
//    waitProducts() they pass through settle(), and are not touched before.
//
// Thread t of warp w has rows 16 w + t / 4 (elements i with (i & 2) == 0) and 8
// below (others), columns i / 4 * 8 + t % 4 * 2 + (i & 1).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_TILE_WGMMA_H
#define HK_KERNELS_DEVICE_TILE_WGMMA_H

#include "kernels/device/mma/view.h"

namespace hk {

namespace detail {

/// Text of at most 16 KiB, built while compiling.
struct AsmText {
  char text[16384] = {};
  int length = 0;

  constexpr int size() const { return length; }
  constexpr const char *data() const { return text; }
  constexpr AsmText &add(const char *part) {
    for (; *part; ++part)
      text[length++] = *part;
    return *this;
  }
  constexpr AsmText &add(int number) {
    if (number >= 10)
      add(number / 10);
    text[length++] = char('0' + number % 10);
    return *this;
  }
};

/// Operands 0 to n/2 - 1 are the accumulators, then come the descriptors of A
/// and B, then whether to keep what the accumulators hold.
constexpr AsmText productText(const char *types, int n, int k, bool isFloat,
                              bool canTranspose, bool transposed) {
  AsmText t;
  int count = n / 2;
  t.add("{\n.reg .pred keep, yes;\n.reg .b64 a, b;\n"
        "setp.eq.b32 yes, 0, 0;\nsetp.ne.b32 keep, %")
      .add(count + 2)
      .add(", 0;\nwgmma.fence.sync.aligned;\n");
  for (int step = 0; step < 4; ++step) {
    // A step is 32 bytes, or 16 rows of 128; descriptors count 16.
    t.add("add.s64 a, %").add(count).add(", ").add(step * 2).add(";\n");
    t.add("add.s64 b, %").add(count + 1).add(", ");
    t.add(step * (transposed ? 128 : 2)).add(";\n");
    t.add("wgmma.mma_async.sync.aligned.m64n").add(n).add("k").add(k);
    t.add(types).add(" {");
    for (int i = 0; i < count; ++i)
      t.add(i ? ", %" : "%").add(i);
    t.add("}, a, b, ").add(step ? "yes" : "keep");
    if (isFloat)
      t.add(", 1, 1");
    if (canTranspose)
      t.add(transposed ? ", 0, 1" : ", 0, 0");
    t.add(";\n");
  }
  return t.add("wgmma.commit_group.sync.aligned;\n}");
}

template <DType D> struct ProductTypes;
template <> struct ProductTypes<DType::BF16> {
  using Acc = float;
  static constexpr const char *kText = ".f32.bf16.bf16";
};
template <> struct ProductTypes<DType::F16> {
  using Acc = float;
  static constexpr const char *kText = ".f32.f16.f16";
};
template <> struct ProductTypes<DType::F8E4M3FN> {
  using Acc = float;
  static constexpr const char *kText = ".f32.e4m3.e4m3";
};
template <> struct ProductTypes<DType::F8E5M2> {
  using Acc = float;
  static constexpr const char *kText = ".f32.e5m2.e5m2";
};
template <> struct ProductTypes<DType::I8> {
  using Acc = i32;
  static constexpr const char *kText = ".s32.s8.s8";
};

} // namespace detail

/// The descriptor of an operand at `at`, a multiple of 1024 bytes (rows may
/// begin in steps of eight): 8 rows are 1024 bytes, 128-byte swizzle.
HK_DEV u64 operandDescriptor(u32 at) {
  return u64((at & 0x3FFFF) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

/// The descriptor of a matrix whose k runs along its rows in LDS: panels of 64
/// columns are `panel` bytes apart.
HK_DEV u64 transposedDescriptor(u32 at, u32 panel) {
  return u64((at & 0x3FFFF) >> 4) | u64(panel >> 4) << 16 | 64ull << 32 |
         1ull << 62;
}

/// Waits until at most `pending` statements of this warpgroup still run.
template <int PENDING> HK_DEV void waitProducts() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

template <DType D, int N, bool Transposed = false> struct WarpgroupProduct {
  static_assert(!Transposed || info(D).bits == 16);
  using Types = detail::ProductTypes<D>;
  using Acc = typename Types::Acc;
  static constexpr int kRegisters = N / 2;
  static constexpr bool kIsFloat = D != DType::I8;
  static constexpr auto kText =
      detail::productText(Types::kText, N, 256 / info(D).bits, kIsFloat,
                          info(D).bits == 16, Transposed);

  using Registers = Acc[kRegisters];

  /// The number of operands of a statement is part of its text: one
  /// specialisation of the same statement per N.
#define HK_OUT2(i) HK_OUT1(i), HK_OUT1(i + 1)
#define HK_OUT4(i) HK_OUT2(i), HK_OUT2(i + 2)
#define HK_OUT8(i) HK_OUT4(i), HK_OUT4(i + 4)
#define HK_OUT16(i) HK_OUT8(i), HK_OUT8(i + 8)
#define HK_OUT32(i) HK_OUT16(i), HK_OUT16(i + 16)
#define HK_OUT64(i) HK_OUT32(i), HK_OUT32(i + 32)
#define HK_PRODUCT(...)                                                        \
  asm volatile((kText)                                                         \
               : __VA_ARGS__                                                   \
               : "l"(a), "l"(b), "r"(u32(keep))                                \
               : "memory")
#define HK_PRODUCTS                                                            \
  if constexpr (N == 8)                                                        \
    HK_PRODUCT(HK_OUT4(0));                                                    \
  else if constexpr (N == 16)                                                  \
    HK_PRODUCT(HK_OUT8(0));                                                    \
  else if constexpr (N == 32)                                                  \
    HK_PRODUCT(HK_OUT16(0));                                                   \
  else if constexpr (N == 40)                                                  \
    HK_PRODUCT(HK_OUT16(0), HK_OUT4(16));                                      \
  else if constexpr (N == 48)                                                  \
    HK_PRODUCT(HK_OUT16(0), HK_OUT8(16));                                      \
  else if constexpr (N == 64)                                                  \
    HK_PRODUCT(HK_OUT32(0));                                                   \
  else if constexpr (N == 80)                                                  \
    HK_PRODUCT(HK_OUT32(0), HK_OUT8(32));                                      \
  else if constexpr (N == 96)                                                  \
    HK_PRODUCT(HK_OUT32(0), HK_OUT16(32));                                     \
  else if constexpr (N == 104)                                                 \
    HK_PRODUCT(HK_OUT32(0), HK_OUT16(32), HK_OUT4(48));                        \
  else if constexpr (N == 112)                                                 \
    HK_PRODUCT(HK_OUT32(0), HK_OUT16(32), HK_OUT8(48));                        \
  else if constexpr (N == 128)                                                 \
    HK_PRODUCT(HK_OUT64(0));                                                   \
  else if constexpr (N == 136)                                                 \
    HK_PRODUCT(HK_OUT64(0), HK_OUT4(64));                                      \
  else if constexpr (N == 144)                                                 \
    HK_PRODUCT(HK_OUT64(0), HK_OUT8(64));                                      \
  else if constexpr (N == 152)                                                 \
    HK_PRODUCT(HK_OUT64(0), HK_OUT8(64), HK_OUT4(72));                         \
  else if constexpr (N == 160)                                                 \
    HK_PRODUCT(HK_OUT64(0), HK_OUT16(64));                                     \
  else if constexpr (N == 168)                                                 \
    HK_PRODUCT(HK_OUT64(0), HK_OUT16(64), HK_OUT4(80));                        \
  else if constexpr (N == 176)                                                 \
    HK_PRODUCT(HK_OUT64(0), HK_OUT16(64), HK_OUT8(80));                        \
  else if constexpr (N == 184)                                                 \
    HK_PRODUCT(HK_OUT64(0), HK_OUT16(64), HK_OUT8(80), HK_OUT4(88));           \
  else if constexpr (N == 192)                                                 \
    HK_PRODUCT(HK_OUT64(0), HK_OUT32(64));                                     \
  else if constexpr (N == 200)                                                 \
    HK_PRODUCT(HK_OUT64(0), HK_OUT32(64), HK_OUT4(96));                        \
  else if constexpr (N == 208)                                                 \
    HK_PRODUCT(HK_OUT64(0), HK_OUT32(64), HK_OUT8(96));                        \
  else if constexpr (N == 224)                                                 \
    HK_PRODUCT(HK_OUT64(0), HK_OUT32(64), HK_OUT16(96));                       \
  else if constexpr (N == 240)                                                 \
    HK_PRODUCT(HK_OUT64(0), HK_OUT32(64), HK_OUT16(96), HK_OUT8(112));         \
  else                                                                         \
    HK_PRODUCT(HK_OUT64(0), HK_OUT64(64))

  /// Begins d = A * B, or d += A * B if `keep`.
  HK_MEM static void begin(Registers &d, u64 a, u64 b, bool keep) {
    static_assert(N == 8 || N == 40 || N == 104 || N == 136 || N == 152 ||
                  N == 168 || N == 184 || N == 200 ||
                  (N % 16 == 0 && N >= 16 && N <= 256));
    if constexpr (kIsFloat) {
#define HK_OUT1(i) "+f"(d[i])
      HK_PRODUCTS;
#undef HK_OUT1
    } else {
#define HK_OUT1(i) "+r"(d[i])
      HK_PRODUCTS;
#undef HK_OUT1
    }
  }
#undef HK_PRODUCTS
#undef HK_PRODUCT
#undef HK_OUT64
#undef HK_OUT32
#undef HK_OUT16
#undef HK_OUT8
#undef HK_OUT4
#undef HK_OUT2

  /// After waitProducts(): no use of d moves in front of this.
  HK_MEM static void settle(Registers &d) {
    HK_UNROLL for (int i = 0; i < kRegisters; ++i) {
      if constexpr (kIsFloat)
        asm volatile("" : "+f"(d[i])::"memory");
      else
        asm volatile("" : "+r"(d[i])::"memory");
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_DEVICE_TILE_WGMMA_H
