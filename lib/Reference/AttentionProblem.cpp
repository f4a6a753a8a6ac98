//===- AttentionProblem.cpp - The operands of an attention ----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layouts, scales, sequences and which keys a query sees.
//
//===----------------------------------------------------------------------===//

#include "AttentionProblem.h"
#include "Product.h"

#include "hk/Contract/Slices.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::reference;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Element positions of dims `dims` in a tensor of `sizes`, all combinations in
/// order.
static std::vector<int64_t> positionsOf(ArrayRef<int64_t> sizes,
                                        ArrayRef<unsigned> dims) {
  std::vector<int64_t> positions = {0};
  for (unsigned dim : dims) {
    int64_t stride = 1;
    for (int64_t size : sizes.drop_front(dim + 1))
      stride *= size;
    std::vector<int64_t> finer;
    for (int64_t position : positions)
      for (int64_t i = 0; i < sizes[dim]; ++i)
        finer.push_back(position + i * stride);
    positions = std::move(finer);
  }
  return positions;
}

RowTensor::RowTensor(const Tensor &from, const CacheDims &dims)
    : tensor(&from) {
  bool hasOuter = dims.rows.front() != 0;
  SmallVector<unsigned> outerDims(hasOuter ? 1 : 0, 0);
  std::vector<int64_t> outer = positionsOf(from.sizes, outerDims);
  std::vector<int64_t> rows = positionsOf(from.sizes, dims.rows);
  std::vector<int64_t> heads = positionsOf(from.sizes, {dims.head});
  std::vector<int64_t> elements = positionsOf(from.sizes, dims.elements);
  sizes = {int64_t(outer.size()), int64_t(rows.size()), int64_t(heads.size()),
           int64_t(elements.size())};
  if (dims.rows.front() < dims.head && dims.head < dims.elements.front() &&
      dims.rows.size() + dims.elements.size() == 2)
    return;
  own.emplace(from.dtype, sizes);
  auto permute = [&](const std::vector<double> &all, std::vector<double> &to) {
    to.clear();
    if (all.empty())
      return;
    for (int64_t o : outer)
      for (int64_t r : rows)
        for (int64_t h : heads)
          for (int64_t e : elements)
            to.push_back(all[o + r + h + e]);
  };
  permute(from.values, own->values);
  permute(from.error, own->error);
  permute(from.jump, own->jump);
}

RowScale::RowScale(const Tensor *scale, const CacheDims &dims,
                   const RowTensor &of, std::optional<uint64_t> block)
    : rowsOfOuter(of.size(1)), block(int64_t(block.value_or(1))) {
  if (scale && scale->sizes.size() > 2)
    rows.emplace(*scale, dims);
  else
    tensor = scale;
}

Noisy RowScale::at(int64_t sequence, int64_t row, int64_t head,
                   int64_t element) const {
  if (rows) {
    auto step = [&](unsigned dim, int64_t index) {
      return rows->size(dim) == 1 ? 0 : index;
    };
    int64_t at = step(0, row / rowsOfOuter);
    at = at * rows->size(1) + step(1, row % rowsOfOuter / block);
    at = at * rows->size(2) + step(2, head);
    at = at * rows->size(3) + step(3, element);
    return reference::at(rows->get(), at);
  }
  if (!tensor)
    return {1, 0};
  if (tensor->sizes.empty())
    return reference::at(*tensor, 0);
  int64_t first = tensor->sizes[0] == 1 ? 0 : sequence;
  return reference::at(*tensor, first * tensor->sizes[1] + head);
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

PositionRegion::PositionRegion(Region &region) {
  if (region.empty())
    return;
  block = &region.front();
  for (Operation &op : block->without_terminator())
    ops.emplace_back(&op, evaluatorOf(isa<arith::ConstantOp>(op)
                                          ? ConstantOp::getOperationName()
                                          : op.getName().getStringRef()));
}

FailureOr<Tensor>
PositionRegion::yieldOf(ArrayRef<const Tensor *> arguments) const {
  llvm::DenseMap<Value, const Tensor *> values;
  for (auto [argument, tensor] :
       llvm::zip_equal(block->getArguments(), arguments))
    values[argument] = tensor;
  std::vector<std::unique_ptr<Tensor>> made;
  for (const auto &[op, evaluator] : ops) {
    SmallVector<const Tensor *> operands;
    for (Value operand : op->getOperands())
      operands.push_back(values.lookup(operand));
    SmallVector<Tensor, 1> results;
    if (failed(evaluator(op, Operands(op, operands), results)))
      return failure();
    made.push_back(std::make_unique<Tensor>(std::move(results.front())));
    values[op->getResult(0)] = made.back().get();
  }
  return *values.lookup(block->getTerminator()->getOperand(0));
}

static Tensor integer(int64_t value) {
  Tensor t(::hk::DType::I32, {});
  t.values[0] = double(value);
  return t;
}

FailureOr<std::vector<Noisy>>
PositionRegion::evaluate(const SeenRow &row, const std::vector<Noisy> *scores,
                         ArrayRef<const Tensor *> reads) const {
  auto count = int64_t(row.keys.size());
  Tensor score(::hk::DType::F32, {count});
  Tensor position(::hk::DType::I32, {count});
  score.error.resize(count);
  score.jump.resize(count);
  for (int64_t k = 0; k < count; ++k) {
    Noisy x = scores ? (*scores)[k] : Noisy{0, 0};
    score.values[k] = x.value;
    score.error[k] = x.sigma;
    score.jump[k] = x.jump;
    position.values[k] = double(row.keys[k]);
  }
  const Sequence &s = row.sequence;
  Tensor b = integer(s.index), h = integer(row.head), q = integer(row.query);
  Tensor queries = integer(s.numQueries), keys = integer(s.numKeys);
  SmallVector<const Tensor *> arguments;
  if (scores)
    arguments.push_back(&score);
  arguments.append({&b, &h, &q, &position, &queries, &keys});
  llvm::append_range(arguments, reads);
  FailureOr<Tensor> yielded = yieldOf(arguments);
  if (failed(yielded))
    return failure();
  std::vector<Noisy> result(count);
  bool one = yielded->sizes.empty();
  for (int64_t k = 0; k < count; ++k)
    result[k] = reference::at(*yielded, one ? 0 : k);
  return result;
}

//===----------------------------------------------------------------------===//
// The problem
//===----------------------------------------------------------------------===//

static CacheDims queryDims(AttentionOp op) {
  return op.hasRaggedQueries() ? CacheDims{{0}, 1, {2}}
                               : CacheDims{{1}, 2, {3}};
}

AttentionProblem::AttentionProblem(AttentionOp op, const Operands &in)
    : op(op), query(in.of(op.getQuery())),
      key(in.of(op.getKey()), op.getKeyDims()),
      value(in.of(op.getValue()), op.getValueDims()),
      blockTable(in.find(op.getBlockTable())), sink(in.find(op.getSink())),
      queryScale(in.find(op.getQScale()), queryDims(op),
                 RowTensor(query, queryDims(op)), op.getQBlock()),
      keyScale(in.find(op.getKScale()), op.getKeyDims(), key, op.getKBlock()),
      valueScale(in.find(op.getVScale()), op.getValueDims(), value,
                 std::nullopt),
      score(op.getScore()), weight(op.getWeight()), heads(op.getNumHeads()),
      group(op.getNumHeads() / op.getNumKeyHeads()), headSize(op.getHeadSize()),
      valueSize(op.getValueSize()), scale(op.getScale().convertToFloat()),
      probabilityType(*dtypeOf(op.getProbabilityType())),
      mayFlush(fitsBf16(query.dtype) && fitsBf16(key.get().dtype) &&
               fitsBf16(value.get().dtype)),
      specialValues(llvm::any_of(value.get().values,
                                 [](double v) { return !std::isfinite(v); })) {
  if (op.getSoftcap())
    softcap = op.getSoftcap()->convertToFloat();
  for (Value operand : op.getReads())
    reads.push_back(&in.of(operand));
}

int64_t AttentionProblem::blockOf(const Sequence &s, int64_t j) const {
  int64_t slot = s.tableStart + j / key.size(1);
  return int64_t(blockTable->values[slot]);
}

std::optional<int64_t> AttentionProblem::keyRow(const Sequence &s,
                                                int64_t j) const {
  if (!blockTable)
    return s.keyStart + j;
  int64_t block = blockOf(s, j);
  return block < 0 ? std::nullopt
                   : std::optional(block * key.size(1) + j % key.size(1));
}

bool AttentionProblem::isInCache(const Sequence &s, int64_t j) const {
  return !blockTable || blockOf(s, j) < key.size(0);
}

KeyRange AttentionProblem::visibleKeys(const Sequence &s, int64_t slice,
                                       int64_t i) const {
  int64_t diagonal = i + s.numKeys - s.numQueries;
  KeyRange r{0, s.numKeys};
  if (op.getCausal())
    r.end = std::min(r.end, diagonal + 1);
  if (auto w = op.getWindowLeft())
    r.begin = std::max<int64_t>(r.begin, diagonal - static_cast<int64_t>(*w));
  if (auto w = op.getWindowRight())
    r.end = std::min<int64_t>(r.end, diagonal + static_cast<int64_t>(*w) + 1);
  if (op.getPast())
    r.end = std::min(r.end, s.numKeys - s.numQueries);
  if (op.getKvSlices()) {
    int64_t window = op.getWindowLeft() ? int64_t(*op.getWindowLeft()) : -1;
    int64_t base = ::hk::firstSlicedKey(s.numKeys, s.numQueries, window);
    int64_t each = ::hk::sliceLength(s.numKeys - base, op.getNumSlices());
    r.begin = std::max(r.begin, base + slice * each);
    r.end = std::min(r.end, base + (slice + 1) * each);
  }
  r.end = std::max(r.end, r.begin);
  return r;
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

static int64_t number(const Tensor &t, int64_t i) {
  return static_cast<int64_t>(t.values[i]);
}

/// The keys of sequence `b`; returns how many there may be.
static int64_t findKeys(const AttentionProblem &p, const Operands &in,
                        int64_t b, Sequence &s) {
  AttentionOp op = p.op;
  const Tensor *kvOffsets = in.find(op.getKvOffsets());
  const Tensor *kvLens = in.find(op.getKvLens());
  const Tensor *tableOffsets = in.find(op.getTableOffsets());
  int64_t capacity = p.key.size(1);
  switch (op.getKeyForm()) {
  case KeyForm::Ragged:
    s.keyStart = kvOffsets ? number(*kvOffsets, b) : 0;
    s.numKeys = kvOffsets ? number(*kvOffsets, b + 1) - s.keyStart : capacity;
    return capacity - s.keyStart;
  case KeyForm::Dense:
    s.keyStart = b * capacity;
    break;
  case KeyForm::Paged: {
    int64_t blocks = 0;
    if (tableOffsets) {
      s.tableStart = number(*tableOffsets, b);
      int64_t end =
          std::min(number(*tableOffsets, b + 1), p.blockTable->sizes[0]);
      blocks = s.tableStart < 0 ? -1 : end - s.tableStart;
    } else {
      blocks = p.blockTable->sizes[1];
      s.tableStart = b * blocks;
    }
    capacity *= blocks;
    break;
  }
  }
  s.numKeys = kvLens ? number(*kvLens, b) : capacity;
  return capacity;
}

FailureOr<SmallVector<Sequence>>
reference::sequencesOf(const AttentionProblem &p, const Operands &in) {
  AttentionOp op = p.op;
  const Tensor &query = p.query;
  const Tensor *qOffsets = in.find(op.getQOffsets());
  bool ragged = op.hasRaggedQueries();
  int64_t count = !ragged    ? query.sizes[0]
                  : qOffsets ? qOffsets->sizes[0] - 1
                             : 1;
  SmallVector<Sequence> sequences;
  for (int64_t b = 0; b < count; ++b) {
    Sequence s{0, 0, 0, 0, b};
    s.queryStart = !ragged    ? b * query.sizes[1]
                   : qOffsets ? number(*qOffsets, b)
                              : 0;
    s.numQueries = !ragged    ? query.sizes[1]
                   : qOffsets ? number(*qOffsets, b + 1) - s.queryStart
                              : query.sizes[0];
    int64_t capacity = findKeys(p, in, b, s);
    if (s.numKeys < 0 || s.numKeys > capacity)
      return op->emitOpError("expected number of keys of sequence ")
             << b << " to be in [0, " << capacity << "], but got " << s.numKeys;
    if (s.queryStart < 0 || s.numQueries < 0 ||
        (ragged && s.queryStart + s.numQueries > query.sizes[0]))
      return op->emitOpError("expected q_offsets to ascend from 0 to at most ")
             << query.sizes[0] << ", but got " << s.queryStart << " to "
             << s.queryStart + s.numQueries << " for sequence " << b;
    sequences.push_back(s);
  }
  // Queries behind the last offset are those of a sequence without keys.
  if (qOffsets && count >= 0) {
    int64_t start = number(*qOffsets, count);
    sequences.push_back({start, query.sizes[0] - start, 0, 0, count});
  }
  return sequences;
}
