//===- Mfma.h - What matrix instructions share ------------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operand layout of the matrix instructions and the conversion of their lanes
// into rows of f32. MFMA ignores EXEC.
//
// With one M x M block: lane l of A (B) holds row (column) l % M and the K
// elements of chunk l / M. D register r of lane l is column l % M; its row is
// 4 * (l / 16) + r for M = 16 and 8 * (r / 4) + 4 * (l / 32) + r % 4 for M
// = 32.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_EXEC_MFMA_H
#define HK_LIB_EMULATOR_EXEC_MFMA_H

#include "../MiniFloat.h"
#include "../Valu.h"

namespace hk::emu {

enum class Mat : uint8_t { F32, Xf32, F16, Bf16, I8, Fp8, Bf8, F64 };

struct MfmaShape {
  const char *name;
  uint8_t m;      ///< rows and columns of a block
  uint8_t k;      ///< depth
  uint8_t blocks; ///< independent products
  Mat a, b;
  uint16_t clocks942, clocks950;
};

/// Bytes of one element.
inline unsigned matBytes(Mat type) {
  switch (type) {
  case Mat::F64:
    return 8;
  case Mat::F32:
  case Mat::Xf32:
    return 4;
  case Mat::F16:
  case Mat::Bf16:
    return 2;
  default:
    return 1;
  }
}

/// Element `e` of every lane of an operand as f32.
void unpackElement(Wave &w, unsigned reg, Mat type, unsigned e, float *lanes);

inline unsigned mfmaRow(unsigned m, unsigned r, unsigned group) {
  return m == 16 ? 4 * group + r : 8 * (r / 4) + 4 * group + r % 4;
}

/// C of an MFMA: registers or one constant for all elements.
const uint32_t *mfmaC(Wave &w, const Operand &c, unsigned r);

/// True if every byte of the operand is defined in all lanes.
bool allLanesDefined(const Wave &w, const Operand &o);
/// Lanes of an operand in which everything is defined.
inline uint64_t operandLanes(const Wave &w, const Operand &o) {
  return definedLanes(w, o);
}

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_EXEC_MFMA_H
