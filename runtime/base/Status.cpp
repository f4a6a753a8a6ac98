//===- Status.cpp - Errors inside the runtime -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Formatting of error texts and the C accessors of hk_status.
//
//===----------------------------------------------------------------------===//

#include "base/Status.h"

#include <cstdarg>
#include <cstdio>

using namespace hk;

/// Shared by every caller that runs out of memory; hk_status_free skips it.
static hk_status *sharedOutOfMemory() {
  // Short enough to live inside the string, so that making it cannot fail.
  static hk_status status{HK_OUT_OF_MEMORY, "out of memory"};
  return &status;
}
hk_status *hk::detail::outOfMemoryStatus() noexcept {
  return sharedOutOfMemory();
}

hk_status *hk::detail::internalStatus(const char *what) noexcept {
  try {
    return new hk_status{HK_INTERNAL,
                         std::string("internal error of the runtime: ") + what};
  } catch (...) {
    return sharedOutOfMemory();
  }
}

Status hk::makeError(hk_status_code code, const char *format, ...) {
  va_list args, counting;
  va_start(args, format);
  va_copy(counting, args);
  int length = std::vsnprintf(nullptr, 0, format, counting);
  va_end(counting);
  std::string text(length > 0 ? length : 0, '\0');
  if (length > 0)
    std::vsnprintf(text.data(), text.size() + 1, format, args);
  va_end(args);
  return Status(new hk_status{code, std::move(text)});
}

Status hk::addContext(Status error, const std::string &context) {
  if (!error)
    return error;
  return Status(new hk_status{error.code(), context + ": " + error.message()});
}

hk_status_code hk_status_get_code(const hk_status *status) {
  return status ? status->code : HK_OK;
}

const char *hk_status_get_message(const hk_status *status) {
  return status ? status->message.c_str() : "";
}

void hk_status_free(hk_status *status) {
  if (status != sharedOutOfMemory())
    delete status;
}

const char *hk_runtime_version(void) { return HK_RUNTIME_VERSION; }
