//===- Weights.h - Weights of a program -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Binds the weights a module names to the tensors of a safetensors file. On the
// host they are used where they are mapped when alignment allows, elsewhere
// they are copied to the device.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_API_WEIGHTS_H
#define HK_RUNTIME_API_WEIGHTS_H

#include "base/File.h"
#include "device/Device.h"

#include <map>
#include <vector>

namespace hk {

/// The header of a safetensors file, checked strictly.
class SafetensorsFile {
public:
  struct Tensor {
    std::string dtype; // the file's name for it
    std::vector<int64_t> sizes;
    const uint8_t *data;
    uint64_t bytes;
  };

  Status open(const std::string &path);
  /// NULL when there is none.
  const Tensor *find(const std::string &name) const;

private:
  MappedFile file;
  std::map<std::string, Tensor> tensors;
};

/// The weights of one program; empty until load() has succeeded.
class Weights {
public:
  explicit Weights(Device &device) : device(device) {}
  Weights(const Weights &) = delete;
  Weights &operator=(const Weights &) = delete;
  ~Weights();

  Status load(const std::string &path, const hk_module_abi &abi);
  /// In the order of hk_module_abi.weights.
  void *const *addresses() const { return pointers.data(); }

private:
  Status loadOne(const SafetensorsFile &file, const hk_weight_abi &weight);

  Device &device;
  SafetensorsFile file;
  std::vector<void *> pointers, owned;
};

} // namespace hk

#endif // HK_RUNTIME_API_WEIGHTS_H
