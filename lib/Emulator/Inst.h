//===- Inst.h - Decoded instruction ------------------------------*- C++
//-*-===//
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
#include <memory>
#include <string>

namespace hk::emu {

struct Wave;
struct Inst;
struct Op;

using Handler = void (*)(Wave &, const Inst &);

constexpr unsigned kLanes = 64;
constexpr unsigned kMaxOperands = 8;
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
  bool neg = false, abs = false, sext = false;
  bool isFloatText = false; ///< the text was a float such as 1.0
  uint8_t width = 1;        ///< registers
  uint16_t reg = 0;
  Sel sel = Sel::Dword;
  double floatValue = 0;
  uint64_t imm = 0;
  /// Constants: the value's low and high words in every lane.
  const uint32_t *lanesLo = nullptr, *lanesHi = nullptr;

  bool isVgpr() const { return file == RegFile::Vgpr; }
  bool isSgpr() const { return file == RegFile::Sgpr; }
  bool isConst() const { return file == RegFile::Const; }
  bool isOff() const { return file == RegFile::Special && reg == kSpecialOff; }
};

/// Modifier groups; an Op lists those it accepts and any other fails the load.
enum ModifierGroup : uint16_t {
  kModOffset = 1 << 0,   ///< offset:
  kModOffset01 = 1 << 1, ///< offset0: offset1:
  kModCache = 1 << 2,    ///< sc0 sc1 nt glc slc
  kModBuffer = 1 << 3,   ///< offen idxen lds
  kModDpp = 1 << 4,
  kModSdwa = 1 << 5,
  kModOut = 1 << 6,    ///< clamp mul: div:
  kModOpSel = 1 << 7,  ///< op_sel op_sel_hi neg_lo neg_hi
  kModMfma = 1 << 8,   ///< cbsz abid blgp
  kModBitop3 = 1 << 9, ///< bitop3:
  kModScale = 1 << 10, ///< byte_sel:
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
  bool boundCtrl = false;
  uint8_t rowMask = 0xf, bankMask = 0xf;
  /// DPP: the lane each lane reads, 255 where the source does not exist.
  std::shared_ptr<uint8_t[]> dppLanes;
  /// ds_swizzle: the lane each lane reads.
  std::shared_ptr<uint8_t[]> swizzleLanes;
  Sel dstSel = Sel::Dword;
  enum class Unused : uint8_t { Pad, Sext, Preserve } dstUnused = Unused::Pad;
};

struct Inst {
  Handler fn = nullptr;
  const Op *op = nullptr;
  uint64_t pc = 0;     ///< offset in the code object's image
  uint32_t size = 4;   ///< bytes
  uint32_t next = 0;   ///< index of the following instruction
  int32_t target = -1; ///< index of the branch target
  uint8_t numOperands = 0;
  uint16_t clocks = 4;
  bool complex = false; ///< DPP, SDWA, source or result modifiers present
  bool hasTarget = false;
  int16_t branchOffset = 0; ///< in words, from the next instruction
  uint32_t raw = 0;         ///< packed immediate of s_waitcnt, hwreg, gpr_idx
  Operand o[kMaxOperands];
  Modifiers m;
  /// Registers the instruction touches, for the missing-wait check.
  uint64_t vgprMask[8] = {};
  uint64_t sgprMask[2] = {};
  std::string text;
};

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_INST_H
