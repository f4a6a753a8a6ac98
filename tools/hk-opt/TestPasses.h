//===- TestPasses.h - Passes that only print -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Analyses made visible for lit tests; hk-opt has them, the compiler has not.
//
//===----------------------------------------------------------------------===//

#ifndef HK_TOOLS_HK_OPT_TESTPASSES_H
#define HK_TOOLS_HK_OPT_TESTPASSES_H

namespace mlir::hk {

/// hk-print-dims, hk-print-alignment, hk-test-resolve-dims.
void registerTestPasses();

} // namespace mlir::hk

#endif // HK_TOOLS_HK_OPT_TESTPASSES_H
