//===- ArgumentsWriter.cpp - Arguments from words -------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One line of text per field.
//
//===----------------------------------------------------------------------===//

#include "ArgumentsWriter.h"

#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mlir::hk;

void ArgumentsWriter::assign(StringRef field, const Twine &value) {
  os << "  a." << field << " = " << value << ";\n";
}

void ArgumentsWriter::assignAddress(StringRef field, int64_t operand) {
  if (operand >= 0)
    assign(field, words.address(unsigned(operand)));
}

void ArgumentsWriter::assignPointer(StringRef field, const Twine &type,
                                    int64_t operand) {
  if (operand >= 0)
    assign(field,
           "global<" + type + ">(" + words.address(unsigned(operand)) + ")");
}

void ArgumentsWriter::assignFloat(StringRef field, const APFloat &value) {
  os << "  a." << field << " = bitCast<float>(u32("
     << llvm::format_hex(value.bitcastToAPInt().getZExtValue(), 10) << ")); // "
     << value.convertToDouble() << "\n";
}

int64_t mlir::hk::windowSize(std::optional<uint64_t> window) {
  constexpr uint64_t unlimited = uint64_t(1) << 40;
  return window ? int64_t(std::min(*window, unlimited)) : -1;
}
