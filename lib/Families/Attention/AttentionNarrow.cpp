//===- AttentionNarrow.cpp - Types in memory and scales of attention ------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which type the kernels multiply, and how they find the scale of a row: every
// form of a scale is an address with strides, 0 where several rows share one.
//
//===----------------------------------------------------------------------===//

#include "AttentionPlan.h"
#include "Emission/ArgumentsWriter.h"
#include "Emission/Puller.h"
#include "hk/Contract/Lds.h"

using namespace mlir;
using namespace mlir::hk;

std::optional<::hk::DType> mlir::hk::multipliedType(ArrayRef<AttentionOp> ops) {
  using ::hk::DType;
  DType type = DType::BF16;
  bool wide = false; // a type of more than 8 bits was seen
  SmallVector<Type> elements;
  for (AttentionOp op : ops) {
    for (Value operand : {op.getQuery(), op.getKey(), op.getValue()})
      elements.push_back(tensorType(operand).getElementType());
    elements.push_back(op.getProbabilityType());
  }
  for (Type element : elements) {
    std::optional<DType> own = dtypeOf(element);
    if (!own)
      return std::nullopt;
    // bf16 and f16 hold integers and floats of 8 bits.
    if (*own == DType::I8 || ::hk::isFp8(*own))
      continue;
    if (*own != DType::F32 && *own != DType::BF16 && *own != DType::F16)
      return std::nullopt;
    type = !wide || type == *own ? *own : DType::F32;
    wide = true;
  }
  return type;
}

/// A scale with an element per row of its operand rather than per head.
static bool isPerRow(Value scale) {
  return scale && tensorType(scale).getRank() > 2;
}

void mlir::hk::emitNarrowSpec(const AttentionPlan &kernel,
                              const AttentionSegment &segment,
                              raw_ostream &os) {
  AttentionOp op = segment.getOp();
  auto type = [&](StringRef field, Value value) {
    os << "    ." << field << " = "
       << dtypeText(tensorType(value).getElementType()) << ",\n";
  };
  type("qType", op.getQuery());
  type("kType", op.getKey());
  type("vType", op.getValue());
  if (op.getQScale())
    os << "    .qScale = QueryScale::perQueries(" << op.getQBlock().value_or(1)
       << "),\n";
  if (isPerRow(op.getKScale()))
    os << "    .kScale = KeyScale::perKeys(" << op.getKBlock().value_or(1)
       << "),\n";
  else if (op.getKScale())
    os << "    .kScale = KeyScale::shared(),\n";
  if (Value v = op.getVScale()) {
    bool perColumn = isPerRow(v) && tensorType(v).getShape().back() != 1;
    os << "    .vScale = ValueScale::"
       << (perColumn     ? "PerColumn"
           : isPerRow(v) ? "PerKey"
                         : "Shared")
       << ",\n";
  }
  os << "    .values = ValuePlace::"
     << (::hk::attentionSharesValues(kernel.getShape()) ? "ColumnsOfKeys"
                                                        : "Apart")
     << ",\n";
}

void mlir::hk::emitScaleArguments(
    const AttentionPlan &kernel, const AttentionSegment &segment,
    llvm::function_ref<std::string(unsigned, int64_t)> stride,
    llvm::function_ref<std::string(unsigned, int64_t)> size,
    ArgumentsWriter &fields) {
  AttentionOp op = segment.getOp();
  // Dims of [sequence or block, row, head]; -1: a ragged tensor has no first.
  auto write = [&](StringRef field, int64_t operand, Value scale,
                   std::array<int64_t, 3> dims) {
    if (operand < 0)
      return;
    RankedTensorType type = tensorType(scale);
    if (type.getRank() == 0)
      dims = {-1, -1, -1};
    else if (type.getRank() == 2)
      dims = {0, -1, 1};
    fields.assignPointer(field, "const float", operand);
    StringRef names[] = {"Sequence", "Row", "Head"};
    for (auto [name, dim] : llvm::zip_equal(names, dims)) {
      if (dim < 0 || type.getDimSize(dim) == 1)
        continue; // shared: a stride of 0
      // The innermost stride is 1 and not passed.
      std::string step = dim + 1 == type.getRank()
                             ? std::string("1")
                             : stride(unsigned(operand), dim);
      if (type.isDynamicDim(dim))
        step = size(unsigned(operand), dim) + " == 1 ? 0 : " + step;
      fields.assign((field + name).str(), step);
    }
  };
  auto rowsOf = [](CacheDims dims) {
    return std::array<int64_t, 3>{dims.rows.front() == 0 ? -1 : 0,
                                  int64_t(dims.rows.front()),
                                  int64_t(dims.head)};
  };
  int64_t first = op.hasRaggedQueries() ? -1 : 0;
  write("qScale", kernel.getOperands().qScale, op.getQScale(),
        {first, first + 1, first + 2});
  write("kScale", segment.kScale, op.getKScale(), rowsOf(op.getKeyDims()));
  write("vScale", segment.vScale, op.getVScale(), rowsOf(op.getValueDims()));
}
