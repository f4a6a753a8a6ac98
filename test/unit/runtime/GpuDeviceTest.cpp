//===- GpuDeviceTest.cpp - GPU devices against fake drivers -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What goes wrong between the runtime and a GPU driver: no driver, no device,
// an incomplete driver, a device without code, and errors of single calls.
//
//===----------------------------------------------------------------------===//

#include "Support.h"

using namespace hk::test;

namespace {

hk_status *open(const char *spec) {
  hk_device *device = nullptr;
  hk_status *status = hk_device_open(spec, nullptr, &device);
  hk_device_close(device);
  return status;
}

} // namespace

TEST(HipDevice, SaysWhichChipItIs) {
  for (const char *library :
       {"fake_hip.so", "fake_hip_rocm5.so", "fake_hip_odd_layout.so"}) {
    Environment use("HK_HIP_LIBRARY", testFile(library));
    Device device = openDevice("hip:0");
    ASSERT_TRUE(device);
    EXPECT_STREQ(hk_device_target(device.get()), "gfx942") << library;
    EXPECT_THAT(hk_device_description(device.get()),
                testing::HasSubstr("Fake Instinct (gfx942)"));
    EXPECT_EQ(hk_device_dldevice(device.get()).device_type, kDLROCM);
  }
}

TEST(HipDevice, SaysWhatIsMissing) {
  EXPECT_HK_ERROR(open("hip:2"), HK_UNAVAILABLE, "hip:2: ", "finds 2 devices");
  {
    Environment use("HK_HIP_LIBRARY", "/nonexistent/libamdhip64.so");
    EXPECT_HK_ERROR(open("hip:0"), HK_UNAVAILABLE,
                    "the HIP runtime that HK_HIP_LIBRARY names",
                    "/nonexistent/libamdhip64.so");
  }
  {
    Environment use("HK_HIP_LIBRARY", testFile("fake_hip_incomplete.so"));
    EXPECT_HK_ERROR(open("hip:0"), HK_INCOMPATIBLE,
                    "does not export hipEventSynchronize");
  }
  Environment fail("HK_FAKE_FAIL", "hipGetDeviceCount");
  EXPECT_HK_ERROR(open("hip:0"), HK_UNAVAILABLE,
                  "hipGetDeviceCount failed with hipErrorFake (100)");
}

TEST(HipDevice, NamesTheTargetsOfAModuleWithoutItsOwn) {
  Device device = openDevice("hip:1");
  ASSERT_STREQ(hk_device_target(device.get()), "gfx1234");
  Module module = openModule("fake_module.so");
  hk_program *program = nullptr;
  EXPECT_HK_ERROR(
      hk_program_create(module.get(), device.get(), nullptr, &program),
      HK_UNAVAILABLE, "no code for 'gfx1234'; it has: gfx942, sm_90a, host");
}

TEST(HipDevice, ReportsDriverErrors) {
  Fixture fake("hip:0");
  hk_device *device = fake.device.get();
  Matrix x(device, {3, 8}), out(device, {3, 8});
  void *data;
  {
    Environment fail("HK_FAKE_FAIL", "hipMalloc");
    EXPECT_HK_ERROR(hk_device_alloc(device, 1234, &data), HK_OUT_OF_MEMORY,
                    "allocating 1234 bytes",
                    "hipMalloc failed with hipErrorOutOfMemory (2)");
  }
  {
    Environment fail("HK_FAKE_FAIL", "hipModuleLaunchKernel");
    EXPECT_HK_ERROR(call(fake.function("trace"), {&x.tensor, &out.tensor}),
                    HK_DEVICE_ERROR, "function 'trace', kernel 'traceBlock'",
                    "hipModuleLaunchKernel failed with hipErrorFake (701)");
  }
  {
    Environment fail("HK_FAKE_FAIL", "hipDeviceSynchronize");
    EXPECT_HK_ERROR(hk_device_synchronize(device), HK_DEVICE_ERROR,
                    "hipDeviceSynchronize failed");
  }
  {
    // Nothing runs on whatever device is current instead.
    Environment fail("HK_FAKE_FAIL", "hipGetDevice");
    EXPECT_HK_ERROR(hk_device_synchronize(device), HK_DEVICE_ERROR,
                    "hipGetDevice failed");
    EXPECT_HK_ERROR(hk_device_alloc(device, 1234, &data), HK_DEVICE_ERROR,
                    "hipGetDevice failed");
    hk_profile *raw;
    ASSERT_HK_OK(hk_profile_create(&raw));
    Profile profile(raw);
    EXPECT_HK_ERROR(
        call(fake.function("trace"), {&x.tensor, &out.tensor}, nullptr, 0, raw),
        HK_DEVICE_ERROR, "hipGetDevice failed");
  }
  int local;
  EXPECT_HK_ERROR(hk_device_upload(device, &local, &local, 4), HK_DEVICE_ERROR,
                  "hipMemcpy failed with hipErrorFake (1)");
  EXPECT_HK_OK(call(fake.function("trace"), {&x.tensor, &out.tensor}));
}

TEST(HipDevice, ChecksTensorsForItsDevice) {
  Fixture fake("hip:0");
  Device host = openDevice("host");
  Matrix x(host.get(), {3, 8}), out(fake.device.get(), {3, 8});
  EXPECT_HK_ERROR(call(fake.function("trace"), {&x.tensor, &out.tensor}),
                  HK_INVALID_ARGUMENT, "expected a tensor on rocm:0",
                  "got one on cpu:0");
}

TEST(HipDevice, FindsOverrunsWithDebugMemory) {
  hk_device_options options{};
  options.debug_memory = 1;
  Fixture fake("hip:0", options);
  hk_device *device = fake.device.get();
  Matrix x(device, {3, 8});
  auto out = std::make_unique<Matrix>(device, std::vector<int64_t>{3, 8});
  // A call does not wait for a GPU, so the next synchronisation tells.
  EXPECT_HK_OK(call(fake.function("overrun"), {&x.tensor, &out->tensor}));
  EXPECT_HK_ERROR(hk_device_synchronize(device), HK_DEVICE_ERROR,
                  "written behind the allocation of 96 bytes");
  testing::internal::CaptureStderr();
  out.reset();
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("written behind"));
}

/// As a garbage collector does in the middle of somebody's capture.
TEST(GpuDevice, FreesWhileItsThreadCapturesAGraph) {
  Environment hip("HK_HIP_LIBRARY", testFile("fake_hip.so"));
  Environment cuda("HK_CUDA_LIBRARY", testFile("fake_cuda.so"));
  for (const char *name : {"hip:0", "cuda:0"}) {
    Device device = openDevice(name);
    ASSERT_TRUE(device);
    void *data = nullptr;
    EXPECT_HK_OK(hk_device_alloc(device.get(), 64, &data));
    Environment captured("HK_FAKE_FAIL", "capturing");
    testing::internal::CaptureStderr();
    hk_device_free(device.get(), data);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << name;
  }
}

TEST(CudaDevice, SaysWhichChipItIs) {
  Device device = openDevice("cuda:0");
  ASSERT_TRUE(device);
  EXPECT_STREQ(hk_device_target(device.get()), "sm_90a");
  EXPECT_STREQ(hk_device_description(device.get()),
               "Fake Hopper (sm_90a), CUDA driver 13.1");
  EXPECT_EQ(hk_device_dldevice(device.get()).device_type, kDLCUDA);
}

TEST(CudaDevice, SaysWhatIsMissing) {
  EXPECT_HK_ERROR(open("cuda:1"), HK_UNAVAILABLE,
                  "cuda:1: the CUDA driver finds 1 device");
  {
    Environment use("HK_CUDA_LIBRARY", "/nonexistent/libcuda.so");
    EXPECT_HK_ERROR(open("cuda:0"), HK_UNAVAILABLE, "cuda:0: cannot load",
                    "/nonexistent/libcuda.so");
  }
  Environment fail("HK_FAKE_FAIL", "cuInit");
  EXPECT_HK_ERROR(open("cuda:0"), HK_UNAVAILABLE,
                  "cuInit failed with CUDA_ERROR_FAKE (100): fake CUDA error");
}

TEST(CudaDevice, QuotesTheAssembler) {
  Device device = openDevice("cuda:0");
  Module module = openModule("fake_module.so");
  hk_program *program = nullptr;
  Environment fail("HK_FAKE_FAIL", "cuModuleLoadDataEx");
  EXPECT_HK_ERROR(
      hk_program_create(module.get(), device.get(), nullptr, &program),
      HK_INCOMPATIBLE, "loading kernel 'add_kernel' variant 'addRow'",
      "the assembler says: ptxas: fake complaint");
}

TEST(CudaDevice, RefusesPtxThatTheDriverCannotAssemble) {
  Device device = openDevice("cuda:0");
  Module module = openModule("fake_module.so");
  hk_program *program = nullptr;
  Environment fail("HK_FAKE_FAIL", "PTX version");
  EXPECT_HK_ERROR(
      hk_program_create(module.get(), device.get(), nullptr, &program),
      HK_INCOMPATIBLE, "PTX of version unknown",
      "this driver (for CUDA 13.1) can assemble; install a newer driver");
}

// The fake driver compares the map that comes with every launch of addRow.
static void launchRowsWithMaps(const Fixture &fake) {
  hk_device *device = fake.device.get();
  for (int64_t rows : {1, 3, 3, 7}) {
    Matrix x(device, {rows, 8}), y(device, {rows, 8}), out(device, {rows, 8});
    EXPECT_HK_OK(
        call(fake.function("add"), {&x.tensor, &y.tensor, &out.tensor}));
  }
}

TEST(CudaDevice, LaunchesWithTensorMaps) {
  Fixture fake("cuda:0");
  hk_device *device = fake.device.get();
  launchRowsWithMaps(fake);
  Matrix x(device, {5, 8}), y(device, {5, 8}), out(device, {5, 8});
  Environment fail("HK_FAKE_FAIL", "cuTensorMapEncodeTiled");
  EXPECT_HK_ERROR(
      call(fake.function("add"), {&x.tensor, &y.tensor, &out.tensor}),
      HK_DEVICE_ERROR, "operand 0: cuTensorMapEncodeTiled failed");
}

// To the driver two codes of 4 bits are a byte: columns, strides and boxes
// count bytes.
TEST(CudaDevice, LaunchesWithTensorMapsOfCodes) {
  launchRowsWithMaps(Fixture("cuda:0", {}, "map_of_codes.so"));
}
