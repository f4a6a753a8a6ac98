//===- MutationTest.cpp - Damaged ONNX models -----------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An ONNX file is not trusted. Small models whose bytes, numbers and names are
// changed at random, from a fixed seed, end in a module or in an error; with
// sanitizers this test also sees what does not crash.
//
//===----------------------------------------------------------------------===//

#include "hk/Import/Onnx.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/raw_ostream.h"

#include <onnx/onnx_pb.h>

#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace mlir::hk;

namespace {
using Ints = std::vector<int64_t>;

::onnx::NodeProto *node(::onnx::GraphProto &graph, const char *op,
                        std::initializer_list<const char *> inputs,
                        const char *output) {
  ::onnx::NodeProto *made = graph.add_node();
  made->set_op_type(op);
  for (const char *input : inputs)
    made->add_input(input);
  made->add_output(output);
  return made;
}

void attribute(::onnx::NodeProto *node, const char *name, int64_t value) {
  ::onnx::AttributeProto *made = node->add_attribute();
  made->set_name(name);
  made->set_type(::onnx::AttributeProto::INT);
  made->set_i(value);
}

void integers(::onnx::GraphProto &graph, const char *name, const Ints &values) {
  ::onnx::TensorProto *made = graph.add_initializer();
  made->set_name(name);
  made->set_data_type(::onnx::TensorProto::INT64);
  made->add_dims(values.size());
  for (int64_t value : values)
    made->add_int64_data(value);
}

void floats(::onnx::GraphProto &graph, const char *name, const Ints &dims) {
  ::onnx::TensorProto *made = graph.add_initializer();
  made->set_name(name);
  made->set_data_type(::onnx::TensorProto::FLOAT);
  int64_t count = 1;
  for (int64_t dim : dims) {
    made->add_dims(dim);
    count *= dim;
  }
  made->set_raw_data(std::string(count * 4, '\x3f'));
}

/// A model that meets every kind of operator's code: shapes from shapes, views,
/// products, norms, reductions, gathers, attention.
::onnx::ModelProto model() {
  ::onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(23);
  ::onnx::GraphProto &graph = *model.mutable_graph();
  auto *input = graph.add_input();
  input->set_name("x");
  auto *type = input->mutable_type()->mutable_tensor_type();
  type->set_elem_type(::onnx::TensorProto::FLOAT);
  type->mutable_shape()->add_dim()->set_dim_param("batch");
  type->mutable_shape()->add_dim()->set_dim_param("sequence");
  type->mutable_shape()->add_dim()->set_dim_value(16);
  floats(graph, "w", {16, 32});
  floats(graph, "scale", {32});
  integers(graph, "zero", {0});
  integers(graph, "two", {2});
  integers(graph, "most", {INT64_MAX});
  integers(graph, "rest", {-1, 4, 8});
  node(graph, "MatMul", {"x", "w"}, "m");
  node(graph, "RMSNormalization", {"m", "scale"}, "n");
  node(graph, "Shape", {"n"}, "s");
  node(graph, "Gather", {"s", "zero"}, "s0");
  node(graph, "Concat", {"s0", "rest"}, "shape");
  attribute(graph.mutable_node(4), "axis", 0);
  node(graph, "Reshape", {"n", "shape"}, "heads");
  node(graph, "Transpose", {"heads"}, "t");
  auto *perm = graph.mutable_node(6)->add_attribute();
  perm->set_name("perm");
  perm->set_type(::onnx::AttributeProto::INTS);
  for (int64_t d : {0, 2, 1, 3})
    perm->add_ints(d);
  node(graph, "Slice", {"t", "zero", "most", "two"}, "cut");
  attribute(node(graph, "Attention", {"cut", "cut", "cut"}, "o"), "is_causal",
            1);
  node(graph, "Transpose", {"o"}, "u")->add_attribute()->CopyFrom(*perm);
  attribute(node(graph, "Flatten", {"u"}, "f"), "axis", 2);
  attribute(node(graph, "ReduceMean", {"u", "two"}, "mean"), "keepdims", 1);
  node(graph, "Sub", {"u", "mean"}, "y");
  node(graph, "Split", {"n"}, "p0")->add_output("p1");
  attribute(graph.mutable_node(13), "axis", 2);
  node(graph, "TopK", {"p0", "two"}, "v")->add_output("i");
  node(graph, "Gather", {"w", "i"}, "g");
  for (const char *name : {"y", "f", "g", "p1"})
    graph.add_output()->set_name(name);
  return model;
}

/// Imports these bytes; whether they are a model, and the errors.
bool import(const std::string &bytes, std::string &errors) {
  SmallString<128> path;
  int file;
  EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("model", "onnx", file, path));
  llvm::FileRemover remover(path);
  {
    llvm::raw_fd_ostream out(file, /*shouldClose=*/true);
    out << bytes;
  }
  static MLIRContext context(MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  ScopedDiagnosticHandler handler(
      &context, [&](Diagnostic &diag) { errors += diag.str() + "\n"; });
  OnnxImporter importer(&context, OnnxOptions());
  return succeeded(importer.add(path, "f"));
}

/// Every mutant is a module, or an error says why not.
void check(const std::string &bytes, unsigned &accepted) {
  std::string errors;
  bool done = import(bytes, errors);
  accepted += done;
  EXPECT_TRUE(done || !errors.empty());
}

TEST(Mutation, WholeModel) {
  std::string errors;
  EXPECT_TRUE(import(model().SerializeAsString(), errors)) << errors;
}

TEST(Mutation, Truncated) {
  std::string bytes = model().SerializeAsString();
  unsigned accepted = 0;
  for (size_t n = 0; n < bytes.size(); n += 7)
    check(bytes.substr(0, n), accepted);
  EXPECT_EQ(accepted, 0u);
}

TEST(Mutation, Bytes) {
  std::string bytes = model().SerializeAsString();
  std::mt19937 random(1);
  unsigned accepted = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string mutant = bytes;
    for (unsigned k = random() % 4; k < 4; ++k)
      mutant[random() % mutant.size()] = char(random());
    check(mutant, accepted);
  }
  // Weights and names may change.
  EXPECT_GT(accepted, 0u);
  EXPECT_LT(accepted, 1400u);
}

/// Numbers where bounds are.
int64_t oddNumber(std::mt19937 &random) {
  constexpr int64_t kOdd[] = {0,
                              1,
                              -1,
                              2,
                              3,
                              -7,
                              17,
                              64,
                              INT64_MAX,
                              INT64_MIN,
                              1LL << 31,
                              1LL << 40,
                              (1LL << 62) + 1};
  return kOdd[random() % std::size(kOdd)];
}

void mutate(::onnx::ModelProto &model, std::mt19937 &random) {
  ::onnx::GraphProto &graph = *model.mutable_graph();
  auto &node = *graph.mutable_node(random() % graph.node_size());
  auto &tensor =
      *graph.mutable_initializer(random() % graph.initializer_size());
  switch (random() % 9) {
  case 0: // another input, perhaps a later node's: a cycle
    if (node.input_size())
      node.set_input(random() % node.input_size(),
                     graph.node(random() % graph.node_size()).output(0));
    break;
  case 1:
    if (node.attribute_size())
      node.mutable_attribute(0)->set_i(oddNumber(random));
    break;
  case 2:
    if (node.attribute_size() && node.attribute(0).ints_size())
      node.mutable_attribute(0)->set_ints(
          random() % node.attribute(0).ints_size(), oddNumber(random));
    break;
  case 3:
    node.set_op_type(graph.node(random() % graph.node_size()).op_type());
    break;
  case 4:
    if (tensor.int64_data_size())
      tensor.set_int64_data(0, oddNumber(random));
    break;
  case 5:
    tensor.set_dims(0, oddNumber(random));
    break;
  case 6:
    tensor.set_data_type(int(random() % 26));
    break;
  case 7: {
    auto &shape =
        *graph.mutable_input(0)->mutable_type()->mutable_tensor_type();
    shape.mutable_shape()
        ->mutable_dim(random() % 3)
        ->set_dim_value(oddNumber(random));
    break;
  }
  case 8:
    graph.mutable_input(0)
        ->mutable_type()
        ->mutable_tensor_type()
        ->set_elem_type(int(random() % 26));
    break;
  }
}

TEST(Mutation, Fields) {
  std::mt19937 random(2);
  unsigned accepted = 0;
  for (int i = 0; i < 2500; ++i) {
    ::onnx::ModelProto mutant = model();
    for (unsigned k = random() % 3; k < 3; ++k)
      mutate(mutant, random);
    check(mutant.SerializeAsString(), accepted);
  }
  EXPECT_GT(accepted, 0u);
  EXPECT_LT(accepted, 2500u);
}
} // namespace
