//===- Check.h - Comparison with the reference -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// hk-run itself knows only the C interface of the runtime. What --check needs
// from the compiler is behind this one function, which the build links in.
//
//===----------------------------------------------------------------------===//

#ifndef HK_TOOLS_HK_RUN_CHECK_H
#define HK_TOOLS_HK_RUN_CHECK_H

#include "Values.h"

namespace hk::run {

enum class Role { Input, State, Output };

struct CheckTensor {
  std::string name;
  Role role;
  const HostTensor *before; // inputs and states: what the call was given
  const HostTensor *after;  // states and outputs: what it left
};

struct CheckRequest {
  std::string sourcePath; // the .mlir the module was compiled from
  std::string function;
  std::string target; // of the section that ran: "host", "gfx942", ...
  /// Looked into one after the other; empty: the module has no weights.
  std::vector<std::string> weightsPaths;
  std::vector<CheckTensor> tensors; // in the order of the call
};

/// Evaluates the function with the reference interpreter on the same inputs and
/// prints, for every state and output, its largest error beside the bound.
/// Returns 0 when all are within their bounds, 1 when not, 2 when it could not
/// tell (after printing why).
int checkAgainstReference(const CheckRequest &request);

} // namespace hk::run

#endif // HK_TOOLS_HK_RUN_CHECK_H
