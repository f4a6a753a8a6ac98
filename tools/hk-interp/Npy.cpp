//===- Npy.cpp - NumPy array files ----------------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Format version 1 of .npy: a magic, a Python dictionary padded to 64 bytes,
// the numbers.
//
//===----------------------------------------------------------------------===//

#include "Npy.h"
#include "hk/Support/Files.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstring>

using namespace mlir;
using mlir::hk::reference::Tensor;

static const StringRef kMagic("\x93NUMPY\x01\x00", 8);

/// The text after `'key': ` up to the next of `ends`.
static StringRef field(StringRef header, StringRef key, StringRef ends) {
  size_t at = header.find(("'" + key + "':").str());
  if (at == StringRef::npos)
    return {};
  StringRef rest = header.drop_front(at + key.size() + 3).ltrim();
  return rest.take_until([&](char c) { return ends.contains(c); });
}

template <class T> static double load(const char *p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return static_cast<double>(value);
}

/// A number of NumPy's type `code` at `p`.
static double number(StringRef code, const char *p) {
  if (code == "f8")
    return load<double>(p);
  if (code == "f4")
    return load<float>(p);
  if (code == "i8")
    return load<int64_t>(p);
  if (code == "i4")
    return load<int32_t>(p);
  if (code == "i2")
    return load<int16_t>(p);
  if (code == "i1")
    return load<int8_t>(p);
  return load<uint8_t>(p); // u1, b1
}

FailureOr<Tensor> hkinterp::readNpy(StringRef path, ::hk::DType dtype,
                                    std::string &error) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer) {
    error =
        ("cannot read '" + path + "': " + buffer.getError().message()).str();
    return failure();
  }
  StringRef bytes = (*buffer)->getBuffer();
  if (!bytes.starts_with(kMagic) || bytes.size() < 10) {
    error = ("'" + path + "' is not a .npy file of version 1").str();
    return failure();
  }
  size_t length = llvm::support::endian::read16le(bytes.data() + 8);
  StringRef header = bytes.substr(10, length), data = bytes.substr(10 + length);
  StringRef descr = field(header, "descr", ",").trim("'");
  if (!descr.consume_front("<"))
    descr.consume_front("|");
  if (!llvm::is_contained({"f8", "f4", "i8", "i4", "i2", "i1", "u1", "b1"},
                          descr) ||
      field(header, "fortran_order", ",") != "False") {
    error = (path +
             ": expected a C-order array of f4, f8, i1, i2, i4, i8, u1 or "
             "bool, but its header is " +
             header.trim())
                .str();
    return failure();
  }
  SmallVector<StringRef> parts;
  field(header, "shape", ")").ltrim("(").split(parts, ',', -1, false);
  SmallVector<int64_t> sizes;
  for (StringRef part : parts) {
    int64_t size;
    if (part.trim().empty() || part.trim().getAsInteger(10, size))
      continue;
    sizes.push_back(size);
  }
  Tensor tensor(dtype, sizes);
  size_t width = descr.ends_with("b1") ? 1 : descr.back() - '0';
  if (data.size() != tensor.values.size() * width) {
    error = (path + ": expected " + llvm::Twine(tensor.values.size() * width) +
             " bytes of data, but got " + llvm::Twine(data.size()))
                .str();
    return failure();
  }
  for (auto [i, value] : llvm::enumerate(tensor.values))
    value = mlir::hk::reference::roundTo(
        dtype, number(descr, data.data() + i * width));
  return tensor;
}

llvm::Error hkinterp::writeNpy(StringRef path, ArrayRef<int64_t> sizes,
                               ArrayRef<double> values) {
  std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (";
  for (int64_t size : sizes)
    header += std::to_string(size) + ",";
  header += "), }";
  while ((header.size() + 11) % 64 != 0)
    header += ' ';
  header += '\n';
  char length[2];
  llvm::support::endian::write16le(length, header.size());
  StringRef data(reinterpret_cast<const char *>(values.data()),
                 values.size() * sizeof(double));
  auto file = mlir::hk::OutputFile::create(path);
  if (!file)
    return file.takeError();
  for (StringRef part : {kMagic, StringRef(length, 2), StringRef(header), data})
    if (llvm::Error error = file->append(part))
      return error;
  return file->commit();
}
