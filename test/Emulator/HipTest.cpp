//===- HipTest.cpp - The HIP library --------------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads libhk_emu as a program loads libamdhip64 and goes once through what a
// runtime does with it.
//
//===----------------------------------------------------------------------===//

#include "../../tools/hk-emu/Hip.h"
#include "Harness.h"
#include <cstdlib>
#include <dlfcn.h>

using namespace hk::emu::test;

namespace {

class HipTest : public testing::Test {
protected:
  void SetUp() override {
    library = dlopen(HK_TEST_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
  }
  /// Calls an entry point; arguments must have exactly its types.
  template <class... A> hipError_t call(const char *name, A... args) {
    auto fn = reinterpret_cast<hipError_t (*)(A...)>(dlsym(library, name));
    if (!fn) {
      ADD_FAILURE() << name << " is not exported";
      return -1;
    }
    return fn(args...);
  }
  void *library = nullptr;
};

TEST_F(HipTest, LoadsCopiesAndLaunches) {
  ASSERT_EQ(call("hipInit", 0u), hipSuccess);
  int count = 0;
  EXPECT_EQ(call("hipGetDeviceCount", &count), hipSuccess);
  EXPECT_EQ(count, 1);
  hipDeviceProp_tR0600 p;
  ASSERT_EQ(call("hipGetDevicePropertiesR0600", &p, 0), hipSuccess);
  EXPECT_EQ(std::string(p.gcnArchName).substr(0, 6), "gfx942");
  EXPECT_EQ(p.sharedMemPerBlock, 65536u);
  EXPECT_EQ(call("hipGetDevicePropertiesR0600", &p, 1), hipErrorInvalidDevice);

  std::string object = compileHipFile("features.hip", "gfx942");
  void *module = nullptr, *function = nullptr;
  ASSERT_EQ(call("hipModuleLoadData", &module, (const void *)object.data()),
            hipSuccess);
  EXPECT_EQ(call("hipModuleGetFunction", &function, module, "nothing"),
            hipErrorNotFound);
  ASSERT_EQ(call("hipModuleGetFunction", &function, module, "calls"),
            hipSuccess);

  std::vector<int> values(64);
  for (int i = 0; i < 64; ++i)
    values[size_t(i)] = i;
  void *in = nullptr, *out = nullptr;
  ASSERT_EQ(call("hipMalloc", &in, size_t(256)), hipSuccess);
  ASSERT_EQ(call("hipMalloc", &out, size_t(256)), hipSuccess);
  EXPECT_EQ(call("hipMemcpy", in, (const void *)values.data(), size_t(256),
                 hipMemcpyHostToDevice),
            hipSuccess);
  EXPECT_EQ(call("hipMemcpy", in, (const void *)values.data(), size_t(257),
                 hipMemcpyHostToDevice),
            hipErrorInvalidValue);

  int n = 5;
  void *params[] = {static_cast<void *>(&out), static_cast<void *>(&in), &n};
  auto launch = [&](void **args, void **extra) {
    return call("hipModuleLaunchKernel", function, 1u, 1u, 1u, 64u, 1u, 1u, 0u,
                (void *)nullptr, args, extra);
  };
  EXPECT_EQ(launch(params, nullptr), hipSuccess);
  struct {
    void *out, *in;
    int n;
  } packed = {out, in, 6};
  size_t size = sizeof packed;
  void *extra[] = {(void *)1, &packed, (void *)2, &size, (void *)3};
  EXPECT_EQ(launch(nullptr, extra), hipSuccess);
  std::vector<int> result(64);
  EXPECT_EQ(call("hipMemcpy", (void *)result.data(), (const void *)out,
                 size_t(256), hipMemcpyDeviceToHost),
            hipSuccess);
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(result[size_t(i)], 2 * i + 13);

  // A finding fails the launch: the output is one word too short.
  void *small = nullptr;
  ASSERT_EQ(call("hipMalloc", &small, size_t(252)), hipSuccess);
  params[0] = static_cast<void *>(&small);
  EXPECT_EQ(launch(params, nullptr), hipErrorLaunchFailure);
  EXPECT_EQ(call("hipGetLastError"), hipErrorLaunchFailure);
  EXPECT_EQ(call("hipGetLastError"), hipSuccess);

  for (void *pointer : {in, out, small})
    EXPECT_EQ(call("hipFree", pointer), hipSuccess);
  EXPECT_EQ(call("hipFree", in), hipErrorInvalidValue);
  EXPECT_EQ(call("hipModuleUnload", module), hipSuccess);
}

TEST_F(HipTest, RefusesForeignObjects) {
  std::string object = compileHipFile("features.hip", "gfx950");
  void *module = nullptr;
  EXPECT_EQ(call("hipModuleLoadData", &module, (const void *)object.data()),
            hipErrorInvalidImage);
  std::string text(256, 'x');
  EXPECT_EQ(call("hipModuleLoadData", &module, (const void *)text.data()),
            hipErrorInvalidImage);
}

} // namespace
