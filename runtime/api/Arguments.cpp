//===- Arguments.cpp - Checks of the tensors of a call -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every error names the function, the argument, what was expected and what
// came.
//
//===----------------------------------------------------------------------===//

#include "api/Arguments.h"

#include "api/Types.h"

#include <cinttypes>

using namespace hk;

static constexpr uint64_t kDataAlignment = 16;

/// "function 'f', input 'x'".
static std::string nameOf(const hk_function &function, uint32_t index) {
  static constexpr const char *kRoles[] = {"input", "state", "output"};
  const hk_arg_abi &arg = function.abi->args[index];
  return std::string("function '") + function.abi->name + "', " +
         kRoles[arg.role] + " '" + arg.name + "'";
}

/// A macro, so that the compiler checks the format.
#define HK_ARGUMENT_ERROR(function, index, ...)                                \
  addContext(makeError(HK_INVALID_ARGUMENT, __VA_ARGS__),                      \
             nameOf(function, index))

static bool isEmpty(const DLTensor &tensor) {
  for (int i = 0; i < tensor.ndim; ++i)
    if (tensor.shape[i] == 0)
      return true;
  return false;
}

static Status checkSizes(const hk_function &function, uint32_t index,
                         const DLTensor &tensor) {
  const hk_arg_abi &arg = function.abi->args[index];
  if (tensor.ndim != arg.rank)
    return HK_ARGUMENT_ERROR(function, index,
                             "expected rank %d with shape %s, got "
                             "rank %d",
                             arg.rank, shapeText(arg.sizes, arg.rank).c_str(),
                             tensor.ndim);
  if (arg.rank && !tensor.shape)
    return HK_ARGUMENT_ERROR(function, index, "the tensor's shape is NULL");
  for (int i = 0; i < tensor.ndim; ++i) {
    int64_t expected = arg.sizes[i], actual = tensor.shape[i];
    if (actual < 0)
      return HK_ARGUMENT_ERROR(function, index, "dim %d has the size %" PRId64,
                               i, actual);
    if (expected >= 0 && actual != expected)
      return HK_ARGUMENT_ERROR(
          function, index,
          "expected dim %d to be %" PRId64 " (shape %s), got "
          "%" PRId64 " (shape %s)",
          i, expected, shapeText(arg.sizes, arg.rank).c_str(), actual,
          shapeText(tensor.shape, tensor.ndim).c_str());
  }
  DType dtype = static_cast<DType>(arg.dtype);
  if (info(dtype).bits < 8 &&
      (tensor.ndim == 0 || tensor.shape[tensor.ndim - 1] % 2))
    return HK_ARGUMENT_ERROR(
        function, index,
        "two %s elements share a byte, so the innermost size "
        "must be even, got shape %s",
        info(dtype).name, shapeText(tensor.shape, tensor.ndim).c_str());
  if (denseBytes(dtype, tensor.shape, tensor.ndim) < 0)
    return HK_ARGUMENT_ERROR(function, index, "shape %s is too large",
                             shapeText(tensor.shape, tensor.ndim).c_str());
  return {};
}

static Status checkStrides(const hk_function &function, uint32_t index,
                           const DLTensor &tensor) {
  if (!tensor.strides || isEmpty(tensor))
    return {};
  int64_t expected = 1;
  for (int i = tensor.ndim - 1; i >= 0; --i) {
    // The stride of a dimension of size one is never used.
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected)
      return HK_ARGUMENT_ERROR(
          function, index,
          "expected a dense row-major tensor: for shape %s the stride of dim "
          "%d must be %" PRId64 " elements, got %" PRId64 "; make a contiguous "
          "copy",
          shapeText(tensor.shape, tensor.ndim).c_str(), i, expected,
          tensor.strides[i]);
    expected *= tensor.shape[i];
  }
  return {};
}

/// Host memory that a GPU driver pinned is still host memory.
static bool isOnDevice(DLDevice actual, DLDevice expected) {
  if (expected.device_type == kDLCPU)
    return actual.device_type == kDLCPU || actual.device_type == kDLCUDAHost ||
           actual.device_type == kDLROCMHost;
  return actual.device_type == expected.device_type &&
         actual.device_id == expected.device_id;
}

Status hk::checkArgument(const hk_function &function, uint32_t index,
                         const DLTensor *tensor, hk_abi_tensor &result) {
  if (!tensor)
    return HK_ARGUMENT_ERROR(function, index, "the tensor is NULL");
  DType dtype = static_cast<DType>(function.abi->args[index].dtype);
  if (!acceptsType(dtype, tensor->dtype))
    return HK_ARGUMENT_ERROR(function, index, "expected dtype %s, got %s",
                             info(dtype).name, typeName(tensor->dtype).c_str());
  if (Status error = checkSizes(function, index, *tensor))
    return error;
  if (Status error = checkStrides(function, index, *tensor))
    return error;
  DLDevice device = function.program->device.dlDevice();
  if (!isOnDevice(tensor->device, device))
    return HK_ARGUMENT_ERROR(
        function, index, "expected a tensor on %s, got one on %s",
        deviceText(device).c_str(), deviceText(tensor->device).c_str());
  result.sizes = tensor->shape;
  result.data = static_cast<char *>(tensor->data) + tensor->byte_offset;
  if (isEmpty(*tensor))
    return {};
  if (!tensor->data)
    return HK_ARGUMENT_ERROR(function, index, "the tensor's data is NULL");
  if (reinterpret_cast<uintptr_t>(result.data) % kDataAlignment)
    return HK_ARGUMENT_ERROR(
        function, index,
        "expected data aligned to %" PRIu64 " bytes, got address %p "
        "(data %p + byte_offset %" PRIu64 ")",
        kDataAlignment, result.data, tensor->data, tensor->byte_offset);
  return {};
}

Status hk::checkOutputSizes(const hk_function &function,
                            const hk_abi_tensor *tensors,
                            const int64_t *sizes) {
  for (uint32_t i = function.numInputs; i < function.abi->num_args; ++i) {
    const hk_arg_abi &arg = function.abi->args[i];
    for (uint8_t d = 0; d < arg.rank; ++d)
      if (tensors[i].sizes[d] != sizes[d])
        return HK_ARGUMENT_ERROR(
            function, i, "the inputs ask for shape %s, got %s (dim %d differs)",
            shapeText(sizes, arg.rank).c_str(),
            shapeText(tensors[i].sizes, arg.rank).c_str(), d);
    sizes += arg.rank;
  }
  return {};
}

namespace {
struct Range {
  uintptr_t begin, end;
  Range(const void *data, uint64_t bytes)
      : begin(reinterpret_cast<uintptr_t>(data)), end(begin + bytes) {}
  bool overlaps(const Range &other) const {
    return begin < other.end && other.begin < end && begin != end &&
           other.begin != other.end;
  }
};
} // namespace

static Range rangeOf(const hk_function &function, const hk_abi_tensor *tensors,
                     uint32_t i) {
  const hk_arg_abi &arg = function.abi->args[i];
  return Range(tensors[i].data, denseBytes(static_cast<DType>(arg.dtype),
                                           tensors[i].sizes, arg.rank));
}

Status hk::checkOverlap(const hk_function &function,
                        const hk_abi_tensor *tensors, const void *workspace,
                        uint64_t workspaceBytes) {
  Range scratch(workspace, workspaceBytes);
  for (uint32_t i = 0; i < function.abi->num_args; ++i) {
    Range range = rangeOf(function, tensors, i);
    if (range.overlaps(scratch))
      return HK_ARGUMENT_ERROR(function, i,
                               "its memory [%p, +%" PRIu64 ") overlaps the "
                               "workspace [%p, +%" PRIu64 ")",
                               tensors[i].data,
                               uint64_t(range.end - range.begin), workspace,
                               workspaceBytes);
    if (function.abi->args[i].role == HK_ARG_INPUT)
      continue;
    for (uint32_t j = 0; j < function.abi->num_args; ++j) {
      // Of two written arguments, look at each pair once.
      if (j == i || (j < i && function.abi->args[j].role != HK_ARG_INPUT))
        continue;
      if (range.overlaps(rangeOf(function, tensors, j)))
        return HK_ARGUMENT_ERROR(
            function, i,
            "it is written, and its memory overlaps that of "
            "argument '%s'",
            function.abi->args[j].name);
    }
  }
  return {};
}
