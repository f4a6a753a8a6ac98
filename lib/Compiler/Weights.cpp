//===- Weights.cpp - The weights file of a module -------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The file is mapped, never copied as a whole: tensors stream from the mapping to the
// sidecar one by one. Format: https://github.com/huggingface/safetensors (an 8-byte
// little-endian header length, a JSON header, the bytes).
//
//===----------------------------------------------------------------------===//

#include "Weights.h"
#include "hk/Dialect/HK.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileOutputBuffer.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace mlir::hk;

namespace {
constexpr uint64_t kAlignment = 256;

/// The safetensors name of an element type; "" if the format has none.
StringRef safetensorsName(::hk::DType dtype) {
  switch (dtype) {
  case ::hk::DType::F32:
    return "F32";
  case ::hk::DType::BF16:
    return "BF16";
  case ::hk::DType::F16:
    return "F16";
  case ::hk::DType::F8E4M3FN:
    return "F8_E4M3";
  case ::hk::DType::F8E5M2:
    return "F8_E5M2";
  case ::hk::DType::F8E8M0FNU:
    return "F8_E8M0";
  case ::hk::DType::I1:
    return "BOOL";
  case ::hk::DType::I8:
    return "I8";
  case ::hk::DType::I32:
    return "I32";
  case ::hk::DType::I64:
    return "I64";
  case ::hk::DType::F4E2M1FN:
    return "F4";
  default:
    return "";
  }
}

struct File {
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  llvm::json::Object header;
  StringRef data;
};

FailureOr<File> openSafetensors(Location loc, StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return emitError(loc, "cannot read the weights file '")
           << path << "': " << buffer.getError().message();
  StringRef bytes = (*buffer)->getBuffer();
  uint64_t length =
      bytes.size() < 8 ? 0 : llvm::support::endian::read64le(bytes.data());
  if (bytes.size() < 8 || length > bytes.size() - 8)
    return emitError(loc, "'") << path
                               << "' is not a safetensors file, or it is "
                                  "truncated: "
                               << bytes.size() << " bytes, header of "
                               << length;
  auto header = llvm::json::parse(bytes.substr(8, length));
  if (!header || !header->getAsObject()) {
    llvm::consumeError(header.takeError());
    return emitError(loc, "'")
           << path << "' is not a safetensors file: its header is not a JSON "
                      "object";
  }
  File file;
  file.header = std::move(*header->getAsObject());
  file.data = bytes.substr(8 + length);
  file.buffer = std::move(*buffer);
  return file;
}

/// The bytes of a weight, after checking what the file says of it.
FailureOr<StringRef> findTensor(const File &file, WeightOp op,
                                const WeightRecord &weight) {
  const llvm::json::Object *entry = file.header.getObject(weight.source);
  if (!entry)
    return op.emitOpError("expected the weights file to hold a tensor '")
           << weight.source << "', but it does not";
  std::optional<StringRef> dtype = entry->getString("dtype");
  if (!dtype || *dtype != safetensorsName(weight.dtype))
    return op.emitOpError("expected dtype ")
           << safetensorsName(weight.dtype) << " of tensor '" << weight.source
           << "', but got " << dtype.value_or("none");
  const llvm::json::Array *shape = entry->getArray("shape");
  bool same = shape && shape->size() == weight.sizes.size();
  for (size_t i = 0; same && i < weight.sizes.size(); ++i)
    same = (*shape)[i].getAsInteger() == weight.sizes[i];
  if (!same)
    return op.emitOpError("expected the shape of tensor '")
           << weight.source << "' to be that of " << op.getType();
  const llvm::json::Array *offsets = entry->getArray("data_offsets");
  std::optional<int64_t> begin, end;
  if (offsets && offsets->size() == 2) {
    begin = (*offsets)[0].getAsInteger();
    end = (*offsets)[1].getAsInteger();
  }
  if (!begin || !end || *begin < 0 || *end < *begin ||
      static_cast<uint64_t>(*end) > file.data.size() ||
      static_cast<uint64_t>(*end - *begin) != weight.bytes)
    return op.emitOpError("expected ")
           << weight.bytes << " bytes of tensor '" << weight.source
           << "' inside the weights file; it is damaged or truncated";
  return file.data.substr(*begin, weight.bytes);
}

LogicalResult writeSidecar(Location loc, StringRef path,
                           ArrayRef<WeightRecord> weights,
                           ArrayRef<StringRef> contents) {
  std::string header = "{";
  llvm::raw_string_ostream json(header);
  uint64_t offset = 0;
  SmallVector<uint64_t> offsets;
  for (auto [i, w] : llvm::enumerate(weights)) {
    offsets.push_back(offset);
    json << (i ? ",\n" : "\n") << llvm::json::Value(w.source)
         << ":{\"dtype\":\"" << safetensorsName(w.dtype) << "\",\"shape\":[";
    llvm::interleave(w.sizes, json, ",");
    json << "],\"data_offsets\":[" << offset << ',' << offset + w.bytes << "]}";
    offset = llvm::alignTo(offset + w.bytes, kAlignment);
  }
  json << "\n}";
  json.flush();
  header.append(llvm::offsetToAlignment(8 + header.size(),
                                        llvm::Align(kAlignment)),
                ' ');
  auto fail = [&](llvm::Error error) {
    return emitError(loc, "cannot write the weights file '")
           << path << "': " << llvm::toString(std::move(error));
  };
  auto out = llvm::FileOutputBuffer::create(path, 8 + header.size() + offset);
  if (!out)
    return fail(out.takeError());
  uint8_t *base = (*out)->getBufferStart();
  llvm::support::endian::write64le(base, header.size());
  std::copy(header.begin(), header.end(), base + 8);
  for (auto [bytes, at] : llvm::zip(contents, offsets))
    std::copy(bytes.begin(), bytes.end(), base + 8 + header.size() + at);
  if (llvm::Error error = (*out)->commit())
    return fail(std::move(error));
  return success();
}
} // namespace

FailureOr<std::vector<WeightRecord>>
mlir::hk::collectWeights(ModuleOp module, StringRef source, StringRef sidecar) {
  std::vector<WeightRecord> weights;
  SmallVector<WeightOp> ops(module.getOps<WeightOp>());
  for (WeightOp op : ops) {
    auto type = cast<RankedTensorType>(op.getType());
    WeightRecord record;
    record.source = op.getSource().str();
    record.dtype = *dtypeOf(type.getElementType());
    record.sizes.assign(type.getShape().begin(), type.getShape().end());
    record.bytes = ::hk::packedBytes(record.dtype, type.getNumElements());
    weights.push_back(std::move(record));
  }
  if (source.empty())
    return weights;

  FailureOr<File> file = openSafetensors(module.getLoc(), source);
  if (failed(file))
    return failure();
  SmallVector<StringRef> contents;
  for (auto [op, weight] : llvm::zip(ops, weights)) {
    FailureOr<StringRef> bytes = findTensor(*file, op, weight);
    if (failed(bytes))
      return failure();
    weight.checksum = llvm::xxh3_64bits(*bytes);
    contents.push_back(*bytes);
  }
  if (failed(writeSidecar(module.getLoc(), sidecar, weights, contents)))
    return failure();
  return weights;
}
