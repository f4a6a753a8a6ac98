//===- Graph.cpp - The walk over a graph ----------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks the graph as a whole, keeps the nodes that results need, imports them
// in the order of the file. Depth is the model's choice, so nothing here
// recurses but for branches in branches, whose depth protobuf limits.
//
//===----------------------------------------------------------------------===//

#include "Folding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <onnx/onnx_pb.h>

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

/// The oldest opset whose meaning the table of operators knows, and the newest.
static constexpr int64_t kOldestOpset = 13, kNewestOpset = 28;

GraphImporter::GraphImporter(Target &target, DataStore &store,
                             const OnnxOptions &options, StringRef path,
                             const ::onnx::ModelProto &model)
    : builder(target.module->getContext()), store(store), options(options),
      target(target), path(path.str()), model(model), graph(model.graph()) {}

Location GraphImporter::locationOf(const Twine &text) const {
  MLIRContext *context = builder.getContext();
  return NameLoc::get(StringAttr::get(context, text),
                      FileLineColLoc::get(context, path, 0, 0));
}

Location GraphImporter::locationOf(const ::onnx::NodeProto &node) const {
  std::string name = node.name();
  if (name.empty() && node.output_size() > 0)
    name = node.output(0);
  return locationOf(Twine("node '") + name + "' (" + node.op_type() + ")");
}

const Item *GraphImporter::find(StringRef name) const {
  auto found = items.find(name);
  return found == items.end() ? nullptr : &found->second;
}

Item *GraphImporter::find(StringRef name) {
  return const_cast<Item *>(std::as_const(*this).find(name));
}

std::pair<const Item *, int64_t>
GraphImporter::findDim(const Size &size) const {
  std::pair<const Item *, int64_t> found = {nullptr, 0};
  unsigned first = ~0u;
  for (const auto &entry : arguments) {
    const Item *item = find(entry.first());
    if (!item || entry.second >= first)
      continue;
    for (auto [d, dim] : llvm::enumerate(item->shape))
      if (dim == size && entry.second < first) {
        found = {item, int64_t(d)};
        first = entry.second;
      }
  }
  return found;
}

LogicalResult GraphImporter::define(Location loc, StringRef name, Item item) {
  if (!items.try_emplace(name, std::move(item)).second)
    return emitError(loc, "expected value '")
           << name << "' to be made once, but it is there already";
  return success();
}

LogicalResult GraphImporter::checkOpsets() {
  for (const auto &import : model.opset_import()) {
    StringRef domain(import.domain());
    if (domain == "ai.onnx")
      domain = "";
    int64_t version = import.version();
    if (domain.empty() && (version < kOldestOpset || version > kNewestOpset))
      return emitError(locationOf(Twine("the model")),
                       "expected an opset from ")
             << kOldestOpset << " to " << kNewestOpset << ", but got "
             << version << "; convert the model, or export it for another one";
    opsets[domain] = std::clamp<int64_t>(version, 0, 1 << 20);
  }
  return success();
}

LogicalResult GraphImporter::checkCounts() {
  uint64_t count = uint64_t(graph.node_size()) + graph.initializer_size() +
                   graph.input_size() + graph.output_size();
  if (count > options.maxNodes)
    return emitError(locationOf(Twine("the model")), "expected at most ")
           << options.maxNodes << " nodes and values, but got " << count;
  if (graph.sparse_initializer_size() > 0)
    return emitError(locationOf(Twine("the model")),
                     "sparse initializers are not supported");
  if (graph.output_size() == 0)
    return emitError(locationOf(Twine("the model")), "it has no outputs");
  return success();
}

/// The live nodes in the order of the file, but for those that read a later
/// node's result, which stand behind it: ORT sorts what it reads, and files of
/// its float16 converter have their casts at the end. On a circle, which is an
/// error when its first node is imported, the order is the file's.
static SmallVector<int> makersFirst(const ::onnx::GraphProto &graph,
                                    const llvm::StringMap<int> &maker,
                                    const std::vector<bool> &isLive) {
  SmallVector<int> order;
  std::vector<bool> isSeen(graph.node_size());
  SmallVector<std::pair<int, int>> path; // nodes and how many inputs are done
  for (int first = 0; first < graph.node_size(); ++first) {
    if (!isLive[first] || isSeen[first])
      continue;
    isSeen[first] = true;
    path.push_back({first, 0});
    while (!path.empty()) {
      auto &[node, next] = path.back();
      if (next == graph.node(node).input_size()) {
        order.push_back(node);
        path.pop_back();
        continue;
      }
      auto found = maker.find(graph.node(node).input(next++));
      if (found == maker.end() || isSeen[found->second])
        continue;
      isSeen[found->second] = true;
      path.push_back({found->second, 0});
    }
  }
  return order;
}

/// Every name that the graphs in a node's attributes read or give.
static void forEachInnerName(const ::onnx::NodeProto &outer,
                             llvm::function_ref<void(StringRef)> use) {
  SmallVector<const ::onnx::GraphProto *> graphs;
  auto addGraphs = [&](const ::onnx::NodeProto &node) {
    for (const auto &attribute : node.attribute())
      if (attribute.has_g())
        graphs.push_back(&attribute.g());
  };
  addGraphs(outer);
  while (!graphs.empty()) {
    const ::onnx::GraphProto *inner = graphs.pop_back_val();
    for (const auto &output : inner->output())
      use(output.name());
    for (const auto &node : inner->node()) {
      for (const std::string &input : node.input())
        use(input);
      addGraphs(node);
    }
  }
}

LogicalResult GraphImporter::findLiveNodes() {
  llvm::StringMap<int> maker;
  for (int i = 0; i < graph.node_size(); ++i)
    for (const std::string &name : graph.node(i).output())
      if (!name.empty() && !maker.try_emplace(name, i).second)
        return emitError(locationOf(graph.node(i)), "expected value '")
               << name << "' to be made once, but it is there already";
  std::vector<bool> isLive(graph.node_size());
  std::vector<StringRef> wanted;
  auto want = [&](StringRef name) {
    if (!name.empty() && used.insert(name).second)
      wanted.push_back(name);
  };
  for (const auto &output : graph.output())
    want(output.name());
  while (!wanted.empty()) {
    StringRef name = wanted.back();
    wanted.pop_back();
    auto found = maker.find(name);
    if (found == maker.end() || isLive[found->second])
      continue;
    isLive[found->second] = true;
    for (const std::string &input : graph.node(found->second).input())
      want(input);
    forEachInnerName(graph.node(found->second), want);
  }
  for (const auto &output : graph.output())
    readAsData.insert(output.name());
  for (int i : makersFirst(graph, maker, isLive)) {
    const ::onnx::NodeProto &node = graph.node(i);
    live.push_back(&node);
    bool hasTables = node.op_type() == "GroupQueryAttention" &&
                     node.domain() == "com.microsoft";
    for (auto [k, input] : llvm::enumerate(node.input()))
      if (!hasTables || (k != 7 && k != 8))
        readAsData.insert(input);
    forEachInnerName(node, [&](StringRef name) { readAsData.insert(name); });
  }
  return success();
}

static StringRef domainOf(const ::onnx::NodeProto &node) {
  return node.domain() == "ai.onnx" ? StringRef() : StringRef(node.domain());
}

/// All operators that the table lacks, in one error.
LogicalResult GraphImporter::checkOperators() {
  struct Missing {
    size_t count = 0;
    std::string nodes;
  };
  constexpr size_t kMostNamed = 3;
  std::map<std::string, Missing> missing;
  for (const auto *node : live) {
    StringRef domain = domainOf(*node);
    auto opset = opsets.find(domain);
    if (opset == opsets.end() && domain.empty())
      return emitError(locationOf(*node), "expected the model to import an "
                                          "opset of ONNX's own operators");
    if (findOperator(domain, node->op_type(),
                     opset == opsets.end() ? 1 : opset->second))
      continue;
    std::string name = domain.empty() ? "" : (domain + ".").str();
    name += node->op_type();
    if (opset != opsets.end())
      name += " (opset " + std::to_string(opset->second) + ")";
    Missing &entry = missing[name];
    if (entry.count++ < kMostNamed)
      entry.nodes +=
          (entry.count == 1 ? "'" : ", '") +
          (node->name().empty() && node->output_size() ? node->output(0)
                                                       : node->name()) +
          "'";
  }
  if (missing.empty())
    return success();
  InFlightDiagnostic diag =
      emitError(locationOf(Twine("the model")),
                "has operators that hk does not import: ");
  bool first = true;
  for (const auto &[name, entry] : missing) {
    diag << (first ? "" : "; ") << name << " in node " << entry.nodes;
    if (entry.count > kMostNamed)
      diag << " and " << entry.count - kMostNamed << " more";
    first = false;
  }
  return diag << "; docs/onnx.md lists those that it does";
}

LogicalResult GraphImporter::readInitializers(const ::onnx::GraphProto &from) {
  for (const auto &tensor : from.initializer()) {
    // What no result needs is not read, whatever it is.
    if (!used.contains(tensor.name()))
      continue;
    Location loc = locationOf(Twine("the model"));
    FailureOr<Data> data = store.read(loc, tensor);
    if (failed(data))
      return failure();
    Item item;
    item.dtype = data->dtype;
    item.shape.assign(data->sizes.begin(), data->sizes.end());
    item.data = *data;
    item.name = tensor.name();
    if (failed(define(loc, tensor.name(), std::move(item))))
      return failure();
  }
  return success();
}

LogicalResult GraphImporter::importNode(const ::onnx::NodeProto &proto) {
  Location loc = locationOf(proto);
  StringRef domain = domainOf(proto);
  auto opset = opsets.find(domain);
  int version = opset == opsets.end() ? 1 : opset->second;
  const Operator *found = findOperator(domain, proto.op_type(), version);
  if (!found) // Of a branch: others have been looked for.
    return emitError(loc, "is of an operator that hk does not import; "
                          "docs/onnx.md lists those that it does");
  const Operator &op = *found;
  Node node(*this, proto, loc, version, op);
  if (node.numInputs() < op.minInputs || node.numInputs() > op.maxInputs)
    return node.error() << "expected "
                        << (op.maxInputs == kAny ? "at least " : "")
                        << op.minInputs
                        << (op.maxInputs == kAny || op.minInputs == op.maxInputs
                                ? ""
                                : " to " + std::to_string(op.maxInputs))
                        << " inputs, but got " << node.numInputs();
  for (size_t i = 0; i < node.numInputs(); ++i) {
    StringRef name = node.inputName(i);
    if (name.empty() && (i < op.minInputs || op.maxInputs == kAny))
      return node.error() << "expected input #" << i << ", but it is left out";
    if (!name.empty() && !find(name))
      return node.error()
             << "expected input #" << i << " '" << name
             << "' to be an input of the graph, an initializer or a result of "
                "an earlier node";
  }
  builder.setInsertionPointToEnd(&function.getBody().front());
  auto folded =
      domain.empty() ? foldedNumbers(node, proto.op_type()) : std::nullopt;
  if (failed(folded ? *folded : op.import(node)) ||
      failed(node.checkAttributes()))
    return failure();
  for (size_t i = 0; i < node.numOutputs(); ++i)
    if (node.wants(i) && !find(node.outputName(i)) &&
        isUsed(node.outputName(i)))
      return node.error() << "output #" << i << " '" << node.outputName(i)
                          << "' is not supported";
  return success();
}

LogicalResult GraphImporter::importBranch(Location loc,
                                          const ::onnx::GraphProto &branch) {
  if (failed(readInitializers(branch)))
    return failure();
  for (const auto &node : branch.node())
    if (failed(importNode(node)))
      return failure();
  for (const auto &output : branch.output())
    if (!find(output.name()))
      return emitError(loc, "expected the branch to make its output '")
             << output.name() << "'";
  return success();
}

LogicalResult GraphImporter::run(StringRef name) {
  if (failed(checkOpsets()) || failed(checkCounts()) ||
      failed(findLiveNodes()) || failed(checkOperators()) ||
      failed(readInitializers(graph)) || failed(addArguments(name)))
    return failure();
  for (const auto *node : live)
    if (failed(importNode(*node)))
      return failure();
  return addResults();
}
