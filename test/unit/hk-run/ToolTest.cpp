//===- ToolTest.cpp - hk-run from the command line -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the program on a module written by hand and looks at what it prints and
// writes.
//
//===----------------------------------------------------------------------===//

#include "Expected.h"
#include "Npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

using namespace hk;
using namespace hk::run;
using testing::AllOf;
using testing::HasSubstr;

namespace {

struct Result {
  int status;
  std::string output; // stdout and stderr
};

Result hkRun(const std::string &arguments, const std::string &before = "") {
  std::string command = before + HK_RUN " " + arguments + " 2>&1";
  FILE *pipe = popen(command.c_str(), "r");
  Result result{-1, ""};
  char buffer[4096];
  while (size_t bytes = fread(buffer, 1, sizeof(buffer), pipe))
    result.output.append(buffer, bytes);
  result.status = WEXITSTATUS(pclose(pipe));
  return result;
}

const std::string kMirror = HK_TEST_DIR "/mirror_module.so ";
const std::string kNames = HK_TEST_DIR "/odd_names.so ";
const std::string kFake = HK_TEST_DIR "/fake_module.so --weights=" HK_TEST_DIR
                                      "/weights.safetensors ";

} // namespace

TEST(HkRun, RunsAndWritesOutputs) {
  std::string folder = testing::TempDir() + "/hk-run-out";
  Result result =
      hkRun(kMirror + "--dim=d0=3 --random=7 --bench=2 --output=" + folder);
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("mirror of "), HasSubstr("on host"),
                    HasSubstr("f32 [3, 128]"), HasSubstr("workspace 0 bytes"),
                    HasSubstr("mirror (hk.test)"), HasSubstr("2 calls: min")));
  HostTensor out = readNpy(folder + "/out.npy", DType::F32);
  EXPECT_EQ(out.sizes, (std::vector<int64_t>{3, 128}));

  // The written output as the input of another run, which mirrors it back.
  result = hkRun(kMirror + "--poison --shuffle=3 --input=x=" + folder +
                 "/out.npy --output=out=" + folder + "/again.npy");
  EXPECT_EQ(result.status, 0) << result.output;
  HostTensor x, again = readNpy(folder + "/again.npy", DType::F32);
  x.sizes = {3, 128};
  x.allocate();
  fillRandom(x, "x", 7, Data::Normal, {});
  for (int64_t i = 0; i < x.numElements(); ++i)
    ASSERT_EQ(again.get(i), 4 * x.get(i)) << i;
}

TEST(HkRun, PrintsTheSelfDescription) {
  Result result = hkRun(kMirror + "--info");
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.output, AllOf(HasSubstr("\"name\": \"mirror\""),
                                   HasSubstr("\"target\": \"sm_90a\"")));
}

// A name of a module is no path of the machine that runs it.
TEST(HkRun, WritesInsideItsFolderOnly) {
  std::string folder = testing::TempDir() + "/hk-run-names";
  std::string arguments = kNames + "--dim=d0=2 --poison ";
  Result result = hkRun(arguments + "--output=" + folder);
  EXPECT_EQ(result.status, 2) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("'../esc'"),
                                   HasSubstr("--output=../esc=FILE.npy")));
  EXPECT_FALSE(std::ifstream(folder + "/../esc.npy"));
  result = hkRun(arguments + "--results=" + folder);
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.output, HasSubstr("'../esc'"));
  // With a name of its own it can be kept.
  result = hkRun(arguments + "--output=../esc=" + folder + "-esc.npy");
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_EQ(readNpy(folder + "-esc.npy", DType::F32).sizes,
            (std::vector<int64_t>{2, 128}));
}

TEST(HkRun, RefusesTwoArgumentsOfOneName) {
  Result result = hkRun(std::string(HK_TEST_DIR) + "/same_names.so --dim=d0=2");
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.output, HasSubstr("two arguments named 'x'"));
}

TEST(HkRun, LeavesNoHalfFile) {
  std::string path = testing::TempDir() + "/hk-run-half.npy";
  std::remove(path.c_str());
  Result result =
      hkRun(kMirror + "--dim=d0=300 --output=out=" + path, "ulimit -f 8; ");
  EXPECT_EQ(result.status, 2) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("cannot write '" + path),
                                   HasSubstr("File too large")));
  EXPECT_FALSE(std::ifstream(path));
  result = hkRun(kMirror + "--dim=d0=3 --trace=" + path, "ulimit -f 0; ");
  EXPECT_EQ(result.status, 2) << result.output;
  EXPECT_THAT(result.output, HasSubstr("--trace: cannot write '" + path));
  EXPECT_FALSE(std::ifstream(path));
}

// The machine that compares has the compiler, not the GPU.
TEST(HkRun, ReadsResultsWithoutADevice) {
  std::string folder = testing::TempDir() + "/hk-run-results";
  ASSERT_EQ(hkRun(kMirror + "--dim=d0=3 --output=" + folder).status, 0);
  std::string noHost = std::string(HK_TEST_DIR) + "/mirror_gpu.so --dim=d0=3 ";
  EXPECT_EQ(hkRun(noHost).status, 2);
  Result result = hkRun(noHost + "--device=hip:0 --results=" + folder);
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("results of " + folder),
                                   HasSubstr("f32 [3, 128]")));
  result = hkRun(noHost + "--bench --results=" + folder);
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.output, HasSubstr("--results makes no call"));
}

// The machine that runs a call has no compiler.
TEST(HkRun, ComparesWithWhatWasExpectedElsewhere) {
  std::string folder = testing::TempDir() + "/hk-run-expected";
  ASSERT_EQ(hkRun(kMirror + "--dim=d0=3 --output=" + folder).status, 0);
  HostTensor out = readNpy(folder + "/out.npy", DType::F32);
  Expected expected{"out", DType::F32, out.sizes, {}, {}};
  for (int64_t i = 0; i < out.numElements(); ++i) {
    expected.values.push_back(out.get(i) + (i == 130 ? 0.125 : 0));
    // A bound that f32 lacks, so that it is rounded, and not up.
    expected.bounds.push_back(i == 130 ? 0.125 + 0x1p-40 : 0);
  }
  writeExpected(folder, {expected});
  EXPECT_EQ(readExpected(folder, "out", DType::F32).bounds[130], 0.125);
  std::string arguments = kMirror + "--dim=d0=3 --expected=" + folder;
  Result result = hkRun(arguments);
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_THAT(
      result.output,
      AllOf(HasSubstr("check out: ok, 0 of 384 elements differ by more than "
                      "their bound; largest error 0.125, 1.000 of its bound"),
            HasSubstr("check @mirror on host: all within their bounds")));

  expected.bounds[130] = 0.125 - 0x1p-40;
  writeExpected(folder, {expected});
  result = hkRun(arguments);
  EXPECT_EQ(result.status, 1) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("check out: FAILED, 1 of 384"),
                                   HasSubstr("at [1, 2]: expected"),
                                   HasSubstr("on host: DIFFERS")));
  result = hkRun(kMirror + "--dim=d0=4 --expected=" + folder);
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output, HasSubstr("3x128xf32, but got 4x128xf32"));
  result = hkRun(kMirror + "--dim=d0=4 --expected=/nonexistent");
  EXPECT_EQ(result.status, 2);
}

TEST(HkRun, WritesTheTimesOfEveryKernel) {
  std::string path = testing::TempDir() + "/hk-run-times.json";
  std::remove(path.c_str());
  Result result =
      hkRun(kMirror + "--dim=d0=3 --bench=4 --cold=4096 --times=" + path);
  EXPECT_EQ(result.status, 0) << result.output;
  std::ifstream file(path);
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  EXPECT_THAT(line, AllOf(HasSubstr(R"("function":"mirror","iterations":4)"),
                          HasSubstr(R"("variant":"mirror","ops":"hk.test")"),
                          HasSubstr(R"("first_us":)"),
                          HasSubstr(R"("warm_us":{"min":)"),
                          HasSubstr(R"("cold_us":{"min":)"),
                          HasSubstr(R"("call_us":{"min":)")));
  EXPECT_FALSE(std::getline(file, line));
}

// The first call of a process is cold: pages, caches, clocks.
TEST(HkRun, TimesWarmLaunchesOnly) {
  Result result = hkRun(kMirror + "--dim=d0=3 --bench=7");
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("mean of 7 warm calls"));
  EXPECT_THAT(hkRun(kMirror + "--dim=d0=3").output,
              HasSubstr("of the first call"));
}

TEST(HkRun, KeepsStates) {
  Result result = hkRun(kFake + "--function=scaled --dim=d0=4 --data=equal");
  EXPECT_EQ(result.status, 0) << result.output;
  // acc starts at 0.5 and gains x = 0.5.
  EXPECT_THAT(result.output,
              HasSubstr("random equal; after: min 1 max 1 mean 1"));
}

TEST(HkRun, MakesEveryCallOfAFile) {
  std::string file = testing::TempDir() + "/hk-run.calls";
  std::ofstream(file) << "--dim=d0=3\n\n--dim=d0=x\n--dim=d0=5\n";
  Result result = hkRun(kMirror + "--data=equal --calls=" + file);
  EXPECT_EQ(result.status, 2) << result.output;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("call --dim=d0=3\n"), HasSubstr("f32 [3, 128]"),
                    HasSubstr("expected an integer, got 'x'\nexit status 2"),
                    HasSubstr("f32 [5, 128]"), HasSubstr("exit status 0")));
  std::ofstream(file) << "--calls=" << file << "\n";
  result = hkRun(kMirror + "--calls=" + file);
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.output, HasSubstr("no --calls inside"));
}

TEST(HkRun, TakesEqualSizesFromGuards) {
  // y's rows equal x's, by the guard of add.
  Result result = hkRun(kFake + "--function=add --dim=d0=4");
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("input  y              f32 [4, 8]"));
}

TEST(HkRun, SaysWhatIsWrong) {
  auto expect = [](const std::string &arguments, const char *text) {
    Result result = hkRun(arguments);
    EXPECT_EQ(result.status, 2) << arguments;
    EXPECT_THAT(result.output, HasSubstr(text)) << arguments;
  };
  expect("", "no module given");
  expect("--nonsense=1 x.so", "'--nonsense=1': expected an option");
  expect("/nonexistent.so", "cannot open '/nonexistent.so'");
  expect(kMirror + "extra", "expected one module");
  expect(kMirror, "--dim=d0=N (x dim 0)");
  expect(kMirror + "--dim=d0=x", "expected an integer, got 'x'");
  expect(kMirror + "--dim=d0", "expected NAME=VALUE");
  expect(kMirror + "--dim=d0=1 --dim=d7=1",
         "--dim=d7: function 'mirror' has no such dynamic size");
  expect(kMirror + "--data=weird", "expected normal, equal");
  expect(kMirror + "--calls=/nonexistent", "cannot read '/nonexistent'");
  expect(kMirror + "--calls=/dev/null", "has no line with options");
  expect(kMirror + "--calls=/tmp", "cannot read '/tmp': it is a folder");
  expect(kMirror + "--dim=d0=1 --write-expected=e",
         "--write-expected needs --check=SOURCE");
  expect(kMirror + "--dim=d0=1 --write-expected=e --check=m --bench",
         "--write-expected makes no call that --bench");
  expect(kMirror + "--dim=d0=1 --expected=e --check=m.mlir", "choose one");
  expect(kMirror + "--dim=d0=1 --times=t", "--times goes with --bench");
  expect(kMirror + "--range=x=3:1", "a range LO:HI with LO <= HI");
  expect(kMirror + "--input=y=z.npy", "--input=y: function 'mirror' has no");
  expect(kMirror + "--input=x=/nonexistent.npy",
         "cannot read '/nonexistent.npy'");
  expect(kMirror + "--input=x=/tmp", "cannot read '/tmp': it is a folder");
  expect(kMirror + "--function=f", "no function 'f'; it has: mirror");
  expect(kMirror + "--device=tpu --dim=d0=1", "unknown device 'tpu'");
  expect(kMirror + "--weights=w --dim=d0=1", "has no weights");
  expect(kFake, "choose with --function=: add scaled");
  expect(kFake + "--function=add --dim=d0=1 --dim=d1=2",
         "x dim 0 is 1 but y dim 0 is 2");
}
