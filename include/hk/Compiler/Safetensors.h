//===- Safetensors.h - Reading of safetensors files -------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mapped safetensors file: an 8-byte little-endian header length, a JSON
// header, the bytes. Source: https://github.com/huggingface/safetensors.
//
//===----------------------------------------------------------------------===//

#ifndef HK_COMPILER_SAFETENSORS_H
#define HK_COMPILER_SAFETENSORS_H

#include "hk/Dialect/HK.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace mlir::hk {

/// The format's name of an element type; "" if it has none.
StringRef safetensorsName(::hk::DType dtype);

class SafetensorsFile {
public:
  /// Errors (no file, truncated, not safetensors) are emitted at `loc`.
  static FailureOr<SafetensorsFile> open(Location loc, StringRef path);

  /// The bytes of a weight's tensor, after checking that name, dtype, shape and
  /// size are what `op` says; errors are emitted at `op`.
  FailureOr<StringRef> find(WeightOp op) const {
    return find(op, op.getSource(), cast<RankedTensorType>(op.getType()));
  }
  /// The same of any tensor that `op` needs.
  FailureOr<StringRef> find(WeightOp op, StringRef name,
                            RankedTensorType type) const;

private:
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  llvm::json::Object header;
  StringRef data;
};

} // namespace mlir::hk

#endif // HK_COMPILER_SAFETENSORS_H
