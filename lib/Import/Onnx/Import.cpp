//===- Import.cpp - Import of ONNX models ---------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The file into a protobuf message, graphs into functions, weights into a
// safetensors file.
//
//===----------------------------------------------------------------------===//

#include "Functions.h"
#include "Graph.h"

#include "hk/Dialect/HK.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

#include <google/protobuf/io/coded_stream.h>
#include <onnx/onnx_pb.h>

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

struct OnnxImporter::Storage {
  MLIRContext *context;
  OnnxOptions options;
  importer::Target target;
  std::vector<std::unique_ptr<::onnx::ModelProto>> models;
  std::vector<std::unique_ptr<DataStore>> stores;
};

OnnxImporter::OnnxImporter(MLIRContext *context, const OnnxOptions &options)
    : storage(new Storage{context, options, {}, {}, {}}) {
  context->loadDialect<HKDialect, func::FuncDialect, arith::ArithDialect,
                       tensor::TensorDialect>();
  storage->target.module = ModuleOp::create(UnknownLoc::get(context));
}

OnnxImporter::~OnnxImporter() = default;

ModuleOp OnnxImporter::getModule() { return *storage->target.module; }

ArrayRef<OnnxWeight> OnnxImporter::getWeights() const {
  return storage->target.weights;
}

/// The message in a file; null after an error.
static std::unique_ptr<::onnx::ModelProto>
readModel(Location loc, StringRef path, uint64_t maxBytes) {
  auto error = [&] { return emitError(loc, "cannot read '") << path << "': "; };
  uint64_t size = 0;
  if (std::error_code code = llvm::sys::fs::file_size(path, size))
    return error() << code.message(), nullptr;
  // Protobuf's own limit is below 2 GiB.
  uint64_t most = std::min<uint64_t>(maxBytes, (uint64_t(1) << 31) - 1);
  if (size > most)
    return error() << "expected at most " << most << " bytes, but it has "
                   << size << "; keep weights in external data",
           nullptr;
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return error() << file.getError().message(), nullptr;
  // Nested deeper than a graph that hk can import.
  constexpr int kMostNested = 64;
  auto model = std::make_unique<::onnx::ModelProto>();
  StringRef bytes = (*file)->getBuffer();
  google::protobuf::io::CodedInputStream stream(
      reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
  stream.SetRecursionLimit(kMostNested);
  if (!model->ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage())
    return error() << "it is no ONNX model, or it is damaged", nullptr;
  if (!model->has_graph())
    return error() << "it has no graph", nullptr;
  return model;
}

LogicalResult OnnxImporter::add(StringRef path, StringRef function) {
  Location loc = FileLineColLoc::get(storage->context, path, 0, 0);
  if (storage->target.module->lookupSymbol(function))
    return emitError(loc, "expected functions of different names, but '")
           << function << "' is there already";
  auto model = readModel(loc, path, storage->options.maxFileBytes);
  if (!model || failed(inlineFunctions(loc, *model, storage->options)))
    return failure();
  storage->models.push_back(std::move(model));
  StringRef folder = llvm::sys::path::parent_path(path);
  storage->stores.push_back(std::make_unique<DataStore>(
      storage->context, folder.empty() ? "." : folder.str(), storage->options));
  GraphImporter graph(storage->target, *storage->stores.back(),
                      storage->options, path, *storage->models.back());
  if (succeeded(graph.run(function)) &&
      succeeded(verify(*storage->target.module)))
    return success();
  // Models that are added later see a whole module.
  if (Operation *half = storage->target.module->lookupSymbol(function))
    half->erase();
  return failure();
}

llvm::Error OnnxImporter::writeWeights(OutputFile &file) const {
  std::string header = "{";
  llvm::raw_string_ostream json(header);
  uint64_t offset = 0;
  for (auto [i, weight] : llvm::enumerate(storage->target.weights)) {
    json << (i ? ",\n" : "\n")
         << llvm::json::Value(llvm::json::fixUTF8(weight.name))
         << ":{\"dtype\":\"" << weight.dtype << "\",\"shape\":[";
    llvm::interleave(weight.sizes, json, ",");
    json << "],\"data_offsets\":[" << offset << ','
         << offset + weight.bytes.size() << "]}";
    offset += weight.bytes.size();
  }
  json << "\n}";
  json.flush();
  header.append(llvm::offsetToAlignment(header.size(), llvm::Align(8)), ' ');
  char length[8];
  llvm::support::endian::write64le(length, header.size());
  for (StringRef part : {StringRef(length, sizeof(length)), StringRef(header)})
    if (llvm::Error error = file.append(part))
      return error;
  for (const OnnxWeight &weight : storage->target.weights)
    if (llvm::Error error = file.append(weight.bytes))
      return error;
  return llvm::Error::success();
}

std::vector<std::string> OnnxImporter::getNamedDims() const {
  std::vector<std::string> names;
  for (const auto &model : storage->models)
    for (const auto *values :
         {&model->graph().input(), &model->graph().output()})
      for (const auto &value : *values)
        for (const auto &dim : value.type().tensor_type().shape().dim())
          if (!dim.dim_param().empty() &&
              !llvm::is_contained(names, dim.dim_param()))
            names.push_back(dim.dim_param());
  return names;
}

std::vector<std::string> OnnxImporter::getUnknownDims() const {
  std::vector<std::string> named = getNamedDims(), unknown;
  for (const auto &dim : storage->options.dims)
    if (!llvm::is_contained(named, dim.getKey()))
      unknown.push_back(dim.getKey().str());
  llvm::sort(unknown);
  return unknown;
}
