//===- Types.cpp - Element types at the C boundary -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One row per element type of the contract, in the contract's order.
//
//===----------------------------------------------------------------------===//

#include "api/Types.h"

using namespace hk;

static constexpr DLDataType kDLTypes[] = {
    {kDLFloat, 32, 1},
    {kDLBfloat, 16, 1},
    {kDLFloat, 16, 1},
    {HK_DL_FLOAT8_E4M3FN, 8, 1},
    {HK_DL_FLOAT8_E4M3FNUZ, 8, 1},
    {HK_DL_FLOAT8_E5M2, 8, 1},
    {HK_DL_FLOAT8_E5M2FNUZ, 8, 1},
    {HK_DL_FLOAT4_E2M1FN, 4, 1},
    {HK_DL_FLOAT8_E8M0FNU, 8, 1},
    {HK_DL_BOOL, 8, 1},
    {kDLInt, 8, 1},
    {kDLInt, 32, 1},
    {kDLInt, 64, 1},
    {kDLInt, 16, 1},
    {kDLInt, 4, 1},
    {kDLUInt, 4, 1},
};
static_assert(sizeof(kDLTypes) / sizeof(kDLTypes[0]) == kNumDTypes,
              "every element type needs its DLPack type");

static bool equal(DLDataType a, DLDataType b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

DLDataType hk::dlpackType(DType dtype) {
  return kDLTypes[static_cast<int32_t>(dtype)];
}

bool hk::acceptsType(DType dtype, DLDataType actual) {
  if (equal(dlpackType(dtype), actual))
    return true;
  return dtype == DType::I1 && equal(actual, DLDataType{kDLUInt, 8, 1});
}

std::string hk::typeName(DLDataType type) {
  for (int32_t i = 0; i < kNumDTypes; ++i)
    if (equal(kDLTypes[i], type))
      return kDTypes[i].name;
  return "DLPack code " + std::to_string(type.code) + " bits " +
         std::to_string(type.bits) + " lanes " + std::to_string(type.lanes);
}

std::string hk::shapeText(const int64_t *sizes, int64_t rank) {
  std::string text = "[";
  for (int64_t i = 0; i < rank; ++i) {
    if (i)
      text += ", ";
    text += sizes[i] < 0 ? "?" : std::to_string(sizes[i]);
  }
  return text + "]";
}

int64_t hk::denseBytes(DType dtype, const int64_t *sizes, int64_t rank) {
  // A zero anywhere makes the tensor empty, whatever the other sizes are.
  for (int64_t i = 0; i < rank; ++i)
    if (sizes[i] == 0)
      return 0;
  int64_t bits = info(dtype).bits;
  for (int64_t i = 0; i < rank; ++i)
    if (sizes[i] < 0 || __builtin_mul_overflow(bits, sizes[i], &bits))
      return -1;
  return bits / 8;
}

std::string hk::deviceText(DLDevice device) {
  std::string id = ":" + std::to_string(device.device_id);
  switch (static_cast<int>(device.device_type)) {
  case kDLCPU:
    return "cpu" + id;
  case kDLCUDA:
    return "cuda" + id;
  case kDLROCM:
    return "rocm" + id;
  default:
    return "DLPack device type " +
           std::to_string(static_cast<int>(device.device_type)) + id;
  }
}
