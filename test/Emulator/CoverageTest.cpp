//===- CoverageTest.cpp - Every encoding of the chips is accounted for ----===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks the opcode space of every encoding with varied operand fields through
// LLVM's disassembler. What it prints must be decoded by the emulator, or its
// mnemonic must be in the list of docs/emulator.md, which must name nothing
// else. And what the emulator decodes assembles to the same bytes again.
//
//===----------------------------------------------------------------------===//

#include "AsmCase.h"
#include "Parser.h"
#include <filesystem>
#include <fstream>
#include <functional>
#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>
#include <random>
#include <set>
#include <sstream>

using namespace hk::emu;
using namespace hk::emu::test;

namespace {

using Words = std::array<uint32_t, 4>;

/// Operand fields that are often legal: aligned registers, nothing, constants.
class Fields {
public:
  uint32_t scalar() { return pick({4, 8, 16, 32}); }
  uint32_t vector() { return pick({0, 2, 4, 8, 16, 32}); }
  uint32_t source() { return pick({4, 8, 128, 258, 264, 272}); }
  uint32_t maybe(uint32_t bits) { return random() % 2 ? bits : 0; }
  uint32_t pick(std::initializer_list<uint32_t> list) {
    return list.begin()[random() % list.size()];
  }

private:
  std::mt19937 random{7};
};

struct Encoding {
  const char *name;
  unsigned opcodes;
  Words (*make)(Fields &f, uint32_t op);
};

// CDNA3 ISA, chapter "Microcode Formats".
const Encoding kEncodings[] = {
    {"SOP2", 128,
     [](Fields &f, uint32_t op) -> Words {
       return {2u << 30 | op << 23 | f.scalar() << 16 | f.scalar() << 8 |
               f.scalar()};
     }},
    {"SOPK", 32,
     [](Fields &f, uint32_t op) -> Words {
       return {0xbu << 28 | op << 23 | f.scalar() << 16 |
                   f.pick({1, 0xf801, 0x1880}),
               7};
     }},
    {"SOP1", 256,
     [](Fields &f, uint32_t op) -> Words {
       return {0xbe800000 | f.scalar() << 16 | op << 8 | f.scalar()};
     }},
    {"SOPC", 128,
     [](Fields &f, uint32_t op) -> Words {
       return {0xbf000000 | op << 16 | f.scalar() << 8 | f.scalar()};
     }},
    {"SOPP", 128,
     [](Fields &f, uint32_t op) -> Words {
       return {0xbf800000 | op << 16 | f.pick({0, 1, 2})};
     }},
    {"SMEM", 256,
     [](Fields &f, uint32_t op) -> Words {
       return {0x30u << 26 | op << 18 | f.maybe(1 << 17) | f.maybe(1 << 14) |
                   f.maybe(1 << 16) | f.scalar() << 6 | f.scalar() / 2,
               f.pick({0x10, 4u << 25})};
     }},
    {"VOP2", 64,
     [](Fields &f, uint32_t op) -> Words {
       return {op << 25 | f.vector() << 17 | f.vector() << 9 | f.source(),
               0x3f000000};
     }},
    {"VOP1", 256,
     [](Fields &f, uint32_t op) -> Words {
       return {0x7e000000 | f.vector() << 17 | op << 9 | f.source()};
     }},
    {"VOPC", 256,
     [](Fields &f, uint32_t op) -> Words {
       return {0x7c000000 | op << 17 | f.vector() << 9 | f.source()};
     }},
    {"VOP2 with SDWA or DPP", 64,
     [](Fields &f, uint32_t op) -> Words {
       return {op << 25 | f.vector() << 17 | f.vector() << 9 |
                   f.pick({249, 250}),
               f.pick({0x06060600, 0xff00e400, 0x06060000}) | f.vector()};
     }},
    {"VOP1 with SDWA or DPP", 256,
     [](Fields &f, uint32_t op) -> Words {
       return {0x7e000000 | f.vector() << 17 | op << 9 | f.pick({249, 250}),
               f.pick({0x06060600, 0xff00e400, 0x00060600}) | f.vector()};
     }},
    {"VOPC with SDWA", 256,
     [](Fields &f, uint32_t op) -> Words {
       return {0x7c000000 | op << 17 | f.vector() << 9 | 249,
               f.pick({0x06060000, 0x06068600}) | f.vector()};
     }},
    {"VOP3", 1024,
     [](Fields &f, uint32_t op) -> Words {
       return {0x34u << 26 | op << 16 | f.maybe(4 << 8) | f.maybe(3 << 11) |
                   f.vector(),
               f.source() | f.maybe(f.source()) << 9 |
                   f.maybe(f.source()) << 18};
     }},
    {"VOP3P", 128,
     [](Fields &f, uint32_t op) -> Words {
       return {0x1a7u << 23 | op << 16 | f.maybe(1 << 14) | f.maybe(7 << 8) |
                   f.maybe(7 << 11) | f.vector(),
               f.source() | f.source() << 9 | f.maybe(f.source()) << 18 |
                   f.maybe(3u << 27)};
     }},
    {"DS", 256,
     [](Fields &f, uint32_t op) -> Words {
       return {0x36u << 26 | op << 17 | f.maybe(1 << 16) | f.maybe(1 << 25),
               f.maybe(f.vector()) << 24 | f.maybe(f.vector()) << 16 |
                   f.maybe(f.vector()) << 8 | f.maybe(f.vector())};
     }},
    {"FLAT", 3 * 128,
     [](Fields &f, uint32_t op) -> Words {
       return {0x37u << 26 | op % 128 << 18 | op / 128 << 14 |
                   f.maybe(1 << 13) | f.maybe(1 << 16) | f.maybe(1 << 17) |
                   f.maybe(1 << 25),
               f.maybe(f.vector()) << 24 | f.pick({0x7f, 4, 0}) << 16 |
                   f.maybe(f.vector()) << 8 | f.maybe(f.vector())};
     }},
    {"MUBUF", 128,
     [](Fields &f, uint32_t op) -> Words {
       return {0x38u << 26 | op << 18 | f.maybe(1 << 16) | f.maybe(1 << 14) |
                   f.maybe(1 << 12) | f.maybe(1 << 13) | f.maybe(1 << 15),
               0x80u << 24 | 2 << 16 | f.maybe(f.vector()) << 8 |
                   f.maybe(f.vector())};
     }},
    {"MTBUF", 16,
     [](Fields &f, uint32_t op) -> Words {
       return {0x3au << 26 | op << 15 | f.maybe(1 << 12) |
                   f.pick({0x23, 0x74}) << 19,
               0x80u << 24 | 2 << 16 | f.vector() << 8 | f.vector()};
     }},
    {"scaled MFMA", 2,
     [](Fields &f, uint32_t op) -> Words {
       return {0xd3ac0000 | f.maybe(3 << 11), 0x00020000 | 296u | 298u << 9,
               0x1a7u << 23 | (0x2d + op) << 16 | 64,
               264u | 272u << 9 | 288u << 18};
     }},
};

/// What the emulator says about a line of disassembly; empty if it decodes it.
std::string emulatorError(const std::string &text, std::string &mnemonic) {
  ParsedText parsed = splitMnemonic(text);
  mnemonic = parsed.mnemonic;
  const Op *op = OpTable::get().find(mnemonic);
  if (!op)
    return "unknown instruction";
  Inst inst;
  inst.op = op;
  std::string error = op->parse ? op->parse(parsed.operands, inst)
                                : parseOperands(parsed.operands, inst);
  if (error.empty() && (inst.m.seen & ~op->mods))
    return "a modifier does not apply";
  return error;
}

/// The mnemonics between the markers of docs/emulator.md.
std::set<std::string> documentedList() {
  std::ifstream in(HK_TEST_DOCS "/emulator.md");
  std::set<std::string> names;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.find("<!-- not emulated") != std::string::npos)
      inside = !inside;
    else if (inside && line.find("```") == std::string::npos) {
      std::istringstream words(line);
      for (std::string word; words >> word;)
        names.insert(word);
    }
  }
  return names;
}

class CoverageTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    disassembler = LLVMCreateDisasmCPU("amdgcn-amd-amdhsa", GetParam(), nullptr,
                                       0, nullptr, nullptr);
    ASSERT_NE(disassembler, nullptr);
  }
  void TearDown() override { LLVMDisasmDispose(disassembler); }

  /// Calls f with the text of every encoding that disassembles.
  void forEncodings(const std::function<void(const std::string &)> &f) {
    Fields fields;
    for (const Encoding &e : kEncodings)
      for (uint32_t op = 0; op < e.opcodes; ++op)
        for (unsigned trial = 0; trial < 48; ++trial) {
          Words words = e.make(fields, op);
          char text[256];
          size_t n = LLVMDisasmInstruction(
              disassembler, reinterpret_cast<uint8_t *>(words.data()),
              sizeof words, 0, text, sizeof text);
          std::string line = text;
          // Operands the hardware does not allow are printed with a comment,
          // and only products of several blocks can broadcast one.
          bool broadcasts = line.find("v_mfma") != std::string::npos &&
                            (line.find("b_") == std::string::npos ||
                             line.find("b_f64") != std::string::npos) &&
                            (line.find(" cbsz") != std::string::npos ||
                             line.find(" abid") != std::string::npos);
          if (n && !broadcasts && line.find("/*") == std::string::npos)
            f(line.substr(line.find_first_not_of(" \t")));
        }
  }

  LLVMDisasmContextRef disassembler = nullptr;
};

// The list is the union over both chips, so each chip checks that it refuses
// nothing else, and the names are checked once with both.
TEST_P(CoverageTest, WhatIsNotInTheListIsDecoded) {
  std::set<std::string> listed = documentedList(), reported;
  size_t decoded = 0;
  forEncodings([&](const std::string &line) {
    std::string mnemonic, error = emulatorError(line, mnemonic);
    decoded += error.empty();
    if (error.empty() || listed.count(mnemonic) ||
        !reported.insert(mnemonic).second)
      return;
    ADD_FAILURE() << line << ": " << error;
  });
  EXPECT_GT(decoded, 50000u);
}

TEST_P(CoverageTest, TheListNamesOnlyWhatIsNotEmulated) {
  for (const std::string &name : documentedList())
    EXPECT_EQ(OpTable::get().find(name), nullptr) << name;
}

// No entry is left of an instruction that neither chip has.
TEST_P(CoverageTest, EveryEntryIsAnInstruction) {
  static std::set<std::string> printed; // of both chips, one after the other
  forEncodings([&](const std::string &line) {
    printed.insert(splitMnemonic(line).mnemonic);
  });
  if (GetParam() != kChips[1])
    return;
  OpTable::get().forEach([&](const Op &op) { // the walk meets few products
    EXPECT_TRUE(op.cls == InstClass::Mfma || printed.count(op.name)) << op.name;
  });
}

/// Bytes of section .text of a 64-bit ELF file.
std::string textSection(const std::string &elf) {
  auto read = [&](uint64_t at, unsigned n) {
    uint64_t v = 0;
    std::memcpy(&v, elf.data() + at, n);
    return v;
  };
  uint64_t table = read(40, 8), size = read(58, 2), count = read(60, 2);
  uint64_t names = read(table + read(62, 2) * size + 24, 8);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t section = table + i * size;
    if (std::strcmp(elf.data() + names + read(section, 4), ".text") == 0)
      return elf.substr(read(section + 24, 8), read(section + 32, 8));
  }
  return "";
}

/// What the decoder printed and the bytes it printed it from.
struct Decoded {
  std::string text, bytes;
};
void decodeInto(std::vector<Decoded> &all, const std::string &object,
                const std::string &chip) {
  TestDevice device(chip);
  ASSERT_TRUE(device.load(object)) << device.loadError;
  const auto *image =
      reinterpret_cast<const char *>(device.object->imageBase());
  for (const Inst &inst : device.object->program())
    all.push_back({inst.text, std::string(image + inst.pc, inst.size)});
}

/// hk's own code objects for the chip in the folder HK_EMU_OBJECTS, if set.
std::vector<std::string> ownObjects(const std::string &chip) {
  std::vector<std::string> objects;
  const char *folder = std::getenv("HK_EMU_OBJECTS");
  if (!folder)
    return objects;
  const char machine = chip == "gfx942" ? 0x4c : 0x4f;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().size() != 64)
      continue; // being written
    std::ifstream in(entry.path(), std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)),
                      std::istreambuf_iterator<char>());
    // Byte 18 is the ELF machine, AMDGPU; 48 the chip.
    if (bytes.size() > 64 && bytes.compare(0, 4, "\177ELF") == 0 &&
        uint8_t(bytes[18]) == 224 && bytes[48] == machine)
      objects.push_back(bytes);
  }
  EXPECT_FALSE(objects.empty()) << folder << " has no code object for " << chip;
  return objects;
}

/// A 16-bit instruction reads the low half of its literal, and the text shows
/// that half only: clang may have set the other.
static bool sameButForUnreadHalf(const Decoded &d, const std::string &again) {
  bool narrow = d.text.substr(0, d.text.find(' ')).find("16") != d.text.npos;
  return narrow && d.bytes.size() == 8 && again.size() == 8 &&
         d.bytes.compare(0, 6, again, 0, 6) == 0;
}

TEST_P(CoverageTest, DecodedTextAssemblesToTheSameBytes) {
  std::vector<std::string> objects = ownObjects(GetParam());
  for (const char *file : {"bad.hip", "features.hip", "mutate.hip"})
    objects.push_back(compileHipFile(file, GetParam()));
  std::vector<Decoded> all;
  for (const std::string &object : objects)
    decodeInto(all, object, GetParam());
  std::string text;
  for (const Decoded &d : all)
    text += d.text + "\n";
  std::string again = textSection(assemble(text, GetParam()));
  size_t at = 0, differ = 0;
  for (const Decoded &d : all) {
    if (again.compare(at, d.bytes.size(), d.bytes) != 0 &&
        !sameButForUnreadHalf(d, again.substr(at, d.bytes.size())) &&
        ++differ < 5)
      ADD_FAILURE() << "'" << d.text << "' assembles to other bytes";
    at += d.bytes.size();
  }
  EXPECT_GT(at, 5000u);
  EXPECT_EQ(again.size() / 4, at / 4);
}

INSTANTIATE_TEST_SUITE_P(Chips, CoverageTest, testing::ValuesIn(kChips));

} // namespace
