//===- WeightFile.h - Element types in a safetensors file -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the format calls each element type, and which tensors of a file hold a
// weight: for the compiler, which writes such files, and the runtime. The
// format has no integers of 4 bits; checkpoints keep them as bytes or words,
// whose shape the weight's type divides into elements.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_WEIGHTFILE_H
#define HK_CONTRACT_WEIGHTFILE_H

#include "hk/Contract/DType.h"

#include <string_view>

namespace hk {

/// Metadata of a safetensors file: a JSON list of further files, as paths from
/// its folder, in which the model has tensors that this one lacks.
inline constexpr const char *kFurtherFilesKey = "hk.files";

/// Of i4 and ui4 the name of the bytes that hold two of them.
inline constexpr const char *kSafetensorsNames[] = {
    "F32",         "BF16", "F16",     "F8_E4M3", "F8_E4M3FNUZ", "F8_E5M2",
    "F8_E5M2FNUZ", "F4",   "F8_E8M0", "BOOL",    "I8",          "I32",
    "I64",         "I16",  "U8",      "U8"};
static_assert(sizeof(kSafetensorsNames) / sizeof(char *) == kNumDTypes,
              "every element type needs its name");

constexpr const char *safetensorsName(DType dtype) {
  return kSafetensorsNames[static_cast<int32_t>(dtype)];
}

/// Elements of 4 bits in one of what a file has, of those that are read so.
constexpr int64_t packedElements(std::string_view name) {
  if (name == "U8" || name == "I8")
    return 2;
  return name == "I32" || name == "U32" ? 8 : 0;
}

/// Whether a tensor of a file holds a weight of `dtype` and `sizes`: one of the
/// same type and sizes, or, where elements have 4 bits, integers that hold as
/// many of them behind the same first size (a vector: as many).
template <class Sizes, class FileSizes>
bool holdsWeight(DType dtype, const Sizes &sizes, std::string_view name,
                 const FileSizes &fileSizes) {
  int64_t each = isPacked(dtype) ? packedElements(name) : 0;
  if (each == 0) {
    bool same = name == safetensorsName(dtype) &&
                std::size_t(sizes.size()) == std::size_t(fileSizes.size());
    for (std::size_t i = 0; same && i < sizes.size(); ++i)
      same = sizes[i] == fileSizes[i];
    return same;
  }
  int64_t have = each, want = 1;
  for (int64_t size : fileSizes)
    if (__builtin_mul_overflow(have, size, &have))
      return false;
  for (int64_t size : sizes)
    want *= size;
  bool isVector = sizes.size() == 1 || fileSizes.size() == 1;
  return have == want && (isVector || (sizes.size() && fileSizes.size() &&
                                       sizes[0] == fileSizes[0]));
}

} // namespace hk

#endif // HK_CONTRACT_WEIGHTFILE_H
