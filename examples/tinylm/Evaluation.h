//===- Evaluation.h - The compiled model against PyTorch --------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Comparisons of a compiled tinylm with what PyTorch gave; reports on stderr.
//
//===----------------------------------------------------------------------===//

#ifndef HK_EXAMPLES_TINYLM_EVALUATION_H
#define HK_EXAMPLES_TINYLM_EVALUATION_H

#include "Expected.h"
#include "LanguageModel.h"

#include <chrono>

namespace tinylm {

/// Wall-clock time since its construction.
class Timer {
public:
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin = Clock::now();
};

/// The byte of the largest logit; the first of equals.
char mostLikely(const float *logits);

/// Reports the bits per byte of a text file. Whether they are PyTorch's within
/// its bound; true when `expected` is null.
bool evaluate(LanguageModel &model, const std::string &path,
              const Expected *expected);

/// Whether logits lie within the bound, and the greedy text is PyTorch's for 64
/// bytes or until PyTorch's two best logits were as close as the bound.
bool checkPrompt(LanguageModel &model, const Expected::Prompt &prompt,
                 double bound);

} // namespace tinylm

#endif // HK_EXAMPLES_TINYLM_EVALUATION_H
