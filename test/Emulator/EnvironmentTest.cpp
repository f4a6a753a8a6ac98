//===- EnvironmentTest.cpp - HK_EMU_ variables ----------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value that means nothing is told and ignored, and one that means something
// is taken without a word.
//
//===----------------------------------------------------------------------===//

#include "Environment.h"
#include "Launch.h"
#include <cstdlib>
#include <gtest/gtest.h>

using namespace hk::emu;

namespace {

constexpr const char *kName = "HK_EMU_TEST_VALUE";

struct Case {
  const char *text;
  uint64_t value;
  bool told;
};

TEST(Environment, NumbersAreCheckedAndToldOf) {
  constexpr uint64_t otherwise = 7, most = 20;
  for (const Case &c : {Case{"", otherwise, false},
                        {"0", 0, false},
                        {"20", 20, false},
                        {"010", 10, false},
                        {"0x10", 16, false},
                        {"yes", otherwise, true},
                        {"-1", otherwise, true},
                        {"21", otherwise, true},
                        {"3x", otherwise, true},
                        {" 3", otherwise, true},
                        {"0x", otherwise, true},
                        {"99999999999999999999", otherwise, true}}) {
    SCOPED_TRACE(c.text);
    setenv(kName, c.text, 1);
    testing::internal::CaptureStderr();
    EXPECT_EQ(numberFromEnvironment(kName, otherwise, most), c.value);
    std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(said, !c.told ? ""
                            : "hk-emu: HK_EMU_TEST_VALUE is '" +
                                  std::string(c.text) +
                                  "', expected a number from 0 to 20; it is "
                                  "ignored, as if it were not set\n");
  }
  unsetenv(kName);
  EXPECT_EQ(numberFromEnvironment(kName, otherwise, most), otherwise);
}

TEST(Environment, FilesThatCannotBeWrittenAreToldOf) {
  std::string good = testing::TempDir() + "hk-environment-test";
  setenv(kName, good.c_str(), 1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(fileFromEnvironment(kName), good);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  std::remove(good.c_str());

  setenv(kName, "/no-such-folder/report", 1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(fileFromEnvironment(kName), "");
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("cannot write '/no-such-folder/report', the file that "
                      "HK_EMU_TEST_VALUE names: No such file or directory"),
            std::string::npos)
      << said;
  unsetenv(kName);
}

/// A word in the place of 1 does not turn the checks off.
TEST(Environment, ChecksStayOn) {
  setenv("HK_EMU_CHECKS", "yes", 1);
  setenv("HK_EMU_STACK", "-1", 1);
  testing::internal::CaptureStderr();
  Options options = optionsFromEnvironment();
  std::string said = testing::internal::GetCapturedStderr();
  unsetenv("HK_EMU_CHECKS");
  unsetenv("HK_EMU_STACK");
  EXPECT_TRUE(options.checks);
  EXPECT_EQ(options.stackBytes, Options().stackBytes);
  EXPECT_NE(said.find("HK_EMU_CHECKS is 'yes'"), std::string::npos);
  EXPECT_NE(said.find("HK_EMU_STACK is '-1'"), std::string::npos);
}

} // namespace
