//===- Harness.cpp - Compile and run kernels in tests ---------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler runs as a child process; its output is a temporary file.
//
//===----------------------------------------------------------------------===//

#include "Harness.h"
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace hk::emu::test {

const char *const kChips[2] = {"gfx942", "gfx950"};

namespace {

/// Runs the compiler on `text`; the suffix chooses the language.
std::string runCompiler(const std::string &text, const std::string &suffix,
                        const std::string &flags) {
  char name[] = "/tmp/hk-emu-test-XXXXXX";
  int fd = mkstemp(name);
  if (fd < 0) {
    ADD_FAILURE() << "no temporary file";
    return "";
  }
  close(fd);
  std::string base = name, in = base + suffix, out = base + ".co";
  std::ofstream(in) << text;
  std::string command = std::string(HK_TEST_CLANG) + " " + flags + " " + in +
                        " -o " + out + " 2>" + base + ".log";
  int status = std::system(command.c_str());
  auto read = [](const std::string &path) {
    std::ifstream f(path, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(f)),
                       std::istreambuf_iterator<char>());
  };
  std::string object = read(out);
  if (status)
    ADD_FAILURE() << command << "\n" << read(base + ".log");
  for (const std::string &path : {base, in, out, base + ".log"})
    std::remove(path.c_str());
  return status ? "" : object;
}

} // namespace

std::string compileHip(const std::string &source, const std::string &chip,
                       const std::string &flags) {
  return runCompiler(source, ".hip",
                     "-x hip --offload-device-only --no-gpu-bundle-output "
                     "-nogpuinc -nogpulib -std=c++17 -O3 -I" HK_TEST_KERNELS
                     " --offload-arch=" +
                         chip + " " + flags);
}

std::string compileHipFile(const std::string &name, const std::string &chip,
                           const std::string &flags) {
  return compileHip("#include \"" + name + "\"\n", chip, flags);
}

std::string assemble(const std::string &text, const std::string &chip) {
  return runCompiler(text, ".s",
                     "-x assembler -target amdgcn-amd-amdhsa -mcpu=" + chip);
}

TestDevice::TestDevice(const std::string &name) : chip(findChip(name)) {
  options.threads = 1;
}

bool TestDevice::load(const std::string &bytes) {
  object =
      CodeObject::load(bytes.data(), bytes.size(), *chip, memory, loadError);
  return object != nullptr;
}

uint64_t TestDevice::alloc(uint64_t bytes) {
  return memory.allocate(bytes, "test buffer");
}

LaunchResult TestDevice::launch(const std::string &name,
                                const LaunchConfig &config) {
  LaunchResult result;
  const Kernel *kernel = object ? object->kernel(name) : nullptr;
  if (!kernel) {
    result.error = "no kernel " + name + "; " + loadError;
    return result;
  }
  return launchKernel(*object, *kernel, memory, config, options);
}

std::string findingNames(const LaunchResult &result) {
  std::string names;
  for (const Finding &f : result.findings) {
    std::string name = checkName(f.check);
    if (names.find(name) == std::string::npos)
      names += (names.empty() ? "" : " ") + name;
  }
  return names;
}

std::string describe(const LaunchResult &result) {
  std::string text = result.error;
  for (const Finding &f : result.findings)
    text += f.text() + "\n";
  return text;
}

} // namespace hk::emu::test
