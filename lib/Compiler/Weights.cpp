//===- Weights.cpp - The weights file of a module -------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The file is mapped, never copied as a whole: tensors stream from the mapping
// to the sidecar one by one.
//
//===----------------------------------------------------------------------===//

#include "Weights.h"
#include "hk/Compiler/Safetensors.h"
#include "hk/Dialect/HK.h"
#include "hk/Reference/Interpreter.h"

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

/// `fill` gives a weight its bytes; one weight after the other, so that only
/// one is in memory beside the two files.
LogicalResult writeSidecar(
    Location loc, StringRef path, ArrayRef<WeightRecord> weights,
    llvm::function_ref<LogicalResult(size_t, MutableArrayRef<uint8_t>)> fill) {
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
  header.append(
      llvm::offsetToAlignment(8 + header.size(), llvm::Align(kAlignment)), ' ');
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
  for (auto [i, at] : llvm::enumerate(offsets))
    if (failed(fill(i, {base + 8 + header.size() + at, weights[i].bytes})))
      return failure();
  if (llvm::Error error = (*out)->commit())
    return fail(std::move(error));
  return success();
}

/// What the recipe of `op` makes of the tensors it names.
LogicalResult evaluateRecipe(WeightOp op, const SafetensorsFile &file,
                             MutableArrayRef<uint8_t> bytes) {
  Block &recipe = op.getRecipe().front();
  SmallVector<reference::Tensor> inputs;
  for (auto [name, argument] :
       llvm::zip_equal(op.getInputs()->getAsValueRange<StringAttr>(),
                       recipe.getArguments())) {
    auto type = cast<RankedTensorType>(argument.getType());
    FailureOr<StringRef> source = file.find(op, name, type);
    if (failed(source))
      return failure();
    FailureOr<reference::Tensor> tensor =
        reference::fromBytes(*dtypeOf(type.getElementType()), type.getShape(),
                             {source->bytes_begin(), source->bytes_end()});
    if (failed(tensor))
      return failure();
    inputs.push_back(std::move(*tensor));
  }
  FailureOr<SmallVector<reference::Tensor>> result =
      reference::interpret(recipe, inputs);
  if (failed(result))
    return failure();
  std::vector<uint8_t> made = reference::toBytes(result->front());
  if (made.size() != bytes.size())
    return op.emitOpError("expected its recipe to make ")
           << bytes.size() << " bytes, but got " << made.size();
  llvm::copy(made, bytes.begin());
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

  FailureOr<SafetensorsFile> file =
      SafetensorsFile::open(module.getLoc(), source);
  if (failed(file))
    return failure();
  auto fill = [&](size_t i, MutableArrayRef<uint8_t> to) -> LogicalResult {
    if (ops[i].getInputs()) {
      if (failed(evaluateRecipe(ops[i], *file, to)))
        return failure();
    } else {
      FailureOr<StringRef> bytes = file->find(ops[i]);
      if (failed(bytes))
        return failure();
      llvm::copy(*bytes, to.begin());
    }
    weights[i].checksum = llvm::xxh3_64bits(to);
    return success();
  };
  if (failed(writeSidecar(module.getLoc(), sidecar, weights, fill)))
    return failure();
  return weights;
}
