//===- LanguageModel.h - tinylm through the public C ABI --------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compiled tinylm on one device: owns the module, the device memory of its
// arguments, and the KV caches of one text. Shows how a program uses hk.h.
//
//===----------------------------------------------------------------------===//

#ifndef HK_EXAMPLES_TINYLM_LANGUAGEMODEL_H
#define HK_EXAMPLES_TINYLM_LANGUAGEMODEL_H

#include "hk/Runtime/hk.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tinylm {

/// Throws std::runtime_error with the status's text, unless it is success.
void check(hk_status *status);

/// Owns a handle of the C ABI.
template <auto Release> struct Releaser {
  template <typename T> void operator()(T *handle) const { Release(handle); }
};
using DevicePtr = std::unique_ptr<hk_device, Releaser<hk_device_close>>;
using ModulePtr = std::unique_ptr<hk_module, Releaser<hk_module_close>>;
using ProgramPtr = std::unique_ptr<hk_program, Releaser<hk_program_destroy>>;

/// Memory on a device.
class Buffer {
public:
  Buffer(hk_device *device, uint64_t bytes);
  ~Buffer();
  Buffer(Buffer &&other) noexcept;
  Buffer &operator=(Buffer &&other) noexcept;
  void upload(const void *from, uint64_t bytes);
  void download(void *to, uint64_t bytes) const;
  void *data() const { return memory; }
  uint64_t size() const { return bytes; }

private:
  hk_device *device;
  void *memory = nullptr;
  uint64_t bytes;
};

class LanguageModel {
public:
  static constexpr int64_t kVocab = 256;
  static constexpr int64_t kContext = 512;

  LanguageModel(const std::string &modulePath, const std::string &weightsPath,
                const std::string &deviceSpec, uint32_t numThreads);

  /// Forgets the text.
  void reset() { length = 0; }
  /// Number of bytes the caches hold.
  int64_t size() const { return length; }
  /// Appends `text`; returns the logits [text.size()][kVocab] of the byte after
  /// each of its bytes. Uses `decode` for one byte, else `prefill`.
  const float *append(std::string_view text);

  std::string describeDevice() const;

private:
  /// One of the two functions, with the size that was last planned.
  struct Function {
    const hk_function *handle = nullptr;
    int64_t plannedTokens = -1;
    uint64_t workspaceBytes = 0;
  };
  Function bind(const char *name);
  void call(Function &function, int64_t tokens);

  DevicePtr device;
  ModulePtr module;
  ProgramPtr program;
  Function prefill, decode;
  std::vector<Buffer> inputs; // ids, positions, kv_len
  std::vector<Buffer> caches;
  std::vector<std::vector<int64_t>> cacheSizes;
  std::vector<Buffer> workspace; // one, or none yet
  std::vector<Buffer> output;
  std::vector<float> logits;
  int64_t length = 0;
};

} // namespace tinylm

#endif // HK_EXAMPLES_TINYLM_LANGUAGEMODEL_H
