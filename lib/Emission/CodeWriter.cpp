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

void CodeWriter::open(const llvm::Twine &header, Hoist hoist) {
  Scope scope;
  scope.header = header.str();
  scope.hoist = hoist;
  scopes.push_back(std::move(scope));
}

void CodeWriter::openIf(llvm::StringRef condition, Hoist hoist) {
  if (condition.empty())
    return open("", hoist);
  open("if (" + condition + ")", hoist);
}

void CodeWriter::openEach(llvm::StringRef what, const llvm::Twine &arguments,
                          Hoist hoist) {
  open("HK_EACH_" + what + "(" + arguments + ")", hoist);
}

void CodeWriter::openElements(llvm::StringRef name, int vec,
                              llvm::StringRef lanes, Hoist hoist) {
  if (lanes.empty())
    openEach("ELEMENT", name + ", " + llvm::Twine(vec), hoist);
  else
    openEach("ELEMENT_BELOW", name + ", " + llvm::Twine(vec) + ", " + lanes,
             hoist);
}

void CodeWriter::openLambda(llvm::StringRef name,
                            const llvm::Twine &parameters) {
  open("const auto " + name + " = [&](" + parameters +
           ") __attribute__((always_inline))",
       Hoist::Never);
}

void CodeWriter::closeLambda() {
  close();
  line(";");
}

void CodeWriter::close() {
  Scope inner = scopes.pop_back_val();
  lineAt(depth(), inner.header + " {");
  scopes.back().body += inner.body;
  lineAt(depth(), "}");
}

int CodeWriter::hoistLimit() const {
  for (int d = depth(); d > 0; --d)
    if (scopes[d].hoist == Hoist::Never)
      return d;
  return 0;
}

void CodeWriter::lineAt(int depth, const llvm::Twine &text) {
  std::string &body = scopes[depth].body;
  body.append(2 * depth, ' ');
  body += text.str();
  body += '\n';
}

void CodeWriter::lineIf(llvm::StringRef condition, const llvm::Twine &text) {
  line(conditional(condition, text));
}

std::string CodeWriter::conditional(llvm::StringRef condition,
                                    const llvm::Twine &text) {
  return condition.empty() ? text.str()
                           : ("if (" + condition + ") " + text).str();
}

static std::string definition(const std::string &name, const Expr &value) {
  return "const " + value.type.text() + " " + name + " = " + value.text + ";";
}

Expr CodeWriter::define(int depth, llvm::StringRef prefix, const Expr &value) {
  std::string name = freshName(prefix);
  lineAt(depth, definition(name, value));
  return {name, value.type, depth};
}

Expr CodeWriter::declare(llvm::StringRef prefix, CType type,
                         const llvm::Twine &initial) {
  std::string name = freshName(prefix);
  line(type.text() + " " + name + " = " + initial + ";");
  return {name, type, depth()};
}

void CodeWriter::assign(const Expr &variable, const Expr &value) {
  checkType(value, variable.type, variable.text);
  line(variable.text + " = " + value.text + ";");
}

/// Whether the device layer has a type of this name (device/types.h).
static bool namesType(llvm::StringRef name) {
  return name.consume_front("i") || name.consume_front("u") ||
                 name.consume_front("f") || name.consume_front("bf")
             ? name == "8" || name == "16" || name == "32" || name == "64"
             : false;
}

std::string CodeWriter::freshName(llvm::StringRef prefix) {
  std::string name = (prefix + llvm::Twine(counter++)).str();
  return namesType(name) ? freshName(prefix) : name;
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

Expr CodeWriter::defineOnce(int depth, llvm::StringRef prefix,
                            const Expr &value) {
  if (const Expr *known = recall(value.text))
    return *known;
  Expr made = define(depth, prefix, value);
  remember(value.text, made);
  return made;
}

const Expr *CodeWriter::recall(llvm::StringRef key) {
  for (int d = depth(); d >= 0; --d) {
    auto it = scopes[d].names.find(key);
    if (it == scopes[d].names.end())
      continue;
    if (std::function<void()> define = std::exchange(it->second.define, {}))
      define();
    return &it->second.value;
  }
  return nullptr;
}

void CodeWriter::remember(llvm::StringRef key, Expr value) {
  Scope &scope = scopes[value.depth];
  scope.names[key] = {std::move(value), {}};
}

void CodeWriter::rememberIfRecalled(llvm::StringRef key, llvm::StringRef prefix,
                                    const Expr &value,
                                    std::function<void()> onRecall) {
  std::string name = freshName(prefix);
  std::string line = definition(name, value);
  Place place = reserve(depth());
  scopes.back().names[key] = {
      {name, value.type, depth()},
      [this, place, line, onRecall = std::move(onRecall)] {
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
