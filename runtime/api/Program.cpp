//===- Program.cpp - A module on a device -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads everything a call needs, so that a call itself only checks and
// launches.
//
//===----------------------------------------------------------------------===//

#include "api/Program.h"

#include "api/Types.h"

#include <cstdio>

using namespace hk;

static Status loadKernels(hk_program &program) {
  const hk_section_abi &section = *program.section;
  program.kernels.resize(section.num_kernels);
  for (uint32_t k = 0; k < section.num_kernels; ++k) {
    const hk_kernel_abi &kernel = section.kernels[k];
    if (kernel.collective && kernel.collective->extra_words == 0)
      continue; // the engine runs it
    program.kernels[k].resize(kernel.num_variants);
    for (uint32_t v = 0; v < kernel.num_variants; ++v)
      if (Status error = program.device.loadKernel(kernel, kernel.variants[v],
                                                   program.kernels[k][v]))
        return addContext(std::move(error),
                          std::string("loading kernel '") + kernel.name +
                              "' variant '" + kernel.variants[v].symbol + "'");
  }
  return {};
}

static Status loadWeights(hk_program &program, const char *weightsPath) {
  const hk_module_abi &abi = *program.module->abi;
  if (abi.num_weights == 0) {
    if (!weightsPath)
      return {};
    return makeError(HK_INVALID_ARGUMENT,
                     "weights file '%s' was given, but '%s' has no weights",
                     weightsPath, program.module->path.c_str());
  }
  const std::string &path = program.module->path;
  return addContext(program.weights.load(weightsPath,
                                         path.substr(0, path.rfind('/') + 1),
                                         abi, program.communicator),
                    "'" + path + "'");
}

static void describeFunctions(hk_program &program) {
  const hk_module_abi &abi = *program.module->abi;
  for (uint32_t i = 0; i < abi.num_functions; ++i) {
    hk_function function{&program, &abi.functions[i],
                         &program.section->functions[i]};
    for (uint32_t a = 0; a < function.abi->num_args; ++a) {
      const hk_arg_abi &arg = function.abi->args[a];
      if (arg.role == HK_ARG_OUTPUT)
        function.outputRanks += arg.rank;
      else
        ++function.numInputs;
    }
    program.functions.push_back(function);
  }
}

/// A module with a mesh runs on as many ranks as that has.
static Status checkMesh(const hk_module &module,
                        const Communicator *communicator) {
  const char *path = module.path.c_str(), *mesh = module.abi->mesh;
  if (!mesh && communicator)
    return makeError(HK_INVALID_ARGUMENT,
                     "'%s' was compiled for one rank, not for the mesh '%s' of "
                     "the communicator; pass no communicator, or compile a "
                     "module with that hk.mesh",
                     path, communicator->meshText().c_str());
  Mesh ranks;
  if (!mesh || (!communicator && Mesh::parse(mesh, ranks).empty() &&
                ranks.numRanks() == 1))
    return {};
  if (!communicator)
    return makeError(HK_INVALID_ARGUMENT,
                     "'%s' was compiled for the ranks of the mesh '%s'; open a "
                     "communicator with hk_comm_open and pass it to "
                     "hk_program_create_on",
                     path, mesh);
  if (communicator->meshText() == mesh)
    return {};
  return makeError(HK_INVALID_ARGUMENT,
                   "'%s' was compiled for the mesh '%s', the communicator has "
                   "'%s'; open it with the module's mesh",
                   path, mesh, communicator->meshText().c_str());
}

/// All ranks have loaded the same code: what they launch comes in one order.
static Status meetAsProgram(const hk_program &program) {
  const hk_module &module = *program.module;
  const hk_section_abi &section = *program.section;
  std::string features = section.cpu_features ? section.cpu_features : "";
  char checksum[17];
  std::snprintf(checksum, sizeof(checksum), "%016llx",
                static_cast<unsigned long long>(module.checksum));
  return addContext(
      program.communicator->meet(
          {hashOf(features),
           std::string("the program of the module with checksum ") + checksum +
               " for " + section.target}),
      "'" + module.path + "'");
}

Status hk::createProgram(const hk_module &module, Device &device,
                         Communicator *communicator, const char *weightsPath,
                         std::unique_ptr<hk_program> &program) {
  auto result = std::make_unique<hk_program>(device);
  result->module = &module;
  result->communicator = communicator;
  if (Status error = checkMesh(module, communicator))
    return error;
  if (Status error = chooseSection(module, device.target(), result->section))
    return error;
  if (Status error = loadKernels(*result))
    return error;
  if (Status error = loadWeights(*result, weightsPath))
    return error;
  describeFunctions(*result);
  if (communicator)
    if (Status error = meetAsProgram(*result))
      return error;
  program = std::move(result);
  return {};
}

static hk_status *createChecked(const char *name, hk_module *module,
                                hk_device *device, hk_comm *comm,
                                const char *weights_path,
                                hk_program **program) {
  return guarded([&]() -> Status {
    if (Status error = requireNonNull(module, name, "module"))
      return error;
    if (Status error = requireNonNull(device, name, "device"))
      return error;
    if (Status error = requireNonNull(program, name, "program"))
      return error;
    *program = nullptr;
    std::unique_ptr<hk_program> result;
    Communicator *communicator = comm ? comm->impl.get() : nullptr;
    if (Status error = createProgram(*module, *device->impl, communicator,
                                     weights_path, result)) {
      if (communicator)
        communicator->fail(error); // the other ranks wait for this one
      return error;
    }
    *program = result.release();
    return {};
  });
}

hk_status *hk_program_create(hk_module *module, hk_device *device,
                             const char *weights_path, hk_program **program) {
  return createChecked("hk_program_create", module, device, nullptr,
                       weights_path, program);
}

hk_status *hk_program_create_on(hk_module *module, hk_device *device,
                                hk_comm *comm, const char *weights_path,
                                hk_program **program) {
  return createChecked("hk_program_create_on", module, device, comm,
                       weights_path, program);
}

void hk_program_destroy(hk_program *program) {
  if (!program)
    return;
  // Launches may still read the kernels and weights. An error of the device
  // would come back from every later use of it.
  hk_status_free(guarded([&] { return program->device.waitIdle(); }));
  delete program;
}

hk_status *hk_program_function(hk_program *program, const char *name,
                               const hk_function **function) {
  return guarded([&]() -> Status {
    const char *self = "hk_program_function";
    if (Status error = requireNonNull(program, self, "program"))
      return error;
    if (Status error = requireNonNull(name, self, "name"))
      return error;
    if (Status error = requireNonNull(function, self, "function"))
      return error;
    *function = nullptr;
    std::string present;
    for (const hk_function &candidate : program->functions) {
      if (std::string(candidate.abi->name) == name) {
        *function = &candidate;
        return {};
      }
      present +=
          (present.empty() ? "" : ", ") + std::string(candidate.abi->name);
    }
    return makeError(HK_NOT_FOUND, "'%s' has no function '%s'; it has: %s",
                     program->module->path.c_str(), name,
                     present.empty() ? "none" : present.c_str());
  });
}

uint32_t hk_function_num_arguments(const hk_function *function) {
  return function ? function->abi->num_args : 0;
}

hk_argument_info hk_function_argument(const hk_function *function,
                                      uint32_t index) {
  hk_argument_info info{};
  if (!function || index >= function->abi->num_args)
    return info;
  const hk_arg_abi &arg = function->abi->args[index];
  info.name = arg.name;
  info.role = static_cast<hk_role>(arg.role);
  info.dtype = dlpackType(static_cast<DType>(arg.dtype));
  info.rank = arg.rank;
  info.sizes = arg.sizes;
  return info;
}
