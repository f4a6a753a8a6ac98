//===- nvptx_pairs.h - Pairs of 16-bit floats of sm_90a -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arithmetic of two 16-bit floats in a word, each result rounded once.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_ARCH_NVPTX_PAIRS_H
#define HK_KERNELS_DEVICE_ARCH_NVPTX_PAIRS_H

#include "kernels/device/types.h"

namespace hk {

/// (a & MASK) ^ b in one instruction, which has room for one number only: b is
/// in a register.
template <u32 MASK> HK_DEV u32 maskedXor(u32 a, u32 b) {
  u32 r;
  asm("lop3.b32 %0, %1, %2, %3, 0x6A;" : "=r"(r) : "r"(a), "n"(MASK), "r"(b));
  return r;
}

/// Both halves are the lower, or the upper, half of `word`. An instruction of
/// HalfPair names a half of its operand, so that takes none of its own.
HK_DEV u32 lowerTwice(u32 word) {
  u32 r;
  asm("{.reg .b16 l, h; mov.b32 {l, h}, %1; mov.b32 %0, {l, l};}"
      : "=r"(r)
      : "r"(word));
  return r;
}
HK_DEV u32 upperTwice(u32 word) {
  u32 r;
  asm("{.reg .b16 l, h; mov.b32 {l, h}, %1; mov.b32 %0, {h, h};}"
      : "=r"(r)
      : "r"(word));
  return r;
}

/// Two 16-bit floats in a word.
template <DType H> struct HalfPair;
template <> struct HalfPair<DType::BF16> {
  /// Any integer from kBase to 2 kBase is one with the significand below.
  static constexpr u32 kBaseBits = 0x43004300;
  static constexpr int kBase = 128;
  HK_MEM static u32 sub(u32 a, u32 b) {
    u32 r;
    asm("sub.rn.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
  }
  HK_MEM static u32 mul(u32 a, u32 b) {
    u32 r;
    asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
  }
  HK_MEM static u32 fma(u32 a, u32 b, u32 c) {
    u32 r;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
  }
};
template <> struct HalfPair<DType::F16> {
  static constexpr u32 kBaseBits = 0x64006400;
  static constexpr int kBase = 1024;
  HK_MEM static u32 sub(u32 a, u32 b) {
    u32 r;
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
  }
  HK_MEM static u32 mul(u32 a, u32 b) {
    u32 r;
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
  }
  HK_MEM static u32 fma(u32 a, u32 b, u32 c) {
    u32 r;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
  }
};

} // namespace hk

#endif // HK_KERNELS_DEVICE_ARCH_NVPTX_PAIRS_H
