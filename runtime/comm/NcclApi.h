//===- NcclApi.h - The functions of NCCL and RCCL that hk calls -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// hk's own declarations: both libraries have the same C interface, whose
// functions and numbers have not changed since NCCL 2.14.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_COMM_NCCLAPI_H
#define HK_RUNTIME_COMM_NCCLAPI_H

#include "device/DynamicLibrary.h"

#include <cstddef>
#include <cstdint>

namespace hk {

/// ncclResult_t; named values are those hk tells apart.
enum class NcclResult : int { Success = 0, InProgress = 7 };

/// ncclDataType_t.
enum class NcclType : int {
  Int8 = 0,
  UInt8 = 1,
  Int32 = 2,
  Int64 = 4,
  F16 = 6,
  F32 = 7,
  BF16 = 9
};

/// ncclRedOp_t.
enum class NcclReduction : int { Sum = 0, Max = 2, Min = 3 };

/// ncclUniqueId.
struct NcclUniqueId {
  char bytes[128];
};

/// ncclConfig_t as of 2.14; later libraries take it for what it is by its size
/// and version.
struct NcclConfig {
  size_t size = 24;
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 0;
};
static_assert(sizeof(NcclConfig) == 24);

using NcclComm = void *;

// name, parameters; all return ncclResult_t.
#define HK_NCCL_FUNCTIONS(X)                                                   \
  X(ncclGetVersion, (int *))                                                   \
  X(ncclGetUniqueId, (NcclUniqueId *))                                         \
  X(ncclCommInitRankConfig,                                                    \
    (NcclComm *, int, NcclUniqueId, int, NcclConfig *))                        \
  X(ncclCommGetAsyncError, (NcclComm, NcclResult *))                           \
  X(ncclCommAbort, (NcclComm))                                                 \
  X(ncclCommCount, (NcclComm, int *))                                          \
  X(ncclCommUserRank, (NcclComm, int *))                                       \
  X(ncclAllReduce,                                                             \
    (const void *, void *, size_t, NcclType, NcclReduction, NcclComm, void *)) \
  X(ncclReduceScatter,                                                         \
    (const void *, void *, size_t, NcclType, NcclReduction, NcclComm, void *)) \
  X(ncclAllGather, (const void *, void *, size_t, NcclType, NcclComm, void *)) \
  X(ncclBroadcast,                                                             \
    (const void *, void *, size_t, NcclType, int, NcclComm, void *))           \
  X(ncclSend, (const void *, size_t, NcclType, int, NcclComm, void *))         \
  X(ncclRecv, (void *, size_t, NcclType, int, NcclComm, void *))               \
  X(ncclGroupStart, ())                                                        \
  X(ncclGroupEnd, ())

struct NcclApi {
#define HK_DECLARE(name, parameters) NcclResult(*name) parameters = nullptr;
  HK_NCCL_FUNCTIONS(HK_DECLARE)
#undef HK_DECLARE
  const char *(*ncclGetErrorString)(NcclResult) = nullptr;
  /// What went wrong last; NULL in older libraries.
  const char *(*ncclGetLastError)(NcclComm) = nullptr;

  DynamicLibrary library;

  /// RCCL (`isAmd`) or NCCL; that of the process where it has one.
  Status load(bool isAmd);
  Status check(NcclResult result, const char *what) const;
};

} // namespace hk

#endif // HK_RUNTIME_COMM_NCCLAPI_H
