//===- main.cpp - Uses an installed runtime -------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Doubles three rows of 64 numbers with the function @twice of a module.
//
//===----------------------------------------------------------------------===//

#include <hk/Runtime/hk.h>

#include <cstdio>
#include <cstdlib>

static void check(hk_status *status) {
  if (!status)
    return;
  std::fprintf(stderr, "consumer: %s\n", hk_status_get_message(status));
  std::exit(1);
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  hk_device *device = nullptr;
  hk_module *module = nullptr;
  hk_program *program = nullptr;
  const hk_function *twice = nullptr;
  check(hk_device_open("host", nullptr, &device));
  check(hk_module_open(argv[1], &module));
  check(hk_program_create(module, device, nullptr, &program));
  check(hk_program_function(program, "twice", &twice));

  alignas(64) static float x[3][64], y[3][64];
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 64; ++j)
      x[i][j] = static_cast<float>(i * 64 + j);
  int64_t sizes[] = {3, 64};
  DLTensor in{x, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, sizes, nullptr, 0};
  DLTensor out = in;
  out.data = y;
  const DLTensor *arguments[] = {&in, &out};
  hk_call call{};
  call.struct_bytes = sizeof(call);
  call.num_arguments = 2;
  call.arguments = arguments;
  check(hk_function_call(twice, &call));
  std::printf("consumer: y[2][63] = %g\n", static_cast<double>(y[2][63]));
  hk_program_destroy(program);
  hk_module_close(module);
  hk_device_close(device);
  return 0;
}
