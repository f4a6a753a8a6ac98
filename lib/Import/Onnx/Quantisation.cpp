//===- Quantisation.cpp - Quantisation of ONNX ----------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Quantised tensors and products with weights of few bits. Codes of 4 bits stay
// as the file packs them; those that hk has no type for (uint8, 2 bits) are
// constants: they become int8 less their zero point, which is exact.
//
//===----------------------------------------------------------------------===//

#include "Node.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

/// The shape in which a scale or zero point, of one element or one for each
/// place along `axis`, meets a tensor of `rank`.
static FailureOr<Shape> shapeOfScale(Node &node, const Tensor &scale,
                                     int64_t axis, int64_t rank) {
  Shape shape;
  if (scale.rank() == 1 && rank > 0 && !scale.shape[0].isConstant(1)) {
    HK_TRY(at, node.axis(axis, rank));
    shape.assign(rank, Size(1));
    shape[at] = scale.shape[0];
  }
  return shape;
}

/// (x - zero) * scale with a scale for each `block` elements along `axis`,
/// which goes last for it.
static LogicalResult dequantizeBlocks(Node &node, int64_t block, int64_t axis,
                                      int dtype) {
  HK_TRY(x, node.tensor(0));
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
  Value zero;
  if (node.has(2)) {
    HK_TRY(given, node.tensor(2));
    if (given.rank() != x.rank())
      return node.error() << "expected a zero point of the shape of the scale, "
                          << node.describe(scale.shape) << ", but got "
                          << node.describe(given.shape);
    HK_TRY(zeros, node.transpose(given, swap));
    zero = zeros.value;
  }
  HK_TRY(type, node.type(dtype, codes.shape));
  Tensor made{DequantizeOp::create(node.b, node.loc, type, codes.value,
                                   scales.value, zero, /*offset=*/false,
                                   uint64_t(block)),
              dtype, codes.shape};
  HK_TRY(result, node.transpose(made, swap));
  return node.result(0, result);
}

static LogicalResult dequantize(Node &node) {
  HK_TRY(scaleGiven, node.tensor(1));
  const Item &codes = node.input(0);
  int64_t rank = codes.shape.size();
  int64_t axis = node.integer("axis", 1);
  int dtype = scaleGiven.dtype;
  if (int64_t wanted = node.integer("output_dtype", 0); wanted != 0)
    dtype = int(wanted);
  if (int64_t block = node.integer("block_size", 0); block != 0)
    return dequantizeBlocks(node, block, axis, dtype);
  HK_TRY(shape, shapeOfScale(node, scaleGiven, axis, rank));
  HK_TRY(scale, node.reshape(scaleGiven, shape));
  HK_TRY(x, node.tensor(0));
  // (x - zero) * scale in f32, rounded once.
  HK_TRY(wide, node.cast(x, kFloat));
  Tensor moved = wide;
  if (node.has(2)) {
    HK_TRY(given, node.tensor(2));
    HK_TRY(zero, node.reshape(given, shape));
    HK_TRY(zeroWide, node.cast(zero, kFloat));
    HK_TRY(less, node.binary<SubOp>(wide, zeroWide));
    moved = less;
  }
  HK_TRY(all, node.broadcast(moved.shape, scale.shape));
  HK_TRY(type, node.type(dtype, all));
  return node.result(
      0, Tensor{MulOp::create(node.b, node.loc, type, moved.value, scale.value),
                dtype, all});
}

static LogicalResult quantize(Node &node) {
  HK_TRY(x, node.tensor(0));
  HK_TRY(scaleGiven, node.tensor(1));
  int64_t axis = node.integer("axis", 1);
  if (failed(node.only("block_size", 0, "blocks are not supported")))
    return failure();
  node.integer("saturate", 1);
  int dtype = int(node.integer("output_dtype", 0));
  if (dtype == 0)
    dtype = node.has(2) ? node.input(2).dtype : int(kUInt8);
  if (dtype != kInt8)
    return node.error() << "expected codes of int8, but got "
                        << dtypeName(dtype);
  HK_TRY(shape, shapeOfScale(node, scaleGiven, axis, x.rank()));
  HK_TRY(scale, node.reshape(scaleGiven, shape));
  HK_TRY(wide, node.cast(x, kFloat));
  HK_TRY(scaleWide, node.cast(scale, kFloat));
  HK_TRY(quotient, node.binary<DivOp>(wide, scaleWide));
  HK_TRY(rounded, node.unary<RoundOp>(quotient));
  Tensor moved = rounded;
  if (node.has(2)) {
    HK_TRY(given, node.tensor(2));
    HK_TRY(zero, node.reshape(given, shape));
    HK_TRY(zeroWide, node.cast(zero, kFloat));
    HK_TRY(sum, node.binary<AddOp>(rounded, zeroWide));
    moved = sum;
  }
  HK_TRY(made, node.cast(moved, kInt8)); // saturates
  return node.result(0, made);
}

//===----------------------------------------------------------------------===//
// MatMulNBits
//===----------------------------------------------------------------------===//

namespace {
/// B of y = x B^T: codes [N, blocks, bytes] of K elements a row.
struct Codes {
  int64_t n, k, bits, block, blocks;
};
} // namespace

/// Code `i` of packed bytes, low bits first.
static int64_t codeAt(StringRef bytes, int64_t i, int64_t bits) {
  int64_t perByte = 8 / bits;
  return uint8_t(bytes[i / perByte]) >> (bits * (i % perByte)) &
         ((1 << bits) - 1);
}

static FailureOr<Codes> codesOf(Node &node) {
  Codes c;
  c.n = node.integer("N", 0), c.k = node.integer("K", 0);
  c.bits = node.integer("bits", 4), c.block = node.integer("block_size", 32);
  constexpr int64_t kMost = int64_t(1) << 30;
  if (c.n < 1 || c.k < 1 || c.n > kMost || c.k > kMost ||
      (c.bits != 2 && c.bits != 4 && c.bits != 8) || c.block < 16 ||
      c.block > kMost || !llvm::isPowerOf2_64(c.block))
    return node.error() << "expected positive N and K, bits of 2, 4 or 8 and a "
                           "block_size that is a power of two from 16, but got "
                        << c.n << ", " << c.k << ", " << c.bits << " and "
                        << c.block;
  c.blocks = llvm::divideCeil(c.k, c.block);
  return c;
}

/// The data of input `i`, of uint8 and `bytes` of them.
static FailureOr<StringRef> packedInput(Node &node, size_t i, int64_t bytes) {
  const Item &item = node.input(i);
  if (!item.data || item.dtype != kUInt8 ||
      int64_t(item.data->bytes.size()) != bytes)
    return node.error() << "expected input #" << i << " '" << node.inputName(i)
                        << "' to be a constant of " << bytes
                        << " uint8, but got "
                        << (item.data ? "" : "a computed tensor of ")
                        << dtypeName(item.dtype) << " "
                        << node.describe(item.shape);
  return item.data->bytes;
}

/// Codes less their zero points, as int8 [N, K].
static FailureOr<Tensor> signedCodes(Node &node, const Codes &c) {
  int64_t rowBytes = c.blocks * (c.block * c.bits / 8);
  HK_TRY(bytes, packedInput(node, 1, c.n * rowBytes));
  StringRef zeros;
  int64_t zeroBytes = llvm::divideCeil(c.blocks * c.bits, 8);
  if (node.has(3)) {
    HK_TRY(given, packedInput(node, 3, c.n * zeroBytes));
    zeros = given;
  }
  std::string made(c.n * c.k, '\0');
  for (int64_t n = 0; n < c.n; ++n)
    for (int64_t k = 0; k < c.k; ++k) {
      int64_t zero = int64_t(1) << (c.bits - 1);
      if (!zeros.empty())
        zero = codeAt(zeros.substr(n * zeroBytes), k / c.block, c.bits);
      int64_t code = codeAt(bytes.substr(n * rowBytes), k, c.bits) - zero;
      if (code < -128 || code > 127)
        return node.error() << "expected codes that less their zero points fit "
                               "in int8, but got "
                            << code;
      made[n * c.k + k] = char(code);
    }
  Data data{kInt8, {c.n, c.k}, node.graph.store.keep(std::move(made))};
  return node.constant(data, (node.inputName(1) + ".int8").str());
}

/// Codes of 4 bits as they lie, without the padding of the last block.
static FailureOr<Tensor> packedCodes(Node &node, const Codes &c) {
  int64_t rowBytes = c.blocks * c.block / 2;
  HK_TRY(bytes, packedInput(node, 1, c.n * rowBytes));
  StringRef kept = bytes;
  if (rowBytes != c.k / 2) {
    std::string rows;
    for (int64_t n = 0; n < c.n; ++n)
      rows += bytes.substr(n * rowBytes, c.k / 2);
    kept = node.graph.store.keep(std::move(rows));
  }
  return node.constant(Data{kUInt4, {c.n, c.k}, kept}, node.inputName(1));
}

/// The zero points of codes of 4 bits, a number for each block; 8 where none
/// are given. An odd number of blocks is padded in the file and not in hk.
static FailureOr<Tensor> packedZeros(Node &node, const Codes &c) {
  DataStore &store = node.graph.store;
  if (!node.has(3))
    return node.constant(store.makeIntegers(kInt8, {1}, {8}), "");
  int64_t rowBytes = llvm::divideCeil(c.blocks, 2);
  HK_TRY(bytes, packedInput(node, 3, c.n * rowBytes));
  if (c.blocks % 2 == 0)
    return node.constant(Data{kUInt4, {c.n, c.blocks}, bytes},
                         node.inputName(3));
  std::string zeros;
  for (int64_t n = 0; n < c.n; ++n)
    for (int64_t block = 0; block < c.blocks; ++block)
      zeros += char(codeAt(bytes.substr(n * rowBytes), block, 4));
  return node.constant(
      Data{kInt8, {c.n, c.blocks}, store.keep(std::move(zeros))},
      (node.inputName(3) + ".int8").str());
}

/// The weight [N, K] in the type of `x`.
static FailureOr<Value> decodedWeight(Node &node, const Codes &codes,
                                      int dtype) {
  HK_TRY(given, node.tensor(2));
  HK_TRY(scale, node.reshape(given, {Size(codes.n), Size(codes.blocks)}));
  HK_TRY(type, node.type(dtype, {Size(codes.n), Size(codes.k)}));
  if (codes.bits != 4 || codes.k % 2 != 0) {
    HK_TRY(weight, signedCodes(node, codes));
    return DequantizeOp::create(node.b, node.loc, type, weight.value,
                                scale.value, /*zero_point=*/Value(),
                                /*offset=*/false, uint64_t(codes.block))
        .getResult();
  }
  HK_TRY(weight, packedCodes(node, codes));
  HK_TRY(zero, packedZeros(node, codes));
  return DequantizeOp::create(node.b, node.loc, type, weight.value, scale.value,
                              zero.value, /*offset=*/false,
                              uint64_t(codes.block))
      .getResult();
}

static LogicalResult matmulNBits(Node &node) {
  node.integer("accuracy_level", 0);
  if (failed(node.only("weight_prepacked", 0,
                       "weights in a kernel's order; export without")))
    return failure();
  if (node.has(4))
    return node.error() << "input #4, g_idx, is not supported";
  HK_TRY(codes, codesOf(node));
  HK_TRY(x, node.tensor(0));
  if (x.rank() < 1 || x.shape.back() != Size(codes.k))
    return node.error() << "expected rows of K = " << codes.k
                        << " elements, but got " << node.describe(x.shape);
  HK_TRY(wide, decodedWeight(node, codes, x.dtype));
  Shape shape = x.shape;
  shape.back() = codes.n;
  HK_TRY(type, node.type(x.dtype, shape));
  Tensor row = x;
  if (x.rank() == 1) {
    HK_TRY(matrix, node.reshape(x, {Size(1), x.shape[0]}));
    row = matrix;
    HK_TRY(rowType, node.type(x.dtype, {Size(1), Size(codes.n)}));
    type = rowType;
  }
  OperationState state(node.loc, MatmulOp::getOperationName());
  MatmulOp::build(node.b, state, type, row.value, wide, Value(), Value(),
                  /*transpose_a=*/false, /*transpose_b=*/true, IntegerAttr());
  Tensor made{node.b.create(state)->getResult(0), x.dtype,
              x.rank() == 1 ? Shape{Size(1), Size(codes.n)} : shape};
  if (node.has(5)) {
    HK_TRY(bias, node.tensor(5));
    HK_TRY(sum, node.binary<AddOp>(made, bias));
    made = sum;
  }
  HK_TRY(result, node.reshape(made, shape));
  return node.result(0, result);
}

ArrayRef<Operator> mlir::hk::importer::quantisationOperators() {
  static const Operator table[] = {
      {"", "QuantizeLinear", 13, 2, 3, quantize,
       "to int8, a scale for all or per axis"},
      {"", "DequantizeLinear", 13, 2, 3, dequantize,
       "of int8, int4, uint4 and float8, a scale for all, per axis or block"},
      {"com.microsoft", "MatMulNBits", 1, 3, 6, matmulNBits,
       "of 2, 4 and 8 bits, those of 4 stored as such"},
  };
  return table;
}
