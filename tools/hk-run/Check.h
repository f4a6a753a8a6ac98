//===- Check.h - Comparison with the reference -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// hk-run itself knows only the C interface of the runtime. What --check needs
// from the compiler is behind this one function of libhk_check.so.
//
//===----------------------------------------------------------------------===//

#ifndef HK_TOOLS_HK_RUN_CHECK_H
#define HK_TOOLS_HK_RUN_CHECK_H

#include "Expected.h"

namespace hk::run {

enum class Role { Input, State, Output };

struct CheckTensor {
  std::string name;
  Role role;
  const HostTensor *before; // inputs and states: what the call was given
};

struct CheckRequest {
  std::string sourcePath; // the .mlir the module was compiled from
  std::string function;
  /// Looked into one after the other; empty: the module has no weights.
  std::vector<std::string> weightsPaths;
  std::vector<CheckTensor> tensors; // in the order of the call
  /// Those of every rank, where the module has a mesh; the results of `rank`
  /// are asked for.
  std::vector<std::vector<CheckTensor>> ranks;
  uint32_t rank = 0;
  /// The module's; a source without one is cut as the compiler cuts it.
  std::string mesh;
};

/// Evaluates the function with the reference interpreter on the same inputs:
/// what it expects of every state, then of every output, in the order of the
/// call. False when it could not tell, after printing why.
bool evaluateReference(const CheckRequest &request,
                       std::vector<Expected> &expected);

} // namespace hk::run

#endif // HK_TOOLS_HK_RUN_CHECK_H
