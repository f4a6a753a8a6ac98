//===- DType.h - Element types -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one list of element types, shared by the compiler, the module ABI and the
// kernels. Numbers are part of the module ABI: append only. Names are MLIR's.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_DTYPE_H
#define HK_CONTRACT_DTYPE_H

#include <cstdint>

namespace hk {

enum class DType : uint8_t {
  F32 = 0,
  BF16 = 1,
  F16 = 2,
  F8E4M3FN = 3,
  F8E4M3FNUZ = 4,
  F8E5M2 = 5,
  F8E5M2FNUZ = 6,
  /// Two elements per byte, the even index in the low nibble; the innermost
  /// dimension is even.
  F4E2M1FN = 7,
  F8E8M0FNU = 8,
  I1 = 9, // one byte, 0 or 1
  I8 = 10,
  I32 = 11,
  I64 = 12,
  I16 = 13,
  /// Packed as F4E2M1FN: -8 to 7 in two's complement, and 0 to 15.
  I4 = 14,
  UI4 = 15,
};

struct DTypeInfo {
  const char *name;
  int32_t bits; // in memory
  bool isFloat;
  /// Largest finite magnitude; 0 for integers.
  double maxFinite;
  /// Bits of the significand after the binary point (explicit mantissa).
  int32_t mantissaBits;
};

inline constexpr DTypeInfo kDTypes[] = {
    {"f32", 32, true, 3.4028234663852886e38, 23},
    {"bf16", 16, true, 3.3895313892515355e38, 7},
    {"f16", 16, true, 65504.0, 10},
    {"f8E4M3FN", 8, true, 448.0, 3},
    {"f8E4M3FNUZ", 8, true, 240.0, 3},
    {"f8E5M2", 8, true, 57344.0, 2},
    {"f8E5M2FNUZ", 8, true, 57344.0, 2},
    {"f4E2M1FN", 4, true, 6.0, 1},
    {"f8E8M0FNU", 8, true, 1.7014118346046923e38, 0},
    {"i1", 8, false, 0, 0},
    {"i8", 8, false, 0, 0},
    {"i32", 32, false, 0, 0},
    {"i64", 64, false, 0, 0},
    {"i16", 16, false, 0, 0},
    {"i4", 4, false, 0, 0},
    {"ui4", 4, false, 0, 0},
};
inline constexpr int32_t kNumDTypes = sizeof(kDTypes) / sizeof(kDTypes[0]);

constexpr const DTypeInfo &info(DType d) {
  return kDTypes[static_cast<int32_t>(d)];
}

/// Whether elements are numbers of 8 bits, and no scales.
constexpr bool isFp8(DType d) {
  return d == DType::F8E4M3FN || d == DType::F8E4M3FNUZ || d == DType::F8E5M2 ||
         d == DType::F8E5M2FNUZ;
}

/// Whether two elements share a byte.
constexpr bool isPacked(DType d) { return info(d).bits < 8; }

/// Bytes that `n` elements of `d` take when packed; n * bits is a multiple
/// of 8.
constexpr int64_t packedBytes(DType d, int64_t n) {
  return info(d).bits < 8 ? n * info(d).bits / 8 : n * (info(d).bits / 8);
}

} // namespace hk

#endif // HK_CONTRACT_DTYPE_H
