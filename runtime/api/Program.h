//===- Program.h - A module on a device -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Owns what loading made: kernels, weights, and one hk_function per public
// function. Immutable once created, so that any number of threads may call.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_API_PROGRAM_H
#define HK_RUNTIME_API_PROGRAM_H

#include "api/Module.h"
#include "api/Weights.h"
#include "comm/Communicator.h"
#include "device/Device.h"

#include <vector>

struct hk_device {
  std::unique_ptr<hk::Device> impl;
};

struct hk_comm {
  std::unique_ptr<hk::Communicator> impl;
};

struct hk_function {
  const hk_program *program;
  const hk_function_abi *abi;
  const hk_function_impl_abi *impl;
  uint32_t numInputs = 0;   // inputs and states, which come first
  uint32_t outputRanks = 0; // summed over the outputs
};

struct hk_program {
  explicit hk_program(hk::Device &device) : device(device), weights(device) {}
  hk_program(const hk_program &) = delete;
  hk_program &operator=(const hk_program &) = delete;

  hk::Device &device;
  const hk_module *module = nullptr;
  const hk_section_abi *section = nullptr;
  hk::Communicator *communicator = nullptr; // NULL: one rank
  /// [kernel][variant] of the section.
  std::vector<std::vector<std::unique_ptr<hk::LoadedKernel>>> kernels;
  hk::Weights weights;
  std::vector<hk_function> functions;
};

namespace hk {

Status createProgram(const hk_module &module, Device &device,
                     Communicator *communicator, const char *weightsPath,
                     std::unique_ptr<hk_program> &program);

} // namespace hk

#endif // HK_RUNTIME_API_PROGRAM_H
