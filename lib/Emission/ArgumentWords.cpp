//===- ArgumentWords.cpp - Argument words of a kernel ---------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layout of docs/architecture.md, "Kernels and their arguments".
//
//===----------------------------------------------------------------------===//

#include "ArgumentWords.h"

using namespace mlir;
using namespace mlir::hk;

static int64_t rankOf(KernelOp kernel, unsigned operand) {
  return int64_t(
      cast<SymShapeAttr>(kernel.getShapes()[operand]).getSizes().size());
}

ArgumentWords::ArgumentWords(KernelOp kernel)
    : kernel(kernel), launched(kernel.getLaunched()) {
  total = launched.getNumOperands() + launched.getNumDims();
  for (int64_t operand = 0; operand < launched.getNumOperands(); ++operand) {
    firstStride.push_back(total);
    total += std::max<int64_t>(0, rankOf(launched, operand) - 1);
  }
}

uint32_t ArgumentWords::pointer(unsigned operand) const {
  KernelOp op = kernel;
  return uint32_t(op.getLaunchedOperand(operand));
}

std::string ArgumentWords::address(unsigned operand) const {
  return "words[" + std::to_string(pointer(operand)) + "]";
}

hk_number_abi ArgumentWords::strideNumber(unsigned operand, int64_t dim) const {
  if (dim + 1 == rankOf(kernel, operand))
    return {1, HK_NO_WORD};
  return {0, uint32_t(firstStride[pointer(operand)] + dim)};
}

hk_number_abi ArgumentWords::dimNumber(unsigned operand, int64_t dim) const {
  KernelOp op = kernel;
  return sizeNumber(
      cast<SymShapeAttr>(op.getShapes()[operand]).getSizes()[dim]);
}

hk_number_abi ArgumentWords::sizeNumber(int64_t name) const {
  KernelOp op = launched;
  if (!SymShapeAttr::isSymbol(name))
    return {name, HK_NO_WORD};
  return {0, uint32_t(op.getNumOperands() + SymShapeAttr::symbolOf(name))};
}

/// A number of a launch as an expression.
static std::string textOf(hk_number_abi number) {
  if (number.word == HK_NO_WORD)
    return std::to_string(number.constant);
  return "i64(words[" + std::to_string(number.word) + "])";
}

std::string ArgumentWords::stride(unsigned operand, int64_t dim) const {
  return textOf(strideNumber(operand, dim));
}

std::string ArgumentWords::dim(unsigned operand, int64_t dim) const {
  return textOf(dimNumber(operand, dim));
}

std::string ArgumentWords::size(int64_t name) const {
  return textOf(sizeNumber(name));
}
