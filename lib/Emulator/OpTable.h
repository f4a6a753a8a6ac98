//===- OpTable.h - Table of instructions ------------------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Mnemonic to handler. Each instruction class registers its entries from its
// own file; the decoder refuses what is not in the table.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_OPTABLE_H
#define HK_LIB_EMULATOR_OPTABLE_H

#include "Inst.h"
#include <string>
#include <unordered_map>

namespace hk::emu {

/// Counted classes of instructions.
enum class InstClass : uint8_t {
  Salu,
  Branch,
  Wait,
  Barrier,
  Smem,
  Valu,
  Transcendental,
  Mfma,
  Lds,
  Vmem,
  Scratch,
  Other,
  Count
};
const char *className(InstClass cls);

/// How undefined source bits reach the result when not everything is defined.
/// Defined.cpp has a function for each, in this order.
enum class DefRule : uint8_t {
  Whole,   ///< any undefined source bit makes the lane's result undefined
  Bitwise, ///< bit by bit
  Logic,   ///< a truth table: Op::truthTable or the bitop3 modifier
  LShiftRev,
  LShrRev,
  AShrRev,
  Perm,
  LShlOr, ///< (a << b) | c
  BfeU,   ///< only the extracted bits of the first source matter
  BfeI,
  AlignBit, ///< a word out of two
  AlignByte,
  Reverse,
  Sum,       ///< a carry goes up from the lowest undefined bit
  LShlAdd,   ///< (a << b) + c
  AddLShl,   ///< (a + b) << c
  Mul24,     ///< product of the low 24 bits, plus the third source
  Mul24High, ///< its upper part
  OneByte,   ///< only byte Op::info of the source matters
  Halves,    ///< 16-bit halves are independent
  PackHalf,  ///< source k makes half k of the result
  Custom     ///< the handler does it
};

/// The defined bits of a scalar result from the defined bits and the values of
/// both sources.
using ScalarRule = uint64_t (*)(uint64_t aDefined, uint64_t a,
                                uint64_t bDefined, uint64_t b);

struct Op {
  std::string name;
  Handler fn = nullptr;
  InstClass cls = InstClass::Other;
  DefRule rule = DefRule::Whole;
  /// Of DefRule::Logic: bit 4a + 2b + c is the result for those source bits.
  uint8_t truthTable = 0;
  ScalarRule scalarRule = nullptr; ///< null: every source bit is needed
  uint8_t numDst = 1;
  uint16_t mods = 0;
  Type types[kMaxOperands] = {};
  uint16_t info = 0;      ///< free for the class: bytes, shape index, ...
  uint16_t clocks = 4;    ///< issue clocks on gfx942
  uint16_t clocks950 = 0; ///< on gfx950 where it differs
  /// Issue clocks that depend on the modifiers; used instead of both.
  uint16_t (*clocksOf)(const Inst &) = nullptr;
  /// Reads operands that are not registers (s_waitcnt, hwreg ...).
  std::string (*parse)(const std::string &, Inst &) = nullptr;
  /// Why values of the modifiers mean nothing together; empty if they do.
  std::string (*check)(const Inst &) = nullptr;
  Handler clampFn = nullptr; ///< used instead of fn when clamp is present
  bool packed = false;       ///< op_sel means halves of a packed operation
  bool plainOpSelHi = false; ///< op_sel_hi is all zero when not printed
  bool preserveHigh = false; ///< a 16-bit result keeps the other half
  bool dstIsSource = false;  ///< the last source is the destination (fmac)
  /// An infinity is no overflow where a source is zero (reciprocals).
  bool poleAtZero = false;
  /// With HK_EMU_UNSPECIFIED: report that no source settles what the operands
  /// or the results make of it.
  Handler doubtBefore = nullptr, doubtAfter = nullptr;
};

class OpTable {
public:
  /// The one table, built on first use.
  static const OpTable &get();

  const Op *find(const std::string &mnemonic) const;
  Op &add(const std::string &name, const Op &op);
  size_t size() const { return ops.size(); }
  template <class F> void forEach(F f) {
    for (auto &entry : ops)
      f(entry.second);
  }
  template <class F> void forEach(F f) const {
    for (const auto &entry : ops)
      f(entry.second);
  }

private:
  OpTable();
  std::unordered_map<std::string, Op> ops;
};

// One per file of lib/Emulator/Exec.
void addSalu(OpTable &table);
void addSaluMask(OpTable &table);
void addSaluControl(OpTable &table);
void addSaluMoves(OpTable &table);
void addSopp(OpTable &table);
void addSmem(OpTable &table);
void addSmemWrites(OpTable &table);
void addValuInt(OpTable &table);
void addValuFloat(OpTable &table);
void addValu16(OpTable &table);
void addValuCarry(OpTable &table);
void addValuMedia(OpTable &table);
void addTranscendental(OpTable &table);
void addVopc(OpTable &table);
void addPacked(OpTable &table);
void addConversions(OpTable &table);
void addCrossLane(OpTable &table);
void addMfma(OpTable &table);
void addMfmaSmall(OpTable &table);
void addMfmaScaled(OpTable &table);
void addSmfmac(OpTable &table);
void addDs(OpTable &table);
void addDsAtomics(OpTable &table);
void addDsSpecial(OpTable &table);
void addGlobal(OpTable &table);
void addBuffer(OpTable &table);
void addBufferFormat(OpTable &table);
void addAtomics(OpTable &table);
void addScaleConversions(OpTable &table);
/// After all others: what Exec/Unspecified.cpp knows of them.
void addDoubts(OpTable &table);

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_OPTABLE_H
