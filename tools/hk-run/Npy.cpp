//===- Npy.cpp - NumPy files -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Format versions 1 to 3, C order, little endian.
//
//===----------------------------------------------------------------------===//

#include "Npy.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

using namespace hk;
using namespace hk::run;

static constexpr char kMagic[] = "\x93NUMPY";
static constexpr size_t kMagicBytes = 6;

/// NumPy's name for how an element type is stored.
static const char *descrOf(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return "<f4";
  case DType::F16:
    return "<f2";
  case DType::BF16:
    return "<u2";
  case DType::I1:
    return "|b1";
  case DType::I8:
    return "|i1";
  case DType::I16:
    return "<i2";
  case DType::I32:
    return "<i4";
  case DType::I64:
    return "<i8";
  default:
    return "|u1";
  }
}

/// The text of `'key': ` in a header, up to `end`.
static std::string field(const std::string &header, const std::string &key,
                         char begin, char end, const std::string &path) {
  size_t at = header.find("'" + key + "'");
  size_t from =
      at == header.npos ? at : header.find(begin, at + key.size() + 2);
  size_t to = from == header.npos ? from : header.find(end, from + 1);
  if (to == header.npos)
    throw Failure("'" + path + "': the .npy header has no " + key);
  return header.substr(from + 1, to - from - 1);
}

static std::vector<int64_t> parseShape(const std::string &text,
                                       const std::string &path) {
  std::vector<int64_t> sizes;
  for (size_t at = 0; at < text.size();) {
    size_t comma = std::min(text.find(',', at), text.size());
    std::string part = text.substr(at, comma - at);
    at = comma + 1;
    if (part.find_first_not_of(' ') == part.npos)
      continue;
    char *end = nullptr;
    sizes.push_back(std::strtoll(part.c_str(), &end, 10));
    if (*end || sizes.back() < 0)
      throw Failure(path + ": damaged shape");
  }
  return sizes;
}

namespace {
struct RawArray {
  std::string descr;
  std::vector<int64_t> sizes;
  std::string data;
};
} // namespace

static RawArray readRaw(const std::string &path) {
  std::ifstream file = openFile(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(file), {}};
  if (content.size() < 12 || content.compare(0, kMagicBytes, kMagic) != 0)
    throw Failure("'" + path + "' is not a .npy file");
  size_t lengthBytes = content[6] == 1 ? 2 : 4;
  uint32_t length = 0;
  std::memcpy(&length, content.data() + 8, lengthBytes);
  size_t begin = 8 + lengthBytes;
  if (length > content.size() - begin)
    throw Failure("'" + path + "' is truncated in its header");
  std::string header = content.substr(begin, length);
  RawArray array;
  array.descr = field(header, "descr", '\'', '\'', path);
  if (field(header, "fortran_order", ':', ',', path).find("True") !=
      std::string::npos)
    throw Failure("'" + path +
                  "' is in Fortran order; save numpy.ascontiguousarray(x)");
  array.sizes = parseShape(field(header, "shape", '(', ')', path), path);
  array.data = content.substr(begin + length);
  return array;
}

HostTensor hk::run::readNpy(const std::string &path, DType dtype) {
  RawArray array = readRaw(path);
  bool rounds = array.descr == "<f4" && info(dtype).isFloat;
  // Single bytes come with or without the mark for "no byte order".
  std::string expected = descrOf(dtype);
  if (!rounds && array.descr != expected)
    throw Failure("'" + path + "' holds '" + array.descr + "', but " +
                  info(dtype).name + " is read from '" + expected +
                  (info(dtype).isFloat ? "' or '<f4'" : "'"));
  HostTensor tensor;
  tensor.dtype = dtype;
  tensor.sizes = array.sizes;
  bool packed = info(dtype).bits < 8;
  if (packed && array.sizes.empty())
    throw Failure("'" + path + "': a packed type needs at least one dimension");
  if (packed && !rounds)
    tensor.sizes.back() *= 2;
  if (packed && tensor.sizes.back() % 2)
    throw Failure("'" + path +
                  "': the last size of a packed type must be even");
  tensor.allocate();
  size_t needed =
      rounds ? size_t(tensor.numElements()) * 4 : tensor.bytes.size();
  if (array.data.size() != needed)
    throw Failure("'" + path + "' has " + std::to_string(array.data.size()) +
                  " bytes of data, its shape takes " + std::to_string(needed));
  if (!rounds) {
    std::copy(array.data.begin(), array.data.end(), tensor.bytes.begin());
    return tensor;
  }
  for (int64_t i = 0; i < tensor.numElements(); ++i) {
    float value;
    std::memcpy(&value, array.data.data() + i * 4, 4);
    tensor.set(i, value);
  }
  return tensor;
}

void hk::run::writeNpy(const std::string &path, const HostTensor &tensor) {
  std::string header = "{'descr': '" + std::string(descrOf(tensor.dtype)) +
                       "', 'fortran_order': False, 'shape': (";
  std::vector<int64_t> sizes = tensor.sizes;
  if (info(tensor.dtype).bits < 8)
    sizes.back() /= 2;
  for (int64_t size : sizes)
    header += std::to_string(size) + ",";
  header += "), }";
  // The data begin at a multiple of 64.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  uint16_t length = header.size();
  file.write(kMagic, kMagicBytes);
  file.write("\x01\x00", 2);
  file.write(reinterpret_cast<const char *>(&length), 2);
  file << header;
  file.write(reinterpret_cast<const char *>(tensor.bytes.data()),
             static_cast<std::streamsize>(tensor.bytes.size()));
  file.close();
  if (file)
    return;
  std::string why = std::strerror(errno);
  std::error_code ignored; // what is said is the first error
  if (std::filesystem::is_regular_file(path, ignored))
    std::filesystem::remove(path, ignored);
  throw Failure("cannot write '" + path + "': " + why);
}

std::string hk::run::resultFile(const std::string &folder,
                                const std::string &name) {
  if (name.empty() || name == "." || name == ".." ||
      name.find('/') != name.npos)
    throw Failure("the argument '" + name +
                  "' has a name that cannot be one of a file in '" + folder +
                  "'; choose a file with --output=" + name +
                  "=FILE.npy, or rename it (hk.name)");
  return folder + "/" + name + ".npy";
}
