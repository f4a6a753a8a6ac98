//===- Scale.h - Which elements of an operand share a scale -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only place of the granularities of a matrix product's scales. The
// verifier, the interpreter, the matcher and the kernels read them here.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_SCALE_H
#define HK_CONTRACT_SCALE_H

#include "hk/Contract/DType.h"

namespace hk {

/// One scale per `rows` x `depth` elements of an operand's [rows, k]; 0 is the
/// whole extent.
struct ScaleSpec {
  DType type;
  int32_t rows, depth;

  constexpr bool alongK() const { return depth != 0; }
};

inline constexpr ScaleSpec kRowScale = {DType::F32, 1, 0};
/// f32 scales along k: of A, and of B. They multiply partial sums.
inline constexpr ScaleSpec kBlockScaleA = {DType::F32, 1, 128};
inline constexpr ScaleSpec kBlockScaleB = {DType::F32, 128, 128};
/// Elements of k after which sums that fp8 matrix instructions made are added
/// in f32 (accumulation tensor_core), and how exact those sums are: each
/// addition is off by at most this part of the partial sum.
inline constexpr int32_t kFp8SumDepth = 128;
inline constexpr double kFp8SumUnit = 0x1p-13;
static_assert(kFp8SumDepth == kBlockScaleA.depth,
              "sums with and without scales end at the same elements");
/// The OCP microscaling formats. They multiply elements, exactly.
inline constexpr ScaleSpec kMxScale = {DType::F8E8M0FNU, 1, 32};

constexpr bool operator==(const ScaleSpec &a, const ScaleSpec &b) {
  return a.type == b.type && a.rows == b.rows && a.depth == b.depth;
}
constexpr bool operator!=(const ScaleSpec &a, const ScaleSpec &b) {
  return !(a == b);
}

} // namespace hk

#endif // HK_CONTRACT_SCALE_H
