//===- Ranges.cpp - What integer inputs may hold --------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// {"kind": "bounds", "low": 0, "ends": [[[1, "q.0"]], [[16, "t.1"], [3]]]}: the
// end is the least of q.0 and 16 * t.1 + 3.
//
//===----------------------------------------------------------------------===//

#include "Ranges.h"

#include <nlohmann/json.hpp>

#include <algorithm>

using namespace hk::run;
using Json = nlohmann::json;
using Kind = IntegerRange::Kind;

static int64_t evaluate(const Json &sum,
                        const std::map<std::string, int64_t> &sizes) {
  int64_t total = 0;
  for (const Json &product : sum) {
    int64_t value = 1;
    for (const Json &factor : product) {
      int64_t number = factor.is_string() ? sizes.at(factor.get<std::string>())
                                          : factor.get<int64_t>();
      if (__builtin_mul_overflow(value, number, &value))
        value = INT64_MAX / 2;
    }
    if (__builtin_add_overflow(total, value, &total))
      total = INT64_MAX / 2;
  }
  return total;
}

IntegerRange
hk::run::declaredRange(const std::string &values,
                       const std::map<std::string, int64_t> &sizes) {
  IntegerRange range;
  if (values.empty())
    return range;
  try {
    Json json = Json::parse(values);
    int64_t end = INT64_MAX;
    for (const Json &sum : json.at("ends"))
      end = std::min(end, evaluate(sum, sizes));
    range.low = json.at("low");
    std::string kind = json.at("kind");
    range.kind = kind == "bounds"     ? Kind::Bounds
                 : kind == "lengths"  ? Kind::Lengths
                 : kind == "distinct" ? Kind::Distinct
                                      : Kind::Uniform;
    bool isTotal = range.kind == Kind::Bounds || range.kind == Kind::Lengths;
    range.high = isTotal ? std::max<int64_t>(end, 0) : end - 1;
    // Nothing is right for an empty table.
    if (range.kind == Kind::Uniform)
      range.high = std::max(range.high, range.low);
  } catch (const std::exception &e) {
    throw Failure("the module says of an argument what hk-run does not "
                  "understand: " +
                  values + ": " + e.what());
  }
  return range;
}

std::string hk::run::rangeText(const IntegerRange &range) {
  std::string high = std::to_string(range.high);
  switch (range.kind) {
  case Kind::Iota:
    return "counting from " + std::to_string(range.low);
  case Kind::Bounds:
    return "bounds of sequences of " + high + " tokens";
  case Kind::Lengths:
    return "lengths of sequences of " + high + " tokens";
  case Kind::Distinct:
    return "different ones of [0, " + high + "]";
  case Kind::Uniform:
    break;
  }
  return "random in [" + std::to_string(range.low) + ", " + high + "]";
}
