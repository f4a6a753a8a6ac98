//===- Module.cpp - A loaded model.so -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loading and the choice of a section.
//
//===----------------------------------------------------------------------===//

#include "api/Module.h"

#include "api/CpuFeatures.h"
#include "base/File.h"
#include "hk/Contract/Hash.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <string>
#include <sys/stat.h>
#include <utility>
#include <vector>

using namespace hk;

hk_module::~hk_module() {
  if (library)
    dlclose(library);
}

static Status checkVersion(const hk_module &module) {
  const char *path = module.path.c_str();
  const hk_module_abi *abi = module.abi;
  if (!abi)
    return makeError(HK_INCOMPATIBLE,
                     "'%s' needs a newer runtime: it does not serve module ABI "
                     "version %u of this one; update hk's runtime or compile "
                     "the module again",
                     path, HK_MODULE_ABI_VERSION);
  // Only abi_version has a place for ever; do not look at more before it.
  if (abi->abi_version != HK_MODULE_ABI_VERSION)
    return makeError(HK_INCOMPATIBLE,
                     "'%s' has module ABI version %u, this runtime has %u; "
                     "compile the module again",
                     path, abi->abi_version, HK_MODULE_ABI_VERSION);
  if (abi->struct_bytes != sizeof(hk_module_abi))
    return makeError(HK_INCOMPATIBLE,
                     "'%s': hk_module_abi has %u bytes, expected %zu; the "
                     "module was not built for this runtime",
                     path, abi->struct_bytes, sizeof(hk_module_abi));
  if (!abi->contract_hash ||
      std::strcmp(abi->contract_hash, kContractHash) != 0)
    return makeError(HK_INCOMPATIBLE,
                     "'%s' (made by %s) was compiled against contract %s, this "
                     "runtime has contract %s; compile the module again",
                     path, abi->producer ? abi->producer : "an unknown tool",
                     abi->contract_hash ? abi->contract_hash : "(none)",
                     kContractHash);
  return {};
}

/// The name under which to load the file at `real`. The loader takes a name
/// that it knows for the file that it loaded under it, even when another one
/// lies there by now: a module that was compiled again. Such a file gets a name
/// of its own; one that is the same it knows by its inode.
static std::string loadableName(const std::string &real) {
  static std::mutex mutex;
  static std::map<std::string, std::vector<std::pair<dev_t, ino_t>>> seen;
  struct stat file;
  if (stat(real.c_str(), &file) != 0)
    return real;
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<std::pair<dev_t, ino_t>> &files = seen[real];
  std::pair<dev_t, ino_t> own(file.st_dev, file.st_ino);
  auto place = std::find(files.begin(), files.end(), own);
  size_t changes = place - files.begin();
  if (place == files.end())
    files.push_back(own);
  size_t slash = real.rfind('/') + 1;
  std::string name = real.substr(0, slash);
  for (size_t i = 0; i < changes; ++i)
    name += "./";
  return name + real.substr(slash);
}

Status hk::openModule(const char *path, std::unique_ptr<hk_module> &module) {
  // dlopen searches the library path for a name without a slash.
  std::unique_ptr<char, decltype(&std::free)> real(realpath(path, nullptr),
                                                   &std::free);
  if (!real)
    return makeError(HK_NOT_FOUND, "cannot open '%s': %s", path,
                     std::strerror(errno));
  auto result = std::make_unique<hk_module>();
  if (Status error = checkSharedObject(real.get(), result->checksum))
    return error;
  result->path = real.get();
  result->library =
      dlopen(loadableName(real.get()).c_str(), RTLD_LOCAL | RTLD_NOW);
  if (!result->library)
    return makeError(HK_INCOMPATIBLE, "cannot load '%s': %s", path, dlerror());
  auto query = reinterpret_cast<hk_module_query_fn>(
      dlsym(result->library, HK_MODULE_QUERY_SYMBOL));
  if (!query)
    return makeError(HK_INCOMPATIBLE,
                     "'%s' is a shared object but not a compiled hk module: it "
                     "does not export " HK_MODULE_QUERY_SYMBOL,
                     path);
  result->abi = query(HK_MODULE_ABI_VERSION);
  if (Status error = checkVersion(*result))
    return error;
  if (Status error = checkTables(*result->abi))
    return addContext(std::move(error),
                      "'" + result->path +
                          "' is damaged or was written wrongly");
  result->json = describeModule(*result->abi);
  module = std::move(result);
  return {};
}

/// `tiny` is the contract's fake chip for tests: gfx942 with less LDS.
static bool runsOn(const char *section, const std::string &target) {
  return section == target || (target == "gfx942" && sameName(section, "tiny"));
}

Status hk::chooseSection(const hk_module &module, const std::string &target,
                         const hk_section_abi *&section) {
  std::string present, refused;
  section = nullptr;
  for (uint32_t i = 0; i < module.abi->num_sections; ++i) {
    const hk_section_abi &candidate = module.abi->sections[i];
    present += (i ? ", " : "") + std::string(candidate.target);
    if (!runsOn(candidate.target, target))
      continue;
    if (target == "host") {
      std::string missing = missingCpuFeatures(candidate.cpu_features);
      if (!missing.empty()) {
        refused += (refused.empty() ? "" : "; or ") + missing;
        continue;
      }
    }
    // An exact name beats the fake chip.
    if (!section || candidate.target == target)
      section = &candidate;
  }
  if (section)
    return {};
  if (!refused.empty())
    return makeError(HK_INCOMPATIBLE,
                     "'%s' has code for the host that this processor cannot "
                     "run: it lacks %s; compile with a --host-cpu this machine "
                     "has, such as x86-64-v3",
                     module.path.c_str(), refused.c_str());
  return makeError(HK_UNAVAILABLE,
                   "'%s' has no code for '%s'; it has: %s; compile it with "
                   "--target=%s",
                   module.path.c_str(), target.c_str(),
                   present.empty() ? "none" : present.c_str(), target.c_str());
}

hk_status *hk_module_open(const char *path, hk_module **module) {
  return guarded([&]() -> Status {
    if (Status error = requireNonNull(path, "hk_module_open", "path"))
      return error;
    if (Status error = requireNonNull(module, "hk_module_open", "module"))
      return error;
    *module = nullptr;
    std::unique_ptr<hk_module> result;
    if (Status error = openModule(path, result))
      return error;
    *module = result.release();
    return {};
  });
}

void hk_module_close(hk_module *module) { delete module; }

const char *hk_module_json(const hk_module *module) {
  return module ? module->json.c_str() : "";
}
