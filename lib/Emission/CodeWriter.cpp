//===- CodeWriter.cpp - C++ text with scopes -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scopes are kept as separate strings until they are closed. A reserved place
// is a mark and its number, a line of its own, that gives way to its text in
// the end.
//
//===----------------------------------------------------------------------===//

#include "CodeWriter.h"

#include <utility>

using namespace mlir::hk;

/// Starts the line of a reserved place; occurs in no C++.
static constexpr char kMark = '\1';

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

CodeWriter::Place CodeWriter::reserve(int depth) {
  scopes[depth].body += kMark + std::to_string(places.size()) + "\n";
  places.push_back({depth, ""});
  return places.size() - 1;
}

void CodeWriter::lineInto(Place place, const llvm::Twine &text) {
  Reserved &reserved = places[place];
  reserved.text.append(2 * reserved.depth, ' ');
  reserved.text += text.str();
  reserved.text += '\n';
}

llvm::StringRef CodeWriter::str() {
  std::string &body = scopes.front().body;
  for (size_t at = 0; (at = body.find(kMark, at)) != std::string::npos;) {
    size_t end = body.find('\n', at);
    size_t number = std::stoul(body.substr(at + 1, end - at - 1));
    body.replace(at, end + 1 - at, places[number].text);
  }
  return body;
}

llvm::StringRef CodeWriter::recall(llvm::StringRef key, int *found) {
  for (int d = depth(); d >= 0; --d) {
    auto it = scopes[d].names.find(key);
    if (it == scopes[d].names.end())
      continue;
    if (found)
      *found = d;
    if (std::function<void()> define = std::exchange(it->second.define, {}))
      define();
    return it->second.text;
  }
  return {};
}

void CodeWriter::remember(int depth, llvm::StringRef key,
                          llvm::StringRef name) {
  scopes[depth].names[key] = {name.str(), {}};
}

void CodeWriter::rememberIfRecalled(llvm::StringRef key, llvm::StringRef type,
                                    llvm::StringRef prefix,
                                    const llvm::Twine &expression,
                                    std::function<void()> onRecall) {
  std::string name = freshName(prefix);
  std::string line =
      ("const " + type + " " + name + " = " + expression + ";").str();
  Place place = reserve(depth());
  scopes.back().names[key] = {
      name, [this, place, line, onRecall = std::move(onRecall)] {
        lineInto(place, line);
        onRecall();
      }};
}

void CodeWriter::print(llvm::raw_ostream &os, int indent) {
  llvm::SmallVector<llvm::StringRef> lines;
  str().split(lines, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines)
    os.indent(indent) << line << "\n";
}
