//===- ModuleTables.cpp - Checks of a module's tables -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pointers are there, numbers are in range, arguments come in order and names
// are unique. After this the runtime indexes without looking.
//
//===----------------------------------------------------------------------===//

#include "api/Module.h"
#include "hk/Contract/DType.h"
#include "hk/Contract/Exchange.h"
#include "hk/Contract/Mesh.h"
#include "hk/Contract/WeightSlice.h"

#include <set>

using namespace hk;

#define HK_REQUIRE(condition, ...)                                             \
  do {                                                                         \
    if (!(condition))                                                          \
      return makeError(HK_INCOMPATIBLE, __VA_ARGS__);                          \
  } while (false)

static Status checkTensor(const char *what, const char *name, uint8_t dtype,
                          uint8_t rank, const int64_t *sizes,
                          bool mayBeDynamic) {
  HK_REQUIRE(dtype < kNumDTypes, "%s '%s' has the unknown dtype number %u",
             what, name, dtype);
  HK_REQUIRE(rank == 0 || sizes, "%s '%s' has no sizes", what, name);
  for (uint8_t i = 0; i < rank; ++i)
    HK_REQUIRE(sizes[i] >= (mayBeDynamic ? -1 : 0),
               "%s '%s' dim %u has the size %lld", what, name, i,
               static_cast<long long>(sizes[i]));
  return {};
}

static Status checkFunction(const hk_function_abi &function) {
  HK_REQUIRE(function.name, "a function has no name");
  HK_REQUIRE(function.num_args == 0 || function.args,
             "function '%s' has no argument table", function.name);
  bool seenOutput = false;
  for (uint32_t i = 0; i < function.num_args; ++i) {
    const hk_arg_abi &arg = function.args[i];
    HK_REQUIRE(arg.name, "function '%s': argument %u has no name",
               function.name, i);
    HK_REQUIRE(arg.role <= HK_ARG_OUTPUT,
               "function '%s': argument '%s' has the unknown role %u",
               function.name, arg.name, arg.role);
    seenOutput |= arg.role == HK_ARG_OUTPUT;
    HK_REQUIRE(arg.role == HK_ARG_OUTPUT || !seenOutput,
               "function '%s': argument '%s' is not an output but comes after "
               "one",
               function.name, arg.name);
    if (Status error = checkTensor("argument", arg.name, arg.dtype, arg.rank,
                                   arg.sizes, true))
      return addContext(std::move(error),
                        std::string("function '") + function.name + "'");
  }
  return {};
}

static Status checkMaps(const hk_kernel_abi &kernel,
                        const hk_variant_abi &variant) {
  HK_REQUIRE(variant.num_maps <= HK_MAX_TENSOR_MAPS &&
                 (variant.num_maps == 0 || variant.maps),
             "kernel '%s': variant '%s' has %u tensor maps, at most %u",
             kernel.name, variant.symbol, variant.num_maps, HK_MAX_TENSOR_MAPS);
  uint32_t words = kernel.num_pointers + kernel.num_dims + kernel.num_strides;
  for (uint32_t i = 0; i < variant.num_maps; ++i) {
    const hk_tensor_map_abi &map = variant.maps[i];
    bool inRange = map.pointer < kernel.num_pointers && map.dtype < kNumDTypes;
    for (hk_number_abi number :
         {map.columns, map.rows, map.matrices, map.row_stride,
          map.matrix_stride, map.batches, map.batch_stride})
      inRange &= number.word == HK_NO_WORD || number.word < words;
    HK_REQUIRE(inRange,
               "kernel '%s': tensor map %u of variant '%s' refers to a word or "
               "dtype that is not there",
               kernel.name, i, variant.symbol);
    int bits = info(DType(map.dtype)).bits;
    HK_REQUIRE((bits == 4 || bits == 8 || bits == 16 || bits == 32) &&
                   map.box_columns * uint32_t(bits) == 128 * 8 &&
                   map.box_rows >= 1 && map.box_rows <= 256,
               "kernel '%s': tensor map %u of variant '%s' has a box of %u "
               "columns of %d bits and %u rows; expected 128 bytes and 1 to "
               "256 rows",
               kernel.name, i, variant.symbol, map.box_columns, bits,
               map.box_rows);
  }
  return {};
}

/// What the engine relies on.
static Status checkCollective(const hk_kernel_abi &kernel, const Mesh &mesh) {
  const hk_collective_abi &abi = *kernel.collective;
  HK_REQUIRE(abi.axis && mesh.find(abi.axis) >= 0,
             "kernel '%s' is over the axis '%s', which the mesh lacks",
             kernel.name, abi.axis ? abi.axis : "");
  HK_REQUIRE(abi.dtype < kNumDTypes && abi.result_dtype < kNumDTypes &&
                 abi.reduction <= HK_COLLECTIVE_MIN,
             "kernel '%s' has an unknown dtype or reduction", kernel.name);
  HK_REQUIRE(abi.rank == 0 || abi.sizes, "kernel '%s' has no sizes",
             kernel.name);
  for (uint8_t d = 0; d < abi.rank; ++d)
    HK_REQUIRE(abi.sizes[d] >= -int64_t(kernel.num_dims),
               "kernel '%s': dim %u of its input is word %lld of %u",
               kernel.name, d, static_cast<long long>(-1 - abi.sizes[d]),
               kernel.num_dims);
  int axis = mesh.find(abi.axis);
  HK_REQUIRE(abi.split < abi.rank && abi.concat < abi.rank && abi.split >= -1 &&
                 abi.concat >= -1 && abi.root >= -1 &&
                 abi.root < mesh.axes()[axis].size,
             "kernel '%s' has a dim or a root that is not there", kernel.name);
  int64_t ranks = mesh.axes()[axis].size;
  HK_REQUIRE(abi.least_sent == 0 || (abi.least_sent > 0 && ranks == 2 &&
                                     abi.extra_words == kSendWords),
             "kernel '%s' sends to %lld ranks", kernel.name,
             static_cast<long long>(ranks - 1));
  if (abi.extra_words != 0) {
    HK_REQUIRE(
        (abi.least_sent || int64_t(abi.extra_words) == exchangeWords(ranks)) &&
            abi.reduction == HK_COLLECTIVE_SUM && abi.rank > 0 &&
            abi.input < kernel.num_pointers &&
            abi.input_stride + abi.rank - 1 <= kernel.num_strides,
        "kernel '%s' exchanges something else than its input", kernel.name);
    return {};
  }
  bool isRank =
      abi.rank == 0 && abi.reduction == HK_COLLECTIVE_COPY && abi.root < 0;
  HK_REQUIRE(kernel.num_pointers == (isRank ? 1 : 2) &&
                 kernel.num_strides ==
                     2 * (abi.rank > 0 ? uint32_t(abi.rank) - 1 : 0),
             "kernel '%s' has %u pointers and %u strides", kernel.name,
             kernel.num_pointers, kernel.num_strides);
  return {};
}

static Status checkKernel(const hk_kernel_abi &kernel, const Mesh &mesh,
                          bool isHost) {
  HK_REQUIRE(kernel.name && kernel.family && kernel.ops,
             "a kernel has no name, family or ops");
  HK_REQUIRE(kernel.plan, "kernel '%s' has no plan function", kernel.name);
  HK_REQUIRE(kernel.num_variants && kernel.variants,
             "kernel '%s' has no variants", kernel.name);
  for (uint32_t i = 0; i < kernel.num_variants; ++i) {
    const hk_variant_abi &variant = kernel.variants[i];
    HK_REQUIRE(variant.symbol && variant.tile,
               "kernel '%s': variant %u has no symbol or tile", kernel.name, i);
    if (kernel.collective) {
      if (Status error = checkCollective(kernel, mesh))
        return error;
      if (kernel.collective->extra_words == 0)
        continue;
    }
    HK_REQUIRE(
        isHost ? variant.host != nullptr : variant.code && variant.code_bytes,
        "kernel '%s': variant '%s' has no code", kernel.name, variant.symbol);
    HK_REQUIRE(isHost || variant.threads,
               "kernel '%s': variant '%s' has no threads", kernel.name,
               variant.symbol);
    if (Status error = checkMaps(kernel, variant))
      return error;
  }
  return {};
}

static Status checkSection(const hk_module_abi &abi, const Mesh &mesh,
                           const hk_section_abi &section) {
  HK_REQUIRE(section.num_kernels == 0 || section.kernels, "no kernel table");
  HK_REQUIRE(abi.num_functions == 0 || section.functions, "no function table");
  for (uint32_t i = 0; i < section.num_kernels; ++i)
    if (Status error = checkKernel(section.kernels[i], mesh,
                                   std::string(section.target) == "host"))
      return error;
  for (uint32_t i = 0; i < abi.num_functions; ++i) {
    const hk_function_impl_abi &impl = section.functions[i];
    HK_REQUIRE(impl.shape && impl.run, "function '%s' has no code",
               abi.functions[i].name);
    HK_REQUIRE(impl.num_guards == 0 || impl.guards,
               "function '%s' has no guard table", abi.functions[i].name);
    for (uint32_t g = 0; g < impl.num_guards; ++g) {
      HK_REQUIRE(impl.guards[g].lhs && impl.guards[g].rhs,
                 "function '%s': guard %u has no text", abi.functions[i].name,
                 g);
      HK_REQUIRE(impl.guards[g].relation <= HK_GUARD_AT_LEAST,
                 "function '%s': guard %u has the unknown relation %u",
                 abi.functions[i].name, g, impl.guards[g].relation);
    }
  }
  return {};
}

static Status checkSlices(const hk_weight_abi &weight, const Mesh &mesh) {
  HK_REQUIRE(weight.num_checksums == 0 || weight.checksums,
             "it has no table of checksums");
  HK_REQUIRE(weight.num_slices == 0 || weight.slices,
             "it has no table of slices");
  std::vector<int64_t> sizes(weight.sizes, weight.sizes + weight.rank);
  for (uint32_t s = 0; s < weight.num_slices; ++s) {
    const hk_weight_slice_abi &abi = weight.slices[s];
    int axis = abi.axis ? mesh.find(abi.axis) : -1;
    HK_REQUIRE(axis >= 0, "slice %u is along no axis of the mesh", s);
    HK_REQUIRE(abi.sizes && abi.parts, "slice %u has no segments", s);
    WeightSlice slice{abi.axis, abi.dim, {}};
    for (uint32_t i = 0; i < abi.num_segments; ++i)
      slice.segments.push_back({abi.sizes[i], abi.parts[i]});
    std::string problem = slice.problem(sizes, mesh.axes()[axis].size);
    HK_REQUIRE(problem.empty(), "slice %u is no slice of it: %s", s,
               problem.c_str());
    HK_REQUIRE(slice.wholeSize() > 0, "slice %u is of no elements", s);
    sizes[slice.dim] = slice.partSize();
  }
  return {};
}

Status hk::checkTables(const hk_module_abi &abi) {
  HK_REQUIRE(abi.producer, "no producer");
  HK_REQUIRE(abi.num_functions == 0 || abi.functions, "no function table");
  HK_REQUIRE(abi.num_weights == 0 || abi.weights, "no weight table");
  HK_REQUIRE(abi.num_sections == 0 || abi.sections, "no section table");
  std::set<std::string> names;
  for (uint32_t i = 0; i < abi.num_functions; ++i) {
    if (Status error = checkFunction(abi.functions[i]))
      return error;
    HK_REQUIRE(names.insert(abi.functions[i].name).second,
               "two functions are named '%s'", abi.functions[i].name);
  }
  Mesh mesh;
  if (abi.mesh) {
    std::string wrong = Mesh::parse(abi.mesh, mesh);
    HK_REQUIRE(wrong.empty(), "mesh '%s': %s", abi.mesh, wrong.c_str());
  }
  for (uint32_t i = 0; i < abi.num_weights; ++i) {
    const hk_weight_abi &weight = abi.weights[i];
    HK_REQUIRE(weight.name, "weight %u has no name", i);
    if (Status error = checkTensor("weight", weight.name, weight.dtype,
                                   weight.rank, weight.sizes, false))
      return error;
    if (Status error = checkSlices(weight, mesh))
      return addContext(std::move(error),
                        std::string("weight '") + weight.name + "'");
  }
  for (uint32_t i = 0; i < abi.num_sections; ++i) {
    const hk_section_abi &section = abi.sections[i];
    HK_REQUIRE(section.target, "section %u has no target", i);
    if (Status error = checkSection(abi, mesh, section))
      return addContext(std::move(error),
                        std::string("section '") + section.target + "'");
  }
  return {};
}
