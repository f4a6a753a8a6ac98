//===- Weights.cpp - Weights of a program -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A safetensors file is eight bytes of header length, a JSON object of
//   name -> {dtype, shape, data_offsets: [begin, end]}
// and the data that the offsets count from.
//
//===----------------------------------------------------------------------===//

#include "api/Weights.h"

#include "api/Types.h"
#include "hk/Contract/WeightFile.h"
#include "hk/Contract/WeightSlice.h"
#include "hk/Runtime/Seal.h"

#include <nlohmann/json.hpp>

#include <cinttypes>
#include <cstring>
#include <set>

using namespace hk;
using Json = nlohmann::json;

static constexpr uint64_t kMaxHeaderBytes = 100u << 20;
/// What the kernels ask of every address.
static constexpr uintptr_t kAlignment = 16;

static Status readTensor(const Json &entry, const uint8_t *data,
                         uint64_t dataBytes, SafetensorsFile::Tensor &tensor) {
  tensor.dtype = entry.at("dtype").get<std::string>();
  const Json &shape = entry.at("shape");
  if (!shape.is_array())
    return makeError(HK_INCOMPATIBLE, "shape %s is not a list of sizes",
                     shape.dump().c_str());
  for (const Json &size : shape) {
    if (!size.is_number_unsigned() || size.get<uint64_t>() > INT64_MAX)
      return makeError(HK_INCOMPATIBLE, "shape %s is not a list of sizes",
                       shape.dump().c_str());
    tensor.sizes.push_back(size.get<int64_t>());
  }
  const Json &offsets = entry.at("data_offsets");
  if (!offsets.is_array() || offsets.size() != 2 ||
      !offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned())
    return makeError(HK_INCOMPATIBLE, "data_offsets %s are not two offsets",
                     offsets.dump().c_str());
  uint64_t begin = offsets[0], end = offsets[1];
  if (begin > end || end > dataBytes)
    return makeError(HK_INCOMPATIBLE,
                     "data_offsets [%" PRIu64 ", %" PRIu64
                     "] lie outside the %" PRIu64
                     " bytes of data; is the file truncated?",
                     begin, end, dataBytes);
  tensor.data = data + begin;
  tensor.bytes = end - begin;
  return {};
}

Status SafetensorsFile::open(const std::string &path) {
  std::string context = "weights file '" + path + "'";
  if (Status error = file.open(path))
    return addContext(std::move(error), "weights");
  if (file.size() < 8)
    return makeError(HK_INCOMPATIBLE,
                     "%s is no safetensors file: it has %" PRIu64 " bytes",
                     context.c_str(), file.size());
  uint64_t headerBytes;
  std::memcpy(&headerBytes, file.data(), 8);
  if (headerBytes > kMaxHeaderBytes || headerBytes > file.size() - 8)
    return makeError(HK_INCOMPATIBLE,
                     "%s is no safetensors file, or is truncated: it announces "
                     "a header of %" PRIu64 " bytes and has %" PRIu64,
                     context.c_str(), headerBytes, file.size());
  const uint8_t *text = file.data() + 8, *data = text + headerBytes;
  try {
    // The parser keeps the last of two equal keys without a word.
    std::set<std::string> names;
    std::string twice;
    Json header = Json::parse(
        text, data, [&](int depth, Json::parse_event_t event, Json &parsed) {
          if (event == Json::parse_event_t::key && depth == 1 &&
              !names.insert(parsed.get<std::string>()).second)
            twice = parsed.get<std::string>();
          return true;
        });
    if (!twice.empty())
      return makeError(HK_INCOMPATIBLE, "%s has two tensors named '%s'",
                       context.c_str(), twice.c_str());
    if (!header.is_object())
      return makeError(HK_INCOMPATIBLE, "%s: the header is not a JSON object",
                       context.c_str());
    for (const auto &[name, entry] : header.items()) {
      if (name == "__metadata__") {
        if (entry.contains(kFurtherFilesKey))
          further = Json::parse(entry.at(kFurtherFilesKey).get<std::string>())
                        .get<std::vector<std::string>>();
        continue;
      }
      Tensor tensor;
      if (Status error =
              readTensor(entry, data, file.size() - 8 - headerBytes, tensor))
        return addContext(addContext(std::move(error), "tensor '" + name + "'"),
                          context);
      tensors.emplace(name, std::move(tensor));
    }
  } catch (const Json::exception &e) {
    return makeError(HK_INCOMPATIBLE,
                     "%s: the header is not that of a safetensors file: %s",
                     context.c_str(), e.what());
  }
  return {};
}

const SafetensorsFile::Tensor *
SafetensorsFile::find(const std::string &name) const {
  auto it = tensors.find(name);
  return it == tensors.end() ? nullptr : &it->second;
}

Weights::~Weights() {
  for (void *data : owned)
    device.deallocate(data);
}

/// With its slash; "" of a path that has none.
static std::string folderOf(const std::string &path) {
  return path.substr(0, path.rfind('/') + 1);
}

Status WeightFiles::openIndex(const std::string &path) {
  MappedFile file;
  if (Status error = file.open(path))
    return addContext(std::move(error), "weights");
  std::set<std::string> shards;
  try {
    Json index = Json::parse(file.data(), file.data() + file.size());
    for (const auto &[name, shard] : index.at("weight_map").items())
      shards.insert(shard.get<std::string>());
  } catch (const Json::exception &e) {
    return makeError(HK_INCOMPATIBLE,
                     "'%s' is no index of safetensors files: %s", path.c_str(),
                     e.what());
  }
  for (const std::string &shard : shards)
    if (Status error = add(folderOf(path) + shard))
      return error;
  return {};
}

Status WeightFiles::add(const std::string &path) {
  files.push_back(std::make_unique<SafetensorsFile>());
  return files.back()->open(path);
}

Status WeightFiles::open(const std::string &path) {
  const std::string ending = ".json";
  if (path.size() > ending.size() &&
      path.compare(path.size() - ending.size(), ending.size(), ending) == 0)
    return openIndex(path);
  if (Status error = add(path))
    return error;
  const SafetensorsFile &first = *files.front();
  for (const std::string &other : first.getFurtherFiles())
    if (Status error = add(folderOf(path) + other))
      return addContext(std::move(error), "'" + path + "' names this file");
  return {};
}

const SafetensorsFile::Tensor *
WeightFiles::find(const std::string &name) const {
  for (const std::unique_ptr<SafetensorsFile> &file : files)
    if (const SafetensorsFile::Tensor *tensor = file->find(name))
      return tensor;
  return nullptr;
}

Status Weights::load(const char *givenPath, const std::string &moduleFolder,
                     const hk_module_abi &abi,
                     const Communicator *communicator) {
  folder = moduleFolder;
  given = givenPath ? givenPath : "";
  if (givenPath)
    if (Status error = files[given].open(given))
      return error;
  owned.reserve(abi.num_weights);
  pointers.reserve(abi.num_weights);
  for (uint32_t i = 0; i < abi.num_weights; ++i) {
    const hk_weight_abi &weight = abi.weights[i];
    const SafetensorsFile::Tensor *tensor = nullptr;
    Status error = find(weight, abi, tensor);
    if (!error)
      error = loadOne(*tensor, weight, communicator);
    if (error)
      return addContext(std::move(error),
                        std::string("weight '") + weight.name + "'");
  }
  return {};
}

/// Where the tensor of a weight is.
Status Weights::find(const hk_weight_abi &weight, const hk_module_abi &abi,
                     const SafetensorsFile::Tensor *&tensor) {
  if (!given.empty()) {
    tensor = files.at(given).find(weight.name);
    if (tensor)
      return {};
  }
  const char *own = weight.file ? weight.file : abi.weights_file;
  std::string path = !own || own[0] == '/' ? (own ? own : "") : folder + own;
  Status error;
  if (path.empty())
    error = makeError(HK_INVALID_ARGUMENT,
                      "the module names no file for it; give one");
  else if (!files.count(path))
    error = files[path].open(path);
  if (!error)
    tensor = files[path].find(weight.name);
  else
    files.erase(path);
  if (tensor)
    return {};
  if (!given.empty())
    return makeError(HK_NOT_FOUND, "'%s' has no such tensor%s%s", given.c_str(),
                     error ? ", and " : "", error ? error.message() : "");
  if (!error)
    return makeError(HK_NOT_FOUND, "'%s' has no such tensor", path.c_str());
  if (weight.file && error.code() == HK_NOT_FOUND)
    return makeError(
        HK_NOT_FOUND,
        "%s; the module uses it where it was when it was compiled: "
        "put it back, give the weights' file, or compile with "
        "--pack-weights",
        error.message());
  return error;
}

/// Copies this rank's part; `index` becomes that of its checksum.
static std::vector<uint8_t> partOf(const SafetensorsFile::Tensor &tensor,
                                   const hk_weight_abi &weight,
                                   const Communicator &communicator,
                                   uint32_t &index) {
  DType dtype = static_cast<DType>(weight.dtype);
  int64_t perItem = isPacked(dtype) ? 2 : 1;
  int64_t itemBytes = perItem == 2 ? 1 : packedBytes(dtype, 1);
  std::vector<int64_t> sizes(weight.sizes, weight.sizes + weight.rank);
  sizes.back() /= perItem;
  std::vector<uint8_t> whole, part;
  const uint8_t *from = tensor.data;
  uint64_t bytes = tensor.bytes;
  for (uint32_t s = 0; s < weight.num_slices; ++s) {
    const hk_weight_slice_abi &abi = weight.slices[s];
    WeightSlice slice{abi.axis, abi.dim, {}};
    for (uint32_t i = 0; i < abi.num_segments; ++i)
      slice.segments.push_back({abi.sizes[i], abi.parts[i]});
    slice = bytesOfSlices({slice}, weight.rank, perItem).front();
    RankLine line = communicator.lineOf(abi.axis);
    bytes = bytes / slice.wholeSize() * slice.partSize();
    part.resize(bytes);
    cutWeight(slice, sizes, itemBytes, line.place, line.ranks.size(),
              reinterpret_cast<const char *>(from),
              reinterpret_cast<char *>(part.data()));
    index = index * line.ranks.size() + line.place;
    sizes[slice.dim] = slice.partSize();
    whole.swap(part);
    from = whole.data();
  }
  return whole;
}

/// Puts bytes where kernels read them; those that `mayStay` live as long as
/// the weights do.
Status Weights::place(const uint8_t *data, uint64_t bytes, bool mayStay) {
  bool aligned = reinterpret_cast<uintptr_t>(data) % kAlignment == 0;
  if (device.isHost() && aligned && mayStay) {
    // Weights are never written; the mapping is read-only.
    pointers.push_back(const_cast<uint8_t *>(data));
    return {};
  }
  void *copy = nullptr;
  if (Status error = device.allocate(bytes, &copy))
    return error;
  owned.push_back(copy);
  pointers.push_back(copy);
  return device.upload(copy, data, bytes);
}

Status Weights::loadOne(const SafetensorsFile::Tensor &tensor,
                        const hk_weight_abi &weight,
                        const Communicator *communicator) {
  DType dtype = static_cast<DType>(weight.dtype);
  if (!isPacked(dtype) && tensor.dtype != safetensorsName(dtype))
    return makeError(HK_INCOMPATIBLE, "expected dtype %s (%s), got %s",
                     safetensorsName(dtype), info(dtype).name,
                     tensor.dtype.c_str());
  std::vector<int64_t> sizes(weight.sizes, weight.sizes + weight.rank);
  std::string types[2];
  if (isPacked(dtype)) {
    types[0] = std::string(" of ") + info(dtype).name;
    types[1] = " of " + tensor.dtype;
  }
  if (!holdsWeight(dtype, sizes, tensor.dtype, tensor.sizes))
    return makeError(
        HK_INCOMPATIBLE, "expected shape %s%s, got %s%s",
        shapeText(sizes.data(), sizes.size()).c_str(), types[0].c_str(),
        shapeText(tensor.sizes.data(), tensor.sizes.size()).c_str(),
        types[1].c_str());
  int64_t expected = denseBytes(dtype, sizes.data(), sizes.size());
  if (expected < 0 || tensor.bytes != static_cast<uint64_t>(expected) ||
      weight.bytes != tensor.bytes)
    return makeError(HK_INCOMPATIBLE,
                     "the shape takes %" PRId64
                     " bytes, the module says %" PRIu64
                     " and the file %" PRIu64,
                     expected, weight.bytes, tensor.bytes);
  std::vector<uint8_t> part;
  const uint8_t *data = tensor.data;
  uint64_t bytes = tensor.bytes;
  uint32_t index = 0;
  if (weight.num_slices && communicator) {
    part = partOf(tensor, weight, *communicator, index);
    data = part.data();
    bytes = part.size();
  }
  if (index < weight.num_checksums) {
    uint64_t actual = XXH3_64bits(data, bytes), known = weight.checksums[index];
    if (actual != known)
      return makeError(HK_INCOMPATIBLE,
                       "the data differ from what the module was compiled "
                       "with: expected checksum %016" PRIx64
                       ", got %016" PRIx64,
                       known, actual);
  }
  return place(data, bytes, /*mayStay=*/part.empty());
}
