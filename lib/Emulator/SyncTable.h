//===- SyncTable.h - Order between workgroups from atomics ------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which workgroups a workgroup may rely on having finished their part: those
// that released (any atomic, or a store of device scope) a word which it then
// acquired (an atomic with a result, or a load of device scope), and those
// they had acquired themselves. A race with any other workgroup is reported.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_SYNCTABLE_H
#define HK_LIB_EMULATOR_SYNCTABLE_H

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace hk::emu {

/// A set of workgroups; large ones are not told apart from "all".
class SyncSet {
public:
  void clear() {
    members.clear();
    all = false;
  }
  bool contains(uint32_t workgroup) const {
    return all || std::binary_search(members.begin(), members.end(), workgroup);
  }
  bool empty() const { return !all && members.empty(); }
  void insertAll() {
    members.clear();
    all = true;
  }
  void insert(uint32_t workgroup) {
    auto at = std::lower_bound(members.begin(), members.end(), workgroup);
    if (all || (at != members.end() && *at == workgroup))
      return;
    members.insert(at, workgroup);
    limit();
  }
  void insert(const SyncSet &other) {
    if (other.all)
      insertAll();
    if (all)
      return;
    std::vector<uint32_t> both;
    std::set_union(members.begin(), members.end(), other.members.begin(),
                   other.members.end(), std::back_inserter(both));
    members = std::move(both);
    limit();
  }

private:
  static constexpr size_t kLimit = 256;
  std::vector<uint32_t> members; ///< sorted
  bool all = false;

  void limit() {
    if (members.size() > kLimit)
      insertAll();
  }
};

/// The releases of a launch, by address.
class SyncTable {
public:
  void release(uint64_t address, uint32_t workgroup, const SyncSet &after) {
    std::lock_guard<std::mutex> lock(mutex);
    if (released.size() > kMaxAddresses) {
      tooMany = true;
      return;
    }
    SyncSet &set = released[address];
    set.insert(workgroup);
    set.insert(after);
  }
  void acquire(uint64_t address, SyncSet &after) {
    std::lock_guard<std::mutex> lock(mutex);
    auto it = released.find(address);
    if (it != released.end())
      after.insert(it->second);
    else if (tooMany)
      after.insertAll();
  }

private:
  static constexpr size_t kMaxAddresses = 1 << 18;
  bool tooMany = false; ///< from then on unknown addresses order everything
  std::mutex mutex;
  std::unordered_map<uint64_t, SyncSet> released;
};

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_SYNCTABLE_H
