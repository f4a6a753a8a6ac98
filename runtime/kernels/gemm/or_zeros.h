//===- or_zeros.h - Epilogues of rows without a product ---------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row of no group has no product, and its result is what the operators behind
// make of zeros. Kernels call the epilogue of such a row with matrix -1.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_OR_ZEROS_H
#define HK_KERNELS_GEMM_OR_ZEROS_H

#include "kernels/device/types.h"

namespace hk {

/// `Product`, and `Zeros`, which is made of the same words, where there is no
/// matrix. Only what both have may be called, and what Product alone has.
template <class Product, class Zeros> struct OrZeros : Product {
  template <int V, class In>
  HK_MEM void apply(i64 batch, i64 row, i64 col, const In &in) const {
    if (batch < 0)
      zeros().template apply<V>(batch, row, col, in);
    else
      Product::template apply<V>(batch, row, col, in);
  }
  template <int V, class In>
  HK_MEM float stat(i64 batch, i64 row, i64 col, const In &in) const {
    if (batch < 0)
      return zeros().template stat<V>(batch, row, col, in);
    return Product::template stat<V>(batch, row, col, in);
  }
  template <class In>
  HK_MEM auto two(i64 batch, i64 row, i64 col, const In &in) const {
    if (batch < 0)
      return zeros().two(batch, row, col, in);
    return Product::two(batch, row, col, in);
  }
  template <class In>
  HK_MEM auto one(i64 batch, i64 row, i64 col, const In &in) const {
    if (batch < 0)
      return zeros().one(batch, row, col, in);
    return Product::one(batch, row, col, in);
  }

private:
  HK_MEM Zeros zeros() const { return {this->words}; }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_OR_ZEROS_H
