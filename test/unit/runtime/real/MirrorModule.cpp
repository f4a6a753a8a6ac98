//===- MirrorModule.cpp - A module with real code for three targets -------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function, mirror(x) -> out, around the kernel of MirrorKernel.h: a host
// function, an AMD code object and PTX.
//
//===----------------------------------------------------------------------===//

#include "MirrorKernel.h"

#include "hk/Contract/DType.h"
#include "hk/Contract/Hash.h"
#include "hk/Runtime/ModuleAbi.h"

// The files that the build compiled.
__asm__(".section .rodata\n"
        ".balign 4096\n"
        "hkMirrorGfx942: .incbin \"" HK_MIRROR_GFX942 "\"\n"
        "hkMirrorGfx942End:\n"
        ".balign 16\n"
        "hkMirrorPtx: .incbin \"" HK_MIRROR_PTX "\"\n"
        "hkMirrorPtxEnd:\n"
        ".previous\n");
extern "C" __attribute__((visibility("hidden"))) const char hkMirrorGfx942[],
    hkMirrorGfx942End[], hkMirrorPtx[], hkMirrorPtxEnd[];

#ifndef HK_MIRROR_OUT
#define HK_MIRROR_OUT "out"
#endif

namespace {

void plan(const int64_t *dims, hk_launch_plan *plan) {
  *plan = {dims[0] > 0 ? 0 : -1, {uint32_t(dims[0]), 1, 1}};
}

constexpr uint32_t kLds = sizeof(MirrorShared);
const hk_variant_abi kHost = {"mirror", "#tile", mirror, nullptr, 0,
                              1,        0,       kLds,   0,       nullptr};
// Sizes of the embedded files are known to the linker only.
hk_variant_abi gfx942 = {"mirror", "#tile",        nullptr, hkMirrorGfx942,
                         0,        kMirrorThreads, kLds,    0,
                         0,        nullptr};
hk_variant_abi sm90a = {"mirror",       "#tile", nullptr, hkMirrorPtx, 0,
                        kMirrorThreads, 0,       kLds,    0,           nullptr};

#define KERNEL(variant)                                                        \
  {"mirror_kernel", "rowwise", "hk.test", 2, 1, 2, plan, 1, &(variant), nullptr}
[[maybe_unused]] const hk_kernel_abi kHostKernel = KERNEL(kHost);
const hk_kernel_abi kGfx942Kernel = KERNEL(gfx942);
const hk_kernel_abi kSm90aKernel = KERNEL(sm90a);

const int64_t kSizes[] = {-1, kMirrorColumns};
const char *const kDims[] = {"d0", nullptr};
constexpr uint8_t kF32 = static_cast<uint8_t>(hk::DType::F32);
const hk_arg_abi kArgs[] = {
    {"x", kF32, HK_ARG_INPUT, 2, kSizes, kDims, nullptr},
    {HK_MIRROR_OUT, kF32, HK_ARG_OUTPUT, 2, kSizes, kDims, nullptr}};
const hk_function_abi kFunction = {"mirror", 2, kArgs};

void shape(hk_call_ctx *, const hk_abi_tensor *args, int64_t *sizes,
           int64_t *workspace) {
  sizes[0] = args[0].sizes[0];
  sizes[1] = kMirrorColumns;
  *workspace = 0;
}
void run(hk_call_ctx *ctx, const hk_abi_tensor *args, void *) {
  uint64_t words[] = {reinterpret_cast<uint64_t>(args[0].data),
                      reinterpret_cast<uint64_t>(args[1].data),
                      uint64_t(args[0].sizes[0]), kMirrorColumns,
                      kMirrorColumns};
  ctx->launch(ctx, 0, words);
}
const hk_function_impl_abi kImplementation = {shape, run, 1, 0, nullptr, 0};

const hk_section_abi kSections[] = {
#ifndef HK_MIRROR_NO_HOST
    {"host", nullptr, 1, &kHostKernel, &kImplementation},
#endif
    {"gfx942", nullptr, 1, &kGfx942Kernel, &kImplementation},
    {"sm_90a", nullptr, 1, &kSm90aKernel, &kImplementation}};
const hk_module_abi kModule = {HK_MODULE_ABI_VERSION,
                               sizeof(hk_module_abi),
                               "hand-written test",
                               hk::kContractHash,
                               nullptr,
                               1,
                               &kFunction,
                               0,
                               nullptr,
                               sizeof(kSections) / sizeof(*kSections),
                               kSections,
                               nullptr};

} // namespace

extern "C" __attribute__((visibility("default"))) const hk_module_abi *
hk_module_query(uint32_t) {
  gfx942.code_bytes = hkMirrorGfx942End - hkMirrorGfx942;
  sm90a.code_bytes = hkMirrorPtxEnd - hkMirrorPtx;
  return &kModule;
}
