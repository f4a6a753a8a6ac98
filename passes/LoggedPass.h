//===- LoggedPass.h - Passes that say what they decide ----------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver gives some passes its log of decisions, of which hk-compile's
// --explain is made; hk-opt gives none.
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_LOGGEDPASS_H
#define HK_PASSES_LOGGEDPASS_H

#include "hk/Families/Decision.h"

namespace mlir::hk {

/// Between a pass and `Base`, which tablegen made for it.
template <class Base> class LoggedPass : public Base {
public:
  using Base::Base;
  LoggedPass() = default;
  template <class... Options>
  explicit LoggedPass(DecisionLog &log, const Options &...options)
      : Base(options...), shared(&log) {}
  LoggedPass(const LoggedPass &other) : Base(other), shared(other.shared) {}

protected:
  /// The driver's log, or one that nobody reads.
  DecisionLog &log() { return shared ? *shared : unread; }

private:
  DecisionLog *shared = nullptr;
  DecisionLog unread;
};

} // namespace mlir::hk

#endif // HK_PASSES_LOGGEDPASS_H
