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
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

namespace hk::emu {

const char kUsage[] =
    "usage: hk-emu [FILE.co] [--chip=CHIP] MODE\n"
    "  --list                 kernels with their resources and arguments\n"
    "  --disassemble          decoded instructions with their handlers' class\n"
    "  --run=KERNEL           run it:\n"
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
    "CHIP is a product (mi300x, mi325x, mi355x) or a target (gfx942, gfx950).\n"
    "Arguments are laid out by the kernel's metadata. The exit status is 1 if\n"
    "there are findings and 2 if the object or the command is refused.\n";

int refuse(const std::string &text) {
  std::fprintf(stderr, "hk-emu: %s\n", text.c_str());
  return 2;
}

bool readFile(const std::string &path, std::string &data) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return false;
  data.assign(std::istreambuf_iterator<char>(in),
              std::istreambuf_iterator<char>());
  return true;
}

namespace {

bool parseTriple(const std::string &text, uint32_t out[3]) {
  const char *p = text.c_str();
  for (int d = 0; d < 3; ++d) {
    char *end;
    out[d] = uint32_t(std::strtoul(p, &end, 0));
    if (end == p)
      return false;
    if (!*end) {
      for (int rest = d + 1; rest < 3; ++rest)
        out[rest] = 1;
      return true;
    }
    if (*end != ',')
      return false;
    p = end + 1;
  }
  return false;
}

/// The chip the file was compiled for, from its ELF flags.
std::string chipOf(const std::string &data) {
  if (data.size() < 64)
    return "";
  uint32_t flags;
  std::memcpy(&flags, data.data() + 48, 4);
  return (flags & 0xff) == 0x4c   ? "gfx942"
         : (flags & 0xff) == 0x4f ? "gfx950"
                                  : "";
}

/// Turns one --arg into its bytes and, for buffers, device memory.
bool makeArg(const std::string &spec, Memory &memory,
             std::vector<Buffer> &buffers, std::vector<uint8_t> &bytes) {
  size_t colon = spec.find(':');
  std::string kind = spec.substr(0, colon);
  std::string value = colon == std::string::npos ? "" : spec.substr(colon + 1);
  auto put = [&](const auto &v) {
    const auto *p = reinterpret_cast<const uint8_t *>(&v);
    bytes.assign(p, p + sizeof v);
    return true;
  };
  if (kind == "i32")
    return put(int32_t(std::strtoll(value.c_str(), nullptr, 0)));
  if (kind == "i64")
    return put(int64_t(std::strtoll(value.c_str(), nullptr, 0)));
  if (kind == "f32")
    return put(std::strtof(value.c_str(), nullptr));
  std::string data;
  Buffer buffer;
  if (kind == "in") {
    if (!readFile(value, data))
      return false;
    buffer.size = data.size();
  } else if (kind == "out" || kind == "zero") {
    size_t second = value.find(':');
    buffer.size = std::strtoull(value.c_str(), nullptr, 0);
    if (second != std::string::npos)
      buffer.path = value.substr(second + 1);
  } else {
    return false;
  }
  buffer.address = memory.allocate(buffer.size, spec);
  if (!buffer.address)
    return false;
  if (kind != "out") {
    std::memcpy(reinterpret_cast<void *>(buffer.address), data.data(),
                data.size());
    memory.setDefined(buffer.address, buffer.size);
  }
  buffers.push_back(buffer);
  return put(buffer.address);
}

} // namespace

bool parseCommand(int argc, char **argv, Command &c) {
  c.config.block[0] = 64;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    size_t eq = arg.find('=');
    std::string name = arg.substr(0, eq);
    std::string value = eq == std::string::npos ? "" : arg.substr(eq + 1);
    bool ok = true;
    if (name == "--list")
      c.list = true;
    else if (name == "--disassemble")
      c.disassemble = true;
    else if (name == "--json")
      c.json = true;
    else if (name == "--no-counters")
      c.counters = false;
    else if (name == "--timing")
      c.timing = true;
    else if (name == "--full")
      c.full = true;
    else if (name == "--warm")
      c.warm = true;
    else if (name == "--compare")
      c.compare = true;
    else if (name == "--constants")
      c.constants = true;
    else if (name == "--set")
      c.sets.push_back(value);
    else if (name == "--timeline")
      c.timeline = value;
    else if (name == "--chip")
      c.chip = value;
    else if (name == "--run")
      c.run = value;
    else if (name == "--grid")
      ok = parseTriple(value, c.config.grid);
    else if (name == "--block")
      ok = parseTriple(value, c.config.block);
    else if (name == "--lds")
      c.config.dynamicLds = uint32_t(std::strtoul(value.c_str(), nullptr, 0));
    else if (name == "--arg")
      c.args.push_back(value);
    else if (arg[0] != '-')
      c.files.push_back(arg);
    else
      ok = false;
    if (!ok)
      return false;
  }
  if (c.constants)
    return c.files.empty();
  if (c.compare)
    return c.files.size() == 2;
  return c.files.size() == 1 && (c.list || c.disassemble || !c.run.empty()) &&
         (!c.timing || !c.run.empty());
}

std::string loadFile(const std::string &path, const std::string &chipName,
                     Memory &memory, LoadedFile &file) {
  if (!readFile(path, file.data))
    return "cannot read '" + path + "'";
  const Chip *chip = findChip(chipName.empty() ? chipOf(file.data) : chipName);
  if (!chip)
    return "'" + path + "' is for no emulated chip; see --chip";
  std::string error;
  file.object = CodeObject::load(file.data.data(), file.data.size(), *chip,
                                 memory, error);
  return file.object ? "" : error;
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
    if (!makeArg(spec, memory, buffers, bytes))
      return "bad argument '" + spec + "'";
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
