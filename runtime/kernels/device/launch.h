//===- launch.h - Kernel entry points -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// HK_KERNEL hides how an entry is declared on each platform. Everything after
// the macro is the body of `symbol_body(words, block, lds)`:
//
//   HK_KERNEL(my_kernel, 5, 256, 2, MyShared) {
//     auto x = hk::global<hk::bf16>(words[0]);
//     ...
//   }
//
// AMD: static LDS, so that the compiler refuses what does not fit. sm_90a:
// dynamic LDS, whose size is the contract's; the runtime starts blocks while
// the kernel before still runs, so every one waits for it first. Host: one
// thread runs one block, the caller owns the LDS buffer.
//
// HK_PROBLEM, with the same arguments, declares the body alone: a problem that
// shares a launch with others. The entry point of that launch has a HK_KERNEL
// whose body calls one of them for every block (kernels/device/problems.h).
//
// HK_EARLY_KERNEL is the same, but its body waits itself (beginAfterLast),
// after it has asked for memory it is going to read (prefetchL2).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_LAUNCH_H
#define HK_KERNELS_DEVICE_LAUNCH_H

#include "hk/Contract/Occupancy.h"
#include "kernels/device/arch.h"
#include "kernels/device/types.h"

namespace hk {

struct BlockId {
  u32 x, y, z;
};

/// Kernel arguments as the runtime passes them to a GPU: one struct by value.
template <int N> struct Words {
  u64 w[N];
};

/// SharedType of a kernel without LDS.
struct NoShared {};

/// LDS bytes of SharedType; what the compiler reports and requests.
template <class SharedType>
inline constexpr i64 kLdsBytes =
    __is_empty(SharedType) ? 0 : i64(sizeof(SharedType));

/// Blocks of a cluster of a kernel with LDS of SharedType; 0: none.
template <class SharedType>
inline constexpr int kClusterBlocks = [] {
  if constexpr (requires { SharedType::kCluster; })
    return SharedType::kCluster;
  else
    return 0;
}();

/// Blocks that a unit shall have registers for.
template <class SharedType>
inline constexpr int kUnitBlocks = [] {
  if constexpr (requires { SharedType::kUnitBlocks; })
    return SharedType::kUnitBlocks;
  else
    return 1;
}();

/// The argument words in the memory that the launch put them in. The body's own
/// `words` are all read when a kernel begins, which more of them than a chip
/// has scalar registers make it regret; these are read where they are used.
#if defined(__AMDGCN__)
using LaunchWords = const __attribute__((address_space(4))) u64 *;
HK_DEV LaunchWords launchWords(const u64 *) {
  return (LaunchWords)__builtin_amdgcn_kernarg_segment_ptr();
}
#else
using LaunchWords = const u64 *;
HK_DEV LaunchWords launchWords(const u64 *words) { return words; }
#endif

/// The pointer held by an argument word.
template <class T> HK_DEV Global<T> global(u64 word) { return (Global<T>)word; }

} // namespace hk

#define HK_BODY_(symbol, SharedType)                                           \
  HK_DEV void symbol##_body([[maybe_unused]] const hk::u64 *words,             \
                            [[maybe_unused]] hk::BlockId block,                \
                            [[maybe_unused]] SharedType &lds)

#if defined(__AMDGCN__)

#define HK_ENTRY_(begin, symbol, numWords, threads, minBlocks, SharedType)     \
  HK_BODY_(symbol, SharedType);                                                \
  extern "C" __attribute__((global))                                           \
  __attribute__((amdgpu_flat_work_group_size(threads, threads)))               \
  __attribute__((amdgpu_waves_per_eu(                                          \
      hk::wavesPerSimd(hk::kTarget, threads, minBlocks)))) void                \
  symbol(hk::Words<numWords> args) {                                           \
    __attribute__((shared)) SharedType lds;                                    \
    symbol##_body(args.w,                                                      \
                  hk::BlockId{__builtin_amdgcn_workgroup_id_x(),               \
                              __builtin_amdgcn_workgroup_id_y(),               \
                              __builtin_amdgcn_workgroup_id_z()},              \
                  lds);                                                        \
  }                                                                            \
  HK_BODY_(symbol, SharedType)

#elif defined(__NVPTX__)

extern __attribute__((shared))
__attribute__((aligned(128))) hk::u8 hkDynamicShared[];

#define HK_ENTRY_(begin, symbol, numWords, threads, minBlocks, SharedType)     \
  HK_BODY_(symbol, SharedType);                                                \
  extern "C" __attribute__((global)) __attribute__((                           \
      launch_bounds(threads, minBlocks, hk::kClusterBlocks<SharedType>))) void \
  symbol(hk::Words<numWords> args) {                                           \
    begin;                                                                     \
    symbol##_body(args.w,                                                      \
                  hk::BlockId{hk::u32(__nvvm_read_ptx_sreg_ctaid_x()),         \
                              hk::u32(__nvvm_read_ptx_sreg_ctaid_y()),         \
                              hk::u32(__nvvm_read_ptx_sreg_ctaid_z())},        \
                  *reinterpret_cast<SharedType *>(hkDynamicShared));           \
  }                                                                            \
  HK_BODY_(symbol, SharedType)

#else

#define HK_ENTRY_(begin, symbol, numWords, threads, minBlocks, SharedType)     \
  HK_BODY_(symbol, SharedType);                                                \
  extern "C" __attribute__((visibility("default"))) void symbol(               \
      const uint64_t *words, const uint32_t *block,                            \
      [[maybe_unused]] const uint32_t *grid, void *lds) {                      \
    static_assert(sizeof(uint64_t) == sizeof(hk::u64));                        \
    symbol##_body(reinterpret_cast<const hk::u64 *>(words),                    \
                  hk::BlockId{block[0], block[1], block[2]},                   \
                  *static_cast<SharedType *>(lds));                            \
  }                                                                            \
  HK_BODY_(symbol, SharedType)

#endif

#define HK_KERNEL(...) HK_ENTRY_(hk::beginAfterLast(), __VA_ARGS__)
#define HK_PROBLEM(symbol, numWords, threads, minBlocks, SharedType)           \
  using symbol##_lds = SharedType;                                             \
  HK_BODY_(symbol, SharedType)
#define HK_EARLY_KERNEL(...) HK_ENTRY_((void)0, __VA_ARGS__)

#endif // HK_KERNELS_DEVICE_LAUNCH_H
