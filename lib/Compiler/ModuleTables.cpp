//===- ModuleTables.cpp - The tables a module exports ---------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function per table; every array gets a name made of the section and an
// index.
//
//===----------------------------------------------------------------------===//

#include "ModuleTables.h"
#include "hk/Contract/Hash.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;
using namespace mlir::hk;

namespace {
using CodeFile =
    function_ref<std::string(const Section &, const KernelRecord &)>;

class TableWriter {
public:
  TableWriter(raw_ostream &os) : os(os) {}

  std::string quoted(StringRef text) {
    std::string result;
    raw_string_ostream stream(result);
    stream << '"';
    stream.write_escaped(text, /*UseHexEscapes=*/false) << '"';
    return result;
  }

  /// An i64 array, or NULL when there is nothing in it.
  std::string sizes(const std::string &name, ArrayRef<int64_t> values) {
    if (values.empty())
      return "0";
    os << "static const int64_t " << name << "[] = {";
    interleaveComma(values, os);
    os << "};\n";
    return name;
  }

  /// The tensor maps of a variant, or NULL when it has none.
  std::string maps(const std::string &name, ArrayRef<hk_tensor_map_abi> maps);

  /// A pointer to what the engine does, or NULL for a kernel of the device.
  std::string collective(const std::string &name, const KernelRecord &kernel);

  void writeWeights(ArrayRef<WeightRecord> weights);
  std::string writeChecksums(const std::string &name,
                             ArrayRef<uint64_t> checksums);
  std::string writeSlices(const std::string &name,
                          ArrayRef<::hk::WeightSlice> slices);
  void writeFunctions(ArrayRef<FunctionRecord> functions);
  void writeSection(const Section &section, unsigned index, CodeFile codeFile);

private:
  /// What a kernel's code is called in C: a function of the host, or bytes.
  void writeCode(const Section &section, const KernelRecord &kernel,
                 const std::string &base, StringSet<> &declared,
                 CodeFile codeFile);
  void writeVariants(const Section &section, const KernelRecord &kernel,
                     const std::string &base);
  void writeKernels(ArrayRef<KernelRecord> kernels, const std::string &section,
                    ArrayRef<std::string> collectives);
  void writeBodies(ArrayRef<FunctionRecord> functions,
                   const std::string &section);

  raw_ostream &os;
};
} // namespace

std::string TableWriter::maps(const std::string &name,
                              ArrayRef<hk_tensor_map_abi> maps) {
  if (maps.empty())
    return "0";
  auto number = [](hk_number_abi n) {
    return ("{" + Twine(n.constant) + ", " + Twine(n.word) + "u}").str();
  };
  os << "static const hk_tensor_map_abi " << name << "[] = {\n";
  for (const hk_tensor_map_abi &m : maps)
    os << "  {" << m.pointer << "u, " << int(m.dtype) << ", "
       << number(m.columns) << ", " << number(m.rows) << ", "
       << number(m.matrices) << ", " << number(m.row_stride) << ", "
       << number(m.matrix_stride) << ", " << number(m.batches) << ", "
       << number(m.batch_stride) << ", " << m.box_columns << "u, " << m.box_rows
       << "u},\n";
  os << "};\n";
  return name;
}

std::string TableWriter::collective(const std::string &name,
                                    const KernelRecord &kernel) {
  if (!kernel.collective)
    return "0";
  const CollectiveRecord &c = *kernel.collective;
  std::string sizesName = sizes(name + "_sizes", c.sizes);
  os << "static const hk_collective_abi " << name << " = {" << quoted(c.axis)
     << ", " << int(c.dtype) << ", " << int(c.resultDType) << ", "
     << c.reduction << ", " << int(c.anyOrder) << ", " << c.sizes.size() << ", "
     << c.split << ", " << c.concat << ", " << c.root << ", " << sizesName
     << ", " << c.input << "u, " << c.inputStride << "u, " << c.extraWords
     << "u, " << c.mostPushed << ", " << c.leastSent << ", " << c.sending
     << "u};\n";
  return "&" + name;
}

void TableWriter::writeWeights(ArrayRef<WeightRecord> weights) {
  if (weights.empty())
    return;
  std::vector<std::array<std::string, 3>> names;
  for (auto [i, w] : enumerate(weights)) {
    std::string base = ("w" + Twine(i)).str();
    names.push_back({sizes(base + "_sizes", w.sizes),
                     writeChecksums(base + "_sums", w.checksums),
                     writeSlices(base + "_slices", w.slices)});
  }
  os << "static const hk_weight_abi weights[] = {\n";
  for (auto [w, name] : zip(weights, names))
    os << "  {" << quoted(w.source) << ", " << int(w.dtype) << ", "
       << w.sizes.size() << ", " << name[0] << ", " << w.bytes << "u, "
       << w.checksums.size() << "u, " << name[1] << ", "
       << (w.file.empty() ? "0" : quoted(w.file)) << ", " << w.slices.size()
       << "u, " << name[2] << "},\n";
  os << "};\n";
}

std::string TableWriter::writeChecksums(const std::string &name,
                                        ArrayRef<uint64_t> checksums) {
  if (checksums.empty())
    return "0";
  os << "static const uint64_t " << name << "[] = {";
  interleaveComma(checksums, os, [&](uint64_t sum) { os << sum << "ull"; });
  os << "};\n";
  return name;
}

std::string TableWriter::writeSlices(const std::string &name,
                                     ArrayRef<::hk::WeightSlice> slices) {
  if (slices.empty())
    return "0";
  std::vector<std::pair<std::string, std::string>> lists;
  for (auto [i, slice] : enumerate(slices)) {
    std::vector<int64_t> segments, parts;
    for (const ::hk::WeightSegment &segment : slice.segments) {
      segments.push_back(segment.size);
      parts.push_back(segment.parts);
    }
    std::string base = name + std::to_string(i);
    lists.emplace_back(sizes(base + "_sizes", segments),
                       sizes(base + "_parts", parts));
  }
  os << "static const hk_weight_slice_abi " << name << "[] = {\n";
  for (auto [slice, list] : zip(slices, lists))
    os << "  {" << quoted(slice.axis) << ", " << slice.dim << "u, "
       << slice.segments.size() << "u, " << list.first << ", " << list.second
       << "},\n";
  os << "};\n";
  return name;
}

void TableWriter::writeFunctions(ArrayRef<FunctionRecord> functions) {
  for (auto [f, function] : enumerate(functions)) {
    std::vector<std::pair<std::string, std::string>> fields;
    for (auto [a, argument] : enumerate(function.arguments)) {
      std::string base = ("f" + Twine(f) + "_a" + Twine(a)).str();
      std::string names = "0";
      if (!argument.dimNames.empty()) {
        names = base + "_dims";
        os << "static const char *const " << names << "[] = {";
        interleaveComma(argument.dimNames, os, [&](const std::string &name) {
          os << (name.empty() ? "0" : quoted(name));
        });
        os << "};\n";
      }
      fields.emplace_back(sizes(base + "_sizes", argument.sizes), names);
    }
    os << "static const hk_arg_abi f" << f << "_args[] = {\n";
    for (auto [argument, field] : zip(function.arguments, fields))
      os << "  {" << quoted(argument.name) << ", " << int(argument.dtype)
         << ", " << int(argument.role) << ", " << argument.sizes.size() << ", "
         << field.first << ", " << field.second << ", "
         << (argument.values.empty() ? "0" : quoted(argument.values)) << "},\n";
    os << "};\n";
  }
  os << "static const hk_function_abi functions[] = {\n";
  for (auto [f, function] : enumerate(functions))
    os << "  {" << quoted(function.name) << ", " << function.arguments.size()
       << "u, f" << f << "_args},\n";
  os << "};\n";
}

void TableWriter::writeCode(const Section &section, const KernelRecord &kernel,
                            const std::string &base, StringSet<> &declared,
                            CodeFile codeFile) {
  if (kernel.isOfEngine())
    return; // the runtime runs it
  if (section.target->arch != ::hk::Arch::Host) {
    // A byte after the code: PTX is text and wants a terminator.
    os << "static const unsigned char " << base << "_code[] = {\n#embed "
       << quoted(codeFile(section, kernel)) << "\n, 0};\n";
    return;
  }
  for (const VariantRecord &variant : kernel.variants)
    if (declared.insert(variant.symbol).second)
      os << "void " << variant.symbol
         << "(const uint64_t *, const uint32_t *, const uint32_t *, void "
            "*);\n";
}

void TableWriter::writeVariants(const Section &section,
                                const KernelRecord &kernel,
                                const std::string &base) {
  bool host = section.target->arch == ::hk::Arch::Host;
  bool dynamicLds = host || section.target->arch == ::hk::Arch::Sm90a;
  bool hasCode = !kernel.isOfEngine();
  std::vector<std::string> mapNames;
  for (auto [v, variant] : enumerate(kernel.variants))
    mapNames.push_back(maps((base + "_maps" + Twine(v)).str(), variant.maps));
  os << "static const hk_variant_abi " << base << "_variants[] = {\n";
  for (const auto &[v, mapName] : zip(kernel.variants, mapNames))
    os << "  {" << quoted(v.symbol) << ", " << quoted(v.tile) << ", "
       << (host && hasCode ? v.symbol : "0") << ", "
       << (host || !hasCode ? "0, 0"
                            : base + "_code, sizeof(" + base + "_code) - 1")
       << ", " << v.threads << "u, " << (dynamicLds ? 0 : v.ldsBytes) << "u, "
       << (dynamicLds ? v.ldsBytes : 0) << "u, " << v.maps.size() << "u, "
       << mapName << "},\n";
  os << "};\n";
}

void TableWriter::writeKernels(ArrayRef<KernelRecord> kernels,
                               const std::string &section,
                               ArrayRef<std::string> collectives) {
  if (kernels.empty())
    return;
  os << "static const hk_kernel_abi " << section << "_kernels[] = {\n";
  for (auto [k, kernel] : enumerate(kernels))
    os << "  {" << quoted(kernel.name) << ", " << quoted(kernel.family) << ", "
       << quoted(kernel.ops) << ", " << kernel.numPointers << "u, "
       << kernel.numDims << "u, " << kernel.numStrides << "u, "
       << kernel.planSymbol << ", " << kernel.variants.size() << "u, "
       << section << "_k" << k << "_variants, " << collectives[k] << "},\n";
  os << "};\n";
}

/// The host code of functions, by target.
void TableWriter::writeBodies(ArrayRef<FunctionRecord> functions,
                              const std::string &section) {
  for (auto [f, function] : enumerate(functions)) {
    std::string base = (section + "_f" + Twine(f)).str();
    // The symbol as a label: a function's name need not be an identifier of C.
    os << "void " << base << "_shape"
       << "(hk_call_ctx *, const hk_abi_tensor *, int64_t *, int64_t *) "
          "__asm__("
       << quoted(function.shapeSymbol) << ");\n"
       << "void " << base << "_run"
       << "(hk_call_ctx *, const hk_abi_tensor *, void *) __asm__("
       << quoted(function.runSymbol) << ");\n";
    if (function.guards.empty())
      continue;
    os << "static const hk_guard_abi " << base << "_guards[] = {\n";
    for (const FunctionRecord::Guard &guard : function.guards)
      os << "  {" << quoted(guard.lhs) << ", " << quoted(guard.rhs) << ", "
         << guard.relation << "u},\n";
    os << "};\n";
  }
  os << "static const hk_function_impl_abi " << section << "_functions[] = {\n";
  for (auto [f, function] : enumerate(functions)) {
    std::string base = (section + "_f" + Twine(f)).str();
    os << "  {" << base << "_shape, " << base << "_run, "
       << function.numLaunches << "u, " << function.guards.size() << "u, "
       << (function.guards.empty() ? "0" : base + "_guards") << ", "
       << function.numCollectives << "u},\n";
  }
  os << "};\n";
}

void TableWriter::writeSection(const Section &section, unsigned index,
                               CodeFile codeFile) {
  std::string s = ("s" + Twine(index)).str();
  StringSet<> declared;
  std::vector<std::string> collectives;
  for (auto [k, kernel] : enumerate(section.kernels)) {
    std::string base = (s + "_k" + Twine(k)).str();
    os << "void " << kernel.planSymbol
       << "(const int64_t *, hk_launch_plan *);\n";
    writeCode(section, kernel, base, declared, codeFile);
    collectives.push_back(collective(base + "_collective", kernel));
    writeVariants(section, kernel, base);
  }
  writeKernels(section.kernels, s, collectives);
  writeBodies(section.functions, s);
}

void mlir::hk::writeModuleTables(
    ArrayRef<Section> sections, ArrayRef<WeightRecord> weights,
    StringRef weightsFile,
    function_ref<std::string(const Section &, const KernelRecord &)> codeFile,
    raw_ostream &os) {
  TableWriter writer(os);
  const Section &first = sections.front();
  os << "// Tables of a compiled hk module; written by hk-compile.\n"
        "#include \"hk/Runtime/ModuleAbi.h\"\n";
  writer.writeWeights(weights);
  writer.writeFunctions(first.functions);
  for (auto [i, section] : enumerate(sections))
    writer.writeSection(section, i, codeFile);
  os << "static const hk_section_abi sections[] = {\n";
  for (auto [i, section] : enumerate(sections))
    os << "  {" << writer.quoted(section.target->name) << ", "
       << writer.quoted(section.cpuFeatures) << ", " << section.kernels.size()
       << "u, "
       << (section.kernels.empty() ? std::string("0")
                                   : ("s" + Twine(i) + "_kernels").str())
       << ", s" << i << "_functions},\n";
  os << "};\n";
  os << "static const hk_module_abi module = {HK_MODULE_ABI_VERSION, "
        "sizeof(hk_module_abi), "
     << writer.quoted("hk " HK_VERSION) << ", "
     << writer.quoted(::hk::kContractHash) << ", "
     << (weightsFile.empty() ? std::string("0") : writer.quoted(weightsFile))
     << ", " << first.functions.size() << "u, functions, " << weights.size()
     << "u, " << (weights.empty() ? "0" : "weights") << ", " << sections.size()
     << "u, sections, "
     << (first.mesh.empty() ? "0" : writer.quoted(first.mesh)) << "};\n"
     << "__attribute__((visibility(\"default\"))) const hk_module_abi *\n"
        "hk_module_query(uint32_t max_version) {\n"
        "  return max_version >= HK_MODULE_ABI_VERSION ? &module : 0;\n}\n";
}
