//===- Scalar.h - Scalar operands -------------------------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reading and writing SGPR operands with their defined bits. Definedness is
// kept bit by bit, because lane masks live in SGPRs: masking an undefined bit
// away is legal.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_EXEC_SCALAR_H
#define HK_LIB_EMULATOR_EXEC_SCALAR_H

#include "../Valu.h"

namespace hk::emu {

struct Scalar {
  uint64_t value = 0, defined = ~0ull;
};

inline Scalar readScalar(Wave &w, const Operand &o, bool wide) {
  switch (o.file) {
  case RegFile::Sgpr:
    if (wide)
      return {w.s64(o.reg), w.sd64(o.reg)};
    return {w.s[o.reg], w.sd[o.reg] | 0xffffffff00000000ull};
  case RegFile::Const:
    return {wide ? o.imm : uint32_t(o.imm), ~0ull};
  case RegFile::Special:
    return {specialValue(w, o.reg),
            o.reg == kSpecialScc && !w.sccDefined ? ~1ull : ~0ull};
  default:
    return {};
  }
}

inline void writeScalar(Wave &w, const Inst &inst, const Operand &o, bool wide,
                        uint64_t value, uint64_t defined) {
  if (o.reg >= kExecLo && o.reg <= kExecHi && w.checks) {
    uint64_t bits = wide ? ~defined : uint32_t(~defined);
    if (bits)
      w.reportUndefined(inst, __builtin_ctzll(bits), 0,
                        "a bit of the lane mask written to EXEC");
  }
  if (wide)
    w.setS64(o.reg, value, defined);
  else
    w.setS(o.reg, uint32_t(value), uint32_t(defined));
}

inline bool allDefined(const Scalar &s, bool wide) {
  return wide ? s.defined == ~0ull : uint32_t(s.defined) == ~0u;
}

template <class T> constexpr bool isWide() { return sizeof(T) == 8; }

/// The entry of an operation with its own handler.
inline void addScalarOp(OpTable &t, const char *name, Handler fn, bool wide,
                        unsigned numDst = 1) {
  Op op;
  op.cls = InstClass::Salu;
  op.fn = fn;
  op.numDst = uint8_t(numDst);
  if (wide)
    op.types[0] = op.types[1] = op.types[2] = Type::B64;
  t.add(name, op);
}

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_EXEC_SCALAR_H
