//===- Communicator.cpp - One rank among those of a mesh ------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Messages are copied to and from memory of the communicator: when time is up
// they stay under way, and the caller's tensors must not be touched then.
//
//===----------------------------------------------------------------------===//

#include "comm/CommunicatorMemory.h"

#include <algorithm>
#include <cstring>

using namespace hk;

uint64_t hk::hashOf(const std::string &text, uint64_t start) {
  uint64_t hash = start ^ 0xcbf29ce484222325u;
  for (unsigned char c : text)
    hash = (hash ^ c) * 0x100000001b3u;
  return hash;
}

namespace {
/// How long a rank that leaves waits for the others to leave.
constexpr uint32_t kFarewellMs = 2000;

template <size_t size>
void copyText(const std::string &text, char (&to)[size]) {
  size_t length = std::min(text.size(), size - 1);
  std::memcpy(to, text.data(), length);
  std::memset(to + length, 0, size - length);
}
} // namespace

Communicator::Communicator(std::unique_ptr<Engine> engine, Mesh mesh,
                           std::string meshText, uint32_t timeoutMs)
    : engine(std::move(engine)), ranks(std::move(mesh)),
      text(std::move(meshText)), timeoutMs(timeoutMs),
      memory(std::make_unique<Memory>()) {
  size_t count = this->engine->numRanks();
  memory->headers.resize(count);
  memory->notes.resize(count);
  memory->noteReceives.resize(count, nullptr);
  memory->noteSends.resize(count, nullptr);
  memory->farewells.resize(count);
  memory->farewellReceives.resize(count, nullptr);
  memory->farewellSends.resize(count, nullptr);
  memory->left.resize(count, false);
  memory->calls = std::make_unique<CallLog>(*this->engine);
}

Communicator::~Communicator() {
  // While another rank still reads this one's memory nothing is freed. After an
  // error nobody does, and a stream may wait on the caller's communicator.
  if (onDevice && !check())
    (void)device->waitIdle().release();
  stopWatching();
  bool inOrder = sayFarewell() && brokenCode == HK_OK;
  onDevice.reset();
  for (void *block : deviceBlocks)
    device->deallocate(block);
  if (!inOrder) {
    // Other ranks' kernels may still write into it.
    (void)shared.release();
    // Messages that nobody will take may still be under way, for ever.
    static std::mutex listMutex;
    static Memory *last = nullptr;
    std::lock_guard<std::mutex> lock(listMutex);
    memory->before = last;
    last = memory.release();
    return;
  }
  for (Message &message : memory->noteReceives)
    engine->cancel(message);
  memory->calls->cancel();
  engine->leave();
}

RankLine Communicator::everyone() const {
  RankLine line;
  for (int64_t rank = 0; rank < engine->numRanks(); ++rank)
    line.ranks.push_back(rank);
  line.place = engine->rank();
  return line;
}

RankLine Communicator::lineOf(const char *axisName) const {
  RankLine line;
  int axis = ranks.find(axisName);
  for (int64_t place = 0; place < ranks.axes()[axis].size; ++place)
    line.ranks.push_back(ranks.rankAt(engine->rank(), axis, place));
  line.place = ranks.placeOf(engine->rank(), axis);
  return line;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

Status Communicator::kept() const {
  if (brokenCode == HK_OK)
    return {};
  return makeError(brokenCode, "%s", brokenText.c_str());
}

void Communicator::tellOthers() {
  copyText(brokenText, memory->note.text);
  for (int64_t peer = 0; peer < engine->numRanks(); ++peer)
    if (peer != engine->rank())
      // Who cannot be told waits until its time is up.
      (void)engine
          ->send(peer, Channel::Note, &memory->note, sizeof(Note),
                 memory->noteSends[peer])
          .release();
}

void Communicator::setBroken(hk_status_code code, const std::string &what) {
  brokenCode = code;
  brokenText = what;
  // What is under way would wait for ever, and the stream with it.
  if (shared)
    shared->abort();
  if (onDevice)
    onDevice->abort();
}

Status Communicator::keep(Status error) {
  if (!error || brokenCode != HK_OK)
    return error;
  setBroken(error.code(), error.message());
  tellOthers();
  return error;
}

void Communicator::fail(const Status &error) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!error || brokenCode != HK_OK)
    return;
  setBroken(error.code(), error.message());
  tellOthers();
}

/// Looks whether another rank has failed. What it says is not passed on: it has
/// told everyone.
Status Communicator::readNotes() {
  for (int64_t peer = 0; peer < engine->numRanks(); ++peer) {
    if (peer == engine->rank())
      continue;
    Message &message = memory->noteReceives[peer];
    if (!message)
      if (Status error = engine->receive(
              peer, Channel::Note, &memory->notes[peer], sizeof(Note), message))
        return error;
    if (Status error = engine->progress(message))
      return error;
    if (message)
      continue;
    memory->notes[peer].text[sizeof(Note) - 1] = '\0';
    setBroken(HK_RANK_FAILED, "rank " + std::to_string(peer) +
                                  " failed: " + memory->notes[peer].text);
    return kept();
  }
  return {};
}

/// Looks who has left.
Status Communicator::readFarewells() {
  for (int64_t peer = 0; peer < engine->numRanks(); ++peer) {
    if (peer == engine->rank() || memory->left[peer])
      continue;
    Message &message = memory->farewellReceives[peer];
    if (!message)
      if (Status error = engine->receive(peer, Channel::Farewell,
                                         &memory->farewells[peer], 1, message))
        return error;
    if (Status error = engine->progress(message))
      return error;
    memory->left[peer] = message == nullptr;
  }
  return {};
}

Status Communicator::check() {
  std::lock_guard<std::mutex> lock(mutex);
  if (brokenCode == HK_OK)
    return keep(lookAround());
  return kept();
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

char *Communicator::sendMemory(uint64_t bytes) {
  if (memory->sent.size() < bytes)
    memory->sent.resize(bytes);
  return memory->sent.data();
}

char *Communicator::receiveMemory(uint64_t bytes) {
  if (memory->received.size() < bytes)
    memory->received.resize(bytes);
  return memory->received.data();
}

/// In as many messages as it takes.
Status Communicator::start(int64_t peer, Channel channel, char *data,
                           uint64_t bytes, bool sends) {
  for (uint64_t at = 0; at < bytes; at += Engine::kMostBytes) {
    uint64_t part = std::min(bytes - at, Engine::kMostBytes);
    Message message = nullptr;
    if (Status error =
            sends ? engine->send(peer, channel, data + at, part, message)
                  : engine->receive(peer, channel, data + at, part, message))
      return error;
    memory->pending.push_back({message, peer, sends});
  }
  return {};
}

/// The ranks that messages are under way from or to.
std::vector<int64_t> Communicator::awaited() const {
  std::vector<int64_t> peers;
  for (const Pending &pending : memory->pending)
    if (pending.message &&
        std::find(peers.begin(), peers.end(), pending.peer) == peers.end())
      peers.push_back(pending.peer);
  return peers;
}

Status Communicator::late(const MeetingPoint &point) const {
  std::string missing;
  for (int64_t peer : awaited())
    missing += (missing.empty() ? "" : ", ") + std::to_string(peer);
  return makeError(HK_TIMEOUT,
                   "rank %s has not come to %s within %u ms, where rank %lld "
                   "waits; does it still run, and does it make the same calls?",
                   missing.c_str(), point.text.c_str(), timeoutMs,
                   static_cast<long long>(engine->rank()));
}

Status Communicator::progressPending(bool &done) {
  done = true;
  for (Pending &pending : memory->pending) {
    if (!pending.message)
      continue;
    if (Status error = engine->progress(pending.message))
      return error;
    done &= pending.message == nullptr;
  }
  if (done)
    memory->pending.clear();
  return {};
}

/// An error where a rank has failed, or has ended without telling.
Status Communicator::readOthers() {
  if (Status error = readNotes())
    return error;
  if (Status error = readFarewells())
    return error;
  for (int64_t peer = 0; peer < engine->numRanks(); ++peer) {
    if (peer == engine->rank() || memory->left[peer])
      continue;
    Status dead = engine->checkAlive(peer);
    if (!dead)
      continue;
    // What it said last may have come since.
    if (Status error = readNotes())
      return error;
    if (Status error = readFarewells())
      return error;
    if (!memory->left[peer])
      return dead;
  }
  return {};
}

/// An error where a rank that is waited for has failed or left.
Status Communicator::checkPeers(const MeetingPoint &point, bool &done) {
  if (Status error = readOthers())
    return error;
  // What a rank sent before it left has arrived by now.
  std::vector<bool> left = memory->left;
  if (Status error = progressPending(done))
    return error;
  for (int64_t peer : awaited())
    if (left[peer])
      return gone(peer, point.text);
  return {};
}

Status Communicator::gone(int64_t peer, const std::string &where) const {
  return makeError(HK_RANK_FAILED,
                   "rank %lld has closed its communicator, but rank %lld waits "
                   "for it in %s; all ranks have to make the same calls",
                   static_cast<long long>(peer),
                   static_cast<long long>(engine->rank()), where.c_str());
}

/// Waits for all that was started.
Status Communicator::finish(const MeetingPoint &point) {
  Clock::time_point end = Clock::now() + std::chrono::milliseconds(timeoutMs);
  constexpr int kSpins = 200, kYields = 5000;
  for (int idle = 0;; ++idle) {
    bool done = false;
    if (Status error = progressPending(done))
      return error;
    if (!done && idle >= kSpins)
      if (Status error = checkPeers(point, done))
        return error;
    if (done)
      return {};
    if (idle < kSpins)
      continue;
    if (Clock::now() > end)
      return late(point);
    if (idle < kYields)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

/// Ranks that are elsewhere are told apart by what they say of themselves.
Status Communicator::compareHeaders(const RankLine &line) {
  const Header &own = memory->header;
  for (int64_t peer : line.ranks) {
    Header &other = memory->headers[peer];
    if (peer == engine->rank() ||
        (other.meetings == own.meetings && other.identity == own.identity &&
         std::strcmp(other.text, own.text) == 0))
      continue;
    other.text[sizeof(other.text) - 1] = '\0';
    return makeError(HK_INVALID_ARGUMENT,
                     "ranks do not agree: rank %lld is at meeting %llu, %s; "
                     "rank %lld is at meeting %llu, %s; all ranks have to load "
                     "the same module and to make the same calls in one order, "
                     "with tensors of the same sizes",
                     static_cast<long long>(engine->rank()),
                     static_cast<unsigned long long>(own.meetings), own.text,
                     static_cast<long long>(peer),
                     static_cast<unsigned long long>(other.meetings),
                     other.text);
  }
  return {};
}

Status Communicator::meetLine(const RankLine &line, const MeetingPoint &point) {
  if (Status error = kept())
    return error;
  auto headers = [&]() -> Status {
    if (Status error = readNotes())
      return error;
    memory->header.meetings = ++meetings;
    // The text may be too long for the header.
    memory->header.identity = hashOf(point.text, point.identity);
    copyText(point.text, memory->header.text);
    for (int64_t peer : line.ranks) {
      if (peer == engine->rank())
        continue;
      if (Status error = start(peer, Channel::Header,
                               reinterpret_cast<char *>(&memory->header),
                               sizeof(Header), /*sends=*/true))
        return error;
      if (Status error = start(peer, Channel::Header,
                               reinterpret_cast<char *>(&memory->headers[peer]),
                               sizeof(Header), /*sends=*/false))
        return error;
    }
    if (Status error = finish(point))
      return error;
    return compareHeaders(line);
  };
  return keep(headers());
}

Status Communicator::meet(const MeetingPoint &point) {
  std::lock_guard<std::mutex> lock(mutex);
  return meetLine(everyone(), point);
}

Status Communicator::move(const RankLine &line, const Traffic &traffic,
                          const MeetingPoint &point) {
  auto messages = [&]() -> Status {
    for (size_t place = 0; place < line.ranks.size(); ++place) {
      if (int64_t(place) == line.place)
        continue;
      int64_t peer = line.ranks[place];
      if (int64_t from = traffic.sendFrom[place]; from >= 0)
        if (Status error =
                start(peer, Channel::Data, memory->sent.data() + from,
                      traffic.bytes, /*sends=*/true))
          return error;
      if (int64_t at = traffic.receiveAt[place]; at >= 0)
        if (Status error =
                start(peer, Channel::Data, memory->received.data() + at,
                      traffic.bytes, /*sends=*/false))
          return error;
    }
    return finish(point);
  };
  return keep(messages());
}

/// Whether all ranks leave, too. Ranks that failed leave as well, so that each
/// has told its user why before a launcher ends the others.
bool Communicator::sayFarewell() {
  for (int64_t peer = 0; peer < engine->numRanks(); ++peer)
    if (peer != engine->rank() &&
        engine->send(peer, Channel::Farewell, &memory->farewell, 1,
                     memory->farewellSends[peer]))
      return false;
  Clock::time_point end = Clock::now() + std::chrono::milliseconds(
                                             std::min(timeoutMs, kFarewellMs));
  while (Clock::now() < end) {
    if (readFarewells())
      return false;
    bool done = true;
    for (int64_t peer = 0; peer < engine->numRanks(); ++peer) {
      if (peer == engine->rank())
        continue;
      Message &message = memory->farewellSends[peer];
      if (message && engine->progress(message))
        return false;
      done &= message == nullptr && memory->left[peer];
    }
    if (done)
      return true;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

namespace {
/// The only rank there is.
class LonelyEngine final : public Engine {
public:
  int64_t rank() const override { return 0; }
  int64_t numRanks() const override { return 1; }
  Status send(int64_t, Channel, const void *, uint64_t, Message &) override {
    return makeError(HK_INTERNAL, "one rank sends to nobody");
  }
  Status receive(int64_t, Channel, void *, uint64_t, Message &) override {
    return makeError(HK_INTERNAL, "one rank receives from nobody");
  }
  Status progress(Message &) override { return {}; }
  void cancel(Message &) override {}
  void leave() override {}
};
} // namespace

/// The engine that devices of this kind have.
static const char *engineOf(const Device *device) {
  if (!device || device->isHost())
    return "mpi";
  return device->dlDevice().device_type == kDLROCM ? "rccl" : "nccl";
}

static Status openEngine(const CommunicatorOptions &options, const Mesh &mesh,
                         std::unique_ptr<Engine> &engine) {
  const char *known = engineOf(options.device);
  if (!options.engine.empty() && options.engine != known)
    return makeError(HK_UNAVAILABLE,
                     "unknown engine '%s': devices of this kind have '%s'",
                     options.engine.c_str(), known);
  bool onHost = !options.device || options.device->isHost();
  if (mesh.numRanks() == 1 && options.natives.empty() &&
      (!onHost || options.engine.empty())) {
    engine = std::make_unique<LonelyEngine>();
    return {};
  }
  if (!options.idFile.empty()) {
    if (options.world != mesh.numRanks() || options.rank >= options.world)
      return makeError(HK_INVALID_ARGUMENT,
                       "with options.id_file expected options.world to be "
                       "%lld, the ranks of the mesh '%s', and options.rank to "
                       "be less, got rank %u of %u",
                       static_cast<long long>(mesh.numRanks()),
                       options.mesh.c_str(), options.rank, options.world);
    return createFileEngine(
        {options.idFile, options.rank, options.world, options.timeoutMs},
        engine);
  }
  void *native =
      onHost && !options.natives.empty() ? options.natives[0] : nullptr;
  return createMpiEngine({options.timeoutMs, native}, engine);
}

Status hk::parseMesh(const std::string &text, Mesh &mesh) {
  if (std::string wrong = Mesh::parse(text, mesh); !wrong.empty())
    return makeError(HK_INVALID_ARGUMENT,
                     "expected a mesh such as 'tp=2', got '%s': %s",
                     text.c_str(), wrong.c_str());
  return {};
}

Status hk::openCommunicator(const CommunicatorOptions &options,
                            std::unique_ptr<Communicator> &communicator) {
  Mesh mesh;
  if (Status error = parseMesh(options.mesh, mesh))
    return error;
  std::unique_ptr<Engine> engine;
  if (Status error = openEngine(options, mesh, engine))
    return error;
  auto count = static_cast<long long>(engine->numRanks());
  auto rank = static_cast<long long>(engine->rank());
  auto result = std::make_unique<Communicator>(std::move(engine), mesh,
                                               options.mesh, options.timeoutMs);
  Status error;
  if (count != mesh.numRanks())
    error =
        makeError(HK_INVALID_ARGUMENT,
                  "mesh '%s' has %lld ranks, but there are %lld processes; "
                  "start as many as the mesh has ranks (mpirun -n %lld)",
                  options.mesh.c_str(), static_cast<long long>(mesh.numRanks()),
                  count, static_cast<long long>(mesh.numRanks()));
  else if (options.world != 0 &&
           (options.world != count || options.rank != rank))
    error = makeError(HK_INVALID_ARGUMENT,
                      "expected to be rank %u of %u, but this process is rank "
                      "%lld of %lld",
                      options.rank, options.world, rank, count);
  if (error) {
    result->fail(error);
    return error;
  }
  if (Status error =
          result->meet({0, "hk_comm_open with mesh '" + options.mesh +
                               "' and runtime " + hk_runtime_version()}))
    return error;
  if (options.device && !options.device->isHost() && count > 1)
    if (Status error = result->openDevice(*options.device, options.natives)) {
      result->fail(error);
      return error;
    }
  if (options.sharedBytes && count > 1)
    if (Status error = result->openWindow(options.sharedBytes)) {
      result->fail(error);
      return error;
    }
  communicator = std::move(result);
  return {};
}
