//===- MpiApi.h - The functions of MPI that hk calls -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// hk's own declarations, of OpenMPI's ABI: handles are pointers, and those that
// are predefined are addresses of symbols of the library. No header of MPI is
// needed to build hk.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_COMM_MPIAPI_H
#define HK_RUNTIME_COMM_MPIAPI_H

#include "base/Status.h"

#include <cstdint>

namespace hk {

using MpiHandle = void *;

struct MpiApi {
  int (*initialized)(int *flag);
  int (*finalized)(int *flag);
  int (*queryThread)(int *provided);
  int (*initThread)(int *argc, char ***argv, int required, int *provided);
  int (*finalize)();
  int (*commRank)(MpiHandle comm, int *rank);
  int (*commSize)(MpiHandle comm, int *size);
  int (*commDup)(MpiHandle comm, MpiHandle *copy);
  int (*commFree)(MpiHandle *comm);
  int (*commSetErrhandler)(MpiHandle comm, MpiHandle handler);
  int (*isend)(const void *data, int count, MpiHandle type, int to, int tag,
               MpiHandle comm, MpiHandle *request);
  int (*irecv)(void *data, int count, MpiHandle type, int from, int tag,
               MpiHandle comm, MpiHandle *request);
  int (*test)(MpiHandle *request, int *flag, void *status);
  int (*cancel)(MpiHandle *request);
  int (*requestFree)(MpiHandle *request);
  int (*errorString)(int code, char *text, int *length);

  MpiHandle world, byteType, errorsReturn;

  /// The library of this process, loaded once.
  static Status load(const MpiApi *&api);
  /// An error when `code` is one.
  Status check(int code, const char *what) const;
};

/// MPI_THREAD_SERIALIZED and MPI_THREAD_MULTIPLE.
inline constexpr int kMpiThreadSerialized = 2, kMpiThreadMultiple = 3;

} // namespace hk

#endif // HK_RUNTIME_COMM_MPIAPI_H
