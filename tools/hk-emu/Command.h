//===- Command.h - The command line of hk-emu -------------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the user asks for, and the launch it describes.
//
//===----------------------------------------------------------------------===//

#ifndef HK_TOOLS_HK_EMU_COMMAND_H
#define HK_TOOLS_HK_EMU_COMMAND_H

#include "Launch.h"
#include <string>
#include <vector>

namespace hk::emu {

extern const char kUsage[];

struct Command {
  std::vector<std::string> files;
  std::string chip, run, timeline;
  bool timing = false, full = false, warm = false, compare = false;
  bool constants = false, help = false, version = false;
  std::vector<std::string> sets; ///< of constants
  bool list = false, disassemble = false, json = false, counters = true;
  LaunchConfig config;
  std::vector<std::string> args;
};

/// Returns what is wrong with the command line, or nothing.
std::string parseCommand(int argc, char **argv, Command &command);

/// Says why on stderr; the exit status.
int refuse(const std::string &text);
/// Reads or writes a whole file. Returns why not, or nothing; what was written
/// of a file is removed then.
std::string readFile(const std::string &path, std::string &data);
std::string writeFile(const std::string &path, const char *data, size_t size);

struct LoadedFile {
  std::string data;
  std::unique_ptr<CodeObject> object;
};
/// Loads a code object for the chip named, or else the one it was compiled
/// for. Returns why not, or nothing.
std::string loadFile(const std::string &path, const std::string &chip,
                     Memory &memory, LoadedFile &file);

/// The kernel whose symbol is `name`, or whose name in the source is, if it is
/// the only one. Returns why there is none, or nothing.
std::string findKernel(const CodeObject &object, const std::string &name,
                       const Kernel *&found);

struct Buffer {
  uint64_t address = 0, size = 0;
  std::string path; ///< where to write it afterwards
};
/// The launch with its arguments in device memory. Returns why not, or nothing.
std::string makeLaunch(const Command &command, const Kernel &kernel,
                       Memory &memory, LaunchConfig &config,
                       std::vector<Buffer> &buffers);

/// hk-emu --timing and --compare; exit statuses.
int timeKernel(const Command &command, const CodeObject &object,
               Memory &memory);
int compareFiles(const Command &command);

} // namespace hk::emu

#endif // HK_TOOLS_HK_EMU_COMMAND_H
