//===- Files.cpp - Files that are whole or not there ----------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whoever makes a temporary file or folder holds a lock (flock) on it, which
// the system gives back when the process ends, however it ends.
//
//===----------------------------------------------------------------------===//

#include "hk/Support/Files.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace mlir::hk;

namespace {
/// Younger files may not be locked yet by who makes them.
constexpr std::chrono::seconds kLeastAge(60);
constexpr StringRef kFolderPrefix = "hk-compile-";
constexpr StringRef kPartialMark = ".hk-partial-";

/// Removes `path` if it is old, this user's, and its maker is gone.
void removeIfAbandoned(const std::string &path) {
  int entry =
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (entry < 0)
    return;
  struct stat info;
  auto now = std::chrono::system_clock::now();
  if (fstat(entry, &info) == 0 && info.st_uid == geteuid() &&
      std::chrono::system_clock::from_time_t(info.st_mtime) + kLeastAge < now &&
      flock(entry, LOCK_EX | LOCK_NB) == 0) {
    // Nothing depends on it being gone.
    if (S_ISDIR(info.st_mode))
      (void)sys::fs::remove_directories(path);
    else if (S_ISREG(info.st_mode))
      (void)sys::fs::remove(path);
  }
  close(entry);
}

/// What killed processes left in `folder`; once for every folder.
void removeAbandoned(StringRef folder) {
  static std::mutex mutex;
  static StringSet<> done;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!done.insert(folder).second)
      return;
  }
  std::error_code error;
  for (sys::fs::directory_iterator it(folder, error, /*follow_symlinks=*/false),
       end;
       it != end && !error; it.increment(error)) {
    StringRef name = sys::path::filename(it->path());
    if (name.starts_with(kFolderPrefix) || name.contains(kPartialMark))
      removeIfAbandoned(it->path());
  }
}
} // namespace

//===----------------------------------------------------------------------===//
// TemporaryDirectory
//===----------------------------------------------------------------------===//

Expected<TemporaryDirectory> TemporaryDirectory::create() {
  SmallString<128> parent;
  sys::path::system_temp_directory(/*ErasedOnReboot=*/true, parent);
  removeAbandoned(parent);
  SmallString<128> path;
  if (std::error_code error =
          sys::fs::createUniqueDirectory(kFolderPrefix.drop_back(), path))
    return createStringError(error, "cannot make the temporary folder '%s': %s",
                             path.c_str(), error.message().c_str());
  int lock = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  TemporaryDirectory folder(path.str().str(), lock);
  if (lock < 0 || flock(lock, LOCK_EX) != 0)
    return createStringError("cannot lock the temporary folder '%s': %s",
                             path.c_str(), std::strerror(errno));
  if (std::error_code error = sys::fs::setPermissions(path, sys::fs::owner_all))
    return createStringError(error, "cannot protect '%s': %s", path.c_str(),
                             error.message().c_str());
  return folder;
}

TemporaryDirectory::TemporaryDirectory(TemporaryDirectory &&other)
    : path(std::move(other.path)), lock(other.lock) {
  other.path.clear();
  other.lock = -1;
}

TemporaryDirectory::~TemporaryDirectory() {
  if (!path.empty())
    (void)sys::fs::remove_directories(path); // nothing to tell the user
  if (lock >= 0)
    close(lock);
}

std::string TemporaryDirectory::file(const Twine &name) const {
  SmallString<128> result(path);
  sys::path::append(result, name);
  return result.str().str();
}

//===----------------------------------------------------------------------===//
// OutputFile
//===----------------------------------------------------------------------===//

Expected<OutputFile> OutputFile::create(StringRef path) {
  SmallString<128> target(path);
  sys::fs::file_status status;
  if (!sys::fs::status(path, status)) {
    if (sys::fs::is_directory(status))
      return createStringError("cannot write '%s': it is a folder; name a file",
                               path.str().c_str());
    if (!sys::fs::is_regular_file(status))
      return createStringError(
          "cannot write '%s': it is there and no regular file; name another",
          path.str().c_str());
    target = resolveLinks(path);
  }
  StringRef folder = sys::path::parent_path(target);
  removeAbandoned(folder.empty() ? "." : folder);
  OutputFile output(path.str(), target.str().str());
  if (std::error_code error = sys::fs::createUniqueFile(
          target + kPartialMark + "%%%%%%%%", output.file, output.partial))
    return createStringError(error, "cannot write '%s': %s", path.str().c_str(),
                             error.message().c_str());
  (void)flock(output.file, LOCK_EX | LOCK_NB); // nobody else knows its name
  sys::RemoveFileOnSignal(output.partial);
  return output;
}

OutputFile::OutputFile(OutputFile &&other)
    : path(std::move(other.path)), target(std::move(other.target)),
      partial(std::move(other.partial)), file(other.file) {
  other.file = -1;
}

OutputFile::~OutputFile() {
  if (file < 0)
    return;
  (void)sys::fs::remove(partial);
  sys::DontRemoveFileOnSignal(partial);
  close(file);
}

Error OutputFile::failed(int error) const {
  std::error_code code(error, std::generic_category());
  return createStringError(code, "cannot write '%s': %s", path.c_str(),
                           code.message().c_str());
}

Error OutputFile::append(StringRef bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return failed(errno);
    bytes = bytes.drop_front(written);
  }
  return Error::success();
}

Error OutputFile::commit() {
  // A file system over a network may say only now that it is full.
  int closing = file;
  file = -1;
  int error = close(closing) == 0 ? 0 : errno;
  if (error == 0)
    if (std::error_code code = sys::fs::rename(partial, target))
      error = code.value();
  if (error != 0)
    (void)sys::fs::remove(partial);
  sys::DontRemoveFileOnSignal(partial);
  return error == 0 ? Error::success() : failed(error);
}

//===----------------------------------------------------------------------===//
// Whole files
//===----------------------------------------------------------------------===//

std::string mlir::hk::resolveLinks(StringRef path) {
  SmallString<128> real;
  if (sys::fs::is_symlink_file(path) && !sys::fs::real_path(path, real))
    return real.str().str();
  return path.str();
}

Expected<std::string> mlir::hk::readFile(StringRef path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
      MemoryBuffer::getFile(path, /*IsText=*/false,
                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return createStringError(buffer.getError(), "cannot read '%s': %s",
                             path.str().c_str(),
                             buffer.getError().message().c_str());
  return (*buffer)->getBuffer().str();
}

Error mlir::hk::writeFile(StringRef path, StringRef contents) {
  Expected<OutputFile> output = OutputFile::create(path);
  if (!output)
    return output.takeError();
  if (Error error = output->append(contents))
    return error;
  return output->commit();
}

Error mlir::hk::requireOther(StringRef output, StringRef input) {
  bool same = false;
  if (output == "-" || sys::fs::equivalent(output, input, same) || !same)
    return Error::success();
  return createStringError(
      "cannot write '%s': it is '%s', which is read; name another file",
      output.str().c_str(), input.str().c_str());
}

bool mlir::hk::isDevice(StringRef path) {
  sys::fs::file_status status;
  return !sys::fs::status(path, status) && sys::fs::is_other(status);
}

Error mlir::hk::writeText(StringRef path, StringRef text) {
  bool other = isDevice(path);
  if (path != "-" && !other)
    return writeFile(path, text);
  std::error_code error;
  std::optional<raw_fd_ostream> own;
  if (other)
    own.emplace(path, error);
  if (!error) {
    raw_fd_ostream &os = own ? *own : outs();
    os << text;
    os.flush();
    error = os.error();
    os.clear_error();
  }
  if (!error)
    return Error::success();
  return createStringError(error, "cannot write '%s': %s", path.str().c_str(),
                           error.message().c_str());
}
