//===- tma.h - Copies of boxes by the engine of sm_90a -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor map says where matrices lie and how large a box is; one thread asks
// for a box, the engine moves it between memory and LDS. Boxes lie in LDS as
// rows of 128 bytes, permuted as swizzled<128>() has it, at multiples of 1024
// bytes. Elements outside of a matrix read as zero and are not written.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_COPY_TMA_H
#define HK_KERNELS_DEVICE_COPY_TMA_H

#include "kernels/device/arch/nvptx_async.h"
#include "kernels/device/launch.h"

namespace hk {

/// As the driver encodes it.
struct alignas(64) TensorMap {
  u8 bytes[128];

  HK_MEM void prefetch() const {
    asm volatile("prefetch.tensormap [%0];" ::"l"(this) : "memory");
  }
};

/// The maps of a kernel, a parameter of its own.
template <int N> struct TensorMaps {
  TensorMap map[N];
};

/// Where a box begins: element of a row, row, matrix.
struct BoxPlace {
  int column, row, matrix;
};

/// The same of a map that has batches of matrices.
struct BatchedBoxPlace {
  int column, row, matrix, batch;
};

/// How long the L2 cache shall keep what a copy brings.
enum class Keep : u64 {
  Normal = 0x1000000000000000ull,
  Short = 0x12F0000000000000ull,
  Long = 0x14F0000000000000ull,
};

/// Neighbouring bytes of memory, a multiple of 16 like both addresses.
HK_DEV void loadBytes(u32 to, Global<const u8> from, u32 bytes,
                      LdsBarrier done) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
               "bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(done.at)
               : "memory");
}

/// A box to LDS at `to`; its bytes count at `done`.
HK_DEV void loadBox(u32 to, const TensorMap &map, LdsBarrier done, BoxPlace at,
                    Keep keep = Keep::Normal) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::"
               "complete_tx::bytes.L2::cache_hint [%0], [%1, {%3, %4, %5}], "
               "[%2], %6;" ::"r"(to),
               "l"(&map), "r"(done.at), "r"(at.column), "r"(at.row),
               "r"(at.matrix), "l"(u64(keep))
               : "memory");
}
HK_DEV void loadBox(u32 to, const TensorMap &map, LdsBarrier done,
                    BatchedBoxPlace at, Keep keep = Keep::Normal) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::"
               "complete_tx::bytes.L2::cache_hint [%0], [%1, {%3, %4, %5, "
               "%6}], [%2], %7;" ::"r"(to),
               "l"(&map), "r"(done.at), "r"(at.column), "r"(at.row),
               "r"(at.matrix), "r"(at.batch), "l"(u64(keep))
               : "memory");
}
/// The same to every block of the cluster whose bit in `blocks` is set, at the
/// same place and barrier of each.
HK_DEV void loadBoxes(u32 to, const TensorMap &map, LdsBarrier done,
                      BoxPlace at, u16 blocks, Keep keep = Keep::Normal) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::"
               "complete_tx::bytes.multicast::cluster.L2::cache_hint [%0], "
               "[%1, {%3, %4, %5}], [%2], %6, %7;" ::"r"(to),
               "l"(&map), "r"(done.at), "r"(at.column), "r"(at.row),
               "r"(at.matrix), "h"(blocks), "l"(u64(keep))
               : "memory");
}

/// Asks for a box to be in the L2 cache; it may be written meanwhile, even by
/// the kernel before: that goes through the same cache.
HK_DEV void prefetchBox(const TensorMap &map, BoxPlace at) {
  asm volatile(
      "cp.async.bulk.prefetch.tensor.3d.L2.global [%0, {%1, %2, %3}];" ::"l"(
          &map),
      "r"(at.column), "r"(at.row), "r"(at.matrix)
      : "memory");
}

/// A box from LDS; the stores since the last one are a group.
HK_DEV void storeBox(const TensorMap &map, u32 from, BoxPlace at) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group "
               "[%0, {%2, %3, %4}], [%1];\n"
               "cp.async.bulk.commit_group;" ::"l"(&map),
               "r"(from), "r"(at.column), "r"(at.row), "r"(at.matrix)
               : "memory");
}
/// Begins to copy `bytes` of LDS at `from` to memory, a group of stores.
HK_DEV void storeRun(Global<float> to, u32 from, u32 bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n"
               "cp.async.bulk.commit_group;" ::"l"(to),
               "r"(from), "r"(bytes)
               : "memory");
}
/// The same, but adds them to what is there. Each element is one addition: what
/// it is the sum of, the order of the calls says.
HK_DEV void addRun(Global<float> to, u32 from, u32 bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 "
               "[%0], [%1], %2;\n"
               "cp.async.bulk.commit_group;" ::"l"(to),
               "r"(from), "r"(bytes)
               : "memory");
}
/// Orders what the engine does to memory and this thread's own accesses.
HK_DEV void publishToMemoryCopies() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}
/// Waits until all but the last `pending` stores of this thread have read LDS.
template <int PENDING> HK_DEV void waitStoresRead() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}
/// Waits until all stores of this thread are in memory.
HK_DEV void waitStores() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

} // namespace hk

#define HK_MAPPED_BODY_(symbol, SharedType)                                    \
  HK_DEV void symbol##_body(                                                   \
      [[maybe_unused]] const hk::u64 *words, const hk::TensorMap *maps,        \
      [[maybe_unused]] hk::BlockId block, SharedType &lds)

/// An HK_EARLY_KERNEL whose variant declares `numMaps` tensor maps; they are
/// the body's `maps`, an array.
#define HK_MAPPED_KERNEL(symbol, numWords, numMaps, threads, SharedType)       \
  HK_MAPPED_BODY_(symbol, SharedType);                                         \
  extern "C" __attribute__((global))                                           \
  __attribute__((launch_bounds(threads, hk::kUnitBlocks<SharedType>,           \
                               hk::kClusterBlocks<SharedType>))) void          \
  symbol(hk::Words<numWords> args,                                             \
         const __attribute__((grid_constant)) hk::TensorMaps<numMaps> maps) {  \
    symbol##_body(args.w, maps.map,                                            \
                  hk::BlockId{hk::u32(__nvvm_read_ptx_sreg_ctaid_x()),         \
                              hk::u32(__nvvm_read_ptx_sreg_ctaid_y()),         \
                              hk::u32(__nvvm_read_ptx_sreg_ctaid_z())},        \
                  *reinterpret_cast<SharedType *>(hkDynamicShared));           \
  }                                                                            \
  HK_MAPPED_BODY_(symbol, SharedType)
/// A body with maps that shares a launch (HK_PROBLEM).
#define HK_MAPPED_PROBLEM(symbol, numWords, numMaps, threads, SharedType)      \
  using symbol##_lds = SharedType;                                             \
  HK_MAPPED_BODY_(symbol, SharedType)

#endif // HK_KERNELS_DEVICE_COPY_TMA_H
