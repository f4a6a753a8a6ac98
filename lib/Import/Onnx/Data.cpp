//===- Data.cpp - Tensors of a model file ---------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Element types and the reading of numbers. Where the bytes come from is in
// DataStore.cpp.
//
//===----------------------------------------------------------------------===//

#include "Data.h"

#include "hk/Contract/DType.h"
#include "hk/Dialect/HK.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"

using namespace mlir;
using namespace mlir::hk::importer;
using llvm::support::endian::read16le;
using llvm::support::endian::read32le;
using llvm::support::endian::read64le;

static constexpr mlir::hk::importer::DTypeInfo kDTypeTable[] = {
    {kFloat, "float", "F32", 32, true},
    {kUInt8, "uint8", "", 8, false},
    {kInt8, "int8", "I8", 8, false},
    {4, "uint16", "", 16, false},
    {kInt16, "int16", "I16", 16, false},
    {kInt32, "int32", "I32", 32, false},
    {kInt64, "int64", "I64", 64, false},
    {kBool, "bool", "BOOL", 8, false},
    {kFloat16, "float16", "F16", 16, true},
    {kDouble, "double", "", 64, true},
    {12, "uint32", "", 32, false},
    {13, "uint64", "", 64, false},
    {kBFloat16, "bfloat16", "BF16", 16, true},
    {17, "float8e4m3fn", "F8_E4M3", 8, true},
    {18, "float8e4m3fnuz", "F8_E4M3FNUZ", 8, true},
    {19, "float8e5m2", "F8_E5M2", 8, true},
    {20, "float8e5m2fnuz", "F8_E5M2FNUZ", 8, true},
    {kUInt4, "uint4", "U8", 4, false},
    {kInt4, "int4", "U8", 4, false},
    {23, "float4e2m1", "F4", 4, true},
    {24, "float8e8m0", "F8_E8M0", 8, true},
};

const mlir::hk::importer::DTypeInfo *mlir::hk::importer::dtypeInfo(int number) {
  const auto *found = llvm::find_if(
      kDTypeTable, [&](const auto &info) { return info.number == number; });
  return found == std::end(kDTypeTable) ? nullptr : found;
}

std::string mlir::hk::importer::dtypeName(int number) {
  // The two types that are no numbers.
  if (number == 8)
    return "string";
  if (number == 14 || number == 15)
    return "complex";
  if (const auto *info = dtypeInfo(number))
    return info->name;
  return "type " + std::to_string(number);
}

Type mlir::hk::importer::elementType(int dtype, MLIRContext *context) {
  using D = ::hk::DType;
  std::optional<D> made;
  switch (dtype) {
  case kFloat:
    made = D::F32;
    break;
  case kFloat16:
    made = D::F16;
    break;
  case kBFloat16:
    made = D::BF16;
    break;
  case kInt8:
    made = D::I8;
    break;
  case kInt16:
    made = D::I16;
    break;
  case kInt32:
    made = D::I32;
    break;
  case kInt64:
    made = D::I64;
    break;
  case kBool:
    made = D::I1;
    break;
  case 17:
    made = D::F8E4M3FN;
    break;
  case 18:
    made = D::F8E4M3FNUZ;
    break;
  case 19:
    made = D::F8E5M2;
    break;
  case 20:
    made = D::F8E5M2FNUZ;
    break;
  case kUInt4:
    made = D::UI4;
    break;
  case kInt4:
    made = D::I4;
    break;
  case 23:
    made = D::F4E2M1FN;
    break;
  case 24:
    made = D::F8E8M0FNU;
    break;
  default:
    break;
  }
  return made ? typeOf(*made, context) : Type();
}

int64_t Data::getNumElements() const {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size; // The store checked it.
  return count;
}

int64_t Data::integer(int64_t i) const {
  const char *at = bytes.data();
  switch (dtype) {
  case kInt64:
  case 13:
    return read64le(at + 8 * i);
  case kInt32:
    return int32_t(read32le(at + 4 * i));
  case 12:
    return read32le(at + 4 * i);
  case kInt16:
    return int16_t(read16le(at + 2 * i));
  case 4:
    return read16le(at + 2 * i);
  case kInt8:
    return int8_t(at[i]);
  case kUInt8:
  case kBool:
    return uint8_t(at[i]);
  case kUInt4:
    return uint8_t(at[i / 2]) >> (4 * (i % 2)) & 15;
  case kInt4:
    return int8_t((uint8_t(at[i / 2]) >> (4 * (i % 2)) & 15) << 4) >> 4;
  default:
    return llvm::APFloat(number(i)).isFinite() ? int64_t(number(i)) : 0;
  }
}

double Data::number(int64_t i) const {
  const char *at = bytes.data();
  auto narrow = [&](const llvm::fltSemantics &semantics) {
    return llvm::APFloat(semantics, llvm::APInt(16, read16le(at + 2 * i)));
  };
  switch (dtype) {
  case kFloat:
    return llvm::bit_cast<float>(read32le(at + 4 * i));
  case kDouble:
    return llvm::bit_cast<double>(read64le(at + 8 * i));
  case kFloat16:
    return narrow(llvm::APFloat::IEEEhalf()).convertToDouble();
  case kBFloat16:
    return narrow(llvm::APFloat::BFloat()).convertToDouble();
  case 17:
  case 18:
  case 19:
  case 20:
  case 23:
  case 24:
    return 0; // Nothing is evaluated from these.
  default:
    return integer(i);
  }
}
