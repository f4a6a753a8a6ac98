//===- AttentionEmit.cpp - The C++ of an attention kernel -----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The spec and the arguments of every segment of the keys, one entry point per
// variant.
//
//===----------------------------------------------------------------------===//

#include "AttentionEpilogue.h"
#include "AttentionPlan.h"
#include "Emission/ArgumentWords.h"

using namespace mlir;
using namespace mlir::hk;

namespace {

class AttentionEmitter {
public:
  AttentionEmitter(const AttentionPlan &kernel, const ::hk::Target &target,
                   StringRef prefix, raw_ostream &os)
      : kernel(kernel), target(target), words(kernel.getKernel()),
        prefix(prefix), os(os) {}

  void run() {
    ArrayRef<AttentionSegment> segments = kernel.getSegments();
    os << "#include \"kernels/attention/attention.h\"\n";
    if (kernel.hasEpilogue() ||
        llvm::any_of(segments, [](const AttentionSegment &segment) {
          return segment.hasRegions();
        }))
      os << "#include \"kernels/device/quant.h\"\n";
    if (llvm::any_of(kernel.getKernel().getVariants(), isBulk))
      os << "#include \"kernels/attention/sm90/warp_specialised.h\"\n";
    if (llvm::any_of(kernel.getKernel().getVariants(), isOfLatent))
      os << "#include \"kernels/attention/sm90/latent.h\"\n";
    os << "\n"
          "namespace {\n"
          "using namespace hk;\n\n";
    if (kernel.hasEpilogue())
      emitAttentionEpilogue(kernel, target, os);
    for (unsigned i = 0; i < segments.size(); ++i)
      emitAttentionSegment(kernel, segments[i], numberOf(i),
                           aroundWalk(kernel, i), os);
    for (VariantOp variant : kernel.getKernel().getVariants())
      writeType(variant);
    os << "} // namespace\n";
    for (VariantOp variant : kernel.getKernel().getVariants())
      writeEntry(variant);
  }

private:
  static bool isBulk(VariantOp variant) {
    return isWarpSpecialised(cast<AttentionTileAttr>(variant.getTile()));
  }
  static bool isOfLatent(VariantOp variant) {
    return isLatent(cast<AttentionTileAttr>(variant.getTile()));
  }
  static StringRef kernelName(VariantOp variant) {
    return isBulk(variant)       ? "BulkSegment"
           : isOfLatent(variant) ? "LatentAttention"
                                 : "AttentionKernel";
  }
  /// Behind the names of what segment `i` has.
  static std::string numberOf(unsigned i) {
    return i == 0 ? "" : std::to_string(i);
  }
  /// The type with what segment `i` has of operators around its walk; empty:
  /// nothing.
  static std::string aroundWalk(const AttentionPlan &kernel, unsigned i) {
    std::string regions = kernel.getSegments()[i].hasRegions()
                              ? "Regions" + numberOf(i)
                              : std::string();
    if (!kernel.hasEpilogue())
      return regions;
    return "WithEpilogue<" + (regions.empty() ? "NoRegions" : regions) +
           ", Epilogue>";
  }
  /// `text(i)` of all segments, with commas between.
  void writeEach(llvm::function_ref<void(unsigned i)> write) {
    llvm::interleaveComma(llvm::seq<unsigned>(0, kernel.getSegments().size()),
                          os, write);
  }

  void writeType(VariantOp variant) {
    auto tile = cast<AttentionTileAttr>(variant.getTile());
    bool bulk = isBulk(variant), several = kernel.getSegments().size() > 1;
    os << "using " << variant.getSymName() << " = "
       << (bulk      ? "BulkAttention<"
           : several ? "AttentionSegments<"
                     : "");
    writeEach([&](unsigned i) {
      os << kernelName(variant) << "<kSpec" << numberOf(i) << ", AttentionTile{"
         << tile.getBq() << ", " << tile.getBk() << ", " << tile.getWaves()
         << ", " << tile.getStages() << ", " << tile.getSplitKv();
      if (tile.getBlocks() > 0 || tile.getCluster() > 1)
        os << ", " << tile.getBlocks();
      if (tile.getCluster() > 1)
        os << ", " << tile.getHeads() << ", " << tile.getCluster();
      os << "}";
      if (std::string around = aroundWalk(kernel, i); !around.empty())
        os << ", " << around;
      os << ">";
    });
    os << (bulk || several ? ">;\n" : ";\n");
  }

  void writeEntry(VariantOp variant) {
    StringRef name = variant.getSymName();
    if (isBulk(variant) || isOfLatent(variant)) {
      bool shared = kernel.getKernel().getThreads().has_value();
      os << "\n"
         << (shared ? "HK_MAPPED_PROBLEM(" : "HK_MAPPED_KERNEL(") << prefix
         << name << ", " << words.size() << ", " << name << "::kMaps, " << name
         << "::kThreads, " << name << "::Shared) {\n  " << name
         << (shared ? "::runTile" : "::run") << "(maps, block, lds, ";
      writeEach(
          [&](unsigned i) { os << "arguments" << numberOf(i) << "(words)"; });
      os << ");\n}\n";
      return;
    }
    os << "\n"
       << entryMacro(kernel.getKernel()) << "(" << prefix << name << ", "
       << words.size() << ", " << name << "::kThreads, 1, " << name
       << "::Shared) {\n  " << name << "::run(";
    bool several = kernel.getSegments().size() > 1;
    os << (several ? "launchWords(words), " : "");
    writeEach([&](unsigned i) {
      os << "arguments" << numberOf(i) << (several ? "" : "(words)");
    });
    os << ", block, lds);\n}\n";
  }

  const AttentionPlan &kernel;
  const ::hk::Target &target;
  ArgumentWords words;
  StringRef prefix;
  raw_ostream &os;
};

} // namespace

LogicalResult mlir::hk::emitAttention(KernelOp kernel,
                                      const ::hk::Target &target,
                                      StringRef prefix, raw_ostream &os) {
  FailureOr<AttentionPlan> attention = AttentionPlan::create(kernel);
  if (failed(attention))
    return failure();
  AttentionEmitter(*attention, target, prefix, os).run();
  return success();
}
