//===- LdsGatedDelta.h - LDS of gated delta rule kernels -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two kernels that walk over tokens keep the state in registers and use
// none. The others hold a matrix of the chunk, or stage keys for one.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_LDSGATEDDELTA_H
#define HK_CONTRACT_LDSGATEDDELTA_H

#include "hk/Contract/Lds.h"

namespace hk {

enum class GatedDeltaKernel {
  Recurrent,
  Kkt,
  SumsAndKkt,
  SolveTril,
  WU,
  State,
  Output
};

/// Keys of a token that are staged at a time; the host takes all.
constexpr int64_t kktSlice(const Target &target, int64_t keys) {
  return target.arch == Arch::Host ? keys : 32;
}

/// f32 elements of a row of `n`, padded so that the rows of a column lie in
/// different banks.
constexpr int64_t paddedRow(int64_t n) { return n + 1; }

constexpr int64_t gatedDeltaLds(const Target &target, GatedDeltaKernel kernel,
                                int64_t chunk, int64_t keys) {
  int64_t staged = 2 * chunk * paddedRow(kktSlice(target, keys)) * 4;
  switch (kernel) {
  case GatedDeltaKernel::Recurrent:
  case GatedDeltaKernel::State:
    return 0;
  case GatedDeltaKernel::Kkt:
    return staged;
  case GatedDeltaKernel::SumsAndKkt: // decays and their sums
    return staged + 2 * chunk * 4;
  case GatedDeltaKernel::SolveTril:
    return chunk * chunk * 4;
  case GatedDeltaKernel::WU: // a matrix and two factors per token
    return chunk * (chunk + 2) * 4;
  case GatedDeltaKernel::Output:
    return staged + chunk * paddedRow(chunk) * 4;
  }
  return 0;
}

} // namespace hk

#endif // HK_CONTRACT_LDSGATEDDELTA_H
