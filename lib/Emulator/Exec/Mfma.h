//===- Mfma.h - What matrix instructions share ------------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operand layout of the matrix instructions and the conversion of their lanes
// into rows of f32. MFMA ignores EXEC.
//
// With one M x M block: lane l of A (B) holds row (column) l % M and the K
// elements of chunk l / M. D register r of lane l is column l % M; its row is
// 4 * (l / 16) + r for M = 16 and 8 * (r / 4) + 4 * (l / 32) + r % 4 for M
// = 32.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_EXEC_MFMA_H
#define HK_LIB_EMULATOR_EXEC_MFMA_H

#include "../MiniFloat.h"
#include "../Valu.h"
#include <algorithm>
#include <xmmintrin.h>

namespace hk::emu {

/// Matrix instructions round to nearest even and keep denormals whatever MODE
/// says; the host's own mode follows MODE otherwise.
template <Handler F> void inMatrixMode(Wave &w, const Inst &inst) {
  constexpr unsigned nearestWithDenormals = 0x1f80;
  unsigned saved = _mm_getcsr();
  _mm_setcsr(nearestWithDenormals);
  F(w, inst);
  _mm_setcsr(saved);
}

/// Whether an overflow becomes the largest value: F32 and I32 results under
/// MODE.FP16_OVFL (CDNA4 ISA 7.1.2, 7.1.5, 7.5). f64 ignores MODE (7.4).
inline bool saturatesMatrix(const Wave &w) {
  return saturatesOverflow(w) && w.object->chip().mfmaSaturates;
}

/// An element of D, the sum of c and `depth` products a(k) * b(k): the largest
/// value where no operand explains that it is infinite.
template <class A, class B>
float saturatedSum(float sum, float c, unsigned depth, A a, B b) {
  if (!__builtin_isinf(sum) || __builtin_isinf(c))
    return sum;
  for (unsigned k = 0; k < depth; ++k)
    if (__builtin_isinf(a(k)) || __builtin_isinf(b(k)))
      return sum;
  return __builtin_copysignf(0x1.fffffep127f, sum);
}

/// c plus the integer `products`, which wraps unless it saturates.
inline uint32_t integerSum(uint32_t c, float products, bool saturates) {
  int64_t sum = int64_t(int32_t(c)) + int32_t(products);
  if (saturates)
    sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
  return uint32_t(sum);
}

enum class Mat : uint8_t { F32, Xf32, F16, Bf16, I8, Fp8, Bf8, F64 };

struct MfmaShape {
  const char *name;
  uint8_t m;      ///< rows and columns of a block
  uint8_t k;      ///< depth
  uint8_t blocks; ///< independent products
  Mat a, b;
  uint16_t clocks942, clocks950;
};

/// Bytes of one element.
inline unsigned matBytes(Mat type) {
  switch (type) {
  case Mat::F64:
    return 8;
  case Mat::F32:
  case Mat::Xf32:
    return 4;
  case Mat::F16:
  case Mat::Bf16:
    return 2;
  default:
    return 1;
  }
}

/// Element `e` of every lane of an operand as f32.
void unpackElement(Wave &w, unsigned reg, Mat type, unsigned e, float *lanes);

inline unsigned mfmaRow(unsigned m, unsigned r, unsigned group) {
  return m == 16 ? 4 * group + r : 8 * (r / 4) + 4 * group + r % 4;
}

/// C of an MFMA: registers or one constant for all elements.
const uint32_t *mfmaC(Wave &w, const Operand &c, unsigned r);

/// The lane of B that a lane reads under blgp.
unsigned blgpLane(unsigned blgp, unsigned lane);

/// The defined lanes of B as they are after blgp has moved it.
uint64_t movedLanes(unsigned blgp, uint64_t defined);

/// One product more in an f32 sum. Elements are doubles where a scale takes
/// them out of the range of f32.
inline float multiplyAdd(float a, float b, float sum) {
  return __builtin_fmaf(a, b, sum);
}
inline float multiplyAdd(double a, double b, float sum) {
  return float(__builtin_fma(a, b, double(sum)));
}

/// Two rows of D: rows `row0` and `row1` of A (a[k][row]) times b[k][0..M).
/// Two at once, so that a row of B is loaded once for both.
template <unsigned M, class T>
inline void mfmaRowProducts(const T (*a)[M], const T (*b)[M], unsigned depth,
                            unsigned row0, unsigned row1, float *acc0,
                            float *acc1) {
  for (unsigned k = 0; k < depth; ++k) {
    T x = a[k][row0], y = a[k][row1];
    for (unsigned j = 0; j < M; ++j) {
      acc0[j] = multiplyAdd(x, b[k][j], acc0[j]);
      acc1[j] = multiplyAdd(y, b[k][j], acc1[j]);
    }
  }
}

/// Undefined rows of A and columns of B make their part of D undefined.
/// `la` and `lb` are the defined lanes of A and B.
template <unsigned M>
inline void propagateMfma(Wave &w, const Operand &d, const Operand &c,
                          uint64_t la, uint64_t lb) {
  if ((la & lb) == ~0ull && definedLanes(w, c) == ~0ull) {
    for (unsigned r = 0; r < d.width; ++r)
      define(w, d.reg + r, ~0ull);
    return;
  }
  uint64_t rows = ~0ull, cols = ~0ull;
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(la >> l & 1))
      rows &= ~(1ull << (l % M));
    if (!(lb >> l & 1))
      cols &= ~(1ull << (l % M));
  }
  for (unsigned r = 0; r < d.width; ++r) {
    uint64_t ok = c.isVgpr() ? w.vd[c.reg + r].whole() : ~0ull;
    for (unsigned l = 0; l < kLanes; ++l)
      if (!(rows >> mfmaRow(M, r, l / M) & 1) || !(cols >> (l % M) & 1))
        ok &= ~(1ull << l);
    setDefinedLanes(w, d.reg + r, ~0ull, ok);
  }
}

/// D = A * B + C for one M x M block whose operands are unpacked: a[k][row],
/// b[k][column]. `definedB` are the defined lanes of B.
template <unsigned M, class T>
void mfmaMultiply(Wave &w, const Inst &inst, const T (*a)[M], const T (*b)[M],
                  uint64_t definedB, unsigned depth, bool integer) {
  constexpr unsigned groups = kLanes / M, regs = M * M / kLanes;
  const Operand &c = inst.o[3];
  if (w.checks)
    propagateMfma<M>(w, inst.o[0], c, definedLanes(w, inst.o[1]), definedB);
  alignas(64) uint32_t out[regs][kLanes];
  bool saturates = saturatesMatrix(w);
  for (unsigned r = 0; r < regs; ++r) {
    const uint32_t *from = mfmaC(w, c, r);
    for (unsigned g = 0; g < groups; g += 2) {
      alignas(64) float acc[2 * M];
      if (integer) // sums of at most 64 products are exact in f32
        std::memset(acc, 0, sizeof acc);
      else
        std::memcpy(acc, from + g * M, sizeof acc);
      mfmaRowProducts<M>(a, b, depth, mfmaRow(M, r, g), mfmaRow(M, r, g + 1),
                         acc, acc + M);
      for (unsigned j = 0; integer && j < 2 * M; ++j)
        out[r][g * M + j] = integerSum(from[g * M + j], acc[j], saturates);
      for (unsigned j = 0; !integer && saturates && j < 2 * M; ++j)
        acc[j] = saturatedSum(
            acc[j], fromBits<float>(from[g * M + j]), depth,
            [&](unsigned k) { return a[k][mfmaRow(M, r, g + j / M)]; },
            [&](unsigned k) { return b[k][j % M]; });
      if (!integer)
        std::memcpy(out[r] + g * M, acc, sizeof acc);
    }
  }
  for (unsigned r = 0; r < regs; ++r)
    std::memcpy(w.v[inst.o[0].reg + r], out[r], sizeof out[r]);
}

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_EXEC_MFMA_H
