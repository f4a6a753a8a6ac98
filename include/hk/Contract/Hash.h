//===- Hash.h - Fingerprint of the contract -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// FNV-1a over the facts that a compiled module and a runtime must agree on:
// names and numbers of targets and element types, memory limits, layout of the
// tile structs. The compiler stores it in every module and the runtime refuses
// a module whose hash differs. Rates and other inputs of the cost model only
// steer choices made before a module is written, so they are left out.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_HASH_H
#define HK_CONTRACT_HASH_H

#include "hk/Contract/DType.h"
#include "hk/Contract/Target.h"
#include "hk/Contract/Tile.h"

#include <cstdint>

namespace hk {

/// Raise it when the meaning of something hashed changes but not its value.
inline constexpr uint64_t kContractRevision = 1;

namespace detail {

class Fnv1a {
public:
  constexpr void addByte(uint8_t byte) {
    state = (state ^ byte) * 0x100000001b3ull;
  }
  constexpr void add(uint64_t value) {
    for (int i = 0; i < 8; ++i)
      addByte(static_cast<uint8_t>(value >> (8 * i)));
  }
  constexpr void add(const char *text) {
    for (; *text; ++text)
      addByte(static_cast<uint8_t>(*text));
    addByte(0);
  }
  constexpr uint64_t value() const { return state; }

private:
  uint64_t state = 0xcbf29ce484222325ull;
};

struct HashText {
  char text[17];
};

} // namespace detail

constexpr uint64_t contractHash() {
  detail::Fnv1a hash;
  hash.add(kContractRevision);
  for (const Target &t : kTargets) {
    hash.add(t.name);
    hash.add(static_cast<uint64_t>(t.arch));
    hash.add(static_cast<uint64_t>(t.fp8));
    hash.add(static_cast<uint64_t>(t.waveSize));
    hash.add(static_cast<uint64_t>(t.maxThreads));
    hash.add(static_cast<uint64_t>(t.ldsBytes));
  }
  for (const DTypeInfo &d : kDTypes) {
    hash.add(d.name);
    hash.add(static_cast<uint64_t>(d.bits));
    hash.add(static_cast<uint64_t>(d.isFloat));
    hash.add(static_cast<uint64_t>(d.mantissaBits));
  }
  hash.add(sizeof(RowTile));
  hash.add(sizeof(GemmTile));
  hash.add(sizeof(AttentionTile));
  hash.add(sizeof(Conv1dTile));
  hash.add(sizeof(ScanTile));
  hash.add(sizeof(RoutingTile));
  hash.add(sizeof(GatedDeltaTile));
  hash.add(sizeof(AttentionBackwardTile));
  return hash.value();
}

namespace detail {
constexpr HashText makeHashText(uint64_t hash) {
  HashText result{};
  for (int i = 0; i < 16; ++i)
    result.text[i] = "0123456789abcdef"[(hash >> (60 - 4 * i)) & 15];
  return result;
}
inline constexpr HashText kContractHashText = makeHashText(contractHash());
} // namespace detail

/// The hash as 16 hex digits, as stored in hk_module_abi.contract_hash.
inline constexpr const char *kContractHash = detail::kContractHashText.text;

} // namespace hk

#endif // HK_CONTRACT_HASH_H
