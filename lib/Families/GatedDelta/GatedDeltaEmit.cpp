//===- GatedDeltaEmit.cpp - The C++ of a gated delta rule kernel ----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An Io struct per variant with a function for everything that the template
// reads or writes, by the names of the plan. The puller writes their bodies:
// elementwise operators that make an operand, and those that follow a result.
//
//===----------------------------------------------------------------------===//

#include "GatedDeltaHeadsEmit.h"

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

namespace {

class GatedDeltaEmitter {
public:
  GatedDeltaEmitter(KernelOp kernel, const ::hk::Target &target,
                    StringRef prefix, raw_ostream &os)
      : kernel(kernel), target(target), plan(*GatedDeltaPlan::of(kernel)),
        dims(DimSymbols::ofKernel(kernel)), words(kernel), prefix(prefix),
        os(os) {}

  void run() {
    // Not every position that is named is needed in the end.
    os << "#include \"kernels/device/quant.h\"\n"
       << "#include \"kernels/gated_delta/"
       << (tileOf().getWaves() ? plan.matrixHeader : plan.header) << ".h\"\n\n"
       << "#pragma clang diagnostic ignored \"-Wunused-variable\"\n"
          "#pragma clang diagnostic ignored \"-Wunused-parameter\"\n\n"
          "namespace {\n"
          "using namespace hk;\n\n";
    writeSpec();
    for (VariantOp variant : kernel.getVariants())
      writeIo(variant);
    os << "} // namespace\n";
    for (VariantOp variant : kernel.getVariants())
      writeEntry(variant.getSymName());
  }

private:
  static StringRef flag(bool value) { return value ? "true" : "false"; }
  static std::string dtypeOr(Type type) {
    return type ? dtypeText(type) : "DType::F32";
  }
  /// The tile of the only variant.
  GatedDeltaTileAttr tileOf() {
    return cast<GatedDeltaTileAttr>(kernel.getVariants().front().getTile());
  }
  bool perValue() const {
    for (const GatedDeltaTensor &tensor : plan.reads)
      if (tensor.name == "beta")
        return tensor.access == Access::Columns;
    return false;
  }

  void writeSpec() {
    double scale = plan.scale.value_or(1 / std::sqrt(double(plan.keys)));
    int64_t align = plan.state ? kernel.getAligns()[argument(plan.state)] : 1;
    bool wide = plan.indices && elementOf(plan.indices).isInteger(64);
    os << "constexpr GatedDeltaSpec kSpec = {\n"
       << "    .heads = " << plan.heads << ",\n"
       << "    .valueHeads = " << plan.valueHeads << ",\n"
       << "    .keys = " << plan.keys << ",\n"
       << "    .values = " << plan.values << ",\n"
       << "    .chunk = " << plan.chunk << ",\n"
       << "    .convolved = " << flag(bool(plan.convolution)) << ",\n"
       << "    .keyVector = " << widthOf(Access::Keys, tileOf()) << ",\n"
       << "    .scale = " << floatText(scale) << ",\n"
       << "    .hasDecay = " << flag(plan.hasOperand("decay")) << ",\n"
       << "    .sumsDecay = " << flag(plan.sums != nullptr) << ",\n"
       << "    .hasKeyDecay = " << flag(plan.hasOperand("keyDecay")) << ",\n"
       << "    .hasValueDecay = " << flag(plan.hasOperand("valueDecay"))
       << ",\n"
       << "    .hasBeta = " << flag(plan.hasOperand("beta")) << ",\n"
       << "    .betaPerValue = " << flag(perValue()) << ",\n"
       << "    .normalises = " << flag(plan.l2norm.has_value()) << ",\n"
       << "    .epsilon = " << floatText(plan.l2norm.value_or(0)) << ",\n"
       << "    .key = " << dtypeOr(plan.keyType) << ",\n"
       << "    .value = " << dtypeOr(plan.valueType) << ",\n"
       << "    .hasState = " << flag(static_cast<bool>(plan.state)) << ",\n"
       << "    .keyMajor = " << flag(plan.keyMajor) << ",\n"
       << "    .wideIndices = " << flag(wide) << ",\n"
       << "    .state = "
       << dtypeOr(plan.state ? elementOf(plan.state) : Type()) << ",\n"
       << "    .alignState = " << align << "};\n\n";
  }

  int64_t widthOf(Access access, GatedDeltaTileAttr tile) const {
    switch (access) {
    case Access::Scalar:
      return 1;
    case Access::Keys:
      if (tile.getWaves())
        return tile.getColumns();
      return plan.keys % 4 == 0 ? 4 : plan.keys % 2 == 0 ? 2 : 1;
    case Access::Columns:
    case Access::States:
      return tile.getColumns();
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
    auto tile = cast<GatedDeltaTileAttr>(variant.getTile());
    os << "struct Io_" << variant.getSymName()
       << " {\n"
          "  const u64 *words;\n\n";
    for (const GatedDeltaTensor &read : plan.reads) {
      int64_t width = widthOf(read.access, tile);
      bool scalar = read.access == Access::Scalar;
      std::string type =
          scalar ? "float"
                 : vecText(Float32Type::get(kernel.getContext()), width);
      writeFunction(
          type + " " + read.name.str(), parametersOf(read.access),
          [&](Puller &puller) {
            if (plan.convolution)
              bindConvolution(puller, kernel, words, plan.convolution);
            Position at = position(puller, read.access, width);
            std::string x = scalar ? puller.pullScalar(read.value, at)
                                   : puller.pull(read.value, at, width);
            puller.code().line("return " + x + ";");
          });
    }
    for (const GatedDeltaTensor &write : plan.writes) {
      int64_t width = widthOf(write.access, tile);
      if (write.access == Access::Head) {
        writeFinish(os, kernel, plan, dims, int(width));
        continue;
      }
      std::string parameters = parametersOf(write.access).str();
      parameters += ", const " +
                    vecText(Float32Type::get(kernel.getContext()), width) +
                    " x";
      writeFunction("void " + write.name.str(), parameters,
                    [&](Puller &puller) { store(puller, write, width); });
    }
    os << "};\n"
       << "using Kernel_" << variant.getSymName() << " = "
       << (tile.getWaves() ? plan.matrixName : plan.templateName)
       << "<kSpec, GatedDeltaTile{" << tile.getThreads() << ", "
       << tile.getLanes() << ", " << tile.getColumns() << ", "
       << tile.getWaves() << "}>;\n\n";
  }

  /// Stores every value of the kernel that comes from one result.
  void store(Puller &puller, const GatedDeltaTensor &write, int64_t width) {
    Position at = position(puller, write.access, width);
    Type type = elementOf(write.value);
    AffineExpr first = at.back();
    puller.bind(write.value, [=, &puller](ArrayRef<AffineExpr> position,
                                          int count) {
      if (count == width)
        return roundText(type, count, "x");
      std::string place = puller.text(puller.simplify(position.back() - first));
      return roundText(type, count,
                       vecText(type, count) + "(x[" + place + "])");
    });
    Operation *yield = kernel.getSpecBlock().getTerminator();
    for (auto [index, value] : llvm::enumerate(yield->getOperands()))
      if (plan.resultOf(value) == write.value)
        puller.store(unsigned(kernel.getNumInputs() + index), at, int(width),
                     puller.pull(value, at, int(width)));
  }

  void writeFunction(const std::string &head, StringRef parameters,
                     llvm::function_ref<void(Puller &)> writeBody) {
    writeMethod(os, kernel, dims, head + "(" + parameters.str() + ")",
                writeBody);
  }

  std::string size(Value value, int64_t dim) {
    return words.size(dims.shape(value)[dim]);
  }

  void writeEntry(StringRef variant) {
    os << "\nHK_KERNEL(" << prefix << variant << ", " << words.size()
       << ", Kernel_" << variant << "::kThreads, 1, Kernel_" << variant
       << "::Shared) {\n"
       << "  using namespace hk;\n"
          "  TokenArgs tokens = {};\n"
       << "  tokens.tokens = " << size(plan.lead(), plan.offsets ? 0 : 1)
       << ";\n";
    if (plan.offsets)
      os << "  tokens.sequences = " << size(plan.offsets, 0) << " - 1;\n"
         << "  tokens.offsets = global<const i32>("
         << words.address(argument(plan.offsets)) << ");\n";
    else
      os << "  tokens.sequences = " << size(plan.lead(), 0) << ";\n";
    os << "  StateArgs pool = {};\n";
    auto assign = [&](StringRef field, Value operand) {
      if (operand)
        os << "  pool." << field << " = " << words.address(argument(operand))
           << ";\n";
    };
    assign("state", plan.state);
    assign("indices", plan.indices);
    assign("initial", plan.initial);
    if (plan.state) {
      unsigned state = argument(plan.state);
      os << "  pool.lines = " << words.dim(state, 0) << ";\n"
         << "  pool.lineStride = " << words.stride(state, 0) << ";\n"
         << "  pool.headStride = " << words.stride(state, 1) << ";\n"
         << "  pool.rowStride = " << words.stride(state, 2) << ";\n";
    }
    os << "  Kernel_" << variant << "::run(tokens, pool, block, lds, Io_"
       << variant << "{words});\n}\n";
  }

  KernelOp kernel;
  const ::hk::Target &target;
  GatedDeltaPlan plan;
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
