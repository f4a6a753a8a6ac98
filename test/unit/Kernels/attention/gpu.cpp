//===- gpu.cpp - Attention on a GPU against double precision --------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: gpu hip|cuda LIBRARY TARGET CODE_OBJECT [CASE]
// Loads the driver library (the emulator's, for example), the code object made
// from kernels.cpp, and runs every case.
//
//===----------------------------------------------------------------------===//

#include "arguments.h"
#include "cases.h"

#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <string>

using namespace hktest;

namespace {

/// The few driver calls needed, under HIP's or CUDA's names.
struct Driver {
  int (*moduleLoadData)(void **, const void *);
  int (*moduleGetFunction)(void **, void *, const char *);
  int (*synchronize)();
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned,
                unsigned, unsigned, void *, void **, void **);
  int (*hipMalloc)(void **, size_t);
  int (*hipMemcpy)(void *, const void *, size_t, int);
  int (*cuMemAlloc)(void **, size_t);
  int (*toDevice)(void *, const void *, size_t);
  int (*toHost)(void *, const void *, size_t);
  int (*setAttribute)(void *, int, int);
  bool isCuda;
};
Driver driver;
Arch arch;
void *module;
int wrongProblems = 0;

void check(int code, const char *what) {
  if (code == 0)
    return;
  std::printf("%s failed with %d\n", what, code);
  std::exit(2);
}

template <class F> void find(void *library, F &f, const char *name) {
  f = (F)dlsym(library, name);
  if (f)
    return;
  std::printf("the driver library has no %s\n", name);
  std::exit(2);
}

void openDriver(bool cuda, const char *path) {
  void *l = dlopen(path, RTLD_NOW);
  if (!l) {
    std::printf("%s\n", dlerror());
    std::exit(2);
  }
  driver.isCuda = cuda;
  if (cuda) {
    int (*init)(unsigned), (*device)(int *, int);
    int (*create)(void **, unsigned, int);
    find(l, init, "cuInit");
    find(l, device, "cuDeviceGet");
    find(l, create, "cuCtxCreate_v2");
    find(l, driver.moduleLoadData, "cuModuleLoadData");
    find(l, driver.moduleGetFunction, "cuModuleGetFunction");
    find(l, driver.synchronize, "cuCtxSynchronize");
    find(l, driver.launch, "cuLaunchKernel");
    find(l, driver.cuMemAlloc, "cuMemAlloc_v2");
    find(l, driver.toDevice, "cuMemcpyHtoD_v2");
    find(l, driver.toHost, "cuMemcpyDtoH_v2");
    find(l, driver.setAttribute, "cuFuncSetAttribute");
    int index = 0;
    void *context;
    check(init(0), "cuInit");
    check(device(&index, 0), "cuDeviceGet");
    check(create(&context, 0, index), "cuCtxCreate");
  } else {
    find(l, driver.moduleLoadData, "hipModuleLoadData");
    find(l, driver.moduleGetFunction, "hipModuleGetFunction");
    find(l, driver.synchronize, "hipDeviceSynchronize");
    find(l, driver.launch, "hipModuleLaunchKernel");
    find(l, driver.hipMalloc, "hipMalloc");
    find(l, driver.hipMemcpy, "hipMemcpy");
  }
}

void *allocate(size_t bytes) {
  void *p = nullptr;
  bytes = bytes ? bytes : 1;
  check(driver.isCuda ? driver.cuMemAlloc(&p, bytes)
                      : driver.hipMalloc(&p, bytes),
        "allocation");
  return p;
}
template <class T> T *upload(const std::vector<T> &v) {
  void *p = allocate(v.size() * sizeof(T));
  if (!v.empty())
    check(driver.isCuda
              ? driver.toDevice(p, v.data(), v.size() * sizeof(T))
              : driver.hipMemcpy(p, v.data(), v.size() * sizeof(T), 1),
          "upload");
  return (T *)p;
}
template <class T> void download(std::vector<T> &v, const void *p) {
  if (!v.empty())
    check(driver.isCuda
              ? driver.toHost(v.data(), p, v.size() * sizeof(T))
              : driver.hipMemcpy(v.data(), p, v.size() * sizeof(T), 2),
          "download");
}

void launch(const std::string &name, i64 x, i64 y, i64 z, i64 threads,
            i64 ldsBytes, void *args, size_t bytes) {
  if (x == 0 || y == 0)
    return;
  void *function;
  check(driver.moduleGetFunction(&function, module, name.c_str()),
        name.c_str());
  // CUDA: dynamic shared memory above 48 KiB is opt-in.
  if (driver.isCuda)
    check(driver.setAttribute(function, 8, int(ldsBytes)), "LDS size");
  // HIP and CUDA agree on these: pointer, size, end.
  void *extra[] = {(void *)1, args, (void *)2, &bytes,
                   driver.isCuda ? nullptr : (void *)3};
  check(driver.launch(function, unsigned(x), unsigned(y), unsigned(z),
                      unsigned(threads), 1, 1,
                      driver.isCuda ? unsigned(ldsBytes) : 0, nullptr, nullptr,
                      extra),
        name.c_str());
  check(driver.synchronize(), name.c_str());
}

/// What rounding the probabilities to the operands' type may add: a relative
/// error of half a unit each, on values of magnitude at most 1.
double slackOf(const AttentionSpec &s, const AttentionTile &tile) {
  double slack = 4e-6;
  AttentionPath path = attentionPath(arch, tile);
  if (s.type != DType::F32 &&
      (path == AttentionPath::Matrix || path == AttentionPath::Stream))
    slack += std::ldexp(1.0, -info(s.type).mantissaBits - 1);
  return slack;
}

template <AttentionSpec S> AttentionArgs<S> uploadArgs(Problem &p) {
  AttentionArgs<S> a = argsOf<S>(p);
  a.q = (decltype(a.q))upload(p.q);
  a.k = (decltype(a.k))upload(p.k);
  a.v = (decltype(a.v))upload(p.v);
  a.lse = upload(p.lse);
  a.qOffsets = upload(p.qOffsets);
  a.kvOffsets = upload(p.kvOffsets);
  a.kvLens = upload(p.kvLens);
  a.blockTable = upload(p.blockTable);
  a.sink = upload(p.sink);
  a.kScale = upload(p.keyScale);
  a.vScale = upload(p.valueScale);
  if constexpr (S.sharesValues())
    a.v = (decltype(a.v))a.k;
  return a;
}

template <AttentionSpec S>
void launchTile(const std::string &name, AttentionArgs<S> &a, const Problem &p,
                const AttentionTile &tile) {
  launch(name, gridX(p, tile.bq), p.heads, tile.splitKv,
         attentionThreads(arch, tile),
         attentionLdsBytes(arch, tile, S.type, S.headDim, S.valueDim,
                           S.sharesValues()),
         &a, sizeof a);
}

void report(const std::string &name, const Problem &p,
            const AttentionTile &tile) {
  std::string wrong = compare(p, slackOf(p.spec, tile));
  std::printf("%-24s %s\n%s", name.c_str(), wrong.empty() ? "right" : "WRONG",
              wrong.c_str());
  wrongProblems += !wrong.empty();
  std::fflush(stdout);
}

template <AttentionSpec S> void runSlices(const char *caseName, Problem &p) {
  AttentionTile tile = pickTile(arch, S, /*few=*/true, kSplits);
  auto a = uploadArgs<sliced(S)>(p);
  std::vector<float> partials(kSplits * a.outSlice, NAN);
  std::vector<float> lse(kSplits * a.lseSlice, NAN);
  a.out = (decltype(a.out))upload(partials);
  a.lse = upload(lse);
  std::string name = std::string(caseName) + "_split";
  launchTile(name, a, p, tile);
  download(partials, a.out);
  download(lse, a.lse);
  combineSlices(p, partials, lse);
  report(name, p, tile);
}

template <AttentionSpec S>
void run(const char *caseName, Problem p, bool split) {
  evaluate(p);
  AttentionArgs<S> a = uploadArgs<S>(p);
  for (bool few : {false, true}) {
    std::fill(p.out.begin(), p.out.end(), char(0xFF));
    a.out = (decltype(a.out))upload(p.out);
    AttentionTile tile = pickTile(arch, S, few, 1);
    std::string name = std::string(caseName) + (few ? "_few" : "_many");
    launchTile(name, a, p, tile);
    download(p.out, a.out);
    download(p.lse, a.lse);
    report(name, p, tile);
  }
  if (split)
    runSlices<S>(caseName, p);
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 5 || !findTarget(argv[3])) {
    std::printf("usage: gpu hip|cuda LIBRARY TARGET CODE_OBJECT [CASE]\n");
    return 2;
  }
  arch = findTarget(argv[3])->arch;
  std::ifstream file(argv[4], std::ios::binary);
  std::string code((std::istreambuf_iterator<char>(file)), {});
  openDriver(std::string(argv[1]) == "cuda", argv[2]);
  check(driver.moduleLoadData(&module, code.c_str()),
        "loading the code object");
  auto wanted = [&](const char *name) {
    return argc < 6 || argv[5] == std::string(name);
  };
  std::string splits;
#define SPLIT(name) splits += " " #name " ";
  HK_ATTENTION_SPLIT_CASES(SPLIT)
#define CASE(name, spec, queries, keys, heads, rows)                           \
  if (wanted(#name))                                                           \
    run<spec>(#name, makeProblem(spec, Lengths{queries, keys}, heads, rows),   \
              splits.find(" " #name " ") != std::string::npos);
  HK_ATTENTION_CASES(CASE)
  std::printf("%d problems wrong\n", wrongProblems);
  return wrongProblems != 0;
}
