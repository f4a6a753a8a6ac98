//===- Safetensors.cpp - Reading of safetensors files ---------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every field that the header gives is checked before it is used.
//
//===----------------------------------------------------------------------===//

#include "hk/Compiler/Safetensors.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::hk;

StringRef mlir::hk::safetensorsName(::hk::DType dtype) {
  switch (dtype) {
  case ::hk::DType::F32:
    return "F32";
  case ::hk::DType::BF16:
    return "BF16";
  case ::hk::DType::F16:
    return "F16";
  case ::hk::DType::F8E4M3FN:
    return "F8_E4M3";
  case ::hk::DType::F8E4M3FNUZ:
    return "F8_E4M3FNUZ";
  case ::hk::DType::F8E5M2:
    return "F8_E5M2";
  case ::hk::DType::F8E5M2FNUZ:
    return "F8_E5M2FNUZ";
  case ::hk::DType::F8E8M0FNU:
    return "F8_E8M0";
  case ::hk::DType::I1:
    return "BOOL";
  case ::hk::DType::I8:
    return "I8";
  case ::hk::DType::I16:
    return "I16";
  case ::hk::DType::I32:
    return "I32";
  case ::hk::DType::I64:
    return "I64";
  case ::hk::DType::F4E2M1FN:
    return "F4";
  }
  return "";
}

FailureOr<SafetensorsFile> SafetensorsFile::open(Location loc, StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return emitError(loc, "cannot read the weights file '")
           << path << "': " << buffer.getError().message();
  StringRef bytes = (*buffer)->getBuffer();
  uint64_t length =
      bytes.size() < 8 ? 0 : llvm::support::endian::read64le(bytes.data());
  if (bytes.size() < 8 || length > bytes.size() - 8)
    return emitError(loc, "'")
           << path
           << "' is not a safetensors file, or it is "
              "truncated: "
           << bytes.size() << " bytes, header of " << length;
  auto header = llvm::json::parse(bytes.substr(8, length));
  if (!header || !header->getAsObject()) {
    llvm::consumeError(header.takeError());
    return emitError(loc, "'")
           << path
           << "' is not a safetensors file: its header is not a JSON "
              "object";
  }
  SafetensorsFile file;
  file.path = path.str();
  file.header = std::move(*header->getAsObject());
  file.data = bytes.substr(8 + length);
  file.buffer = std::move(*buffer);
  return file;
}

FailureOr<StringRef> SafetensorsFile::find(WeightOp op, StringRef name,
                                           RankedTensorType type) const {
  ::hk::DType expected = *dtypeOf(type.getElementType());
  uint64_t bytes = ::hk::packedBytes(expected, type.getNumElements());
  const llvm::json::Object *entry = header.getObject(name);
  if (!entry)
    return op.emitOpError("expected '")
           << path << "' to hold a tensor '" << name << "', but it does not";
  std::optional<StringRef> dtype = entry->getString("dtype");
  if (!dtype || *dtype != safetensorsName(expected))
    return op.emitOpError("expected dtype ")
           << safetensorsName(expected) << " of tensor '" << name
           << "', but got " << dtype.value_or("none");
  const llvm::json::Array *shape = entry->getArray("shape");
  bool same = shape && shape->size() == type.getShape().size();
  for (size_t i = 0; same && i < type.getShape().size(); ++i)
    same = (*shape)[i].getAsInteger() == type.getDimSize(i);
  if (!same)
    return op.emitOpError("expected the shape of tensor '")
           << name << "' to be that of " << type;
  const llvm::json::Array *offsets = entry->getArray("data_offsets");
  std::optional<int64_t> begin, end;
  if (offsets && offsets->size() == 2) {
    begin = (*offsets)[0].getAsInteger();
    end = (*offsets)[1].getAsInteger();
  }
  if (!begin || !end || *begin < 0 || *end < *begin ||
      static_cast<uint64_t>(*end) > data.size() ||
      static_cast<uint64_t>(*end - *begin) != bytes)
    return op.emitOpError("expected ")
           << bytes << " bytes of tensor '" << name
           << "' inside the weights file; it is damaged or truncated";
  return data.substr(*begin, bytes);
}

LogicalResult WeightFiles::addIndex(Location loc, StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return emitError(loc, "cannot read the weights index '")
           << path << "': " << buffer.getError().message();
  auto index = llvm::json::parse((*buffer)->getBuffer());
  const llvm::json::Object *map = nullptr;
  if (index && index->getAsObject())
    map = index->getAsObject()->getObject("weight_map");
  llvm::consumeError(index.takeError());
  if (!map)
    return emitError(loc, "'")
           << path << "' is no index of safetensors files: it has no object "
           << "'weight_map'";
  llvm::SetVector<StringRef> shards;
  for (const auto &[name, shard] : *map) {
    if (!shard.getAsString())
      return emitError(loc, "'") << path << "' does not say in which file '"
                                 << StringRef(name) << "' is";
    shards.insert(*shard.getAsString());
  }
  size_t first = files.size();
  for (StringRef shard : shards) {
    SmallString<128> file(llvm::sys::path::parent_path(path));
    llvm::sys::path::append(file, shard);
    if (failed(add(loc, file)))
      return failure();
  }
  for (const auto &[name, shard] : *map) {
    size_t place =
        first + (llvm::find(shards, *shard.getAsString()) - shards.begin());
    if (!files[place].has(name))
      return emitError(loc, "expected '")
             << files[place].getPath() << "' to hold the tensor '"
             << StringRef(name) << "', as '" << path << "' says";
  }
  return success();
}

LogicalResult WeightFiles::add(Location loc, StringRef path) {
  if (path.ends_with(".json"))
    return addIndex(loc, path);
  FailureOr<SafetensorsFile> file = SafetensorsFile::open(loc, path);
  if (failed(file))
    return failure();
  files.push_back(std::move(*file));
  return success();
}

FailureOr<WeightFiles::Tensor> WeightFiles::find(WeightOp op, StringRef name,
                                                 RankedTensorType type) const {
  auto file = llvm::find_if(
      files, [&](const SafetensorsFile &file) { return file.has(name); });
  if (files.empty())
    return op.emitOpError("needs a weights file");
  if (file == files.end()) {
    if (files.size() > 1)
      return op.emitOpError("expected one of ")
             << files.size() << " weights files to hold a tensor '" << name
             << "', but none does ('" << files.front().getPath() << "', ...)";
    file = files.begin();
  }
  FailureOr<StringRef> bytes = file->find(op, name, type);
  if (failed(bytes))
    return failure();
  return Tensor{*bytes, file->getPath()};
}
