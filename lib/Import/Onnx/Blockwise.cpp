//===- Blockwise.cpp - Weights of few bits --------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights with codes of 2, 4 and 8 bits and scales for blocks of a row, as
// MatMulNBits, GatherBlockQuantized and QMoE have them. Codes of 4 bits stay as
// the file packs them; others become int8 less their zero point, or less 128,
// which is exact.
//
//===----------------------------------------------------------------------===//

#include "Blockwise.h"
#include "Products.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

Shape PackedRows::shape(int64_t size) const {
  Shape made(rows.begin(), rows.end());
  made.push_back(size);
  return made;
}

/// Code `i` of packed bytes, low bits first.
static int64_t codeAt(StringRef bytes, int64_t i, int64_t bits) {
  int64_t perByte = 8 / bits;
  return uint8_t(bytes[i / perByte]) >> (bits * (i % perByte)) &
         ((1 << bits) - 1);
}

/// The product of counts; nothing beyond 2^60.
static std::optional<int64_t> productOf(ArrayRef<int64_t> counts) {
  constexpr int64_t kMost = int64_t(1) << 60;
  int64_t made = 1;
  for (int64_t count : counts)
    if (llvm::MulOverflow(made, count, made) || made > kMost)
      return std::nullopt;
  return made;
}

/// The data of input `i`, of uint8 and `rows` times `rowBytes` of them.
static FailureOr<StringRef>
packedInput(Node &node, size_t i, ArrayRef<int64_t> rows, int64_t rowBytes) {
  const Item &item = node.input(i);
  SmallVector<int64_t> counts(rows);
  counts.push_back(rowBytes);
  std::optional<int64_t> bytes = productOf(counts);
  if (!bytes || !item.data || item.dtype != kUInt8 ||
      int64_t(item.data->bytes.size()) != *bytes)
    return node.error() << "expected input #" << i << " '" << node.inputName(i)
                        << "' to be a constant of " << bytes.value_or(-1)
                        << " uint8, but got "
                        << (item.data ? "" : "a computed tensor of ")
                        << dtypeName(item.dtype) << " "
                        << node.describe(item.shape);
  return item.data->bytes;
}

static int64_t rowBytesOf(const PackedRows &p) {
  int64_t elements = p.wholeBlocks ? p.numBlocks() * p.block : p.k;
  return llvm::divideCeil(elements * p.bits, 8);
}

static bool staysPacked(const PackedRows &p) {
  return p.bits == 4 && p.k % 2 == 0;
}

/// What stored codes are less than those of the file.
static int64_t offsetOf(const PackedRows &p) {
  return staysPacked(p) ? 0 : int64_t(1) << (p.bits - 1);
}

/// Codes of 4 bits as they lie, without the padding of the last block.
static Data packedCodes(Node &node, const PackedRows &p, StringRef bytes) {
  SmallVector<int64_t> sizes(p.rows);
  sizes.push_back(p.k);
  int64_t rowBytes = rowBytesOf(p);
  if (rowBytes == p.k / 2)
    return {kUInt4, sizes, bytes};
  std::string kept;
  for (int64_t r = 0, e = bytes.size() / rowBytes; r < e; ++r)
    kept += bytes.substr(r * rowBytes, p.k / 2);
  return {kUInt4, sizes, node.graph.store.keep(std::move(kept))};
}

/// Codes less half of their range, as int8.
static Data signedCodes(Node &node, const PackedRows &p, StringRef bytes) {
  SmallVector<int64_t> sizes(p.rows);
  sizes.push_back(p.k);
  int64_t rowBytes = rowBytesOf(p), numRows = bytes.size() / rowBytes;
  std::string made;
  made.reserve(numRows * p.k);
  for (int64_t r = 0; r < numRows; ++r)
    for (int64_t k = 0; k < p.k; ++k)
      made += char(codeAt(bytes.substr(r * rowBytes), k, p.bits) - offsetOf(p));
  return {kInt8, sizes, node.graph.store.keep(std::move(made))};
}

/// Zero points that are packed as codes are: ui4 where they fit hk's rows,
/// otherwise int8 less what the codes are less.
static FailureOr<Tensor> packedZeros(Node &node, const PackedRows &p) {
  int64_t blocks = p.numBlocks();
  int64_t perRow = llvm::divideCeil(blocks * p.bits, 8);
  SmallVector<int64_t> rows(p.rows), sizes(p.rows);
  sizes.push_back(blocks);
  if (p.zerosAcrossRows) {
    perRow = llvm::divideCeil(rows.back() * p.bits, 8);
    rows.pop_back();
  }
  HK_TRY(bytes, packedInput(node, p.zero, rows, perRow));
  if (staysPacked(p) && blocks % 2 == 0)
    return node.constant(Data{kUInt4, sizes, bytes}, node.inputName(p.zero));
  int64_t inRow = p.zerosAcrossRows ? p.rows.back() : blocks;
  std::string made;
  for (int64_t r = 0, e = perRow ? bytes.size() / perRow : 0; r < e; ++r)
    for (int64_t i = 0; i < inRow; ++i)
      made += char(codeAt(bytes.substr(r * perRow), i, p.bits) - offsetOf(p));
  return node.constant(
      Data{kInt8, sizes, node.graph.store.keep(std::move(made))},
      (node.inputName(p.zero) + ".int8").str());
}

static FailureOr<std::optional<Tensor>> zerosOf(Node &node,
                                                const PackedRows &p) {
  using Maybe = std::optional<Tensor>;
  if (!node.has(p.zero)) {
    int64_t zero = (int64_t(1) << (p.bits - 1)) - offsetOf(p);
    if (zero == 0)
      return Maybe();
    HK_TRY(made, node.constant(
                     node.graph.store.makeIntegers(kInt8, {1}, {zero}), ""));
    return Maybe(made);
  }
  const Item &item = node.input(p.zero);
  if (!dtypeInfo(item.dtype) || !dtypeInfo(item.dtype)->isFloat) {
    HK_TRY(made, packedZeros(node, p));
    return Maybe(made);
  }
  HK_TRY(given, node.tensor(p.zero));
  HK_TRY(shaped, node.reshape(given, p.shape(p.numBlocks())));
  if (offsetOf(p) == 0)
    return Maybe(shaped);
  HK_TRY(wide, node.cast(shaped, kFloat));
  HK_TRY(offset, node.scalar(double(offsetOf(p)), kFloat));
  HK_TRY(less, node.binary<SubOp>(wide, offset));
  return Maybe(less);
}

FailureOr<StoredRows> mlir::hk::importer::storedRows(Node &node,
                                                     const PackedRows &p) {
  if (p.k < 1 || llvm::any_of(p.rows, [](int64_t size) { return size < 1; }))
    return node.error()
           << "expected packed rows with elements, but got rows of " << p.k;
  HK_TRY(bytes, packedInput(node, p.codes, p.rows, rowBytesOf(p)));
  bool packed = staysPacked(p);
  HK_TRY(codes,
         node.constant(
             packed ? packedCodes(node, p, bytes) : signedCodes(node, p, bytes),
             (node.inputName(p.codes) + (packed ? "" : ".int8")).str()));
  HK_TRY(given, node.tensor(p.scale));
  HK_TRY(scale, node.reshape(given, p.shape(p.numBlocks())));
  HK_TRY(zero, zerosOf(node, p));
  return StoredRows{codes, scale, zero};
}

FailureOr<Tensor> mlir::hk::importer::decodedRows(Node &node,
                                                  const StoredRows &rows,
                                                  int64_t block, int dtype) {
  HK_TRY(type, node.type(dtype, rows.codes.shape));
  return Tensor{DequantizeOp::create(node.b, node.loc, type, rows.codes.value,
                                     rows.scale.value,
                                     rows.zero ? rows.zero->value : Value(),
                                     /*offset=*/false, uint64_t(block)),
                dtype, rows.codes.shape};
}

//===----------------------------------------------------------------------===//
// MatMulNBits
//===----------------------------------------------------------------------===//

static bool isBlock(int64_t block) {
  constexpr int64_t kMost = int64_t(1) << 30;
  return block >= 16 && block <= kMost && llvm::isPowerOf2_64(block);
}

static FailureOr<PackedRows> matmulRows(Node &node) {
  PackedRows p{1, 2, 3, {}, 0, 0, 0};
  int64_t n = node.integer("N", 0);
  p.rows = {n};
  p.k = node.integer("K", 0);
  p.bits = node.integer("bits", 4), p.block = node.integer("block_size", 32);
  p.wholeBlocks = true;
  constexpr int64_t kMost = int64_t(1) << 30;
  if (n < 1 || p.k < 1 || n > kMost || p.k > kMost ||
      (p.bits != 2 && p.bits != 4 && p.bits != 8) || !isBlock(p.block))
    return node.error() << "expected positive N and K, bits of 2, 4 or 8 and a "
                           "block_size that is a power of two from 16, but got "
                        << n << ", " << p.k << ", " << p.bits << " and "
                        << p.block;
  return p;
}

static LogicalResult matmulNBits(Node &node) {
  node.integer("accuracy_level", 0);
  if (failed(node.only("weight_prepacked", 0,
                       "weights in a kernel's order; export without")))
    return failure();
  if (node.has(4))
    return node.error() << "input #4, g_idx, is not supported";
  HK_TRY(packed, matmulRows(node));
  HK_TRY(x, node.tensor(0));
  if (x.rank() < 1 || x.shape.back() != Size(packed.k))
    return node.error() << "expected rows of K = " << packed.k
                        << " elements, but got " << node.describe(x.shape);
  HK_TRY(rows, storedRows(node, packed));
  HK_TRY(weight, decodedRows(node, rows, packed.block, x.dtype));
  HK_TRY(made, matmul(node, x, weight, /*transposeA=*/false,
                      /*transposeB=*/true, x.dtype));
  if (!node.has(5))
    return node.result(0, made);
  HK_TRY(bias, node.tensor(5));
  HK_TRY(sum, node.binary<AddOp>(made, bias));
  return node.result(0, sum);
}

//===----------------------------------------------------------------------===//
// GatherBlockQuantized
//===----------------------------------------------------------------------===//

/// The table as it lies in the file: packed uint8, or a type that hk has.
static FailureOr<StoredRows> tableOf(Node &node, int64_t bits, int64_t block) {
  const Item &data = node.input(0);
  SmallVector<int64_t> sizes;
  for (const Size &size : data.shape) {
    if (!size.getConstant())
      return node.error() << "expected a table of known sizes, but got "
                          << node.describe(data.shape);
    sizes.push_back(*size.getConstant());
  }
  if (data.dtype == kUInt8) {
    PackedRows p{0, 2, 3, {sizes[0]}, sizes[1] * (8 / bits), bits, block};
    return storedRows(node, p);
  }
  StoredRows made;
  HK_TRY(codes, node.tensor(0));
  HK_TRY(scale, node.tensor(2));
  made.codes = codes, made.scale = scale;
  if (node.has(3)) {
    if (dtypeInfo(data.dtype)->isFloat)
      return node.error() << "expected no zero points of "
                          << dtypeName(data.dtype);
    HK_TRY(zero, node.tensor(3));
    made.zero = zero;
  }
  return made;
}

/// Rows of a table by index; one row for all stays.
static FailureOr<Tensor> rowsAt(Node &node, const Tensor &table,
                                const Tensor &indices) {
  if (table.shape[0].isConstant(1) || table.rank() == 1)
    return table;
  Shape shape = indices.shape;
  shape.push_back(table.shape.back());
  HK_TRY(type, node.type(table.dtype, shape));
  return Tensor{
      GatherRowsOp::create(node.b, node.loc, type, table.value, indices.value),
      table.dtype, shape};
}

static LogicalResult gatherBlockQuantized(Node &node) {
  int64_t bits = node.integer("bits", 4),
          block = node.integer("block_size", 128);
  int64_t gatherAxis = node.integer("gather_axis", 0),
          axis = node.integer("quantize_axis", 1);
  const Item &data = node.input(0);
  const auto *info = dtypeInfo(data.dtype);
  bool isReal = info && info->isFloat;
  if (data.shape.size() != 2 || node.input(2).shape.size() != 2 ||
      (gatherAxis != 0 && gatherAxis != -2) || (axis != 1 && axis != -1))
    return node.error() << "expected a table and scales of two dims, "
                           "gather_axis 0 and quantize_axis 1, but got "
                        << node.describe(data.shape) << ", "
                        << node.describe(node.input(2).shape) << ", "
                        << gatherAxis << " and " << axis;
  if ((bits != 2 && bits != 4 && bits != 8) ||
      !(isBlock(block) || (isReal && block == 0)))
    return node.error() << "expected bits of 2, 4 or 8 and a block_size that "
                           "is a power of two from 16, but got "
                        << bits << " and " << block;
  HK_TRY(table, tableOf(node, bits, block));
  if (block == 0) // one block for each row
    block =
        std::max<int64_t>(table.codes.shape[1].getConstant().value_or(1), 1);
  int dtype = table.scale.dtype;
  HK_TRY(indices, indicesInto(node, 1, table.codes.shape[0]));
  HK_TRY(codes, rowsAt(node, table.codes, indices));
  HK_TRY(scale, rowsAt(node, table.scale, indices));
  StoredRows rows{codes, scale, table.zero};
  // Where one row is for all, it gets the dims of the result.
  auto matchRank = [&](Tensor &part) -> LogicalResult {
    if (part.rank() == codes.rank() || part.rank() < 2)
      return success();
    Shape shape(codes.rank() - 1, Size(1));
    shape.push_back(part.shape.back());
    HK_TRY(made, node.reshape(part, shape));
    part = made;
    return success();
  };
  if (rows.zero) {
    HK_TRY(zero, rowsAt(node, *rows.zero, indices));
    rows.zero = zero;
    if (failed(matchRank(*rows.zero)))
      return failure();
  }
  if (failed(matchRank(rows.scale)))
    return failure();
  HK_TRY(made, decodedRows(node, rows, block, dtype));
  return node.result(0, made);
}

ArrayRef<Operator> mlir::hk::importer::blockwiseOperators() {
  constexpr const char *kMs = "com.microsoft";
  static const Operator table[] = {
      {kMs, "MatMulNBits", 1, 3, 6, matmulNBits,
       "of 2, 4 and 8 bits, those of 4 stored as such"},
      {kMs, "GatherBlockQuantized", 1, 3, 4, gatherBlockQuantized,
       "rows of a matrix, blocks of its last dim"},
  };
  return table;
}
