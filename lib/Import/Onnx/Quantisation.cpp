//===- Quantisation.cpp - Quantisation of ONNX ----------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// QuantizeLinear and DequantizeLinear. A value remembers what it was made of,
// so that a product of two such can be one of their codes (IntegerProducts).
//
//===----------------------------------------------------------------------===//

#include "Node.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

static bool isFloat8(int dtype) {
  return dtype >= kFloat8E4M3FN && dtype <= kFloat8E5M2FNUZ;
}

/// Input `i` as hk has it: uint8 as int8 less 128.
static FailureOr<Tensor> storedInput(Node &node, size_t i) {
  return node.input(i).dtype == kUInt8 ? node.codes(i) : node.tensor(i);
}

/// The shape in which a scale or zero point, of one element or one for each
/// place along `axis`, meets a tensor of `rank`.
static FailureOr<Shape> shapeOfScale(Node &node, ArrayRef<Size> scale,
                                     int64_t axis, int64_t rank) {
  Shape shape;
  if (scale.size() == 1 && rank > 0 && !scale[0].isConstant(1)) {
    HK_TRY(at, node.axis(axis, rank));
    shape.assign(rank, Size(1));
    shape[at] = scale[0];
  }
  return shape;
}

/// The zero point, input 2, of this shape; nothing where it is 0. Without one
/// uint8, which is less 128 here, has one of -128. Numbers of 4 bits become
/// int8, since one of them has no byte.
static FailureOr<std::optional<Tensor>> zeroPoint(Node &node, int dtype,
                                                  ArrayRef<Size> shape) {
  using Maybe = std::optional<Tensor>;
  DataStore &store = node.graph.store;
  if (!node.has(2)) {
    if (dtype != kUInt8)
      return Maybe();
    HK_TRY(half, node.constant(store.makeIntegers(kInt8, {1}, {-128}), ""));
    return Maybe(half);
  }
  const Item &item = node.input(2);
  if (item.dtype != dtype)
    return node.error() << "expected a zero point of " << dtypeName(dtype)
                        << ", but got " << dtypeName(item.dtype);
  bool isZero =
      item.data && llvm::all_of(item.data->bytes, [](char c) { return !c; });
  if (isZero && dtype != kUInt8)
    return Maybe();
  if (dtypeInfo(dtype)->isFloat)
    return node.error() << "expected a zero point of 0 for "
                        << dtypeName(dtype);
  if (item.data && dtypeInfo(dtype)->bits == 4) {
    SmallVector<int64_t> numbers;
    for (int64_t i = 0, e = item.data->getNumElements(); i < e; ++i)
      numbers.push_back(item.data->integer(i));
    HK_TRY(wide,
           node.constant(store.makeIntegers(kInt8, item.data->sizes, numbers),
                         item.name.empty() ? "" : item.name + ".int8"));
    HK_TRY(made, node.reshape(wide, shape));
    return Maybe(made);
  }
  HK_TRY(given, storedInput(node, 2));
  HK_TRY(made, node.reshape(given, shape));
  return Maybe(made);
}

//===----------------------------------------------------------------------===//
// DequantizeLinear
//===----------------------------------------------------------------------===//

/// hk.dequantize of rows with blocks of the last dim.
static FailureOr<Tensor> dequantised(Node &node, const Tensor &codes,
                                     const Tensor &scale,
                                     const std::optional<Tensor> &zero,
                                     int64_t block, int dtype) {
  HK_TRY(type, node.type(dtype, codes.shape));
  return Tensor{DequantizeOp::create(node.b, node.loc, type, codes.value,
                                     scale.value, zero ? zero->value : Value(),
                                     /*offset=*/false, uint64_t(block)),
                dtype, codes.shape};
}

/// (x - zero) * scale with a scale for each `block` elements along `axis`,
/// which goes last for it.
static LogicalResult dequantizeBlocks(Node &node, int64_t block, int64_t axis,
                                      int dtype) {
  HK_TRY(x, storedInput(node, 0));
  HK_TRY(scale, node.tensor(1));
  HK_TRY(at, node.axis(axis, x.rank()));
  if (block < 1 || scale.rank() != x.rank())
    return node.error() << "expected a positive block_size and a scale of rank "
                        << x.rank() << ", but got " << block << " and rank "
                        << scale.rank();
  SmallVector<int64_t> swap = llvm::to_vector(llvm::seq<int64_t>(0, x.rank()));
  std::swap(swap[at], swap.back());
  HK_TRY(codes, node.transpose(x, swap));
  HK_TRY(scales, node.transpose(scale, swap));
  std::optional<Tensor> zero;
  if (node.has(2) || node.input(0).dtype == kUInt8) {
    if (node.has(2) && node.input(2).shape.size() != x.shape.size())
      return node.error() << "expected a zero point of the shape of the scale, "
                          << node.describe(scale.shape) << ", but got "
                          << node.describe(node.input(2).shape);
    HK_TRY(given, zeroPoint(node, node.input(0).dtype, scale.shape));
    zero = given;
    if (zero && zero->rank() == x.rank()) {
      HK_TRY(zeros, node.transpose(*zero, swap));
      zero = zeros;
    }
  }
  HK_TRY(made, dequantised(node, codes, scales, zero, block, dtype));
  HK_TRY(result, node.transpose(made, swap));
  return node.result(0, result);
}

/// Integers that hk.dequantize has no codes of: (x - zero) * scale in f32,
/// rounded once.
static FailureOr<Tensor> dequantisedWide(Node &node, const Tensor &x,
                                         const Tensor &scale,
                                         const std::optional<Tensor> &zero,
                                         int dtype) {
  HK_TRY(wide, node.cast(x, kFloat));
  Tensor moved = wide;
  if (zero) {
    HK_TRY(zeroWide, node.cast(*zero, kFloat));
    HK_TRY(less, node.binary<SubOp>(wide, zeroWide));
    moved = less;
  }
  HK_TRY(all, node.broadcast(moved.shape, scale.shape));
  HK_TRY(type, node.type(dtype, all));
  return Tensor{MulOp::create(node.b, node.loc, type, moved.value, scale.value),
                dtype, all};
}

static LogicalResult dequantize(Node &node) {
  const Item &codes = node.input(0);
  int64_t rank = codes.shape.size(), axis = node.integer("axis", 1);
  int dtype = node.input(1).dtype;
  if (int64_t wanted = node.integer("output_dtype", 0); wanted != 0)
    dtype = int(wanted);
  if (int64_t block = node.integer("block_size", 0); block != 0)
    return dequantizeBlocks(node, block, axis, dtype);
  HK_TRY(scaleGiven, node.tensor(1));
  HK_TRY(shape, shapeOfScale(node, scaleGiven.shape, axis, rank));
  HK_TRY(scale, node.reshape(scaleGiven, shape));
  HK_TRY(x, storedInput(node, 0));
  HK_TRY(zero, zeroPoint(node, codes.dtype, shape));
  const auto &info = *dtypeInfo(codes.dtype);
  // A scale for each place of the last dim is one of blocks of 1.
  FailureOr<Tensor> made =
      info.bits > 8 || rank == 0 || codes.dtype == kBool
          ? dequantisedWide(node, x, scale, zero, dtype)
          : dequantised(node, x, scale, zero, /*block=*/1, dtype);
  if (failed(made))
    return failure();
  Item item;
  item.dtype = dtype;
  item.shape = made->shape;
  item.tensor = made->value;
  int64_t at = -1;
  if (!shape.empty()) {
    HK_TRY(known, node.axis(axis, rank));
    at = known;
  }
  item.quantised = {node.inputName(0).str(), node.inputName(1).str(),
                    node.has(2) ? node.inputName(2).str() : "", at};
  return node.result(0, std::move(item));
}

//===----------------------------------------------------------------------===//
// QuantizeLinear
//===----------------------------------------------------------------------===//

/// round(x / scale) + zero, limited.
static FailureOr<Tensor> quantisedWide(Node &node, const Tensor &x,
                                       const Tensor &scale,
                                       const std::optional<Tensor> &zero,
                                       int dtype) {
  HK_TRY(wide, node.cast(x, kFloat));
  HK_TRY(scaleWide, node.cast(scale, kFloat));
  HK_TRY(quotient, node.binary<DivOp>(wide, scaleWide));
  if (isFloat8(dtype))
    return node.cast(quotient, dtype); // saturates
  HK_TRY(rounded, node.unary<RoundOp>(quotient));
  Tensor moved = rounded;
  if (zero) {
    HK_TRY(zeroWide, node.cast(*zero, kFloat));
    HK_TRY(sum, node.binary<AddOp>(rounded, zeroWide));
    moved = sum;
  }
  HK_TRY(made, node.cast(moved, kInt8)); // saturates
  return Tensor{made.value, dtype, made.shape};
}

/// Scales of blocks along `axis`, a dim of whole blocks: it becomes two, of
/// blocks and of elements, for which a scale repeats.
static LogicalResult quantizeBlocks(Node &node, int64_t block, int64_t axis,
                                    int dtype) {
  HK_TRY(x, node.tensor(0));
  HK_TRY(scale, node.tensor(1));
  HK_TRY(at, node.axis(axis, x.rank()));
  std::optional<int64_t> size = x.shape[at].getConstant();
  if (block < 1 || scale.rank() != x.rank() || !size || *size % block != 0 ||
      !scale.shape[at].isConstant(*size / block))
    return node.error() << "expected dim " << at << " to be whole blocks of "
                        << block << " with a scale for each, but got "
                        << node.describe(x.shape) << " and "
                        << node.describe(scale.shape);
  HK_TRY(zero, zeroPoint(node, dtype, scale.shape));
  Shape parted = x.shape, repeated = scale.shape;
  parted[at] = *size / block;
  parted.insert(parted.begin() + at + 1, Size(block));
  repeated.insert(repeated.begin() + at + 1, Size(1));
  HK_TRY(rows, node.reshape(x, parted));
  HK_TRY(scales, node.reshape(scale, repeated));
  if (zero && zero->rank() == scale.rank()) {
    HK_TRY(zeros, node.reshape(*zero, repeated));
    zero = zeros;
  }
  HK_TRY(made, quantisedWide(node, rows, scales, zero, dtype));
  HK_TRY(stored,
         node.reshape(Tensor{made.value, isFloat8(dtype) ? dtype : int(kInt8),
                             made.shape},
                      x.shape));
  return node.result(0, Tensor{stored.value, dtype, x.shape});
}

static LogicalResult quantize(Node &node) {
  int64_t axis = node.integer("axis", 1), block = node.integer("block_size", 0);
  int dtype = int(node.integer("output_dtype", 0));
  if (dtype == 0)
    dtype = node.has(2) ? node.input(2).dtype : int(kUInt8);
  if (dtype != kInt8 && dtype != kUInt8 && !isFloat8(dtype))
    return node.error() << "expected codes of int8, uint8 or float8, but got "
                        << dtypeName(dtype);
  if (isFloat8(dtype) &&
      failed(node.only("saturate", 1, "hk's float8 saturates")))
    return failure();
  node.integer("saturate", 1);
  if (int64_t precision = node.integer("precision", 0);
      precision != 0 && precision != kFloat)
    return node.error() << "expected attribute 'precision' to be float: hk "
                           "divides in f32, but got "
                        << dtypeName(int(precision));
  if (block != 0)
    return quantizeBlocks(node, block, axis, dtype);
  HK_TRY(x, node.tensor(0));
  HK_TRY(scaleGiven, node.tensor(1));
  HK_TRY(shape, shapeOfScale(node, scaleGiven.shape, axis, x.rank()));
  HK_TRY(scale, node.reshape(scaleGiven, shape));
  HK_TRY(zero, zeroPoint(node, dtype, shape));
  HK_TRY(made, quantisedWide(node, x, scale, zero, dtype));
  return node.result(0, made);
}

ArrayRef<Operator> mlir::hk::importer::quantisationOperators() {
  static const Operator table[] = {
      {"", "QuantizeLinear", 13, 2, 3, quantize,
       "to int8, uint8 and float8, a scale for all, per axis or block"},
      {"", "DequantizeLinear", 13, 2, 3, dequantize,
       "of int8, uint8, int4, uint4, int32 and float8, a scale for all, per "
       "axis or block"},
  };
  return table;
}
