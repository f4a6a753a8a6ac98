//===- CallTest.cpp - Calls on a device -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same calls on every kind of device: the host, and HIP and CUDA through
// small fakes of their libraries.
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include <algorithm>
#include <thread>

using namespace hk::test;
using testing::Each;
using testing::ElementsAre;

namespace {
class CallTest : public testing::TestWithParam<const char *> {
protected:
  Fixture fake{GetParam()};
  hk_device *device = fake.device.get();
};
} // namespace

TEST_P(CallTest, AddsRows) {
  Matrix x(device, {5, 8}, 1), y(device, {5, 8}, 2), out(device, {5, 8});
  ASSERT_HK_OK(call(fake.function("add"), {&x.tensor, &y.tensor, &out.tensor}));
  ASSERT_HK_OK(hk_device_synchronize(device));
  EXPECT_THAT(out.get(), Each(3.0f));
}

TEST_P(CallTest, DescribesArguments) {
  const hk_function *scaled = fake.function("scaled");
  ASSERT_EQ(hk_function_num_arguments(scaled), 3u);
  hk_argument_info acc = hk_function_argument(scaled, 1);
  EXPECT_STREQ(acc.name, "acc");
  EXPECT_EQ(acc.role, HK_STATE);
  EXPECT_EQ(acc.rank, 2);
  EXPECT_EQ(acc.sizes[0], -1);
  EXPECT_EQ(acc.sizes[1], 8);
  EXPECT_EQ(acc.dtype.code, kDLFloat);
  EXPECT_EQ(hk_function_argument(scaled, 3).name, nullptr);
}

TEST_P(CallTest, PlansSizesAndWorkspace) {
  Matrix x(device, {3, 8}), acc(device, {3, 8});
  const DLTensor *inputs[] = {&x.tensor, &acc.tensor};
  int64_t sizes[2];
  uint64_t workspace;
  ASSERT_HK_OK(
      hk_function_plan(fake.function("scaled"), inputs, 2, sizes, &workspace));
  EXPECT_THAT(sizes, ElementsAre(3, 8));
  EXPECT_EQ(workspace, 3u * 8 * 4);
  EXPECT_HK_ERROR(
      hk_function_plan(fake.function("scaled"), inputs, 1, sizes, &workspace),
      HK_INVALID_ARGUMENT, "'scaled' takes 2 inputs and states, got 1");
}

TEST_P(CallTest, UsesWeightsWorkspaceAndState) {
  Matrix x(device, {2, 8}, 2), acc(device, {2, 8}, 10), out(device, {2, 8});
  void *workspace;
  ASSERT_HK_OK(hk_device_alloc(device, 64, &workspace));
  // weights.safetensors holds scale = 0, 1, ..., 7.
  for (int round = 0; round < 2; ++round)
    ASSERT_HK_OK(call(fake.function("scaled"),
                      {&x.tensor, &acc.tensor, &out.tensor}, workspace, 64));
  ASSERT_HK_OK(hk_device_synchronize(device));
  std::vector<float> result = out.get();
  result.resize(8);
  EXPECT_THAT(result, ElementsAre(12, 14, 16, 18, 20, 22, 24, 26));
  EXPECT_THAT(acc.get(), Each(14.0f));
  hk_device_free(device, workspace);
}

TEST_P(CallTest, RefusesTheWrongWorkspace) {
  Matrix x(device, {2, 8}), acc(device, {2, 8}), out(device, {2, 8});
  Matrix scratch(device, {64, 8});
  const hk_function *scaled = fake.function("scaled");
  std::vector<const DLTensor *> args = {&x.tensor, &acc.tensor, &out.tensor};
  EXPECT_HK_ERROR(call(scaled, args), HK_INVALID_ARGUMENT,
                  "'scaled' needs 64 bytes of workspace", "got 0 at NULL");
  EXPECT_HK_ERROR(call(scaled, args, scratch.tensor.data, 63),
                  HK_INVALID_ARGUMENT, "needs 64 bytes", "got 63");
  EXPECT_HK_ERROR(
      call(scaled, args, static_cast<char *>(scratch.tensor.data) + 16, 64),
      HK_INVALID_ARGUMENT, "aligned to 256 bytes");
  EXPECT_HK_ERROR(call(scaled, args, x.tensor.data, 64), HK_INVALID_ARGUMENT,
                  "input 'x'", "overlaps the workspace");
}

TEST_P(CallTest, DoesNothingForZeroRows) {
  Matrix x(device, {0, 8}), y(device, {0, 8}), out(device, {0, 8});
  // Frameworks give empty tensors no memory.
  x.tensor.data = y.tensor.data = out.tensor.data = nullptr;
  Profile profile;
  hk_profile *raw;
  ASSERT_HK_OK(hk_profile_create(&raw));
  profile.reset(raw);
  EXPECT_HK_OK(call(fake.function("add"), {&x.tensor, &y.tensor, &out.tensor},
                    nullptr, 0, raw));
  EXPECT_EQ(hk_profile_num_entries(raw), 0u);
}

TEST_P(CallTest, ReportsAFailedGuard) {
  Matrix x(device, {3, 8}), y(device, {4, 8}), out(device, {3, 8}, 7);
  EXPECT_HK_ERROR(
      call(fake.function("add"), {&x.tensor, &y.tensor, &out.tensor}),
      HK_INVALID_ARGUMENT,
      "function 'add': x dim 0 is 3 but y dim 0 is 4; they must be equal");
  EXPECT_THAT(out.get(), Each(7.0f));
}

TEST_P(CallTest, ReportsAGuardOfAnOrder) {
  Matrix most(device, {901, 8}), room(device, {801, 8}), fits(device, {800, 8});
  EXPECT_HK_ERROR(
      call(fake.function("add"), {&most.tensor, &most.tensor, &most.tensor}),
      HK_INVALID_ARGUMENT,
      "x dim 0 is 901 but the most rows is 900; it must be at most that");
  Matrix out(device, {801, 8});
  EXPECT_HK_ERROR(
      call(fake.function("add"), {&room.tensor, &room.tensor, &out.tensor}),
      HK_INVALID_ARGUMENT,
      "the room is 800 but x dim 0 is 801; it must be at least that");
  Matrix sum(device, {800, 8});
  EXPECT_HK_OK(
      call(fake.function("add"), {&fits.tensor, &fits.tensor, &sum.tensor}));
}

TEST_P(CallTest, ChecksEveryTensor) {
  Matrix x(device, {3, 8}), y(device, {3, 8}), out(device, {3, 8}, 7);
  const hk_function *add = fake.function("add");
  std::vector<const DLTensor *> args = {&x.tensor, &y.tensor, &out.tensor};
  auto expect = [&](const char *expected, const char *actual) {
    EXPECT_HK_ERROR(call(add, args), HK_INVALID_ARGUMENT,
                    "function 'add', input 'y'", expected, actual);
  };
  DLTensor good = y.tensor;

  y.tensor.dtype = {kDLBfloat, 16, 1};
  expect("expected dtype f32", "got bf16");
  y.tensor.dtype = {3, 7, 2};
  expect("expected dtype f32", "got DLPack code 3 bits 7 lanes 2");
  y.tensor = good;

  int64_t shape[] = {3, 7, 1};
  y.tensor.shape = shape;
  expect("expected dim 1 to be 8 (shape [?, 8])", "got 7 (shape [3, 7])");
  y.tensor.ndim = 3;
  expect("expected rank 2 with shape [?, 8]", "got rank 3");
  shape[0] = -2;
  y.tensor.ndim = 2;
  expect("dim 0 has the size -2", "");
  shape[0] = INT64_MAX;
  shape[1] = 8;
  expect("is too large", "");
  y.tensor = good;
  y.tensor.shape = nullptr;
  expect("shape is NULL", "");
  y.tensor = good;

  int64_t strides[] = {16, 1};
  y.tensor.strides = strides;
  expect("expected a dense row-major tensor",
         "stride of dim 0 must be 8 elements, got 16");
  y.tensor = good;

  y.tensor.byte_offset = 4;
  expect("expected data aligned to 16 bytes", "byte_offset 4");
  y.tensor = good;
  y.tensor.data = nullptr;
  expect("data is NULL", "");
  y.tensor = good;
  y.tensor.device = {kDLVulkan, 3};
  expect("expected a tensor on ", "got one on DLPack device type 7:3");
  y.tensor = good;

  args[1] = nullptr;
  expect("the tensor is NULL", "");
  args.pop_back();
  EXPECT_HK_ERROR(call(add, args), HK_INVALID_ARGUMENT,
                  "'add' takes 3 arguments, got 2");
  EXPECT_THAT(out.get(), Each(7.0f));
}

TEST_P(CallTest, AcceptsHarmlessStridesAndOffsets) {
  Matrix x(device, {1, 8}, 1), y(device, {3, 8}, 2), out(device, {1, 8});
  int64_t strides[] = {12345, 1}; // a dimension of one has no stride
  x.tensor.strides = strides;
  int64_t one[] = {1, 8};
  y.tensor.shape = one;
  y.tensor.byte_offset = 32;
  EXPECT_HK_OK(call(fake.function("add"), {&x.tensor, &y.tensor, &out.tensor}));
  EXPECT_THAT(out.get(), Each(3.0f));
}

TEST_P(CallTest, RefusesOutputsOfTheWrongSizeAndOverlaps) {
  Matrix x(device, {3, 8}), y(device, {3, 8}), out(device, {4, 8});
  const hk_function *add = fake.function("add");
  EXPECT_HK_ERROR(call(add, {&x.tensor, &y.tensor, &out.tensor}),
                  HK_INVALID_ARGUMENT, "output 'out'",
                  "the inputs ask for shape [3, 8], got [4, 8]");
  EXPECT_HK_ERROR(call(add, {&x.tensor, &y.tensor, &y.tensor}),
                  HK_INVALID_ARGUMENT, "output 'out'",
                  "overlaps that of argument 'y'");
  // Reading one tensor twice is fine.
  Matrix fits(device, {3, 8});
  EXPECT_HK_OK(call(add, {&x.tensor, &x.tensor, &fits.tensor}));
}

TEST_P(CallTest, RefusesRowsThatLieTooFarApart) {
  Matrix x(device, {2, 8}), out(device, {2, 8});
  EXPECT_HK_ERROR(call(fake.function("wrong_plan"), {&x.tensor, &out.tensor}),
                  HK_INVALID_ARGUMENT, "'wrong_plan_kernel'",
                  "span 4 GiB or more");
}

TEST_P(CallTest, ReportsBrokenModules) {
  Matrix x(device, {3, 8}), out(device, {3, 8});
  EXPECT_HK_ERROR(call(fake.function("wrong_plan"), {&x.tensor, &out.tensor}),
                  HK_INTERNAL, "'wrong_plan_kernel'", "variant 7 of 1");
  EXPECT_HK_ERROR(call(fake.function("wrong_kernel"), {&x.tensor, &out.tensor}),
                  HK_INTERNAL, "the unknown kernel 99");
}

TEST_P(CallTest, RefusesNullAndForeignStructs) {
  hk_call broken{};
  EXPECT_HK_ERROR(hk_function_call(nullptr, &broken), HK_INVALID_ARGUMENT,
                  "function must not be NULL");
  EXPECT_HK_ERROR(hk_function_call(fake.function("add"), nullptr),
                  HK_INVALID_ARGUMENT, "call must not be NULL");
  EXPECT_HK_ERROR(hk_function_call(fake.function("add"), &broken),
                  HK_INVALID_ARGUMENT, "call.struct_bytes is 0");
}

TEST_P(CallTest, FindsFunctionsByName) {
  const hk_function *function;
  EXPECT_HK_ERROR(hk_program_function(fake.program.get(), "mul", &function),
                  HK_NOT_FOUND,
                  "no function 'mul'; it has: add, scaled, trace");
  EXPECT_EQ(function, nullptr);
}

TEST_P(CallTest, ProfilesLaunches) {
  hk_profile *raw;
  ASSERT_HK_OK(hk_profile_create(&raw));
  Profile profile(raw);
  Matrix x(device, {2, 8}, 2), acc(device, {2, 8}), out(device, {2, 8});
  void *workspace;
  ASSERT_HK_OK(hk_device_alloc(device, 64, &workspace));
  for (int round = 0; round < 3; ++round)
    ASSERT_HK_OK(call(fake.function("scaled"),
                      {&x.tensor, &acc.tensor, &out.tensor}, workspace, 64,
                      raw));
  hk_device_free(device, workspace);
  ASSERT_EQ(hk_profile_num_entries(raw), 2u);
  hk_profile_entry scale = hk_profile_get(raw, 0), add = hk_profile_get(raw, 1);
  EXPECT_STREQ(scale.kernel, "scale_kernel");
  EXPECT_STREQ(add.variant, "addRow");
  EXPECT_STREQ(add.ops, "hk.add");
  EXPECT_EQ(scale.launches, 3u);
  EXPECT_EQ(add.launches, 6u);
  EXPECT_GE(add.total_us, add.min_us * 6);
  EXPECT_EQ(hk_profile_get(raw, 2).kernel, nullptr);
}

TEST_P(CallTest, KeepsLaunches) {
  hk_profile *raw;
  ASSERT_HK_OK(hk_profile_create(&raw));
  Profile profile(raw);
  Matrix x(device, {2, 8}, 2), acc(device, {2, 8}), out(device, {2, 8});
  void *workspace;
  ASSERT_HK_OK(hk_device_alloc(device, 64, &workspace));
  auto once = [&] {
    return call(fake.function("scaled"), {&x.tensor, &acc.tensor, &out.tensor},
                workspace, 64, raw);
  };
  ASSERT_HK_OK(once());
  EXPECT_EQ(hk_profile_num_launches(raw), 0u);
  ASSERT_HK_OK(hk_profile_keep_launches(raw, 4));
  ASSERT_HK_OK(once());
  ASSERT_HK_OK(once());
  hk_device_free(device, workspace);
  // Three launches a call; the last two were too many.
  ASSERT_EQ(hk_profile_num_launches(raw), 4u);
  double end = 0;
  for (uint64_t i = 0; i < 4; ++i) {
    hk_profile_launch launch = hk_profile_get_launch(raw, i);
    EXPECT_STREQ(launch.function, "scaled");
    EXPECT_STREQ(launch.kernel, i % 3 == 0 ? "scale_kernel" : "add_kernel");
    EXPECT_EQ(launch.call, 1 + i / 3);
    EXPECT_GE(launch.duration_us, 0);
    EXPECT_GE(launch.begin_us + 1e-3, end) << i;
    end = launch.begin_us + launch.duration_us;
  }
  EXPECT_EQ(hk_profile_get_launch(raw, 4).kernel, nullptr);
  EXPECT_EQ(hk_profile_get_launch(nullptr, 0).kernel, nullptr);
  EXPECT_HK_ERROR(hk_profile_keep_launches(nullptr, 1), HK_INVALID_ARGUMENT,
                  "profile");
}

TEST_P(CallTest, ServesManyThreads) {
  constexpr int kThreads = 8, kRounds = 200;
  const hk_function *add = fake.function("add");
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  std::vector<int> wrong(kThreads, 0);
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      int64_t rows = 1 + 7 * t;
      Matrix x(device, {rows, 8}, float(t)), y(device, {rows, 8}, 1),
          out(device, {rows, 8});
      for (int round = 0; round < kRounds; ++round) {
        out.fill(-1);
        Outcome outcome(call(add, {&x.tensor, &y.tensor, &out.tensor}));
        Outcome synchronized(hk_device_synchronize(device));
        std::vector<float> result = out.get();
        wrong[t] += outcome.code != HK_OK || synchronized.code != HK_OK ||
                    std::count(result.begin(), result.end(), t + 1.0f) !=
                        int64_t(result.size());
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_THAT(wrong, Each(0));
}

INSTANTIATE_TEST_SUITE_P(Devices, CallTest,
                         testing::Values("host", "hip:0", "cuda:0"),
                         [](const auto &info) {
                           std::string name = info.param;
                           return name.substr(0, name.find(':'));
                         });
