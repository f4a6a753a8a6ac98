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

ArgumentWords::ArgumentWords(KernelOp kernel) : kernel(kernel) {
  total = kernel.getNumOperands() + kernel.getNumDims();
  for (int64_t operand = 0; operand < kernel.getNumOperands(); ++operand) {
    firstStride.push_back(total);
    total += std::max<int64_t>(0, rankOf(kernel, operand) - 1);
  }
}

std::string ArgumentWords::address(unsigned operand) const {
  return "words[" + std::to_string(operand) + "]";
}

std::string ArgumentWords::stride(unsigned operand, int64_t dim) const {
  if (dim + 1 == rankOf(kernel, operand))
    return "1";
  return "i64(words[" + std::to_string(firstStride[operand] + dim) + "])";
}

std::string ArgumentWords::dim(unsigned operand, int64_t dim) const {
  KernelOp op = kernel;
  return size(cast<SymShapeAttr>(op.getShapes()[operand]).getSizes()[dim]);
}

std::string ArgumentWords::size(int64_t name) const {
  KernelOp op = kernel;
  if (!SymShapeAttr::isSymbol(name))
    return std::to_string(name);
  return "i64(words[" +
         std::to_string(op.getNumOperands() + SymShapeAttr::symbolOf(name)) +
         "])";
}
