//===- TensorMaps.h - Operands for the copy engine --------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel of sm_90a may take tensor maps: 128 bytes each that the driver
// computes from an operand's address, sizes and strides, without the GPU.
// Launches repeat, so each thread remembers the last maps it made.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_DEVICE_CUDA_TENSORMAPS_H
#define HK_RUNTIME_DEVICE_CUDA_TENSORMAPS_H

#include "device/cuda/CudaApi.h"
#include "hk/Runtime/ModuleAbi.h"

namespace hk {

/// A map as kernels take it: CUtensorMap.
struct alignas(64) CudaTensorMap {
  unsigned char bytes[128];
};

/// The parameter of a kernel with maps.
struct CudaTensorMaps {
  CudaTensorMap maps[HK_MAX_TENSOR_MAPS];
};

/// Encodes the `count` maps at `maps` for a launch with `words`. Fails when an
/// operand is one that the copy engine cannot read.
Status encodeTensorMaps(const CudaApi &api, const hk_tensor_map_abi *maps,
                        uint32_t count, const uint64_t *words,
                        CudaTensorMaps &encoded);

} // namespace hk

#endif // HK_RUNTIME_DEVICE_CUDA_TENSORMAPS_H
