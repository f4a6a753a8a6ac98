//===- Session.cpp - A module, a device and the tensors of a call ---------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names of dynamic sizes come from the self-description; everything else from
// the C interface.
//
//===----------------------------------------------------------------------===//

#include "Session.h"
#include "Trace.h"

#include "Npy.h"
#include "Ranges.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <set>

using namespace hk;
using namespace hk::run;
using Json = nlohmann::json;

void hk::run::check(hk_status *status) {
  if (!status)
    return;
  std::string message = hk_status_get_message(status);
  hk_status_free(status);
  throw Failure(message);
}

ModuleHandle hk::run::openModule(const std::string &path) {
  hk_module *module = nullptr;
  check(hk_module_open(path.c_str(), &module));
  return ModuleHandle(module);
}

DeviceHandle hk::run::openDevice(const Options &options) {
  hk_device_options settings{};
  settings.struct_bytes = sizeof(settings);
  settings.num_threads = options.threads;
  settings.shuffle_seed = options.shuffleSeed;
  settings.debug_memory = options.poison;
  hk_device *device = nullptr;
  check(hk_device_open(options.device.c_str(), &settings, &device));
  return DeviceHandle(device);
}

static DType dtypeNamed(const std::string &name) {
  for (int32_t i = 0; i < kNumDTypes; ++i)
    if (name == kDTypes[i].name)
      return static_cast<DType>(i);
  throw Failure("the module uses the unknown element type " + name);
}

/// The function's entry in the self-description.
static Json describe(const hk_module *module, const std::string &name) {
  Json json = Json::parse(hk_module_json(module));
  const Json &functions = json.at("functions");
  std::string names;
  for (const Json &function : functions) {
    if (function.at("name") == name || (name.empty() && functions.size() == 1))
      return function;
    names += " " + function.at("name").get<std::string>();
  }
  if (!name.empty())
    throw Failure("the module has no function '" + name + "'; it has:" + names);
  throw Failure("the module has several functions; choose with --function=:" +
                names);
}

Session::Session(const Options &options, hk_device *shared, hk_comm *comm)
    : options(options), module(openModule(options.module)), comm(comm) {
  describeArguments();
  if (!makesCall(options)) {
    makeInputs();
    return;
  }
  if (!shared)
    ownDevice = openDevice(options);
  activeDevice = shared ? shared : ownDevice.get();
  hk_program *rawProgram = nullptr;
  check(hk_program_create_on(module.get(), device(), comm,
                             options.weights.empty() ? nullptr
                                                     : options.weights.c_str(),
                             &rawProgram));
  program.reset(rawProgram);
  hk_profile *rawProfile = nullptr;
  check(hk_profile_create(&rawProfile));
  profileHandle.reset(rawProfile);
  if (!options.trace.empty())
    check(hk_profile_keep_launches(rawProfile, kMostTraced));
  check(hk_program_function(program.get(), name.c_str(), &function));
  makeInputs();
  planOutputs();
}

void Session::describeArguments() {
  Json json = Json::parse(hk_module_json(module.get()));
  findWeights(hk_module_json(module.get()));
  Json function = describe(module.get(), options.function);
  name = function.at("name");
  readGuards(hk_module_json(module.get()));
  for (const Json &entry : function.at("arguments")) {
    Argument arg;
    arg.name = entry.at("name");
    std::string role = entry.at("role");
    arg.role = role == "output"  ? Role::Output
               : role == "state" ? Role::State
                                 : Role::Input;
    arg.before.dtype = arg.after.dtype = dtypeNamed(entry.at("dtype"));
    if (entry.contains("values"))
      arg.values = entry.at("values").dump();
    for (const Json &size : entry.at("shape")) {
      bool isStatic = size.is_number();
      arg.declared.push_back(isStatic ? size.get<int64_t>() : -1);
      arg.dimNames.push_back(isStatic ? "" : size.get<std::string>());
    }
    args.push_back(std::move(arg));
  }
  std::set<std::string> argNames, sizeNames;
  for (const Argument &arg : args) {
    if (!argNames.insert(arg.name).second)
      throw Failure("function '" + name + "' has two arguments named '" +
                    arg.name + "'; give them different names (hk.name)");
    sizeNames.insert(arg.dimNames.begin(), arg.dimNames.end());
  }
  sizeNames.erase(""); // static ones
  auto requireKnown = [&](const auto &given, const char *option,
                          const std::set<std::string> &names,
                          const char *what) {
    for (const auto &[key, value] : given)
      if (!names.count(key))
        throw Failure(std::string(option) + "=" + key + ": function '" + name +
                      "' has no such " + what + "; see --info");
  };
  requireKnown(options.inputs, "--input", argNames, "argument");
  requireKnown(options.outputs, "--output", argNames, "argument");
  requireKnown(options.ranges, "--range", argNames, "argument");
  requireKnown(options.dims, "--dim", sizeNames, "dynamic size");
  tellUnusedRanges();
}

/// A range that no input takes is told of: calls of several functions may share
/// one, whose inputs of that name are integers in some of them.
void Session::tellUnusedRanges() const {
  for (const Argument &arg : args) {
    if (!options.ranges.count(arg.name))
      continue;
    std::string why;
    if (arg.role == Role::Output)
      why = "it is an output";
    else if (options.inputs.count(arg.name))
      why = "--input=" + arg.name + " gives its values";
    else if (info(arg.before.dtype).isFloat)
      why = std::string("it is ") + info(arg.before.dtype).name +
            "; choose values of floats with --data, or give them with "
            "--input=" +
            arg.name + "=X.npy";
    if (!why.empty())
      std::fprintf(stderr, "hk-run: note: --range=%s is not used: %s\n",
                   arg.name.c_str(), why.c_str());
  }
}

/// The file that was given, then those that the module names.
void Session::findWeights(const std::string &moduleJson) {
  Json json = Json::parse(moduleJson);
  std::vector<std::string> found;
  if (!options.weights.empty())
    found.push_back(options.weights);
  // Links are followed, as the runtime does.
  std::filesystem::path folder =
      std::filesystem::canonical(options.module).parent_path();
  for (const Json &weight : json.at("weights")) {
    const Json &own =
        weight.at("file").is_string() ? weight["file"] : json["weights_file"];
    if (own.is_string())
      found.push_back((folder / own.get<std::string>()).string());
  }
  std::set<std::string> seen;
  for (const std::string &path : found)
    if (seen.insert(path).second &&
        (path == options.weights || std::filesystem::exists(path)))
      weightsPaths.push_back(path);
}

/// Sizes that must be equal; every section says so, the first is as good as
/// any.
void Session::readGuards(const std::string &moduleJson) {
  Json json = Json::parse(moduleJson);
  if (json.at("sections").empty())
    return;
  for (const Json &function : json.at("sections").front().at("functions"))
    if (function.at("name") == name)
      for (const Json &guard : function.at("guards"))
        if (guard.at(1) == "==")
          equalSizes.emplace_back(guard.at(0), guard.at(2));
}

/// Where a guard's side ("x dim 0", "64") is known, its value.
std::optional<int64_t> Session::sizeNamed(const std::string &text) const {
  if (text.find_first_not_of("0123456789") == text.npos)
    return std::stoll(text);
  std::string dim = dimNamed(text);
  auto known = dims.find(dim);
  if (dim.empty() || known == dims.end())
    return std::nullopt;
  return known->second;
}

/// The dimension's name behind "x dim 0"; empty if there is none.
std::string Session::dimNamed(const std::string &text) const {
  for (const Argument &arg : args)
    for (size_t i = 0; i < arg.dimNames.size(); ++i)
      if (text == arg.name + " dim " + std::to_string(i))
        return arg.dimNames[i];
  return "";
}

/// Gives sizes that must be equal to known ones their values.
void Session::propagateDims() {
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto &[lhs, rhs] : equalSizes)
      for (const auto &[from, to] :
           {std::pair(lhs, rhs), std::pair(rhs, lhs)}) {
        std::optional<int64_t> size = sizeNamed(from);
        std::string dim = dimNamed(to);
        if (size && !dim.empty())
          changed |= dims.emplace(dim, *size).second;
      }
  }
}

/// Takes the values of named sizes from a tensor that was read.
void Session::bindDims(const Argument &arg) {
  if (arg.before.sizes.size() != arg.declared.size())
    return; // the runtime says what is wrong
  for (size_t i = 0; i < arg.declared.size(); ++i)
    if (arg.declared[i] < 0)
      dims.emplace(arg.dimNames[i], arg.before.sizes[i]);
}

void Session::makeInputs() {
  dims = options.dims;
  for (Argument &arg : args) {
    auto given = options.inputs.find(arg.name);
    if (given == options.inputs.end())
      continue;
    if (arg.role == Role::Output)
      throw Failure("--input=" + arg.name + ": it is an output");
    arg.before = readNpy(given->second, arg.before.dtype);
    arg.origin = given->second;
    bindDims(arg);
  }
  propagateDims();
  std::string missing;
  for (Argument &arg : args) {
    if (arg.role == Role::Output || !arg.origin.empty())
      continue;
    for (size_t i = 0; i < arg.declared.size(); ++i) {
      int64_t size = arg.declared[i];
      auto dim = dims.find(arg.dimNames[i]);
      if (size < 0 && dim != dims.end())
        size = dim->second;
      if (size < 0 && missing.find(arg.dimNames[i] + "=") == missing.npos)
        missing += " --dim=" + arg.dimNames[i] + "=N (" + arg.name + " dim " +
                   std::to_string(i) + ")";
      arg.before.sizes.push_back(size);
    }
  }
  if (!missing.empty())
    throw Failure("sizes are needed for random inputs:" + missing);
  for (Argument &arg : args) {
    if (arg.role == Role::Output || !arg.origin.empty())
      continue;
    fillInput(arg);
  }
}

/// Room for an argument; an error names it.
static void allocateHost(HostTensor &tensor, const std::string &name) {
  try {
    tensor.allocate();
  } catch (const std::bad_alloc &) {
    throw Failure(
        "argument '" + name + "': there is no memory for " + typeText(tensor) +
        ", " + std::to_string(packedBytes(tensor.dtype, tensor.numElements())) +
        " bytes");
  } catch (const std::length_error &) {
    throw Failure("argument '" + name + "': " + typeText(tensor) +
                  " is too large for this machine");
  } catch (const Failure &error) {
    throw Failure("argument '" + name + "': " + error.what());
  }
}

/// Gives an input random values: of integers those that --range or the module
/// says.
void Session::fillInput(Argument &arg) {
  allocateHost(arg.before, arg.name);
  auto range = options.ranges.find(arg.name);
  bool chosen = range != options.ranges.end();
  IntegerRange values =
      chosen ? range->second : declaredRange(arg.values, sizesByName());
  fillRandom(arg.before, arg.name, options.seed, options.data, values);
  if (info(arg.before.dtype).isFloat) {
    arg.origin = std::string("random ") + dataName(options.data);
    return;
  }
  arg.origin = rangeText(values);
  if (!chosen && arg.values.empty())
    arg.origin += ", choose with --range=" + arg.name + "=LO:HI";
}

/// The size of every dim of an input, as "x.0".
std::map<std::string, int64_t> Session::sizesByName() const {
  std::map<std::string, int64_t> sizes;
  for (const Argument &arg : args)
    if (arg.role != Role::Output)
      for (size_t i = 0; i < arg.before.sizes.size(); ++i)
        sizes[arg.name + "." + std::to_string(i)] = arg.before.sizes[i];
  return sizes;
}

/// Gives an argument its memory on the device.
void Session::allocate(Argument &arg) {
  HostTensor &host = arg.role == Role::Output ? arg.after : arg.before;
  arg.buffer = std::make_unique<Buffer>(device(), host.bytes.size());
  arg.tensor.data = arg.buffer->get();
  arg.tensor.device = hk_device_dldevice(device());
  arg.tensor.ndim = static_cast<int>(host.sizes.size());
  arg.tensor.dtype = arg.dlType;
  arg.tensor.shape = host.sizes.data();
  if (arg.role != Role::Output)
    check(hk_device_upload(device(), arg.tensor.data, host.bytes.data(),
                           host.bytes.size()));
}

void Session::planOutputs() {
  std::vector<const DLTensor *> inputs;
  size_t outputRanks = 0;
  for (uint32_t i = 0; i < args.size(); ++i) {
    args[i].dlType = hk_function_argument(function, i).dtype;
    if (args[i].role == Role::Output) {
      outputRanks += args[i].declared.size();
      continue;
    }
    allocate(args[i]);
    inputs.push_back(&args[i].tensor);
  }
  std::vector<int64_t> sizes(outputRanks);
  check(hk_function_plan(function, inputs.data(), inputs.size(), sizes.data(),
                         &workspaceSize));
  size_t at = 0;
  for (Argument &arg : args) {
    if (arg.role != Role::Output)
      continue;
    size_t rank = arg.declared.size();
    arg.after.sizes.assign(sizes.begin() + at, sizes.begin() + at + rank);
    at += rank;
    allocateHost(arg.after, arg.name);
    allocate(arg);
  }
  workspace = std::make_unique<Buffer>(device(), workspaceSize);
}

void Session::call(hk_profile *profile) {
  std::vector<const DLTensor *> tensors;
  tensors.reserve(args.size());
  for (const Argument &arg : args)
    tensors.push_back(&arg.tensor);
  callOn(tensors, profile);
}

void Session::callOn(const std::vector<const DLTensor *> &tensors,
                     hk_profile *profile) {
  hk_call call{};
  call.struct_bytes = sizeof(call);
  call.num_arguments = tensors.size();
  call.arguments = tensors.data();
  call.workspace = workspace->get();
  call.workspace_bytes = workspaceSize;
  call.profile = profile;
  check(hk_function_call(function, &call));
}

void Session::wait() {
  check(hk_device_synchronize(device()));
  // What was ended because of another rank has left nothing of use.
  if (comm)
    check(hk_comm_check(comm));
}

void Session::runOnce() {
  bool profilesLater = options.benchIterations && options.timesFile.empty();
  call(profilesLater ? nullptr : profile());
  wait();
  for (Argument &arg : args) {
    if (arg.role == Role::Input)
      continue;
    if (arg.role == Role::State)
      arg.after = arg.before;
    check(hk_device_download(device(), arg.after.bytes.data(), arg.tensor.data,
                             arg.after.bytes.size()));
  }
}

void Session::readResults(const std::string &folder) {
  for (Argument &arg : args) {
    if (arg.role == Role::Input)
      continue;
    std::string path = resultFile(folder, arg.name);
    HostTensor read = readNpy(path, arg.before.dtype);
    HostTensor expected = arg.before;
    if (arg.role == Role::Output) {
      // Only the code knows the dynamic ones; the reference compares them.
      expected.sizes = arg.declared;
      for (size_t i = 0; i < arg.declared.size() && i < read.sizes.size(); ++i)
        if (arg.declared[i] < 0)
          expected.sizes[i] = read.sizes[i];
    }
    if (read.sizes != expected.sizes)
      throw Failure("'" + path + "' holds " + typeText(read) + ", expected " +
                    typeText(expected) + "; was the call another one?");
    arg.after = std::move(read);
  }
}

std::string Session::rankText() const {
  if (!comm)
    return "";
  return ", rank " + std::to_string(hk_comm_rank(comm)) + " of " +
         std::to_string(hk_comm_world(comm));
}

std::string Session::place() const {
  if (activeDevice)
    return hk_device_description(activeDevice) + rankText();
  return options.resultsDirectory.empty()
             ? "the reference interpreter"
             : "the results of " + options.resultsDirectory;
}

std::vector<double> Session::bench(uint32_t iterations) {
  using Clock = std::chrono::steady_clock;
  constexpr int kWarmUp = 3;
  for (int i = 0; i < kWarmUp; ++i)
    call(nullptr);
  wait();
  std::vector<double> times;
  for (uint32_t i = 0; i < iterations; ++i) {
    Clock::time_point start = Clock::now();
    call(nullptr);
    wait();
    times.push_back(
        std::chrono::duration<double, std::micro>(Clock::now() - start)
            .count());
  }
  for (uint32_t i = 0; i < std::min(iterations, kProfiledCalls); ++i)
    call(profile());
  return times;
}

CheckRequest Session::checkRequest() const {
  CheckRequest request;
  request.sourcePath = options.checkSource;
  if (request.sourcePath.empty()) {
    size_t dot = options.module.rfind(".so");
    request.sourcePath = options.module.substr(0, dot) + ".mlir";
  }
  request.function = name;
  request.weightsPaths = weightsPaths;
  if (!options.checkWeights.empty())
    request.weightsPaths = {options.checkWeights};
  for (const Argument &arg : args)
    request.tensors.push_back(
        {arg.name, arg.role, arg.role == Role::Output ? nullptr : &arg.before});
  return request;
}
