//===- DimSymbols.cpp - Which dynamic sizes are equal ---------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The union-find, the numbering of its classes and the guards that follow.
// Nodes are made in block order and every choice goes to the smallest node, so
// the names are a function of the block alone.
//
//===----------------------------------------------------------------------===//

#include "DimSymbolsBuilder.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <algorithm>
#include <set>

using namespace mlir;
using namespace mlir::hk;

using Node = DimSymbolsBuilder::Node;

Node DimSymbolsBuilder::make() {
  Entry entry;
  entry.parent = nodes.size();
  nodes.push_back(std::move(entry));
  return nodes.size() - 1;
}

Node DimSymbolsBuilder::find(Node n) {
  while (nodes[n].parent != n)
    n = nodes[n].parent = nodes[nodes[n].parent].parent;
  return n;
}

void DimSymbolsBuilder::unite(Node a, Node b) {
  a = find(a);
  b = find(b);
  // Two different constants: a contradiction, which the verifiers and the
  // guards report. It must not spread.
  if (a == b || (nodes[a].constant >= 0 && nodes[b].constant >= 0))
    return;
  if (b < a)
    std::swap(a, b);
  nodes[b].parent = a;
  nodes[a].constant = std::max(nodes[a].constant, nodes[b].constant);
}

Node DimSymbolsBuilder::constantNode(int64_t value) {
  auto [it, inserted] = constants.try_emplace(value, 0);
  if (inserted) {
    it->second = make();
    nodes[it->second].constant = value;
    nodes[it->second].expr.emplace();
    nodes[it->second].expr->kind = Kind::Constant;
    nodes[it->second].expr->constant = value;
  }
  return it->second;
}

Node DimSymbolsBuilder::node(Value tensor, int64_t dim) {
  auto [it, inserted] = tensors.try_emplace(tensor);
  if (inserted) {
    SmallVector<Node> made;
    for (int64_t size : cast<RankedTensorType>(tensor.getType()).getShape())
      made.push_back(ShapedType::isDynamic(size) ? make() : constantNode(size));
    it->second = std::move(made);
  }
  return it->second[dim];
}

Node DimSymbolsBuilder::indexNode(Value index) {
  APInt constant;
  if (auto it = indices.find(index); it != indices.end())
    return it->second;
  Node made;
  if (matchPattern(index, m_ConstantInt(&constant)) && !constant.isNegative()) {
    made = constantNode(constant.getSExtValue());
  } else {
    made = make();
    SizeExpr &expr = nodes[made].expr.emplace();
    expr.kind = Kind::Index;
    expr.value = index;
  }
  indices[index] = made;
  return made;
}

Node DimSymbolsBuilder::sizeNode(OpFoldResult size) {
  if (auto attr = dyn_cast<Attribute>(size))
    return constantNode(cast<IntegerAttr>(attr).getInt());
  return indexNode(cast<Value>(size));
}

void DimSymbolsBuilder::same(Value a, int64_t aBegin, Value b, int64_t bBegin,
                             int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    unite(node(a, aBegin + i), node(b, bBegin + i));
}

void DimSymbolsBuilder::sameShape(Value a, Value b) {
  same(a, 0, b, 0, cast<RankedTensorType>(a.getType()).getRank());
}

DimSymbolsBuilder::Key
DimSymbolsBuilder::keyOf(Kind kind, ArrayRef<Node> operands, int64_t constant) {
  std::vector<Node> found;
  for (Node n : operands)
    found.push_back(find(n));
  llvm::sort(found);
  return {kind, std::move(found), constant};
}

void DimSymbolsBuilder::derive(Node result, Kind kind, ArrayRef<Node> operands,
                               int64_t constant, Value value, int64_t dim) {
  bool plain = operands.size() == 1 && constant == (kind == Kind::Sum ? 0 : 1);
  if (plain)
    return unite(result, operands[0]);
  auto [it, inserted] = derived.try_emplace(keyOf(kind, operands, constant));
  if (!inserted)
    return unite(result, it->second);
  it->second = result;
  // (a * c) / c is a, and (a / c) * c is a: reshapes divide exactly.
  if (operands.size() == 1 && (kind == Kind::Product || kind == Kind::FloorDiv))
    derived.try_emplace(
        keyOf(kind == Kind::Product ? Kind::FloorDiv : Kind::Product, result,
              constant),
        operands[0]);
  if (operands.size() == 1 && kind == Kind::Sum)
    derived.try_emplace(keyOf(kind, result, -constant), operands[0]);
  // The same expression, when a rule runs again, adds nothing.
  if (nodes[result].expr && !nodes[result].operands.empty())
    return;
  // The size of an argument has an expression already: what it must be equal to
  // is another one, and a guard checks it.
  if (find(result) != result || nodes[result].constant >= 0 ||
      nodes[result].expr) {
    Node own = make();
    unite(own, result);
    result = own;
  }
  SizeExpr &expr = nodes[result].expr.emplace();
  expr.kind = kind;
  expr.value = value;
  expr.dim = dim;
  expr.constant = constant;
  nodes[result].operands.assign(operands.begin(), operands.end());
}

/// The caller says that dims of one name are equal: a guard checks it.
void DimSymbolsBuilder::declare(Block &block) {
  auto func = dyn_cast_or_null<FunctionOpInterface>(block.getParentOp());
  if (!func || !block.isEntryBlock())
    return;
  llvm::StringMap<Node> declared;
  for (BlockArgument argument : block.getArguments()) {
    auto names = func.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(),
                                                  kDimsAttrName);
    if (!names || !isa<RankedTensorType>(argument.getType()))
      continue;
    for (auto [dim, name] : llvm::enumerate(names.getAsRange<StringAttr>()))
      if (name.getValue() != "_")
        if (auto [it, inserted] =
                declared.try_emplace(name.getValue(), node(argument, dim));
            !inserted)
          unite(node(argument, dim), it->second);
  }
}

void DimSymbolsBuilder::run(Block &block,
                            ArrayRef<SmallVector<DimName>> argumentNames) {
  for (BlockArgument argument : block.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type)
      continue;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      Node n = node(argument, dim);
      if (type.isDynamicDim(dim)) {
        SizeExpr &expr = nodes[n].expr.emplace();
        expr.kind = Kind::Argument;
        expr.value = argument;
        expr.dim = dim;
      }
      if (argumentNames.empty())
        continue;
      DimName name = argumentNames[argument.getArgNumber()][dim];
      if (name >= 0) {
        unite(n, constantNode(name));
        continue;
      }
      size_t symbol = SymShapeAttr::symbolOf(name);
      if (given.size() <= symbol)
        given.resize(symbol + 1);
      auto &[tensor, at] = given[symbol];
      if (tensor)
        unite(n, node(tensor, at));
      else
        std::tie(tensor, at) = std::pair(Value(argument), dim);
    }
  }
  declare(block);
  for (int pass = 0; pass < 2; ++pass) {
    derived.clear();
    for (Operation &op : block)
      visit(&op);
  }
}

/// The expressions of each class: what it is better computed from first, then
/// in node order.
std::map<Node, SmallVector<Node>> DimSymbolsBuilder::preferredExpressions() {
  std::map<Node, SmallVector<Node>> expressions;
  for (Node n = 0; n < nodes.size(); ++n)
    if (nodes[n].expr)
      expressions[find(n)].push_back(n);
  auto rank = [&](Node n) {
    Kind kind = nodes[n].expr->kind;
    return kind == Kind::Constant ? 0 : kind == Kind::Argument ? 1 : 2;
  };
  for (auto &[representative, list] : expressions)
    llvm::stable_sort(list, [&](Node a, Node b) { return rank(a) < rank(b); });
  return expressions;
}

/// An expression for each class such that none is computed, through others, of
/// itself. Two views may say a = b * c and b = a / c of sizes that were found
/// equal later; then one of them has none and only its tensor tells it.
llvm::DenseMap<Node, Node> DimSymbolsBuilder::foundedExpressions(
    const std::map<Node, SmallVector<Node>> &expressions) {
  llvm::DenseMap<Node, Node> founded;
  llvm::DenseSet<Node> opaque;
  SmallVector<Node> open;
  auto define = [&](auto &self, Node n) -> bool {
    n = find(n);
    auto it = expressions.find(n);
    if (it == expressions.end() || founded.count(n) || opaque.count(n))
      return true;
    if (llvm::is_contained(open, n))
      return false;
    open.push_back(n);
    auto isFounded = [&](Node operand) { return self(self, operand); };
    const Node *chosen = llvm::find_if(it->second, [&](Node expr) {
      return llvm::all_of(nodes[expr].operands, isFounded);
    });
    open.pop_back();
    if (chosen != it->second.end())
      founded[n] = *chosen;
    else if (open.empty())
      opaque.insert(n);
    return chosen != it->second.end() || open.empty();
  };
  for (auto &[representative, list] : expressions)
    define(define, representative);
  return founded;
}

/// Names of the classes, in the order in which they are asked for.
struct DimSymbolsBuilder::Names {
  DimSymbolsBuilder &builder;
  llvm::DenseMap<Node, DimName> names;
  SmallVector<Node> classes; // of the symbols, then of constants with members
  SmallVector<std::pair<Value, int64_t>> first; // a dim of each symbol

  explicit Names(DimSymbolsBuilder &builder) : builder(builder) {}

  DimName of(Node n) {
    n = builder.find(n);
    if (builder.nodes[n].constant >= 0)
      return builder.nodes[n].constant;
    auto [it, inserted] =
        names.try_emplace(n, -1 - static_cast<int64_t>(classes.size()));
    if (inserted)
      classes.push_back(n);
    return it->second;
  }

  /// Whether `n` is a constant or its class has a name.
  bool has(Node n) {
    n = builder.find(n);
    return builder.nodes[n].constant >= 0 || names.count(n);
  }
};

/// Names the given symbols, then the dims of all tensors of the block and what
/// is known of indices.
void DimSymbolsBuilder::nameTensors(Block &block, Names &names,
                                    DimSymbols &result) {
  // Given symbols keep their numbers, also where none or another one, which was
  // found equal, stands for one.
  for (auto [tensor, dim] : given) {
    names.of(!tensor || names.has(node(tensor, dim)) ? make()
                                                     : node(tensor, dim));
    names.first.push_back({tensor, dim});
  }
  auto nameTensor = [&](Value value) {
    if (!isa<RankedTensorType>(value.getType()))
      return;
    SmallVector<DimName> &shape = result.shapes[value];
    int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
    for (int64_t dim = 0; dim < rank; ++dim) {
      shape.push_back(names.of(node(value, dim)));
      if (names.first.size() < names.classes.size())
        names.first.push_back({value, dim});
    }
  };
  for (Value argument : block.getArguments())
    nameTensor(argument);
  for (Operation &op : block)
    for (Value value : op.getResults())
      nameTensor(value);
  for (auto &[value, n] : indices) // order-free: only fills a map
    if (names.has(n))
      result.indices[value] = names.of(n);
}

/// The expression of a node, with names for its operands.
SizeExpr DimSymbolsBuilder::expressionOf(Node n, Names &names) {
  SizeExpr expr = *nodes[n].expr;
  for (Node operand : nodes[n].operands)
    expr.operands.push_back(names.of(operand));
  return expr;
}

/// What must agree at run time: every further expression of a class with its
/// first one.
void DimSymbolsBuilder::addGuards(
    const std::map<Node, SmallVector<Node>> &expressions, Names &names,
    DimSymbols &result) {
  auto key = [&](Node n) {
    return keyOf(nodes[n].expr->kind, nodes[n].operands,
                 nodes[n].expr->constant);
  };
  for (const auto &[representative, list] : expressions) {
    if (!names.has(representative))
      continue; // no tensor has it
    SizeExpr canonical = expressionOf(list.front(), names);
    std::set<Key> seen{key(list.front())};
    for (Node n : ArrayRef<Node>(list).drop_front()) {
      // What the function computes from nothing that is known here.
      if (nodes[n].expr->kind == Kind::Index)
        continue;
      if (!nodes[n].operands.empty() && !seen.insert(key(n)).second)
        continue;
      result.assumed.push_back({canonical, expressionOf(n, names)});
    }
  }
}

void DimSymbolsBuilder::finish(Block &block, DimSymbols &result) {
  Names names(*this);
  nameTensors(block, names, result);
  std::map<Node, SmallVector<Node>> expressions = preferredExpressions();
  llvm::DenseMap<Node, Node> founded = foundedExpressions(expressions);
  // Operands of an expression may name further classes: the list grows.
  auto defineClasses = [&] {
    for (size_t i = result.definitions.size(); i < names.classes.size(); ++i) {
      SizeExpr definition;
      if (auto it = founded.find(names.classes[i]); it != founded.end())
        definition = expressionOf(it->second, names);
      else if (i < names.first.size())
        std::tie(definition.value, definition.dim) = names.first[i];
      result.definitions.push_back(definition);
    }
  };
  defineClasses();
  addGuards(expressions, names, result);
  defineClasses(); // those that only guards name
}

DimSymbols::DimSymbols(Block &block)
    : DimSymbols(block, ArrayRef<SmallVector<DimName>>()) {}

DimSymbols::DimSymbols(Block &block,
                       ArrayRef<SmallVector<DimName>> argumentNames) {
  DimSymbolsBuilder builder;
  builder.run(block, argumentNames);
  builder.finish(block, *this);
}

DimSymbols DimSymbols::ofKernel(KernelOp kernel) {
  SmallVector<SmallVector<DimName>> names;
  for (auto shape : kernel.getShapes().getAsRange<SymShapeAttr>())
    names.emplace_back(shape.getSizes().begin(), shape.getSizes().end());
  return DimSymbols(kernel.getSpecBlock(), names);
}

ArrayRef<DimName> DimSymbols::shape(Value value) const {
  auto it = shapes.find(value);
  return it == shapes.end() ? ArrayRef<DimName>() : ArrayRef(it->second);
}

void DimSymbols::alias(Value known, Value added) {
  if (auto it = shapes.find(known); it != shapes.end()) {
    SmallVector<DimName> shape = it->second;
    shapes[added] = std::move(shape);
  }
  if (std::optional<DimName> index = name(known))
    indices[added] = *index;
}

std::optional<DimName> DimSymbols::name(Value index) const {
  auto it = indices.find(index);
  if (it == indices.end())
    return std::nullopt;
  return it->second;
}
