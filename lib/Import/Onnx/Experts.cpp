//===- Experts.cpp - Mixtures of experts of ONNX Runtime ------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MoE and QMoE: a router's k best experts of each token, whose rows are sorted
// by expert, so that a layer of all experts is one product of groups of rows.
// Weights of experts and the sum over them are in f32, rounded once.
//
//===----------------------------------------------------------------------===//

#include "Blockwise.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

namespace {
/// Which expert computes what: tokens T, k experts each.
struct Routing {
  Tensor ids, weights; // i32 and f32 [T, k]
  Tensor order, place; // i32 [T * k]: rows sorted by expert, and where each is
  Tensor bounds;       // i32 [E + 1]: where the rows of an expert begin
  int64_t k;
};

/// The matrices of a layer, [E, N, K], and its bias, [E, N].
struct Layer {
  Tensor weight;
  std::optional<Tensor> bias;
};

/// Inputs of a layer's weights; MoE has no scales and zero points.
struct LayerInputs {
  size_t weight, bias;
  size_t scale = kAny, zero = kAny;
};

/// What lies between the layers, of attributes of both operators.
struct Activation {
  StringRef type;
  double alpha, beta;
  std::optional<double> limit;
  int64_t fusion;
};
} // namespace

//===----------------------------------------------------------------------===//
// Routing
//===----------------------------------------------------------------------===//

/// Rows of a router [T, E] in f32.
static FailureOr<Tensor> routerRows(Node &node, size_t i, const Size &tokens,
                                    int64_t experts) {
  HK_TRY(given, node.tensor(i));
  if (given.rank() != 2 || given.shape[1] != Size(experts))
    return node.error() << "expected a router of [tokens, " << experts
                        << "] as input #" << i << ", but got "
                        << node.describe(given.shape);
  HK_TRY(rows, node.reshape(given, {tokens, Size(experts)}));
  return node.cast(rows, kFloat);
}

/// The k best experts of each token and their weights: of the softmax over all
/// experts, or of a tensor of weights.
static LogicalResult choose(Node &node, Routing &r, const Size &tokens,
                            int64_t experts, size_t weightsInput) {
  HK_TRY(scores, routerRows(node, 1, tokens, experts));
  bool apart = node.has(weightsInput);
  if (!apart) {
    HK_TRY(probabilities, node.unary<SoftmaxOp>(scores));
    scores = probabilities;
  }
  Shape shape{tokens, Size(r.k)};
  HK_TRY(valueType, node.type(kFloat, shape));
  HK_TRY(indexType, node.type(kInt32, shape));
  auto best =
      TopkOp::create(node.b, node.loc, TypeRange{valueType, indexType},
                     scores.value, TieRule::lowest_index, TopkOrder::by_value);
  r.ids = {best.getIndices(), kInt32, shape};
  r.weights = {best.getValues(), kFloat, shape};
  if (apart) {
    HK_TRY(given, routerRows(node, weightsInput, tokens, experts));
    r.weights.value = GatherLastOp::create(node.b, node.loc, valueType,
                                           given.value, r.ids.value);
  }
  if (!node.integer("normalize_routing_weights", 0))
    return success();
  HK_TRY(sumType, node.type(kFloat, {tokens, Size(1)}));
  Tensor sum{ReduceOp::create(node.b, node.loc, sumType, ReduceKind::sum,
                              r.weights.value, 1),
             kFloat,
             {tokens, Size(1)}};
  HK_TRY(normal, node.binary<DivOp>(r.weights, sum));
  r.weights = normal;
  return success();
}

/// The order of all chosen rows by their expert.
static LogicalResult sortRows(Node &node, Routing &r, const Size &tokens,
                              int64_t experts) {
  Size count = tokens * Size(r.k);
  HK_TRY(keys, node.reshape(r.ids, {count}));
  HK_TRY(itemType, node.type(kInt32, {count}));
  HK_TRY(countType, node.type(kInt32, {Size(experts)}));
  OpBuilder &b = node.b;
  Tensor counts{HistogramOp::create(b, node.loc, countType, keys.value),
                kInt32,
                {Size(experts)}};
  auto sorted = SortByKeyOp::create(b, node.loc, itemType, itemType, keys.value,
                                    uint64_t(experts));
  r.order = {sorted.getOrder(), kInt32, {count}};
  r.place = {sorted.getPosition(), kInt32, {count}};
  HK_TRY(bounds, node.offsets(counts, 0, kInt32));
  r.bounds = bounds;
  return success();
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// Rows [R, K] times the matrices of their experts: rows of tokens, which it
/// gathers, or rows in the order of the experts.
static FailureOr<Tensor> product(Node &node, const Tensor &x,
                                 const Layer &layer, const Routing &r,
                                 bool gathers, int dtype) {
  Shape shape{r.order.shape[0], layer.weight.shape[1]};
  HK_TRY(type, node.type(dtype, shape));
  OperationState state(node.loc, GroupedMatmulOp::getOperationName());
  GroupedMatmulOp::build(
      node.b, state, type, x.value, layer.weight.value, /*lhs_scale=*/Value(),
      /*rhs_scale=*/Value(), GroupForm::bounds, r.bounds.value,
      gathers ? r.order.value : Value(),
      layer.bias ? layer.bias->value : Value(), /*group_scale=*/Value(),
      /*transpose_a=*/false, /*transpose_b=*/true, /*along_k=*/false,
      /*block=*/IntegerAttr(), gathers ? uint64_t(r.k) : 1);
  return Tensor{node.b.create(state)->getResult(0), dtype, shape};
}

/// The sum over the experts of a token, [T, N] in f32.
static FailureOr<Tensor> combine(Node &node, const Tensor &y, const Routing &r,
                                 const Size &tokens) {
  HK_TRY(places, node.reshape(r.place, {tokens, Size(r.k)}));
  Shape shape{tokens, y.shape[1]};
  HK_TRY(type, node.type(y.dtype, shape));
  std::optional<Tensor> total;
  for (int64_t i = 0; i < r.k; ++i) {
    HK_TRY(column, node.slice(places, 1, i, 1));
    HK_TRY(at, node.reshape(column, {tokens}));
    Tensor rows{GatherRowsOp::create(node.b, node.loc, type, y.value, at.value),
                y.dtype, shape};
    HK_TRY(weight, node.slice(r.weights, 1, i, 1));
    HK_TRY(weighed, node.binary<MulOp>(rows, weight));
    if (!total) {
      total = weighed;
      continue;
    }
    HK_TRY(sum, node.binary<AddOp>(*total, weighed));
    total = sum;
  }
  return *total;
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

static FailureOr<Activation> activationOf(Node &node) {
  Activation a;
  a.type = node.text("activation_type", "relu");
  a.alpha = node.real("activation_alpha", 1);
  a.beta = node.real("activation_beta", 0);
  a.fusion = node.integer("swiglu_fusion", 0);
  if (node.hasAttribute("swiglu_limit"))
    a.limit = node.real("swiglu_limit", 0);
  if (a.fusion < 0 || a.fusion > 2 || (a.limit && !(*a.limit > 0)))
    return node.error() << "expected swiglu_fusion from 0 to 2 and a positive "
                           "swiglu_limit, but got "
                        << a.fusion << " and " << a.limit.value_or(0);
  return a;
}

/// An activation of one operand.
static FailureOr<Tensor> activate(Node &node, StringRef type, const Tensor &x) {
  if (type == "relu")
    return node.unary<ReluOp>(x);
  if (type == "gelu") // ORT's is the one with tanh
    return node.unary<GeluTanhOp>(x);
  if (type == "silu")
    return node.unary<SiluOp>(x);
  if (type == "identity")
    return x;
  return node.error() << "expected activation_type relu, gelu, silu, swiglu or "
                         "identity, but got '"
                      << type << "'";
}

/// g sigmoid(alpha g) (l + beta) of limited g and l, in f32.
static FailureOr<Tensor> swiglu(Node &node, const Activation &a,
                                const Tensor &gate, const Tensor &linear) {
  HK_TRY(g, node.cast(gate, kFloat));
  HK_TRY(l, node.cast(linear, kFloat));
  if (a.limit) {
    HK_TRY(most, node.scalar(*a.limit, kFloat));
    HK_TRY(least, node.scalar(-*a.limit, kFloat));
    HK_TRY(limited, node.binary<MinOp>(g, most));
    HK_TRY(below, node.binary<MinOp>(l, most));
    HK_TRY(inside, node.binary<MaxOp>(below, least));
    g = limited, l = inside;
  }
  HK_TRY(alpha, node.scalar(a.alpha, kFloat));
  HK_TRY(beta, node.scalar(a.beta, kFloat));
  HK_TRY(scaled, node.binary<MulOp>(g, alpha));
  HK_TRY(sigmoid, node.unary<SigmoidOp>(scaled));
  HK_TRY(swish, node.binary<MulOp>(g, sigmoid));
  HK_TRY(moved, node.binary<AddOp>(l, beta));
  HK_TRY(made, node.binary<MulOp>(swish, moved));
  return node.cast(made, gate.dtype);
}

/// Whether hk.gated_activation has a kind for it.
static std::optional<GateKind> gateKind(const Activation &a) {
  if (float(a.alpha) == 1.702f && a.beta == 1)
    return GateKind::swiglu_oai;
  if (a.alpha == 1 && a.beta == 0)
    return GateKind::silu;
  return std::nullopt;
}

/// swiglu of rows that hold both operands, as neighbours or as halves.
static FailureOr<Tensor> gatedRows(Node &node, const Activation &a,
                                   GateKind kind, const Tensor &x) {
  Shape shape{x.shape[0], Size(*x.shape[1].getConstant() / 2)};
  HK_TRY(type, node.type(x.dtype, shape));
  return Tensor{GatedActivationOp::create(
                    node.b, node.loc, type, kind, x.value,
                    a.limit ? node.b.getF32FloatAttr(*a.limit) : FloatAttr(),
                    /*round_before_up=*/false, /*interleaved=*/a.fusion == 1),
                x.dtype, shape};
}

/// The rows of a layer's matrices that make gates, or the other operand.
static FailureOr<Layer> partOf(Node &node, const Layer &layer, bool pairs,
                               bool gates) {
  Size half(*layer.weight.shape[1].getConstant() / 2);
  Size offset = gates ? Size(0) : pairs ? Size(1) : half;
  int64_t stride = pairs ? 2 : 1;
  Layer made;
  HK_TRY(weight, node.slice(layer.weight, 1, offset, half, stride));
  made.weight = weight;
  if (layer.bias) {
    HK_TRY(bias, node.slice(*layer.bias, 1, offset, half, stride));
    made.bias = bias;
  }
  return made;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// swiglu of two products of their own.
static FailureOr<Tensor> swigluOf(Node &node, const Tensor &x, const Routing &r,
                                  const Activation &a, const Layer &gates,
                                  const Layer &others) {
  HK_TRY(gate, product(node, x, gates, r, /*gathers=*/true, x.dtype));
  HK_TRY(linear, product(node, x, others, r, /*gathers=*/true, x.dtype));
  return swiglu(node, a, gate, linear);
}

/// From the rows of tokens to those of the second layer's operand.
static FailureOr<Tensor> inner(Node &node, const Tensor &x, const Routing &r,
                               const Activation &a, const Layer &fc1,
                               const std::optional<Layer> &fc3) {
  bool isSwiglu = a.type == "swiglu";
  if (isSwiglu && (a.fusion == 0) != fc3.has_value())
    return node.error() << "expected fc3 with swiglu_fusion 0 and without it "
                           "otherwise, but got "
                        << a.fusion;
  if (isSwiglu && fc3)
    return swigluOf(node, x, r, a, fc1, *fc3);
  std::optional<int64_t> width = fc1.weight.shape[1].getConstant();
  if (isSwiglu && (!width || *width % 2 != 0))
    return node.error() << "expected an even number of rows of fc1, but got "
                        << node.describe(fc1.weight.shape);
  std::optional<GateKind> kind = gateKind(a);
  if (isSwiglu && !kind) {
    HK_TRY(gates, partOf(node, fc1, a.fusion == 1, /*gates=*/true));
    HK_TRY(others, partOf(node, fc1, a.fusion == 1, /*gates=*/false));
    return swigluOf(node, x, r, a, gates, others);
  }
  HK_TRY(first, product(node, x, fc1, r, /*gathers=*/true, x.dtype));
  if (isSwiglu)
    return gatedRows(node, a, *kind, first);
  HK_TRY(activated, activate(node, a.type, first));
  if (!fc3)
    return activated;
  HK_TRY(third, product(node, x, *fc3, r, /*gathers=*/true, x.dtype));
  return node.binary<MulOp>(activated, third);
}

/// What both operators compute, of decoded weights.
static LogicalResult mixture(Node &node, const Activation &a, const Layer &fc1,
                             const Layer &fc2, const std::optional<Layer> &fc3,
                             size_t routerWeights) {
  HK_TRY(given, node.tensor(0));
  if (given.rank() < 2)
    return node.error() << "expected rows of tokens, but got "
                        << node.describe(given.shape);
  if (failed(node.only("use_sparse_mixer", 0,
                       "only softmax and top k are "
                       "supported")))
    return failure();
  Size tokens(1);
  for (const Size &size : ArrayRef<Size>(given.shape).drop_back())
    tokens = tokens * size;
  for (const Layer *layer : {&fc1, &fc2, fc3 ? &*fc3 : &fc1})
    if (layer->weight.rank() != 3 ||
        layer->weight.shape[0] != fc1.weight.shape[0] ||
        (layer->bias && layer->bias->rank() != 2))
      return node.error() << "expected matrices of as many experts and biases "
                             "of two dims, but got "
                          << node.describe(layer->weight.shape);
  std::optional<int64_t> experts = fc1.weight.shape[0].getConstant();
  Routing r;
  r.k = node.integer("k", 1);
  if (!experts || r.k < 1 || r.k > *experts || r.k > 256)
    return node.error()
           << "expected k from 1 to the number of experts and 256, "
              "but got "
           << r.k << " of " << node.graph.symbols.describe(fc1.weight.shape[0]);
  HK_TRY(x, node.reshape(given, {tokens, given.shape.back()}));
  if (failed(choose(node, r, tokens, *experts, routerWeights)) ||
      failed(sortRows(node, r, tokens, *experts)))
    return failure();
  HK_TRY(hidden, inner(node, x, r, a, fc1, fc3));
  HK_TRY(y, product(node, hidden, fc2, r, /*gathers=*/false, kFloat));
  HK_TRY(sum, combine(node, y, r, tokens));
  HK_TRY(narrow, node.cast(sum, given.dtype));
  HK_TRY(result, node.reshape(narrow, given.shape));
  return node.result(0, result);
}

static FailureOr<std::optional<Tensor>> biasOf(Node &node, size_t i) {
  using Maybe = std::optional<Tensor>;
  if (!node.has(i))
    return Maybe();
  HK_TRY(bias, node.tensor(i));
  return Maybe(bias);
}

static FailureOr<std::optional<Layer>> plainLayer(Node &node, LayerInputs in) {
  using Maybe = std::optional<Layer>;
  if (!node.has(in.weight))
    return Maybe();
  HK_TRY(weight, node.tensor(in.weight));
  HK_TRY(bias, biasOf(node, in.bias));
  return Maybe(Layer{weight, bias});
}

static LogicalResult moe(Node &node) {
  HK_TRY(a, activationOf(node));
  HK_TRY(fc1, plainLayer(node, {2, 3}));
  HK_TRY(fc2, plainLayer(node, {4, 5}));
  HK_TRY(fc3, plainLayer(node, {6, 7}));
  if (!fc1 || !fc2)
    return node.error() << "expected weights of fc1 and fc2";
  return mixture(node, a, *fc1, *fc2, fc3, kAny);
}

/// The layer with its weights decoded. Scales [E, N] or [E, N, blocks].
static FailureOr<std::optional<Layer>> packedLayer(Node &node, LayerInputs in,
                                                   int64_t bits, int64_t block,
                                                   int dtype) {
  using Maybe = std::optional<Layer>;
  if (!node.has(in.weight))
    return Maybe();
  if (!node.has(in.scale))
    return node.error() << "expected scales of the weights, input #"
                        << in.scale;
  const Shape &shape = node.input(in.weight).shape;
  SmallVector<int64_t> sizes;
  for (const Size &size : shape)
    sizes.push_back(size.getConstant().value_or(0));
  if (sizes.size() != 3)
    return node.error() << "expected weights [experts, rows, packed columns], "
                           "but got "
                        << node.describe(shape);
  PackedRows p{
      in.weight, in.scale, in.zero, {sizes[0], sizes[1]}, sizes[2] * (8 / bits),
      bits,      block};
  if (block == 0) {
    p.block = std::max<int64_t>(p.k, 1);
    p.zerosAcrossRows = true;
  }
  HK_TRY(rows, storedRows(node, p));
  HK_TRY(weight, decodedRows(node, rows, p.block, dtype));
  HK_TRY(bias, biasOf(node, in.bias));
  return Maybe(Layer{weight, bias});
}

static LogicalResult quantisedMoe(Node &node) {
  HK_TRY(a, activationOf(node));
  int64_t bits = node.integer("expert_weight_bits", 4),
          block = node.integer("block_size", 0);
  if (StringRef kind = node.text("quant_type", "int"); kind != "int")
    return node.error() << "expected attribute 'quant_type' to be 'int', but "
                           "got '"
                        << kind << "'";
  if (node.integer("weights_prepacked", -1) == 1)
    return node.error()
           << "expected attribute 'weights_prepacked' to be 0: the "
              "weights are in a kernel's order; export without";
  if ((bits != 2 && bits != 4 && bits != 8) || block < 0)
    return node.error() << "expected expert_weight_bits of 2, 4 or 8 and a "
                           "block_size, but got "
                        << bits << " and " << block;
  for (size_t i = 15; i < node.numInputs(); ++i)
    if (node.has(i))
      return node.error() << "input #" << i << " '" << node.inputName(i)
                          << "' is not supported";
  int dtype = node.input(0).dtype;
  HK_TRY(fc1, packedLayer(node, {2, 4, 3, 11}, bits, block, dtype));
  HK_TRY(fc2, packedLayer(node, {5, 7, 6, 12}, bits, block, dtype));
  HK_TRY(fc3, packedLayer(node, {8, 10, 9, 13}, bits, block, dtype));
  if (!fc1 || !fc2)
    return node.error() << "expected weights of fc1 and fc2";
  return mixture(node, a, *fc1, *fc2, fc3, 14);
}

ArrayRef<Operator> mlir::hk::importer::expertOperators() {
  constexpr const char *kMs = "com.microsoft";
  static const Operator table[] = {
      {kMs, "MoE", 1, 3, 8, moe, "no sparse mixer"},
      {kMs, "QMoE", 1, 4, 21, quantisedMoe,
       "integers of 2, 4 and 8 bits, not prepacked; no sparse mixer"},
  };
  return table;
}
