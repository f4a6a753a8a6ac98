//===- CodeWriter.cpp - C++ text with scopes -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scopes are kept as separate strings until they are closed.
//
//===----------------------------------------------------------------------===//

#include "CodeWriter.h"

using namespace mlir::hk;

void CodeWriter::open(const llvm::Twine &header, bool conditional) {
  Scope scope;
  scope.header = header.str();
  scope.conditional = conditional;
  scopes.push_back(std::move(scope));
}

void CodeWriter::close() {
  Scope inner = scopes.pop_back_val();
  lineAt(depth(), inner.header + " {");
  scopes.back().body += inner.body;
  lineAt(depth(), "}");
}

int CodeWriter::hoistLimit() const {
  for (int d = depth(); d > 0; --d)
    if (scopes[d].conditional)
      return d;
  return 0;
}

void CodeWriter::lineAt(int depth, const llvm::Twine &text) {
  std::string &body = scopes[depth].body;
  body.append(2 * depth, ' ');
  body += text.str();
  body += '\n';
}

std::string CodeWriter::define(int depth, llvm::StringRef type,
                               llvm::StringRef prefix,
                               const llvm::Twine &expression) {
  std::string name = freshName(prefix);
  lineAt(depth, "const " + type + " " + name + " = " + expression + ";");
  return name;
}

std::string CodeWriter::freshName(llvm::StringRef prefix) {
  return (prefix + llvm::Twine(counter++)).str();
}

llvm::StringRef CodeWriter::recall(llvm::StringRef key, int *found) const {
  for (int d = depth(); d >= 0; --d) {
    auto it = scopes[d].names.find(key);
    if (it == scopes[d].names.end())
      continue;
    if (found)
      *found = d;
    return it->second;
  }
  return {};
}

void CodeWriter::remember(int depth, llvm::StringRef key,
                          llvm::StringRef name) {
  scopes[depth].names[key] = name.str();
}

void CodeWriter::print(llvm::raw_ostream &os, int indent) const {
  llvm::SmallVector<llvm::StringRef> lines;
  str().split(lines, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines)
    os.indent(indent) << line << "\n";
}
