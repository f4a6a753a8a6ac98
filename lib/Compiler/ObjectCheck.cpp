//===- ObjectCheck.cpp - What a compiled kernel must satisfy --------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the AMDGPU metadata (msgpack, in an ELF note) with LLVM's readers.
//
//===----------------------------------------------------------------------===//

#include "ObjectCheck.h"

#include "hk/Contract/Occupancy.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace mlir::hk;

static uint64_t numberOf(msgpack::MapDocNode &map, StringRef key) {
  auto it = map.find(key);
  if (it == map.end())
    return 0;
  msgpack::DocNode &node = it->second;
  return node.getKind() == msgpack::Type::Int
             ? static_cast<uint64_t>(node.getInt())
             : node.getUInt();
}

Expected<std::vector<KernelResources>>
mlir::hk::readResources(StringRef codeObject) {
  auto elf = object::ELF64LEFile::create(codeObject);
  if (!elf)
    return elf.takeError();
  auto sections = elf->sections();
  if (!sections)
    return sections.takeError();
  std::vector<KernelResources> result;
  for (const auto &section : *sections) {
    if (section.sh_type != ELF::SHT_NOTE)
      continue;
    Error error = Error::success();
    for (auto note : elf->notes(section, error)) {
      if (note.getType() != ELF::NT_AMDGPU_METADATA)
        continue;
      msgpack::Document document;
      if (!document.readFromBlob(note.getDescAsStringRef(section.sh_addralign),
                                 /*Multi=*/false))
        return createStringError("the code object's metadata is not msgpack");
      msgpack::MapDocNode root = document.getRoot().getMap();
      for (msgpack::DocNode &entry : root["amdhsa.kernels"].getArray()) {
        msgpack::MapDocNode &map = entry.getMap();
        KernelResources r;
        r.symbol = map[".name"].getString().str();
        r.ldsBytes = numberOf(map, ".group_segment_fixed_size");
        r.vgprs = numberOf(map, ".vgpr_count");
        r.agprs = numberOf(map, ".agpr_count");
        r.sgprs = numberOf(map, ".sgpr_count");
        r.vgprSpills = numberOf(map, ".vgpr_spill_count");
        r.sgprSpills = numberOf(map, ".sgpr_spill_count");
        r.scratchBytes = numberOf(map, ".private_segment_fixed_size");
        result.push_back(std::move(r));
      }
    }
    if (error)
      return error;
  }
  return result;
}

char SpillError::ID;

SpillError::SpillError(const ::hk::Target &target, StringRef kernel,
                       StringRef tile, const Twine &message)
    : ErrorInfo(message, inconvertibleErrorCode()), target(&target),
      kernel(kernel), tile(tile) {}

/// How a message about a variant begins.
static std::string placeOf(const ::hk::Target &target,
                           const KernelRecord &kernel,
                           const VariantRecord &variant) {
  return "kernel @" + kernel.name + " (" + kernel.ops + "), variant " +
         variant.tile + " for " + target.name + ": ";
}

/// Whether the PTX of an entry point waits for the kernel before, and touches
/// memory, but for LDS, only then: the runtime starts it while that one still
/// runs. Relaxed loads are of what may be written meanwhile (loadEarly).
static bool waitsFirst(StringRef entry) {
  for (StringRef line : llvm::split(entry, '\n')) {
    line = line.trim();
    if (line.starts_with("@"))
      line = line.substr(line.find(' ')).ltrim();
    if (line.starts_with("griddepcontrol.wait"))
      return true;
    bool isOwn =
        line.starts_with("ld.param") || line.starts_with("ld.shared") ||
        line.starts_with("st.shared") || line.starts_with("ld.relaxed");
    for (StringRef access : {"ld.", "st.", "atom.", "red.", "call", "}"})
      if (line.starts_with(access) && !isOwn)
        return false;
  }
  return false;
}

static Error checkPtx(const ::hk::Target &target, const KernelRecord &kernel,
                      StringRef ptx) {
  for (const VariantRecord &variant : kernel.variants) {
    size_t begin = ptx.find(".entry " + variant.symbol + "(");
    if (begin == StringRef::npos || !waitsFirst(ptx.substr(begin)))
      return createStringError(placeOf(target, kernel, variant) +
                               "the PTX has no entry point " + variant.symbol +
                               " that waits for the kernel before; declare it "
                               "with HK_KERNEL");
  }
  return Error::success();
}

/// Blocks side by side on a compute unit that the source promises: the argument
/// minBlocks of HK_KERNEL.
static int32_t promisedBlocks(StringRef text, StringRef symbol) {
  StringRef arguments =
      text.substr(text.find(("HK_KERNEL(" + symbol + ", ").str()));
  SmallVector<StringRef> fields;
  arguments.split(fields, ',', /*MaxSplit=*/4);
  int32_t blocks = 0;
  if (fields.size() < 5 || fields[3].trim().getAsInteger(10, blocks))
    return -1;
  return blocks;
}

/// Whether as many blocks are resident as promised, by registers and by LDS.
static Error checkOccupancy(const ::hk::Target &target,
                            const KernelRecord &kernel,
                            const VariantRecord &variant,
                            const KernelResources &found, StringRef where) {
  int32_t blocks = promisedBlocks(kernel.text, variant.symbol);
  if (blocks < 0)
    return createStringError(where + "its source has no HK_KERNEL(" +
                             variant.symbol + ", ...)");
  int32_t promised =
      ::hk::wavesPerSimd(target, int32_t(variant.threads), blocks);
  int32_t waves = ::hk::wavesOfRegisters(target, int32_t(found.vgprs));
  if (waves < promised)
    return createStringError(where + Twine(found.vgprs) +
                             " registers leave room for " + Twine(waves) +
                             " waves on a SIMD, its source promises " +
                             Twine(promised));
  int64_t lds = int64_t(found.ldsBytes) * blocks;
  if (lds > target.ldsBytes)
    return createStringError(where + Twine(blocks) + " blocks need " +
                             Twine(lds) + " bytes of LDS, a compute unit has " +
                             Twine(target.ldsBytes));
  return Error::success();
}

Error mlir::hk::checkObject(const ::hk::Target &target,
                            const KernelRecord &kernel, StringRef object) {
  if (target.arch == ::hk::Arch::Host)
    return Error::success();
  if (target.arch == ::hk::Arch::Sm90a)
    return checkPtx(target, kernel, object);
  auto resources = readResources(object);
  if (!resources)
    return resources.takeError();
  for (const VariantRecord &variant : kernel.variants) {
    const KernelResources *found = nullptr;
    for (const KernelResources &r : *resources)
      if (r.symbol == variant.symbol)
        found = &r;
    std::string where = placeOf(target, kernel, variant);
    auto fail = [&](const Twine &what) {
      return createStringError(where + what);
    };
    if (!found)
      return fail("the code object has no entry point " + variant.symbol);
    // What provably does nothing, as no query sees a key, uses none.
    if (found->ldsBytes != variant.ldsBytes && found->ldsBytes != 0)
      return fail("the code object uses " + Twine(found->ldsBytes) +
                  " bytes of LDS, the contract says " +
                  Twine(variant.ldsBytes));
    if (found->ldsBytes > static_cast<uint64_t>(target.ldsBytes))
      return fail("the code object uses " + Twine(found->ldsBytes) +
                  " bytes of LDS, the limit is " + Twine(target.ldsBytes));
    bool spills = found->vgprSpills || found->scratchBytes;
    if (spills || (found->sgprSpills && !variant.isLast))
      return make_error<SpillError>(
          target, kernel.name, variant.tile,
          where + "registers spill: " + Twine(found->vgprSpills) + " VGPR, " +
              Twine(found->sgprSpills) + " SGPR, " +
              Twine(found->scratchBytes) + " bytes of scratch");
    if (Error error = checkOccupancy(target, kernel, variant, *found, where))
      return error;
  }
  return Error::success();
}
