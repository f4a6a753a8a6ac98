//===- BufferFormat.cpp - Formatted buffer memory -------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// buffer_load_format and tbuffer_load_format with their stores: memory holds
// elements of a data format (which fields) and a number format (what the fields
// mean), registers hold f32, integers or, in the d16 forms, 16-bit halves. The
// format comes from the descriptor or, for tbuffer, from the instruction.
//
//===----------------------------------------------------------------------===//

#include "../Float.h"
#include "Vmem.h"
#include <algorithm>
#include <cmath>

namespace hk::emu {
namespace {

/// Bits of the fields of each data format, lowest first (CDNA3 ISA, "Memory
/// Buffer Resource": DATA_FORMAT).
const uint8_t kFields[16][4] = {{},
                                {8},
                                {16},
                                {8, 8},
                                {32},
                                {16, 16},
                                {11, 11, 10},
                                {10, 11, 11},
                                {2, 10, 10, 10},
                                {10, 10, 10, 2},
                                {8, 8, 8, 8},
                                {32, 32},
                                {16, 16, 16, 16},
                                {32, 32, 32},
                                {32, 32, 32, 32},
                                {}};

enum NumFormat { kUnorm, kSnorm, kUscaled, kSscaled, kUint, kSint, kFloat = 7 };

struct Format {
  const uint8_t *fields;
  unsigned number;
  uint8_t select[4]; ///< 0: zero, 1: one, 4 to 7: field
  unsigned bytes() const {
    return unsigned(fields[0] + fields[1] + fields[2] + fields[3]) / 8;
  }
  bool isInteger() const { return number == kUint || number == kSint; }
};

/// Op::info: components | d16 << 4 | high half << 5 | typed << 6.
unsigned components(const Inst &inst) { return inst.op->info & 15; }
bool isD16(const Inst &inst) { return inst.op->info & 16; }
bool isHigh(const Inst &inst) { return inst.op->info & 32; }
bool isTyped(const Inst &inst) { return inst.op->info & 64; }

/// False (reported) if the format does not exist.
bool formatOf(Wave &w, const Inst &inst, Format &f) {
  uint32_t word = w.s[inst.o[2].reg + 3];
  unsigned data = isTyped(inst) ? inst.m.dataFormat : word >> 15 & 15;
  f.number = isTyped(inst) ? inst.m.numFormat : word >> 12 & 7;
  f.fields = kFields[data];
  for (unsigned k = 0; k < 4; ++k)
    f.select[k] = isTyped(inst) ? uint8_t(4 + k) : uint8_t(word >> (3 * k) & 7);
  bool packedFloat = data == 6 || data == 7;
  bool exists = f.fields[0] && f.number != 6 &&
                (f.number != kFloat || f.fields[0] >= 16 || packedFloat) &&
                (f.fields[0] < 32 || f.number >= kUint);
  if (!exists)
    w.report(inst, Check::BadInstruction, -1, 0,
             "data format " + std::to_string(data) + " with number format " +
                 std::to_string(f.number) + " does not exist");
  return exists;
}

/// Unsigned floats of 10 and 11 bits: 5 bits of exponent with bias 15.
float decodeSmallFloat(uint32_t v, unsigned bits) {
  unsigned mantissa = bits - 5;
  uint32_t e = v >> mantissa, m = v & ((1u << mantissa) - 1);
  if (e == 31)
    return m ? __builtin_nanf("") : __builtin_inff();
  return e ? std::ldexp(float(m + (1u << mantissa)),
                        int(e) - 15 - int(mantissa))
           : std::ldexp(float(m), -14 - int(mantissa));
}

uint32_t signExtend(uint32_t v, unsigned bits) {
  return uint32_t(int32_t(v << (32 - bits)) >> (32 - bits));
}

float fieldValue(const Format &f, uint32_t v, unsigned bits) {
  int32_t s = int32_t(signExtend(v, bits));
  float top = float((1ull << bits) - 1), half = float((1ull << (bits - 1)) - 1);
  switch (f.number) {
  case kUnorm:
    return float(v) / top;
  case kSnorm:
    return std::max(float(s) / half, -1.0f);
  case kUscaled:
    return float(v);
  case kSscaled:
    return float(s);
  default:
    return bits == 32   ? bitsFloat(v)
           : bits == 16 ? float(fromBits<_Float16>(v))
                        : decodeSmallFloat(v, bits);
  }
}

uint32_t fieldBits(const Format &f, uint32_t reg, bool d16, unsigned bits) {
  uint64_t top = (1ull << bits) - 1;
  if (f.isInteger()) {
    if (f.number == kUint)
      return uint32_t(std::min<uint64_t>(reg, top));
    int64_t limit = int64_t(top >> 1), v = int32_t(reg);
    return uint32_t(std::clamp(v, -limit - 1, limit)) & uint32_t(top);
  }
  float v = d16 ? float(fromBits<_Float16>(reg)) : bitsFloat(reg);
  if (f.number == kFloat && bits == 32)
    return floatBits(v);
  if (f.number == kFloat && bits == 16)
    return toBits(_Float16(v));
  if (f.number == kFloat) // cut off: the hardware rounds to zero
    return v > 0 ? toBits(_Float16(std::min(v, 65024.0f))) >> (15 - bits) : 0;
  bool isSigned = f.number == kSnorm || f.number == kSscaled;
  double high = double(isSigned ? top >> 1 : top), low = isSigned ? -high : 0;
  double scaled = double(v == v ? v : 0);
  if (f.number == kUnorm || f.number == kSnorm)
    scaled *= high;
  scaled = std::clamp(scaled, low, high);
  return uint32_t(int64_t(__builtin_rint(scaled))) & uint32_t(top);
}

uint32_t takeBits(const uint8_t *memory, unsigned at, unsigned bits) {
  uint64_t v = 0;
  std::memcpy(&v, memory + at / 32 * 4, 4);
  return uint32_t(v >> (at % 32)) & uint32_t((1ull << bits) - 1);
}

/// The result registers' words for one element.
void unpack(const Inst &inst, const Format &f, const uint8_t *memory,
            uint32_t out[4]) {
  uint32_t field[4] = {};
  for (unsigned k = 0, at = 0; k < 4 && f.fields[k]; at += f.fields[k++]) {
    uint32_t v = takeBits(memory, at, f.fields[k]);
    field[k] = f.number == kUint   ? v
               : f.number == kSint ? signExtend(v, f.fields[k])
                                   : floatBits(fieldValue(f, v, f.fields[k]));
  }
  uint32_t one = f.isInteger() ? 1 : floatBits(1.0f);
  for (unsigned k = 0; k < components(inst); ++k) {
    unsigned s = f.select[k];
    bool present = s >= 4 && f.fields[s - 4];
    out[k] = present ? field[s - 4] : s == 1 || s == 7 ? one : 0;
    if (isD16(inst) && !f.isInteger())
      out[k] = toBits(_Float16(bitsFloat(out[k])));
  }
}

/// Format and addresses of an access; lanes outside the buffer or of memory
/// are cleared from the mask. False if the access cannot be done.
bool startAccess(Wave &w, const Inst &inst, bool write, Format &f,
                 LaneAddresses &at) {
  BufferAccess access;
  if (!formatOf(w, inst, f) || !bufferAddresses(w, inst, 1, f.bytes(), access))
    return false;
  at = access.at;
  for (unsigned k = 0; k < (f.bytes() + 3) / 4; ++k)
    at.mask &= access.inRange[k];
  checkGlobal(w, inst, at, f.bytes(), write);
  if (w.observed)
    countGlobal(w, at, f.bytes(), write);
  if (w.checks)
    checkRaces(w, inst, at, f.bytes(), write ? Use::Write : Use::Read);
  return true;
}

void load(Wave &w, const Inst &inst) {
  Format f;
  LaneAddresses at;
  if (!startAccess(w, inst, false, f, at))
    return;
  unsigned n = components(inst), words = isD16(inst) ? (n + 1) / 2 : n;
  unsigned reg = inst.o[0].reg;
  for (uint64_t m = w.exec; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctzll(m));
    uint32_t out[4] = {};
    bool ok = at.mask >> l & 1, defined = true;
    if (ok) {
      uint8_t memory[16] = {};
      std::memcpy(memory, reinterpret_cast<const void *>(at.a[l]), f.bytes());
      unpack(inst, f, memory, out);
      uint64_t bad = w.launch->memory->firstUndefined(at.a[l], f.bytes());
      defined = bad == ~0ull;
      if (!defined)
        noteUndefined(w, inst, bad, false);
    }
    if (isHigh(inst)) {
      w.v[reg][l] = (w.v[reg][l] & 0xffff) | out[0] << 16;
      w.vd[reg].setLaneBytes(l, (w.vd[reg].laneBytes(l) & 3) |
                                    (defined ? 0xc : 0));
      continue;
    }
    for (unsigned k = 0; k < words; ++k) {
      w.v[reg + k][l] = isD16(inst)
                            ? (out[2 * k] & 0xffff) |
                                  (2 * k + 1 < n ? out[2 * k + 1] << 16 : 0)
                            : out[k];
      w.vd[reg + k].setLaneBytes(l, defined ? 0xf : 0);
    }
  }
  issueVm(w, Pending::VmLoad, reg, words);
}

void store(Wave &w, const Inst &inst) {
  Format f;
  LaneAddresses at;
  if (!startAccess(w, inst, true, f, at))
    return;
  uint64_t bad = at.mask & ~definedLanes(w, inst.o[0]);
  if (w.checks && bad)
    w.reportUndefined(inst, __builtin_ctzll(bad), at.a[__builtin_ctzll(bad)],
                      "the value stored to global memory");
  unsigned n = components(inst), reg = inst.o[0].reg;
  for (uint64_t m = at.mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctzll(m));
    uint64_t words[2] = {};
    for (unsigned k = 0, bit = 0; k < 4 && f.fields[k]; bit += f.fields[k++]) {
      if (k >= n)
        continue;
      uint32_t v = isD16(inst) ? w.v[reg + k / 2][l] >> (k % 2 * 16) & 0xffff
                               : w.v[reg + k][l];
      if (isHigh(inst))
        v = w.v[reg][l] >> 16;
      if (isD16(inst) && f.number == kSint)
        v = signExtend(v, 16);
      words[bit / 64] |= uint64_t(fieldBits(f, v, isD16(inst), f.fields[k]))
                         << (bit % 64);
    }
    std::memcpy(reinterpret_cast<void *>(at.a[l]), words, f.bytes());
    w.launch->memory->setDefined(at.a[l], f.bytes());
  }
  issueVm(w, Pending::VmStore, 0, 0);
}

} // namespace

void addBufferFormat(OpTable &t) {
  auto add = [&](const std::string &name, Handler fn, unsigned info) {
    Op op;
    op.cls = InstClass::Vmem;
    op.fn = fn;
    op.info = uint16_t(info);
    op.numDst = fn == load ? 1 : 0;
    op.mods = kModOffset | kModCache | kModBuffer;
    if (info & 64)
      op.mods |= kModFormat;
    t.add(name, op);
  };
  const char *const suffix[] = {"x", "xy", "xyz", "xyzw"};
  for (unsigned n = 1; n <= 4; ++n)
    for (unsigned d16 : {0u, 16u})
      for (unsigned typed : {0u, 64u}) {
        std::string form =
            std::string("_format_") + (d16 ? "d16_" : "") + suffix[n - 1];
        std::string stem = typed ? "tbuffer_" : "buffer_";
        add(stem + "load" + form, load, n | d16 | typed);
        add(stem + "store" + form, store, n | d16 | typed);
      }
  add("buffer_load_format_d16_hi_x", load, 1 | 16 | 32);
  add("buffer_store_format_d16_hi_x", store, 1 | 16 | 32);
}

} // namespace hk::emu
