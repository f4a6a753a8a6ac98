//===- Resize.cpp - Other sizes of images of ONNX -------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Along each dim that changes: the nearest element is a gather of places known
// at import, interpolation a product with a matrix that is made at import.
//
//===----------------------------------------------------------------------===//

#include "Convolutions.h"
#include "Products.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

namespace {

/// How one dim changes: from `from` to `to` elements, `scale` times as many.
struct Change {
  int64_t dim, from, to;
  double scale;
};

/// The elements that one of the result is made of, and their weights.
struct Taps {
  SmallVector<int64_t> places;
  SmallVector<double> weights;
};

/// The attributes.
struct Rule {
  StringRef mode, coordinates, nearest;
  double cubic;
  bool antialias, excludeOutside;
};

constexpr int64_t kMostNumbers = 1 << 22;

} // namespace

/// Where element `i` of the result lies among the elements of the input.
static double placeOf(const Rule &rule, const Change &c, int64_t i) {
  double half = (i + 0.5) / c.scale - 0.5;
  if (rule.coordinates == "half_pixel_symmetric") {
    double part = c.to / (c.scale * c.from);
    return c.from / 2.0 * (1.0 - part) + half;
  }
  if (rule.coordinates == "pytorch_half_pixel")
    return c.to > 1 ? half : 0.0;
  if (rule.coordinates == "align_corners")
    return c.to > 1 ? double(i) * (c.from - 1) / (c.to - 1) : 0.0;
  return rule.coordinates == "asymmetric" ? i / c.scale : half;
}

static int64_t nearestTo(const Rule &rule, double at, int64_t size) {
  double made = rule.nearest == "floor"               ? std::floor(at)
                : rule.nearest == "ceil"              ? std::ceil(at)
                : rule.nearest == "round_prefer_ceil" ? std::floor(at + 0.5)
                                                      : std::ceil(at - 0.5);
  return std::clamp<double>(made, 0, size - 1);
}

/// Keys' piecewise cubic.
static double cubicAt(double x, double a) {
  x = std::abs(x);
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/// The filter around `at`, wider by as much as the result is smaller where it
/// is smoothed.
static Taps tapsAt(const Rule &rule, const Change &c, double at) {
  double narrow = rule.antialias ? std::min(c.scale, 1.0) : 1.0;
  bool linear = rule.mode == "linear";
  double reach = (linear ? 1 : 2) / narrow, whole = std::floor(at), sum = 0;
  Taps taps;
  for (int64_t k = int64_t(std::floor(-reach)) + 1; k <= std::ceil(reach);
       ++k) {
    double x = (k - (at - whole)) * narrow;
    double weight =
        linear ? std::max(0.0, 1.0 - std::abs(x)) : cubicAt(x, rule.cubic);
    int64_t place = int64_t(whole) + k;
    if (!weight || (rule.excludeOutside && (place < 0 || place >= c.from)))
      continue;
    taps.places.push_back(std::clamp<int64_t>(place, 0, c.from - 1));
    taps.weights.push_back(weight);
    sum += weight;
  }
  if (rule.antialias || rule.excludeOutside)
    for (double &weight : taps.weights)
      weight /= sum;
  return taps;
}

/// Rows of a dim, which comes to the front.
static FailureOr<Tensor> gathered(Node &node, const Tensor &x, const Rule &rule,
                                  const Change &c) {
  SmallVector<int64_t> places,
      swap = llvm::to_vector(llvm::seq<int64_t>(0, x.rank()));
  for (int64_t i = 0; i < c.to; ++i)
    places.push_back(nearestTo(rule, placeOf(rule, c, i), c.from));
  std::swap(swap[0], swap[c.dim]);
  HK_TRY(table, node.transpose(x, swap));
  HK_TRY(rows,
         node.constant(node.graph.store.makeIntegers(kInt32, {c.to}, places),
                       (node.outputName(0) + ".places").str()));
  Shape shape = table.shape;
  shape[0] = c.to;
  HK_TRY(type, node.type(x.dtype, shape));
  Tensor made{
      GatherRowsOp::create(node.b, node.loc, type, table.value, rows.value),
      x.dtype, shape};
  return node.transpose(made, swap);
}

static FailureOr<Tensor> interpolated(Node &node, const Tensor &x,
                                      const Rule &rule, const Change &c) {
  if (!dtypeInfo(x.dtype) || !dtypeInfo(x.dtype)->isFloat)
    return node.error() << "expected an input of a real type beside mode '"
                        << rule.mode << "', but got " << dtypeName(x.dtype);
  SmallVector<double> matrix(c.from * c.to, 0.0);
  for (int64_t i = 0; i < c.to; ++i) {
    Taps taps = tapsAt(rule, c, placeOf(rule, c, i));
    for (auto [place, weight] : llvm::zip_equal(taps.places, taps.weights))
      matrix[place * c.to + i] += weight;
  }
  SmallVector<int64_t> swap = llvm::to_vector(llvm::seq<int64_t>(0, x.rank()));
  std::swap(swap.back(), swap[c.dim]);
  HK_TRY(moved, node.transpose(x, swap));
  HK_TRY(wide, node.cast(moved, kFloat));
  HK_TRY(weight,
         node.constant(node.graph.store.make(kFloat, {c.from, c.to}, matrix),
                       (node.outputName(0) + ".matrix").str()));
  HK_TRY(made, matmul(node, wide, weight, false, false, kFloat));
  HK_TRY(narrow, node.cast(made, x.dtype));
  return node.transpose(narrow, swap);
}

static LogicalResult oneOf(Node &node, StringRef name, StringRef got,
                           ArrayRef<StringRef> known) {
  if (llvm::is_contained(known, got))
    return success();
  return node.error() << "expected attribute '" << name << "' to be one of "
                      << llvm::join(known, ", ") << ", but got '" << got << "'";
}

static FailureOr<Rule> ruleOf(Node &node) {
  Rule rule{node.text("mode", "nearest"),
            node.text("coordinate_transformation_mode", "half_pixel"),
            node.text("nearest_mode", "round_prefer_floor"),
            node.real("cubic_coeff_a", -0.75),
            node.integer("antialias", 0) != 0,
            node.integer("exclude_outside", 0) != 0};
  node.real("extrapolation_value", 0.0); // Of tf_crop_and_resize alone.
  node.text("keep_aspect_ratio_policy", "stretch"); // Of sizes alone.
  if (failed(oneOf(node, "mode", rule.mode, {"nearest", "linear", "cubic"})) ||
      failed(oneOf(node, "coordinate_transformation_mode", rule.coordinates,
                   {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                    "align_corners", "asymmetric"})) ||
      failed(
          oneOf(node, "nearest_mode", rule.nearest,
                {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})))
    return failure();
  return rule;
}

/// The dims that input `i` has a number for.
static FailureOr<SmallVector<int64_t>> axesOf(Node &node, size_t i,
                                              int64_t rank) {
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (auto given = node.integerList("axes")) {
    axes.clear();
    for (int64_t at : *given) {
      HK_TRY(axis, node.axis(at, rank));
      if (llvm::is_contained(axes, axis))
        return node.error() << "expected attribute 'axes' to name a dim once";
      axes.push_back(axis);
    }
  }
  const Shape &shape = node.input(i).shape;
  if (shape.size() != 1 || !shape[0].isConstant(axes.size()))
    return node.error() << "expected a number for each of " << axes.size()
                        << " dims as input #" << i << ", but got "
                        << node.describe(shape);
  return axes;
}

/// A change of a dim of known sizes that numbers at import may describe.
static FailureOr<Change> changeOf(Node &node, const Rule &rule, int64_t dim,
                                  const Size &size, double to, double scale) {
  std::optional<int64_t> from = size.getConstant();
  if (!from || *from < 1)
    return node.error() << "expected a known size of dim " << dim
                        << ", which changes, but got "
                        << node.graph.symbols.describe(size);
  double most = double(kMostNumbers) / (rule.mode == "nearest" ? 1 : *from);
  if (!(scale > 0) || !(to >= 1) || to > most)
    return node.error() << "expected dim " << dim << " to become 1 to "
                        << int64_t(most) << " elements, but got " << to
                        << " by a scale of " << scale;
  // The standard's reference takes the product there, ONNX Runtime the size.
  if (rule.coordinates == "align_corners" && *from * scale != to)
    return node.error() << "expected a scale of dim " << dim
                        << " that gives a whole number beside "
                           "'align_corners', but got "
                        << scale << "; give sizes";
  return Change{dim, *from, int64_t(to), scale};
}

/// By input 2: the numbers by which sizes are multiplied.
static FailureOr<SmallVector<Change>> byScales(Node &node, const Rule &rule,
                                               const Shape &shape) {
  HK_TRY(axes, axesOf(node, 2, shape.size()));
  HK_TRY(scales, node.numbers(2, "scales"));
  SmallVector<Change> changes;
  for (auto [i, dim] : llvm::enumerate(axes)) {
    double scale = scales.number(i);
    if (scale == 1.0)
      continue;
    double from = shape[dim].getConstant().value_or(0);
    HK_TRY(change, changeOf(node, rule, dim, shape[dim],
                            std::floor(from * scale), scale));
    changes.push_back(change);
  }
  return changes;
}

/// By input 3: the sizes, or the nearest that keep the aspect ratio.
static FailureOr<SmallVector<Change>> bySizes(Node &node, const Rule &rule,
                                              const Shape &shape) {
  HK_TRY(axes, axesOf(node, 3, shape.size()));
  HK_TRY(sizes, node.sizes(3, "sizes"));
  StringRef policy = node.text("keep_aspect_ratio_policy", "stretch");
  if (failed(oneOf(node, "keep_aspect_ratio_policy", policy,
                   {"stretch", "not_larger", "not_smaller"})))
    return failure();
  SmallVector<double> scales;
  for (auto [i, dim] : llvm::enumerate(axes)) {
    double from = shape[dim].getConstant().value_or(0),
           to = sizes[i].getConstant().value_or(0);
    scales.push_back(sizes[i] == shape[dim] ? 1.0 : from > 0 ? to / from : 0.0);
  }
  if (policy != "stretch" && !scales.empty()) {
    double one = policy == "not_larger" ? *llvm::min_element(scales)
                                        : *llvm::max_element(scales);
    scales.assign(scales.size(), one);
  }
  SmallVector<Change> changes;
  for (auto [i, dim] : llvm::enumerate(axes)) {
    if (scales[i] == 1.0)
      continue;
    double from = shape[dim].getConstant().value_or(0);
    double to = policy == "stretch" ? sizes[i].getConstant().value_or(0)
                                    : std::floor(from * scales[i] + 0.5);
    HK_TRY(change, changeOf(node, rule, dim, shape[dim], to, scales[i]));
    changes.push_back(change);
  }
  return changes;
}

static LogicalResult resize(Node &node) {
  HK_TRY(x, node.tensor(0));
  HK_TRY(rule, ruleOf(node));
  bool scaled = node.has(2) && !node.input(2).shape.empty() &&
                !node.input(2).shape[0].isConstant(0);
  if (scaled == node.has(3))
    return node.error() << "expected either scales or sizes";
  HK_TRY(changes,
         scaled ? byScales(node, rule, x.shape) : bySizes(node, rule, x.shape));
  Tensor made = x;
  for (const Change &change : changes) {
    HK_TRY(next, rule.mode == "nearest"
                     ? gathered(node, made, rule, change)
                     : interpolated(node, made, rule, change));
    made = next;
  }
  return node.result(0, made);
}

ArrayRef<Operator> mlir::hk::importer::resizeOperators() {
  static const Operator table[] = {
      {"", "Resize", 11, 1, 4, resize,
       "dims that change of known sizes, no tf_crop_and_resize"},
  };
  return table;
}
