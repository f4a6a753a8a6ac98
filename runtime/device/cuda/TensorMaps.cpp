//===- TensorMaps.cpp - Descriptions of operands for the copy engine ------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver's encoder wants every stride to be a multiple of 16 bytes, also
// those of dimensions of one element, which are whatever the caller's tensor
// has; those are replaced by what a dense matrix would have.
//
//===----------------------------------------------------------------------===//

#include "device/cuda/TensorMaps.h"

#include "hk/Contract/DType.h"

#include <cinttypes>
#include <cstring>

using namespace hk;

namespace {

/// Everything a map depends on.
struct MapRequest {
  uint64_t address;
  uint64_t sizes[4];   // columns, rows, matrices, batches
  uint64_t strides[3]; // bytes, of rows, matrices and batches
  uint32_t box[2];
  uint32_t elementBytes;
  uint32_t rank; // 4: with batches; compared and hashed as bytes

  bool operator==(const MapRequest &other) const {
    return std::memcmp(this, &other, sizeof(*this)) == 0;
  }
  size_t hash() const {
    const auto *words = reinterpret_cast<const uint64_t *>(this);
    uint64_t h = 0;
    for (size_t i = 0; i < sizeof(*this) / 8; ++i)
      h = (h ^ words[i]) * 0x9E3779B97F4A7C15ull;
    return h >> 32;
  }
};
static_assert(sizeof(MapRequest) % 8 == 0);

struct KnownMap {
  MapRequest request{};
  CudaTensorMap map;
};
constexpr size_t kKnownMaps = 256;

constexpr uint64_t kAlignment = 16;
constexpr uint64_t kMaxStride = uint64_t(1) << 40;
constexpr uint64_t kMaxSize = INT32_MAX; // of the kernels' coordinates

uint64_t valueOf(hk_number_abi number, const uint64_t *words) {
  return number.word == HK_NO_WORD ? uint64_t(number.constant)
                                   : words[number.word];
}

MapRequest requestOf(const hk_tensor_map_abi &map, const uint64_t *words) {
  MapRequest r{};
  // Two codes of 4 bits are a byte.
  uint32_t bits = uint32_t(info(DType(map.dtype)).bits);
  uint32_t packed = bits < 8 ? 8 / bits : 1;
  r.elementBytes = bits * packed / 8;
  r.address = words[map.pointer];
  r.sizes[0] = valueOf(map.columns, words) / packed;
  r.sizes[1] = valueOf(map.rows, words);
  r.sizes[2] = valueOf(map.matrices, words);
  r.strides[0] = valueOf(map.row_stride, words) * r.elementBytes / packed;
  r.strides[1] = valueOf(map.matrix_stride, words) * r.elementBytes / packed;
  r.rank = map.batches.word == HK_NO_WORD && map.batches.constant == 0 ? 3 : 4;
  if (r.rank == 4) {
    r.sizes[3] = valueOf(map.batches, words);
    r.strides[2] = valueOf(map.batch_stride, words) * r.elementBytes / packed;
  }
  if (r.sizes[1] == 1)
    r.strides[0] = (r.sizes[0] * r.elementBytes + kAlignment - 1) / kAlignment *
                   kAlignment;
  for (uint32_t i = 2; i < r.rank; ++i)
    if (r.sizes[i] == 1)
      r.strides[i - 1] = r.strides[i - 2];
  r.box[0] = map.box_columns / packed;
  r.box[1] = map.box_rows;
  return r;
}

Status check(const MapRequest &r, uint32_t pointer) {
  for (uint32_t i = 0; i < r.rank; ++i)
    if (r.sizes[i] == 0 || r.sizes[i] > kMaxSize)
      return makeError(HK_INVALID_ARGUMENT,
                       "operand %u: the copy engine takes 1 to %" PRIu64
                       " columns, rows, matrices and batches, got %" PRIu64,
                       pointer, kMaxSize, r.sizes[i]);
  for (uint32_t i = 0; i + 1 < r.rank; ++i)
    if (r.strides[i] % kAlignment || r.strides[i] >= kMaxStride)
      return makeError(HK_INVALID_ARGUMENT,
                       "operand %u: the copy engine takes strides that are "
                       "multiples of %" PRIu64
                       " bytes below 2^40, got %" PRIu64,
                       pointer, kAlignment, r.strides[i]);
  if (r.address % kAlignment)
    return makeError(HK_INVALID_ARGUMENT,
                     "operand %u: the copy engine takes addresses that are "
                     "multiples of %" PRIu64 ", got %#" PRIx64,
                     pointer, kAlignment, r.address);
  return {};
}

Status encode(const CudaApi &api, const MapRequest &r, CudaTensorMap &map) {
  // Only the size of an element matters: nothing is computed with them.
  CudaTensorMapType type = r.elementBytes == 1   ? CudaTensorMapType::UInt8
                           : r.elementBytes == 2 ? CudaTensorMapType::UInt16
                                                 : CudaTensorMapType::UInt32;
  const uint32_t box[4] = {r.box[0], r.box[1], 1, 1};
  const uint32_t every[4] = {1, 1, 1, 1};
  return api.check(
      api.cuTensorMapEncodeTiled(
          &map, type, r.rank, reinterpret_cast<void *>(uintptr_t(r.address)),
          r.sizes, r.strides, box, every, CudaTensorMapInterleave::None,
          CudaTensorMapSwizzle::Bytes128, CudaTensorMapPromotion::Bytes128,
          CudaTensorMapFill::Zero),
      "cuTensorMapEncodeTiled");
}

} // namespace

Status hk::encodeTensorMaps(const CudaApi &api, const hk_tensor_map_abi *maps,
                            uint32_t count, const uint64_t *words,
                            CudaTensorMaps &encoded) {
  // Direct-mapped: a lookup never allocates or searches.
  static thread_local KnownMap known[kKnownMaps];
  for (uint32_t i = 0; i < count; ++i) {
    MapRequest request = requestOf(maps[i], words);
    KnownMap &entry = known[request.hash() % kKnownMaps];
    if (!(entry.request == request)) {
      if (Status error = check(request, maps[i].pointer))
        return error;
      CudaTensorMap map;
      if (Status error = encode(api, request, map))
        return addContext(std::move(error),
                          "operand " + std::to_string(maps[i].pointer));
      entry.request = request;
      entry.map = map;
    }
    encoded.maps[i] = entry.map;
  }
  return {};
}
