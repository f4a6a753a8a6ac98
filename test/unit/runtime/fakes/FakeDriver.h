//===- FakeDriver.h - What the fake GPU drivers share -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Device memory is host memory that is known by its range, and kernels are the
// host functions of the fake module, found by their symbol. A test makes the
// next calls of one function fail by setting HK_FAKE_FAIL to its name.
//
//===----------------------------------------------------------------------===//

#ifndef HK_TEST_UNIT_RUNTIME_FAKEDRIVER_H
#define HK_TEST_UNIT_RUNTIME_FAKEDRIVER_H

#include "FakeKernels.h"

#include "hk/Runtime/ModuleAbi.h"

#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace hk::fake {

inline bool shouldFail(const char *function) {
  const char *name = std::getenv("HK_FAKE_FAIL");
  return name && std::string(name) == function;
}

class Memory {
public:
  void *allocate(size_t bytes) {
    void *data = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    std::lock_guard<std::mutex> lock(mutex);
    live[static_cast<char *>(data)] = bytes;
    return data;
  }
  bool release(void *data) {
    std::lock_guard<std::mutex> lock(mutex);
    bool known = live.erase(static_cast<char *>(data));
    if (known)
      std::free(data);
    return known;
  }
  /// The range lies in one allocation.
  bool contains(const void *data, size_t bytes) {
    auto *begin = static_cast<const char *>(data);
    std::lock_guard<std::mutex> lock(mutex);
    for (const auto &[start, size] : live)
      if (begin >= start && begin + bytes <= start + size)
        return true;
    return false;
  }

private:
  std::mutex mutex;
  std::map<char *, size_t> live;
};

inline hk_host_kernel_fn findKernel(const char *symbol) {
  static const std::map<std::string, hk_host_kernel_fn> kernels = {
      {"addRow", addRow},         {"scaleRow", scaleRow},
      {"traceBlock", traceBlock}, {"overrunRow", overrunRow},
      {"overrunLds", overrunLds},
  };
  auto it = kernels.find(symbol);
  return it == kernels.end() ? nullptr : it->second;
}

inline void runGrid(hk_host_kernel_fn kernel, const uint64_t *words,
                    unsigned x) {
  std::vector<char> lds(4096);
  uint32_t grid[] = {x, 1, 1};
  for (uint32_t block[3] = {0, 0, 0}; block[0] < x; ++block[0])
    kernel(words, block, grid, lds.data());
}

using Event = std::chrono::steady_clock::time_point;

inline float milliseconds(const void *begin, const void *end) {
  return std::chrono::duration<float, std::milli>(
             *static_cast<const Event *>(end) -
             *static_cast<const Event *>(begin))
      .count();
}

} // namespace hk::fake

#endif // HK_TEST_UNIT_RUNTIME_FAKEDRIVER_H
