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
#include <fstream>
#include <iterator>
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
  --help
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

static void parseOne(const std::string &argument, Options &options) {
  size_t equals = argument.find('=');
  bool hasValue = equals != argument.npos;
  std::string name = argument.substr(0, equals);
  std::string value = hasValue ? argument.substr(equals + 1) : "";

  if (name == "--check") {
    options.check = true;
    options.checkSource = value;
    return;
  }
  if (name == "--counters") {
    if (hasValue && value != "json")
      bad(argument, "--counters or --counters=json");
    options.counters = hasValue ? CounterFormat::Json : CounterFormat::Table;
    return;
  }
  if (name == "--bench") {
    options.benchIterations =
        hasValue ? parseUnsigned(value, argument, 1u << 30) : 100;
    return;
  }
  for (auto [flag, field] : {std::pair("--info", &options.info),
                             std::pair("--poison", &options.poison),
                             std::pair("--help", &options.help)})
    if (argument == flag) {
      *field = true;
      return;
    }
  if (!hasValue || value.empty())
    bad(argument, "an option of hk-run --help, with its value");
  if (name == "--function")
    options.function = value;
  else if (name == "--device")
    options.device = value;
  else if (name == "--weights")
    options.weights = value;
  else if (name == "--check-weights")
    options.checkWeights = value;
  else if (name == "--threads")
    options.threads = parseUnsigned(value, argument, 1024);
  else if (name == "--rank")
    options.rank = parseUnsigned(value, argument, UINT32_MAX);
  else if (name == "--id-file")
    options.idFile = value;
  else if (name == "--timeout")
    options.timeoutMs = parseUnsigned(value, argument, UINT32_MAX);
  else if (name == "--shared")
    options.sharedBytes = parseUnsigned(value, argument, INT64_MAX);
  else if (name == "--random")
    options.seed = parseUnsigned(value, argument, INT64_MAX);
  else if (name == "--shuffle")
    options.shuffleSeed = parseUnsigned(value, argument, INT64_MAX);
  else if (name == "--data")
    options.data = parseData(value, argument);
  else if (name == "--trace")
    options.trace = value;
  else if (name == "--calls")
    options.callsFile = value;
  else if (name == "--input")
    options.inputs.insert(parsePair(value, argument));
  else if (name == "--write-expected")
    options.writeExpectedDirectory = value;
  else if (name == "--expected")
    options.expectedDirectory = value;
  else if (name == "--times")
    options.timesFile = value;
  else if (name == "--cold")
    options.coldBytes = parseUnsigned(value, argument, int64_t(1) << 40);
  else if (name == "--results")
    options.resultsDirectory = value;
  else if (name == "--output" && value.find('=') == value.npos)
    options.outputDirectory = value;
  else if (name == "--output")
    options.outputs.insert(parsePair(value, argument));
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
  if (options.module.empty() && !options.help)
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

std::vector<std::vector<std::string>>
hk::run::readCalls(const std::string &path,
                   const std::vector<std::string> &arguments) {
  std::ifstream file(path);
  if (!file)
    throw Failure("cannot read '" + path + "': " + std::strerror(errno));
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
