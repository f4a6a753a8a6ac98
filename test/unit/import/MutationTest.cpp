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

#include "Models.h"

namespace {

TEST(Mutation, WholeModel) {
  for (const ::onnx::ModelProto &whole : wholeModels()) {
    std::string errors;
    EXPECT_TRUE(importBytes(whole.SerializeAsString(), errors)) << errors;
  }
}

TEST(Mutation, Truncated) {
  unsigned accepted = 0;
  for (const ::onnx::ModelProto &whole : wholeModels()) {
    std::string bytes = whole.SerializeAsString();
    for (size_t n = 0; n < bytes.size(); n += bytes.size() / 400)
      checkMutant(bytes.substr(0, n), accepted);
  }
  EXPECT_EQ(accepted, 0u);
}

TEST(Mutation, Bytes) {
  std::mt19937 random(1);
  unsigned accepted = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string mutant =
        wholeModels()[i % wholeModels().size()].SerializeAsString();
    for (unsigned k = random() % 4; k < 4; ++k)
      mutant[random() % mutant.size()] = char(random());
    checkMutant(mutant, accepted);
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
    ::onnx::ModelProto mutant = wholeModels()[i % wholeModels().size()];
    for (unsigned k = random() % 3; k < 3; ++k)
      mutate(mutant, random);
    checkMutant(mutant.SerializeAsString(), accepted);
  }
  EXPECT_GT(accepted, 0u);
  EXPECT_LT(accepted, 4000u);
}

/// Functions that each call the next one twice make 2^n nodes of n.
TEST(Mutation, CallsThatDouble) {
  ::onnx::ModelProto doubling = wholeModels()[1];
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
  EXPECT_FALSE(importBytes(doubling.SerializeAsString(), errors));
  EXPECT_NE(errors.find("after calls of functions are replaced"),
            std::string::npos)
      << errors;
}
} // namespace
