//===- LanguageModel.cpp - tinylm through the public C ABI ----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Opens a compiled module, gives every argument device memory, and calls the
// functions `prefill` and `decode` on DLPack tensors.
//
//===----------------------------------------------------------------------===//

#include "LanguageModel.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

using namespace tinylm;

void tinylm::check(hk_status *status) {
  if (!status)
    return;
  std::string message = hk_status_get_message(status);
  hk_status_free(status);
  throw std::runtime_error(message);
}

Buffer::Buffer(hk_device *device, uint64_t bytes)
    : device(device), bytes(bytes) {
  check(hk_device_alloc(device, bytes, &memory));
}

Buffer::~Buffer() {
  if (memory)
    hk_device_free(device, memory);
}

Buffer::Buffer(Buffer &&other) noexcept
    : device(other.device), memory(std::exchange(other.memory, nullptr)),
      bytes(other.bytes) {}

Buffer &Buffer::operator=(Buffer &&other) noexcept {
  std::swap(device, other.device);
  std::swap(memory, other.memory);
  std::swap(bytes, other.bytes);
  return *this;
}

void Buffer::upload(const void *from, uint64_t size) {
  check(hk_device_upload(device, memory, from, size));
}

void Buffer::download(void *to, uint64_t size) const {
  check(hk_device_download(device, to, memory, size));
}

static uint64_t bytesOf(const hk_argument_info &info) {
  uint64_t elements =
      std::accumulate(info.sizes, info.sizes + info.rank, uint64_t(1),
                      [](uint64_t a, int64_t b) { return a * uint64_t(b); });
  return elements * info.dtype.bits / 8;
}

LanguageModel::LanguageModel(const std::string &modulePath,
                             const std::string &weightsPath,
                             const std::string &deviceSpec,
                             uint32_t numThreads) {
  hk_device_options options = {};
  options.struct_bytes = sizeof(options);
  options.num_threads = numThreads;
  hk_device *openedDevice = nullptr;
  check(hk_device_open(deviceSpec.c_str(), &options, &openedDevice));
  device.reset(openedDevice);
  hk_module *openedModule = nullptr;
  check(hk_module_open(modulePath.c_str(), &openedModule));
  module.reset(openedModule);
  hk_program *createdProgram = nullptr;
  check(hk_program_create(module.get(), device.get(),
                          weightsPath.empty() ? nullptr : weightsPath.c_str(),
                          &createdProgram));
  program.reset(createdProgram);
  prefill = bind("prefill");
  decode = bind("decode");

  for (int64_t elements : {kContext, kContext, int64_t(1)})
    inputs.emplace_back(device.get(), uint64_t(elements) * sizeof(int32_t));
  uint32_t numArguments = hk_function_num_arguments(prefill.handle);
  for (uint32_t i = 0; i < numArguments; ++i) {
    hk_argument_info info = hk_function_argument(prefill.handle, i);
    if (info.role != HK_STATE)
      continue;
    std::vector<char> zeros(bytesOf(info));
    caches.emplace_back(device.get(), zeros.size());
    caches.back().upload(zeros.data(), zeros.size());
    cacheSizes.emplace_back(info.sizes, info.sizes + info.rank);
  }
  output.emplace_back(device.get(), kContext * kVocab * sizeof(float));
}

LanguageModel::Function LanguageModel::bind(const char *name) {
  Function function;
  check(hk_program_function(program.get(), name, &function.handle));
  uint32_t inputs = 0, outputs = 0;
  for (uint32_t i = 0; i < hk_function_num_arguments(function.handle); ++i) {
    hk_role role = hk_function_argument(function.handle, i).role;
    inputs += role == HK_INPUT;
    outputs += role == HK_OUTPUT;
  }
  if (inputs != 3 || outputs != 1)
    throw std::runtime_error(
        std::string("this is no tinylm: ") + name + " has " +
        std::to_string(inputs) + " inputs and " + std::to_string(outputs) +
        " outputs, expected 3 and 1; compile examples/tinylm/tinylm.mlir");
  return function;
}

std::string LanguageModel::describeDevice() const {
  return hk_device_description(device.get());
}

const float *LanguageModel::append(std::string_view text) {
  int64_t tokens = int64_t(text.size());
  if (length + tokens > kContext)
    throw std::runtime_error("the text is longer than the context of " +
                             std::to_string(kContext) + " bytes");
  std::vector<int32_t> ids(tokens), positions(tokens);
  std::transform(text.begin(), text.end(), ids.begin(),
                 [](char c) { return uint8_t(c); });
  std::iota(positions.begin(), positions.end(), int32_t(length));
  length += tokens;
  int32_t kvLength = int32_t(length);
  inputs[0].upload(ids.data(), ids.size() * sizeof(int32_t));
  inputs[1].upload(positions.data(), positions.size() * sizeof(int32_t));
  inputs[2].upload(&kvLength, sizeof(kvLength));

  call(tokens == 1 ? decode : prefill, tokens);
  check(hk_device_synchronize(device.get()));
  logits.resize(tokens * kVocab);
  output[0].download(logits.data(), logits.size() * sizeof(float));
  return logits.data();
}

void LanguageModel::call(Function &function, int64_t tokens) {
  int64_t one = 1, logitSizes[2] = {tokens, kVocab};
  size_t nextInput = 0, nextCache = 0;
  uint32_t numArguments = hk_function_num_arguments(function.handle);
  std::vector<DLTensor> tensors;
  tensors.reserve(numArguments);
  for (uint32_t i = 0; i < numArguments; ++i) {
    hk_argument_info info = hk_function_argument(function.handle, i);
    DLTensor tensor = {nullptr,   hk_device_dldevice(device.get()),
                       info.rank, info.dtype,
                       nullptr,   nullptr,
                       0};
    switch (info.role) {
    case HK_INPUT:
      tensor.shape = nextInput == 2 ? &one : &tokens;
      tensor.data = inputs[nextInput++].data();
      break;
    case HK_STATE:
      tensor.shape = cacheSizes[nextCache].data();
      tensor.data = caches[nextCache++].data();
      break;
    case HK_OUTPUT:
      tensor.shape = logitSizes;
      tensor.data = output[0].data();
      break;
    }
    tensors.push_back(tensor);
  }
  std::vector<const DLTensor *> arguments;
  arguments.reserve(numArguments);
  for (const DLTensor &tensor : tensors)
    arguments.push_back(&tensor);

  // The workspace depends on the sizes alone: planned once for decode.
  if (function.plannedTokens != tokens) {
    int64_t outputSizes[2];
    check(hk_function_plan(function.handle, arguments.data(), numArguments - 1,
                           outputSizes, &function.workspaceBytes));
    function.plannedTokens = tokens;
  }
  if (workspace.empty() || workspace[0].size() < function.workspaceBytes) {
    workspace.clear();
    workspace.emplace_back(device.get(), function.workspaceBytes);
  }

  hk_call call = {};
  call.struct_bytes = sizeof(call);
  call.num_arguments = numArguments;
  call.arguments = arguments.data();
  call.workspace = workspace[0].data();
  call.workspace_bytes = workspace[0].size();
  check(hk_function_call(function.handle, &call));
}
