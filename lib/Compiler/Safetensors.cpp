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

#include "hk/Contract/WeightFile.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::hk;

/// "U8 [512, 128]".
static std::string textOf(StringRef dtype, ArrayRef<int64_t> sizes) {
  std::string text = (dtype + " [").str();
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(sizes, os);
  os << ']';
  return text;
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

FailureOr<std::vector<std::string>>
SafetensorsFile::getFurtherFiles(Location loc) const {
  std::vector<std::string> files;
  const llvm::json::Object *metadata = header.getObject("__metadata__");
  std::optional<StringRef> text =
      metadata ? metadata->getString(::hk::kFurtherFilesKey) : std::nullopt;
  if (!text)
    return files;
  auto list = llvm::json::parse(*text);
  llvm::json::Path::Root root;
  if (list && llvm::json::fromJSON(*list, files, root))
    return files;
  llvm::consumeError(list.takeError());
  return emitError(loc, "expected a list of paths in '")
         << ::hk::kFurtherFilesKey << "' of the weights file '" << path
         << "', but got '" << *text << "'";
}

FailureOr<StringRef> SafetensorsFile::find(WeightOp op, StringRef name,
                                           RankedTensorType type) const {
  ::hk::DType expected = *dtypeOf(type.getElementType());
  uint64_t bytes = ::hk::packedBytes(expected, type.getNumElements());
  const llvm::json::Object *entry = header.getObject(name);
  if (!entry)
    return op.emitOpError("expected '")
           << path << "' to hold a tensor '" << name << "', but it does not";
  StringRef dtype = entry->getString("dtype").value_or("none");
  SmallVector<int64_t> sizes;
  if (const llvm::json::Array *shape = entry->getArray("shape"))
    for (const llvm::json::Value &size : *shape)
      sizes.push_back(size.getAsInteger().value_or(-1));
  bool packed = ::hk::isPacked(expected);
  if (!packed && dtype != ::hk::safetensorsName(expected))
    return op.emitOpError("expected dtype ")
           << ::hk::safetensorsName(expected) << " of tensor '" << name
           << "', but got " << dtype;
  if (!::hk::holdsWeight(expected, type.getShape(), std::string_view(dtype),
                         sizes))
    return op.emitOpError("expected tensor '")
           << name << "' to hold the elements of " << type << ", but got "
           << textOf(dtype, sizes)
           << (packed ? "; integers (U8, I8, I32) must hold as many of 4 bits "
                        "behind the same first size"
                      : "");
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
    if (failed(addFile(loc, file)))
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
  if (failed(addFile(loc, path)))
    return failure();
  auto further = files.back().getFurtherFiles(loc);
  if (failed(further))
    return failure();
  for (const std::string &other : *further) {
    SmallString<128> place(llvm::sys::path::parent_path(path));
    llvm::sys::path::append(place, other);
    if (failed(addFile(loc, place)))
      return emitError(loc, "'")
             << path << "' names this file: put it back, or import the model "
             << "again, with --copy-weights to have all of them in one file";
  }
  return success();
}

LogicalResult WeightFiles::addFile(Location loc, StringRef path) {
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
