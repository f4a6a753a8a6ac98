//===- Models.cpp - Models to damage --------------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small models that together meet every kind of operator's code, and their
// import with what follows it in hk-import.
//
//===----------------------------------------------------------------------===//

#include "Models.h"

#include "hk/Import/Onnx.h"
#include "hk/Passes/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/raw_ostream.h"

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

/// Sums and convolutions of codes "q" [batch, sequence, 32], what is written at
/// indices, and layers of steps.
void codeOperators(::onnx::GraphProto &graph) {
  integers(graph, "grid", {-1, 4, 4, 2});
  bytes(graph, "cw", {4, 2, 2, 2}, ::onnx::TensorProto::INT8);
  bytes(graph, "cz", {4}, ::onnx::TensorProto::INT8);
  integers(graph, "at", {1, 2});
  floats(graph, "update", {32});
  floats(graph, "steps", {4, 16, 32});
  floats(graph, "lw", {1, 32, 32});
  floats(graph, "lr", {1, 32, 8});
  floats(graph, "lb", {1, 64});
  floats(graph, "gw", {1, 24, 32});
  floats(graph, "gr", {1, 24, 8});
  microsoft(node(graph, "QLinearAdd", {"q", "s", "z", "q", "s", "z", "s", "z"},
                 "qa"));
  attribute(node(graph, "Cast", {"qa"}, "summed"), "to",
            ::onnx::TensorProto::INT32);
  node(graph, "Reshape", {"q", "grid"}, "image");
  auto *conv = node(graph, "QLinearConv",
                    {"image", "s", "z", "cw", "s", "cz", "s", "z"}, "qc");
  attribute(conv, "group", 2);
  attribute(node(graph, "Cast", {"qc"}, "convolved"), "to",
            ::onnx::TensorProto::INT32);
  attribute(node(graph, "ConvInteger", {"image", "cw", "z", "cz"}, "windows"),
            "group", 2);
  node(graph, "ScatterND", {"steps", "at", "update"}, "scattered");
  node(graph, "LSTM", {"scattered", "lw", "lr", "lb"}, "lstm");
  node(graph, "GRU", {"scattered", "gw", "gr"}, "gru");
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
  codeOperators(graph);
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
       {"call", "mi", "qli", "nbits", "gather", "moe", "qmoe", "summed",
        "convolved", "windows", "scattered", "lstm", "gru"})
    graph.add_output()->set_name(name);
  return model;
}

::onnx::TensorShapeProto &input(::onnx::GraphProto &graph, const char *name,
                                int dtype) {
  auto *made = graph.add_input();
  made->set_name(name);
  auto *type = made->mutable_type()->mutable_tensor_type();
  type->set_elem_type(dtype);
  return *type->mutable_shape();
}

/// A mean of squares, its root and a quotient: a norm in parts.
void decomposedNorm(::onnx::GraphProto &graph) {
  floats(graph, "exponent", {});
  node(graph, "Mul", {"x", "x"}, "square");
  auto *mean = node(graph, "ReduceMean", {"square", "last"}, "mean");
  attribute(mean, "keepdims", 1);
  node(graph, "Add", {"mean", "exponent"}, "above");
  node(graph, "Sqrt", {"above"}, "root");
  node(graph, "Div", {"x", "root"}, "quotient");
  node(graph, "Mul", {"quotient", "norm"}, "normed");
}

/// Rotary tables for short and for long sequences.
void chosenTables(::onnx::GraphProto &graph) {
  integers(graph, "one", {1});
  integers(graph, "short", {8});
  node(graph, "Shape", {"x"}, "sizes");
  node(graph, "Gather", {"sizes", "one"}, "count");
  node(graph, "Greater", {"count", "short"}, "long");
  auto *choice = node(graph, "If", {"long"}, "cos");
  choice->add_output("sin");
  for (auto [name, rows] :
       {std::pair("then_branch", 24), std::pair("else_branch", 8)}) {
    auto *branch = choice->add_attribute();
    branch->set_name(name);
    branch->set_type(::onnx::AttributeProto::GRAPH);
    for (const char *table : {"c", "s"}) {
      floats(*branch->mutable_g(), table, {rows, 4});
      branch->mutable_g()->add_output()->set_name(table);
    }
  }
}

/// A decoder layer as model builders write it: a cache, a rotary embedding,
/// norms of sums; and a norm in parts, a mask of positions, an attention of
/// separate products.
::onnx::ModelProto decoderModel() {
  ::onnx::ModelProto model;
  model.set_ir_version(10);
  model.add_opset_import()->set_version(22);
  auto *contrib = model.add_opset_import();
  contrib->set_domain("com.microsoft");
  contrib->set_version(1);
  ::onnx::GraphProto &graph = *model.mutable_graph();
  auto &x = input(graph, "x", ::onnx::TensorProto::FLOAT);
  x.add_dim()->set_dim_value(2);
  x.add_dim()->set_dim_param("sequence");
  x.add_dim()->set_dim_value(32);
  for (const char *name : {"past_k", "past_v"}) {
    auto &past = input(graph, name, ::onnx::TensorProto::FLOAT);
    for (int64_t size : {2, 2, 24, 8})
      past.add_dim()->set_dim_value(size);
  }
  input(graph, "lengths", ::onnx::TensorProto::INT32)
      .add_dim()
      ->set_dim_value(2);
  input(graph, "total", ::onnx::TensorProto::INT32);
  floats(graph, "qkv", {32, 64});
  floats(graph, "norm", {32});
  chosenTables(graph);
  floats(graph, "out", {32, 32});
  floats(graph, "sink", {4});
  integers(graph, "last", {-1});
  decomposedNorm(graph);
  node(graph, "MatMul", {"normed", "qkv"}, "packed");
  auto *attention =
      microsoft(node(graph, "GroupQueryAttention",
                     {"packed", "", "", "past_k", "past_v", "lengths", "total",
                      "cos", "sin", "", "", "sink"},
                     "heads"));
  attention->add_output("present_k");
  attention->add_output("present_v");
  for (auto [name, value] :
       {std::pair("num_heads", 4), std::pair("kv_num_heads", 2),
        std::pair("do_rotary", 1), std::pair("local_window_size", 8)})
    attribute(attention, name, value);
  node(graph, "MatMul", {"heads", "out"}, "o");
  auto *skip = microsoft(node(graph, "SkipSimplifiedLayerNormalization",
                              {"o", "x", "norm"}, "sum_normed"));
  for (const char *name : {"", "", "sum"})
    skip->add_output(name);
  auto *cross = microsoft(
      node(graph, "MultiHeadAttention", {"sum_normed", "sum", "x"}, "mha"));
  attribute(cross, "num_heads", 4);
  node(graph, "Sigmoid", {"mha"}, "gate");
  node(graph, "Mul", {"mha", "gate"}, "y");
  for (const char *name : {"y", "present_k", "present_v"})
    graph.add_output()->set_name(name);
  return model;
}

/// Convolutions of each form, pooling, and other sizes of an image.
::onnx::ModelProto imageModel() {
  ::onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(18);
  ::onnx::GraphProto &graph = *model.mutable_graph();
  auto &x = input(graph, "x", ::onnx::TensorProto::FLOAT);
  x.add_dim()->set_dim_param("images");
  for (int64_t size : {4, 9, 8})
    x.add_dim()->set_dim_value(size);
  floats(graph, "patch", {6, 4, 2, 2});
  floats(graph, "bias", {6});
  floats(graph, "three", {6, 4, 3, 3});
  floats(graph, "alone", {4, 1, 3, 1});
  floats(graph, "groups", {4, 2, 2, 2});
  auto list = [](::onnx::NodeProto *node, const char *name,
                 const Ints &values) {
    ::onnx::AttributeProto *made = node->add_attribute();
    made->set_name(name);
    made->set_type(::onnx::AttributeProto::INTS);
    for (int64_t value : values)
      made->add_ints(value);
  };
  list(node(graph, "Conv", {"x", "patch", "bias"}, "a"), "strides", {2, 2});
  auto *three = node(graph, "Conv", {"x", "three", "bias"}, "b");
  list(three, "pads", {1, 0, 1, 1});
  list(three, "dilations", {2, 1});
  list(three, "strides", {1, 2});
  auto *alone = node(graph, "Conv", {"x", "alone"}, "c");
  attribute(alone, "group", 4);
  list(alone, "pads", {1, 0, 0, 0});
  attribute(node(graph, "Conv", {"x", "groups"}, "d"), "group", 2);
  auto *largest = node(graph, "MaxPool", {"x"}, "e");
  list(largest, "kernel_shape", {3, 2});
  list(largest, "pads", {1, 0, 1, 0});
  floats(graph, "back", {4, 3, 3, 2});
  auto *back = node(graph, "ConvTranspose", {"x", "back"}, "g");
  list(back, "strides", {2, 1});
  list(back, "pads", {1, 0, 2, 1});
  list(back, "output_padding", {1, 0});
  auto *mean = node(graph, "AveragePool", {"x"}, "h");
  list(mean, "kernel_shape", {2, 3});
  list(mean, "strides", {2, 2});
  attribute(mean, "ceil_mode", 1);
  node(graph, "GlobalAveragePool", {"x"}, "i");
  integers(graph, "sizes", {7, 12});
  auto *other = node(graph, "Resize", {"x", "", "", "sizes"}, "j");
  list(other, "axes", {2, 3});
  ::onnx::AttributeProto *mode = other->add_attribute();
  mode->set_name("mode");
  mode->set_type(::onnx::AttributeProto::STRING);
  mode->set_s("cubic");
  for (const char *name : {"a", "b", "c", "d", "e", "g", "h", "i", "j"})
    graph.add_output()->set_name(name);
  return model;
}

/// As hk-import does.
LogicalResult raise(ModuleOp module) {
  DecisionLog log;
  PassManager pm(module.getContext());
  pm.addPass(createHKRaise({}, log));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  return pm.run(module);
}
} // namespace

const std::vector<::onnx::ModelProto> &wholeModels() {
  static const std::vector<::onnx::ModelProto> all{
      model(), quantisedModel(), decoderModel(), imageModel()};
  return all;
}

bool importBytes(const std::string &bytes, std::string &errors) {
  SmallString<128> path;
  int file;
  EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("model", "onnx", file, path));
  llvm::FileRemover remover(path);
  {
    llvm::raw_fd_ostream out(file, /*shouldClose=*/true);
    out << bytes;
  }
  // A new one costs more than an import, and an old one keeps every type.
  constexpr unsigned kMostImports = 256;
  static std::unique_ptr<MLIRContext> context;
  static unsigned imports = 0;
  if (imports++ % kMostImports == 0)
    context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
  context->printOpOnDiagnostic(false);
  ScopedDiagnosticHandler handler(
      context.get(), [&](Diagnostic &diag) { errors += diag.str() + "\n"; });
  OnnxImporter importer(context.get(), OnnxOptions());
  if (failed(importer.add(path, "f")) || failed(raise(importer.getModule())))
    return false;
  std::string text;
  llvm::raw_string_ostream stream(text);
  importer.getModule().print(stream);
  return true;
}

void checkMutant(const std::string &bytes, unsigned &accepted) {
  std::string errors;
  bool done = importBytes(bytes, errors);
  accepted += done;
  EXPECT_TRUE(done || !errors.empty());
}
