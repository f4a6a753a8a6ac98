//===- Weights.cpp - The weights file of a module -------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files are mapped, never copied as a whole: tensors stream from the mappings
// to the module's own file one by one.
//
//===----------------------------------------------------------------------===//

#include "Weights.h"
#include "hk/Compiler/Safetensors.h"
#include "hk/Contract/WeightFile.h"
#include "hk/Dialect/HK.h"
#include "hk/Reference/Interpreter.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

#include <filesystem>

using namespace mlir;
using namespace mlir::hk;

namespace {
constexpr uint64_t kAlignment = 256;

/// The sizes that a file has of a weight: of i4 and ui4 those of its bytes.
SmallVector<int64_t> fileSizes(const WeightRecord &w) {
  SmallVector<int64_t> sizes(ArrayRef<int64_t>(w.sizes));
  if (::hk::packedElements(::hk::safetensorsName(w.dtype)) == 2 &&
      ::hk::isPacked(w.dtype))
    sizes.back() /= 2;
  return sizes;
}

/// The header of a file with these weights, padded so that the data begin
/// aligned, and where each weight begins.
std::string headerOf(ArrayRef<const WeightRecord *> weights) {
  std::string header = "{";
  llvm::raw_string_ostream json(header);
  uint64_t offset = 0;
  for (auto [i, w] : llvm::enumerate(weights)) {
    json << (i ? ",\n" : "\n") << llvm::json::Value(w->source)
         << ":{\"dtype\":\"" << ::hk::safetensorsName(w->dtype)
         << "\",\"shape\":[";
    llvm::interleave(fileSizes(*w), json, ",");
    json << "],\"data_offsets\":[" << offset << ',' << offset + w->bytes
         << "]}";
    offset = llvm::alignTo(offset + w->bytes, kAlignment);
  }
  json << "\n}";
  json.flush();
  header.append(
      llvm::offsetToAlignment(8 + header.size(), llvm::Align(kAlignment)), ' ');
  char length[8];
  llvm::support::endian::write64le(length, header.size());
  return std::string(length, sizeof(length)) + header;
}

/// The path from the folder of the module `output` to `file`.
std::string pathFromModule(StringRef output, StringRef file) {
  SmallString<128> folder(llvm::sys::path::parent_path(output)), from, to;
  if (folder.empty())
    folder = ".";
  if (llvm::sys::fs::real_path(folder, from) ||
      llvm::sys::fs::real_path(file, to))
    return file.str();
  return std::filesystem::path(to.c_str())
      .lexically_relative(from.c_str())
      .string();
}

/// Those of all parts, or of the whole.
void addChecksums(WeightOp op, StringRef bytes, WeightRecord &record) {
  if (record.slices.empty()) {
    record.checksums.push_back(llvm::xxh3_64bits(bytes));
    return;
  }
  std::optional<::hk::Mesh> mesh = meshOf(op);
  std::vector<std::string> parts{bytes.str()};
  // A packed tensor is cut as the bytes that it is.
  int64_t perItem = ::hk::isPacked(record.dtype) ? 2 : 1;
  int64_t itemBytes = perItem == 2 ? 1 : ::hk::packedBytes(record.dtype, 1);
  std::vector<int64_t> sizes = record.sizes;
  if (perItem == 2)
    sizes.back() /= 2;
  for (const ::hk::WeightSlice &slice :
       ::hk::bytesOfSlices(record.slices, record.sizes.size(), perItem)) {
    int64_t ranks = mesh->axes()[mesh->find(slice.axis)].size;
    std::vector<std::string> cut;
    for (const std::string &part : parts)
      for (int64_t place = 0; place < ranks; ++place) {
        cut.emplace_back(part.size() / slice.wholeSize() * slice.partSize(),
                         '\0');
        ::hk::cutWeight(slice, sizes, itemBytes, place, ranks, part.data(),
                        cut.back().data());
      }
    sizes[slice.dim] = slice.partSize();
    parts = std::move(cut);
  }
  for (const std::string &part : parts)
    record.checksums.push_back(llvm::xxh3_64bits(part));
}

/// The hk.concat of its arguments that a recipe is, or null: as most are, of
/// products that became one. Its parts are whole bytes, nothing is computed.
ConcatOp joinOf(Block &recipe) {
  auto join = dyn_cast<ConcatOp>(recipe.front());
  if (!join || recipe.getTerminator()->getOperand(0) != join.getResult() ||
      !llvm::all_of(join.getInputs(), llvm::IsaPred<BlockArgument>))
    return {};
  auto partIsBytes = [&](Value input) {
    auto type = cast<RankedTensorType>(input.getType());
    int64_t part =
        ShapedType::getNumElements(type.getShape().drop_front(join.getDim()));
    return !::hk::isPacked(*dtypeOf(type.getElementType())) || part % 2 == 0;
  };
  return llvm::all_of(join.getInputs(), partIsBytes) ? join : ConcatOp();
}

std::vector<uint8_t> joinBytes(ConcatOp join, ArrayRef<StringRef> sources,
                               uint64_t bytes) {
  int64_t rows = ShapedType::getNumElements(
      join.getType().getShape().take_front(join.getDim()));
  std::vector<uint8_t> made;
  made.reserve(bytes);
  for (int64_t row = 0; row < rows; ++row)
    for (Value input : join.getInputs()) {
      StringRef source = sources[cast<BlockArgument>(input).getArgNumber()];
      size_t part = source.size() / rows;
      StringRef own = source.substr(row * part, part);
      made.insert(made.end(), own.bytes_begin(), own.bytes_end());
    }
  return made;
}

/// What the recipe of `op` makes of the tensors it names.
FailureOr<std::vector<uint8_t>>
evaluateRecipe(WeightOp op, const WeightFiles &files, uint64_t bytes) {
  Block &recipe = op.getRecipe().front();
  SmallVector<StringRef> sources;
  for (auto [name, argument] :
       llvm::zip_equal(op.getInputs()->getAsValueRange<StringAttr>(),
                       recipe.getArguments())) {
    FailureOr<WeightFiles::Tensor> source =
        files.find(op, name, cast<RankedTensorType>(argument.getType()));
    if (failed(source))
      return failure();
    sources.push_back(source->bytes);
  }
  if (ConcatOp join = joinOf(recipe))
    return joinBytes(join, sources, bytes);
  SmallVector<reference::Tensor> inputs;
  for (auto [bytes, argument] :
       llvm::zip_equal(sources, recipe.getArguments())) {
    auto type = cast<RankedTensorType>(argument.getType());
    FailureOr<reference::Tensor> tensor =
        reference::fromBytes(*dtypeOf(type.getElementType()), type.getShape(),
                             {bytes.bytes_begin(), bytes.bytes_end()});
    if (failed(tensor))
      return failure();
    inputs.push_back(std::move(*tensor));
  }
  FailureOr<SmallVector<reference::Tensor>> result =
      reference::interpret(recipe, inputs);
  if (failed(result))
    return failure();
  std::vector<uint8_t> made = reference::toBytes(result->front());
  if (made.size() != bytes)
    return op.emitOpError("expected its recipe to make ")
           << bytes << " bytes, but got " << made.size();
  return made;
}

/// Writes the weights that are computed, and with `pack` all; they get their
/// checksums.
class OwnFileWriter {
public:
  OwnFileWriter(Location loc, const WeightFiles &files, OutputFile &out)
      : loc(loc), files(files), out(out) {}

  LogicalResult append(StringRef bytes) {
    if (llvm::Error error = out.append(bytes))
      return emitError(loc, llvm::toString(std::move(error)));
    return success();
  }

  LogicalResult append(WeightOp op, WeightRecord &record) {
    std::vector<uint8_t> made;
    StringRef bytes;
    if (op.getInputs()) {
      FailureOr<std::vector<uint8_t>> result =
          evaluateRecipe(op, files, record.bytes);
      if (failed(result))
        return failure();
      made = std::move(*result);
      bytes = {reinterpret_cast<const char *>(made.data()), made.size()};
    } else {
      FailureOr<WeightFiles::Tensor> found = files.find(op);
      if (failed(found))
        return failure();
      bytes = found->bytes;
    }
    addChecksums(op, bytes, record);
    // Ranks may have several parts of a tensor that is in the file once.
    if (!written.insert(record.source).second)
      return success();
    std::string padding(
        llvm::offsetToAlignment(bytes.size(), llvm::Align(kAlignment)), '\0');
    return failure(failed(append(bytes)) || failed(append(padding)));
  }

private:
  Location loc;
  const WeightFiles &files;
  OutputFile &out;
  llvm::StringSet<> written;
};
} // namespace

FailureOr<CollectedWeights>
mlir::hk::collectWeights(ModuleOp module, const CompileOptions &options,
                         StringRef output) {
  CollectedWeights weights;
  SmallVector<WeightOp> ops(module.getOps<WeightOp>());
  for (WeightOp op : ops) {
    RankedTensorType type = op.getWholeType();
    WeightRecord record;
    record.slices = op.getCuts();
    record.source = op.getSource().str();
    record.dtype = *dtypeOf(type.getElementType());
    record.sizes.assign(type.getShape().begin(), type.getShape().end());
    record.bytes = ::hk::packedBytes(record.dtype, type.getNumElements());
    weights.records.push_back(std::move(record));
  }
  if (options.weights.empty())
    return weights;

  WeightFiles files;
  if (failed(files.add(module.getLoc(), options.weights)))
    return failure();
  SmallVector<const WeightRecord *> own;
  llvm::StringSet<> ownNames;
  for (auto [op, record] : llvm::zip_equal(ops, weights.records)) {
    if (op.getInputs() || options.packWeights) {
      if (ownNames.insert(record.source).second)
        own.push_back(&record);
      continue;
    }
    FailureOr<WeightFiles::Tensor> found = files.find(op);
    if (failed(found))
      return failure();
    addChecksums(op, found->bytes, record);
    record.file = pathFromModule(output, found->path);
  }
  if (own.empty())
    return weights;
  llvm::Expected<OutputFile> file =
      OutputFile::create((output + ".weights").str());
  if (!file)
    return emitError(module.getLoc(), llvm::toString(file.takeError()));
  weights.ownFile.emplace(std::move(*file));
  OwnFileWriter writer(module.getLoc(), files, *weights.ownFile);
  if (failed(writer.append(headerOf(own))))
    return failure();
  for (auto [op, record] : llvm::zip_equal(ops, weights.records))
    if (op.getInputs() || options.packWeights)
      if (failed(writer.append(op, record)))
        return failure();
  return weights;
}
