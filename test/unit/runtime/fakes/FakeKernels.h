//===- FakeKernels.h - Kernels of the fake module -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host functions behind the fake module, shared with the fake HIP library,
// which runs the same code when it is asked to launch their symbols.
//
//===----------------------------------------------------------------------===//

#ifndef HK_TEST_UNIT_RUNTIME_FAKEKERNELS_H
#define HK_TEST_UNIT_RUNTIME_FAKEKERNELS_H

#include <cstdint>
#include <cstring>

namespace hk::fake {

/// Columns of every matrix of the fake module.
inline constexpr int64_t kColumns = 8;

/// words: a, b, out, rows, strides of a, b, out. One row a block.
inline void addRow(const uint64_t *words, const uint32_t *block,
                   const uint32_t *, void *) {
  int64_t row = block[0];
  auto *a = reinterpret_cast<const float *>(words[0]) + row * int64_t(words[4]);
  auto *b = reinterpret_cast<const float *>(words[1]) + row * int64_t(words[5]);
  auto *out = reinterpret_cast<float *>(words[2]) + row * int64_t(words[6]);
  for (int64_t i = 0; i < kColumns; ++i)
    out[i] = a[i] + b[i];
}

/// words: x, weight, out, rows, strides of x, out. Goes through LDS.
inline void scaleRow(const uint64_t *words, const uint32_t *block,
                     const uint32_t *, void *lds) {
  int64_t row = block[0];
  auto *x = reinterpret_cast<const float *>(words[0]) + row * int64_t(words[4]);
  auto *weight = reinterpret_cast<const float *>(words[1]);
  auto *out = reinterpret_cast<float *>(words[2]) + row * int64_t(words[5]);
  auto *staged = static_cast<float *>(lds);
  for (int64_t i = 0; i < kColumns; ++i)
    staged[i] = x[i] * weight[i];
  for (int64_t i = 0; i < kColumns; ++i)
    out[i] = staged[i];
}

/// words: out, rows, stride of out. Every block notes that it ran, and what the
/// first byte of its LDS was.
inline void traceBlock(const uint64_t *words, const uint32_t *block,
                       const uint32_t *, void *lds) {
  auto *out = reinterpret_cast<float *>(words[0]);
  static uint64_t order = 0; // tests with one thread only
  float *row = out + int64_t(block[0]) * kColumns;
  row[0] = static_cast<float>(__atomic_fetch_add(&order, 1, __ATOMIC_RELAXED));
  row[1] = static_cast<float>(*static_cast<unsigned char *>(lds));
  *static_cast<unsigned char *>(lds) = 1;
}

/// As traceBlock, and the last block writes one element too many.
inline void overrunRow(const uint64_t *words, const uint32_t *block,
                       const uint32_t *grid, void *) {
  auto *out = reinterpret_cast<float *>(words[0]);
  int64_t end = (block[0] + 1) * kColumns + (block[0] + 1 == grid[0]);
  for (int64_t i = block[0] * kColumns; i < end; ++i)
    out[i] = 1.0f;
}

/// Writes one byte more of LDS than the kernel declares (32).
inline void overrunLds(const uint64_t *, const uint32_t *, const uint32_t *,
                       void *lds) {
  std::memset(lds, 1, 33);
}

} // namespace hk::fake

#endif // HK_TEST_UNIT_RUNTIME_FAKEKERNELS_H
