//===- CodeWriter.h - C++ text with scopes -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sink for generated C++. Text goes to a scope; a statement may be added to
// any open scope and then comes before the inner scopes that are still open.
// That is how values that do not depend on a loop are computed outside of it.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_COMMON_CODEWRITER_H
#define HK_FAMILIES_COMMON_CODEWRITER_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace mlir::hk {

class CodeWriter {
public:
  CodeWriter() { scopes.emplace_back(); }

  /// Opens `header {`. What is added to a conditional scope or below may not
  /// run, or not for all of an outer position: nothing is hoisted out of it.
  void open(const llvm::Twine &header, bool conditional = false);
  /// Closes the innermost scope and appends it to the one around it.
  void close();

  int depth() const { return int(scopes.size()) - 1; }
  /// The outermost depth at which a statement needed here may be placed.
  int hoistLimit() const;

  void line(const llvm::Twine &text) { lineAt(depth(), text); }
  void lineAt(int depth, const llvm::Twine &text);
  /// `const type name = expression;` at a depth; returns the name.
  std::string define(int depth, llvm::StringRef type, llvm::StringRef prefix,
                     const llvm::Twine &expression);
  std::string freshName(llvm::StringRef prefix);

  /// What was remembered under `key` in an open scope, or empty; `depth` is set
  /// to that scope's.
  llvm::StringRef recall(llvm::StringRef key, int *depth = nullptr) const;
  void remember(int depth, llvm::StringRef key, llvm::StringRef name);

  /// The text so far; all scopes are closed.
  llvm::StringRef str() const { return scopes.front().body; }
  /// Prints it with every line that is not empty moved to the right.
  void print(llvm::raw_ostream &os, int indent) const;

private:
  struct Scope {
    std::string header;
    std::string body;
    bool conditional = false;
    llvm::StringMap<std::string> names;
  };
  llvm::SmallVector<Scope> scopes;
  int counter = 0;
};

} // namespace mlir::hk

#endif // HK_FAMILIES_COMMON_CODEWRITER_H
