//===- Recurrent.cpp - LSTM, GRU and RNN of ONNX --------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// hk has no loops: a layer of a known number of steps is written out. The
// inputs of all steps are one product with their weights; each step adds the
// product of what the one before it gave. A first step without an initial state
// has none to multiply. A step behind the end of a sequence keeps its states
// and shows 0, so that backwards, too, each sequence begins at its own end.
//
//===----------------------------------------------------------------------===//

#include "Products.h"

#include <onnx/onnx_pb.h>

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

namespace {

/// One direction of a layer.
struct Cell {
  int64_t hidden;
  Tensor inputs;                   // [T, B, gates * H], with its biases
  Tensor weight;                   // [gates * H, H]
  std::optional<Tensor> lastBias;  // [H], of the last gate's recurrent part
  std::optional<Tensor> peepholes; // [3 * H], of in, out and forget
  std::optional<Tensor> h, c;      // [B, H]; nothing is 0
  double clip;                     // of inputs of activations; 0: none
};

/// What a layer is: the same for LSTM, GRU and RNN but for these.
struct Kind {
  int64_t gates;
  StringRef activations;
  bool hasCell;
  LogicalResult (*step)(Node &node, Cell &cell, const Tensor &input);
};

} // namespace

/// A tensor whose first dim is the batch, with it behind the dim that was its
/// second.
static FailureOr<Tensor> batchBehind(Node &node, const Tensor &x) {
  if (node.integer("layout", 0) == 0)
    return x;
  if (x.rank() != 3)
    return node.error() << "expected three dims where layout is 1, but got "
                        << node.describe(x.shape);
  return node.transpose(x, {1, 0, 2});
}

/// Part `d` of input `i`, without its first dim.
static FailureOr<Tensor> ofDirection(Node &node, size_t i, int64_t d) {
  HK_TRY(given, node.realTensor(i));
  // Of parts by direction states alone have a batch.
  bool isState = i == 5 || i == 6;
  FailureOr<Tensor> turned =
      isState ? batchBehind(node, given) : FailureOr<Tensor>(given);
  if (failed(turned))
    return failure();
  const Tensor &whole = *turned;
  if (whole.rank() < 2)
    return node.error() << "expected input #" << i
                        << " to have a dim of directions, but got "
                        << node.describe(whole.shape);
  HK_TRY(part, node.slice(whole, 0, d, 1));
  return node.reshape(part, ArrayRef<Size>(whole.shape).drop_front());
}

/// Gates `first` and those behind it, `count` of them, of [..., gates * H].
static FailureOr<Tensor> gatesOf(Node &node, const Tensor &x, int64_t hidden,
                                 int64_t first, int64_t count = 1) {
  return node.slice(x, x.rank() - 1, first * hidden, Size(count * hidden));
}

/// The input and recurrent parts of all gates, added.
static FailureOr<Tensor> sumOfParts(Node &node, const Cell &cell,
                                    const Tensor &input) {
  if (!cell.h)
    return input;
  HK_TRY(product, matmul(node, *cell.h, cell.weight, false, true, input.dtype));
  return node.binary<AddOp>(input, product);
}

/// An activation of a sum within [-clip, clip].
template <class Activation>
static FailureOr<Tensor> activated(Node &node, const Cell &cell,
                                   const Tensor &sum) {
  if (cell.clip == 0)
    return node.unary<Activation>(sum);
  HK_TRY(made, node.type(sum.dtype, sum.shape));
  Tensor within{ClampOp::create(node.b, node.loc, made, sum.value,
                                node.b.getF32FloatAttr(-cell.clip),
                                node.b.getF32FloatAttr(cell.clip)),
                sum.dtype, sum.shape};
  return node.unary<Activation>(within);
}

/// Gate `i` of an LSTM: of its part of the sum and, with peepholes, a cell.
static FailureOr<Tensor> lstmGate(Node &node, const Cell &cell,
                                  const Tensor &sum, int64_t i,
                                  const std::optional<Tensor> &seen) {
  HK_TRY(part, gatesOf(node, sum, cell.hidden, i));
  if (!cell.peepholes || !seen)
    return activated<SigmoidOp>(node, cell, part);
  HK_TRY(weight, gatesOf(node, *cell.peepholes, cell.hidden, i));
  HK_TRY(peep, node.binary<MulOp>(*seen, weight));
  HK_TRY(both, node.binary<AddOp>(part, peep));
  return activated<SigmoidOp>(node, cell, both);
}

/// Gates in, out, forget, cell: c = f c + i g, h = o tanh(c). Peepholes show
/// the cell before the step to in and forget, and the one behind it to out.
static LogicalResult lstmStep(Node &node, Cell &cell, const Tensor &input) {
  HK_TRY(sum, sumOfParts(node, cell, input));
  HK_TRY(in, lstmGate(node, cell, sum, 0, cell.c));
  HK_TRY(last, gatesOf(node, sum, cell.hidden, 3));
  HK_TRY(candidate, activated<TanhOp>(node, cell, last));
  HK_TRY(taken, node.binary<MulOp>(in, candidate));
  Tensor c = taken;
  if (cell.c) {
    HK_TRY(forget, lstmGate(node, cell, sum, 2, cell.c));
    HK_TRY(kept, node.binary<MulOp>(forget, *cell.c));
    HK_TRY(both, node.binary<AddOp>(kept, taken));
    c = both;
  }
  HK_TRY(out, lstmGate(node, cell, sum, 1, c));
  HK_TRY(shown, node.unary<TanhOp>(c));
  HK_TRY(h, node.binary<MulOp>(out, shown));
  cell.c = c;
  cell.h = h;
  return success();
}

/// Gates update, reset, candidate: n = tanh(x + r (h R + b)), or with the reset
/// in front of the product; h = n + z (h - n).
static LogicalResult gruStep(Node &node, Cell &cell, const Tensor &input) {
  int64_t hidden = cell.hidden;
  bool behind = node.integer("linear_before_reset", 0) != 0;
  HK_TRY(first, gatesOf(node, input, hidden, 0, 2));
  HK_TRY(candidate, gatesOf(node, input, hidden, 2));
  Tensor sum = first;
  std::optional<Tensor> recurrent = cell.lastBias;
  if (cell.h) {
    HK_TRY(product,
           matmul(node, *cell.h, cell.weight, false, true, input.dtype));
    HK_TRY(own, gatesOf(node, product, hidden, 0, 2));
    HK_TRY(both, node.binary<AddOp>(first, own));
    sum = both;
    HK_TRY(last, gatesOf(node, product, hidden, 2));
    FailureOr<Tensor> biased = recurrent ? node.binary<AddOp>(last, *recurrent)
                                         : FailureOr<Tensor>(last);
    if (failed(biased))
      return failure();
    recurrent = *biased;
  }
  HK_TRY(gates, activated<SigmoidOp>(node, cell, sum));
  HK_TRY(update, gatesOf(node, gates, hidden, 0));
  HK_TRY(reset, gatesOf(node, gates, hidden, 1));
  Tensor whole = candidate;
  if (behind && recurrent) {
    HK_TRY(part, node.binary<MulOp>(reset, *recurrent));
    HK_TRY(both, node.binary<AddOp>(candidate, part));
    whole = both;
  } else if (cell.h) {
    HK_TRY(matrix, node.slice(cell.weight, 0, 2 * hidden, hidden));
    HK_TRY(kept, node.binary<MulOp>(reset, *cell.h));
    HK_TRY(part, matmul(node, kept, matrix, false, true, input.dtype));
    HK_TRY(both, node.binary<AddOp>(candidate, part));
    whole = both;
  }
  HK_TRY(next, activated<TanhOp>(node, cell, whole));
  FailureOr<Tensor> less =
      cell.h ? node.binary<SubOp>(*cell.h, next) : node.unary<NegOp>(next);
  if (failed(less))
    return failure();
  HK_TRY(moved, node.binary<MulOp>(update, *less));
  HK_TRY(h, node.binary<AddOp>(next, moved));
  cell.h = h;
  return success();
}

/// h = f(x + h R), f tanh or relu.
template <class Activation>
static LogicalResult rnnStep(Node &node, Cell &cell, const Tensor &input) {
  HK_TRY(sum, sumOfParts(node, cell, input));
  HK_TRY(h, activated<Activation>(node, cell, sum));
  cell.h = h;
  return success();
}

/// Biases of inputs, [gates * H], of both parts but for the last gate of a GRU
/// whose reset comes behind the product.
static LogicalResult addBiases(Node &node, const Kind &kind, int64_t d,
                               Cell &cell) {
  if (!node.has(3))
    return success();
  int64_t gates = kind.gates, hidden = cell.hidden;
  HK_TRY(all, ofDirection(node, 3, d));
  HK_TRY(input, gatesOf(node, all, hidden, 0, gates));
  HK_TRY(recurrent, gatesOf(node, all, hidden, gates, gates));
  bool apart = kind.gates == 3 && node.integer("linear_before_reset", 0) != 0;
  Tensor sum;
  if (apart) {
    HK_TRY(last, gatesOf(node, recurrent, hidden, 2));
    cell.lastBias = last;
    HK_TRY(x, gatesOf(node, input, hidden, 0, 2));
    HK_TRY(h, gatesOf(node, recurrent, hidden, 0, 2));
    HK_TRY(both, node.binary<AddOp>(x, h));
    HK_TRY(own, gatesOf(node, input, hidden, 2));
    HK_TRY(joined, node.concat(0, {both, own}));
    sum = joined;
  } else {
    HK_TRY(both, node.binary<AddOp>(input, recurrent));
    sum = both;
  }
  HK_TRY(made, node.binary<AddOp>(cell.inputs, sum));
  cell.inputs = made;
  return success();
}

static FailureOr<Cell> cellOf(Node &node, const Kind &kind, const Tensor &x,
                              int64_t d) {
  Cell cell;
  cell.clip = node.real("clip", 0);
  HK_TRY(input, ofDirection(node, 1, d));
  HK_TRY(weight, ofDirection(node, 2, d));
  cell.weight = weight;
  std::optional<int64_t> hidden =
      weight.rank() == 2 ? weight.shape[1].getConstant() : std::nullopt;
  if (!hidden || *hidden < 1 ||
      !weight.shape[0].isConstant(kind.gates * *hidden) || input.rank() != 2 ||
      input.shape[0] != weight.shape[0])
    return node.error() << "expected weights of " << kind.gates
                        << " gates of a known size, but got "
                        << node.describe(input.shape) << " and "
                        << node.describe(weight.shape);
  cell.hidden = *hidden;
  HK_TRY(inputs, matmul(node, x, input, false, true, x.dtype));
  cell.inputs = inputs;
  if (failed(addBiases(node, kind, d, cell)))
    return failure();
  if (node.has(5)) {
    HK_TRY(h, ofDirection(node, 5, d));
    cell.h = h;
  }
  if (kind.hasCell && node.has(6)) {
    HK_TRY(c, ofDirection(node, 6, d));
    cell.c = c;
  }
  if (kind.hasCell && node.has(7)) {
    HK_TRY(peepholes, ofDirection(node, 7, d));
    if (peepholes.shape != Shape{Size(3 * *hidden)})
      return node.error() << "expected peephole weights, input #7, of "
                          << 3 * *hidden << " elements, but got "
                          << node.describe(peepholes.shape);
    cell.peepholes = peepholes;
  }
  return cell;
}

/// What of the operators is not written out.
static LogicalResult checkForm(Node &node, const Kind &kind) {
  if (node.hasAttribute("clip") && !(node.real("clip", 0) > 0))
    return node.error() << "expected attribute 'clip' to be above 0, but got "
                        << node.real("clip", 0);
  if (int64_t layout = node.integer("layout", 0); layout != 0 && layout != 1)
    return node.error() << "expected attribute 'layout' to be 0 or 1, but got "
                        << layout;
  if (failed(node.only("input_forget", 0, "gates are apart")))
    return failure();
  node.integer("hidden_size", 0);
  if (const auto *given = node.attribute("activations")) {
    SmallVector<StringRef> wanted;
    kind.activations.split(wanted, ' ');
    for (auto [i, name] : llvm::enumerate(given->strings()))
      if (name != wanted[i % wanted.size()])
        return node.error() << "expected activations " << kind.activations
                            << ", but got '" << name << "'";
  }
  return success();
}

/// Where each step lies in front of the end of its sequence, i1 [B, 1] of each;
/// empty where every sequence has all steps.
static FailureOr<SmallVector<Tensor>> masksOf(Node &node, const Size &batch,
                                              int64_t steps) {
  SmallVector<Tensor> masks;
  if (!node.has(4))
    return masks;
  HK_TRY(given, node.tensor(4));
  if (given.shape != Shape{batch})
    return node.error() << "expected a length of each sequence, input #4, "
                        << node.describe(Shape{batch}) << ", but got "
                        << node.describe(given.shape);
  HK_TRY(lengths, node.cast(given, kInt32));
  HK_TRY(column, node.reshape(lengths, {batch, Size(1)}));
  for (int64_t t = 0; t < steps; ++t) {
    HK_TRY(number, node.scalar(double(t), kInt32));
    HK_TRY(mask, node.compare(ComparePredicate::gt, column, number));
    masks.push_back(mask);
  }
  return masks;
}

/// A state behind a step: as it was, at first 0, where the sequence has ended.
static LogicalResult keep(Node &node, const Tensor &mask,
                          const std::optional<Tensor> &before,
                          std::optional<Tensor> &state) {
  if (!state)
    return success();
  HK_TRY(zero, node.scalar(0, state->dtype));
  HK_TRY(kept, node.select(mask, *state, before.value_or(zero)));
  state = kept;
  return success();
}

/// All steps of a direction: [T, 1, B, H], and what the last one gave.
static FailureOr<Tensor> run(Node &node, const Kind &kind, Cell &cell,
                             ArrayRef<Tensor> masks, int64_t steps,
                             bool backwards) {
  SmallVector<Tensor> shown(steps);
  Shape rows(ArrayRef<Size>(cell.inputs.shape).drop_front());
  for (int64_t i = 0; i < steps; ++i) {
    int64_t t = backwards ? steps - 1 - i : i;
    HK_TRY(part, node.slice(cell.inputs, 0, t, 1));
    HK_TRY(input, node.reshape(part, rows));
    std::optional<Tensor> h = cell.h, c = cell.c;
    if (failed(kind.step(node, cell, input)))
      return failure();
    Tensor seen = *cell.h;
    if (!masks.empty()) {
      HK_TRY(zero, node.scalar(0, seen.dtype));
      HK_TRY(masked, node.select(masks[t], seen, zero));
      seen = masked;
      if (failed(keep(node, masks[t], h, cell.h)) ||
          failed(keep(node, masks[t], c, cell.c)))
        return failure();
    }
    Shape one{Size(1), Size(1), rows[0], Size(cell.hidden)};
    HK_TRY(result, node.reshape(seen, one));
    shown[t] = result;
  }
  return node.concat(0, shown);
}

namespace {

/// What the directions gave: steps [T, 1, B, H], and last states [1, B, H].
struct Results {
  SmallVector<Tensor> all, last, cells;
};

} // namespace

/// Results of the node, in the layout of its inputs.
static LogicalResult show(Node &node, const Kind &kind, const Results &made) {
  HK_TRY(y, node.concat(1, made.all));
  FailureOr<Tensor> shown = node.integer("layout", 0) == 0
                                ? FailureOr<Tensor>(y)
                                : node.transpose(y, {2, 0, 1, 3});
  HK_TRY(h, node.concat(0, made.last));
  HK_TRY(last, batchBehind(node, h));
  if (failed(shown) || failed(node.result(0, *shown)) ||
      failed(node.result(1, last)))
    return failure();
  if (!kind.hasCell)
    return success();
  HK_TRY(c, node.concat(0, made.cells));
  HK_TRY(cells, batchBehind(node, c));
  return node.result(2, cells);
}

static LogicalResult layer(Node &node, const Kind &kind) {
  constexpr int64_t kMostSteps = 64;
  if (failed(checkForm(node, kind)))
    return failure();
  HK_TRY(given, node.realTensor(0));
  HK_TRY(x, batchBehind(node, given));
  std::optional<int64_t> steps =
      x.rank() == 3 ? x.shape[0].getConstant() : std::nullopt;
  if (!steps || *steps < 1 || *steps > kMostSteps)
    return node.error() << "expected a known number of 1 to " << kMostSteps
                        << " steps, which are written out one by one, but got "
                        << node.describe(x.shape)
                        << "; fix the size with --dim, or call a model of one "
                           "step in a loop";
  StringRef direction = node.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" &&
      direction != "bidirectional")
    return node.error() << "expected attribute 'direction' to be forward, "
                           "reverse or bidirectional, but got '"
                        << direction << "'";
  int64_t count = direction == "bidirectional" ? 2 : 1;
  for (size_t i : {1, 2})
    if (node.input(i).shape.size() != 3 ||
        !node.input(i).shape[0].isConstant(count))
      return node.error() << "expected weights of " << count
                          << " directions, but got "
                          << node.describe(node.input(i).shape);
  HK_TRY(masks, masksOf(node, x.shape[1], *steps));
  Results made;
  for (int64_t d = 0; d < count; ++d) {
    HK_TRY(cell, cellOf(node, kind, x, d));
    HK_TRY(shown, run(node, kind, cell, masks, *steps,
                      d == 1 || direction == "reverse"));
    made.all.push_back(shown);
    Shape one{Size(1), x.shape[1], Size(cell.hidden)};
    HK_TRY(h, node.reshape(*cell.h, one));
    made.last.push_back(h);
    if (kind.hasCell) {
      HK_TRY(c, node.reshape(*cell.c, one));
      made.cells.push_back(c);
    }
  }
  return show(node, kind, made);
}

static LogicalResult lstm(Node &node) {
  return layer(node, {4, "Sigmoid Tanh Tanh", true, lstmStep});
}
static LogicalResult gru(Node &node) {
  node.integer("linear_before_reset", 0);
  return layer(node, {3, "Sigmoid Tanh", false, gruStep});
}

static LogicalResult rnn(Node &node) {
  const auto *given = node.attribute("activations");
  bool isRelu =
      given && !given->strings().empty() && given->strings(0) == "Relu";
  return layer(node, isRelu ? Kind{1, "Relu", false, rnnStep<ReluOp>}
                            : Kind{1, "Tanh", false, rnnStep<TanhOp>});
}

ArrayRef<Operator> mlir::hk::importer::recurrentOperators() {
  static const Operator table[] = {
      {"", "LSTM", 7, 3, 8, lstm, "at most 64 steps, a known number"},
      {"", "GRU", 7, 3, 6, gru, "at most 64 steps, a known number"},
      {"", "RNN", 7, 3, 6, rnn,
       "at most 64 steps, a known number; tanh or relu"},
  };
  return table;
}
