//===- Node.h - What an operator sees of its node ------------- -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inputs, attributes, errors and results of a node, and the building blocks
// that operators are written with: broadcasting, reshapes, casts, numbers.
//
//===----------------------------------------------------------------------===//

#ifndef HK_IMPORT_ONNX_NODE_H
#define HK_IMPORT_ONNX_NODE_H

#include "Graph.h"

#include "hk/Dialect/HK.h"

namespace onnx {
class AttributeProto;
} // namespace onnx

namespace mlir::hk::importer {

/// An hk tensor with its sizes.
struct Tensor {
  Value value;
  int dtype = kFloat;
  Shape shape;
  int64_t rank() const { return shape.size(); }
};

struct Operator;

class Node {
public:
  Node(GraphImporter &graph, const ::onnx::NodeProto &node, Location loc,
       int opset, const Operator &op)
      : b(graph.builder), loc(loc), opset(opset), graph(graph), node(node),
        op(op) {}

  OpBuilder &b;
  Location loc;
  int opset;
  GraphImporter &graph;

  /// An error of this node; it converts to failure().
  InFlightDiagnostic error() const;

  size_t numInputs() const;
  size_t numOutputs() const;
  StringRef inputName(size_t i) const;
  StringRef outputName(size_t i) const;
  /// Whether input `i` is given.
  bool has(size_t i) const;
  /// Whether output `i` is asked for.
  bool wants(size_t i) const;
  /// Input `i`, which is given.
  const Item &input(size_t i) const;
  FailureOr<Tensor> tensor(size_t i);
  /// Input `i`, of floats.
  FailureOr<Tensor> realTensor(size_t i);
  /// Inputs `i` and `j`, of one type.
  FailureOr<std::pair<Tensor, Tensor>> pair(size_t i, size_t j);
  /// Input `i` as integers of 8 bits: int8, and uint8 less 128.
  FailureOr<Tensor> codes(size_t i);
  /// Numbers of input `i`; an error where the file does not have them.
  FailureOr<Data> numbers(size_t i, StringRef what);
  /// Elements of input `i` that shapes decide; an error if data do.
  FailureOr<SmallVector<Size>> sizes(size_t i, StringRef what);
  FailureOr<SmallVector<int64_t>> integers(size_t i, StringRef what);

  bool hasAttribute(StringRef name) const;
  int64_t integer(StringRef name, int64_t otherwise);
  double real(StringRef name, double otherwise);
  StringRef text(StringRef name, StringRef otherwise);
  std::optional<SmallVector<int64_t>> integerList(StringRef name);
  const ::onnx::AttributeProto *attribute(StringRef name);
  /// An attribute of another value than `value` is refused.
  LogicalResult only(StringRef name, int64_t value, StringRef why);
  /// After the operator: whether an attribute was of a wrong type, or is one
  /// that no line of the operator asked for.
  LogicalResult checkAttributes();

  /// `axis` counted from 0; an error outside of [-rank, rank).
  FailureOr<int64_t> axis(int64_t axis, int64_t rank);

  LogicalResult result(size_t i, const Tensor &tensor);
  LogicalResult result(size_t i, Item item);

  // Building blocks. Each checks what it makes; its errors name the node.

  FailureOr<RankedTensorType> type(int dtype, ArrayRef<Size> shape);
  /// NumPy's rule; unequal names are taken as equal, which each call checks.
  FailureOr<Shape> broadcast(ArrayRef<Size> a, ArrayRef<Size> b);
  FailureOr<Tensor> cast(const Tensor &x, int dtype);
  /// Booleans as bytes, since comparisons and choices take numbers.
  FailureOr<Tensor> asNumber(const Tensor &x);
  FailureOr<Tensor> reshape(const Tensor &x, ArrayRef<Size> shape);
  FailureOr<Tensor> transpose(const Tensor &x, ArrayRef<int64_t> permutation);
  /// Elements [offset, offset + size) of one dim, every `stride`-th.
  FailureOr<Tensor> slice(const Tensor &x, int64_t dim, const Size &offset,
                          const Size &size, int64_t stride = 1);
  FailureOr<Tensor> concat(int64_t dim, ArrayRef<Tensor> parts);
  /// Repeats dims of size 1 to `shape`.
  FailureOr<Tensor> expand(const Tensor &x, ArrayRef<Size> shape);
  /// An input with a dim of this size, which only the call tells, and the dim.
  FailureOr<std::pair<Tensor, int64_t>> tensorWith(const Size &size);
  /// bool [size], all true, of a size that only the call tells: that of a dim
  /// of an input, which is compared with itself.
  FailureOr<Tensor> truths(const Size &size);
  /// A size of the inputs as data, of rank 0: of dims of inputs, their sums and
  /// products.
  FailureOr<Tensor> count(const Size &size, int dtype);
  /// 0, 1, ... as long as dim `dim` of x, of rank 1.
  FailureOr<Tensor> places(const Tensor &x, int64_t dim, int dtype);
  /// Sums of what is in front of each element of x along `dim`, and of all: one
  /// longer there.
  FailureOr<Tensor> offsets(const Tensor &x, int64_t dim, int dtype);
  /// How many elements the dims of x from `from` on have, i64 of rank 0.
  FailureOr<Tensor> countOf(const Tensor &x, int64_t from);
  /// A tensor of rank 0.
  FailureOr<Tensor> scalar(double value, int dtype);
  FailureOr<Tensor> constant(const Data &data, StringRef name);

  template <typename Op> FailureOr<Tensor> unary(const Tensor &x) {
    auto made = type(x.dtype, x.shape);
    if (failed(made))
      return failure();
    return Tensor{Op::create(b, loc, *made, x.value), x.dtype, x.shape};
  }
  template <typename Op>
  FailureOr<Tensor> binary(const Tensor &x, const Tensor &y) {
    FailureOr<Shape> shape = broadcast(x.shape, y.shape);
    if (failed(shape))
      return failure();
    auto made = type(x.dtype, *shape);
    if (failed(made))
      return failure();
    return Tensor{Op::create(b, loc, *made, x.value, y.value), x.dtype, *shape};
  }
  FailureOr<Tensor> compare(ComparePredicate predicate, const Tensor &x,
                            const Tensor &y);
  FailureOr<Tensor> select(const Tensor &condition, const Tensor &x,
                           const Tensor &y);

  std::string describe(ArrayRef<Size> shape) const;

private:
  /// The tensor of integers that depend on sizes of the inputs.
  FailureOr<Tensor> counts(Item &item);

  const ::onnx::NodeProto &node;
  const Operator &op;
  llvm::StringSet<> asked;
  std::string wrongAttribute;
};

/// A line of the table of operators.
struct Operator {
  const char *domain, *name;
  int since; // the first opset whose meaning this is
  size_t minInputs, maxInputs;
  LogicalResult (*import)(Node &);
  const char *summary; // what of it is not supported; "" for nothing
  /// Elements go where they go whatever they are: uint8 is taken, too.
  bool movesOnly = false;
};
/// The line for an operator at an opset; null if there is none.
const Operator *findOperator(StringRef domain, StringRef name, int opset);
ArrayRef<Operator> allOperators();

/// Elements begin, begin + step, ... of a dim, `size` of them.
struct StridedDim {
  int64_t axis, begin, size, step;
};
/// The slice of a dim of known size, by ONNX's clamping; nothing where a bound
/// is not known.
std::optional<StridedDim> stridedDim(int64_t axis, const Size &dim,
                                     const Size &begin, const Size &end,
                                     int64_t step);
/// Input 0 as result 0, if it is integers that shapes decide, in known sizes.
std::optional<LogicalResult> transposedIntegers(Node &node,
                                                ArrayRef<int64_t> permutation);
std::optional<LogicalResult> slicedIntegers(Node &node,
                                            ArrayRef<StridedDim> dims);
/// Elements of x along a dim; `indices` are none below zero.
FailureOr<Tensor> gatherAlong(Node &node, const Tensor &x, int64_t axis,
                              const Tensor &indices);

/// Softmax of x along a dim.
FailureOr<Tensor> softmaxAlong(Node &node, const Tensor &x, int64_t axis);
/// The mean of the elements of x behind the first two dims, which become 1.
FailureOr<Tensor> averageBehind(Node &node, const Tensor &x);
/// Input `i`, indices into a dim of this size, counted from its begin.
FailureOr<Tensor> indicesInto(Node &node, size_t i, const Size &dim);

constexpr size_t kAny = 1 << 16;

// One table per file of operators.
ArrayRef<Operator> pointwiseOperators();
ArrayRef<Operator> logicOperators();
ArrayRef<Operator> reductionOperators();
ArrayRef<Operator> normOperators();
ArrayRef<Operator> viewOperators();
ArrayRef<Operator> gatherOperators();
ArrayRef<Operator> constantOperators();
ArrayRef<Operator> productOperators();
ArrayRef<Operator> attentionOperators();
ArrayRef<Operator> rotaryOperators();
ArrayRef<Operator> quantisationOperators();
ArrayRef<Operator> integerProductOperators();
ArrayRef<Operator> blockwiseOperators();
ArrayRef<Operator> expertOperators();
ArrayRef<Operator> channelOperators();
ArrayRef<Operator> choiceOperators();
ArrayRef<Operator> einsumOperators();
ArrayRef<Operator> formulaOperators();
ArrayRef<Operator> oneHotOperators();
ArrayRef<Operator> paddingOperators();
ArrayRef<Operator> requantisedOperators();
ArrayRef<Operator> scatterOperators();

} // namespace mlir::hk::importer

/// Takes the value of a FailureOr, or returns failure() from the function.
#define HK_TRY(declaration, expression)                                        \
  auto declaration##OrFailure = (expression);                                  \
  if (failed(declaration##OrFailure))                                          \
    return failure();                                                          \
  auto &declaration = *declaration##OrFailure

#endif // HK_IMPORT_ONNX_NODE_H
