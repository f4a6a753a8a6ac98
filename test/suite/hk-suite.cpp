//===- hk-suite.cpp - All numeric cases together in one process -----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Usage: hk-suite THREADS SEED TARGET FOLDER
//
// The lit tests of test/Modules leave a record NAME.TARGET.json of each module
// in FOLDER, with every command line of hk-run. Every case runs by itself
// first, in a process of its own. Then all of them run in this process, in an
// order drawn from SEED, on THREADS threads that share one device with poisoned
// and fenced memory. Every state and output must come out as it did alone, bit
// for bit: a kernel that reads what another left behind, a workspace that two
// calls share or a race in the runtime does not.
//
//===----------------------------------------------------------------------===//

#include "Session.h"

#include <nlohmann/json.hpp>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <random>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

using namespace hk;
using namespace hk::run;

namespace {
struct Case {
  Options options;
  uint64_t alone = 0; // digest of the results in a process of its own

  std::string name() const {
    std::string text = options.module.substr(options.module.rfind('/') + 1) +
                       " @" + options.function + " " + dataName(options.data);
    for (const auto &[dim, size] : options.dims)
      text += " " + dim + "=" + std::to_string(size);
    return text;
  }
};

/// Adds the cases of one record; of an emulated chip, which is slow, those with
/// one kind of data.
void readCases(const std::filesystem::path &path, bool emulated,
               std::vector<Case> &cases) {
  std::ifstream file(path);
  auto record = nlohmann::json::parse(file);
  for (const auto &call : record.at("calls")) {
    auto words = call.get<std::vector<std::string>>();
    words.erase(words.begin()); // the program
    Options options = parseOptions(words);
    if (!emulated || options.data == Data::Normal)
      cases.push_back({options});
  }
}

std::vector<Case> readFolder(const std::string &folder,
                             const std::string &target) {
  std::vector<std::filesystem::path> records;
  std::string ending = "." + target + ".json";
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    std::string name = entry.path().filename();
    if (name.size() > ending.size() &&
        name.compare(name.size() - ending.size(), ending.size(), ending) == 0)
      records.push_back(entry.path());
  }
  std::sort(records.begin(), records.end());
  std::vector<Case> cases;
  for (const std::filesystem::path &record : records)
    readCases(record, target != "host", cases);
  if (cases.empty())
    throw Failure("'" + folder + "' has no record of " + target +
                  "; run the lit tests of test/Modules before");
  return cases;
}

/// Digest of every state and output of one call.
uint64_t results(const Options &options, hk_device *shared) {
  Session session(options, shared);
  session.runOnce();
  uint64_t digest = 0;
  for (const Argument &arg : session.arguments())
    if (arg.role != Role::Input)
      digest = XXH3_64bits_withSeed(arg.after.bytes.data(),
                                    arg.after.bytes.size(), digest);
  return digest;
}

/// The same in a process of its own.
uint64_t resultsAlone(const Case &one) {
  int ends[2];
  if (pipe(ends) != 0)
    throw Failure("pipe failed");
  pid_t child = fork();
  if (child < 0)
    throw Failure("fork failed");
  if (child == 0) {
    int status = 1;
    try {
      uint64_t digest = results(one.options, nullptr);
      status = write(ends[1], &digest, sizeof(digest)) != sizeof(digest);
    } catch (const std::exception &e) {
      std::fprintf(stderr, "hk-suite: %s alone: %s\n", one.name().c_str(),
                   e.what());
    }
    _exit(status);
  }
  close(ends[1]);
  uint64_t digest = 0;
  bool complete = read(ends[0], &digest, sizeof(digest)) == sizeof(digest);
  close(ends[0]);
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0 || !complete)
    throw Failure(one.name() + " does not run alone");
  return digest;
}

/// How many cases came out differently on a shared device.
unsigned runTogether(const std::vector<Case> &cases, unsigned threads,
                     uint64_t seed) {
  std::vector<const Case *> order(cases.size());
  for (size_t i = 0; i < cases.size(); ++i)
    order[i] = &cases[i];
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));

  Options shared = cases.front().options;
  shared.poison = true;
  DeviceHandle device = openDevice(shared);
  std::atomic<size_t> next = 0;
  std::atomic<unsigned> wrong = 0;
  std::mutex printing;
  auto work = [&] {
    for (size_t i; (i = next++) < order.size();) {
      std::string problem;
      try {
        if (results(order[i]->options, device.get()) != order[i]->alone)
          problem = "results differ from those alone";
      } catch (const std::exception &e) {
        problem = e.what();
      }
      if (problem.empty())
        continue;
      ++wrong;
      std::lock_guard<std::mutex> lock(printing);
      std::printf("%s: %s\n", order[i]->name().c_str(), problem.c_str());
    }
  };
  std::vector<std::thread> workers(threads);
  for (std::thread &worker : workers)
    worker = std::thread(work);
  for (std::thread &worker : workers)
    worker.join();
  return wrong;
}
} // namespace

int main(int argc, char **argv) {
  try {
    if (argc != 5)
      throw Failure("usage: hk-suite THREADS SEED TARGET FOLDER");
    std::vector<Case> cases = readFolder(argv[4], argv[3]);
    for (Case &one : cases)
      one.alone = resultsAlone(one);
    unsigned threads = std::stoul(argv[1]);
    unsigned wrong = runTogether(cases, threads, std::stoull(argv[2]));
    std::printf("%zu cases together on %u threads, %u of them wrong\n",
                cases.size(), threads, wrong);
    return wrong != 0;
  } catch (const std::exception &e) {
    std::fprintf(stderr, "hk-suite: %s\n", e.what());
    return 2;
  }
}
