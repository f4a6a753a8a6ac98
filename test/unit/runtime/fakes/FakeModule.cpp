//===- FakeModule.cpp - A module written by hand -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What hk-compile would write for five small functions on f32 matrices of eight
// columns, for the tests of the loader and of calls. Macros make the variants
// that a loader must refuse.
//
//===----------------------------------------------------------------------===//

#include "FakeKernels.h"

#include "hk/Contract/DType.h"
#include "hk/Contract/Hash.h"
#include "hk/Runtime/ModuleAbi.h"

using namespace hk::fake;

#ifndef FAKE_ABI_VERSION
#define FAKE_ABI_VERSION HK_MODULE_ABI_VERSION
#endif
#ifndef FAKE_CONTRACT_HASH
#define FAKE_CONTRACT_HASH hk::kContractHash
#endif
#ifndef FAKE_STRUCT_BYTES
#define FAKE_STRUCT_BYTES sizeof(hk_module_abi)
#endif
#ifndef FAKE_CPU_FEATURES
#define FAKE_CPU_FEATURES "sse2"
#endif
#ifndef FAKE_WEIGHT_CHECKSUM
#define FAKE_WEIGHT_CHECKSUM 0
#endif
#ifndef FAKE_ROLE
#define FAKE_ROLE HK_ARG_OUTPUT
#endif

namespace {

constexpr uint8_t kF32 = static_cast<uint8_t>(hk::DType::F32);

// Variant 0 for any number of rows; nothing to do for none.
void planRows(const int64_t *dims, hk_launch_plan *plan) {
  plan->variant = dims[0] > 0 ? 0 : -1;
  plan->grid[0] = static_cast<uint32_t>(dims[0]);
  plan->grid[1] = plan->grid[2] = 1;
}

// A variant that there is not; of two rows, which lie too far apart.
void planTooLarge(const int64_t *dims, hk_launch_plan *plan) {
  *plan = {dims[0] == 2 ? HK_PLAN_TOO_FAR : 7, {1, 1, 1}};
}

// Stand for a code object and PTX; the fake drivers compare them.
constexpr char kCode[] = "FAKECODE gfx942";
constexpr char kPtx[] = {'f', 'a', 'k', 'e', ' ', 'P', 'T', 'X'};

#define VARIANT(name, function, lds, ...)                                      \
  const hk_variant_abi name##HostVariant[] = {                                 \
      {#function, "#tile", function, nullptr, 0, 1, 0, lds, 0, nullptr}};      \
  const hk_variant_abi name##HipVariant[] = {{#function, "#tile", nullptr,     \
                                              kCode, sizeof(kCode), 64, lds,   \
                                              0, 0, nullptr}};                 \
  const hk_variant_abi name##CudaVariant[] = {{#function, "#tile", nullptr,    \
                                               kPtx, sizeof(kPtx), 64, 0, lds, \
                                               __VA_ARGS__}};

// Of the first operand of addRow, whose words are three addresses, the rows and
// three strides; the fake driver looks at the map that a launch brings.
#ifndef FAKE_MAP_WORD
#define FAKE_MAP_WORD 4
#endif
// FAKE_MAP_OF_CODES: a row is codes of 4 bits, eight to an element, in
// boxes of 256.
#ifdef FAKE_MAP_OF_CODES
constexpr hk_tensor_map_abi kAddMap[] = {{0,
                                          static_cast<uint8_t>(hk::DType::UI4),
                                          {kColumns * 8, HK_NO_WORD},
                                          {0, 3},
                                          {1, HK_NO_WORD},
                                          {kColumns * 8, HK_NO_WORD},
                                          {0, HK_NO_WORD},
                                          {0, HK_NO_WORD}, // no batches
                                          {0, HK_NO_WORD},
                                          256,
                                          1}};
#else
constexpr hk_tensor_map_abi kAddMap[] = {{0,
                                          kF32,
                                          {kColumns, HK_NO_WORD},
                                          {0, 3},
                                          {1, HK_NO_WORD},
                                          {0, FAKE_MAP_WORD},
                                          {0, HK_NO_WORD},
                                          {0, HK_NO_WORD}, // no batches
                                          {0, HK_NO_WORD},
                                          32,
                                          1}};
#endif

// So little that on CUDA the rest of a unit shall be its cache.
VARIANT(add, addRow, 32, 1, kAddMap)
// More dynamic shared memory on CUDA than needs no opting in.
VARIANT(scale, scaleRow, 65536, 0, nullptr)
VARIANT(trace, traceBlock, 32, 0, nullptr)
VARIANT(overrun, overrunRow, 0, 0, nullptr)
VARIANT(overrunLds, overrunLds, 32, 0, nullptr)

#ifdef FAKE_MESH
#ifndef FAKE_AXIS
#define FAKE_AXIS "tp"
#endif
// The sum over the ranks of rows of kColumns.
const int64_t kSummedSizes[] = {-1, kColumns};
const hk_collective_abi kSum = {FAKE_AXIS, kF32,
                                kF32,      HK_COLLECTIVE_SUM,
                                0,         2,
                                -1,        -1,
                                -1,        kSummedSizes,
                                0,         0,
                                0,         0,
                                0,         0};
const hk_variant_abi kSumVariant[] = {
    {"all_reduce", "#tile", nullptr, nullptr, 0, 1, 0, 0, 0, nullptr}};
#define SUM_KERNEL                                                             \
  {"sum_kernel", "collective", "hk.all_reduce", 2, 1, 2, planRows, 1,          \
   kSumVariant,  &kSum},
#define SUM(...) __VA_ARGS__
constexpr uint32_t kNumKernels = 7;
#else
#define SUM(...)
#define FAKE_MESH nullptr
#define SUM_KERNEL
constexpr uint32_t kNumKernels = 6;
#endif

#define KERNEL(name, ops, pointers, strides, plan, variant)                    \
  {name, "rowwise", ops, pointers, 1, strides, plan, 1, variant, nullptr},
#define KERNELS(side)                                                          \
  KERNEL("add_kernel", "hk.add", 3, 3, planRows, add##side)                    \
  KERNEL("scale_kernel", "hk.mul", 3, 2, planRows, scale##side)                \
  KERNEL("trace_kernel", "hk.copy", 1, 1, planRows, trace##side)               \
  KERNEL("overrun_kernel", "hk.copy", 1, 1, planRows, overrun##side)           \
  KERNEL("overrun_lds_kernel", "hk.copy", 1, 1, planRows, overrunLds##side)    \
  KERNEL("wrong_plan_kernel", "hk.copy", 1, 1, planTooLarge, trace##side)      \
  SUM_KERNEL

const hk_kernel_abi kHostKernels[] = {KERNELS(HostVariant)};
const hk_kernel_abi kHipKernels[] = {KERNELS(HipVariant)};
const hk_kernel_abi kCudaKernels[] = {KERNELS(CudaVariant)};

const int64_t kMatrix[] = {-1, kColumns};
const char *const kDims0[] = {"d0", nullptr};
const char *const kDims1[] = {"d1", nullptr};

uint64_t address(const hk_abi_tensor &tensor) {
  return reinterpret_cast<uint64_t>(tensor.data);
}

// add(x, y) -> out; x and y have the same rows.
const hk_arg_abi kAddArgs[] = {
    {"x", kF32, HK_ARG_INPUT, 2, kMatrix, kDims0, nullptr},
    {"y", kF32, HK_ARG_INPUT, 2, kMatrix, kDims1, nullptr},
    {"out", kF32, FAKE_ROLE, 2, kMatrix, kDims0, nullptr},
};
// The last two are only there to fail.
constexpr int64_t kMostRows = 900, kRoom = 800;
constexpr hk_guard_abi kAddGuards[] = {
    {"x dim 0", "y dim 0", HK_GUARD_EQUAL},
    {"x dim 0", "the most rows", HK_GUARD_AT_MOST},
    {"the room", "x dim 0", HK_GUARD_AT_LEAST}};
void addShape(hk_call_ctx *ctx, const hk_abi_tensor *args, int64_t *sizes,
              int64_t *workspace) {
  ctx->guard(ctx, 0, args[0].sizes[0], args[1].sizes[0]);
  ctx->guard(ctx, 1, args[0].sizes[0], kMostRows);
  ctx->guard(ctx, 2, kRoom, args[0].sizes[0]);
  sizes[0] = args[0].sizes[0];
  sizes[1] = kColumns;
  *workspace = 0;
}
void addRun(hk_call_ctx *ctx, const hk_abi_tensor *args, void *) {
  uint64_t words[] = {address(args[0]), address(args[1]),
                      address(args[2]), uint64_t(args[0].sizes[0]),
                      kColumns,         kColumns,
                      kColumns};
  ctx->launch(ctx, 0, words);
}

// scaled(x, state acc) -> out: out = (x * weight) through the workspace + acc,
// acc += x.
const hk_arg_abi kScaledArgs[] = {
    {"x", kF32, HK_ARG_INPUT, 2, kMatrix, kDims0, nullptr},
    {"acc", kF32, HK_ARG_STATE, 2, kMatrix, kDims0, nullptr},
    {"out", kF32, HK_ARG_OUTPUT, 2, kMatrix, kDims0, nullptr},
};
const hk_guard_abi kScaledGuards[] = {
    {"x dim 0", "acc dim 0", HK_GUARD_EQUAL}, kAddGuards[1], kAddGuards[2]};
void scaledShape(hk_call_ctx *ctx, const hk_abi_tensor *args, int64_t *sizes,
                 int64_t *workspace) {
  addShape(ctx, args, sizes, workspace);
  *workspace = args[0].sizes[0] * kColumns * 4;
}
void scaledRun(hk_call_ctx *ctx, const hk_abi_tensor *args, void *workspace) {
  uint64_t rows = args[0].sizes[0];
  uint64_t scratch = reinterpret_cast<uint64_t>(workspace);
  uint64_t scale[] = {
      address(args[0]), reinterpret_cast<uint64_t>(ctx->weights[0]),
      scratch,          rows,
      kColumns,         kColumns};
  ctx->launch(ctx, 1, scale);
  uint64_t sum[] = {scratch,  address(args[1]), address(args[2]), rows,
                    kColumns, kColumns,         kColumns};
  ctx->launch(ctx, 0, sum);
  uint64_t update[] = {
      address(args[0]), address(args[1]), address(args[1]), rows,
      kColumns,         kColumns,         kColumns};
  ctx->launch(ctx, 0, update);
}

// NAME(x) -> out: one launch of a kernel that only writes out.
const hk_arg_abi kUnaryArgs[] = {
    {"x", kF32, HK_ARG_INPUT, 2, kMatrix, kDims0, nullptr},
    {"out", kF32, HK_ARG_OUTPUT, 2, kMatrix, kDims0, nullptr},
};
void unaryShape(hk_call_ctx *, const hk_abi_tensor *args, int64_t *sizes,
                int64_t *workspace) {
  sizes[0] = args[0].sizes[0];
  sizes[1] = kColumns;
  *workspace = 0;
}
template <uint32_t kernel>
void unaryRun(hk_call_ctx *ctx, const hk_abi_tensor *args, void *) {
  uint64_t words[] = {address(args[1]), uint64_t(args[0].sizes[0]), kColumns};
  ctx->launch(ctx, kernel, words);
}

[[maybe_unused]] void sumRun(hk_call_ctx *ctx, const hk_abi_tensor *args,
                             void *) {
  uint64_t words[] = {address(args[0]), address(args[1]),
                      uint64_t(args[0].sizes[0]), kColumns, kColumns};
  ctx->launch(ctx, 6, words);
}

const hk_function_abi kFunctions[] = {{"add", 3, kAddArgs},
                                      {"scaled", 3, kScaledArgs},
                                      {"trace", 2, kUnaryArgs},
                                      {"overrun", 2, kUnaryArgs},
                                      {"overrun_lds", 2, kUnaryArgs},
                                      {"wrong_plan", 2, kUnaryArgs},
                                      {"wrong_kernel", 2, kUnaryArgs},
                                      SUM({"sum", 2, kUnaryArgs}, )};
const hk_function_impl_abi kImplementations[] = {
    {addShape, addRun, 1, 3, kAddGuards, 0},
    {scaledShape, scaledRun, 3, 3, kScaledGuards, 0},
    {unaryShape, unaryRun<2>, 1, 0, nullptr, 0},
    {unaryShape, unaryRun<3>, 1, 0, nullptr, 0},
    {unaryShape, unaryRun<4>, 1, 0, nullptr, 0},
    {unaryShape, unaryRun<5>, 1, 0, nullptr, 0},
    {unaryShape, unaryRun<99>, 1, 0, nullptr, 0},
    SUM({unaryShape, sumRun, 1, 0, nullptr, 1}, )};

const int64_t kWeightSizes[] = {kColumns};
const uint64_t kWeightChecksums[] = {FAKE_WEIGHT_CHECKSUM};
const hk_weight_abi kWeights[] = {{"scale", kF32, 1, kWeightSizes, kColumns * 4,
                                   FAKE_WEIGHT_CHECKSUM ? 1 : 0,
                                   kWeightChecksums, nullptr, 0, nullptr}};

const hk_section_abi kSections[] = {
    {"gfx942", nullptr, kNumKernels, kHipKernels, kImplementations},
    {"sm_90a", nullptr, kNumKernels, kCudaKernels, kImplementations},
    {"host", FAKE_CPU_FEATURES, kNumKernels, kHostKernels, kImplementations},
};
#ifdef FAKE_NO_HOST
constexpr uint32_t kNumSections = 2;
#else
constexpr uint32_t kNumSections = 3;
#endif

const hk_module_abi kModule = {FAKE_ABI_VERSION,
                               FAKE_STRUCT_BYTES,
                               "hand-written test",
                               FAKE_CONTRACT_HASH,
                               "fake.safetensors",
                               sizeof(kFunctions) / sizeof(kFunctions[0]),
                               kFunctions,
                               1,
                               kWeights,
                               kNumSections,
                               kSections,
                               FAKE_MESH};

} // namespace

#ifdef FAKE_NO_QUERY
extern "C" __attribute__((visibility("default")))
const hk_module_abi *hk_something_else(uint32_t) {
  return &kModule;
}
#else
extern "C" __attribute__((visibility("default")))
const hk_module_abi *hk_module_query(uint32_t maxVersion) {
#ifdef FAKE_QUERY_NULL
  return maxVersion <= HK_MODULE_ABI_VERSION ? nullptr : &kModule;
#else
  return maxVersion ? &kModule : nullptr;
#endif
}
#endif
