//===- Command.cpp - The command line of hk-emu ---------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Options, files and the arguments of a launch.
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "llvm/Demangle/Demangle.h"
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace hk::emu {

const char kUsage[] =
    "usage: hk-emu [FILE.co] [--chip=CHIP] MODE\n"
    "  --list                 kernels with their resources and arguments\n"
    "  --disassemble          decoded instructions with their handlers' class\n"
    "  --run=KERNEL           run it; KERNEL is its symbol or its name in the\n"
    "                         source, if no other has it:\n"
    "     --grid=X[,Y[,Z]]    workgroups (default 1)\n"
    "     --block=X[,Y[,Z]]   work-items of a workgroup (default 64)\n"
    "     --lds=BYTES         dynamic LDS\n"
    "     --arg=SPEC          in order; SPEC is one of\n"
    "         i32:V i64:V f32:V      a scalar\n"
    "         in:FILE                a buffer with the file's bytes\n"
    "         out:BYTES[:FILE]       an undefined buffer, written to FILE\n"
    "         zero:BYTES[:FILE]      a zeroed buffer, written to FILE\n"
    "     --no-counters       without transaction and bank counters, faster\n"
    "     --json              findings, counters and times as JSON lines\n"
    "     --timing            model the time, from a sample of the "
    "workgroups;\n"
    "                         only they run, and without checks:\n"
    "       --full            run all workgroups, with checks\n"
    "       --warm            what fits is in the MALL before the launch\n"
    "       --set=NAME=V,...  other constants; again for another model run\n"
    "       --timeline=FILE   of a compute unit, for Chrome's trace viewer\n"
    "  --compare A B          the modelled times of two code objects that "
    "take\n"
    "                         the same arguments (with --run and so on), or "
    "of\n"
    "                         two files that HK_EMU_TIMING named\n"
    "  --constants            the model's constants with their sources\n"
    "  --version, --help\n"
    "CHIP is a product (mi300x, mi325x, mi355x) or a target (gfx942, gfx950).\n"
    "Arguments are laid out by the kernel's metadata. The exit status is 1 if\n"
    "there are findings and 2 if the object or the command is refused.\n";

int refuse(const std::string &text) {
  std::fprintf(stderr, "hk-emu: %s\n", text.c_str());
  return 2;
}

std::string readFile(const std::string &path, std::string &data) {
  std::error_code problem;
  if (std::filesystem::is_directory(path, problem))
    return "cannot read '" + path + "': it is a folder; name a file";
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return "cannot read '" + path + "': " + std::strerror(errno);
  data.assign(std::istreambuf_iterator<char>(in),
              std::istreambuf_iterator<char>());
  return "";
}

std::string writeFile(const std::string &path, const char *data, size_t size) {
  errno = 0;
  std::ofstream out(path, std::ios::binary);
  bool isOpen = out.is_open();
  out.write(data, std::streamsize(size));
  out.close();
  if (out)
    return "";
  std::string why = std::strerror(errno ? errno : EIO);
  std::error_code ignored; // what is said is the first error
  if (isOpen && std::filesystem::is_regular_file(path, ignored))
    std::filesystem::remove(path, ignored);
  return "cannot write '" + path + "': " + why;
}

namespace {

/// A number of an option, from 0 to what 32 bits hold.
bool parseCount(const std::string &text, uint32_t &value) {
  char *end;
  errno = 0;
  unsigned long long number = std::strtoull(text.c_str(), &end, 0);
  value = uint32_t(number);
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) &&
         !*end && !errno && number <= UINT32_MAX;
}

bool parseTriple(const std::string &text, uint32_t out[3]) {
  std::istringstream parts(text + ",");
  int count = 0;
  for (std::string part; std::getline(parts, part, ',');)
    if (count == 3 || !parseCount(part, out[count++]))
      return false;
  std::fill(out + count, out + 3, 1);
  return true;
}

/// The flags of the ELF header; 0 if there is none.
uint32_t elfFlags(const std::string &data) {
  uint32_t flags = 0;
  if (data.size() >= 64)
    std::memcpy(&flags, data.data() + 48, 4);
  return flags;
}

/// The chip the file was compiled for, or the first of those that run it.
std::string chipOf(const std::string &data) {
  const Machine *machine = findMachine(elfFlags(data));
  return machine && machine->runsOn[0] ? machine->runsOn[0] : "";
}

/// Why no chip is known for a file, and what to do.
std::string whyNoChip(const std::string &path, const std::string &chipName,
                      const std::string &data) {
  if (!chipName.empty())
    return "--chip=" + chipName +
           ": there are mi300x, mi325x, mi355x, gfx942 and gfx950";
  auto begins = [&](const std::string &magic) {
    return data.compare(0, magic.size(), magic) == 0;
  };
  if (begins("__CLANG_OFFLOAD_BUNDLE__") || begins("CCOB"))
    return "'" + path +
           "' is a bundle of code objects; take one out with "
           "clang-offload-bundler --unbundle, or compile with "
           "--no-gpu-bundle-output";
  if (begins("BC\xC0\xDE"))
    return "'" + path + "' is LLVM bitcode; link it to a code object";
  if (!begins("\177ELF"))
    return "'" + path + "' is no code object";
  return "'" + path + "': " + whyNotRun(*findChip("gfx942"), elfFlags(data));
}

/// Turns one --arg into its bytes and, for buffers, device memory.
/// The number that all of `text` is.
template <class T>
std::string parseNumber(const std::string &text,
                        T (*parse)(const char *, char **), T &value) {
  char *end = nullptr;
  value = parse(text.c_str(), &end);
  return text.empty() || *end ? "'" + text + "' is no number" : "";
}

/// A buffer of device memory with its contents, by what follows its kind.
std::string makeBuffer(const std::string &kind, const std::string &value,
                       Memory &memory, Buffer &buffer) {
  std::string data;
  if (kind == "in") {
    std::string problem = readFile(value, data);
    if (!problem.empty())
      return problem;
    buffer.size = data.size();
  } else {
    size_t second = value.find(':');
    std::string problem = parseNumber<uint64_t>(
        value.substr(0, second),
        [](const char *s, char **end) -> uint64_t {
          return std::strtoull(s, end, 0);
        },
        buffer.size);
    if (!problem.empty())
      return problem;
    if (second != std::string::npos)
      buffer.path = value.substr(second + 1);
  }
  buffer.address = memory.allocate(buffer.size, kind + ":" + value);
  if (!buffer.address)
    return "no device memory for " + std::to_string(buffer.size) + " bytes";
  if (kind != "out") {
    std::memcpy(reinterpret_cast<void *>(buffer.address), data.data(),
                data.size());
    memory.setDefined(buffer.address, buffer.size);
  }
  return "";
}

/// Returns what is wrong with the argument, or nothing.
std::string makeArg(const std::string &spec, Memory &memory,
                    std::vector<Buffer> &buffers, std::vector<uint8_t> &bytes) {
  size_t colon = spec.find(':');
  std::string kind = spec.substr(0, colon);
  std::string value = colon == std::string::npos ? "" : spec.substr(colon + 1);
  auto put = [&](const auto &v) {
    const auto *p = reinterpret_cast<const uint8_t *>(&v);
    bytes.assign(p, p + sizeof v);
  };
  if (kind == "i32" || kind == "i64") {
    int64_t number;
    std::string problem = parseNumber<int64_t>(
        value,
        [](const char *s, char **end) -> int64_t {
          return std::strtoll(s, end, 0);
        },
        number);
    kind == "i32" ? put(int32_t(number)) : put(number);
    return problem;
  }
  if (kind == "f32") {
    float number;
    std::string problem = parseNumber<float>(value, std::strtof, number);
    put(number);
    return problem;
  }
  if (kind != "in" && kind != "out" && kind != "zero")
    return "'" + kind + "' is no kind of argument";
  Buffer buffer;
  std::string problem = makeBuffer(kind, value, memory, buffer);
  if (problem.empty()) {
    buffers.push_back(buffer);
    put(buffer.address);
  }
  return problem;
}

/// What a kernel is called in its source, without its parameters.
std::string sourceName(const std::string &symbol) {
  std::string name = llvm::demangle(symbol);
  // A template has its result's type before it, which is void.
  if (name.rfind("void ", 0) == 0)
    name = name.substr(5);
  int depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    depth += (name[i] == '<') - (name[i] == '>');
    if (name[i] == '(' && depth == 0)
      return name.substr(0, i);
  }
  return name;
}

} // namespace

namespace {

/// An option without a value.
bool parseFlag(const std::string &arg, Command &c) {
  const std::pair<const char *, bool *> flags[] = {
      {"--list", &c.list},       {"--disassemble", &c.disassemble},
      {"--json", &c.json},       {"--timing", &c.timing},
      {"--full", &c.full},       {"--warm", &c.warm},
      {"--compare", &c.compare}, {"--constants", &c.constants},
      {"--help", &c.help},       {"--version", &c.version}};
  for (auto [name, flag] : flags)
    if (arg == name) {
      *flag = true;
      return true;
    }
  if (arg == "--no-counters")
    c.counters = false;
  return arg == "--no-counters";
}

std::string parseOption(const std::string &name, const std::string &value,
                        Command &c) {
  std::string all = "'" + name + "=" + value + "': expected ";
  if (name == "--set")
    c.sets.push_back(value);
  else if (name == "--timeline")
    c.timeline = value;
  else if (name == "--chip")
    c.chip = value;
  else if (name == "--run")
    c.run = value;
  else if (name == "--arg")
    c.args.push_back(value);
  else if (name == "--grid" || name == "--block") {
    if (!parseTriple(value, name == "--grid" ? c.config.grid : c.config.block))
      return all + "one to three numbers, X[,Y[,Z]]";
  } else if (name == "--lds") {
    if (!parseCount(value, c.config.dynamicLds))
      return all + "a number of bytes";
  } else
    return all + "an option of hk-emu --help";
  return "";
}

/// What a command that names no file or no mode lacks.
std::string checkCommand(const Command &c) {
  if (c.help || c.version)
    return "";
  size_t needed = c.constants ? 0 : c.compare ? 2 : 1;
  if (c.files.size() != needed)
    return "expected " + std::to_string(needed) +
           (needed == 1 ? " file, got " : " files, got ") +
           std::to_string(c.files.size()) + "; see hk-emu --help";
  if (c.constants || c.compare)
    return "";
  if (c.timing && c.run.empty())
    return "--timing needs a kernel: --run=KERNEL";
  if (!c.list && !c.disassemble && c.run.empty())
    return "'" + c.files[0] +
           "': say what to do with it: --list, --disassemble or --run=KERNEL";
  return "";
}

} // namespace

std::string parseCommand(int argc, char **argv, Command &c) {
  c.config.block[0] = 64;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    size_t eq = arg.find('=');
    std::string problem;
    if (arg[0] != '-')
      c.files.push_back(arg);
    else if (eq != std::string::npos)
      problem = parseOption(arg.substr(0, eq), arg.substr(eq + 1), c);
    else if (!parseFlag(arg, c))
      problem = "'" + arg +
                "': expected an option of hk-emu --help, with its "
                "value";
    if (!problem.empty())
      return problem;
  }
  return checkCommand(c);
}

std::string loadFile(const std::string &path, const std::string &chipName,
                     Memory &memory, LoadedFile &file) {
  std::string problem = readFile(path, file.data);
  if (!problem.empty())
    return problem;
  const Chip *chip = findChip(chipName.empty() ? chipOf(file.data) : chipName);
  if (!chip)
    return whyNoChip(path, chipName, file.data);
  std::string error;
  file.object = CodeObject::load(file.data.data(), file.data.size(), *chip,
                                 memory, error);
  return file.object ? "" : error;
}

std::string findKernel(const CodeObject &object, const std::string &name,
                       const Kernel *&found) {
  found = object.kernel(name);
  if (found)
    return "";
  for (const Kernel &kernel : object.kernels()) {
    std::string own = sourceName(kernel.name);
    if (own != name && own.substr(0, own.find('<')) != name)
      continue;
    if (found)
      return "several kernels are called '" + name + "'; see --list";
    found = &kernel;
  }
  return found ? "" : "no kernel '" + name + "'; see --list";
}

std::string makeLaunch(const Command &command, const Kernel &kernel,
                       Memory &memory, LaunchConfig &config,
                       std::vector<Buffer> &buffers) {
  config = command.config;
  config.args.assign(kernel.explicitBytes(), 0);
  // Scalars and pointers fill the arguments in order; a by-value struct takes
  // as many as fit, each at its natural alignment.
  size_t at = 0;
  for (const std::string &spec : command.args) {
    std::vector<uint8_t> bytes;
    std::string problem = makeArg(spec, memory, buffers, bytes);
    if (!problem.empty())
      return "argument '" + spec + "': " + problem;
    at = (at + bytes.size() - 1) / bytes.size() * bytes.size();
    if (at + bytes.size() > config.args.size())
      return "argument '" + spec + "' is beyond the kernel's " +
             std::to_string(config.args.size()) + " bytes";
    std::copy(bytes.begin(), bytes.end(), config.args.begin() + long(at));
    at += bytes.size();
  }
  return "";
}

} // namespace hk::emu
