//===- ScatterJoined.cpp - Updates that are joined with what is there -----===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum, product, maximum or minimum of updates goes one update of each place
// after the other, in the order of ONNX's reference, which rounds each of them.
// So the steps are written out, and a bound on them must be known at import.
//
//===----------------------------------------------------------------------===//

#include "Scatter.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

template <typename Op>
static FailureOr<Tensor> joinBy(Node &node, const Tensor &kept,
                                const Tensor &update) {
  return node.binary<Op>(kept, update);
}

FailureOr<std::optional<Join>> mlir::hk::importer::joinOf(Node &node) {
  StringRef reduction = node.text("reduction", "none");
  if (reduction == "none")
    return std::optional<Join>();
  if (node.input(0).dtype == kBool)
    return node.error() << "expected attribute 'reduction' to be none for "
                           "bools, but got '"
                        << reduction << "'; cast the data to integers";
  Join join = llvm::StringSwitch<Join>(reduction)
                  .Case("add", joinBy<AddOp>)
                  .Case("mul", joinBy<MulOp>)
                  .Case("max", joinBy<MaxOp>)
                  .Case("min", joinBy<MinOp>)
                  .Default(nullptr);
  if (!join)
    return node.error() << "expected attribute 'reduction' to be none, add, "
                           "mul, max or min, but got '"
                        << reduction << "'";
  return std::optional<Join>(join);
}

/// Too many updates to write them out.
static LogicalResult tooMany(Node &node, const Twine &got) {
  return node.error() << "expected at most " << kMostJoined
                      << " updates, which are written out one after the other, "
                         "but got "
                      << got << "; fix a size with --dim";
}

/// For each step the update of every place, i32 [places]; -1 where it has none.
static FailureOr<SmallVector<Tensor>> knownSteps(Node &node, const Scattered &s,
                                                 ArrayRef<int64_t> places) {
  SmallVector<SmallVector<int64_t>> steps;
  SmallVector<int64_t> counts(s.places, 0);
  for (auto [i, place] : llvm::enumerate(places)) {
    size_t step = counts[place]++;
    if (step == steps.size()) {
      if (int64_t(step) == kMostJoined)
        return tooMany(node, "more for a place");
      steps.emplace_back(s.places, -1);
    }
    steps[step][place] = int64_t(i);
  }
  SmallVector<Tensor> made;
  for (auto [i, numbers] : llvm::enumerate(steps)) {
    std::string name = (node.outputName(0) + ".step" + Twine(i)).str();
    HK_TRY(constant,
           node.constant(
               node.graph.store.makeIntegers(kInt32, s.places, numbers), name));
    made.push_back(constant);
  }
  return made;
}

/// The same of indices that each call tells.
static FailureOr<SmallVector<Tensor>> stepsByCall(Node &node,
                                                  const Scattered &s) {
  std::optional<int64_t> count = s.count.getConstant();
  if (!count || *count > kMostJoined)
    return tooMany(node, node.describe(node.input(1).shape) +
                             " indices, which each call tells");
  HK_TRY(found, orderByCall(node, s));
  HK_TRY(begins, node.slice(found.bounds, 0, 0, s.places));
  HK_TRY(nothing, node.scalar(-1, kInt32));
  SmallVector<Tensor> made;
  for (int64_t step = 0; step < *count; ++step) {
    HK_TRY(number, node.scalar(double(step), kInt32));
    HK_TRY(at, node.binary<AddOp>(begins, number));
    HK_TRY(update, gatherAlong(node, found.order, 0, at));
    HK_TRY(isThere, node.compare(ComparePredicate::gt, found.counts, number));
    HK_TRY(row, node.select(isThere, update, nothing));
    made.push_back(row);
  }
  return made;
}

FailureOr<Tensor> mlir::hk::importer::joined(Node &node, const Scattered &s,
                                             Join join) {
  const Item &given = node.input(1);
  SmallVector<Tensor> steps;
  if (given.data && s.places <= node.graph.options.maxEvaluated) {
    HK_TRY(places, knownPlaces(node, *given.data, s.indexed));
    HK_TRY(known, knownSteps(node, s, places));
    steps = known;
  } else {
    HK_TRY(made, stepsByCall(node, s));
    steps = made;
  }
  HK_TRY(zero, node.scalar(0, kInt32));
  Shape column(s.data.rank(), Size(1));
  column[0] = Size(s.places);
  Tensor all = s.data;
  for (const Tensor &rows : steps) {
    HK_TRY(update, gatherAlong(node, s.updates, 0, rows));
    HK_TRY(isThere, node.compare(ComparePredicate::ge, rows, zero));
    HK_TRY(mask, node.reshape(isThere, column));
    HK_TRY(both, join(node, all, update));
    HK_TRY(next, node.select(mask, both, all));
    all = next;
  }
  return all;
}

LogicalResult mlir::hk::importer::scatterElements(Node &node) {
  HK_TRY(join, joinOf(node));
  HK_TRY(operands, node.pair(0, 2));
  auto [data, updates] = operands;
  HK_TRY(axis, node.axis(node.integer("axis", 0), data.rank()));
  HK_TRY(given, indicesInto(node, 1, data.shape[axis]));
  HK_TRY(indices, node.cast(given, kInt32));
  Shape wanted = data.shape;
  if (indices.rank() == data.rank())
    wanted[axis] = indices.shape[axis];
  if (indices.shape != wanted || updates.shape != wanted)
    return node.error() << "expected indices and updates of "
                        << node.describe(data.shape) << " but for dim " << axis
                        << ", but got " << node.describe(indices.shape)
                        << " and " << node.describe(updates.shape);
  std::optional<int64_t> steps = wanted[axis].getConstant();
  if (!steps || *steps > kMostJoined)
    return tooMany(node, node.describe(wanted) + " along dim " + Twine(axis));
  HK_TRY(places, node.places(data, axis, kInt32));
  Shape along(data.rank(), Size(1));
  along[axis] = data.shape[axis];
  HK_TRY(place, node.reshape(places, along));
  Tensor all = data;
  for (int64_t step = 0; step < *steps; ++step) {
    HK_TRY(index, node.slice(indices, axis, step, 1));
    HK_TRY(update, node.slice(updates, axis, step, 1));
    HK_TRY(isHere, node.compare(ComparePredicate::eq, place, index));
    Tensor next = update;
    if (join) {
      HK_TRY(both, (*join)(node, all, update));
      next = both;
    }
    HK_TRY(made, node.select(isHere, next, all));
    all = made;
  }
  return node.result(0, all);
}
