//===- GemmPlan.cpp - What one matrix product kernel computes -----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the facts of a product off its operators.
//
//===----------------------------------------------------------------------===//

#include "GemmPlan.h"

#include "hk/Contract/Capability.h"
#include "hk/Contract/Grid.h"
#include "hk/Contract/Scale.h"

#include <numeric>

using namespace mlir;
using namespace mlir::hk;

static Value productOperand(ProductOpInterface op, GemmSide side) {
  return side == GemmSide::Lhs ? op.getLhs() : op.getRhs();
}

GemmPlan mlir::hk::describeGemm(ArrayRef<Operation *> ops) {
  GemmPlan gemm;
  for (Operation *op : ops)
    if (auto matmul = dyn_cast<ProductOpInterface>(op))
      gemm.matmul = matmul;
  for (Operation *op : ops)
    if (auto gated = dyn_cast<GatedActivationOp>(op)) {
      gemm.gated = gated;
    } else if (auto best = dyn_cast<TopkOp>(op)) {
      gemm.best = best;
    } else {
      bool decodes = false;
      for (GemmSide side : {GemmSide::Lhs, GemmSide::Rhs})
        if (op->hasTrait<DecodesOperand>() && gemm.matmul &&
            op->getResult(0) == productOperand(gemm.matmul, side)) {
          gemm.decoders[static_cast<int32_t>(side)] = op;
          decodes = true;
        }
      if (!decodes && reductionGroupOf(op) != 0)
        gemm.quantize = op;
    }
  return gemm;
}

bool GemmPlan::isBehindBest(
    Value value, llvm::function_ref<bool(Operation *)> isMember) const {
  Operation *def = value.getDefiningOp();
  TopkOp choice = best;
  if (!choice || !def || !isMember(def))
    return false;
  return def == choice.getOperation() ||
         llvm::any_of(def->getOperands(),
                      [&](Value of) { return isBehindBest(of, isMember); });
}

GemmPlan mlir::hk::describeGemm(KernelOp kernel) {
  SmallVector<Operation *> ops;
  for (Operation &op : kernel.getSpecBlock())
    ops.push_back(&op);
  return describeGemm(ops);
}

GemmDims mlir::hk::gemmDims(ProductOpInterface op) {
  RankedTensorType lhs = tensorType(op.getLhs());
  GemmDims dims;
  dims.row = op.getLhsDim(MatmulDim::M);
  for (int64_t d = 0; d + 2 < lhs.getRank(); ++d)
    dims.batch.push_back(d);
  bool oneRow = lhs.getDimSize(dims.row) == 1 && dims.row == lhs.getRank() - 2;
  bool shared = tensorType(op.getRhs()).getRank() == 2;
  if (oneRow && shared && !dims.batch.empty())
    dims.row = dims.batch.pop_back_val();
  return dims;
}

bool GemmPlan::mayExceedGrid(int64_t slices) {
  RankedTensorType lhs = tensorType(matmul.getLhs());
  int64_t matrices = slices;
  for (int64_t dim : gemmDims(matmul).batch)
    if (lhs.isDynamicDim(dim) ||
        llvm::MulOverflow(matrices, lhs.getDimSize(dim), matrices))
      return true;
  return matrices > ::hk::kMostGridZ;
}

::hk::DType GemmOperand::type() const {
  return *dtypeOf(tensorType(data).getElementType());
}

/// `dim`, unless all of its one element serves all.
static std::optional<int64_t> dimWithMany(Value scale, int64_t dim) {
  RankedTensorType type = tensorType(scale);
  if (dim < 0 || type.getDimSize(dim) == 1)
    return std::nullopt;
  return dim;
}

std::optional<int64_t> GemmPlan::scaleRowDim(const GemmOperand &operand,
                                             Value scale) {
  int64_t rank = tensorType(operand.data).getRank();
  int64_t scaleRank = tensorType(scale).getRank();
  // Rows that are a batch dim are one of the scales as well.
  bool batchIsRow = operand.row + 2 < rank;
  return dimWithMany(scale, batchIsRow ? operand.row - (rank - scaleRank)
                                       : scaleRank - 2);
}

/// What all elements of a constant are.
static std::optional<double> splatOf(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant || !constant.getValue().isSplat())
    return std::nullopt;
  Type element = tensorType(value).getElementType();
  if (isa<FloatType>(element)) {
    APFloat number = *constant.getValue().getValues<APFloat>().begin();
    bool loses = false;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
    return number.convertToDouble();
  }
  APInt number = *constant.getValue().getValues<APInt>().begin();
  return element.isUnsignedInteger() ? double(number.getZExtValue())
                                     : double(number.getSExtValue());
}

GemmOperand GemmPlan::operand(GemmSide side) {
  bool lhs = side == GemmSide::Lhs;
  GemmOperand operand;
  operand.data = productOperand(matmul, side);
  operand.row = lhs ? gemmDims(matmul).row : matmul.getRhsDim(MatmulDim::N);
  operand.k =
      lhs ? matmul.getLhsDim(MatmulDim::K) : matmul.getRhsDim(MatmulDim::K);
  operand.result = operand.type();
  operand.gathered = lhs && grouped() && grouped().gathers();
  operand.alternates = !lhs && alternates();
  operand.anywhereInK = groupsK();
  operand.decoder = decoders[static_cast<int32_t>(side)];
  if (auto transpose = dyn_cast_or_null<TransposeOp>(operand.decoder)) {
    operand.data = transpose.getInput();
    operand.order.assign(transpose.getPermutation().begin(),
                         transpose.getPermutation().end());
    operand.decoder = nullptr;
  }
  int64_t rank = tensorType(operand.data).getRank();
  if (auto dequantize = dyn_cast_or_null<DequantizeOp>(operand.decoder)) {
    operand.data = dequantize.getInput();
    operand.scale = dequantize.getScale();
    operand.zeroPoint = dequantize.getZeroPoint();
    operand.offset = dequantize.getOffset();
    if (operand.zeroPoint)
      operand.fixedZero = splatOf(operand.zeroPoint);
    if (operand.fixedZero)
      operand.zeroPoint = nullptr;
    RankedTensorType type = tensorType(operand.scale);
    bool mx = isa<Float8E8M0FNUType>(type.getElementType());
    int64_t group =
        mx ? ::hk::kMxScale.depth : int64_t(dequantize.getGroupSize());
    bool ofRank = type.getRank() == rank;
    operand.scaleRow = dimWithMany(operand.scale, ofRank ? operand.row : -1);
    operand.scaleK = dimWithMany(operand.scale, ofRank ? operand.k : -1);
    operand.rowBlock = operand.row == rank - 1 ? group : 1;
    operand.kBlock = operand.k == rank - 1 ? group : 1;
  } else if (auto quantize = dyn_cast_or_null<QuantizeMxOp>(operand.decoder)) {
    operand.data = quantize.getInput();
    operand.result = ::hk::DType::BF16;
  } else if (QuantizeOp quantize = lhs ? quantizedLhs() : nullptr) {
    operand.data = quantize.getInput();
    operand.result =
        *dtypeOf(tensorType(quantize.getQuantized()).getElementType());
  } else if (scaleUse(side) == ScaleUse::Elements) {
    operand.scale = lhs ? matmul.getLhsScale() : matmul.getRhsScale();
    int64_t scaleRank = tensorType(operand.scale).getRank();
    operand.scaleRow = scaleRowDim(operand, operand.scale);
    operand.scaleK = dimWithMany(operand.scale, scaleRank - 1);
    operand.rowBlock = ::hk::kMxScale.rows;
    operand.kBlock = ::hk::kMxScale.depth;
    operand.result = ::hk::DType::BF16;
  }
  operand.row = operand.memoryDim(operand.row);
  operand.k = operand.memoryDim(operand.k);
  return operand;
}

SmallVector<int64_t> mlir::hk::productShape(KernelOp kernel,
                                            const GemmOperand &operand) {
  unsigned argument = cast<BlockArgument>(operand.data).getArgNumber();
  ArrayRef<int64_t> sizes =
      cast<SymShapeAttr>(kernel.getShapes()[argument]).getSizes();
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < int64_t(sizes.size()); ++dim)
    shape.push_back(sizes[operand.memoryDim(dim)]);
  return shape;
}

ScaleUse GemmPlan::scaleUse(GemmSide side) {
  bool lhs = side == GemmSide::Lhs;
  Value scale = lhs ? matmul.getLhsScale() : matmul.getRhsScale();
  if (!scale)
    return ScaleUse::None;
  if (lhs && quantizedLhs())
    return ScaleUse::AlongK;
  RankedTensorType type = tensorType(scale);
  if (isa<Float8E8M0FNUType>(type.getElementType()))
    return ScaleUse::Elements;
  if (type.hasStaticShape() && type.getNumElements() == 1)
    return ScaleUse::Outer;
  int64_t rank = type.getRank();
  int64_t rows = tensorType(productOperand(matmul, side))
                     .getDimSize(lhs ? matmul.getLhsDim(MatmulDim::M)
                                     : matmul.getRhsDim(MatmulDim::N));
  int64_t own = type.getDimSize(rank - 2);
  bool perRow =
      ShapedType::isDynamic(rows) || ShapedType::isDynamic(own) || rows == own;
  return type.getDimSize(rank - 1) == 1 && perRow ? ScaleUse::Outer
                                                  : ScaleUse::AlongK;
}

Verdict mlir::hk::verdictOf(ProductOpInterface op) {
  for (Value operand : {op.getLhs(), op.getRhs()}) {
    Type element = tensorType(operand).getElementType();
    std::optional<::hk::DType> dtype = dtypeOf(element);
    if (!dtype || *dtype == ::hk::DType::F8E8M0FNU) {
      std::string text;
      llvm::raw_string_ostream(text) << element;
      return Verdict::refuse(Reason::UnsupportedDType,
                             "product of " + text + " elements");
    }
  }
  return Verdict::accept();
}

int64_t mlir::hk::operandAlignment(Value operand, int64_t rowAlignment) {
  RankedTensorType type = tensorType(operand);
  ::hk::DType dtype = *dtypeOf(type.getElementType());
  int64_t bytes = std::max<int64_t>(::hk::info(dtype).bits / 8, 1);
  int64_t extent = type.getDimSize(type.getRank() - 1);
  int64_t known =
      ShapedType::isDynamic(extent) ? bytes : ::hk::packedBytes(dtype, extent);
  int64_t alignment = std::gcd(std::gcd(rowAlignment, known), int64_t(16));
  return std::max(alignment, bytes);
}

int64_t mlir::hk::operandAlignment(const GemmOperand &operand,
                                   int64_t rowAlignment) {
  if (operand.anywhereInK && operand.isKContiguous())
    return ::hk::info(operand.type()).bits / 8;
  return operandAlignment(operand.data, rowAlignment);
}

/// Whether the loops of the copy engine know such groups.
static Verdict bulkGroupsVerdict(GemmPlan &gemm) {
  GroupedMatmulOp op = gemm.grouped();
  if (!op)
    return Verdict::accept();
  if (op.getAlongK())
    return Verdict::refuse(Reason::UnsupportedShape,
                           "groups of k begin anywhere");
  int64_t groups = op.getNumGroups();
  if (ShapedType::isDynamic(groups) || groups == 0)
    return Verdict::refuse(Reason::UnsupportedShape,
                           "the number of groups is not known, or 0");
  return Verdict::accept();
}

Verdict mlir::hk::bulkVerdict(GemmPlan gemm, const ::hk::Target &target,
                              int64_t alignA, int64_t alignB) {
  ProductOpInterface op = gemm.matmul;
  if (!::hk::hasCopyEngine(target))
    return Verdict::refuse(Reason::UnsupportedShape,
                           "only sm_90a has a copy engine");
  if (gemm.alternates())
    return Verdict::refuse(Reason::UnsupportedShape,
                           "the columns of a pair alternate");
  if (Verdict verdict = bulkGroupsVerdict(gemm); !verdict.accepted())
    return verdict;
  GemmOperand a = gemm.operand(GemmSide::Lhs), b = gemm.operand(GemmSide::Rhs);
  ::hk::DType operand = gemmOperandType(target, a.result, b.result);
  if (!a.order.empty() || !b.order.empty())
    return Verdict::refuse(Reason::UnsupportedShape,
                           "an operand is transposed where it is read");
  if (a.isDecoded() || b.isDecoded())
    return Verdict::refuse(Reason::UnsupportedDType,
                           "an operand is decoded on the way to LDS");
  if (a.type() != operand || b.type() != operand)
    return Verdict::refuse(Reason::UnsupportedDType,
                           "an operand changes its dtype on the way to LDS");
  if (operand == ::hk::DType::F32)
    return Verdict::refuse(Reason::UnsupportedDType,
                           "f32 is multiplied without matrix instructions");
  if (isFp8(operand) && op.getAccumulation() != Accumulation::tensor_core)
    return Verdict::refuse(Reason::Disabled,
                           "the chip sums fp8 products of 128 of k with 14 "
                           "bits, a strict product with those of f32; "
                           "`accumulation tensor_core` allows it");
  if (!a.isKContiguous())
    return Verdict::refuse(Reason::UnsupportedShape,
                           "the rows of the left operand do not run along k");
  if (!b.isKContiguous() && ::hk::info(operand).bits != 16)
    return Verdict::refuse(Reason::UnsupportedShape,
                           "the rows of a right operand of 8 bits do not run "
                           "along k");
  if (tensorType(op.getLhs()).getDimSize(op.getLhsDim(MatmulDim::K)) == 0)
    return Verdict::refuse(Reason::UnsupportedShape, "k is 0");
  size_t batches = gemmDims(op).batch.size();
  if (batches > 1)
    return Verdict::refuse(Reason::UnsupportedShape,
                           Twine(batches) + " batch dims, at most one");
  if (batches == 1 && gemm.hasScaleAlongK())
    return Verdict::refuse(Reason::UnsupportedShape,
                           "a batch with scales along k");
  for (auto [value, align, name] : {std::tuple(op.getLhs(), alignA, "left"),
                                    std::tuple(op.getRhs(), alignB, "right")}) {
    int64_t known = operandAlignment(value, align);
    if (known < 16)
      return Verdict::refuse(Reason::Unaligned, "rows of the " + Twine(name) +
                                                    " operand begin at "
                                                    "multiples of " +
                                                    Twine(known) +
                                                    " bytes, not of 16");
  }
  return Verdict::accept();
}

/// Whether code_pairs.h decodes `operand`.
static Verdict codePairsVerdict(const GemmOperand &operand) {
  auto bitsOf = [](Value value) {
    return ::hk::info(*dtypeOf(tensorType(value).getElementType())).bits;
  };
  if (::hk::info(operand.type()).bits != 4)
    return Verdict::refuse(Reason::UnsupportedDType,
                           "the right operand has no 4-bit codes");
  if (!operand.scale || operand.kBlock % 32 != 0 || operand.rowBlock > 1)
    return Verdict::refuse(Reason::UnsupportedShape,
                           "blocks of " + Twine(operand.kBlock) +
                               " codes along k, not of a multiple of 32");
  if (bitsOf(operand.scale) > 32 ||
      (operand.zeroPoint && bitsOf(operand.zeroPoint) > 32))
    return Verdict::refuse(Reason::UnsupportedDType,
                           "a scale or zero point of 64 bits");
  return Verdict::accept();
}

Verdict mlir::hk::codesVerdict(GemmPlan gemm, const ::hk::Target &target,
                               int64_t alignA, int64_t alignB) {
  ProductOpInterface op = gemm.matmul;
  if (!::hk::hasCopyEngine(target))
    return Verdict::refuse(Reason::UnsupportedShape,
                           "only sm_90a decodes codes in registers");
  GemmOperand a = gemm.operand(GemmSide::Lhs), b = gemm.operand(GemmSide::Rhs);
  if (Verdict verdict = codePairsVerdict(b); !verdict.accepted())
    return verdict;
  ::hk::DType type = gemmOperandType(target, a.result, b.result);
  if (type != ::hk::DType::BF16 && type != ::hk::DType::F16)
    return Verdict::refuse(Reason::UnsupportedDType,
                           "what is multiplied has not 16 bits");
  if (type == ::hk::DType::F16 && b.type() == ::hk::DType::F4E2M1FN)
    return Verdict::refuse(Reason::UnsupportedDType,
                           "fp4 is decoded to bf16 there, not to f16");
  if (b.result != type)
    return Verdict::refuse(Reason::UnsupportedDType,
                           "codes are decoded to another dtype than that "
                           "which is multiplied");
  if (Verdict verdict = copyVerdict(a, type, target, alignA);
      !verdict.accepted())
    return verdict;
  GroupedMatmulOp groups = gemm.grouped();
  if ((groups && (groups.getAlongK() || groups.isBlocks())) ||
      (!groups && gemm.alternates()) || gemm.hasScaleAlongK() ||
      !gemmDims(op).batch.empty() || op.getNumSlices() > 1)
    return Verdict::refuse(Reason::UnsupportedShape,
                           "batches, slices, groups of k, blocks of sorted "
                           "ids, alternating columns without groups and "
                           "scales along k need another loop");
  int64_t k = tensorType(op.getLhs()).getDimSize(op.getLhsDim(MatmulDim::K));
  if (ShapedType::isDynamic(k) || k == 0)
    return Verdict::refuse(Reason::UnsupportedShape,
                           "k is not known, or 0: no part of it fits into LDS "
                           "for certain");
  if (!b.isKContiguous() || operandAlignment(b, alignB) < 16)
    return Verdict::refuse(Reason::Unaligned,
                           "rows of codes do not begin at multiples of 16 "
                           "bytes along k");
  return Verdict::accept();
}

/// Whether codes are fp4 with a power of two for each block of 32.
static bool hasPowers(const GemmOperand &b) {
  return b.type() == ::hk::DType::F4E2M1FN && b.scale &&
         *dtypeOf(tensorType(b.scale).getElementType()) ==
             ::hk::DType::F8E8M0FNU &&
         b.kBlock == 32 && b.scaleK && b.scaleRow && !b.zeroPoint &&
         !b.fixedZero;
}

static ::hk::DType typeOfElements(Value value) {
  return *dtypeOf(tensorType(value).getElementType());
}

/// Whether what 4-bit codes are decoded with is a word for every 128 of a row
/// (code_pairs.h), and tensor maps can describe the operands.
static bool takesWordsOfScales(GemmPlan gemm, ::hk::DType type) {
  GemmOperand a = gemm.operand(GemmSide::Lhs), b = gemm.operand(GemmSide::Rhs);
  if (gemm.grouped() || !a.order.empty() || !b.order.empty())
    return false;
  ::hk::DType scale = typeOfElements(b.scale);
  if (b.type() == ::hk::DType::F4E2M1FN)
    return hasPowers(b);
  if (scale != type || b.offset || (b.scaleK && b.kBlock < 128))
    return false;
  if (b.zeroPoint)
    return ::hk::info(typeOfElements(b.zeroPoint)).bits == 4;
  double zero = b.fixedZero.value_or(0);
  return zero == double(int(zero)) && zero >= -100 && zero <= 100;
}

/// Whether codes_bytes.h decodes B, with a word for every 128 of a row.
static bool takesBytes(const GemmOperand &b) {
  ::hk::DType type = b.type();
  if (type != ::hk::DType::I8 && type != ::hk::DType::F8E4M3FN &&
      type != ::hk::DType::F8E5M2)
    return false;
  if (!b.scale)
    return !b.decoder;
  ::hk::DType scale = typeOfElements(b.scale);
  // A lane decodes 16 neighbours with one scale.
  if (b.offset || b.rowBlock > 1 ||
      (b.scaleK && (b.kBlock < 128 || b.kBlock % 16 != 0)) ||
      (scale != ::hk::DType::F32 && ::hk::info(scale).bits != 16))
    return false;
  return !b.zeroPoint || (::hk::info(scale).bits == 16 &&
                          typeOfElements(b.zeroPoint) == ::hk::DType::I8);
}

/// Whether streamed_codes takes the product of codes of 8 bits.
static bool streamsBytes(GemmPlan gemm, const ::hk::Target &target,
                         ::hk::DType type, int64_t alignA, int64_t alignB) {
  ProductOpInterface op = gemm.matmul;
  GemmOperand a = gemm.operand(GemmSide::Lhs), b = gemm.operand(GemmSide::Rhs);
  int64_t k = tensorType(op.getLhs()).getDimSize(op.getLhsDim(MatmulDim::K));
  if (!::hk::hasCopyEngine(target) || gemm.grouped() || gemm.alternates() ||
      !gemmDims(op).batch.empty() || op.getNumSlices() > 1 ||
      ShapedType::isDynamic(k) || k == 0)
    return false;
  if (!a.order.empty() || !b.order.empty() || a.isDecoded() ||
      !a.isKContiguous() || !b.isKContiguous() ||
      gemm.scaleUse(GemmSide::Lhs) == ScaleUse::AlongK)
    return false;
  return ::hk::info(type).bits == 16 && a.type() == type &&
         (!b.scale || b.result == type) && takesBytes(b) &&
         operandAlignment(a, alignA) >= 16 && operandAlignment(b, alignB) >= 16;
}

/// What `shape` says of the codes that streamed_codes takes.
static void describeStream(GemmPlan gemm, const ::hk::Target &target,
                           int64_t alignA, int64_t alignB,
                           ::hk::GemmShapeClass &shape) {
  bool nibbles = shape.codes && takesWordsOfScales(gemm, shape.operand);
  if (!nibbles && !streamsBytes(gemm, target, shape.operand, alignA, alignB))
    return;
  GemmOperand b = gemm.operand(GemmSide::Rhs);
  shape.streamedBits = nibbles ? 4 : 8;
  shape.streamedK = tensorType(gemm.matmul.getLhs())
                        .getDimSize(gemm.matmul.getLhsDim(MatmulDim::K));
  if (shape.scaled)
    shape.streamedGroup = ::hk::kBlockScaleB.depth;
  else if (b.scaleK)
    shape.streamedGroup = b.kBlock;
  shape.streamedInF32 =
      !nibbles && b.scale &&
      (b.type() != ::hk::DType::I8 || shape.operand != ::hk::DType::BF16 ||
       typeOfElements(b.scale) != ::hk::DType::BF16);
}

::hk::GemmShapeClass mlir::hk::shapeClassOf(GemmPlan gemm,
                                            const ::hk::Target &target,
                                            int64_t alignA, int64_t alignB) {
  GemmOperand a = gemm.operand(GemmSide::Lhs), b = gemm.operand(GemmSide::Rhs);
  ::hk::GemmShapeClass shape;
  shape.operand = gemmOperandType(target, a.result, b.result);
  shape.staged = !copyVerdict(a, shape.operand, target, alignA).accepted() ||
                 !copyVerdict(b, shape.operand, target, alignB).accepted();
  shape.pair = gemm.isPair();
  shape.scaled = gemm.hasScaleAlongK();
  shape.quantized = static_cast<bool>(gemm.quantizedLhs());
  shape.group = int32_t(gemm.columnsTogether());
  shape.grouped = static_cast<bool>(gemm.grouped());
  shape.gathered = gemm.operand(GemmSide::Lhs).gathered;
  shape.knownRows =
      !tensorType(gemm.matmul.getLhs()).isDynamicDim(gemmDims(gemm.matmul).row);
  shape.bulk = bulkVerdict(gemm, target, alignA, alignB).accepted();
  shape.columnsOfB = !b.isKContiguous();
  shape.byBounds =
      shape.grouped && gemm.grouped().getForm() == GroupForm::bounds;
  shape.groupsK = gemm.groupsK();
  shape.microscaled =
      microscaledVerdict(gemm, target, alignA, alignB).accepted();
  if (shape.microscaled) {
    shape.elementsA = a.type();
    shape.elementsB = b.type();
  }
  shape.codes = codesVerdict(gemm, target, alignA, alignB).accepted();
  describeStream(gemm, target, alignA, alignB, shape);
  shape.powersOfCodes = shape.codes && hasPowers(b);
  if (shape.codes)
    shape.codesDepth = tensorType(gemm.matmul.getLhs())
                           .getDimSize(gemm.matmul.getLhsDim(MatmulDim::K));
  return shape;
}

::hk::GemmTile mlir::hk::podOf(GemmTileAttr tile) {
  return {
      int32_t(tile.getBm()),     int32_t(tile.getBn()),
      int32_t(tile.getBk()),     int32_t(tile.getWm()),
      int32_t(tile.getWn()),     int32_t(tile.getStages()),
      int32_t(tile.getSplitK()), static_cast<::hk::GemmLoop>(tile.getLoop()),
      int32_t(tile.getCluster())};
}

bool mlir::hk::hasLegalTile(GemmPlan gemm, const ::hk::Target &target) {
  ::hk::GemmShapeClass shape = shapeClassOf(gemm, target, 1, 1);
  ::hk::GemmTileTable table = ::hk::gemmTiles(target);
  for (const ::hk::GemmTileRow &row : ArrayRef(table.rows, table.size)) {
    ::hk::GemmTile tile = ::hk::tileOf(row, target, shape);
    if (::hk::gemmTileFits(row, target, shape) &&
        ::hk::gemmLds(target, tile, shape) <= target.ldsBytes)
      return true;
  }
  return false;
}
