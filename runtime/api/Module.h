//===- Module.h - A loaded model.so -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Opens the file, refuses what this runtime cannot serve, and checks the tables
// once, so that everything later may trust them.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_API_MODULE_H
#define HK_RUNTIME_API_MODULE_H

#include "base/Status.h"
#include "hk/Runtime/ModuleAbi.h"

#include <string>

struct hk_module {
  hk_module() = default;
  hk_module(const hk_module &) = delete;
  hk_module &operator=(const hk_module &) = delete;
  ~hk_module();

  void *library = nullptr; // dlopen's handle
  std::string path;
  const hk_module_abi *abi = nullptr;
  uint64_t checksum = 0; // of the file
  std::string json;
};

namespace hk {

Status openModule(const char *path, std::unique_ptr<hk_module> &module);

/// Error when the tables break the rules of ModuleAbi.h.
Status checkTables(const hk_module_abi &abi);

/// The self-description.
std::string describeModule(const hk_module_abi &abi);

/// The section to run on a device of `target`, and the reason when none can.
Status chooseSection(const hk_module &module, const std::string &target,
                     const hk_section_abi *&section);

} // namespace hk

#endif // HK_RUNTIME_API_MODULE_H
