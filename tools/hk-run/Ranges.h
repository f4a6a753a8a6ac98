//===- Ranges.h - What integer inputs may hold ------------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module says of its integer arguments which values their readers can use:
// rows of a table, offsets that end at the number of tokens, free slots. Inputs
// that nobody gave are drawn from these, so that a call is a right one.
//
//===----------------------------------------------------------------------===//

#ifndef HK_TOOLS_HK_RUN_RANGES_H
#define HK_TOOLS_HK_RUN_RANGES_H

#include "Options.h"

#include <map>
#include <string>

namespace hk::run {

/// The range that `values` (docs/abi.md) means for these sizes, by name
/// ("x.0"); zeros for "".
IntegerRange declaredRange(const std::string &values,
                           const std::map<std::string, int64_t> &sizes);

/// "random in [0, 7]", for the report.
std::string rangeText(const IntegerRange &range);

} // namespace hk::run

#endif // HK_TOOLS_HK_RUN_RANGES_H
