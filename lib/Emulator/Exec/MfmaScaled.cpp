//===- MfmaScaled.cpp - Scaled matrix instructions ------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Filled by the next step.
//
//===----------------------------------------------------------------------===//

#include "../OpTable.h"
namespace hk::emu {
void addMfmaScaled(OpTable &) {}
} // namespace hk::emu
