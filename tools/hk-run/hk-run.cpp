//===- hk-run.cpp - Runs a function of a compiled module -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads or makes the inputs, calls once, reports, and on request checks, writes
// and times.
//
//===----------------------------------------------------------------------===//

#include "Mesh.h"
#include "Npy.h"
#include "Session.h"
#include "Times.h"
#include "Trace.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <numeric>

#include <sys/stat.h>

using namespace hk;
using namespace hk::run;

static const char *roleName(Role role) {
  switch (role) {
  case Role::Input:
    return "input";
  case Role::State:
    return "state";
  case Role::Output:
    return "output";
  }
  return "";
}

static void reportTensors(const Session &session) {
  for (const Argument &arg : session.arguments()) {
    const HostTensor &host = arg.role == Role::Output ? arg.after : arg.before;
    std::string note = arg.origin;
    if (arg.role != Role::Input)
      note += (note.empty() ? "" : "; after: ") + summarize(arg.after);
    std::printf("  %-6s %-14s %-24s %s\n", roleName(arg.role), arg.name.c_str(),
                typeText(host).c_str(), note.c_str());
  }
  std::printf("  workspace %llu bytes\n",
              static_cast<unsigned long long>(session.workspaceBytes()));
}

/// `calls`: how many the profile is of; `which` says it to people.
static void reportProfile(const hk_profile *profile, uint32_t calls,
                          const std::string &which) {
  uint32_t count = hk_profile_num_entries(profile);
  if (count == 0)
    return;
  std::printf("  %8s %11s %11s  kernel, %s\n", "launches", "us a call",
              "min us", which.c_str());
  double total = 0;
  for (uint32_t i = 0; i < count; ++i) {
    hk_profile_entry entry = hk_profile_get(profile, i);
    double each = entry.total_us / calls;
    total += each;
    std::printf("  %8llu %11.2f %11.2f  %s (%s)\n",
                static_cast<unsigned long long>(entry.launches / calls), each,
                entry.min_us, entry.variant, entry.ops);
  }
  std::printf("  %8s %11.2f\n", "all", total);
}

static void reportBench(std::vector<double> times) {
  if (times.empty())
    return;
  std::sort(times.begin(), times.end());
  double mean = std::accumulate(times.begin(), times.end(), 0.0) /
                static_cast<double>(times.size());
  std::printf("  %zu calls: min %.2f us, median %.2f us, mean %.2f us\n",
              times.size(), times.front(), times[times.size() / 2], mean);
}

/// Where a state or output is written; empty: nowhere.
static std::string outputFile(const Argument &arg, const Options &options) {
  auto chosen = options.outputs.find(arg.name);
  if (chosen != options.outputs.end())
    return chosen->second;
  return options.outputDirectory.empty()
             ? ""
             : resultFile(options.outputDirectory, arg.name);
}

/// Before the call, which may take long: every file is written once, and none
/// is the module.
static void checkOutputFiles(const Session &session, const Options &options) {
  std::map<std::string, std::string> written{{options.module, "the module"}};
  auto claim = [&](const std::string &file, const std::string &what) {
    std::string path = std::filesystem::path(file).lexically_normal().string();
    auto [other, isNew] = written.emplace(path, what);
    std::error_code ignored; // a device takes several
    if (!isNew && !std::filesystem::is_character_file(path, ignored))
      throw Failure("cannot write " + what + " to '" + file + "', which is " +
                    other->second + "; name another file");
  };
  if (!options.trace.empty())
    claim(options.trace, "the trace");
  for (const Argument &arg : session.arguments()) {
    std::string file = arg.role == Role::Input ? "" : outputFile(arg, options);
    if (!file.empty())
      claim(file, "'" + arg.name + "'");
  }
}

static void writeOutputs(const Session &session, const Options &options) {
  if (!options.outputDirectory.empty() &&
      mkdir(options.outputDirectory.c_str(), 0777) != 0 && errno != EEXIST)
    throw Failure("cannot make the folder '" + options.outputDirectory +
                  "': " + std::strerror(errno));
  for (const Argument &arg : session.arguments()) {
    if (arg.role == Role::Input) {
      if (options.outputs.count(arg.name))
        throw Failure("--output=" + arg.name + ": it is an input");
      continue;
    }
    std::string file = outputFile(arg, options);
    if (!file.empty())
      writeNpy(file, arg.after);
  }
}

/// --trace, of the calls that the session profiled.
static void trace(const Session &session, const Options &options,
                  const std::optional<CounterFile> &counters) {
  if (options.trace.empty())
    return;
  writeTrace(options.trace,
             {options.module, session.place(), session.profile(),
              counters ? counters->launches() : std::vector<LaunchCounters>()});
}

/// Prints, for every state and output, its largest error beside the bound. 0
/// when all are within their bounds, else 1.
static int compareResults(const Session &session,
                          const std::vector<Expected> &expected) {
  bool agrees = true;
  for (const Expected &tensor : expected)
    for (const Argument &arg : session.arguments())
      if (arg.name == tensor.name) {
        Comparison result = compare(tensor, arg.after);
        agrees &= result.agrees();
        std::printf("check %s: %s, %s\n", arg.name.c_str(),
                    result.agrees() ? "ok" : "FAILED", result.text().c_str());
      }
  std::printf("check @%s on %s: %s\n", session.functionName().c_str(),
              session.target().c_str(),
              agrees ? "all within their bounds" : "DIFFERS");
  return agrees ? 0 : 1;
}

/// Every state and output, from the folder of --expected.
static std::vector<Expected> readAllExpected(const Session &session,
                                             const std::string &folder) {
  std::vector<Expected> expected;
  for (const Argument &arg : session.arguments())
    if (arg.role != Role::Input)
      expected.push_back(readExpected(folder, arg.name, arg.before.dtype));
  return expected;
}

/// The status of --check, --expected or --write-expected; 0 without them.
static int checkResults(const Session &session, const Options &options,
                        const MeshRank &ranks) {
  if (!options.expectedDirectory.empty())
    return compareResults(session,
                          readAllExpected(session, options.expectedDirectory));
  if (!options.check)
    return 0;
  // The reference prints through a stream of its own.
  std::fflush(stdout);
  std::vector<Expected> expected;
  if (!ranks.evaluate(session, options, expected))
    return 2;
  if (options.writeExpectedDirectory.empty())
    return compareResults(session, expected);
  writeExpected(options.writeExpectedDirectory, expected);
  return 0;
}

/// Options that exclude each other.
static void checkOptions(const Options &options) {
  bool writes = !options.writeExpectedDirectory.empty();
  if (!makesCall(options) &&
      (options.benchIterations || !options.trace.empty() ||
       options.counters != CounterFormat::Off))
    throw Failure(std::string(writes ? "--write-expected" : "--results") +
                  " makes no call that --bench, --trace or --counters could "
                  "look at");
  if (writes && (!options.check || !options.resultsDirectory.empty() ||
                 !options.outputDirectory.empty() || !options.outputs.empty()))
    throw Failure("--write-expected needs --check=SOURCE and no results");
  if (options.check && !options.expectedDirectory.empty())
    throw Failure("--check asks the interpreter, --expected a folder; choose "
                  "one");
  if ((!options.timesFile.empty() && !options.benchIterations) ||
      (options.coldBytes && options.timesFile.empty()))
    throw Failure("--times goes with --bench, --cold with --times");
}

static void report(const Session &session, const Options &options) {
  std::printf("%s of %s on %s\n", session.functionName().c_str(),
              options.module.c_str(), session.place().c_str());
  reportTensors(session);
  reportProfile(session.profile(), 1, "of the first call");
}

static void timeCalls(Session &session, const Options &options) {
  uint32_t iterations = *options.benchIterations;
  if (!options.timesFile.empty()) {
    appendTimes(options.timesFile, session, iterations, options.coldBytes);
    return;
  }
  reportBench(session.bench(iterations));
  uint32_t profiled = std::min(iterations, Session::kProfiledCalls);
  reportProfile(session.profile(), profiled,
                "mean of " + std::to_string(profiled) + " warm calls");
}

/// Whether launches are counted: for --counters and, on the emulator, --trace.
static bool countsLaunches(const Options &options) {
  bool emulated = options.device.rfind("hip:", 0) == 0; // as it may be
  return options.counters != CounterFormat::Off ||
         (emulated && !options.trace.empty());
}

static int callOnce(const Options &given, MeshRank &ranks) {
  checkOptions(given);
  Options options = ranks.open(given);
  std::optional<CounterFile> counters;
  if (countsLaunches(options))
    counters.emplace(/*modelled=*/!options.trace.empty());
  Session session(options, nullptr, ranks.comm());
  checkOutputFiles(session, options);
  if (!options.writeExpectedDirectory.empty())
    return checkResults(session, options, ranks);
  if (makesCall(options))
    session.runOnce();
  else
    session.readResults(options.resultsDirectory);
  // Alone on standard output, so that it can be piped.
  if (options.counters != CounterFormat::Json)
    report(session, options);
  if (options.counters != CounterFormat::Off)
    std::fputs(counters->report(options.counters, options.device).c_str(),
               stdout);
  writeOutputs(session, options);
  int result = checkResults(session, options, ranks);
  if (options.benchIterations)
    timeCalls(session, options);
  trace(session, options, counters);
  return result;
}

static int runTool(const Options &options, MeshRank &ranks) {
  if (options.help) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  if (options.version) {
    std::printf("hk-run %s\n", hk_runtime_version());
    return 0;
  }
  if (options.info) {
    ModuleHandle module = openModule(options.module);
    std::printf("%s\n", hk_module_json(module.get()));
    return 0;
  }
  return callOnce(options, ranks);
}

/// What `run` returns, or 2 after saying what stopped it.
template <class Run> static int reportFailure(Run run) {
  try {
    int status = run();
    if (std::fflush(stdout) != 0)
      throw Failure(std::string("cannot write to standard output: ") +
                    std::strerror(errno));
    return status;
  } catch (const std::exception &e) {
    std::fflush(stdout);
    std::fprintf(stderr, "hk-run: %s\n", e.what());
    return 2;
  }
}

static int runCalls(const std::string &file,
                    const std::vector<std::string> &arguments,
                    MeshRank &ranks) {
  int worst = 0;
  for (const std::vector<std::string> &call : readCalls(file, arguments)) {
    std::string line;
    for (size_t i = arguments.size(); i < call.size(); ++i)
      line += " " + call[i];
    std::printf("call%s\n", line.c_str());
    std::fflush(stdout);
    int status =
        reportFailure([&] { return runTool(parseOptions(call), ranks); });
    std::printf("exit status %d\n", status);
    // Whoever reads along knows of this call before the next one hangs.
    std::fflush(stdout);
    worst = std::max(worst, status);
  }
  return worst;
}

int main(int argc, char **argv) {
  std::signal(SIGXFSZ, SIG_IGN); // a file that may not grow is an error
  // It leaves the other ranks after a failure was printed: when one of them has
  // ended, mpirun ends all.
  MeshRank ranks;
  return reportFailure([&] {
    std::vector<std::string> arguments(argv + 1, argv + argc);
    Options options = parseOptions(arguments);
    return options.callsFile.empty()
               ? runTool(options, ranks)
               : runCalls(options.callsFile, arguments, ranks);
  });
}
