//===- ValuInt.cpp - Integer vector ALU -----------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 32- and 64-bit integer operations, one lambda each.
//
//===----------------------------------------------------------------------===//

#include "HalfOps.h"
#include <algorithm>

namespace hk::emu {
namespace {

using u16 = uint16_t;
using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;

u32 clampU32(u64 v) { return v > 0xffffffffull ? ~0u : u32(v); }
i32 clampI32(i64 v) { return i32(std::clamp<i64>(v, INT32_MIN, INT32_MAX)); }

template <class F, class G>
void addClamped(OpTable &t, const char *name, F plain, G clamped,
                DefRule rule = DefRule::Sum) {
  Op op = laneOp(plain, rule);
  op.clampFn = laneHandler(clamped);
  op.mods |= kModOut;
  t.add(name, op);
}

/// A bit by bit operation of up to three sources.
template <class F> Op logicOp(F f, uint8_t truthTable) {
  Op op = laneOp(f, DefRule::Logic);
  op.truthTable = truthTable;
  return op;
}

u32 bitop3(u32 a, u32 b, u32 c, u32 table) {
  u32 r = 0;
  for (unsigned k = 0; k < 8; ++k) {
    u32 term = (table >> k & 1) ? ~0u : 0;
    r |= term & ((k & 4) ? a : ~a) & ((k & 2) ? b : ~b) & ((k & 1) ? c : ~c);
  }
  return r;
}

/// The truth table is a modifier, so this is not a laneOp. T is u32 or u16.
template <class T> void bitop3Op(Wave &w, const Inst &inst) {
  Fetched<T> a(w, inst, 1), b(w, inst, 2), c(w, inst, 3);
  LaneBuf lo, hi;
  u32 table = inst.m.bitop3;
  for (unsigned l = 0; l < kLanes; ++l)
    lo.lo[l] = T(bitop3(a[l], b[l], c[l], table));
  propagate(w, inst, 1, 3, 1);
  commitResult<T>(w, inst, lo, hi);
}

u32 sad8(u32 a, u32 b, u32 c) {
  for (unsigned k = 0; k < 4; ++k) {
    i32 x = i32(a >> (8 * k) & 0xff), y = i32(b >> (8 * k) & 0xff);
    c += u32(x < y ? y - x : x - y);
  }
  return c;
}

u32 permute(u32 a, u32 b, u32 sel) {
  u32 r = 0;
  for (unsigned k = 0; k < 4; ++k) {
    u32 s = sel >> (8 * k) & 0xff;
    u32 byte = ((s & 4) ? a : b) >> (8 * (s & 3)) & 0xff;
    // 8 to 11: the signs of bytes 1, 3, 5, 7.
    u32 signs = ((s & 2) ? a : b) >> ((s & 1) ? 31 : 15) & 1 ? 0xff : 0;
    u32 fixed = s == 12 ? 0 : s > 12 ? 0xff : signs;
    r |= (s < 8 ? byte : fixed) << (8 * k);
  }
  return r;
}

/// Nearly every selector picks bytes of the sources, which is a shorter loop.
void permuteOp(Wave &w, const Inst &inst) {
  Fetched<u32> a(w, inst, 1), b(w, inst, 2), c(w, inst, 3);
  LaneBuf lo, hi;
  u32 used = 0;
  for (unsigned l = 0; l < kLanes; ++l)
    used |= c[l];
  if (used & 0xf8f8f8f8)
    for (unsigned l = 0; l < kLanes; ++l)
      lo.lo[l] = permute(a[l], b[l], c[l]);
  else
    for (unsigned l = 0; l < kLanes; ++l) {
      u32 r = 0;
      for (unsigned k = 0; k < 32; k += 8) {
        u32 s = c[l] >> k;
        r |= (((s & 4) ? a[l] : b[l]) >> (8 * (s & 3)) & 0xff) << k;
      }
      lo.lo[l] = r;
    }
  propagate(w, inst, 1, 3, 1);
  commitResult<u32>(w, inst, lo, hi);
}

void addMovesAndLogic(OpTable &t) {
  t.add("v_mov_b32", laneOp([](u32 a) { return a; }, DefRule::Bitwise));
  t.add("v_accvgpr_read_b32",
        laneOp([](u32 a) { return a; }, DefRule::Bitwise));
  t.add("v_accvgpr_write_b32",
        laneOp([](u32 a) { return a; }, DefRule::Bitwise));
  t.add("v_accvgpr_mov_b32", laneOp([](u32 a) { return a; }, DefRule::Bitwise));
  t.add("v_mov_b64", laneOp([](u64 a) { return a; }, DefRule::Bitwise));
  t.add("v_not_b32", laneOp([](u32 a) { return ~a; }, DefRule::Bitwise));
  t.add("v_and_b32", logicOp([](u32 a, u32 b) { return a & b; }, 0xc0));
  t.add("v_or_b32", logicOp([](u32 a, u32 b) { return a | b; }, 0xfc));
  t.add("v_xor_b32",
        laneOp([](u32 a, u32 b) { return a ^ b; }, DefRule::Bitwise));
  t.add("v_xnor_b32",
        laneOp([](u32 a, u32 b) { return ~(a ^ b); }, DefRule::Bitwise));
  t.add("v_xad_u32",
        laneOp([](u32 a, u32 b, u32 c) { return (a ^ b) + c; }, DefRule::Sum));
  t.add("v_or3_b32",
        logicOp([](u32 a, u32 b, u32 c) { return a | b | c; }, 0xfe));
  t.add("v_and_or_b32",
        logicOp([](u32 a, u32 b, u32 c) { return (a & b) | c; }, 0xea));
  t.add("v_bfi_b32",
        logicOp([](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }, 0xca));
  Op op = laneOp([](u32 a, u32 b, u32 c) { return a ^ b ^ c; });
  op.mods = kModBitop3;
  op.fn = bitop3Op<u32>;
  t.add("v_bitop3_b32", op).rule = DefRule::Logic;
  op = laneOp([](u16 a, u16 b, u16 c) { return u16(a ^ b ^ c); });
  op.mods = kModBitop3 | kModOpSel;
  op.fn = bitop3Op<u16>;
  t.add("v_bitop3_b16", op).rule = DefRule::Logic;
}

void addShifts(OpTable &t) {
  t.add("v_lshl_or_b32",
        laneOp([](u32 a, u32 b, u32 c) { return (a << (b & 31)) | c; },
               DefRule::LShlOr));
  t.add("v_lshlrev_b32",
        laneOp([](u32 a, u32 b) { return b << (a & 31); }, DefRule::LShiftRev));
  t.add("v_lshrrev_b32",
        laneOp([](u32 a, u32 b) { return b >> (a & 31); }, DefRule::LShrRev));
  t.add("v_ashrrev_i32",
        laneOp([](u32 a, i32 b) { return b >> (a & 31); }, DefRule::AShrRev));
  t.add("v_lshlrev_b64",
        laneOp([](u32 a, u64 b) { return b << (a & 63); }, DefRule::LShiftRev));
  t.add("v_lshrrev_b64",
        laneOp([](u32 a, u64 b) { return b >> (a & 63); }, DefRule::LShrRev));
  t.add("v_ashrrev_i64",
        laneOp([](u32 a, i64 b) { return b >> (a & 63); }, DefRule::AShrRev));
  // op_sel picks the half of the last source.
  t.add("v_alignbit_b32",
        laneOp([](u32 a, u32 b,
                  u16 c) { return u32((u64(a) << 32 | b) >> (c & 31)); },
               DefRule::AlignBit))
      .mods |= kModOpSel;
  t.add("v_alignbyte_b32",
        laneOp([](u32 a, u32 b,
                  u16 c) { return u32((u64(a) << 32 | b) >> (8 * (c & 3))); },
               DefRule::AlignByte))
      .mods |= kModOpSel;
  t.add("v_perm_b32",
        laneOp([](u32 a, u32 b, u32 c) { return a ^ b ^ c; }, DefRule::Perm))
      .fn = permuteOp;
}

/// Fields of bits, and what counts or finds bits.
void addBits(OpTable &t) {
  t.add("v_bfm_b32", laneOp([](u32 a, u32 b) {
          return ((1u << (a & 31)) - 1) << (b & 31);
        }));
  t.add("v_bfe_u32",
        laneOp([](u32 a, u32 b,
                  u32 c) { return (a >> (b & 31)) & ((1u << (c & 31)) - 1); },
               DefRule::BfeU));
  t.add("v_bfe_i32", laneOp(
                         [](u32 a, u32 b, u32 c) {
                           u32 offset = b & 31, width = c & 31;
                           u32 shifted = u32(i32(a) >> offset);
                           u32 field = shifted & ((1u << width) - 1);
                           u32 sign = width ? 1u << (width - 1) : 0;
                           return (field ^ sign) - sign;
                         },
                         DefRule::BfeI));
  t.add("v_bfrev_b32",
        laneOp([](u32 a) { return u32(__builtin_bitreverse32(a)); },
               DefRule::Reverse));
  t.add("v_bcnt_u32_b32",
        laneOp([](u32 a, u32 b) { return u32(__builtin_popcount(a)) + b; }));
  t.add("v_ffbh_u32",
        laneOp([](u32 a) { return a ? u32(__builtin_clz(a)) : ~0u; }));
  t.add("v_ffbl_b32",
        laneOp([](u32 a) { return a ? u32(__builtin_ctz(a)) : ~0u; }));
  t.add("v_ffbh_i32", laneOp([](i32 a) {
          u32 v = u32(a < 0 ? ~a : a);
          return v ? u32(__builtin_clz(v)) : ~0u;
        }));
}

void addSums(OpTable &t) {
  addClamped(
      t, "v_add_u32", [](u32 a, u32 b) { return a + b; },
      [](u32 a, u32 b) { return clampU32(u64(a) + b); });
  addClamped(
      t, "v_sub_u32", [](u32 a, u32 b) { return a - b; },
      [](u32 a, u32 b) { return a < b ? 0u : a - b; });
  addClamped(
      t, "v_subrev_u32", [](u32 a, u32 b) { return b - a; },
      [](u32 a, u32 b) { return b < a ? 0u : b - a; });
  addClamped(
      t, "v_add_i32", [](u32 a, u32 b) { return a + b; },
      [](i32 a, i32 b) { return clampI32(i64(a) + b); });
  addClamped(
      t, "v_sub_i32", [](u32 a, u32 b) { return a - b; },
      [](i32 a, i32 b) { return clampI32(i64(a) - b); });
  t.add("v_add3_u32",
        laneOp([](u32 a, u32 b, u32 c) { return a + b + c; }, DefRule::Sum));
  t.add("v_lshl_add_u32",
        laneOp([](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; },
               DefRule::LShlAdd));
  t.add("v_add_lshl_u32",
        laneOp([](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); },
               DefRule::AddLShl));
  t.add("v_lshl_add_u64", laneOp(
                              [](u64 a, u32 b, u64 c) {
                                u32 count = b & 7;
                                return (a << (count > 4 ? 0 : count)) +
                                       c; // up to 4, as documented
                              },
                              DefRule::LShlAdd));
}

void addProducts(OpTable &t) {
  t.add("v_mul_lo_u32",
        laneOp([](u32 a, u32 b) { return a * b; }, DefRule::Sum))
      .clocks = 16;
  t.add("v_mul_hi_u32",
        laneOp([](u32 a, u32 b) { return u32(u64(a) * b >> 32); }))
      .clocks = 16;
  t.add("v_mul_hi_i32",
        laneOp([](i32 a, i32 b) { return i32(i64(a) * b >> 32); }))
      .clocks = 16;
  t.add("v_mul_u32_u24",
        laneOp([](u32 a, u32 b) { return (a & 0xffffff) * (b & 0xffffff); },
               DefRule::Mul24));
  t.add("v_mul_hi_u32_u24",
        laneOp(
            [](u32 a, u32 b) {
              return u32(u64(a & 0xffffff) * (b & 0xffffff) >> 32);
            },
            DefRule::Mul24High));
  t.add("v_mul_i32_i24", laneOp(
                             [](i32 a, i32 b) {
                               return i32(u32(i32(u32(a) << 8) >> 8) *
                                          u32(i32(u32(b) << 8) >> 8));
                             },
                             DefRule::Mul24));
  t.add("v_mul_hi_i32_i24",
        laneOp(
            [](i32 a, i32 b) {
              return i32(i64(i32(u32(a) << 8) >> 8) * (i32(u32(b) << 8) >> 8) >>
                         32);
            },
            DefRule::Mul24High));
  addClamped(
      t, "v_mad_u32_u24",
      [](u32 a, u32 b, u32 c) { return (a & 0xffffff) * (b & 0xffffff) + c; },
      [](u32 a, u32 b, u32 c) {
        return clampU32(u64(a & 0xffffff) * (b & 0xffffff) + c);
      },
      DefRule::Mul24);
  addClamped(
      t, "v_mad_i32_i24",
      [](i32 a, i32 b, i32 c) {
        return i32(u32(i32(u32(a) << 8) >> 8) * u32(i32(u32(b) << 8) >> 8) +
                   u32(c));
      },
      [](i32 a, i32 b, i32 c) {
        return clampI32(i64(i32(u32(a) << 8) >> 8) * (i32(u32(b) << 8) >> 8) +
                        c);
      },
      DefRule::Mul24);
}

void addExtremes(OpTable &t) {
  t.add("v_min_u32", laneOp([](u32 a, u32 b) { return a < b ? a : b; }));
  t.add("v_max_u32", laneOp([](u32 a, u32 b) { return a > b ? a : b; }));
  t.add("v_min_i32", laneOp([](i32 a, i32 b) { return a < b ? a : b; }));
  t.add("v_max_i32", laneOp([](i32 a, i32 b) { return a > b ? a : b; }));
  t.add("v_min3_u32", laneOp([](u32 a, u32 b, u32 c) {
          return std::min(std::min(a, b), c);
        }));
  t.add("v_max3_u32", laneOp([](u32 a, u32 b, u32 c) {
          return std::max(std::max(a, b), c);
        }));
  t.add("v_med3_u32", laneOp([](u32 a, u32 b, u32 c) {
          return std::max(std::min(a, b), std::min(std::max(a, b), c));
        }));
  t.add("v_min3_i32", laneOp([](i32 a, i32 b, i32 c) {
          return std::min(std::min(a, b), c);
        }));
  t.add("v_max3_i32", laneOp([](i32 a, i32 b, i32 c) {
          return std::max(std::max(a, b), c);
        }));
  t.add("v_med3_i32", laneOp([](i32 a, i32 b, i32 c) {
          return std::max(std::min(a, b), std::min(std::max(a, b), c));
        }));
}

/// Sums of absolute differences.
void addDifferences(OpTable &t) {
  t.add("v_sad_u8", laneOp([](u32 a, u32 b, u32 c) { return sad8(a, b, c); }));
  t.add("v_sad_hi_u8",
        laneOp([](u32 a, u32 b, u32 c) { return (sad8(a, b, 0) << 16) + c; }));
  t.add("v_msad_u8",
        laneOp([](u32 a, u32 b, u32 c) { // bytes where b is 0 are left out
          for (unsigned k = 0; k < 32; k += 8) {
            u32 x = a >> k & 0xff, y = b >> k & 0xff;
            c += y ? (x < y ? y - x : x - y) : 0;
          }
          return c;
        }));
  t.add("v_sad_u16", laneOp([](u32 a, u32 b, u32 c) {
          for (unsigned k = 0; k < 32; k += 16) {
            u32 x = a >> k & 0xffff, y = b >> k & 0xffff;
            c += x < y ? y - x : x - y;
          }
          return c;
        }));
  t.add("v_sad_u32", laneOp([](u32 a, u32 b, u32 c) {
          return (a < b ? b - a : a - b) + c;
        }));
}

/// Operations on bytes, and numbers shifted to bytes.
void addBytes(OpTable &t) {
  t.add("v_lerp_u8", laneOp([](u32 a, u32 b, u32 c) {
          u32 r = 0;
          for (unsigned k = 0; k < 32; k += 8)
            r |=
                (((a >> k & 0xff) + (b >> k & 0xff) + (c >> k & 1)) >> 1 & 0xff)
                << k;
          return r;
        }));
  auto addPacked = [&](const char *name, auto f) {
    Op op = laneOp(f);
    op.mods |= kModOpSel;
    op.preserveHigh = true;
    t.add(name, op);
  };
  addPacked("v_ashr_pk_i8_i32", [](i32 a, i32 b, u32 c) {
    auto one = [&](i32 v) {
      return u32(std::clamp(v >> (c & 31), -128, 127)) & 0xff;
    };
    return u16(one(a) | one(b) << 8);
  });
  addPacked("v_ashr_pk_u8_i32", [](i32 a, i32 b, u32 c) {
    auto one = [&](i32 v) { return u32(std::clamp(v >> (c & 31), 0, 255)); };
    return u16(one(a) | one(b) << 8);
  });
}

/// Products of `Bits` wide elements, exact.
template <bool Signed, unsigned Bits> i64 dot(u32 a, u32 b) {
  i64 sum = 0;
  constexpr unsigned top = 32 - Bits;
  for (unsigned k = 0; k < 32; k += Bits) {
    u32 x = a << (top - k), y = b << (top - k);
    sum += Signed ? i64(i32(x) >> top) * (i32(y) >> top)
                  : i64(x >> top) * i64(y >> top);
  }
  return sum;
}
template <bool Signed, unsigned Bits> Op dotOp() {
  return integerDotOp(
      [](u32 a, u32 b, u32 c) { return u32(dot<Signed, Bits>(a, b)) + c; },
      [](u32 a, u32 b, u32 c) {
        return clampDot<Signed>(dot<Signed, Bits>(a, b), c);
      });
}

void addDots(OpTable &t) {
  auto add = [&](const std::string &name, Op op, bool accumulate) {
    op.mods = kModOpSel | kModOut;
    t.add(name, op);
    if (accumulate) {
      op.dstIsSource = true;
      op.clampFn = nullptr;
      op.mods = kModOpSel | kModDpp;
      t.add(name.substr(0, 6) + "c" + name.substr(6), op);
    }
  };
  add("v_dot4_i32_i8", dotOp<true, 8>(), true);
  add("v_dot4_u32_u8", dotOp<false, 8>(), false);
  add("v_dot8_i32_i4", dotOp<true, 4>(), true);
  add("v_dot8_u32_u4", dotOp<false, 4>(), false);
}

} // namespace

void addValuInt(OpTable &t) {
  addMovesAndLogic(t);
  addShifts(t);
  addBits(t);
  addSums(t);
  addProducts(t);
  addExtremes(t);
  addDifferences(t);
  addBytes(t);
  addDots(t);
  Op nop;
  nop.fn = [](Wave &, const Inst &) {};
  nop.cls = InstClass::Valu;
  nop.numDst = 0;
  nop.mods = kModDpp | kModSdwa;
  t.add("v_nop", nop);
}

} // namespace hk::emu
