//===- Onnx.h - Import of ONNX models ------------------------- -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads an ONNX model into functions of base operators. The file is not
// trusted: whatever it holds, import ends with a module or with errors that
// name node and operator.
//
//===----------------------------------------------------------------------===//

#ifndef HK_IMPORT_ONNX_H
#define HK_IMPORT_ONNX_H

#include "hk/Support/Files.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

#include <memory>
#include <string>
#include <vector>

namespace mlir::hk {

struct OnnxOptions {
  /// Fixed sizes of dims by the name the model gives them (`batch`: 1).
  llvm::StringMap<int64_t> dims;
  /// Largest model file without its external data.
  uint64_t maxFileBytes = uint64_t(2) << 30;
  /// Nodes, initializers, inputs and outputs together.
  uint64_t maxNodes = 1 << 20;
  /// Dims of a tensor.
  int64_t maxRank = 16;
  /// Elements of one tensor whose values are evaluated at import.
  int64_t maxEvaluated = 1 << 16;
};

/// A tensor that the module refers to as an hk.weight; the bytes belong to the
/// importer.
struct OnnxWeight {
  std::string name, dtype; // dtype as safetensors calls it
  std::vector<int64_t> sizes;
  StringRef bytes;
};

/// Several models in one module, each a function of its own.
class OnnxImporter {
public:
  OnnxImporter(MLIRContext *context, const OnnxOptions &options);
  ~OnnxImporter();

  /// Adds the model at `path` as function `function`. Errors are emitted.
  LogicalResult add(StringRef path, StringRef function);

  ModuleOp getModule();
  /// The weights of all models.
  ArrayRef<OnnxWeight> getWeights() const;
  /// Writes them in the format of safetensors; the caller commits the file.
  llvm::Error writeWeights(OutputFile &file) const;
  /// Names of OnnxOptions::dims that no input or output of the models has.
  std::vector<std::string> getUnknownDims() const;
  /// The sizes that the models leave open, by name, each once.
  std::vector<std::string> getNamedDims() const;

private:
  struct Storage;
  std::unique_ptr<Storage> storage;
};

/// An operator that the importer knows.
struct OnnxOperatorInfo {
  StringRef domain, name, summary;
  int since;
};
/// The table of operators, by domain and name.
std::vector<OnnxOperatorInfo> onnxOperators();

} // namespace mlir::hk

#endif // HK_IMPORT_ONNX_H
