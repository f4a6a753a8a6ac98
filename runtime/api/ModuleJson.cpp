//===- ModuleJson.cpp - The self-description of a module -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints the tables as JSON. A dynamic size is the name of its dimension.
//
//===----------------------------------------------------------------------===//

#include "api/Module.h"
#include "hk/Contract/DType.h"

#include <nlohmann/json.hpp>

using namespace hk;
using Json = nlohmann::ordered_json;

static Json textOrNull(const char *text) {
  return text ? Json(text) : Json(nullptr);
}

static Json describeArgument(const hk_arg_abi &arg) {
  static constexpr const char *kRoles[] = {"input", "state", "output"};
  Json shape = Json::array();
  for (uint8_t i = 0; i < arg.rank; ++i) {
    const char *name = arg.dim_names ? arg.dim_names[i] : nullptr;
    if (arg.sizes[i] >= 0)
      shape.push_back(arg.sizes[i]);
    else
      shape.push_back(name ? name : "?");
  }
  Json result = {{"name", arg.name},
                 {"role", kRoles[arg.role]},
                 {"dtype", kDTypes[arg.dtype].name},
                 {"shape", shape}};
  if (arg.values)
    result["values"] = Json::parse(arg.values, nullptr, false);
  return result;
}

static Json describeKernel(const hk_kernel_abi &kernel) {
  Json variants = Json::array();
  for (uint32_t i = 0; i < kernel.num_variants; ++i) {
    const hk_variant_abi &variant = kernel.variants[i];
    variants.push_back({{"symbol", variant.symbol},
                        {"tile", variant.tile},
                        {"threads", variant.threads},
                        {"lds_static", variant.lds_static},
                        {"lds_dynamic", variant.lds_dynamic},
                        {"code_bytes", variant.code_bytes}});
  }
  return {{"name", kernel.name},     {"family", kernel.family},
          {"ops", kernel.ops},       {"pointers", kernel.num_pointers},
          {"dims", kernel.num_dims}, {"strides", kernel.num_strides},
          {"variants", variants}};
}

static Json describeSection(const hk_module_abi &abi,
                            const hk_section_abi &section) {
  // By hk_guard_relation.
  static const char *const kRelations[] = {"==", "<=", ">="};
  Json kernels = Json::array(), functions = Json::array();
  for (uint32_t i = 0; i < section.num_kernels; ++i)
    kernels.push_back(describeKernel(section.kernels[i]));
  for (uint32_t i = 0; i < abi.num_functions; ++i) {
    const hk_function_impl_abi &impl = section.functions[i];
    Json guards = Json::array();
    for (uint32_t g = 0; g < impl.num_guards; ++g)
      guards.push_back(
          Json::array({impl.guards[g].lhs, kRelations[impl.guards[g].relation],
                       impl.guards[g].rhs}));
    functions.push_back({{"name", abi.functions[i].name},
                         {"launches", impl.num_launches},
                         {"guards", guards}});
  }
  return {{"target", section.target},
          {"cpu_features", section.cpu_features ? section.cpu_features : ""},
          {"kernels", kernels},
          {"functions", functions}};
}

std::string hk::describeModule(const hk_module_abi &abi) {
  Json functions = Json::array(), weights = Json::array(),
       sections = Json::array();
  for (uint32_t i = 0; i < abi.num_functions; ++i) {
    Json arguments = Json::array();
    for (uint32_t a = 0; a < abi.functions[i].num_args; ++a)
      arguments.push_back(describeArgument(abi.functions[i].args[a]));
    functions.push_back(
        {{"name", abi.functions[i].name}, {"arguments", arguments}});
  }
  for (uint32_t i = 0; i < abi.num_weights; ++i) {
    const hk_weight_abi &weight = abi.weights[i];
    Json shape = Json::array();
    for (uint8_t d = 0; d < weight.rank; ++d)
      shape.push_back(weight.sizes[d]);
    Json checksums = Json::array(), slices = Json::array();
    for (uint32_t c = 0; c < weight.num_checksums; ++c) {
      char checksum[17];
      std::snprintf(checksum, sizeof(checksum), "%016llx",
                    static_cast<unsigned long long>(weight.checksums[c]));
      checksums.push_back(checksum);
    }
    for (uint32_t s = 0; s < weight.num_slices; ++s) {
      const hk_weight_slice_abi &slice = weight.slices[s];
      Json segments = Json::array();
      for (uint32_t i = 0; i < slice.num_segments; ++i)
        segments.push_back(
            {{"size", slice.sizes[i]}, {"parts", slice.parts[i]}});
      slices.push_back(
          {{"axis", slice.axis}, {"dim", slice.dim}, {"segments", segments}});
    }
    weights.push_back(
        {{"name", weight.name},
         {"dtype", kDTypes[weight.dtype].name},
         {"shape", shape},
         {"bytes", weight.bytes},
         {"checksum", checksums.size() == 1 ? checksums[0] : Json(nullptr)},
         {"part_checksums", checksums.size() > 1 ? checksums : Json::array()},
         {"slices", slices},
         {"file", textOrNull(weight.file)}});
  }
  for (uint32_t i = 0; i < abi.num_sections; ++i)
    sections.push_back(describeSection(abi, abi.sections[i]));
  Json module = {{"abi_version", abi.abi_version},
                 {"producer", abi.producer},
                 {"contract_hash", textOrNull(abi.contract_hash)},
                 {"weights_file", textOrNull(abi.weights_file)},
                 {"mesh", textOrNull(abi.mesh)},
                 {"functions", functions},
                 {"weights", weights},
                 {"sections", sections}};
  // Names come from the module; invalid UTF-8 in them must not throw.
  return module.dump(2, ' ', false, Json::error_handler_t::replace);
}
