//===- ArgumentWords.h - Argument words of a kernel -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which of the 64-bit words a kernel receives holds what, as C++ expressions
// over `words`: addresses in operand order, then dim symbols, then the outer
// strides of every operand. Operands are named by the block arguments of the
// kernel's spec. The words of a problem that shares a launch are those of the
// joint kernel.
//
//===----------------------------------------------------------------------===//

#ifndef HK_LIB_EMISSION_ARGUMENTWORDS_H
#define HK_LIB_EMISSION_ARGUMENTWORDS_H

#include "hk/Dialect/HK.h"
#include "hk/Runtime/ModuleAbi.h"

#include <string>

namespace mlir::hk {

class ArgumentWords {
public:
  explicit ArgumentWords(KernelOp kernel);

  /// Number of words.
  int64_t size() const { return total; }
  /// The same numbers for the tables of a module.
  hk_number_abi strideNumber(unsigned operand, int64_t dim) const;
  hk_number_abi dimNumber(unsigned operand, int64_t dim) const;
  /// The word that is the operand's address.
  uint32_t pointer(unsigned operand) const;
  std::string address(unsigned operand) const;
  /// Stride of dim `dim` in elements; the innermost is 1 and not passed.
  std::string stride(unsigned operand, int64_t dim) const;
  /// A constant, or the word of a dim symbol.
  std::string dim(unsigned operand, int64_t dim) const;
  /// The same of a size that an operand need not have.
  std::string size(int64_t name) const;

private:
  hk_number_abi sizeNumber(int64_t name) const;

  KernelOp kernel, launched;
  SmallVector<int64_t> firstStride;
  int64_t total = 0;
};

} // namespace mlir::hk

#endif // HK_LIB_EMISSION_ARGUMENTWORDS_H
