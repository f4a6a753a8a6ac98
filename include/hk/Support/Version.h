//===- Version.h - What --version says --------------------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's option --version names LLVM alone; a report of a fault needs hk's.
//
//===----------------------------------------------------------------------===//

#ifndef HK_SUPPORT_VERSION_H
#define HK_SUPPORT_VERSION_H

namespace mlir::hk {

/// Makes LLVM's option --version print "hk 0.1.0 (LLVM 22.1.8)". To be called
/// before the command line is parsed.
void setVersionPrinter();

} // namespace mlir::hk

#endif // HK_SUPPORT_VERSION_H
