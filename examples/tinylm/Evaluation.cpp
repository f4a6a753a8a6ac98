//===- Evaluation.cpp - The compiled model against PyTorch ----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bits per byte of a text, and the shipped prompts' logits and continuations.
//
//===----------------------------------------------------------------------===//

#include "Evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

using namespace tinylm;

char tinylm::mostLikely(const float *logits) {
  return char(std::max_element(logits, logits + LanguageModel::kVocab) -
              logits);
}

/// Mean bits of bytes 1.. of each window of kContext bytes, given the bytes
/// before them in the window; a last incomplete window is dropped.
static double bitsPerByte(LanguageModel &model, const std::string &text) {
  constexpr size_t kContext = LanguageModel::kContext;
  size_t windows = text.size() / kContext;
  if (windows == 0)
    throw std::runtime_error("the text to evaluate has " +
                             std::to_string(text.size()) +
                             " bytes, expected at least 512");
  double nats = 0;
  for (size_t w = 0; w < windows; ++w) {
    std::string_view window =
        std::string_view(text).substr(w * kContext, kContext);
    model.reset();
    const float *row = model.append(window);
    for (size_t i = 1; i < kContext; ++i, row += LanguageModel::kVocab) {
      double largest = *std::max_element(row, row + LanguageModel::kVocab);
      double sum = 0;
      for (int64_t j = 0; j < LanguageModel::kVocab; ++j)
        sum += std::exp(row[j] - largest);
      nats += largest + std::log(sum) - row[uint8_t(window[i])];
    }
  }
  return nats / double(windows * (kContext - 1)) / std::log(2.0);
}

bool tinylm::evaluate(LanguageModel &model, const std::string &path,
                      const Expected *expected) {
  Timer timer;
  std::string text = readFile(path);
  double bits = bitsPerByte(model, text);
  std::fprintf(stderr, "bits per byte of %s: hk %.6f", path.c_str(), bits);
  bool good = true;
  if (expected) {
    good = std::abs(bits - expected->bitsPerByteExact) <= expected->bitsBound;
    std::fprintf(stderr, ", PyTorch %.6f (%.6f with f64 sums)",
                 expected->bitsPerByte, expected->bitsPerByteExact);
    if (expected->bitsPerByteInterpreter)
      std::fprintf(stderr, ", interpreter %.6f",
                   *expected->bitsPerByteInterpreter);
    std::fprintf(stderr, "; bound %.6f: %s", expected->bitsBound,
                 good ? "equal" : "DIFFERENT");
  }
  std::fprintf(stderr, " (%.0f tokens/s)\n",
               double(text.size()) / timer.seconds());
  return good;
}

bool tinylm::checkPrompt(LanguageModel &model, const Expected::Prompt &prompt,
                         double bound) {
  constexpr int64_t kVocab = LanguageModel::kVocab;
  model.reset();
  const float *logits = model.append(prompt.prompt);
  int64_t count = Expected::kLogitPositions * kVocab;
  logits += int64_t(prompt.prompt.size()) * kVocab - count;
  double worst = 0;
  for (int64_t i = 0; i < count; ++i)
    worst = std::max(worst, double(std::abs(logits[i] - prompt.logits[i])));

  size_t same = 0, size = prompt.greedy.size();
  logits += count - kVocab;
  while (same < size && mostLikely(logits) == prompt.greedy[same])
    if (++same < size)
      logits =
          model.append(std::string_view(prompt.greedy).substr(same - 1, 1));
  bool good = worst <= bound &&
              (same >= 64 || same == size || prompt.gaps[same] <= bound);
  std::fprintf(stderr,
               "'%s': largest logit difference %.4f, %zu of %zu greedy "
               "bytes as PyTorch's",
               prompt.prompt.c_str(), worst, same, size);
  if (same < size)
    std::fprintf(stderr, " (its two best were %.4f apart)", prompt.gaps[same]);
  std::fprintf(stderr, ": %s\n", good ? "equal" : "DIFFERENT");
  return good;
}
