//===- Inst.h - Decoded instruction -----------------------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One static instruction, decoded once at load: its table entry, its operands
// and its modifiers. Executing it never looks at text again.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_INST_H
#define HK_LIB_EMULATOR_INST_H

#include <cstdint>

namespace hk::emu {

struct Wave;
struct Inst;
struct Op;

using Handler = void (*)(Wave &, const Inst &);

constexpr unsigned kLanes = 64;
constexpr unsigned kMaxOperands = 6;
/// High words of the flat addresses that mean LDS and private memory.
constexpr uint32_t kSharedAperture = 0x00010000, kPrivateAperture = 0x00020000;

/// Where an operand lives. AGPRs are Vgpr operands with index 256 and up.
enum class RegFile : uint8_t { None, Vgpr, Sgpr, Const, Special };

/// Scalar register numbers of the encoding that the emulator names.
enum SgprIndex : uint16_t {
  kFlatScratchLo = 102,
  kXnackMaskLo = 104,
  kVccLo = 106,
  kVccHi = 107,
  kTtmp0 = 108,
  kM0 = 124,
  kExecLo = 126,
  kExecHi = 127,
  kNumSgprs = 128
};

/// Operands that are neither a register nor a constant.
enum SpecialIndex : uint16_t {
  kSpecialOff,
  kSpecialScc,
  kSpecialVccz,
  kSpecialExecz,
  kSpecialSharedBase,
  kSpecialSharedLimit,
  kSpecialPrivateBase,
  kSpecialPrivateLimit
};

/// How the bits of an operand are read; decides what "1.0" means.
enum class Type : uint8_t { B32, F32, B64, F64, B16, F16, I32, I64 };

/// A byte or word selected by SDWA.
enum class Sel : uint8_t { Byte0, Byte1, Byte2, Byte3, Word0, Word1, Dword };

struct Operand {
  RegFile file = RegFile::None;
  bool neg : 1, abs : 1, sext : 1;
  bool isFloatText : 1; ///< the text was a float such as 1.0, imm its double
  uint8_t width = 1;    ///< registers
  Sel sel = Sel::Dword;
  uint16_t reg = 0;
  uint64_t imm = 0;
  /// Constants: the value's low words in every lane, then its high words.
  const uint32_t *lanes = nullptr;

  Operand() : neg(false), abs(false), sext(false), isFloatText(false) {}

  bool isVgpr() const { return file == RegFile::Vgpr; }
  bool isSgpr() const { return file == RegFile::Sgpr; }
  bool isConst() const { return file == RegFile::Const; }
};

/// A permutation of lanes: who reads whom. Equal ones are shared and live as
/// long as the process.
struct LaneMap {
  uint8_t from[kLanes];
  uint64_t exists; ///< lanes whose source exists; others have from[l] = 0
};

/// Modifier groups; an Op lists those it accepts and any other fails the load.
enum ModifierGroup : uint16_t {
  kModOffset = 1 << 0,   ///< offset:
  kModOffset01 = 1 << 1, ///< offset0: offset1:
  kModCache = 1 << 2,    ///< sc0 sc1 nt glc slc
  kModBuffer = 1 << 3,   ///< offen idxen lds
  kModDpp = 1 << 4,
  kModSdwa = 1 << 5,
  kModOut = 1 << 6,     ///< clamp mul: div:
  kModOpSel = 1 << 7,   ///< op_sel op_sel_hi neg_lo neg_hi
  kModCbsz = 1 << 8,    ///< cbsz abid
  kModBitop3 = 1 << 9,  ///< bitop3:
  kModScale = 1 << 10,  ///< byte_sel:
  kModFormat = 1 << 11, ///< format:
  kModBlgp = 1 << 12    ///< blgp, and neg of the f64 MFMA
};

struct Modifiers {
  uint16_t seen = 0; ///< groups present
  int32_t offset = 0;
  uint8_t offset0 = 0, offset1 = 0;
  bool sc0 = false, sc1 = false, nt = false;
  bool offen = false, idxen = false, lds = false;
  bool clamp = false;
  int8_t omod = 0; ///< 1: *2, 2: *4, 3: /2
  bool opSelHiGiven = false;
  uint8_t opSel = 0, opSelHi = 0xff, negLo = 0, negHi = 0;
  uint8_t cbsz = 0, abid = 0, blgp = 0, bitop3 = 0, byteSel = 0;
  bool boundCtrl = false, fetchInactive = false;
  uint8_t dataFormat = 0, numFormat = 0; ///< format: of tbuffer
  uint8_t rowMask = 0xf, bankMask = 0xf;
  Sel dstSel = Sel::Dword, srcSel[2] = {Sel::Dword, Sel::Dword};
  const LaneMap *dpp = nullptr, *swizzle = nullptr;
  enum class Unused : uint8_t { Pad, Sext, Preserve } dstUnused = Unused::Pad;
};

/// Programs are long and unrolled, so what every execution needs comes first
/// and fits into few cache lines.
struct alignas(64) Inst {
  Handler fn = nullptr;
  const Op *op = nullptr;
  uint32_t next = 0; ///< index of the following instruction
  uint8_t cls = 0;   ///< the op's InstClass
  uint8_t numOperands = 0;
  uint16_t clocks = 4;
  bool complex = false; ///< DPP, SDWA, source or result modifiers present
  bool hasTarget = false;
  bool looks = false;       ///< a load with which a compare-and-swap begins
  int16_t branchOffset = 0; ///< in words, from the next instruction
  int32_t target = -1;      ///< index of the branch target
  uint32_t raw = 0;         ///< packed immediate of s_waitcnt, hwreg, gpr_idx
  uint32_t size = 4;        ///< bytes
  Operand o[kMaxOperands];
  Modifiers m;
  uint64_t pc = 0; ///< offset in the code object's image
  const char *text = "";
};

/// Registers an instruction touches, for the missing-wait check.
struct RegisterMask {
  uint64_t vgpr[8] = {};
  uint64_t sgpr[2] = {};
};

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_INST_H
