//===- Call.cpp - Calling a function -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The hot path: check the tensors, ask the generated shape function, run the
// generated code, which calls back for every launch. State of a call is on the
// stack; its tables live in buffers that each thread keeps.
//
//===----------------------------------------------------------------------===//

#include "api/Arguments.h"
#include "api/Profile.h"
#include "comm/Collective.h"

#include <cinttypes>
#include <utility>

using namespace hk;

namespace {

constexpr uint64_t kWorkspaceAlignment = 256;

/// Tables of the call this thread is in; they only grow.
struct Scratch {
  std::vector<hk_abi_tensor> tensors;
  std::vector<int64_t> outputSizes;
  std::vector<uint64_t> words; // of a launch that exchanges rows itself
};
Scratch &threadScratch() {
  static thread_local Scratch scratch;
  return scratch;
}

/// What the generated code gets, with the runtime's own state behind it.
struct CallContext : hk_call_ctx {
  CallContext(const hk_function &function, void *stream, hk_profile *profile);

  Status launchKernel(uint32_t kernel, const uint64_t *words);
  Status start(uint32_t kernel, const hk_launch_plan &plan,
               const uint64_t *words);
  Status collectTimes();

  const hk_function &function;
  void *stream;
  hk_profile *profile;
  /// What the last launch has sent to another rank.
  uint64_t sent = 0;
  /// The first error; after it launches and guards do nothing.
  Status error;
  // Only with a profile.
  std::unique_ptr<LaunchTimer> timer;
  hk_profile::Clock::time_point first; // when the first launch was made
  std::vector<hk_profile::Timed> timed;
};

void onLaunch(hk_call_ctx *ctx, uint32_t kernel, const uint64_t *words) {
  auto *context = static_cast<CallContext *>(ctx);
  if (context->error)
    return;
  context->error =
      Status(guarded([&] { return context->launchKernel(kernel, words); }));
}

void onGuard(hk_call_ctx *ctx, uint32_t guard, int64_t lhs, int64_t rhs) {
  auto *context = static_cast<CallContext *>(ctx);
  if (context->error || lhs == rhs) // every relation holds of equal sizes
    return;
  context->error = Status(guarded([&]() -> Status {
    const hk_function_impl_abi &impl = *context->function.impl;
    const char *name = context->function.abi->name;
    if (guard >= impl.num_guards)
      return makeError(HK_INTERNAL, "function '%s' failed the unknown guard %u",
                       name, guard);
    const hk_guard_abi &abi = impl.guards[guard];
    const char *must = "they must be equal";
    if (abi.relation == HK_GUARD_AT_MOST) {
      if (lhs < rhs)
        return {};
      must = "it must be at most that";
    } else if (abi.relation == HK_GUARD_AT_LEAST) {
      if (lhs > rhs)
        return {};
      must = "it must be at least that";
    }
    return makeError(HK_INVALID_ARGUMENT,
                     "function '%s': %s is %" PRId64 " but %s is %" PRId64
                     "; %s",
                     name, abi.lhs, lhs, abi.rhs, rhs, must);
  }));
}

} // namespace

CallContext::CallContext(const hk_function &function, void *stream,
                         hk_profile *profile)
    : function(function), stream(stream), profile(profile) {
  launch = onLaunch;
  guard = onGuard;
  weights = function.program->weights.addresses();
  if (profile)
    timer = function.program->device.createTimer();
}

/// On the device, or by the engine that reaches other ranks.
Status CallContext::start(uint32_t index, const hk_launch_plan &plan,
                          const uint64_t *words) {
  const hk_program &program = *function.program;
  const hk_kernel_abi &kernel = program.section->kernels[index];
  if (!kernel.collective)
    return program.device.launch(*program.kernels[index][plan.variant], words,
                                 plan.grid, stream);
  if (kernel.collective->extra_words) {
    std::vector<uint64_t> &all = threadScratch().words;
    uint32_t own = kernel.num_pointers + kernel.num_dims + kernel.num_strides;
    all.assign(words, words + own);
    all.resize(own + kernel.collective->extra_words);
    uint64_t *extra = all.data() + own;
    if (kernel.collective->least_sent)
      sent = beginSending(program.device, *program.communicator, kernel, plan,
                          words, extra);
    else if (Status error = beginKernelExchange(
                 program.device, *program.communicator, kernel, words,
                 plan.grid[0], stream, std::exchange(sent, 0), extra))
      return error;
    return program.device.launch(*program.kernels[index][plan.variant],
                                 all.data(), plan.grid, stream);
  }
  if (!program.device.isHost())
    return runDeviceCollective(program.device, program.communicator,
                               *kernel.collective, words, kernel.num_dims,
                               stream);
  return runCollective(
      program.communicator, *kernel.collective, words, kernel.num_dims,
      std::string(kernel.ops) + " over '" + kernel.collective->axis +
          "' in function '" + function.abi->name + "'");
}

Status CallContext::launchKernel(uint32_t index, const uint64_t *words) {
  const hk_program &program = *function.program;
  if (index >= program.section->num_kernels)
    return makeError(HK_INTERNAL,
                     "function '%s' launches the unknown kernel %u",
                     function.abi->name, index);
  const hk_kernel_abi &kernel = program.section->kernels[index];
  hk_launch_plan plan = {-1, {0, 0, 0}};
  // Dimensions are 64-bit words too, behind the pointers.
  kernel.plan(reinterpret_cast<const int64_t *>(words + kernel.num_pointers),
              &plan);
  if (plan.variant == HK_PLAN_TOO_FAR)
    return makeError(HK_INVALID_ARGUMENT,
                     "function '%s', kernel '%s': the rows of a tile of an "
                     "operand span 4 GiB or more, further than this device's "
                     "kernels address; pass smaller tensors",
                     function.abi->name, kernel.name);
  if (plan.variant < 0 || !plan.grid[0] || !plan.grid[1] || !plan.grid[2])
    return {};
  if (static_cast<uint32_t>(plan.variant) >= kernel.num_variants)
    return makeError(HK_INTERNAL,
                     "function '%s', kernel '%s': the plan chose variant %d of "
                     "%u",
                     function.abi->name, kernel.name, plan.variant,
                     kernel.num_variants);
  const hk_variant_abi &variant = kernel.variants[plan.variant];
  Device &device = program.device;
  for (int d = 0; d < 3; ++d)
    if (plan.grid[d] > device.maxGrid()[d])
      return makeError(HK_INVALID_ARGUMENT,
                       "function '%s', kernel '%s': a grid of %u x %u x %u "
                       "blocks is beyond the device's %u x %u x %u; pass "
                       "smaller tensors",
                       function.abi->name, variant.symbol, plan.grid[0],
                       plan.grid[1], plan.grid[2], device.maxGrid()[0],
                       device.maxGrid()[1], device.maxGrid()[2]);
  if (timer) {
    if (timed.empty())
      first = hk_profile::Clock::now();
    if (Status error = timer->start(stream))
      return error;
  }
  Status error = start(index, plan, words);
  if (!error && timer) {
    timed.push_back({&kernel, &variant});
    error = timer->stop(stream);
  }
  // On the host the launch is over, so a damaged fence is this kernel's.
  if (!error && device.isHost() && device.hasDebugMemory())
    error = device.checkFences();
  if (!error)
    return {};
  return addContext(std::move(error), std::string("function '") +
                                          function.abi->name + "', kernel '" +
                                          variant.symbol + "'");
}

Status CallContext::collectTimes() {
  if (!timer)
    return {};
  std::vector<LaunchTime> times;
  if (Status error = timer->collect(times))
    return error;
  profile->add(function.abi->name, first, timed, times);
  return {};
}

/// Runs the shape function; `sizes` has room for all outputs.
static Status runShape(CallContext &context, const hk_abi_tensor *tensors,
                       int64_t *sizes, uint64_t &workspaceBytes) {
  const hk_function &function = context.function;
  int64_t bytes = 0;
  function.impl->shape(&context, tensors, sizes, &bytes);
  if (context.error)
    return std::move(context.error);
  if (bytes < 0)
    return makeError(HK_INTERNAL,
                     "function '%s' asks for %" PRId64 " bytes of workspace",
                     function.abi->name, bytes);
  workspaceBytes = bytes;
  return {};
}

static Status checkCount(const hk_function &function, uint32_t expected,
                         uint32_t actual, const char *what) {
  if (expected == actual)
    return {};
  return makeError(HK_INVALID_ARGUMENT, "function '%s' takes %u %s, got %u",
                   function.abi->name, expected, what, actual);
}

static Status plan(const hk_function &function, const DLTensor *const *inputs,
                   uint32_t numInputs, int64_t *outputSizes,
                   uint64_t *workspaceBytes) {
  if (Status error = checkCount(function, function.numInputs, numInputs,
                                "inputs and states"))
    return error;
  Scratch &scratch = threadScratch();
  scratch.tensors.resize(function.abi->num_args);
  for (uint32_t i = 0; i < numInputs; ++i)
    if (Status error =
            checkArgument(function, i, inputs[i], scratch.tensors[i]))
      return error;
  CallContext context(function, nullptr, nullptr);
  return runShape(context, scratch.tensors.data(), outputSizes,
                  *workspaceBytes);
}

static Status checkWorkspace(const hk_function &function, const hk_call &call,
                             uint64_t needed) {
  if (call.workspace_bytes < needed || (needed && !call.workspace))
    return makeError(HK_INVALID_ARGUMENT,
                     "function '%s' needs %" PRIu64 " bytes of workspace for "
                     "these inputs, got %" PRIu64 "%s",
                     function.abi->name, needed, call.workspace_bytes,
                     call.workspace ? "" : " at NULL");
  if (needed &&
      reinterpret_cast<uintptr_t>(call.workspace) % kWorkspaceAlignment)
    return makeError(HK_INVALID_ARGUMENT,
                     "function '%s': expected a workspace aligned to %" PRIu64
                     " bytes, got %p",
                     function.abi->name, kWorkspaceAlignment, call.workspace);
  return {};
}

/// Where devices exchange tensors the other ranks are told what is called:
/// the function, the sizes that only calls tell, and whether a graph is made.
static Status tellCall(const hk_function &function, void *stream,
                       const hk_abi_tensor *tensors) {
  Communicator *communicator = function.program->communicator;
  if (!communicator || !communicator->deviceEngine() ||
      function.impl->num_collectives == 0)
    return {};
  StreamState state = StreamState::Idle;
  if (Status error = function.program->device.query(stream, state))
    return error;
  std::string text = std::string("function '") + function.abi->name + "'";
  const char *between = " with ";
  for (uint32_t i = 0; i < function.abi->num_args; ++i)
    for (uint8_t d = 0; d < function.abi->args[i].rank; ++d)
      if (const char *name = function.abi->args[i].dim_names[d]) {
        text += between + std::string(name) + " = " +
                std::to_string(tensors[i].sizes[d]);
        between = ", ";
      }
  if (state == StreamState::Capturing)
    text += " in a graph";
  return communicator->beginCall(text);
}

static Status callFunction(const hk_function &function, const hk_call &call) {
  uint32_t count = function.abi->num_args;
  if (Status error =
          checkCount(function, count, call.num_arguments, "arguments"))
    return error;
  // resize() allocates only when the buffers have never been this large.
  Scratch &scratch = threadScratch();
  scratch.tensors.resize(count);
  scratch.outputSizes.resize(function.outputRanks);
  hk_abi_tensor *tensors = scratch.tensors.data();
  for (uint32_t i = 0; i < count; ++i)
    if (Status error =
            checkArgument(function, i, call.arguments[i], tensors[i]))
      return error;
  if (Status error = tellCall(function, call.stream, tensors))
    return error;
  CallContext context(function, call.stream, call.profile);
  uint64_t workspaceBytes = 0;
  if (Status error = runShape(context, tensors, scratch.outputSizes.data(),
                              workspaceBytes))
    return error;
  if (Status error =
          checkOutputSizes(function, tensors, scratch.outputSizes.data()))
    return error;
  if (Status error = checkWorkspace(function, call, workspaceBytes))
    return error;
  if (Status error =
          checkOverlap(function, tensors, call.workspace, workspaceBytes))
    return error;
  function.impl->run(&context, tensors, call.workspace);
  if (context.error)
    return std::move(context.error);
  return context.collectTimes();
}

hk_status *hk_function_plan(const hk_function *function,
                            const DLTensor *const *inputs, uint32_t num_inputs,
                            int64_t *output_sizes, uint64_t *workspace_bytes) {
  return guarded([&]() -> Status {
    const char *name = "hk_function_plan";
    if (Status error = requireNonNull(function, name, "function"))
      return error;
    if (num_inputs)
      if (Status error = requireNonNull(inputs, name, "inputs"))
        return error;
    if (function->outputRanks)
      if (Status error = requireNonNull(output_sizes, name, "output_sizes"))
        return error;
    if (Status error = requireNonNull(workspace_bytes, name, "workspace_bytes"))
      return error;
    return plan(*function, inputs, num_inputs, output_sizes, workspace_bytes);
  });
}

hk_status *hk_function_call(const hk_function *function, const hk_call *call) {
  return guarded([&]() -> Status {
    const char *name = "hk_function_call";
    if (Status error = requireNonNull(function, name, "function"))
      return error;
    if (Status error = requireNonNull(call, name, "call"))
      return error;
    if (call->struct_bytes != sizeof(hk_call))
      return makeError(
          HK_INVALID_ARGUMENT,
          "hk_function_call: call.struct_bytes is %u, expected %zu",
          call->struct_bytes, sizeof(hk_call));
    if (call->num_arguments)
      if (Status error = requireNonNull(call->arguments, name, "arguments"))
        return error;
    Communicator *communicator = function->program->communicator;
    if (!communicator || function->impl->num_collectives == 0)
      return callFunction(*function, *call);
    if (Status error = communicator->check())
      return error;
    Status error = callFunction(*function, *call);
    // The other ranks may wait for what this one will not send any more.
    communicator->fail(error);
    return error;
  });
}
