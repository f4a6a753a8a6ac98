//===- FakeHip.cpp - A fake libamdhip64 for tests -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The HIP entry points that the runtime loads, strict about their arguments.
// FAKE_ROCM5 exports the older property function, FAKE_ODD_LAYOUT puts the chip
// where no known release has it, FAKE_INCOMPLETE leaves a function out.
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"

using namespace hk::fake;

#if defined(FAKE_ROCM5)
static constexpr size_t kArchOffset = 396;
#define PROPERTIES hipGetDeviceProperties
#elif defined(FAKE_ODD_LAYOUT)
static constexpr size_t kArchOffset = 2002;
#define PROPERTIES hipGetDevicePropertiesR0600
#else
static constexpr size_t kArchOffset = 1160;
#define PROPERTIES hipGetDevicePropertiesR0600
#endif

static Memory memory;
static thread_local int currentDevice = 1;

#define FAIL_IF(condition, code)                                               \
  do {                                                                         \
    if (condition)                                                             \
      return code;                                                             \
  } while (false)

FAKE_EXPORT int hipInit(unsigned) { return 0; }
FAKE_EXPORT int hipGetDeviceCount(int *count) {
  FAIL_IF(shouldFail("hipGetDeviceCount"), 100);
  *count = 2;
  return 0;
}
FAKE_EXPORT int hipGetDevice(int *device) {
  FAIL_IF(shouldFail("hipGetDevice"), 700);
  *device = currentDevice;
  return 0;
}
FAKE_EXPORT int hipSetDevice(int device) {
  FAIL_IF(device < 0 || device > 1, 101);
  currentDevice = device;
  return 0;
}
FAKE_EXPORT int PROPERTIES(void *properties, int device) {
  std::strcpy(static_cast<char *>(properties), "Fake Instinct");
  std::strcpy(static_cast<char *>(properties) + kArchOffset,
              device == 0 ? "gfx942:sramecc+:xnack-" : "gfx1234");
  return 0;
}
FAKE_EXPORT int hipDeviceSynchronize() {
  return shouldFail("hipDeviceSynchronize") ? 700 : 0;
}
FAKE_EXPORT int hipMalloc(void **data, size_t bytes) {
  FAIL_IF(shouldFail("hipMalloc") || currentDevice != 0, 2);
  *data = memory.allocate(bytes);
  return 0;
}
static thread_local int captureMode = 0; // hipStreamCaptureModeGlobal
FAKE_EXPORT int hipFree(void *data) {
  FAIL_IF(shouldFail("capturing") && captureMode != 2, 900);
  return memory.release(data) ? 0 : 1;
}
FAKE_EXPORT int hipMemcpy(void *to, const void *from, size_t bytes, int kind) {
  FAIL_IF(kind != 1 && kind != 2, 21);
  FAIL_IF(!memory.contains(kind == 1 ? to : from, bytes), 1);
  std::memcpy(to, from, bytes);
  return 0;
}
FAKE_EXPORT int hipMemcpy2DAsync(void *to, size_t toPitch, const void *from,
                                 size_t fromPitch, size_t bytes, size_t rows,
                                 int kind, void *) {
  FAIL_IF(kind != 3 || currentDevice != 0, 21);
  FAIL_IF(bytes > toPitch || bytes > fromPitch, 12);
  for (size_t row = 0; row < rows; ++row) {
    auto *at = static_cast<char *>(to) + row * toPitch;
    auto *source = static_cast<const char *>(from) + row * fromPitch;
    FAIL_IF(!memory.contains(at, bytes) || !memory.contains(source, bytes), 1);
    std::memmove(at, source, bytes);
  }
  return 0;
}
FAKE_EXPORT int hipMemsetD32Async(void *to, int value, size_t count, void *) {
  FAIL_IF(currentDevice != 0 || !memory.contains(to, 4 * count), 1);
  for (size_t i = 0; i < count; ++i)
    static_cast<int *>(to)[i] = value;
  return 0;
}
/// HK_FAKE_FAIL=busy: a stream whose work never ends.
FAKE_EXPORT int hipStreamQuery(void *) {
  FAIL_IF(shouldFail("busy"), 600);
  return shouldFail("hipStreamQuery") ? 700 : 0;
}
FAKE_EXPORT int hipStreamIsCapturing(void *, int *status) {
  *status = shouldFail("capturing") ? 1 : 0;
  return 0;
}
FAKE_EXPORT int hipThreadExchangeStreamCaptureMode(int *mode) {
  std::swap(*mode, captureMode);
  return 0;
}
FAKE_EXPORT int hipModuleLoadData(void **module, const void *code) {
  FAIL_IF(std::string(static_cast<const char *>(code)) != "FAKECODE gfx942",
          209);
  *module = new int(42);
  return 0;
}
FAKE_EXPORT int hipModuleUnload(void *module) {
  delete static_cast<int *>(module);
  return 0;
}
FAKE_EXPORT int hipModuleGetFunction(void **function, void *,
                                     const char *symbol) {
  *function = reinterpret_cast<void *>(findKernel(symbol));
  return *function ? 0 : 500;
}
FAKE_EXPORT int hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy,
                                      unsigned gz, unsigned bx, unsigned by,
                                      unsigned bz, unsigned, void *,
                                      void **parameters, void **extra) {
  FAIL_IF(shouldFail("hipModuleLaunchKernel"), 701);
  FAIL_IF(currentDevice != 0 || parameters || !extra, 1);
  FAIL_IF(bx != 64 || by != 1 || bz != 1 || gy != 1 || gz != 1 || !gx, 9);
  FAIL_IF(extra[0] != reinterpret_cast<void *>(1) ||
              extra[2] != reinterpret_cast<void *>(2) ||
              extra[4] != reinterpret_cast<void *>(3) ||
              *static_cast<size_t *>(extra[3]) % 8,
          1);
  // The driver takes a copy that has exactly the announced bytes.
  std::vector<uint64_t> words(*static_cast<size_t *>(extra[3]) / 8);
  std::memcpy(words.data(), extra[1], words.size() * 8);
  runGrid(reinterpret_cast<hk_host_kernel_fn>(function), words.data(), gx);
  return 0;
}
FAKE_EXPORT int hipEventCreate(void **event) {
  *event = new Event;
  return 0;
}
FAKE_EXPORT int hipEventDestroy(void *event) {
  delete static_cast<Event *>(event);
  return 0;
}
FAKE_EXPORT int hipEventRecord(void *event, void *) {
  *static_cast<Event *>(event) = std::chrono::steady_clock::now();
  return 0;
}
#ifndef FAKE_INCOMPLETE
FAKE_EXPORT int hipEventSynchronize(void *) { return 0; }
#endif
FAKE_EXPORT int hipEventElapsedTime(float *time, void *begin, void *end) {
  *time = milliseconds(begin, end);
  return 0;
}
FAKE_EXPORT const char *hipGetErrorString(int error) {
  return error == 209 ? "no kernel image is available" : "fake HIP error";
}
FAKE_EXPORT const char *hipGetErrorName(int error) {
  return error == 2 ? "hipErrorOutOfMemory" : "hipErrorFake";
}
