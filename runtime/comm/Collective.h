//===- Collective.h - Collectives on the host -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs what a compiled module describes with hk_collective_abi: parts of the
// input to the ranks of an axis, and the result of what they sent.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_COMM_COLLECTIVE_H
#define HK_RUNTIME_COMM_COLLECTIVE_H

#include "comm/Communicator.h"
#include "hk/Runtime/ModuleAbi.h"

namespace hk {

/// `words` are those of a launch, `numDims` of them dims. `where` says to
/// people which launch it is. Without a communicator there is one rank.
Status runCollective(Communicator *communicator,
                     const hk_collective_abi &collective, const uint64_t *words,
                     uint32_t numDims, const std::string &where);

} // namespace hk

#endif // HK_RUNTIME_COMM_COLLECTIVE_H
