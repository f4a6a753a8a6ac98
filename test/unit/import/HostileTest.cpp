//===- HostileTest.cpp - ONNX models made to harm -------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Models that somebody damages with intent: fields of other types, names that
// are no names, sizes that overflow, graphs in graphs, data outside of the
// folder. Each ends in a module or an error, in seconds and in bounded memory.
// HK_IMPORT_FUZZ=N makes N mutants in place of the few of ./check.
//
//===----------------------------------------------------------------------===//

#include "Models.h"

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace {
using Random = std::mt19937;

unsigned mutants() {
  const char *text = std::getenv("HK_IMPORT_FUZZ");
  return text ? unsigned(std::strtoul(text, nullptr, 10)) : 2400;
}

template <size_t N>
const char *oneOf(const char *const (&values)[N], Random &random) {
  return values[random() % N];
}

int64_t hostileNumber(Random &random) {
  constexpr int64_t kNumbers[] = {
      INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, -1,        0,        1,
      5,         16,        33,        1LL << 20, 1LL << 33, 1LL << 61};
  return kNumbers[random() % std::size(kNumbers)];
}

std::string hostileName(Random &random) {
  switch (random() % 7) {
  case 0:
    return "";
  case 1:
    return std::string(1 << 16, 'n');
  case 2:
    return std::string("a\0b", 3);
  case 3:
    return "\xff\xfe\x80";
  case 4:
    return "\"} : tensor<4xf32> // \n%0 = ";
  case 5:
    return "../../etc/passwd";
  default:
    return "f"; // The function's.
  }
}

/// An attribute whose type and fields disagree.
void confuseAttribute(::onnx::NodeProto &node, Random &random) {
  constexpr const char *kNames[] = {"axis",    "axes",     "perm",  "num_heads",
                                    "epsilon", "keepdims", "value", "to",
                                    "k",       "bits",     "scale"};
  bool fresh = !node.attribute_size() || random() % 4 == 0;
  auto &attribute =
      fresh ? *node.add_attribute()
            : *node.mutable_attribute(random() % node.attribute_size());
  if (fresh)
    attribute.set_name(oneOf(kNames, random));
  attribute.set_type(::onnx::AttributeProto::AttributeType(random() % 15));
  switch (random() % 8) {
  case 0:
    attribute.set_f(random() % 2 ? std::numeric_limits<float>::quiet_NaN()
                                 : -std::numeric_limits<float>::infinity());
    break;
  case 1:
    attribute.set_i(hostileNumber(random));
    break;
  case 2:
    for (unsigned i = random() % 70; i > 0; --i)
      attribute.add_ints(hostileNumber(random));
    break;
  case 3:
    attribute.set_s(hostileName(random));
    break;
  case 4:
    attribute.mutable_t()->add_dims(hostileNumber(random));
    attribute.mutable_t()->set_data_type(int(random() % 26));
    break;
  case 5:
    attribute.mutable_g()->add_node()->set_op_type("If");
    break;
  case 6:
    attribute.set_ref_attr_name(hostileName(random));
    break;
  case 7:
    attribute.set_name(hostileName(random));
    break;
  }
}

/// The same name twice, or one that is no name.
void confuseNames(::onnx::GraphProto &graph, Random &random) {
  auto &node = *graph.mutable_node(random() % graph.node_size());
  auto &weight =
      *graph.mutable_initializer(random() % graph.initializer_size());
  const auto &other = graph.node(random() % graph.node_size());
  switch (random() % 8) {
  case 0:
    node.set_output(0, other.output(0));
    break;
  case 1:
    node.set_output(0, graph.input(0).name());
    break;
  case 2:
    weight.set_name(other.output(0));
    break;
  case 3:
    weight.set_name(graph.initializer(0).name());
    break;
  case 4:
    graph.mutable_input(random() % graph.input_size())
        ->set_name(hostileName(random));
    break;
  case 5:
    node.set_output(0, hostileName(random));
    break;
  case 6:
    graph.add_output()->set_name(hostileName(random));
    break;
  case 7:
    graph.add_output()->CopyFrom(graph.output(0));
    break;
  }
}

/// Sizes and types of inputs and weights.
void confuseShapes(::onnx::GraphProto &graph, Random &random) {
  auto &input = *graph.mutable_input(random() % graph.input_size());
  auto &type = *input.mutable_type()->mutable_tensor_type();
  auto &weight =
      *graph.mutable_initializer(random() % graph.initializer_size());
  switch (random() % 8) {
  case 0:
    type.mutable_shape()->add_dim()->set_dim_value(hostileNumber(random));
    break;
  case 1:
    for (auto &dim : *type.mutable_shape()->mutable_dim())
      dim.set_dim_value(hostileNumber(random));
    break;
  case 2:
    for (auto &dim : *type.mutable_shape()->mutable_dim())
      dim.set_dim_param(hostileName(random));
    break;
  case 3:
    type.clear_shape();
    break;
  case 4:
    input.mutable_type()
        ->mutable_sequence_type()
        ->mutable_elem_type()
        ->mutable_tensor_type()
        ->set_elem_type(1);
    break;
  case 5:
    for (int64_t &size : *weight.mutable_dims())
      size = hostileNumber(random);
    break;
  case 6: // As many bytes as before, of other sizes.
    weight.add_dims(1);
    weight.mutable_dims()->SwapElements(0, weight.dims_size() - 1);
    break;
  case 7:
    weight.set_data_type(int(random() % 26));
    weight.clear_dims();
    break;
  }
}

/// Weights that lie somewhere else.
void moveOutside(::onnx::GraphProto &graph, Random &random) {
  constexpr const char *kPlaces[] = {"../weights", "/etc/passwd",
                                     "/dev/zero",  "../../../../proc/self/mem",
                                     ".",          "",
                                     "x/../../y",  "no such file"};
  constexpr const char *kNumbers[] = {"-1",  "0", "18446744073709551615",
                                      "1e9", "",  "99999999999999999999999"};
  auto &weight =
      *graph.mutable_initializer(random() % graph.initializer_size());
  weight.set_data_location(::onnx::TensorProto::EXTERNAL);
  auto add = [&](const char *key, const char *value) {
    auto &entry = *weight.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  };
  add("location", oneOf(kPlaces, random));
  if (random() % 2)
    add("offset", oneOf(kNumbers, random));
  if (random() % 2)
    add("length", oneOf(kNumbers, random));
}

void confuseModel(::onnx::ModelProto &model, Random &random) {
  ::onnx::GraphProto &graph = *model.mutable_graph();
  auto &opset =
      *model.mutable_opset_import(random() % model.opset_import_size());
  auto &node = *graph.mutable_node(random() % graph.node_size());
  switch (random() % 8) {
  case 0:
    opset.set_version(hostileNumber(random));
    break;
  case 1:
    opset.set_domain(hostileName(random));
    break;
  case 2:
    node.set_op_type(hostileName(random));
    break;
  case 3:
    node.set_domain(random() % 2 ? "com.microsoft" : "");
    break;
  case 4:
    graph.mutable_node()->SwapElements(int(random() % graph.node_size()), 0);
    break;
  case 5:
    node.clear_input();
    break;
  case 6:
    for (int i = 0; i < 70; ++i)
      node.add_input(node.input_size() ? node.input(0) : "x");
    break;
  case 7:
    for (int i = 0; i < 70; ++i)
      node.add_output("o" + std::to_string(i));
    break;
  }
}

/// Pieces of the file cut out, doubled, or moved.
std::string spliced(std::string bytes, Random &random) {
  for (unsigned k = random() % 3; k < 3; ++k) {
    size_t at = random() % bytes.size();
    size_t count = std::min<size_t>(random() % 64, bytes.size() - at);
    std::string piece = bytes.substr(at, count);
    if (random() % 2)
      bytes.erase(at, count);
    if (random() % 2)
      bytes.insert(random() % (bytes.size() + 1), piece);
    if (bytes.empty())
      return bytes;
    bytes[random() % bytes.size()] ^= char(1 << random() % 8);
  }
  return bytes;
}

void mutate(::onnx::ModelProto &model, Random &random) {
  ::onnx::GraphProto &graph = *model.mutable_graph();
  switch (random() % 5) {
  case 0:
    return confuseAttribute(*graph.mutable_node(random() % graph.node_size()),
                            random);
  case 1:
    return confuseNames(graph, random);
  case 2:
    return confuseShapes(graph, random);
  case 3:
    return moveOutside(graph, random);
  case 4:
    return confuseModel(model, random);
  }
}

/// More than this many seconds for one import, or gigabytes for all, end the
/// test.
class Limits {
public:
  Limits() {
    constexpr rlim_t kMostBytes = rlim_t(6) << 30;
    getrlimit(RLIMIT_AS, &before);
    rlimit limit = before;
    limit.rlim_cur = std::min(kMostBytes, before.rlim_max);
    // A sanitizer's shadow takes more than any machine has.
    if (std::getenv("ASAN_OPTIONS") == nullptr)
      setrlimit(RLIMIT_AS, &limit);
  }
  ~Limits() {
    limitTime(0);
    setrlimit(RLIMIT_AS, &before);
  }
  static void begin() { limitTime(20); }

private:
  /// Of a processor: a busy machine is no hang.
  static void limitTime(time_t seconds) {
    itimerval timer{{0, 0}, {seconds, 0}};
    setitimer(ITIMER_PROF, &timer, nullptr);
  }
  rlimit before;
};

TEST(Hostile, Mutants) {
  Limits limits;
  unsigned accepted = 0;
  for (unsigned i = 0; i < mutants(); ++i) {
    Random random(i);
    Limits::begin();
    ::onnx::ModelProto mutant = wholeModels()[i % wholeModels().size()];
    for (unsigned k = random() % 3; k < 3; ++k)
      mutate(mutant, random);
    std::string bytes = mutant.SerializeAsString();
    checkMutant(random() % 4 ? bytes : spliced(bytes, random), accepted);
    if (HasFailure()) {
      ADD_FAILURE() << "mutant " << i;
      break;
    }
  }
  EXPECT_GT(accepted, 0u);
  EXPECT_LT(accepted, mutants() / 2);
}

/// The length of a message in protobuf's variable form.
std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7)
    bytes += char(value | 128);
  return bytes + char(value);
}

/// Graphs in attributes of nodes of graphs.
TEST(Hostile, DeepGraphs) {
  Limits limits;
  for (int depth : {2, 60, 200, 20000}) {
    // Of GraphProto.node, NodeProto.attribute, AttributeProto.g.
    constexpr char kTags[] = {char(1 << 3 | 2), char(5 << 3 | 2),
                              char(6 << 3 | 2)};
    std::vector<std::string> fronts;
    size_t size = 0;
    for (int i = 0; i < depth; ++i)
      for (char tag : {kTags[2], kTags[1], kTags[0]}) {
        fronts.push_back(tag + varint(size));
        size += fronts.back().size();
      }
    std::string bytes = char(7 << 3 | 2) + varint(size); // ModelProto.graph
    for (size_t i = fronts.size(); i-- > 0;)
      bytes += fronts[i];
    std::string errors;
    Limits::begin();
    EXPECT_FALSE(importBytes(bytes, errors));
    EXPECT_FALSE(errors.empty());
  }
}

/// A chain of nodes as long as a big model's takes no deep stack, nor do
/// nodes that wait for each other.
TEST(Hostile, LongChains) {
  Limits limits;
  constexpr int kNodes = 20000;
  for (bool cyclic : {false, true}) {
    ::onnx::ModelProto model = wholeModels()[0];
    ::onnx::GraphProto &graph = *model.mutable_graph();
    for (int i = kNodes; i-- > 0;) { // The last one first.
      ::onnx::NodeProto &node = *graph.add_node();
      node.set_op_type("Neg");
      node.add_input(i        ? "c" + std::to_string(i - 1)
                     : cyclic ? "c" + std::to_string(kNodes - 1)
                              : "x");
      node.add_output("c" + std::to_string(i));
    }
    graph.add_output()->set_name("c" + std::to_string(kNodes - 1));
    std::string errors;
    Limits::begin();
    if (!importBytes(model.SerializeAsString(), errors))
      EXPECT_FALSE(errors.empty());
    else
      EXPECT_FALSE(cyclic);
  }
}

/// A link out of the folder, beside the model.
TEST(Hostile, Links) {
  namespace fs = std::filesystem;
  fs::path link =
      fs::temp_directory_path() / ("hk-link-" + std::to_string(getpid()));
  fs::remove(link);
  fs::create_symlink("/etc/passwd", link);
  ::onnx::ModelProto model = wholeModels()[0];
  auto &weight = *model.mutable_graph()->mutable_initializer(0);
  weight.clear_raw_data();
  weight.set_data_location(::onnx::TensorProto::EXTERNAL);
  auto &entry = *weight.add_external_data();
  entry.set_key("location");
  entry.set_value(link.filename().string());
  std::string errors;
  EXPECT_FALSE(importBytes(model.SerializeAsString(), errors));
  fs::remove(link);
  EXPECT_NE(errors.find("expected in the folder of the model"),
            std::string::npos)
      << errors;
}
} // namespace
