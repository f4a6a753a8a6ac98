//===- mma.h - The matrix layer of this target -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// BlockMma<D, BM, BN, BK, WM, WN>: a C tile distributed over the lanes of a
// block. Each architecture owns its lane map; the rest of the code sees it
// through forEach / forSlab(slot, row, col, Vec<Acc, V> &), rowOf, laneReduce
// and rowLead. A slab is kSlabRows rows of every wave row. The host has no
// lanes: its matrix products are in mma/host.h.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_MMA_H
#define HK_KERNELS_DEVICE_MMA_H

#include "kernels/device/arch.h"

#if defined(__gfx942__) || defined(__gfx950__)
#include "kernels/device/mma/cdna.h"
#if defined(__gfx950__)
#include "kernels/device/mma/cdna_scaled.h"
#endif
#include "kernels/device/mma/tile_copy.h"
#elif defined(__AMDGCN__)
#include "kernels/device/mma/rdna.h"
#include "kernels/device/mma/tile_copy.h"
#elif defined(__NVPTX__)
#include "kernels/device/mma/sm90.h"
#include "kernels/device/mma/tile_copy.h"
#else
#include "kernels/device/mma/host.h"
#endif

#endif // HK_KERNELS_DEVICE_MMA_H
