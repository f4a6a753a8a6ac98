//===- DimSymbolsBuilder.h - Union-find of sizes -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state while dims are being named. DimRelations.cpp reads what operators
// state of their sizes, DimRules.cpp knows views and index arithmetic;
// DimSymbols.cpp runs both and numbers the classes.
//
//===----------------------------------------------------------------------===//

#ifndef HK_LIB_ANALYSIS_DIMSYMBOLSBUILDER_H
#define HK_LIB_ANALYSIS_DIMSYMBOLSBUILDER_H

#include "hk/Analysis/DimSymbols.h"
#include "hk/Dialect/ShapeRelations.h"

#include <map>
#include <memory>
#include <tuple>

namespace mlir::hk {

class DimSymbolsBuilder {
public:
  using Node = unsigned;
  using Kind = SizeExpr::Kind;

  /// Adds the arguments of `block` and runs the rules of its ops. Twice: sizes
  /// that are computed from equal sizes are found equal the second time.
  void run(Block &block, ArrayRef<SmallVector<DimName>> argumentNames);
  void finish(Block &block, DimSymbols &result);

  // For the rules.
  Node node(Value tensor, int64_t dim);
  Node constantNode(int64_t value);
  Node indexNode(Value index);
  Node sizeNode(OpFoldResult size);
  void unite(Node a, Node b);
  /// Result dims [resultBegin, +n) equal operand dims [operandBegin, +n).
  void same(Value a, int64_t aBegin, Value b, int64_t bBegin, int64_t n);
  void sameShape(Value a, Value b);
  /// The size that `kind` computes from `operands`; of dim `dim` of `value`.
  void derive(Kind kind, ArrayRef<Node> operands, int64_t constant, Value value,
              int64_t dim) {
    derive(node(value, dim), kind, operands, constant, value, dim);
  }

  /// The same, of a size that no tensor has.
  Node compute(Kind kind, ArrayRef<Node> operands, int64_t constant) {
    Node made = make();
    derive(made, kind, operands, constant, Value(), 0);
    return made;
  }

private:
  struct Entry {
    Node parent;
    int64_t constant = -1; // of the class, at its representative
    std::optional<SizeExpr> expr;
    SmallVector<Node, 2> operands; // of a derived size
  };
  using Key = std::tuple<Kind, std::vector<Node>, int64_t>;

  void derive(Node result, Kind kind, ArrayRef<Node> operands, int64_t constant,
              Value value, int64_t dim);
  Node make();
  Node find(Node n);
  Key keyOf(Kind kind, ArrayRef<Node> operands, int64_t constant);
  void declare(Block &block);
  std::map<Node, SmallVector<Node>> preferredExpressions();
  llvm::DenseMap<Node, Node>
  foundedExpressions(const std::map<Node, SmallVector<Node>> &expressions);
  struct Names;
  void nameTensors(Block &block, Names &names, DimSymbols &result);
  SizeExpr expressionOf(Node n, Names &names);
  void addGuards(const std::map<Node, SmallVector<Node>> &expressions,
                 Names &names, DimSymbols &result);
  void visit(Operation *op);
  void visitView(Operation *op);
  void visitIndex(Operation *op);
  void visitFused(FusedOp fused);
  void visitLaunch(LaunchOp launch);
  void relateLaunch(LaunchOp launch, KernelOp kernel,
                    llvm::DenseMap<DimName, Node> &nodeOfName);
  const DimSymbols &symbolsOf(KernelOp kernel);
  std::optional<Node> instantiate(const DimSymbols &dims, const SizeExpr &size,
                                  llvm::DenseMap<DimName, Node> &nodeOfName);
  void visitStated(Operation *op);
  void relate(Value value, int64_t dim, const SizeTerm &size);
  Node nodeOf(const SizeTerm &size);
  SmallVector<Node> operandsOf(const SizeTerm &size, int64_t &constant);
  void reassociate(Value collapsed, Value expanded,
                   ArrayRef<ReassociationIndices> groups);

  std::vector<Entry> nodes;
  /// A dim of each symbol that arguments were given, by number; of one that no
  /// argument has, no tensor.
  SmallVector<std::pair<Value, int64_t>> given;
  llvm::DenseMap<Value, SmallVector<Node>> tensors;
  llvm::DenseMap<Value, Node> indices;
  llvm::DenseMap<int64_t, Node> constants;
  std::map<Key, Node> derived;
  llvm::DenseMap<StringAttr, KernelOp> kernels; // of the module, once needed
  llvm::DenseMap<KernelOp, std::unique_ptr<DimSymbols>> kernelSymbols;
};

} // namespace mlir::hk

#endif // HK_LIB_ANALYSIS_DIMSYMBOLSBUILDER_H
