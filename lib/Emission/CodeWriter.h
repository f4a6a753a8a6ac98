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
// A place may be reserved for statements that only later text asks for, and a
// definition may wait for its name to be recalled: so nothing is emitted twice
// to find out what it needs.
//
//===----------------------------------------------------------------------===//

#ifndef HK_LIB_EMISSION_CODEWRITER_H
#define HK_LIB_EMISSION_CODEWRITER_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>
#include <string>
#include <vector>

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

  /// A place in the text, at which lines may be added until it is printed.
  using Place = size_t;
  Place reserve(int depth);
  void lineInto(Place place, const llvm::Twine &text);

  /// What was remembered under `key` in an open scope, or empty; `depth` is set
  /// to that scope's.
  llvm::StringRef recall(llvm::StringRef key, int *depth = nullptr);
  void remember(int depth, llvm::StringRef key, llvm::StringRef name);
  /// Remembers, in the current scope, a variable that is defined here if it is
  /// recalled; `onRecall` is called then.
  void rememberIfRecalled(llvm::StringRef key, llvm::StringRef type,
                          llvm::StringRef prefix, const llvm::Twine &expression,
                          std::function<void()> onRecall);

  /// The text; all scopes are closed, and nothing is added any more.
  llvm::StringRef str();
  /// Prints it with every line that is not empty moved to the right.
  void print(llvm::raw_ostream &os, int indent);

private:
  struct Name {
    std::string text;
    /// Defines it; null: it is defined.
    std::function<void()> define;
  };
  struct Scope {
    std::string header;
    std::string body;
    bool conditional = false;
    llvm::StringMap<Name> names;
  };
  struct Reserved {
    int depth;
    std::string text;
  };
  llvm::SmallVector<Scope> scopes;
  std::vector<Reserved> places;
  int counter = 0;
};

} // namespace mlir::hk

#endif // HK_LIB_EMISSION_CODEWRITER_H
