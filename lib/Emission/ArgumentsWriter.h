//===- ArgumentsWriter.h - Arguments from words -----------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lines of a family's `arguments(words)`: each sets a field of `a`, the
// kernel's struct of arguments, from the words it receives.
//
//===----------------------------------------------------------------------===//

#ifndef HK_LIB_EMISSION_ARGUMENTSWRITER_H
#define HK_LIB_EMISSION_ARGUMENTSWRITER_H

#include "ArgumentWords.h"

#include <optional>

namespace mlir::hk {

class ArgumentsWriter {
public:
  ArgumentsWriter(const ArgumentWords &words, raw_ostream &os)
      : words(words), os(os) {}

  void assign(StringRef field, const Twine &value);
  /// The address of an operand, and the same as a global pointer to `type`.
  /// An operand that is not there is negative; its field keeps its null.
  void assignAddress(StringRef field, int64_t operand);
  void assignPointer(StringRef field, const Twine &type, int64_t operand);
  /// The exact bits: the text of a decimal float could round.
  void assignFloat(StringRef field, const APFloat &value);

private:
  const ArgumentWords &words;
  raw_ostream &os;
};

/// A window's size as a spec holds it: -1 is none; sizes beyond any length are
/// cut so that sums with positions stay in range.
int64_t windowSize(std::optional<uint64_t> window);

} // namespace mlir::hk

#endif // HK_LIB_EMISSION_ARGUMENTSWRITER_H
