//===- Program.cpp - Decoded AMDGPU code object file ----------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the ELF file, the kernel descriptors and the msgpack metadata; the
// static checks happen here, before anything runs.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "Decoder.h"
#include "Environment.h"
#include "Hazards.h"
#include "Looks.h"
#include "Metadata.h"
#include "OpTable.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <llvm/BinaryFormat/ELF.h>
#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/AMDHSAKernelDescriptor.h>
#include <mutex>

namespace hk::emu {

using ElfFile = llvm::object::ELF64LEFile;
using ElfObject = llvm::object::ELF64LEObjectFile;
namespace ELF = llvm::ELF;

namespace {
constexpr uint64_t kLargestImage = 1ull << 28;
/// What the hardware can give a lane: 13 bits count KiB of a wave.
constexpr uint32_t kMostScratch = ((1 << 13) - 1) * 1024 / kLanes;
/// User SGPRs that arguments may be preloaded into.
constexpr unsigned kMostPreloaded = 16;
/// Programs are kept for the next load until they have this many instructions
/// together; one takes about half a KiB.
constexpr size_t kKeptInstructions = 1 << 20;

/// Programs by their bytes, the one used last at the back.
class KeptPrograms {
public:
  std::shared_ptr<const Program> find(const std::string &bytes,
                                      const Chip &chip) {
    std::lock_guard<std::mutex> lock(mutex);
    for (size_t i = 0; i < kept.size(); ++i)
      if (&kept[i]->chip() == &chip && kept[i]->fileBytes() == bytes) {
        std::rotate(kept.begin() + ptrdiff_t(i),
                    kept.begin() + ptrdiff_t(i) + 1, kept.end());
        return kept.back();
      }
    return nullptr;
  }
  void add(std::shared_ptr<const Program> program) {
    std::lock_guard<std::mutex> lock(mutex);
    instructions += program->instructions().size();
    kept.push_back(std::move(program));
    size_t dropped = 0;
    while (instructions > kKeptInstructions)
      instructions -= kept[dropped++]->instructions().size();
    kept.erase(kept.begin(), kept.begin() + ptrdiff_t(dropped));
  }

private:
  std::mutex mutex;
  std::vector<std::shared_ptr<const Program>> kept;
  size_t instructions = 0;
};
} // namespace

uint32_t Kernel::explicitBytes() const {
  uint32_t bytes = 0;
  for (const KernelArg &arg : args)
    if (!arg.isHidden())
      bytes = std::max(bytes, arg.offset + arg.size);
  return args.empty() ? kernargBytes : bytes;
}

/// Steps of Program::read; each returns false with `error` set.
class ProgramReader {
public:
  ProgramReader(Program &program, std::string &error)
      : program(program), error(error) {}

  bool run() {
    auto created = ElfFile::create(program.bytes);
    if (!created)
      return fail("not a 64-bit ELF file: " + toString(created.takeError()));
    elf = std::make_unique<ElfFile>(*created);
    return checkHeader() && readSegments() && readSections() && readSymbols() &&
           readMetadata() && decode();
  }

private:
  Program &program;
  std::string &error;
  std::unique_ptr<ElfFile> elf;
  struct Range {
    uint64_t begin, end;
  };
  std::vector<Range> functions;

  bool fail(const std::string &text) {
    error = text;
    return false;
  }
  template <class T> std::string toString(T e) {
    return llvm::toString(std::move(e));
  }

  bool checkHeader() {
    const auto &header = elf->getHeader();
    if (header.e_machine != ELF::EM_AMDGPU)
      return fail("ELF machine " + std::to_string(header.e_machine) +
                  " is not AMDGPU");
    std::string why = whyNotRun(program.chip(), header.e_flags);
    if (!why.empty())
      return fail(why);
    return true;
  }

  bool readSegments() {
    auto headers = elf->program_headers();
    if (!headers)
      return fail(toString(headers.takeError()));
    uint64_t end = 0;
    for (const auto &ph : *headers)
      if (ph.p_type == ELF::PT_LOAD)
        end = std::max<uint64_t>(
            end, std::max<uint64_t>(ph.p_vaddr, ph.p_vaddr + ph.p_memsz));
    if (!end || end > kLargestImage)
      return fail("image of " + std::to_string(end) + " bytes, the limit is " +
                  std::to_string(kLargestImage));
    program.segments.assign(end + Program::kFetchAhead, 0);
    for (const auto &ph : *headers) {
      if (ph.p_type != ELF::PT_LOAD)
        continue;
      if (ph.p_filesz > program.bytes.size() ||
          ph.p_offset > program.bytes.size() - ph.p_filesz ||
          ph.p_filesz > ph.p_memsz)
        return fail("a segment is outside the file");
      std::memcpy(&program.segments[ph.p_vaddr],
                  program.bytes.data() + ph.p_offset, ph.p_filesz);
    }
    return true;
  }

  bool readSections() {
    uint64_t writableBegin = ~0ull, writableEnd = 0;
    auto sections = elf->sections();
    if (!sections)
      return fail(toString(sections.takeError()));
    for (const auto &section : *sections) {
      if ((section.sh_flags & ELF::SHF_ALLOC) &&
          (section.sh_flags & ELF::SHF_WRITE) &&
          section.sh_type != ELF::SHT_DYNAMIC) {
        writableBegin = std::min<uint64_t>(writableBegin, section.sh_addr);
        writableEnd =
            std::max<uint64_t>(writableEnd, section.sh_addr + section.sh_size);
      }
      if (section.sh_type != ELF::SHT_RELA ||
          !(section.sh_flags & ELF::SHF_ALLOC))
        continue;
      auto relas = elf->relas(section);
      auto symbolTable = elf->getSection(section.sh_link);
      if (!relas || !symbolTable)
        return fail("unreadable relocation section");
      for (const auto &rela : *relas) {
        uint64_t target = uint64_t(rela.r_addend);
        if (rela.getType(false) == ELF::R_AMDGPU_ABS64) {
          auto symbol = elf->getRelocationSymbol(rela, *symbolTable);
          if (!symbol || !*symbol || !(*symbol)->st_shndx)
            return fail("relocation against an undefined symbol");
          target += (*symbol)->st_value;
        } else if (rela.getType(false) != ELF::R_AMDGPU_RELATIVE64) {
          return fail("relocation type " + std::to_string(rela.getType(false)) +
                      " is not supported");
        }
        if (program.imageBytes() < 8 ||
            rela.r_offset > program.imageBytes() - 8)
          return fail("relocation outside the image");
        program.relocationList.push_back({rela.r_offset, target});
      }
    }
    if (writableBegin < writableEnd) {
      program.writableBegin = writableBegin;
      program.writableEnd = writableEnd;
    }
    return true;
  }

  bool readSymbols() {
    auto sections = elf->sections();
    for (const auto &section : *sections) {
      if (section.sh_type != ELF::SHT_DYNSYM &&
          section.sh_type != ELF::SHT_SYMTAB)
        continue;
      auto symbols = elf->symbols(&section);
      auto strings = elf->getStringTableForSymtab(section);
      if (!symbols || !strings)
        return fail("unreadable symbol table");
      for (const auto &symbol : *symbols) {
        auto name = symbol.getName(*strings);
        if (!name || symbol.st_shndx == ELF::SHN_UNDEF)
          continue;
        if (symbol.getType() == ELF::STT_FUNC && symbol.st_size)
          functions.push_back(
              {symbol.st_value, symbol.st_value + symbol.st_size});
        if (symbol.getType() == ELF::STT_OBJECT) {
          if (name->ends_with(".kd")) {
            if (!readDescriptor(name->drop_back(3).str(), symbol.st_value))
              return false;
          } else {
            program.globals[name->str()] = {symbol.st_value, symbol.st_size};
          }
        }
      }
    }
    if (program.kernelList.empty())
      return fail("the code object has no kernel (no symbol ends in .kd)");
    std::sort(functions.begin(), functions.end(),
              [](const Range &a, const Range &b) { return a.begin < b.begin; });
    std::sort(program.kernelList.begin(), program.kernelList.end(),
              [](const Kernel &a, const Kernel &b) { return a.name < b.name; });
    return true;
  }

  bool readDescriptor(const std::string &name, uint64_t address) {
    for (const Kernel &kernel : program.kernelList)
      if (kernel.name == name)
        return true;
    llvm::amdhsa::kernel_descriptor_t kd;
    if (program.imageBytes() < sizeof kd ||
        address > program.imageBytes() - sizeof kd)
      return fail("descriptor of '" + name + "' is outside the image");
    std::memcpy(&kd, &program.segments[address], sizeof kd);
    Kernel k;
    k.name = name;
    k.entry = address + uint64_t(kd.kernel_code_entry_byte_offset);
    k.ldsBytes = kd.group_segment_fixed_size;
    k.scratchBytes = kd.private_segment_fixed_size;
    k.kernargBytes = kd.kernarg_size;
    k.rsrc1 = kd.compute_pgm_rsrc1;
    k.rsrc2 = kd.compute_pgm_rsrc2;
    k.rsrc3 = kd.compute_pgm_rsrc3;
    k.properties = kd.kernel_code_properties;
    k.preload = kd.kernarg_preload;
    k.vgprs = ((k.rsrc1 & 0x3f) + 1) * 8;
    k.sgprs = (((k.rsrc1 >> 6) & 0xf) / 2 + 1) * 16;
    k.accumOffset = std::min(((k.rsrc3 & 0x3f) + 1) * 4, k.vgprs);
    if (k.ldsBytes > program.chip().ldsBytes)
      return fail("kernel '" + name + "' needs " + std::to_string(k.ldsBytes) +
                  " bytes of LDS, " + program.chip().name + " has " +
                  std::to_string(program.chip().ldsBytes));
    if (k.vgprs > 512)
      return fail("kernel '" + name + "' allocates " + std::to_string(k.vgprs) +
                  " VGPRs, the limit is 512");
    if (k.scratchBytes > kMostScratch)
      return fail("kernel '" + name + "' needs " +
                  std::to_string(k.scratchBytes) +
                  " bytes of private memory a lane, the limit is " +
                  std::to_string(kMostScratch));
    if (unsigned n = k.preload & 0x7f; n > kMostPreloaded)
      return fail("kernel '" + name + "' preloads " + std::to_string(n) +
                  " words of arguments, the limit is " +
                  std::to_string(kMostPreloaded));
    program.kernelList.push_back(std::move(k));
    return true;
  }

  bool readMetadata() {
    auto sections = elf->sections();
    for (const auto &section : *sections) {
      if (section.sh_type != ELF::SHT_NOTE)
        continue;
      llvm::Error noteError = llvm::Error::success();
      for (auto note : elf->notes(section, noteError)) {
        if (note.getName() != "AMDGPU" ||
            note.getType() != ELF::NT_AMDGPU_METADATA)
          continue;
        std::string problem =
            emu::readMetadata(note.getDescAsStringRef(4), program.kernelList);
        if (!problem.empty())
          return fail(problem);
      }
      if (noteError)
        return fail(toString(std::move(noteError)));
    }
    return true;
  }

  bool decode() {
    Decoder decoder(program);
    for (const Range &range : functions) {
      std::string text = decoder.decode(range.begin, range.end);
      if (!text.empty())
        return fail(text);
    }
    for (Kernel &kernel : program.kernelList) {
      if (!program.instAt(kernel.entry)) { // hand-written, without .size
        Range range = {kernel.entry, kernel.entry};
        std::string text = decoder.decodeReachable(range.begin, range.end);
        if (!text.empty())
          return fail("kernel '" + kernel.name + "' " + text);
        functions.push_back(range);
      }
      for (const Range &range : functions)
        if (kernel.entry >= range.begin && kernel.entry < range.end)
          kernel.codeSize = range.end - kernel.entry;
    }
    decoder.link();
    for (const Kernel &kernel : program.kernelList) {
      std::string text = decoder.checkRegisters(kernel, kernel.entry,
                                                kernel.entry + kernel.codeSize);
      if (!text.empty())
        return fail("kernel '" + kernel.name + "' " + text);
    }
    // Off by default: production kernels rely on less than the documents ask.
    program.hazards =
        numberFromEnvironment("HK_EMU_HAZARDS", 0, 1) && mayHaveHazard(program);
    program.looksKnown = markLooks(program.insts);
    for (const Inst &inst : program.insts)
      program.releases |=
          inst.m.sc1 || inst.op->name.find("_atomic_") != std::string::npos;
    return true;
  }
};

std::shared_ptr<const Program> Program::read(const void *data, size_t size,
                                             const Chip &chip,
                                             std::string &error) {
  // Never destroyed: other destructors may still load.
  static KeptPrograms *kept = new KeptPrograms;
  std::string bytes(static_cast<const char *>(data), size);
  if (std::shared_ptr<const Program> known = kept->find(bytes, chip))
    return known;
  auto program = std::make_shared<Program>();
  program->chipInfo = &chip;
  program->bytes = std::move(bytes);
  if (!ProgramReader(*program, error).run())
    return nullptr;
  kept->add(program);
  return program;
}

const std::pair<uint64_t, uint64_t> *
Program::global(const std::string &name) const {
  auto it = globals.find(name);
  return it == globals.end() ? nullptr : &it->second;
}

const uint32_t *Program::broadcast(uint64_t value) {
  const uint32_t *&entry = constantOf[value];
  if (!entry) {
    constants.emplace_back(2 * kLanes, uint32_t(value >> 32));
    std::fill_n(constants.back().begin(), kLanes, uint32_t(value));
    entry = constants.back().data();
  }
  return entry;
}

std::string Program::sourceOf(uint64_t pc) const {
  auto elfObject = ElfObject::create(
      llvm::MemoryBufferRef(llvm::StringRef(bytes), "code object"));
  if (!elfObject) {
    llvm::consumeError(elfObject.takeError());
    return "";
  }
  auto context = llvm::DWARFContext::create(*elfObject);
  auto line = context->getLineInfoForAddress(
      {pc, llvm::object::SectionedAddress::UndefSection},
      {llvm::DILineInfoSpecifier::FileLineInfoKind::RawValue,
       llvm::DILineInfoSpecifier::FunctionNameKind::None});
  if (!line || line->Line == 0)
    return "";
  return line->FileName + ":" + std::to_string(line->Line);
}

} // namespace hk::emu
