//===- Options.cpp - Command line of hk-run -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --name=value options; those for one tensor or dimension repeat.
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

using namespace hk::run;

const char *const hk::run::kUsage =
    R"(usage: hk-run model.so [options]: call a function of a compiled module

what to run
  --function=NAME        the function; may be left out when there is only one
  --device=DEVICE        host (default), hip:N or cuda:N; HK_HIP_LIBRARY names
                         the HIP library to use, for example the emulator's
  --threads=N            host threads; default all cores
  --weights=FILE         safetensors file; default: the one the module names
  --check-weights=FILE   that of the source that --check reads; default: the same

inputs (states too); what is not given is random
  --input=NAME=X.npy     bf16 and 8-bit floats as raw unsigned integers, or any
                         float type from f4, rounded; 4 bits as packed bytes
  --dim=d0=17            a dynamic size of random inputs; see --info
  --random=SEED          default 0
  --data=KIND            normal (default), equal, huge, tiny, nan, inf
  --range=NAME=LO:HI     integers of a random input; by default what the
                         operators that read it can use, see --info
  --range=NAME=iota[:LO] integers that count up
  --range=NAME=bounds:HI first tokens of random sequences, some of them empty,
                         that have HI tokens together
  --range=NAME=lengths:HI  the lengths of such sequences
  --range=NAME=distinct:HI  different integers from 0 to HI; -1 when they run out

results
  --output=DIR           write every output and state as DIR/NAME.npy
  --output=NAME=Y.npy    write one
  --check[=MODEL.mlir]   compare with the reference interpreter
  --write-expected=DIR   do not call: write what the reference interpreter
                         expects of every output and state, and how far a result
                         may be from it, as DIR/values and DIR/bounds; --check
                         names the source
  --expected=DIR         compare with what --write-expected wrote; needs no
                         compiler
  --results=DIR          do not call: take the results from DIR, which --output
                         wrote on another machine, for example to --check them
  --bench[=ITERATIONS]   time calls; default 100
  --trace=FILE           write the launches of the call, or of the profiled calls
                         of --bench, as a Chrome trace, which ui.perfetto.dev
                         opens; on the emulator with the times it models
  --times=FILE           with --bench: append the times of every kernel to FILE,
                         as a line of JSON: of the first call, of warm ones and
                         with --cold of cold ones
  --cold=BYTES           for --times: call on copies of the arguments that no
                         cache of up to this size holds
  --counters[=json]      instructions, clocks and traffic of each kernel, of a
                         device that counts them (the emulator)

several ranks, of a module with a mesh: mpirun -n RANKS hk-run model.so ...
  {rank} in the name of a file of inputs or results is the number of the rank;
  random inputs are the same on all of them. --check evaluates all ranks.
  --timeout=MS           how long to wait for another rank; default 30000
  --shared=BYTES         memory of each rank that the others' kernels write
  --rank=R               the rank meant where no call is made
  --id-file=FILE         without mpirun: ranks of this machine meet in FILE, which
                         the first makes; each is started with its own --rank

other
  --calls=FILE           one call for each line of the file, which holds more
                         options, each on a device opened for it; all of them are
                         made, and the worst decides the exit status
  --info                 print the module's self-description and stop
  --poison               fill fresh memory with NaN and fence it (debug memory)
  --shuffle=SEED         host: run the blocks of a launch in random order
  --version, --help
)";

[[noreturn]] static void bad(const std::string &argument,
                             const std::string &expected) {
  throw Failure("'" + argument + "': expected " + expected);
}

static int64_t parseInteger(const std::string &text,
                            const std::string &argument) {
  char *end = nullptr;
  errno = 0;
  long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end || errno)
    bad(argument, "an integer, got '" + text + "'");
  return value;
}

static uint64_t parseUnsigned(const std::string &text,
                              const std::string &argument, uint64_t most) {
  int64_t value = parseInteger(text, argument);
  if (value < 0 || static_cast<uint64_t>(value) > most)
    bad(argument, "an integer from 0 to " + std::to_string(most));
  return value;
}

/// "name=value" -> {name, value}.
static std::pair<std::string, std::string>
parsePair(const std::string &text, const std::string &argument) {
  size_t equals = text.find('=');
  if (equals == text.npos || equals == 0 || equals + 1 == text.size())
    bad(argument, "NAME=VALUE behind the first '='");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// A file for a name that has none yet.
static void addFile(std::map<std::string, std::string> &files,
                    const std::string &text, const std::string &argument) {
  auto [known, isNew] = files.insert(parsePair(text, argument));
  if (!isNew)
    bad(argument, "one file for '" + known->first + "'; '" + known->second +
                      "' was given already");
}

static IntegerRange parseRange(const std::string &text,
                               const std::string &argument) {
  IntegerRange range;
  size_t colon = text.find(':');
  std::string first = text.substr(0, colon);
  bool hasSecond = colon != text.npos;
  std::string second = hasSecond ? text.substr(colon + 1) : "";
  if (first == "iota") {
    range.kind = IntegerRange::Kind::Iota;
    range.low = hasSecond ? parseInteger(second, argument) : 0;
    return range;
  }
  if (!hasSecond)
    bad(argument, "LO:HI, iota, bounds:HI, lengths:HI or distinct:HI");
  for (auto [name, kind] :
       {std::pair("bounds", IntegerRange::Kind::Bounds),
        std::pair("lengths", IntegerRange::Kind::Lengths),
        std::pair("distinct", IntegerRange::Kind::Distinct)})
    if (first == name) {
      range.kind = kind;
      range.high = parseInteger(second, argument);
      if (range.high < 0)
        bad(argument, "a number of at least 0 behind " + first);
      return range;
    }
  range.low = parseInteger(first, argument);
  range.high = parseInteger(second, argument);
  if (range.low > range.high)
    bad(argument, "a range LO:HI with LO <= HI");
  return range;
}

static constexpr std::pair<const char *, Data> kData[] = {
    {"normal", Data::Normal}, {"equal", Data::Equal}, {"huge", Data::Huge},
    {"tiny", Data::Tiny},     {"nan", Data::NaN},     {"inf", Data::Inf}};

const char *hk::run::dataName(Data data) {
  for (const auto &[name, value] : kData)
    if (value == data)
      return name;
  return "";
}

static Data parseData(const std::string &text, const std::string &argument) {
  for (const auto &[name, value] : kData)
    if (text == name)
      return value;
  bad(argument, "normal, equal, huge, tiny, nan or inf");
}

/// Options that need no value. False: it is none of them.
static bool parseFlag(const std::string &argument, const std::string &name,
                      const std::optional<std::string> &value,
                      Options &options) {
  for (auto [flag, field] : {std::pair("--info", &options.info),
                             std::pair("--poison", &options.poison),
                             std::pair("--version", &options.version),
                             std::pair("--help", &options.help)})
    if (argument == flag)
      return *field = true;
  if (name == "--check") {
    options.check = true;
    options.checkSource = value.value_or("");
  } else if (name == "--counters") {
    if (value && *value != "json")
      bad(argument, "--counters or --counters=json");
    options.counters = value ? CounterFormat::Json : CounterFormat::Table;
  } else if (name == "--bench") {
    options.benchIterations =
        value ? parseUnsigned(*value, argument, 1u << 30) : 100;
  } else {
    return false;
  }
  return true;
}

/// Options whose value is a text: a name, a file or a folder.
static std::string *textOption(const std::string &name, Options &options) {
  for (auto [option, field] :
       {std::pair("--function", &options.function),
        std::pair("--device", &options.device),
        std::pair("--weights", &options.weights),
        std::pair("--check-weights", &options.checkWeights),
        std::pair("--id-file", &options.idFile),
        std::pair("--trace", &options.trace),
        std::pair("--calls", &options.callsFile),
        std::pair("--write-expected", &options.writeExpectedDirectory),
        std::pair("--expected", &options.expectedDirectory),
        std::pair("--times", &options.timesFile),
        std::pair("--results", &options.resultsDirectory)})
    if (name == option)
      return field;
  return nullptr;
}

/// Options whose value is a number. False: it is none of them.
static bool parseNumber(const std::string &argument, const std::string &name,
                        const std::string &value, Options &options) {
  auto upTo = [&](uint64_t most) {
    return parseUnsigned(value, argument, most);
  };
  if (name == "--threads")
    options.threads = upTo(1024);
  else if (name == "--rank")
    options.rank = upTo(UINT32_MAX);
  else if (name == "--timeout")
    options.timeoutMs = upTo(UINT32_MAX);
  else if (name == "--shared")
    options.sharedBytes = upTo(INT64_MAX);
  else if (name == "--random")
    options.seed = upTo(INT64_MAX);
  else if (name == "--shuffle")
    options.shuffleSeed = upTo(INT64_MAX);
  else if (name == "--cold")
    options.coldBytes = upTo(uint64_t(1) << 40);
  else
    return false;
  return true;
}

static void parseOne(const std::string &argument, Options &options) {
  size_t equals = argument.find('=');
  std::string name = argument.substr(0, equals);
  std::optional<std::string> given;
  if (equals != argument.npos)
    given = argument.substr(equals + 1);
  if (parseFlag(argument, name, given, options))
    return;
  if (!given || given->empty())
    bad(argument, "an option of hk-run --help, with its value");
  const std::string &value = *given;
  if (parseNumber(argument, name, value, options))
    return;
  if (std::string *text = textOption(name, options))
    *text = value;
  else if (name == "--data")
    options.data = parseData(value, argument);
  else if (name == "--input")
    addFile(options.inputs, value, argument);
  else if (name == "--output" && value.find('=') == value.npos)
    options.outputDirectory = value;
  else if (name == "--output")
    addFile(options.outputs, value, argument);
  else if (name == "--dim") {
    auto [dim, size] = parsePair(value, argument);
    options.dims[dim] = parseUnsigned(size, argument, INT64_MAX);
  } else if (name == "--range") {
    auto [input, range] = parsePair(value, argument);
    options.ranges[input] = parseRange(range, argument);
  } else
    bad(argument, "an option of hk-run --help");
}

Options hk::run::parseOptions(const std::vector<std::string> &arguments) {
  Options options;
  for (const std::string &argument : arguments) {
    if (argument.rfind("--", 0) == 0)
      parseOne(argument, options);
    else if (options.module.empty())
      options.module = argument;
    else
      bad(argument, "one module; '" + options.module + "' was given already");
  }
  if (options.module.empty() && !options.help && !options.version)
    throw Failure("no module given; see hk-run --help");
  return options;
}

Options hk::run::optionsOfRank(Options options, uint32_t rank) {
  const std::string mark = "{rank}", number = std::to_string(rank);
  auto fill = [&](std::string &name) {
    for (size_t at = 0; (at = name.find(mark, at)) != name.npos;
         at += number.size())
      name.replace(at, mark.size(), number);
  };
  for (auto *files : {&options.inputs, &options.outputs})
    for (auto &[name, file] : *files)
      fill(file);
  for (std::string *name :
       {&options.device, &options.outputDirectory, &options.resultsDirectory,
        &options.writeExpectedDirectory, &options.expectedDirectory,
        &options.trace, &options.timesFile})
    fill(*name);
  options.rank = rank;
  return options;
}

std::ifstream hk::run::openFile(const std::string &path,
                                std::ios::openmode mode) {
  // A folder opens, too, and then has no lines.
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored))
    throw Failure("cannot read '" + path + "': it is a folder; name a file");
  std::ifstream file(path, mode);
  if (!file)
    throw Failure("cannot read '" + path + "': " + std::strerror(errno));
  return file;
}

std::vector<std::vector<std::string>>
hk::run::readCalls(const std::string &path,
                   const std::vector<std::string> &arguments) {
  std::ifstream file = openFile(path);
  std::vector<std::vector<std::string>> calls;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::vector<std::string> call = arguments;
    call.insert(call.end(), std::istream_iterator<std::string>(words), {});
    if (call.size() == arguments.size())
      continue; // an empty line
    for (size_t i = arguments.size(); i < call.size(); ++i)
      if (call[i].rfind("--calls", 0) == 0)
        bad(call[i], "no --calls inside the file of --calls");
    calls.push_back(std::move(call));
  }
  if (calls.empty())
    throw Failure("'" + path + "' of --calls has no line with options");
  return calls;
}
