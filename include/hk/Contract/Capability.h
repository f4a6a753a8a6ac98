//===- Capability.h - What only some chips can do ---------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions and engines that a family asks for by name, so that none
// compares chips. Sources: the PTX ISA, sections "redux.sync", "wgmma" and
// "cp.async.bulk.tensor".
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_CAPABILITY_H
#define HK_CONTRACT_CAPABILITY_H

#include "hk/Contract/DType.h"
#include "hk/Contract/Target.h"

#include <cstdint>

namespace hk {

/// Copies boxes of a tensor into LDS on its own, from a map of the tensor.
constexpr bool hasCopyEngine(const Target &target) {
  return target.arch == Arch::Sm90a;
}

/// Multiplies by warpgroups, whose operands are in LDS and whose products run
/// on beside the instructions that follow.
constexpr bool hasWarpgroupProducts(const Target &target) {
  return target.arch == Arch::Sm90a;
}

/// Whether the scaled matrix instruction, if the chip has one, takes elements
/// of `d` as they are.
constexpr bool multipliesScaled(const Target &target, DType d) {
  return target.scaledMma &&
         (d == DType::F8E4M3FN || d == DType::F8E5M2 || d == DType::F4E2M1FN);
}

/// Reduces an integer over a wave in one instruction.
constexpr bool reducesWaveAtOnce(const Target &target) {
  return target.arch == Arch::Sm90a;
}

/// A product of groups keeps the rows that its threads copy in registers;
/// elsewhere a table in LDS names them.
constexpr bool keepsRowsInRegisters(const Target &target) {
  return target.arch != Arch::Host && target.arch != Arch::Sm90a;
}

/// A tile of a product of groups takes the blocks of places that it has room
/// for, one product for each run of blocks of one group. Elsewhere, where that
/// was not measured, it has one block.
constexpr bool takesRunsOfBlocks(const Target &target) {
  return target.arch == Arch::Gfx942 || target.arch == Arch::Gfx950 ||
         target.arch == Arch::Tiny;
}

/// The epilogue of a product leaves what it stores in 8 bits unrounded, as
/// storing packs it: LLVM does not know that packing undoes unpacking.
/// Elsewhere, where that was not counted, it is rounded first.
constexpr bool roundsWhereItStores(const Target &target) {
  return target.arch == Arch::Sm90a;
}

/// Blocks read rows through buffer descriptors, whose offsets have 32 bits
/// (kernels/device/mma/view.h).
constexpr bool readsAtOffsets(const Target &target) {
  return target.arch != Arch::Host && target.arch != Arch::Sm90a;
}
/// Such offsets are below it; what is outside of the rows is sent here.
inline constexpr int64_t kReachBytes = 0xFFFFFFC0;

/// Ranks reduce tensors as hk.all_reduce means it: in their order, in f32. The
/// libraries of other devices have rings and trees, whose partial sums are
/// rounded and in no stated order.
constexpr bool reducesRanksAsMeant(const Target &target) {
  return target.arch == Arch::Host;
}

} // namespace hk

#endif // HK_CONTRACT_CAPABILITY_H
