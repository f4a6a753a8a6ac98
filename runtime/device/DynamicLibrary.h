//===- DynamicLibrary.h - A driver's library, found at run time -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// hk starts on machines without any GPU driver; a device that needs one looks
// for it when it is opened. A library stays loaded for ever: drivers do not
// survive being unloaded.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_DEVICE_DYNAMICLIBRARY_H
#define HK_RUNTIME_DEVICE_DYNAMICLIBRARY_H

#include "base/Status.h"

#include <vector>

namespace hk {

class DynamicLibrary {
public:
  /// Loads the first of `names` there is. The error lists what was tried.
  Status open(const char *what, const std::vector<std::string> &names);
  const std::string &name() const { return loadedName; }

  /// Sets `function` to the symbol, or to NULL when there is none.
  template <typename Fn> void find(const char *symbol, Fn *&function) const {
    function = reinterpret_cast<Fn *>(address(symbol));
  }
  /// The same, and an error when there is none.
  template <typename Fn>
  Status require(const char *symbol, Fn *&function) const {
    find(symbol, function);
    return function ? Status() : missing(symbol);
  }

private:
  void *address(const char *symbol) const;
  Status missing(const char *symbol) const;

  void *handle = nullptr;
  std::string loadedName;
};

} // namespace hk

#endif // HK_RUNTIME_DEVICE_DYNAMICLIBRARY_H
