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

using namespace hk;

static Status loadKernels(hk_program &program) {
  const hk_section_abi &section = *program.section;
  program.kernels.resize(section.num_kernels);
  for (uint32_t k = 0; k < section.num_kernels; ++k) {
    const hk_kernel_abi &kernel = section.kernels[k];
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
  return addContext(program.weights.load(
                        weightsPath, path.substr(0, path.rfind('/') + 1), abi),
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

Status hk::createProgram(const hk_module &module, Device &device,
                         const char *weightsPath,
                         std::unique_ptr<hk_program> &program) {
  auto result = std::make_unique<hk_program>(device);
  result->module = &module;
  if (Status error = chooseSection(module, device.target(), result->section))
    return error;
  if (Status error = loadKernels(*result))
    return error;
  if (Status error = loadWeights(*result, weightsPath))
    return error;
  describeFunctions(*result);
  program = std::move(result);
  return {};
}

hk_status *hk_program_create(hk_module *module, hk_device *device,
                             const char *weights_path, hk_program **program) {
  return guarded([&]() -> Status {
    const char *name = "hk_program_create";
    if (Status error = requireNonNull(module, name, "module"))
      return error;
    if (Status error = requireNonNull(device, name, "device"))
      return error;
    if (Status error = requireNonNull(program, name, "program"))
      return error;
    *program = nullptr;
    std::unique_ptr<hk_program> result;
    if (Status error =
            createProgram(*module, *device->impl, weights_path, result))
      return error;
    *program = result.release();
    return {};
  });
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
