//===- MqaLogitsEmit.cpp - The C++ of an indexer's logits -----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One MqaLogitsSpec, one function that reads the argument words, one entry
// point per variant.
//
//===----------------------------------------------------------------------===//

#include "Emission/ArgumentsWriter.h"
#include "Emission/Puller.h"
#include "MqaLogits.h"

using namespace mlir;
using namespace mlir::hk;

namespace {

class MqaLogitsEmitter {
public:
  MqaLogitsEmitter(KernelOp op, const MqaLogitsKernel &kernel, StringRef prefix,
                   raw_ostream &os)
      : op(op), kernel(kernel), words(op), prefix(prefix), os(os),
        fields(words, os) {}

  void run() {
    os << "#include \"kernels/mqa_logits/mqa_logits.h\"\n\n"
          "namespace {\n"
          "using namespace hk;\n\n";
    writeSpec();
    writeArguments();
    for (VariantOp variant : op.getVariants()) {
      auto tile = cast<AttentionTileAttr>(variant.getTile());
      os << "using " << variant.getSymName()
         << " = MqaLogitsKernel<kSpec, AttentionTile{" << tile.getBq() << ", "
         << tile.getBk() << ", " << tile.getWaves() << ", " << tile.getStages()
         << ", " << tile.getSplitKv() << "}>;\n";
    }
    os << "} // namespace\n";
    for (VariantOp variant : op.getVariants()) {
      StringRef name = variant.getSymName();
      os << "\nHK_KERNEL(" << prefix << name << ", " << words.size() << ", "
         << name << "::kThreads, 1, " << name << "::Shared) {\n  " << name
         << "::run(arguments(words), block, lds);\n}\n";
    }
  }

private:
  bool paged() const { return kernel.blockTable >= 0; }

  void writeSpec() {
    auto flag = [](bool value) { return value ? "true" : "false"; };
    auto query = cast<RankedTensorType>(
        op.getSpecBlock().getArgument(kernel.query).getType());
    os << "constexpr MqaLogitsSpec kSpec = {\n"
       << "    .type = " << dtypeText(query.getElementType()) << ",\n"
       << "    .headDim = " << kernel.shape.headDim << ",\n"
       << "    .heads = " << kernel.shape.heads << ",\n"
       << "    .paged = " << flag(paged()) << ",\n"
       << "    .scales = " << flag(kernel.keyScales >= 0) << ",\n"
       << "    .starts = " << flag(kernel.starts >= 0) << ",\n"
       << "    .ends = " << flag(kernel.ends >= 0) << ",\n"
       << "    .align = " << kernel.align << "};\n\n";
  }

  /// Strides of the outer dims of an operand; a name for each.
  void assignStrides(int64_t operand, ArrayRef<StringRef> names) {
    if (operand < 0)
      return;
    for (auto [dim, name] : llvm::enumerate(names))
      fields.assign(name, words.stride(unsigned(operand), int64_t(dim)));
  }

  void writeArguments() {
    unsigned query = unsigned(kernel.query), key = unsigned(kernel.key);
    os << "HK_DEV MqaLogitsArgs<kSpec> arguments(const u64 *words) {\n"
          "  MqaLogitsArgs<kSpec> a = {};\n";
    fields.assignPointer("q", "const Storage<kSpec.type>", kernel.query);
    fields.assignPointer("k", "const Storage<kSpec.type>", kernel.key);
    fields.assignPointer("weights", "const float", kernel.weights);
    fields.assignPointer("scales", "const float", kernel.keyScales);
    fields.assignPointer("starts", "const i32", kernel.starts);
    fields.assignPointer("ends", "const i32", kernel.ends);
    fields.assignPointer("kvLens", "const i32", kernel.kvLens);
    fields.assignPointer("blockTable", "const i32", kernel.blockTable);
    fields.assignPointer("out", "float", kernel.result);
    if (!paged()) {
      fields.assign("sequences", "1");
      fields.assign("queries", words.dim(query, 0));
      fields.assign("keys", words.dim(key, 0));
      assignStrides(kernel.query, {"qRow", "qHead"});
      assignStrides(kernel.key, {"kRow"});
      assignStrides(kernel.weights, {"weightRow"});
      assignStrides(kernel.keyScales, {"scaleRow"});
      assignStrides(kernel.result, {"outRow"});
    } else {
      unsigned table = unsigned(kernel.blockTable);
      fields.assign("sequences", words.dim(query, 0));
      fields.assign("queries", words.dim(query, 1));
      fields.assign("blocks", words.dim(key, 0));
      fields.assign("blockSize", words.dim(key, 1));
      fields.assign("keys", words.dim(table, 1) + " * " + words.dim(key, 1));
      assignStrides(kernel.blockTable, {"tableRow"});
      assignStrides(kernel.query, {"qSequence", "qRow", "qHead"});
      assignStrides(kernel.key, {"kBlock", "kRow"});
      assignStrides(kernel.weights, {"weightSequence", "weightRow"});
      assignStrides(kernel.keyScales, {"scaleBlock", "scaleRow"});
      assignStrides(kernel.result, {"outSequence", "outRow"});
    }
    os << "  return a;\n}\n\n";
  }

  KernelOp op;
  const MqaLogitsKernel &kernel;
  ArgumentWords words;
  StringRef prefix;
  raw_ostream &os;
  ArgumentsWriter fields;
};

} // namespace

LogicalResult mlir::hk::emitMqaLogits(KernelOp op, StringRef prefix,
                                      raw_ostream &os) {
  FailureOr<MqaLogitsKernel> kernel = MqaLogitsKernel::create(op);
  if (failed(kernel))
    return failure();
  MqaLogitsEmitter(op, *kernel, prefix, os).run();
  return success();
}
