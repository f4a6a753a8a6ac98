//===- HalfOps.h - Operations on 16-bit values ------------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What v_X computes in a register's half and v_pk_X in both. f16 arithmetic is
// done in f32 (fma in f64), which rounds once.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_EXEC_HALFOPS_H
#define HK_LIB_EMULATOR_EXEC_HALFOPS_H

#include "../Float.h"
#include "../Valu.h"
#include <algorithm>

namespace hk::emu {

inline half fmaHalf(half a, half b, half c) {
  return half(double(a) * double(b) + double(c));
}
inline uint16_t clampU16(int64_t v) {
  return uint16_t(std::clamp<int64_t>(v, 0, 65535));
}
inline uint16_t clampI16(int32_t v) {
  return uint16_t(std::clamp(v, -32768, 32767));
}

// What the documents leave undefined, and no compiler emits, fails the load.
inline std::string checkNoSign(const Inst &inst) {
  return inst.m.negLo || inst.m.negHi ? "integers cannot be negated" : "";
}
inline std::string checkDot(const Inst &inst) {
  bool plain = !inst.m.opSel && (inst.m.opSelHi & 7) == 7;
  return plain ? "" : "a dot product takes its halves in order";
}
inline std::string checkIntegerDot(const Inst &inst) {
  std::string error = checkNoSign(inst);
  return error.empty() ? checkDot(inst) : error;
}

/// Products and addend of a dot product as a saturated 32-bit sum.
template <bool Signed> uint32_t clampDot(int64_t products, uint32_t addend) {
  int64_t sum = products + (Signed ? int64_t(int32_t(addend)) : addend);
  return uint32_t(Signed ? std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX)
                         : std::min<int64_t>(sum, UINT32_MAX));
}
template <class F, class G> Op integerDotOp(F plain, G clamped) {
  Op op = laneOp(plain);
  op.clampFn = laneHandler(clamped);
  op.mods |= kModOut;
  op.check = checkIntegerDot;
  return op;
}

/// Calls add(name, f) for every operation, add(name, f, g) where the clamp
/// modifier makes it g.
template <class Add> void forHalfOps(Add add) {
  using u16 = uint16_t;
  using i16 = int16_t;
  using u32 = uint32_t;
  using i32 = int32_t;
  add("add_f16", [](half a, half b) { return half(float(a) + float(b)); });
  add("mul_f16", [](half a, half b) { return half(float(a) * float(b)); });
  add("fma_f16", [](half a, half b, half c) { return fmaHalf(a, b, c); });
  add(
      "add_u16", [](u16 a, u16 b) { return u16(a + b); },
      [](u16 a, u16 b) { return clampU16(a + b); });
  add(
      "sub_u16", [](u16 a, u16 b) { return u16(a - b); },
      [](u16 a, u16 b) { return clampU16(a - b); });
  add(
      "add_i16", [](u16 a, u16 b) { return u16(a + b); },
      [](i16 a, i16 b) { return clampI16(a + b); });
  add(
      "sub_i16", [](u16 a, u16 b) { return u16(a - b); },
      [](i16 a, i16 b) { return clampI16(a - b); });
  add("mul_lo_u16", [](u16 a, u16 b) { return u16(u32(a) * b); });
  add(
      "mad_u16", [](u16 a, u16 b, u16 c) { return u16(u32(a) * b + c); },
      [](u16 a, u16 b, u16 c) { return clampU16(u32(a) * b + c); });
  add(
      "mad_i16", [](u16 a, u16 b, u16 c) { return u16(u32(a) * b + c); },
      [](i16 a, i16 b, i16 c) { return clampI16(i32(a) * b + c); });
  add("min_u16", [](u16 a, u16 b) { return u16(std::min(a, b)); });
  add("max_u16", [](u16 a, u16 b) { return u16(std::max(a, b)); });
  add("min_i16", [](i16 a, i16 b) { return u16(std::min(a, b)); });
  add("max_i16", [](i16 a, i16 b) { return u16(std::max(a, b)); });
  add("lshlrev_b16", [](u16 a, u16 b) { return u16(b << (a & 15)); });
  add("lshrrev_b16", [](u16 a, u16 b) { return u16(b >> (a & 15)); });
  add("ashrrev_i16", [](u16 a, i16 b) { return u16(b >> (a & 15)); });
}

/// The middle one of three integers.
template <class T> uint16_t median(T a, T b, T c) {
  return uint16_t(std::max(std::min(a, b), std::min(std::max(a, b), c)));
}

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_EXEC_HALFOPS_H
