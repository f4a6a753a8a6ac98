//===- Choice.cpp - If of ONNX --------------------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// hk's functions have no control flow. Where shapes tell which branch is taken,
// as torch's exporter asks for the rank of a tensor, its nodes are the graph's.
// What else exporters write as If chooses between constants: rotary tables for
// short and for long sequences. Those are one table here, with the row where
// the chosen one begins.
//
//===----------------------------------------------------------------------===//

#include "Node.h"

#include <onnx/onnx_pb.h>

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

static FailureOr<const ::onnx::TensorProto *>
constantOf(Node &node, const ::onnx::GraphProto &branch, StringRef name) {
  for (const auto &tensor : branch.initializer())
    if (tensor.name() == name)
      return &tensor;
  for (const auto &inner : branch.node())
    if (inner.op_type() == "Constant" && inner.output_size() == 1 &&
        inner.output(0) == name)
      for (const auto &attribute : inner.attribute())
        if (attribute.name() == "value" && attribute.has_t())
          return &attribute.t();
  return node.error() << "expected branches of constants, but '" << name
                      << "' is computed; hk has no control flow: export a "
                         "model for one of the branches";
}

static FailureOr<const ::onnx::GraphProto *> branchOf(Node &node,
                                                      StringRef name) {
  const auto *attribute = node.attribute(name);
  if (!attribute || !attribute->has_g() ||
      size_t(attribute->g().output_size()) != node.numOutputs())
    return node.error() << "expected attribute '" << name
                        << "' to be a graph with as many outputs as the node";
  return &attribute->g();
}

/// What a branch gives, which must be constants.
static FailureOr<SmallVector<Data>>
readBranch(Node &node, const ::onnx::GraphProto &branch) {
  SmallVector<Data> made;
  for (const auto &output : branch.output()) {
    HK_TRY(tensor, constantOf(node, branch, output.name()));
    HK_TRY(data, node.graph.store.read(node.loc, *tensor));
    made.push_back(data);
  }
  return made;
}

static Item itemOf(const Data &data, StringRef name) {
  Item made;
  made.dtype = data.dtype;
  made.shape.assign(data.sizes.begin(), data.sizes.end());
  made.data = data;
  made.name = name.str();
  return made;
}

/// Whether both are tables of equally wide rows.
static bool areTables(const Data &a, const Data &b) {
  return a.sizes.size() == 2 && b.sizes.size() == 2 &&
         a.sizes[1] == b.sizes[1] && dtypeInfo(a.dtype)->isFloat &&
         dtypeInfo(a.dtype)->bits >= 8;
}

/// One table behind the other.
static Item joined(Node &node, size_t i, const Data &first, const Data &second,
                   Value firstRow) {
  Data both = first;
  both.sizes[0] += second.sizes[0];
  both.bytes = node.graph.store.keep((first.bytes + second.bytes).str());
  Item made = itemOf(both, node.outputName(i));
  made.firstRow = firstRow;
  return made;
}

static LogicalResult choose(Node &node, size_t i, const Tensor &condition,
                            const Data &yes, const Data &no,
                            llvm::DenseMap<int64_t, Value> &firstRows) {
  if (yes.dtype != no.dtype)
    return node.error() << "expected branches of one type, but got "
                        << dtypeName(yes.dtype) << " and "
                        << dtypeName(no.dtype);
  if (areTables(yes, no) && node.graph.isRotaryTable(node.outputName(i))) {
    Value &row = firstRows[yes.sizes[0]];
    if (!row) {
      HK_TRY(none, node.scalar(0, kInt32));
      HK_TRY(behind, node.scalar(double(yes.sizes[0]), kInt32));
      HK_TRY(made, node.select(condition, none, behind));
      row = made.value;
    }
    return node.result(i, joined(node, i, yes, no, row));
  }
  if (yes.sizes != no.sizes || yes.dtype == kBool || yes.dtype == kUInt8)
    return node.error() << "expected branches of numbers of one shape, or "
                           "rotary tables of GroupQueryAttention, for output '"
                        << node.outputName(i)
                        << "'; export a model for one of the branches";
  HK_TRY(a, node.constant(yes, (node.outputName(i) + ".then").str()));
  HK_TRY(c, node.constant(no, (node.outputName(i) + ".else").str()));
  HK_TRY(made, node.select(condition, a, c));
  return node.result(i, made);
}

static LogicalResult choice(Node &node) {
  HK_TRY(first, branchOf(node, "then_branch"));
  HK_TRY(second, branchOf(node, "else_branch"));
  if (auto known = node.graph.integersOf(node.input(0));
      known && known->size() == 1 && known->front().getConstant()) {
    const auto *taken = known->front().isConstant(0) ? second : first;
    if (failed(node.graph.importBranch(node.loc, *taken)))
      return failure();
    for (size_t i = 0; i < node.numOutputs(); ++i)
      if (node.wants(i) &&
          failed(node.result(i, *node.graph.find(taken->output(i).name()))))
        return failure();
    return success();
  }
  HK_TRY(yes, readBranch(node, *first));
  HK_TRY(no, readBranch(node, *second));
  HK_TRY(given, node.tensor(0));
  if (given.dtype != kBool)
    return node.error() << "expected a condition of bool, but got "
                        << dtypeName(given.dtype);
  HK_TRY(condition, node.reshape(given, {}));
  llvm::DenseMap<int64_t, Value> firstRows;
  for (size_t i = 0; i < node.numOutputs(); ++i)
    if (node.wants(i) &&
        failed(choose(node, i, condition, yes[i], no[i], firstRows)))
      return failure();
  return success();
}

ArrayRef<Operator> mlir::hk::importer::choiceOperators() {
  static const Operator table[] = {
      {"", "If", 1, 1, 1, choice,
       "of a condition known from shapes, or of constants of one shape or "
       "rotary tables of GroupQueryAttention"},
  };
  return table;
}
