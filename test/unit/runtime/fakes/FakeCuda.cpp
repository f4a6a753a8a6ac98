//===- FakeCuda.cpp - A fake libcuda for tests -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The CUDA driver functions that the runtime loads, strict about their
// arguments: everything but discovery needs the primary context current.
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"

#include <cstdio>
#include <set>

using namespace hk::fake;

static Memory memory;
static int primaryContext;
static thread_local std::vector<void *> contexts;

#define FAIL_IF(condition, code)                                               \
  do {                                                                         \
    if (condition)                                                             \
      return code;                                                             \
  } while (false)
#define NEED_CONTEXT                                                           \
  FAIL_IF(contexts.empty() || contexts.back() != &primaryContext, 201)

FAKE_EXPORT int cuInit(unsigned) { return shouldFail("cuInit") ? 100 : 0; }
FAKE_EXPORT int cuDriverGetVersion(int *version) {
  *version = 13010;
  return 0;
}
FAKE_EXPORT int cuDeviceGetCount(int *count) {
  *count = 1;
  return 0;
}
FAKE_EXPORT int cuDeviceGet(int *device, int ordinal) {
  *device = 100 + ordinal;
  return 0;
}
FAKE_EXPORT int cuDeviceGetName(char *name, int bytes, int device) {
  FAIL_IF(device != 100, 101);
  std::snprintf(name, bytes, "Fake Hopper");
  return 0;
}
FAKE_EXPORT int cuDeviceGetAttribute(int *value, int attribute, int) {
  FAIL_IF(attribute != 75 && attribute != 76 && attribute != 16, 1);
  *value = attribute == 75 ? 9 : attribute == 16 ? 132 : 0;
  return 0;
}
FAKE_EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
  FAIL_IF(device != 100, 101);
  *context = &primaryContext;
  return 0;
}
FAKE_EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
  return device == 100 ? 0 : 101;
}
FAKE_EXPORT int cuCtxGetCurrent(void **context) {
  *context = contexts.empty() ? nullptr : contexts.back();
  return 0;
}
FAKE_EXPORT int cuCtxPushCurrent_v2(void *context) {
  contexts.push_back(context);
  return 0;
}
FAKE_EXPORT int cuCtxPopCurrent_v2(void **context) {
  FAIL_IF(contexts.empty(), 201);
  *context = contexts.back();
  contexts.pop_back();
  return 0;
}
FAKE_EXPORT int cuCtxSynchronize() {
  NEED_CONTEXT;
  return 0;
}
FAKE_EXPORT int cuMemAlloc_v2(unsigned long long *data, size_t bytes) {
  NEED_CONTEXT;
  FAIL_IF(shouldFail("cuMemAlloc"), 2);
  *data = reinterpret_cast<uintptr_t>(memory.allocate(bytes));
  return 0;
}
static thread_local int captureMode = 0; // CU_STREAM_CAPTURE_MODE_GLOBAL
FAKE_EXPORT int cuThreadExchangeStreamCaptureMode(int *mode) {
  std::swap(*mode, captureMode);
  return 0;
}
FAKE_EXPORT int cuMemFree_v2(unsigned long long data) {
  NEED_CONTEXT;
  FAIL_IF(shouldFail("capturing") && captureMode != 2, 900);
  return memory.release(reinterpret_cast<void *>(data)) ? 0 : 1;
}
FAKE_EXPORT int cuMemcpyHtoD_v2(unsigned long long to, const void *from,
                                size_t bytes) {
  NEED_CONTEXT;
  FAIL_IF(!memory.contains(reinterpret_cast<void *>(to), bytes), 1);
  std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  return 0;
}
FAKE_EXPORT int cuMemcpyDtoH_v2(void *to, unsigned long long from,
                                size_t bytes) {
  NEED_CONTEXT;
  FAIL_IF(!memory.contains(reinterpret_cast<void *>(from), bytes), 1);
  std::memcpy(to, reinterpret_cast<void *>(from), bytes);
  return 0;
}
namespace {
/// CUDA_MEMCPY2D.
struct Copy2D {
  struct Side {
    size_t xBytes, y;
    int type;
    const void *host;
    unsigned long long device;
    void *array;
    size_t pitch;
  } from, to;
  size_t bytes, rows;
};
} // namespace
FAKE_EXPORT int cuMemcpy2DAsync_v2(const Copy2D *copy, void *) {
  NEED_CONTEXT;
  FAIL_IF(copy->from.type != 2 || copy->to.type != 2, 1);
  FAIL_IF(copy->bytes > copy->from.pitch || copy->bytes > copy->to.pitch, 1);
  for (size_t row = 0; row < copy->rows; ++row) {
    auto *from =
        reinterpret_cast<char *>(copy->from.device) + row * copy->from.pitch;
    auto *to = reinterpret_cast<char *>(copy->to.device) + row * copy->to.pitch;
    FAIL_IF(!memory.contains(from, copy->bytes) ||
                !memory.contains(to, copy->bytes),
            1);
    std::memmove(to, from, copy->bytes);
  }
  return 0;
}
FAKE_EXPORT int cuMemsetD32Async(unsigned long long to, unsigned value,
                                 size_t count, void *) {
  NEED_CONTEXT;
  FAIL_IF(!memory.contains(reinterpret_cast<void *>(to), 4 * count), 1);
  for (size_t i = 0; i < count; ++i)
    reinterpret_cast<unsigned *>(to)[i] = value;
  return 0;
}
// Memory of the host, and that other processes share: there are none.
struct SharedHandle {
  char bytes[64];
};
FAKE_EXPORT int cuMemHostAlloc(void **, size_t, unsigned) { return 801; }
FAKE_EXPORT int cuMemFreeHost(void *) { return 801; }
FAKE_EXPORT int cuIpcGetMemHandle(void *, unsigned long long) { return 801; }
FAKE_EXPORT int cuIpcCloseMemHandle(unsigned long long) { return 801; }
FAKE_EXPORT int cuIpcOpenMemHandle_v2(unsigned long long *, SharedHandle,
                                      unsigned) {
  return 801;
}
FAKE_EXPORT int cuStreamQuery(void *) {
  NEED_CONTEXT;
  return shouldFail("busy") ? 600 : 0;
}
FAKE_EXPORT int cuStreamIsCapturing(void *, int *status) {
  NEED_CONTEXT;
  *status = shouldFail("capturing") ? 1 : 0;
  return 0;
}
FAKE_EXPORT int cuModuleLoadDataEx(void **module, const void *code,
                                   unsigned numOptions, int *options,
                                   void **values) {
  NEED_CONTEXT;
  FAIL_IF(numOptions != 4 || options[2] != 5, 1);
  if (shouldFail("cuModuleLoadDataEx")) {
    std::strcpy(static_cast<char *>(values[2]), "ptxas: fake complaint");
    return 218;
  }
  FAIL_IF(shouldFail("PTX version"), 222);
  FAIL_IF(std::string(static_cast<const char *>(code)) != "fake PTX", 200);
  *module = new int(42);
  return 0;
}
FAKE_EXPORT int cuModuleUnload(void *module) {
  NEED_CONTEXT;
  delete static_cast<int *>(module);
  return 0;
}
FAKE_EXPORT int cuModuleGetFunction(void **function, void *,
                                    const char *symbol) {
  NEED_CONTEXT;
  *function = reinterpret_cast<void *>(findKernel(symbol));
  return *function ? 0 : 500;
}
static void *largeFunction;
/// Those that want most of a unit's shared memory to be its L1 cache.
static std::set<void *> cachedFunctions;
FAKE_EXPORT int cuFuncSetAttribute(void *function, int attribute, int value) {
  NEED_CONTEXT;
  if (attribute == 9) {
    FAIL_IF(value <= 0 || value > 100, 1);
    cachedFunctions.insert(function);
    return 0;
  }
  FAIL_IF(attribute != 8 || value > 232448, 1);
  largeFunction = function;
  return 0;
}
FAKE_EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *,
                                                            int threads,
                                                            size_t) {
  NEED_CONTEXT;
  FAIL_IF(threads != 64, 1);
  *blocks = 2;
  return 0;
}
struct LaunchAttribute {
  unsigned id;
  char unused[4];
  int value;
  char rest[60];
};
struct LaunchConfig {
  unsigned gx, gy, gz, bx, by, bz, shared;
  void *stream;
  LaunchAttribute *attributes;
  unsigned numAttributes;
};
/// What the fake encoder writes into the 128 bytes of a map.
struct FakeMap {
  uint64_t magic, address, sizes[3], strides[2], elementBytes;
};
constexpr uint64_t kMapMagic = 0x70616d20656b6166;

FAKE_EXPORT int cuTensorMapEncodeTiled(void *map, int type, uint32_t rank,
                                       void *address, const uint64_t *sizes,
                                       const uint64_t *strides,
                                       const uint32_t *box,
                                       const uint32_t *every, int interleave,
                                       int swizzle, int promotion, int fill) {
  FAIL_IF(reinterpret_cast<uintptr_t>(map) % 64, 1);
  FAIL_IF(shouldFail("cuTensorMapEncodeTiled"), 1);
  // Of f32, or of bytes; a box is 128 bytes.
  FAIL_IF((type != 0 && type != 2) || rank != 3, 1);
  const uint64_t elementBytes = type == 0 ? 1 : 4;
  FAIL_IF(box[0] * elementBytes != 128 || box[1] != 1 || box[2] != 1, 1);
  FAIL_IF(every[0] != 1 || every[1] != 1 || every[2] != 1, 1);
  FAIL_IF(interleave || swizzle != 3 || promotion != 2 || fill, 1);
  FakeMap made = {kMapMagic,
                  reinterpret_cast<uintptr_t>(address),
                  {sizes[0], sizes[1], sizes[2]},
                  {strides[0], strides[1]},
                  elementBytes};
  std::memcpy(map, &made, sizeof(made));
  return 0;
}

/// Whether the maps are those of a launch of addRow with `words`.
static bool isMapOf(const void *maps, const uint64_t *words) {
  FakeMap map;
  std::memcpy(&map, maps, sizeof(map));
  return reinterpret_cast<uintptr_t>(maps) % 64 == 0 &&
         map.magic == kMapMagic && map.address == words[0] &&
         map.sizes[0] * map.elementBytes == kColumns * 4 &&
         map.sizes[1] == words[3] && map.sizes[2] == 1 &&
         map.strides[0] == kColumns * 4 && map.strides[1] == kColumns * 4;
}

FAKE_EXPORT int cuLaunchKernelEx(const LaunchConfig *config, void *function,
                                 void **parameters, void **extra) {
  NEED_CONTEXT;
  const LaunchConfig &c = *config;
  FAIL_IF(extra || !parameters || !c.gx || c.gy != 1 || c.gz != 1, 1);
  FAIL_IF(c.bx != 64 || c.by != 1 || c.bz != 1, 1);
  FAIL_IF(c.shared > 49152 && function != largeFunction, 1);
  bool needsLittle = c.shared > 0 && 2 * (c.shared + 1024) <= 65536;
  FAIL_IF(needsLittle != (cachedFunctions.count(function) != 0), 1);
  // Programmatic stream serialization, which the kernels are made for.
  FAIL_IF(c.numAttributes != 1 || c.attributes->id != 6, 1);
  FAIL_IF(c.attributes->value != 1, 1);
  const auto *words = static_cast<const uint64_t *>(parameters[0]);
  FAIL_IF(reinterpret_cast<hk_host_kernel_fn>(function) == addRow &&
              !isMapOf(parameters[1], words),
          1);
  runGrid(reinterpret_cast<hk_host_kernel_fn>(function),
          static_cast<const uint64_t *>(parameters[0]), c.gx);
  return 0;
}
FAKE_EXPORT int cuEventCreate(void **event, unsigned) {
  NEED_CONTEXT;
  *event = new Event;
  return 0;
}
FAKE_EXPORT int cuEventDestroy_v2(void *event) {
  delete static_cast<Event *>(event);
  return 0;
}
FAKE_EXPORT int cuEventRecord(void *event, void *) {
  NEED_CONTEXT;
  *static_cast<Event *>(event) = std::chrono::steady_clock::now();
  return 0;
}
FAKE_EXPORT int cuEventSynchronize(void *) { return 0; }
FAKE_EXPORT int cuEventElapsedTime(float *time, void *begin, void *end) {
  *time = milliseconds(begin, end);
  return 0;
}
FAKE_EXPORT int cuGetErrorName(int, const char **name) {
  *name = "CUDA_ERROR_FAKE";
  return 0;
}
FAKE_EXPORT int cuGetErrorString(int, const char **text) {
  *text = "fake CUDA error";
  return 0;
}
