//===- GemmEmit.cpp - The C++ of a matrix product kernel ------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One GemmProblem, epilogue struct and entry point per variant. The epilogue's
// text comes from the puller, with the accumulator bound to the product's
// result; it is written for whole vectors and, for the right edge, for single
// columns.
//
//===----------------------------------------------------------------------===//

#include "../EpilogueMethod.h"
#include "AskAhead.h"
#include "Emission/ArgumentWords.h"
#include "EpiloguePuller.h"
#include "GemmLoops.h"
#include "PlaceStores.h"

#include "hk/Analysis/Alignment.h"
#include "hk/Contract/Exchange.h"

#include <numeric>

using namespace mlir;
using namespace mlir::hk;

static unsigned argument(Value value) {
  return cast<BlockArgument>(value).getArgNumber();
}
static double limitOf(QuantizeOp op) {
  if (op.getLimit())
    return op.getLimit()->convertToDouble();
  double largest =
      ::hk::info(*dtypeOf(elementTypeOf(op.getQuantized()))).maxFinite;
  return largest != 0 ? largest : 127; // i8
}

namespace {

class GemmEmitter {
public:
  GemmEmitter(KernelOp kernel, const ::hk::Target &target, StringRef prefix,
              raw_ostream &os)
      : kernel(kernel), target(target), prefix(prefix), os(os),
        gemm(describeGemm(kernel)), dims(DimSymbols::ofKernel(kernel)),
        words(kernel), places(gemm.matmul, dims) {
    // Views were accepted by fusion. Behind one without a place, values would
    // be stored elsewhere.
    for (Operation &op : kernel.getSpecBlock().without_terminator())
      if (!places.add(&op).accepted() && isView(&op))
        llvm::reportFatalInternalError(
            "hk: the kernel of a product does not know the place of " +
            op.getName().getStringRef());
  }

  void run() {
    os << "#include \"kernels/device/math.h\"\n"
          "#include \"kernels/device/quant.h\"\n"
          "#include \"kernels/gemm/gemm.h\"\n";
    if (gemm.grouped())
      os << "#include \"kernels/gemm/grouped.h\"\n";
    auto hasLoop = [&](GemmLoop loop) {
      return llvm::any_of(kernel.getVariants(), [&](VariantOp variant) {
        return tileOf(variant).getLoop() == loop;
      });
    };
    // gemm.h has that of blocks, too.
    for (const GemmLoopText &text : kGemmLoopTexts)
      if (text.loop != GemmLoop::blocks && hasLoop(text.loop))
        os << "#include \"kernels/gemm/" << text.headerOf(gemm.grouped())
           << "\"\n";
    os << "\n"
          "namespace {\n"
          "using namespace hk;\n\n";
    writeEpilogue();
    writeBoxes();
    auto variants = kernel.getVariants();
    for (VariantOp variant : variants)
      writeProblem(variant);
    os << "} // namespace\n";
    for (VariantOp variant : variants)
      writeEntry(variant);
  }

private:
  ProductOpInterface matmul() { return gemm.matmul; }
  static GemmTileAttr tileOf(VariantOp variant) {
    return cast<GemmTileAttr>(variant.getTile());
  }
  static bool isBlocks(VariantOp variant) {
    return textOf(tileOf(variant).getLoop()).isBlocks;
  }
  static bool isGroupedSkinny(VariantOp variant) {
    return ::hk::isGroupedSkinny(podOf(tileOf(variant)));
  }
  static bool isGroupedStaged(VariantOp variant) {
    return ::hk::isGroupedStaged(podOf(tileOf(variant)));
  }
  /// Whether tensor maps describe its operands.
  bool isMapped(VariantOp variant) {
    return mapsOperands(kernel, tileOf(variant));
  }

  /// Columns the epilogue handles at a time.
  int vectorWidth() {
    int64_t n = productColumns();
    if (gemm.best) // its columns are whole vectors
      return int(wholeVector(target));
    if (target.arch == ::hk::Arch::Host)
      return int(
          std::gcd(std::gcd(places.divisor(), places.needsVectors() ? n : 0),
                   int64_t(16)));
    if (gemm.quantize)
      return int(wholeVector(target));
    if (ShapedType::isDynamic(n))
      return int(std::gcd(places.divisor(), int64_t(8)));
    if (gemm.gated)
      n /= 2;
    n = std::gcd(n, places.divisor());
    // Fewer where a row is no multiple of eight: neighbouring lanes then touch
    // neighbouring elements.
    return int(std::gcd(n, int64_t(8)));
  }

  int64_t productColumns() {
    return cast<ShapedType>(matmul().getResult().getType()).getShape().back();
  }

  /// The body of Epilogue::apply: pulls and stores every result.
  std::string applyBody(int vec, bool zeros = false) {
    CodeWriter out;
    // Matching made sure that all columns come in vectors.
    if (vec == 1 && places.needsVectors())
      return "";
    EpiloguePuller puller(kernel, dims, out, gemm, vec, zeros);
    Operation *yield = kernel.getSpecBlock().getTerminator();
    for (auto [index, value] : llvm::enumerate(yield->getOperands())) {
      unsigned operand = unsigned(kernel.getNumInputs() + index);
      if (isBehindBest(value))
        continue;
      bool isScale = gemm.quantize && value == gemm.quantize->getResult(1);
      if (isScale) {
        std::string group = std::to_string(gemm.quantizedGroup());
        out.openIf("col % " + group + " == 0");
        Position at = puller.here(
            puller.defineIndex(out.depth(), "g", "col / " + Twine(group)));
        puller.store(operand, at, 1, puller.pull(value, at, 1));
        out.close();
        continue;
      }
      if (!gemm.gated && !places.isWhole(value)) {
        PlaceStores(puller, places, puller.here(puller.columns()),
                    productColumns(), vec)
            .store(operand, value);
        continue;
      }
      // Matching made sure that all columns come in vectors.
      if (vec == 1 && gemm.quantize && value == gemm.quantize->getResult(0) &&
          isa<Float4E2M1FNType>(elementTypeOf(value)))
        continue;
      Position at = puller.here(puller.columns());
      if (::hk::roundsWhereItStores(target))
        puller.storeUnrounded(operand, value, at, vec);
      else
        puller.store(operand, at, vec, puller.pull(value, at, vec));
    }
    return out.str().str();
  }

  bool isBehindBest(Value value) {
    return gemm.isBehindBest(value, [](Operation *) { return true; });
  }

  /// The body of Epilogue::key.
  std::string keyBody(int vec) {
    CodeWriter out;
    EpiloguePuller puller(kernel, dims, out, gemm, vec);
    Expr score =
        puller.pull(gemm.best.getInput(), puller.here(puller.columns()), vec);
    out.line("return bestKey<" + tiesText(gemm.best) + ", " + Twine(vec) +
             ">(" + score.text + ", col);");
    return out.str().str();
  }

  /// The body of Epilogue::applyBest: stores what follows from the best column.
  std::string bestBody() {
    CodeWriter out;
    out.line("[[maybe_unused]] const i64 col = 0;");
    EpiloguePuller puller(kernel, dims, out, gemm, /*vec=*/1);
    puller.bindBest(gemm.best);
    Operation *yield = kernel.getSpecBlock().getTerminator();
    for (auto [index, value] : llvm::enumerate(yield->getOperands()))
      if (isBehindBest(value))
        for (int64_t c = 0; c < tensorType(value).getShape().back(); ++c) {
          Position at =
              puller.here(getAffineConstantExpr(c, kernel.getContext()));
          puller.store(unsigned(kernel.getNumInputs() + index), at, 1,
                       puller.pull(value, at, 1));
        }
    return out.str().str();
  }

  /// The body of Epilogue::stat: the largest magnitude to be quantised.
  std::string statBody(int vec, bool zeros = false) {
    CodeWriter out;
    EpiloguePuller puller(kernel, dims, out, gemm, vec, zeros);
    Expr term = puller.statisticTerm(
        gemm.quantize, gemm.quantize->getOperand(0), RowReduction::AbsMaximum,
        puller.here(puller.columns()), vec);
    out.line("return " + reduced("Max", term).text + ";");
    return out.str().str();
  }

  /// Whether rows of the result may have no product.
  bool storesZeros() { return gemm.grouped() && !gemm.groupsK(); }
  void writeIndented(StringRef body) { writeEpilogueBody(body, os); }

  /// A method of the epilogue for vectors of V columns.
  void writeMethod(StringRef result, StringRef name, StringRef condition,
                   StringRef body) {
    writeEpilogueMethod(result, name, condition, body, os);
  }

  /// A struct of rows with a product, and, if there are any, of those without.
  void writeOrZeros(StringRef name,
                    llvm::function_ref<void(bool zeros)> write) {
    auto one = [&](const Twine &own, bool zeros) {
      os << "struct " << own << " {\n";
      write(zeros);
      os << "};\n\n";
    };
    if (!storesZeros())
      return one(name, false);
    one(name + "OfProduct", false);
    one(name + "OfZeros", true);
    os << "using " << name << " = OrZeros<" << name << "OfProduct, " << name
       << "OfZeros>;\n\n";
  }

  /// The members of an epilogue that chooses a column (gemm/best.h).
  void writeBest(int vec) {
    os << "  static constexpr bool kSelects = true;\n";
    writeMethod("u64", "key", "V != 1", keyBody(vec));
    os << "  HK_MEM void applyBest([[maybe_unused]] i64 batch, "
          "[[maybe_unused]] i64 row,\n      u64 best) const {\n";
    writeIndented(bestBody());
    os << "  }\n";
  }

  void writeEpilogue() {
    int vec = vectorWidth();
    writeOrZeros("Epilogue", [&](bool zeros) {
      os << "  static constexpr int kVec = " << vec
         << ", kGroup = " << gemm.columnsTogether()
         << ";\n  const u64 *words;\n\n";
      if (gemm.best)
        writeBest(vec);
      for (auto [width, condition] :
           {std::pair(1, "V == 1"), {vec, "V != 1"}}) {
        if (gemm.quantize)
          writeMethod("float", "stat", condition, statBody(width, zeros));
        writeMethod("void", "apply", condition, applyBody(width, zeros));
      }
    });
  }

  void writeOperand(const GemmOperand &operand) {
    int64_t rows = kernel.getAligns()[argument(operand.data)];
    os << "Operand<" << dtypeText(elementTypeOf(operand.data)) << ", "
       << (operand.isKContiguous() ? "true" : "false") << ", "
       << operandAlignment(operand, rows) << decoderText(operand)
       << (operand.gathered     ? ", true"
           : operand.alternates ? ", false, 2"
                                : "")
       << ">";
  }

  static std::string decoderText(const GemmOperand &operand) {
    std::string text;
    llvm::raw_string_ostream os(text);
    if (auto quantize = dyn_cast_or_null<QuantizeMxOp>(operand.decoder))
      os << ", MxQuantized<"
         << dtypeText(elementTypeOf(quantize.getQuantized())) << ", "
         << mxRoundingText(quantize.getRounding()) << ">";
    else if (auto quantize = dyn_cast_or_null<QuantizeOp>(operand.decoder))
      os << ", GroupQuantized<"
         << dtypeText(elementTypeOf(quantize.getQuantized())) << ", "
         << floatText(limitOf(quantize)) << ", "
         << floatText(quantize.getAmaxFloor().convertToDouble()) << ", "
         << (quantize.getPowerOfTwo() ? "true" : "false") << ">";
    else if (operand.scale)
      os << (operand.zeroPoint
                 ? ", Affine<" + dtypeText(elementTypeOf(operand.zeroPoint)) +
                       ", "
             : operand.fixedZero
                 ? ", Shifted<" + floatText(*operand.fixedZero) + ", "
                 : ", Scaled<")
         << dtypeText(elementTypeOf(operand.scale)) << ", "
         << (operand.scaleRow ? operand.rowBlock : 0) << ", "
         << (operand.scaleK ? operand.kBlock : 0) << ", "
         << dtypeText(operand.result) << (operand.offset ? ", true>" : ">");
    else if (operand.gathered || operand.alternates)
      os << ", AsStored";
    return text;
  }

  StringRef kScaleText() {
    bool lhs = gemm.scaleUse(GemmSide::Lhs) == ScaleUse::AlongK;
    bool rhs = gemm.scaleUse(GemmSide::Rhs) == ScaleUse::AlongK;
    return lhs && rhs ? "Both" : lhs ? "A" : rhs ? "B" : "None";
  }

  void writeProblem(VariantOp variant) {
    GemmTileAttr tile = tileOf(variant);
    os << "using Product_" << variant.getSymName() << " = "
       << (gemm.groupsK()                      ? "GroupedDepth"
           : !gemm.grouped()                   ? textOf(tile.getLoop()).name
           : isBlocks(variant)                 ? "GroupedGemm"
           : ::hk::isSwappedCodes(podOf(tile)) ? "SwappedCodes"
           : ::hk::isSwappedWide(podOf(tile))  ? "SwappedWide"
           : ::hk::isSwapped(podOf(tile))      ? "SwappedGroups"
           : isGroupedSkinny(variant)          ? "GroupedSkinny"
           : isGroupedStaged(variant)          ? "GroupedStaged"
           : isMapped(variant)                 ? "GroupedWarpSpecialised"
                                               : "GroupedSkinnyCodes")
       << "<GemmProblem<\n    ";
    writeOperand(gemm.operand(GemmSide::Lhs));
    os << ",\n    ";
    writeOperand(gemm.operand(GemmSide::Rhs));
    os << ",\n    " << (gemm.gated ? "true" : "false")
       << ", KScale::" << kScaleText() << ", " << tile.getBm() << ", "
       << tile.getBn() << ", " << tile.getBk() << ", " << tile.getWm() << ", "
       << tile.getWn() << ", " << tile.getStages() << ", " << tile.getSplitK()
       << ">";
    if (gemm.grouped()) {
      os << ", " << groupProblemText(gemm.grouped());
      if (isBlocks(variant) && !gemm.groupsK())
        os << ", " << textOf(tile.getLoop()).name;
      if (isMapped(variant) && !::hk::isSwappedCodes(podOf(tile)) &&
          !isGroupedStaged(variant))
        os << ", " << tile.getCluster();
      if (isGroupedSkinny(variant) || isGroupedStaged(variant) ||
          podOf(tile).loop == ::hk::GemmLoop::SkinnyCodes)
        os << (boundsAreOld(kernel, gemm.grouped()) ? ", true" : ", false");
    } else if (!isBlocks(variant)) {
      os << ", " << tile.getCluster();
    }
    if (isMapped(variant) && !gemm.grouped() &&
        tile.getLoop() != GemmLoop::streamed_codes)
      os << ", " << (rankOf(matmul().getRhs()) == 2 ? "true" : "false");
    os << ">;\n";
  }

  static std::string groupProblemText(GroupedMatmulOp op) {
    StringRef form = op.isBlocks()                       ? "Blocks"
                     : op.getForm() == GroupForm::bounds ? "Bounds"
                                                         : "Lengths";
    return ("GroupProblem<GroupForm::" + form + ", " +
            (op.gathers() ? "true" : "false") + ", " +
            Twine(op.getBlock().value_or(1)) + ", " +
            Twine(uint64_t(op.getTopK())) + ">")
        .str();
  }

  /// Matrices lie as far apart as the indices of dim `dim` of three.
  std::string groupStride(Value operand, int64_t dim = 0) {
    return operand && rankOf(operand) == 3
               ? words.stride(argument(operand), dim)
               : "0";
  }

  void writeGroups(GroupedMatmulOp op) {
    GemmOperand a = gemm.operand(GemmSide::Lhs);
    GemmOperand b = gemm.operand(GemmSide::Rhs);
    Value order = op.getOrder();
    bool folds = gemm.scaleUse(GemmSide::Rhs) == ScaleUse::AlongK;
    os << "  GroupArgs groups = {};\n"
       << "  groups.groups = " << words.address(argument(op.getGroups()))
       << ";\n";
    if (order)
      os << "  groups.order = " << words.address(argument(order)) << ";\n";
    os << "  groups.blocks = " << words.dim(argument(op.getGroups()), 0)
       << ";\n  groups.count = ";
    if (op.getAlongK())
      os << op.getNumGroups();
    else
      os << words.dim(argument(b.data), b.memoryDim(0));
    os << ";\n  groups.places = "
       << (order ? words.dim(argument(order), 0)
                 : words.dim(argument(a.data), op.getAlongK() ? a.k : a.row))
       << ";\n  groups.stride = " << groupStride(b.data, b.memoryDim(0))
       << ";\n  groups.strideDecode = " << groupStride(b.scale)
       << ";\n  groups.strideZeros = " << groupStride(b.zeroPoint)
       << ";\n  groups.strideFold = "
       << groupStride(folds ? op.getRhsScale() : Value()) << ";\n";
  }

  /// The address of the batch's matrix; `side` where `operand` is its data.
  std::string baseOf(Value operand, const GemmOperand *side = nullptr) {
    int64_t bits = ::hk::info(*dtypeOf(elementTypeOf(operand))).bits;
    ArrayRef<int64_t> shape = cast<ShapedType>(operand.getType()).getShape();
    std::string offset;
    GemmDims layout = gemmDims(matmul());
    if (shape.size() > 2)
      for (auto [index, batch] : llvm::enumerate(layout.batch))
        if (int64_t dim = side ? side->memoryDim(batch) : batch;
            shape[dim] != 1)
          offset += (offset.empty() ? "" : " + ") + ("b" + Twine(index)).str() +
                    " * " + words.stride(argument(operand), dim);
    if (offset.empty())
      return words.address(argument(operand));
    std::string bytes = bits < 8
                            ? "(" + offset + ") / " + std::to_string(8 / bits)
                            : std::to_string(bits / 8) + " * (" + offset + ")";
    return words.address(argument(operand)) + " + u64(" + bytes + ")";
  }

  /// The stride of `dim`, 1 of the last one; 0 without a dim.
  std::string strideText(Value operand, std::optional<int64_t> dim) {
    if (!dim)
      return "0";
    if (*dim == rankOf(operand) - 1)
      return "1";
    return words.stride(argument(operand), *dim);
  }

  void writeScales(StringRef field, Value scale, std::optional<int64_t> row,
                   std::optional<int64_t> k) {
    os << "  args." << field << " = {" << baseOf(scale) << ", "
       << strideText(scale, row) << ", " << strideText(scale, k) << "};\n";
  }

  void writeOperandArgs(StringRef name, const GemmOperand &operand) {
    os << "  args." << name << ".data = " << baseOf(operand.data, &operand)
       << ";\n"
       << "  args." << name << ".stride = "
       << words.stride(argument(operand.data),
                       operand.isKContiguous() ? operand.row : operand.k)
       << ";\n";
    if (operand.scale)
      writeScales((name + ".decode").str(), operand.scale, operand.scaleRow,
                  operand.scaleK);
    if (operand.zeroPoint)
      writeZeroPoint(name, operand);
  }

  /// One for all has no strides.
  void writeZeroPoint(StringRef name, const GemmOperand &operand) {
    bool many = cast<ShapedType>(operand.zeroPoint.getType()).getShape() ==
                cast<ShapedType>(operand.scale.getType()).getShape();
    auto dim = [&](std::optional<int64_t> dim) {
      return many ? dim : std::nullopt;
    };
    writeScales((name + ".zeros").str(), operand.zeroPoint,
                dim(operand.scaleRow), dim(operand.scaleK));
  }

  /// The scales of the partial sums along k, unless the kernel makes them.
  void writeFold(StringRef name, const GemmOperand &operand, GemmSide side) {
    if (gemm.scaleUse(side) != ScaleUse::AlongK ||
        isa_and_nonnull<QuantizeOp>(operand.decoder))
      return;
    Value productScale =
        side == GemmSide::Lhs ? matmul().getLhsScale() : matmul().getRhsScale();
    writeScales((name + ".fold").str(), productScale,
                gemm.scaleRowDim(operand, productScale),
                rankOf(productScale) - 1);
  }

  /// Opens what the block does with its matrix of a batch that may have more
  /// than a grid's z.
  void openMatrix(StringRef product, int64_t slices) {
    GemmOperand a = gemm.operand(GemmSide::Lhs);
    os << "  runOfMatrix(block, (" << words.dim(argument(a.data), a.row)
       << " + " << product << "::T.bm - 1) / " << product << "::T.bm, "
       << slices;
    for (int64_t dim : gemmDims(matmul()).batch)
      os << " * " << words.dim(argument(a.data), a.memoryDim(dim));
    os << ", [&](BlockId block) __attribute__((always_inline)) {\n";
  }

  void writeEntry(VariantOp variant) {
    std::string product = ("Product_" + variant.getSymName()).str();
    bool blocks = isBlocks(variant), mapped = isMapped(variant);
    // A loop of its own waits itself for the kernel before.
    StringRef macro = mapped   ? "HK_MAPPED_KERNEL"
                      : blocks ? entryMacro(kernel)
                               : "HK_EARLY_KERNEL";
    bool sends = sendsBoxes(kernel, tileOf(variant));
    os << "\n"
       << macro << "(" << prefix << variant.getSymName() << ", "
       << words.size() + (sends ? int64_t(::hk::kSendWords) : 0) << ", ";
    if (mapped)
      os << gemmTensorMaps(kernel, tileOf(variant)).size() << ", ";
    os << product << "::kThreads, ";
    if (isGroupedSkinny(variant))
      os << product << "::kBlocks, ";
    else if (!mapped)
      os << "1, ";
    os << product << "::Shared) {\n"
       << "  using namespace hk;\n";
    bool batched = blocks && !gemm.grouped();
    bool exceeds = batched && gemm.mayExceedGrid(tileOf(variant).getSplitK());
    if (exceeds)
      openMatrix(product, tileOf(variant).getSplitK());
    if (batched)
      writeBatchIndices();
    GemmOperand a = gemm.operand(GemmSide::Lhs);
    // Codes come by a map, their scales do not.
    writeArguments(/*addressA=*/!mapped || a.gathered ||
                       isGroupedStaged(variant),
                   /*addressB=*/!mapped || gemm.operand(GemmSide::Rhs).scale);
    if (gemm.grouped())
      writeGroups(gemm.grouped());
    os << "  " << product << "::run(args, "
       << (gemm.grouped() ? "groups, " : "") << (mapped ? "maps, " : "")
       << "block, lds, "
       << (mapped ? mappedEpilogue(variant) : "Epilogue{words}") << ");\n"
       << (exceeds ? "  });\n}\n" : "}\n");
  }

  std::string mappedEpilogue(VariantOp variant) {
    auto result = unsigned(kernel.getNumInputs());
    if (sendsBoxes(kernel, tileOf(variant))) {
      auto rows = [&](unsigned operand) {
        return "{" + words.address(operand) + ", " + words.stride(operand, 0) +
               "}";
      };
      return "SentResults(" + boxesText(variant) + ", " + rows(result) + ", " +
             (kernel->hasAttr(kAddsAttrName) ? rows(result - 1) : "{}") +
             ", words + " + std::to_string(words.size()) + ")";
    }
    return boxesText(variant);
  }
  std::string boxesText(VariantOp variant) {
    if (!storesBoxes(kernel, tileOf(variant)))
      return "Epilogue{words}";
    if (onlyRounds(kernel) && !gemm.grouped())
      return ("StoreRounded<" + boxElement() + ">{}").str();
    return "Boxes{words}";
  }
  Value firstResult() {
    return kernel.getSpecBlock().getTerminator()->getOperand(0);
  }
  static StringRef elementText(Value value) {
    return elementTypeOf(value).isBF16() ? "bf16" : "f16";
  }
  StringRef boxElement() { return elementText(firstResult()); }

  /// The body of Boxes::two or Boxes::one: columns of the result.
  std::string columnsBody(int vec, bool zeros) {
    CodeWriter out;
    EpiloguePuller puller(kernel, dims, out, gemm, vec, zeros);
    if (BlockArgument read = matrixInBoxes(kernel))
      puller.bind(read, [](ArrayRef<AffineExpr>, int) {
        return Expr{"in.read", {"float", 2}};
      });
    Expr value = puller.pull(firstResult(), puller.here(puller.columns()), vec);
    out.line("return " + value.text + ";");
    return out.str().str();
  }
  /// That of Boxes::storeEight.
  std::string storeEightBody() {
    CodeWriter out;
    EpiloguePuller puller(kernel, dims, out, gemm, /*vec=*/8);
    puller.storeBits(unsigned(kernel.getNumInputs()),
                     puller.here(puller.columns()), 8, "elements");
    return out.str().str();
  }

  /// The epilogue of variants whose results are rounded where the sums are, if
  /// any.
  void writeBoxes() {
    bool any = llvm::any_of(kernel.getVariants(), [&](VariantOp variant) {
      return storesBoxes(kernel, tileOf(variant));
    });
    if (!any || (onlyRounds(kernel) && !gemm.grouped()))
      return;
    writeOrZeros("Boxes", [&](bool zeros) {
      os << "  using BoxElement = " << boxElement() << ";\n";
      if (BlockArgument read = matrixInBoxes(kernel))
        os << "  using ReadElement = " << elementText(read) << ";\n";
      os << "  const u64 *words;\n\n"
            "  template <class In>\n"
            "  HK_MEM Vec<float, 2> two([[maybe_unused]] i64 batch, "
            "[[maybe_unused]] i64 row,\n      [[maybe_unused]] i64 col, "
            "[[maybe_unused]] const In &in) const {\n";
      writeIndented(columnsBody(/*vec=*/2, zeros));
      os << "  }\n";
      if (!gemm.grouped())
        return;
      os << "  template <class In>\n"
            "  HK_MEM Vec<float, 1> one([[maybe_unused]] i64 batch, "
            "[[maybe_unused]] i64 row,\n      [[maybe_unused]] i64 col, "
            "[[maybe_unused]] const In &in) const {\n";
      writeIndented(columnsBody(/*vec=*/1, zeros));
      os << "  }\n";
      os << "  HK_MEM void storeEight([[maybe_unused]] i64 row, "
            "[[maybe_unused]] i64 col,\n      const u32x4 &elements) const {\n";
      writeIndented(storeEightBody());
      os << "  }\n";
    });
  }

  /// The batch that block.z stands for.
  void writeBatchIndices() {
    GemmDims layout = gemmDims(matmul());
    GemmOperand a = gemm.operand(GemmSide::Lhs);
    bool sliced = matmul().getNumSliceDims() != 0;
    os << "  [[maybe_unused]] i64 rest = block.z;\n";
    for (int64_t i = int64_t(layout.batch.size()) - 1; i >= 0; --i) {
      os << "  [[maybe_unused]] const i64 b" << i << " = ";
      std::string size =
          words.dim(argument(a.data), a.memoryDim(layout.batch[i]));
      if (i == 0 && !sliced)
        os << "rest;\n";
      else
        os << "rest % " << size << ";\n  rest /= " << size << ";\n";
    }
  }

  /// `addressA`, `addressB`: the kernel reads the operand itself.
  void writeArguments(bool addressA, bool addressB) {
    GemmOperand a = gemm.operand(GemmSide::Lhs);
    GemmOperand b = gemm.operand(GemmSide::Rhs);
    GemmDims layout = gemmDims(matmul());
    std::string batches = "1";
    for (int64_t dim : llvm::reverse(layout.batch))
      batches += " * " + words.dim(argument(a.data), a.memoryDim(dim));
    os << "  GemmArgs args = {};\n"
       << "  args.m = " << words.dim(argument(a.data), a.row) << ";\n"
       << "  args.n = " << words.dim(argument(b.data), b.row)
       << (gemm.gated ? " / 2" : "") << ";\n"
       << "  args.k = " << words.dim(argument(a.data), a.k) << ";\n"
       << "  args.batches = " << batches << ";\n";
    if (addressA)
      writeOperandArgs("a", a);
    if (addressB)
      writeOperandArgs("b", b);
    writeFold("a", a, GemmSide::Lhs);
    writeFold("b", b, GemmSide::Rhs);
  }

  KernelOp kernel;
  const ::hk::Target &target;
  StringRef prefix;
  raw_ostream &os;
  GemmPlan gemm;
  DimSymbols dims;
  ArgumentWords words;
  ColumnPlaces places;
};

} // namespace

LogicalResult mlir::hk::emitGemm(KernelOp kernel, const ::hk::Target &target,
                                 StringRef prefix, raw_ostream &os) {
  GemmEmitter(kernel, target, prefix, os).run();
  return success();
}
