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

/// Bytes as a weight, their count that of `dims`.
void bytes(::onnx::GraphProto &graph, const char *name, const Ints &dims,
           int dtype) {
  ::onnx::TensorProto *made = graph.add_initializer();
  made->set_name(name);
  made->set_data_type(dtype);
  int64_t count = 1;
  for (int64_t dim : dims) {
    made->add_dims(dim);
    count *= dim;
  }
  std::string values(count, '\0');
  for (int64_t i = 0; i < count; ++i)
    values[i] = char(37 * i);
  made->set_raw_data(values);
}

::onnx::NodeProto *microsoft(::onnx::NodeProto *node) {
  node->set_domain("com.microsoft");
  return node;
}

/// Quantised operators, experts, and functions that call each other.
::onnx::ModelProto quantisedModel() {
  constexpr int kUInt8 = ::onnx::TensorProto::UINT8,
                kInt8 = ::onnx::TensorProto::INT8;
  ::onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(21);
  ::onnx::OperatorSetIdProto &mine = *model.add_opset_import();
  mine.set_domain("mine");
  mine.set_version(1);
  for (const char *name : {"Outer", "Inner"}) {
    ::onnx::FunctionProto &function = *model.add_functions();
    function.set_name(name);
    function.set_domain("mine");
    function.add_input("a");
    function.add_output("r");
    ::onnx::NodeProto &node = *function.add_node();
    bool isOuter = std::string(name) == "Outer";
    node.set_op_type(isOuter ? "Inner" : "LeakyRelu");
    node.set_domain(isOuter ? "mine" : "");
    node.add_input("a");
    node.add_output("r");
    ::onnx::AttributeProto &alpha = *node.add_attribute();
    alpha.set_name("alpha");
    alpha.set_type(::onnx::AttributeProto::FLOAT);
    alpha.set_ref_attr_name("alpha");
  }
  ::onnx::GraphProto &graph = *model.mutable_graph();
  auto *input = graph.add_input();
  input->set_name("x");
  auto *type = input->mutable_type()->mutable_tensor_type();
  type->set_elem_type(::onnx::TensorProto::FLOAT);
  for (const char *dim : {"batch", "sequence"})
    type->mutable_shape()->add_dim()->set_dim_param(dim);
  type->mutable_shape()->add_dim()->set_dim_value(32);
  floats(graph, "s", {});
  bytes(graph, "z", {}, kUInt8);
  bytes(graph, "w", {32, 16}, kInt8);
  floats(graph, "ws", {16});
  bytes(graph, "u", {32, 16}, kUInt8);
  bytes(graph, "uz", {16}, kUInt8);
  bytes(graph, "nb", {16, 2, 8}, kUInt8);
  floats(graph, "ns", {16, 2});
  bytes(graph, "nz", {16, 1}, kUInt8);
  bytes(graph, "table", {8, 16}, kUInt8);
  floats(graph, "ts", {8, 2});
  integers(graph, "ids", {0, -1, 7});
  floats(graph, "router", {32, 4});
  integers(graph, "rows", {-1, 32});
  floats(graph, "fc1", {4, 16, 32});
  floats(graph, "fc2", {4, 32, 8});
  bytes(graph, "q1", {4, 16, 16}, kUInt8);
  floats(graph, "q1s", {4, 16});
  bytes(graph, "q2", {4, 32, 4}, kUInt8);
  floats(graph, "q2s", {4, 32});
  node(graph, "QuantizeLinear", {"x", "s", "z"}, "q");
  node(graph, "DequantizeLinear", {"q", "s", "z"}, "dq");
  attribute(node(graph, "DequantizeLinear", {"w", "ws"}, "wd"), "axis", 1);
  node(graph, "MatMul", {"dq", "wd"}, "m");
  node(graph, "DynamicQuantizeLinear", {"x"}, "d")->add_output("ds");
  graph.mutable_node(4)->add_output("dz");
  node(graph, "MatMulInteger", {"d", "u", "dz", "uz"}, "mi");
  node(graph, "QLinearMatMul", {"q", "s", "z", "u", "ws", "uz", "s", "z"},
       "ql");
  attribute(node(graph, "Cast", {"ql"}, "qli"), "to",
            ::onnx::TensorProto::INT32);
  auto *bits =
      microsoft(node(graph, "MatMulNBits", {"x", "nb", "ns", "nz"}, "nbits"));
  for (auto [name, value] : {std::pair("K", 32), std::pair("N", 16),
                             std::pair("bits", 4), std::pair("block_size", 16)})
    attribute(bits, name, value);
  auto *rows = microsoft(
      node(graph, "GatherBlockQuantized", {"table", "ids", "ts"}, "gather"));
  attribute(rows, "block_size", 16);
  attribute(rows, "bits", 4);
  node(graph, "Reshape", {"x", "rows"}, "tokens");
  node(graph, "MatMul", {"tokens", "router"}, "chosen");
  for (const char *op : {"MoE", "QMoE"}) {
    bool packed = std::string(op) == "QMoE";
    auto *mixture = microsoft(
        packed ? node(graph, op, {"x", "chosen", "q1", "q1s", "", "q2", "q2s"},
                      "qmoe")
               : node(graph, op, {"x", "chosen", "fc1", "", "fc2"}, "moe"));
    attribute(mixture, "k", 2);
    attribute(mixture, "swiglu_fusion", 1);
    auto *kind = mixture->add_attribute();
    kind->set_name("activation_type");
    kind->set_type(::onnx::AttributeProto::STRING);
    kind->set_s("swiglu");
  }
  node(graph, "Outer", {"m"}, "call")->set_domain("mine");
  for (const char *name :
       {"call", "mi", "qli", "nbits", "gather", "moe", "qmoe"})
    graph.add_output()->set_name(name);
  return model;
}

const std::vector<::onnx::ModelProto> &models() {
  static const std::vector<::onnx::ModelProto> all{model(), quantisedModel()};
  return all;
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
  for (const ::onnx::ModelProto &whole : models()) {
    std::string errors;
    EXPECT_TRUE(import(whole.SerializeAsString(), errors)) << errors;
  }
}

TEST(Mutation, Truncated) {
  unsigned accepted = 0;
  for (const ::onnx::ModelProto &whole : models()) {
    std::string bytes = whole.SerializeAsString();
    for (size_t n = 0; n < bytes.size(); n += bytes.size() / 400)
      check(bytes.substr(0, n), accepted);
  }
  EXPECT_EQ(accepted, 0u);
}

TEST(Mutation, Bytes) {
  std::mt19937 random(1);
  unsigned accepted = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string mutant = models()[i % 2].SerializeAsString();
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
  switch (random() % 11) {
  case 0: // another input, perhaps a later node's: a cycle
    if (node.input_size())
      node.set_input(random() % node.input_size(),
                     graph.node(random() % graph.node_size()).output(0));
    break;
  case 1:
    if (node.attribute_size())
      node.mutable_attribute(random() % node.attribute_size())
          ->set_i(oddNumber(random));
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
    if (tensor.dims_size())
      tensor.set_dims(random() % tensor.dims_size(), oddNumber(random));
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
  case 9: // an initializer in another place, perhaps none
    if (node.input_size())
      node.set_input(random() % node.input_size(),
                     random() % 4 ? tensor.name() : std::string());
    break;
  case 10: // a function that calls others, perhaps itself
    if (model.functions_size()) {
      auto &function =
          *model.mutable_functions(random() % model.functions_size());
      function.mutable_node(0)->set_op_type(
          model.functions(random() % model.functions_size()).name());
      function.mutable_node(0)->set_domain("mine");
      function.set_input(0, random() % 2 ? "a" : "r");
    }
    break;
  }
}

TEST(Mutation, Fields) {
  std::mt19937 random(2);
  unsigned accepted = 0;
  for (int i = 0; i < 4000; ++i) {
    ::onnx::ModelProto mutant = models()[i % 2];
    for (unsigned k = random() % 3; k < 3; ++k)
      mutate(mutant, random);
    check(mutant.SerializeAsString(), accepted);
  }
  EXPECT_GT(accepted, 0u);
  EXPECT_LT(accepted, 4000u);
}

/// Functions that each call the next one twice make 2^n nodes of n.
TEST(Mutation, CallsThatDouble) {
  ::onnx::ModelProto doubling = quantisedModel();
  doubling.clear_functions();
  constexpr int kFunctions = 40;
  for (int i = 0; i < kFunctions; ++i) {
    ::onnx::FunctionProto &function = *doubling.add_functions();
    function.set_name(i == 0 ? "Outer" : "f" + std::to_string(i));
    function.set_domain("mine");
    function.add_input("a");
    function.add_output("r");
    for (auto [from, to] : {std::pair("a", "t"), std::pair("t", "r")}) {
      ::onnx::NodeProto &node = *function.add_node();
      bool last = i + 1 == kFunctions;
      node.set_op_type(last ? "Neg" : "f" + std::to_string(i + 1));
      node.set_domain(last ? "" : "mine");
      node.add_input(from);
      node.add_output(to);
    }
  }
  std::string errors;
  EXPECT_FALSE(import(doubling.SerializeAsString(), errors));
  EXPECT_NE(errors.find("after calls of functions are replaced"),
            std::string::npos)
      << errors;
}
} // namespace
