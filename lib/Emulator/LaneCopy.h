//===- LaneCopy.h - Words between lanes' memory and registers ---*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A lane's words are consecutive in memory and in one column of consecutive
// registers, so a copy of all 64 lanes is a transposition. These are the fast
// paths of global memory and LDS: every lane active, every word aligned.
// `at(l)` is the address of lane l.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_LANECOPY_H
#define HK_LIB_EMULATOR_LANECOPY_H

#include "Wave.h"

namespace hk::emu {

using Word4 = uint32_t __attribute__((vector_size(16)));

inline Word4 loadWord4(const void *p) {
  Word4 v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

/// Transposes four lanes of four words in place.
inline void transpose4(Word4 v[4]) {
  Word4 a = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5);
  Word4 b = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7);
  Word4 c = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5);
  Word4 d = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
  v[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  v[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  v[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  v[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

template <unsigned Words, class At> void gatherLanes(LaneArray *to, At at) {
  if constexpr (Words == 4) {
    for (unsigned l = 0; l < kLanes; l += 4) {
      Word4 v[4];
      for (unsigned k = 0; k < 4; ++k)
        v[k] = loadWord4(at(l + k));
      transpose4(v);
      for (unsigned k = 0; k < 4; ++k)
        std::memcpy(to[k] + l, &v[k], sizeof v[k]);
    }
  } else {
    for (unsigned l = 0; l < kLanes; ++l)
      for (unsigned k = 0; k < Words; ++k)
        std::memcpy(to[k] + l, at(l) + 4 * k, 4);
  }
}

template <unsigned Words, class At>
void scatterLanes(const LaneArray *from, At at) {
  if constexpr (Words == 4) {
    for (unsigned l = 0; l < kLanes; l += 4) {
      Word4 v[4];
      for (unsigned k = 0; k < 4; ++k)
        v[k] = loadWord4(from[k] + l);
      transpose4(v);
      for (unsigned k = 0; k < 4; ++k)
        std::memcpy(at(l + k), &v[k], sizeof v[k]);
    }
  } else {
    for (unsigned l = 0; l < kLanes; ++l)
      for (unsigned k = 0; k < Words; ++k)
        std::memcpy(at(l) + 4 * k, from[k] + l, 4);
  }
}

/// True if the definedness bytes of all lanes' words say "all four bytes".
template <unsigned Words, class At> bool allDefinedWords(At def) {
  uint32_t all = 0x0f0f0f0f;
  for (unsigned l = 0; l < kLanes; ++l) {
    const uint8_t *d = def(l);
    if constexpr (Words == 4) {
      uint32_t four;
      std::memcpy(&four, d, 4);
      all &= four;
    } else {
      for (unsigned k = 0; k < Words; ++k)
        all &= d[k] | 0x0f0f0f00u;
    }
  }
  return all == 0x0f0f0f0f;
}

template <unsigned Words, class At> void defineWords(At def) {
  for (unsigned l = 0; l < kLanes; ++l)
    std::memset(def(l), 0xf, Words);
}

/// True if the first `words` registers from `reg` are defined in every lane.
inline bool allDefinedRegs(const Wave &w, unsigned reg, unsigned words) {
  ByteMasks m = ~ByteMasks{};
  for (unsigned k = 0; k < words; ++k)
    m &= w.vd[reg + k].all;
  return __builtin_reduce_and(m) == ~0ull;
}

/// Loads whole words of all lanes into `reg`, if everything they read is
/// defined.
template <unsigned Words, class At, class Def>
bool loadDefinedLanes(Wave &w, unsigned reg, At at, Def def) {
  if (w.checks && !allDefinedWords<Words>(def))
    return false;
  gatherLanes<Words>(w.v + reg, at);
  for (unsigned k = 0; k < Words; ++k)
    w.vd[reg + k].all = ~ByteMasks{};
  return true;
}

/// Stores whole words of all lanes, if they are all defined.
template <unsigned Words, class At, class Def>
bool storeDefinedLanes(const Wave &w, unsigned reg, At at, Def def) {
  if (w.checks && !allDefinedRegs(w, reg, Words))
    return false;
  scatterLanes<Words>(w.v + reg, at);
  defineWords<Words>(def);
  return true;
}

/// Calls f with the number of words as a constant; false if it is unusual.
template <class F> bool withWords(unsigned bytes, F f) {
  switch (bytes) {
  case 4:
    return f(std::integral_constant<unsigned, 1>());
  case 8:
    return f(std::integral_constant<unsigned, 2>());
  case 12:
    return f(std::integral_constant<unsigned, 3>());
  case 16:
    return f(std::integral_constant<unsigned, 4>());
  default:
    return false;
  }
}

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_LANECOPY_H
