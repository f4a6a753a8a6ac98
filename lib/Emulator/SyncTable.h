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
// A release covers the stores before it. What the releasing wave has not waited
// for then, and whatever its workgroup stores after its last release, stays
// open: nobody may rely on it.
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

/// Bytes stored by wave `wave`, whose vmcnt queue numbers the store.
struct OpenStore {
  uint64_t begin, end;
  uint64_t sequence;
  uint32_t wave;
};

/// The releases of a launch, by address, and the open stores of the workgroups
/// that have released.
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

  /// A workgroup has released; of its stores these are still open.
  void setOpen(uint32_t workgroup, std::vector<OpenStore> stores) {
    std::lock_guard<std::mutex> lock(mutex);
    open[workgroup] = std::move(stores);
  }
  /// A store after a release. Past the limit it is not remembered.
  void addOpen(uint32_t workgroup, const std::vector<OpenStore> &stores) {
    std::lock_guard<std::mutex> lock(mutex);
    std::vector<OpenStore> &all = open[workgroup];
    if (all.size() < kMaxOpen)
      all.insert(all.end(), stores.begin(), stores.end());
  }
  /// Whether an open store of the workgroup touches these bytes.
  bool isOpen(uint32_t workgroup, uint64_t begin, uint64_t end) {
    std::lock_guard<std::mutex> lock(mutex);
    auto it = open.find(workgroup);
    return it != open.end() && std::any_of(it->second.begin(), it->second.end(),
                                           [&](const OpenStore &s) {
                                             return s.begin < end &&
                                                    begin < s.end;
                                           });
  }

private:
  static constexpr size_t kMaxAddresses = 1 << 18;
  static constexpr size_t kMaxOpen = 1 << 14;
  std::unordered_map<uint32_t, std::vector<OpenStore>> open;
  bool tooMany = false; ///< from then on unknown addresses order everything
  std::mutex mutex;
  std::unordered_map<uint64_t, SyncSet> released;
};

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_SYNCTABLE_H
