//===- Mesh.h - hk-run as one of several ranks -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module with a mesh is called by as many processes as that has ranks. Each
// opens a communicator, calls, and compares its results with the interpretation
// of all ranks, whose inputs it makes as they do.
//
//===----------------------------------------------------------------------===//

#ifndef HK_TOOLS_HK_RUN_MESH_H
#define HK_TOOLS_HK_RUN_MESH_H

#include "Session.h"

namespace hk::run {

/// One rank of a mesh, or the only one of a module without.
class MeshRank {
public:
  /// Reads the module's mesh and, if a call is made, opens a communicator for
  /// it. The options with the names of this rank's files.
  Options open(const Options &options);

  hk_comm *comm() const { return commHandle.get(); }

  /// evaluateReference on the inputs of all ranks. `session` is this rank's.
  bool evaluate(const Session &session, const Options &options,
                std::vector<Expected> &expected) const;

private:
  DeviceHandle device;
  CommHandle commHandle; // closed before the device
  std::string module; // whose mesh it is: all calls of a process may be of it
  std::string mesh;   // "": none
  int64_t numRanks = 1;
  Options given;
};

} // namespace hk::run

#endif // HK_TOOLS_HK_RUN_MESH_H
