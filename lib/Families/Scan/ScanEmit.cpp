//===- ScanEmit.cpp - The C++ of a scan kernel ----------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An Io struct, whose two functions are written by the puller with the sum
// bound to the result of hk.cumsum, and one entry point per variant. What makes
// the input of hk.cumsum is pulled with it.
//
//===----------------------------------------------------------------------===//

#include "Emission/ArgumentWords.h"
#include "Emission/Puller.h"
#include "ScanPlan.h"

using namespace mlir;
using namespace mlir::hk;

static int64_t rankOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}
static Type elementTypeOf(Value value) {
  return cast<ShapedType>(value.getType()).getElementType();
}

namespace {

class ScanEmitter {
public:
  ScanEmitter(KernelOp kernel, StringRef prefix, raw_ostream &os)
      : kernel(kernel), op(findCumsum(kernel)),
        dims(DimSymbols::ofKernel(kernel)), words(kernel), prefix(prefix),
        os(os) {}

  void run() {
    // Not every position that is named is needed in the end.
    os << "#include \"kernels/device/quant.h\"\n"
          "#include \"kernels/scan/scan.h\"\n\n"
          "#pragma clang diagnostic ignored \"-Wunused-variable\"\n"
          "#pragma clang diagnostic ignored \"-Wunused-parameter\"\n\n"
          "namespace {\n"
          "using namespace hk;\n\n"
          "struct Io {\n"
          "  const u64 *words;\n\n";
    writeFunction(sumType() + " element", "", [&](Puller &puller) {
      Expr x = puller.pullScalar(op.getInput(), position(puller));
      puller.code().line("return " + sumType() + "(" + x.text + ");");
    });
    writeFunction("void sum", ", const " + sumType() + " s",
                  [&](Puller &puller) { writeStores(puller); });
    os << "};\n";
    for (VariantOp variant : kernel.getVariants()) {
      auto tile = cast<ScanTileAttr>(variant.getTile());
      os << "using Scan_" << variant.getSymName() << " = Scan<" << sumType()
         << ", ScanKind::" << kindText() << ", "
         << (op.getReverse() ? "true" : "false") << ", " << tile.getThreads()
         << ", " << tile.getColumns() << ", " << tile.getItems() << ">;\n";
    }
    os << "} // namespace\n";
    for (VariantOp variant : kernel.getVariants())
      writeEntry(variant.getSymName());
  }

private:
  std::string sumType() {
    Type type = elementTypeOf(op.getResult());
    return isa<FloatType>(type) ? "float" : type.isInteger(64) ? "u64" : "u32";
  }
  StringRef kindText() {
    switch (op.getKind()) {
    case ScanKind::inclusive:
      return "Inclusive";
    case ScanKind::exclusive:
      return "Exclusive";
    case ScanKind::offsets:
      return "Offsets";
    }
    llvm_unreachable("every kind is listed");
  }

  /// Adds the dims [begin, end) of the element that is number `flat` in them.
  void addDims(Puller &puller, Position &position, AffineExpr flat,
               int64_t begin, int64_t end) {
    for (int64_t dim = end - 1; dim > begin; --dim) {
      AffineExpr size = puller.sizeOf(op.getInput(), dim);
      position[dim] = flat % size;
      flat = flat.floorDiv(size);
    }
    if (begin < end)
      position[begin] = flat;
  }

  Position position(Puller &puller) {
    auto dim = static_cast<int64_t>(op.getDim());
    int64_t rank = rankOf(op.getInput());
    Position position(rank, puller.constant(0));
    addDims(puller, position, puller.symbol("line"), 0, dim);
    position[dim] = puller.symbol("at");
    addDims(puller, position, puller.symbol("column"), dim + 1, rank);
    return position;
  }

  void writeStores(Puller &puller) {
    Type type = elementTypeOf(op.getResult());
    CType carrier = carrierOf(type, 1);
    Expr sum = {"s", {"float"}};
    if (!isa<FloatType>(type))
      sum = scalarCast(carrier.element, sum);
    puller.bind(op.getResult(), [&](ArrayRef<AffineExpr>, int) {
      return rounded(type, splat(carrier, sum));
    });
    Position at = position(puller);
    Operation *yield = kernel.getSpecBlock().getTerminator();
    for (auto [index, value] : llvm::enumerate(yield->getOperands()))
      puller.store(unsigned(kernel.getNumInputs() + index), at, 1,
                   puller.pull(value, at, 1));
  }

  void writeFunction(const std::string &head, const std::string &parameter,
                     llvm::function_ref<void(Puller &)> writeBody) {
    writeMethod(os, kernel, dims,
                head + "(const i64 line, const i64 at, const i64 column" +
                    parameter + ")",
                writeBody);
  }

  std::string sizeText(Value value, int64_t dim) {
    auto type = cast<RankedTensorType>(value.getType());
    if (!type.isDynamicDim(dim))
      return std::to_string(type.getDimSize(dim));
    auto [argument, at] = argumentOfSize(kernel, dims.shape(value)[dim]);
    return words.dim(argument.getArgNumber(), at);
  }

  void writeEntry(StringRef variant) {
    auto dim = static_cast<int64_t>(op.getDim());
    std::string inner = "1";
    for (int64_t d = dim + 1; d < rankOf(op.getInput()); ++d)
      inner += " * " + sizeText(op.getInput(), d);
    os << "\nHK_KERNEL(" << prefix << variant << ", " << words.size()
       << ", Scan_" << variant << "::kThreads, 1, Scan_" << variant
       << "::Shared) {\n"
       << "  using namespace hk;\n"
          "  ScanArgs args = {};\n"
       << "  args.length = " << sizeText(op.getInput(), dim) << ";\n"
       << "  args.inner = " << inner << ";\n"
       << "  args.chunk = " << int64_t(op.getChunk().value_or(0)) << ";\n";
    if (Value bounds = op.getBounds()) {
      unsigned operand = cast<BlockArgument>(bounds).getArgNumber();
      os << "  args.bounds = global<const i32>(" << words.address(operand)
         << ");\n"
         << "  args.sequences = " << sizeText(bounds, 0) << " - 1;\n"
         << "  args.sequences = args.sequences < 0 ? 0 : args.sequences;\n";
    }
    os << "  Scan_" << variant << "::run(args, block, lds, Io{words});\n}\n";
  }

  KernelOp kernel;
  CumsumOp op;
  DimSymbols dims;
  ArgumentWords words;
  StringRef prefix;
  raw_ostream &os;
};

} // namespace

LogicalResult mlir::hk::emitScan(KernelOp kernel, StringRef prefix,
                                 raw_ostream &os) {
  ScanEmitter(kernel, prefix, os).run();
  return success();
}
