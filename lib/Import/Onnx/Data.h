//===- Data.h - Tensors of a model file ----------------------- -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Element types of ONNX and the numbers a model file brings: initializers,
// constants, tensors in files beside the model.
//
//===----------------------------------------------------------------------===//

#ifndef HK_IMPORT_ONNX_DATA_H
#define HK_IMPORT_ONNX_DATA_H

#include "hk/Import/Onnx.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MemoryBuffer.h"

#include <deque>

namespace onnx {
class TensorProto;
} // namespace onnx

namespace mlir::hk::importer {

/// Element types, by ONNX's numbers (TensorProto.DataType).
enum DType : int {
  kFloat = 1,
  kUInt8 = 2,
  kInt8 = 3,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kBFloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E5M2FNUZ = 20,
  kUInt4 = 21,
  kInt4 = 22,
};

struct DTypeInfo {
  int number;
  const char *name;        // as ONNX calls it
  const char *safetensors; // "" where hk has no such tensors; of integers of 4
                           // bits the type of the bytes that hold two
  unsigned bits;
  bool isFloat;
};
/// Null for a number that ONNX does not have, or a type that is no number.
const DTypeInfo *dtypeInfo(int number);
/// `float`, or `type 77` for what ONNX does not have.
std::string dtypeName(int number);
/// hk's element type; null where hk has none.
Type elementType(int dtype, MLIRContext *context);

/// Numbers known at import. The bytes are little-endian and packed.
struct Data {
  int dtype = kFloat;
  SmallVector<int64_t> sizes;
  StringRef bytes;

  int64_t getNumElements() const;
  /// Element `i`, of any type but f8, f4.
  double number(int64_t i) const;
  int64_t integer(int64_t i) const;
};

/// Holds what `Data` point to.
class DataStore {
public:
  /// `folder`: of the model, where its external data lie.
  DataStore(MLIRContext *context, std::string folder,
            const OnnxOptions &options)
      : context(context), folder(std::move(folder)), options(options) {}

  /// Checks and reads a tensor; errors at `loc` name it. Typed fields are
  /// converted, raw and external bytes stay where they are.
  FailureOr<Data> read(Location loc, const ::onnx::TensorProto &tensor);
  /// A tensor of these numbers, converted to `dtype`.
  Data make(int dtype, ArrayRef<int64_t> sizes, ArrayRef<double> numbers);
  Data makeIntegers(int dtype, ArrayRef<int64_t> sizes,
                    ArrayRef<int64_t> numbers);
  /// uint8 as the int8 that hk has in its place: less 128.
  Data lessHalf(const Data &data);
  StringRef keep(std::string bytes);

private:
  FailureOr<StringRef>
  readExternal(Location loc, const ::onnx::TensorProto &tensor, uint64_t size);

  MLIRContext *context;
  std::string folder;
  const OnnxOptions &options;
  std::deque<std::string> owned;
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> mapped;
};

} // namespace mlir::hk::importer

#endif // HK_IMPORT_ONNX_DATA_H
