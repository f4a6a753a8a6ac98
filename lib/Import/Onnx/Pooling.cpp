//===- Pooling.cpp - Pooling over windows of ONNX -------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The largest element or the average of each window, as a chain of slices. At
// the edges an average is of fewer elements: how many is known at import.
//
//===----------------------------------------------------------------------===//

#include "Convolutions.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

/// The windows over input 0.
static FailureOr<Windows> pooled(Node &node) {
  auto kernel = node.integerList("kernel_shape");
  if (!kernel)
    return node.error() << "expected attribute 'kernel_shape'";
  return windowsOf(node, *kernel, node.integer("ceil_mode", 0) != 0);
}

/// The elements of all windows, joined by an operator.
template <typename Op>
static FailureOr<Tensor> joined(Node &node, const Tensor &x,
                                const Windows &windows, double outside) {
  HK_TRY(last, channelsLast(node, x));
  HK_TRY(taps, everyTap(node, last, windows, outside));
  Tensor made = taps.front();
  for (const Tensor &tap : ArrayRef<Tensor>(taps).drop_front()) {
    HK_TRY(next, node.binary<Op>(made, tap));
    made = next;
  }
  return made;
}

static LogicalResult maxPool(Node &node) {
  if (failed(node.only("storage_order", 0, "no places are returned")))
    return failure();
  if (node.wants(1))
    return node.error() << "expected one output; hk returns no places";
  // The largest code is that of the largest value.
  int dtype = node.input(0).dtype;
  bool isCodes = dtype == kInt8 || dtype == kUInt8;
  HK_TRY(given, isCodes ? node.codes(0) : node.realTensor(0));
  HK_TRY(x, node.cast(given, isCodes ? int(kFloat) : dtype));
  HK_TRY(windows, pooled(node));
  HK_TRY(made, joined<MaxOp>(node, x, windows,
                             -std::numeric_limits<double>::infinity()));
  HK_TRY(narrow, node.cast(made, given.dtype));
  HK_TRY(result, channelsSecond(node, narrow));
  return node.result(0, Tensor{result.value, dtype, result.shape});
}

/// How many elements each window of a dim has; one number if all have as many.
static SmallVector<double> countsOf(const Window &window, const Size &dim,
                                    bool padding) {
  std::optional<int64_t> size = dim.getConstant(),
                         places = window.places.getConstant();
  if (!size || !places || (padding && !window.beyond) ||
      !(window.before || window.after || window.beyond))
    return {double(window.size)};
  int64_t first = padding ? 0 : window.before,
          end = window.before + *size + (padding ? window.after : 0);
  SmallVector<double> counts;
  for (int64_t i = 0; i < *places; ++i) {
    int64_t count = 0;
    for (int64_t t = 0; t < window.size; ++t) {
      int64_t at = i * window.step + t * window.apart;
      count += at >= first && at < end;
    }
    counts.push_back(std::max<int64_t>(count, 1));
  }
  return counts;
}

/// The number of elements of each window, for sums [N, places..., C].
static FailureOr<Tensor> countsOf(Node &node, const Tensor &x,
                                  const Windows &windows) {
  bool padding = node.integer("count_include_pad", 0) != 0;
  SmallVector<double> all{1.0};
  SmallVector<int64_t> sizes;
  for (auto [d, window] : llvm::enumerate(windows)) {
    SmallVector<double> counts = countsOf(window, x.shape[d + 2], padding),
                        next;
    if (counts.size() * all.size() > size_t(node.graph.options.maxEvaluated))
      return node.error() << "expected at most "
                          << node.graph.options.maxEvaluated
                          << " windows of unequal counts of elements";
    for (double before : all)
      for (double count : counts)
        next.push_back(before * count);
    sizes.push_back(counts.size());
    all = next;
  }
  if (all.size() == 1)
    return node.scalar(all.front(), kFloat);
  sizes.push_back(1);
  return node.constant(node.graph.store.make(kFloat, sizes, all),
                       (node.outputName(0) + ".counts").str());
}

FailureOr<Tensor> mlir::hk::importer::averagePooled(Node &node,
                                                    const Tensor &x) {
  HK_TRY(windows, pooled(node));
  HK_TRY(wide, node.cast(x, kFloat));
  HK_TRY(sums, joined<AddOp>(node, wide, windows, 0.0));
  HK_TRY(counts, countsOf(node, x, windows));
  HK_TRY(made, node.binary<DivOp>(sums, counts));
  HK_TRY(narrow, node.cast(made, x.dtype));
  return channelsSecond(node, narrow);
}

static LogicalResult averagePool(Node &node) {
  HK_TRY(x, node.realTensor(0));
  HK_TRY(made, averagePooled(node, x));
  return node.result(0, made);
}

ArrayRef<Operator> mlir::hk::importer::poolingOperators() {
  static const Operator table[] = {
      {"", "AveragePool", 1, 1, 1, averagePool,
       "of reals; a padded dim of known size"},
      {"", "MaxPool", 1, 1, 1, maxPool,
       "of reals and 8 bits, first output; a padded dim of known size"},
  };
  return table;
}
