//===- CheckLoader.cpp - hk-run loads the reference on demand -------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds libhk_check.so in ../lib beside the program, or where the loader looks.
//
//===----------------------------------------------------------------------===//

#include "Check.h"

#include <climits>
#include <cstdio>
#include <dlfcn.h>
#include <string>
#include <unistd.h>

bool hk::run::evaluateReference(const CheckRequest &request,
                                std::vector<Expected> &expected) {
  char self[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
  void *library = nullptr;
  if (length > 0) {
    std::string path(self, length);
    path.resize(path.rfind('/'));
    library = dlopen((path + "/../lib/libhk_check.so").c_str(), RTLD_NOW);
  }
  if (!library)
    library = dlopen("libhk_check.so", RTLD_NOW);
  auto evaluate = library ? reinterpret_cast<decltype(&evaluateReference)>(
                                dlsym(library, "hkRunReference"))
                          : nullptr;
  if (!evaluate) {
    std::fprintf(
        stderr,
        "hk-run: --check needs libhk_check.so, which is built with the "
        "compiler: %s\n",
        dlerror());
    return false;
  }
  return evaluate(request, expected);
}
