//===- KernelCompiler.cpp - Translation units to objects ------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One clang process per kernel and target that the cache does not have.
//
//===----------------------------------------------------------------------===//

#include "KernelCompiler.h"
#include "ObjectCheck.h"
#include "Process.h"
#include "hk/Contract/CpuTiles.h"
#include "hk/Support/Files.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/TargetParser/Host.h"

#include <mutex>

using namespace llvm;
using namespace mlir::hk;

//===----------------------------------------------------------------------===//
// Host CPUs
//===----------------------------------------------------------------------===//

namespace {
#define HK_ICELAKE_FEATURES                                                    \
  "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512ifma,avx512vbmi,"         \
  "avx512vbmi2,avx512vnni,avx512bitalg,avx512vpopcntdq,gfni,vaes,"             \
  "vpclmulqdq,sha,adx,avx2,bmi,bmi2,fma"

struct CpuLevel {
  const char *name;
  const char *features;
  /// What -march names, and flags beside it, with spaces between them.
  const char *march = name;
  const char *flags = "";
};
// The x86-64 psABI's levels, the most capable first; above them what AVX-512
// got later and every CPU has since then, Intel's and AMD's: lookups and sums
// of bytes, then dot products of bf16 (Zen 4, Sapphire Rapids), then a matrix
// unit that multiplies bf16 (Sapphire Rapids).
constexpr CpuLevel kCpuLevels[] = {
    {"icelake-server+amx", HK_ICELAKE_FEATURES ",avx512bf16,amx-tile,amx-bf16",
     "icelake-server", "-mavx512bf16 -mamx-tile -mamx-bf16"},
    {"icelake-server+bf16", HK_ICELAKE_FEATURES ",avx512bf16", "icelake-server",
     "-mavx512bf16"},
    {"icelake-server", HK_ICELAKE_FEATURES},
    {"x86-64-v4",
     "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi,bmi2,fma"},
    {"x86-64-v3", "avx2,bmi,bmi2,fma"},
    {"x86-64-v2", "sse4.2,popcnt"},
};
} // namespace

static const CpuLevel *findCpuLevel(StringRef cpu) {
  const auto *level =
      find_if(kCpuLevels, [&](const CpuLevel &l) { return cpu == l.name; });
  return level == std::end(kCpuLevels) ? nullptr : level;
}

std::string mlir::hk::cpuFeaturesOf(StringRef cpu) {
  const CpuLevel *level = findCpuLevel(cpu);
  return level ? level->features : "";
}

/// `cpu` is a resolved one.
static void addCpuFlags(StringRef cpu, std::vector<std::string> &flags) {
  const CpuLevel *level = findCpuLevel(cpu);
  flags.push_back(std::string("-march=") + level->march);
  SmallVector<StringRef> more;
  StringRef(level->flags).split(more, ' ', -1, /*KeepEmpty=*/false);
  flags.insert(flags.end(), more.begin(), more.end());
}

Expected<std::string> mlir::hk::resolveHostCpu(StringRef name) {
  if (name != "native") {
    if (!cpuFeaturesOf(name).empty())
      return name.str();
    return createStringError(
        "unknown host CPU '%s'; expected native, x86-64-v2, x86-64-v3, "
        "x86-64-v4, icelake-server, icelake-server+bf16 or icelake-server+amx",
        name.str().c_str());
  }
  StringMap<bool> has = sys::getHostCPUFeatures();
  for (const CpuLevel &level : kCpuLevels) {
    SmallVector<StringRef> features;
    StringRef(level.features).split(features, ',');
    bool tiles = is_contained(features, "amx-tile");
    if (all_of(features, [&](StringRef f) { return has.lookup(f); }) &&
        (!tiles || ::hk::requestCpuTiles()))
      return std::string(level.name);
  }
  return createStringError("this CPU is below x86-64-v2; name one with "
                           "--host-cpu to compile for another machine");
}

//===----------------------------------------------------------------------===//
// KernelCompiler
//===----------------------------------------------------------------------===//

Expected<KernelCompiler> KernelCompiler::create(const CompileOptions &options) {
  KernelCompiler compiler(options);
  Expected<std::string> cpu = resolveHostCpu(options.hostCpu);
  if (!cpu)
    return cpu.takeError();
  compiler.options.hostCpu = *cpu;
  Expected<KernelHeaders> headers = KernelHeaders::read(options);
  if (!headers)
    return headers.takeError();
  compiler.headers = std::move(*headers);
  ErrorOr<std::string> clang = sys::findProgramByName(options.clang);
  if (!clang)
    return createStringError(
        clang.getError(),
        "cannot find the compiler '%s'; install clang-22 or "
        "pass --clang",
        options.clang.c_str());
  // The resolved file and its size and time stand for the compiler's version.
  SmallString<128> real;
  sys::fs::file_status status;
  if (sys::fs::real_path(*clang, real) || sys::fs::status(real, status))
    return createStringError("cannot inspect the compiler '%s'",
                             clang->c_str());
  compiler.identity =
      (real + ":" + Twine(status.getSize()) + ":" +
       Twine(status.getLastModificationTime().time_since_epoch().count()))
          .str();
  compiler.cache = std::make_unique<KernelCache>(options.cacheDirectory);
  return compiler;
}

std::string KernelCompiler::prefixFor(StringRef text) {
  return "hk_" + hashOf({text}).substr(0, 16) + "_";
}

std::vector<std::string>
KernelCompiler::flagsFor(const ::hk::Target &target) const {
  std::vector<std::string> flags{"-std=c++20", "-O3", "-ffp-contract=off",
                                 "-Wno-psabi"};
  auto add = [&](std::initializer_list<const char *> more) {
    flags.insert(flags.end(), more.begin(), more.end());
  };
  switch (target.arch) {
  case ::hk::Arch::Host:
    add({"-x", "c++", "-c", "-fPIC", "-fvisibility=hidden", "-fno-exceptions",
         "-fno-rtti", "-mprefer-vector-width=512"});
    addCpuFlags(options.hostCpu, flags);
    break;
  case ::hk::Arch::Sm90a:
    add({"-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_90a",
         "-nocudainc", "-nocudalib", "-S", "-Wno-unknown-cuda-version",
         "-fuse-cuid=none"});
    break;
  default:
    add({"-x", "hip", "--offload-device-only", "--no-gpu-bundle-output",
         "-nogpuinc", "-nogpulib", "-fuse-cuid=none"});
    flags.push_back(std::string("--offload-arch=") + target.name);
    break;
  }
  return flags;
}

/// Clang 22 writes the largest cluster that a kernel allows, but not the one it
/// needs; hk's kernels allow what they need.
static void setClusterSize(std::string &ptx) {
  constexpr StringRef largest = ".maxclusterrank ";
  for (size_t at = 0; (at = ptx.find(largest, at)) != std::string::npos;)
    ptx.replace(at, largest.size(), ".explicitcluster\n.reqnctapercluster ");
}

Error KernelCompiler::compileOne(const ::hk::Target &target,
                                 KernelRecord &kernel) const {
  std::vector<std::string> flags = flagsFor(target);
  std::string joined = join(flags, "\n");
  std::string key =
      hashOf({kernel.text, joined, headers.hashFor(kernel.text), identity});
  if (std::optional<std::string> hit = cache->find(key)) {
    kernel.binary = std::move(*hit);
    return Error::success();
  }

  Expected<TemporaryDirectory> folder = TemporaryDirectory::create();
  if (!folder)
    return folder.takeError();
  std::string source = folder->file("kernel.cpp");
  std::string object = folder->file("kernel.out");
  if (Error error = writeFile(source, kernel.text))
    return error;
  // Where the headers lie is no part of the key, what they hold is.
  std::vector<std::string> command{options.clang,
                                   "-I" + options.kernelDirectory + "/..",
                                   "-I" + options.includeDirectory};
  command.insert(command.end(), flags.begin(), flags.end());
  command.insert(command.end(), {source, "-o", object});
  if (Error error = runProgram(command, folder->file("log")))
    return createStringError("kernel @%s (%s) for %s does not compile: %s",
                             kernel.name.c_str(), kernel.ops.c_str(),
                             target.name, toString(std::move(error)).c_str());
  Expected<std::string> binary = readFile(object);
  if (!binary)
    return binary.takeError();
  if (target.arch == ::hk::Arch::Sm90a)
    setClusterSize(*binary);
  if (Error error = checkObject(target, kernel, *binary))
    return error;
  kernel.binary = std::move(*binary);
  cache->store(key, kernel.binary);
  return Error::success();
}

Error KernelCompiler::compile(MutableArrayRef<Section> sections) const {
  DefaultThreadPool pool(hardware_concurrency(options.jobs));
  std::mutex mutex;
  Error errors = Error::success();
  for (Section &section : sections)
    for (KernelRecord &kernel : section.kernels)
      pool.async([&, target = section.target, record = &kernel] {
        if (!record->binary.empty() || record->isOfEngine())
          return; // by an earlier call, or there is nothing to compile
        if (Error error = compileOne(*target, *record)) {
          std::lock_guard<std::mutex> lock(mutex);
          errors = joinErrors(std::move(errors), std::move(error));
        }
      });
  pool.wait();
  return errors;
}
