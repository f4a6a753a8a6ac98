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
#include "comm/Communicator.h"
#include "device/Device.h"

#include <map>
#include <memory>
#include <string>
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
  /// Further files of the model (kFurtherFilesKey), from this one's folder.
  const std::vector<std::string> &getFurtherFiles() const { return further; }

private:
  MappedFile file;
  std::map<std::string, Tensor> tensors;
  std::vector<std::string> further;
};

/// A safetensors file and those that it names, or those that an index
/// (`*.json`: an object "weight_map" from names to files beside it) names.
class WeightFiles {
public:
  Status open(const std::string &path);
  const SafetensorsFile::Tensor *find(const std::string &name) const;

private:
  Status openIndex(const std::string &path);
  Status add(const std::string &path);
  std::vector<std::unique_ptr<SafetensorsFile>> files;
};

/// The weights of one program; empty until load() has succeeded.
class Weights {
public:
  explicit Weights(Device &device) : device(device) {}
  Weights(const Weights &) = delete;
  Weights &operator=(const Weights &) = delete;
  ~Weights();

  /// From the file `given` (NULL: none) where it has them, else from those that
  /// the module names, from `folder`, its own.
  /// `communicator` says which rank's parts; NULL: there is one rank.
  Status load(const char *given, const std::string &folder,
              const hk_module_abi &abi, const Communicator *communicator);
  /// In the order of hk_module_abi.weights.
  void *const *addresses() const { return pointers.data(); }

private:
  Status find(const hk_weight_abi &weight, const hk_module_abi &abi,
              const SafetensorsFile::Tensor *&tensor);
  Status loadOne(const SafetensorsFile::Tensor &tensor,
                 const hk_weight_abi &weight, const Communicator *communicator);
  Status place(const uint8_t *data, uint64_t bytes, bool mayStay);

  Device &device;
  std::string folder, given; // given: empty if none
  /// By path.
  std::map<std::string, WeightFiles> files;
  std::vector<void *> pointers, owned;
};

} // namespace hk

#endif // HK_RUNTIME_API_WEIGHTS_H
