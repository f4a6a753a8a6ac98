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

#include "Expr.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>
#include <string>
#include <vector>

namespace mlir::hk {

/// Whether statements needed in a scope may be placed before it. Never: it may
/// not run, or not for all of an outer position.
enum class Hoist { Freely, Never };

class CodeWriter {
public:
  CodeWriter() { scopes.emplace_back(); }

  /// Opens `header {`.
  void open(const llvm::Twine &header, Hoist hoist = Hoist::Freely);
  /// Opens a scope that runs where `condition` holds; empty: everywhere.
  void openIf(llvm::StringRef condition, Hoist hoist = Hoist::Never);
  /// Opens a loop of runtime/kernels: `HK_EACH_what(arguments)`.
  void openEach(llvm::StringRef what, const llvm::Twine &arguments,
                Hoist hoist = Hoist::Never);
  /// Opens a loop over the elements `name` of a vector, of which `lanes` exist;
  /// empty: all.
  void openElements(llvm::StringRef name, int vec, llvm::StringRef lanes,
                    Hoist hoist = Hoist::Never);
  /// Opens the body of a lambda, which is inlined wherever it is called.
  void openLambda(llvm::StringRef name, const llvm::Twine &parameters);
  /// Closes the innermost scope and appends it to the one around it.
  void close();
  void closeLambda();

  int depth() const { return int(scopes.size()) - 1; }
  /// The outermost depth at which a statement needed here may be placed.
  int hoistLimit() const;

  void line(const llvm::Twine &text) { lineAt(depth(), text); }
  void lineAt(int depth, const llvm::Twine &text);
  /// A statement that runs where `condition` holds; empty: everywhere.
  static std::string conditional(llvm::StringRef condition,
                                 const llvm::Twine &text);
  void lineIf(llvm::StringRef condition, const llvm::Twine &text);
  /// `const type name = value;` at a depth; returns the name.
  Expr define(int depth, llvm::StringRef prefix, const Expr &value);
  /// As define, once for the scopes inside of `depth`.
  Expr defineOnce(int depth, llvm::StringRef prefix, const Expr &value);
  /// `type name = initial;`, and what it becomes later.
  Expr declare(llvm::StringRef prefix, CType type,
               const llvm::Twine &initial = "0");
  void assign(const Expr &variable, const Expr &value);
  std::string freshName(llvm::StringRef prefix);

  /// A place in the text, at which lines may be added until it is printed.
  using Place = size_t;
  Place reserve(int depth);
  void lineInto(Place place, const llvm::Twine &text);

  /// What was remembered under `key` in an open scope, or null; for the moment.
  const Expr *recall(llvm::StringRef key);
  /// Remembers `value` in the scope of its depth.
  void remember(llvm::StringRef key, Expr value);
  /// Remembers, in the current scope, a variable that is defined here if it is
  /// recalled; `onRecall` is called then.
  void rememberIfRecalled(llvm::StringRef key, llvm::StringRef prefix,
                          const Expr &value, std::function<void()> onRecall);

  /// The text; all scopes are closed, and nothing is added any more.
  llvm::StringRef str();
  /// Prints it with every line that is not empty moved to the right.
  void print(llvm::raw_ostream &os, int indent);

private:
  struct Name {
    Expr value;
    /// Defines it; null: it is defined.
    std::function<void()> define;
  };
  struct Scope {
    std::string header;
    std::string body;
    Hoist hoist = Hoist::Freely;
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
