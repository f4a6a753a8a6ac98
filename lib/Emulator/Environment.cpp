//===- Environment.cpp - HK_EMU_ variables --------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// strtoull alone would read "yes" as 0 and -1 as a very large number.
//
//===----------------------------------------------------------------------===//

#include "Environment.h"
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace hk::emu {

uint64_t numberFromEnvironment(const char *name, uint64_t otherwise,
                               uint64_t most) {
  const char *text = std::getenv(name);
  if (!text || !*text)
    return otherwise;
  char *end = nullptr;
  errno = 0;
  int base = !std::strncmp(text, "0x", 2) ? 16 : 10;
  uint64_t value = std::strtoull(text, &end, base);
  if (*text >= '0' && *text <= '9' && !*end && !errno && value <= most)
    return value;
  std::fprintf(stderr,
               "hk-emu: %s is '%s', expected a number from 0 to %llu; it is "
               "ignored, as if it were not set\n",
               name, text, static_cast<unsigned long long>(most));
  return otherwise;
}

std::string fileFromEnvironment(const char *name) {
  const char *path = std::getenv(name);
  if (!path || !*path)
    return "";
  errno = 0;
  if (std::ofstream(path, std::ios::app))
    return path;
  std::fprintf(stderr,
               "hk-emu: cannot write '%s', the file that %s names: %s; it is "
               "ignored, name one in a folder that exists\n",
               path, name, std::strerror(errno));
  return "";
}

} // namespace hk::emu
