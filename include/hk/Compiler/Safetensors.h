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
#include <string>
#include <vector>

namespace mlir::hk {

class SafetensorsFile {
public:
  /// Errors (no file, truncated, not safetensors) are emitted at `loc`.
  static FailureOr<SafetensorsFile> open(Location loc, StringRef path);

  bool has(StringRef name) const { return header.getObject(name); }
  StringRef getPath() const { return path; }
  /// Further files of the model (kFurtherFilesKey), as the file names them;
  /// failure, with an error at `loc`, if what it has there is no list of paths.
  FailureOr<std::vector<std::string>> getFurtherFiles(Location loc) const;
  /// The bytes of a tensor that `op` needs, after checking that name, dtype,
  /// shape and size are what it says; errors are emitted at `op`.
  FailureOr<StringRef> find(WeightOp op, StringRef name,
                            RankedTensorType type) const;

private:
  std::string path;
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  llvm::json::Object header;
  StringRef data;
};

/// The tensors of several files.
class WeightFiles {
public:
  /// Adds a safetensors file and those that it names (kFurtherFilesKey), or
  /// those that an index (`*.json`: an object "weight_map" from names to files
  /// beside it) names. Errors are emitted at `loc`.
  LogicalResult add(Location loc, StringRef path);

  struct Tensor {
    StringRef bytes, path;
  };
  /// See SafetensorsFile::find; of equal names the file that was added first
  /// counts.
  FailureOr<Tensor> find(WeightOp op, StringRef name,
                         RankedTensorType type) const;
  FailureOr<Tensor> find(WeightOp op) const {
    return find(op, op.getSource(), op.getWholeType());
  }

private:
  LogicalResult addIndex(Location loc, StringRef path);
  LogicalResult addFile(Location loc, StringRef path);
  std::vector<SafetensorsFile> files;
};

} // namespace mlir::hk

#endif // HK_COMPILER_SAFETENSORS_H
