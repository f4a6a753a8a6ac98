//===- MpiApi.cpp - The functions of MPI that hk calls --------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Another MPI than OpenMPI has other handles, which a call would misread; it
// lacks OpenMPI's symbols and is refused by that.
//
//===----------------------------------------------------------------------===//

#include "comm/MpiApi.h"

#include "device/DynamicLibrary.h"

#include <cstdlib>
#include <mutex>

using namespace hk;

static Status readSymbols(const DynamicLibrary &library, MpiApi &api) {
  Status error;
  auto require = [&](const char *name, auto *&function) {
    if (!error)
      error = library.require(name, function);
  };
  require("MPI_Initialized", api.initialized);
  require("MPI_Finalized", api.finalized);
  require("MPI_Query_thread", api.queryThread);
  require("MPI_Init_thread", api.initThread);
  require("MPI_Finalize", api.finalize);
  require("MPI_Comm_rank", api.commRank);
  require("MPI_Comm_size", api.commSize);
  require("MPI_Comm_dup", api.commDup);
  require("MPI_Comm_free", api.commFree);
  require("MPI_Comm_set_errhandler", api.commSetErrhandler);
  require("MPI_Isend", api.isend);
  require("MPI_Irecv", api.irecv);
  require("MPI_Test", api.test);
  require("MPI_Cancel", api.cancel);
  require("MPI_Request_free", api.requestFree);
  require("MPI_Error_string", api.errorString);
  if (error)
    return error;
  char *world = nullptr, *byteType = nullptr, *errorsReturn = nullptr;
  require("ompi_mpi_comm_world", world);
  require("ompi_mpi_byte", byteType);
  require("ompi_mpi_errors_return", errorsReturn);
  if (error)
    return makeError(HK_UNAVAILABLE,
                     "'%s' is not OpenMPI, whose ABI hk's engine 'mpi' speaks; "
                     "install OpenMPI (Debian: openmpi-bin libopenmpi3) or "
                     "name its libmpi.so with HK_MPI_LIBRARY",
                     library.name().c_str());
  api.world = world;
  api.byteType = byteType;
  api.errorsReturn = errorsReturn;
  return {};
}

Status MpiApi::load(const MpiApi *&api) {
  static std::mutex mutex;
  static MpiApi loaded;
  static bool isLoaded = false;
  std::lock_guard<std::mutex> lock(mutex);
  api = &loaded;
  if (isLoaded)
    return {};
  const char *named = std::getenv("HK_MPI_LIBRARY");
  DynamicLibrary library;
  if (Status error = library.open(
          "OpenMPI, the engine of several ranks on the host; install it "
          "(Debian: openmpi-bin libopenmpi3) or name its libmpi.so with "
          "HK_MPI_LIBRARY",
          {named && *named ? named : "libmpi.so.40"}))
    return error;
  if (Status error = readSymbols(library, loaded))
    return error;
  isLoaded = true;
  return {};
}

Status MpiApi::check(int code, const char *what) const {
  if (code == 0)
    return {};
  char text[512] = "";
  int length = 0;
  if (errorString(code, text, &length) != 0)
    text[0] = '\0';
  return makeError(HK_RANK_FAILED, "%s of MPI failed with error %d: %s", what,
                   code, text);
}
