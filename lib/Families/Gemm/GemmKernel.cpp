//===- GemmKernel.cpp - What one matrix product kernel computes -----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the facts of a product off its operators.
//
//===----------------------------------------------------------------------===//

#include "GemmKernel.h"
#include "hk/Contract/Grid.h"

#include <numeric>

using namespace mlir;
using namespace mlir::hk;

static RankedTensorType tensorOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

GemmKernel mlir::hk::describeGemm(ArrayRef<Operation *> ops) {
  GemmKernel gemm;
  for (Operation *op : ops) {
    if (auto matmul = dyn_cast<MatmulOp>(op))
      gemm.matmul = matmul;
    else if (auto gated = dyn_cast<GatedActivationOp>(op))
      gemm.gated = gated;
    else if (auto quantize = dyn_cast<QuantizeOp>(op))
      gemm.quantize = quantize;
  }
  return gemm;
}

GemmKernel mlir::hk::describeGemm(KernelOp kernel) {
  SmallVector<Operation *> ops;
  for (Operation &op : kernel.getSpecBlock())
    ops.push_back(&op);
  return describeGemm(ops);
}

GemmDims mlir::hk::gemmDims(MatmulOp op) {
  RankedTensorType lhs = tensorOf(op.getLhs());
  GemmDims dims;
  dims.row = op.getLhsDim(MatmulDim::M);
  for (int64_t d = 0; d + 2 < lhs.getRank(); ++d)
    dims.batch.push_back(d);
  bool oneRow = lhs.getDimSize(dims.row) == 1 && !op.getTransposeA();
  bool shared = tensorOf(op.getRhs()).getRank() == 2;
  if (oneRow && shared && !dims.batch.empty())
    dims.row = dims.batch.pop_back_val();
  return dims;
}

bool GemmKernel::mayExceedGrid(int64_t slices) {
  RankedTensorType lhs = tensorOf(matmul.getLhs());
  int64_t matrices = slices;
  for (int64_t dim : gemmDims(matmul).batch)
    if (lhs.isDynamicDim(dim) ||
        llvm::MulOverflow(matrices, lhs.getDimSize(dim), matrices))
      return true;
  return matrices > ::hk::kMostGridZ;
}

::hk::DType mlir::hk::lhsType(MatmulOp op) {
  return *dtypeOf(tensorOf(op.getLhs()).getElementType());
}
::hk::DType mlir::hk::rhsType(MatmulOp op) {
  return *dtypeOf(tensorOf(op.getRhs()).getElementType());
}

/// Of a scale of `operand`, whose dim `dim` are its rows (M or N).
static ScaleUse scaleUse(Value scale, Value operand, int64_t dim) {
  if (!scale)
    return ScaleUse::None;
  RankedTensorType type = tensorOf(scale);
  if (type.hasStaticShape() && type.getNumElements() == 1)
    return ScaleUse::Outer;
  int64_t rank = type.getRank();
  int64_t rows = tensorOf(operand).getDimSize(dim);
  int64_t own = type.getDimSize(rank - 2);
  bool perRow =
      ShapedType::isDynamic(rows) || ShapedType::isDynamic(own) || rows == own;
  return type.getDimSize(rank - 1) == 1 && perRow ? ScaleUse::Outer
                                                  : ScaleUse::AlongK;
}

ScaleUse mlir::hk::lhsScaleUse(MatmulOp op) {
  return scaleUse(op.getLhsScale(), op.getLhs(), op.getLhsDim(MatmulDim::M));
}
ScaleUse mlir::hk::rhsScaleUse(MatmulOp op) {
  return scaleUse(op.getRhsScale(), op.getRhs(), op.getRhsDim(MatmulDim::N));
}
bool mlir::hk::hasScaleAlongK(MatmulOp op) {
  return lhsScaleUse(op) == ScaleUse::AlongK ||
         rhsScaleUse(op) == ScaleUse::AlongK;
}

Verdict mlir::hk::verdictOf(MatmulOp op) {
  for (Value operand : {op.getLhs(), op.getRhs()}) {
    Type element = tensorOf(operand).getElementType();
    std::optional<::hk::DType> dtype = dtypeOf(element);
    if (!dtype || *dtype == ::hk::DType::F4E2M1FN ||
        *dtype == ::hk::DType::F8E8M0FNU) {
      std::string text;
      llvm::raw_string_ostream(text) << element;
      return Verdict::refuse(Reason::UnsupportedDType,
                             "product of " + text + " elements");
    }
  }
  return Verdict::accept();
}

int64_t mlir::hk::operandAlignment(Value operand, int64_t rowAlignment) {
  RankedTensorType type = tensorOf(operand);
  int64_t bytes = ::hk::info(*dtypeOf(type.getElementType())).bits / 8;
  int64_t extent = type.getDimSize(type.getRank() - 1);
  int64_t known = ShapedType::isDynamic(extent) ? bytes : extent * bytes;
  int64_t alignment = std::gcd(std::gcd(rowAlignment, known), int64_t(16));
  return std::max(alignment, bytes);
}

Verdict mlir::hk::bulkVerdict(GemmKernel gemm, const ::hk::Target &target,
                              int64_t alignA, int64_t alignB) {
  MatmulOp op = gemm.matmul;
  if (target.arch != ::hk::Arch::Sm90a)
    return Verdict::refuse(Reason::UnsupportedShape,
                           "only sm_90a has a copy engine");
  ::hk::DType operand = gemmOperandType(target, lhsType(op), rhsType(op));
  if (lhsType(op) != operand || rhsType(op) != operand)
    return Verdict::refuse(Reason::UnsupportedDType,
                           "an operand changes its dtype on the way to LDS");
  if (operand == ::hk::DType::F32)
    return Verdict::refuse(Reason::UnsupportedDType,
                           "f32 is multiplied without matrix instructions");
  if (op.getTransposeA() || !op.getTransposeB())
    return Verdict::refuse(Reason::UnsupportedShape,
                           "the rows of an operand do not run along k");
  if (tensorOf(op.getLhs()).getDimSize(op.getLhsDim(MatmulDim::K)) == 0)
    return Verdict::refuse(Reason::UnsupportedShape, "k is 0");
  size_t batches = gemmDims(op).batch.size();
  if (batches > 1)
    return Verdict::refuse(Reason::UnsupportedShape,
                           Twine(batches) + " batch dims, at most one");
  if (batches == 1 && hasScaleAlongK(op))
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

::hk::GemmShapeClass mlir::hk::shapeClassOf(GemmKernel gemm,
                                            const ::hk::Target &target,
                                            int64_t alignA, int64_t alignB) {
  MatmulOp op = gemm.matmul;
  ::hk::GemmShapeClass shape;
  shape.operand = gemmOperandType(target, lhsType(op), rhsType(op));
  // What DirectCopy of the kernels asks for.
  shape.staged = lhsType(op) != shape.operand || rhsType(op) != shape.operand ||
                 op.getTransposeA() || !op.getTransposeB() ||
                 operandAlignment(op.getLhs(), alignA) < 16 ||
                 operandAlignment(op.getRhs(), alignB) < 16;
  shape.pair = gemm.isPair();
  shape.scaled = hasScaleAlongK(op);
  shape.group = gemm.quantize ? int32_t(kGemmGroup) : 0;
  shape.bulk = bulkVerdict(gemm, target, alignA, alignB).accepted();
  return shape;
}

bool mlir::hk::hasLegalTile(GemmKernel gemm, const ::hk::Target &target) {
  ::hk::GemmShapeClass shape = shapeClassOf(gemm, target, 1, 1);
  ::hk::GemmTileTable table = ::hk::gemmTiles(target);
  for (const ::hk::GemmTileRow &row : ArrayRef(table.rows, table.size)) {
    ::hk::GemmTile tile = ::hk::tileOf(row, target, shape.operand);
    if (::hk::gemmTileFits(row, target, shape) &&
        ::hk::gemmLds(target, tile, shape.operand) <= target.ldsBytes)
      return true;
  }
  return false;
}
