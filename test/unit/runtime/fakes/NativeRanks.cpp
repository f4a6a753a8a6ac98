//===- NativeRanks.cpp - A program that uses MPI itself -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two ranks whose order is the other way round in the communicator that hk
// gets. A message of the caller is under way meanwhile, with a tag that hk uses
// too. Prints "rank R: ok", or what went wrong.
//
// usage: hk-native-ranks two_ranks.so weights.safetensors [single]
//
//===----------------------------------------------------------------------===//

#include "hk/Runtime/hk.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <vector>

namespace {
using Handle = void *;

/// Of OpenMPI, as runtime/comm/MpiApi.h has them.
struct Mpi {
  void *library = dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL);
  Handle world = find<void>("ompi_mpi_comm_world");
  Handle integer = find<void>("ompi_mpi_int");

  template <typename T> T *find(const char *name) const {
    auto *symbol = library ? dlsym(library, name) : nullptr;
    if (!symbol) {
      std::printf("no %s\n", name);
      std::exit(2);
    }
    return reinterpret_cast<T *>(symbol);
  }
  int init(int level) const {
    int provided = -1;
    find<int(int *, char ***, int, int *)>("MPI_Init_thread")(nullptr, nullptr,
                                                              level, &provided);
    return provided;
  }
  int rank(Handle comm) const {
    int rank = -1;
    find<int(Handle, int *)>("MPI_Comm_rank")(comm, &rank);
    return rank;
  }
  Handle reversed() const {
    Handle comm = nullptr;
    find<int(Handle, int, int, Handle *)>("MPI_Comm_split")(
        world, 0, -rank(world), &comm);
    return comm;
  }
};

void check(hk_status *status) {
  if (!status)
    return;
  std::printf("error %d: %s\n", hk_status_get_code(status),
              hk_status_get_message(status));
  std::fflush(stdout);
  std::exit(1);
}

/// The sum over the ranks of a matrix of their number plus one.
float sumOnRanks(hk_device *device, hk_program *program, int rank) {
  const hk_function *sum = nullptr;
  check(hk_program_function(program, "sum", &sum));
  int64_t shape[] = {3, 8};
  void *data[2];
  DLTensor tensors[2];
  std::vector<float> values(24, float(rank + 1));
  for (int i = 0; i < 2; ++i) {
    check(hk_device_alloc(device, 96, &data[i]));
    check(hk_device_upload(device, data[i], values.data(), 96));
    tensors[i] = {data[i], hk_device_dldevice(device),
                  2,       {kDLFloat, 32, 1},
                  shape,   nullptr,
                  0};
  }
  const DLTensor *arguments[] = {&tensors[0], &tensors[1]};
  hk_call call{};
  call.struct_bytes = sizeof(call);
  call.num_arguments = 2;
  call.arguments = arguments;
  check(hk_function_call(sum, &call));
  check(hk_device_download(device, values.data(), data[1], 96));
  hk_device_free(device, data[0]);
  hk_device_free(device, data[1]);
  return values[23];
}
} // namespace

int main(int argc, char **argv) {
  Mpi mpi;
  bool single = argc > 3 && std::strcmp(argv[3], "single") == 0;
  mpi.init(single ? 0 : 3);
  Handle comm = mpi.reversed(), request = nullptr;
  int own = mpi.rank(comm), sent = own, received = -1;
  mpi.find<int(void *, int, Handle, int, int, Handle, Handle *)>("MPI_Irecv")(
      &received, 1, mpi.integer, 1 - own, 2, comm, &request);

  hk_device *device = nullptr;
  check(hk_device_open("host", nullptr, &device));
  hk_comm_options options{};
  options.struct_bytes = sizeof(options);
  options.mesh = "tp=2";
  options.timeout_ms = 30000;
  options.rank = own;
  options.world = 2;
  options.native = &comm;
  options.num_native = 1;
  hk_comm *ranks = nullptr;
  check(hk_comm_open(device, &options, &ranks));
  hk_module *module = nullptr;
  check(hk_module_open(argv[1], &module));
  hk_program *program = nullptr;
  check(hk_program_create_on(module, device, ranks, argv[2], &program));
  float sum = sumOnRanks(device, program, own);
  bool counts = hk_comm_rank(ranks) == unsigned(own) &&
                own == 1 - mpi.rank(mpi.world) && hk_comm_world(ranks) == 2;
  hk_program_destroy(program);
  hk_module_close(module);
  hk_comm_close(ranks);
  hk_device_close(device);

  // MPI is still the caller's.
  mpi.find<int(const void *, int, Handle, int, int, Handle)>("MPI_Send")(
      &sent, 1, mpi.integer, 1 - own, 2, comm);
  mpi.find<int(Handle *, void *)>("MPI_Wait")(&request, nullptr);
  bool ok = sum == 3 && counts && received == 1 - own;
  std::printf("rank %d: %s, sum %g, received %d\n", own, ok ? "ok" : "WRONG",
              double(sum), received);
  std::fflush(stdout);
  mpi.find<int()>("MPI_Finalize")();
  return ok ? 0 : 1;
}
