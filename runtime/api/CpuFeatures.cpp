//===- CpuFeatures.cpp - What the processor of this machine can run -------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler's builtin wants literals, hence the list. An unknown name counts
// as missing: better a refusal than an illegal instruction later.
//
//===----------------------------------------------------------------------===//

#include "api/CpuFeatures.h"
#include "hk/Contract/CpuTiles.h"

#include <string_view>

#define HK_CPU_FEATURES(X)                                                     \
  X("x86-64")                                                                  \
  X("x86-64-v2")                                                               \
  X("x86-64-v3")                                                               \
  X("x86-64-v4")                                                               \
  X("cmov")                                                                    \
  X("mmx")                                                                     \
  X("popcnt")                                                                  \
  X("sse")                                                                     \
  X("sse2")                                                                    \
  X("sse3")                                                                    \
  X("ssse3")                                                                   \
  X("sse4.1")                                                                  \
  X("sse4.2")                                                                  \
  X("avx")                                                                     \
  X("avx2")                                                                    \
  X("fma")                                                                     \
  X("f16c")                                                                    \
  X("bmi")                                                                     \
  X("bmi2")                                                                    \
  X("lzcnt")                                                                   \
  X("movbe")                                                                   \
  X("aes")                                                                     \
  X("pclmul")                                                                  \
  X("adx")                                                                     \
  X("sha")                                                                     \
  X("gfni")                                                                    \
  X("vaes")                                                                    \
  X("vpclmulqdq")                                                              \
  X("xsave")                                                                   \
  X("fsgsbase")                                                                \
  X("avx512f")                                                                 \
  X("avx512vl")                                                                \
  X("avx512bw")                                                                \
  X("avx512dq")                                                                \
  X("avx512cd")                                                                \
  X("avx512ifma")                                                              \
  X("avx512vbmi")                                                              \
  X("avx512vbmi2")                                                             \
  X("avx512vnni")                                                              \
  X("avx512bitalg")                                                            \
  X("avx512vpopcntdq")                                                         \
  X("avx512bf16")                                                              \
  X("avx512fp16")                                                              \
  X("avx512vp2intersect")                                                      \
  X("avxvnni")                                                                 \
  X("amx-tile")                                                                \
  X("amx-int8")                                                                \
  X("amx-bf16")

static bool hasCpuFeature([[maybe_unused]] std::string_view name) {
#if defined(__x86_64__)
#define HK_TEST(feature)                                                       \
  if (name == feature)                                                         \
    return __builtin_cpu_supports(feature);
  HK_CPU_FEATURES(HK_TEST)
#undef HK_TEST
#endif
  return false;
}

/// What the processor has and the system does not let a process use is missing.
static bool mayUse(std::string_view feature) {
  return feature.substr(0, 4) != "amx-" || hk::requestCpuTiles();
}

std::string hk::missingCpuFeatures(const char *features) {
  std::string missing;
  std::string_view rest = features ? features : "";
  while (!rest.empty()) {
    size_t comma = rest.find(',');
    std::string_view name = rest.substr(0, comma);
    rest = comma == rest.npos ? "" : rest.substr(comma + 1);
    while (!name.empty() && name.front() == ' ')
      name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ')
      name.remove_suffix(1);
    if (name.empty() || (hasCpuFeature(name) && mayUse(name)))
      continue;
    missing += missing.empty() ? "" : ",";
    missing += name;
  }
  return missing;
}
