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

#include "ChipTiming.h"
#include "Command.h"
#include <cerrno>
#include <cstdio>
#include <cstring>

using namespace hk::emu;

namespace {

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

int run(const Command &command, const CodeObject &object, Memory &memory) {
  const Kernel *kernel;
  std::string problem = findKernel(object, command.run, kernel);
  if (!problem.empty())
    return refuse(problem);
  LaunchConfig config;
  std::vector<Buffer> buffers;
  problem = makeLaunch(command, *kernel, memory, config, buffers);
  if (!problem.empty())
    return refuse(problem);
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
      problem =
          writeFile(b.path, reinterpret_cast<const char *>(b.address), b.size);
      if (!problem.empty())
        return refuse(problem);
    }
  return result.findings.empty() ? 0 : 1;
}

int runCommand(int argc, char **argv) {
  Command command;
  std::string problem = parseCommand(argc, argv, command);
  if (!problem.empty())
    return refuse(problem);
  if (command.help || command.version) {
    std::fputs(command.help ? kUsage : "hk-emu " HK_VERSION "\n", stdout);
    return 0;
  }
  if (command.constants) {
    std::fputs(constantsTable().c_str(), stdout);
    return 0;
  }
  if (command.compare)
    return compareFiles(command);
  Memory memory;
  if (!memory.valid())
    return refuse("cannot reserve address space for the device memory");
  LoadedFile file;
  problem = loadFile(command.files[0], command.chip, memory, file);
  if (!problem.empty())
    return refuse(problem);
  if (command.list)
    list(*file.object);
  if (command.disassemble)
    disassemble(*file.object);
  if (command.run.empty())
    return 0;
  return command.timing ? timeKernel(command, *file.object, memory)
                        : run(command, *file.object, memory);
}

} // namespace

int main(int argc, char **argv) {
  int status = runCommand(argc, argv);
  if (std::fflush(stdout) != 0)
    return refuse(std::string("cannot write to standard output: ") +
                  std::strerror(errno));
  return status;
}
