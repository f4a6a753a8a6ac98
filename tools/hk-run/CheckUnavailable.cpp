//===- CheckUnavailable.cpp - hk-run without the reference -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linked when hk-run is built without the compiler.
//
//===----------------------------------------------------------------------===//

#include "Check.h"

#include <cstdio>

int hk::run::checkAgainstReference(const CheckRequest &) {
  std::fprintf(stderr, "hk-run: --check needs the reference interpreter, and "
                       "this hk-run was built without the compiler\n");
  return 2;
}
