//===- CommTest.cpp - The C interface of communicators --------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a program of a module with a mesh needs, and wrong options. Ranks that
// exchange something are in CommunicatorTest.cpp and under mpirun.
//
//===----------------------------------------------------------------------===//

#include "Support.h"

using namespace hk::test;

namespace {
using Comm = std::unique_ptr<hk_comm, Release<hk_comm_close>>;

Outcome openComm(hk_device *device, hk_comm_options options,
                 Comm *opened = nullptr) {
  if (!options.struct_bytes)
    options.struct_bytes = sizeof(options);
  hk_comm *comm = nullptr;
  Outcome outcome(hk_comm_open(device, &options, &comm));
  EXPECT_EQ(comm == nullptr, outcome.code != HK_OK);
  Comm owned(comm);
  if (opened)
    *opened = std::move(owned);
  return outcome;
}

hk_comm_options withMesh(const char *mesh) {
  hk_comm_options options{};
  options.mesh = mesh;
  return options;
}

#define EXPECT_NOT_OPENED(options, expected, ...)                              \
  do {                                                                         \
    Outcome outcome = openComm(device.get(), options);                         \
    EXPECT_EQ(outcome.code, expected) << outcome.message;                      \
    for (const char *part : {__VA_ARGS__})                                     \
      EXPECT_THAT(outcome.message, ::testing::HasSubstr(part));                \
  } while (false)

Outcome makeProgram(hk_module *module, hk_device *device, hk_comm *comm,
                    Program *made = nullptr) {
  hk_program *program = nullptr;
  Outcome outcome(hk_program_create_on(
      module, device, comm, testFile("weights.safetensors").c_str(), &program));
  Program owned(program);
  if (made)
    *made = std::move(owned);
  return outcome;
}
} // namespace

TEST(Comm, RefusesWrongOptions) {
  Device device = openDevice("host");
  EXPECT_HK_ERROR(hk_comm_open(device.get(), nullptr, nullptr),
                  HK_INVALID_ARGUMENT, "options must not be NULL");
  hk_comm_options options = withMesh("tp=1");
  options.struct_bytes = 8;
  EXPECT_NOT_OPENED(options, HK_INVALID_ARGUMENT, "struct_bytes is 8");
  EXPECT_NOT_OPENED(withMesh(nullptr), HK_INVALID_ARGUMENT,
                    "options.mesh must not be NULL");
  EXPECT_NOT_OPENED(withMesh("tp"), HK_INVALID_ARGUMENT, "got 'tp'",
                    "no size from 1");
  options = withMesh("tp=1");
  options.engine = "rccl";
  EXPECT_NOT_OPENED(options, HK_UNAVAILABLE, "unknown engine 'rccl'");
  options = withMesh("tp=2");
  options.id_file = "id";
  EXPECT_NOT_OPENED(options, HK_INVALID_ARGUMENT, "options.id_file",
                    "got rank 0 of 0");
  options.rank = options.world = 2;
  EXPECT_NOT_OPENED(options, HK_INVALID_ARGUMENT, "got rank 2 of 2");
  options.rank = 0;
  options.id_file = "/nowhere/id";
  EXPECT_NOT_OPENED(options, HK_UNAVAILABLE, "cannot make '/nowhere/id");
  options = withMesh("tp=65");
  options.id_file = "id";
  options.world = 65;
  EXPECT_NOT_OPENED(options, HK_INVALID_ARGUMENT, "mesh of 65 ranks");
  options = withMesh("tp=1");
  options.shared_bytes = 1;
  EXPECT_NOT_OPENED(options, HK_INVALID_ARGUMENT, "options.shared_bytes");
  options = withMesh("tp=1");
  options.num_native = 2;
  EXPECT_NOT_OPENED(options, HK_INVALID_ARGUMENT, "options.native", "got 2");
  options = withMesh("tp=1");
  options.world = 2;
  EXPECT_NOT_OPENED(options, HK_INVALID_ARGUMENT,
                    "expected to be rank 0 of 2, but this process is rank 0 "
                    "of 1");
}

TEST(Comm, SaysWhatLacksForSeveralRanks) {
  Device device = openDevice("host");
  // Of a launcher that may have started this test, or of none.
  Environment library("HK_MPI_LIBRARY", "/nowhere/libmpi.so");
  EXPECT_NOT_OPENED(withMesh("tp=2"), HK_UNAVAILABLE, "cannot load OpenMPI",
                    "openmpi-bin", "/nowhere/libmpi.so");
}

TEST(Comm, GpusNeedTheirLibrary) {
  Environment hip("HK_HIP_LIBRARY", testFile("fake_hip.so"));
  Environment library("HK_RCCL_LIBRARY", "/nowhere/librccl.so");
  Device device = openDevice("hip:0");
  hk_comm_options options = withMesh("tp=2");
  options.engine = "nccl";
  EXPECT_NOT_OPENED(options, HK_UNAVAILABLE, "unknown engine 'nccl'",
                    "have 'rccl'");
  options.engine = "rccl";
  options.timeout_ms = 200;
  std::string file = testFile("alone.id");
  options.id_file = file.c_str();
  options.world = 2;
  EXPECT_NOT_OPENED(options, HK_TIMEOUT, "rank 1 has not come to hk_comm_open",
                    "within 200 ms");
  void *natives[] = {&options};
  options.native = natives;
  options.num_native = 1;
  options.mesh = "ep=1,tp=2";
  EXPECT_NOT_OPENED(options, HK_INVALID_ARGUMENT,
                    "expected 2 communicators in options.native, one for each "
                    "axis of the mesh, or none, got 1");
}

TEST(Comm, WaitsForAStream) {
  Environment hip("HK_HIP_LIBRARY", testFile("fake_hip.so"));
  Device device = openDevice("hip:0");
  Comm comm;
  ASSERT_EQ(openComm(device.get(), withMesh("tp=1"), &comm).code, HK_OK);
  EXPECT_HK_ERROR(hk_comm_wait(nullptr, device.get(), nullptr, 100),
                  HK_INVALID_ARGUMENT, "comm must not be NULL");
  EXPECT_HK_ERROR(hk_comm_wait(comm.get(), nullptr, nullptr, 100),
                  HK_INVALID_ARGUMENT, "device must not be NULL");
  EXPECT_HK_OK(hk_comm_wait(comm.get(), device.get(), nullptr, 100));
  {
    Environment captured("HK_FAKE_FAIL", "capturing");
    EXPECT_HK_ERROR(hk_comm_wait(comm.get(), device.get(), nullptr, 100),
                    HK_INVALID_ARGUMENT, "the stream is captured");
  }
  {
    Environment busy("HK_FAKE_FAIL", "busy");
    EXPECT_HK_ERROR(hk_comm_wait(comm.get(), device.get(), nullptr, 100),
                    HK_TIMEOUT,
                    "the stream of rank 0 is not done within 100 ms");
  }
  EXPECT_HK_ERROR(hk_comm_check(comm.get()), HK_TIMEOUT, "not done within");
}

/// Copies of the only rank, on devices that are strict about them.
TEST(Comm, OneRankOnAGpuSumsWithItself) {
  for (const char *kind : {"hip", "cuda"}) {
    Environment hip("HK_HIP_LIBRARY", testFile("fake_hip.so"));
    Environment cuda("HK_CUDA_LIBRARY", testFile("fake_cuda.so"));
    Device device = openDevice((std::string(kind) + ":0").c_str());
    Module module = openModule("one_rank.so");
    Comm comm;
    ASSERT_EQ(openComm(device.get(), withMesh("tp=1"), &comm).code, HK_OK);
    Program program;
    ASSERT_EQ(
        makeProgram(module.get(), device.get(), comm.get(), &program).code,
        HK_OK);
    const hk_function *sum = nullptr;
    ASSERT_HK_OK(hk_program_function(program.get(), "sum", &sum));
    Matrix x(device.get(), {3, 8}, 2), y(device.get(), {3, 8});
    EXPECT_HK_OK(call(sum, {&x.tensor, &y.tensor}));
    EXPECT_EQ(y.get(), std::vector<float>(24, 2));
  }
}

TEST(Comm, AMeshIsTheModulesOwn) {
  Device device = openDevice("host");
  Comm one, other;
  ASSERT_EQ(openComm(device.get(), withMesh("tp=1"), &one).code, HK_OK);
  ASSERT_EQ(openComm(device.get(), withMesh("ep=1"), &other).code, HK_OK);
  EXPECT_EQ(hk_comm_rank(one.get()), 0u);
  EXPECT_EQ(hk_comm_world(one.get()), 1u);
  EXPECT_HK_OK(hk_comm_check(one.get()));

  Module whole = openModule("fake_module.so");
  Outcome outcome = makeProgram(whole.get(), device.get(), one.get());
  EXPECT_EQ(outcome.code, HK_INVALID_ARGUMENT);
  EXPECT_THAT(outcome.message, testing::HasSubstr("compiled for one rank"));
  // The other ranks are told, so the communicator is of no use any more.
  EXPECT_HK_ERROR(hk_comm_check(one.get()), HK_INVALID_ARGUMENT,
                  "compiled for one rank");

  Module two = openModule("two_ranks.so");
  outcome = makeProgram(two.get(), device.get(), nullptr);
  EXPECT_EQ(outcome.code, HK_INVALID_ARGUMENT);
  EXPECT_THAT(outcome.message,
              testing::HasSubstr("compiled for the ranks of the mesh 'tp=2'; "
                                 "open a communicator"));
  outcome = makeProgram(two.get(), device.get(), other.get());
  EXPECT_EQ(outcome.code, HK_INVALID_ARGUMENT);
  EXPECT_THAT(outcome.message,
              testing::HasSubstr("compiled for the mesh 'tp=2', the "
                                 "communicator has 'ep=1'"));
}

TEST(Comm, OneRankSumsWithItself) {
  Device device = openDevice("host");
  Module module = openModule("one_rank.so");
  EXPECT_THAT(hk_module_json(module.get()),
              testing::HasSubstr("\"mesh\": \"tp=1\""));
  Comm comm;
  ASSERT_EQ(openComm(device.get(), withMesh("tp=1"), &comm).code, HK_OK);
  for (hk_comm *used : {static_cast<hk_comm *>(nullptr), comm.get()}) {
    Program program;
    ASSERT_EQ(makeProgram(module.get(), device.get(), used, &program).code,
              HK_OK);
    const hk_function *sum = nullptr;
    ASSERT_HK_OK(hk_program_function(program.get(), "sum", &sum));
    Matrix x(device.get(), {3, 8}, 2), y(device.get(), {3, 8});
    EXPECT_HK_OK(call(sum, {&x.tensor, &y.tensor}));
    EXPECT_EQ(y.get(), std::vector<float>(24, 2));
    // A launch like others to profiles.
    hk_profile *raw = nullptr;
    ASSERT_HK_OK(hk_profile_create(&raw));
    Profile profile(raw);
    EXPECT_HK_OK(call(sum, {&x.tensor, &y.tensor}, nullptr, 0, raw));
    ASSERT_EQ(hk_profile_num_entries(raw), 1u);
    EXPECT_STREQ(hk_profile_get(raw, 0).variant, "all_reduce");
  }
}

TEST(Comm, AFailedCallIsKept) {
  Device device = openDevice("host");
  Module module = openModule("one_rank.so");
  Comm comm;
  ASSERT_EQ(openComm(device.get(), withMesh("tp=1"), &comm).code, HK_OK);
  Program program;
  ASSERT_EQ(makeProgram(module.get(), device.get(), comm.get(), &program).code,
            HK_OK);
  const hk_function *sum = nullptr, *trace = nullptr;
  ASSERT_HK_OK(hk_program_function(program.get(), "sum", &sum));
  ASSERT_HK_OK(hk_program_function(program.get(), "trace", &trace));
  Matrix x(device.get(), {3, 8}), y(device.get(), {3, 8}),
      wrong(device.get(), {2, 8});
  // Nobody waits for a function without collectives.
  EXPECT_HK_ERROR(call(trace, {&x.tensor, &wrong.tensor}), HK_INVALID_ARGUMENT,
                  "out");
  EXPECT_HK_OK(call(sum, {&x.tensor, &y.tensor}));
  EXPECT_HK_ERROR(call(sum, {&x.tensor, &wrong.tensor}), HK_INVALID_ARGUMENT,
                  "out");
  EXPECT_HK_ERROR(call(sum, {&x.tensor, &y.tensor}), HK_INVALID_ARGUMENT,
                  "out");
}

TEST(Comm, TablesAreChecked) {
  hk_module *module = nullptr;
  EXPECT_HK_ERROR(hk_module_open(testFile("wrong_mesh.so").c_str(), &module),
                  HK_INCOMPATIBLE, "mesh 'tp=0'");
  EXPECT_HK_ERROR(hk_module_open(testFile("wrong_axis.so").c_str(), &module),
                  HK_INCOMPATIBLE,
                  "kernel 'sum_kernel' is over the axis 'ep', which the mesh "
                  "lacks");
}
