//===- Times.h - Times of every kernel of a call ----------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// hk-run --times. On a GPU each launch is timed by events.
//
//===----------------------------------------------------------------------===//

#ifndef HK_TOOLS_HK_RUN_TIMES_H
#define HK_TOOLS_HK_RUN_TIMES_H

#include "Session.h"

namespace hk::run {

/// Times `calls` more calls of a session that has called once, and as many on
/// cold arguments if `coldBytes` is not 0, and appends a line of JSON to
/// `path`:
///   {"function", "iterations", "call_us": S, "kernels": [
///     {"kernel", "variant", "ops", "launches", "warm_us": S, "cold_us": S}]}
/// S is {"min", "median", "max"} in microseconds; of a kernel it is about one
/// launch (the mean of those of a call), "call_us" is about a call with the
/// wait for it, by the host's clock. "cold_us" is there with `coldBytes` only.
/// "first_us" of a kernel is its launch in the session's first call.
/// States keep what the calls make of them.
void appendTimes(const std::string &path, Session &session, uint32_t calls,
                 uint64_t coldBytes);

} // namespace hk::run

#endif // HK_TOOLS_HK_RUN_TIMES_H
