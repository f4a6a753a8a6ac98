//===- AttentionSegmentEmit.cpp - The C++ of a segment of the keys --------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The spec of a segment and the function that reads its arguments: what is
// about queries and results is the same in those of all segments.
//
//===----------------------------------------------------------------------===//

#include "../AttentionRegions.h"
#include "AttentionPlan.h"
#include "Emission/ArgumentsWriter.h"
#include "Emission/Puller.h"

using namespace mlir;
using namespace mlir::hk;

namespace {

/// Argument words by the dims of the operator, whatever their order in memory.
class OperandWords {
public:
  explicit OperandWords(const AttentionPlan &kernel)
      : kernel(kernel), words(kernel.getKernel()) {}

  /// Whatever has no dims.
  const ArgumentWords &inMemory() const { return words; }
  std::string stride(unsigned operand, int64_t dim) const {
    return words.stride(operand, kernel.memoryDim(operand, dim));
  }
  std::string dim(unsigned operand, int64_t dim) const {
    return words.dim(operand, kernel.memoryDim(operand, dim));
  }

private:
  const AttentionPlan &kernel;
  ArgumentWords words;
};

class SegmentEmitter {
public:
  SegmentEmitter(const AttentionPlan &kernel, const AttentionSegment &segment,
                 StringRef number, StringRef around, raw_ostream &os)
      : kernel(kernel), segment(segment), op(segment.getOp()),
        operands(kernel.getOperands()), words(kernel),
        spec("kSpec" + number.str()), number(number), around(around), os(os),
        fields(words.inMemory(), os) {}

  void run() {
    writeSpec();
    if (segment.hasRegions())
      emitAttentionRegions(kernel.getKernel(), op.getScore(), op.getWeight(),
                           segment.reads, regions(), os);
    writeArguments();
  }

private:
  std::string regions() { return "Regions" + number.str(); }
  /// The type of the segment's arguments.
  std::string argsType() {
    return "AttentionArgs<" + spec +
           (around.empty() ? ">" : ", " + around.str() + ">");
  }

  StringRef queryLayout() {
    if (!op.hasRaggedQueries())
      return "SequenceLayout::Dense";
    return operands.qOffsets >= 0 ? "SequenceLayout::Ragged"
                                  : "SequenceLayout::Single";
  }
  std::string keys() {
    StringRef count = segment.kvLens >= 0 ? "KeyCount::Given" : "KeyCount::All";
    auto in = [&](StringRef layout) {
      return ("AttentionKeys::" + layout + "(" + count + ")").str();
    };
    switch (op.getKeyForm()) {
    case KeyForm::Dense:
      return in("dense");
    case KeyForm::Paged: {
      StringRef layout = segment.tableOffsets >= 0 ? "pagedByOffsets" : "paged";
      return ("AttentionKeys::" + layout + "(" + Twine(blockRows()) + ", " +
              count + ")")
          .str();
    }
    case KeyForm::Ragged:
      break;
    }
    return in(segment.kvOffsets >= 0 ? "ragged" : "single");
  }

  /// A causal mask is a right end of 0.
  std::string window() {
    int64_t left = windowSize(op.getWindowLeft());
    int64_t right = op.getCausal() ? 0 : windowSize(op.getWindowRight());
    return ("{" + Twine(left) + ", " + Twine(right) +
            (op.getPast() ? ", OwnKeys::Elsewhere}" : ", OwnKeys::Seen}"))
        .str();
  }

  StringRef normalizer() {
    if (op.getNormalizer() == Normalizer::none)
      return "None";
    return operands.sink >= 0 ? "SoftmaxWithSink" : "Softmax";
  }

  /// Without segments of other scales, scales multiply the result.
  StringRef valueScaling() {
    if (kernel.getSegments().size() == 1)
      return "Result";
    return &segment == &kernel.getSegments().front() ? "FirstSegment"
                                                     : "Probabilities";
  }

  void writeSpec() {
    const ::hk::AttentionShape &shape = kernel.getShape();
    os << "constexpr AttentionSpec " << spec << " = {\n"
       << "    .type = " << dtypeText(kernel.getType()) << ",\n"
       << "    .outType = " << dtypeText(kernel.getOutType()) << ",\n"
       << "    .headDim = " << shape.headDim << ",\n"
       << "    .valueDim = " << shape.valueDim << ",\n"
       << "    .group = " << kernel.getGroup() << ",\n"
       << "    .queries = " << queryLayout() << ",\n"
       << "    .keys = " << keys() << ",\n"
       << "    .window = " << window() << ",\n"
       << "    .cap = ScoreCap::" << (op.getSoftcap() ? "Soft" : "None")
       << ",\n"
       << "    .normalizer = Normalizer::" << normalizer() << ",\n"
       << "    .rowLse = RowLse::" << (operands.lse >= 0 ? "Stored" : "Dropped")
       << ",\n"
       << "    .align = " << shape.align << ",\n"
       << "    .keyChunk = " << keyChunk() << ",\n"
       << "    .valueChunk = " << valueChunk() << ",\n";
    emitNarrowSpec(kernel, segment, os);
    os << "    .valueScaling = ValueScaling::" << valueScaling() << ",\n"
       << "};\n\n";
  }

  /// Strides of a [slice,] [sequence,] row, head, element operand.
  void assignStrides(StringRef prefixOfFields, int64_t operand, bool slice,
                     bool sequence, bool head) {
    int64_t dim = 0;
    auto next = [&](StringRef field) {
      fields.assign((prefixOfFields + field).str(),
                    words.stride(unsigned(operand), dim++));
    };
    if (slice)
      next("Slice");
    if (sequence)
      next("Sequence");
    next("Row");
    if (head)
      next("Head");
  }

  /// The innermost dim's is not passed.
  std::string strideText(int64_t operand, Value value, unsigned dim) {
    return int64_t(dim) + 1 == cast<RankedTensorType>(value.getType()).getRank()
               ? "1"
               : words.stride(unsigned(operand), dim);
  }

  /// Elements of a key that lie side by side; 0: all.
  int64_t keyChunk() {
    CacheDims dims = op.getKeyDims();
    return dims.elements.size() < 2
               ? 0
               : cast<RankedTensorType>(op.getKey().getType())
                     .getDimSize(dims.elements.back());
  }
  /// Rows whose values of one column lie side by side: of a block all.
  int64_t valueChunk() {
    CacheDims dims = op.getValueDims();
    if (dims.rows.size() > 1)
      return cast<RankedTensorType>(op.getValue().getType())
          .getDimSize(dims.rows.back());
    return op.getValueLayout() == CacheLayout::transposed ? int64_t(1) << 30
                                                          : 0;
  }

  /// Rows of a block of the cache; 0: not known.
  int64_t blockRows() {
    int64_t rows = cast<RankedTensorType>(op.getKey().getType())
                       .getDimSize(op.getKeyDims().rows.front());
    return ShapedType::isDynamic(rows) ? 0 : rows;
  }

  void writeKeyStrides(bool blocked) {
    CacheDims keys = op.getKeyDims(), values = op.getValueDims();
    auto stride = [&](StringRef field, bool ofKeys, unsigned dim) {
      fields.assign(field, ofKeys
                               ? strideText(segment.key, op.getKey(), dim)
                               : strideText(segment.value, op.getValue(), dim));
    };
    if (blocked) {
      stride("kSequence", true, 0);
      stride("vSequence", false, 0);
    }
    stride("kRow", true, keys.rows.front());
    stride("kHead", true, keys.head);
    if (keyChunk())
      stride("kChunk", true, keys.elements.front());
    stride("vRow", false, values.rows.front());
    stride("vHead", false, values.head);
    if (valueChunk())
      stride("vColumn", false, values.elements.front());
  }

  void writeSizes(bool denseQueries) {
    unsigned query = unsigned(operands.query), key = unsigned(segment.key);
    if (denseQueries)
      fields.assign("batch", words.dim(query, 0));
    else if (operands.qOffsets >= 0)
      fields.assign("batch",
                    words.dim(unsigned(operands.qOffsets), 0) + " - 1");
    else
      fields.assign("batch", "1");
    fields.assign("queries", words.dim(query, denseQueries ? 1 : 0));
    if (op.getKeyForm() == KeyForm::Paged) {
      unsigned table = unsigned(segment.blockTable);
      std::string rows = words.dim(key, op.getKeyDims().rows.front());
      fields.assign("blockRows", rows);
      fields.assign("emptyCache", words.dim(key, 0) + " == 0");
      if (!op.getTableOffsets()) {
        fields.assign("keys", words.dim(table, 1) + " * " + rows);
        fields.assign("tableRow", words.stride(table, 0));
      }
    } else {
      fields.assign("keys", words.dim(key, op.getKeyDims().rows.front()));
    }
    fields.assign("heads", Twine(kernel.getKeyHeads() * kernel.getGroup()));
  }

  void writeArguments() {
    bool denseQueries = !op.hasRaggedQueries();
    bool blockedKeys = op.getKeyForm() != KeyForm::Ragged;
    bool several = kernel.getSegments().size() > 1;
    os << "HK_DEV " << argsType() << " arguments" << number << "("
       << (several ? "LaunchWords" : "const u64 *") << " words) {\n  "
       << argsType() << " a = {};\n";
    fields.assignPointer("q", "const Storage<" + spec + ".qType>",
                         operands.query);
    fields.assignPointer("k", "const Storage<" + spec + ".kType>", segment.key);
    fields.assignPointer("v", "const Storage<" + spec + ".vType>",
                         segment.value);
    fields.assignPointer("out", "Storage<" + spec + ".outType>",
                         operands.result);
    fields.assignPointer("lse", "float", operands.lse);
    fields.assignPointer("qOffsets", "const i32", operands.qOffsets);
    fields.assignPointer("kvOffsets", "const i32", segment.kvOffsets);
    fields.assignPointer("kvLens", "const i32", segment.kvLens);
    fields.assignPointer("blockTable", "const i32", segment.blockTable);
    fields.assignPointer("tableOffsets", "const i32", segment.tableOffsets);
    fields.assignPointer("sink", "const float", operands.sink);
    if (!around.empty())
      fields.assign("words", several ? "(const u64 *)words" : "words");

    writeSizes(denseQueries);

    bool sliced = op.getNumSliceDims() != 0;
    assignStrides("q", operands.query, false, denseQueries, true);
    writeKeyStrides(blockedKeys);
    if (operands.result >= 0)
      assignStrides("out", operands.result, sliced, denseQueries, true);
    if (operands.lse >= 0)
      assignStrides("lse", operands.lse, sliced, denseQueries, false);
    fields.assignFloat("scale", op.getScale());
    if (op.getSoftcap())
      fields.assignFloat("softcap", *op.getSoftcap());
    emitScaleArguments(
        kernel, segment,
        [&](unsigned operand, int64_t dim) {
          return words.stride(operand, dim);
        },
        [&](unsigned operand, int64_t dim) { return words.dim(operand, dim); },
        fields);
    os << "  return a;\n}\n\n";
  }

  const AttentionPlan &kernel;
  const AttentionSegment &segment;
  AttentionOp op;
  const AttentionOperands &operands;
  OperandWords words;
  std::string spec;
  StringRef number, around;
  raw_ostream &os;
  ArgumentsWriter fields;
};

} // namespace

void mlir::hk::emitAttentionSegment(const AttentionPlan &kernel,
                                    const AttentionSegment &segment,
                                    StringRef number, StringRef around,
                                    raw_ostream &os) {
  SegmentEmitter(kernel, segment, number, around, os).run();
}
