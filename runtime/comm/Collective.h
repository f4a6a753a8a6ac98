//===- Collective.h - Collectives on the host -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs what a compiled module describes with hk_collective_abi: parts of the
// input to the ranks of an axis, and the result of what they sent. On the host
// by messages, on other devices by their engine.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_COMM_COLLECTIVE_H
#define HK_RUNTIME_COMM_COLLECTIVE_H

#include "comm/Communicator.h"
#include "comm/Views.h"
#include "hk/Runtime/ModuleAbi.h"

namespace hk {

/// A collective with the tensors of a launch.
struct CollectiveProblem {
  explicit CollectiveProblem(const hk_collective_abi &abi) : abi(abi) {}

  const hk_collective_abi &abi;
  int64_t ranks = 1, place = 0;
  DType dtype = DType::F32, resultDType = DType::F32;
  std::vector<int64_t> sizes; // of the input
  ByteView input, result;
  int64_t partBytes = 0; // of what a rank gets from another one

  /// What goes to the rank at `place`.
  ByteView inputPart(int64_t place) const;
  std::string sizesText() const; // "2x64xbf16"
};

/// Whether the only thing it makes is this rank's place.
bool isPlaceOnly(const hk_collective_abi &abi);

/// The input of a kernel with `numPointers` pointers.
void readInput(const RankLine &line, const uint64_t *words,
               uint32_t numPointers, uint32_t numDims,
               CollectiveProblem &problem);
/// `words` are those of a launch, `numDims` of them dims.
Status readProblem(const RankLine &line, const uint64_t *words,
                   uint32_t numDims, CollectiveProblem &problem);

/// `words` are those of a launch, `numDims` of them dims. `where` says to
/// people which launch it is. Without a communicator there is one rank.
Status runCollective(Communicator *communicator,
                     const hk_collective_abi &collective, const uint64_t *words,
                     uint32_t numDims, const std::string &where);

/// The same on another device: enqueued on the stream.
Status runDeviceCollective(Device &device, Communicator *communicator,
                           const hk_collective_abi &collective,
                           const uint64_t *words, uint32_t numDims,
                           void *stream);

/// Of a kernel that makes the exchange itself, over `blocks` blocks: the words
/// behind those of its launch. What it cannot take from the other ranks' memory
/// the engine brings first, on the stream. `sent`: address of what the launch
/// before has sent, 0 for nothing.
Status beginKernelExchange(Device &device, Communicator &communicator,
                           const hk_kernel_abi &kernel, const uint64_t *words,
                           uint32_t blocks, void *stream, uint64_t sent,
                           uint64_t *extra);

/// Of a product that sends its result, launched as `plan` says: the words
/// behind those of its launch. The address of what it sends, or 0.
uint64_t beginSending(const Device &device, const Communicator &communicator,
                      const hk_kernel_abi &kernel, const hk_launch_plan &plan,
                      const uint64_t *words, uint64_t *extra);

} // namespace hk

#endif // HK_RUNTIME_COMM_COLLECTIVE_H
