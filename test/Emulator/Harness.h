//===- Harness.h - Compile and run kernels in tests -------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles HIP or assembly for a chip, and a device to run the result on.
//
//===----------------------------------------------------------------------===//
#ifndef HK_TEST_EMULATOR_HARNESS_H
#define HK_TEST_EMULATOR_HARNESS_H

#include "Launch.h"
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace hk::emu::test {

extern const char *const kChips[2];

/// A code object; empty with a test failure if the compiler refuses.
std::string compileHip(const std::string &source, const std::string &chip,
                       const std::string &flags = "");
std::string compileHipFile(const std::string &name, const std::string &chip,
                           const std::string &flags = "");
std::string assemble(const std::string &text, const std::string &chip);

/// One chip with its memory; loads one code object at a time.
class TestDevice {
public:
  explicit TestDevice(const std::string &chip);
  bool load(const std::string &object);

  uint64_t alloc(uint64_t bytes);
  template <class T> uint64_t upload(const std::vector<T> &data) {
    uint64_t p = alloc(data.size() * sizeof(T));
    std::memcpy(reinterpret_cast<void *>(p), data.data(),
                data.size() * sizeof(T));
    memory.setDefined(p, data.size() * sizeof(T));
    return p;
  }
  template <class T> std::vector<T> download(uint64_t p, size_t n) {
    std::vector<T> data(n);
    std::memcpy(data.data(), reinterpret_cast<const void *>(p), n * sizeof(T));
    return data;
  }

  template <class... A>
  LaunchResult run(const std::string &kernel, uint32_t grid, uint32_t block,
                   A... args) {
    LaunchConfig config;
    config.grid[0] = grid;
    config.block[0] = block;
    (push(config.args, args), ...);
    return launch(kernel, config);
  }
  LaunchResult launch(const std::string &kernel, const LaunchConfig &config);

  Memory memory;
  Options options;
  std::string loadError;
  const Chip *chip;
  std::unique_ptr<CodeObject> object;

private:
  template <class T> static void push(std::vector<uint8_t> &bytes, T value) {
    bytes.resize((bytes.size() + sizeof value - 1) / sizeof value *
                 sizeof value);
    const auto *p = reinterpret_cast<const uint8_t *>(&value);
    bytes.insert(bytes.end(), p, p + sizeof value);
  }
};

/// The names of the checks that reported, in order, without repetition.
std::string findingNames(const LaunchResult &result);
/// Everything that was found, for messages.
std::string describe(const LaunchResult &result);

} // namespace hk::emu::test

#endif // HK_TEST_EMULATOR_HARNESS_H
