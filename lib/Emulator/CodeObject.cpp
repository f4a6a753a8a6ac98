//===- CodeObject.cpp - Loaded AMDGPU code object -------------------------===//
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

#include "CodeObject.h"
#include "Decoder.h"
#include "Hazards.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <llvm/BinaryFormat/ELF.h>
#include <llvm/BinaryFormat/MsgPackDocument.h>
#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/AMDHSAKernelDescriptor.h>

namespace hk::emu {

using ElfFile = llvm::object::ELF64LEFile;
using ElfObject = llvm::object::ELF64LEObjectFile;
namespace ELF = llvm::ELF;

uint32_t Kernel::explicitBytes() const {
  uint32_t bytes = 0;
  for (const KernelArg &arg : args)
    if (!arg.isHidden())
      bytes = std::max(bytes, arg.offset + arg.size);
  return args.empty() ? kernargBytes : bytes;
}

/// Steps of CodeObject::load; each returns false with `error` set.
class Loader {
public:
  Loader(CodeObject &object, std::string &error)
      : object(object), error(error) {}

  bool run() {
    auto created = ElfFile::create(object.bytes);
    if (!created)
      return fail("not a 64-bit ELF file: " + toString(created.takeError()));
    elf = std::make_unique<ElfFile>(*created);
    return checkHeader() && mapImage() && relocate() && readSymbols() &&
           readMetadata() && decode();
  }

private:
  CodeObject &object;
  std::string &error;
  std::unique_ptr<ElfFile> elf;
  std::vector<uint8_t> image;
  struct Range {
    uint64_t begin, end;
  };
  std::vector<Range> functions;
  uint64_t writableBegin = ~0ull, writableEnd = 0;

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
    unsigned mach = header.e_flags & ELF::EF_AMDGPU_MACH;
    const char *name = mach == ELF::EF_AMDGPU_MACH_AMDGCN_GFX942   ? "gfx942"
                       : mach == ELF::EF_AMDGPU_MACH_AMDGCN_GFX950 ? "gfx950"
                                                                   : nullptr;
    if (!name || std::string(name) != object.chip().name)
      return fail(std::string("the code object is for ") +
                  (name ? name : "a chip that is not emulated") + " (machine " +
                  std::to_string(mach) + "), the emulated chip is " +
                  object.chip().name + "; choose it with HK_EMU_CHIP");
    return true;
  }

  bool mapImage() {
    auto headers = elf->program_headers();
    if (!headers)
      return fail(toString(headers.takeError()));
    uint64_t end = 0;
    for (const auto &ph : *headers)
      if (ph.p_type == ELF::PT_LOAD)
        end = std::max<uint64_t>(end, ph.p_vaddr + ph.p_memsz);
    if (!end || end > (1ull << 31))
      return fail("image of " + std::to_string(end) + " bytes");
    // Padding: the instruction fetch of the disassembler may look ahead.
    image.assign(end + 16, 0);
    for (const auto &ph : *headers) {
      if (ph.p_type != ELF::PT_LOAD)
        continue;
      if (ph.p_offset + ph.p_filesz > object.bytes.size() ||
          ph.p_filesz > ph.p_memsz)
        return fail("a segment is outside the file");
      std::memcpy(&image[ph.p_vaddr], object.bytes.data() + ph.p_offset,
                  ph.p_filesz);
    }
    object.imageLength = end;
    object.base = object.memory->allocate(end, "code object");
    if (!object.base)
      return fail("no device memory for the code object");
    return true;
  }

  bool relocate() {
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
        uint64_t value = object.base + uint64_t(rela.r_addend);
        if (rela.getType(false) == ELF::R_AMDGPU_ABS64) {
          auto symbol = elf->getRelocationSymbol(rela, *symbolTable);
          if (!symbol || !*symbol || !(*symbol)->st_shndx)
            return fail("relocation against an undefined symbol");
          value += (*symbol)->st_value;
        } else if (rela.getType(false) != ELF::R_AMDGPU_RELATIVE64) {
          return fail("relocation type " + std::to_string(rela.getType(false)) +
                      " is not supported");
        }
        if (rela.r_offset + 8 > object.imageLength)
          return fail("relocation outside the image");
        std::memcpy(&image[rela.r_offset], &value, 8);
      }
    }
    std::memcpy(reinterpret_cast<void *>(object.base), image.data(),
                object.imageLength);
    object.memory->setDefined(object.base, object.imageLength);
    bool writable = writableBegin < writableEnd;
    object.memory->setWritable(object.base,
                               writable ? object.base + writableBegin : 0,
                               writable ? object.base + writableEnd : 0);
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
            object.globals[name->str()] = {symbol.st_value, symbol.st_size};
          }
        }
      }
    }
    if (object.kernelList.empty())
      return fail("the code object has no kernel (no symbol ends in .kd)");
    std::sort(functions.begin(), functions.end(),
              [](const Range &a, const Range &b) { return a.begin < b.begin; });
    std::sort(object.kernelList.begin(), object.kernelList.end(),
              [](const Kernel &a, const Kernel &b) { return a.name < b.name; });
    return true;
  }

  bool readDescriptor(const std::string &name, uint64_t address) {
    for (const Kernel &kernel : object.kernelList)
      if (kernel.name == name)
        return true;
    llvm::amdhsa::kernel_descriptor_t kd;
    if (address + sizeof kd > object.imageLength)
      return fail("descriptor of '" + name + "' is outside the image");
    std::memcpy(&kd, &image[address], sizeof kd);
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
    if (k.ldsBytes > object.chip().ldsBytes)
      return fail("kernel '" + name + "' needs " + std::to_string(k.ldsBytes) +
                  " bytes of LDS, " + object.chip().name + " has " +
                  std::to_string(object.chip().ldsBytes));
    if (k.vgprs > 512)
      return fail("kernel '" + name + "' allocates " + std::to_string(k.vgprs) +
                  " VGPRs, the limit is 512");
    object.kernelList.push_back(std::move(k));
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
        auto desc = note.getDescAsStringRef(4);
        llvm::msgpack::Document doc;
        if (!doc.readFromBlob(desc, false))
          return fail("unreadable kernel metadata");
        if (doc.getRoot().isMap())
          readKernels(doc.getRoot().getMap());
      }
      if (noteError)
        return fail(toString(std::move(noteError)));
    }
    return true;
  }

  static uint32_t number(llvm::msgpack::MapDocNode &map, const char *key,
                         uint32_t otherwise) {
    auto it = map.find(key);
    if (it == map.end())
      return otherwise;
    if (it->second.getKind() == llvm::msgpack::Type::UInt)
      return uint32_t(it->second.getUInt());
    if (it->second.getKind() == llvm::msgpack::Type::Int)
      return uint32_t(it->second.getInt());
    return otherwise;
  }

  void readKernels(llvm::msgpack::MapDocNode &root) {
    auto list = root.find("amdhsa.kernels");
    if (list == root.end() || !list->second.isArray())
      return;
    for (auto &node : list->second.getArray()) {
      if (!node.isMap())
        continue;
      auto &map = node.getMap();
      auto symbol = map.find(".symbol");
      if (symbol == map.end() || !symbol->second.isString())
        continue;
      std::string name = symbol->second.getString().str();
      for (Kernel &kernel : object.kernelList)
        if (kernel.name + ".kd" == name)
          readKernel(map, kernel);
    }
  }

  void readKernel(llvm::msgpack::MapDocNode &map, Kernel &kernel) {
    kernel.maxWorkgroupSize =
        number(map, ".max_flat_workgroup_size", kernel.maxWorkgroupSize);
    auto required = map.find(".reqd_workgroup_size");
    if (required != map.end() && required->second.isArray())
      for (unsigned d = 0; d < 3 && d < required->second.getArray().size(); ++d)
        kernel.requiredSize[d] =
            uint32_t(required->second.getArray()[d].getUInt());
    auto args = map.find(".args");
    if (args == map.end() || !args->second.isArray())
      return;
    for (auto &node : args->second.getArray()) {
      auto &argMap = node.getMap();
      KernelArg arg;
      arg.offset = number(argMap, ".offset", 0);
      arg.size = number(argMap, ".size", 0);
      auto kind = argMap.find(".value_kind");
      if (kind != argMap.end() && kind->second.isString())
        arg.kind = kind->second.getString().str();
      kernel.args.push_back(arg);
    }
  }

  bool decode() {
    Decoder decoder(object, image.data(), object.imageLength);
    for (const Range &range : functions) {
      std::string text = decoder.decode(range.begin, range.end);
      if (!text.empty())
        return fail(text);
    }
    for (Kernel &kernel : object.kernelList) {
      if (!object.instAt(kernel.entry)) { // hand-written, without .size
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
    std::string text = decoder.link();
    if (!text.empty())
      return fail(text);
    for (const Kernel &kernel : object.kernelList) {
      text = decoder.checkRegisters(kernel, kernel.entry,
                                    kernel.entry + kernel.codeSize);
      if (!text.empty())
        return fail("kernel '" + kernel.name + "' " + text);
    }
    // Off by default: production kernels rely on less than the documents ask.
    const char *watch = std::getenv("HK_EMU_HAZARDS");
    object.hazards = watch && *watch && *watch != '0' && mayHaveHazard(object);
    return true;
  }
};

std::unique_ptr<CodeObject> CodeObject::load(const void *data, size_t size,
                                             const Chip &chip, Memory &memory,
                                             std::string &error) {
  std::unique_ptr<CodeObject> object(new CodeObject);
  object->chipInfo = &chip;
  object->memory = &memory;
  object->bytes.assign(static_cast<const char *>(data), size);
  Loader loader(*object, error);
  if (!loader.run())
    return nullptr;
  return object;
}

size_t CodeObject::imageSize(const void *data) {
  ELF::Elf64_Ehdr header;
  std::memcpy(&header, data, sizeof header);
  if (!header.checkMagic() || header.e_ident[ELF::EI_CLASS] != ELF::ELFCLASS64)
    return 0;
  const char *bytes = static_cast<const char *>(data);
  uint64_t end = std::max<uint64_t>(
      header.e_shoff + uint64_t(header.e_shnum) * header.e_shentsize,
      header.e_phoff + uint64_t(header.e_phnum) * header.e_phentsize);
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    ELF::Elf64_Phdr ph;
    std::memcpy(&ph, bytes + header.e_phoff + i * sizeof ph, sizeof ph);
    end = std::max<uint64_t>(end, ph.p_offset + ph.p_filesz);
  }
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    ELF::Elf64_Shdr sh;
    std::memcpy(&sh, bytes + header.e_shoff + i * sizeof sh, sizeof sh);
    if (sh.sh_type != ELF::SHT_NOBITS)
      end = std::max<uint64_t>(end, sh.sh_offset + sh.sh_size);
  }
  return end;
}

CodeObject::~CodeObject() {
  if (base)
    memory->release(base);
}

const Kernel *CodeObject::kernel(const std::string &name) const {
  for (const Kernel &kernel : kernelList)
    if (kernel.name == name)
      return &kernel;
  return nullptr;
}

uint64_t CodeObject::global(const std::string &name, uint64_t &size) const {
  auto it = globals.find(name);
  if (it == globals.end())
    return 0;
  size = it->second.second;
  return base + it->second.first;
}

const uint32_t *CodeObject::broadcast(uint64_t value) {
  const uint32_t *&entry = constantOf[value];
  if (!entry) {
    constants.emplace_back(2 * kLanes, uint32_t(value >> 32));
    std::fill_n(constants.back().begin(), kLanes, uint32_t(value));
    entry = constants.back().data();
  }
  return entry;
}

std::string CodeObject::sourceOf(uint64_t pc) const {
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
