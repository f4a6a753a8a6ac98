//===- LoaderTest.cpp - Files a loader must take or refuse -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Modules and weights that are missing, foreign, truncated or of another
// version: each gives an error that says which.
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include <cstdio>
#include <fstream>
#include <unistd.h>

using namespace hk::test;

namespace {

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A file that disappears with the test.
class TemporaryFile {
public:
  explicit TemporaryFile(const std::string &content) {
    std::string pattern = testing::TempDir() + "/hk-loader-XXXXXX";
    int file = mkstemp(pattern.data());
    path = pattern;
    EXPECT_GE(file, 0);
    EXPECT_EQ(write(file, content.data(), content.size()),
              static_cast<ssize_t>(content.size()));
    close(file);
  }
  ~TemporaryFile() { std::remove(path.c_str()); }
  const char *name() const { return path.c_str(); }

private:
  std::string path;
};

Outcome openFile(const std::string &path) {
  hk_module *module = nullptr;
  Outcome outcome(hk_module_open(path.c_str(), &module));
  EXPECT_EQ(module, nullptr);
  return outcome;
}

#define EXPECT_REFUSED(path, expected, ...)                                    \
  do {                                                                         \
    Outcome outcome = openFile(path);                                          \
    EXPECT_EQ(outcome.code, expected) << outcome.message;                      \
    for (const char *part : {__VA_ARGS__})                                     \
      EXPECT_THAT(outcome.message, ::testing::HasSubstr(part));                \
  } while (false)

} // namespace

TEST(Loader, DescribesTheModule) {
  Module module = openModule("fake_module.so");
  std::string json = hk_module_json(module.get());
  EXPECT_THAT(json, testing::HasSubstr("\"producer\": \"hand-written test\""));
  EXPECT_THAT(json, testing::HasSubstr("\"target\": \"gfx942\""));
  EXPECT_THAT(json, testing::HasSubstr("\"role\": \"state\""));
  EXPECT_THAT(json, testing::HasSubstr("\"d1\""));
  EXPECT_THAT(json, testing::HasSubstr("\"checksum\": null"));
}

TEST(Loader, RefusesFilesThatAreNoModule) {
  EXPECT_REFUSED("/nonexistent/model.so", HK_NOT_FOUND,
                 "cannot open '/nonexistent/model.so'", "No such file");
  EXPECT_REFUSED(testing::TempDir(), HK_INCOMPATIBLE, "not a regular file");
  EXPECT_REFUSED(TemporaryFile("").name(), HK_INCOMPATIBLE, "not an ELF");
  EXPECT_REFUSED(TemporaryFile("hello").name(), HK_INCOMPATIBLE, "not an ELF");
  EXPECT_REFUSED(testFile("no_query.so"), HK_INCOMPATIBLE,
                 "does not export hk_module_query");
  Outcome null(hk_module_open(nullptr, nullptr));
  EXPECT_EQ(null.code, HK_INVALID_ARGUMENT);
}

TEST(Loader, RefusesOtherMachines) {
  std::string content = readFile(testFile("fake_module.so"));
  content[18] ^= 0x40; // e_machine
  EXPECT_REFUSED(TemporaryFile(content).name(), HK_INCOMPATIBLE,
                 "of another machine");
  content[18] ^= 0x40;
  content[16] = 2; // e_type: an executable
  EXPECT_REFUSED(TemporaryFile(content).name(), HK_INCOMPATIBLE,
                 "not an ELF shared object");
}

TEST(Loader, RefusesEveryTruncation) {
  std::string content = readFile(testFile("fake_module.so"));
  ASSERT_GT(content.size(), 1000u);
  for (size_t length = 4; length < content.size(); length += 97)
    EXPECT_REFUSED(TemporaryFile(content.substr(0, length)).name(),
                   HK_INCOMPATIBLE, "truncated");
  EXPECT_REFUSED(TemporaryFile(content.substr(0, content.size() - 1)).name(),
                 HK_INCOMPATIBLE, "truncated");
}

// The loader of the C library, or the module's own code, would run into it.
TEST(Loader, RefusesDamage) {
  std::string content = readFile(testFile("fake_module.so"));
  for (size_t at = 64; at < content.size(); at += 61) {
    content[at] ^= 0x10;
    EXPECT_EQ(openFile(TemporaryFile(content).name()).code, HK_INCOMPATIBLE)
        << "byte " << at;
    content[at] ^= 0x10;
  }
  size_t text = content.find("hand-written test");
  ASSERT_NE(text, content.npos);
  content[text] = 'H';
  EXPECT_REFUSED(TemporaryFile(content).name(), HK_INCOMPATIBLE,
                 "is damaged: its checksum is not the one it was written with",
                 "copy it again");
  content[text] = 'h';
  EXPECT_REFUSED(TemporaryFile(content + "more").name(), HK_INCOMPATIBLE,
                 "is truncated, or was changed after");
  EXPECT_REFUSED(testFile("unsealed.so"), HK_INCOMPATIBLE,
                 "is truncated, or was changed after hk-compile wrote it",
                 "strip");
}

TEST(Loader, RefusesOtherVersions) {
  EXPECT_REFUSED(testFile("wrong_version.so"), HK_INCOMPATIBLE,
                 "module ABI version 99, this runtime has",
                 "compile the module again");
  EXPECT_REFUSED(testFile("query_null.so"), HK_INCOMPATIBLE,
                 "needs a newer runtime");
  EXPECT_REFUSED(testFile("wrong_size.so"), HK_INCOMPATIBLE,
                 "hk_module_abi has 8 bytes");
  EXPECT_REFUSED(testFile("wrong_contract.so"), HK_INCOMPATIBLE,
                 "compiled against contract 0123456789abcdef",
                 "made by hand-written test");
}

TEST(Loader, RefusesBrokenTables) {
  EXPECT_REFUSED(testFile("wrong_map.so"), HK_INCOMPATIBLE,
                 "tensor map 0 of variant 'addRow' refers to a word");
  EXPECT_REFUSED(testFile("wrong_role.so"), HK_INCOMPATIBLE,
                 "function 'add': argument 'out' has the unknown role 9");
}

TEST(Loader, ChoosesTheSection) {
  Device host = openDevice("host");
  hk_program *program = nullptr;
  EXPECT_HK_ERROR(hk_program_create(openModule("no_host.so").get(), host.get(),
                                    nullptr, &program),
                  HK_UNAVAILABLE,
                  "has no code for 'host'; it has: gfx942, sm_90a",
                  "--target=host");
  EXPECT_HK_ERROR(hk_program_create(openModule("strange_cpu.so").get(),
                                    host.get(), nullptr, &program),
                  HK_INCOMPATIBLE, "lacks avx9999,quantum;");
}

TEST(Loader, FindsWeightsBesideTheModule) {
  Device host = openDevice("host");
  Module module = openModule("fake_module.so");
  hk_program *program = nullptr;
  // The module names fake.safetensors, which nobody wrote.
  EXPECT_HK_ERROR(
      hk_program_create(module.get(), host.get(), nullptr, &program),
      HK_NOT_FOUND, "fake.safetensors", "No such file");
}

namespace {
/// Tries to bind a weights file with this header and 32 bytes of data.
Outcome bindWeights(const std::string &header,
                    const char *module = "fake_module.so",
                    size_t dataBytes = 32) {
  uint64_t length = header.size();
  std::string content(reinterpret_cast<char *>(&length), 8);
  TemporaryFile file(content + header + std::string(dataBytes, '\0'));
  Device host = openDevice("host");
  Module opened = openModule(module);
  hk_program *program = nullptr;
  Outcome outcome(
      hk_program_create(opened.get(), host.get(), file.name(), &program));
  hk_program_destroy(program);
  return outcome;
}
std::string entry(const char *dtype, const char *shape, const char *offsets) {
  return std::string("{\"scale\":{\"dtype\":\"") + dtype +
         "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}";
}
} // namespace

TEST(Weights, AreCheckedAgainstTheModule) {
  Outcome good = bindWeights(entry("F32", "[8]", "[0,32]"));
  EXPECT_EQ(good.code, HK_OK) << good.message;
  auto refused = [](const std::string &header, hk_status_code code,
                    const char *text) {
    Outcome outcome = bindWeights(header);
    EXPECT_EQ(outcome.code, code) << header;
    EXPECT_THAT(outcome.message, testing::HasSubstr(text));
  };
  refused("{}", HK_NOT_FOUND, "weight 'scale'");
  refused("{}", HK_NOT_FOUND, "no such tensor");
  refused(entry("BF16", "[8]", "[0,32]"), HK_INCOMPATIBLE,
          "expected dtype F32 (f32), got BF16");
  refused(entry("F32", "[2,4]", "[0,32]"), HK_INCOMPATIBLE,
          "expected shape [8], got [2, 4]");
  refused(entry("F32", "[8]", "[0,16]"), HK_INCOMPATIBLE, "takes 32 bytes");
  refused(entry("F32", "[8]", "[8,40]"), HK_INCOMPATIBLE,
          "is the file truncated");
  refused(entry("F32", "[8]", "[32,0]"), HK_INCOMPATIBLE, "data_offsets");
  refused(entry("F32", "[-8]", "[0,32]"), HK_INCOMPATIBLE, "list of sizes");
  refused(entry("F32", "8", "[0]"), HK_INCOMPATIBLE, "tensor 'scale'");
  refused(entry("F32", "8", "[0,32]"), HK_INCOMPATIBLE, "list of sizes");
  refused("{\"scale\":1,\"scale\":2}", HK_INCOMPATIBLE,
          "two tensors named 'scale'");
  refused("[1,2]", HK_INCOMPATIBLE, "not a JSON object");
  refused("{\"scale\":", HK_INCOMPATIBLE, "not that of a safetensors file");
  refused("{\"scale\":{}}", HK_INCOMPATIBLE, "not that of a safetensors file");
}

TEST(Weights, AreComparedByChecksum) {
  Outcome outcome =
      bindWeights(entry("F32", "[8]", "[0,32]"), "wrong_checksum.so");
  EXPECT_EQ(outcome.code, HK_INCOMPATIBLE);
  EXPECT_THAT(outcome.message,
              testing::HasSubstr("expected checksum 00000000000004d2"));
}

TEST(Weights, MayBeUnaligned) {
  // The data then starts at an odd address and is copied.
  std::string header = entry("F32", "[8]", "[1,33]");
  for (int pad = 0; pad < 3; ++pad, header += ' ') {
    Outcome outcome = bindWeights(header, "fake_module.so", 33);
    EXPECT_EQ(outcome.code, HK_OK) << outcome.message;
  }
}

TEST(Weights, RefusesForeignFiles) {
  Device host = openDevice("host");
  Module module = openModule("fake_module.so");
  hk_program *program = nullptr;
  TemporaryFile tiny("abc"), huge(std::string(64, '\x7f'));
  EXPECT_HK_ERROR(
      hk_program_create(module.get(), host.get(), tiny.name(), &program),
      HK_INCOMPATIBLE, "it has 3 bytes");
  EXPECT_HK_ERROR(
      hk_program_create(module.get(), host.get(), huge.name(), &program),
      HK_INCOMPATIBLE, "announces a header of");
}
