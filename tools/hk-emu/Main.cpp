//===- Main.cpp - Run one kernel of a code object -------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// hk-emu kernel.co --list | --disassemble | --run NAME with its arguments:
// prints a report of findings, counters and the outputs asked for.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

using namespace hk::emu;

namespace {

const char kUsage[] =
    "usage: hk-emu FILE.co [--chip=CHIP] MODE\n"
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
    "     --json              findings and counters as JSON lines\n"
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

struct Buffer {
  uint64_t address = 0, size = 0;
  std::string path; ///< where to write it afterwards
};

struct Command {
  std::string file, chip, run;
  bool list = false, disassemble = false, json = false, counters = true;
  LaunchConfig config;
  std::vector<std::string> args;
};

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

void list(const CodeObject &object) {
  for (const Kernel &k : object.kernels()) {
    std::printf("%s: %u VGPRs (accumulators from %u), %u SGPRs, %u bytes LDS, "
                "%u bytes scratch, at most %u work-items\n",
                k.name.c_str(), k.vgprs, k.accumOffset, k.sgprs, k.ldsBytes,
                k.scratchBytes, k.maxWorkgroupSize);
    for (const KernelArg &a : k.args)
      std::printf("    +%-4u %u bytes  %s\n", a.offset, a.size, a.kind.c_str());
  }
}

void disassemble(const CodeObject &object) {
  for (const Inst &inst : object.program()) {
    for (const Kernel &k : object.kernels())
      if (k.entry == inst.pc)
        std::printf("%s:\n", k.name.c_str());
    std::printf("  %06llx  %-10s  %s", static_cast<unsigned long long>(inst.pc),
                className(inst.op->cls), inst.text);
    if (inst.target >= 0)
      std::printf("    -> %06llx",
                  static_cast<unsigned long long>(
                      object.program()[size_t(inst.target)].pc));
    std::printf("\n");
  }
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

int run(const Command &command, const CodeObject &object, Memory &memory) {
  const Kernel *kernel = object.kernel(command.run);
  if (!kernel)
    return refuse("no kernel '" + command.run + "'; see --list");
  LaunchConfig config = command.config;
  config.args.assign(kernel->explicitBytes(), 0);
  std::vector<Buffer> buffers;
  // Scalars and pointers fill the arguments in order; a by-value struct takes
  // as many as fit, each at its natural alignment.
  size_t at = 0;
  for (const std::string &spec : command.args) {
    std::vector<uint8_t> bytes;
    if (!makeArg(spec, memory, buffers, bytes))
      return refuse("bad argument '" + spec + "'");
    at = (at + bytes.size() - 1) / bytes.size() * bytes.size();
    if (at + bytes.size() > config.args.size())
      return refuse("argument '" + spec + "' is beyond the kernel's " +
                    std::to_string(config.args.size()) + " bytes");
    std::copy(bytes.begin(), bytes.end(), config.args.begin() + long(at));
    at += bytes.size();
  }
  Options options = optionsFromEnvironment();
  options.counters = command.counters;
  LaunchResult result = launchKernel(object, *kernel, memory, config, options);
  if (!result.error.empty())
    return refuse(result.error);
  for (const Finding &f : result.findings)
    std::printf("%s\n", (command.json ? f.json() : f.text()).c_str());
  if (command.counters)
    std::printf("%s\n",
                result.counters.json(kernel->name, object.chip().name).c_str());
  if (!command.json)
    std::printf("%zu finding(s), %llu wave instructions in %.3f s\n",
                result.findings.size(),
                static_cast<unsigned long long>(result.counters.total()),
                result.seconds);
  for (const Buffer &b : buffers)
    if (!b.path.empty()) {
      std::ofstream out(b.path, std::ios::binary);
      out.write(reinterpret_cast<const char *>(b.address), long(b.size));
    }
  return result.findings.empty() ? 0 : 1;
}

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
    else if (c.file.empty() && arg[0] != '-')
      c.file = arg;
    else
      ok = false;
    if (!ok)
      return false;
  }
  return !c.file.empty() && (c.list || c.disassemble || !c.run.empty());
}

} // namespace

int main(int argc, char **argv) {
  Command command;
  if (!parseCommand(argc, argv, command)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  std::string data, error;
  if (!readFile(command.file, data))
    return refuse("cannot read '" + command.file + "'");
  const Chip *chip =
      findChip(command.chip.empty() ? chipOf(data) : command.chip);
  if (!chip)
    return refuse("the object is for no emulated chip; see --chip");
  Memory memory;
  if (!memory.valid())
    return refuse("cannot reserve address space for the device memory");
  auto object =
      CodeObject::load(data.data(), data.size(), *chip, memory, error);
  if (!object)
    return refuse(error);
  if (command.list)
    list(*object);
  if (command.disassemble)
    disassemble(*object);
  return command.run.empty() ? 0 : run(command, *object, memory);
}
