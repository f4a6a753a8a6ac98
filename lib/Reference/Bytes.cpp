//===- Bytes.cpp - Tensors and their bytes --------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors between memory, where types are packed, and the interpreter's
// doubles.
//
//===----------------------------------------------------------------------===//

#include "Number.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::reference;
using ::hk::DType;

Tensor::Tensor(DType dtype, ArrayRef<int64_t> sizes)
    : dtype(dtype), sizes(sizes) {
  values.resize(numElements());
}

int64_t Tensor::numElements() const {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

double Tensor::boundAt(int64_t i) const {
  double sigma = errorAt(i);
  if (sigma == 0)
    return 0;
  // A flip of the last rounding is one unit in the last place.
  if (!flip.empty())
    sigma = std::sqrt(std::max(0.0, sigma * sigma - flip[i] * flip[i]));
  double ulp = ulpOf(dtype, values[i]), jump = jumpAt(i);
  double earlier = std::sqrt(std::max(0.0, jump * jump - ulp * ulp));
  return 8 * sigma + 2 * earlier + ulp;
}

template <class T> static void store(uint8_t *bytes, int64_t i, T value) {
  std::memcpy(bytes + i * sizeof(T), &value, sizeof(T));
}
template <class T> static T load(const uint8_t *bytes, int64_t i) {
  T value;
  std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
  return value;
}

std::vector<uint8_t> reference::toBytes(const Tensor &tensor) {
  int64_t count = tensor.numElements();
  int64_t bits = ::hk::info(tensor.dtype).bits;
  std::vector<uint8_t> bytes((count * bits + 7) / 8);
  for (int64_t i = 0; i < count; ++i) {
    double value = tensor.values[i];
    switch (tensor.dtype) {
    case DType::I1:
    case DType::I8:
      store<int8_t>(bytes.data(), i, static_cast<int8_t>(value));
      break;
    case DType::I16:
      store<int16_t>(bytes.data(), i, static_cast<int16_t>(value));
      break;
    case DType::I32:
      store<int32_t>(bytes.data(), i, static_cast<int32_t>(value));
      break;
    case DType::I64:
      store<int64_t>(bytes.data(), i, integerOf(value));
      break;
    case DType::I4:
    case DType::UI4:
      bytes[i / 2] |= (static_cast<int>(value) & 15) << (i % 2 * 4);
      break;
    default:
      uint32_t code = encodeFloat(tensor.dtype, value);
      if (bits == 32)
        store<uint32_t>(bytes.data(), i, code);
      else if (bits == 16)
        store<uint16_t>(bytes.data(), i, code);
      else if (bits == 8)
        bytes[i] = code;
      else
        bytes[i / 2] |= code << (i % 2 * 4);
    }
  }
  return bytes;
}

FailureOr<Tensor> reference::fromBytes(DType dtype, ArrayRef<int64_t> sizes,
                                       ArrayRef<uint8_t> bytes) {
  Tensor tensor(dtype, sizes);
  int64_t count = tensor.numElements(), bits = ::hk::info(dtype).bits;
  if (static_cast<int64_t>(bytes.size()) != (count * bits + 7) / 8)
    return failure();
  for (int64_t i = 0; i < count; ++i) {
    double &value = tensor.values[i];
    switch (dtype) {
    case DType::I1:
      value = bytes[i] != 0;
      break;
    case DType::I8:
      value = load<int8_t>(bytes.data(), i);
      break;
    case DType::I16:
      value = load<int16_t>(bytes.data(), i);
      break;
    case DType::I32:
      value = load<int32_t>(bytes.data(), i);
      break;
    case DType::I64: {
      auto integer = load<int64_t>(bytes.data(), i);
      value = static_cast<double>(integer);
      if (integerOf(value) == integer)
        break;
      tensor.error.resize(count);
      tensor.error[i] = std::numeric_limits<double>::infinity();
      break;
    }
    case DType::I4:
    case DType::UI4:
      value = bytes[i / 2] >> (i % 2 * 4) & 15;
      if (dtype == DType::I4 && value > 7)
        value -= 16;
      break;
    default:
      uint32_t code = bits == 32   ? load<uint32_t>(bytes.data(), i)
                      : bits == 16 ? load<uint16_t>(bytes.data(), i)
                      : bits == 8  ? bytes[i]
                                   : bytes[i / 2] >> (i % 2 * 4) & 15;
      value = decodeFloat(dtype, code);
    }
  }
  return tensor;
}
