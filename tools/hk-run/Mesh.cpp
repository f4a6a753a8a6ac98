//===- Mesh.cpp - hk-run as one of several ranks --------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One communicator for all calls of a process.
//
//===----------------------------------------------------------------------===//

#include "Mesh.h"

#include "hk/Contract/Mesh.h"

#include <nlohmann/json.hpp>

#include <csignal>
#include <cstdlib>
#include <deque>
#include <unistd.h>

using namespace hk;
using namespace hk::run;

static std::string meshOf(const std::string &path) {
  ModuleHandle module = openModule(path);
  auto json = nlohmann::json::parse(hk_module_json(module.get()));
  return json.at("mesh").is_string() ? json["mesh"].get<std::string>() : "";
}

/// The rank as which this process was started, which may name its device.
static uint32_t startedAs(const Options &options) {
  const char *launched = std::getenv("OMPI_COMM_WORLD_RANK");
  return options.idFile.empty() && launched
             ? uint32_t(std::strtoul(launched, nullptr, 10))
             : options.rank;
}

//===----------------------------------------------------------------------===//
// A rank that is ended while it waits
//===----------------------------------------------------------------------===//

/// What the process says when SIGTERM ends it.
static std::string &endedText() {
  static std::string text;
  return text;
}

extern "C" void sayEnded(int signal) {
  // Set before the handler is installed.
  const std::string &text = endedText();
  [[maybe_unused]] ssize_t written =
      ::write(STDERR_FILENO, text.data(), text.size());
  (void)std::raise(signal); // whose action is the default one again
}

/// Until std::signal(SIGTERM, SIG_DFL). Ranks that open a communicator give up
/// at nearly the same time, and mpirun ends the others when the first has;
/// until MPI has started they cannot wait for each other.
static void sayWhenEnded(std::string text) {
  endedText() = std::move(text);
  struct sigaction action = {};
  action.sa_handler = sayEnded;
  action.sa_flags = int(SA_RESETHAND) | SA_NODEFER;
  (void)sigaction(SIGTERM, &action, nullptr);
}

//===----------------------------------------------------------------------===//
// The communicator
//===----------------------------------------------------------------------===//

Options MeshRank::open(const Options &options) {
  std::string own = options.module == module ? mesh : meshOf(options.module);
  if (commHandle && own != mesh)
    throw Failure("'" + options.module + "' has the mesh '" + own +
                  "', a call before has '" + mesh +
                  "'; all calls of a process are on one mesh");
  module = options.module;
  mesh = own;
  if (mesh.empty())
    return options;
  Mesh axes;
  (void)Mesh::parse(mesh, axes); // the module was checked
  numRanks = axes.numRanks();
  given = options;
  if (!makesCall(options)) {
    if (options.rank >= numRanks)
      throw Failure("--rank=" + std::to_string(options.rank) + ": the mesh '" +
                    mesh + "' has " + std::to_string(numRanks) + " ranks");
    return optionsOfRank(options, options.rank);
  }
  if (!commHandle) {
    if (!device)
      device = openDevice(optionsOfRank(options, startedAs(options)));
    hk_comm_options settings{};
    settings.struct_bytes = sizeof(settings);
    settings.mesh = mesh.c_str();
    settings.timeout_ms = options.timeoutMs;
    settings.shared_bytes = options.sharedBytes;
    if (!options.idFile.empty()) {
      settings.id_file = options.idFile.c_str();
      settings.rank = options.rank;
      settings.world = uint32_t(numRanks);
    }
    sayWhenEnded("hk-run: rank " + std::to_string(startedAs(options)) +
                 " was ended while it waited for others to open their "
                 "communicators with mesh '" +
                 mesh + "'; what ended first says why\n");
    hk_comm *raw = nullptr;
    // Where it fails, the text stays until its own has been printed.
    check(hk_comm_open(device.get(), &settings, &raw));
    std::signal(SIGTERM, SIG_DFL);
    commHandle.reset(raw);
  }
  return optionsOfRank(options, hk_comm_rank(comm()));
}

bool MeshRank::evaluate(const Session &session, const Options &options,
                        std::vector<Expected> &expected) const {
  CheckRequest request = session.checkRequest();
  if (mesh.empty())
    return evaluateReference(request, expected);
  // Sessions that make no call only make inputs, and read their options later.
  std::deque<Options> peerOptions;
  std::deque<Session> peers;
  request.rank = options.rank;
  request.mesh = mesh;
  for (int64_t rank = 0; rank < numRanks; ++rank) {
    if (rank == request.rank) {
      request.ranks.push_back(request.tensors);
      continue;
    }
    peerOptions.push_back(optionsOfRank(given, uint32_t(rank)));
    peerOptions.back().writeExpectedDirectory = "-";
    peers.emplace_back(peerOptions.back());
    request.ranks.push_back(peers.back().checkRequest().tensors);
  }
  return evaluateReference(request, expected);
}
