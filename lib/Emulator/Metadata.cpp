//===- Metadata.cpp - Kernel metadata of a code object
//------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's document reader does not survive every note (a map or an array as the
// key of a map, for one), so the note is walked first.
//
//===----------------------------------------------------------------------===//

#include "Metadata.h"
#include <llvm/BinaryFormat/MsgPackDocument.h>
#include <llvm/BinaryFormat/MsgPackReader.h>

namespace hk::emu {
namespace {

using llvm::msgpack::MapDocNode;
using llvm::msgpack::Type;

/// Whether the note is one well-formed value, not too deep, whose maps have
/// strings as keys.
bool isWellFormed(llvm::StringRef note) {
  struct Open {
    uint64_t left; ///< values still to come
    bool isMap;
  };
  constexpr size_t deepest = 32;
  std::vector<Open> open;
  llvm::msgpack::Reader reader(note);
  llvm::msgpack::Object object;
  do {
    auto more = reader.read(object);
    if (!more) {
      llvm::consumeError(more.takeError());
      return false;
    }
    if (!*more)
      return false;
    bool isKey =
        !open.empty() && open.back().isMap && open.back().left % 2 == 0;
    if (isKey && object.Kind != Type::String)
      return false;
    if (!open.empty())
      --open.back().left;
    bool isMap = object.Kind == Type::Map;
    if (isMap || object.Kind == Type::Array) {
      if (open.size() == deepest || object.Length > note.size())
        return false;
      open.push_back({uint64_t(object.Length) * (isMap ? 2 : 1), isMap});
    } else if (object.Kind == Type::Extension || object.Kind == Type::Empty) {
      return false;
    }
    while (!open.empty() && !open.back().left)
      open.pop_back();
  } while (!open.empty());
  return true;
}

uint32_t number(const llvm::msgpack::DocNode &node, uint32_t otherwise) {
  if (node.getKind() == Type::UInt)
    return uint32_t(std::min<uint64_t>(node.getUInt(), ~0u));
  if (node.getKind() == Type::Int)
    return uint32_t(node.getInt());
  return otherwise;
}

uint32_t field(MapDocNode &map, const char *key, uint32_t otherwise) {
  auto it = map.find(key);
  return it == map.end() ? otherwise : number(it->second, otherwise);
}

std::string readArgs(MapDocNode &map, Kernel &kernel) {
  auto args = map.find(".args");
  if (args == map.end() || !args->second.isArray())
    return "";
  for (auto &node : args->second.getArray()) {
    if (!node.isMap())
      return "an argument of kernel '" + kernel.name + "' is no map";
    auto &argMap = node.getMap();
    KernelArg arg;
    arg.offset = field(argMap, ".offset", 0);
    arg.size = field(argMap, ".size", 0);
    if (uint64_t(arg.offset) + arg.size > kernel.kernargBytes)
      return "argument " + std::to_string(kernel.args.size()) + " of kernel '" +
             kernel.name + "' ends at byte " +
             std::to_string(uint64_t(arg.offset) + arg.size) + " of " +
             std::to_string(kernel.kernargBytes);
    auto kind = argMap.find(".value_kind");
    if (kind != argMap.end() && kind->second.isString())
      arg.kind = kind->second.getString().str();
    kernel.args.push_back(arg);
  }
  return "";
}

std::string readKernel(MapDocNode &map, Kernel &kernel) {
  kernel.maxWorkgroupSize =
      field(map, ".max_flat_workgroup_size", kernel.maxWorkgroupSize);
  auto required = map.find(".reqd_workgroup_size");
  if (required != map.end() && required->second.isArray())
    for (unsigned d = 0; d < 3 && d < required->second.getArray().size(); ++d)
      kernel.requiredSize[d] = number(required->second.getArray()[d], 0);
  return readArgs(map, kernel);
}

} // namespace

std::string readMetadata(llvm::StringRef note, std::vector<Kernel> &kernels) {
  llvm::msgpack::Document doc;
  if (!isWellFormed(note) || !doc.readFromBlob(note, false))
    return "unreadable kernel metadata";
  if (!doc.getRoot().isMap())
    return "";
  auto &root = doc.getRoot().getMap();
  auto list = root.find("amdhsa.kernels");
  if (list == root.end() || !list->second.isArray())
    return "";
  for (auto &node : list->second.getArray()) {
    if (!node.isMap())
      continue;
    auto &map = node.getMap();
    auto symbol = map.find(".symbol");
    if (symbol == map.end() || !symbol->second.isString())
      continue;
    for (Kernel &kernel : kernels)
      if (kernel.name + ".kd" == symbol->second.getString().str())
        if (std::string error = readKernel(map, kernel); !error.empty())
          return error;
  }
  return "";
}

} // namespace hk::emu
