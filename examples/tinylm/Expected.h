//===- Expected.h - The answers that PyTorch gave ---------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads expected.json and expected_logits.npy, as expected.py writes them.
//
//===----------------------------------------------------------------------===//

#ifndef HK_EXAMPLES_TINYLM_EXPECTED_H
#define HK_EXAMPLES_TINYLM_EXPECTED_H

#include <optional>
#include <string>
#include <vector>

namespace tinylm {

struct Expected {
  /// Of each prompt, logits are known for so many of its last positions.
  static constexpr int64_t kLogitPositions = 4;

  struct Prompt {
    std::string prompt, greedy;
    std::vector<double> gaps;  // best minus second best logit, per greedy byte
    std::vector<float> logits; // [kLogitPositions][256]
  };

  std::string torchVersion, device;
  double bitsPerByte = 0, bitsPerByteExact = 0, bitsBound = 0, logitBound = 0;
  /// Absent until interpreter.py has run.
  std::optional<double> bitsPerByteInterpreter;
  std::vector<Prompt> prompts;

  /// Throws std::runtime_error when a file of `directory` is missing or is not
  /// what expected.py writes.
  static Expected read(const std::string &directory);
};

/// All bytes of a file; throws std::runtime_error.
std::string readFile(const std::string &path);

} // namespace tinylm

#endif // HK_EXAMPLES_TINYLM_EXPECTED_H
