//===- FileEngine.cpp - Messages between processes of one machine ---------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mapped file with a ring of bytes for every pair of ranks. Each rank holds a
// lock on a byte of the file, which the kernel takes from a process that ends
// however it ends, so that a dead rank is known at once. The first rank makes
// the file under another name and renames it, so that nobody sees half of one;
// a file of earlier processes is known by its locks.
//
//===----------------------------------------------------------------------===//

#include "comm/Engine.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <map>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace hk;

namespace {
constexpr uint64_t kMagic = 0x31647261'6f626b68; // "hkboard1"
constexpr uint64_t kRingBytes = uint64_t(1) << 16;
/// Rings are one for every pair.
constexpr int64_t kMostRanks = 64;
/// Where the bytes are that ranks lock; behind what is mapped is allowed.
constexpr off_t kLocks = off_t(1) << 40;

static_assert(std::atomic<uint64_t>::is_always_lock_free);

struct Slot {
  std::atomic<uint64_t> process; // 0: not come yet
};

/// Of one sender and one receiver; counts of bytes since the start.
struct Ring {
  alignas(64) std::atomic<uint64_t> written;
  alignas(64) std::atomic<uint64_t> read;
  alignas(64) char data[kRingBytes];
};

/// The file; all zero but for what the first rank writes.
struct Board {
  uint64_t magic;
  int64_t numRanks;
  std::atomic<uint64_t> closed; // by the first rank
  /// Of a rank that cannot take its place, so that nobody waits for it.
  std::atomic<uint64_t> isRefused;
  char refusal[512];
  Slot slots[kMostRanks];
  Ring rings[]; // [from * numRanks + to]
};

uint64_t bytesOf(int64_t numRanks) {
  return sizeof(Board) + sizeof(Ring) * uint64_t(numRanks * numRanks);
}

/// In front of every message in a ring.
struct Frame {
  uint32_t channel, bytes;
};

struct Receive {
  int64_t from;
  Channel channel;
  void *data;
  uint64_t bytes;
};

Status systemError(const char *what, const std::string &path) {
  return makeError(HK_UNAVAILABLE, "cannot %s '%s': %s", what, path.c_str(),
                   std::strerror(errno));
}

struct flock lockOf(int64_t rank) {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = kLocks + rank;
  lock.l_len = 1;
  return lock;
}

/// A file that is mapped, perhaps with this process as one of its ranks.
class MappedBoard {
public:
  MappedBoard() = default;
  MappedBoard(const MappedBoard &) = delete;
  ~MappedBoard() { reset(); }

  void reset() {
    if (memory)
      munmap(memory, bytes);
    if (fd >= 0)
      close(fd);
    memory = nullptr;
    fd = -1;
  }
  /// Takes over an open file of at least `size` bytes.
  Status map(int file, uint64_t size, const std::string &path) {
    reset();
    fd = file;
    bytes = size;
    void *mapped =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED)
      return systemError("map", path);
    memory = mapped;
    return {};
  }
  Board *operator->() const { return static_cast<Board *>(memory); }
  int file() const { return fd; }
  uint64_t size() const { return bytes; }

  bool lock(int64_t rank) const {
    struct flock lock = lockOf(rank);
    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
  }
  /// Whether another open file holds it.
  bool isLocked(int64_t rank) const {
    struct flock lock = lockOf(rank);
    return fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
  }

private:
  int fd = -1;
  void *memory = nullptr;
  uint64_t bytes = 0;
};

class FileEngine final : public Engine {
public:
  explicit FileEngine(const FileEngineOptions &options)
      : options(options), peers(options.numRanks) {}
  ~FileEngine() override;

  Status make();
  Status join();

  int64_t rank() const override { return options.rank; }
  int64_t numRanks() const override { return options.numRanks; }
  Status send(int64_t to, Channel channel, const void *data, uint64_t bytes,
              Message &message) override;
  Status receive(int64_t from, Channel channel, void *data, uint64_t bytes,
                 Message &message) override;
  Status progress(Message &message) override;
  void cancel(Message &message) override {
    delete static_cast<Receive *>(message);
    message = nullptr;
  }
  void leave() override {}
  Status checkAlive(int64_t rank) override;

private:
  struct Peer {
    std::string unsent, unread; // what did not fit into a ring, or is a part
    std::map<Channel, std::deque<std::string>> arrived;
  };

  Ring &ring(int64_t from, int64_t to) {
    return board->rings[from * options.numRanks + to];
  }
  bool isUsable(bool &wrongSize);
  Status findBoard();
  Status takePlace();
  void flush(int64_t to);
  void drain(int64_t from);
  void removeFile();

  FileEngineOptions options;
  MappedBoard board;
  std::vector<Peer> peers;
  bool isListed = false; // the file still has its name
};
} // namespace

FileEngine::~FileEngine() {
  if (options.rank != 0 || board.file() < 0)
    return;
  board->closed = 1;
  removeFile();
}

/// Unless another one has the name by now.
void FileEngine::removeFile() {
  struct stat own, named;
  if (isListed && fstat(board.file(), &own) == 0 &&
      stat(options.path.c_str(), &named) == 0 && own.st_ino == named.st_ino &&
      own.st_dev == named.st_dev)
    (void)unlink(options.path.c_str());
  isListed = false;
}

/// The first rank's part.
Status FileEngine::make() {
  static std::atomic<unsigned> number{0};
  std::string path = options.path + "." + std::to_string(getpid()) + "." +
                     std::to_string(number++);
  int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0)
    return systemError("make", path);
  uint64_t bytes = bytesOf(options.numRanks);
  Status error = board.map(fd, bytes, path);
  if (!error && ftruncate(fd, off_t(bytes)) != 0)
    error = systemError("enlarge", path);
  if (!error && !board.lock(0))
    error = systemError("lock", path);
  if (!error) {
    board->magic = kMagic;
    board->numRanks = options.numRanks;
    board->slots[0].process = uint64_t(getpid());
    if (rename(path.c_str(), options.path.c_str()) != 0)
      error = systemError("rename to its place", path);
  }
  if (error) {
    (void)unlink(path.c_str());
    board.reset();
    return error;
  }
  isListed = true;
  return {};
}

/// Whether the mapped file is one of living processes; `wrongSize`: of a mesh
/// with another number of ranks.
bool FileEngine::isUsable(bool &wrongSize) {
  if (board->magic != kMagic || board->closed || !board.isLocked(0))
    return false;
  wrongSize = board->numRanks != options.numRanks;
  return !wrongSize;
}

/// Waits for a file of living processes.
Status FileEngine::findBoard() {
  using Clock = std::chrono::steady_clock;
  Clock::time_point end =
      Clock::now() + std::chrono::milliseconds(options.timeoutMs);
  bool wrongSize = false;
  for (;; std::this_thread::sleep_for(std::chrono::milliseconds(2))) {
    if (Clock::now() > end)
      break;
    int fd = open(options.path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT)
      return systemError("open", options.path);
    if (fd < 0)
      continue;
    struct stat found;
    uint64_t least = bytesOf(1);
    if (fstat(fd, &found) != 0 || uint64_t(found.st_size) < least) {
      close(fd);
      continue;
    }
    if (Status error = board.map(fd, found.st_size, options.path))
      return error;
    if (isUsable(wrongSize) && board.size() >= bytesOf(options.numRanks))
      break;
    if (wrongSize)
      return makeError(HK_INVALID_ARGUMENT,
                       "'%s' is of %lld ranks, but this one, rank %lld, is of "
                       "%lld; all ranks have to open with the same mesh",
                       options.path.c_str(),
                       static_cast<long long>(board->numRanks),
                       static_cast<long long>(options.rank),
                       static_cast<long long>(options.numRanks));
    board.reset();
  }
  if (board.file() >= 0)
    return {};
  return makeError(HK_TIMEOUT,
                   "rank 0 has not made '%s' within %u ms, where rank %lld "
                   "waits; was it started, with the same id_file?",
                   options.path.c_str(), options.timeoutMs,
                   static_cast<long long>(options.rank));
}

Status FileEngine::takePlace() {
  Slot &slot = board->slots[options.rank];
  uint64_t nobody = 0;
  if (!board.lock(options.rank) ||
      !slot.process.compare_exchange_strong(nobody, uint64_t(getpid())))
    return makeError(HK_INVALID_ARGUMENT,
                     "process %llu is rank %lld of '%s' already; every process "
                     "has a rank of its own, and every communicator a new "
                     "id_file",
                     static_cast<unsigned long long>(slot.process.load()),
                     static_cast<long long>(options.rank),
                     options.path.c_str());
  return {};
}

Status FileEngine::join() {
  Status error = findBoard();
  if (!error)
    error = takePlace();
  if (error && board.file() >= 0 && board->isRefused == 0) {
    std::strncpy(board->refusal, error.message(), sizeof(board->refusal) - 1);
    board->isRefused = 1;
  }
  return error;
}

/// What fits.
void FileEngine::flush(int64_t to) {
  Ring &out = ring(options.rank, to);
  std::string &unsent = peers[to].unsent;
  uint64_t written = out.written.load(std::memory_order_relaxed);
  uint64_t room = kRingBytes - (written - out.read.load());
  uint64_t count = std::min<uint64_t>(room, unsent.size());
  for (uint64_t done = 0; done < count;) {
    uint64_t at = (written + done) % kRingBytes;
    uint64_t part = std::min(count - done, kRingBytes - at);
    std::memcpy(out.data + at, unsent.data() + done, part);
    done += part;
  }
  out.written.store(written + count, std::memory_order_release);
  unsent.erase(0, count);
}

/// Everything there is, to where receives find it.
void FileEngine::drain(int64_t from) {
  Ring &in = ring(from, options.rank);
  Peer &peer = peers[from];
  uint64_t read = in.read.load(std::memory_order_relaxed);
  uint64_t end = in.written.load(std::memory_order_acquire);
  while (read != end) {
    uint64_t at = read % kRingBytes;
    uint64_t part = std::min(end - read, kRingBytes - at);
    peer.unread.append(in.data + at, part);
    read += part;
  }
  in.read.store(read, std::memory_order_release);
  Frame frame;
  uint64_t used = 0;
  for (; peer.unread.size() - used >= sizeof(frame);
       used += sizeof(frame) + frame.bytes) {
    std::memcpy(&frame, peer.unread.data() + used, sizeof(frame));
    if (peer.unread.size() - used - sizeof(frame) < frame.bytes)
      break;
    peer.arrived[Channel(frame.channel)].emplace_back(
        peer.unread, used + sizeof(frame), frame.bytes);
  }
  peer.unread.erase(0, used);
}

/// The message is copied, so it is finished when this returns.
Status FileEngine::send(int64_t to, Channel channel, const void *data,
                        uint64_t bytes, Message &message) {
  Frame frame{uint32_t(channel), uint32_t(bytes)};
  std::string &unsent = peers[to].unsent;
  unsent.append(reinterpret_cast<const char *>(&frame), sizeof(frame));
  unsent.append(static_cast<const char *>(data), bytes);
  flush(to);
  message = nullptr;
  return {};
}

Status FileEngine::receive(int64_t from, Channel channel, void *data,
                           uint64_t bytes, Message &message) {
  message = new Receive{from, channel, data, bytes};
  return {};
}

Status FileEngine::progress(Message &message) {
  for (int64_t peer = 0; peer < options.numRanks; ++peer)
    if (!peers[peer].unsent.empty())
      flush(peer);
  auto *receive = static_cast<Receive *>(message);
  if (!receive)
    return {};
  drain(receive->from);
  auto &arrived = peers[receive->from].arrived[receive->channel];
  if (arrived.empty())
    return {};
  std::memcpy(receive->data, arrived.front().data(),
              std::min<uint64_t>(receive->bytes, arrived.front().size()));
  arrived.pop_front();
  cancel(message);
  return {};
}

Status FileEngine::checkAlive(int64_t rank) {
  if (board->isRefused)
    return makeError(HK_RANK_FAILED, "another rank failed: %.*s",
                     int(sizeof(board->refusal)), board->refusal);
  uint64_t process = board->slots[rank].process;
  if (rank == options.rank || process == 0)
    return {};
  if (isListed && std::all_of(board->slots, board->slots + options.numRanks,
                              [](Slot &slot) { return slot.process != 0; }))
    removeFile(); // nobody else will look for it
  if (board.isLocked(rank))
    return {};
  return makeError(HK_RANK_FAILED,
                   "rank %lld, process %llu, has ended without closing its "
                   "communicator",
                   static_cast<long long>(rank),
                   static_cast<unsigned long long>(process));
}

Status hk::createFileEngine(const FileEngineOptions &options,
                            std::unique_ptr<Engine> &engine) {
  if (options.numRanks > kMostRanks)
    return makeError(HK_INVALID_ARGUMENT,
                     "a mesh of %lld ranks is too large for options.id_file, "
                     "which takes up to %lld on one machine; start the ranks "
                     "with mpirun",
                     static_cast<long long>(options.numRanks),
                     static_cast<long long>(kMostRanks));
  auto made = std::make_unique<FileEngine>(options);
  if (Status error = options.rank == 0 ? made->make() : made->join())
    return error;
  engine = std::move(made);
  return {};
}
