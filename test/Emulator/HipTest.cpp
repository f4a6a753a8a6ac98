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

TEST_F(HipTest, StreamsAreCaptured) {
  ASSERT_EQ(call("hipInit", 0u), hipSuccess);
  void *stream = nullptr, *graph = nullptr, *ready = nullptr, *word = nullptr;
  ASSERT_EQ(call("hipStreamCreate", &stream), hipSuccess);
  ASSERT_EQ(call("hipMalloc", &word, sizeof(int)), hipSuccess);
  ASSERT_EQ(call("hipMemsetD32", word, 5, size_t(1)), hipSuccess);
  auto value = [&] {
    int read = 0;
    EXPECT_EQ(call("hipMemcpy", (void *)&read, (const void *)word, sizeof(int),
                   hipMemcpyDeviceToHost),
              hipSuccess);
    return read;
  };
  int status = -1;
  EXPECT_EQ(call("hipStreamEndCapture", stream, &graph), hipErrorIllegalState);
  ASSERT_EQ(call("hipStreamBeginCapture", stream, 1), hipSuccess);
  EXPECT_EQ(call("hipStreamBeginCapture", stream, 1), hipErrorIllegalState);
  EXPECT_EQ(call("hipStreamIsCapturing", stream, &status), hipSuccess);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(call("hipStreamQuery", stream), hipErrorStreamCaptureUnsupported);
  EXPECT_EQ(call("hipMemsetD32Async", word, 7, size_t(1), stream), hipSuccess);
  int calls = 0;
  void (*count)(void *) = [](void *data) { ++*static_cast<int *>(data); };
  EXPECT_EQ(call("hipLaunchHostFunc", stream, count, (void *)&calls),
            hipSuccess);
  ASSERT_EQ(call("hipStreamEndCapture", stream, &graph), hipSuccess);
  EXPECT_EQ(call("hipStreamIsCapturing", stream, &status), hipSuccess);
  EXPECT_EQ(status, 0);
  // Nothing was done, and every launch does all of it.
  EXPECT_EQ(value(), 5);
  EXPECT_EQ(calls, 0);
  ASSERT_EQ(call("hipGraphInstantiateWithFlags", &ready, graph, 0ull),
            hipSuccess);
  EXPECT_EQ(call("hipGraphDestroy", graph), hipSuccess);
  for (int launches = 1; launches < 3; ++launches) {
    EXPECT_EQ(call("hipGraphLaunch", ready, stream), hipSuccess);
    EXPECT_EQ(value(), 7);
    EXPECT_EQ(calls, launches);
    EXPECT_EQ(call("hipMemsetD32", word, 5, size_t(1)), hipSuccess);
  }
  EXPECT_EQ(call("hipGraphExecDestroy", ready), hipSuccess);
  EXPECT_EQ(call("hipStreamDestroy", stream), hipSuccess);
  EXPECT_EQ(call("hipFree", word), hipSuccess);
}

/// A bundle's part for several chips is taken where none is for this one.
TEST_F(HipTest, BundleHasAGenericPart) {
  const std::string flags = "--gpu-bundle-output -mcode-object-version=6";
  for (const char *arch : {"gfx9-4-generic", "gfx90a"}) {
    std::string bundle = compileHipFile("features.hip", arch, flags);
    ASSERT_EQ(bundle.compare(0, 24, "__CLANG_OFFLOAD_BUNDLE__"), 0);
    void *module = nullptr;
    bool runs = std::string(arch) == "gfx9-4-generic";
    EXPECT_EQ(call("hipModuleLoadData", &module, (const void *)bundle.data()),
              runs ? hipSuccess : hipErrorNoBinaryForGpu);
    if (runs)
      EXPECT_EQ(call("hipModuleUnload", module), hipSuccess);
  }
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
