//===- Options.h - Command line of hk-run -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One struct that says what to do; parsing names the argument that is wrong.
//
//===----------------------------------------------------------------------===//

#ifndef HK_TOOLS_HK_RUN_OPTIONS_H
#define HK_TOOLS_HK_RUN_OPTIONS_H

#include "Counters.h"
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace hk::run {

/// What ends the program with a message; thrown inside the tool only.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A stream of the file at `path`; a Failure that says why there is none.
std::ifstream openFile(const std::string &path,
                       std::ios::openmode mode = std::ios::in);

/// Kinds of random floating-point data.
enum class Data { Normal, Equal, Huge, Tiny, NaN, Inf };

/// Values of a random integer input.
struct IntegerRange {
  enum class Kind {
    Uniform,  // in [low, high]
    Iota,     // counting up from `low`
    Bounds,   // of sequences: from 0 to `high`, not decreasing
    Lengths,  // of sequences that have `high` tokens together
    Distinct, // all different, in [0, high]; -1 when these run out
  };
  Kind kind = Kind::Uniform;
  int64_t low = 0, high = 0;
};

struct Options {
  std::string module;
  std::string function; // empty: the only one
  std::string device = "host";
  std::string weights;      // empty: the file the module names
  std::string checkWeights; // empty: the same
  uint32_t threads = 0;
  /// Of a module with a mesh: the rank that makes no call, and how long one
  /// that does waits for others; 0: the runtime's default.
  uint32_t rank = 0, timeoutMs = 0;
  std::string idFile; // empty: ranks meet by MPI
  uint64_t sharedBytes = 0;
  uint64_t seed = 0, shuffleSeed = 0;
  Data data = Data::Normal;
  std::map<std::string, std::string> inputs;  // name -> .npy file
  std::map<std::string, std::string> outputs; // name -> .npy file
  std::string outputDirectory;
  std::string resultsDirectory; // of a call on another machine
  std::map<std::string, int64_t> dims;
  std::map<std::string, IntegerRange> ranges;
  /// Of --write-expected: what the reference expects goes there, no call.
  std::string writeExpectedDirectory;
  std::string expectedDirectory; // of --expected
  std::string timesFile;         // of --times
  uint64_t coldBytes = 0;        // of --cold
  bool info = false, poison = false, help = false, version = false;
  bool check = false;
  std::string checkSource; // empty: the module's name with .mlir
  std::string callsFile;   // empty: one call, of these options
  std::optional<uint32_t> benchIterations;
  CounterFormat counters = CounterFormat::Off;
  std::string trace; // file; empty: none
};

/// Whether a call is made at all; else there is neither device nor code.
inline bool makesCall(const Options &options) {
  return options.resultsDirectory.empty() &&
         options.writeExpectedDirectory.empty();
}

extern const char *const kUsage;

Options parseOptions(const std::vector<std::string> &arguments);

/// `options` with the number of the rank for every "{rank}" in names of files.
Options optionsOfRank(Options options, uint32_t rank);

/// The arguments of every call that the file of --calls asks for: those of the
/// command line, then those of the line. What is given twice counts as given
/// last.
std::vector<std::vector<std::string>>
readCalls(const std::string &path, const std::vector<std::string> &arguments);

const char *dataName(Data data);

} // namespace hk::run

#endif // HK_TOOLS_HK_RUN_OPTIONS_H
