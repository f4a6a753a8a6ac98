//===- GemmLoops.h - Main loops as kernel text -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What printing a product needs to know of each main loop: a line a loop.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_GEMM_GEMMLOOPS_H
#define HK_FAMILIES_GEMM_GEMMLOOPS_H

#include "hk/Dialect/HK.h"

#include "llvm/ADT/STLExtras.h"

namespace mlir::hk {

struct GemmLoopText {
  GemmLoop loop;
  /// The class template, and its header below kernels/gemm; of products of
  /// groups that of `grouped`, if it is another.
  StringRef name, header, grouped = "";
  /// Whether each block computes the tile of its place in the grid.
  bool isBlocks = false;

  StringRef headerOf(bool ofGroups) const {
    return ofGroups && !grouped.empty() ? grouped : header;
  }
};

/// In the order in which kernels include them.
inline constexpr GemmLoopText kGemmLoopTexts[] = {
    {GemmLoop::blocks, "Gemm", "gemm.h", "", true},
    {GemmLoop::microscaled, "Microscaled", "microscaled.h", "", true},
    {GemmLoop::ping_pong, "PingPong", "ping_pong.h", "", true},
    {GemmLoop::register_cells, "RegisterCells", "sm90/register_cells.h", "",
     true},
    {GemmLoop::skinny, "Skinny", "sm90/skinny.h", "sm90/grouped_few.h"},
    {GemmLoop::skinny_codes, "SkinnyCodes", "sm90/skinny_codes.h",
     "sm90/grouped_codes.h"},
    {GemmLoop::streamed_codes, "StreamedCodes", "sm90/streamed_codes.h"},
    {GemmLoop::swapped, "Swapped", "sm90/swapped.h"},
    {GemmLoop::warp_specialised, "WarpSpecialised", "sm90/warp_specialised.h",
     "sm90/warp_grouped.h"},
};

inline const GemmLoopText &textOf(GemmLoop loop) {
  return *llvm::find_if(kGemmLoopTexts, [&](const GemmLoopText &text) {
    return text.loop == loop;
  });
}

} // namespace mlir::hk

#endif // HK_FAMILIES_GEMM_GEMMLOOPS_H
