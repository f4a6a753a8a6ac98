//===- rowwise.h - What a row-wise kernel includes -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Row-wise kernels are straight-line code emitted by the compiler over the
// device layer; this header holds their shared memory and the statistic of a
// segment of a row.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ROWWISE_ROWWISE_H
#define HK_KERNELS_ROWWISE_ROWWISE_H

#include "hk/Contract/LdsRowwise.h"
#include "kernels/device/io.h"
#include "kernels/device/launch.h"
#include "kernels/device/ops.h"
#include "kernels/device/quant.h"
#include "kernels/device/reduce.h"
#include "kernels/rowwise/slices.h"

namespace hk {

/// LDS of a row-wise kernel with REDUCTIONS statistics of whole rows by TPR of
/// THREADS threads.
template <int TPR, int THREADS, int REDUCTIONS> struct RowShared {
  static constexpr i64 kBytes =
      rowwiseLds(kTarget, RowTile{THREADS / TPR, THREADS, 1, 0}, REDUCTIONS);
  static_assert(kBytes == 4 * kRowReduceFloats<TPR, THREADS, REDUCTIONS>);
  float scratch[kBytes > 0 ? kBytes / 4 : 1];
};

/// One value per thread, combined over G neighbouring threads.
template <class Op, int G> HK_DEV float segmentReduce(float v) {
  float a[1] = {v};
  groupReduce<Op, G>(a);
  return a[0];
}

/// One value per thread, combined over the TPR threads of a row.
template <class Op, int TPR, int THREADS>
HK_DEV float wholeRowReduce(float v, float *scratch) {
  float a[1] = {v};
  rowReduce<Op, TPR, THREADS>(a, scratch);
  return a[0];
}

} // namespace hk

#endif // HK_KERNELS_ROWWISE_ROWWISE_H
