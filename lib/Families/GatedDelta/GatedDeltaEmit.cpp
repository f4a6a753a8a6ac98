//===- GatedDeltaEmit.cpp - The C++ of a gated delta rule kernel ----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An Io struct per step and variant with a function for everything that the
// step's template reads or writes, by the names of its plan. The puller writes
// their bodies: elementwise operators that make an operand, and those that
// follow a result. What a step leaves for another is read and written in LDS.
//
//===----------------------------------------------------------------------===//

#include "GatedDeltaHeadsEmit.h"
#include "GatedDeltaSteps.h"
#include "hk/Contract/Calibration.h"

#include <cmath>

using namespace mlir;
using namespace mlir::hk;
using Access = GatedDeltaAccess;

static Type elementOf(Value value) {
  return cast<ShapedType>(value.getType()).getElementType();
}
static unsigned argument(Value value) {
  return cast<BlockArgument>(value).getArgNumber();
}

/// The number of an argument or result of the kernel.
static unsigned placeOf(KernelOp kernel, Value value) {
  if (isa<BlockArgument>(value))
    return argument(value);
  auto results = kernel.getSpecBlock().getTerminator()->getOperands();
  return unsigned(kernel.getNumInputs() +
                  std::distance(results.begin(), llvm::find(results, value)));
}

namespace {

/// The tile of the first variant; others have the same layout in LDS.
GatedDeltaTileAttr tileOf(KernelOp kernel) {
  return cast<GatedDeltaTileAttr>(kernel.getVariants().front().getTile());
}
::hk::GatedDeltaTile contractTile(GatedDeltaTileAttr tile) {
  return {int32_t(tile.getThreads()), int32_t(tile.getLanes()),
          int32_t(tile.getColumns()), int32_t(tile.getWaves())};
}

/// What is written for one step; `suffix` tells its names apart.
class StepEmitter {
public:
  StepEmitter(KernelOp kernel, const ::hk::Target &target,
              const GatedDeltaPlan &plan, const GatedDeltaLayout &layout,
              const DimSymbols &dims, const ArgumentWords &words,
              std::string suffix, raw_ostream &os)
      : kernel(kernel), target(target), plan(plan), layout(layout), dims(dims),
        words(words), suffix(std::move(suffix)), os(os) {}

  StringRef header() {
    ::hk::GatedDeltaTile tile = tileOf(kernel.getVariants().front());
    if (plan.usesWarpgroups(target, tile))
      return plan.warpgroupHeader;
    return tile.waves ? plan.matrixHeader : plan.header;
  }
  void run() {
    writeSpec();
    for (VariantOp variant : kernel.getVariants())
      writeIo(variant);
  }

private:
  static StringRef flag(bool value) { return value ? "true" : "false"; }
  static std::string dtypeOr(Type type) {
    return type ? dtypeText(type) : "DType::F32";
  }
  ::hk::GatedDeltaTile tileOf(VariantOp variant) const {
    auto whole = cast<GatedDeltaTileAttr>(variant.getTile());
    return layout.tileOf(plan, target, contractTile(whole));
  }
  StringRef templateName(const ::hk::GatedDeltaTile &tile) const {
    if (plan.usesWarpgroups(target, tile))
      return plan.warpgroupName;
    return tile.waves ? plan.matrixName : plan.templateName;
  }
  bool perValue() const {
    for (const GatedDeltaTensor &tensor : plan.reads)
      if (tensor.name == "beta")
        return tensor.access == Access::Columns;
    return false;
  }

  /// Bytes that states of segments are aligned to.
  int64_t alignSegments() {
    int64_t align = 16;
    for (Value value : {plan.starts, plan.transitions})
      if (value)
        align = std::min<int64_t>(align, kernel.getAligns()[place(value)]);
    return align;
  }
  /// The number of an operand or result of the kernel.
  unsigned place(Value value) { return placeOf(kernel, value); }

  void writeSpec() {
    double scale = plan.scale.value_or(1 / std::sqrt(double(plan.keys)));
    int64_t align = plan.state ? kernel.getAligns()[argument(plan.state)] : 1;
    bool wide = plan.indices && elementOf(plan.indices).isInteger(64);
    ::hk::GatedDeltaTile tile = tileOf(kernel.getVariants().front());
    os << "constexpr GatedDeltaSpec kSpec" << suffix << " = {\n"
       << "    .heads = " << plan.heads << ",\n"
       << "    .valueHeads = " << plan.valueHeads << ",\n"
       << "    .keys = " << plan.keys << ",\n"
       << "    .values = " << plan.values << ",\n"
       << "    .segments = " << plan.segments << ",\n"
       << "    .fresh = " << (plan.fresh ? plan.fresh : plan.values) << ",\n"
       << "    .chunk = " << plan.chunk << ",\n"
       << "    .convolved = " << flag(bool(plan.convolution)) << ",\n"
       << "    .keyVector = " << widthOf(Access::Keys, tile) << ",\n"
       << "    .scale = " << floatText(scale) << ",\n"
       << "    .hasDecay = " << flag(plan.hasOperand("decay")) << ",\n"
       << "    .sumsDecay = " << flag(plan.sums != nullptr) << ",\n"
       << "    .hasKeyDecay = " << flag(plan.hasOperand("keyDecay")) << ",\n"
       << "    .hasValueDecay = " << flag(plan.hasOperand("valueDecay"))
       << ",\n"
       << "    .hasBeta = " << flag(plan.hasOperand("beta")) << ",\n"
       << "    .betaPerValue = " << flag(perValue()) << ",\n"
       << "    .corrects = " << flag(plan.corrects) << ",\n"
       << "    .normalises = " << flag(plan.l2norm.has_value()) << ",\n"
       << "    .epsilon = " << floatText(plan.l2norm.value_or(0)) << ",\n"
       << "    .key = " << dtypeOr(plan.keyType) << ",\n"
       << "    .value = " << dtypeOr(plan.valueType) << ",\n"
       << "    .hasState = " << flag(static_cast<bool>(plan.state)) << ",\n"
       << "    .keyMajor = " << flag(plan.keyMajor) << ",\n"
       << "    .wideIndices = " << flag(wide) << ",\n"
       << "    .state = "
       << dtypeOr(plan.state ? elementOf(plan.state) : Type()) << ",\n"
       << "    .alignState = " << align << ",\n"
       << "    .alignSegments = " << alignSegments() << "};\n\n";
  }

  int64_t widthOf(Access access, const ::hk::GatedDeltaTile &tile) const {
    switch (access) {
    case Access::Scalar:
      return 1;
    case Access::Keys:
      if (tile.waves)
        return tile.columns;
      return plan.keys % 4 == 0 ? 4 : plan.keys % 2 == 0 ? 2 : 1;
    case Access::Columns:
    case Access::States:
      return tile.columns;
    case Access::Row:
      return 4;
    case Access::Head:
      return ::hk::rowVector(target, plan.values);
    }
    llvm_unreachable("every access is listed");
  }

  /// The parameters of a function of the Io struct.
  static StringRef parametersOf(Access access) {
    switch (access) {
    case Access::Scalar:
      return "const i64 b, const i64 t, const i64 head";
    case Access::States:
      return "const i64 b, const i64 t, const i64 head, const i64 k, "
             "const i64 c";
    default:
      return "const i64 b, const i64 t, const i64 head, const i64 c";
    }
  }

  /// The position of what a function reads or writes; t is a chunk of states.
  Position position(Puller &puller, Access access, int64_t width) {
    Position at;
    if (!plan.offsets)
      at.push_back(puller.symbol("b"));
    at.push_back(puller.symbol("t"));
    at.push_back(puller.symbol("head"));
    if (access == Access::Scalar)
      return at;
    if (access == Access::States)
      at.push_back(puller.symbol("k"));
    // Written as a multiple, so that accesses know their alignment.
    puller.code().line("const i64 vector = c / " + Twine(width) + ";");
    at.push_back(puller.symbol("vector") * width);
    return at;
  }

  void writeIo(VariantOp variant) {
    ::hk::GatedDeltaTile tile = tileOf(variant);
    os << "struct Io" << suffix << "_" << variant.getSymName()
       << " {\n"
          "  const u64 *words;\n";
    if (!layout.links.empty())
      os << "  u8 *lds;\n"
            "  i64 first; // token of the chunk\n";
    os << "\n";
    bool copies = layout.together || plan.usesWarpgroups(target, tile);
    for (const GatedDeltaTensor &read : plan.reads) {
      writeRead(read, int(widthOf(read.access, tile)));
      if (copies && read.access != Access::Scalar)
        writeAddress(read, "const u8", isa<BlockArgument>(read.value));
    }
    for (const GatedDeltaTensor &write : plan.writes) {
      writeWrite(write, int(widthOf(write.access, tile)));
      if (copies && write.access != Access::Scalar)
        writeAddress(write, "u8", isStoredAsIs(write.value));
    }
    os << "};\n"
       << "using Kernel" << suffix << "_" << variant.getSymName() << " = "
       << templateName(tile) << "<kSpec" << suffix << ", GatedDeltaTile{"
       << tile.threads << ", " << tile.lanes << ", " << tile.columns << ", "
       << tile.waves << "}" << (stagesTokens(variant) ? ", true" : "")
       << ">;\n\n";
  }

  /// Whether a recurrence brings operands of many tokens into LDS.
  bool stagesTokens(VariantOp variant) const {
    return plan.kernel == ::hk::GatedDeltaKernel::Recurrent &&
           !plan.wholeHeads && variant.getLdsBytes() > 0;
  }

  static std::string vectorOf(int width) {
    return CType{"float", width}.text();
  }

  void writeRead(const GatedDeltaTensor &read, int width) {
    bool scalar = read.access == Access::Scalar;
    const GatedDeltaLink *link = layout.linkOf(read.value);
    writeFunction((scalar ? "float" : vectorOf(width)) + " " + read.name.str(),
                  parametersOf(read.access), [&](Puller &puller) {
                    if (link) {
                      puller.code().line("return " + linkText(*link) + ".get<" +
                                         Twine(width) + ">(t - first, " +
                                         (scalar ? "0)[0];" : "c);"));
                      return;
                    }
                    if (plan.convolution)
                      bindConvolution(puller, kernel, words, plan.convolution);
                    Position at = position(puller, read.access, width);
                    Expr x = scalar ? puller.pullScalar(read.value, at)
                                    : puller.pull(read.value, at, width);
                    puller.code().line("return " + x.text + ";");
                  });
  }

  /// Whether a result goes to memory, once, and nothing made of it does.
  bool isStoredAsIs(Value result) {
    SmallVector<Value> stored;
    for (Value value : kernel.getSpecBlock().getTerminator()->getOperands())
      if (plan.resultOf(value) == result)
        stored.push_back(value);
    return stored.size() == 1 && stored.front() == result;
  }

  /// Where eight elements lie, if they are in memory (`there`) as the kernel
  /// wants them.
  void writeAddress(const GatedDeltaTensor &tensor, StringRef byte,
                    bool there) {
    bool plain =
        there && elementOf(tensor.value) == plan.keyType &&
        kernel.getAligns()[place(tensor.value)] % (2 * ::hk::kStagedVector) ==
            0;
    std::string type = ("Global<" + byte + ">").str();
    writeFunction((plain ? type : "NoAddress") + " " + tensor.name.str() + "At",
                  parametersOf(tensor.access), [&](Puller &puller) {
                    if (!plain)
                      return puller.code().line("return {};");
                    unsigned number = place(tensor.value);
                    std::string offset;
                    SmallVector<StringRef> at = {"b", "t", "head"};
                    if (plan.offsets)
                      at.erase(at.begin());
                    for (auto [dim, index] : llvm::enumerate(at))
                      offset += (index + " * " +
                                 words.stride(number, int64_t(dim)) + " + ")
                                    .str();
                    puller.code().line("return global<" + byte + ">(" +
                                       words.address(number) + ") + (" +
                                       offset + "c) * 2;");
                  });
  }

  void writeWrite(const GatedDeltaTensor &write, int width) {
    if (write.access == Access::Head)
      return writeFinish(os, kernel, plan, dims, width);
    std::string parameters = parametersOf(write.access).str();
    parameters += ", const " + vectorOf(width) + " x";
    const GatedDeltaLink *link = layout.linkOf(write.value);
    writeFunction("void " + write.name.str(), parameters, [&](Puller &puller) {
      if (link)
        puller.code().line(
            linkText(*link) + ".put<" + Twine(width) + ">(t - first, " +
            (write.access == Access::Scalar ? "0" : "c") + ", x);");
      store(puller, write, width);
    });
  }

  /// The link as the kernels see it.
  static std::string linkText(const GatedDeltaLink &link) {
    return "ChunkLink<" + dtypeText(elementOf(link.value)) + ", " +
           std::to_string(link.columns) + ">{lds + " +
           std::to_string(link.place) + "}";
  }

  /// Stores every value of the kernel that comes from one result.
  void store(Puller &puller, const GatedDeltaTensor &write, int width) {
    Position at = position(puller, write.access, width);
    Type type = elementOf(write.value);
    AffineExpr first = at.back();
    puller.bind(write.value, [=, &puller](ArrayRef<AffineExpr> position,
                                          int count) {
      Expr x = {"x", {"float", width}};
      if (count == width)
        return rounded(type, x);
      std::string place = puller.text(puller.simplify(position.back() - first));
      return rounded(type, splat({"float", count}, laneOf(x, place)));
    });
    Operation *yield = kernel.getSpecBlock().getTerminator();
    for (auto [index, value] : llvm::enumerate(yield->getOperands()))
      if (plan.resultOf(value) == write.value)
        puller.store(unsigned(kernel.getNumInputs() + index), at, width,
                     puller.pull(value, at, width));
  }

  void writeFunction(const std::string &head, StringRef parameters,
                     llvm::function_ref<void(Puller &)> writeBody) {
    writeMethod(os, kernel, dims, head + "(" + parameters.str() + ")",
                writeBody);
  }

  KernelOp kernel;
  const ::hk::Target &target;
  const GatedDeltaPlan &plan;
  const GatedDeltaLayout &layout;
  const DimSymbols &dims;
  const ArgumentWords &words;
  std::string suffix;
  raw_ostream &os;
};

class GatedDeltaEmitter {
public:
  GatedDeltaEmitter(KernelOp kernel, const ::hk::Target &target,
                    StringRef prefix, raw_ostream &os)
      : kernel(kernel), target(target), steps(GatedDeltaPlan::of(kernel)),
        layout(layoutOf(steps, target, contractTile(tileOf(kernel)))),
        dims(DimSymbols::ofKernel(kernel)), words(kernel), prefix(prefix),
        os(os) {}

  void run() {
    // Not every position that is named is needed in the end.
    os << "#include \"kernels/device/quant.h\"\n";
    SmallVector<StepEmitter> emitters;
    for (auto [i, step] : llvm::enumerate(steps)) {
      StepEmitter &emitter = emitters.emplace_back(
          kernel, target, step, layout, dims, words, suffixOf(i), os);
      os << "#include \"kernels/gated_delta/" << emitter.header() << ".h\"\n";
    }
    if (steps.size() > 1)
      os << "#include \"kernels/gated_delta/steps.h\"\n";
    if (layout.together)
      os << "#include \"kernels/gated_delta/prepare_warpgroup.h\"\n";
    os << "\n#pragma clang diagnostic ignored \"-Wunused-variable\"\n"
          "#pragma clang diagnostic ignored \"-Wunused-parameter\"\n\n"
          "namespace {\n"
          "using namespace hk;\n\n";
    for (StepEmitter &emitter : emitters)
      emitter.run();
    os << "} // namespace\n";
    for (VariantOp variant : kernel.getVariants())
      writeEntry(variant.getSymName());
  }

private:
  std::string suffixOf(size_t step) const {
    return steps.size() == 1 ? std::string() : std::to_string(step);
  }
  std::string size(Value value, int64_t dim) {
    return words.size(dims.shape(value)[dim]);
  }

  void writeEntry(StringRef variant) {
    const GatedDeltaPlan &plan = steps.front();
    std::string kernelName = "Kernel" + suffixOf(0) + "_" + variant.str();
    os << "\nHK_KERNEL(" << prefix << variant << ", " << words.size() << ", "
       << kernelName << "::kThreads, " << blocksPerUnit() << ", ";
    if (steps.size() == 1)
      os << kernelName << "::Shared";
    else
      os << "ChunkLds<" << layout.bytes << ">";
    os << ") {\n"
          "  using namespace hk;\n"
          "  TokenArgs tokens = {};\n";
    if (plan.kernel != ::hk::GatedDeltaKernel::Starts)
      writeTokens();
    writePool();
    if (steps.size() == 1)
      os << "  " << kernelName << "::run(tokens, pool, block, lds, Io_"
         << variant << "{words});\n}\n";
    else
      writeSteps(variant);
  }

  int32_t blocksPerUnit() const {
    if (steps.size() == 1)
      return 1;
    return layout.together ? ::hk::kPreparedBlocksPerUnit
                           : ::hk::chunkBlocksPerUnit(target);
  }

  void writeTokens() {
    const GatedDeltaPlan &plan = steps.front();
    os << "  tokens.tokens = " << size(plan.lead(), plan.offsets ? 0 : 1)
       << ";\n";
    if (plan.offsets)
      os << "  tokens.sequences = " << size(plan.offsets, 0) << " - 1;\n"
         << "  tokens.offsets = global<const i32>("
         << words.address(argument(plan.offsets)) << ");\n";
    else
      os << "  tokens.sequences = " << size(plan.lead(), 0) << ";\n";
  }

  void writePool() {
    const GatedDeltaPlan &plan = steps.front();
    os << "  StateArgs pool = {};\n";
    auto assign = [&](StringRef field, Value operand) {
      if (operand)
        os << "  pool." << field << " = " << words.address(argument(operand))
           << ";\n";
    };
    assign("state", plan.state);
    assign("indices", plan.indices);
    assign("initial", plan.initial);
    assignSegments("starts", plan.starts);
    assignSegments("transitions", plan.transitions);
    if (!plan.state)
      return;
    unsigned state = argument(plan.state);
    os << "  pool.lines = " << words.dim(state, 0) << ";\n"
       << "  pool.lineStride = " << words.stride(state, 0) << ";\n"
       << "  pool.headStride = " << words.stride(state, 1) << ";\n"
       << "  pool.rowStride = " << words.stride(state, 2) << ";\n";
  }

  void assignSegments(StringRef field, Value value) {
    if (!value)
      return;
    unsigned at = placeOf(kernel, value);
    os << "  pool." << field << " = {" << words.address(at);
    for (int64_t dim = 0; dim < 4; ++dim)
      os << ", " << words.stride(at, dim);
    os << "};\n";
  }

  /// One step after the other on the chunk of the block.
  void writeSteps(StringRef variant) {
    if (layout.together)
      openTogether(variant);
    os << "  const i64 first = " << firstToken() << ";\n";
    for (size_t i = 0; i < steps.size(); ++i) {
      std::string name = suffixOf(i) + "_" + variant.str();
      os << (i > 0 ? "  barrier();\n" : "") << "  Kernel" << name
         << "::run(tokens, pool, block, lds.as<Kernel" << name << "::Shared, "
         << layout.places[i] << ">(), Io" << name
         << "{words, lds.bytes, first});\n";
    }
    os << (layout.together ? "  });\n}\n" : "}\n");
  }

  std::string firstToken() const {
    const GatedDeltaPlan &plan = steps.front();
    return "chunkSpan(tokens, " + std::to_string(plan.chunk) + ", block.x / " +
           std::to_string(plan.valueHeads) + ").begin";
  }

  /// All steps at once, unless something on the way is not finite: then what
  /// follows.
  void openTogether(StringRef variant) {
    ::hk::GatedDeltaTile tile = contractTile(tileOf(kernel));
    auto io = [&](size_t step) {
      return ("Io" + suffixOf(step) + "_" + variant + "{words, lds.bytes, " +
              firstToken() + "}")
          .str();
    };
    os << "  using Together = ChunkPrepareWarpgroup<kSpec0, kSpec2, "
          "GatedDeltaTile{"
       << tile.threads << ", " << tile.lanes << ", " << tile.columns << ", "
       << tile.waves << "}>;\n"
       << "  Together::runOr(tokens, block, lds.as<Together::Shared, "
       << *layout.together << ">(), " << io(0) << ", " << io(2)
       << ",\n      [&](BlockId block) __attribute__((always_inline)) {\n";
  }

  KernelOp kernel;
  const ::hk::Target &target;
  SmallVector<GatedDeltaPlan, 1> steps;
  GatedDeltaLayout layout;
  DimSymbols dims;
  ArgumentWords words;
  StringRef prefix;
  raw_ostream &os;
};

} // namespace

LogicalResult mlir::hk::emitGatedDelta(KernelOp kernel,
                                       const ::hk::Target &target,
                                       StringRef prefix, raw_ostream &os) {
  GatedDeltaEmitter(kernel, target, prefix, os).run();
  return success();
}
