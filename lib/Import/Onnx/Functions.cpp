//===- Functions.cpp - Functions of a model -------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model may define operators as functions of others. Calls are replaced by
// the nodes of the function, innermost calls included, before the graph is
// looked at. The file decides how often functions call each other, so that
// nodes and bytes are counted and depth is limited.
//
//===----------------------------------------------------------------------===//

#include "Functions.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringMap.h"

#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

using ::onnx::AttributeProto;
using ::onnx::FunctionProto;
using ::onnx::NodeProto;

namespace {
/// A node to be copied into the graph, and how deep in calls it is.
struct Pending {
  NodeProto node;
  unsigned depth;
};

class Inliner {
public:
  Inliner(Location loc, ::onnx::ModelProto &model, const OnnxOptions &options)
      : loc(loc), model(model), options(options) {}

  LogicalResult run();

private:
  LogicalResult collect();
  LogicalResult checkOpsets(const FunctionProto &function);
  const FunctionProto *calleeOf(const NodeProto &node) const;
  LogicalResult expand(const NodeProto &call, const FunctionProto &function,
                       unsigned depth);
  LogicalResult count(const NodeProto &node);

  Location loc;
  ::onnx::ModelProto &model;
  const OnnxOptions &options;
  llvm::StringMap<const FunctionProto *> functions; // by domain and name
  std::vector<Pending> work;                        // last is next
  uint64_t copiedBytes = 0, copiedNodes = 0, calls = 0;
};
} // namespace

/// Calls within calls.
static constexpr unsigned kMostDepth = 64;
/// Bytes of nodes that calls copy.
static constexpr uint64_t kMostCopied = uint64_t(1) << 28;

static std::string keyOf(StringRef domain, StringRef name) {
  return ((domain == "ai.onnx" ? "" : domain) + "\n" + name).str();
}

/// Defaults of attributes, a field that the schema at hand may not name.
static std::vector<AttributeProto> defaultsOf(const FunctionProto &function) {
  constexpr int kAttributeProto = 11;
  std::vector<AttributeProto> made;
  const auto &fields = function.GetReflection()->GetUnknownFields(function);
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto &field = fields.field(i);
    AttributeProto attribute;
    if (field.number() == kAttributeProto &&
        field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED &&
        attribute.ParseFromString(field.length_delimited()))
      made.push_back(std::move(attribute));
  }
  return made;
}

LogicalResult Inliner::collect() {
  for (const FunctionProto &function : model.functions()) {
    if (!functions
             .try_emplace(keyOf(function.domain(), function.name()), &function)
             .second)
      return emitError(loc, "function '")
             << function.name()
             << "' is there twice: overloads are not supported";
  }
  return success();
}

const FunctionProto *Inliner::calleeOf(const NodeProto &node) const {
  return functions.lookup(keyOf(node.domain(), node.op_type()));
}

/// Nodes of a function mean what its opsets say, which the model then has.
LogicalResult Inliner::checkOpsets(const FunctionProto &function) {
  for (const auto &wanted : function.opset_import()) {
    std::string domain = wanted.domain() == "ai.onnx" ? "" : wanted.domain();
    bool found = false;
    for (const auto &import : model.opset_import()) {
      StringRef other(import.domain());
      if ((other == "ai.onnx" ? "" : other) != domain)
        continue;
      found = true;
      if (import.version() != wanted.version())
        return emitError(loc, "function '")
               << function.name() << "': expected opset " << import.version()
               << " of '" << domain << "', as the model has it, but got "
               << wanted.version();
    }
    if (!found)
      *model.add_opset_import() = wanted;
  }
  return success();
}

LogicalResult Inliner::count(const NodeProto &node) {
  copiedBytes += node.ByteSizeLong();
  if (++copiedNodes <= options.maxNodes && copiedBytes <= kMostCopied)
    return success();
  return emitError(loc, "expected at most ")
         << options.maxNodes << " nodes and " << kMostCopied
         << " bytes of them after calls of functions are replaced by what they "
            "call";
}

/// Attributes of `node` that name one of the function's become the caller's,
/// or the default; those that have neither go.
static void bindAttributes(NodeProto &node, const NodeProto &call,
                           ArrayRef<AttributeProto> defaults) {
  NodeProto bound;
  for (AttributeProto &attribute : *node.mutable_attribute()) {
    const std::string &wanted = attribute.ref_attr_name();
    if (wanted.empty()) {
      bound.add_attribute()->Swap(&attribute);
      continue;
    }
    auto named = [&](const AttributeProto &other) {
      return other.name() == wanted;
    };
    const AttributeProto *found = nullptr;
    if (auto at = llvm::find_if(call.attribute(), named);
        at != call.attribute().end())
      found = &*at;
    else if (const auto *other = llvm::find_if(defaults, named);
             other != defaults.end())
      found = other;
    if (!found)
      continue;
    AttributeProto *made = bound.add_attribute();
    *made = *found;
    made->set_name(attribute.name());
  }
  node.mutable_attribute()->Swap(bound.mutable_attribute());
}

LogicalResult Inliner::expand(const NodeProto &call,
                              const FunctionProto &function, unsigned depth) {
  auto error = [&] {
    return emitError(loc, "call '")
           << (call.name().empty() && call.output_size() ? call.output(0)
                                                         : call.name())
           << "' of function '" << function.name() << "': ";
  };
  if (depth > kMostDepth)
    return error() << "expected functions that call others at most "
                   << kMostDepth << " deep, and not themselves";
  if (call.input_size() > function.input_size() ||
      call.output_size() > function.output_size())
    return error() << "expected at most " << function.input_size()
                   << " inputs and " << function.output_size()
                   << " outputs, but got " << call.input_size() << " and "
                   << call.output_size();
  if (failed(checkOpsets(function)))
    return failure();
  std::string prefix = function.name() + "." + std::to_string(calls++) + "/";
  llvm::StringMap<std::string> names;
  for (int i = 0; i < function.output_size(); ++i)
    if (i < call.output_size() && !call.output(i).empty())
      names[function.output(i)] = call.output(i);
  for (int i = 0; i < function.input_size(); ++i)
    if (!names
             .try_emplace(function.input(i),
                          i < call.input_size() ? call.input(i) : "")
             .second)
      return error() << "its output '" << function.input(i)
                     << "' is an input as well";
  auto rename = [&](std::string &name) {
    if (name.empty())
      return;
    auto [at, isNew] = names.try_emplace(name, "");
    if (isNew)
      at->second = prefix + name;
    name = at->second;
  };
  std::vector<AttributeProto> defaults = defaultsOf(function);
  std::vector<Pending> made;
  for (const NodeProto &inner : function.node()) {
    if (failed(count(inner)))
      return failure();
    NodeProto node = inner;
    for (std::string &name : *node.mutable_input())
      rename(name);
    for (std::string &name : *node.mutable_output())
      rename(name);
    node.set_name(prefix +
                  (node.name().empty() ? node.op_type() : node.name()));
    bindAttributes(node, call, defaults);
    made.push_back({std::move(node), depth + 1});
  }
  work.insert(work.end(), std::make_move_iterator(made.rbegin()),
              std::make_move_iterator(made.rend()));
  return success();
}

LogicalResult Inliner::run() {
  ::onnx::GraphProto &graph = *model.mutable_graph();
  if (failed(collect()))
    return failure();
  if (functions.empty() || llvm::none_of(graph.node(), [&](const auto &node) {
        return calleeOf(node) != nullptr;
      }))
    return success();
  google::protobuf::RepeatedPtrField<NodeProto> nodes;
  nodes.Swap(graph.mutable_node());
  for (NodeProto &top : nodes) {
    work.push_back({std::move(top), 0});
    while (!work.empty()) {
      Pending next = std::move(work.back());
      work.pop_back();
      if (const FunctionProto *function = calleeOf(next.node)) {
        if (failed(expand(next.node, *function, next.depth)))
          return failure();
        continue;
      }
      graph.add_node()->Swap(&next.node);
    }
  }
  return success();
}

LogicalResult mlir::hk::importer::inlineFunctions(Location loc,
                                                  ::onnx::ModelProto &model,
                                                  const OnnxOptions &options) {
  return Inliner(loc, model, options).run();
}
