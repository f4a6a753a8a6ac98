//===- Session.h - A module, a device and the tensors of a call -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Owns the handles of the runtime and the tensors, on the host and on the
// device. Everything goes through the public C interface.
//
//===----------------------------------------------------------------------===//

#ifndef HK_TOOLS_HK_RUN_SESSION_H
#define HK_TOOLS_HK_RUN_SESSION_H

#include "Check.h"
#include "Options.h"

#include "hk/Runtime/hk.h"

#include <memory>

namespace hk::run {

/// Throws Failure for a status that is an error.
void check(hk_status *status);

template <auto release> struct Release {
  template <typename T> void operator()(T *handle) const { release(handle); }
};
using DeviceHandle = std::unique_ptr<hk_device, Release<hk_device_close>>;
using ModuleHandle = std::unique_ptr<hk_module, Release<hk_module_close>>;
using ProgramHandle = std::unique_ptr<hk_program, Release<hk_program_destroy>>;
using CommHandle = std::unique_ptr<hk_comm, Release<hk_comm_close>>;
using ProfileHandle = std::unique_ptr<hk_profile, Release<hk_profile_destroy>>;

/// Memory on a device.
class Buffer {
public:
  Buffer(hk_device *device, uint64_t bytes) : device(device) {
    check(hk_device_alloc(device, bytes, &data));
  }
  Buffer(const Buffer &) = delete;
  ~Buffer() { hk_device_free(device, data); }
  void *get() const { return data; }

private:
  hk_device *device;
  void *data = nullptr;
};

ModuleHandle openModule(const std::string &path);
DeviceHandle openDevice(const Options &options);

/// One argument of the function.
struct Argument {
  std::string name;
  Role role;
  DLDataType dlType;
  /// -1 and a name in dimNames for a dynamic size.
  std::vector<int64_t> declared;
  std::vector<std::string> dimNames;
  /// JSON of hk_arg_abi.values: what an integer argument may hold.
  std::string values;
  std::string origin; // where the data came from, for the report
  HostTensor before, after;
  std::unique_ptr<Buffer> buffer;
  DLTensor tensor{nullptr, {kDLCPU, 0}, 0, {kDLFloat, 32, 1},
                  nullptr, nullptr,     0};
};

class Session {
public:
  /// On a device of its own, or on one that others may use at the same time and
  /// that outlives the session. `options` outlives it, too.
  /// With --results or --write-expected there is neither device nor code: no
  /// call can be made. `comm` is for a module with a mesh.
  explicit Session(const Options &options, hk_device *shared = nullptr,
                   hk_comm *comm = nullptr);

  /// Calls once, with a profile unless `bench` follows, and brings the results
  /// back to the host.
  void runOnce();
  /// Takes the results of a call on another machine from the folder that its
  /// --output=DIR wrote.
  void readResults(const std::string &folder);
  /// Calls without bringing anything back; the time of each in microseconds.
  /// Then profiles kProfiledCalls more of them, or as many if that is fewer.
  std::vector<double> bench(uint32_t iterations);
  static constexpr uint32_t kProfiledCalls = 100;
  /// Calls once, on these tensors; `profile` may be null. Does not wait.
  void callOn(const std::vector<const DLTensor *> &tensors,
              hk_profile *profile);
  /// Until all calls are done; an error where another rank has failed.
  void wait();

  hk_profile *profile() const { return profileHandle.get(); }
  /// "host, 2 threads", or where the results come from.
  std::string place() const;
  hk_device *device() const { return activeDevice; }
  /// The chip, or where the results come from.
  std::string target() const {
    return activeDevice ? hk_device_target(activeDevice) + rankText() : place();
  }
  std::string functionName() const { return name; }
  uint64_t workspaceBytes() const { return workspaceSize; }
  const std::vector<Argument> &arguments() const { return args; }
  CheckRequest checkRequest() const;

private:
  /// ", rank 0 of 2", or nothing.
  std::string rankText() const;
  void describeArguments();
  void findWeights(const std::string &moduleJson);
  void makeInputs();
  void fillInput(Argument &arg);
  std::map<std::string, int64_t> sizesByName() const;
  void bindDims(const Argument &arg);
  void readGuards(const std::string &moduleJson);
  void tellUnusedRanges() const;
  void propagateDims();
  std::string dimNamed(const std::string &text) const;
  std::optional<int64_t> sizeNamed(const std::string &text) const;
  void planOutputs();
  void allocate(Argument &arg);
  void call(hk_profile *profile);

  const Options &options;
  ModuleHandle module;
  DeviceHandle ownDevice;
  hk_device *activeDevice = nullptr;
  hk_comm *comm;
  ProgramHandle program;
  ProfileHandle profileHandle;
  std::string name;
  std::vector<std::string> weightsPaths; // those that the call uses
  const hk_function *function = nullptr;
  std::vector<Argument> args;
  std::map<std::string, int64_t> dims;
  std::vector<std::pair<std::string, std::string>> equalSizes;
  uint64_t workspaceSize = 0;
  std::unique_ptr<Buffer> workspace;
};

} // namespace hk::run

#endif // HK_TOOLS_HK_RUN_SESSION_H
