//===- Support.h - Helpers of the runtime's tests -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Owning wrappers over the C interface, and tensors on any device.
//
//===----------------------------------------------------------------------===//

#ifndef HK_TEST_UNIT_RUNTIME_SUPPORT_H
#define HK_TEST_UNIT_RUNTIME_SUPPORT_H

#include "hk/Runtime/hk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace hk::test {

/// Code and text of a status, which it frees.
struct Outcome {
  hk_status_code code;
  std::string message;
  Outcome(hk_status *status)
      : code(hk_status_get_code(status)),
        message(hk_status_get_message(status)) {
    hk_status_free(status);
  }
};

#define EXPECT_HK_OK(expression)                                               \
  do {                                                                         \
    ::hk::test::Outcome outcome(expression);                                   \
    EXPECT_EQ(outcome.code, HK_OK) << outcome.message;                         \
  } while (false)
#define ASSERT_HK_OK(expression)                                               \
  do {                                                                         \
    ::hk::test::Outcome outcome(expression);                                   \
    ASSERT_EQ(outcome.code, HK_OK) << outcome.message;                         \
  } while (false)
/// The call fails with this code and a text that has all these parts.
#define EXPECT_HK_ERROR(expression, expected, ...)                             \
  do {                                                                         \
    ::hk::test::Outcome outcome(expression);                                   \
    EXPECT_EQ(outcome.code, expected) << outcome.message;                      \
    for (const char *part : {__VA_ARGS__})                                     \
      EXPECT_THAT(outcome.message, ::testing::HasSubstr(part));                \
  } while (false)

template <auto release> struct Release {
  template <typename T> void operator()(T *handle) const { release(handle); }
};
using Device = std::unique_ptr<hk_device, Release<hk_device_close>>;
using Module = std::unique_ptr<hk_module, Release<hk_module_close>>;
using Program = std::unique_ptr<hk_program, Release<hk_program_destroy>>;
using Profile = std::unique_ptr<hk_profile, Release<hk_profile_destroy>>;

inline Device openDevice(const char *spec, hk_device_options options = {}) {
  options.struct_bytes = sizeof(options);
  hk_device *device = nullptr;
  EXPECT_HK_OK(hk_device_open(spec, &options, &device));
  return Device(device);
}

/// The path of a file that the build made beside the test.
inline std::string testFile(const std::string &name) {
  return std::string(HK_TEST_DIR) + "/" + name;
}

inline Module openModule(const std::string &name) {
  hk_module *module = nullptr;
  EXPECT_HK_OK(hk_module_open(testFile(name).c_str(), &module));
  return Module(module);
}

/// A dense f32 matrix on a device; fields may be spoilt before a call.
class Matrix {
public:
  Matrix(hk_device *device, std::vector<int64_t> shape, float value = 0)
      : device(device), sizes(std::move(shape)) {
    for (int64_t size : sizes)
      count *= size;
    EXPECT_HK_OK(hk_device_alloc(device, count * 4, &data));
    fill(value);
    tensor = {data,
              hk_device_dldevice(device),
              int(sizes.size()),
              {kDLFloat, 32, 1},
              sizes.data(),
              nullptr,
              0};
  }
  Matrix(const Matrix &) = delete;
  ~Matrix() { hk_device_free(device, data); }

  void fill(float value) { set(std::vector<float>(count, value)); }
  void set(const std::vector<float> &values) {
    EXPECT_HK_OK(hk_device_upload(device, data, values.data(), count * 4));
  }
  std::vector<float> get() const {
    std::vector<float> values(count);
    EXPECT_HK_OK(hk_device_download(device, values.data(), data, count * 4));
    return values;
  }

  DLTensor tensor;

private:
  hk_device *device;
  std::vector<int64_t> sizes;
  int64_t count = 1;
  void *data = nullptr;
};

/// The fake module, or another made like it, on a device.
class Fixture {
public:
  explicit Fixture(const char *spec, hk_device_options options = {},
                   const char *file = "fake_module.so")
      : device(openDevice(spec, options)), module(openModule(file)) {
    hk_program *raw = nullptr;
    EXPECT_HK_OK(hk_program_create(module.get(), device.get(),
                                   testFile("weights.safetensors").c_str(),
                                   &raw));
    program.reset(raw);
  }
  const hk_function *function(const char *name) const {
    const hk_function *result = nullptr;
    EXPECT_HK_OK(hk_program_function(program.get(), name, &result));
    return result;
  }

  Device device;
  Module module;
  Program program;
};

inline hk_status *call(const hk_function *function,
                       const std::vector<const DLTensor *> &arguments,
                       void *workspace = nullptr, uint64_t workspaceBytes = 0,
                       hk_profile *profile = nullptr) {
  hk_call call{};
  call.struct_bytes = sizeof(call);
  call.num_arguments = arguments.size();
  call.arguments = arguments.data();
  call.workspace = workspace;
  call.workspace_bytes = workspaceBytes;
  call.profile = profile;
  return hk_function_call(function, &call);
}

/// Sets an environment variable for one test.
class Environment {
public:
  Environment(const char *name, const std::string &value) : name(name) {
    const char *before = std::getenv(name);
    hadValue = before;
    saved = before ? before : "";
    setenv(name, value.c_str(), 1);
  }
  ~Environment() {
    if (hadValue)
      setenv(name, saved.c_str(), 1);
    else
      unsetenv(name);
  }

private:
  const char *name;
  bool hadValue;
  std::string saved;
};

} // namespace hk::test

#endif // HK_TEST_UNIT_RUNTIME_SUPPORT_H
