//===- Parser.cpp - Disassembly text to Inst ------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands are comma separated; modifiers follow the last operand, separated
// by spaces. Both are matched by name from tables.
//
//===----------------------------------------------------------------------===//

#include "Parser.h"
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace hk::emu {
namespace {

std::string_view trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t'))
    s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t'))
    s.remove_suffix(1);
  return s;
}

bool consume(std::string_view &s, std::string_view prefix) {
  if (s.substr(0, prefix.size()) != prefix)
    return false;
  s.remove_prefix(prefix.size());
  return true;
}

/// Position of the first `c` outside brackets, or npos.
size_t findTop(std::string_view s, char c) {
  int depth = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '[' || s[i] == '(')
      ++depth;
    else if (s[i] == ']' || s[i] == ')')
      --depth;
    else if (s[i] == c && depth == 0)
      return i;
  }
  return std::string_view::npos;
}

/// "[1,0,3]" to integers.
bool parseList(std::string_view s, std::vector<int64_t> &values) {
  if (s.size() < 2 || s.front() != '[' || s.back() != ']')
    return false;
  s = s.substr(1, s.size() - 2);
  while (true) {
    size_t comma = s.find(',');
    int64_t value;
    if (!parseInteger(trim(s.substr(0, comma)), value))
      return false;
    values.push_back(value);
    if (comma == std::string_view::npos)
      return true;
    s.remove_prefix(comma + 1);
  }
}

bool parseBits(std::string_view s, uint8_t &bits, uint8_t rest) {
  std::vector<int64_t> values;
  if (!parseList(s, values) || values.size() > 4)
    return false;
  bits = uint8_t(rest << values.size());
  for (size_t i = 0; i < values.size(); ++i)
    bits |= uint8_t((values[i] & 1) << i);
  return true;
}

struct NamedReg {
  const char *name;
  RegFile file;
  uint16_t reg;
  uint8_t width;
};
const NamedReg kNamedRegs[] = {
    {"vcc", RegFile::Sgpr, kVccLo, 2},
    {"vcc_lo", RegFile::Sgpr, kVccLo, 1},
    {"vcc_hi", RegFile::Sgpr, kVccHi, 1},
    {"exec", RegFile::Sgpr, kExecLo, 2},
    {"exec_lo", RegFile::Sgpr, kExecLo, 1},
    {"exec_hi", RegFile::Sgpr, kExecHi, 1},
    {"m0", RegFile::Sgpr, kM0, 1},
    {"flat_scratch", RegFile::Sgpr, kFlatScratchLo, 2},
    {"flat_scratch_lo", RegFile::Sgpr, kFlatScratchLo, 1},
    {"flat_scratch_hi", RegFile::Sgpr, kFlatScratchLo + 1, 1},
    {"xnack_mask", RegFile::Sgpr, kXnackMaskLo, 2},
    {"xnack_mask_lo", RegFile::Sgpr, kXnackMaskLo, 1},
    {"xnack_mask_hi", RegFile::Sgpr, kXnackMaskLo + 1, 1},
    {"off", RegFile::Special, kSpecialOff, 1},
    {"scc", RegFile::Special, kSpecialScc, 1},
    {"src_scc", RegFile::Special, kSpecialScc, 1},
    {"src_vccz", RegFile::Special, kSpecialVccz, 1},
    {"src_execz", RegFile::Special, kSpecialExecz, 1},
    {"src_shared_base", RegFile::Special, kSpecialSharedBase, 2},
    {"src_shared_limit", RegFile::Special, kSpecialSharedLimit, 2},
    {"src_private_base", RegFile::Special, kSpecialPrivateBase, 2},
    {"src_private_limit", RegFile::Special, kSpecialPrivateLimit, 2},
};

/// "v5", "v[4:7]", "s[0:1]", "a3", "ttmp4".
bool parseRegister(std::string_view s, Operand &op) {
  for (const NamedReg &named : kNamedRegs)
    if (s == named.name) {
      op.file = named.file;
      op.reg = named.reg;
      op.width = named.width;
      return true;
    }
  unsigned base = 0, limit = 0;
  if (consume(s, "ttmp")) {
    op.file = RegFile::Sgpr;
    base = kTtmp0;
    limit = 16;
  } else if (s.size() > 1 && (s[0] == 'v' || s[0] == 'a' || s[0] == 's')) {
    op.file = s[0] == 's' ? RegFile::Sgpr : RegFile::Vgpr;
    base = s[0] == 'a' ? 256 : 0;
    limit = s[0] == 's' ? 102 : 256;
    s.remove_prefix(1);
  } else {
    return false;
  }
  int64_t first, last;
  if (consume(s, "[")) {
    size_t colon = s.find(':');
    if (s.empty() || s.back() != ']')
      return false;
    s.remove_suffix(1);
    if (!parseInteger(s.substr(0, colon), first))
      return false;
    last = first;
    if (colon != std::string_view::npos &&
        !parseInteger(s.substr(colon + 1), last))
      return false;
  } else {
    if (s.empty() || s[0] < '0' || s[0] > '9' || !parseInteger(s, first))
      return false;
    last = first;
  }
  if (first < 0 || last < first || last >= limit)
    return false;
  op.reg = uint16_t(base + first);
  op.width = uint8_t(last - first + 1);
  return true;
}

bool parseConstant(std::string_view s, Operand &op) {
  if (consume(s, "lit(") || consume(s, "lit64(")) {
    if (s.empty() || s.back() != ')')
      return false;
    s.remove_suffix(1);
  }
  int64_t value;
  if (parseInteger(s, value)) {
    op.file = RegFile::Const;
    op.imm = uint64_t(value);
    return true;
  }
  std::string copy(s);
  char *end = nullptr;
  double real = std::strtod(copy.c_str(), &end);
  if (copy.empty() || *end || !(std::isdigit(copy[0]) || copy[0] == '-'))
    return false;
  op.file = RegFile::Const;
  op.isFloatText = true;
  std::memcpy(&op.imm, &real, 8);
  return true;
}

/// The one copy of this map; a negative source does not exist.
const LaneMap *shareLanes(const int *source) {
  static std::mutex mutex;
  static std::map<std::vector<int>, std::unique_ptr<LaneMap>> maps;
  std::lock_guard<std::mutex> lock(mutex);
  auto &entry = maps[std::vector<int>(source, source + kLanes)];
  if (!entry) {
    entry = std::make_unique<LaneMap>();
    entry->exists = 0;
    for (unsigned l = 0; l < kLanes; ++l) {
      entry->from[l] = uint8_t(std::max(source[l], 0));
      entry->exists |= uint64_t(source[l] >= 0) << l;
    }
  }
  return entry.get();
}

/// Lane maps of the DPP controls (CDNA3 ISA, "DPP_CTRL").
const LaneMap *dppLanes(std::string_view name, int64_t n,
                        const std::vector<int64_t> &quad) {
  int lanes[kLanes];
  for (int l = 0; l < int(kLanes); ++l) {
    int row = l & ~15, pos = l & 15, src = -1;
    if (name == "quad_perm")
      src = (l & ~3) + int(quad[l & 3]);
    else if (name == "row_shl")
      src = pos + n < 16 ? l + int(n) : -1;
    else if (name == "row_shr")
      src = pos - n >= 0 ? l - int(n) : -1;
    else if (name == "row_ror")
      src = row + ((pos - int(n)) & 15);
    else if (name == "wave_shl")
      src = l + 1 < 64 ? l + 1 : -1;
    else if (name == "wave_rol")
      src = (l + 1) & 63;
    else if (name == "wave_shr")
      src = l ? l - 1 : -1;
    else if (name == "wave_ror")
      src = (l - 1) & 63;
    else if (name == "row_mirror")
      src = row + 15 - pos;
    else if (name == "row_half_mirror")
      src = (l & ~7) + 7 - (l & 7);
    else if (name == "row_bcast" && n == 15)
      src = row ? row - 1 : -1;
    else if (name == "row_bcast" && n == 31)
      src = l >= 32 ? 31 : -1;
    else if (name == "row_newbcast")
      src = row + int(n);
    lanes[l] = src;
  }
  return shareLanes(lanes);
}

/// ds_swizzle patterns as the disassembler prints them.
const LaneMap *swizzleLanes(std::string_view args) {
  int lanes[kLanes];
  std::vector<std::string_view> parts;
  while (true) {
    size_t comma = args.find(',');
    parts.push_back(trim(args.substr(0, comma)));
    if (comma == std::string_view::npos)
      break;
    args.remove_prefix(comma + 1);
  }
  std::vector<int64_t> n(parts.size(), 0);
  for (size_t i = 1; i < parts.size(); ++i)
    if (parts[0] != "BITMASK_PERM" && !parseInteger(parts[i], n[i]))
      return nullptr;
  std::string_view kind = parts[0];
  for (int l = 0; l < int(kLanes); ++l) {
    int src = l;
    if (kind == "QUAD_PERM" && parts.size() == 5)
      src = (l & ~3) + int(n[1 + (l & 3)]);
    else if (kind == "BROADCAST" && parts.size() == 3)
      src = (l & ~int(n[1] - 1)) + int(n[2]);
    else if (kind == "SWAP" && parts.size() == 2)
      src = l ^ int(n[1]);
    else if (kind == "REVERSE" && parts.size() == 2)
      src = l ^ int(n[1] - 1);
    else if (kind == "BITMASK_PERM" && parts.size() == 2) {
      // "01pi0": five characters from bit 4 down: set, clear, keep, invert.
      std::string_view mask = parts[1];
      if (mask.size() >= 2 && mask.front() == '"')
        mask = mask.substr(1, mask.size() - 2);
      if (mask.size() != 5)
        return nullptr;
      for (int b = 0; b < 5; ++b) {
        char c = mask[4 - b];
        if (c == '0')
          src &= ~(1 << b);
        else if (c == '1')
          src |= 1 << b;
        else if (c == 'i')
          src ^= 1 << b;
        else if (c != 'p')
          return nullptr;
      }
    } else
      return nullptr;
    lanes[l] = src;
  }
  return shareLanes(lanes);
}

bool parseSel(std::string_view s, Sel &sel) {
  static const char *const names[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                      "WORD_0", "WORD_1", "DWORD"};
  for (int i = 0; i < 7; ++i)
    if (s == names[i]) {
      sel = Sel(i);
      return true;
    }
  return false;
}

using Setter = bool (*)(Inst &, std::string_view);
struct ModifierEntry {
  ModifierGroup group;
  Setter set;
};

template <class T> bool setInt(T &field, std::string_view v) {
  int64_t value;
  if (!parseInteger(v, value))
    return false;
  field = T(value);
  return true;
}

bool setOffset(Inst &i, std::string_view v) {
  if (consume(v, "swizzle(")) {
    v.remove_suffix(1);
    i.m.swizzle = swizzleLanes(v);
    return i.m.swizzle != nullptr;
  }
  if (!setInt(i.m.offset, v))
    return false;
  return true;
}

template <int N> bool setSel(Inst &i, std::string_view v) {
  if (N == 2)
    return parseSel(v, i.m.dstSel);
  // Sources start after the destinations; the decoder moves these.
  return parseSel(v, i.m.srcSel[N % 2]);
}

bool setUnused(Inst &i, std::string_view v) {
  using Unused = Modifiers::Unused;
  i.m.dstUnused = v == "UNUSED_SEXT"       ? Unused::Sext
                  : v == "UNUSED_PRESERVE" ? Unused::Preserve
                                           : Unused::Pad;
  return v == "UNUSED_PAD" || v == "UNUSED_SEXT" || v == "UNUSED_PRESERVE";
}

/// "[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT]", a part of it, or a number.
bool setFormat(Inst &i, std::string_view v) {
  static const char *const data[] = {
      "INVALID",     "8",          "16",          "8_8",
      "32",          "16_16",      "10_11_11",    "11_11_10",
      "10_10_10_2",  "2_10_10_10", "8_8_8_8",     "32_32",
      "16_16_16_16", "32_32_32",   "32_32_32_32", "RESERVED_15"};
  static const char *const number[] = {"UNORM",      "SNORM", "USCALED",
                                       "SSCALED",    "UINT",  "SINT",
                                       "RESERVED_6", "FLOAT"};
  i.m.dataFormat = 1;
  int64_t both;
  if (parseInteger(v, both)) {
    i.m.dataFormat = both & 15;
    i.m.numFormat = uint8_t(both >> 4 & 7);
    return true;
  }
  if (!consume(v, "[") || v.empty() || v.back() != ']')
    return false;
  v.remove_suffix(1);
  while (!v.empty()) {
    size_t comma = v.find(',');
    std::string_view name = v.substr(0, comma);
    bool known = false;
    bool isData = consume(name, "BUF_DATA_FORMAT_");
    if (!isData && !consume(name, "BUF_NUM_FORMAT_"))
      return false;
    for (int k = 0; k < (isData ? 16 : 8); ++k)
      if (name == (isData ? data : number)[k]) {
        (isData ? i.m.dataFormat : i.m.numFormat) = uint8_t(k);
        known = true;
      }
    if (!known)
      return false;
    v.remove_prefix(comma == std::string_view::npos ? v.size() : comma + 1);
  }
  return true;
}

#define HK_INT(field)                                                          \
  [](Inst &i, std::string_view v) { return setInt(i.m.field, v); }
#define HK_BITS(field, rest)                                                   \
  [](Inst &i, std::string_view v) { return parseBits(v, i.m.field, rest); }
#define HK_FLAG(field)                                                         \
  [](Inst &i, std::string_view v) { return (i.m.field = true) && v.empty(); }

const std::unordered_map<std::string, ModifierEntry> &modifierTable() {
  static const std::unordered_map<std::string, ModifierEntry> table = {
      {"offset", {kModOffset, setOffset}},
      {"offset0", {kModOffset01, HK_INT(offset0)}},
      {"offset1", {kModOffset01, HK_INT(offset1)}},
      {"sc0", {kModCache, HK_FLAG(sc0)}},
      {"glc", {kModCache, HK_FLAG(sc0)}},
      {"sc1", {kModCache, HK_FLAG(sc1)}},
      {"nt", {kModCache, HK_FLAG(nt)}},
      {"slc", {kModCache, HK_FLAG(nt)}},
      {"offen", {kModBuffer, HK_FLAG(offen)}},
      {"idxen", {kModBuffer, HK_FLAG(idxen)}},
      {"lds", {kModBuffer, HK_FLAG(lds)}},
      {"row_mask", {kModDpp, HK_INT(rowMask)}},
      {"bank_mask", {kModDpp, HK_INT(bankMask)}},
      {"bound_ctrl", {kModDpp, HK_INT(boundCtrl)}},
      {"fi", {kModDpp, HK_INT(fetchInactive)}},
      {"dst_sel", {kModSdwa, setSel<2>}},
      {"src0_sel", {kModSdwa, setSel<0>}},
      {"src1_sel", {kModSdwa, setSel<1>}},
      {"dst_unused", {kModSdwa, setUnused}},
      {"clamp", {kModOut, HK_FLAG(clamp)}},
      {"mul",
       {kModOut,
        [](Inst &i, std::string_view v) {
          i.m.omod = v == "2" ? 1 : 2;
          return v == "2" || v == "4";
        }}},
      {"div",
       {kModOut,
        [](Inst &i, std::string_view v) {
          i.m.omod = 3;
          return v == "2";
        }}},
      {"op_sel", {kModOpSel, HK_BITS(opSel, 0)}},
      {"op_sel_hi",
       {kModOpSel,
        [](Inst &i, std::string_view v) {
          i.m.opSelHiGiven = true;
          return parseBits(v, i.m.opSelHi, 0xff);
        }}},
      {"neg_lo", {kModOpSel, HK_BITS(negLo, 0)}},
      {"neg_hi", {kModOpSel, HK_BITS(negHi, 0)}},
      {"cbsz", {kModCbsz, HK_INT(cbsz)}},
      {"abid", {kModCbsz, HK_INT(abid)}},
      {"blgp", {kModBlgp, HK_INT(blgp)}},
      {"neg",
       {kModBlgp,
        [](Inst &i, std::string_view v) {
          return parseBits(v, i.m.negLo, 0);
        }}},
      {"format", {kModFormat, setFormat}},
      {"bitop3", {kModBitop3, HK_INT(bitop3)}},
      {"byte_sel", {kModScale, HK_INT(byteSel)}},
  };
  return table;
}
#undef HK_INT
#undef HK_BITS
#undef HK_FLAG

std::string parseModifier(std::string_view word, Inst &inst) {
  size_t colon = word.find(':');
  std::string name(word.substr(0, colon));
  std::string_view value =
      colon == std::string_view::npos ? "" : word.substr(colon + 1);
  static const char *const dppNames[] = {
      "quad_perm", "row_shl",    "row_shr",         "row_ror",
      "wave_shl",  "wave_rol",   "wave_shr",        "wave_ror",
      "row_bcast", "row_mirror", "row_half_mirror", "row_newbcast"};
  for (const char *dpp : dppNames)
    if (name == dpp) {
      std::vector<int64_t> quad;
      int64_t n = 0;
      bool ok = name == "quad_perm" ? parseList(value, quad) && quad.size() == 4
                                    : value.empty() || parseInteger(value, n);
      if (!ok)
        return "bad DPP control '" + std::string(word) + "'";
      inst.m.dpp = dppLanes(name, n, quad);
      inst.m.seen |= kModDpp;
      return "";
    }
  auto it = modifierTable().find(name);
  if (it == modifierTable().end())
    return "unknown modifier '" + std::string(word) + "'";
  if (!it->second.set(inst, value))
    return "bad value in modifier '" + std::string(word) + "'";
  inst.m.seen |= it->second.group;
  return "";
}

} // namespace

bool parseInteger(std::string_view text, int64_t &value) {
  std::string copy(text);
  if (copy.empty() || !(std::isdigit(copy[0]) || copy[0] == '-'))
    return false;
  char *end = nullptr;
  bool negative = copy[0] == '-';
  uint64_t magnitude =
      std::strtoull(copy.c_str() + (negative ? 1 : 0), &end, 0);
  if (*end || end == copy.c_str() + (negative ? 1 : 0))
    return false;
  value = negative ? -int64_t(magnitude) : int64_t(magnitude);
  return true;
}

bool parseOperand(std::string_view s, Operand &op) {
  s = trim(s);
  bool wrapped = false;
  if (consume(s, "sext("))
    op.sext = wrapped = true;
  else if (consume(s, "neg("))
    op.neg = wrapped = true;
  if (wrapped) {
    if (s.empty() || s.back() != ')')
      return false;
    s.remove_suffix(1);
  }
  bool isNumber = s.size() > 1 && s[0] == '-' && std::isdigit(s[1]);
  if (!isNumber && consume(s, "-"))
    op.neg = true;
  if (s.size() > 2 && s.front() == '|' && s.back() == '|') {
    op.abs = true;
    s = s.substr(1, s.size() - 2);
  }
  return parseRegister(s, op) || parseConstant(s, op);
}

ParsedText splitMnemonic(std::string_view text) {
  text = trim(text);
  size_t space = text.find(' ');
  ParsedText result;
  result.mnemonic = std::string(text.substr(0, space));
  if (space != std::string_view::npos)
    result.operands = std::string(trim(text.substr(space)));
  static const char *const suffixes[] = {"_e64_dpp", "_e32", "_e64", "_dpp",
                                         "_sdwa"};
  for (const char *suffix : suffixes) {
    size_t n = std::strlen(suffix);
    std::string &m = result.mnemonic;
    if (m.size() > n && m.compare(m.size() - n, n, suffix) == 0) {
      m.resize(m.size() - n);
      break;
    }
  }
  return result;
}

std::string parseOperands(std::string_view text, Inst &inst) {
  text = trim(text);
  while (!text.empty()) {
    size_t comma = findTop(text, ',');
    std::string_view piece = trim(text.substr(0, comma));
    size_t space = findTop(piece, ' ');
    std::string_view word = piece.substr(0, space);
    Operand op;
    if (parseOperand(word, op)) {
      if (inst.numOperands >= kMaxOperands)
        return "too many operands";
      inst.o[inst.numOperands++] = op;
    } else {
      // No operand: the piece consists of modifiers only.
      if (inst.numOperands && comma != std::string_view::npos)
        return "unknown operand '" + std::string(word) + "'";
      space = 0;
    }
    while (space != std::string_view::npos) {
      piece = trim(piece.substr(space));
      if (piece.empty())
        break;
      space = findTop(piece, ' ');
      std::string error = parseModifier(piece.substr(0, space), inst);
      if (!error.empty())
        return error;
    }
    if (comma == std::string_view::npos)
      break;
    text.remove_prefix(comma + 1);
  }
  return "";
}

} // namespace hk::emu
