//===- IntegerConvolutions.cpp - Convolutions of quantised tensors --------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A convolution of codes of 8 bits is the product of the rows of its windows,
// as one of reals is, in int32 and so exactly. Around the input is its zero
// point, which means 0. Channels that are kept apart are a sum of slices less
// their zero points; other groups are a product each.
//
//===----------------------------------------------------------------------===//

#include "Codes.h"
#include "Convolutions.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

namespace {
/// Which inputs of a node are its weight and the zero points.
struct Places {
  size_t weight, xZero, wZero;
};
} // namespace

static StringRef nameOf(Node &node, size_t i) {
  return node.has(i) ? node.inputName(i) : StringRef();
}

/// The zero point of x around it.
static FailureOr<Tensor> padded(Node &node, const Operand &operand,
                                const Tensor &x, int64_t dim, int64_t before,
                                int64_t after) {
  if (!operand.zero || operand.zeros)
    return padded(node, x, dim, before, after,
                  operand.zeros ? double(operand.zeros->integer(0)) : 0.0);
  HK_TRY(value, node.cast(*operand.zero, kInt8));
  return padded(node, x, dim, before, after, value);
}

/// The rows and zero points of a group of the weight [M, C, taps].
static Item groupOf(Node &node, const Data &data, int64_t group,
                    const Filter &filter) {
  int64_t rows = filter.out / filter.groups, columns = data.sizes[1];
  Item made;
  made.dtype = data.dtype;
  made.shape = {Size(rows), Size(columns)};
  made.data = Data{data.dtype,
                   {rows, columns},
                   data.bytes.substr(group * rows * columns, rows * columns)};
  made.name = node.inputName(1).str() + ".by_tap";
  return made;
}

/// The zero points of a group's rows; nothing where there are none.
static std::optional<Item> zerosOfGroup(Node &node, size_t i, int64_t group,
                                        const Filter &filter) {
  if (!node.has(i))
    return std::nullopt;
  Item made = node.input(i);
  int64_t rows = filter.out / filter.groups;
  if (filter.groups == 1 || made.data->getNumElements() == 1)
    return made;
  made.tensor = Value();
  made.shape = {Size(rows)};
  made.data =
      Data{made.dtype, {rows}, made.data->bytes.substr(group * rows, rows)};
  return made;
}

/// Rows [N, places..., taps C] times the weight, a group after the other.
static FailureOr<Tensor> grouped(Node &node, const Operand &x,
                                 const Windows &windows, const Filter &filter,
                                 const Places &at) {
  Data data = dataByTap(node, node.input(at.weight), filter);
  SmallVector<Tensor> parts;
  for (int64_t g = 0; g < filter.groups; ++g) {
    Operand side = x;
    HK_TRY(channels, node.slice(x.codes, x.codes.rank() - 1,
                                g * filter.channels, filter.channels));
    HK_TRY(rows, rowsOf(node, channels, windows,
                        [&](const Tensor &part, int64_t dim, int64_t before,
                            int64_t after) {
                          return padded(node, x, part, dim, before, after);
                        }));
    side.codes = rows;
    Item weight = groupOf(node, data, g, filter);
    std::optional<Item> zeros = zerosOfGroup(node, at.wZero, g, filter);
    HK_TRY(matrix, operandOf(node, weight, zeros ? &*zeros : nullptr));
    HK_TRY(sums, integerProduct(node, side, matrix, /*transposed=*/true));
    parts.push_back(sums);
  }
  return node.concat(parts.front().rank() - 1, parts);
}

/// The weight [C, taps] less its zero points by tap, int32 [taps, C].
static FailureOr<Tensor> tapRows(Node &node, const Filter &filter,
                                 const Places &at) {
  const Data &weight = *node.input(at.weight).data;
  const Data *zero = node.has(at.wZero) ? &*node.input(at.wZero).data : nullptr;
  SmallVector<int64_t> numbers;
  for (int64_t t = 0; t < filter.taps; ++t)
    for (int64_t c = 0; c < filter.out; ++c) {
      int64_t off =
          zero ? zero->integer(zero->getNumElements() == 1 ? 0 : c) : 0;
      numbers.push_back(weight.integer(c * filter.taps + t) - off);
    }
  return node.constant(
      node.graph.store.makeIntegers(kInt32, {filter.taps, filter.out}, numbers),
      node.inputName(at.weight).str() + ".by_tap");
}

/// Channels of x [N, ..., C] by themselves.
static FailureOr<Tensor> apart(Node &node, const Operand &x,
                               const Windows &windows, const Filter &filter,
                               const Places &at) {
  HK_TRY(wide, node.cast(x.codes, kInt32));
  Tensor values = wide;
  if (x.zero) {
    HK_TRY(less, node.binary<SubOp>(wide, *x.zero));
    values = less;
  }
  HK_TRY(taps, everyTap(node, values, windows, 0.0));
  HK_TRY(rows, tapRows(node, filter, at));
  std::optional<Tensor> sum;
  for (auto [t, tap] : llvm::enumerate(taps)) {
    HK_TRY(row, node.slice(rows, 0, int64_t(t), 1));
    HK_TRY(flat, node.reshape(row, {Size(filter.out)}));
    HK_TRY(product, node.binary<MulOp>(tap, flat));
    if (!sum) {
      sum = product;
      continue;
    }
    HK_TRY(next, node.binary<AddOp>(*sum, product));
    sum = next;
  }
  return *sum;
}

/// The sums of a convolution, int32 [N, places..., M].
static FailureOr<Tensor> sumsOf(Node &node, const Places &at) {
  HK_TRY(sizes, weightSizes(node, at.weight));
  const Item &weight = node.input(at.weight);
  auto isCodes = [](const Item &item) {
    return item.data && (item.dtype == kInt8 || item.dtype == kUInt8);
  };
  auto isZeros = [&](const Item &zero) {
    int64_t count = isCodes(zero) ? zero.data->getNumElements() : 0;
    return zero.dtype == weight.dtype && (count == 1 || count == sizes[0]);
  };
  if (!isCodes(weight) ||
      (node.has(at.wZero) && !isZeros(node.input(at.wZero))))
    return node.error() << "expected a weight and its zero points, one or one "
                           "for each channel, to be integers of 8 bits of the "
                           "model file";
  HK_TRY(x, operandOf(node, node.inputName(0), nameOf(node, at.xZero)));
  if (x.zero && x.zero->rank() != 0)
    return node.error() << "expected one zero point of the input, but got "
                        << node.describe(x.zero->shape);
  HK_TRY(windows, windowsOf(node, ArrayRef<int64_t>(sizes).drop_front(2)));
  HK_TRY(filter, filterOf(node, sizes));
  HK_TRY(last, channelsLast(node, x.codes));
  x.codes = last;
  return filter.isApart() ? apart(node, x, windows, filter, at)
                          : grouped(node, x, windows, filter, at);
}

/// Inputs: x, the weight, their zero points.
static LogicalResult convInteger(Node &node) {
  HK_TRY(sums, sumsOf(node, {1, 2, 3}));
  HK_TRY(made, channelsSecond(node, sums));
  return node.result(0, made);
}

/// Inputs: x, its scale and zero point, those of the weight, then of the
/// result, and a bias in int32.
static LogicalResult qlinearConv(Node &node) {
  HK_TRY(sums, sumsOf(node, {3, 2, 5}));
  Tensor sum = sums;
  if (node.has(8)) {
    HK_TRY(bias, node.tensor(8));
    if (bias.dtype != kInt32 || bias.rank() != 1 ||
        bias.shape[0] != sums.shape.back())
      return node.error() << "expected a bias of int32 ["
                          << node.graph.symbols.describe(sums.shape.back())
                          << "], but got " << dtypeName(bias.dtype) << " "
                          << node.describe(bias.shape);
    HK_TRY(added, node.binary<AddOp>(sum, bias));
    sum = added;
  }
  HK_TRY(x, scaleOf(node, node.inputName(1)));
  HK_TRY(w, scaleOf(node, node.inputName(4)));
  HK_TRY(codes, rescaled(node, sum, x, w, 6, 7));
  HK_TRY(stored, channelsSecond(node, Tensor{codes.value, kInt8, codes.shape}));
  return node.result(0, Tensor{stored.value, codes.dtype, stored.shape});
}

ArrayRef<Operator> mlir::hk::importer::integerConvolutionOperators() {
  constexpr const char *kSummary =
      "a weight of the file; a padded dim of known size";
  static const Operator table[] = {
      {"", "ConvInteger", 10, 2, 4, convInteger, kSummary},
      {"", "QLinearConv", 10, 8, 9, qlinearConv, kSummary},
  };
  return table;
}
