//===- Expected.cpp - The answers that PyTorch gave -----------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reader for exactly the JSON and the NumPy file that expected.py writes:
// values are looked up by key, in the order of the file.
//
//===----------------------------------------------------------------------===//

#include "Expected.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

using namespace tinylm;

std::string tinylm::readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream contents;
  contents << file.rdbuf();
  if (!file || !contents)
    throw std::runtime_error("cannot read '" + path + "'");
  return contents.str();
}

namespace {
/// A position in the text of expected.json.
class Reader {
public:
  explicit Reader(const std::string &path) : path(path), text(readFile(path)) {}

  bool has(const std::string &key) const {
    return text.find("\"" + key + "\":", at) != std::string::npos;
  }

  std::string string(const std::string &key) {
    require(key, '"');
    std::string value;
    for (++at; at < text.size() && text[at] != '"'; ++at) {
      bool escaped = text[at] == '\\' && at + 1 < text.size();
      at += escaped;
      value += escaped && text[at] == 'n' ? '\n' : text[at];
    }
    return value;
  }

  double number(const std::string &key) {
    require(key, 0);
    return std::strtod(text.c_str() + at, nullptr);
  }

  std::vector<double> numbers(const std::string &key) {
    require(key, '[');
    std::vector<double> values;
    const char *next = text.c_str() + at + 1;
    for (char *end = nullptr;; next = end + std::strspn(end, ", \n")) {
      double value = std::strtod(next, &end);
      if (end == next)
        return values;
      values.push_back(value);
    }
  }

private:
  /// Moves to the value of the next `"key":`, which begins with `first`.
  void require(const std::string &key, char first) {
    std::string quoted = "\"" + key + "\":";
    size_t found = text.find(quoted, at);
    if (found != std::string::npos)
      found = text.find_first_not_of(" \n", found + quoted.size());
    if (found == std::string::npos || (first && text[found] != first))
      throw std::runtime_error("'" + path + "' has no usable \"" + key +
                               "\"; write it again with expected.py");
    at = found;
  }

  std::string path, text;
  size_t at = 0;
};
} // namespace

/// The data of a little-endian f32 .npy file of `count` elements.
static std::vector<float> readNpy(const std::string &path, size_t count) {
  std::string text = readFile(path);
  size_t bytes = count * sizeof(float);
  if (text.compare(0, 6, "\x93NUMPY") != 0 ||
      text.find("'<f4'") == std::string::npos || text.size() < bytes)
    throw std::runtime_error("'" + path + "' is not a .npy file of " +
                             std::to_string(count) + " f32");
  std::vector<float> values(count);
  std::memcpy(values.data(), text.data() + text.size() - bytes, bytes);
  return values;
}

Expected Expected::read(const std::string &directory) {
  Reader json(directory + "/expected.json");
  Expected result;
  result.torchVersion = json.string("torch");
  result.device = json.string("device");
  result.bitsPerByte = json.number("heldout_bits_per_byte");
  result.bitsPerByteExact = json.number("heldout_bits_per_byte_f64");
  result.bitsBound = json.number("heldout_bits_bound");
  result.logitBound = json.number("logit_bound");
  const char *interpreter = "heldout_bits_per_byte_interpreter";
  if (json.has(interpreter))
    result.bitsPerByteInterpreter = json.number(interpreter);
  while (json.has("prompt")) {
    Prompt &prompt = result.prompts.emplace_back();
    prompt.prompt = json.string("prompt");
    prompt.greedy = json.string("greedy");
    prompt.gaps = json.numbers("gaps");
    if (prompt.gaps.size() != prompt.greedy.size())
      throw std::runtime_error("expected one gap per greedy byte of prompt '" +
                               prompt.prompt + "'");
  }

  size_t each = kLogitPositions * 256;
  std::vector<float> logits =
      readNpy(directory + "/expected_logits.npy", result.prompts.size() * each);
  for (size_t i = 0; i < result.prompts.size(); ++i)
    result.prompts[i].logits.assign(logits.begin() + i * each,
                                    logits.begin() + (i + 1) * each);
  return result;
}
