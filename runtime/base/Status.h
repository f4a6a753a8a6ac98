//===- Status.h - Errors inside the runtime -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The value every fallible function of the runtime returns. Like llvm::Error it
// is true when it holds an error, so callers write
//   if (Status error = f()) return error;
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_BASE_STATUS_H
#define HK_RUNTIME_BASE_STATUS_H

#include "hk/Runtime/hk.h"

#include <exception>
#include <memory>
#include <new>
#include <string>

struct hk_status {
  hk_status_code code;
  std::string message;
};

namespace hk {

class [[nodiscard]] Status {
public:
  Status() = default;
  explicit Status(hk_status *state) : state(state) {}

  /// True on failure.
  explicit operator bool() const { return state != nullptr; }
  hk_status_code code() const { return hk_status_get_code(state.get()); }
  const char *message() const { return hk_status_get_message(state.get()); }
  /// Hands the error to a caller of the C interface; NULL on success.
  hk_status *release() { return state.release(); }

private:
  struct Free {
    void operator()(hk_status *status) const { hk_status_free(status); }
  };
  std::unique_ptr<hk_status, Free> state;
};

/// An error with a printf-formatted text.
Status makeError(hk_status_code code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/// The same error with "context: " in front of its text.
Status addContext(Status error, const std::string &context);

namespace detail {
/// Never allocates: it reports that allocation failed.
hk_status *outOfMemoryStatus() noexcept;
hk_status *internalStatus(const char *what) noexcept;
} // namespace detail

/// Runs `fn` (returning Status) for the C interface, which no exception may
/// cross.
template <typename Fn> hk_status *guarded(Fn &&fn) noexcept {
  try {
    return fn().release();
  } catch (const std::bad_alloc &) {
    return detail::outOfMemoryStatus();
  } catch (const std::exception &e) {
    return detail::internalStatus(e.what());
  } catch (...) {
    return detail::internalStatus("unknown exception");
  }
}

/// Error for a NULL that the caller passed for `what`, or success.
template <typename T>
Status requireNonNull(const T *pointer, const char *function,
                      const char *what) {
  if (pointer)
    return {};
  return makeError(HK_INVALID_ARGUMENT, "%s: %s must not be NULL", function,
                   what);
}

} // namespace hk

#endif // HK_RUNTIME_BASE_STATUS_H
