//===- CommApi.cpp - The C interface of communicators ---------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Options and their defaults, and thin wrappers.
//
//===----------------------------------------------------------------------===//

#include "api/Program.h"

using namespace hk;

static constexpr uint32_t kDefaultTimeoutMs = 30000;

static Status readOptions(const hk_device &device, const hk_comm_options &given,
                          CommunicatorOptions &options) {
  if (given.struct_bytes != sizeof(hk_comm_options))
    return makeError(HK_INVALID_ARGUMENT,
                     "hk_comm_open: options.struct_bytes is %u, expected %zu",
                     given.struct_bytes, sizeof(hk_comm_options));
  if (Status error = requireNonNull(given.mesh, "hk_comm_open", "options.mesh"))
    return error;
  if (given.shared_bytes && device.impl->isHost())
    return makeError(HK_INVALID_ARGUMENT,
                     "hk_comm_open: expected options.shared_bytes to be 0 on "
                     "the host, where kernels exchange nothing themselves");
  Mesh mesh;
  if (Status error = parseMesh(given.mesh, mesh))
    return error;
  bool isHost = device.impl->isHost();
  size_t wanted = isHost ? 1 : mesh.axes().size();
  if (given.num_native != 0 && (given.num_native != wanted || !given.native))
    return makeError(HK_INVALID_ARGUMENT,
                     "hk_comm_open: expected %zu communicator%s in "
                     "options.native, %s, or none, got %u",
                     wanted, wanted == 1 ? "" : "s",
                     isHost ? "of all ranks" : "one for each axis of the mesh",
                     given.num_native);
  options.mesh = given.mesh;
  options.engine = given.engine ? given.engine : "";
  options.idFile = given.id_file ? given.id_file : "";
  options.natives.assign(given.native, given.native + given.num_native);
  options.device = device.impl.get();
  options.timeoutMs = given.timeout_ms ? given.timeout_ms : kDefaultTimeoutMs;
  options.sharedBytes = given.shared_bytes;
  options.rank = given.rank;
  options.world = given.world;
  return {};
}

hk_status *hk_comm_open(hk_device *device, const hk_comm_options *options,
                        hk_comm **comm) {
  return guarded([&]() -> Status {
    const char *name = "hk_comm_open";
    if (Status error = requireNonNull(device, name, "device"))
      return error;
    if (Status error = requireNonNull(options, name, "options"))
      return error;
    if (Status error = requireNonNull(comm, name, "comm"))
      return error;
    *comm = nullptr;
    CommunicatorOptions checked;
    if (Status error = readOptions(*device, *options, checked))
      return error;
    auto result = std::make_unique<hk_comm>();
    if (Status error = openCommunicator(checked, result->impl))
      return error;
    *comm = result.release();
    return {};
  });
}

void hk_comm_close(hk_comm *comm) {
  hk_status_free(guarded([&]() -> Status {
    delete comm;
    return {};
  }));
}

uint32_t hk_comm_rank(const hk_comm *comm) {
  return comm ? uint32_t(comm->impl->rank()) : 0;
}

uint32_t hk_comm_world(const hk_comm *comm) {
  return comm ? uint32_t(comm->impl->numRanks()) : 1;
}

hk_status *hk_comm_check(hk_comm *comm) {
  return guarded([&]() -> Status {
    if (Status error = requireNonNull(comm, "hk_comm_check", "comm"))
      return error;
    return comm->impl->check();
  });
}

hk_status *hk_comm_wait(hk_comm *comm, hk_device *device, void *stream,
                        uint32_t timeout_ms) {
  return guarded([&]() -> Status {
    const char *name = "hk_comm_wait";
    if (Status error = requireNonNull(comm, name, "comm"))
      return error;
    if (Status error = requireNonNull(device, name, "device"))
      return error;
    return comm->impl->wait(*device->impl, stream, timeout_ms);
  });
}
