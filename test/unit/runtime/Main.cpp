//===- Main.cpp - Entry of the runtime's tests -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GPU devices go to the fake drivers unless the caller chose a library.
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include <cstdlib>

int main(int argc, char **argv) {
  setenv("HK_HIP_LIBRARY", hk::test::testFile("fake_hip.so").c_str(), 0);
  setenv("HK_CUDA_LIBRARY", hk::test::testFile("fake_cuda.so").c_str(), 0);
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
