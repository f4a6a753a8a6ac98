//===- Einsum.cpp - Einsum of ONNX --------------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum of products of two tensors is a product of matrices: letters of both
// and of the result are batch dims, those of both alone are summed.
//
//===----------------------------------------------------------------------===//

#include "Products.h"

#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

/// Letters of the operands and of the result, and the size of each.
struct Equation {
  std::string terms[2], result;
  std::map<char, Size> sizes;
};

static FailureOr<Equation> readEquation(Node &node) {
  std::string text;
  for (char c : node.text("equation", ""))
    if (c != ' ')
      text += c;
  auto refuse = [&](StringRef why) {
    return node.error() << "expected attribute 'equation' to be two terms of "
                           "different letters, '->' and a result, but got '"
                        << text << "': " << why;
  };
  auto [left, result] = StringRef(text).split("->");
  auto [first, second] = left.split(',');
  Equation made{{first.str(), second.str()}, result.str(), {}};
  if (!StringRef(text).contains("->") || !left.contains(','))
    return refuse("it has no two terms or no '->'");
  for (const std::string &term : {made.terms[0], made.terms[1], made.result}) {
    llvm::SmallSet<char, 8> seen;
    for (char c : term)
      if (!llvm::isAlpha(c) || !seen.insert(c).second)
        return refuse("a term has something else than letters, or one twice");
  }
  for (size_t i : {0, 1}) {
    const Shape &shape = node.input(i).shape;
    if (shape.size() != made.terms[i].size())
      return node.error() << "expected " << made.terms[i].size()
                          << " dims of input #" << i << ", but got "
                          << node.describe(shape);
    for (auto [c, size] : llvm::zip_equal(made.terms[i], shape)) {
      auto [known, isNew] = made.sizes.try_emplace(c, size);
      if (isNew || known->second == size)
        continue;
      if (known->second.getConstant() && size.getConstant())
        return node.error()
               << "expected one size of '" << std::string(1, c) << "', but got "
               << node.graph.symbols.describe(known->second) << " and "
               << node.graph.symbols.describe(size);
      if (size.getConstant())
        known->second = size;
    }
  }
  for (char c : made.result)
    if (!made.sizes.count(c))
      return refuse("a letter of the result is in no term");
  return made;
}

static bool has(StringRef term, char c) { return term.contains(c); }

/// `x` with dims in the order of three groups of letters; those of the last two
/// become one dim each.
static FailureOr<Tensor> grouped(Node &node, const Tensor &x,
                                 const Equation &equation, StringRef term,
                                 StringRef batch, StringRef rows,
                                 StringRef columns) {
  SmallVector<int64_t> order;
  Shape shape;
  for (char c : batch) {
    order.push_back(term.find(c));
    shape.push_back(equation.sizes.at(c));
  }
  for (StringRef group : {rows, columns}) {
    Size size = 1;
    for (char c : group) {
      order.push_back(term.find(c));
      size = size * equation.sizes.at(c);
    }
    shape.push_back(size);
  }
  HK_TRY(turned, node.transpose(x, order));
  return node.reshape(turned, shape);
}

/// An equation of one term: its letters in another order.
static LogicalResult turned(Node &node) {
  std::string text;
  for (char c : node.text("equation", ""))
    if (c != ' ')
      text += c;
  auto [term, result] = StringRef(text).split("->");
  std::string letters = term.str(), wanted = result.str();
  llvm::sort(letters);
  llvm::sort(wanted);
  bool areLetters =
      llvm::all_of(letters, llvm::isAlpha) &&
      std::unique(letters.begin(), letters.end()) == letters.end();
  if (!areLetters || letters != wanted ||
      letters.size() != node.input(0).shape.size())
    return node.error() << "expected attribute 'equation' of one term to give "
                           "its letters, one for each dim, in another order, "
                           "but got '"
                        << text << "'; sum with ReduceSum";
  HK_TRY(x, node.tensor(0));
  SmallVector<int64_t> order;
  for (char letter : result)
    order.push_back(term.find(letter));
  HK_TRY(made, node.transpose(x, order));
  return node.result(0, made);
}

static LogicalResult einsum(Node &node) {
  if (node.numInputs() == 1)
    return turned(node);
  HK_TRY(equation, readEquation(node));
  HK_TRY(x, node.tensor(0));
  HK_TRY(y, node.tensor(1));
  if (x.dtype != y.dtype || !dtypeInfo(x.dtype)->isFloat)
    return node.error() << "expected two inputs of one real type, but got "
                        << dtypeName(x.dtype) << " and " << dtypeName(y.dtype);
  const auto &[terms, result, sizes] = equation;
  std::string batch, rows, columns, summed;
  for (char c : result)
    (has(terms[0], c) ? (has(terms[1], c) ? batch : rows) : columns) += c;
  for (size_t i : {0, 1})
    for (char c : terms[i]) {
      if (has(result, c))
        continue;
      if (!has(terms[1 - i], c))
        return node.error()
               << "attribute 'equation' sums over '" << std::string(1, c)
               << "' of one input alone; put a ReduceSum in front";
      if (i == 0)
        summed += c;
    }
  HK_TRY(a, grouped(node, x, equation, terms[0], batch, rows, summed));
  HK_TRY(c, grouped(node, y, equation, terms[1], batch, summed, columns));
  HK_TRY(product, matmul(node, a, c, false, false, x.dtype));
  std::string order = batch + rows + columns;
  Shape shape;
  for (char letter : order)
    shape.push_back(sizes.at(letter));
  HK_TRY(parted, node.reshape(product, shape));
  SmallVector<int64_t> permutation;
  for (char letter : result)
    permutation.push_back(order.find(letter));
  HK_TRY(made, node.transpose(parted, permutation));
  return node.result(0, made);
}

ArrayRef<Operator> mlir::hk::importer::einsumOperators() {
  static const Operator table[] = {
      {"", "Einsum", 12, 1, 2, einsum,
       "of two real tensors, or a transpose; no letter twice in a term"},
  };
  return table;
}
