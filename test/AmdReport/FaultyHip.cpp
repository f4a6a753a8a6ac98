//===- FaultyHip.cpp - The emulator with faults on request ----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A HIP library that passes every call on to HK_FAULTY_HIP (libhk_emu.so) but
// for one:
//
//   HK_FAULT=FUNCTION:N:KIND   the N-th call of the function in a process, with
//                              0 every one. KIND: a hipError_t, or
//     lost      this call and all later ones, in later processes too
//     hang      never returns
//     kill      the process is killed
//     crash     the process crashes
//     corrupt   (hipMemcpy) a bit of a result that is copied back is another
//               one
//   HK_FAULT_MARK=FILE         made by the fault. While it is there nothing
//                              fails again; with `lost` everything does
//   HK_FAULT_PROGRAM=NAME      only in this program; default hk-run
//
//===----------------------------------------------------------------------===//

#include "device/FencedMemory.h"
#include "device/hip/HipApi.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <mutex>
#include <string>
#include <unistd.h>

using hk::HipCopy;
using hk::HipError;
using hk::HipHandle;

#define HK_FAULTY extern "C" __attribute__((visibility("default")))

namespace {
constexpr HipError kLost{719}; // hipErrorLaunchFailure

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

void *libraryHandle() {
  static void *handle = dlopen(environment("HK_FAULTY_HIP").c_str(), RTLD_NOW);
  if (!handle) {
    std::fprintf(stderr, "faulty HIP: %s\n", dlerror());
    std::abort();
  }
  return handle;
}

/// What HK_FAULT asks for.
class Fault {
public:
  Fault() {
    std::string text = environment("HK_FAULT");
    std::string program = environment("HK_FAULT_PROGRAM");
    if ((program.empty() ? "hk-run" : program) != program_invocation_short_name)
      text.clear();
    size_t first = text.find(':'), second = text.find(':', first + 1);
    mark = environment("HK_FAULT_MARK");
    if (text.empty() || second == text.npos)
      return;
    function = text.substr(0, first);
    number = std::strtol(text.c_str() + first + 1, nullptr, 10);
    kind = text.substr(second + 1);
  }

  /// Whether this call of `name` is the one; does what does not return.
  bool strikes(const char *name) {
    std::lock_guard<std::mutex> lock(mutex);
    bool marked = !mark.empty() && access(mark.c_str(), F_OK) == 0;
    // The device is lost for every program.
    if (marked && environment("HK_FAULT").find(":lost") != std::string::npos) {
      kind = "lost";
      return true;
    }
    if (marked || function != name || (++count != number && number != 0))
      return false;
    if (!mark.empty())
      close(open(mark.c_str(), O_CREAT | O_WRONLY, 0600));
    if (kind == "hang")
      for (;;)
        pause();
    if (kind == "kill")
      (void)raise(SIGKILL);
    if (kind == "crash")
      (void)raise(SIGSEGV);
    return true;
  }
  HipError error() const {
    return kind == "lost"
               ? kLost
               : static_cast<HipError>(std::strtol(kind.c_str(), nullptr, 10));
  }
  bool corrupts() const { return kind == "corrupt"; }

private:
  std::mutex mutex;
  std::string function, kind, mark;
  long number = 0, count = 0;
};

Fault &fault() {
  static Fault instance;
  return instance;
}

template <class F> F *address(const char *name) {
  void *found = dlsym(libraryHandle(), name);
  if (!found) {
    std::fprintf(stderr, "faulty HIP: the library has no %s\n", name);
    std::abort();
  }
  return reinterpret_cast<F *>(found);
}
} // namespace

/// NAME(parameters), which passes `arguments` on unless the fault strikes.
#define HK_PASS(name, parameters, ...)                                         \
  HK_FAULTY HipError name parameters {                                         \
    if (fault().strikes(#name))                                                \
      return fault().error();                                                  \
    return address<HipError parameters>(#name)(__VA_ARGS__);                   \
  }

HK_PASS(hipInit, (unsigned flags), flags)
HK_PASS(hipGetDeviceCount, (int *count), count)
HK_PASS(hipRuntimeGetVersion, (int *version), version)
HK_PASS(hipDriverGetVersion, (int *version), version)
HK_PASS(hipGetDevice, (int *device), device)
HK_PASS(hipSetDevice, (int device), device)
HK_PASS(hipGetDevicePropertiesR0600, (void *properties, int device), properties,
        device)
HK_PASS(hipDeviceTotalMem, (size_t *bytes, int device), bytes, device)
HK_PASS(hipDeviceGetAttribute, (int *value, int attribute, int device), value,
        attribute, device)
HK_PASS(hipDeviceSynchronize, ())
HK_PASS(hipMalloc, (void **data, size_t bytes), data, bytes)
HK_PASS(hipFree, (void *data), data)
HK_PASS(hipMemcpy2DAsync,
        (void *to, size_t toPitch, const void *from, size_t fromPitch,
         size_t bytes, size_t rows, HipCopy kind, HipHandle stream),
        to, toPitch, from, fromPitch, bytes, rows, kind, stream)
HK_PASS(hipMemsetD32Async,
        (void *to, int value, size_t count, HipHandle stream), to, value, count,
        stream)
HK_PASS(hipStreamQuery, (HipHandle stream), stream)
HK_PASS(hipStreamIsCapturing, (HipHandle stream, hk::HipCapture *status),
        stream, status)
HK_PASS(hipThreadExchangeStreamCaptureMode, (hk::HipCaptureMode * mode), mode)
HK_PASS(hipModuleLoadData, (HipHandle * module, const void *image), module,
        image)
HK_PASS(hipModuleUnload, (HipHandle module), module)
HK_PASS(hipModuleGetFunction,
        (HipHandle * function, HipHandle module, const char *name), function,
        module, name)
HK_PASS(hipModuleLaunchKernel,
        (HipHandle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
         unsigned by, unsigned bz, unsigned lds, HipHandle stream,
         void **parameters, void **extra),
        function, gx, gy, gz, bx, by, bz, lds, stream, parameters, extra)
HK_PASS(hipEventCreate, (HipHandle * event), event)
HK_PASS(hipEventDestroy, (HipHandle event), event)
HK_PASS(hipEventRecord, (HipHandle event, HipHandle stream), event, stream)
HK_PASS(hipEventSynchronize, (HipHandle event), event)
HK_PASS(hipEventElapsedTime, (float *time, HipHandle begin, HipHandle end),
        time, begin, end)

HK_FAULTY HipError hipMemcpy(void *to, const void *from, size_t bytes,
                             HipCopy kind) {
  // Where results are to be damaged only their copies count, not those of the
  // fences around them.
  bool isResult = kind == HipCopy::DeviceToHost && bytes > hk::kFenceBytes;
  bool counts = !fault().corrupts() || isResult;
  bool strikes = counts && fault().strikes("hipMemcpy");
  if (strikes && !fault().corrupts())
    return fault().error();
  HipError result = address<HipError(void *, const void *, size_t, HipCopy)>(
      "hipMemcpy")(to, from, bytes, kind);
  if (strikes && bytes)
    static_cast<unsigned char *>(to)[bytes / 2] ^= 0x40;
  return result;
}

HK_FAULTY const char *hipGetErrorString(HipError error) {
  return address<const char *(HipError)>("hipGetErrorString")(error);
}
HK_FAULTY const char *hipGetErrorName(HipError error) {
  return address<const char *(HipError)>("hipGetErrorName")(error);
}
