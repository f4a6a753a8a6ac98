//===- main.cpp - Generate and evaluate text with a compiled tinylm -------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Streams the continuation of a prompt to stdout and says how fast that went;
// with --eval, the bits per byte of held-out text; with --check-prompts,
// whether logits and greedy continuations are those that PyTorch gave. Reports
// go to stderr. Exit code 1: a comparison failed, 2: an error.
//
//===----------------------------------------------------------------------===//

#include "Evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <sstream>
#include <stdexcept>

using namespace tinylm;

namespace {
struct Options {
  std::string module, weights, device = "host", expectedDir, evalFile;
  std::string prompt = "It is a truth universally acknowledged, that";
  uint32_t threads = 0;
  int64_t tokens = 400;
  double temperature = 0;
  uint64_t seed = 1;
  bool checkPrompts = false;
};
} // namespace

static const char *const kUsage =
    "usage: tinylm model.so [options]\n"
    "  --weights=FILE      default: the file that the module names, beside it\n"
    "  --device=SPEC       host (default), hip:N or cuda:N\n"
    "  --threads=N         host threads; default: all cores\n"
    "  --prompt=TEXT       what to continue\n"
    "  --tokens=N          how many bytes to generate; 0: none\n"
    "  --temperature=T     0 (default): the most likely byte each time\n"
    "  --seed=N            of the random bytes, when T > 0\n"
    "  --expected=DIR      folder of expected.json and expected_logits.npy\n"
    "  --eval=FILE         bits per byte of FILE\n"
    "  --check-prompts     compare logits and texts with --expected\n";

/// The number that `text` is, all of it.
template <typename T>
static T parseNumber(const std::string &name, const std::string &text) {
  std::istringstream stream(text);
  T value = {};
  if (text.find('-') != std::string::npos || !(stream >> value) ||
      !stream.eof())
    throw std::runtime_error(name + " needs a number from 0 up, not '" + text +
                             "'");
  return value;
}

static Options parse(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    size_t equals = argument.find('=');
    std::string name = argument.substr(0, equals);
    std::string value =
        equals == std::string::npos ? "" : argument.substr(equals + 1);
    if (name == "--weights")
      options.weights = value;
    else if (name == "--device")
      options.device = value;
    else if (name == "--threads")
      options.threads = parseNumber<uint32_t>(name, value);
    else if (name == "--prompt")
      options.prompt = value;
    else if (name == "--tokens")
      options.tokens = parseNumber<int64_t>(name, value);
    else if (name == "--temperature")
      options.temperature = parseNumber<double>(name, value);
    else if (name == "--seed")
      options.seed = parseNumber<uint64_t>(name, value);
    else if (name == "--expected")
      options.expectedDir = value;
    else if (name == "--eval")
      options.evalFile = value;
    else if (name == "--check-prompts")
      options.checkPrompts = true;
    else if (name.rfind("--", 0) != 0 && options.module.empty())
      options.module = argument;
    else
      throw std::runtime_error("unknown argument '" + argument + "'\n" +
                               kUsage);
  }
  if (options.module.empty())
    throw std::runtime_error(std::string("no model.so given\n") + kUsage);
  if (options.prompt.empty())
    throw std::runtime_error("the prompt is empty, expected at least a byte");
  if (options.checkPrompts && options.expectedDir.empty())
    throw std::runtime_error("--check-prompts needs --expected=DIR");
  return options;
}

/// Draws a byte with probability proportional to e^(logit / temperature).
static char sample(const float *logits, double temperature,
                   std::mt19937_64 &random) {
  float largest = *std::max_element(logits, logits + LanguageModel::kVocab);
  double sum = 0, cumulated[LanguageModel::kVocab];
  for (int64_t i = 0; i < LanguageModel::kVocab; ++i)
    cumulated[i] = sum += std::exp((logits[i] - largest) / temperature);
  double drawn = double(random() >> 11) * 0x1p-53 * sum;
  return char(std::upper_bound(cumulated, cumulated + LanguageModel::kVocab - 1,
                               drawn) -
              cumulated);
}

/// Streams `options.tokens` bytes after the prompt to stdout.
static void generate(LanguageModel &model, const Options &options) {
  constexpr size_t kContext = LanguageModel::kContext;
  std::mt19937_64 random(options.seed);
  std::string text = options.prompt;
  std::fputs(text.c_str(), stdout);
  double prefillSeconds = 0, decodeSeconds = 0;
  int64_t prefilled = 0, decoded = 0;
  const float *last = nullptr;
  for (int64_t i = 0; i < options.tokens; ++i) {
    Timer timer;
    // A new text, and a full context, starts from the end of what there is.
    if (i == 0 || model.size() == LanguageModel::kContext) {
      size_t keep = std::min(text.size(), kContext / 2);
      model.reset();
      const float *logits =
          model.append(std::string_view(text).substr(text.size() - keep));
      last = logits + (keep - 1) * LanguageModel::kVocab;
      prefillSeconds += timer.seconds();
      prefilled += int64_t(keep);
    } else {
      last = model.append(std::string_view(text).substr(text.size() - 1));
      decodeSeconds += timer.seconds();
      ++decoded;
    }
    text += options.temperature > 0 ? sample(last, options.temperature, random)
                                    : mostLikely(last);
    std::fputc(text.back(), stdout);
    std::fflush(stdout);
  }
  std::fputc('\n', stdout);
  std::fflush(stdout);
  std::fprintf(stderr, "prefill %lld tokens: %.0f tokens/s\n",
               (long long)prefilled, double(prefilled) / prefillSeconds);
  if (decoded)
    std::fprintf(stderr, "decode %lld tokens: %.0f tokens/s\n",
                 (long long)decoded, double(decoded) / decodeSeconds);
}

static int run(const Options &options) {
  Expected expected;
  if (!options.expectedDir.empty())
    expected = Expected::read(options.expectedDir);
  LanguageModel model(options.module, options.weights, options.device,
                      options.threads);
  std::fprintf(stderr, "tinylm on %s\n", model.describeDevice().c_str());
  if (options.tokens > 0)
    generate(model, options);
  bool good = true;
  if (!options.evalFile.empty())
    good &= evaluate(model, options.evalFile,
                     options.expectedDir.empty() ? nullptr : &expected);
  if (options.checkPrompts)
    for (const Expected::Prompt &prompt : expected.prompts)
      good &= checkPrompt(model, prompt, expected.logitBound);
  return good ? 0 : 1;
}

int main(int argc, char **argv) {
  try {
    return run(parse(argc, argv));
  } catch (const std::exception &error) {
    std::fprintf(stderr, "tinylm: %s\n", error.what());
    return 2;
  }
}
