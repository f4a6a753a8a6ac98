//===- AttentionBackwardEmit.cpp - The C++ of a gradient kernel ---------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One AttentionBackwardSpec, one function that reads the argument words, one
// entry point per variant.
//
//===----------------------------------------------------------------------===//

#include "../AttentionRegions.h"
#include "AttentionBackwardPlan.h"
#include "Emission/ArgumentsWriter.h"
#include "Emission/Puller.h"

using namespace mlir;
using namespace mlir::hk;

namespace {

class Emitter {
public:
  Emitter(const AttentionBackwardPlan &kernel, StringRef prefix,
          raw_ostream &os)
      : kernel(kernel), op(kernel.getOp()), operands(kernel.getOperands()),
        words(kernel.getKernel()), prefix(prefix), os(os), fields(words, os) {}

  void run() {
    os << "#include \"kernels/attention/backward/backward.h\"\n";
    if (kernel.hasRegions())
      os << "#include \"kernels/device/ops.h\"\n"
            "#include \"kernels/device/quant.h\"\n";
    if (llvm::any_of(kernel.getKernel().getVariants(), isBulk))
      os << "#include "
            "\"kernels/attention/backward/sm90/warp_specialised.h\"\n";
    if (kernel.getShape().sums)
      os << "#include \"kernels/attention/backward/sm90/ordered.h\"\n";
    os << "\nnamespace {\n"
          "using namespace hk;\n\n";
    writeSpec();
    if (kernel.hasRegions())
      emitAttentionRegions(kernel.getKernel(), op.getScore(), op.getWeight(),
                           operands.reads, "Regions", os, &op.getSlope());
    writeArguments();
    for (VariantOp variant : kernel.getKernel().getVariants())
      writeType(variant);
    os << "} // namespace\n";
    for (VariantOp variant : kernel.getKernel().getVariants())
      writeEntry(variant);
  }

private:
  static bool isBulk(VariantOp variant) {
    return isWarpSpecialised(
        cast<AttentionBackwardTileAttr>(variant.getTile()));
  }
  void writeType(VariantOp variant) {
    auto tile = cast<AttentionBackwardTileAttr>(variant.getTile());
    bool ordered = sumsInOrder(tile);
    os << "using " << variant.getSymName() << " = "
       << (ordered           ? "OrderedAttentionBackward"
           : isBulk(variant) ? "BulkAttentionBackward"
                             : "AttentionBackwardKernel")
       << "<kSpec, AttentionBackwardTile{" << tile.getRows() << ", "
       << tile.getWalked() << ", " << tile.getWaves() << ", "
       << tile.getStages() << "}";
    if (ordered)
      os << ", " << kernel.getKeyHeads();
    if (kernel.hasRegions())
      os << ", Regions";
    os << ">;\n";
  }
  void writeEntry(VariantOp variant) {
    StringRef name = variant.getSymName();
    if (isBulk(variant)) {
      os << "\nHK_MAPPED_KERNEL(" << prefix << name << ", " << words.size()
         << ", 4, " << name << "::kThreads, " << name << "::Shared) {\n  "
         << name << "::run(arguments(words), maps, block, lds);\n}\n";
      return;
    }
    os << "\nHK_KERNEL(" << prefix << name << ", " << words.size() << ", "
       << name << "::kThreads, 1, " << name << "::Shared) {\n  " << name
       << "::run([&]() __attribute__((always_inline)) {\n"
       << "    return arguments(launchWords(words));\n  }, block, lds);\n}\n";
  }

  StringRef layout() {
    if (!op.isRagged())
      return "SequenceLayout::Dense";
    return operands.qOffsets >= 0 ? "SequenceLayout::Ragged"
                                  : "SequenceLayout::Single";
  }

  void writeSpec() {
    auto flag = [](bool value) { return value ? "true" : "false"; };
    const ::hk::AttentionBackwardShape &shape = kernel.getShape();
    os << "constexpr AttentionBackwardSpec kSpec = {\n"
       << "    .type = " << dtypeText(shape.type) << ",\n"
       << "    .outType = " << dtypeText(kernel.getOutType()) << ",\n"
       << "    .headDim = " << shape.headDim << ",\n"
       << "    .valueDim = " << shape.valueDim << ",\n"
       << "    .group = " << kernel.getGroup() << ",\n"
       << "    .sequence = " << layout() << ",\n"
       << "    .causal = " << flag(op.getCausal()) << ",\n"
       << "    .softcap = " << flag(op.getSoftcap().has_value()) << ",\n"
       << "    .dq = " << flag(operands.dquery >= 0) << ",\n"
       << "    .dk = " << flag(operands.dkey >= 0) << ",\n"
       << "    .dv = " << flag(operands.dvalue >= 0) << ",\n"
       << "    .dsink = " << flag(operands.dsink >= 0) << ",\n"
       << "    .windowLeft = " << windowSize(op.getWindowLeft()) << ",\n"
       << "    .windowRight = " << windowSize(op.getWindowRight()) << ",\n"
       << "    .align = " << shape.align;
    if (operands.dbias >= 0)
      os << ",\n    .dbias = true,\n    .biasType = "
         << dtypeText(tensorType(op.getDbias()).getElementType())
         << ",\n    .sumsDbias = " << flag(op.sumsDbias());
    if (operands.dbias >= 0 && op.isRagged())
      os << ",\n    .biasQueries = " << tensorType(op.getDbias()).getDimSize(2)
         << ",\n    .biasKeys = " << tensorType(op.getDbias()).getDimSize(3);
    if (op.getNormalizer() == Normalizer::none)
      os << ",\n    .normalizer = Normalizer::None";
    os << "};\n\n";
  }

  /// Strides of a [sequence,] row, head [, element] operand.
  void assignStrides(StringRef field, int64_t operand, bool elements = true) {
    if (operand < 0)
      return;
    auto stride = [&](int64_t dim) {
      return "i64(" + words.stride(unsigned(operand), dim) + ")";
    };
    int64_t row = op.isRagged() ? 0 : 1;
    fields.assign(field, "{" + (row ? stride(0) : "0") + ", " + stride(row) +
                             ", " + (elements ? stride(row + 1) : "1") + "}");
  }

  void writePointers() {
    const char *in = "const Storage<kSpec.type>",
               *out = "Storage<kSpec.outType>";
    fields.assignPointer("q", in, operands.query);
    fields.assignPointer("k", in, operands.key);
    fields.assignPointer("v", in, operands.value);
    fields.assignPointer("gradient", in, operands.gradient);
    fields.assignPointer("lse", "const float", operands.lse);
    fields.assignPointer("delta", "const float", operands.delta);
    if (operands.dsink >= 0)
      fields.assignPointer("sink", "const float", operands.sink);
    fields.assignPointer("qOffsets", "const i32", operands.qOffsets);
    fields.assignPointer("kvOffsets", "const i32", operands.kvOffsets);
    fields.assignPointer("dq", out, operands.dquery);
    fields.assignPointer("dk", out, operands.dkey);
    fields.assignPointer("dv", out, operands.dvalue);
    fields.assignPointer("dsink", "float", operands.dsink);
    fields.assignPointer("dbias", "Storage<kSpec.biasType>", operands.dbias);
    fields.assignPointer("sums", "float", operands.sums);
    fields.assignPointer("turns", "u32", operands.turns);
  }

  void writeArguments() {
    unsigned query = unsigned(operands.query), key = unsigned(operands.key);
    int64_t row = op.isRagged() ? 0 : 1;
    os << "HK_DEV AttentionBackwardArgs<kSpec> arguments(LaunchWords words) {\n"
          "  AttentionBackwardArgs<kSpec> a = {};\n";
    writePointers();
    if (!op.isRagged())
      fields.assign("batch", words.dim(query, 0));
    else if (operands.qOffsets >= 0)
      fields.assign("batch", "i64(" +
                                 words.dim(unsigned(operands.qOffsets), 0) +
                                 ") - 1");
    else
      fields.assign("batch", "1");
    fields.assign("queries", words.dim(query, row));
    fields.assign("keys", words.dim(key, row));
    assignStrides("qStride", operands.query);
    assignStrides("kStride", operands.key);
    assignStrides("vStride", operands.value);
    assignStrides("gradientStride", operands.gradient);
    assignStrides("lseStride", operands.lse, /*elements=*/false);
    assignStrides("deltaStride", operands.delta, /*elements=*/false);
    assignStrides("dqStride", operands.dquery);
    assignStrides("dkStride", operands.dkey);
    assignStrides("dvStride", operands.dvalue);
    if (operands.dbias >= 0) {
      auto stride = [&](int64_t dim) {
        return "i64(" + words.stride(unsigned(operands.dbias), dim) + ")";
      };
      fields.assign("dbiasStride", "{" + stride(0) + ", " + stride(2) + ", " +
                                       stride(1) + "}");
    }
    if (kernel.hasRegions())
      fields.assign("words", "(const u64 *)words");
    fields.assignFloat("scale", op.getScale());
    if (op.getSoftcap())
      fields.assignFloat("softcap", *op.getSoftcap());
    os << "  return a;\n}\n\n";
  }

  const AttentionBackwardPlan &kernel;
  AttentionBackwardOp op;
  const AttentionBackwardOperands &operands;
  ArgumentWords words;
  StringRef prefix;
  raw_ostream &os;
  ArgumentsWriter fields;
};

} // namespace

LogicalResult mlir::hk::emitAttentionBackward(KernelOp kernel, StringRef prefix,
                                              raw_ostream &os) {
  FailureOr<AttentionBackwardPlan> backward =
      AttentionBackwardPlan::create(kernel);
  if (failed(backward))
    return failure();
  Emitter(*backward, prefix, os).run();
  return success();
}
