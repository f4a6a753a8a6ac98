//===- ObjectCheckTest.cpp - Which PTX touches memory too early -----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel of sm_90a starts while the one before it still runs. What it may do
// before it waits is little: read its arguments, write LDS, and, relaxed, read
// what may be written meanwhile. PTX as clang prints it, a line of it too many
// or too few.
//
//===----------------------------------------------------------------------===//

#include "Compiler/ObjectCheck.h"

#include "gtest/gtest.h"

using namespace mlir::hk;

namespace {

/// The check's message about a kernel whose entry point `k` has these lines;
/// "" if it passes.
std::string complaintAbout(llvm::StringRef lines,
                           llvm::StringRef symbol = "k") {
  KernelRecord kernel;
  kernel.name = "matmul";
  kernel.ops = "matmul";
  VariantRecord variant;
  variant.symbol = symbol.str();
  variant.tile = "tile";
  kernel.variants.push_back(variant);
  std::string ptx = (".visible .entry k(\n\t.param .u64 k_param_0\n)\n{\n" +
                     lines + "\tret;\n}\n.visible .entry other(\n)\n{\n" +
                     "\tgriddepcontrol.wait;\n\tret;\n}\n")
                        .str();
  llvm::Error error = checkObject(*::hk::findTarget("sm_90a"), kernel, ptx);
  return llvm::toString(std::move(error));
}

constexpr llvm::StringLiteral kWait = "\tgriddepcontrol.wait;\n";
constexpr llvm::StringLiteral kLoad = "\tld.global.b32 %r1, [%rd1];\n";
constexpr llvm::StringLiteral kEarly =
    "\tld.relaxed.gpu.global.b32 %r2, [%rd1];\n";

TEST(ObjectCheck, MemoryIsTouchedBehindTheWait) {
  EXPECT_EQ(complaintAbout((kWait + kLoad).str()), "");
  EXPECT_EQ(complaintAbout((kLoad + kWait).str()),
            "kernel @matmul (matmul), variant tile for sm_90a: the PTX has no "
            "entry point k that waits for the kernel before; declare it with "
            "HK_KERNEL");
}

TEST(ObjectCheck, WhatIsTheKernelsOwnMayComeFirst) {
  EXPECT_EQ(complaintAbout(("\tld.param.b64 %rd1, [k_param_0];\n"
                            "\tst.shared.b32 [%r1], 0;\n"
                            "\tld.shared.b32 %r2, [%r1];\n" +
                            kWait)
                               .str()),
            "");
}

TEST(ObjectCheck, RelaxedLoadsMayComeFirst) {
  EXPECT_EQ(complaintAbout((kEarly + kWait + kLoad).str()), "");
  EXPECT_EQ(
      complaintAbout(
          ("\t@%p1 ld.relaxed.gpu.global.b32 %r2, [%rd1];\n" + kWait).str()),
      "");
}

TEST(ObjectCheck, NothingElseBecomesAllowedByThem) {
  EXPECT_NE(complaintAbout((kEarly + kLoad + kWait).str()), "");
  EXPECT_NE(complaintAbout(kEarly), "");
  for (llvm::StringRef access :
       {"ld.acquire.gpu.global.b32 %r2, [%rd1];",
        "ld.volatile.global.b32 %r2, [%rd1];",
        "st.relaxed.gpu.global.b32 [%rd1], %r2;",
        "atom.relaxed.gpu.global.add.u32 %r2, [%rd1], 1;",
        "red.relaxed.gpu.global.add.u32 [%rd1], 1;",
        "@%p1 ld.global.b32 %r1, [%rd1];", "call.uni f, ();"})
    EXPECT_NE(complaintAbout(("\t" + access + "\n" + kWait).str()), "")
        << access.str();
}

TEST(ObjectCheck, AnotherEntryPointsWaitDoesNotCount) {
  EXPECT_NE(complaintAbout(""), "");
  EXPECT_NE(complaintAbout(kWait, "none"), "");
  EXPECT_EQ(complaintAbout("", "other"), "");
}

} // namespace
