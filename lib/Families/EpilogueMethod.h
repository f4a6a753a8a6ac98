//===- EpilogueMethod.h - A method of an epilogue's functor -----*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functor that products and attention hand their results to: kernels call
// it with V consecutive columns of a row (runtime/kernels/gemm/problem.h).
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_EPILOGUEMETHOD_H
#define HK_FAMILIES_EPILOGUEMETHOD_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::hk {

/// Writes `body` as that of a method.
inline void writeEpilogueBody(llvm::StringRef body, llvm::raw_ostream &os) {
  llvm::SmallVector<llvm::StringRef> lines;
  body.split(lines, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines)
    os << "      " << line << "\n";
}

/// Writes the method `name` for those V for which `condition` holds.
inline void writeEpilogueMethod(llvm::StringRef result, llvm::StringRef name,
                                llvm::StringRef condition, llvm::StringRef body,
                                llvm::raw_ostream &os) {
  os << "  template <int V, class In>\n    requires(" << condition
     << ")\n  HK_MEM " << result << " " << name
     << "([[maybe_unused]] i64 batch, [[maybe_unused]] i64 row,\n"
        "      [[maybe_unused]] i64 col, [[maybe_unused]] const In &in) "
        "const {\n";
  writeEpilogueBody(body, os);
  os << "  }\n";
}

} // namespace mlir::hk

#endif // HK_FAMILIES_EPILOGUEMETHOD_H
