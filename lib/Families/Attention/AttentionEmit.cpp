//===- AttentionEmit.cpp - The C++ of an attention kernel -----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One AttentionSpec, one function that reads the argument words, one entry
// point per variant.
//
//===----------------------------------------------------------------------===//

#include "../Common/ArgumentsWriter.h"
#include "../Common/Puller.h"
#include "AttentionKernel.h"

using namespace mlir;
using namespace mlir::hk;

namespace {

/// Argument words by the dims of the operator, whatever their order in memory.
class OperandWords {
public:
  explicit OperandWords(const AttentionKernel &kernel)
      : kernel(kernel), words(kernel.getKernel()) {}

  int64_t size() const { return words.size(); }
  std::string address(unsigned operand) const { return words.address(operand); }
  /// Whatever has no dims.
  const ArgumentWords &inMemory() const { return words; }
  std::string stride(unsigned operand, int64_t dim) const {
    return words.stride(operand, kernel.memoryDim(operand, dim));
  }
  std::string dim(unsigned operand, int64_t dim) const {
    return words.dim(operand, kernel.memoryDim(operand, dim));
  }

private:
  const AttentionKernel &kernel;
  ArgumentWords words;
};

class AttentionEmitter {
public:
  AttentionEmitter(const AttentionKernel &kernel, StringRef prefix,
                   raw_ostream &os)
      : kernel(kernel), op(kernel.getOp()), operands(kernel.getOperands()),
        words(kernel), prefix(prefix), os(os), fields(words.inMemory(), os) {}

  void run() {
    os << "#include \"kernels/attention/attention.h\"\n";
    if (hasRegions())
      os << "#include \"kernels/device/quant.h\"\n";
    if (llvm::any_of(kernel.getKernel().getVariants(), isBulk))
      os << "#include \"kernels/attention/sm90/warp_specialised.h\"\n";
    os << "\n"
          "namespace {\n"
          "using namespace hk;\n\n";
    writeSpec();
    if (hasRegions())
      emitAttentionRegions(kernel, os);
    writeArguments();
    for (VariantOp variant : kernel.getKernel().getVariants()) {
      auto tile = cast<AttentionTileAttr>(variant.getTile());
      os << "using " << variant.getSymName() << " = "
         << (isBulk(variant) ? "BulkAttention" : "AttentionKernel")
         << "<kSpec, AttentionTile{" << tile.getBq() << ", " << tile.getBk()
         << ", " << tile.getWaves() << ", " << tile.getStages() << ", "
         << tile.getSplitKv() << "}"
         << (hasRegions() ? ", Regions>;\n" : ">;\n");
    }
    os << "} // namespace\n";
    for (VariantOp variant : kernel.getKernel().getVariants())
      writeEntry(variant);
  }

private:
  static bool isBulk(VariantOp variant) {
    return isWarpSpecialised(cast<AttentionTileAttr>(variant.getTile()));
  }

  void writeEntry(VariantOp variant) {
    StringRef name = variant.getSymName();
    bool bulk = isBulk(variant);
    os << "\n"
       << (bulk ? StringRef("HK_MAPPED_KERNEL")
                : entryMacro(kernel.getKernel()))
       << "(" << prefix << name << ", " << words.size() << ", "
       << (bulk ? "3, " : "") << name << "::kThreads, " << (bulk ? "" : "1, ")
       << name << "::Shared) {\n  " << name << "::run(arguments(words), "
       << (bulk ? "maps, " : "") << "block, lds);\n}\n";
  }

  bool hasRegions() {
    return !op.getScore().empty() || !op.getWeight().empty();
  }
  /// The type of the kernel's arguments.
  std::string argsType() {
    return std::string("AttentionArgs<kSpec") +
           (hasRegions() ? ", Regions>" : ">");
  }

  StringRef queryLayout() {
    if (!op.hasRaggedQueries())
      return "SequenceLayout::Dense";
    return operands.qOffsets >= 0 ? "SequenceLayout::Ragged"
                                  : "SequenceLayout::Single";
  }
  StringRef keyLayout() {
    switch (op.getKeyForm()) {
    case KeyForm::Dense:
      return "SequenceLayout::Dense";
    case KeyForm::Paged:
      return "SequenceLayout::Paged";
    case KeyForm::Ragged:
      break;
    }
    return operands.kvOffsets >= 0 ? "SequenceLayout::Ragged"
                                   : "SequenceLayout::Single";
  }

  void writeSpec() {
    auto flag = [](bool value) { return value ? "true" : "false"; };
    const ::hk::AttentionShape &shape = kernel.getShape();
    os << "constexpr AttentionSpec kSpec = {\n"
       << "    .type = " << dtypeText(kernel.getType()) << ",\n"
       << "    .outType = " << dtypeText(kernel.getOutType()) << ",\n"
       << "    .headDim = " << shape.headDim << ",\n"
       << "    .valueDim = " << shape.valueDim << ",\n"
       << "    .group = " << kernel.getGroup() << ",\n"
       << "    .queries = " << queryLayout() << ",\n"
       << "    .keys = " << keyLayout() << ",\n"
       << "    .kvLens = " << flag(operands.kvLens >= 0) << ",\n"
       << "    .causal = " << flag(op.getCausal()) << ",\n"
       << "    .softcap = " << flag(op.getSoftcap().has_value()) << ",\n"
       << "    .sink = " << flag(operands.sink >= 0) << ",\n"
       << "    .lse = " << flag(operands.lse >= 0) << ",\n"
       << "    .windowLeft = " << windowSize(op.getWindowLeft()) << ",\n"
       << "    .windowRight = " << windowSize(op.getWindowRight()) << ",\n"
       << "    .align = " << shape.align << ",\n"
       << "    .normalizer = Normalizer::"
       << (op.getNormalizer() == Normalizer::none ? "None" : "Softmax") << ",\n"
       << "    .raggedTable = " << flag(operands.tableOffsets >= 0) << ",\n"
       << "    .keyChunk = " << keyChunk() << ",\n"
       << "    .valueChunk = " << valueChunk() << ",\n";
    emitNarrowSpec(kernel, os);
    os << "};\n\n";
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

  void writeKeyStrides(bool blocked) {
    CacheDims keys = op.getKeyDims(), values = op.getValueDims();
    auto stride = [&](StringRef field, bool ofKeys, unsigned dim) {
      fields.assign(field,
                    ofKeys ? strideText(operands.key, op.getKey(), dim)
                           : strideText(operands.value, op.getValue(), dim));
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

  void writeArguments() {
    bool denseQueries = !op.hasRaggedQueries();
    bool blockedKeys = op.getKeyForm() != KeyForm::Ragged;
    unsigned query = unsigned(operands.query), key = unsigned(operands.key);
    os << "HK_DEV " << argsType() << " arguments(const u64 *words) {\n  "
       << argsType() << " a = {};\n";
    fields.assignPointer("q", "const Storage<kSpec.qType>", operands.query);
    fields.assignPointer("k", "const Storage<kSpec.kType>", operands.key);
    fields.assignPointer("v", "const Storage<kSpec.vType>", operands.value);
    fields.assignPointer("out", "Storage<kSpec.outType>", operands.result);
    fields.assignPointer("lse", "float", operands.lse);
    fields.assignPointer("qOffsets", "const i32", operands.qOffsets);
    fields.assignPointer("kvOffsets", "const i32", operands.kvOffsets);
    fields.assignPointer("kvLens", "const i32", operands.kvLens);
    fields.assignPointer("blockTable", "const i32", operands.blockTable);
    fields.assignPointer("tableOffsets", "const i32", operands.tableOffsets);
    fields.assignPointer("sink", "const float", operands.sink);
    if (hasRegions())
      fields.assign("words", "words");

    if (denseQueries)
      fields.assign("batch", words.dim(query, 0));
    else if (operands.qOffsets >= 0)
      fields.assign("batch",
                    words.dim(unsigned(operands.qOffsets), 0) + " - 1");
    else
      fields.assign("batch", "1");
    fields.assign("queries", words.dim(query, denseQueries ? 1 : 0));
    if (op.getKeyForm() == KeyForm::Paged) {
      unsigned table = unsigned(operands.blockTable);
      std::string rows = words.dim(key, op.getKeyDims().rows.front());
      fields.assign("blockSize", rows);
      fields.assign("emptyCache", words.dim(key, 0) + " == 0");
      if (!op.getTableOffsets()) {
        fields.assign("keys", words.dim(table, 1) + " * " + rows);
        fields.assign("tableRow", words.stride(table, 0));
      }
    } else {
      fields.assign("keys", words.dim(key, op.getKeyDims().rows.front()));
    }
    fields.assign("heads", Twine(kernel.getKeyHeads() * kernel.getGroup()));

    bool sliced = op.getNumSliceDims() != 0;
    assignStrides("q", operands.query, false, denseQueries, true);
    writeKeyStrides(blockedKeys);
    assignStrides("out", operands.result, sliced, denseQueries, true);
    if (operands.lse >= 0)
      assignStrides("lse", operands.lse, sliced, denseQueries, false);
    fields.assignFloat("scale", op.getScale());
    if (op.getSoftcap())
      fields.assignFloat("softcap", *op.getSoftcap());
    emitScaleArguments(
        kernel, [&](unsigned operand) { return words.address(operand); },
        [&](unsigned operand, int64_t dim) {
          return words.stride(operand, dim);
        },
        [&](unsigned operand, int64_t dim) { return words.dim(operand, dim); },
        os);
    os << "  return a;\n}\n\n";
  }

  const AttentionKernel &kernel;
  AttentionOp op;
  const AttentionOperands &operands;
  OperandWords words;
  StringRef prefix;
  raw_ostream &os;
  ArgumentsWriter fields;
};

} // namespace

LogicalResult mlir::hk::emitAttention(KernelOp kernel, const ::hk::Target &,
                                      StringRef prefix, raw_ostream &os) {
  FailureOr<AttentionKernel> attention = AttentionKernel::create(kernel);
  if (failed(attention))
    return failure();
  AttentionEmitter(*attention, prefix, os).run();
  return success();
}
