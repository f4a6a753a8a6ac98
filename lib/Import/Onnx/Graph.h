//===- Graph.h - A model's graph while it is imported --------- -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values of the graph and the walk over its nodes. What an operator means is in
// the files of operators, which see one node at a time (Node.h).
//
//===----------------------------------------------------------------------===//

#ifndef HK_IMPORT_ONNX_GRAPH_H
#define HK_IMPORT_ONNX_GRAPH_H

#include "Data.h"
#include "Size.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

#include <optional>

namespace onnx {
class GraphProto;
class NodeProto;
class ModelProto;
class ValueInfoProto;
} // namespace onnx

namespace mlir::hk::importer {

using Shape = SmallVector<Size>;

/// What a real value was made of, (codes - zero) * scale: the names of values,
/// no name for no zero point.
struct Quantised {
  std::string codes, scale, zero;
  int64_t axis; // of scales for each place; those of one element have none
};

/// An ONNX value. At least one of its three forms is there: an hk tensor,
/// numbers of the model file, or integers computed from shapes. hk has no
/// uint8: a tensor in its place is int8, less 128.
struct Item {
  int dtype = kFloat;
  Shape shape;
  Value tensor;
  std::optional<Data> data;
  std::optional<SmallVector<Size>> integers; // in row-major order
  std::string name;                          // that the weight will have
  std::optional<Quantised> quantised;
  /// Of rotary tables one behind the other: the row where the chosen one
  /// begins, i32. Only their readers know it.
  Value firstRow;
};

/// What integers stand for, of which an index may be made.
struct Meanings {
  llvm::DenseMap<Value, Size> counts; // one element, a size of the inputs
  llvm::DenseMap<Value, Size> ranges; // 0, 1, ... up to a size of the inputs
  /// Of what two dims became one: the tensor, and its sizes.
  llvm::DenseMap<Value, std::pair<Value, Shape>> joined;
  /// Row and column of `index`, if it is row * columns + column and both are
  /// ranges: no element is outside of [rows, columns].
  std::optional<std::pair<Value, Value>>
  splitIndex(Value index, const Size &rows, const Size &columns) const;
};

struct Operator;

/// The module, and the weights of all its functions.
struct Target {
  OwningOpRef<ModuleOp> module;
  std::vector<OnnxWeight> weights;
  llvm::StringMap<unsigned> weightIndex; // by name
};

class GraphImporter {
public:
  GraphImporter(Target &target, DataStore &store, const OnnxOptions &options,
                StringRef path, const ::onnx::ModelProto &model);

  LogicalResult run(StringRef function);

  Symbols symbols;
  OpBuilder builder;
  DataStore &store;
  const OnnxOptions &options;
  Meanings meanings;

  /// The value of this name, if an earlier node or the graph has made it.
  const Item *find(StringRef name) const;
  Item *find(StringRef name);
  LogicalResult define(Location loc, StringRef name, Item item);

  /// Imports the nodes of a branch that is taken, which read the values of this
  /// graph, too; the branch's outputs are values of this graph then.
  LogicalResult importBranch(Location loc, const ::onnx::GraphProto &branch);

  /// The item as an hk tensor; constants become hk.constant or hk.weight.
  FailureOr<Value> tensorOf(Location loc, Item &item);
  /// Its elements as sizes: of integers that depend on shapes and on numbers of
  /// the file only. nullopt for other items.
  std::optional<SmallVector<Size>> integersOf(const Item &item) const;
  /// The tensor type; fails where hk has no such element type or size.
  FailureOr<RankedTensorType> typeOf(Location loc, int dtype,
                                     ArrayRef<Size> shape);
  /// Whether a node that is kept, or an output, reads this value.
  bool isUsed(StringRef name) const { return used.contains(name); }
  /// The caches that a node writes in place: the argument `name` becomes a
  /// state whose last value is `written`; the output `present` goes away.
  LogicalResult writeState(Location loc, StringRef name, StringRef present,
                           Value written);
  /// The first input with a dim of this size, and which one; null if there is
  /// none.
  std::pair<const Item *, int64_t> findDim(const Size &size) const;
  /// Whether only GroupQueryAttention reads this value, as cosines or sines.
  bool isRotaryTable(StringRef name) const { return !readAsData.count(name); }
  /// Whether this is an input of the graph.
  bool isArgument(StringRef name) const { return arguments.count(name); }
  /// A dim of an input, if its size is open, has the one that its reader needs.
  void fixDim(StringRef argument, size_t dim, int64_t size);

private:
  Location locationOf(const ::onnx::NodeProto &node) const;
  Location locationOf(const Twine &text) const;
  LogicalResult checkOpsets();
  LogicalResult checkCounts();
  LogicalResult findLiveNodes();
  LogicalResult checkOperators();
  LogicalResult readInitializers(const ::onnx::GraphProto &from);
  LogicalResult addArguments(StringRef function);
  void nameDims(Item &item, ArrayRef<std::string> names, unsigned argument);
  FailureOr<Item> argumentItem(const ::onnx::ValueInfoProto &info,
                               SmallVector<std::string> &names);
  LogicalResult importNode(const ::onnx::NodeProto &node);
  LogicalResult addResults();
  Value weight(Location loc, const Item &item, RankedTensorType type);

  Target &target;
  std::string path;
  const ::onnx::ModelProto &model;
  const ::onnx::GraphProto &graph;
  func::FuncOp function;
  llvm::StringMap<int> opsets;
  std::vector<const ::onnx::NodeProto *> live; // in order
  llvm::StringSet<> used;                      // names that live nodes read
  llvm::StringSet<> readAsData;                // but as rotary tables
  llvm::StringMap<Item> items;
  llvm::StringMap<unsigned> arguments;
  llvm::StringMap<Size> dims; // by name
  struct State {
    std::string argument, present;
    Value value;
  };
  std::vector<State> states;
};

/// `text`, made usable as the name of a file and an identifier.
std::string publicName(StringRef text);

} // namespace mlir::hk::importer

#endif // HK_IMPORT_ONNX_GRAPH_H
