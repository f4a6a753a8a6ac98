//===- DataStore.cpp - Reading of the numbers of a model ------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The file is not trusted: sizes are multiplied with care, counts must agree,
// and external data may only lie in the folder of the model.
//
//===----------------------------------------------------------------------===//

#include "Data.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

#include <onnx/onnx_pb.h>

using namespace mlir;
using namespace mlir::hk::importer;
namespace fs = llvm::sys::fs;

/// Bytes of a tensor with these dims; nullopt if they are no sizes.
static std::optional<uint64_t> byteCount(ArrayRef<int64_t> sizes,
                                         unsigned bits) {
  int64_t count = 1;
  for (int64_t size : sizes)
    if (size < 0 || llvm::MulOverflow(count, size, count))
      return std::nullopt;
  int64_t total;
  if (llvm::MulOverflow<int64_t>(count, bits, total))
    return std::nullopt;
  return llvm::divideCeil(total, 8);
}

StringRef DataStore::keep(std::string bytes) {
  return owned.emplace_back(std::move(bytes));
}

Data DataStore::lessHalf(const Data &data) {
  std::string bytes = data.bytes.str();
  for (char &c : bytes)
    c ^= '\x80';
  return {kInt8, data.sizes, keep(std::move(bytes))};
}

/// Appends a typed field's elements in the width of the type.
template <typename Field>
static std::string packed(const Field &field, unsigned bits) {
  std::string bytes(field.size() * (bits / 8), '\0');
  char *at = bytes.data();
  for (auto element : field) {
    uint64_t word = 0;
    std::memcpy(&word, &element, sizeof(element));
    char little[8];
    llvm::support::endian::write64le(little, word);
    std::memcpy(at, little, bits / 8);
    at += bits / 8;
  }
  return bytes;
}

/// The elements that stand in the field of their type.
static std::string typedBytes(const ::onnx::TensorProto &tensor,
                              const mlir::hk::importer::DTypeInfo &info) {
  switch (info.number) {
  case kFloat:
    return packed(tensor.float_data(), 32);
  case kDouble:
    return packed(tensor.double_data(), 64);
  case kInt64:
    return packed(tensor.int64_data(), 64);
  case 12:
  case 13:
    return packed(tensor.uint64_data(), info.bits);
  default: // Narrow types; those of four bits have two in a byte.
    return packed(tensor.int32_data(), std::max(info.bits, 8u));
  }
}

FailureOr<Data> DataStore::read(Location loc,
                                const ::onnx::TensorProto &tensor) {
  auto error = [&] {
    return emitError(loc, "tensor '") << tensor.name() << "': ";
  };
  const mlir::hk::importer::DTypeInfo *info = dtypeInfo(tensor.data_type());
  if (!info)
    return error() << "expected elements that are numbers, but got "
                   << dtypeName(tensor.data_type());
  if (tensor.has_segment())
    return error() << "tensors in segments are not supported";
  Data data;
  data.dtype = info->number;
  data.sizes.assign(tensor.dims().begin(), tensor.dims().end());
  if (int64_t(data.sizes.size()) > options.maxRank)
    return error() << "expected at most " << options.maxRank
                   << " dims, but got " << data.sizes.size();
  std::optional<uint64_t> size = byteCount(data.sizes, info->bits);
  if (!size)
    return error() << "expected sizes that are not negative and whose product "
                      "is a number of bytes, but got ["
                   << data.sizes << "]";
  if (tensor.data_location() == ::onnx::TensorProto::EXTERNAL) {
    FailureOr<StringRef> bytes = readExternal(loc, tensor, *size);
    if (failed(bytes))
      return failure();
    data.bytes = *bytes;
  } else {
    data.bytes = tensor.has_raw_data() ? StringRef(tensor.raw_data())
                                       : keep(typedBytes(tensor, *info));
  }
  if (data.bytes.size() != *size)
    return error() << "expected " << *size << " bytes of " << info->name
                   << " for sizes [" << data.sizes << "], but got "
                   << data.bytes.size();
  // hk's booleans are 0 or 1.
  if (info->number == kBool &&
      llvm::any_of(data.bytes, [](char c) { return c & ~1; })) {
    std::string bytes = data.bytes.str();
    for (char &c : bytes)
      c = c != 0;
    data.bytes = keep(std::move(bytes));
  }
  return data;
}

FailureOr<StringRef> DataStore::readExternal(Location loc,
                                             const ::onnx::TensorProto &tensor,
                                             uint64_t size) {
  auto error = [&] {
    return emitError(loc, "tensor '") << tensor.name() << "': external data ";
  };
  StringRef location;
  uint64_t offset = 0, length = size;
  for (const auto &entry : tensor.external_data()) {
    StringRef key(entry.key()), value(entry.value());
    if (key == "location")
      location = value;
    else if ((key == "offset" && value.getAsInteger(10, offset)) ||
             (key == "length" && value.getAsInteger(10, length)))
      return error() << "expected " << key << " to be a number, but got '"
                     << value << "'";
  }
  // A link may lead out as well as "..", so that real paths are compared.
  SmallString<128> path(folder), real, root;
  llvm::sys::path::append(path, location);
  if (location.empty() || location.contains('\0') ||
      llvm::sys::path::is_absolute(location))
    return error() << "expected a path relative to the model, but got '"
                   << location << "'";
  if (std::error_code code = fs::real_path(path, real))
    return error() << "cannot be read: '" << path << "': " << code.message();
  if (fs::real_path(folder, root) ||
      !StringRef(real).starts_with((root == "/" ? root : root + "/").str()))
    return error() << "expected in the folder of the model, '" << root
                   << "', but '" << location << "' is '" << real << "'";
  uint64_t total = 0;
  if (!fs::is_regular_file(real) || fs::file_size(real, total))
    return error() << "expected '" << real << "' to be a regular file";
  if (length != size)
    return error() << "expected " << size << " bytes, but its length is "
                   << length;
  if (offset > total || size > total - offset)
    return error() << "expected " << size << " bytes at " << offset << " of '"
                   << real << "', but it has " << total << " bytes";
  auto buffer = llvm::MemoryBuffer::getFileSlice(real, size, offset);
  if (!buffer)
    return error() << "cannot be read: '" << real
                   << "': " << buffer.getError().message();
  mapped.push_back(std::move(*buffer));
  return mapped.back()->getBuffer();
}

Data DataStore::make(int dtype, ArrayRef<int64_t> sizes,
                     ArrayRef<double> numbers) {
  const mlir::hk::importer::DTypeInfo &info = *dtypeInfo(dtype);
  if (!info.isFloat)
    return makeIntegers(dtype, sizes,
                        llvm::map_to_vector(numbers, [](double number) {
                          bool inside = number >= -0x1p63 && number < 0x1p63;
                          return inside ? int64_t(number) : 0;
                        }));
  const llvm::fltSemantics &semantics =
      cast<FloatType>(dtype == kDouble ? Float64Type::get(context)
                                       : elementType(dtype, context))
          .getFloatSemantics();
  std::string bytes;
  for (double number : numbers) {
    llvm::APFloat value(number);
    bool lost;
    value.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &lost);
    char little[8];
    llvm::support::endian::write64le(little,
                                     value.bitcastToAPInt().getZExtValue());
    bytes.append(little, info.bits / 8);
  }
  return {dtype, SmallVector<int64_t>(sizes), keep(std::move(bytes))};
}

Data DataStore::makeIntegers(int dtype, ArrayRef<int64_t> sizes,
                             ArrayRef<int64_t> numbers) {
  std::string bytes;
  for (int64_t number : numbers) {
    char little[8];
    llvm::support::endian::write64le(little,
                                     dtype == kBool ? number != 0 : number);
    bytes.append(little, std::max(dtypeInfo(dtype)->bits, 8u) / 8);
  }
  return {dtype, SmallVector<int64_t>(sizes), keep(std::move(bytes))};
}
