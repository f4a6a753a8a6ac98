//===- Safetensors.cpp - Weights of the interpreter -----------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The format: an 8-byte length, a JSON header of names, dtypes, shapes and
// offsets, then the bytes.
//
//===----------------------------------------------------------------------===//

#include "hk/Reference/Safetensors.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::reference;
using ::hk::DType;

/// The file's name of an element type.
static StringRef nameOf(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return "F32";
  case DType::BF16:
    return "BF16";
  case DType::F16:
    return "F16";
  case DType::F8E4M3FN:
    return "F8_E4M3";
  case DType::F8E4M3FNUZ:
    return "F8_E4M3FNUZ";
  case DType::F8E5M2:
    return "F8_E5M2";
  case DType::F8E5M2FNUZ:
    return "F8_E5M2FNUZ";
  case DType::F4E2M1FN:
    return "F4";
  case DType::F8E8M0FNU:
    return "F8_E8M0";
  case DType::I1:
    return "BOOL";
  case DType::I8:
    return "I8";
  case DType::I32:
    return "I32";
  case DType::I64:
    return "I64";
  }
  llvm_unreachable("every element type has a case");
}

namespace {
struct File {
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  llvm::json::Object header;
  StringRef data;
};
} // namespace

/// The tensor of `weight`, whose type the file must repeat.
static FailureOr<Tensor> read(const File &file, WeightOp weight) {
  const llvm::json::Object *entry = file.header.getObject(weight.getSource());
  if (!entry)
    return weight.emitOpError("expected the weights file to have a tensor '")
           << weight.getSource() << "', but it has none";
  auto type = cast<RankedTensorType>(weight.getType());
  DType dtype = *dtypeOf(type.getElementType());
  SmallVector<int64_t> sizes;
  if (const llvm::json::Array *shape = entry->getArray("shape"))
    for (const llvm::json::Value &size : *shape)
      sizes.push_back(size.getAsInteger().value_or(-1));
  if (entry->getString("dtype").value_or("") != nameOf(dtype) ||
      type.getShape() != ArrayRef<int64_t>(sizes))
    return weight.emitOpError("expected tensor '")
           << weight.getSource() << "' of the weights file to be of type "
           << type << ", but got " << entry->getString("dtype").value_or("?")
           << " of rank " << sizes.size();
  const llvm::json::Array *offsets = entry->getArray("data_offsets");
  int64_t begin = -1, end = -1;
  if (offsets && offsets->size() == 2) {
    begin = (*offsets)[0].getAsInteger().value_or(-1);
    end = (*offsets)[1].getAsInteger().value_or(-1);
  }
  if (begin < 0 || end < begin || end > static_cast<int64_t>(file.data.size()))
    return weight.emitOpError("expected tensor '")
           << weight.getSource() << "' to lie inside the weights file";
  StringRef bytes = file.data.slice(begin, end);
  FailureOr<Tensor> tensor = fromBytes(
      dtype, sizes,
      {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
  if (failed(tensor))
    return weight.emitOpError("expected tensor '")
           << weight.getSource() << "' to have the bytes of " << type
           << ", but got " << bytes.size();
  return tensor;
}

FailureOr<WeightProvider> reference::openSafetensors(StringRef path,
                                                     std::string &error) {
  auto fail = [&](const Twine &why) {
    error = (path + ": " + why).str();
    return failure();
  };
  auto file = std::make_shared<File>();
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail(buffer.getError().message());
  file->buffer = std::move(*buffer);
  StringRef bytes = file->buffer->getBuffer();
  uint64_t length =
      bytes.size() < 8 ? 0 : llvm::support::endian::read64le(bytes.data());
  if (bytes.size() < 8 || length > bytes.size() - 8)
    return fail("expected a safetensors file, but its header is cut off");
  llvm::Expected<llvm::json::Value> header =
      llvm::json::parse(bytes.substr(8, length));
  if (!header) {
    llvm::consumeError(header.takeError());
    return fail("expected a safetensors file, but its header is no JSON");
  }
  if (!header->getAsObject())
    return fail("expected a safetensors file, but its header is no object");
  file->header = std::move(*header->getAsObject());
  file->data = bytes.drop_front(8 + length);
  return WeightProvider(
      [file](WeightOp weight) { return read(*file, weight); });
}
