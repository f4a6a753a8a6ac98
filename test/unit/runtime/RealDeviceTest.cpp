//===- RealDeviceTest.cpp - Real kernels on real devices -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same kernel source on the host, on an emulated gfx942 through the HIP
// device, and on a real NVIDIA GPU when HK_TEST_CUDA says that there is one.
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include <cstdlib>

using namespace hk::test;

static void runMirror(const char *spec, bool debugMemory) {
  hk_device_options options{};
  options.debug_memory = debugMemory;
  Device device = openDevice(spec, options);
  ASSERT_TRUE(device);
  Module module = openModule("mirror_module.so");
  hk_program *rawProgram = nullptr;
  ASSERT_HK_OK(
      hk_program_create(module.get(), device.get(), nullptr, &rawProgram));
  Program program(rawProgram);
  const hk_function *mirror = nullptr;
  ASSERT_HK_OK(hk_program_function(rawProgram, "mirror", &mirror));
  hk_profile *rawProfile = nullptr;
  ASSERT_HK_OK(hk_profile_create(&rawProfile));
  Profile profile(rawProfile);
  for (int64_t rows : {0, 1, 33}) {
    Matrix x(device.get(), {rows, 128}), out(device.get(), {rows, 128}, -1);
    std::vector<float> values(rows * 128), expected(rows * 128);
    for (int64_t i = 0; i < rows * 128; ++i) {
      values[i] = float(i);
      int64_t column = i % 128, mirrored = i - column + 127 - column;
      expected[i] = 2 * float(mirrored);
    }
    x.set(values);
    ASSERT_HK_OK(
        call(mirror, {&x.tensor, &out.tensor}, nullptr, 0, rawProfile));
    ASSERT_HK_OK(hk_device_synchronize(device.get()));
    EXPECT_EQ(out.get(), expected) << spec << " " << rows << " rows";
  }
  ASSERT_EQ(hk_profile_num_entries(rawProfile), 1u);
  EXPECT_EQ(hk_profile_get(rawProfile, 0).launches, 2u);
  EXPECT_GT(hk_profile_get(rawProfile, 0).total_us, 0);
  std::printf("mirror on %s: %.2f us\n", hk_device_description(device.get()),
              hk_profile_get(rawProfile, 0).min_us);
}

TEST(RealDevice, Host) {
  runMirror("host", false);
  runMirror("host", true);
}

TEST(RealDevice, EmulatedGfx942) {
  Environment library("HK_HIP_LIBRARY", HK_TEST_EMULATOR);
  Environment chip("HK_EMU_CHIP", "gfx942");
  runMirror("hip:0", false);
  runMirror("hip:0", true);
}

TEST(RealDevice, Cuda) {
  if (!std::getenv("HK_TEST_CUDA"))
    GTEST_SKIP() << "set HK_TEST_CUDA=1 where there is an sm_90a GPU";
  Environment library("HK_CUDA_LIBRARY", "libcuda.so.1");
  runMirror("cuda:0", false);
  runMirror("cuda:0", true);
}
