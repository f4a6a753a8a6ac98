//===- Channels.cpp - Operators of ONNX on channels ---------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Norms over what lies behind channels or groups of them, and elements that
// move between channels and the dims of an image.
//
//===----------------------------------------------------------------------===//

#include "Node.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

/// x [N, G, ...] less the mean of each [...], over its deviation, in f32.
static FailureOr<Tensor> normalisedGroups(Node &node, const Tensor &x,
                                          double epsilon) {
  Size width = 1;
  for (const Size &size : ArrayRef<Size>(x.shape).drop_front(2))
    width = width * size;
  HK_TRY(rows, node.reshape(x, {x.shape[0], x.shape[1], width}));
  std::optional<int64_t> known = width.getConstant();
  if (known && *known <= node.graph.options.maxEvaluated) {
    auto vector = [&](double number, StringRef name) {
      return node.constant(
          node.graph.store.make(x.dtype, *known,
                                SmallVector<double>(*known, number)),
          name);
    };
    HK_TRY(ones, vector(1, "hk.ones"));
    HK_TRY(zeros, vector(0, "hk.zeros"));
    HK_TRY(type, node.type(x.dtype, rows.shape));
    OperationState state(node.loc, LayerNormOp::getOperationName());
    LayerNormOp::build(node.b, state, type, rows.value, ones.value, zeros.value,
                       node.b.getF32FloatAttr(epsilon));
    return node.reshape(
        Tensor{node.b.create(state)->getResult(0), x.dtype, rows.shape},
        x.shape);
  }
  HK_TRY(number, node.countOf(rows, 2));
  HK_TRY(count, node.cast(number, kFloat));
  auto meanOf = [&](const Tensor &of) -> FailureOr<Tensor> {
    Shape shape{x.shape[0], x.shape[1], 1};
    HK_TRY(type, node.type(kFloat, shape));
    Tensor sum{ReduceOp::create(node.b, node.loc, type, ReduceKind::sum,
                                of.value, /*dims=*/1),
               kFloat, shape};
    return node.binary<DivOp>(sum, count);
  };
  HK_TRY(wide, node.cast(rows, kFloat));
  HK_TRY(mean, meanOf(wide));
  HK_TRY(centred, node.binary<SubOp>(wide, mean));
  HK_TRY(squares, node.binary<MulOp>(centred, centred));
  HK_TRY(variance, meanOf(squares));
  HK_TRY(small, node.scalar(epsilon, kFloat));
  HK_TRY(sum, node.binary<AddOp>(variance, small));
  HK_TRY(factor, node.unary<RsqrtOp>(sum));
  HK_TRY(made, node.binary<MulOp>(centred, factor));
  HK_TRY(narrow, node.cast(made, x.dtype));
  return node.reshape(narrow, x.shape);
}

/// Input `i`, one number for each channel, beside x [N, C, ...].
static FailureOr<Tensor> perChannel(Node &node, size_t i, const Tensor &x) {
  HK_TRY(vector, node.tensor(i));
  if (vector.dtype != x.dtype)
    return node.error() << "expected inputs of one type, but got "
                        << dtypeName(x.dtype) << " and "
                        << dtypeName(vector.dtype);
  Shape shape(x.rank() - 1, Size(1));
  shape[0] = x.shape[1];
  return node.reshape(vector, shape);
}

static FailureOr<Tensor> imageOf(Node &node, int64_t least) {
  HK_TRY(x, node.tensor(0));
  if (x.rank() < least || !dtypeInfo(x.dtype)->isFloat)
    return node.error() << "expected real elements of at least " << least
                        << " dims, but got " << node.describe(x.shape) << " of "
                        << dtypeName(x.dtype);
  return x;
}

static LogicalResult scaledChannels(Node &node, const Tensor &x) {
  HK_TRY(weight, perChannel(node, 1, x));
  HK_TRY(bias, perChannel(node, 2, x));
  HK_TRY(scaled, node.binary<MulOp>(x, weight));
  HK_TRY(made, node.binary<AddOp>(scaled, bias));
  return node.result(0, made);
}

static LogicalResult instanceNorm(Node &node) {
  HK_TRY(x, imageOf(node, 3));
  HK_TRY(made, normalisedGroups(node, x, node.real("epsilon", 1e-5f)));
  return scaledChannels(node, made);
}

static LogicalResult groupNorm(Node &node) {
  HK_TRY(x, imageOf(node, 3));
  if (int64_t stash = node.integer("stash_type", 1); stash != 1)
    return node.error() << "expected attribute 'stash_type' to be 1 (float), "
                           "in which hk computes, but got "
                        << stash;
  int64_t groups = node.integer("num_groups", 0);
  std::optional<int64_t> channels = x.shape[1].getConstant();
  if (groups < 1 || !channels || *channels % groups)
    return node.error() << "expected attribute 'num_groups' to divide the "
                           "number of channels, "
                        << node.graph.symbols.describe(x.shape[1])
                        << ", but got " << groups;
  Shape parted = x.shape;
  parted[1] = groups;
  parted.insert(parted.begin() + 2, Size(*channels / groups));
  HK_TRY(grouped, node.reshape(x, parted));
  HK_TRY(made, normalisedGroups(node, grouped, node.real("epsilon", 1e-5f)));
  HK_TRY(whole, node.reshape(made, x.shape));
  return scaledChannels(node, whole);
}

/// An image [N, C, H, W] and the size of blocks.
struct Blocks {
  Tensor x;
  int64_t size;
};

static FailureOr<Blocks> blocksOf(Node &node) {
  HK_TRY(x, node.tensor(0));
  int64_t size = node.integer("blocksize", 0);
  if (x.rank() != 4 || size < 1 || size > (1 << 15))
    return node.error() << "expected an image of four dims and attribute "
                           "'blocksize' from 1 to 32768, but got "
                        << node.describe(x.shape) << " and " << size;
  return Blocks{x, size};
}

/// The parts of a dim, whose size is a multiple.
static FailureOr<Size> partOf(Node &node, const Size &size, int64_t by) {
  if (std::optional<Size> part = size.exactDiv(by))
    return *part;
  return node.error() << "expected a multiple of " << by
                      << ", but got a dim of "
                      << node.graph.symbols.describe(size);
}

static LogicalResult depthToSpace(Node &node) {
  HK_TRY(blocks, blocksOf(node));
  const auto &[x, size] = blocks;
  StringRef mode = node.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD")
    return node.error() << "expected attribute 'mode' to be 'DCR' or 'CRD', "
                           "but got '"
                        << mode << "'";
  HK_TRY(depth, partOf(node, x.shape[1], size * size));
  Shape parts = mode == "DCR" ? Shape{x.shape[0], size, size, depth}
                              : Shape{x.shape[0], depth, size, size};
  parts.append({x.shape[2], x.shape[3]});
  HK_TRY(parted, node.reshape(x, parts));
  HK_TRY(turned,
         node.transpose(parted, mode == "DCR"
                                    ? ArrayRef<int64_t>{0, 3, 4, 1, 5, 2}
                                    : ArrayRef<int64_t>{0, 1, 4, 2, 5, 3}));
  HK_TRY(made, node.reshape(turned, {x.shape[0], depth, x.shape[2] * size,
                                     x.shape[3] * size}));
  return node.result(0, made);
}

static LogicalResult spaceToDepth(Node &node) {
  HK_TRY(blocks, blocksOf(node));
  const auto &[x, size] = blocks;
  HK_TRY(rows, partOf(node, x.shape[2], size));
  HK_TRY(columns, partOf(node, x.shape[3], size));
  HK_TRY(parted,
         node.reshape(x, {x.shape[0], x.shape[1], rows, size, columns, size}));
  HK_TRY(turned, node.transpose(parted, {0, 3, 5, 1, 2, 4}));
  HK_TRY(made, node.reshape(turned, {x.shape[0], x.shape[1] * (size * size),
                                     rows, columns}));
  return node.result(0, made);
}

ArrayRef<Operator> mlir::hk::importer::channelOperators() {
  static const Operator table[] = {
      {"", "InstanceNormalization", 6, 3, 3, instanceNorm, ""},
      {"", "GroupNormalization", 21, 3, 3, groupNorm, "stash_type 1"},
      {"", "DepthToSpace", 11, 1, 1, depthToSpace, "", true},
      {"", "SpaceToDepth", 1, 1, 1, spaceToDepth, "", true},
  };
  return table;
}
